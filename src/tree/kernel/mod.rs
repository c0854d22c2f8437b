//! The inner loops of tree growth: summing histograms, searching them, and partitioning documents.
//!
//! All variants of a loop give the same result. The variant is chosen at each call.

mod accumulate;
mod active_docs;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod gradients;
mod level_reductions;
mod partition;
mod search;
mod sums;

pub(super) use accumulate::{GAP, MOST_COLUMNS, StripBlock, TILE_SUMS, accumulate, fetch};
pub(super) use active_docs::{ROOM, select_active};
pub(super) use gradients::{Packing, largest, pack, units};
pub(super) use level_reductions::{LevelCriteria, LevelSplit};
pub(super) use partition::{ByteSet, partition};
pub(super) use search::{SearchScratch, feature_sums, search, split_value};
pub(super) use sums::{add, subtract, total};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::draw;
    use crate::simd::Level;
    use crate::tree::column_strips::Strip;
    #[cfg(target_arch = "x86_64")]
    use crate::tree::packed_gradients::GradientSums;

    #[test]
    fn docs_are_cut_alike_at_every_level() {
        // Some lie in one window of 64 bytes, some in none, the last ones near the end of the
        // column.
        let lens = [0u32, 1, 15, 16, 17, 31, 1000];
        for (len, apart) in
            lens.into_iter().flat_map(|len| [1, 3, 4, 5, 37].map(|apart| (len, apart)))
        {
            for (seed, few) in [(1, 256), (2, 3), (3, 1)] {
                let byte = |i: u64| (draw(seed, 0, i) % few) as u8;
                let mut bytes: Vec<u8> = (0..(len * apart).into()).map(byte).collect();
                bytes.extend([0; 4]);
                let side: ByteSet =
                    (0..=255u8).filter(|&b| draw(seed, 1, b.into()) < 1 << 63).collect();
                let all: Vec<u32> = (0..len).map(|i| apart * i).collect();
                let (left, right): (Vec<u32>, Vec<u32>) =
                    all.iter().partition(|&&doc| side.contains(bytes[doc as usize]));
                for level in Level::available() {
                    let (mut docs, mut others) = (all.clone(), vec![0; all.len()]);
                    let n = partition(level, &bytes, &side, &mut docs, &mut others);
                    assert_eq!((&docs[..n], &others[..all.len() - n]), (&left[..], &right[..]));
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn glances_see_the_same_at_every_level() {
        use super::search::{PortableOps, SearchOps, SplitFilter};
        if !Level::Avx512.is_available() {
            return;
        }
        let mut seen = [0; 4];
        for seed in 0..2000 {
            let len = 16 * (1 + seed as usize % 16);
            let few = 1 + draw(7, seed, 0) % 40;
            let one = |i: u64| {
                let grad = (draw(seed, 1, i) % 2001) as i32 - 1000;
                (u64::from(grad as u32) << 32) | (draw(seed, 2, i) % few / (few / 2).max(1))
            };
            let sums: Vec<u64> = (0..len as u64).map(one).collect();
            let mut prefix = [[0; 256]; 2];
            PortableOps::prefix_sums(&sums, &mut prefix[0]);
            avx512::Avx512Ops::prefix_sums(&sums, &mut prefix[1]);
            assert_eq!(prefix[0], prefix[1]);
            let more = one(1000);
            let total = GradientSums::of(prefix[0][len - 1].wrapping_add(more));
            let size = f64::from(total.mass) * 1e6;
            let threshold = (size * (draw(seed, 3, 0) % 1000) as f64 / 1e4) as f32;
            let least = 1 + (draw(seed, 4, 0) % u64::from(total.mass + 2)) as u32 / 2;
            for more in [0, more] {
                let split_filter = SplitFilter { total, least, l2: 0.5, threshold };
                let plain = PortableOps::filter(&split_filter, &prefix[0][..len], more);
                let wide = avx512::Avx512Ops::filter(&split_filter, &prefix[0][..len], more);
                assert_eq!(plain, wide, "{seed}");
                seen[usize::from(plain[0]) + 2 * usize::from(plain[1])] += 1;
            }
        }
        assert!(seen[0] > 100 && seen[1] == 0 && seen[2] > 100 && seen[3] > 100, "{seen:?}");
    }

    #[test]
    fn sums_are_those_of_the_plain_loop() {
        for codes in [32usize, 64, 128, 256] {
            let stride = codes + GAP;
            for width in [1, 7, 23, 24] {
                let pitch = width + 9;
                let cell = |i| (draw(4, 4, i) % codes.min(256) as u64) as u8;
                let bytes: Vec<u8> = (0..50 * pitch as u64).map(cell).collect();
                let docs: Vec<u32> = (0..50).filter(|doc| doc % 3 > 0).collect();
                let gradients: Vec<u64> = docs.iter().map(|&d| draw(5, 5, d.into())).collect();
                let (docs, next) = (&docs[..], &docs[..7]);
                let gradients = &gradients[..];
                let run: Vec<u32> = (12..).take(width).collect();
                let apart: Vec<u32> = (10..).filter(|c| c % 7 != 1).take(width).collect();
                let strip = Strip { bytes: &bytes, pitch, first: 10 };
                for positions in [&run[..], &apart] {
                    let block =
                        StripBlock { strip, docs, gradients, positions, next, next_strip: strip };
                    let [mut fast, mut slow] = [vec![1; stride * width], vec![1; stride * width]];
                    accumulate(block, stride, &mut fast);
                    accumulate::plain(block, stride, &mut slow);
                    assert_eq!(fast, slow);
                }
            }
        }
    }
}
