//! LightGBM's text, as `save_model` writes it.
//!
//! Read: scores are those of `predict(raw_score=True)`, for random forests the mean over the trees,
//! bit for bit, for values of either precision. Values are compared as doubles, those up to 1e-35
//! either way as zeros; a missing value counts as zero where the feature had
//! none in training, and zero counts as missing under `zero_as_missing`; categories are sets.
//! Forests of more than one class and linear leaves are refused.
//!
//! Written: trees and intercepts, weights multiplied into the leaves. Where a weight is not 1 the
//! last bits may differ. Our cells are the nearest singles, so a threshold becomes the largest
//! double whose nearest single is at most it: any double goes the same way, but for values up to
//! 1e-35, which are zeros there. Parts that are no trees are refused.
//!
//! Names of categories are the last line, `pandas_categorical`: both ways.

mod pandas;
mod read;
mod write;

pub(super) use read::is_text;
pub use read::read;
pub use write::write;

/// What is missing in a feature: bits 2 and 3 of a decision type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// Nothing: NaN counts as zero.
    None,
    /// Zero, and NaN with it.
    Zero,
    NaN,
}

/// Bit 0 of a decision type.
const CATEGORICAL: u32 = 1;
/// Bit 1 of a decision type.
const DEFAULT_LEFT: u32 = 2;

impl Missing {
    fn of(decision: u32) -> Option<Self> {
        [Self::None, Self::Zero, Self::NaN].get((decision >> 2) as usize & 3).copied()
    }

    fn bits(self) -> u32 {
        (self as u32) << 2
    }
}
