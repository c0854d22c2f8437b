//! Hashes of content, which must never change: models and checkpoints depend on them.

/// Mixes 64 bits so that every input bit reaches every output bit (a bijection).
#[expect(clippy::inline_always, reason = "kernels compile it with the features of their level")]
#[inline(always)]
pub fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The hash of a slice of bytes.
pub fn bytes(data: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_never_change() {
        assert_eq!(mix(1), 0x5692_161d_100b_05e5);
        assert_eq!(bytes(b"rustrank"), 5_532_657_086_952_007_976);
    }
}
