//! The loss of a training, and its description in models.

use super::SeveralMetrics;
use super::dropout::{rounded, unit};
use super::initial_model::target;
use crate::data::{Dataset, Documents};
use crate::error::{Error, Result};
use crate::hash;
use crate::model::{Class, Classes, Link};
use crate::objective::{
    BuiltLoss, ClassLink, ClassLoss, GradientCall, Objective, ObjectiveOptions, Preference,
    PreferenceNet, Target,
};
use crate::{Convention, Gradient};
use rayon::prelude::*;

/// An objective with its name and options.
///
/// These are written into the model, and compared when training is resumed.
#[derive(Debug)]
pub struct TrainingLoss {
    kind: LossKind,
    /// The gains of classes.
    convention: Convention,
    pub(crate) notes: Vec<(&'static str, String)>,
    /// The initial score, if it does not follow from this worker's training set alone.
    pub(super) start: Option<f64>,
    /// Whether errors refer to documents of the data set; errors of a caller's objective refer to
    /// the caller's rows.
    is_ours: bool,
}

/// What a loss is of.
#[derive(Debug)]
enum LossKind {
    /// A gradient for each document.
    Scores(Box<dyn Objective>),
    /// A gradient for each class of a document.
    Classes(ClassLink),
    /// A weighted sum of gradients for each document: one for each metric that is evaluated.
    Weighted(Vec<WeightedObjective>, SeveralMetrics),
}

impl From<BuiltLoss> for LossKind {
    fn from(built: BuiltLoss) -> Self {
        match built {
            BuiltLoss::Scores(objective) => Self::Scores(objective),
            BuiltLoss::Classes(link) => Self::Classes(link),
        }
    }
}

/// The objective of one of several metrics.
#[derive(Debug)]
pub struct WeightedObjective {
    /// The options of the objective.
    pub options: ObjectiveOptions,
    /// The labels that it is about, if they are not the relevance.
    pub labels: Option<String>,
    objective: Box<dyn Objective>,
}

impl WeightedObjective {
    /// The objective for the labels of that name; `None` for the relevance.
    pub fn new(options: ObjectiveOptions, labels: Option<String>) -> Result<Self> {
        Ok(Self { objective: options.build()?, options, labels })
    }
}

/// The classes of a training set.
#[derive(Debug)]
pub(super) struct ClassTarget {
    pub(super) loss: ClassLoss,
    link: Link,
    classes: Vec<Class>,
}

impl ClassTarget {
    fn new(link: ClassLink, convention: &Convention, dataset: &Dataset) -> Result<Self> {
        let loss = ClassLoss::new(link, &target(dataset))?;
        let gains = convention.gains_of(loss.labels()).map_err(|error| {
            // The error refers to a distinct label; replace that by the first row with this label.
            let by_row = dataset.by_row(dataset.labels());
            let first = |label: &f32| by_row.iter().position(|of_row| of_row == label);
            let rows = loss.labels().iter().map(|label| first(label).unwrap_or_default() as u32);
            error.with_caller_rows(&rows.collect::<Vec<_>>(), &[])
        })?;
        let labels = loss.labels().iter();
        let class = |(&label, gain)| Class { label: f64::from(label), gain };
        let link = match link {
            ClassLink::Softmax => Link::Softmax,
            _ => Link::Ordinal,
        };
        Ok(Self { classes: labels.zip(gains).map(class).collect(), loss, link })
    }

    /// The classes before the first round. With dropout they are rounded to make sums exact.
    pub(super) fn start(&self, num_features: usize, dropout: bool) -> Result<Classes> {
        let mut starts = self.loss.starts();
        if dropout {
            let unit = unit(starts.iter().fold(0.0, |most, start| start.abs().max(most)));
            for start in &mut starts {
                *start = rounded(*start, unit);
            }
        }
        Classes::new(num_features, self.link, &self.classes, starts)
    }

    /// Whether these are the classes of a model.
    pub(super) fn is_of(&self, classes: &Classes) -> bool {
        classes.expectation().link() == self.link
            && classes.classes().eq(self.classes.iter().copied())
    }
}

impl TrainingLoss {
    /// A loss of this library.
    pub fn new(options: &ObjectiveOptions) -> Result<Self> {
        let convention = options.lambda.metric.convention().clone();
        let loss = Self::of(options.build_any()?.into(), options.notes());
        Ok(Self { convention, is_ours: true, ..loss })
    }

    /// The weighted sum of one objective for each metric that is evaluated.
    pub fn weighted(objectives: Vec<WeightedObjective>, metrics: SeveralMetrics) -> Result<Self> {
        let Some(first) = objectives.first() else {
            return Err(Error::param("metric", "metric: there are no metrics to weigh"));
        };
        let mut notes = first.options.notes();
        let named = |of: &WeightedObjective| {
            let labels = of.labels.as_deref().unwrap_or("label");
            format!("{} of {labels}", of.options.lambda.metric)
        };
        let names: Vec<String> = objectives.iter().map(named).collect();
        notes.retain(|(name, _)| *name != "objective_metric");
        notes.push(("objective_metric", format!("{}; {metrics}", names.join(", "))));
        let loss = Self::of(LossKind::Weighted(objectives, metrics), notes);
        Ok(Self { is_ours: true, ..loss })
    }

    /// The classes to learn on this data set, if the loss is about classes.
    pub(super) fn classes(&self, dataset: &Dataset) -> Result<Option<ClassTarget>> {
        let LossKind::Classes(link) = self.kind else { return Ok(None) };
        ClassTarget::new(link, &self.convention, dataset).map(Some)
    }

    /// Makes the error of an objective refer to the caller's rows and queries.
    pub(super) fn with_caller_rows<T>(
        &self,
        rows: &[u32],
        query_of: &[u32],
        result: Result<T>,
    ) -> Result<T> {
        let named = |error: Error| error.with_caller_rows(rows, query_of);
        if self.is_ours { result.map_err(named) } else { result }
    }

    /// The objective of scores; an error if the loss is about classes.
    pub(super) fn of_scores(&self) -> Result<&dyn Objective> {
        match &self.kind {
            LossKind::Scores(objective) => Ok(&**objective),
            LossKind::Classes(_) => {
                let what = "classes have a gradient each: only training grows trees for them";
                Err(Error::param("objective", what).hint("regression learns labels as numbers"))
            }
            LossKind::Weighted(..) => {
                Err(Error::internal("a weighted loss has several objectives"))
            }
        }
    }

    /// What several metrics are worth together, if the loss is a weighted sum.
    pub(super) fn several(&self) -> Option<&SeveralMetrics> {
        if let LossKind::Weighted(_, metrics) = &self.kind { Some(metrics) } else { None }
    }

    /// The constant score that training starts from where no base is given.
    pub(super) fn start_score(&self, documents: &Documents) -> Result<f64> {
        match (self.start, &self.kind) {
            (Some(start), _) => Ok(start),
            (None, LossKind::Weighted(..)) => Ok(0.0),
            (None, _) => {
                let objective = self.of_scores()?;
                self.check_labels(objective, documents)?;
                Ok(objective.start(&target(documents)))
            }
        }
    }

    /// Refuses labels that the objective cannot learn.
    pub(super) fn check_labels(
        &self,
        objective: &dyn Objective,
        documents: &Documents,
    ) -> Result<()> {
        let checked = objective.check_labels(&target(documents));
        self.with_caller_rows(documents.rows(), documents.query_of(), checked)
    }

    /// The gradient of each document. `weights` are those of the metrics, where there are several.
    pub(super) fn gradients(
        &self,
        documents: &Documents,
        call: GradientCall<'_>,
        weights: &[f64],
        gradients: &mut [Gradient],
    ) -> Result<()> {
        let LossKind::Weighted(objectives, _) = &self.kind else {
            return self.of_scores()?.compute(call, gradients);
        };
        gradients.fill(Gradient::default());
        let mut own = vec![Gradient::default(); gradients.len()];
        for (of, &weight) in objectives.iter().zip(weights) {
            if weight == 0.0 {
                continue;
            }
            let labels = match &of.labels {
                Some(name) => documents.extra_labels(name)?,
                None => call.target.labels,
            };
            let target = Target { labels, ..*call.target };
            of.objective.compute(GradientCall { target: &target, ..call }, &mut own)?;
            let weight = weight as f32;
            gradients.par_iter_mut().zip(&own).for_each(|(sum, own)| {
                sum.grad += weight * own.grad;
                sum.hess += weight * own.hess;
            });
        }
        Ok(())
    }

    /// Whether the loss is about classes.
    pub(crate) fn has_classes(&self) -> bool {
        matches!(self.kind, LossKind::Classes(_))
    }

    /// Tells the objective what it needs to know about the labels of all workers: the largest one,
    /// and words about the labels of each worker, which `sum` replaces by their sums, unless a worker has
    /// labels that cannot be learned.
    pub(crate) fn settle(
        &mut self,
        dataset: &Dataset,
        max_label: f32,
        sum: impl FnOnce(Result<()>, &mut [u64]) -> Result<()>,
    ) -> Result<()> {
        let checked = match &self.kind {
            LossKind::Scores(objective) => self.check_labels(&**objective, dataset),
            _ => Ok(()),
        };
        let objective = match &mut self.kind {
            LossKind::Scores(objective) => objective,
            LossKind::Classes(_) => return Ok(()),
            LossKind::Weighted(..) => {
                let what = "metric: several metrics are weighed by one process alone";
                return Err(Error::param("metric", what).hint("train without workers"));
            }
        };
        if let Some(settled) = objective.of_part(max_label, &[]) {
            *objective = settled;
        }
        let mut words = objective.words(&target(dataset));
        sum(checked, &mut words)?;
        self.start = Some(objective.start_of(&words));
        if let Some(settled) = objective.of_part(max_label, &words) {
            *objective = settled;
        }
        Ok(())
    }

    /// Whether a query whose labels are all equal never has a gradient.
    pub(super) fn needs_pairs(&self) -> bool {
        matches!(&self.kind, LossKind::Scores(objective) if objective.needs_pairs())
    }

    /// The loss [`PreferenceNet`] for preferences between the caller's rows.
    pub fn of_preferences(by_row: &[Preference], dataset: &Dataset, sigma: f64) -> Result<Self> {
        let (rows, copies, queries) = (dataset.rows(), dataset.first_copies(), dataset.queries());
        let objective = dataset
            .name_caller_rows(PreferenceNet::of_rows(by_row, rows, &copies, queries, sigma))?;
        let parts = |p: &Preference| {
            let [better, worse] = [p.better, p.worse].map(|doc| u64::from(copies[doc as usize]));
            let pair = better << 32 | worse;
            [p.probability.to_bits(), p.weight.to_bits()]
                .iter()
                .fold(pair, |h, &x| hash::mix(h ^ x))
        };
        let content = objective.preferences().iter().map(parts).fold(0u64, u64::wrapping_add);
        let notes = vec![
            ("objective", "ranknet".to_owned()),
            ("sigma", sigma.to_string()),
            ("preferences", format!("{} pairs, {content:016x}", by_row.len())),
        ];
        let loss = Self::of(LossKind::Scores(Box::new(objective)), notes);
        Ok(Self { is_ours: true, ..loss })
    }

    /// A loss of the caller. The name must distinguish it from any other.
    pub fn other(name: impl Into<String>, objective: Box<dyn Objective>) -> Self {
        let notes = vec![("objective", name.into())];
        Self::of(LossKind::Scores(objective), notes)
    }

    fn of(kind: LossKind, notes: Vec<(&'static str, String)>) -> Self {
        Self { kind, convention: Convention::default(), notes, start: None, is_ours: false }
    }
}
