//! The values that other tools give, under the conventions that make us say the same. The files and
//! their columns are explained in `tests/golden/README.md`.

#![expect(clippy::unwrap_used, reason = "a test")]

use rustrank::metric::evaluate;
use rustrank::{Convention, Empty, Gain, Interrupt, Metric, Queries, Ties};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Scores and labels by query.
type Rankings = BTreeMap<String, (Vec<f64>, Vec<f32>)>;

fn lines(file: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let text = fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn rankings() -> Rankings {
    let mut rankings = Rankings::new();
    for line in lines("queries.tsv") {
        let (scores, labels) = rankings.entry(line[0].clone()).or_default();
        scores.push(line[1].parse().unwrap());
        labels.push(line[2].parse().unwrap());
    }
    rankings
}

/// Every convention under which we must return the value of a line.
fn conventions(gain: &str, ties: &str, empty: &str) -> Vec<Convention> {
    let gain = if gain == "linear" { Gain::Linear } else { Gain::Exp2 };
    let ties = match ties {
        "row_order" => vec![Ties::RowOrder],
        "expected" => vec![Ties::Expected],
        _ => vec![Ties::RowOrder, Ties::Expected, Ties::Worst],
    };
    let empty = match empty {
        "zero" => vec![Empty::Zero],
        _ => vec![Empty::Zero, Empty::One, Empty::Skip],
    };
    let both = ties.iter().flat_map(|&ties| empty.iter().map(move |&empty| (ties, empty)));
    let convention = |(ties, empty)| Convention {
        gain: gain.clone(),
        ties,
        empty,
        max_label: Some(4.0),
        ..Convention::default()
    };
    both.map(convention).collect()
}

#[test]
fn other_tools_agree_under_their_conventions() {
    let rankings = rankings();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines("metrics.tsv") {
        let [query, tool, name, gain, ties, empty, value] = &line[..] else { panic!("{line:?}") };
        let (scores, labels) = &rankings[query];
        let queries = Queries::from_sizes(&[i64::try_from(scores.len()).unwrap()], scores.len());
        let metric: Metric = name.parse().unwrap();
        let metrics: Vec<Metric> = conventions(gain, ties, empty)
            .iter()
            .map(|convention| metric.with_convention(convention).unwrap())
            .collect();
        let ours =
            evaluate(&metrics, scores, labels, &queries.unwrap(), &Interrupt::new()).unwrap();
        let value: f64 = value.parse().unwrap();
        for (metric, ours) in metrics.iter().zip(ours) {
            let miss = (ours[0] - value).abs();
            assert!(miss <= 1e-12, "{line:?}: {} under {:?}", ours[0], metric.convention());
        }
        *seen.entry(format!("{tool} {}", metric.measure())).or_default() += 1;
    }
    for known in ["pytrec_eval map", "ranx ndcg", "sklearn ndcg", "formula err"] {
        assert!(seen.get(known).is_some_and(|lines| *lines > 20), "{known}: {seen:?}");
    }
}
