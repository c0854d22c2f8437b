//! Parts that are scored for themselves before the sum is made: those that must see the other docs of
//! a query, and those that see other rows than the model.
//!
//! What several of them ask for is scored once: members of an ensemble that stand on the same ranker,
//! and that ranker as a member, cost it once.

use super::super::composite::{Component, Model};
use super::super::normalisation::Normalisation;
use super::super::parallel;
use super::super::parts::{Derived, ModelPart, Part, Stack, derived_of};
use super::super::ranks::pieces;
use super::Scorer;
use super::rows::{Value, of_single};
use crate::error::Result;
use crate::simd::Level;

/// All such parts of a model.
#[derive(Debug, Default)]
pub(super) struct Apart {
    /// What scores rows, each once.
    rankers: Vec<Scorer>,
    /// What becomes of those scores.
    parts: Vec<Made>,
}

/// A part that is made of the scores of rankers, each with its number.
#[derive(Debug)]
enum Made {
    /// The scores of one.
    Normalised(usize, Normalisation),
    /// A stack.
    Stack(Box<Stacked>),
}

/// A stack made ready to score.
#[derive(Debug)]
struct Stacked {
    num_features: usize,
    rankers: Vec<(usize, Normalisation)>,
    derived: Vec<Derived>,
    own: bool,
    outer: Scorer,
    needs_queries: bool,
}

/// What a ranker is: what two agree in scores the same bits.
#[derive(Clone, Copy)]
enum Asked<'a> {
    Part(&'a Part),
    Model(&'a Model),
}

/// The rankers that parts of a model ask for, each once.
pub(super) struct Pool<'a> {
    model: &'a Model,
    asked: Vec<Asked<'a>>,
}

impl<'a> Pool<'a> {
    /// Those of a model.
    pub(super) fn of(model: &'a Model) -> Self {
        let mut pool = Self { model, asked: Vec::new() };
        pool.gather(model);
        pool
    }

    fn gather(&mut self, model: &'a Model) {
        for component in model.components() {
            let part = component.part.kind();
            if component.normalisation.needs_queries() {
                self.ask(&component.part);
                continue;
            }
            for ranker in part.rankers() {
                let asked = self.of_model(&ranker.model);
                self.add(asked);
            }
            match part.inner() {
                Some(inner) if self.is_other(inner) => self.ask(&component.part),
                Some(inner) => self.gather(inner),
                None => {}
            }
        }
    }

    /// Whether a model works ranks out that the model around it does not know.
    fn is_other(&self, inner: &Model) -> bool {
        inner.ranks_features() != self.model.ranks_features()
    }

    fn ask(&mut self, part: &'a Part) {
        let asked = self.of_part(part);
        self.add(asked);
    }

    fn add(&mut self, asked: Asked<'a>) {
        if !self.asked.iter().any(|known| known.is(asked)) {
            self.asked.push(asked);
        }
    }

    fn of_part(&self, part: &'a Part) -> Asked<'a> {
        match part {
            Part::Model(inner) => self.of_model(inner),
            _ => Asked::Part(part),
        }
    }

    /// A model without its covers: around a part that is taken as it is, nothing is left.
    fn of_model(&self, model: &'a Model) -> Asked<'a> {
        match model.components() {
            [only] if only.is_plain() && model.intercept() == 0.0 && !self.is_other(model) => {
                self.of_part(&only.part)
            }
            _ => Asked::Model(model),
        }
    }

    fn number(&self, asked: Asked<'a>) -> Option<usize> {
        self.asked.iter().position(|known| known.is(asked))
    }

    /// The number of the ranker that a component is, if it is scored for itself or as good as.
    ///
    /// A component that is taken as it is adds its terms one by one to what is there, which no score
    /// that is made elsewhere can stand for.
    pub(super) fn shared(&self, component: &'a Component) -> Option<usize> {
        let is_apart = component.part.kind().inner().is_some_and(|inner| self.is_other(inner));
        if (component.is_plain() && !is_apart) || self.asked.is_empty() {
            return None;
        }
        self.number(self.of_part(&component.part))
    }

    /// What a scorer needs of all that.
    pub(super) fn scorers(&self, level: Level) -> Apart {
        let scorer = |asked: &Asked<'_>| {
            let around = |part: &Part| {
                let mut alone = self.model.emptied();
                // What was in a checked model fits into another of the same width.
                let fits = alone.add(Component::new(part.clone()));
                debug_assert!(fits.is_ok(), "a part that was checked before");
                Scorer::of_all_features(&alone, level)
            };
            match asked {
                Asked::Part(part) => around(part),
                Asked::Model(model) if self.is_other(model) => Scorer::at_level(model, level),
                Asked::Model(model) => Scorer::of_all_features(model, level),
            }
        };
        Apart { rankers: self.asked.iter().map(scorer).collect(), parts: Vec::new() }
    }
}

impl Asked<'_> {
    fn is(self, other: Asked<'_>) -> bool {
        match (self, other) {
            (Self::Part(one), Asked::Part(other)) => one == other,
            (Self::Model(one), Asked::Model(other)) => one.scores_as(other),
            _ => false,
        }
    }
}

impl Apart {
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) fn needs_queries(&self) -> bool {
        self.parts.iter().any(|part| match part {
            Made::Normalised(ranker, normalisation) => {
                normalisation.needs_queries() || self.rankers[*ranker].needs_queries()
            }
            Made::Stack(stack) => stack.needs_queries,
        })
    }

    /// What so many docs cost, in ops.
    pub(super) fn work(&self, docs: usize) -> usize {
        let rankers = self.rankers.iter().map(|scorer| scorer.work(docs));
        let outers = self.parts.iter().map(|part| match part {
            Made::Normalised(..) => docs,
            Made::Stack(stack) => stack.outer.work(docs),
        });
        rankers.chain(outers).fold(0, usize::saturating_add)
    }

    /// Adds a part: the scores of a ranker; returns its number.
    pub(super) fn push(&mut self, ranker: usize, normalisation: Normalisation) -> usize {
        self.parts.push(Made::Normalised(ranker, normalisation));
        self.parts.len() - 1
    }

    /// Adds a stack, whose rankers are in the pool.
    pub(super) fn push_stack<'a>(
        &mut self,
        pool: &Pool<'a>,
        stack: &'a Stack,
        level: Level,
    ) -> usize {
        let rankers = stack.rankers().iter().map(|ranker| {
            let number = pool.number(pool.of_model(&ranker.model)).unwrap_or_default();
            (number, ranker.normalisation)
        });
        self.parts.push(Made::Stack(Box::new(Stacked {
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
        let normalised = |&(ranker, normalisation): &(usize, Normalisation)| {
            let mut scores: Vec<f64> = of_rankers[ranker].clone();
            normalisation.normalise(&mut scores, bounds);
            scores
        };
        let of_part = |part: &Made| match part {
            Made::Normalised(ranker, normalisation) => Ok(normalised(&(*ranker, *normalisation))),
            Made::Stack(stack) => {
                let own: Vec<Vec<f64>> = stack.rankers.iter().map(normalised).collect();
                stack.score(rows, bounds, &own)
            }
        };
        self.parts.iter().map(of_part).collect()
    }
}

impl Stacked {
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
                wide.extend(columns.iter().map(|&value| of_single::<T>(value)));
            }
            let bounds: Vec<usize> = bounds.iter().map(|bound| bound - start).collect();
            self.outer.score_queries(&wide, &bounds, scores)
        };
        parallel::try_for_each(pieces(bounds, 1, &mut scores), score)?;
        Ok(scores)
    }
}
