//! Passes over the gradients of all documents: safe loops, compiled for each SIMD level.

use crate::gradient::Gradient;
use crate::simd::for_levels;

/// How gradients become packed integers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packing {
    /// The factors for gradients and hessians.
    pub(crate) scale: [f64; 2],
    /// Added before truncation: 0.5 to round, 0 to truncate.
    pub(crate) half: f64,
    /// Whether documents are counted instead of their hessians.
    pub(crate) counts: bool,
}

for_levels! {
    /// The bits of the largest absolute gradient and hessian. Their order is that of the numbers,
    /// with NaN last.
    pub(crate) fn largest(gradients: &[Gradient]) -> [u32; 2] {
        gradients.iter().fold([0; 2], |[grad, hess]: [u32; 2], gradient| {
            let bits = [gradient.grad, gradient.hess].map(|part| part.abs().to_bits());
            [grad.max(bits[0]), hess.max(bits[1])]
        })
    }

    /// The sums of absolute gradients and hessians in whole units, `factors` units to 1. Sums must
    /// be below 2^51.
    pub(crate) fn units(gradients: &[Gradient], factors: [f64; 2]) -> [u64; 2] {
        // From here to twice this, floats are exactly the integers, and so are their bits.
        const SHIFT: f64 = 4_503_599_627_370_496.0;
        let whole = |number: f64| (number + SHIFT).to_bits().wrapping_sub(SHIFT.to_bits());
        gradients.iter().fold([0; 2], |[grad, hess]: [u64; 2], gradient| {
            let parts = [gradient.grad.abs(), gradient.hess.max(0.0)].map(f64::from);
            // If a number is infinite, the sum is not used.
            let add = |sum: u64, kind: usize| sum.wrapping_add(whole(parts[kind] * factors[kind]));
            [add(grad, 0), add(hess, 1)]
        })
    }

    /// Packs gradients: the gradient into the upper half, the hessian into the lower.
    pub(crate) fn pack(gradients: &[Gradient], packing: Packing, to: &mut [u64]) {
        let Packing { scale, half, counts } = packing;
        for (to, gradient) in to.iter_mut().zip(gradients) {
            let grad = f64::from(gradient.grad) * scale[0];
            let grad = (grad + half.copysign(grad)) as i32;
            let mass = (f64::from(gradient.hess) * scale[1] + half) as u32;
            *to = u64::from(grad as u32) << 32 | u64::from(if counts { 1 } else { mass });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::draw;
    use crate::simd::Level;

    #[test]
    fn passes_are_the_same_at_every_level() {
        let number = |seed: u64, i: u64| (draw(seed, 0, i) % 20_001) as f32 / 64.0 - 150.0;
        for len in [0, 1, 7, 8, 9, 1000] {
            let one = |i| Gradient { grad: number(1, i), hess: number(2, i).abs() };
            let mut gradients: Vec<Gradient> = (0..len).map(one).collect();
            let most = |part: fn(&Gradient) -> f32| {
                gradients.iter().map(part).fold(0.0f32, |most, part| most.max(part.abs()))
            };
            let expected = [most(|g| g.grad), most(|g| g.hess)].map(f32::to_bits);
            // Halves round to even.
            let sum = |part: fn(&Gradient) -> f32, factor: f64| {
                let units = gradients.iter().map(|g| f64::from(part(g).abs()) * factor);
                units.map(|units| units.round_ties_even() as u64).sum::<u64>()
            };
            let (factors, scale) = ([32.0, 1e6], [1e3, 3e6]);
            let sums = [sum(|g| g.grad, factors[0]), sum(|g| g.hess, factors[1])];
            for level in Level::available() {
                assert_eq!(largest(level, &gradients), expected);
                assert_eq!(units(level, &gradients, factors), sums);
                for counts in [false, true] {
                    let mut packed = vec![7; gradients.len()];
                    pack(level, &gradients, Packing { scale, half: 0.5, counts }, &mut packed);
                    for (packed, gradient) in packed.into_iter().zip(&gradients) {
                        let grad = (f64::from(gradient.grad) * scale[0]).round() as i32;
                        let mass = (f64::from(gradient.hess) * scale[1]).round() as u32;
                        assert_eq!((packed >> 32) as i32, grad);
                        assert_eq!(packed as u32, if counts { 1 } else { mass });
                    }
                }
            }
            for (i, bad) in [f32::NAN, f32::NEG_INFINITY].into_iter().enumerate() {
                gradients.push(Gradient { grad: bad, hess: -bad });
                for level in Level::available() {
                    let bits = largest(level, &gradients)[0];
                    assert!(bits >= f32::INFINITY.to_bits(), "{i} at {level:?}");
                }
            }
        }
    }
}
