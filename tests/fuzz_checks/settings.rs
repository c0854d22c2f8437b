//! Parameters by name and value: a value is set and says the same when it is read, or is refused and changes nothing.

use rustrank::Metric;
use rustrank::schema::{ParamValue, Parameters};
use rustrank::settings::{
    FeatureTrainOptions, KnownNames, LabelOptions, LossOptions, NamedMetric, NetTrainOptions,
    RefitTrainOptions, TrainOptions,
};
use serde_json::Value;

/// More take longer and say nothing new.
const MOST_LINES: usize = 16;

/// Lines of a name, a space and a value in JSON; `train`, `net`, `features` or `refit` in the first one.
pub(super) fn settings(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let (training, given) = text.split_once('\n').unwrap_or(("", text));
    let given: Vec<(&str, ParamValue)> = given.lines().take(MOST_LINES).map(read).collect();
    for (_, value) in &given {
        if let ParamValue::Text(text) = value {
            check_metric(text);
        }
    }
    match training {
        "net" => {
            let (options, is_set) = set_all::<NetTrainOptions>(&given);
            use_loss(&options.loss, &options.labels);
            is_set
        }
        "features" => {
            let (options, is_set) = set_all::<FeatureTrainOptions>(&given);
            use_loss(&options.loss, &options.labels);
            is_set
        }
        "refit" => {
            let (options, is_set) = set_all::<RefitTrainOptions>(&given);
            use_loss(&options.loss, &options.labels);
            is_set
        }
        _ => {
            let (options, is_set) = set_all::<TrainOptions>(&given);
            use_loss(&options.loss, &options.labels);
            let names =
                KnownNames { metric: Some("err@5"), sets: &["a", "b"], tie_feature: Some(2) };
            let _ = options.params(&names);
            is_set
        }
    }
}

fn read(line: &str) -> (&str, ParamValue) {
    let (name, value) = line.split_once(' ').unwrap_or((line, "null"));
    let value = serde_json::from_str(value).map(|value| param(&value));
    (name, value.unwrap_or_else(|_| ParamValue::Other("?".to_owned())))
}

fn param(value: &Value) -> ParamValue {
    match value {
        Value::Null => ParamValue::None,
        Value::Bool(flag) => ParamValue::Flag(*flag),
        Value::Number(number) => {
            let integer = number.as_u64().map(i128::from).or(number.as_i64().map(i128::from));
            let real = || ParamValue::Real(number.as_f64().unwrap_or(f64::NAN));
            integer.map_or_else(real, ParamValue::Integer)
        }
        Value::String(text) => ParamValue::Text(text.clone()),
        Value::Array(values) => ParamValue::List(values.iter().map(param).collect()),
        Value::Object(_) => ParamValue::Other("a mapping".to_owned()),
    }
}

/// The parameters with all that is given, and whether some of it was set.
fn set_all<P: Parameters>(given: &[(&str, ParamValue)]) -> (P, bool) {
    let schema = P::schema();
    let (mut params, mut is_set) = (P::default(), false);
    for (name, value) in given {
        let before = params.values();
        match params.set(name, value) {
            Ok(true) => {
                let after = params.values();
                let of_name = |(known, _): &&(&str, ParamValue)| known == name;
                let (_, now) = after.iter().find(of_name).unwrap_or_else(|| panic!("{name}"));
                let mut again = P::default();
                assert!(again.set(name, now).is_ok_and(|is| is), "{name}: {now}");
                let again = again.values();
                assert!(
                    again.iter().find(of_name).is_some_and(|(_, again)| again == now),
                    "{name}: {now}"
                );
                let others = before.iter().zip(&after).filter(|((known, _), _)| known != name);
                others.for_each(|(before, after)| {
                    assert!(before == after, "{name} sets {}", after.0);
                });
                is_set = true;
            }
            Ok(false) => assert!(!schema.iter().any(|known| known.name == *name), "{name}"),
            Err(error) => {
                assert!(params.values() == before, "{name} is refused and sets nothing");
                let code = error.fault().map(|fault| fault.code);
                assert!(code == Some(name), "{name}: {error}");
            }
        }
    }
    let ranges = params.check_ranges();
    ranges.unwrap_or_else(|error| panic!("each value was in its range: {error}"));
    (params, is_set)
}

fn use_loss(loss: &LossOptions, labels: &LabelOptions) {
    let _ = labels.convention();
    for metric in [None, Some("ndcg@3"), Some("mrr")] {
        let _ = loss.options(labels, metric, 1);
    }
}

/// The name of a metric reads back to it.
fn check_metric(text: &str) {
    let named = NamedMetric::read(text, &["a", "revenue"]);
    let _ = named.evaluated(&LabelOptions::default());
    if let Ok(metric) = text.parse::<Metric>() {
        let name = metric.to_string();
        let again = name.parse::<Metric>();
        assert!(again.as_ref().is_ok_and(|again| *again == metric), "{text}: {name}");
    }
}
