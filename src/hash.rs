//! Hashing as the library's only source of randomness.
//!
//! Everything random is a pure function of `(seed, stream, id)`, so there is no generator whose
//! state could depend on row order, on threads or on where a run was resumed. The functions here
//! are fixed for ever: a change would change models.

/// Mixes 64 bits so that every input bit reaches every output bit (a bijection).
#[expect(clippy::inline_always, reason = "kernels compile it with the features of their level")]
#[inline(always)]
pub fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The draw of `id` in `stream` (a round, a replicate) under `seed`: 64 uniform bits.
pub fn draw(seed: u64, stream: u64, id: u64) -> u64 {
    draw_in(start(seed, stream), id)
}

/// What all draws of a stream begin with: `draw(seed, stream, id) = draw_in(start(seed, stream), id)`.
pub(crate) fn start(seed: u64, stream: u64) -> u64 {
    mix(mix(seed ^ 0x9e37_79b9_7f4a_7c15) ^ stream)
}

/// The draw of `id` in a stream that is made ready: two multiplications.
#[expect(clippy::inline_always, reason = "kernels compile it with the features of their level")]
#[inline(always)]
pub(crate) fn draw_in(start: u64, id: u64) -> u64 {
    mix(start.wrapping_add(id))
}

/// Maps 64 uniform bits to an integer below `n`.
pub fn below(bits: u64, n: u64) -> u64 {
    ((u128::from(bits) * u128::from(n)) >> 64) as u64
}

/// The hash of a run of bytes.
pub fn bytes(data: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_are_fixed_for_ever() {
        assert_eq!(mix(1), 0x5692_161d_100b_05e5);
        assert_eq!(draw(1, 2, 3), 11_689_805_963_266_651_032);
        assert_eq!(bytes(b"rustrank"), 5_532_657_086_952_007_976);
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
