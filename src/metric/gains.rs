//! Checks labels once and converts them to gains by a table.
//!
//! Labels that are too large for `2^label`, negative, infinite or NaN are errors that name the row.

use crate::error::{Error, Result};
use crate::metric::convention::MAX_EXP2_LABEL;
use crate::metric::{Convention, Gain};
use rayon::prelude::*;
use std::ops::Range;

/// The range of valid labels, whatever the metric.
const USABLE: Range<f32> = 0.0..f32::INFINITY;

/// 2^23: adding it to a smaller number and subtracting it again rounds the number to a whole one.
const WHOLE_FROM: f32 = 8_388_608.0;

/// The number of labels that one parallel task checks.
const LABELS_A_TASK: usize = 1 << 16;

/// Facts about all labels of the data, found in one pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabelFacts {
    /// The largest label; 0 where there is none.
    pub(crate) max: f32,
    /// Whether all labels are whole numbers below 2^23.
    pub(crate) whole: bool,
}

impl LabelFacts {
    /// Whether all labels are whole numbers below `end`.
    pub(crate) fn are_below(self, end: usize) -> bool {
        self.whole && self.max < end as f32
    }

    /// Refuses labels that are NaN, infinite or negative, whatever the metric.
    pub(crate) fn scan(labels: &[f32]) -> Result<Self> {
        // The bits of valid labels rise with the label; those of all others are at least infinity's.
        let of_some = |labels: &[f32]| {
            labels.iter().fold((0, 0), |(max, parts): (u32, u32), &label| {
                let bits = (label + 0.0).to_bits();
                (max.max(bits), parts | ((label + WHOLE_FROM) - WHOLE_FROM).to_bits() ^ bits)
            })
        };
        let (max, parts) = if labels.len() <= LABELS_A_TASK {
            of_some(labels)
        } else {
            let both = |a: (u32, u32), b: (u32, u32)| (a.0.max(b.0), a.1 | b.1);
            labels.par_chunks(LABELS_A_TASK).map(of_some).reduce(|| (0, 0), both)
        };
        if max < f32::INFINITY.to_bits() {
            let max = f32::from_bits(max);
            return Ok(Self { max, whole: parts == 0 && max < WHOLE_FROM });
        }
        let refused = |&label: &f32| !USABLE.contains(&label);
        let row = labels.iter().position(refused).unwrap_or_default();
        let label = labels[row];
        let (code, what) = if label.is_nan() {
            ("label.nan", "is NaN".to_owned())
        } else if label < 0.0 {
            ("label.negative", format!("= {label:?}"))
        } else {
            ("label.infinite", "is infinite".to_owned())
        };
        Err(Error::data(code, what).element("label", row).expected("a finite number >= 0"))
    }
}

/// Converts labels to gains.
#[derive(Debug, Clone)]
pub(crate) struct Gains {
    /// The gain of each whole label; without a table a label is its own gain.
    table: Option<Box<[f64]>>,
}

impl Gains {
    pub(crate) fn new(gain: &Gain) -> Self {
        let table = match gain {
            Gain::Exp2 => {
                let labels = 0..=MAX_EXP2_LABEL as u32;
                Some(labels.map(|label| f64::from((1u32 << label) - 1)).collect())
            }
            Gain::Linear => None,
            Gain::Table(table) => Some(table.clone().into_boxed_slice()),
        };
        Self { table }
    }

    /// The gain of a checked label; of a label above the table, the last gain.
    #[inline]
    pub(crate) fn of(&self, label: f32) -> f64 {
        match &self.table {
            Some(table) => table[(label as usize).min(table.len() - 1)],
            None => f64::from(label),
        }
    }

    /// Refuses labels that have no gain.
    pub(crate) fn check(&self, gain: &Gain, labels: &[f32], facts: LabelFacts) -> Result<()> {
        let Some(table) = &self.table else { return Ok(()) };
        let top = (table.len() - 1) as f32;
        if facts.whole && facts.max <= top {
            return Ok(());
        }
        let refused = |&label: &f32| label > top || label.fract() != 0.0;
        let row = labels.iter().position(refused).unwrap_or_default();
        let label = labels[row];
        let what = format!("= {label:?}");
        let code = if label > top { "label.large" } else { "label.fraction" };
        let (expected, hint) = match gain {
            Gain::Table(_) => (
                format!("a whole number below {}, the length of the gain table", table.len()),
                "pass a longer gain table or gain=\"linear\"",
            ),
            _ => (
                "a whole number from 0 to 30 (max 31 levels) for the gain 2^label - 1".to_owned(),
                "pass gain=\"linear\" or a gain table",
            ),
        };
        Err(Error::data(code, what).element("label", row).expected(expected).hint(hint))
    }

    /// The top of ERR's scale, which ends at `convention.max_label`, or at the largest of the given labels:
    /// its gain plus 1.
    pub(super) fn top(
        &self,
        convention: &Convention,
        labels: &[f32],
        facts: LabelFacts,
    ) -> Result<f64> {
        let top = convention.max_label.unwrap_or(facts.max);
        if facts.max > top {
            let row = labels.iter().position(|&label| label > top).unwrap_or_default();
            return Err(Error::data("label.large", format!("= {:?}", labels[row]))
                .element("label", row)
                .expected(format!("at most max_label = {top:?}"))
                .hint("max_label is the top of the label scale of ERR"));
        }
        Ok(self.of(top) + 1.0)
    }
}

impl Convention {
    /// The gain of each of some labels, or an error for one that has none.
    pub(crate) fn gains_of(&self, labels: &[f32]) -> Result<Vec<f64>> {
        self.check()?;
        let gains = Gains::new(&self.gain);
        gains.check(&self.gain, labels, LabelFacts::scan(labels)?)?;
        Ok(labels.iter().map(|&label| gains.of(label)).collect())
    }
}
