//! Parts that are scored for themselves before the sum is made: those that must see the other docs of
//! a query, and those that see other rows than the model.

use super::super::normalisation::Normalisation;
use super::super::ranks::pieces;
use super::super::stack::{Derived, Stack, derived_of};
use super::Scorer;
use super::rows::{Value, of_single};
use crate::error::Result;
use crate::simd::Level;
use rayon::prelude::*;

/// A part whose scores are all there before the sum is made.
#[derive(Debug)]
pub(super) enum Apart {
    /// Scores of the same rows, normalised once they are all there.
    Whole(Box<Scorer>, Normalisation),
    /// A stack.
    Stack(Box<Stacked>),
}

/// A stack made ready to score.
#[derive(Debug)]
pub(super) struct Stacked {
    num_features: usize,
    rankers: Vec<(Scorer, Normalisation)>,
    derived: Vec<Derived>,
    own: bool,
    outer: Scorer,
    needs_queries: bool,
}

impl Apart {
    /// A stack with the instructions of a level.
    pub(super) fn of_stack(stack: &Stack, level: Level) -> Self {
        let ranker = |ranker: &super::super::Ranker| {
            (Scorer::at_level(&ranker.model, level), ranker.normalisation)
        };
        Self::Stack(Box::new(Stacked {
            num_features: stack.num_features(),
            rankers: stack.rankers().iter().map(ranker).collect(),
            derived: stack.derived().to_vec(),
            own: stack.own(),
            outer: Scorer::at_level(stack.outer(), level),
            needs_queries: stack.needs_queries(),
        }))
    }

    pub(super) fn needs_queries(&self) -> bool {
        match self {
            Self::Whole(scorer, normalisation) => {
                scorer.needs_queries() || normalisation.needs_queries()
            }
            Self::Stack(stack) => stack.needs_queries,
        }
    }

    /// What so many docs cost, in ops.
    pub(super) fn work(&self, docs: usize) -> usize {
        match self {
            Self::Whole(scorer, _) => scorer.work(docs),
            Self::Stack(stack) => {
                let rankers = stack.rankers.iter().map(|(scorer, _)| scorer.work(docs));
                rankers.fold(stack.outer.work(docs), usize::saturating_add)
            }
        }
    }

    /// Scores rows of queries; every query is whole, and `bounds` are those of all rows.
    pub(super) fn score<T: Value>(
        &self,
        rows: &[T],
        bounds: &[usize],
        scores: &mut [f64],
    ) -> Result<()> {
        match self {
            Self::Whole(scorer, normalisation) => {
                scorer.score_queries(rows, bounds, scores)?;
                normalisation.normalise(scores, bounds);
                Ok(())
            }
            Self::Stack(stack) => {
                let work = |bounds: &[usize], scores: &mut [f64]| {
                    let start = bounds[0];
                    let end = start + scores.len();
                    let rows = &rows[start * stack.num_features..end * stack.num_features];
                    let bounds: Vec<usize> = bounds.iter().map(|bound| bound - start).collect();
                    stack.score(rows, &bounds, scores)
                };
                let pieces = pieces(bounds, 1, scores);
                if pieces.len() < 2 {
                    // Asking the pool may start it.
                    return pieces.into_iter().try_for_each(|(b, s)| work(b, s));
                }
                pieces.into_par_iter().try_for_each(|(b, s)| work(b, s))
            }
        }
    }
}

impl Stacked {
    fn score<T: Value>(&self, rows: &[T], bounds: &[usize], scores: &mut [f64]) -> Result<()> {
        let docs = scores.len();
        let mut of_rankers = Vec::with_capacity(self.rankers.len());
        for (scorer, normalisation) in &self.rankers {
            let mut scores = vec![0.0; docs];
            scorer.score_queries(rows, bounds, &mut scores)?;
            normalisation.normalise(&mut scores, bounds);
            of_rankers.push(scores);
        }
        let columns = derived_of(&self.derived, &of_rankers, bounds);
        let own = if self.own { self.num_features } else { 0 };
        let width = self.derived.len();
        let mut wide = Vec::with_capacity(docs * (own + width));
        for (doc, columns) in columns.chunks_exact(width).enumerate() {
            wide.extend_from_slice(&rows[doc * self.num_features..][..own]);
            wide.extend(columns.iter().map(|&value| of_single::<T>(value)));
        }
        self.outer.score_queries(&wide, bounds, scores)
    }
}
