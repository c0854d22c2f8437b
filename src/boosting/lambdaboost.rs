//! LambdaBoost: a sparse linear model, built from one feature per round.
//!
//! Let `y` be the negative gradient of each document. A round fits `y` by a single feature `x` times a
//! *coefficient*. The least-squares coefficient is `sum y x / sum x x`, and the remaining error is
//! `sum y y - (sum y x)² / sum x x` (Gao et al., *Model adaptation via model interpolation and
//! boosting*, 2009; equation 8 there lacks the square that equation 9 has, and that setting the
//! derivative to 0 gives). The feature with the smallest error is added with its coefficient times the
//! learning rate. Documents count by their weights; a missing value is 0. The *path* is the list of
//! features and added weights, round by round.
//!
//! Any model can be the base; it is scored on the raw values. Continuing a model equals training
//! without a pause: ten rounds and ten more are twenty, to the bit.
//!
//! Invariants: sums go over documents in blocks of a fixed size, in the order of their content, so
//! neither threads nor the order of rows matter. Of features with equal errors the first is taken.
//!
//! Cost: a round takes a quarter of a nanosecond per cell, beside the gradients and the metrics.

use super::initial_model::target;
use super::{EarlyStopping, TrainingLoss};
use crate::block_sums::block_sums;
use crate::data::RawDataset;
use crate::error::{Error, Result, check_features};
use crate::metric::Metric;
use crate::model::Model;
use crate::objective::State;
use crate::rounds::{
    LearnedRound, RawEvaluationSet, RoundDriver, RoundLearner, RoundPlan, metric_means,
};
use crate::schema::ParamRange;
use crate::{Gradient, Interrupt};
use rayon::prelude::*;

/// The range of `num_rounds`.
pub(crate) const ROUNDS: ParamRange = ParamRange::from(1.0).to(1_048_576.0);
/// That of `learning_rate`.
pub(crate) const RATE: ParamRange = ParamRange::above(0.0).to(10.0);
/// Documents per block of a sum.
const BLOCK: usize = 1 << 12;

/// What to train, besides the data.
#[derive(Debug)]
pub struct LambdaBoostPlan {
    /// The most features to add; the same one may be added again.
    pub num_rounds: usize,
    /// The factor for coefficients: above 0, up to 10.
    pub learning_rate: f64,
    /// The loss: one with a gradient per document.
    pub loss: TrainingLoss,
    /// The sets that are evaluated after each round.
    pub evaluation_sets: Vec<RawEvaluationSet>,
    /// The metrics that are evaluated.
    pub metrics: Vec<Metric>,
    /// When to stop early.
    pub patience: Option<EarlyStopping>,
    /// The model that features are added to: any model.
    pub base: Option<Model>,
}

/// Training of a linear model, one feature per round.
pub type LambdaBoostTrainer = RoundDriver<LambdaBoostLearner>;

/// The learner of a [`LambdaBoostTrainer`].
#[derive(Debug)]
pub struct LambdaBoostLearner {
    /// Without its sets and its base.
    plan: LambdaBoostPlan,
    train: ScoredDocs,
    evaluation_sets: Vec<ScoredDocs>,
    base: Model,
    /// `sum x x` of each feature.
    squares: Vec<f64>,
    path: Vec<(u32, f64)>,
    gradients: Vec<Gradient>,
    /// Whether no feature reduces the loss any more.
    is_spent: bool,
}

/// Documents with their scores; missing values are 0.
#[derive(Debug)]
struct ScoredDocs {
    data: RawDataset,
    /// The scores of the base model.
    base_scores: Vec<f64>,
    scores: Vec<f64>,
}

impl ScoredDocs {
    fn new(mut data: RawDataset, base: &Model, interrupt: &Interrupt) -> Result<Self> {
        let what = "a set has another number of features than the model";
        check_features(what, data.num_features(), base.num_features())?;
        let base_scores = scores(base, &data, interrupt)?;
        for cell in data.cells_mut() {
            *cell = if cell.is_nan() { 0.0 } else { *cell };
        }
        Ok(Self { data, scores: base_scores.clone(), base_scores })
    }

    /// The scores with a feature added, computed as by a model with one more term.
    fn moved(&self, (feature, weight): (u32, f64)) -> Vec<f64> {
        let rows = self.data.cells().par_chunks_exact(self.data.stride());
        let scores = self.scores.par_iter().zip(rows);
        scores.map(|(score, row)| score + weight * f64::from(row[feature as usize])).collect()
    }

    /// Computes the scores anew, by the same sums in the same order.
    fn replay(&mut self, path: &[(u32, f64)]) {
        self.scores.clone_from(&self.base_scores);
        for &step in path {
            self.scores = self.moved(step);
        }
    }

    /// `sum factor(doc) * of(cell)` for each feature.
    fn sums(
        &self,
        factor: impl Fn(usize) -> f64 + Sync + Send,
        of: impl Fn(f64) -> f64 + Sync + Send,
        interrupt: &Interrupt,
    ) -> Result<Vec<f64>> {
        let (width, stride) = (self.data.num_features(), self.data.stride());
        let blocks = self.data.cells().par_chunks(BLOCK * stride).enumerate();
        let sums = block_sums(blocks, width, interrupt, |sums, (block, cells)| {
            for (at, row) in cells.chunks_exact(stride).enumerate() {
                let factor = factor(block * BLOCK + at);
                for ([sum], &cell) in sums.iter_mut().zip(row) {
                    *sum += factor * of(f64::from(cell));
                }
            }
        })?;
        Ok(sums.into_iter().flatten().collect())
    }
}

/// The scores of a model.
fn scores(model: &Model, data: &RawDataset, interrupt: &Interrupt) -> Result<Vec<f64>> {
    let (width, stride) = (data.num_features(), data.stride());
    let compact = |cells: &[f32]| -> Vec<f32> {
        cells.chunks_exact(stride).flat_map(|row| &row[..width]).copied().collect()
    };
    let (scorer, mut scores) = (model.scorer(), vec![0.0; data.num_docs()]);
    if model.needs_queries() {
        let bounds = data.queries().offsets();
        scorer.score_queries(&compact(data.cells()), bounds, &mut scores)?;
        return Ok(scores);
    }
    let blocks = data.cells().par_chunks(BLOCK * stride).zip(scores.par_chunks_mut(BLOCK));
    blocks.try_for_each(|(cells, scores)| {
        interrupt.check()?;
        scorer.score(&compact(cells), scores)
    })?;
    Ok(scores)
}

impl LambdaBoostTrainer {
    /// A trainer, after all checks that need no round.
    pub fn new(data: RawDataset, plan: LambdaBoostPlan, interrupt: &Interrupt) -> Result<Self> {
        ROUNDS.check("num_rounds", &plan.num_rounds)?;
        RATE.check("learning_rate", &plan.learning_rate)?;
        let rounds = RoundPlan {
            max_rounds: plan.num_rounds,
            patience: plan.patience,
            sets: plan.evaluation_sets.iter().map(|set| set.name.clone()).collect(),
            metrics: plan.metrics.iter().map(ToString::to_string).collect(),
            is_guarded: false,
        };
        rounds.check("early_stopping")?;
        if plan.loss.of_scores()?.needs_pairs() {
            data.require_pairs()?;
        }
        let learner = LambdaBoostLearner::new(data, plan, interrupt)?;
        Ok(RoundDriver::of(learner, rounds, Vec::new()))
    }

    /// The feature of each round, and the weight that was added to it: its least-squares coefficient
    /// times the learning rate.
    pub fn path(&self) -> &[(u32, f64)] {
        &self.learner().path
    }
}

impl LambdaBoostLearner {
    fn new(data: RawDataset, mut plan: LambdaBoostPlan, interrupt: &Interrupt) -> Result<Self> {
        let is_new = plan.base.is_none();
        let mut base = plan.base.take().unwrap_or_else(|| Model::new(data.num_features()));
        if is_new {
            base.set_intercept(plan.loss.start_score(&data)?)?;
        }
        let train = ScoredDocs::new(data, &base, interrupt)?;
        let evaluation_sets = plan.evaluation_sets.drain(..);
        let evaluation_sets = evaluation_sets
            .map(|set| ScoredDocs::new(set.data, &base, interrupt))
            .collect::<Result<_>>()?;
        let weights: Vec<f64> = target(&train.data).weights().collect();
        let squares = train.sums(|doc| weights[doc], |x| x * x, interrupt)?;
        for (name, value) in &plan.loss.notes {
            base.set_attribute(*name, value.clone());
        }
        base.set_attribute("weak_learner", "feature");
        base.set_attribute("learning_rate", plan.learning_rate.to_string());
        Ok(Self {
            gradients: vec![Gradient::default(); train.data.num_docs()],
            plan,
            train,
            evaluation_sets,
            base,
            squares,
            path: Vec::new(),
            is_spent: false,
        })
    }

    /// The feature with the largest reduction, and its coefficient.
    fn fit(&self, products: &[f64]) -> Option<(u32, f64)> {
        let (mut found, mut most) = (None, 0.0);
        for (feature, (&product, &square)) in products.iter().zip(&self.squares).enumerate() {
            let reduction = if square > 0.0 { product * product / square } else { 0.0 };
            if reduction > most && (product / square).is_finite() {
                (found, most) = (Some((feature as u32, product / square)), reduction);
            }
        }
        found
    }
}

impl RoundLearner for LambdaBoostLearner {
    fn learn_round(&mut self, interrupt: &Interrupt) -> Result<Option<LearnedRound>> {
        let state = State { round: self.path.len() as u64, scores: &self.train.scores };
        let target = target(&self.train.data);
        let loss = &self.plan.loss;
        let result = loss.of_scores()?.gradients(&target, state, &mut self.gradients, interrupt);
        loss.with_caller_rows(self.train.data.rows(), self.train.data.query_of(), result)?;
        let downhill = |doc: usize| -f64::from(self.gradients[doc].grad);
        let products = self.train.sums(downhill, |x| x, interrupt)?;
        let Some((feature, coefficient)) = self.fit(&products) else {
            if self.path.is_empty() {
                let what = "nothing can be learned: no feature has anything to do with the labels";
                return Err(Error::data("nothing", what));
            }
            self.is_spent = true;
            return Ok(None);
        };
        let step = (feature, self.plan.learning_rate * coefficient);
        let moved: Vec<Vec<f64>> = self.evaluation_sets.iter().map(|set| set.moved(step)).collect();
        let mut values = Vec::new();
        for (set, scores) in self.evaluation_sets.iter().zip(&moved) {
            values.extend(metric_means(&set.data, &self.plan.metrics, scores, interrupt)?);
        }
        self.train.scores = self.train.moved(step);
        for (set, scores) in self.evaluation_sets.iter_mut().zip(moved) {
            set.scores = scores;
        }
        self.path.push(step);
        Ok(Some(LearnedRound { values, num_leaves: 0 }))
    }

    fn undo_round(&mut self) -> Result<()> {
        self.path.pop();
        self.is_spent = false;
        self.train.replay(&self.path);
        self.evaluation_sets.iter_mut().for_each(|set| set.replay(&self.path));
        Ok(())
    }

    /// The base model and the features of the first rounds.
    fn model_at(&self, rounds: usize) -> Result<Model> {
        let mut model = self.base.clone();
        for &(feature, weight) in &self.path[..rounds.min(self.path.len())] {
            model.push_term(feature, weight)?;
        }
        Ok(model)
    }

    fn is_exhausted(&self) -> bool {
        self.is_spent
    }
}
