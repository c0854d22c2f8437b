//! How several workers divide the training.

use crate::schema::choices;

choices! {
    /// What each rank of a team has, and does.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum WorkerMode {
        /// Each has a part of the queries; histograms are summed. The model is that of one process.
        #[default]
        Histogram = "histogram",
        /// Each has all docs, and searches its share of the features. The model is that of one
        /// process.
        Features = "features",
        /// Each grows a tree on its part; the tree that is best for all parts is taken.
        FullSelection = "full-selection",
        /// Each grows a tree on its part; one that is drawn is taken.
        SampleSelection = "sample-selection",
    }
}

impl WorkerMode {
    /// Whether workers grow trees of their own.
    pub(super) fn selects(self) -> bool {
        matches!(self, Self::FullSelection | Self::SampleSelection)
    }
}
