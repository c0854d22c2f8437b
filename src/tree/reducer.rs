//! What the growth of a tree asks of other workers.
//!
//! Several workers can grow one tree together: each has a part of the documents, or searches a part
//! of the features. Growth knows them only as a [`GrowthReducer`]. The [`LocalReducer`] is for a
//! single process and does nothing; `distributed/` has the others.

use super::options::GrowOptions;
use super::split_search::SearchResult;
use crate::error::Result;
use std::fmt::Debug;
use std::ops::Range;

/// Words that growth leaves free behind the sums of a histogram, for a reducer's own use.
pub(crate) const REDUCER_ROOM: usize = 4;

/// The other workers that grow the same tree.
///
/// All workers call the same methods in the same order; `what` names the step in error messages.
/// The default of each method is that of a single process.
pub(crate) trait GrowthReducer: Debug + Send + Sync {
    /// Whether each worker has only a part of the documents. Then the sums of a node must be
    /// reduced before it is searched.
    fn divides_docs(&self) -> bool {
        false
    }

    /// The columns that this worker searches, of those that the tree may use.
    fn columns(&self, num_columns: usize) -> Range<usize> {
        0..num_columns
    }

    /// Returns an error for options that these workers do not support. `is_constrained` tells
    /// whether some features need the constrained search.
    fn check_options(&self, _options: &GrowOptions, _is_constrained: bool) -> Result<()> {
        Ok(())
    }

    /// Takes the outcome of a local step that other workers do not wait for.
    ///
    /// A single process returns it. With other workers, who would wait forever, the first error is
    /// kept, and the next reduction returns it after all workers have been told.
    fn fail_later(&self, outcome: Result<()>) -> Result<()> {
        outcome
    }

    /// Replaces words by their sums over all workers, modulo 2^64.
    fn sum(&self, _what: &'static str, _round: u64, _words: &mut [u64]) -> Result<()> {
        Ok(())
    }

    /// As [`sum`](Self::sum), for a histogram; its last [`REDUCER_ROOM`] words are free.
    fn sum_histogram(&self, _round: u64, _words: &mut [u64]) -> Result<()> {
        Ok(())
    }

    /// Replaces values by the largest of all workers; none is NaN.
    fn max(&self, _what: &'static str, _round: u64, _values: &mut [f64]) -> Result<()> {
        Ok(())
    }

    /// The best splits of two nodes over the columns of all workers.
    fn best_splits(
        &self,
        _options: &GrowOptions,
        _round: u64,
        found: [SearchResult; 2],
    ) -> Result<[SearchResult; 2]> {
        Ok(found)
    }
}

/// A single process: it has all documents and searches all features.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalReducer;

impl GrowthReducer for LocalReducer {}
