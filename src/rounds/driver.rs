//! The driver of rounds, and what it asks of a learner.

use super::early_stopping::best;
use super::{EarlyStopping, StopReason};
use crate::Interrupt;
use crate::error::{Error, Result};
use crate::model::Model;

/// One way of learning, a round at a time.
pub trait RoundLearner: Send {
    /// Learns one round; `None` if nothing more can be learned. A round that fails has no effect.
    fn learn_round(&mut self, interrupt: &Interrupt) -> Result<Option<LearnedRound>>;

    /// Undoes the latest round.
    fn undo_round(&mut self) -> Result<()>;

    /// The model as it was after this many rounds, including those of the base model.
    fn model_at(&self, rounds: usize) -> Result<Model>;

    /// The number of rounds of the base model.
    fn num_before(&self) -> usize {
        0
    }

    /// Whether it is known that nothing more can be learned.
    fn is_exhausted(&self) -> bool {
        false
    }

    /// Called after a round with a new best value.
    fn keep_best(&mut self) {}

    /// Called where early stopping would end training. The learner may go back to its best state
    /// instead, and say so by [`waits_from`](Self::waits_from).
    fn restart(&mut self) {}

    /// The round from which early stopping counts at the earliest; `None` for the best one.
    fn waits_from(&self) -> Option<usize> {
        None
    }

    /// Whether that round began a learner that knows nothing of those before, so that its values are
    /// compared with each other only.
    fn begins_anew(&self) -> bool {
        false
    }
}

/// What a learner returns of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedRound {
    /// The mean of each metric on each evaluation set, set by set.
    pub values: Vec<f64>,
    /// The number of leaves of the new trees.
    pub num_leaves: usize,
}

/// The result of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundResult {
    /// The number of rounds of the model after this one, including those of the base model.
    pub number: usize,
    /// The mean of each metric on each evaluation set, set by set.
    pub values: Vec<f64>,
    /// Whether the value of early stopping is the best so far.
    pub is_best: bool,
    /// The number of leaves of the new trees; 0 if the learner grows none.
    pub num_leaves: usize,
}

/// When training ends, and the names of its values.
#[derive(Debug, Clone)]
pub struct RoundPlan {
    /// The most rounds.
    pub max_rounds: usize,
    /// When to stop early.
    pub patience: Option<EarlyStopping>,
    /// The names of the evaluation sets.
    pub sets: Vec<String>,
    /// The names of the metrics, which are evaluated on each set.
    pub metrics: Vec<String>,
    /// Whether a round may have no value because it breaks a guard. The best round is then the last one
    /// of the base model where no round has a value.
    pub is_guarded: bool,
}

impl RoundPlan {
    /// Returns an error for two sets of one name, and if early stopping refers to a set or metric
    /// that is not evaluated. `option` is the name of its parameter.
    pub(crate) fn check(&self, option: &'static str) -> Result<()> {
        for (at, name) in self.sets.iter().enumerate() {
            if self.sets[..at].contains(name) {
                return Err(Error::param("valid", format!("two sets are called `{name}`")));
            }
        }
        let Some(patience) = self.patience else { return Ok(()) };
        if patience.rounds == 0 {
            return Err(Error::param(option, format!("{option} is out of range"))
                .got(0)
                .expected("a number of rounds from 1"));
        }
        if patience.smooth == 0 {
            return Err(Error::param("smooth", "smooth is out of range")
                .got(0)
                .expected("a number of rounds from 1"));
        }
        if patience.set < self.sets.len() && patience.metric < self.metrics.len() {
            return Ok(());
        }
        Err(Error::param(option, "early stopping has no such set or metric to look at"))
    }

    /// Returns an error if the value of early stopping is NaN before the first round.
    pub(crate) fn check_values(&self, values: &[f64]) -> Result<()> {
        let Some(at) = self.stopping_value().filter(|&at| values[at].is_nan()) else {
            return Ok(());
        };
        let names = self.names().nth(at);
        let (set, metric) = names.ok_or_else(|| Error::internal("a value without a name"))?;
        let what = format!(
            "the mean of {metric} on `{set}` is NaN: early stopping has nothing to look at"
        );
        Err(Error::data("metric.nan", what))
    }

    /// The number of values of a round.
    pub(crate) fn num_values(&self) -> usize {
        self.sets.len() * self.metrics.len()
    }

    /// The index of the value of early stopping.
    fn stopping_value(&self) -> Option<usize> {
        self.patience.map(|patience| patience.set * self.metrics.len() + patience.metric)
    }

    /// Over how many rounds the value of early stopping is averaged.
    fn smooth(&self) -> usize {
        self.patience.map_or(1, |patience| patience.smooth)
    }

    /// The set and the metric of each value.
    fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sets
            .iter()
            .flat_map(|set| self.metrics.iter().map(move |metric| (set.as_str(), metric.as_str())))
    }
}

/// Training as a sequence of rounds.
///
/// A round that fails or is interrupted has no effect: the next call learns the same round again.
#[derive(Debug)]
pub struct RoundDriver<L: ?Sized> {
    plan: RoundPlan,
    history: Vec<Vec<f64>>,
    learner: L,
}

impl<L: RoundLearner> RoundDriver<L> {
    /// A driver of a learner that has done the rounds of `history`.
    pub(crate) fn of(learner: L, plan: RoundPlan, history: Vec<Vec<f64>>) -> Self {
        Self { plan, history, learner }
    }
}

impl<L: RoundLearner + ?Sized> RoundDriver<L> {
    /// The next round; `None` if training has ended.
    pub fn next_round(&mut self, interrupt: &Interrupt) -> Result<Option<RoundResult>> {
        if self.end().is_some() {
            return Ok(None);
        }
        let Some(learned) = self.learner.learn_round(interrupt)? else { return Ok(None) };
        let LearnedRound { values, num_leaves } = learned;
        self.history.push(values.clone());
        let number = self.num_rounds();
        let is_best = self.best_round() == Some(number);
        if is_best {
            self.learner.keep_best();
        } else if self.has_waited() {
            self.learner.restart();
        }
        Ok(Some(RoundResult { number, values, is_best, num_leaves }))
    }

    /// Undoes the latest round.
    pub fn take_back(&mut self) -> Result<()> {
        if !self.history.is_empty() {
            self.learner.undo_round()?;
            self.history.pop();
        }
        Ok(())
    }

    /// Why training has ended, if it has.
    pub fn end(&self) -> Option<StopReason> {
        if self.has_waited() {
            Some(StopReason::EarlyStopping)
        } else if self.history.len() >= self.plan.max_rounds {
            Some(StopReason::Done)
        } else {
            self.learner.is_exhausted().then_some(StopReason::Nothing)
        }
    }

    /// Whether early stopping has waited long enough for a better value.
    fn has_waited(&self) -> bool {
        let start = self.learner.waits_from();
        let from = match (self.learner.begins_anew(), self.plan.stopping_value()) {
            (true, Some(value)) => {
                let before = start.unwrap_or_default();
                best(&self.history[before - self.num_before()..], value, self.plan.smooth())
                    .map_or(start, |round| Some(before + round + 1))
            }
            _ => self.best_round().max(start),
        };
        let waited = from.map_or(0, |from| self.num_rounds() - from);
        self.plan.patience.is_some_and(|patience| waited >= patience.rounds)
    }

    /// The number of rounds with the best value of early stopping; `None` without early stopping.
    pub fn best_round(&self) -> Option<usize> {
        match best(&self.history, self.plan.stopping_value()?, self.plan.smooth()) {
            Some(round) => Some(self.num_before() + round + 1),
            None => self.plan.is_guarded.then(|| self.num_before()),
        }
    }

    /// The values of each round so far, in the order of [`names`](Self::names).
    pub fn history(&self) -> &[Vec<f64>] {
        &self.history
    }

    /// The set and the metric of each value of a round.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.plan.names()
    }

    /// The number of rounds of the model so far, including those of the base model.
    pub fn num_rounds(&self) -> usize {
        self.num_before() + self.history.len()
    }

    /// The number of rounds of the base model.
    pub fn num_before(&self) -> usize {
        self.learner.num_before()
    }

    /// The most rounds.
    pub fn max_rounds(&self) -> usize {
        self.plan.max_rounds
    }

    /// The model as it was after this many rounds, including those of the base model.
    ///
    /// With dropout this is more than a truncated model, because later rounds rescale earlier
    /// trees. A net has the weights of its best and of its latest epoch alone.
    pub fn model_at(&self, rounds: usize) -> Result<Model> {
        self.learner.model_at(rounds)
    }

    /// The model of the best round, or of the latest without early stopping.
    pub fn best_model(&self) -> Result<Model> {
        self.model_at(self.best_round().unwrap_or(self.num_rounds()))
    }

    /// What learns.
    pub(crate) fn learner(&self) -> &L {
        &self.learner
    }
}
