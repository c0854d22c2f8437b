//! Parameters by name: the schema, reading, ranges and errors.

#![expect(clippy::unwrap_used, reason = "a test")]

use rustrank::ErrorKind;
use rustrank::schema::{ParamValue, Parameter, Parameters};
use rustrank::settings::{
    FeatureTrainOptions, KnownNames, NetTrainOptions, Preset, RefitTrainOptions, TrainOptions,
};
use std::collections::BTreeSet;

fn text(text: &str) -> ParamValue {
    ParamValue::Text(text.to_owned())
}

/// What setting a parameter of a training to a value says.
fn refused(name: &str, value: &ParamValue) -> String {
    TrainOptions::default().set(name, value).unwrap_err().to_string()
}

fn all_hold<P: Parameters>() {
    let schema = P::schema();
    let names: BTreeSet<&str> = schema.iter().map(|parameter| parameter.name).collect();
    assert_eq!(names.len(), schema.len(), "a name twice");
    let of_others: Vec<&str> = schema.iter().flat_map(|one| one.elsewhere.clone()).collect();
    assert_eq!(of_others.iter().collect::<BTreeSet<_>>().len(), of_others.len());
    P::default().check_ranges().unwrap();
    for Parameter { name, doc, default, .. } in &schema {
        assert!(doc.len() > 10 && doc.ends_with('.'), "{name}: {doc}");
        assert!(!doc.contains("[`"), "{name}: a link that only Rust knows");
        let mut params = P::default();
        assert!(params.set(name, default).unwrap(), "{name}");
    }
    let values: Vec<&str> = P::default().values().iter().map(|(name, _)| *name).collect();
    assert_eq!(values, schema.iter().map(|parameter| parameter.name).collect::<Vec<_>>());
    assert!(!P::default().set("lerning_rate", &ParamValue::None).unwrap());
}

#[test]
fn every_parameter_has_a_name_a_default_and_a_document() {
    all_hold::<TrainOptions>();
    all_hold::<NetTrainOptions>();
    all_hold::<FeatureTrainOptions>();
    all_hold::<RefitTrainOptions>();
}

#[test]
fn a_value_of_the_wrong_kind_or_out_of_range_is_refused() {
    let cases = [
        ("learning_rate", text("fast"), "learning_rate: got 'fast', expected a number"),
        (
            "learning_rate",
            ParamValue::Real(f64::NAN),
            "learning_rate is out of range: got NaN, expected a number above 0, up to 10",
        ),
        ("l2", ParamValue::Integer(-1), "l2 is out of range: got -1, expected a number from 0 on"),
        (
            "num_leaves",
            ParamValue::Integer(1),
            "num_leaves: got 1, expected a whole number from 2 to 65536",
        ),
        (
            "num_leaves",
            ParamValue::Real(3.0),
            "num_leaves: got 3.0, expected a whole number from 2 to 65536",
        ),
        (
            "seed",
            ParamValue::Integer(-1),
            "seed: got -1, expected a whole number from 0 to 18446744073709551615",
        ),
        (
            "max_depth",
            ParamValue::Flag(true),
            "max_depth: got True, expected a whole number from 1 to 4294967295, or None",
        ),
        (
            "tree_shape",
            text("round"),
            "tree_shape is not known: got \"round\", expected \"leafwise\" or \"symmetric\"",
        ),
        ("tree_shape", ParamValue::None, "tree_shape: got None, expected a name"),
        ("progress", ParamValue::Integer(1), "progress: got 1, expected True or False"),
        (
            "augment",
            text("0.7"),
            "augment: got '0.7', expected (fraction, copies) such as (0.7, 5), or None",
        ),
    ];
    for (name, value, said) in cases {
        assert_eq!(refused(name, &value), said);
    }
}

#[test]
fn errors_tell_kinds_from_ranges() {
    let mut options = TrainOptions::default();
    let error = options.set("l2", &text("much")).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ParamKind(fault) if fault.code == "l2"), "{error:?}");
    let error = options.set("l2", &ParamValue::Real(-1.0)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Param(fault) if fault.code == "l2"), "{error:?}");
    assert_eq!(options, TrainOptions::default(), "nothing is set");
}

#[test]
fn parameters_reach_what_they_are_about() {
    let mut options = TrainOptions::default();
    for (name, value) in [
        ("num_leaves", ParamValue::Integer(7)),
        ("category_smooth", ParamValue::Integer(2)),
        ("dropout", ParamValue::Real(0.5)),
        ("doc_sampling", text("one_sided")),
        ("docs_per_tree", ParamValue::Real(0.75)),
        ("step", text("exact")),
        ("step_on", text("b")),
        ("learning_rate", ParamValue::Real(0.25)),
        ("augment", text("0.7x5")),
    ] {
        assert!(options.set(name, &value).unwrap(), "{name}");
    }
    let names = KnownNames { metric: Some("err@5"), sets: &["a", "b"], tie_feature: None };
    let params = options.params(&names).unwrap();
    assert_eq!((params.grow.num_leaves, params.grow.random_decay), (7, 0.25));
    assert_eq!(params.grow.categories.smooth, 2.0);
    assert_eq!(params.dropout.map(|dropout| dropout.rate), Some(0.5));
    assert_eq!(format!("{:?}", params.doc_sampling), "OneSided { top: 0.5 }");
    let step = format!("{:?}", params.step);
    assert!(step.contains("set: Some(1)") && step.contains("Err"), "{step}");
    let loss = options.loss.options(&options.labels, Some("ndcg@10"), 3).unwrap();
    assert_eq!(loss.lambda.metric.to_string(), "ndcg");
    assert_eq!(loss.lambda.augment.map(|augment| augment.copies), Some(5));
    assert_eq!(loss.lambda.noise.map(|noise| noise.scale), Some(1.0), "tuned");

    options.set("step_on", &text("c")).unwrap();
    let said = options.params(&names).unwrap_err().to_string();
    assert_eq!(said, "step_on: got 'c', expected a validation set, one of a, b");
    options.set("step", &text("newton")).unwrap();
    options.set("doc_sampling", &text("uniform")).unwrap();
    options.set("top_docs", &ParamValue::Real(0.2)).unwrap();
    let said = options.params(&names).unwrap_err().to_string();
    assert_eq!(said, "top_docs: got 0.2, but doc_sampling is 'uniform', not \"one_sided\"");
}

#[test]
fn every_name_of_a_loss_is_one() {
    for name in TrainOptions::schema().iter().find(|one| one.name == "objective").unwrap().choices {
        let mut options = TrainOptions::default();
        assert!(options.set("objective", &text(name)).unwrap());
        assert!(options.values().contains(&("objective", text(name))), "{name}");
    }
}

#[test]
fn a_preset_sets_parameters_of_trees() {
    for preset in Preset::ALL {
        let mut options = TrainOptions::default();
        for (name, value) in preset.values() {
            assert!(options.set(name, &value).unwrap(), "{name}");
            assert!(options.values().contains(&(name, value)), "{name}");
        }
        options.check_ranges().unwrap();
        // These two set nothing of their own.
        let is_empty = matches!(preset, Preset::Auto | Preset::Plain);
        assert_eq!(options == TrainOptions::default(), is_empty);
    }
}
