//! Search tables: how many thresholds lie below a value.
//!
//! At most 255 thresholds, padded with infinity to one less than a power of two, stand as a perfect
//! binary tree in level order, the root at place 1: from place `i` on to `2i` or, if the value is
//! above the threshold there, to `2i + 1`. The place that is reached below the last level is the
//! number of thresholds below the value, counted from that level's first place. Infinity lies below
//! nothing and nothing lies below a missing value, whose code is therefore 0.

use super::super::parts::at_most;

/// The thresholds of one feature, at most [`LIMIT`](Self::LIMIT) of them.
#[derive(Debug)]
pub(super) struct ThresholdTable {
    /// Level order from place 1 on; a power of two.
    pub(super) places: Box<[f32]>,
    /// The number of levels, at least [`FEWEST`](Self::FEWEST).
    pub(super) levels: u32,
}

impl ThresholdTable {
    /// So that codes and places fit a byte, and 255 is free for missing values that go right.
    pub(super) const LIMIT: usize = 255;
    /// Four levels lie in sixteen places, which one vector holds.
    const FEWEST: u32 = 4;

    /// The table of thresholds that do not fall.
    pub(super) fn new(thresholds: &[f32]) -> Self {
        debug_assert!(thresholds.len() <= Self::LIMIT);
        let levels = (usize::BITS - thresholds.len().leading_zeros()).max(Self::FEWEST);
        let mut places = vec![f32::INFINITY; 1 << levels].into_boxed_slice();
        for level in 0..levels {
            // The tree below a place of this level has so many thresholds on either side.
            let below = 1 << (levels - level - 1);
            for i in 0..1usize << level {
                let rank = (2 * i + 1) * below - 1;
                places[(1 << level) + i] = thresholds.get(rank).copied().unwrap_or(f32::INFINITY);
            }
        }
        Self { places, levels }
    }

    /// The codes of cells: the portable twin of the kernels.
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    #[inline(always)]
    pub(super) fn encode(&self, cells: &[f32], codes: &mut [u8]) {
        let last = self.places.len() - 1;
        // Eight searches at a time hide each other's waits.
        let (eights, rest) = cells.as_chunks::<8>();
        let (coded, coded_rest) = codes[..cells.len()].as_chunks_mut::<8>();
        for (cells, codes) in eights.iter().zip(coded) {
            let mut at = [1usize; 8];
            for _ in 0..self.levels {
                for (at, &cell) in at.iter_mut().zip(cells) {
                    *at = 2 * *at + usize::from(self.places[*at & last] < cell);
                }
            }
            for (code, at) in codes.iter_mut().zip(at) {
                *code = (at & last) as u8;
            }
        }
        for (code, &cell) in coded_rest.iter_mut().zip(rest) {
            *code = self.code(cell);
        }
    }

    /// The code of one cell.
    #[inline]
    pub(super) fn code(&self, cell: f32) -> u8 {
        match self.levels {
            4 => self.descend::<16>(cell),
            5 => self.descend::<32>(cell),
            6 => self.descend::<64>(cell),
            7 => self.descend::<128>(cell),
            _ => self.descend::<256>(cell),
        }
    }

    /// With a number of places that the compiler knows: no loop, no check of bounds.
    #[inline]
    fn descend<const PLACES: usize>(&self, cell: f32) -> u8 {
        let Some(places) = self.places.first_chunk::<PLACES>() else { return 0 };
        let mut at = 1;
        for _ in 0..PLACES.ilog2() {
            at = 2 * (at % PLACES) + usize::from(places[at % PLACES] < cell);
        }
        (at % PLACES) as u8
    }
}

/// Thresholds that are no `f32`, for values that are none.
///
/// Both are taken down to the `f32` at or below, and the codes of these are right but where they are
/// equal. There, thresholds may still lie below the value: as many as share that `f32` at most, and
/// they come next.
#[derive(Debug)]
pub(super) struct Exact {
    /// In order, then infinities.
    thresholds: Box<[f64; 256]>,
    /// The most thresholds that share an `f32`.
    passes: usize,
}

impl Exact {
    /// For at most [`ThresholdTable::LIMIT`] rising thresholds.
    pub(super) fn new(thresholds: &[f64]) -> Self {
        let mut all = Box::new([f64::INFINITY; 256]);
        all[..thresholds.len()].copy_from_slice(thresholds);
        let shared = thresholds.chunk_by(|a, b| at_most(*a) == at_most(*b));
        Self { thresholds: all, passes: shared.map(<[f64]>::len).max().unwrap_or_default() }
    }

    /// The code of a value from that of the `f32` at or below it.
    #[inline]
    pub(super) fn mend(&self, value: f64, code: u8) -> u8 {
        // An infinity lies below nothing, so the code stays a byte.
        (0..self.passes).fold(code, |code, _| {
            code.wrapping_add(u8::from(self.thresholds[usize::from(code)] < value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_number_of_thresholds_below() {
        for count in [0, 1, 2, 14, 15, 16, 31, 32, 100, 127, 128, 254, 255] {
            let thresholds: Vec<f32> = (0..count).map(|i| i as f32 * 0.5 - 20.0).collect();
            let table = ThresholdTable::new(&thresholds);
            let mut cells: Vec<f32> = vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0];
            cells.extend(thresholds.iter().flat_map(|t| [*t, t.next_up(), t.next_down()]));
            let mut codes = vec![0; cells.len()];
            table.encode(&cells, &mut codes);
            for (&cell, &code) in cells.iter().zip(&codes) {
                let below = thresholds.iter().filter(|&&t| t < cell).count();
                assert_eq!((usize::from(code), table.code(cell)), (below, code), "{cell}");
            }
        }
    }

    #[test]
    fn doubles_that_share_a_single_are_told_apart() {
        let near = |i: i32| 1.0 + f64::from(i) * 1e-9;
        let thresholds: Vec<f64> = (-40..40).filter(|i| i % 3 != 0).map(near).collect();
        let table =
            ThresholdTable::new(&thresholds.iter().map(|&t| at_most(t)).collect::<Vec<_>>());
        let exact = Exact::new(&thresholds);
        let others = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e300, 1e300, 1e-300];
        for value in (-50..50).map(near).chain(others) {
            let below = thresholds.iter().filter(|&&t| t < value).count();
            let code = exact.mend(value, table.code(at_most(value)));
            assert_eq!(usize::from(code), below, "{value}");
        }
    }
}
