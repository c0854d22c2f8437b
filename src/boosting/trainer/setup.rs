//! What is checked and made before the first round, alone and with the other ranks of a team.

use super::super::bagging::Sampler;
use super::super::dropout::Dropping;
use super::super::evaluation::Watch;
use super::super::global_data::Whole;
use super::super::initial_model::Start;
use super::super::notes;
use super::super::position_bias::Bias;
use super::super::score_cache::Standing;
use super::super::{DocSampling, ExactStep, Step, TeamMode};
use super::{Plan, Trainer, table};
use crate::data::Dataset;
use crate::distributed::{Call, Team};
use crate::error::{Error, Result, room_for};
use crate::model::Model;
use crate::tree::{Criterion, Grower};
use crate::{Gradient, Interrupt};
use std::sync::Arc;

impl Trainer {
    /// Checks everything that can be checked before a tree is grown.
    pub fn new(dataset: Arc<Dataset>, plan: Plan, interrupt: &Interrupt) -> Result<Self> {
        Self::with_team(dataset, plan, Default::default(), interrupt)
    }

    /// As [`new`](Self::new), with the other ranks of a team, which train the same model.
    ///
    /// Every rank makes a trainer of the same plan, and asks for the same rounds.
    pub fn with_team(
        dataset: Arc<Dataset>,
        plan: Plan,
        team: (Team, TeamMode),
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let mut trainer = Self::unready(dataset, plan, team)?;
        trainer.make_ready(interrupt)?;
        Ok(trainer)
    }

    /// A trainer whose scores are not computed yet.
    fn unready(
        dataset: Arc<Dataset>,
        mut plan: Plan,
        (team, mode): (Team, TeamMode),
    ) -> Result<Self> {
        let watch = checked(&dataset, &mut plan);
        let mut watch = team.agree(Call::at_start("the plan"), watch)?;
        let whole = Whole::new((&team, mode), &dataset, &mut plan, &mut watch)?;
        let made = Self::made(dataset, plan, (watch, whole), (team.clone(), mode));
        team.agree(Call::at_start("the trainer"), made)
    }

    /// The trainer, once the ranks have met.
    fn made(
        dataset: Arc<Dataset>,
        plan: Plan,
        (watch, whole): (Watch, Whole),
        (team, mode): (Team, TeamMode),
    ) -> Result<Self> {
        check_shared((&team, mode), &dataset, &plan)?;
        let [of_docs, of_sets] = match mode {
            TeamMode::Histogram => [team.clone(), team.clone()],
            TeamMode::Features => [Team::default(), Team::default()],
            _ => [Team::default(), team.clone()],
        };
        let needs_pairs = plan.loss.needs_pairs();
        if needs_pairs && !whole.has_pairs {
            dataset.require_pairs()?;
        }
        let goal = plan.loss.classes(&dataset)?;
        if goal.is_some() {
            check_classes(&dataset, &plan)?;
        }
        let trees_a_round = goal.as_ref().map_or(1, |goal| goal.loss.num_margins());
        // Sums and gradients, and lists of docs.
        room_for("training", (16 + 16 * trees_a_round as u64) * dataset.num_docs() as u64)?;
        let (of_dataset, options) = (table(&dataset), plan.params.grow.clone());
        let grower = match mode {
            TeamMode::Features => {
                Grower::new(of_dataset, options)?.with_shared_features(team.clone())?
            }
            _ => Grower::in_team(of_dataset, options, of_docs.clone())?,
        };
        // Least squares fits docs without a gradient too.
        let by_squares = plan.params.grow.criterion == Criterion::LeastSquares;
        let only_pairs = needs_pairs && !by_squares && !watch.sees_train();
        let sampler = Sampler::new(&dataset, &plan.params, only_pairs);
        let mut start = Start::new(&plan, goal.as_ref(), &dataset, watch.sets())?;
        let dropping =
            Dropping::new(&plan.params, &mut start, trees_a_round, &dataset, !needs_pairs)?;
        let Start { mut model, from } = start;
        let bias = Bias::new(&plan.params, goal.is_none(), &dataset, &mut model)?;
        notes::write_params(&mut model, &plan);
        for (&feature, names) in dataset.binning().category_names() {
            model.set_category_names(feature, names);
        }
        Ok(Self {
            gradients: vec![vec![Gradient::default(); dataset.num_docs()]; trees_a_round],
            num_before: model.num_rounds(),
            history: Vec::new(),
            standing: Standing::default(),
            dropping,
            bias,
            goal,
            is_stale: true,
            dataset,
            plan,
            watch,
            grower,
            sampler,
            model,
            from,
            team,
            mode,
            whole,
            of_docs,
            of_sets,
        })
    }

    fn make_ready(&mut self, interrupt: &Interrupt) -> Result<()> {
        self.replay(interrupt)?;
        self.check_values(interrupt)
    }

    /// Goes on from a checkpoint of a training with the same data, plan and base.
    pub fn resume(
        dataset: Arc<Dataset>,
        plan: Plan,
        checkpoint: Model,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        Self::resume_with_team(dataset, plan, checkpoint, Default::default(), interrupt)
    }

    /// As [`resume`](Self::resume), with the other ranks of a team: of as many as began, or, where the
    /// model is that of one process, of any other number.
    pub fn resume_with_team(
        dataset: Arc<Dataset>,
        plan: Plan,
        checkpoint: Model,
        team: (Team, TeamMode),
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let mut trainer = Self::unready(dataset, plan, team)?;
        let taken = trainer.take_up(checkpoint);
        trainer.team.agree(Call::at_start("the checkpoint"), taken)?;
        let fingerprint = crate::hash::bytes(trainer.model.to_text().as_bytes());
        trainer.team.same(Call::at_start("the checkpoint"), "checkpoint", Ok(fingerprint))?;
        trainer.make_ready(interrupt)?;
        Ok(trainer)
    }

    fn take_up(&mut self, checkpoint: Model) -> Result<()> {
        let note = |name| checkpoint.attributes().get(name).cloned().unwrap_or_default();
        let (births, biases) = (note(notes::BIRTHS), note(notes::BIASES));
        (self.model, self.history) = notes::restore(checkpoint, &self.context())?;
        if let Some(dropping) = &mut self.dropping
            && !dropping.take_up(&births, &self.model)
        {
            return Err(notes::damaged());
        }
        if let Some(bias) = &mut self.bias
            && !bias.take_up(&biases, self.history.len())
        {
            return Err(notes::damaged());
        }
        Ok(())
    }
}

/// Refuses what trees of classes cannot do.
fn check_classes(dataset: &Dataset, plan: &Plan) -> Result<()> {
    if plan.params.step != Step::Newton {
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

/// Refuses what a team cannot do: categories, and what the gradients of all docs decide where a
/// rank has those of some.
fn check_shared((team, mode): (&Team, TeamMode), dataset: &Dataset, plan: &Plan) -> Result<()> {
    if team.is_alone() {
        return Ok(());
    }
    if !dataset.binning().categorical().is_empty() {
        let what = "a team does not ask for categories";
        return Err(Error::data("categorical", what).hint("encode the categories as numbers"));
    }
    if mode == TeamMode::Features {
        return Ok(());
    }
    let told =
        |what: &'static str| Error::param(what, format!("{what} needs all docs on every rank"));
    if mode == TeamMode::Histogram && plan.params.doc_sampling != DocSampling::Uniform {
        return Err(told("doc_sampling").hint("the mode `features`, or uniform sampling"));
    }
    if dataset.position().is_some() {
        return Err(told("position").hint("the mode `features`"));
    }
    Ok(())
}

/// What is watched, if everything that can be checked alone is as it should be.
fn checked(dataset: &Arc<Dataset>, plan: &mut Plan) -> Result<Watch> {
    plan.params.check()?;
    let (sets, metrics) = (std::mem::take(&mut plan.watched), std::mem::take(&mut plan.metrics));
    let watch = Watch::new(sets, metrics, dataset)?;
    if let Some(patience) = &plan.patience {
        watch.check(patience)?;
    }
    if let Step::Exact(ExactStep { set: Some(set), .. }) = plan.params.step {
        watch.check_step(set)?;
    }
    Ok(watch)
}
