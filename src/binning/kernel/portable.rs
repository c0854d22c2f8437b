//! The portable kernel: counts comparisons.

use super::{EncodeJob, ThresholdTable};

pub(super) fn encode(tables: &[(usize, ThresholdTable)], mut job: EncodeJob<'_>) {
    for (feature, table) in tables {
        let groups = table.thresholds.as_chunks::<16>().0;
        table.for_each(*feature, &mut job, |cell| {
            let group = below(&table.ends, cell);
            16 * group + below(&groups[usize::from(group & 15)], cell)
        });
    }
}

#[inline]
fn below(thresholds: &[f32; 16], cell: f32) -> u8 {
    thresholds.iter().map(|&t| u8::from(t < cell)).sum()
}
