//! Losses without a metric: finite differences and plain references.

#![expect(clippy::unwrap_used, reason = "a test")]

use proptest::prelude::*;
use rustrank::objective::{
    BalancedLogistic, ErrLogistic, Logistic, Objective, ObjectiveKind, ObjectiveOptions,
    Preference, PreferenceNet, QueryRmse, Regression, State, Target, XeNdcg,
};
use rustrank::{Convention, Error, Gain, Gradient, Interrupt, Queries, hash, random};

/// Three queries of five docs each.
#[derive(Debug, Clone)]
struct Data {
    scores: Vec<f64>,
    labels: Vec<f32>,
    query_weight: Vec<f64>,
    row_weight: Vec<f64>,
    doc_hash: Vec<u64>,
    queries: Queries,
}

const DOCS: usize = 15;

impl Data {
    /// Labels are whole numbers up to 3, or tenths up to 1.
    fn new(seed: u64, tenths: bool) -> Self {
        let draw = |stream, n| {
            move |doc: usize| random::below(random::draw(seed, stream, doc as u64), n) as f64
        };
        let label = |doc| if tenths { draw(1, 11)(doc) / 10.0 } else { draw(1, 4)(doc) };
        Self {
            scores: (0..DOCS).map(|doc| draw(0, 600)(doc) / 100.0 - 3.0).collect(),
            labels: (0..DOCS).map(|doc| label(doc) as f32).collect(),
            query_weight: vec![1.0, 0.5, 3.0],
            row_weight: (0..DOCS).map(|doc| draw(2, 3)(doc) + 0.5).collect(),
            doc_hash: (0..DOCS as u64).map(hash::mix).collect(),
            queries: Queries::from_sizes(&[5, 5, 5], DOCS).unwrap(),
        }
    }

    fn target(&self) -> Target<'_> {
        Target {
            labels: &self.labels,
            queries: &self.queries,
            query_weight: Some(&self.query_weight),
            row_weight: Some(&self.row_weight),
            doc_hash: &self.doc_hash,
        }
    }

    fn gradients(&self, objective: &dyn Objective, round: u64) -> Result<Vec<Gradient>, Error> {
        let mut gradients = vec![Gradient::default(); DOCS];
        let state = State { round, scores: &self.scores };
        objective.gradients(&self.target(), state, &mut gradients, &Interrupt::new())?;
        Ok(gradients)
    }

    fn weight(&self, doc: usize) -> f64 {
        self.query_weight[doc / 5] * self.row_weight[doc]
    }
}

fn near(got: f32, expected: f64) -> bool {
    (f64::from(got) - expected).abs() <= 2e-6 * expected.abs().max(1.0)
}

/// Checks gradients by central differences of a loss that is a sum over docs.
fn differences_agree(data: &Data, objective: &dyn Objective, loss: impl Fn(usize, f64) -> f64) {
    const STEP: f64 = 1e-4;
    for (doc, gradient) in data.gradients(objective, 0).unwrap().iter().enumerate() {
        let at = |offset: f64| data.weight(doc) * loss(doc, data.scores[doc] + offset);
        let grad = (at(STEP) - at(-STEP)) / (2.0 * STEP);
        let hess = (at(STEP) - 2.0 * at(0.0) + at(-STEP)) / (STEP * STEP);
        assert!(
            (f64::from(gradient.grad) - grad).abs() < 1e-5,
            "{objective:?} {gradient:?} {grad}"
        );
        assert!(
            (f64::from(gradient.hess) - hess).abs() < 1e-5,
            "{objective:?} {gradient:?} {hess}"
        );
    }
}

/// -p ln q - (1 - p) ln (1 - q)
fn cross_entropy(p: f64, score: f64) -> f64 {
    p * (1.0 + (-score).exp()).ln() + (1.0 - p) * (1.0 + score.exp()).ln()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn gradients_are_the_slopes_of_losses(seed: u64) {
        let data = Data::new(seed, false);
        let label = |doc: usize| f64::from(data.labels[doc]);
        differences_agree(&data, &Regression, |doc, s| (s - label(doc)).powi(2) / 2.0);
        let relevant = |doc: usize| f64::from(u8::from(data.labels[doc] >= 2.0));
        let logistic = Logistic::new(Some(2.0)).unwrap();
        differences_agree(&data, &logistic, |doc, s| cross_entropy(relevant(doc), s));
        let soft = Data::new(seed, true);
        let p = |doc: usize| f64::from(soft.labels[doc]);
        let logistic = Logistic::new(None).unwrap();
        differences_agree(&soft, &logistic, |doc, s| cross_entropy(p(doc), s));
        let total = |yes: bool| -> f64 {
            (0..DOCS).map(|d| soft.weight(d) * if yes { p(d) } else { 1.0 - p(d) }).sum()
        };
        let [no, yes] = [total(false), total(true)]
            .map(|class| f64::midpoint(total(false), total(true)) / class);
        let balanced = BalancedLogistic::new(None).unwrap();
        differences_agree(&soft, &balanced, |doc, s| {
            p(doc) * yes * (1.0 + (-s).exp()).ln() + (1.0 - p(doc)) * no * (1.0 + s.exp()).ln()
        });
    }

    #[test]
    fn the_logistic_loss_of_err_learns_the_probabilities_that_err_sees(seed: u64) {
        let data = Data::new(seed, false);
        for (max_label, gain) in [(Some(4.0), Gain::Exp2), (None, Gain::Linear)] {
            let top = max_label.unwrap_or(data.labels.iter().copied().fold(0.0, f32::max));
            let worth = |label: f32| match gain {
                Gain::Linear => f64::from(label),
                _ => f64::from(label).exp2() - 1.0,
            };
            let p = |doc: usize| worth(data.labels[doc]) / (worth(top) + 1.0);
            let convention = Convention { max_label, gain: gain.clone(), ..Convention::default() };
            let objective = ErrLogistic::new(convention).unwrap();
            differences_agree(&data, &objective, |doc, s| cross_entropy(p(doc), s));
            let weight: f64 = (0..DOCS).map(|doc| data.weight(doc)).sum();
            let mean = (0..DOCS).map(|doc| data.weight(doc) * p(doc)).sum::<f64>() / weight;
            let start = (mean / (1.0 - mean)).ln().clamp(-10.0, 10.0);
            prop_assert!((objective.start(&data.target()) - start).abs() < 1e-9);
        }
    }

    #[test]
    fn preferences_are_cross_entropies_of_pairs(seed: u64, sigma in 0.2..3.0f64) {
        let data = Data::new(seed, false);
        let draw = |stream, at, n| random::below(random::draw(seed, stream, at), n);
        let mut preferences: Vec<Preference> = (0..40)
            .map(|at| {
                let (query, better) = (draw(3, at, 3) as u32 * 5, draw(4, at, 5) as u32);
                Preference {
                    better: query + better,
                    worse: query + (better + 1 + draw(5, at, 4) as u32) % 5,
                    probability: draw(6, at, 5) as f64 / 4.0,
                    weight: draw(7, at, 3) as f64,
                }
            })
            .collect();
        let net = PreferenceNet::new(&preferences, &data.queries, sigma).unwrap();
        let gradients = data.gradients(&net, 0).unwrap();
        let mut expected = [[0.0; 2]; DOCS];
        for pair in &preferences {
            let [a, b] = [pair.better as usize, pair.worse as usize];
            let q = 1.0 / (1.0 + (-sigma * (data.scores[a] - data.scores[b])).exp());
            let hess = pair.weight * sigma * sigma * q * (1.0 - q);
            let grad = pair.weight * sigma * (q - pair.probability);
            expected[a] = [expected[a][0] + grad, expected[a][1] + hess];
            expected[b] = [expected[b][0] - grad, expected[b][1] + hess];
        }
        for (doc, gradient) in gradients.iter().enumerate() {
            prop_assert!(near(gradient.grad, data.weight(doc) * expected[doc][0]));
            prop_assert!(near(gradient.hess, data.weight(doc) * expected[doc][1]));
        }
        preferences.reverse();
        let reversed = PreferenceNet::new(&preferences, &data.queries, sigma).unwrap();
        prop_assert_eq!(data.gradients(&reversed, 0).unwrap(), gradients);
    }

    #[test]
    fn xendcg_is_three_terms_of_the_series(seed: u64, round in 0..9u64) {
        let data = Data::new(seed, false);
        let gradients = data.gradients(&XeNdcg::new(7), round).unwrap();
        for docs in data.queries.ranges() {
            if data.labels[docs.clone()].iter().all(|l| *l == data.labels[docs.start]) {
                continue;
            }
            let at = |k: usize| docs.start + k;
            let phi: Vec<f64> = (0..5)
                .map(|k| {
                    let seed = 7 ^ u64::from_le_bytes(*b"rrxendcg");
                    let bits = random::draw(seed, round, data.doc_hash[at(k)]) >> 11;
                    2f64.powf(f64::from(data.labels[at(k)])) - bits as f64 / (1u64 << 53) as f64
                })
                .collect();
            let share = |values: &[f64]| -> Vec<f64> {
                values.iter().map(|v| v / values.iter().sum::<f64>()).collect()
            };
            let phi = share(&phi);
            let rho = share(&(0..5).map(|k| data.scores[at(k)].exp()).collect::<Vec<_>>());
            // D H^-1 g = (1 - O D^-1 + (O D^-1)^2 - ...) g with H = diag(rho) - rho rho'.
            let mut term: Vec<f64> = (0..5).map(|k| rho[k] - phi[k]).collect();
            let mut sum = term.clone();
            for _ in 0..2 {
                let others = |k: usize| -> f64 {
                    (0..5)
                        .filter(|j| *j != k)
                        .map(|j| rho[k] * rho[j] * term[j] / (rho[j] * (1.0 - rho[j])))
                        .sum()
                };
                term = (0..5).map(others).collect();
                (0..5).for_each(|k| sum[k] += term[k]);
            }
            for k in 0..5 {
                let (got, weight) = (gradients[at(k)], data.weight(at(k)));
                prop_assert!((f64::from(got.grad) - weight * sum[k]).abs() < 1e-4 * weight);
                prop_assert!(near(got.hess, weight * rho[k] * (1.0 - rho[k])));
            }
        }
    }
}

/// By the definition: half the weighted squares of residuals around their weighted mean.
fn query_rmse(data: &Data, query: usize, moved: Option<(usize, f64)>) -> f64 {
    let docs = data.queries.range(query);
    let residual = |doc: usize| {
        let by = moved.filter(|(other, _)| *other == doc).map_or(0.0, |(_, by)| by);
        data.scores[doc] + by - f64::from(data.labels[doc])
    };
    let weights: f64 = docs.clone().map(|doc| data.row_weight[doc]).sum();
    let sum: f64 = docs.clone().map(|doc| data.row_weight[doc] * residual(doc)).sum();
    let square = |doc: usize| data.row_weight[doc] * (residual(doc) - sum / weights).powi(2);
    data.query_weight[query] * docs.map(square).sum::<f64>() / 2.0
}

#[test]
fn query_rmse_is_the_slope_of_the_squares_around_the_mean() {
    const STEP: f64 = 1e-4;
    for seed in 0..20 {
        let data = Data::new(seed, false);
        let gradients = data.gradients(&QueryRmse::default(), 0).unwrap();
        for (doc, gradient) in gradients.iter().enumerate() {
            let at = |by: f64| query_rmse(&data, doc / 5, Some((doc, by)));
            let slope = (at(STEP) - at(-STEP)) / (2.0 * STEP);
            assert!((f64::from(gradient.grad) - slope).abs() < 1e-5, "{gradient:?} {slope}");
            assert_eq!(f64::from(gradient.hess), f64::from(data.weight(doc) as f32));
        }
        // What is added to all labels of a query, or to all scores, changes no gradient.
        let mut moved = data.clone();
        moved.labels[..5].iter_mut().for_each(|label| *label += 2.0);
        moved.scores[5..10].iter_mut().for_each(|score| *score += 16.0);
        for (a, b) in gradients.iter().zip(moved.gradients(&QueryRmse::default(), 0).unwrap()) {
            assert!((a.grad - b.grad).abs() < 1e-5 && a.hess == b.hess);
        }
    }
}

#[test]
fn the_order_of_docs_changes_no_bit_of_query_rmse() {
    let data = Data::new(9, true);
    let mut reversed = data.clone();
    reversed.scores.reverse();
    reversed.labels.reverse();
    reversed.row_weight.reverse();
    reversed.query_weight.reverse();
    let straight = data.gradients(&QueryRmse::default(), 0).unwrap();
    let mut back = reversed.gradients(&QueryRmse::default(), 0).unwrap();
    back.reverse();
    assert_eq!(straight, back);
}

#[test]
fn training_starts_from_the_best_constant() {
    for seed in 0..20 {
        let data = Data::new(seed, true);
        for objective in [
            Box::new(Regression) as Box<dyn Objective>,
            Box::new(Logistic::new(None).unwrap()),
            Box::new(BalancedLogistic::new(None).unwrap()),
        ] {
            let start = objective.start(&data.target());
            let data = Data { scores: vec![start; DOCS], ..data.clone() };
            let gradients = data.gradients(&*objective, 0).unwrap();
            let sum: f64 = gradients.iter().map(|gradient| f64::from(gradient.grad)).sum();
            assert!(sum.abs() < 1e-5, "{objective:?} {start} {sum}");
        }
    }
}

#[test]
fn xendcg_stays_finite_where_one_doc_has_all_the_mass() {
    let mut data = Data::new(1, false);
    for top in [30.0, 800.0, 1e300] {
        data.scores[1] = top;
        for gradient in data.gradients(&XeNdcg::new(0), 0).unwrap() {
            assert!(gradient.grad.abs() < 100.0 && gradient.hess >= 0.0, "{gradient:?}");
        }
    }
}

#[test]
fn labels_that_a_loss_cannot_use_are_refused() {
    let data = Data::new(3, false);
    let code = |data: &Data, objective: &dyn Objective| {
        let error = data.gradients(objective, 0).unwrap_err();
        error.fault().unwrap().code
    };
    assert_eq!(code(&data, &Logistic::new(None).unwrap()), "label.probability");
    let above = BalancedLogistic::new(Some(9.0)).unwrap();
    assert_eq!(code(&data, &above), "label.classes");
    let mut large = data.clone();
    large.labels[4] = 31.0;
    assert_eq!(code(&large, &XeNdcg::new(0)), "label.range");
    let mut unscored = data;
    unscored.scores[9] = f64::NAN;
    for objective in
        [&Regression as &dyn Objective, &Logistic::new(Some(1.0)).unwrap(), &XeNdcg::new(0)]
    {
        let error = unscored.gradients(objective, 0).unwrap_err();
        assert_eq!(error.fault().unwrap().place.query, Some(1));
    }
    assert!(Logistic::new(Some(f32::NAN)).is_err());
}

#[test]
fn preferences_that_make_no_pair_are_refused() {
    let data = Data::new(1, false);
    let good = Preference { better: 0, worse: 1, probability: 1.0, weight: 1.0 };
    let code = |preference| {
        let error = PreferenceNet::new(&[good, preference], &data.queries, 1.0).unwrap_err();
        assert!(error.to_string().contains("preference[1]"), "{error}");
        error.fault().unwrap().code
    };
    assert_eq!(code(Preference { worse: 15, ..good }), "preference.doc");
    assert_eq!(code(Preference { worse: 5, ..good }), "preference.pair");
    assert_eq!(code(Preference { worse: 0, ..good }), "preference.pair");
    assert_eq!(code(Preference { probability: 1.1, ..good }), "preference.probability");
    assert_eq!(code(Preference { weight: f64::NAN, ..good }), "preference.weight");
    let other = Queries::from_sizes(&[15], 15).unwrap();
    let net = PreferenceNet::new(&[good], &other, 1.0).unwrap();
    let error = data.gradients(&net, 0).unwrap_err();
    assert_eq!(error.fault().unwrap().code, "preference.queries");
    assert!(PreferenceNet::new(&[good], &other, 0.0).is_err());
}

#[test]
fn objectives_are_made_by_name() {
    let names = [
        "lambdarank",
        "ranknet",
        "xendcg",
        "regression",
        "query_rmse",
        "logistic",
        "balanced_logistic",
        "err_logistic",
    ];
    for name in names {
        let kind: ObjectiveKind = name.parse().unwrap();
        assert_eq!(kind.to_string(), name);
        let options = ObjectiveOptions {
            relevant_from: Some(2.0),
            ..ObjectiveOptions::new(kind, "ndcg@10".parse().unwrap())
        };
        let objective = options.build().unwrap();
        let gradients = Data::new(2, false).gradients(&*objective, 0).unwrap();
        assert!(gradients.iter().any(|gradient| gradient.grad != 0.0), "{name}");
    }
    for name in ["mcrank", "mcrank_ordinal"] {
        let kind: ObjectiveKind = name.parse().unwrap();
        assert_eq!(kind.to_string(), name);
        let options = ObjectiveOptions::new(kind, "ndcg@10".parse().unwrap());
        let error = options.build().unwrap_err().to_string();
        assert!(error.contains("has a gradient for each class"), "{error}");
    }
    for (kind, name) in ObjectiveKind::ALL.into_iter().zip(ObjectiveKind::USER_NAMES) {
        assert_eq!(ObjectiveKind::of_user_name(name), Some(kind));
        assert!(!kind.estimator().is_empty());
    }
    let error = "lambdarnk".parse::<ObjectiveKind>().unwrap_err().to_string();
    assert!(error.ends_with("did you mean lambdarank?"), "{error}");
}
