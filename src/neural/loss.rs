//! The losses of nets: the pairwise objectives of boosting, evaluated on a batch of queries at a time.

use crate::data::RawDataset;
use crate::error::{Error, Result};
use crate::gradient::Gradient;
use crate::interrupt::Interrupt;
use crate::metric::evaluate_rows;
use crate::objective::{
    Augment, LambdaOptions, LambdaRank, Objective, ObjectiveKind, Preference, PreferenceNet,
    RankNet, State, Target,
};
use crate::{Grouping, Queries};

/// A pairwise loss, whose gradients can be computed query by query.
#[derive(Debug)]
pub struct NetLoss {
    source: LossSource,
    notes: Vec<(&'static str, String)>,
}

#[derive(Debug)]
enum LossSource {
    Labels {
        kind: ObjectiveKind,
        options: Box<LambdaOptions>,
    },
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
    /// The preferences of each query, with documents numbered from its first.
    Preferences {
        by_query: Vec<Vec<Preference>>,
        sigma: f64,
    },
}

/// A batch of queries: a copy of everything that a loss may need of them.
#[derive(Debug, Default)]
pub(super) struct QueryBatch {
    queries: Vec<u32>,
    sizes: Vec<usize>,
    labels: Vec<f32>,
    doc_hash: Vec<u64>,
    row_weight: Vec<f64>,
    query_weight: Vec<f64>,
}

impl NetLoss {
    /// Pairs of docs with different labels: `lambdarank` or `ranknet`.
    pub fn new(kind: ObjectiveKind, options: LambdaOptions) -> Result<Self> {
        if !kind.definition().uses.pairs {
            return Err(Error::param("objective.name", "nets learn from pairs of docs")
                .got(kind)
                .expected("lambdarank or ranknet"));
        }
        options.check()?;
        let depth = options.pairs_to.map_or_else(|| "none".to_owned(), |rank| rank.to_string());
        let mut notes = vec![
            ("objective", kind.to_string()),
            ("pairs_to", depth),
            ("sigma", options.sigma.to_string()),
        ];
        if let Some(Augment { fraction, copies }) = options.augment {
            notes.push(("augment", format!("{fraction}x{copies}")));
        }
        if kind.definition().uses.metric {
            notes.push(("objective_metric", options.metric.to_string()));
        }
        Ok(Self { source: LossSource::Labels { kind, options: Box::new(options) }, notes })
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
            LossSource::Labels { kind, options } => {
                data.require_pairs()?;
                let mut options = LambdaOptions::clone(options);
                if !kind.definition().uses.metric {
                    return Ok(NetObjective::Objective(Box::new(RankNet::new(options)?)));
                }
                check_labels(&options, data, interrupt)?;
                // The largest label is that of the data, not of a batch.
                let largest = data.labels().iter().copied().fold(0.0, f32::max);
                options.metric = options.metric.with_largest_label(largest)?;
                Ok(NetObjective::Objective(Box::new(LambdaRank::new(options)?)))
            }
            LossSource::Preferences { by_row, sigma } => prepare_preferences(by_row, data, *sigma),
        }
    }
}

/// Evaluates the metric once in the caller's order, so that an error names the caller's row.
fn check_labels(options: &LambdaOptions, data: &RawDataset, interrupt: &Interrupt) -> Result<()> {
    let grouping = grouping(data)?;
    let labels = data.by_row(data.labels());
    let metric = std::slice::from_ref(&options.metric);
    evaluate_rows(metric, &vec![0.0; labels.len()], &labels, &grouping, interrupt).map(drop)
}

/// The caller's rows of each of the caller's queries.
pub(super) fn grouping(data: &RawDataset) -> Result<Grouping> {
    let mut codes = vec![0; data.num_docs()];
    for (docs, &query) in data.queries().ranges().zip(data.query_of()) {
        codes[docs].fill(query);
    }
    Grouping::from_codes(&data.by_row(&codes), data.queries().len())
}

fn prepare_preferences(
    by_row: &[Preference],
    data: &RawDataset,
    sigma: f64,
) -> Result<NetObjective> {
    let rows = data.num_docs();
    let mut doc_of = vec![0u32; rows];
    for (doc, &row) in data.rows().iter().enumerate() {
        doc_of[row as usize] = doc as u32;
    }
    let mut docs = Vec::with_capacity(by_row.len());
    for (at, preference) in by_row.iter().enumerate() {
        let Preference { better, worse, .. } = *preference;
        let (better, worse) = (better as usize, worse as usize);
        if better.max(worse) >= rows {
            return Err(Error::data("preference.doc", format!("a row of preference[{at}]"))
                .got(better.max(worse))
                .expected(format!("a number below {rows}, the number of rows")));
        }
        docs.push(Preference { better: doc_of[better], worse: doc_of[worse], ..*preference });
    }
    // This refuses the first faulty preference.
    PreferenceNet::new(&docs, data.queries(), sigma)
        .map_err(|error| error.with_caller_rows(data.rows(), data.query_of()))?;
    let mut by_query = vec![Vec::new(); data.queries().len()];
    for preference in docs {
        let query = data.queries().of_doc(preference.better as usize);
        let start = data.queries().range(query).start as u32;
        let (better, worse) = (preference.better - start, preference.worse - start);
        by_query[query].push(Preference { better, worse, ..preference });
    }
    Ok(NetObjective::Preferences { by_query, sigma })
}

impl NetObjective {
    /// The queries that can have a gradient; the others are skipped.
    pub(super) fn trainable_queries(&self, data: &RawDataset) -> Vec<u32> {
        let labels = data.labels();
        let mixed =
            |docs: std::ops::Range<usize>| labels[docs].windows(2).any(|pair| pair[0] != pair[1]);
        let is_trainable = |(query, docs): (usize, std::ops::Range<usize>)| match self {
            Self::Objective(objective) => !objective.needs_pairs() || mixed(docs),
            Self::Preferences { by_query, .. } => !by_query[query].is_empty(),
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
        let next_offset = |offset: &mut usize, size: &usize| {
            *offset += size;
            Some(*offset)
        };
        let offsets = [0].into_iter().chain(batch.sizes.iter().scan(0, next_offset)).collect();
        let queries = Queries::from_offsets(offsets);
        let target = Target {
            labels: &batch.labels,
            queries: &queries,
            query_weight: (!batch.query_weight.is_empty()).then_some(&*batch.query_weight),
            row_weight: (!batch.row_weight.is_empty()).then_some(&*batch.row_weight),
            doc_hash: &batch.doc_hash,
        };
        match self {
            Self::Objective(objective) => objective.gradients(&target, state, gradients, interrupt),
            Self::Preferences { by_query, sigma } => {
                let mut all = Vec::new();
                for (&query, docs) in batch.queries.iter().zip(queries.ranges()) {
                    let start = docs.start as u32;
                    all.extend(by_query[query as usize].iter().map(|preference| Preference {
                        better: preference.better + start,
                        worse: preference.worse + start,
                        ..*preference
                    }));
                }
                let objective = PreferenceNet::new(&all, &queries, *sigma)?;
                objective.gradients(&target, state, gradients, interrupt)
            }
        }
    }
}

impl QueryBatch {
    /// Replaces the batch by these queries.
    pub(super) fn load(&mut self, data: &RawDataset, queries: &[u32]) {
        let Self { sizes, labels, doc_hash, row_weight, query_weight, .. } = self;
        sizes.clear();
        labels.clear();
        doc_hash.clear();
        row_weight.clear();
        query_weight.clear();
        for &query in queries {
            let docs = data.queries().range(query as usize);
            sizes.push(docs.len());
            labels.extend_from_slice(&data.labels()[docs.clone()]);
            doc_hash.extend_from_slice(&data.doc_hash()[docs.clone()]);
            row_weight.extend(data.row_weight().iter().flat_map(|weights| &weights[docs.clone()]));
            query_weight.extend(data.query_weight().iter().map(|weights| weights[query as usize]));
        }
        self.queries.clear();
        self.queries.extend_from_slice(queries);
    }

    /// The number of docs.
    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }
}
