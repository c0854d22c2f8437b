//! Merges the row samples of several workers into the sample of all data.
//!
//! The rows with the smallest hashes of all data are among those of each part, together with all
//! equal rows of that part. So the samples of the parts contain all that is needed.

use super::sample::{EqualRows, RowSample};
use crate::error::{Error, Result};

impl RowSample {
    /// The hashes of the sampled rows, ascending.
    pub(crate) fn hashes(&mut self) -> Vec<u64> {
        self.shrink();
        let mut hashes: Vec<u64> = self.entries.iter().map(|entry| entry.hash).collect();
        hashes.sort_unstable();
        hashes
    }

    /// The most rows in the sample.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// The rows with hashes up to `largest`, encoded for [`extend`](Self::extend).
    pub(crate) fn bytes_up_to(&mut self, largest: u64) -> Vec<u8> {
        self.shrink();
        let mut bytes = Vec::new();
        bytes.extend((self.num_features as u64).to_le_bytes());
        bytes.extend(self.content.to_le_bytes());
        for entry in self.entries.iter().filter(|entry| entry.hash <= largest) {
            bytes.extend(entry.hash.to_le_bytes());
            bytes.extend(entry.count.to_le_bytes());
            let cells: Vec<(u32, f32)> = self.row(entry.row as usize).collect();
            bytes.extend((cells.len() as u32).to_le_bytes());
            for (feature, cell) in cells {
                bytes.extend(feature.to_le_bytes());
                bytes.extend(cell.to_le_bytes());
            }
        }
        bytes
    }

    /// Adds the rows of another sample. This one must have been made by [`growing`](Self::growing).
    pub(crate) fn extend(&mut self, bytes: &[u8]) -> Result<()> {
        let cut = || Error::comm("comm.damaged", "a sample of rows was cut off");
        let halves = |word: u64| (word as u32, (word >> 32) as u32);
        let mut words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
        let damaged = || Error::comm("comm.damaged", "a sample of rows has no such features");
        let num_features = u32::try_from(words.next().ok_or_else(cut)?).map_err(|_| damaged())?;
        self.num_features = self.num_features.max(num_features as usize);
        self.content = self.content.wrapping_add(words.next().ok_or_else(cut)?);
        let Some(features) = &mut self.features else {
            return Err(Error::internal("samples go into one that grows"));
        };
        while let Some(hash) = words.next() {
            let (count, num_cells) = halves(words.next().ok_or_else(cut)?);
            let mut next = 0;
            for _ in 0..num_cells {
                let (feature, cell) = halves(words.next().ok_or_else(cut)?);
                // Features of a row rise.
                if feature < next || feature >= num_features {
                    return Err(damaged());
                }
                next = feature + 1;
                features.push(feature);
                self.cells.push(f32::from_bits(cell));
            }
            self.ends.push(self.cells.len());
            let row = self.entries.len() as u32;
            self.entries.push(EqualRows { hash, count, row });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &[u64]) -> String {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        RowSample::growing(10).extend(&bytes).unwrap_err().to_string()
    }

    #[test]
    fn a_damaged_sample_of_another_worker_is_refused() {
        // Two features; a row that came once and has one cell, of feature 2.
        let row = [2, 7, 99, 1 << 32 | 1, u64::from(1f32.to_bits()) << 32 | 2];
        assert!(refused(&row).contains("no such features"));
        let twice = [2, 7, 99, 2 << 32 | 1, 1 << 32, 1 << 32];
        assert!(refused(&twice).contains("no such features"));
        assert!(refused(&[u64::MAX, 7]).contains("no such features"));
        for length in [0, 1, 3, 4] {
            assert!(refused(&row[..length]).contains("cut off"), "{length}");
        }
    }
}
