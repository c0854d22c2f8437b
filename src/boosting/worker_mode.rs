//! How the ranks of a team divide the work.

use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// What each rank of a team has, and does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WorkerMode {
    /// Each has a part of the queries; histograms are summed. The model is that of one process.
    #[default]
    Histogram,
    /// Each has all docs, and searches its share of the features. The model is that of one process.
    Features,
    /// Each grows a tree on its part; the tree that is best for all parts is taken.
    FullSelection,
    /// Each grows a tree on its part; one that is drawn is taken.
    SampleSelection,
}

const MODES: &[(&str, WorkerMode)] = &[
    ("histogram", WorkerMode::Histogram),
    ("features", WorkerMode::Features),
    ("full-selection", WorkerMode::FullSelection),
    ("sample-selection", WorkerMode::SampleSelection),
];

impl WorkerMode {
    /// Whether each rank grows a tree of its own.
    pub(super) fn selects(self) -> bool {
        matches!(self, Self::FullSelection | Self::SampleSelection)
    }
}

impl fmt::Display for WorkerMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = MODES.iter().find(|(_, mode)| mode == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for WorkerMode {
    type Err = Error;

    /// `histogram`, `features`, `full-selection` or `sample-selection`.
    fn from_str(text: &str) -> Result<Self> {
        MODES.iter().find(|(name, _)| *name == text).map(|(_, mode)| *mode).ok_or_else(|| {
            let names: Vec<&str> = MODES.iter().map(|(name, _)| *name).collect();
            Error::param("mode", "the mode is not known")
                .got(format!("\"{text}\""))
                .expected(names.join(", "))
        })
    }
}
