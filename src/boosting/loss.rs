//! The loss of a training, and its description in models.

use super::dropout::{rounded, unit};
use super::initial_model::target;
use crate::Convention;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::hash;
use crate::model::{Class, Classes, Link};
use crate::objective::{
    BuiltLoss, ClassLink, ClassLoss, Objective, ObjectiveOptions, Preference, PreferenceNet,
};

/// An objective with its name and options.
///
/// These are written into the model, and compared when training is resumed.
#[derive(Debug)]
pub struct TrainingLoss {
    pub(super) loss_target: LossTarget,
    pub(crate) notes: Vec<(&'static str, String)>,
    /// The initial score, if it does not follow from this worker's training set alone.
    pub(super) start: Option<f64>,
    /// Whether errors refer to documents of the data set; errors of a caller's objective refer to
    /// the caller's rows.
    is_ours: bool,
}

/// What the trees learn.
#[derive(Debug)]
pub(super) enum LossTarget {
    /// The score, with one tree per round.
    Scores(Box<dyn Objective>),
    /// The margins of classes, with one tree per class and round.
    Classes(ClassLink, Convention),
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
        let loss_target = match options.build_any()? {
            BuiltLoss::Scores(objective) => LossTarget::Scores(objective),
            BuiltLoss::Classes(link) => {
                LossTarget::Classes(link, options.lambda.metric.convention().clone())
            }
        };
        Ok(Self { loss_target, notes: options.notes(), start: None, is_ours: true })
    }

    /// The classes to learn on this data set, if the loss is about classes.
    pub(super) fn classes(&self, dataset: &Dataset) -> Result<Option<ClassTarget>> {
        match &self.loss_target {
            LossTarget::Classes(link, convention) => {
                ClassTarget::new(*link, convention, dataset).map(Some)
            }
            LossTarget::Scores(_) => Ok(None),
        }
    }

    /// Makes the error of an objective refer to the caller's rows and queries.
    pub(super) fn with_caller_rows<T>(
        &self,
        rows: &[u32],
        query_of: &[u32],
        result: Result<T>,
    ) -> Result<T> {
        if self.is_ours {
            result.map_err(|error| error.with_caller_rows(rows, query_of))
        } else {
            result
        }
    }

    /// The objective of scores; an error if the loss is about classes.
    pub(super) fn of_scores(&self) -> Result<&dyn Objective> {
        match &self.loss_target {
            LossTarget::Scores(objective) => Ok(&**objective),
            LossTarget::Classes(..) => {
                let what = "classes have a gradient each: only training grows trees for them";
                Err(Error::param("objective", what).hint("regression learns labels as numbers"))
            }
        }
    }

    /// Whether the loss is about classes.
    pub(crate) fn has_classes(&self) -> bool {
        matches!(self.loss_target, LossTarget::Classes(..))
    }

    /// Tells the objective what it needs to know about the labels of all workers: the largest one,
    /// and words about the labels of each worker, which `sum` replaces by their sums.
    pub(crate) fn settle(
        &mut self,
        dataset: &Dataset,
        max_label: f32,
        sum: impl FnOnce(&mut [u64]) -> Result<()>,
    ) -> Result<()> {
        let LossTarget::Scores(objective) = &mut self.loss_target else { return Ok(()) };
        if let Some(settled) = objective.of_part(max_label, &[]) {
            *objective = settled;
        }
        let mut words = objective.words(&target(dataset));
        sum(&mut words)?;
        self.start = Some(objective.start_of(&words));
        if let Some(settled) = objective.of_part(max_label, &words) {
            *objective = settled;
        }
        Ok(())
    }

    /// Whether a query whose labels are all equal never has a gradient.
    pub(super) fn needs_pairs(&self) -> bool {
        matches!(&self.loss_target, LossTarget::Scores(objective) if objective.needs_pairs())
    }

    /// The loss [`PreferenceNet`] for preferences between the caller's rows.
    pub fn of_preferences(by_row: &[Preference], dataset: &Dataset, sigma: f64) -> Result<Self> {
        let mut doc_of = vec![0u32; dataset.num_docs()];
        for (doc, &row) in dataset.rows().iter().enumerate() {
            doc_of[row as usize] = doc as u32;
        }
        let preferences: Vec<Preference> = by_row
            .iter()
            .enumerate()
            .map(|(at, p)| of_docs(at, p, &doc_of, dataset))
            .collect::<Result<_>>()?;
        let parts = |p: &Preference| {
            let pair = u64::from(p.better) << 32 | u64::from(p.worse);
            [p.probability.to_bits(), p.weight.to_bits()]
                .iter()
                .fold(pair, |h, &x| hash::mix(h ^ x))
        };
        let content = preferences.iter().map(parts).fold(0u64, u64::wrapping_add);
        let objective =
            dataset.name_caller_rows(PreferenceNet::new(&preferences, dataset.queries(), sigma))?;
        let notes = vec![
            ("objective", "ranknet".to_owned()),
            ("sigma", sigma.to_string()),
            ("preferences", format!("{} pairs, {content:016x}", by_row.len())),
        ];
        let loss_target = LossTarget::Scores(Box::new(objective));
        Ok(Self { loss_target, notes, start: None, is_ours: true })
    }

    /// A loss of the caller. The name must distinguish it from any other.
    pub fn other(name: impl Into<String>, objective: Box<dyn Objective>) -> Self {
        let notes = vec![("objective", name.into())];
        Self { loss_target: LossTarget::Scores(objective), notes, start: None, is_ours: false }
    }
}

/// A preference between documents, from one between rows of a query.
fn of_docs(
    at: usize,
    preference: &Preference,
    doc_of: &[u32],
    dataset: &Dataset,
) -> Result<Preference> {
    let Preference { better, worse, .. } = *preference;
    let doc = |row: u32| {
        doc_of.get(row as usize).copied().ok_or_else(|| {
            Error::data("preference.doc", format!("a row of preferences[{at}]"))
                .got(row)
                .expected(format!("a number below {}, the number of rows", doc_of.len()))
        })
    };
    let docs = [doc(better)?, doc(worse)?];
    let [query, other] = docs.map(|doc| dataset.queries().of_doc(doc as usize));
    if query == other && better != worse {
        return Ok(Preference { better: docs[0], worse: docs[1], ..*preference });
    }
    Err(Error::data("preference.pair", format!("the rows of preferences[{at}]"))
        .got(format!("{better} and {worse}"))
        .expected("two rows of one query"))
}
