//! Nets against their cost: finite differences, hand-made updates, and what must not matter.

#![expect(clippy::unwrap_used, reason = "a test")]

use rustrank::data::{MissingPolicy, RawDataset, RowData, StridedTable};
use rustrank::metric::{Mean, Metric, evaluate};
use rustrank::model::{Layer, Mlp, Model, Part};
use rustrank::neural::{
    Inputs, NetLoss, NetPlan, NetTrainer, Optimiser, Params, Restarts, Schedule,
};
use rustrank::objective::{LambdaOptions, ObjectiveKind, ObjectiveOptions, Preference};
use rustrank::random::draw;
use rustrank::rounds::{EarlyStopping, RawEvaluationSet};
use rustrank::{Error, Grouping, Interrupt, Queries};

/// Rows as a caller has them.
#[derive(Clone)]
struct Rows {
    cells: Vec<f32>,
    width: usize,
    labels: Vec<f32>,
    codes: Vec<u32>,
}

impl Rows {
    /// Queries of some sizes with random values; labels follow a product of two of them, with noise.
    fn random(seed: u64, sizes: &[usize], width: usize) -> Self {
        let unit = |stream: u64, id: usize| {
            (draw(seed, stream, id as u64) >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
        };
        let docs: usize = sizes.iter().sum();
        let cells: Vec<f32> = (0..docs * width)
            .map(|i| if i % 41 == 7 { f32::NAN } else { (3.0 * unit(0, i) + 5.0) as f32 })
            .collect();
        let label = |doc: usize| {
            let value = |at: usize| f64::from(cells[doc * width + at % width]);
            let wanted = (value(0) - 5.0) * (value(1) - 5.0) / 3.0 + 0.5 * unit(1, doc);
            if wanted.is_nan() { 0.0 } else { (wanted + 1.5).clamp(0.0, 4.0).floor() as f32 }
        };
        let labels = (0..docs).map(label).collect();
        let codes = sizes.iter().enumerate().flat_map(|(q, &size)| vec![q as u32; size]).collect();
        Self { cells, width, labels, codes }
    }

    fn data(&self) -> RawDataset {
        let table = StridedTable::by_row(&self.cells, self.width, MissingPolicy::default());
        let queries = self.codes.iter().max().unwrap() + 1;
        let grouping = Grouping::from_codes(&self.codes, queries as usize).unwrap();
        RawDataset::new(&table, RowData::new(self.labels.clone(), grouping), &Interrupt::new())
            .unwrap()
    }

    /// The same rows in another order, their queries numbered by another.
    fn shuffled(&self, seed: u64) -> Self {
        let mut order: Vec<usize> = (0..self.labels.len()).collect();
        order.sort_by_key(|&row| draw(seed, 9, row as u64));
        let mut seen = Vec::new();
        let mut shuffled = Self { cells: vec![], width: self.width, labels: vec![], codes: vec![] };
        for row in order {
            shuffled.cells.extend(&self.cells[row * self.width..][..self.width]);
            shuffled.labels.push(self.labels[row]);
            if !seen.contains(&self.codes[row]) {
                seen.push(self.codes[row]);
            }
            let code = seen.iter().position(|&code| code == self.codes[row]).unwrap();
            shuffled.codes.push(code as u32);
        }
        shuffled
    }
}

fn metric(name: &str) -> Metric {
    name.parse().unwrap()
}

fn lambdas(kind: ObjectiveKind) -> ObjectiveOptions {
    let lambda = LambdaOptions::new(metric("ndcg"));
    ObjectiveOptions { lambda, ..ObjectiveOptions::new(kind, metric("ndcg")) }
}

fn all_pairs(kind: ObjectiveKind) -> NetLoss {
    let mut options = lambdas(kind);
    options.lambda.pairs_to = None;
    NetLoss::new(options).unwrap()
}

/// Steps that are the gradient itself.
fn bare(hidden: &[usize]) -> Params {
    Params {
        hidden: hidden.to_vec(),
        epochs: 100,
        learning_rate: 1.0,
        optimiser: Optimiser::Sgd,
        schedule: Schedule::Constant,
        batch_queries: 1,
        inputs: Inputs::Plain,
        weight_decay: 0.0,
        ..Params::default()
    }
}

fn plan(params: Params, loss: NetLoss) -> NetPlan {
    NetPlan {
        params,
        loss,
        evaluation_sets: vec![],
        metrics: vec![],
        patience: None,
        restarts: Restarts::default(),
    }
}

fn trained(rows: &Rows, plan: NetPlan, epochs: usize) -> NetTrainer {
    let mut trainer = NetTrainer::new(rows.data(), plan, &Interrupt::new()).unwrap();
    for _ in 0..epochs {
        trainer.next_round(&Interrupt::new()).unwrap();
    }
    trainer
}

fn mlp(model: &Model) -> &Mlp {
    match &model.components()[0].part {
        Part::Mlp(mlp) => mlp,
        other => panic!("{other:?}"),
    }
}

/// A net in double precision, unit by unit.
fn score(mlp: &Mlp, layers: &[Vec<f64>], row: &[f32]) -> f64 {
    let input = |input: &rustrank::model::NetInput| {
        let value = f64::from(row[input.feature as usize]);
        let value = (value - f64::from(input.mean)) / f64::from(input.scale);
        if value.is_nan() { 0.0 } else { value.clamp(-10.0, 10.0) }
    };
    let mut values: Vec<f64> = mlp.inputs().iter().map(input).collect();
    for (at, layer) in layers.iter().enumerate() {
        let units = mlp.layers()[at].biases.len();
        let sum = |unit: usize| {
            let weights = &layer[units + unit * values.len()..][..values.len()];
            layer[unit] + values.iter().zip(weights).map(|(v, w)| v * w).sum::<f64>()
        };
        let sums = (0..units).map(sum);
        let is_last = at + 1 == layers.len();
        values = sums.map(|sum| if is_last { sum } else { sum.tanh() }).collect();
    }
    values[0]
}

/// Biases, then weights, of each layer.
fn layers(mlp: &Mlp) -> Vec<Vec<f64>> {
    let list =
        |layer: &Layer| layer.biases.iter().chain(&layer.weights).map(|&w| f64::from(w)).collect();
    mlp.layers().iter().map(list).collect()
}

/// The differences of all weights between two nets equal, but for its sign, the slope of a cost of
/// scores at the first.
fn check_gradient(before: &Mlp, after: &Mlp, rows: &Rows, cost: impl Fn(&[f64]) -> f64) {
    let scores = |layers: &[Vec<f64>]| -> Vec<f64> {
        rows.cells.chunks(rows.width).map(|row| score(before, layers, row)).collect()
    };
    let (start, end) = (layers(before), layers(after));
    for at in 0..start.len() {
        for weight in 0..start[at].len() {
            let slope = |step: f64| {
                let mut moved = start.clone();
                moved[at][weight] += step;
                cost(&scores(&moved))
            };
            let slope = (slope(1e-4) - slope(-1e-4)) / 2e-4;
            let moved = start[at][weight] - end[at][weight];
            assert!(
                (moved - slope).abs() < 2e-5 * slope.abs().max(1.0),
                "{at} {weight}: {moved} {slope}"
            );
        }
    }
}

/// RankNet's cost with sigma 1, over all pairs of different labels.
fn ranknet(labels: &[f32], scores: &[f64]) -> f64 {
    let mut cost = 0.0;
    for (i, better) in labels.iter().enumerate() {
        for (j, worse) in labels.iter().enumerate() {
            if better > worse {
                cost += (scores[j] - scores[i]).exp().ln_1p();
            }
        }
    }
    cost
}

#[test]
fn the_update_of_ranknet_is_the_slope_of_its_cost() {
    let rows = Rows::random(3, &[9], 5);
    for hidden in [&[][..], &[4], &[18], &[5, 3], &[17, 20]] {
        let loss = || all_pairs(ObjectiveKind::RankNet);
        let before = trained(&rows, plan(bare(hidden), loss()), 0).best_model().unwrap();
        let after = trained(&rows, plan(bare(hidden), loss()), 1).best_model().unwrap();
        check_gradient(mlp(&before), mlp(&after), &rows, |scores| ranknet(&rows.labels, scores));
    }
}

#[test]
fn a_batch_steps_by_the_mean_of_its_queries() {
    let rows = Rows::random(5, &[6, 7, 4], 3);
    let cost = |scores: &[f64]| {
        let queries = [0..6, 6..13, 13..17];
        queries.map(|docs| ranknet(&rows.labels[docs.clone()], &scores[docs])).iter().sum::<f64>()
            / 3.0
    };
    let params = || Params { batch_queries: 8, ..bare(&[4, 2]) };
    let loss = || all_pairs(ObjectiveKind::RankNet);
    let before = trained(&rows, plan(params(), loss()), 0).best_model().unwrap();
    let after = trained(&rows, plan(params(), loss()), 1).best_model().unwrap();
    check_gradient(mlp(&before), mlp(&after), &rows, cost);
}

#[test]
fn preferences_may_be_soft_and_contradict_each_other() {
    let rows = Rows::random(4, &[5], 3);
    let pair =
        |better, worse, probability, weight| Preference { better, worse, probability, weight };
    let pairs = vec![
        pair(0, 1, 1.0, 1.0),
        pair(1, 0, 1.0, 0.5),
        pair(2, 3, 0.7, 2.0),
        pair(4, 2, 0.2, 1.0),
        pair(3, 0, 0.5, 1.0),
    ];
    let cost = |scores: &[f64]| {
        let one = |pair: &Preference| {
            let o = scores[pair.better as usize] - scores[pair.worse as usize];
            let (q, rest) = (1.0 / (1.0 + (-o).exp()), 1.0 / (1.0 + o.exp()));
            -pair.weight * (pair.probability * q.ln() + (1.0 - pair.probability) * rest.ln())
        };
        pairs.iter().map(one).sum::<f64>()
    };
    let loss = || NetLoss::of_preferences(pairs.clone(), 1.0);
    let before = trained(&rows, plan(bare(&[4]), loss()), 0).best_model().unwrap();
    let after = trained(&rows, plan(bare(&[4]), loss()), 1).best_model().unwrap();
    check_gradient(mlp(&before), mlp(&after), &rows, cost);
    // All labels alike: they play no part.
    let alike = Rows { labels: vec![1.0; 5], ..rows.clone() };
    let other = trained(&alike, plan(bare(&[4]), loss()), 1).best_model().unwrap();
    assert_eq!(mlp(&after).inputs(), mlp(&other).inputs());
    let far = vec![pair(0, 9, 1.0, 1.0)];
    let made = NetTrainer::new(
        rows.data(),
        plan(bare(&[]), NetLoss::of_preferences(far, 1.0)),
        &Interrupt::new(),
    );
    let message = made.unwrap_err().to_string();
    assert!(message.contains("a row of preferences[0]: got 9"), "{message}");
}

#[test]
fn a_lambdarank_step_on_three_docs_is_the_one_made_by_hand() {
    // One feature, standardised to -sqrt(1.5), 0, sqrt(1.5); the labels are 1, 2, 0.
    let rows = Rows {
        cells: vec![1.0, 2.0, 3.0],
        width: 1,
        labels: vec![1.0, 2.0, 0.0],
        codes: vec![0; 3],
    };
    let loss = all_pairs(ObjectiveKind::LambdaRank);
    let mut trainer = trained(&rows, plan(bare(&[]), loss), 0);
    let weight = |trainer: &NetTrainer| {
        f64::from(mlp(&trainer.best_model().unwrap()).layers()[0].weights[0])
    };
    // A linear net starts with weights of 0: all docs are tied. The first step makes the weight
    // negative, since the docs with labels 1 and 2 have the smaller values.
    assert_eq!(weight(&trainer), 0.0);
    trainer.next_round(&Interrupt::new()).unwrap();
    let w = weight(&trainer);
    assert!(w < 0.0);
    // So the order is: label 1, label 2, label 0.
    trainer.next_round(&Interrupt::new()).unwrap();
    let x = [-1.5f64.sqrt(), 0.0, 1.5f64.sqrt()];
    let s = x.map(|x| w * x);
    let gain = [1.0, 3.0, 0.0];
    let discount = [1.0, 1.0 / 3f64.log2(), 0.5];
    let ideal = 3.0 + 1.0 / 3f64.log2();
    let mut lambda = [0.0; 3];
    for (i, j) in [(1, 0), (0, 2), (1, 2)] {
        let delta = ((gain[i] - gain[j]) * (discount[i] - discount[j]) / ideal).abs();
        let force = delta / (1.0 + f64::exp(s[i] - s[j]));
        lambda[i] += force;
        lambda[j] -= force;
    }
    let wanted = w + (0..3).map(|doc| lambda[doc] * x[doc]).sum::<f64>();
    assert!((weight(&trainer) - wanted).abs() < 1e-6, "{} {wanted}", weight(&trainer));
}

fn real_plan(evaluation_sets: Vec<RawEvaluationSet>, params: Params) -> NetPlan {
    let patience = EarlyStopping::after(2);
    NetPlan {
        params,
        loss: NetLoss::new(lambdas(ObjectiveKind::LambdaRank)).unwrap(),
        patience: (!evaluation_sets.is_empty()).then_some(patience),
        restarts: Restarts { most: 2, factor: 0.5, ..Restarts::default() },
        evaluation_sets,
        metrics: vec![metric("ndcg@5"), metric("map")],
    }
}

#[test]
fn threads_and_the_order_of_rows_change_no_bit() {
    let sizes: Vec<usize> = (0..40).map(|q| 1 + q * 7 % 90).collect();
    let (rows, valid) = (Rows::random(1, &sizes, 21), Rows::random(2, &sizes, 21));
    for batch_queries in [1, 16] {
        let params = Params { hidden: vec![20, 6], epochs: 4, batch_queries, ..Params::default() };
        let text = |rows: &Rows, threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let sets = vec![RawEvaluationSet { name: "valid".to_owned(), data: valid.data() }];
                let trainer = trained(rows, real_plan(sets, params.clone()), 4);
                (trainer.best_model().unwrap().to_text(), format!("{:?}", trainer.history()))
            })
        };
        let first = text(&rows, 1);
        assert!(first == text(&rows, 3), "threads");
        assert!(first == text(&rows.shuffled(5), 2), "order");
    }
}

#[test]
fn a_net_learns_and_its_model_scores_as_it_was_judged() {
    let (train, valid) = (Rows::random(1, &[20; 150], 6), Rows::random(2, &[20; 100], 6));
    let params = Params { hidden: vec![16], epochs: 60, learning_rate: 0.01, ..Params::default() };
    let sets = vec![RawEvaluationSet { name: "valid".to_owned(), data: valid.data() }];
    let mut trainer =
        NetTrainer::new(train.data(), real_plan(sets, params), &Interrupt::new()).unwrap();
    let mut epochs = 0;
    while let Some(epoch) = trainer.next_round(&Interrupt::new()).unwrap() {
        epochs += 1;
        assert_eq!(epoch.number, epochs);
    }
    // The same rule, written out: two epochs without a better value, three times.
    let (mut most, mut since, mut restarts) = (f64::MIN, 0, 0);
    for (epoch, values) in trainer.history().iter().enumerate() {
        since = if values[0] > most { 0 } else { since + 1 };
        most = most.max(values[0]);
        if since == 2 && restarts < 2 {
            (since, restarts) = (0, restarts + 1);
        }
        assert_eq!(since == 2, epoch + 1 == epochs && epochs < 60);
    }
    assert_eq!(restarts, trainer.num_restarts());
    let names: Vec<_> = trainer.names().collect();
    assert_eq!(names, [("valid", "ndcg@5"), ("valid", "map")]);
    let best = trainer.best_round().unwrap();
    let values = &trainer.history()[best - 1];
    assert!(trainer.history().iter().all(|other| other[0] <= values[0]));
    assert!(values[0] > 0.85, "{:?}", trainer.history());
    let model = Model::from_text(trainer.best_model().unwrap().to_text().as_bytes()).unwrap();
    let mut scores = vec![0.0; valid.labels.len()];
    model.scorer().score(&valid.cells, &mut scores).unwrap();
    let queries = Queries::from_sizes(&[20; 100], 2000).unwrap();
    let metrics = [metric("ndcg@5"), metric("map")];
    let judged = evaluate(&metrics, &scores, &valid.labels, &queries, &Interrupt::new()).unwrap();
    let means: Vec<f64> = judged.iter().map(|v| Mean::of(v, None).unwrap().value).collect();
    assert_eq!(means, *values);
}

#[test]
fn an_interrupted_epoch_leaves_no_trace() {
    let rows = Rows::random(7, &[10; 30], 4);
    let fresh = || trained(&rows, real_plan(vec![], Params::default()), 1);
    let (mut trainer, mut other) = (fresh(), fresh());
    let interrupt = Interrupt::new();
    interrupt.raise();
    assert!(trainer.next_round(&interrupt).is_err());
    trainer.next_round(&Interrupt::new()).unwrap();
    other.next_round(&Interrupt::new()).unwrap();
    assert_eq!(trainer.best_model().unwrap(), other.best_model().unwrap());
}

#[test]
fn an_epoch_that_is_taken_back_leaves_no_trace() {
    let (rows, valid) = (Rows::random(7, &[10; 30], 4), Rows::random(8, &[10; 9], 4));
    for epochs in 1..9 {
        let set = || RawEvaluationSet { name: "valid".to_owned(), data: valid.data() };
        let fresh = |epochs| trained(&rows, real_plan(vec![set()], Params::default()), epochs);
        let (mut trainer, mut other) = (fresh(epochs), fresh(epochs - 1));
        trainer.take_back().unwrap();
        assert_eq!(trainer.history(), other.history());
        assert_eq!(trainer.num_restarts(), other.num_restarts());
        assert_eq!(trainer.best_model().unwrap(), other.best_model().unwrap());
        for trainer in [&mut trainer, &mut other] {
            while trainer.next_round(&Interrupt::new()).unwrap().is_some() {}
        }
        assert_eq!(trainer.history(), other.history());
        assert_eq!(trainer.best_model().unwrap(), other.best_model().unwrap());
    }
}

#[test]
fn what_cannot_be_learned_from_is_said() {
    let refused = |rows: &Rows, plan: NetPlan| -> Error {
        NetTrainer::new(rows.data(), plan, &Interrupt::new()).unwrap_err()
    };
    let rows = Rows::random(7, &[10; 3], 4);
    let code =
        |rows: &Rows| refused(rows, real_plan(vec![], Params::default())).fault().unwrap().code;
    assert_eq!(code(&Rows { labels: vec![2.0; 30], ..rows.clone() }), "pairs");
    assert_eq!(code(&Rows { cells: vec![1.5; 120], ..rows.clone() }), "nothing");
    assert_eq!(code(&Rows { cells: vec![f32::NAN; 120], ..rows.clone() }), "nothing");
    let mut labels = rows.labels.clone();
    labels[13] = 0.5;
    let error = refused(&Rows { labels, ..rows.clone() }, real_plan(vec![], Params::default()));
    let place = &error.fault().unwrap().place;
    assert_eq!((error.fault().unwrap().code, place.row), ("label.fraction", Some(13)));
    let narrow =
        vec![RawEvaluationSet { name: "valid".to_owned(), data: Rows::random(1, &[5], 3).data() }];
    let error = refused(&rows, real_plan(narrow, Params::default()));
    assert_eq!(error.fault().unwrap().code, "features");
    for params in [
        Params { hidden: vec![1, 1, 1], ..Params::default() },
        Params { hidden: vec![0], ..Params::default() },
        Params { epochs: 0, ..Params::default() },
        Params { batch_queries: 0, ..Params::default() },
        Params { learning_rate: 0.0, ..Params::default() },
        Params { learning_rate: f64::NAN, ..Params::default() },
        Params { weight_decay: -1.0, ..Params::default() },
        Params { limit: 0.0, ..Params::default() },
    ] {
        let _ = refused(&rows, real_plan(vec![], params));
    }
    assert!(NetLoss::new(lambdas(ObjectiveKind::Regression)).is_err());
}

#[test]
fn a_constant_feature_is_left_out_and_one_feature_is_enough() {
    let mut rows = Rows::random(7, &[10; 8], 3);
    rows.cells.iter_mut().skip(1).step_by(3).for_each(|cell| *cell = 4.25);
    let model = trained(&rows, real_plan(vec![], Params::default()), 1).best_model().unwrap();
    let features: Vec<u32> = mlp(&model).inputs().iter().map(|input| input.feature).collect();
    assert_eq!(features, [0, 2]);
    let one = Rows::random(7, &[10; 8], 1);
    let model = trained(&one, real_plan(vec![], Params::default()), 2).best_model().unwrap();
    assert_eq!(mlp(&model).inputs().len(), 1);
}

#[test]
fn long_tails_are_taken_as_logarithms() {
    let mut rows = Rows::random(7, &[50; 8], 2);
    for cell in rows.cells.iter_mut().skip(1).step_by(2) {
        *cell = (1.2 * *cell).exp();
    }
    let logs = |inputs| {
        let plan = real_plan(vec![], Params { inputs, ..Params::default() });
        let model = trained(&rows, plan, 0).best_model().unwrap();
        mlp(&model).inputs().iter().map(|input| input.log).collect::<Vec<_>>()
    };
    assert_eq!(logs(Inputs::Auto), [false, true]);
    assert_eq!(logs(Inputs::Plain), [false, false]);
    assert_eq!(logs(Inputs::Log), [true, true]);
}

#[test]
fn inputs_have_mean_0_and_deviation_1() {
    let rows = Rows::random(7, &[50; 8], 2);
    let model = trained(&rows, real_plan(vec![], Params::default()), 0).best_model().unwrap();
    for (at, input) in mlp(&model).inputs().iter().enumerate() {
        let cells: Vec<f64> = rows
            .cells
            .iter()
            .skip(at)
            .step_by(2)
            .map(|&c| f64::from(c))
            .filter(|c| !c.is_nan())
            .collect();
        let mean = cells.iter().sum::<f64>() / cells.len() as f64;
        let square =
            cells.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / cells.len() as f64;
        assert!((f64::from(input.mean) - mean).abs() < 1e-5);
        assert!((f64::from(input.scale) - square.sqrt()).abs() < 1e-5);
    }
}
