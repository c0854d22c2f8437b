//! The losses of nets: the pairwise objectives of boosting, evaluated on a batch of queries at a time.

use crate::data::RawDataset;
use crate::error::{Error, Result};
use crate::gradient::Gradient;
use crate::interrupt::Interrupt;
use crate::metric::{Metric, evaluate_rows};
use crate::objective::{Objective, ObjectiveOptions, Preference, PreferenceNet, State, Target};
use crate::{Grouping, Queries};
use std::ops::Range;

/// The options of a loss that a net records.
const NOTED: &[&str] = &["objective", "pairs_to", "sigma", "augment", "objective_metric"];

/// A pairwise loss, whose gradients can be computed query by query.
#[derive(Debug)]
pub struct NetLoss {
    source: LossSource,
    notes: Vec<(&'static str, String)>,
}

#[derive(Debug)]
enum LossSource {
    Labels(Box<ObjectiveOptions>),
    /// Preferences between the caller's rows.
    Preferences {
        by_row: Vec<Preference>,
        sigma: f64,
    },
}

/// A loss prepared for one dataset.
#[derive(Debug)]
pub(super) enum NetObjective {
    Objective(Box<dyn Objective>),
    Preferences(PreferenceNet),
}

/// A batch of queries: a copy of everything that a loss may need of them.
#[derive(Debug, Default)]
pub(super) struct QueryBatch {
    queries: Vec<u32>,
    offsets: Vec<usize>,
    labels: Vec<f32>,
    doc_hash: Vec<u64>,
    row_weight: Vec<f64>,
    query_weight: Vec<f64>,
}

impl NetLoss {
    /// Pairs of docs with different labels: `lambdarank` or `ranknet`.
    pub fn new(options: ObjectiveOptions) -> Result<Self> {
        if !options.kind.definition().uses.pairs {
            return Err(Error::param("objective.name", "nets learn from pairs of docs")
                .got(options.kind)
                .expected("lambdarank or ranknet"));
        }
        options.build()?;
        let mut notes = options.notes();
        notes.retain(|(name, _)| NOTED.contains(name));
        Ok(Self { source: LossSource::Labels(Box::new(options)), notes })
    }

    /// `RankNet` on preferences between the caller's rows.
    pub fn of_preferences(by_row: Vec<Preference>, sigma: f64) -> Self {
        let notes = vec![
            ("objective", "ranknet".to_owned()),
            ("preferences", by_row.len().to_string()),
            ("sigma", sigma.to_string()),
        ];
        Self { source: LossSource::Preferences { by_row, sigma }, notes }
    }

    /// The attributes that the model records.
    pub(super) fn notes(&self) -> &[(&'static str, String)] {
        &self.notes
    }

    /// The loss on a dataset, or an error for labels and preferences that it cannot use.
    pub(super) fn prepare(&self, data: &RawDataset, interrupt: &Interrupt) -> Result<NetObjective> {
        match &self.source {
            LossSource::Labels(options) => {
                data.require_pairs()?;
                let mut options = ObjectiveOptions::clone(options);
                if options.kind.definition().uses.metric {
                    let metric = &mut options.lambda.metric;
                    check_labels(std::slice::from_ref(metric), data, interrupt)?;
                    // The largest label is that of the data, not of a batch.
                    let largest = data.labels().iter().copied().fold(0.0, f32::max);
                    *metric = metric.with_largest_label(largest)?;
                }
                options.build().map(NetObjective::Objective)
            }
            LossSource::Preferences { by_row, sigma } => PreferenceNet::of_rows(
                by_row,
                data.rows(),
                &data.first_copies(),
                data.queries(),
                *sigma,
            )
            .map(NetObjective::Preferences)
            .map_err(|error| error.with_caller_rows(data.rows(), data.query_of())),
        }
    }
}

/// Evaluates metrics once in the caller's order, so that an error about labels names the caller's row.
pub(super) fn check_labels(
    metrics: &[Metric],
    data: &RawDataset,
    interrupt: &Interrupt,
) -> Result<()> {
    let grouping = Grouping::of_caller(data.queries(), data.rows(), data.query_of())?;
    let labels = data.by_row(data.labels());
    evaluate_rows(metrics, &vec![0.0; labels.len()], &labels, &grouping, interrupt).map(drop)
}

impl NetObjective {
    /// The queries that can have a gradient; the others are skipped.
    pub(super) fn trainable_queries(&self, data: &RawDataset) -> Vec<u32> {
        let labels = data.labels();
        let mixed = |docs: Range<usize>| labels[docs].windows(2).any(|pair| pair[0] != pair[1]);
        let is_trainable = |(query, docs): (usize, Range<usize>)| match self {
            Self::Objective(objective) => !objective.needs_pairs() || mixed(docs),
            Self::Preferences(objective) => !objective.of_query(query).is_empty(),
        };
        let numbered = data.queries().ranges().enumerate();
        numbered
            .filter(|query| is_trainable(query.clone()))
            .map(|(query, _)| query as u32)
            .collect()
    }

    /// The gradient of each doc of a batch.
    pub(super) fn gradients(
        &self,
        batch: &QueryBatch,
        state: State<'_>,
        gradients: &mut [Gradient],
        interrupt: &Interrupt,
    ) -> Result<()> {
        let queries = Queries::from_offsets(batch.offsets.clone());
        let target = Target {
            labels: &batch.labels,
            queries: &queries,
            query_weight: (!batch.query_weight.is_empty()).then_some(&*batch.query_weight),
            row_weight: (!batch.row_weight.is_empty()).then_some(&*batch.row_weight),
            doc_hash: &batch.doc_hash,
        };
        match self {
            Self::Objective(objective) => objective.gradients(&target, state, gradients, interrupt),
            Self::Preferences(objective) => objective
                .of_batch(&batch.queries, &queries)
                .gradients(&target, state, gradients, interrupt),
        }
    }
}

impl QueryBatch {
    /// Replaces the batch by these queries.
    pub(super) fn load(&mut self, data: &RawDataset, queries: &[u32]) {
        let Self { offsets, labels, doc_hash, row_weight, query_weight, .. } = self;
        offsets.clear();
        offsets.push(0);
        labels.clear();
        doc_hash.clear();
        row_weight.clear();
        query_weight.clear();
        for &query in queries {
            let docs = data.queries().range(query as usize);
            labels.extend_from_slice(&data.labels()[docs.clone()]);
            doc_hash.extend_from_slice(&data.doc_hash()[docs.clone()]);
            offsets.push(labels.len());
            row_weight.extend(data.row_weight().iter().flat_map(|weights| &weights[docs.clone()]));
            query_weight.extend(data.query_weight().iter().map(|weights| weights[query as usize]));
        }
        self.queries.clear();
        self.queries.extend_from_slice(queries);
    }

    /// The docs of a query of the batch.
    pub(super) fn docs(&self, at: usize) -> Range<usize> {
        self.offsets[at]..self.offsets[at + 1]
    }

    /// The number of docs.
    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }
}
