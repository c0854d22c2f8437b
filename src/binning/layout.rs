//! Where the code of each feature is stored.
//!
//! A column of the matrix is one byte. Features with few codes share a column: features with `a`,
//! `b` and `c` codes, `a * b * c <= 256`, are the digits of one number. So one column, and one
//! histogram update in training, serves all three. Features that the sample could not split are not
//! stored.

use super::mapper::BinMapper;

/// The location of a feature's code in its column: `code = byte / stride % codes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeLocation {
    /// The column of the table.
    pub column: u32,
    /// The change of the byte per step of the code.
    pub stride: u16,
    /// The number of codes of the feature, including its missing bin.
    pub codes: u16,
}

impl CodeLocation {
    /// The feature's code in a byte of its column.
    #[inline]
    pub fn code(&self, byte: u8) -> u8 {
        (u16::from(byte) / self.stride % self.codes) as u8
    }
}

/// The locations of all features.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnLayout {
    locations: Vec<Option<CodeLocation>>,
    width: usize,
}

impl ColumnLayout {
    /// Packs features into columns: the widest first, each into the fullest column that has room.
    pub(crate) fn pack(mappers: &[BinMapper]) -> Self {
        let mut by_codes: Vec<usize> =
            (0..mappers.len()).filter(|&f| mappers[f].is_used()).collect();
        by_codes.sort_by_key(|&f| std::cmp::Reverse(mappers[f].num_codes()));
        let mut locations = vec![None; mappers.len()];
        let mut filled: Vec<u16> = Vec::new();
        // `open[codes]` are the columns that can take a feature of up to that many codes.
        let mut open: Vec<Vec<u32>> = vec![Vec::new(); 257];
        for feature in by_codes {
            let codes = mappers[feature].num_codes();
            let column = open[codes..].iter_mut().find_map(Vec::pop).unwrap_or_else(|| {
                filled.push(1);
                filled.len() as u32 - 1
            });
            let stride = filled[column as usize];
            locations[feature] = Some(CodeLocation { column, stride, codes: codes as u16 });
            filled[column as usize] = stride * codes as u16;
            open[256 / usize::from(filled[column as usize])].push(column);
        }
        let width = filled.len();
        renumber(&mut locations, width);
        Self { locations, width }
    }

    /// The location of each feature; `None` for one that is not used.
    pub fn locations(&self) -> &[Option<CodeLocation>] {
        &self.locations
    }

    /// The number of bytes in a row.
    pub fn width(&self) -> usize {
        self.width
    }
}

/// Numbers the columns by their first feature, so that neighbouring features have neighbouring
/// columns.
fn renumber(locations: &mut [Option<CodeLocation>], width: usize) {
    let (mut new, mut next) = (vec![None; width], 0);
    for location in locations.iter_mut().flatten() {
        location.column = *new[location.column as usize].get_or_insert_with(|| {
            next += 1;
            next - 1
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binning::thresholds::WeightedCell;
    use std::collections::HashMap;

    fn mapper(bins: usize) -> BinMapper {
        let cells: Vec<_> = (0..bins).map(|i| WeightedCell { cell: i as f32, weight: 1 }).collect();
        BinMapper::choose(&cells, 0, 255, false)
    }

    #[test]
    fn narrow_features_share_a_byte_and_constants_take_none() {
        let mappers: Vec<_> = [2, 255, 2, 1, 2, 2, 2, 2].into_iter().map(mapper).collect();
        let layout = ColumnLayout::pack(&mappers);
        assert_eq!(layout.width(), 3, "one full byte, five flags of three codes, one flag");
        assert_eq!(layout.locations()[3], None);
        let mut top: HashMap<u32, u32> = HashMap::new();
        for location in layout.locations().iter().flatten() {
            let most = u32::from(location.stride) * u32::from(location.codes - 1);
            *top.entry(location.column).or_default() += most;
        }
        assert!(top.values().all(|&most| most < 256));
    }

    #[test]
    fn digits_of_a_byte_are_independent() {
        let layout = ColumnLayout::pack(&[mapper(2), mapper(4), mapper(9)]);
        assert_eq!(layout.width(), 1);
        let locations: Vec<_> = layout.locations().iter().map(|p| p.unwrap()).collect();
        for codes in [[0, 0, 0], [2, 4, 9], [1, 0, 7], [2, 3, 0]] {
            let byte: u16 = locations.iter().zip(codes).map(|(p, c)| p.stride * c).sum();
            let back: Vec<_> = locations.iter().map(|p| u16::from(p.code(byte as u8))).collect();
            assert_eq!(back, codes);
        }
    }

    #[test]
    fn a_million_features_pack_in_no_time() {
        let layout = ColumnLayout::pack(&vec![mapper(2); 1_000_000]);
        assert_eq!(layout.width(), 200_000);
    }
}
