//! Base scores of LETOR text: the scores of its rows by the model that training goes on from.

use super::parsed_table::RowChunk;
use crate::binning::{Binning, CellSource};
use crate::error::{Result, check_features};
use crate::model::{Model, Scorer};
use crate::{Interrupt, Queries};
use rayon::prelude::*;
use std::sync::Arc;

/// About how many rows are scored at a time.
const ROWS: usize = 512;

/// A model whose scores of the rows of a text become their base scores.
///
/// Rows are scored from the values that the text has, rounded to `f32`, by any kind of model.
#[derive(Debug, Clone)]
pub struct TextBase {
    model: Arc<Model>,
    scorer: Arc<Scorer>,
    scores_bins: Option<fn(&Model, &Binning) -> bool>,
}

impl TextBase {
    /// A base that scores every text.
    pub fn new(model: Arc<Model>) -> Self {
        Self { scorer: Arc::new(model.scorer()), model, scores_bins: None }
    }

    /// The same base, but without base scores for a dataset whose bins are enough to score the model.
    #[must_use]
    pub fn if_needed(self, scores_bins: fn(&Model, &Binning) -> bool) -> Self {
        Self { scores_bins: Some(scores_bins), ..self }
    }

    /// Whether a dataset with these bins has base scores; an error if it has other features.
    pub(super) fn is_needed(&self, binning: &Binning) -> Result<bool> {
        if self.scores_bins.is_some_and(|scores| scores(&self.model, binning)) {
            return Ok(false);
        }
        let (got, expected) = (self.num_features(), binning.num_raw_features());
        check_features("the base has another number of features", got, expected)?;
        Ok(true)
    }

    /// The number of values in a row.
    pub(super) fn num_features(&self) -> usize {
        self.scorer.num_features()
    }

    /// Whether scores depend on the other documents of the query.
    pub(super) fn needs_queries(&self) -> bool {
        self.scorer.needs_queries()
    }

    /// The scores of the rows of a block of text. Features that the base does not have are ignored.
    pub(super) fn score_chunk(&self, chunk: &RowChunk, interrupt: &Interrupt) -> Result<Vec<f64>> {
        let width = self.num_features();
        let mut scores = vec![0.0; chunk.num_rows()];
        let mut tile = vec![0.0; ROWS.min(scores.len()) * width];
        for (block, scores) in scores.chunks_mut(ROWS).enumerate() {
            interrupt.check()?;
            let tile = &mut tile[..scores.len() * width];
            for (row, to) in tile.chunks_exact_mut(width.max(1)).enumerate() {
                chunk.read(block * ROWS + row, to);
            }
            self.scorer.score(tile, scores)?;
        }
        Ok(scores)
    }

    /// The scores of the rows of a table whose queries lie one after the other.
    pub(super) fn score_table(
        &self,
        table: &dyn CellSource,
        queries: &Queries,
        interrupt: &Interrupt,
    ) -> Result<Vec<f64>> {
        let width = self.num_features();
        let mut scores = vec![0.0; table.num_rows()];
        let mut rest = &mut scores[..];
        let pieces = self.pieces(table.num_rows(), queries);
        let pieces: Vec<_> = pieces
            .into_iter()
            .filter_map(|bounds| {
                let docs = bounds.last()? - bounds.first()?;
                Some((bounds, rest.split_off_mut(..docs)?))
            })
            .collect();
        pieces.into_par_iter().try_for_each_init(Vec::new, |tile, (mut bounds, scores)| {
            interrupt.check()?;
            let first = bounds[0];
            tile.resize(scores.len() * width, 0.0);
            table.read(first..first + scores.len(), tile)?;
            if !self.needs_queries() {
                return self.scorer.score(tile, scores);
            }
            for bound in &mut bounds {
                *bound -= first;
            }
            self.scorer.score_queries(tile, &bounds, scores)
        })?;
        Ok(scores)
    }

    /// The bounds of pieces of about [`ROWS`] rows: of the queries in it, or of the piece alone where
    /// queries do not matter.
    fn pieces(&self, num_rows: usize, queries: &Queries) -> Vec<Vec<usize>> {
        if !self.needs_queries() {
            let first = (0..num_rows).step_by(ROWS);
            return first.map(|first| vec![first, num_rows.min(first + ROWS)]).collect();
        }
        let (mut pieces, mut bounds) = (Vec::new(), vec![0]);
        for docs in queries.ranges() {
            bounds.push(docs.end);
            if docs.end - bounds[0] >= ROWS || docs.end == num_rows {
                pieces.push(std::mem::replace(&mut bounds, vec![docs.end]));
            }
        }
        pieces
    }
}
