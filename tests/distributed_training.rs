//! Training by a team: equal to one process, and what becomes of faults.

#![expect(clippy::unwrap_used, reason = "a test")]

mod team_training;
mod thread_workers;

use rustrank::boosting::{BoostingParams, TrainingLoss, TrainingPlan};
use rustrank::data::Dataset;
use rustrank::distributed::{
    Communicator, DistributedTraining, NamedQueries, WorkerGroup, WorkerMode, check_queries,
};
use rustrank::model::Model;
use rustrank::objective::{ObjectiveKind, ObjectiveOptions};
use rustrank::random::draw;
use rustrank::tree::{Criterion, GrowOptions};
use rustrank::{Error, ErrorKind, Interrupt, Result};
use std::sync::Arc;
use std::time::Duration;
use team_training::*;
use thread_workers::{InjectedFault, ThreadWorkers};

#[test]
fn a_team_trains_the_model_of_one_process() {
    let rows = rows();
    let of = || (params(grow()), loss(ObjectiveKind::LambdaRank, "ndcg@10"));
    let (params, loss) = of();
    let one = alone(&rows, params, loss);
    assert!(one.0.lines().count() > 30 && one.1.len() == 6);
    for (size, num_threads) in [(1, 1), (2, 1), (2, 2), (3, 1), (4, 2)] {
        for told in by_parts(size, num_threads, &rows, of) {
            assert_eq!(told, one, "{size} ranks, {num_threads} threads");
        }
    }
}

#[test]
fn features_of_few_values_share_the_last_column() {
    // A byte holds several such features, and after its sums come words that workers exchange.
    let few = |mut rows: Rows| {
        rows.cells.iter_mut().for_each(|cell| *cell = (*cell / 3.0).floor().min(2.0));
        rows
    };
    let rows = rows().map(few);
    assert!(rows[0].dataset().binning().layout().width() < FEATURES);
    for (criterion, min_leaf_docs) in
        [(Criterion::SecondOrder, 1), (Criterion::SecondOrder, 60), (Criterion::LeastSquares, 6)]
    {
        let of = || {
            let grow = GrowOptions { criterion, min_leaf_docs, ..grow() };
            (params(grow), loss(ObjectiveKind::LambdaRank, "ndcg@10"))
        };
        let (params, loss) = of();
        let one = alone(&rows, params, loss);
        for told in by_parts(2, 1, &rows, of) {
            assert_eq!(told, one, "{criterion:?}, {min_leaf_docs} docs");
        }
    }
}

/// Changed parameters, and a loss.
type Case = (fn(&mut BoostingParams), fn() -> TrainingLoss);

#[test]
fn whatever_the_loss_and_the_options() {
    let rows = rows();
    let with = |change: fn(&mut BoostingParams)| {
        let mut params = params(grow());
        change(&mut params);
        params
    };
    let cases: Vec<Case> = vec![
        (|_| {}, || loss(ObjectiveKind::LambdaRank, "err@10")),
        (|_| {}, || loss(ObjectiveKind::RankNet, "ndcg")),
        (|_| {}, || loss(ObjectiveKind::XeNdcg, "ndcg")),
        (|_| {}, || loss(ObjectiveKind::Regression, "ndcg")),
        (|_| {}, || loss(ObjectiveKind::Logistic, "ndcg")),
        (|_| {}, || loss(ObjectiveKind::BalancedLogistic, "ndcg")),
        (|_| {}, || loss(ObjectiveKind::ErrLogistic, "err")),
        (|p| p.queries_per_tree = 0.4, || loss(ObjectiveKind::LambdaRank, "map")),
        (|p| p.docs_per_tree = 0.5, || loss(ObjectiveKind::LambdaRank, "mrr")),
        (
            |p| {
                p.queries_per_tree = 1e-6;
                (p.grow.min_leaf_docs, p.grow.min_leaf_hess) = (1, 0.0);
            },
            || loss(ObjectiveKind::LambdaRank, "ndcg"),
        ),
        (
            |p| p.grow.criterion = Criterion::LeastSquares,
            || loss(ObjectiveKind::LambdaRank, "ndcg@5"),
        ),
        (|p| p.grow.features_per_tree = 0.5, || loss(ObjectiveKind::LambdaRank, "ndcg@5")),
        (|p| p.grow.features_per_node = 0.5, || loss(ObjectiveKind::LambdaRank, "ndcg@5")),
        (|p| p.grow.rows_per_node = 0.6, || loss(ObjectiveKind::LambdaRank, "ndcg@5")),
        (|p| p.grow.random_strength = 1.0, || loss(ObjectiveKind::LambdaRank, "ndcg@5")),
        (|p| p.grow.path_smooth = 20.0, || loss(ObjectiveKind::LambdaRank, "ndcg@5")),
        (|p| p.grow.min_leaf_docs = 40, || loss(ObjectiveKind::LambdaRank, "ndcg@5")),
        (|p| p.grow.min_leaf_docs = 25, || loss(ObjectiveKind::Logistic, "ndcg@5")),
        (|p| p.grow.max_depth = Some(2), || loss(ObjectiveKind::LambdaRank, "ndcg@5")),
    ];
    for (at, (change, loss)) in cases.into_iter().enumerate() {
        let one = alone(&rows, with(change), loss());
        for told in by_parts(3, 1, &rows, || (with(change), loss())) {
            assert_eq!(told, one, "case {at}");
        }
    }
}

#[test]
fn ranks_that_share_features_train_the_model_of_one_process() {
    let rows = rows();
    for change in [
        (|_| {}) as fn(&mut GrowOptions),
        |grow| grow.features_per_node = 0.5,
        |grow| grow.random_strength = 1.0,
        |grow| grow.rows_per_node = 0.7,
        |grow| grow.path_smooth = 20.0,
        |grow| grow.min_leaf_docs = 40,
    ] {
        let mut grow = grow();
        change(&mut grow);
        let of = || (params(grow.clone()), loss(ObjectiveKind::LambdaRank, "ndcg@10"));
        let (one_params, one_loss) = of();
        let one = alone(&rows, one_params, one_loss);
        for size in [2, 3, 12] {
            let told = with_workers(size, |comm| {
                let train = Arc::new(rows[0].dataset());
                let valid = Arc::new(rows[1].like(&train).unwrap());
                let (params, loss) = of();
                let plan = plan(params, loss, [train.clone(), valid]);
                let group = WorkerGroup::new(Box::new(comm));
                let team = DistributedTraining { group, mode: WorkerMode::Features };
                trained(team.trainer(train, plan, None, &never()).unwrap()).unwrap()
            });
            for told in told {
                assert_eq!(told, one, "{size} ranks");
            }
        }
    }
}

/// What the ranks have brought to the collectives of a training, by rounds: bytes, and leaves.
fn bytes_by_round(rows: &Rows, size: usize, num_trees: usize) -> Vec<(u64, usize)> {
    let told = with_workers(size, |comm| {
        let rank = comm.rank();
        let team = WorkerGroup::new(Box::new(comm));
        let part = rows.part(|query| rank_of(query, size) == rank);
        let train = Arc::new(part.together(&team).unwrap());
        let params = BoostingParams { num_trees, ..params(grow()) };
        let loss = loss(ObjectiveKind::LambdaRank, "ndcg@10");
        let plan = TrainingPlan {
            evaluation_sets: Vec::new(),
            patience: None,
            ..plan(params, loss, [train.clone(), train.clone()])
        };
        let training = DistributedTraining { group: team.clone(), mode: WorkerMode::Histogram };
        let mut trainer = training.trainer(train.clone(), plan, None, &never()).unwrap();
        let mut bytes = Vec::new();
        let mut before = team.counts().bytes;
        while let Some(round) = trainer.next_round(&never()).unwrap() {
            let now = team.counts().bytes;
            bytes.push((now - before, round.num_leaves));
            before = now;
        }
        (bytes, sums_of(&train))
    });
    let (bytes, sums) = told[0].clone();
    for &(of_round, num_leaves) in &bytes {
        let more = of_round - formula(num_leaves as u64, sums);
        // The docs of two splits whose hessians leave it open whether they are enough, and where
        // they are not, the docs of all columns.
        let (of_sides, of_columns) = (8 * (4 + 4), 8 * sums);
        assert_eq!(more % of_columns % of_sides, 0, "{more}");
        assert!(more <= num_leaves as u64 * (of_sides + of_columns), "{more}");
    }
    bytes
}

/// The words of a histogram: for each column as many as the largest has codes, and a gap.
fn sums_of(dataset: &Dataset) -> u64 {
    let layout = dataset.binning().layout();
    let mut codes = vec![1u64; layout.width()];
    for place in layout.locations().iter().flatten() {
        codes[place.column as usize] *= u64::from(place.codes);
    }
    let stride = codes.iter().max().unwrap().next_power_of_two().max(32) + 8;
    stride * layout.width() as u64
}

/// The bytes of a round.
fn formula(num_leaves: u64, sums: u64) -> u64 {
    let frame = 4;
    // What the root is, and one of each two siblings but for the last.
    let histograms = (num_leaves - 1) * sums;
    let bag = 1 + frame;
    let largest = 2 + 3;
    let sums = 7 + frame;
    let root = 1 + frame;
    let leaves = num_leaves + frame;
    let same = 1 + frame;
    let means = frame;
    8 * (histograms + bag + largest + sums + root + leaves + same + means)
}

#[test]
fn what_is_exchanged_does_not_grow_with_the_docs() {
    for num_queries in [60, 600] {
        assert_eq!(bytes_by_round(&Rows::new(num_queries, 5), 3, 4).len(), 4);
    }
}

#[test]
fn a_team_of_any_size_goes_on_from_a_checkpoint() {
    let rows = rows();
    let of = || (params(grow()), loss(ObjectiveKind::LambdaRank, "ndcg@10"));
    let (one_params, one_loss) = of();
    let one = alone(&rows, one_params, one_loss);
    let parts = |team: &WorkerGroup| {
        let (rank, size) = (team.rank(), team.size());
        let parts = [0, 1].map(|set| rows[set].part(|query| rank_of(query, size) == rank));
        let train = Arc::new(parts[0].together(team).unwrap());
        let valid = Arc::new(parts[1].like(&train).unwrap());
        let (params, loss) = of();
        (train.clone(), plan(params, loss, [train, valid]))
    };
    let checkpoints = with_workers(2, |comm| {
        let team = WorkerGroup::new(Box::new(comm));
        let (train, plan) = parts(&team);
        let team = DistributedTraining { group: team, mode: WorkerMode::Histogram };
        let mut trainer = team.trainer(train, plan, None, &never()).unwrap();
        for _ in 0..3 {
            trainer.next_round(&never()).unwrap();
        }
        trainer.checkpoint().to_text()
    });
    assert_eq!(checkpoints[0], checkpoints[1]);
    for size in [1, 3] {
        let told = with_workers(size, |comm| {
            let team = WorkerGroup::new(Box::new(comm));
            let (train, plan) = parts(&team);
            let model = Model::from_text(checkpoints[0].as_bytes()).unwrap();
            let team = DistributedTraining { group: team, mode: WorkerMode::Histogram };
            trained(team.trainer(train, plan, Some(model), &never()).unwrap()).unwrap()
        });
        for told in told {
            assert_eq!(told, one, "{size} ranks");
        }
    }
}

#[test]
fn ranks_that_are_to_train_other_models_are_told() {
    let rows = rows();
    let differ = |change: fn(&mut BoostingParams)| {
        let told = with_workers(3, |comm| {
            let team = WorkerGroup::new(Box::new(comm));
            let rank = team.rank();
            let part = rows[0].part(|query| query % 3 == rank);
            let train = Arc::new(part.together(&team).unwrap());
            let mut params = params(grow());
            if rank == 2 {
                change(&mut params);
            }
            let loss = loss(ObjectiveKind::LambdaRank, "ndcg@10");
            let plan = plan(params, loss, [train.clone(), train.clone()]);
            let plan = TrainingPlan {
                evaluation_sets: plan.evaluation_sets[..1].to_vec(),
                patience: None,
                ..plan
            };
            let team = DistributedTraining { group: team, mode: WorkerMode::Histogram };
            team.trainer(train, plan, None, &never()).map(|_| ()).unwrap_err().to_string()
        });
        assert!(told.iter().all(|text| text.ends_with(told[2].as_str())), "{told:?}");
        told[0].clone()
    };
    let said = differ(|params| params.learning_rate = 0.2);
    assert_eq!(said, "rank 2 has another learning_rate than rank 0: got 0.2, expected 0.3");
    let said = differ(|params| params.num_trees = 7);
    assert_eq!(said, "rank 2 has another num_trees than rank 0: got 7, expected 6");
    let said = differ(|params| params.learning_rate = -1.0);
    assert!(said.contains("learning_rate is out of range"), "{said}");
}

#[test]
fn labels_of_one_rank_that_cannot_be_learned_end_all() {
    let rows = rows();
    let told = with_workers(2, |comm| {
        let team = WorkerGroup::new(Box::new(comm));
        let rank = team.rank();
        let mut part = rows[0].part(|query| query % 2 == rank);
        let label = |label: &mut f32| *label = f32::from(u8::from(*label > 0.0));
        part.labels.iter_mut().for_each(label);
        if rank == 1 {
            part.labels[0] = 2.0;
        }
        let train = Arc::new(part.together(&team).unwrap());
        let options = ObjectiveOptions::new(ObjectiveKind::Logistic, "ndcg".parse().unwrap());
        let loss = TrainingLoss::new(&options);
        let plan = plan(params(grow()), loss.unwrap(), [train.clone(), train.clone()]);
        let team = DistributedTraining { group: team, mode: WorkerMode::Histogram };
        team.trainer(train, plan, None, &never()).map(|_| ()).unwrap_err().to_string()
    });
    assert!(told.iter().all(|text| text.contains("label[0] = 2.0 (query 0)")), "{told:?}");
}

#[test]
fn a_query_in_two_parts_is_named() {
    let rows = &Rows::new(30, 1);
    let told = with_workers(3, |comm| {
        let team = WorkerGroup::new(Box::new(comm));
        let rank = team.rank();
        let part = rows.part(|query| query % 3 == rank || query == 13);
        let train = part.together(&team).unwrap();
        let queries = NamedQueries { dataset: &train, ids: &part.ids, may_overlap: false };
        let split = check_queries(&team, &queries).unwrap_err();
        let queries = NamedQueries { may_overlap: true, ..queries };
        check_queries(&team, &queries).unwrap();
        split.to_string()
    });
    for said in told {
        assert!(said.starts_with("query 1-13 is in the parts of ranks 0 and 1"), "{said}");
    }
    let told = with_workers(2, |comm| {
        let team = WorkerGroup::new(Box::new(comm));
        let rank = team.rank();
        let mut part = rows.part(|query| query % 2 == rank || query == 4);
        if rank == 1 {
            let at = part.ids.iter().position(|id| id == "1-4").unwrap();
            let doc: i64 = part.sizes[..at].iter().sum();
            part.labels[doc as usize] += 1.0;
        }
        let train = part.together(&team).unwrap();
        let queries = NamedQueries { dataset: &train, ids: &part.ids, may_overlap: true };
        check_queries(&team, &queries).unwrap_err().to_string()
    });
    for said in told {
        assert!(said.starts_with("query 1-4 of rank 0 has other docs"), "{said}");
    }
}

/// What each of three ranks says of a fault on rank 1 in the middle of training.
fn with_fault(rows: &Rows, fault: InjectedFault, at: u64) -> Vec<Result<Outcome>> {
    let threads = ThreadWorkers::new(3, Duration::from_millis(250));
    threads.run(|comm| {
        in_pool(1, || {
            let rank = comm.rank();
            let team = match rank {
                1 => WorkerGroup::new(Box::new(comm.with_fault(fault, at))),
                _ => WorkerGroup::new(Box::new(comm)),
            };
            let part = rows.part(|query| query % 3 == rank);
            let train = Arc::new(part.together(&team)?);
            let plan = plan(
                params(grow()),
                loss(ObjectiveKind::LambdaRank, "ndcg@10"),
                [train.clone(), train.clone()],
            );
            let plan = TrainingPlan {
                evaluation_sets: plan.evaluation_sets[..1].to_vec(),
                patience: None,
                ..plan
            };
            let team = DistributedTraining { group: team, mode: WorkerMode::Histogram };
            trained(team.trainer(train, plan, None, &never())?)
        })
    })
}

#[test]
fn a_fault_on_one_rank_ends_the_training_of_all() {
    let rows = Rows::new(30, 1);
    for (number, at) in (0..40u64).map(|i| draw(3, 1, i) % 60).enumerate() {
        let fault =
            [InjectedFault::Fail, InjectedFault::Drop, InjectedFault::Corrupt, InjectedFault::Fail]
                [number % 4];
        let told = with_fault(&rows, fault, at);
        let models: Vec<&Outcome> = told.iter().flatten().collect();
        // A largest gradient that is too large by chance is one that all ranks take.
        let is_harmless = fault == InjectedFault::Corrupt && models.len() == 3;
        assert!(models.is_empty() || is_harmless, "{fault:?} at {at}: {told:?}");
        for error in told.iter().filter_map(|told| told.as_ref().err()) {
            let is_comm = matches!(error.kind(), ErrorKind::Comm(_) | ErrorKind::CommTimeout(_));
            assert!(is_comm, "{fault:?} at {at}: {error}");
        }
    }
}

#[test]
fn an_interrupt_of_one_rank_ends_the_round_of_all() {
    let rows = rows();
    for mode in [WorkerMode::Histogram, WorkerMode::Features] {
        let told = with_workers(2, |comm| {
            let team = WorkerGroup::new(Box::new(comm));
            let rank = team.rank();
            let shares = mode == WorkerMode::Features;
            let part = rows[0].part(|query| shares || query % 2 == rank);
            let train =
                Arc::new(if shares { part.dataset() } else { part.together(&team).unwrap() });
            let plan = plan(
                params(grow()),
                loss(ObjectiveKind::LambdaRank, "ndcg@10"),
                [train.clone(), train.clone()],
            );
            let plan = TrainingPlan {
                evaluation_sets: plan.evaluation_sets[..1].to_vec(),
                patience: None,
                ..plan
            };
            let mut trainer = DistributedTraining { group: team, mode }
                .trainer(train, plan, None, &never())
                .unwrap();
            trainer.next_round(&never()).unwrap();
            let interrupt = Interrupt::new();
            if rank == 1 {
                interrupt.raise();
            }
            let error: Error = trainer.next_round(&interrupt).unwrap_err();
            let model = trainer.model().to_text();
            // The round can be done again.
            trainer.next_round(&never()).unwrap();
            (error, model)
        });
        assert_eq!(told[0].1, told[1].1);
        assert!(matches!(told[1].0.kind(), ErrorKind::Interrupted), "{}", told[1].0);
        assert!(matches!(told[0].0.kind(), ErrorKind::Comm(_)), "{}", told[0].0);
    }
}
