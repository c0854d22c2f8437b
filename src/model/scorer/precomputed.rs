//! Parts that are scored before the sum of a model: those that depend on the other docs of a query, and
//! those whose rows are not the model's own.
//!
//! Their rankers are scored once, however many parts use the same: an ensemble whose members stack the same
//! ranker, and which has that ranker as a member too, scores it once.

use super::super::composite::{Component, Model};
use super::super::normalisation::Normalisation;
use super::super::parallel;
use super::super::parts::{Derived, ModelPart, Part, Stack, derived_of};
use super::super::ranks::pieces;
use super::Scorer;
use super::rows::Value;
use crate::error::Result;
use crate::simd::Level;

/// All such parts of a model.
#[derive(Debug, Default)]
pub(super) struct PrecomputedParts {
    /// The rankers, each once.
    rankers: Vec<Scorer>,
    /// The parts made of their scores.
    parts: Vec<PrecomputedPart>,
}

/// A part that is made of the scores of rankers, which it knows by number.
#[derive(Debug)]
enum PrecomputedPart {
    /// The normalised scores of one.
    Normalised(usize, Normalisation),
    /// A stack.
    Stack(Box<StackScorer>),
}

/// A stack made ready to score.
#[derive(Debug)]
struct StackScorer {
    num_features: usize,
    rankers: Vec<(usize, Normalisation)>,
    derived: Vec<Derived>,
    own: bool,
    outer: Scorer,
    needs_queries: bool,
}

/// What identifies a ranker: rankers with equal keys have the same scores.
#[derive(Clone, Copy)]
enum RankerKey<'a> {
    Part(&'a Part),
    Model(&'a Model),
}

/// The rankers that the parts of a model need, each once.
pub(super) struct RankerPool<'a> {
    model: &'a Model,
    asked: Vec<RankerKey<'a>>,
}

impl<'a> RankerPool<'a> {
    /// Those of a model.
    pub(super) fn of(model: &'a Model) -> Self {
        let mut pool = Self { model, asked: Vec::new() };
        pool.gather(model);
        pool
    }

    fn gather(&mut self, model: &'a Model) {
        for component in model.components() {
            let part = component.part.kind();
            let is_other = part.inner().is_some_and(|inner| self.is_other(inner));
            if component.normalisation.needs_queries() || is_other {
                self.add(self.of_part(&component.part));
                continue;
            }
            for ranker in part.rankers() {
                self.add(self.of_model(&ranker.model));
            }
            if let Some(inner) = part.inner() {
                self.gather(inner);
            }
        }
    }

    /// Whether a model ranks features within queries and the model around it does not, or the reverse.
    fn is_other(&self, inner: &Model) -> bool {
        inner.ranks_features() != self.model.ranks_features()
    }

    fn add(&mut self, asked: RankerKey<'a>) {
        if self.number(asked).is_none() {
            self.asked.push(asked);
        }
    }

    fn of_part(&self, part: &'a Part) -> RankerKey<'a> {
        match part {
            Part::Model(inner) => self.of_model(inner),
            _ => RankerKey::Part(part),
        }
    }

    /// The key of a model; of its only part, if that is plain and all there is.
    fn of_model(&self, model: &'a Model) -> RankerKey<'a> {
        match model.components() {
            [only] if only.is_plain() && model.intercept() == 0.0 && !self.is_other(model) => {
                self.of_part(&only.part)
            }
            _ => RankerKey::Model(model),
        }
    }

    fn number(&self, asked: RankerKey<'a>) -> Option<usize> {
        self.asked.iter().position(|known| known.is(asked))
    }

    /// The number of a component's ranker, if its score is precomputed.
    ///
    /// A plain component is not: it adds its terms one by one to the sum so far, which is not the same in
    /// floating point as adding its score.
    pub(super) fn shared(&self, component: &'a Component) -> Option<usize> {
        let is_apart = component.part.kind().inner().is_some_and(|inner| self.is_other(inner));
        if (component.is_plain() && !is_apart) || self.asked.is_empty() {
            return None;
        }
        self.number(self.of_part(&component.part))
    }

    /// The scorers of the rankers.
    pub(super) fn scorers(&self, level: Level) -> PrecomputedParts {
        let scorer = |asked: &RankerKey<'_>| {
            match asked {
                RankerKey::Part(part) => {
                    let mut alone = self.model.emptied();
                    // What was in a checked model fits into another of the same width.
                    let fits = alone.add(Component::new(Part::clone(part)));
                    debug_assert!(fits.is_ok(), "a part that was checked before");
                    Scorer::of_all_features(&alone, level)
                }
                RankerKey::Model(model) if self.is_other(model) => Scorer::at_level(model, level),
                RankerKey::Model(model) => Scorer::of_all_features(model, level),
            }
        };
        PrecomputedParts { rankers: self.asked.iter().map(scorer).collect(), parts: Vec::new() }
    }
}

impl RankerKey<'_> {
    fn is(self, other: RankerKey<'_>) -> bool {
        match (self, other) {
            (Self::Part(one), RankerKey::Part(other)) => one == other,
            (Self::Model(one), RankerKey::Model(other)) => one.scores_as(other),
            _ => false,
        }
    }
}

impl PrecomputedParts {
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) fn needs_queries(&self) -> bool {
        self.parts.iter().any(|part| match part {
            PrecomputedPart::Normalised(ranker, normalisation) => {
                normalisation.needs_queries() || self.rankers[*ranker].needs_queries()
            }
            PrecomputedPart::Stack(stack) => stack.needs_queries,
        })
    }

    /// The cost of so many docs, in operations.
    pub(super) fn work(&self, docs: usize) -> usize {
        let rankers = self.rankers.iter().map(|scorer| scorer.work(docs));
        let outers = self.parts.iter().map(|part| match part {
            PrecomputedPart::Normalised(..) => docs,
            PrecomputedPart::Stack(stack) => stack.outer.work(docs),
        });
        rankers.chain(outers).fold(0, usize::saturating_add)
    }

    /// Adds a part: the scores of a ranker; returns its number.
    pub(super) fn push(&mut self, ranker: usize, normalisation: Normalisation) -> usize {
        self.parts.push(PrecomputedPart::Normalised(ranker, normalisation));
        self.parts.len() - 1
    }

    /// Adds a stack, whose rankers are in the pool.
    pub(super) fn push_stack<'a>(
        &mut self,
        pool: &RankerPool<'a>,
        stack: &'a Stack,
        level: Level,
    ) -> usize {
        let rankers = stack.rankers().iter().map(|ranker| {
            let number = pool.number(pool.of_model(&ranker.model)).unwrap_or_default();
            (number, ranker.normalisation)
        });
        self.parts.push(PrecomputedPart::Stack(Box::new(StackScorer {
            num_features: stack.num_features(),
            rankers: rankers.collect(),
            derived: stack.derived().to_vec(),
            own: stack.own(),
            outer: Scorer::at_level(stack.outer(), level),
            needs_queries: stack.needs_queries(),
        })));
        self.parts.len() - 1
    }

    /// The scores of all parts; every query is whole, and `bounds` are those of all rows.
    pub(super) fn score<T: Value>(&self, rows: &[T], bounds: &[usize]) -> Result<Vec<Vec<f64>>> {
        let docs = bounds.last().copied().unwrap_or_default();
        let of_ranker = |scorer: &Scorer| {
            let mut scores = vec![0.0; docs];
            scorer.score_queries(rows, bounds, &mut scores)?;
            Ok(scores)
        };
        let of_rankers: Vec<Vec<f64>> =
            self.rankers.iter().map(of_ranker).collect::<Result<_>>()?;
        let normalised = |ranker: usize, normalisation: Normalisation| {
            let mut scores = of_rankers[ranker].clone();
            normalisation.normalise(&mut scores, bounds);
            scores
        };
        let of_part = |part: &PrecomputedPart| match part {
            &PrecomputedPart::Normalised(ranker, how) => Ok(normalised(ranker, how)),
            PrecomputedPart::Stack(stack) => {
                let own = stack.rankers.iter().map(|&(ranker, how)| normalised(ranker, how));
                stack.score(rows, bounds, &own.collect::<Vec<_>>())
            }
        };
        self.parts.iter().map(of_part).collect()
    }
}

impl StackScorer {
    fn score<T: Value>(
        &self,
        rows: &[T],
        bounds: &[usize],
        of_rankers: &[Vec<f64>],
    ) -> Result<Vec<f64>> {
        let columns = derived_of(&self.derived, of_rankers, bounds);
        let own = if self.own { self.num_features } else { 0 };
        let width = self.derived.len();
        let mut scores = vec![0.0; columns.len() / width];
        let score = |(bounds, scores): (&[usize], &mut [f64])| {
            let start = bounds[0];
            let mut wide = Vec::with_capacity(scores.len() * (own + width));
            for doc in start..start + scores.len() {
                wide.extend_from_slice(&rows[doc * self.num_features..][..own]);
                let columns = &columns[doc * width..][..width];
                wide.extend(columns.iter().map(|&value| T::from(value)));
            }
            let bounds: Vec<usize> = bounds.iter().map(|bound| bound - start).collect();
            self.outer.score_queries(&wide, &bounds, scores)
        };
        parallel::try_for_each(pieces(bounds, 1, &mut scores), score)?;
        Ok(scores)
    }
}
