//! What the metrics refuse, with code, place and hint; and the names they answer to.

#![expect(clippy::unwrap_used, reason = "a test")]

use rustrank::metric::Rbp;
use rustrank::metric::{evaluate, evaluate_rows};
use rustrank::{
    Convention, Empty, Error, ErrorKind, Fault, Gain, Grouping, Interrupt, Mean, Measure, Metric,
    Queries, Ties,
};

fn data(error: &Error) -> &Fault {
    assert!(matches!(error.kind(), ErrorKind::Data(_)), "{error}");
    error.fault().unwrap()
}

fn param(error: &Error) -> &Fault {
    assert!(matches!(error.kind(), ErrorKind::Param(_)), "{error}");
    error.fault().unwrap()
}

/// Evaluates two queries of two docs.
fn run(metric: &Metric, labels: [f32; 4]) -> Result<Vec<f64>, Error> {
    let queries = Queries::from_sizes(&[2, 2], 4)?;
    metric.per_query(&[1.0, 2.0, 3.0, 4.0], &labels, &queries, &Interrupt::new())
}

fn with(measure: Measure, convention: Convention) -> Metric {
    Metric::new(measure, None, convention).unwrap()
}

fn plain(measure: Measure) -> Metric {
    with(measure, Convention::default())
}

#[test]
fn names_round_trip() {
    for name in ["rbp(p=0.8)@10", "rbp(p=0.05)"] {
        assert_eq!(name.parse::<Metric>().unwrap().to_string(), name);
    }
    for name in ["ndcg@10", "ndcg", "dcg@5", "err@10", "map", "mrr@10", "precision@5", "recall@1"] {
        assert_eq!(name.parse::<Metric>().unwrap().to_string(), name);
    }
    for measure in Measure::ALL {
        for cut in [None, Some(1), Some(4_294_967_295)] {
            let metric = Metric::new(measure, cut, Convention::default()).unwrap();
            assert_eq!(metric.to_string().parse::<Metric>().unwrap(), metric);
        }
    }
    for ties in [Ties::Expected, Ties::RowOrder, Ties::Worst] {
        assert_eq!(ties.to_string().parse::<Ties>().unwrap(), ties);
    }
    for empty in [Empty::Skip, Empty::Zero, Empty::One] {
        assert_eq!(empty.to_string().parse::<Empty>().unwrap(), empty);
    }
    assert_eq!("linear".parse::<Gain>().unwrap(), Gain::Linear);
}

#[test]
fn unknown_names_offer_near_ones() {
    let refused = |name: &str| name.parse::<Metric>().unwrap_err();
    for (name, near) in [
        ("ndgc", "did you mean ndcg?"),
        ("NDCG@10", "did you mean ndcg@10?"),
        (" map", "did you mean map?"),
        ("prec@5", "did you mean precision@5?"),
        ("p@5", "did you mean precision@5?"),
        ("recal", "did you mean recall?"),
    ] {
        let error = refused(name);
        assert_eq!(param(&error).code, "metric.name");
        assert_eq!(param(&error).hint.as_deref(), Some(near), "{error}");
    }
    let error = refused("accuracy\x1b[31m");
    assert!(param(&error).expected.as_deref().unwrap().contains("ndcg, dcg, err, map"));
    assert!(!error.to_string().contains('\x1b'));
    assert!(refused(&"x".repeat(1_000_000)).to_string().len() < 300);
    let error = "row".parse::<Ties>().unwrap_err();
    assert_eq!(param(&error).hint.as_deref(), Some("did you mean rows?"));
}

#[test]
fn a_parameter_has_one_spelling_and_a_range() {
    for name in [
        "rbp(p=0.80)",
        "rbp(p=0)",
        "rbp(p=1)",
        "rbp(p=NaN)",
        "rbp(p=x)",
        "rbp(q=0.8)",
        "rbp(0.8)@5",
        "rbp(p=0.8",
        "rbp(p=0.8))",
        "rbp()",
    ] {
        let error = name.parse::<Metric>().unwrap_err();
        assert_eq!(param(&error).code, "metric.parameter", "{name}");
        let expected = "p above 0 and below 1, as in rbp(p=0.8)";
        assert_eq!(param(&error).expected.as_deref(), Some(expected));
    }
    let error = "rbp@5".parse::<Metric>().unwrap_err();
    assert_eq!(param(&error).hint.as_deref(), Some("did you mean rbp(p=0.8)@5?"));
    let error = "ndcg(p=0.8)".parse::<Metric>().unwrap_err();
    assert_eq!(param(&error).expected.as_deref(), Some("none, as in ndcg"));
    assert!(Rbp::new(1.0).is_err() && Rbp::new(f64::NAN).is_err());
}

#[test]
fn a_cut_is_a_whole_number_from_one() {
    for name in
        ["ndcg@0", "ndcg@", "ndcg@-1", "ndcg@+5", "ndcg@1.5", "ndcg@010", "map@x", "map@5@5"]
    {
        let error = name.parse::<Metric>().unwrap_err();
        assert_eq!(param(&error).code, "metric.cut", "{name}");
    }
    assert!("ndcg@4294967296".parse::<Metric>().is_err());
    let error = Metric::new(Measure::Map, Some(0), Convention::default()).unwrap_err();
    assert_eq!(param(&error).code, "metric.cut");
}

#[test]
fn conventions_out_of_range_are_refused() {
    let refused = |convention: Convention| {
        let error = plain(Measure::Ndcg).with_convention(&convention).unwrap_err();
        param(&error).clone()
    };
    let base = Convention::default;
    for table in [vec![], vec![0.0, -1.0], vec![0.0, f64::NAN], vec![1.0, 0.5]] {
        assert_eq!(refused(Convention { gain: Gain::Table(table), ..base() }).code, "metric.gain");
    }
    let fault = refused(Convention { relevant_from: f32::NAN, ..base() });
    assert_eq!(fault.code, "metric.relevant_from");
    for max in [31.0, 1.5, -1.0, f32::NAN] {
        let fault = refused(Convention { max_label: Some(max), ..base() });
        assert_eq!(fault.code, "metric.max_label");
    }
    let table = Gain::Table(vec![0.0, 1.0]);
    let fault = refused(Convention { gain: table, max_label: Some(2.0), ..base() });
    assert_eq!(fault.expected.as_deref(), Some("a whole number below 2"));
}

#[test]
fn labels_that_mean_nothing_are_refused_with_row_and_query() {
    for measure in Measure::ALL {
        for (label, code, what) in [
            (f32::NAN, "label.nan", "label[3] is NaN (query 1)"),
            (f32::INFINITY, "label.infinite", "label[3] is infinite (query 1)"),
            (-1.0, "label.negative", "label[3] = -1.0 (query 1)"),
        ] {
            let error = run(&plain(measure), [0.0, 1.0, 0.0, label]).unwrap_err();
            assert_eq!((data(&error).code, data(&error).place.row), (code, Some(3)));
            assert!(error.to_string().starts_with(what), "{error}");
        }
    }
}

#[test]
fn labels_without_a_gain_are_refused_with_a_hint() {
    for measure in [Measure::Ndcg, Measure::Dcg, Measure::Err] {
        for (label, code) in [
            (0.5, "label.fraction"),
            (40.0, "label.large"),
            (31.0, "label.large"),
            (1e30, "label.large"),
        ] {
            let error = run(&plain(measure), [0.0, 1.0, label, 2.0]).unwrap_err();
            let fault = data(&error);
            assert_eq!((fault.code, fault.place.row), (code, Some(2)));
            assert_eq!(fault.place.query, Some(1));
            assert!(fault.expected.as_deref().unwrap().contains("max 31 levels"));
            assert_eq!(fault.hint.as_deref(), Some("pass gain=\"linear\" or a gain table"));
            let linear = Convention { gain: Gain::Linear, ..Convention::default() };
            assert!(run(&with(measure, linear), [0.0, 1.0, label, 2.0]).is_ok());
        }
        let table = Gain::Table(vec![0.0, 1.0, 3.0]);
        let table = with(measure, Convention { gain: table, ..Convention::default() });
        assert!(run(&table, [0.0, 1.0, 2.0, 2.0]).is_ok());
        assert_eq!(data(&run(&table, [0.0, 3.0, 2.0, 2.0]).unwrap_err()).place.row, Some(1));
    }
    // The other metrics only compare labels.
    for measure in [Measure::Map, Measure::Recall, Measure::Pairwise] {
        assert!(run(&plain(measure), [0.0, 0.5, 1e30, 40.0]).is_ok());
    }
}

#[test]
fn a_label_above_the_scale_of_err_is_refused() {
    let convention = Convention { max_label: Some(4.0), ..Convention::default() };
    let error = run(&with(Measure::Err, convention.clone()), [0.0, 5.0, 0.0, 1.0]).unwrap_err();
    assert_eq!((data(&error).code, data(&error).place.row), ("label.large", Some(1)));
    assert!(run(&with(Measure::Ndcg, convention), [0.0, 5.0, 0.0, 1.0]).is_ok());
}

#[test]
fn scores_must_be_numbers_one_for_each_doc() {
    let queries = Queries::from_sizes(&[2, 1], 3).unwrap();
    let metrics = [plain(Measure::Ndcg)];
    let run = |scores: &[f64], labels: &[f32]| {
        evaluate(&metrics, scores, labels, &queries, &Interrupt::new()).unwrap_err()
    };
    let error = run(&[1.0, 2.0, f64::NAN], &[0.0; 3]);
    assert_eq!((data(&error).code, data(&error).place.row), ("score.nan", Some(2)));
    assert_eq!(data(&error).place.query, Some(1));
    assert_eq!(data(&run(&[1.0], &[0.0; 3])).code, "length");
    assert_eq!(data(&run(&[1.0; 3], &[0.0; 4])).code, "length");
}

#[test]
fn rows_in_any_order_are_judged_and_named_as_they_came() {
    let metrics = [plain(Measure::Mrr), plain(Measure::Ndcg)];
    let grouping = Grouping::from_codes(&[0, 1, 0, 1], 2).unwrap();
    let run = |scores: &[f64], labels: &[f32]| {
        evaluate_rows(&metrics, scores, labels, &grouping, &Interrupt::new())
    };
    let values = run(&[1.0, 2.0, 2.0, 1.0], &[1.0, 1.0, 0.0, 0.0]).unwrap();
    assert_eq!(values[0], [0.5, 1.0]);
    // The first bad row, though its query is the second.
    let error = run(&[0.0; 4], &[0.0, 0.5, f32::NAN, 0.5]).unwrap_err();
    assert_eq!((data(&error).code, data(&error).place.row), ("label.nan", Some(2)));
    let error = run(&[0.0; 4], &[0.0, 0.5, 0.5, 0.5]).unwrap_err();
    assert_eq!((data(&error).code, data(&error).place.row), ("label.fraction", Some(1)));
    assert_eq!(data(&error).place.query, Some(1));
    let error = run(&[0.0, 0.0, f64::NAN, 0.0], &[0.0; 4]).unwrap_err();
    assert_eq!((data(&error).code, data(&error).place.row), ("score.nan", Some(2)));
    assert_eq!(data(&error).place.query, Some(0));
    assert_eq!(data(&run(&[0.0; 3], &[0.0; 4]).unwrap_err()).code, "length");
}

#[test]
fn weights_are_finite_and_not_negative() {
    for weight in [f64::NAN, -1.0, f64::INFINITY] {
        let error = Mean::of(&[0.5, 0.5], Some(&[1.0, weight])).unwrap_err();
        assert_eq!(data(&error).code, "weight");
        assert!(error.to_string().contains("query_weight[1]"), "{error}");
    }
    assert_eq!(data(&Mean::of(&[0.5], Some(&[0.0])).unwrap_err()).code, "weight");
    let error = Mean::of(&[0.5, 0.5], Some(&[1.0])).unwrap_err();
    assert_eq!(data(&error).code, "length");
}

#[test]
fn gains_whose_sums_could_overflow_are_refused() {
    let convention = Convention { gain: Gain::Table(vec![0.0, 1e308]), ..Convention::default() };
    let error = convention.check().unwrap_err();
    assert!(error.to_string().starts_with("gain[1]: got 1"), "{error}");
    assert!(error.to_string().ends_with("expected a number from 0 to 1e200"), "{error}");
}
