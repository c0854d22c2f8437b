//! Dropout of trees (DART: Rashmi and Gilad-Bachrach 2015).
//!
//! Before a tree is grown, some of the trees so far are *dropped*: the new tree is fitted to the
//! scores without them. Then the new tree and the dropped ones are scaled down, so that together
//! they move the scores no further than the dropped ones did.
//!
//! Removing trees and adding them back must leave no rounding errors; otherwise scores would depend
//! on the history of the model. So with dropout all leaf values are multiples of a *unit*, a power
//! of two that is small beside the scores. Sums of such numbers are exact, in any order.
//!
//! The trees that a round drops are a hash of the seed, the round and the tree. So the leaf values
//! at any round follow from the initial values of each tree, which makes it possible to undo rounds
//! and to restore the best round.
//!
//! Cost: in each round, all documents are routed twice through each dropped tree.

use super::BoostingParams;
use super::binned_scoring::BinnedScorer;
use super::initial_model::{InitialModel, ScoreOrigin, compute_scores, is_native_forest, is_plain};
use super::score_cache::ScoreCache;
use super::trainer::{lists_of_text, lists_to_text, with_values};
use crate::Interrupt;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::{Model, Tree};
use crate::random::draw;
use crate::schema::{ParamRange, Parameters, choices, parameters};

/// Separate the draws of rounds and of trees from all other draws.
const OF_ROUNDS: u64 = 0x64_72_6f_70_70_69_6e_67;
const OF_TREES: u64 = 0x74_72_65_65_73;
/// The number of units in the largest initial score, as a power of two. Sums are exact up to 2^15
/// times that score.
const UNIT_BITS: i32 = 38;

parameters! {
    /// How trees are dropped.
    pub struct Dropout in "dropout" {
        /// The share of the trees so far that are left out while a new one is grown (DART: Rashmi and
        /// Gilad-Bachrach 2015), which keeps late trees from mattering little; 0 for none. Later
        /// rounds weigh the trees of earlier ones down. With early stopping the booster is
        /// nevertheless that of the best round, leaf values and all; `booster.truncate` on the other
        /// hand cannot know what its first trees were then. A base's trees, if it is a sum of trees of
        /// ours, are left out like the others.
        pub rate: f64 = 0.0, within ParamRange::from(0.0).to(1.0), as "dropout",
            elsewhere "drop_rate rate_drop";
        /// The share of the rounds that leave no tree out.
        pub skip: f64 = 0.5, within ParamRange::from(0.0).to(1.0), as "dropout_skip";
        /// The most trees that a round leaves out; None for any number.
        pub most: Option<usize> = Some(50), within ParamRange::from(1.0).to(4_294_967_295.0),
            as "dropout_max";
        /// Whether a new tree weighs as much as each of the trees that were left out, or as all of
        /// them together. Either way the scores move no further than those did: with `k` trees left
        /// out and the learning rate `eta` they keep `k / (k + eta)` of their values, or
        /// `1 / (1 + eta)`, and the new one counts `1 / (k + eta)`, or `1 / (1 + eta)`, besides `eta`.
        pub normaliser: DropoutNormaliser = DropoutNormaliser::Tree, as "dropout_normaliser";
    }
}

choices! {
    /// What the new tree weighs beside the `k` dropped ones, with a learning rate of `eta`.
    #[derive(Default)]
    pub enum DropoutNormaliser {
        /// As much as each of them: `1 / (k + eta)`, and they keep `k / (k + eta)`.
        #[default]
        Tree = "tree",
        /// As much as all of them: `1 / (1 + eta)`, and they keep `1 / (1 + eta)`.
        Forest = "forest",
    }
}

impl Dropout {
    /// Returns an error if an option is out of range.
    pub(super) fn check(&self) -> Result<()> {
        if self.rate == 0.0 {
            return Err(Error::param("dropout", "dropout is out of range")
                .got(self.rate)
                .expected("a number above 0, up to 1; or none"));
        }
        self.check_ranges()
    }

    /// The options as text, for models and checkpoints.
    pub(super) fn named(&self) -> String {
        let most = self.most.map_or_else(|| "any number".to_owned(), |most| most.to_string());
        format!("{} but {}, up to {most}, by {}", self.rate, self.skip, self.normaliser)
    }

    /// The factors for the new tree and for `count` dropped ones.
    fn factors(&self, count: usize, rate: f64) -> (f64, f64) {
        let count = count as f64;
        match self.normaliser {
            _ if count == 0.0 => (1.0, 1.0),
            DropoutNormaliser::Tree => (1.0 / (count + rate), count / (count + rate)),
            DropoutNormaliser::Forest => (1.0 / (1.0 + rate), 1.0 / (1.0 + rate)),
        }
    }

    /// The rounds of `from..round` whose trees are dropped before round `round`, ascending.
    fn drawn(&self, seed: u64, from: usize, round: usize) -> Vec<usize> {
        let is_in = |bits: u64, share: f64| bits < (share * 2f64.powi(64)) as u64;
        if is_in(draw(seed ^ OF_ROUNDS, round as u64, 0), self.skip) {
            return Vec::new();
        }
        let bits = |tree: usize| draw(seed ^ OF_TREES, round as u64, tree as u64);
        let mut trees: Vec<usize> =
            (from..round).filter(|&tree| is_in(bits(tree), self.rate)).collect();
        if let Some(most) = self.most {
            trees.sort_by_key(|&tree| bits(tree));
            trees.truncate(most);
            trees.sort_unstable();
        }
        trees
    }
}

/// The state of dropout during training.
#[derive(Debug)]
pub(super) struct DropoutState {
    options: Dropout,
    seed: u64,
    learning_rate: f64,
    trees_a_round: usize,
    from: ScoreOrigin,
    /// The first round whose trees may be dropped.
    first_round: usize,
    /// The index of that round's first tree in the model.
    first_tree: usize,
    /// The first round with dropout.
    num_before: usize,
    unit: f64,
    /// The leaf values of each tree from `first_tree` on when it was new, or when training began.
    initial_values: Vec<Vec<f64>>,
}

impl DropoutState {
    /// The state at the start of training, if dropout is used. Rounds the values of the model.
    pub(super) fn new(
        params: &BoostingParams,
        start: &mut InitialModel,
        trees_a_round: usize,
        dataset: &Dataset,
        sees_labels: bool,
    ) -> Result<Option<Self>> {
        let Some(options) = params.dropout.clone() else { return Ok(None) };
        let (model, from) = (&mut start.model, start.origin);
        // The trees at the end of the model: no other component is added after them.
        let last = model.components().iter().rev().take_while(|part| is_native_forest(part));
        let rounds = match from {
            ScoreOrigin::Trees(_) => 0,
            ScoreOrigin::Classes => model.num_rounds(),
            ScoreOrigin::Model => {
                last.map(|component| component.part.forests()[0].trees().len()).sum()
            }
        };
        let mut dropout_state = Self {
            options,
            seed: params.grow.seed,
            learning_rate: params.learning_rate,
            trees_a_round,
            from,
            first_round: model.num_rounds() - rounds,
            first_tree: model.num_trees() - rounds * trees_a_round,
            num_before: model.num_rounds(),
            unit: 1.0,
            initial_values: Vec::new(),
        };
        let before = dropout_state.before(model, dataset, &Interrupt::new())?;
        let labels: &[f32] = if sees_labels { dataset.labels() } else { &[] };
        let labels = labels.iter().map(|&label| f64::from(label.abs()));
        dropout_state.unit = unit(before.most().max(labels.fold(0.0, f64::max)));
        if is_plain(model) {
            model.set_intercept(rounded(model.intercept(), dropout_state.unit))?;
        }
        dropout_state.initial_values =
            model.trees().skip(dropout_state.first_tree).map(values_of).collect();
        for (at, values) in dropout_state.initial_values.iter_mut().enumerate() {
            for value in values.iter_mut() {
                *value = nearest(*value, dropout_state.unit);
            }
            model.set_leaf_values(dropout_state.first_tree + at, values)?;
        }
        Ok(Some(dropout_state))
    }

    /// The scores without the trees that may be dropped.
    fn before(
        &self,
        model: &Model,
        dataset: &Dataset,
        interrupt: &Interrupt,
    ) -> Result<ScoreCache> {
        let mut before = model.clone();
        before.truncate(self.first_round);
        compute_scores(&before, self.from, dataset, interrupt)
    }

    /// The scores of a data set, by exact sums.
    pub(super) fn compute_scores(
        &self,
        model: &Model,
        dataset: &Dataset,
        interrupt: &Interrupt,
    ) -> Result<ScoreCache> {
        let mut score_cache = self.before(model, dataset, interrupt)?;
        score_cache.round(|sum| rounded(sum, self.unit));
        let scorer = BinnedScorer::new(dataset, interrupt);
        for (at, (tree, sets)) in model.trees_with_sets().skip(self.first_tree).enumerate() {
            scorer.add_tree(tree, sets, score_cache.sums(at % self.trees_a_round))?;
        }
        if let (ScoreOrigin::Classes, Some(classes)) = (self.from, model.classes()) {
            score_cache.settle(classes.expectation());
        }
        Ok(score_cache)
    }

    /// The trees that a round drops, and the factors for new and dropped trees.
    fn round(&self, round: usize) -> RoundDropout {
        let rounds = self.options.drawn(self.seed, self.first_round, round);
        let (new, old) = self.options.factors(rounds.len(), self.learning_rate);
        let place = |round| self.first_tree + (round - self.first_round) * self.trees_a_round;
        let of_round = |round| place(round)..place(round) + self.trees_a_round;
        RoundDropout { new, old, trees: rounds.into_iter().flat_map(of_round).collect() }
    }

    /// The factor for the new trees of the next round, besides the learning rate, and the trees that
    /// it drops.
    pub(super) fn dropped(&self, model: &Model) -> (f64, Vec<DroppedTree>) {
        let drop = self.round(model.num_rounds());
        let all: Vec<&Tree> = model.trees().collect();
        let dropped = |&place: &usize| DroppedTree {
            place,
            at: (place - self.first_tree) % self.trees_a_round,
            out: self.times(all[place], -1.0),
            back: self.times(all[place], drop.old),
        };
        (drop.new, drop.trees.iter().map(dropped).collect())
    }

    /// A tree with its leaf values multiplied by a factor and rounded.
    pub(super) fn times(&self, tree: &Tree, factor: f64) -> Tree {
        with_values(tree, |(_, leaf)| nearest(factor * leaf.value, self.unit))
    }

    /// Records the values of new trees.
    pub(super) fn record_trees(&mut self, trees: &[Tree]) {
        self.initial_values.extend(trees.iter().map(values_of));
    }

    /// Removes the values of the trees after the first `rounds` rounds.
    pub(super) fn forget(&mut self, rounds: usize) {
        let most = rounds.saturating_sub(self.first_round) * self.trees_a_round;
        self.initial_values.truncate(most);
    }

    /// The model as it was after `rounds` rounds.
    pub(super) fn at(&self, model: &Model, rounds: usize) -> Result<Model> {
        let mut model = model.clone();
        model.truncate(rounds);
        let mut values = self.initial_values.clone();
        values.truncate(model.num_trees().saturating_sub(self.first_tree));
        for round in self.num_before..rounds {
            let drop = self.round(round);
            for tree in drop.trees {
                for value in &mut values[tree - self.first_tree] {
                    *value = nearest(drop.old * *value, self.unit);
                }
            }
        }
        for (at, values) in values.iter().enumerate() {
            model.set_leaf_values(self.first_tree + at, values)?;
        }
        Ok(model)
    }

    /// Returns an error if scores may be too large for exact sums.
    pub(super) fn check_scores(&self, model: &Model, trees: &[Tree]) -> Result<()> {
        let most = |tree: &Tree| tree.leaves().iter().fold(0.0, |m, leaf| leaf.value.abs().max(m));
        let new = model.trees().skip(self.first_tree).chain(trees);
        let sum: f64 = new.map(most).sum();
        if sum < self.unit * 2f64.powi(52) {
            return Ok(());
        }
        Err(Error::param("dropout", "the scores have become too large for dropout")
            .got(sum)
            .hint("lower learning_rate, or set l2"))
    }

    /// The leaf values of new trees, for a checkpoint.
    pub(super) fn to_text(&self) -> String {
        let num_before = (self.num_before - self.first_round) * self.trees_a_round;
        lists_to_text(&self.initial_values[num_before..])
    }

    /// Restores the leaf values of a checkpoint; `false` if they do not fit its model.
    pub(super) fn restore(&mut self, text: &str, model: &Model) -> bool {
        let Some(initial_values) = lists_of_text(text) else { return false };
        self.initial_values.extend(initial_values);
        let is_whole = self.first_tree + self.initial_values.len() == model.num_trees();
        is_whole && self.at(model, model.num_rounds()).is_ok_and(|same| same == *model)
    }
}

/// What a round drops.
#[derive(Debug)]
struct RoundDropout {
    /// The factor for the new tree, besides the learning rate.
    new: f64,
    /// The factor for the dropped trees.
    old: f64,
    /// The indices of the dropped trees in the model.
    trees: Vec<usize>,
}

/// A dropped tree.
#[derive(Debug)]
pub(super) struct DroppedTree {
    /// Its index in the model.
    pub(super) place: usize,
    /// Its index among the trees of its round.
    pub(super) at: usize,
    /// The tree that removes it from the scores.
    pub(super) out: Tree,
    /// The tree that adds it back, scaled.
    pub(super) back: Tree,
}

pub(super) fn values_of(tree: &Tree) -> Vec<f64> {
    tree.leaves().iter().map(|leaf| leaf.value).collect()
}

/// The unit for scores up to `most`.
pub(super) fn unit(most: f64) -> f64 {
    let power = most.max(1.0).log2().ceil();
    // With larger scores, trees are refused soon after.
    2f64.powi((power as i32).min(900) - UNIT_BITS)
}

/// The nearest multiple of the unit. The rounding is the only error, since the unit is a power of
/// two.
pub(super) fn rounded(value: f64, unit: f64) -> f64 {
    (value / unit).round() * unit
}

/// The nearest multiple of the unit that is an `f32`.
fn nearest(value: f64, unit: f64) -> f64 {
    rounded(f64::from(value as f32), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(rate: f64, skip: f64, most: Option<usize>) -> Dropout {
        Dropout { rate, skip, most, normaliser: DropoutNormaliser::Tree }
    }

    #[test]
    fn the_asked_for_shares_are_dropped() {
        let dropout = options(0.2, 0.25, None);
        let drawn: Vec<usize> = (0..400).map(|seed| dropout.drawn(seed, 100, 300).len()).collect();
        let skipped = drawn.iter().filter(|&&count| count == 0).count();
        assert!((75..125).contains(&skipped), "{skipped}");
        let mean = drawn.iter().sum::<usize>() as f64 / (400 - skipped) as f64;
        assert!((38.0..42.0).contains(&mean), "{mean}");
        assert!(dropout.drawn(1, 100, 300).iter().all(|tree| (100..300).contains(tree)));
        let few = options(0.2, 0.0, Some(7)).drawn(1, 0, 300);
        assert_eq!(few.len(), 7);
        assert!(few.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(options(0.2, 1.0, None).drawn(1, 0, 300).is_empty());
        assert_eq!(options(1.0, 0.0, None).drawn(1, 0, 5), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_tree_that_repeats_the_dropped_ones_changes_nothing() {
        for normaliser in [DropoutNormaliser::Tree, DropoutNormaliser::Forest] {
            let dropout = Dropout { normaliser, ..options(0.1, 0.0, None) };
            for (count, rate) in [(1, 0.1), (3, 0.5), (10, 1.0)] {
                let (new, old) = dropout.factors(count, rate);
                assert!((old + rate * new - 1.0).abs() < 1e-15);
            }
            assert_eq!(dropout.factors(0, 0.1), (1.0, 1.0));
        }
    }

    #[test]
    fn multiples_of_the_unit_add_up_exactly() {
        let unit = unit(3.7);
        assert_eq!(unit, 2f64.powi(-36));
        let values: Vec<f64> =
            (0..1000).map(|i| nearest((f64::from(i) * 0.731).sin(), unit)).collect();
        assert!(values.iter().all(|&value| f64::from(value as f32) == value));
        let up: f64 = values.iter().sum();
        let down: f64 = values.iter().rev().sum();
        assert_eq!(up, down);
        assert_eq!(values.iter().fold(up, |sum, value| sum - value), 0.0);
    }
}
