//! The bins of one feature.

use super::categories::CategoryBins;
use super::thresholds::{WeightedCell, thresholds};

/// The bins of a feature: finite ascending thresholds, or categories.
#[derive(Debug, Clone, PartialEq)]
pub struct BinMapper {
    thresholds: Box<[f32]>,
    has_missing: bool,
    is_used: bool,
    categories: Option<CategoryBins>,
}

impl BinMapper {
    /// Chooses at most `max_bins` bins for a sample of numbers or categories; `missing` is the weight
    /// of its missing cells.
    pub(crate) fn choose(
        distinct: &[WeightedCell],
        missing: u64,
        max_bins: usize,
        is_category: bool,
    ) -> Self {
        let has_missing = missing > 0;
        let is_used = distinct.len() > 1 || (has_missing && !distinct.is_empty());
        let bins = if is_category {
            Self::of_categories(CategoryBins::choose(distinct, max_bins))
        } else {
            Self::between(Some(thresholds(distinct, max_bins)))
        };
        Self { has_missing, is_used, ..bins }
    }

    /// A bin for each given category, and the other bin.
    pub(crate) fn of_categories(categories: CategoryBins) -> Self {
        let categories = Some(categories);
        Self { thresholds: Box::default(), has_missing: true, is_used: true, categories }
    }

    /// The bins between given thresholds, which are finite and ascending; `None` for a feature that
    /// is not used.
    pub(crate) fn between(thresholds: Option<Vec<f32>>) -> Self {
        let is_used = thresholds.is_some();
        let thresholds = thresholds.unwrap_or_default().into_boxed_slice();
        Self { thresholds, has_missing: is_used, is_used, categories: None }
    }

    /// The categories with bins, if the feature is categorical.
    pub fn categories(&self) -> Option<&CategoryBins> {
        self.categories.as_ref()
    }

    /// The largest cell of each bin but the last; empty for a categorical feature.
    pub fn thresholds(&self) -> &[f32] {
        &self.thresholds
    }

    /// The number of bins, without the missing bin.
    pub fn num_bins(&self) -> usize {
        match &self.categories {
            // Includes the other bin.
            Some(categories) => categories.by_bin().len() + 1,
            None => self.thresholds.len() + 1,
        }
    }

    /// The number of codes: the bins and, after them, the missing bin.
    pub fn num_codes(&self) -> usize {
        self.num_bins() + 1
    }

    /// Whether the sample had missing cells.
    pub fn has_missing(&self) -> bool {
        self.has_missing
    }

    /// Whether the sample could be split on this feature.
    pub fn is_used(&self) -> bool {
        self.is_used
    }

    /// The code of a cell, computed without a kernel.
    pub fn code(&self, cell: f32) -> u8 {
        if let Some(categories) = &self.categories {
            return categories.code(cell);
        }
        let below = self.thresholds.partition_point(|&t| t < cell);
        if cell.is_nan() { self.num_bins() as u8 } else { below as u8 }
    }
}
