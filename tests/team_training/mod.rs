//! Queries that several workers train on, and what each of them ends with.

#![allow(dead_code, reason = "each test file uses a part")]

use crate::thread_workers::{ThreadCommunicator, ThreadWorkers};
use rustrank::binning::{BinOptions, RowSample};
use rustrank::boosting::{
    BoostingParams, BoostingTrainer, EarlyStopping, EvaluationMetric, EvaluationSet, TrainingLoss,
    TrainingPlan,
};
use rustrank::data::{Dataset, MissingPolicy, RowData, StridedTable};
use rustrank::distributed::{
    Communicator, DistributedTraining, WorkerGroup, WorkerMode, choose_global_bins,
};
use rustrank::objective::{ObjectiveKind, ObjectiveOptions};
use rustrank::random::draw;
use rustrank::tree::GrowOptions;
use rustrank::{Grouping, Interrupt, Queries, Result};
use std::sync::Arc;
use std::time::Duration;

pub(crate) const FEATURES: usize = 9;

/// Queries with docs of some features, and labels that these tell something of.
#[derive(Clone, Default)]
pub(crate) struct Rows {
    pub(crate) cells: Vec<f32>,
    pub(crate) labels: Vec<f32>,
    pub(crate) sizes: Vec<i64>,
    pub(crate) weights: Vec<f64>,
    pub(crate) ids: Vec<String>,
}

impl Rows {
    pub(crate) fn new(num_queries: u64, seed: u64) -> Self {
        let mut rows = Self::default();
        for query in 0..num_queries {
            let size = 4 + draw(seed, 1, query) % 12;
            rows.sizes.push(size.cast_signed());
            rows.weights.push(0.1 + (draw(seed, 2, query) % 90) as f64 / 7.0);
            rows.ids.push(format!("{seed}-{query}"));
            for doc in 0..size {
                let id = query << 8 | doc;
                let pull = draw(seed, 3, id) % 5;
                rows.labels.push(pull.min(3) as f32);
                for feature in 0..FEATURES as u64 {
                    let noise = draw(seed, 4 + feature, id) % (3 + 40 * feature);
                    let value = noise as f32 / 9.0 + (pull * (feature % 3)) as f32;
                    rows.cells.push(if noise % 11 == 5 { f32::NAN } else { value });
                }
            }
        }
        rows
    }

    /// The queries for which `has` says so.
    pub(crate) fn part(&self, has: impl Fn(usize) -> bool) -> Self {
        let (mut part, mut start) = (Self::default(), 0);
        for (query, &size) in self.sizes.iter().enumerate() {
            let docs = start..start + size as usize;
            start = docs.end;
            if has(query) {
                part.cells.extend(&self.cells[docs.start * FEATURES..docs.end * FEATURES]);
                part.labels.extend(&self.labels[docs]);
                part.sizes.push(size);
                part.weights.push(self.weights[query]);
                part.ids.push(self.ids[query].clone());
            }
        }
        part
    }

    pub(crate) fn table(&self) -> StridedTable<'_, f32> {
        StridedTable::by_row(&self.cells, FEATURES, MissingPolicy::default())
    }

    pub(crate) fn data(&self) -> RowData {
        let queries = Queries::from_sizes(&self.sizes, self.labels.len()).unwrap();
        RowData {
            query_weight: Some(self.weights.clone()),
            ..RowData::new(self.labels.clone(), Grouping::in_row_order(queries))
        }
    }

    /// A dataset of all rows.
    pub(crate) fn dataset(&self) -> Dataset {
        Dataset::new(&self.table(), self.data(), &bins(), &never()).unwrap()
    }

    pub(crate) fn like(&self, train: &Dataset) -> Result<Dataset> {
        if self.labels.is_empty() {
            return Dataset::empty(train.binning().clone(), false);
        }
        Dataset::like(&self.table(), self.data(), train.binning().clone(), &never())
    }

    /// The part of a rank, with the bins of all.
    pub(crate) fn together(&self, team: &WorkerGroup) -> Result<Dataset> {
        let mut sample = RowSample::new(bins().sample_rows, FEATURES);
        let pushed = sample.push(&self.table(), &never()).map(|()| sample);
        let binning = Arc::new(choose_global_bins(team, pushed, &bins(), &never())?);
        if self.labels.is_empty() {
            return Dataset::empty(binning, false);
        }
        Dataset::like(&self.table(), self.data(), binning, &never())
    }
}

pub(crate) fn never() -> Interrupt {
    Interrupt::new()
}

/// Fewer rows than there are, so that a sample is one.
pub(crate) fn bins() -> BinOptions {
    BinOptions { max_bins: 20, sample_rows: 300, ..BinOptions::default() }
}

pub(crate) fn loss(kind: ObjectiveKind, metric: &str) -> TrainingLoss {
    let mut options = ObjectiveOptions::new(kind, metric.parse().unwrap());
    options.relevant_from = Some(2.0);
    TrainingLoss::new(&options).unwrap()
}

pub(crate) fn grow() -> GrowOptions {
    GrowOptions { num_leaves: 7, min_leaf_docs: 6, ..GrowOptions::default() }
}

pub(crate) fn params(grow: GrowOptions) -> BoostingParams {
    BoostingParams { num_trees: 6, learning_rate: 0.3, grow, ..BoostingParams::default() }
}

pub(crate) fn plan(
    params: BoostingParams,
    loss: TrainingLoss,
    sets: [Arc<Dataset>; 2],
) -> TrainingPlan {
    let [train, valid] = sets;
    let metrics =
        ["ndcg@5", "err@10", "map"].map(|name| EvaluationMetric::Metric(name.parse().unwrap()));
    TrainingPlan {
        params,
        loss,
        evaluation_sets: vec![
            EvaluationSet { name: "train".to_owned(), dataset: train },
            EvaluationSet { name: "valid".to_owned(), dataset: valid },
        ],
        metrics: metrics.to_vec(),
        patience: Some(EarlyStopping { set: 1, ..EarlyStopping::after(50) }),
        base: None,
    }
}

pub(crate) type Outcome = (String, Vec<Vec<f64>>);

pub(crate) fn trained(mut trainer: BoostingTrainer) -> Result<Outcome> {
    while trainer.next_round(&never())?.is_some() {}
    Ok((trainer.model().to_text(), trainer.history().to_vec()))
}

pub(crate) fn alone(rows: &[Rows; 2], params: BoostingParams, loss: TrainingLoss) -> Outcome {
    let train = Arc::new(rows[0].dataset());
    let valid = Arc::new(rows[1].like(&train).unwrap());
    trained(
        BoostingTrainer::new(train.clone(), plan(params, loss, [train, valid]), &never()).unwrap(),
    )
    .unwrap()
}

/// Which rank has a query: of three and more, the second has none.
pub(crate) fn rank_of(query: usize, size: usize) -> usize {
    let rank = draw(9, 9, query as u64) as usize % size;
    if size > 2 && rank == 1 { 0 } else { rank }
}

pub(crate) fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// What each rank returns, in a pool of its own: whoever waits for others must not keep them from
/// working.
pub(crate) fn with_workers<T: Send>(
    size: usize,
    work: impl Fn(ThreadCommunicator) -> T + Sync,
) -> Vec<T> {
    let threads = ThreadWorkers::new(size, Duration::from_secs(20));
    threads.run(|comm| in_pool(1, || work(comm)))
}

/// What each rank ends with, in mode `histogram`.
pub(crate) fn by_parts(
    size: usize,
    num_threads: usize,
    rows: &[Rows; 2],
    of: impl Fn() -> (BoostingParams, TrainingLoss) + Sync,
) -> Vec<Outcome> {
    let told = with_workers(size, |comm| by_part(Box::new(comm), num_threads, rows, &of));
    told.into_iter().map(Result::unwrap).collect()
}

/// What the rank of a communicator ends with.
pub(crate) fn by_part(
    comm: Box<dyn Communicator>,
    num_threads: usize,
    rows: &[Rows; 2],
    of: impl Fn() -> (BoostingParams, TrainingLoss) + Sync,
) -> Result<Outcome> {
    let team = WorkerGroup::new(comm);
    let (rank, size) = (team.rank(), team.size());
    let parts = [0, 1].map(|set| rows[set].part(|query| rank_of(query, size) == rank));
    in_pool(num_threads, || {
        let train = Arc::new(parts[0].together(&team)?);
        let valid = Arc::new(parts[1].like(&train)?);
        let (params, loss) = of();
        let plan = plan(params, loss, [train.clone(), valid]);
        let team = DistributedTraining { group: team, mode: WorkerMode::Histogram };
        trained(team.trainer(train, plan, None, &never())?)
    })
}

pub(crate) fn rows() -> [Rows; 2] {
    [Rows::new(90, 1), Rows::new(40, 2)]
}
