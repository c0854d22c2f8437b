//! Checks and preparations before the first round, with one process or several.

use super::super::bagging::Bagging;
use super::super::dropout::DropoutState;
use super::super::evaluation::EvaluationSets;
use super::super::initial_model::InitialModel;
use super::super::position_bias::PositionBias;
use super::super::reducer::{DataFacts, RoundReducer};
use super::super::several_metrics::MetricBalance;
use super::super::{ExactStep, StepRule};
use super::{BoostingTrainer, TrainingPlan, TreeLearner, checkpoint, table};
use crate::data::Dataset;
use crate::error::{Error, Result, room_for};
use crate::model::Model;
use crate::rounds::RoundDriver;
use crate::tree::{Criterion, Grower, LocalReducer};
use crate::{Gradient, Interrupt};
use std::sync::Arc;

impl BoostingTrainer {
    /// A trainer, after all checks that need no tree.
    pub fn new(dataset: Arc<Dataset>, plan: TrainingPlan, interrupt: &Interrupt) -> Result<Self> {
        Self::with_reducer(dataset, plan, None, Box::new(LocalReducer), interrupt)
    }

    /// Continues from a checkpoint of a training with the same data, plan and base model.
    pub fn resume(
        dataset: Arc<Dataset>,
        plan: TrainingPlan,
        checkpoint: Model,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        Self::with_reducer(dataset, plan, Some(checkpoint), Box::new(LocalReducer), interrupt)
    }

    /// The trainer of one of several workers that train the same model, from a checkpoint if there
    /// is one.
    pub(crate) fn with_reducer(
        dataset: Arc<Dataset>,
        plan: TrainingPlan,
        checkpoint: Option<Model>,
        reducer: Box<dyn RoundReducer>,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let mut learner = TreeLearner::unready(dataset, plan, reducer)?;
        let Some(checkpoint) = checkpoint else { return learner.driver(Vec::new(), interrupt) };
        let restored = learner.restore(checkpoint);
        let history = learner.reducer.agreed("the checkpoint", restored)?;
        let fingerprint = crate::hash::bytes(learner.model.to_text().as_bytes());
        learner.reducer.same("checkpoint", 0, fingerprint)?;
        learner.driver(history, interrupt)
    }
}

impl TreeLearner {
    /// A learner without scores.
    fn unready(
        dataset: Arc<Dataset>,
        mut plan: TrainingPlan,
        mut reducer: Box<dyn RoundReducer>,
    ) -> Result<Self> {
        let evaluation = checked(&dataset, &mut plan);
        let mut evaluation = reducer.agreed("the plan", evaluation)?;
        let data_facts = reducer.exchange_facts(&mut plan, &mut evaluation)?;
        let reducer: Arc<dyn RoundReducer> = reducer.into();
        let made = Self::made(dataset, plan, evaluation, data_facts, reducer.clone());
        reducer.agreed("the trainer", made)
    }

    /// The trainer, after the workers have exchanged their facts.
    fn made(
        dataset: Arc<Dataset>,
        plan: TrainingPlan,
        evaluation: EvaluationSets,
        data_facts: DataFacts,
        reducer: Arc<dyn RoundReducer>,
    ) -> Result<Self> {
        let needs_pairs = plan.loss.needs_pairs();
        if needs_pairs && !data_facts.has_pairs {
            dataset.require_pairs()?;
        }
        let class_target = plan.loss.classes(&dataset)?;
        if class_target.is_some() {
            check_classes(&dataset, &plan)?;
        }
        let trees_a_round =
            class_target.as_ref().map_or(1, |class_target| class_target.loss.num_margins());
        // Sums, gradients, lists of documents, and those of the exact step, of sampling or of a base.
        room_for("training", (48 + 32 * trees_a_round as u64) * dataset.num_docs() as u64)?;
        let options = plan.params.grow.clone();
        let grower = Grower::with_reducer(table(&dataset), options, reducer.growth())?;
        // Least squares also fits documents without a gradient.
        let by_squares = plan.params.grow.criterion == Criterion::LeastSquares;
        let only_pairs = needs_pairs && !by_squares && !evaluation.sees_train();
        let bagging = Bagging::new(&dataset, &plan.params, only_pairs);
        let mut start = InitialModel::new(&plan, class_target.as_ref(), &evaluation)?;
        let dropout_state =
            DropoutState::new(&plan.params, &mut start, trees_a_round, &dataset, !needs_pairs)?;
        let InitialModel { mut model, origin } = start;
        let bias = PositionBias::new(&plan.params, class_target.is_none(), &dataset, &mut model)?;
        let balance = plan.loss.several().cloned().map(MetricBalance::new);
        checkpoint::write_params(&mut model, &plan);
        let categorical = dataset.binning().categorical();
        if !categorical.is_empty() {
            model.declare_categorical(categorical.iter().map(|&feature| feature as u32));
        }
        let lists = dataset.binning().category_lists();
        let known = model.category_lists();
        // That of the base has more categories.
        for (&feature, list) in lists.iter().filter(|(feature, _)| !known.contains_key(feature)) {
            model.set_category_list(feature, Some(list));
        }
        Ok(Self {
            gradients: vec![vec![Gradient::default(); dataset.num_docs()]; trees_a_round],
            num_before: model.num_rounds(),
            dropout_state,
            bias,
            balance,
            class_target,
            is_stale: true,
            dataset,
            plan,
            evaluation,
            grower,
            bagging,
            model,
            origin,
            reducer,
            data_facts,
        })
    }

    /// The driver of this learner. Evaluates once before the first round, to report labels that a
    /// metric cannot use.
    fn driver(mut self, history: Vec<Vec<f64>>, interrupt: &Interrupt) -> Result<BoostingTrainer> {
        self.replay(interrupt)?;
        let rounds = self.evaluation.round_plan(&self.plan);
        let mut values = self.evaluation.values(&*self.reducer, 0, interrupt)?;
        if let Some(balance) = &mut self.balance {
            if history.is_empty() {
                balance.start(values.clone(), &rounds.metrics)?;
            }
            // A round before a checkpoint may break a guard; the values before the first round do not.
            values = balance.with_weighted(balance.reference());
        }
        rounds.check_values(&values)?;
        Ok(RoundDriver::of(self, rounds, history))
    }
}

/// Returns an error for options that classes do not support.
fn check_classes(dataset: &Dataset, plan: &TrainingPlan) -> Result<()> {
    if plan.params.step != StepRule::Newton {
        let what = "an exact step is a line of scores, and the scores of classes are none";
        return Err(Error::param("step", what).hint("train classes with step=\"newton\""));
    }
    if !plan.params.grow.limits.monotone.is_empty() {
        let what = "monotone is about scores, and trees of classes add to margins";
        return Err(Error::param("monotone", what));
    }
    if !dataset.binning().categorical().is_empty() {
        let what = "trees of classes cannot ask for categories";
        return Err(Error::data("categorical", what)
            .hint("make the dataset without categorical=, or encode the categories"));
    }
    Ok(())
}

/// Checks the plan on this worker alone; returns the evaluation sets.
fn checked(dataset: &Arc<Dataset>, plan: &mut TrainingPlan) -> Result<EvaluationSets> {
    plan.params.check()?;
    let (sets, metrics) =
        (std::mem::take(&mut plan.evaluation_sets), std::mem::take(&mut plan.metrics));
    let evaluation = EvaluationSets::new(sets, metrics, dataset)?;
    if let Some(several) = plan.loss.several() {
        several.check(evaluation.num_metrics(), evaluation.sets().count())?;
    }
    evaluation.round_plan(plan).check("early_stopping")?;
    if let StepRule::Exact(ExactStep { set: Some(set), .. }) = plan.params.step
        && set >= evaluation.sets().count()
    {
        return Err(Error::param("step", "the exact step has no such set to look at"));
    }
    Ok(evaluation)
}
