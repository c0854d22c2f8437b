//! How several workers divide the training.

use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The data that each worker has, and its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WorkerMode {
    /// Each worker has a part of the queries, and histograms are summed. The model is that of a
    /// single process.
    #[default]
    Histogram,
    /// Each worker has all documents and searches a share of the features. The model is that of a
    /// single process.
    Features,
    /// Each worker grows a tree from its part; the tree that is best for all parts is selected.
    FullSelection,
    /// One worker, drawn at random, grows a tree from its part.
    SampleSelection,
}

const MODES: &[(&str, WorkerMode)] = &[
    ("histogram", WorkerMode::Histogram),
    ("features", WorkerMode::Features),
    ("full-selection", WorkerMode::FullSelection),
    ("sample-selection", WorkerMode::SampleSelection),
];

impl WorkerMode {
    /// Whether workers grow trees of their own.
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
