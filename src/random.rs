//! Stateless random numbers.
//!
//! Every random number is a pure function of `(seed, stream, id)`. There is no generator whose state
//! could depend on the order of rows, on threads, or on where a training was resumed. The functions
//! must never change: that would change models.

use crate::hash::mix;

/// 64 uniform random bits for `id` in `stream` (a round, a replicate) under `seed`.
pub fn draw(seed: u64, stream: u64, id: u64) -> u64 {
    draw_in(start(seed, stream), id)
}

/// The state that all draws of a stream share: `draw(seed, stream, id) = draw_in(start(seed, stream), id)`.
pub(crate) fn start(seed: u64, stream: u64) -> u64 {
    mix(mix(seed ^ 0x9e37_79b9_7f4a_7c15) ^ stream)
}

/// The draw of `id` in a stream whose [`start`] is known: two multiplications.
#[expect(clippy::inline_always, reason = "kernels compile it with the features of their level")]
#[inline(always)]
pub(crate) fn draw_in(start: u64, id: u64) -> u64 {
    mix(start.wrapping_add(id))
}

/// Maps 64 uniform bits to an integer below `n`.
pub fn below(bits: u64, n: u64) -> u64 {
    ((u128::from(bits) * u128::from(n)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_never_change() {
        assert_eq!(draw(1, 2, 3), 11_689_805_963_266_651_032);
    }

    #[test]
    fn below_is_uniform_enough() {
        let mut counts = [0u32; 7];
        for id in 0..70_000 {
            counts[below(draw(5, 0, id), 7) as usize] += 1;
        }
        assert!(counts.iter().all(|c| (9_600..10_400).contains(c)), "{counts:?}");
    }
}
