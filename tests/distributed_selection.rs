//! Training in which each worker grows a tree and one of the trees is taken.

#![expect(clippy::unwrap_used, reason = "a test")]

mod team_training;
mod thread_workers;

use rustrank::Queries;
use rustrank::boosting::{BaseModel, BoostingParams, BoostingTrainer, TrainingPlan};
use rustrank::data::Dataset;
use rustrank::distributed::{Collective, DistributedTraining, WorkerGroup, WorkerMode};
use rustrank::model::Model;
use rustrank::objective::ObjectiveKind;
use rustrank::random::draw;
use rustrank::tree::GrowOptions;
use std::sync::Arc;
use team_training::*;

/// Selection in one process: a dataset a rank, a tree of each, one taken.
mod slowly {
    use super::*;
    use rustrank::metric::Mean;
    use rustrank::model::Scorer;

    /// Which rank's tree is taken.
    #[derive(Clone, Copy)]
    pub(super) enum Selection<'a> {
        /// The best on the docs of the other ranks.
        ByOthers,
        /// The best on the docs of all ranks.
        ByAll,
        Drawn(&'a dyn Fn(usize) -> usize),
    }

    /// Trains with parts as they are on the ranks.
    pub(super) fn select(
        parts: &[Rows],
        train: &[Arc<Dataset>],
        num_trees: usize,
        selection: Selection<'_>,
    ) -> String {
        let mut model: Option<Model> = None;
        let plan_of = |dataset: &Arc<Dataset>, model: Option<Model>| {
            let params = BoostingParams { num_trees: 1, ..params(grow()) };
            let loss = loss(ObjectiveKind::LambdaRank, "ndcg@10");
            TrainingPlan {
                base: model.map(BaseModel::from),
                evaluation_sets: Vec::new(),
                patience: None,
                ..plan(params, loss, [dataset.clone(), dataset.clone()])
            }
        };
        for round in 0..num_trees {
            let grown: Vec<Model> = train
                .iter()
                .map(|dataset| {
                    let plan = plan_of(dataset, model.clone());
                    let mut trainer =
                        BoostingTrainer::new(dataset.clone(), plan, &never()).unwrap();
                    trainer.next_round(&never()).unwrap();
                    trainer.model().clone()
                })
                .collect();
            let best = match selection {
                Selection::ByOthers => best(parts, &grown, false),
                Selection::ByAll => best(parts, &grown, true),
                Selection::Drawn(drawn) => drawn(round),
            };
            model = Some(grown[best].clone());
        }
        model.unwrap().to_text()
    }

    /// The rank whose model is best on the docs of the others, or of all.
    fn best(parts: &[Rows], grown: &[Model], judges_own: bool) -> usize {
        let value = |(of, model): (usize, &Model)| {
            let scorer: Scorer = model.scorer();
            let (mut values, mut weights) = (Vec::new(), Vec::new());
            for (_, rows) in parts.iter().enumerate().filter(|(rank, _)| judges_own || *rank != of)
            {
                let rows_of = rows.cells.chunks(FEATURES);
                let scores: Vec<f64> = rows_of.map(|row| scorer.score_row(row).unwrap()).collect();
                let queries = Queries::from_sizes(&rows.sizes, rows.labels.len()).unwrap();
                let metric: rustrank::Metric = "ndcg@5".parse().unwrap();
                values.extend(metric.per_query(&scores, &rows.labels, &queries, &never()).unwrap());
                weights.extend(&rows.weights);
            }
            Mean::of(&values, Some(&weights)).unwrap().value
        };
        let values: Vec<f64> = grown.iter().enumerate().map(value).collect();
        (0..values.len()).rev().max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap()
    }
}

use slowly::Selection;

#[test]
fn selected_trees_are_those_of_a_slow_reference() {
    let rows = &Rows::new(90, 1);
    let size = 3;
    let mut differ = 0;
    // Parts that overlap: each rank has a third and the next one.
    for overlap in [0, 1] {
        let has =
            |rank: usize, query: usize| (0..=overlap).any(|by| (rank + by) % size == query % size);
        let parts: Vec<Rows> = (0..size).map(|rank| rows.part(|query| has(rank, query))).collect();
        let run = |mode: WorkerMode| {
            let told = with_workers(size, |comm| {
                let team = WorkerGroup::new(Box::new(comm));
                let part = &parts[team.rank()];
                let train = Arc::new(part.together(&team).unwrap());
                let sets = [train.clone(), train.clone()];
                let plan = plan(params(grow()), loss(ObjectiveKind::LambdaRank, "ndcg@10"), sets);
                let plan = TrainingPlan { evaluation_sets: Vec::new(), patience: None, ..plan };
                let mut trainer = DistributedTraining { group: team, mode }
                    .trainer(train.clone(), plan, None, &never())
                    .unwrap();
                while trainer.next_round(&never()).unwrap().is_some() {}
                (trainer.model().to_text(), train)
            });
            let (models, train): (Vec<String>, Vec<Arc<Dataset>>) = told.into_iter().unzip();
            assert!(models.iter().all(|model| *model == models[0]));
            (models[0].clone(), train)
        };
        let (full, train) = run(WorkerMode::FullSelection);
        let (sample, _) = run(WorkerMode::SampleSelection);
        assert_eq!(run(WorkerMode::SampleSelection).0, sample);
        assert_ne!(full, sample);
        assert_eq!(full, slowly::select(&parts, &train, 6, Selection::ByOthers));
        let (all, _) = run(WorkerMode::FullSelectionAll);
        assert_eq!(all, slowly::select(&parts, &train, 6, Selection::ByAll));
        differ += usize::from(full != all);
        let of_ranks = 0x72_61_6e_6b_73;
        let drawn = |round: usize| {
            let bits = draw(GrowOptions::default().seed ^ of_ranks, round as u64, 0);
            ((u128::from(bits) * size as u128) >> 64) as usize
        };
        assert_eq!(sample, slowly::select(&parts, &train, 6, Selection::Drawn(&drawn)));
    }
    assert!(differ > 0, "the own docs make no difference");
}

#[test]
fn a_rank_without_docs_takes_part() {
    let rows = &Rows::new(40, 1);
    for mode in [WorkerMode::Histogram, WorkerMode::FullSelection, WorkerMode::SampleSelection] {
        let told = with_workers(3, |comm| {
            let team = WorkerGroup::new(Box::new(comm));
            let rank = team.rank();
            let part = rows.part(|query| rank == 2 * (query % 2));
            let train = Arc::new(part.together(&team).unwrap());
            team.agree(Collective::at_start("a test"), Ok(())).unwrap();
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
            trained(
                DistributedTraining { group: team, mode }
                    .trainer(train, plan, None, &never())
                    .unwrap(),
            )
            .unwrap()
        });
        assert!(told.iter().all(|other| *other == told[0]));
        assert_eq!(told[0].1.len(), 6);
    }
}
