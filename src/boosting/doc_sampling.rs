//! Samples documents by the size of their gradients.
//!
//! Documents with large gradients decide the splits. A few of the others suffice, if these stand
//! for the rest: a document is kept with some *probability*, and its gradient is then divided by
//! it. So all sums have the same expectation as without sampling.
//!
//! - *One-sided* (GOSS, Ke et al. 2017): the documents with the largest gradients are kept, the
//!   others with one probability for all.
//! - *By importance* (minimal variance sampling, Ibragimov and Gusev 2019): the probability is
//!   `min(1, size / mu)`, where the size of a gradient is `sqrt(grad^2 + hess^2)`, and mu is chosen
//!   such that the requested share is kept. The scaled gradient of a document that was kept by
//!   chance then has exactly size mu.
//!
//! Sizes are integers relative to the largest, and sums over documents are sums of integers, so
//! neither threads nor the order of documents matter. Whether a document is kept depends on its
//! content and the round.
//!
//! Cost: three passes over the documents of the bag.

use crate::Gradient;
use crate::error::{Error, Result};
use rayon::iter::Either;
use rayon::prelude::*;

/// Documents per task.
const DOCS_A_TASK: usize = 1 << 16;
/// The largest size.
const LARGEST: u32 = 1 << 24;
/// Sizes below this have a bucket each; larger ones share a bucket if their leading nine bits
/// agree.
const SMALL: u32 = 1 << 8;
const NUM_BUCKETS: usize = bucket_of(LARGEST) + 1;

/// How the documents that a tree is fitted to are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum DocSampling {
    /// Each with the same probability.
    #[default]
    Uniform,
    /// Those with the largest gradients, and others by chance.
    OneSided {
        /// The share of the documents that is kept for their gradients: above 0, below the whole
        /// share.
        top: f64,
    },
    /// With a probability in proportion to the size of the gradient.
    Importance,
}

impl DocSampling {
    /// Returns an error if an option is out of range.
    pub(super) fn check(self, share: f64) -> Result<()> {
        let Self::OneSided { top } = self else { return Ok(()) };
        // Written so that NaN is an error too.
        if top > 0.0 && top < share {
            return Ok(());
        }
        Err(Error::param("top_docs", "top_docs is out of range")
            .got(top)
            .expected(format!("a number above 0, below docs_per_tree, which is {share}")))
    }

    /// The method as text, for models and checkpoints.
    pub(super) fn named(self) -> String {
        match self {
            Self::Uniform => "uniform".to_owned(),
            Self::OneSided { top } => format!("one_sided, top {top}"),
            Self::Importance => "importance".to_owned(),
        }
    }

    /// The probabilities that keep this share of the documents.
    fn rule(self, sizes: &SizeHistogram, share: f64) -> KeepRule {
        let target = share * sizes.count() as f64;
        match self {
            Self::OneSided { top } => sizes.one_sided(top * sizes.count() as f64, target),
            Self::Uniform | Self::Importance => sizes.by_importance(target),
        }
    }

    /// The square of the size of a gradient.
    fn square(self, gradient: Gradient) -> f64 {
        let (grad, hess) = (f64::from(gradient.grad), f64::from(gradient.hess));
        match self {
            Self::OneSided { .. } => grad * grad,
            Self::Uniform | Self::Importance => grad * grad + hess * hess,
        }
    }
}

/// The probability with which a document is kept, by the size of its gradient.
#[derive(Debug, Clone, Copy, PartialEq)]
struct KeepRule {
    /// Documents of at least this size are always kept.
    sure: f64,
    /// The probability of smaller ones; `None` for their size over `sure`.
    by_chance: Option<f64>,
}

impl KeepRule {
    fn probability(self, size: u32) -> f64 {
        let size = f64::from(size);
        if size >= self.sure { 1.0 } else { self.by_chance.unwrap_or(size / self.sure) }
    }
}

/// Keeps a share of `docs` and moves the others to `rest`, both ascending. Divides the gradients of
/// kept documents by their probability; `draw` has the random bits of a document.
pub(super) fn thin(
    sampling: DocSampling,
    share: f64,
    draw: impl Fn(u32) -> u64 + Sync + Send,
    gradients: &mut [Gradient],
    [docs, rest]: [&mut Vec<u32>; 2],
) {
    let square = |&doc: &u32| sampling.square(gradients[doc as usize]);
    let squares: Vec<f64> = docs.par_iter().map(square).collect();
    let most = squares.par_iter().copied().reduce(|| 0.0, f64::max);
    if most <= 0.0 {
        return;
    }
    let (inverse, largest) = (1.0 / most, f64::from(LARGEST));
    // Never 0, because the probability must be positive.
    let size =
        |square: &f64| (((square * inverse).sqrt() * largest).ceil() as u32).clamp(1, LARGEST);
    let sizes: Vec<u32> = squares.par_iter().map(size).collect();
    let tallies = sizes.par_chunks(DOCS_A_TASK).map(SizeHistogram::of);
    let tally = tallies.reduce(SizeHistogram::default, SizeHistogram::and);
    let thinned = |share: f64| -> (Vec<(u32, f64)>, Vec<u32>) {
        let rule = sampling.rule(&tally, share);
        let keep = |(&doc, &size): (&u32, &u32)| {
            let probability = rule.probability(size);
            if probability >= 1.0 || (draw(doc) as f64) < probability * 2f64.powi(64) {
                Either::Left((doc, probability))
            } else {
                Either::Right(doc)
            }
        };
        docs.par_iter().zip(&sizes).partition_map(keep)
    };
    let mut share = share;
    let (kept, others) = loop {
        let parts = thinned(share);
        if !parts.0.is_empty() || share >= 1.0 {
            break parts;
        }
        // A small share of few documents may be none: it grows until it is one, or a few.
        share = (2.0 * share).min(1.0);
    };
    docs.clear();
    for (doc, probability) in kept {
        docs.push(doc);
        let gradient = &mut gradients[doc as usize];
        gradient.grad = (f64::from(gradient.grad) / probability) as f32;
        gradient.hess = (f64::from(gradient.hess) / probability) as f32;
    }
    rest.extend(others);
    #[expect(clippy::stable_sort_primitive, reason = "it merges two ascending lists in one pass")]
    rest.sort();
}

const fn bucket_of(size: u32) -> usize {
    if size < SMALL {
        return size as usize;
    }
    let above = size.ilog2() - SMALL.ilog2();
    (SMALL * (above + 1) + (size >> above) - SMALL) as usize
}

/// The smallest size of a bucket.
fn least_of(bucket: usize) -> f64 {
    if bucket < SMALL as usize {
        return bucket as f64;
    }
    let (above, leading) = (bucket / SMALL as usize - 1, bucket % SMALL as usize);
    ((leading as u64 + u64::from(SMALL)) << above) as f64
}

/// The number of documents and the sum of sizes in each bucket.
#[derive(Debug, Clone)]
struct SizeHistogram(Vec<[u64; 2]>);

impl Default for SizeHistogram {
    fn default() -> Self {
        Self(vec![[0; 2]; NUM_BUCKETS])
    }
}

impl SizeHistogram {
    fn of(sizes: &[u32]) -> Self {
        let mut tally = Self::default();
        for &size in sizes {
            let [count, sum] = &mut tally.0[bucket_of(size)];
            *count += 1;
            *sum += u64::from(size);
        }
        tally
    }

    fn and(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a = [a[0] + b[0], a[1] + b[1]]);
        self
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|[count, _]| count).sum()
    }

    /// The rule that always keeps the largest documents, at most `top`, and others with one
    /// probability.
    fn one_sided(&self, top: f64, target: f64) -> KeepRule {
        let (mut above, mut sure) = (0, f64::from(LARGEST) + 1.0);
        for (bucket, &[count, _]) in self.0.iter().enumerate().rev() {
            if (above + count) as f64 > top {
                break;
            }
            above += count;
            sure = least_of(bucket);
        }
        let others = (self.count() - above) as f64;
        KeepRule { sure, by_chance: Some(((target - above as f64) / others).clamp(0.0, 1.0)) }
    }

    /// The rule that keeps `target` documents in expectation, with a probability in proportion to
    /// the size.
    fn by_importance(&self, target: f64) -> KeepRule {
        let mut below: u64 = self.0.iter().map(|[_, sum]| sum).sum();
        let mut above = 0;
        for (bucket, &[count, sum]) in self.0.iter().enumerate().rev() {
            let least = least_of(bucket);
            let at_least = (above + count) as f64 + (below - sum) as f64 / least;
            if count > 0 && at_least >= target {
                // The threshold is in this bucket or above it.
                let sure = below as f64 / (target - above as f64).max(f64::MIN_POSITIVE);
                return KeepRule { sure: sure.max(least), by_chance: None };
            }
            above += count;
            below -= sum;
        }
        KeepRule { sure: 1.0, by_chance: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::draw;

    fn gradients(count: u64) -> Vec<Gradient> {
        let unit = |stream, id| (draw(3, stream, id) >> 11) as f64 / 2f64.powi(53);
        let gradient = |id| {
            // Heavy tails.
            let size = unit(0, id).powi(6) + 1e-4;
            let sign = if unit(1, id) < 0.4 { -1.0 } else { 1.0 };
            Gradient { grad: (sign * size) as f32, hess: (size * unit(2, id)) as f32 }
        };
        (0..count).map(gradient).collect()
    }

    fn thinned(
        sampling: DocSampling,
        share: f64,
        all: &[Gradient],
        round: u64,
    ) -> (Vec<u32>, Vec<u32>, Vec<Gradient>) {
        let doc_hash: Vec<u64> = (0..all.len() as u64).map(|doc| draw(9, 9, doc)).collect();
        let mut gradients = all.to_vec();
        let (mut docs, mut rest) = ((0..all.len() as u32).collect(), Vec::new());
        let draw = |doc: u32| draw(1, round, doc_hash[doc as usize]);
        thin(sampling, share, draw, &mut gradients, [&mut docs, &mut rest]);
        (docs, rest, gradients)
    }

    #[test]
    fn buckets_are_in_the_order_of_sizes() {
        let mut last = 0;
        for size in (0..5000).chain((5000..LARGEST).step_by(997)).chain([LARGEST]) {
            let bucket = bucket_of(size);
            assert!(bucket >= last && bucket < NUM_BUCKETS);
            assert!(least_of(bucket) <= f64::from(size) && f64::from(size) < least_of(bucket + 1));
            last = bucket;
        }
    }

    #[test]
    fn the_asked_for_share_is_kept_and_sums_are_right_on_average() {
        let all = gradients(20_000);
        let sum = |docs: &[u32], gradients: &[Gradient]| -> (f64, f64) {
            let of = |doc: &u32| gradients[*doc as usize];
            let grads = docs.iter().map(|doc| f64::from(of(doc).grad)).sum();
            (grads, docs.iter().map(|doc| f64::from(of(doc).hess)).sum())
        };
        let everything: Vec<u32> = (0..20_000).collect();
        let expected = sum(&everything, &all);
        for (sampling, share) in [
            (DocSampling::OneSided { top: 0.1 }, 0.3),
            (DocSampling::Importance, 0.3),
            (DocSampling::Importance, 0.7),
        ] {
            let (mut kept, mut sums) = (0.0, (0.0, 0.0));
            for round in 0..40 {
                let (docs, rest, gradients) = thinned(sampling, share, &all, round);
                let mut both = [docs.clone(), rest.clone()].concat();
                both.sort_unstable();
                assert_eq!(both, everything);
                assert!(docs.is_sorted() && rest.is_sorted());
                assert!(rest.iter().all(|&doc| gradients[doc as usize] == all[doc as usize]));
                let (grad, hess) = sum(&docs, &gradients);
                sums = (sums.0 + grad / 40.0, sums.1 + hess / 40.0);
                kept += docs.len() as f64 / 40.0;
            }
            assert!((kept / 20_000.0 - share).abs() < 0.004, "{sampling:?}: {kept}");
            assert!(
                (sums.0 / expected.0 - 1.0).abs() < 0.02,
                "{sampling:?}: {sums:?} {expected:?}"
            );
            assert!(
                (sums.1 / expected.1 - 1.0).abs() < 0.01,
                "{sampling:?}: {sums:?} {expected:?}"
            );
        }
    }

    #[test]
    fn a_share_of_less_than_a_doc_keeps_a_few() {
        let all = gradients(100);
        for sampling in [DocSampling::Importance, DocSampling::OneSided { top: 1e-9 }] {
            for round in 0..20 {
                let (docs, rest, _) = thinned(sampling, 1e-8, &all, round);
                assert!((1..20).contains(&docs.len()), "{sampling:?}: {docs:?}");
                assert_eq!(docs.len() + rest.len(), 100);
            }
        }
    }

    #[test]
    fn docs_that_are_kept_by_chance_count_for_the_threshold() {
        let all = gradients(5000);
        let (docs, _, gradients) = thinned(DocSampling::Importance, 0.3, &all, 0);
        let size = |gradient: Gradient| DocSampling::Importance.square(gradient).sqrt();
        let changed = docs.iter().filter(|&&doc| gradients[doc as usize] != all[doc as usize]);
        let sizes: Vec<f64> = changed.map(|&doc| size(gradients[doc as usize])).collect();
        assert!(sizes.len() > 200);
        let most = sizes.iter().copied().fold(0.0, f64::max);
        assert!(sizes.iter().all(|&size| size > 0.95 * most), "but for whole sizes");
        // Bisection finds the threshold, slowly.
        let expected = |mu: f64| all.iter().map(|&g| (size(g) / mu).min(1.0)).sum::<f64>();
        let (mut low, mut high) = (0.0, 1e6);
        for _ in 0..200 {
            let mid = f64::midpoint(low, high);
            if expected(mid) > 1500.0 { low = mid } else { high = mid }
        }
        assert!((most / low - 1.0).abs() < 0.01, "{most} {low}");
    }

    #[test]
    fn of_equal_gradients_the_share_is_kept_by_chance() {
        let all = vec![Gradient { grad: 0.5, hess: 0.25 }; 10_000];
        for sampling in [DocSampling::OneSided { top: 0.1 }, DocSampling::Importance] {
            let (docs, _, gradients) = thinned(sampling, 0.4, &all, 0);
            assert!((3800..4200).contains(&docs.len()), "{}", docs.len());
            let grad = gradients[docs[0] as usize].grad;
            assert!((grad - 1.25).abs() < 0.01, "{grad}");
        }
        let still = vec![Gradient::default(); 10];
        assert_eq!(thinned(DocSampling::Importance, 0.4, &still, 0).0.len(), 10);
    }
}
