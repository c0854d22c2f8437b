//! The trainer: each round computes gradients, grows trees, updates scores and evaluates metrics.

mod checkpoint;
mod setup;

pub(super) use checkpoint::{lists_of_text, lists_to_text, numbers_of_text, numbers_to_text};

use super::bagging::Bagging;
use super::binned_scoring::BinnedScorer;
use super::dropout::{DropoutState, DroppedTree, values_of};
use super::evaluation::{EvaluationMetric, EvaluationSet, EvaluationSets};
use super::initial_model::{ScoreOrigin, bins_mismatch, compute_scores, target};
use super::loss::ClassTarget;
use super::position_bias::PositionBias;
use super::reducer::{DataFacts, RoundReducer, SelectionDocs, fingerprint};
use super::several_metrics::MetricBalance;
use super::{BoostingParams, EarlyStopping, StepRule, TrainingLoss, no_split};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::{Leaf, Model, Tree};
use crate::objective::{GradientCall, State};
use crate::rounds::{LearnedRound, RoundDriver, RoundLearner};
use crate::tree::{BinnedTree, Grower, TrainingTable, TreeJob};
use crate::{Gradient, Interrupt};
use rayon::prelude::*;
use std::fmt;
use std::sync::Arc;

/// Documents whose scores one task updates.
const DOCS_A_TASK: usize = 1 << 15;

/// What to train, besides the data.
#[derive(Debug)]
pub struct TrainingPlan {
    /// The parameters.
    pub params: BoostingParams,
    /// The loss.
    pub loss: TrainingLoss,
    /// The sets that are evaluated after each round; the training set may be one.
    pub evaluation_sets: Vec<EvaluationSet>,
    /// The metrics that are evaluated.
    pub metrics: Vec<EvaluationMetric>,
    /// When to stop early.
    pub patience: Option<EarlyStopping>,
    /// The model that new trees are added to.
    pub base: Option<BaseModel>,
}

/// A model that training continues.
#[derive(Debug, Clone)]
pub struct BaseModel {
    /// A model whose thresholds are those of the data set's bins, or any model if all data sets
    /// have its scores as their base scores.
    pub model: Model,
    /// Whether the base scores are those of the model. If `false`, they are so only if the model is
    /// not a sum of trees that can score the data sets; such a model was trained on the base scores
    /// itself.
    pub is_scored: bool,
}

impl From<Model> for BaseModel {
    fn from(model: Model) -> Self {
        Self { model, is_scored: false }
    }
}

/// Training of trees as a sequence of rounds.
pub type BoostingTrainer = RoundDriver<TreeLearner>;

/// The learner of a [`BoostingTrainer`]: a round grows a tree, or one tree per class.
pub struct TreeLearner {
    dataset: Arc<Dataset>,
    plan: TrainingPlan,
    evaluation: EvaluationSets,
    grower: Grower,
    bagging: Bagging,
    model: Model,
    dropout_state: Option<DropoutState>,
    bias: Option<PositionBias>,
    /// The weights of several metrics.
    balance: Option<MetricBalance>,
    /// The classes, if the loss is about classes.
    class_target: Option<ClassTarget>,
    /// The number of rounds of the base model.
    num_before: usize,
    origin: ScoreOrigin,
    /// For each tree of a round, the gradients of all documents.
    gradients: Vec<Vec<Gradient>>,
    /// Whether the cached scores differ from those of the model.
    is_stale: bool,
    reducer: Arc<dyn RoundReducer>,
    data_facts: DataFacts,
}

impl RoundLearner for TreeLearner {
    fn learn_round(&mut self, interrupt: &Interrupt) -> Result<Option<LearnedRound>> {
        self.reducer.watch(interrupt);
        if self.is_stale {
            self.replay(interrupt)?;
        }
        let (trees, dropped) = self.grow_round(interrupt)?;
        let mut values = self.evaluation.values(&*self.reducer, self.round(), interrupt)?;
        let num_leaves = trees.iter().map(|tree| tree.leaves().len()).sum();
        self.keep(trees, &dropped)?;
        if let Some(balance) = &mut self.balance {
            balance.push(&values);
            values = balance.with_weighted(&values);
        }
        self.is_stale = false;
        Ok(Some(LearnedRound { values, num_leaves }))
    }

    fn undo_round(&mut self) -> Result<()> {
        let rounds = self.model.num_rounds() - 1;
        self.model = self.model_at(rounds)?;
        if let Some(dropout_state) = &mut self.dropout_state {
            dropout_state.forget(rounds);
        }
        if let Some(bias) = &mut self.bias {
            bias.pop();
        }
        if let Some(balance) = &mut self.balance {
            balance.pop();
        }
        self.is_stale = true;
        Ok(())
    }

    fn model_at(&self, rounds: usize) -> Result<Model> {
        let mut model = match &self.dropout_state {
            Some(dropout_state) => dropout_state.at(&self.model, rounds)?,
            None => self.model.clone(),
        };
        model.truncate(rounds);
        if let Some(bias) = &self.bias {
            bias.note(rounds.saturating_sub(self.num_before), &mut model);
        }
        Ok(model)
    }

    fn num_before(&self) -> usize {
        self.num_before
    }

    fn is_exhausted(&self) -> bool {
        let trees_a_round = self.gradients.len();
        let count = self.num_learned() * trees_a_round;
        let new = self.model.trees().skip(self.model.num_trees() - count);
        no_split::is_fruitless(new, trees_a_round)
    }
}

impl BoostingTrainer {
    /// The base model and all trees so far.
    pub fn model(&self) -> &Model {
        &self.learner().model
    }
}

impl TreeLearner {
    /// The number of rounds after those of the base model.
    fn num_learned(&self) -> usize {
        self.model.num_rounds() - self.num_before
    }

    /// Adds the trees of a round to the model, and rescales the dropped ones.
    fn keep(&mut self, trees: Vec<Tree>, dropped: &[DroppedTree]) -> Result<()> {
        if let Some(dropout_state) = &mut self.dropout_state {
            dropout_state.check_scores(&self.model, &trees)?;
            dropout_state.record_trees(&trees);
        }
        if let Some(bias) = &mut self.bias {
            bias.keep(&mut self.model);
        }
        for DroppedTree { place, back, .. } in dropped {
            self.model.set_leaf_values(*place, &values_of(back))?;
        }
        if self.class_target.is_some() {
            return self.model.push_classes(trees);
        }
        let sets = self.grower.sets();
        trees.into_iter().try_for_each(|tree| self.model.push_with(tree, sets))
    }

    /// Subtracts the trees that this round drops from all scores. Returns them, and the factor for
    /// the new trees.
    fn drop(&mut self, interrupt: &Interrupt) -> Result<(f64, Vec<DroppedTree>)> {
        let Some(dropout_state) = &self.dropout_state else { return Ok((1.0, Vec::new())) };
        let (weight, dropped) = dropout_state.dropped(&self.model);
        self.is_stale = true;
        for tree in &dropped {
            self.add(tree, &tree.out, interrupt)?;
        }
        Ok((weight, dropped))
    }

    /// Adds a tree to the scores of all documents in the place of a dropped one.
    fn add(&mut self, dropped: &DroppedTree, tree: &Tree, interrupt: &Interrupt) -> Result<()> {
        let &DroppedTree { at, place, .. } = dropped;
        let sets = self.model.trees_with_sets().nth(place).map_or(&[][..], |(_, sets)| sets);
        let coded =
            BinnedTree::new(tree, sets, self.dataset.binning()).ok_or_else(bins_mismatch)?;
        self.evaluation.add(at, &coded, true, interrupt)
    }

    /// Grows the trees of a round, scaled by the learning rate, and adds them to all scores. Also
    /// returns the dropped trees, which are added back.
    fn grow_round(&mut self, interrupt: &Interrupt) -> Result<(Vec<Tree>, Vec<DroppedTree>)> {
        let (weight, dropped) = self.drop(interrupt)?;
        let made = self.set_gradients(interrupt);
        let mut made = self.reducer.gradients_made(self.round(), made);
        let mut trees = Vec::with_capacity(self.gradients.len());
        for at in 0..self.gradients.len() {
            let made = std::mem::replace(&mut made, Ok(()));
            let own = made.and_then(|()| self.grow(at, interrupt));
            let tree = self.choose_tree(own, interrupt)?;
            let alpha = self.alpha(&tree, interrupt)?;
            let tree = scaled_tree(&tree, self.plan.params.learning_rate * weight * alpha)?;
            let tree = match &self.dropout_state {
                Some(dropout_state) => dropout_state.times(&tree, 1.0),
                None => tree,
            };
            let coded = BinnedTree::new(&tree, self.grower.sets(), self.dataset.binning());
            let coded = coded.ok_or_else(|| Error::internal("a split outside of the bins"))?;
            self.is_stale = true;
            let is_selected = self.reducer.selects_trees();
            if !is_selected {
                add_leaves(&self.grower, &tree, self.evaluation.train_cache.sums(at));
            }
            self.evaluation.add(at, &coded, is_selected, interrupt)?;
            self.reducer.same("tree", self.round(), fingerprint(&tree))?;
            trees.push(tree);
        }
        if self.num_learned() == 0 && trees.iter().all(|tree| tree.splits().is_empty()) {
            let (params, docs) = (&self.plan.params, &self.bagging.docs);
            let own = no_split::of_no_split(&self.dataset, params, &self.gradients[0], docs);
            return Err(self.reducer.error_without_split(docs.len(), own));
        }
        for tree in &dropped {
            self.add(tree, &tree.back, interrupt)?;
        }
        if let Some(classes) = self.class_target.as_ref().and_then(|_| self.model.classes()) {
            self.evaluation.settle(classes.expectation());
        }
        Ok((trees, dropped))
    }

    /// Recomputes all scores from the model: the same sums in the same order as in training.
    fn replay(&mut self, interrupt: &Interrupt) -> Result<()> {
        let of = |dataset: &Dataset| match &self.dropout_state {
            Some(dropout_state) => dropout_state.compute_scores(&self.model, dataset, interrupt),
            None => compute_scores(&self.model, self.origin, dataset, interrupt),
        };
        self.evaluation.start(of)?;
        self.is_stale = false;
        Ok(())
    }

    /// Computes the gradients of this round.
    fn set_gradients(&mut self, interrupt: &Interrupt) -> Result<()> {
        let result = self.ask_gradients(interrupt);
        self.plan.loss.with_caller_rows(self.dataset.rows(), self.dataset.query_of(), result)
    }

    fn ask_gradients(&mut self, interrupt: &Interrupt) -> Result<()> {
        if let Some(class_target) = &self.class_target {
            let margins = self.evaluation.train_cache.margins();
            return class_target.loss.gradients(margins, &mut self.gradients, interrupt);
        }
        let (round, scores) = (self.round(), self.evaluation.train_cache.scores());
        let scores = match &mut self.bias {
            Some(bias) => bias.shifted(scores),
            None => scores,
        };
        let (state, gradients) = (State { round, scores }, &mut self.gradients[0]);
        let weights = self.balance.as_ref().map(MetricBalance::weights).unwrap_or_default();
        let call = GradientCall { target: &target(&self.dataset), state, interrupt };
        self.plan.loss.gradients(&self.dataset, call, &weights, gradients)?;
        if let Some(bias) = &mut self.bias {
            bias.step(gradients);
        }
        Ok(())
    }

    /// Grows tree `at` of this round, if this worker grows one.
    fn grow(&mut self, at: usize, interrupt: &Interrupt) -> Result<Option<Tree>> {
        let (dataset, round) = (&*self.dataset, self.round());
        if !self.reducer.grows_tree(round) {
            return Ok(None);
        }
        let gradients = &mut self.gradients[at][..];
        let num_docs = self.bagging.draw(dataset, gradients, self.grower.reducer(), round)?;
        let gradients = &self.gradients[at];
        if num_docs == 0 {
            return Ok(Some(Tree::constant(0.0)));
        }
        let (docs, rest) = (&self.bagging.docs, &self.bagging.rest);
        // Trees of different classes have different random draws.
        let round = round * self.gradients.len() as u64 + at as u64;
        let job = TreeJob { gradients, docs, rest, round };
        self.grower.grow(table(dataset), job, interrupt).map(Some)
    }

    /// The tree of this round, given that of this worker.
    fn choose_tree(&self, own: Result<Option<Tree>>, interrupt: &Interrupt) -> Result<Tree> {
        let learning_rate = self.plan.params.learning_rate;
        let docs = SelectionDocs { evaluation: &self.evaluation, learning_rate };
        self.reducer.choose_tree(self.round(), own, &docs, interrupt)
    }

    /// The number of this round for random draws and messages, from 0.
    fn round(&self) -> u64 {
        self.model.num_rounds() as u64
    }

    /// The factor for the new tree besides the learning rate.
    fn alpha(&self, tree: &Tree, interrupt: &Interrupt) -> Result<f64> {
        let StepRule::Exact(step) = &self.plan.params.step else { return Ok(1.0) };
        if tree.splits().is_empty() {
            return Ok(1.0);
        }
        if let Some((dataset, scores)) = step.set.and_then(|set| self.evaluation.scored(set)) {
            let outputs =
                BinnedScorer::new(dataset, interrupt).outputs(tree, self.grower.sets())?;
            return step.alpha(dataset, scores, &outputs, interrupt);
        }
        let mut outputs = vec![0.0; self.dataset.num_docs()];
        add_leaves(&self.grower, tree, &mut outputs);
        step.alpha(&self.dataset, self.evaluation.train_cache.scores(), &outputs, interrupt)
    }
}

/// Adds the values of the tree that was grown last, using the grower's documents of each leaf.
fn add_leaves(grower: &Grower, tree: &Tree, scores: &mut [f64]) {
    // A tree without documents has one leaf that the grower does not know.
    if tree.splits().is_empty() && tree.leaves().iter().all(|leaf| leaf.value == 0.0) {
        return;
    }
    let leaves = tree.leaves().iter().enumerate();
    let parts: Vec<(f64, &[u32])> =
        leaves.flat_map(|(at, leaf)| grower.docs_of(at).map(|docs| (leaf.value, docs))).collect();
    scores.par_chunks_mut(DOCS_A_TASK).enumerate().for_each(|(task, scores)| {
        let first = task * DOCS_A_TASK;
        let end = first + scores.len();
        for (value, docs) in &parts {
            let from = docs.partition_point(|&doc| (doc as usize) < first);
            let docs = docs[from..].iter().map(|&doc| doc as usize);
            for doc in docs.take_while(|&doc| doc < end) {
                scores[doc - first] += value;
            }
        }
    });
}

fn table(dataset: &Dataset) -> TrainingTable<'_> {
    TrainingTable {
        matrix: dataset.matrix(),
        binning: dataset.binning(),
        doc_hash: dataset.doc_hash(),
    }
}

impl fmt::Debug for TreeLearner {
    /// Short, because a training set may be large.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeLearner").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// The tree with other leaf values.
pub(super) fn with_values(tree: &Tree, value: impl Fn((usize, &Leaf)) -> f64) -> Tree {
    let leaves = tree.leaves().iter().enumerate();
    let leaves = leaves.map(|(at, leaf)| Leaf { value: value((at, leaf)), ..*leaf });
    Tree::new(tree.splits().to_vec(), leaves.collect())
}

/// The tree with its leaf values multiplied by a rate, in the precision of model files.
pub(super) fn scaled_tree(tree: &Tree, rate: f64) -> Result<Tree> {
    let tree = with_values(tree, |(_, leaf)| f64::from((rate * leaf.value) as f32));
    check_values(&tree, "set l2 or min_leaf_hess")?;
    Ok(tree)
}

/// Returns an error for a leaf value that is not finite, with a hint.
pub(super) fn check_values(tree: &Tree, hint: &str) -> Result<()> {
    if tree.leaves().iter().all(|leaf| leaf.value.is_finite()) {
        return Ok(());
    }
    let what = "a leaf has no finite value: its hessians are too small";
    Err(Error::param("l2", what).hint(hint))
}
