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

use super::early_stopping::best;
use super::{EarlyStopping, StopReason, TrainingLoss};
use crate::data::RawDataset;
use crate::error::{Error, Result};
use crate::metric::{Mean, Metric, evaluate};
use crate::model::Model;
use crate::objective::{State, Target};
use crate::{Gradient, Interrupt};
use rayon::prelude::*;

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
    /// The sets that are evaluated after each round, by name.
    pub evaluation_sets: Vec<(String, RawDataset)>,
    /// The metrics that are evaluated.
    pub metrics: Vec<Metric>,
    /// When to stop early.
    pub patience: Option<EarlyStopping>,
    /// The model that features are added to: any model.
    pub base: Option<Model>,
}

/// The result of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct LambdaBoostRound {
    /// The number of rounds so far, without those of the base model.
    pub number: usize,
    /// The feature that was added.
    pub feature: u32,
    /// Its least-squares coefficient, before the learning rate.
    pub coefficient: f64,
    /// The mean of each metric on each evaluation set, set by set.
    pub values: Vec<f64>,
    /// Whether the value of early stopping is the best so far.
    pub is_best: bool,
}

/// Training of a linear model, one feature per round.
///
/// A round that fails or is interrupted has no effect.
#[derive(Debug)]
pub struct LambdaBoostTrainer {
    train: ScoredDocs,
    evaluation_sets: Vec<(String, ScoredDocs)>,
    plan: LambdaBoostPlan,
    base: Model,
    /// `sum x x` of each feature.
    squares: Vec<f64>,
    path: Vec<(u32, f64)>,
    history: Vec<Vec<f64>>,
    gradients: Vec<Gradient>,
    /// Whether no feature reduces the loss any more.
    is_spent: bool,
}

/// Documents with their scores; missing values are 0.
#[derive(Debug)]
struct ScoredDocs {
    data: RawDataset,
    scores: Vec<f64>,
}

impl ScoredDocs {
    fn new(mut data: RawDataset, base: &Model, interrupt: &Interrupt) -> Result<Self> {
        if data.num_features() != base.num_features() {
            let what = "a set has another number of features than the model";
            return Err(Error::data("features", what)
                .got(data.num_features())
                .expected(base.num_features()));
        }
        let scores = scores(base, &data, interrupt)?;
        for cell in data.cells_mut() {
            *cell = if cell.is_nan() { 0.0 } else { *cell };
        }
        Ok(Self { data, scores })
    }

    /// The scores with a feature added, computed as by a model with one more term.
    fn moved(&self, feature: u32, weight: f64) -> Vec<f64> {
        let rows = self.data.cells().par_chunks_exact(self.data.stride());
        let scores = self.scores.par_iter().zip(rows);
        scores.map(|(score, row)| score + weight * f64::from(row[feature as usize])).collect()
    }

    fn values(
        &self,
        metrics: &[Metric],
        scores: &[f64],
        interrupt: &Interrupt,
    ) -> Result<Vec<f64>> {
        let (labels, queries) = (self.data.labels(), self.data.queries());
        let per_query = evaluate(metrics, scores, labels, queries, interrupt)?;
        let mean = |values: Vec<f64>| Ok(Mean::of(&values, self.data.query_weight())?.value);
        per_query.into_iter().map(mean).collect()
    }

    fn target(&self) -> Target<'_> {
        Target {
            labels: self.data.labels(),
            queries: self.data.queries(),
            query_weight: self.data.query_weight(),
            row_weight: self.data.row_weight(),
            doc_hash: self.data.doc_hash(),
        }
    }

    /// `sum factor(doc) * of(cell)` for each feature.
    fn sums(
        &self,
        factor: impl Fn(usize) -> f64 + Sync,
        of: impl Fn(f64) -> f64 + Sync,
        interrupt: &Interrupt,
    ) -> Result<Vec<f64>> {
        let (width, stride) = (self.data.num_features(), self.data.stride());
        let blocks = self.data.cells().par_chunks(BLOCK * stride).enumerate();
        let blocks: Vec<Vec<f64>> = blocks
            .map(|(block, cells)| {
                interrupt.check()?;
                let mut sums = vec![0.0; width];
                for (at, row) in cells.chunks_exact(stride).enumerate() {
                    let factor = factor(block * BLOCK + at);
                    for (sum, &cell) in sums.iter_mut().zip(row) {
                        *sum += factor * of(f64::from(cell));
                    }
                }
                Ok(sums)
            })
            .collect::<Result<_>>()?;
        let mut sums = vec![0.0; width];
        for block in blocks {
            sums.iter_mut().zip(block).for_each(|(sum, part)| *sum += part);
        }
        Ok(sums)
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
        let mut bounds = vec![0];
        bounds.extend(data.queries().ranges().map(|docs| docs.end));
        scorer.score_queries(&compact(data.cells()), &bounds, &mut scores)?;
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
    pub fn new(data: RawDataset, mut plan: LambdaBoostPlan, interrupt: &Interrupt) -> Result<Self> {
        if !(1..=1 << 20).contains(&plan.num_rounds) {
            return Err(Error::param("num_rounds", "the number of rounds is out of range")
                .got(plan.num_rounds)
                .expected("1 to 2^20"));
        }
        // Written so that NaN is an error too.
        if !(plan.learning_rate > 0.0 && plan.learning_rate <= 10.0) {
            return Err(Error::param("learning_rate", "learning_rate is out of range")
                .got(plan.learning_rate)
                .expected("a number above 0, up to 10"));
        }
        if let Some(patience) = &plan.patience
            && (patience.rounds == 0
                || patience.set >= plan.evaluation_sets.len()
                || patience.metric >= plan.metrics.len())
        {
            let what = "early stopping has no such rounds, set or metric to look at";
            return Err(Error::param("early_stopping", what));
        }
        if plan.loss.of_scores()?.needs_pairs() {
            data.require_pairs()?;
        }
        let base = plan.base.take();
        let mut train = ScoredDocs { scores: Vec::new(), data };
        let mut base = match base {
            Some(base) => base,
            None => start(&plan, &train)?,
        };
        train = ScoredDocs::new(train.data, &base, interrupt)?;
        let scored = |(name, set)| Ok((name, ScoredDocs::new(set, &base, interrupt)?));
        let evaluation_sets = std::mem::take(&mut plan.evaluation_sets)
            .into_iter()
            .map(scored)
            .collect::<Result<_>>()?;
        let weight = weights(&train);
        let squares = train.sums(weight, |x| x * x, interrupt)?;
        for (name, value) in &plan.loss.notes {
            base.set_attribute(*name, value.clone());
        }
        base.set_attribute("weak_learner", "feature");
        base.set_attribute("learning_rate", plan.learning_rate.to_string());
        let gradients = vec![Gradient::default(); train.data.num_docs()];
        let (path, history, is_spent) = (Vec::new(), Vec::new(), false);
        Ok(Self { train, evaluation_sets, plan, base, squares, path, history, gradients, is_spent })
    }

    /// The next round; `None` if training has ended.
    pub fn next_round(&mut self, interrupt: &Interrupt) -> Result<Option<LambdaBoostRound>> {
        if self.end().is_some() {
            return Ok(None);
        }
        let state = State { round: self.path.len() as u64, scores: &self.train.scores };
        let target = self.train.target();
        let loss = &self.plan.loss;
        let result = loss.of_scores()?.gradients(&target, state, &mut self.gradients, interrupt);
        loss.told(self.train.data.rows(), self.train.data.query_of(), result)?;
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
        let weight = self.plan.learning_rate * coefficient;
        let train = self.train.moved(feature, weight);
        let mut moved = Vec::with_capacity(self.evaluation_sets.len());
        let mut values = Vec::new();
        for (_, set) in &self.evaluation_sets {
            let scores = set.moved(feature, weight);
            values.extend(set.values(&self.plan.metrics, &scores, interrupt)?);
            moved.push(scores);
        }
        self.train.scores = train;
        self.evaluation_sets
            .iter_mut()
            .zip(moved)
            .for_each(|((_, set), scores)| set.scores = scores);
        self.path.push((feature, weight));
        self.history.push(values.clone());
        let number = self.path.len();
        let is_best = self.best_round() == Some(number);
        Ok(Some(LambdaBoostRound { number, feature, coefficient, values, is_best }))
    }

    /// The feature with the largest reduction, and its coefficient.
    fn fit(&self, products: &[f64]) -> Option<(u32, f64)> {
        let mut found = None;
        let mut most = 0.0;
        for (feature, (&product, &square)) in products.iter().zip(&self.squares).enumerate() {
            let reduction = if square > 0.0 { product * product / square } else { 0.0 };
            if reduction > most && (product / square).is_finite() {
                most = reduction;
                found = Some((feature as u32, product / square));
            }
        }
        found
    }

    /// Why training has ended, if it has.
    pub fn end(&self) -> Option<StopReason> {
        let waited = self.best_round().map_or(0, |best| self.path.len() - best);
        if self.plan.patience.is_some_and(|patience| waited >= patience.rounds) {
            Some(StopReason::EarlyStopping)
        } else if self.path.len() >= self.plan.num_rounds {
            Some(StopReason::Done)
        } else {
            self.is_spent.then_some(StopReason::Nothing)
        }
    }

    /// The number of rounds with the best value of early stopping.
    pub fn best_round(&self) -> Option<usize> {
        let patience = self.plan.patience.as_ref()?;
        let value = patience.set * self.plan.metrics.len() + patience.metric;
        best(&self.history, value).map(|round| round + 1)
    }

    /// The values of each round so far, in the order of [`names`](Self::names).
    pub fn history(&self) -> &[Vec<f64>] {
        &self.history
    }

    /// The set and the metric of each value of a round.
    pub fn names(&self) -> impl Iterator<Item = (&str, String)> {
        self.evaluation_sets.iter().flat_map(|(name, _)| {
            self.plan.metrics.iter().map(move |metric| (name.as_str(), metric.to_string()))
        })
    }

    /// The feature of each round, and the weight that was added to it.
    pub fn path(&self) -> &[(u32, f64)] {
        &self.path
    }

    /// The base model and the features of the first rounds.
    pub fn model(&self, rounds: usize) -> Result<Model> {
        let mut model = self.base.clone();
        for &(feature, weight) in &self.path[..rounds.min(self.path.len())] {
            model.push_term(feature, weight)?;
        }
        Ok(model)
    }
}

/// A model without features, with the intercept of the loss.
fn start(plan: &LambdaBoostPlan, train: &ScoredDocs) -> Result<Model> {
    let mut model = Model::new(train.data.num_features());
    model.set_intercept(plan.loss.of_scores()?.start(&train.target()))?;
    Ok(model)
}

/// The weight of each document: its query's times its own.
fn weights(set: &ScoredDocs) -> impl Fn(usize) -> f64 + Sync + use<> {
    let mut weights = vec![1.0; set.data.num_docs()];
    for (query, docs) in set.data.queries().ranges().enumerate() {
        let of_query = set.data.query_weight().map_or(1.0, |weights| weights[query]);
        for doc in docs {
            weights[doc] = of_query * set.data.row_weight().map_or(1.0, |weights| weights[doc]);
        }
    }
    move |doc| weights[doc]
}
