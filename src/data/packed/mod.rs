//! Compressed rows of cells, kept in memory until their bins are known.
//!
//! Most cells of real features are 0 or a small count. As `f32`, they would cost a load of text more
//! time in page faults than everything but the parsing of digits. A row is stored as
//! ```text
//!   head of each sixteen cells      two masks of 16 bits: which are counts, which are others
//!   cells of each sixteen           a byte for each count of 1 to 255, then an f32 for each other
//! ```
//! and a cell in neither mask is 0. Cells are restored bit for bit. The place of any group of sixteen
//! follows from the heads. Memory: a half to two thirds of the `f32`s on web features, at most 17/16.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use crate::simd::Level;
use std::ops::Range;

/// The cells of a group, which has one head.
pub const LANES: usize = 16;
/// The bytes of a head.
const HEAD: usize = 4;
/// The most bytes of sixteen cells, and of a vector store behind them.
const MAX_GROUP_BYTES: usize = 4 * LANES + LANES;

/// Sixteen cells.
pub type CellGroup = [f32; LANES];

/// Packed rows of one width.
#[derive(Debug, Clone)]
pub struct PackedRows {
    width: usize,
    /// Where each row ends.
    ends: Vec<usize>,
    bytes: Vec<u8>,
    /// The buffer in which a row is packed.
    scratch: Vec<u8>,
    level: Level,
}

impl PackedRows {
    /// An empty table; `capacity` is about how many bytes its rows will take.
    pub fn new(width: usize, capacity: usize) -> Self {
        Self::at(Level::best(), width, capacity)
    }

    /// [`new`](Self::new) with a given kernel; all make the same bytes.
    pub fn at(level: Level, width: usize, capacity: usize) -> Self {
        let bytes = Vec::with_capacity(capacity);
        Self { width, ends: Vec::new(), bytes, scratch: Vec::new(), level }
    }

    /// Whether packing saves time: not with the portable kernel, cell by cell.
    pub fn pays() -> bool {
        Level::best() == Level::Avx512
    }

    /// The number of cells of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of groups of a row; the padding is 0.
    pub fn num_groups(&self) -> usize {
        self.width.div_ceil(LANES)
    }

    /// The number of rows.
    pub fn num_rows(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of memory.
    pub fn memory(&self) -> usize {
        self.bytes.len() + size_of::<usize>() * self.ends.len()
    }

    /// Adds a row of `num_groups` groups.
    pub fn push(&mut self, row: &[CellGroup]) {
        debug_assert_eq!(row.len(), self.num_groups());
        self.scratch.resize(row.len() * HEAD + row.len() * 4 * LANES + MAX_GROUP_BYTES, 0);
        let length = match self.level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if self.level.is_available() => avx512::pack(row, &mut self.scratch),
            _ => portable::pack(row, &mut self.scratch),
        };
        self.bytes.extend_from_slice(&self.scratch[..length]);
        self.ends.push(self.bytes.len());
    }

    /// Frees the memory that no row needs.
    pub fn finish(&mut self) {
        self.bytes.shrink_to_fit();
        self.scratch = Vec::new();
    }

    /// Prefetches a row into the cache.
    pub fn fetch(&self, row: usize) {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        #[cfg(target_arch = "x86_64")]
        if self.level == Level::Avx512 && self.level.is_available() {
            avx512::fetch_all(&self.bytes[start..self.ends[row]]);
        }
    }

    /// Writes the cells of some features of a row.
    pub fn read(&self, row: usize, features: Range<usize>, to: &mut [f32]) {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        // A kernel may read beyond the row.
        let bytes = &self.bytes[start..];
        let into = features.start % LANES;
        let front = ((LANES - into) % LANES).min(features.len());
        let (front, rest) = to[..features.len()].split_at_mut(front);
        if into > 0 {
            let mut group = [0.0; LANES];
            self.unpack(bytes, features.start / LANES, &mut group);
            front.copy_from_slice(&group[into..][..front.len()]);
        }
        self.unpack(bytes, features.start.div_ceil(LANES), rest);
    }

    fn unpack(&self, bytes: &[u8], first: usize, to: &mut [f32]) {
        let (heads, cells) = bytes.split_at(HEAD * self.num_groups());
        let heads = heads.as_chunks().0;
        match self.level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if self.level.is_available() => avx512::unpack(heads, cells, first, to),
            _ => portable::unpack(heads, cells, first, to),
        }
    }
}

/// The masks of a group: cells that are counts from 1 to 255, and other cells that are not 0.
#[derive(Debug, Clone, Copy)]
struct GroupHead {
    counts: u16,
    others: u16,
}

impl GroupHead {
    #[inline]
    fn of([a, b, c, d]: [u8; HEAD]) -> Self {
        Self { counts: u16::from_le_bytes([a, b]), others: u16::from_le_bytes([c, d]) }
    }

    #[inline]
    fn bytes(self) -> [u8; HEAD] {
        let ([a, b], [c, d]) = (self.counts.to_le_bytes(), self.others.to_le_bytes());
        [a, b, c, d]
    }

    /// The bytes of the group's cells.
    #[inline]
    fn size(self) -> usize {
        self.counts.count_ones() as usize + 4 * self.others.count_ones() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cell() -> impl Strategy<Value = f32> {
        prop_oneof![
            4 => Just(0.0),
            3 => (0u16..300).prop_map(f32::from),
            3 => any::<f32>(),
            1 => prop::sample::select(vec![f32::NAN, 254.5, 255.0, 256.0, -1.0, 4e9, f32::MIN_POSITIVE]),
        ]
        .prop_map(|cell| if cell.is_nan() { f32::NAN } else { cell + 0.0 })
    }

    fn groups(row: &[f32]) -> Vec<CellGroup> {
        let mut groups = vec![[0.0; LANES]; row.len().div_ceil(LANES)];
        groups.as_flattened_mut()[..row.len()].copy_from_slice(row);
        groups
    }

    fn bits(cells: &[f32]) -> Vec<u32> {
        cells.iter().map(|cell| cell.to_bits()).collect()
    }

    proptest! {
        #[test]
        fn cells_come_back_bit_for_bit_and_all_levels_hold_the_same_bytes(
            rows in (0usize..70).prop_flat_map(|width| {
                prop::collection::vec(prop::collection::vec(cell(), width), 1..6)
            }),
            from in 0usize..70,
            to in 0usize..70,
        ) {
            let width = rows[0].len();
            let features = from.min(to).min(width)..from.max(to).min(width);
            let mut twin = PackedRows::at(Level::Portable, width, 0);
            for row in &rows {
                twin.push(&groups(row));
            }
            for level in Level::available() {
                let mut packed = PackedRows::at(level, width, 99);
                for row in &rows {
                    packed.push(&groups(row));
                }
                packed.finish();
                prop_assert_eq!((&packed.bytes, &packed.ends), (&twin.bytes, &twin.ends));
                for (i, row) in rows.iter().enumerate() {
                    for features in [0..width, features.clone()] {
                        let mut cells = vec![9.0; features.len()];
                        packed.read(i, features.clone(), &mut cells);
                        prop_assert_eq!(bits(&cells), bits(&row[features]), "{:?}", level);
                    }
                }
            }
        }
    }

    #[test]
    fn zeros_take_no_bytes_and_counts_one() {
        let mut packed = PackedRows::new(32, 0);
        let mut row = [0.0; 32];
        packed.push(&groups(&row));
        assert_eq!(packed.bytes.len(), 2 * HEAD);
        (row[3], row[30]) = (255.0, 1.0);
        packed.push(&groups(&row));
        assert_eq!(packed.bytes.len(), 4 * HEAD + 2);
        row[4] = 256.0;
        packed.push(&groups(&row));
        assert_eq!(packed.bytes.len(), 6 * HEAD + 8);
        assert_eq!((packed.num_rows(), packed.memory()), (3, 32 + 24));
    }
}
