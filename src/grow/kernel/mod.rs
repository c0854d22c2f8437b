//! The inner loops of tree growth: adding to histograms, searching them, and cutting the docs of a
//! node in two.
//!
//! All forms of a loop give the same result; which one runs is chosen once a call.

mod add;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod part;
mod search;

pub(super) use add::{Block, LINE, MOST_COLUMNS, TILE_SUMS, add, fetch};
pub(super) use part::{Cells, Side, part};
pub(super) use search::Search;

use super::scan::Found;
use crate::simd::Level;

/// Searches columns at a level of instructions.
pub(super) fn search(level: Level, search: Search<'_>, found: &mut Found) {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if level.is_available() => avx512::search(search, found),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if level.is_available() => avx2::search(search, found),
        _ => search.run(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bins::Matrix;
    use crate::hash::draw;

    #[test]
    fn docs_are_cut_alike_at_every_level() {
        for len in [0, 1, 15, 16, 17, 31, 1000] {
            for (seed, few) in [(1, 256), (2, 3), (3, 1)] {
                let byte = |i: u64| (draw(seed, 0, i) % few) as u8;
                let mut bytes: Vec<u8> = (0..3000).map(byte).collect();
                bytes.extend([0; 3]);
                let mut side = Side::default();
                (0..=255u8)
                    .filter(|&b| draw(seed, 1, b.into()) < 1 << 63)
                    .for_each(|b| side.insert(b));
                let all: Vec<u32> = (0..len).map(|i| 3 * i).collect();
                let (left, right): (Vec<u32>, Vec<u32>) =
                    all.iter().partition(|&&doc| side.is_left(bytes[doc as usize]));
                let rows = Cells::Rows { bytes: &bytes, width: 1, column: 0 };
                for level in Level::available() {
                    for cells in [Cells::Column(&bytes), rows] {
                        let (mut docs, mut others) = (all.clone(), vec![0; all.len()]);
                        let n = part(level, cells, &side, &mut docs, &mut others);
                        assert_eq!((&docs[..n], &others[..all.len() - n]), (&left[..], &right[..]));
                    }
                }
            }
        }
    }

    #[test]
    fn sums_are_those_of_the_plain_loop() {
        for stride in [32usize, 64, 128, 256, 512] {
            for width in [1, 7, 24, 25] {
                let mut matrix = Matrix::with_capacity(width + 9, 50).unwrap();
                for (i, byte) in matrix.grow(50).unwrap().iter_mut().enumerate() {
                    *byte = (draw(4, 4, i as u64) % stride.min(256) as u64) as u8;
                }
                let docs: Vec<u32> = (0..50).filter(|doc| doc % 3 > 0).collect();
                let gradients: Vec<u64> = docs.iter().map(|&d| draw(5, 5, d.into())).collect();
                let (docs, next) = (&docs[..], &docs[..7]);
                let gradients = &gradients[..];
                let run: Vec<u32> = (2..).take(width).collect();
                let apart: Vec<u32> = (0..).filter(|c| c % 7 != 1).take(width).collect();
                for columns in [&run[..], &apart] {
                    let matrix = &matrix;
                    let block = Block { matrix, docs, gradients, columns, next, next_byte: 1 };
                    let [mut fast, mut slow] = [vec![1; stride * width], vec![1; stride * width]];
                    add(block, stride, &mut fast);
                    add::plain(block, stride, &mut slow);
                    assert_eq!(fast, slow);
                }
            }
        }
    }
}
