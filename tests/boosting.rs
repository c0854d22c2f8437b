//! Training: what a run gives depends on the data, the plan and nothing else.

#![expect(clippy::unwrap_used, reason = "a test")]

mod rows;

use rows::{FEATURES, Rows};
use rustrank::binning::BinOptions;
use rustrank::boosting::{
    BaseModel, BoostingParams, BoostingTrainer, CustomMetric, DocSampling, Dropout,
    DropoutNormaliser, EarlyStopping, EvaluationMetric, EvaluationSet, Shuffles, StopReason,
    TrainingLoss, TrainingPlan, binning_of, permutation_importance, score_dataset,
};
use rustrank::data::{Dataset, MissingPolicy, StridedTable};
use rustrank::model::{Model, Tree};
use rustrank::objective::{GradientCall, Objective, Target};
use rustrank::tree::{GrowOptions, TreeShape};
use rustrank::{Error, Gradient, Interrupt, Mean, Metric, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Squared error.
#[derive(Debug)]
struct Squares;

impl Objective for Squares {
    fn compute(&self, call: GradientCall<'_>, gradients: &mut [Gradient]) -> Result<()> {
        let GradientCall { target, state, interrupt } = call;
        interrupt.check()?;
        for (doc, gradient) in gradients.iter_mut().enumerate() {
            let grad = (state.scores[doc] - f64::from(target.labels[doc])) as f32;
            *gradient = Gradient { grad, hess: 1.0 };
        }
        Ok(())
    }

    fn start(&self, target: &Target<'_>) -> f64 {
        f64::from(target.labels.iter().sum::<f32>()) / target.labels.len() as f64
    }

    fn needs_pairs(&self) -> bool {
        false
    }
}

/// The logistic loss of all pairs.
#[derive(Debug)]
struct Pairs;

impl Objective for Pairs {
    fn compute(&self, call: GradientCall<'_>, gradients: &mut [Gradient]) -> Result<()> {
        let GradientCall { target, state, interrupt } = call;
        interrupt.check()?;
        gradients.fill(Gradient::default());
        for docs in target.queries.ranges() {
            for (i, j) in docs.clone().flat_map(|i| docs.clone().map(move |j| (i, j))) {
                if target.labels[i] > target.labels[j] {
                    let rho = 1.0 / (1.0 + (state.scores[i] - state.scores[j]).exp());
                    gradients[i].grad -= rho as f32;
                    gradients[j].grad += rho as f32;
                    let hess = (rho * (1.0 - rho)) as f32;
                    gradients[i].hess += hess;
                    gradients[j].hess += hess;
                }
            }
        }
        Ok(())
    }

    fn needs_pairs(&self) -> bool {
        true
    }
}

/// A metric that fails when it is called for the given time.
#[derive(Debug)]
struct Failing(AtomicUsize);

impl CustomMetric for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn per_query(&self, dataset: &Dataset, _: &[f64], _: &Interrupt) -> Result<Vec<f64>> {
        match self.0.fetch_sub(1, Ordering::Relaxed) {
            1 => Err(Error::data("test", "failed")),
            _ => Ok(vec![0.5; dataset.queries().len()]),
        }
    }
}

fn params() -> BoostingParams {
    let grow = GrowOptions { num_leaves: 6, min_leaf_docs: 3, ..GrowOptions::default() };
    BoostingParams { num_trees: 12, grow, ..BoostingParams::default() }
}

/// Everything random at once.
fn random() -> BoostingParams {
    let mut params = params();
    (params.queries_per_tree, params.docs_per_tree) = (0.7, 0.8);
    params.grow.features_per_tree = 0.8;
    params.grow.seed = 3;
    params
}

/// And by levels, with chance in the choice of splits.
fn symmetric() -> BoostingParams {
    let mut params = random();
    params.grow.tree_shape = TreeShape::Symmetric;
    params.grow.num_leaves = 8;
    params.grow.random_strength = 1.0;
    params
}

/// With docs that are chosen for their gradients.
fn thinned(doc_sampling: DocSampling) -> BoostingParams {
    BoostingParams { docs_per_tree: 0.4, doc_sampling, ..random() }
}

/// With trees that are dropped and put back.
fn dropping() -> BoostingParams {
    let normaliser = DropoutNormaliser::Tree;
    let dropout = Dropout { rate: 0.4, skip: 0.2, most: Some(3), normaliser };
    BoostingParams { dropout: Some(dropout), learning_rate: 0.3, ..random() }
}

fn plan(params: BoostingParams) -> TrainingPlan {
    TrainingPlan {
        params,
        loss: TrainingLoss::other("pairs", Box::new(Pairs)),
        evaluation_sets: Vec::new(),
        metrics: vec![EvaluationMetric::Metric("ndcg@5".parse().unwrap())],
        patience: None,
        base: None,
    }
}

fn evaluation_set(name: &str, dataset: &Arc<Dataset>) -> EvaluationSet {
    EvaluationSet { name: name.to_owned(), dataset: dataset.clone() }
}

fn trainer(dataset: &Arc<Dataset>, plan: TrainingPlan) -> Result<BoostingTrainer> {
    BoostingTrainer::new(dataset.clone(), plan, &Interrupt::new())
}

fn run(trainer: &mut BoostingTrainer) -> String {
    while trainer.next_round(&Interrupt::new()).unwrap().is_some() {}
    trainer.model().to_text()
}

fn trained(dataset: &Arc<Dataset>, plan: TrainingPlan) -> String {
    run(&mut trainer(dataset, plan).unwrap())
}

fn refused(outcome: Result<BoostingTrainer>) -> String {
    outcome.unwrap_err().to_string()
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    same_bytes_for_any_number_of_threads(&random());
    same_bytes_for_any_number_of_threads(&symmetric());
    same_bytes_for_any_number_of_threads(&dropping());
    same_bytes_for_any_number_of_threads(&thinned(DocSampling::Importance));
    same_bytes_for_any_number_of_threads(&thinned(DocSampling::OneSided { top: 0.2 }));
}

fn same_bytes_for_any_number_of_threads(params: &BoostingParams) {
    let (train, valid) = (Rows::new(150, 1), Rows::new(40, 2));
    let mut seen = Vec::new();
    for threads in [1, 2, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        seen.push(pool.install(|| {
            let train = train.dataset();
            let evaluation_sets =
                vec![evaluation_set("valid", &valid.like(&train)), evaluation_set("train", &train)];
            let plan = TrainingPlan { evaluation_sets, ..plan(params.clone()) };
            let mut trainer = trainer(&train, plan).unwrap();
            (run(&mut trainer), trainer.history().to_vec())
        }));
    }
    assert!(seen[0] == seen[1] && seen[0] == seen[2]);
    assert_eq!(seen[0].1.len(), 12);
}

#[test]
fn any_order_of_rows_gives_the_same_bytes() {
    let rows = Rows::new(60, 4);
    let (some, more) = (DocSampling::OneSided { top: 0.2 }, DocSampling::Importance);
    for params in [random(), symmetric(), dropping(), thinned(some), thinned(more)] {
        let first = trained(&rows.dataset(), plan(params.clone()));
        for seed in 0..3 {
            let again = trained(&rows.shuffled(seed).dataset(), plan(params.clone()));
            assert_eq!(again, first);
        }
    }
}

#[test]
fn resuming_from_any_round_gives_the_same_bytes() {
    resuming_gives_the_same_bytes(&random());
    resuming_gives_the_same_bytes(&symmetric());
    resuming_gives_the_same_bytes(&dropping());
    resuming_gives_the_same_bytes(&thinned(DocSampling::Importance));
}

fn resuming_gives_the_same_bytes(params: &BoostingParams) {
    let train = Rows::new(60, 5).dataset();
    let valid = Rows::new(20, 6).like(&train);
    let watching = || TrainingPlan {
        evaluation_sets: vec![evaluation_set("valid", &valid)],
        ..plan(params.clone())
    };
    let mut whole = trainer(&train, watching()).unwrap();
    let expected = run(&mut whole);
    let mut begun = trainer(&train, watching()).unwrap();
    for _ in 0..=12 {
        let text = begun.checkpoint().to_text();
        let checkpoint = Model::from_text(text.as_bytes()).unwrap();
        let never = Interrupt::new();
        let resumed = BoostingTrainer::resume(train.clone(), watching(), checkpoint, &never);
        let mut resumed = resumed.unwrap();
        assert_eq!(run(&mut resumed), expected);
        assert_eq!(resumed.history(), whole.history());
        begun.next_round(&never).unwrap();
    }
}

#[test]
fn a_checkpoint_of_another_training_is_refused() {
    let train = Rows::new(30, 5).dataset();
    let mut begun = trainer(&train, plan(params())).unwrap();
    begun.next_round(&Interrupt::new()).unwrap();
    let resume = |dataset: &Arc<Dataset>, plan, checkpoint| {
        refused(BoostingTrainer::resume(dataset.clone(), plan, checkpoint, &Interrupt::new()))
    };
    let said = resume(&Rows::new(30, 6).dataset(), plan(params()), begun.checkpoint());
    assert!(said.starts_with("the checkpoint is of another training set"), "{said}");
    let slower = BoostingParams { learning_rate: 0.05, ..params() };
    let said = resume(&train, plan(slower), begun.checkpoint());
    assert!(said.contains("another learning_rate: got 0.1, expected 0.05"), "{said}");
    let watching =
        TrainingPlan { evaluation_sets: vec![evaluation_set("train", &train)], ..plan(params()) };
    let said = resume(&train, watching, begun.checkpoint());
    assert!(said.contains("other sets or metrics"), "{said}");
    let said = resume(&train, plan(params()), begun.model().clone());
    assert!(said.contains("no checkpoint"), "{said}");
}

#[test]
fn ten_and_ten_rounds_are_twenty() {
    let train = Rows::new(60, 7).dataset();
    for (objective, params) in
        [(true, random()), (false, random()), (true, dropping()), (false, dropping())]
    {
        let plan = |num_trees, base: Option<Model>| {
            let base = base.map(BaseModel::from);
            let plan =
                TrainingPlan { base, ..plan(BoostingParams { num_trees, ..params.clone() }) };
            if objective {
                plan
            } else {
                TrainingPlan { loss: TrainingLoss::other("squares", Box::new(Squares)), ..plan }
            }
        };
        let twenty = trained(&train, plan(20, None));
        let ten = Model::from_text(trained(&train, plan(10, None)).as_bytes()).unwrap();
        let mut more = trainer(&train, plan(10, Some(ten))).unwrap();
        assert_eq!((more.num_rounds(), more.num_before()), (10, 10));
        assert_eq!(run(&mut more), twenty);
    }
}

#[test]
fn base_scores_stand_for_a_base_of_other_bins() {
    let rows = Rows::new(60, 8);
    let train = rows.dataset();
    let moved = rows.cells.iter().map(|cell| cell * 1.01).collect();
    let other = Rows { cells: moved, ..rows.clone() }.dataset();
    let text = trained(
        &other,
        TrainingPlan { loss: TrainingLoss::other("squares", Box::new(Squares)), ..plan(params()) },
    );
    let base = || Model::from_text(text.as_bytes()).unwrap();
    let with = |base: Model| TrainingPlan { base: Some(base.into()), ..plan(params()) };
    let said = refused(trainer(&train, with(base())));
    assert!(said.contains("the base cannot score binned docs"), "{said}");

    let mut data = rows.data();
    data.base_score = Some(data.grouping.scatter(&scores(&base(), &rows)));
    let scored = rows.dataset_of(data);
    let mut both = trainer(&scored, with(base())).unwrap();
    run(&mut both);
    assert_eq!((both.num_before(), both.num_rounds()), (12, 24));
    assert_eq!(both.model().intercept(), base().intercept());
}

/// The scores of rows in the order of docs of their grouping, one leaf after the other.
fn scores(model: &Model, rows: &Rows) -> Vec<f64> {
    let grouping = rows.data().grouping;
    let score = |&row: &u32| {
        let cells = &rows.cells[row as usize * FEATURES..][..FEATURES];
        let cell = |feature: u32| f64::from(cells[feature as usize]);
        let leaves = model.trees().map(|tree| tree.leaves()[tree.leaf_of(cell)].value);
        leaves.fold(model.intercept(), |sum, value| sum + value)
    };
    grouping.rows.iter().map(score).collect()
}

#[test]
fn the_history_holds_the_metrics_of_the_model() {
    let (rows, valid_rows) = (Rows::new(60, 9), Rows::new(30, 10));
    let train = rows.dataset();
    let evaluation_sets =
        vec![evaluation_set("valid", &valid_rows.like(&train)), evaluation_set("train", &train)];
    for params in [params(), random(), dropping()] {
        let evaluation_sets = evaluation_sets.clone();
        let metrics = ["ndcg@5", "map"].map(|name| EvaluationMetric::Metric(name.parse().unwrap()));
        let mut trainer = trainer(
            &train,
            TrainingPlan { evaluation_sets, metrics: metrics.to_vec(), ..plan(params) },
        )
        .unwrap();
        let names: Vec<String> =
            trainer.names().map(|(set, metric)| format!("{set} {metric}")).collect();
        assert_eq!(names, ["valid ndcg@5", "valid map", "train ndcg@5", "train map"]);
        while let Some(round) = trainer.next_round(&Interrupt::new()).unwrap() {
            let mut expected = Vec::new();
            for rows in [&valid_rows, &rows] {
                for metric in ["ndcg@5", "map"] {
                    let metric: Metric = metric.parse().unwrap();
                    let (data, scores) = (rows.data(), scores(trainer.model(), rows));
                    let labels = data.grouping.gather(&data.labels);
                    let queries = &data.grouping.queries;
                    let values = metric.per_query(&scores, &labels, queries, &Interrupt::new());
                    expected.push(Mean::of(&values.unwrap(), None).unwrap().value);
                }
            }
            assert_eq!(round.values, expected, "round {}", round.number);
        }
    }
}

#[test]
fn a_round_that_fails_or_is_taken_back_leaves_no_trace() {
    leaves_no_trace(random());
    leaves_no_trace(dropping());
}

fn leaves_no_trace(params: BoostingParams) {
    let train = Rows::new(40, 11).dataset();
    let expected = trained(&train, plan(params.clone()));
    let mut trainer = trainer(&train, {
        let failing = EvaluationMetric::Other(Arc::new(Failing(AtomicUsize::new(4))));
        let evaluation_sets = vec![evaluation_set("train", &train)];
        TrainingPlan { evaluation_sets, metrics: vec![failing], ..plan(params) }
    })
    .unwrap();
    let never = Interrupt::new();
    trainer.next_round(&never).unwrap();
    let raised = Interrupt::new();
    raised.raise();
    assert_eq!(trainer.next_round(&raised).unwrap_err().to_string(), "interrupted");
    trainer.next_round(&never).unwrap();
    assert_eq!(trainer.next_round(&never).unwrap_err().to_string(), "failed");
    assert_eq!((trainer.num_rounds(), trainer.history().len()), (2, 2));
    trainer.next_round(&never).unwrap();
    trainer.take_back().unwrap();
    assert_eq!((trainer.num_rounds(), trainer.history().len()), (2, 2));
    assert_eq!(run(&mut trainer), expected);
}

#[test]
fn early_stopping_waits_and_keeps_the_first_best_round() {
    let train = Rows::new(40, 12).dataset();
    let valid = Rows::new(15, 13).like(&train);
    let mut stopped = trainer(&train, {
        let patience = Some(EarlyStopping::after(3));
        let params = BoostingParams { num_trees: 500, learning_rate: 1.0, ..params() };
        TrainingPlan {
            evaluation_sets: vec![evaluation_set("valid", &valid)],
            patience,
            ..plan(params)
        }
    })
    .unwrap();
    run(&mut stopped);
    assert_eq!(stopped.end(), Some(StopReason::EarlyStopping));
    let best = stopped.best_round().unwrap();
    assert_eq!(stopped.num_rounds(), best + 3);
    let values: Vec<f64> = stopped.history().iter().map(|values| values[0]).collect();
    let most = values.iter().copied().fold(0.0, f64::max);
    assert_eq!(values.iter().position(|&value| value == most), Some(best - 1));
}

#[test]
fn docs_that_have_no_pairs_change_nothing() {
    let rows = Rows::new(40, 14);
    let mut data = rows.data();
    let dull = data.grouping.queries.len() - 1;
    for doc in data.grouping.queries.range(dull) {
        data.labels[data.grouping.rows[doc] as usize] = 1.0;
    }
    let train = rows.dataset_of(data);
    let plain = trained(&train, plan(params()));
    // With another's metric on the training set, all docs are sent down the trees.
    let failing = EvaluationMetric::Other(Arc::new(Failing(AtomicUsize::new(0))));
    let evaluation_sets = vec![evaluation_set("train", &train)];
    assert_eq!(
        trained(&train, TrainingPlan { evaluation_sets, metrics: vec![failing], ..plan(params()) }),
        plain
    );
}

#[test]
fn what_keeps_a_first_tree_from_splitting_is_told() {
    let rows = Rows::new(30, 15);
    let train = rows.dataset();
    let first = |dataset: &Arc<Dataset>, plan: TrainingPlan| {
        let mut trainer = trainer(dataset, plan).unwrap();
        trainer.next_round(&Interrupt::new()).unwrap_err().to_string()
    };
    let mut large = params();
    large.grow.min_leaf_docs = 1_000;
    let said = first(&train, plan(large));
    assert!(said.contains("min_leaf_docs is too large for the data: got 1000"), "{said}");
    let mut heavy = params();
    heavy.grow.min_leaf_hess = 1e6;
    let said = first(&train, plan(heavy));
    assert!(said.contains("min_leaf_hess is too large for the data"), "{said}");
    let mut smooth = params();
    smooth.grow.l2 = 1e300;
    let said = first(&train, plan(smooth));
    let expected =
        "l2 is too large for the data: got 1e300, expected far less: the sum of all hessians is";
    assert!(said.contains(expected), "{said}");
    let mut demanding = params();
    demanding.grow.min_reduction = 1e9;
    let said = first(&train, plan(demanding));
    assert!(said.contains("min_reduction is too large for the data"), "{said}");
    let same = Rows { labels: vec![1.0; rows.labels.len()], ..rows.clone() };
    let said = refused(trainer(&same.dataset(), plan(params())));
    assert!(said.starts_with("no pairs to learn from"), "{said}");
    let squares =
        TrainingPlan { loss: TrainingLoss::other("squares", Box::new(Squares)), ..plan(params()) };
    let said = first(&same.dataset(), squares);
    assert!(said.contains("all gradients are 0"), "{said}");
    let flat = Rows { cells: vec![1.0; rows.cells.len()], ..rows.clone() };
    let said = first(&flat.dataset(), plan(params()));
    assert!(said.contains("no feature has two values"), "{said}");
}

#[test]
fn sets_of_other_features_or_bins_are_refused() {
    let rows = Rows::new(30, 16);
    let train = rows.dataset();
    let with = |set: &Arc<Dataset>| TrainingPlan {
        evaluation_sets: vec![evaluation_set("test", set)],
        ..plan(params())
    };
    let said = refused(trainer(&train, with(&Rows::new(30, 17).dataset())));
    assert!(said.starts_with("`test` has other bins than the training set"), "{said}");
    let cells: Vec<f32> = rows.labels.iter().flat_map(|&label| [label, -label]).collect();
    let table = StridedTable::by_row(&cells, 2, MissingPolicy::default());
    let narrow = Dataset::new(&table, rows.data(), &BinOptions::default(), &Interrupt::new());
    let said = refused(trainer(&train, with(&Arc::new(narrow.unwrap()))));
    assert!(said.contains("another number of features"), "{said}");
    // The same bins by themselves are the same bins.
    assert!(trainer(&train, with(&rows.dataset())).is_ok());
    let twice = vec![evaluation_set("a", &train), evaluation_set("a", &train)];
    let said = refused(trainer(&train, TrainingPlan { evaluation_sets: twice, ..plan(params()) }));
    assert!(said.contains("two sets are called `a`"), "{said}");
}

#[test]
fn parameters_out_of_range_are_named() {
    let train = Rows::new(30, 18).dataset();
    let said = |params: BoostingParams| refused(trainer(&train, plan(params)));
    for rate in [f64::NAN, 0.0, -0.1, f64::INFINITY] {
        let said = said(BoostingParams { learning_rate: rate, ..params() });
        let expected = format!(
            "learning_rate is out of range: got {rate}, expected a number above 0, up to 10"
        );
        assert_eq!(said, expected);
    }
    assert!(
        said(BoostingParams { num_trees: 0, ..params() }).contains("num_trees is out of range")
    );
    assert!(
        said(BoostingParams { queries_per_tree: 1.5, ..params() }).contains("queries_per_tree")
    );
    assert!(said(BoostingParams { docs_per_tree: 0.0, ..params() }).contains("docs_per_tree"));
    let mut one = params();
    one.grow.num_leaves = 1;
    assert!(said(one).contains("num_leaves is out of range"));
}

#[test]
fn a_model_bins_what_it_scores_by_itself() {
    let (rows, others) = (Rows::new(60, 20), Rows::new(30, 21));
    let train = rows.dataset();
    let model = Model::from_text(trained(&train, plan(random())).as_bytes()).unwrap();
    let binning = Arc::new(binning_of(&model).unwrap());
    let own = Dataset::like(&others.table(), others.data(), binning, &Interrupt::new()).unwrap();
    let expected = scores(&model, &others);
    let expected = others.data().grouping.scatter(&expected);
    for dataset in [&own, &*others.like(&train)] {
        let scores = score_dataset(&model, dataset, &Interrupt::new()).unwrap();
        assert_eq!(dataset.by_row(&scores), expected);
    }
    let shifted = Rows { cells: others.cells.iter().map(|cell| cell * 1.01).collect(), ..others };
    let error = score_dataset(&model, &shifted.dataset(), &Interrupt::new()).unwrap_err();
    assert!(error.to_string().starts_with("the model cannot score binned docs"), "{error}");
}

#[test]
fn bags_hold_the_share_of_queries_and_docs_that_is_asked_for() {
    let train = Rows::new(2_000, 22).dataset();
    let grown_from = |queries_per_tree, docs_per_tree| {
        let params = BoostingParams { queries_per_tree, docs_per_tree, num_trees: 6, ..params() };
        let grow = GrowOptions { min_leaf_docs: 1, min_leaf_hess: 0.0, ..params.grow };
        let params = BoostingParams { grow, ..params };
        let squares = TrainingLoss::other("squares", Box::new(Squares));
        let mut trainer = trainer(&train, TrainingPlan { loss: squares, ..plan(params) }).unwrap();
        run(&mut trainer);
        let trees = trainer.model().trees();
        let of = |tree: &Tree| tree.leaves().iter().map(|leaf| leaf.docs).sum();
        trees.map(of).collect::<Vec<u64>>()
    };
    let all = train.num_docs() as f64;
    assert!(grown_from(1.0, 1.0).iter().all(|&docs| docs as f64 == all));
    for (queries, docs) in [(0.5, 1.0), (1.0, 0.3), (0.5, 0.3)] {
        let bags = grown_from(queries, docs);
        assert!(
            bags.iter().all(|&bag| (bag as f64 / all - queries * docs).abs() < 0.05),
            "{bags:?}"
        );
        assert!(bags.windows(2).any(|pair| pair[0] != pair[1]), "a bag anew for each tree");
    }
    // A bag that would be empty holds a few queries, and not all.
    let bags = grown_from(1e-12, 1.0);
    assert!(bags.iter().all(|&bag| 0 < bag && bag < 300), "{bags:?}");
}

#[test]
fn shuffling_a_feature_that_decides_costs_the_most() {
    let rows = Rows::new(150, 23);
    let train = rows.dataset();
    let model = Model::from_text(trained(&train, plan(params())).as_bytes()).unwrap();
    let metric: Metric = "ndcg@5".parse().unwrap();
    let never = Interrupt::new();
    let importance = |data: &Dataset, seed, repeats| {
        permutation_importance(&model, data, &metric, Shuffles { seed, repeats }, &never).unwrap()
    };
    let lost = importance(&train, 1, 1);
    assert!(
        lost[0] > lost[1] && lost[1] > lost[2..].iter().copied().fold(0.0, f64::max),
        "{lost:?}"
    );
    let moved = rows.shuffled(3).dataset();
    assert_eq!(importance(&moved, 1, 1), lost);
}

#[test]
fn repeated_shuffles_are_averaged() {
    let rows = Rows::new(100, 23);
    let train = rows.dataset();
    let model = Model::from_text(trained(&train, plan(params())).as_bytes()).unwrap();
    let metric: Metric = "ndcg@5".parse().unwrap();
    let never = Interrupt::new();
    let importance = |data: &Dataset, seed, repeats| {
        permutation_importance(&model, data, &metric, Shuffles { seed, repeats }, &never)
    };
    let [one, two, many] = [1, 2, 40].map(|repeats| importance(&train, 1, repeats).unwrap());
    assert!(one != two);
    assert_eq!(importance(&rows.shuffled(3).dataset(), 1, 40).unwrap(), many);
    // What single shuffles vary by is averaged out.
    let other = importance(&train, 2, 40).unwrap();
    let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>();
    let singles: f64 =
        (0..10).map(|seed| apart(&importance(&train, seed, 1).unwrap(), &many)).sum();
    assert!(apart(&other, &many) < singles / 10.0 / 2.0);
    assert!(importance(&train, 1, 0).is_err());
}
