//! Base scores of LETOR text: the scores of its rows by the model that training goes on from.

use super::parsed_table::RowChunk;
use crate::binning::{Binning, CellSource, block_rows};
use crate::error::{Result, check_features};
use crate::model::{Model, Scorer};
use crate::{Interrupt, Queries};
use rayon::prelude::*;
use std::sync::Arc;

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

    /// About how many rows are scored at a time: enough for all threads.
    fn rows_at_a_time(&self) -> usize {
        const CELLS: usize = 1 << 22;
        (CELLS / self.num_features().max(1)).clamp(1, 1 << 14)
    }

    /// The scores of the rows of a table whose queries lie one after the other.
    pub(super) fn score_table(
        &self,
        table: &dyn CellSource,
        queries: &Queries,
        interrupt: &Interrupt,
    ) -> Result<Vec<f64>> {
        let width = self.num_features();
        let (mut scores, mut tile) = (vec![0.0; table.num_rows()], Vec::new());
        for bounds in self.pieces(table.num_rows(), queries) {
            let (Some(&first), Some(&end)) = (bounds.first(), bounds.last()) else { continue };
            tile.resize((end - first) * width, 0.0);
            let block = block_rows(width);
            tile.par_chunks_mut(block * width).enumerate().try_for_each(|(at, tile)| {
                interrupt.check()?;
                let first = first + at * block;
                table.read(first..first + tile.len() / width, tile)
            })?;
            let scores = &mut scores[first..end];
            if self.needs_queries() {
                let bounds: Vec<usize> = bounds.iter().map(|bound| bound - first).collect();
                self.scorer.score_queries(&tile, &bounds, scores)?;
            } else {
                self.scorer.score(&tile, scores)?;
            }
        }
        Ok(scores)
    }

    /// The bounds of pieces of many rows: of the queries in a piece, or of the piece alone where queries
    /// do not matter.
    fn pieces(&self, num_rows: usize, queries: &Queries) -> Vec<Vec<usize>> {
        let most = self.rows_at_a_time();
        if !self.needs_queries() {
            let first = (0..num_rows).step_by(most);
            return first.map(|first| vec![first, num_rows.min(first + most)]).collect();
        }
        let (mut pieces, mut bounds) = (Vec::new(), vec![0]);
        for docs in queries.ranges() {
            bounds.push(docs.end);
            if docs.end - bounds[0] >= most || docs.end == num_rows {
                pieces.push(std::mem::replace(&mut bounds, vec![docs.end]));
            }
        }
        pieces
    }
}

/// The scores of rows that come in chunks. Many rows are scored at once, on all threads.
#[derive(Debug)]
pub(super) struct ChunkScores {
    base: TextBase,
    /// The cells of rows that have no score yet.
    tile: Vec<f32>,
    scores: Vec<f64>,
}

impl ChunkScores {
    pub(super) fn new(base: TextBase) -> Self {
        Self { base, tile: Vec::new(), scores: Vec::new() }
    }

    /// Adds the rows of a chunk. Features that the base does not have are ignored.
    pub(super) fn push(&mut self, chunk: &RowChunk, interrupt: &Interrupt) -> Result<()> {
        let width = self.base.num_features();
        let most = self.base.rows_at_a_time() * width;
        for row in 0..chunk.num_rows() {
            let start = self.tile.len();
            self.tile.resize(start + width, 0.0);
            chunk.read(row, &mut self.tile[start..]);
            if self.tile.len() >= most {
                self.flush(interrupt)?;
            }
        }
        Ok(())
    }

    /// Scores the rows that have no score yet.
    pub(super) fn flush(&mut self, interrupt: &Interrupt) -> Result<()> {
        interrupt.check()?;
        let start = self.scores.len();
        self.scores.resize(start + self.tile.len() / self.base.num_features().max(1), 0.0);
        self.base.scorer.score(&self.tile, &mut self.scores[start..])?;
        self.tile.clear();
        Ok(())
    }

    /// The scores so far, in the order of the text.
    pub(super) fn into_scores(self) -> Vec<f64> {
        self.scores
    }
}
