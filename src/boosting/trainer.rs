//! Rounds: gradients, a tree or one a class, new scores, metrics.

mod setup;

use super::bagging::Sampler;
use super::dropout::{Drop, Dropped, Dropping};
use super::early_stopping::{best, is_fruitless};
use super::evaluation::{Measured, Watch, Watched};
use super::global_data::{Whole, told_by_most};
use super::initial_model::{From, other_bins, standing, target};
use super::loss::{ClassGoal, Learned};
use super::notes::{self, Context};
use super::position_bias::Bias;
use super::score_cache::Standing;
use super::tree_selection::{Docs, Selection, fingerprint};
use super::{End, Loss, Params, Patience, Step, TeamMode, no_split};
use crate::data::Dataset;
use crate::distributed::{Call, Team};
use crate::error::{Error, Result};
use crate::model::{Leaf, Model, Tree};
use crate::objective::State;
use crate::tree::{CodedTree, Grower, Job, Table};
use crate::{Gradient, Interrupt};
use rayon::prelude::*;
use std::fmt;
use std::sync::Arc;

/// Docs whose scores are updated by one task.
const DOCS_A_TASK: usize = 1 << 15;

/// What to train, besides the data.
#[derive(Debug)]
pub struct Plan {
    /// Bounds and rates.
    pub params: Params,
    /// The loss.
    pub loss: Loss,
    /// What is evaluated after each round; the training set may be among them.
    pub watched: Vec<Watched>,
    /// By which metrics.
    pub metrics: Vec<Measured>,
    /// When to end early.
    pub patience: Option<Patience>,
    /// What the new trees are added to.
    pub base: Option<Base>,
}

/// A model that training goes on from.
#[derive(Debug, Clone)]
pub struct Base {
    /// One whose trees split at thresholds of the dataset's bins, or any whose scores all datasets
    /// have as their base scores.
    pub model: Model,
    /// Whether the base scores are the model's. If not said they are, unless the model is a sum of
    /// trees that can score the datasets: then it was trained on the base scores too.
    pub is_scored: bool,
}

impl std::convert::From<Model> for Base {
    fn from(model: Model) -> Self {
        Self { model, is_scored: false }
    }
}

/// What a round has brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// The number of rounds of the model after this one, those of the base included: the number of
    /// its trees, or of those of each class.
    pub number: usize,
    /// The mean of each metric on each watched set, set by set.
    pub values: Vec<f64>,
    /// Whether the value that early stopping looks at is the best so far.
    pub is_best: bool,
    /// The number of leaves of the new tree, or trees.
    pub num_leaves: usize,
}

/// Training as a sequence of rounds.
///
/// A round that fails, or is interrupted, leaves no trace: the model is that of the rounds before,
/// and the next call grows the same tree again.
pub struct Trainer {
    dataset: Arc<Dataset>,
    plan: Plan,
    watch: Watch,
    grower: Grower,
    sampler: Sampler,
    model: Model,
    dropping: Option<Dropping>,
    bias: Option<Bias>,
    /// Of classes, if they are learned.
    goal: Option<ClassGoal>,
    /// How many of its rounds are the base's.
    num_before: usize,
    from: From,
    history: Vec<Vec<f64>>,
    standing: Standing,
    /// For each tree of a round, those of all docs.
    gradients: Vec<Vec<Gradient>>,
    /// Whether what docs score is not what the model says.
    is_stale: bool,
    team: Team,
    mode: TeamMode,
    whole: Whole,
    /// Those that have the docs of this training set, and of the watched sets, together.
    of_docs: Team,
    of_sets: Team,
}

impl Trainer {
    /// The model so far with all that is needed to [`resume`](Self::resume).
    pub fn checkpoint(&self) -> Model {
        let mut model = notes::checkpoint(&self.model, &self.context(), &self.history);
        if let Some(dropping) = &self.dropping {
            model.set_attribute(notes::BIRTHS, dropping.to_text());
        }
        if let Some(bias) = &self.bias {
            model.set_attribute(notes::BIASES, bias.to_text());
        }
        model
    }

    fn context(&self) -> Context<'_> {
        let Self { plan, watch, num_before, whole, .. } = self;
        Context { fingerprints: &whole.fingerprints, plan, watch, num_before: *num_before }
    }

    /// The next round; `None` once training has ended.
    pub fn next_round(&mut self, interrupt: &Interrupt) -> Result<Option<Round>> {
        if self.end().is_some() {
            return Ok(None);
        }
        if self.is_stale {
            self.replay(interrupt)?;
        }
        let (trees, dropped) = self.grow_round(interrupt)?;
        let team = (&self.of_sets, self.num_rounds());
        let values = self.watch.values(self.standing.scores(), team, interrupt)?;
        let num_leaves = trees.iter().map(|tree| tree.leaves().len()).sum();
        self.keep(trees, &dropped)?;
        self.history.push(values.clone());
        self.is_stale = false;
        let number = self.num_rounds();
        Ok(Some(Round { number, values, is_best: self.best_round() == Some(number), num_leaves }))
    }

    /// Adds the trees of a round to the model, and weighs down the dropped ones.
    fn keep(&mut self, trees: Vec<Tree>, dropped: &[Dropped]) -> Result<()> {
        if let Some(dropping) = &mut self.dropping {
            dropping.check_scores(&self.model, &trees)?;
            dropping.born(trees.iter());
        }
        if let Some(bias) = &mut self.bias {
            bias.keep(&mut self.model);
        }
        for Dropped { place, back, .. } in dropped {
            let values: Vec<f64> = back.leaves().iter().map(|leaf| leaf.value).collect();
            self.model.set_leaf_values(*place, &values)?;
        }
        if self.goal.is_some() {
            return self.model.push_classes(trees);
        }
        let sets = self.grower.sets();
        trees.into_iter().try_for_each(|tree| self.model.push_with(tree, sets))
    }

    /// The trees that this round drops, taken out of all scores, and what the new ones are
    /// multiplied by.
    fn drop(&mut self, interrupt: &Interrupt) -> Result<(f64, Vec<Dropped>)> {
        let Some(dropping) = &self.dropping else { return Ok((1.0, Vec::new())) };
        let drop: Drop = dropping.round(self.model.num_rounds());
        let dropped = dropping.dropped(&self.model, &drop);
        self.is_stale = true;
        for Dropped { at, place, out, .. } in &dropped {
            self.add((*at, *place), out, interrupt)?;
        }
        Ok((drop.new, dropped))
    }

    /// Adds a tree, as tree `at` of a round, to the sums of all docs; at that place in the model is
    /// one like it.
    fn add(
        &mut self,
        (at, place): (usize, usize),
        tree: &Tree,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let sets = self.model.trees_with_sets().nth(place).map_or(&[][..], |(_, sets)| sets);
        let coded = CodedTree::new(tree, sets, self.dataset.binning()).ok_or_else(other_bins)?;
        coded.add_to(self.dataset.matrix(), self.standing.sums(at), interrupt)?;
        self.watch.add(at, &coded, interrupt)
    }

    /// The trees of a round, with the rate in their leaves, and those that it dropped: all sums and
    /// scores have them already.
    fn grow_round(&mut self, interrupt: &Interrupt) -> Result<(Vec<Tree>, Vec<Dropped>)> {
        let (weight, dropped) = self.drop(interrupt)?;
        let mut made = self.set_gradients(interrupt);
        let mut trees = Vec::with_capacity(self.gradients.len());
        for at in 0..self.gradients.len() {
            let made = std::mem::replace(&mut made, Ok(()));
            let tree = if self.selects() {
                self.select(at, made, interrupt)?
            } else {
                let tree = self.grow(at, made, interrupt);
                self.agreed(tree)?
            };
            let alpha = self.alpha(&tree, interrupt)?;
            let tree = stepped(&tree, self.plan.params.learning_rate * weight * alpha)?;
            let tree = match &self.dropping {
                Some(dropping) => dropping.rounded(&tree),
                None => tree,
            };
            let coded = CodedTree::new(&tree, self.grower.sets(), self.dataset.binning());
            let coded = coded.ok_or_else(|| Error::internal("a split outside of the bins"))?;
            self.is_stale = true;
            if self.selects() {
                coded.add_to(self.dataset.matrix(), self.standing.sums(at), interrupt)?;
            } else {
                add_leaves(&self.grower, &tree, self.standing.sums(at));
            }
            self.watch.add(at, &coded, interrupt)?;
            self.check_same(&tree)?;
            trees.push(tree);
        }
        if self.history.is_empty() && trees.iter().all(|tree| tree.splits().is_empty()) {
            let (params, docs) = (&self.plan.params, &self.sampler.docs);
            let own = no_split::of_no_split(&self.dataset, params, &self.gradients[0], docs);
            return Err(told_by_most(&self.team, docs.len(), own));
        }
        for Dropped { at, place, back, .. } in &dropped {
            self.add((*at, *place), back, interrupt)?;
        }
        if let Some(classes) = self.goal.as_ref().and_then(|_| self.model.classes()) {
            self.standing.settle(classes.expectation());
            self.watch.settle(classes.expectation());
        }
        Ok((trees, dropped))
    }

    /// Takes the latest round back, as if it had never been.
    pub fn take_back(&mut self) -> Result<()> {
        if self.history.is_empty() {
            return Ok(());
        }
        let rounds = self.num_rounds() - 1;
        self.model = self.model_at(rounds)?;
        if let Some(dropping) = &mut self.dropping {
            dropping.forget(rounds);
        }
        if let Some(bias) = &mut self.bias {
            bias.pop();
        }
        self.history.pop();
        self.is_stale = true;
        Ok(())
    }

    /// The model as it was after so many rounds, those of the base counted.
    ///
    /// Under dropout that is not the first so many rounds of the model: later ones weigh the trees
    /// of earlier ones down.
    pub fn model_at(&self, rounds: usize) -> Result<Model> {
        let mut model = match &self.dropping {
            Some(dropping) => dropping.at(&self.model, rounds)?,
            None => self.model.clone(),
        };
        model.truncate(rounds);
        if let Some(bias) = &self.bias {
            bias.note(rounds.saturating_sub(self.num_before), &mut model);
        }
        Ok(model)
    }

    /// Why there is no further round, if there is none.
    pub fn end(&self) -> Option<End> {
        let waited = self.best_round().map_or(0, |best| self.num_rounds() - best);
        if self.plan.patience.is_some_and(|patience| waited >= patience.rounds) {
            Some(End::Patience)
        } else if self.history.len() >= self.plan.params.num_trees {
            Some(End::Done)
        } else if self.is_fruitless() {
            Some(End::Nothing)
        } else {
            None
        }
    }

    fn is_fruitless(&self) -> bool {
        let trees_a_round = self.gradients.len();
        let count = self.history.len() * trees_a_round;
        let new = self.model.trees().skip(self.model.num_trees() - count);
        is_fruitless(new, trees_a_round)
    }

    /// The number of rounds at which the value that early stopping looks at was best; without early
    /// stopping there is none.
    pub fn best_round(&self) -> Option<usize> {
        let patience = self.plan.patience.as_ref()?;
        let round = best(&self.history, self.watch.index(patience.set, patience.metric))?;
        Some(self.num_before + round + 1)
    }

    /// The values of each round so far, in the order of [`names`](Self::names).
    pub fn history(&self) -> &[Vec<f64>] {
        &self.history
    }

    /// The set and the metric of each value of a round.
    pub fn names(&self) -> impl Iterator<Item = (&str, String)> {
        self.watch.names()
    }

    /// The base and all trees so far.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The number of rounds of the model so far, those of the base included: of its trees, or of
    /// those of each class.
    pub fn num_rounds(&self) -> usize {
        self.model.num_rounds()
    }

    /// The number of rounds that were there at the start.
    pub fn num_before(&self) -> usize {
        self.num_before
    }

    /// The scores of the starting point and all trees, from the beginning: the same sums in the
    /// same order as round by round.
    fn replay(&mut self, interrupt: &Interrupt) -> Result<()> {
        let of = |dataset: &Dataset| match &self.dropping {
            Some(dropping) => dropping.standing(&self.model, dataset, interrupt),
            None => standing(&self.model, self.from, dataset, interrupt),
        };
        self.standing = of(&self.dataset)?;
        self.watch.start(of)?;
        self.is_stale = false;
        Ok(())
    }

    /// Evaluates once before the first round: labels that a metric cannot use are told at once.
    fn check_values(&self, interrupt: &Interrupt) -> Result<()> {
        let team = (&self.of_sets, 0);
        let values = self.watch.values(self.standing.scores(), team, interrupt)?;
        let Some(patience) = &self.plan.patience else { return Ok(()) };
        let at = self.watch.index(patience.set, patience.metric);
        if !values[at].is_nan() {
            return Ok(());
        }
        let names = self.watch.names().nth(at);
        let (set, metric) = names.ok_or_else(|| Error::internal("a value without a name"))?;
        let what = format!(
            "the mean of {metric} on `{set}` is NaN: early stopping has nothing to look at"
        );
        Err(Error::data("metric.nan", what))
    }

    /// The gradients of this round.
    fn set_gradients(&mut self, interrupt: &Interrupt) -> Result<()> {
        let said = self.ask_gradients(interrupt);
        self.plan.loss.told(self.dataset.rows(), self.dataset.query_of(), said)
    }

    fn ask_gradients(&mut self, interrupt: &Interrupt) -> Result<()> {
        let target = target(&self.dataset);
        match (&self.plan.loss.learned, &self.goal) {
            (Learned::Classes(..), Some(goal)) => {
                goal.loss.gradients(self.standing.margins(), &mut self.gradients, interrupt)
            }
            (Learned::Scores(objective), _) => {
                let (round, scores) = (self.model.num_rounds() as u64, self.standing.scores());
                let Some(bias) = &mut self.bias else {
                    let state = State { round, scores };
                    return objective.gradients(&target, state, &mut self.gradients[0], interrupt);
                };
                let state = State { round, scores: bias.shifted(scores) };
                objective.gradients(&target, state, &mut self.gradients[0], interrupt)?;
                bias.step(&self.gradients[0]);
                Ok(())
            }
            (Learned::Classes(..), None) => Err(Error::internal("classes without a goal")),
        }
    }

    /// Tree `at` of this round.
    ///
    /// `made` is how its gradients were made.
    fn grow(&mut self, at: usize, made: Result<()>, interrupt: &Interrupt) -> Result<Tree> {
        let (dataset, round) = (&*self.dataset, self.model.num_rounds() as u64);
        let gradients = &mut self.gradients[at][..];
        let made = match self.mode {
            TeamMode::Features => Ok(self.team.agree(Call { what: "gradients", round }, made)?),
            _ => made,
        };
        let num_docs = self.sampler.draw(dataset, (gradients, made), (&self.of_docs, round))?;
        let gradients = &self.gradients[at];
        if num_docs == 0 {
            return Ok(Tree::new(Vec::new(), vec![Leaf { value: 0.0, cover: 0.0, docs: 0 }]));
        }
        let (docs, rest) = (&self.sampler.docs, &self.sampler.rest);
        // What is drawn for a tree is drawn anew for that of each class.
        let round = round * self.gradients.len() as u64 + at as u64;
        self.grower.grow(table(dataset), Job { gradients, docs, rest, round }, interrupt)
    }

    /// Whether trees of ranks compete; one rank alone has nothing to select from.
    fn selects(&self) -> bool {
        self.mode.selects() && !self.team.is_alone()
    }

    /// The tree of this round that the ranks take, each of which may have grown one.
    fn select(&mut self, at: usize, made: Result<()>, interrupt: &Interrupt) -> Result<Tree> {
        let (team, sizes) = (self.team.clone(), self.whole.sizes.clone());
        let (seed, round) = (self.plan.params.grow.seed, self.model.num_rounds() as u64);
        let selection = Selection { team: &team, mode: self.mode, seed, round, sizes: &sizes };
        let own = if selection.grows() {
            self.grow(at, made, interrupt).map(Some)
        } else {
            made.map(|()| None)
        };
        let docs = Docs {
            dataset: &self.dataset,
            scores: self.standing.scores(),
            watch: &self.watch,
            learning_rate: self.plan.params.learning_rate,
        };
        selection.select(own, &docs, interrupt)
    }

    /// Where ranks exchange nothing but splits, an error of one is told once it is over.
    fn agreed(&self, tree: Result<Tree>) -> Result<Tree> {
        let round = self.model.num_rounds() as u64;
        match self.mode {
            TeamMode::Features => self.team.agree(Call { what: "a tree", round }, tree),
            _ => tree,
        }
    }

    /// An error on all ranks if they have not all grown the same tree.
    fn check_same(&self, tree: &Tree) -> Result<()> {
        let call = Call { what: "the tree", round: self.model.num_rounds() as u64 };
        self.team.same(call, "tree", Ok(fingerprint(tree)))
    }

    /// What the grown tree is multiplied by, besides the learning rate.
    fn alpha(&self, tree: &Tree, interrupt: &Interrupt) -> Result<f64> {
        let Step::Exact(step) = &self.plan.params.step else { return Ok(1.0) };
        if tree.splits().is_empty() {
            return Ok(1.0);
        }
        let watched = step.set.and_then(|set| self.watch.scored(set));
        let Some((dataset, scores)) = watched else {
            let scores = self.standing.scores();
            let mut outputs = vec![0.0; scores.len()];
            add_leaves(&self.grower, tree, &mut outputs);
            return step.alpha(&self.dataset, scores, &outputs, interrupt);
        };
        let coded = CodedTree::new(tree, self.grower.sets(), dataset.binning());
        let coded = coded.ok_or_else(other_bins)?;
        let mut outputs = vec![0.0; scores.len()];
        coded.add_to(dataset.matrix(), &mut outputs, interrupt)?;
        step.alpha(dataset, scores, &outputs, interrupt)
    }
}

/// Adds the values of the tree that was grown last: which docs are in which leaf, the grower knows.
fn add_leaves(grower: &Grower, tree: &Tree, scores: &mut [f64]) {
    // A tree from no docs has one leaf that the grower does not know.
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

fn table(dataset: &Dataset) -> Table<'_> {
    Table { matrix: dataset.matrix(), binning: dataset.binning(), doc_hash: dataset.doc_hash() }
}

impl fmt::Debug for Trainer {
    /// In short: a training set may be large.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Trainer");
        shown.field("plan", &self.plan).field("num_rounds", &self.num_rounds());
        shown.field("history", &self.history).finish_non_exhaustive()
    }
}

/// The tree as it is added: leaf values times the rate, in the precision of model files.
pub(super) fn stepped(tree: &Tree, rate: f64) -> Result<Tree> {
    let leaves = tree.leaves().iter();
    let step = |leaf: &Leaf| Leaf { value: f64::from((rate * leaf.value) as f32), ..leaf.clone() };
    let leaves: Vec<Leaf> = leaves.map(step).collect();
    if leaves.iter().all(|leaf| leaf.value.is_finite()) {
        return Ok(Tree::new(tree.splits().to_vec(), leaves));
    }
    Err(Error::param("l2", "a leaf has no finite value: its hessians are too small")
        .hint("set l2 or min_leaf_hess"))
}
