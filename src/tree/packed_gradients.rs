//! Gradients as integers: one addition sums gradient and hessian, and sums have no rounding.
//!
//! A document becomes one `u64`: its scaled gradient in the upper 32 bits, in two's complement, and
//! its scaled hessian in the lower 32 bits (or a 1, if splits are chosen by least squares).
//!
//! The scales come from exact sums, so they depend neither on the order of documents nor on how
//! workers share them. No sum can overflow: the scales are such that, over all documents of a tree,
//! the absolute gradients sum to less than 2³¹ and the hessians to less than 2³², with half a unit
//! per document left for rounding. So no carry ever leaves the lower half, the sum over any set of
//! documents is exact, and so is the difference between a parent and a child. With so many
//! documents that half a unit each would take most of the range, values are truncated instead of
//! rounded.

use super::grower::TreeJob;
use super::kernel::{self, Packing};
use super::options::Criterion;
use super::reducer::GrowthReducer;
use crate::error::{Error, Result};
use crate::gradient::Gradient;
use crate::simd::Level;
use rayon::prelude::*;

/// The sums over a set of documents, or the values of a single one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct GradientSums {
    /// Scaled gradients.
    pub(super) grad: i32,
    /// Scaled hessians, or the number of documents.
    pub(super) mass: u32,
}

impl GradientSums {
    #[inline]
    pub(super) fn of(packed: u64) -> Self {
        Self { grad: (packed >> 32) as i32, mass: packed as u32 }
    }
}

/// The value of one unit of the packed fields.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GradientScale {
    pub(super) grad: f64,
    pub(super) mass: f64,
    /// At least the packed mass of every document.
    pub(super) largest_mass: f64,
}

impl GradientScale {
    /// The scale in the other direction: 0 where nothing is scaled.
    fn inverse(self) -> Self {
        Self { grad: inverse(self.grad), mass: inverse(self.mass), ..self }
    }
}

/// Documents that one task sums.
const BLOCK: usize = 4096;
/// Up to this many documents, rounding takes at most an eighth of the range.
const MOST_ROUNDED: usize = 1 << 29;

/// Packs the gradients of all documents of the table into `packed`; only those of the job's `docs`
/// will be summed. Returns the scale, and the number of documents over all workers.
pub(super) fn pack(
    job: TreeJob<'_>,
    criterion: Criterion,
    reducer: &dyn GrowthReducer,
    packed: &mut [u64],
) -> Result<(GradientScale, usize)> {
    let (scale, num_docs) = scale_of(job, criterion, reducer)?;
    let half = if num_docs <= MOST_ROUNDED { 0.5 } else { 0.0 };
    let counts = criterion == Criterion::LeastSquares;
    let packing = Packing { scale: [scale.grad, scale.mass], half, counts };
    // Also packs documents that are not in `docs`, which is cheap; they are not used.
    let blocks = packed.par_chunks_mut(BLOCK).zip(job.gradients.par_chunks(BLOCK));
    blocks.for_each(|(packed, gradients)| {
        kernel::pack(Level::best(), gradients, packing, packed);
    });
    Ok((scale.inverse(), num_docs))
}

/// The factors for gradients, and the number of documents over all workers.
fn scale_of(
    job: TreeJob<'_>,
    criterion: Criterion,
    reducer: &dyn GrowthReducer,
) -> Result<(GradientScale, usize)> {
    let TreeJob { gradients, docs, round, .. } = job;
    let mut most = largest(gradients, docs);
    reducer.max("the largest gradient", round, &mut most)?;
    let factors = most.map(factor);
    let sums = by_block(gradients, docs, |block| kernel::units(Level::best(), block, factors));
    let mut words = vec![docs.len() as u64];
    for kind in 0..2 {
        let units: u128 = sums.iter().map(|sums| u128::from(sums[kind])).sum();
        let low = u128::from(u32::MAX);
        words.extend([units & low, units >> 32 & low, units >> 64].map(|part| part as u64));
    }
    reducer.sum("the sum of gradients", round, &mut words)?;
    let num_docs = words[0] as usize;
    check_count(criterion, num_docs)?;
    let [grad, hess] = [0, 1].map(|kind| {
        let parts = &words[1 + 3 * kind..4 + 3 * kind];
        let units = parts.iter().rev().fold(0u128, |units, &part| (units << 32) + u128::from(part));
        // At most half a unit per document was rounded away.
        let sum = (units + num_docs as u128) as f64 / factors[kind];
        match most[kind] {
            0.0 => 0.0,
            f64::INFINITY => f64::INFINITY,
            _ => sum,
        }
    });
    // One part in 2^20 is left for the error of the sums themselves.
    let left = if num_docs <= MOST_ROUNDED { num_docs as f64 / 2.0 } else { 0.0 } + 2048.0;
    let scale = |range: f64, sum: f64| {
        let scale = (range - left) / sum;
        if sum > 0.0 { scale.min(f64::from(f32::MAX)) } else { 0.0 }
    };
    let mass = match criterion {
        Criterion::SecondOrder => scale(4_294_967_295.0, hess),
        Criterion::LeastSquares => 1.0,
    };
    let largest_mass = match criterion {
        // Rounding adds at most one unit.
        Criterion::SecondOrder => most[1] * mass + 1.0,
        Criterion::LeastSquares => 1.0,
    };
    Ok((GradientScale { grad: scale(2_147_483_647.0, grad), mass, largest_mass }, num_docs))
}

/// Refuses more documents, over all workers, than least squares can count in 32 bits.
fn check_count(criterion: Criterion, num_docs: usize) -> Result<()> {
    if criterion == Criterion::SecondOrder || u32::try_from(num_docs).is_ok() {
        return Ok(());
    }
    Err(Error::param("criterion", "criterion='least_squares' counts docs in 32 bits")
        .got(format!("{num_docs} docs"))
        .expected(format!("at most {} over all workers, or criterion='second_order'", u32::MAX)))
}

/// The largest absolute gradient and hessian; infinite if one is not a finite number.
fn largest(gradients: &[Gradient], docs: &[u32]) -> [f64; 2] {
    let most = by_block(gradients, docs, |block| kernel::largest(Level::best(), block));
    let most = most.into_iter().fold([0; 2], |a, b| [a[0].max(b[0]), a[1].max(b[1])]);
    most.map(|bits| {
        let most = f32::from_bits(bits);
        if most.is_nan() { f64::INFINITY } else { f64::from(most) }
    })
}

/// Applies a function to the gradients of documents, block by block.
fn by_block<T: Send>(
    gradients: &[Gradient],
    docs: &[u32],
    one: impl Fn(&[Gradient]) -> T + Sync,
) -> Vec<T> {
    if docs.len() == gradients.len() {
        // All documents, in ascending order.
        return gradients.par_chunks(BLOCK).map(&one).collect();
    }
    let of = |&doc: &u32| gradients[doc as usize];
    let of_docs = |docs: &[u32]| one(&docs.iter().map(of).collect::<Vec<_>>());
    docs.par_chunks(BLOCK).map(of_docs).collect()
}

/// The factor that scales the largest number to between 2^39 and 2^40, so that no sum of a block
/// overflows.
fn factor(most: f64) -> f64 {
    if most == 0.0 || !most.is_finite() {
        return 1.0;
    }
    let exponent = (most.to_bits() >> 52) as i32 - 1023;
    2f64.powi(39 - exponent)
}

fn inverse(scale: f64) -> f64 {
    if scale > 0.0 { 1.0 / scale } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::reducer::LocalReducer;
    use super::*;

    fn packed(gradients: &[Gradient]) -> (Vec<u64>, GradientScale) {
        let docs: Vec<u32> = (0..gradients.len() as u32).collect();
        let mut packed = vec![0; gradients.len()];
        let job = TreeJob { gradients, docs: &docs, rest: &[], round: 0 };
        let (scale, num_docs) =
            pack(job, Criterion::SecondOrder, &LocalReducer, &mut packed).unwrap();
        assert_eq!(num_docs, gradients.len());
        (packed, scale)
    }

    #[test]
    fn least_squares_counts_up_to_32_bits() {
        let most = u32::MAX as usize;
        assert!(check_count(Criterion::LeastSquares, most).is_ok());
        assert!(check_count(Criterion::SecondOrder, most + 1).is_ok());
        let error = check_count(Criterion::LeastSquares, most + 1).unwrap_err().to_string();
        assert!(error.contains("got 4294967296 docs"), "{error}");
    }

    /// The sums in 64 bits.
    fn wide(packed: &[u64]) -> (i64, i64, u64) {
        packed.iter().fold((0, 0, 0), |(grad, size, mass), &p| {
            let one = GradientSums::of(p);
            let g = i64::from(one.grad);
            (grad + g, size + g.abs(), mass + u64::from(one.mass))
        })
    }

    #[test]
    fn extreme_gradients_do_not_overflow() {
        let of = |grad: f32, hess: f32| Gradient { grad, hess };
        for gradients in [
            vec![of(f32::MAX, f32::MAX); 3],
            vec![of(-f32::MAX, f32::MAX), of(f32::MAX, 0.0), of(f32::MIN_POSITIVE, 1e-45)],
            vec![of(-1e-45, 1e-45); 1000],
            vec![of(0.5, 0.25); 100_001],
            (0..70_000).map(|i| of(if i == 7 { 1e30 } else { -1.0 }, 1e-3)).collect(),
        ] {
            let (packed, _) = packed(&gradients);
            let (grad, size, mass) = wide(&packed);
            assert!(size < 1 << 31 && mass < 1 << 32, "{size} {mass}");
            let sum = packed.iter().fold(0u64, |sum, &p| sum.wrapping_add(p));
            let sum = GradientSums::of(sum);
            assert_eq!((i64::from(sum.grad), u64::from(sum.mass)), (grad, mass));
        }
    }

    /// 50 million documents are too many for a test; their scale is not.
    #[test]
    fn fifty_million_docs_keep_room_for_rounding() {
        let docs = 50_000_000.0f64;
        let scale = (2_147_483_647.0 - docs / 2.0 - 2048.0) / docs;
        // All documents have the same gradient, each rounded up by at most half a unit.
        assert!((scale + 0.5) * docs < 2f64.powi(31));
        assert!(scale > 42.0, "a doc of average gradient is still {scale} units");
    }

    #[test]
    fn a_unit_is_small_beside_the_average() {
        let gradients: Vec<_> = (0..1000)
            .map(|i| Gradient { grad: (i as f32 - 499.5) / 100.0, hess: 1.0 + i as f32 })
            .collect();
        let (packed, scale) = packed(&gradients);
        for (packed, gradient) in packed.iter().zip(&gradients) {
            let sums = GradientSums::of(*packed);
            assert!((f64::from(sums.grad) * scale.grad - f64::from(gradient.grad)).abs() < 2e-6);
            assert!((f64::from(sums.mass) * scale.mass - f64::from(gradient.hess)).abs() < 2e-4);
        }
    }
}
