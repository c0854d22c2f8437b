//! Sweeps against brute force: every crossing of every query, the metric evaluated between them.

#![expect(clippy::unwrap_used, reason = "a test")]

use proptest::prelude::*;
use rustrank::combine::{Judged, Range, Sweep, SweepOptions, sweep};
use rustrank::{Convention, Empty, Gain, Interrupt, Mean, Measure, Metric, Queries, Ties};

/// Some queries, with the scores of two rankers in steps of 1/4.
#[derive(Debug, Clone)]
struct Problem {
    first: Vec<f64>,
    second: Vec<f64>,
    labels: Vec<f32>,
    sizes: Vec<i64>,
    weights: Option<Vec<f64>>,
}

impl Problem {
    fn queries(&self) -> Queries {
        Queries::from_sizes(&self.sizes, self.labels.len()).unwrap()
    }

    fn sweep(&self, options: &SweepOptions) -> rustrank::Result<Sweep> {
        let queries = self.queries();
        let query_weight = self.weights.as_deref();
        let judged = Judged { labels: &self.labels, queries: &queries, query_weight };
        sweep(&self.first, &self.second, &judged, options, &Interrupt::new())
    }

    fn value(&self, metric: &Metric, range: Range, alpha: f64) -> f64 {
        let mixed = range.mix(&self.first, &self.second, alpha);
        let values =
            metric.per_query(&mixed, &self.labels, &self.queries(), &Interrupt::new()).unwrap();
        Mean::of(&values, self.weights.as_deref()).unwrap().value
    }

    /// All crossings strictly inside the range, as floats, each once.
    fn crossings(&self, range: Range) -> Vec<f64> {
        let (low, high) = ends(range);
        let mut found = Vec::new();
        for docs in self.queries().ranges() {
            for i in docs.clone() {
                for j in docs.clone() {
                    let gap = self.first[i] - self.first[j];
                    let rise = match range {
                        Range::Between => gap - (self.second[i] - self.second[j]),
                        Range::Along { .. } => self.second[j] - self.second[i],
                    };
                    let alpha = gap / rise;
                    if rise != 0.0 && low < alpha && alpha < high {
                        found.push(alpha);
                    }
                }
            }
        }
        found.sort_by(f64::total_cmp);
        found.dedup();
        found
    }

    /// The metric between neighbouring crossings: (from, to, value).
    fn brute_force(&self, metric: &Metric, range: Range) -> Vec<(f64, f64, f64)> {
        let (low, high) = ends(range);
        let mut places = vec![low];
        places.extend(self.crossings(range));
        places.push(high);
        let value = |w: &[f64]| (w[0], w[1], self.value(metric, range, f64::midpoint(w[0], w[1])));
        places.windows(2).map(value).collect()
    }
}

fn ends(range: Range) -> (f64, f64) {
    match range {
        Range::Between => (0.0, 1.0),
        Range::Along { from, to } => (from, to),
    }
}

fn close(x: f64, y: f64) -> bool {
    // What a query counts for is a whole number of parts in 2^40 of what all could.
    (x - y).abs() <= 1e-9 * x.abs() + 1e-10
}

/// Whether nothing was exchanged that counts.
fn same(x: f64, y: f64) -> bool {
    (x - y).abs() <= 1e-13 * x.abs().max(1.0)
}

/// Everything that a sweep says, against brute force.
fn check(problem: &Problem, options: &SweepOptions) {
    let (metric, range) = (&options.metric, options.range);
    let truth = problem.brute_force(metric, range);
    if truth[0].2.is_nan() {
        let refused = problem.sweep(options).unwrap_err();
        assert_eq!(refused.fault().unwrap().code, "combine.empty");
        return;
    }
    let found = problem.sweep(options).unwrap();
    assert!(found.curve.is_whole);
    let mut steps = found.curve.steps.iter();
    let mut step = steps.next().unwrap();
    for &(from, to, value) in &truth {
        if step.to < to {
            assert_eq!(step.to, from, "{found:?} {truth:?}");
            step = steps.next().unwrap();
        }
        assert!(step.from <= from && to <= step.to, "{step:?} {from} {to}");
        assert!(close(step.value, value), "{metric}: {step:?}, not {value} on {from}..{to}");
    }
    assert_eq!(steps.next(), None);
    check_answer(problem, options, &found, &truth);
}

fn check_answer(
    problem: &Problem,
    options: &SweepOptions,
    found: &Sweep,
    truth: &[(f64, f64, f64)],
) {
    let (metric, range) = (&options.metric, options.range);
    let (low, high) = ends(range);
    let highest = truth.iter().map(|t| t.2).fold(f64::MIN, f64::max);
    let at_ends = [low, high].map(|alpha| problem.value(metric, range, alpha));
    let best = at_ends.into_iter().fold(highest, f64::max);
    assert!(close(found.value, best), "{metric}: {} not {best}", found.value);
    assert_eq!(found.value.to_bits(), problem.value(metric, range, found.alpha).to_bits());
    let width = found.interval.1 - found.interval.0;
    if width == 0.0 {
        assert!(found.alpha == low || found.alpha == high);
        return;
    }
    // Changes of some parts in 2^40 may count or not.
    let is_clear = |w: &[(f64, f64, f64)]| same(w[0].2, w[1].2) || !close(w[0].2, w[1].2);
    if !truth.windows(2).all(is_clear) {
        return;
    }
    // The widest of equals: intervals of brute force that lie side by side at one value are one.
    let runs = truth.chunk_by(|x, y| same(x.2, y.2)).filter(|run| same(run[0].2, highest));
    let widest = runs.map(|run| run[run.len() - 1].1 - run[0].0).fold(0.0, f64::max);
    assert!(close(width, widest), "{metric}: {width}, not {widest}");
    // The middle, unless docs whose exchange changes nothing tie right there.
    let middle = f64::midpoint(found.interval.0, found.interval.1);
    if same(problem.value(metric, range, middle), highest) {
        assert!(close(found.alpha, middle), "{found:?}");
    }
    assert!((found.alpha - middle).abs() <= 0.1 * width, "{found:?}");
}

fn metrics(ties: Ties, empty: Empty) -> Vec<Metric> {
    let convention = Convention { ties, empty, ..Convention::default() };
    let cuts = [Some(1), Some(2), Some(3), Some(10), None];
    let all = Measure::ALL.into_iter().flat_map(|m| cuts.map(|cut| (m, cut)));
    all.map(|(measure, cut)| Metric::new(measure, cut, convention.clone()).unwrap()).collect()
}

fn problems(largest: i64, num_scores: i32) -> impl Strategy<Value = Problem> {
    let sizes = prop::collection::vec(1..=largest, 1..4);
    (sizes, any::<bool>()).prop_flat_map(move |(sizes, weighted)| {
        let n = usize::try_from(sizes.iter().sum::<i64>()).unwrap();
        let scores =
            || prop::collection::vec((-num_scores..num_scores).prop_map(|s| f64::from(s) / 4.0), n);
        let labels = prop::collection::vec((0u8..4).prop_map(f32::from), n);
        // Some queries do not count, some count for many others.
        let weight = prop::sample::select(vec![0.0, 0.1, 1.0, 2.0, 3.0, 40.0]);
        let weights = prop::collection::vec(weight, sizes.len());
        (scores(), scores(), labels, weights).prop_map(
            move |(first, second, labels, mut weights)| {
                weights[0] = 1.0;
                let weights = weighted.then_some(weights);
                Problem { first, second, labels, sizes: sizes.clone(), weights }
            },
        )
    })
}

const RANGES: [Range; 4] = [
    Range::Between,
    Range::Along { from: 0.0, to: 3.0 },
    Range::Along { from: -2.0, to: 2.0 },
    Range::Along { from: 0.1, to: 100.0 },
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_sweep_is_brute_force(problem in problems(8, 5), range in 0usize..4) {
        for metric in metrics(Ties::Expected, Empty::Skip) {
            check(&problem, &SweepOptions::new(metric, RANGES[range]));
        }
    }

    #[test]
    fn a_sweep_of_many_distinct_scores_is_brute_force(problem in problems(30, 4000), range in 0usize..4) {
        for name in ["ndcg@3", "ndcg", "precision@5", "err@4", "map", "mrr@2", "pairwise@7"] {
            check(&problem, &SweepOptions::new(name.parse().unwrap(), RANGES[range]));
        }
    }

    #[test]
    fn other_tie_rules_and_empty_queries_count_too(problem in problems(6, 3), range in 0usize..4) {
        for (ties, empty) in [(Ties::Worst, Empty::Zero), (Ties::RowOrder, Empty::One)] {
            for metric in metrics(ties, empty) {
                check(&problem, &SweepOptions::new(metric, RANGES[range]));
            }
        }
    }

    #[test]
    fn other_gains_and_labels_count_too(problem in problems(6, 3), range in 0usize..4) {
        let conventions = [
            Convention { gain: Gain::Linear, ..Convention::default() },
            Convention { gain: Gain::Table(vec![0.0, 0.5, 0.5, 9.0]), ..Convention::default() },
            Convention { max_label: Some(12.0), relevant_from: 2.0, ..Convention::default() },
        ];
        for convention in conventions {
            for measure in [Measure::Ndcg, Measure::Dcg, Measure::Err, Measure::Map, Measure::Mrr] {
                for cut in [Some(2), None] {
                    let metric = Metric::new(measure, cut, convention.clone()).unwrap();
                    check(&problem, &SweepOptions::new(metric, RANGES[range]));
                }
            }
        }
    }

    #[test]
    fn scores_far_from_0_are_no_coarser(problem in problems(8, 5), power in 10i32..30) {
        let far = |scores: &[f64], by: f64| scores.iter().map(|s| s + by).collect();
        let by = 2f64.powi(power);
        let problem =
            Problem { first: far(&problem.first, by), second: far(&problem.second, -by), ..problem };
        for name in ["ndcg@3", "err", "map"] {
            check(&problem, &SweepOptions::new(name.parse().unwrap(), RANGES[2]));
        }
    }

    #[test]
    fn identical_and_parallel_rankers(problem in problems(8, 3), factor in -2i32..3) {
        let second = problem.first.iter().map(|s| s * f64::from(factor) + 1.0).collect();
        let problem = Problem { second, ..problem };
        for name in ["ndcg@3", "err", "map", "pairwise", "recall@2"] {
            for range in RANGES {
                check(&problem, &SweepOptions::new(name.parse().unwrap(), range));
            }
        }
    }

    #[test]
    fn few_outputs_are_a_faster_way_to_the_same_answer(
        problem in problems(30, 8), range in 0usize..4, outputs in 1i32..5,
    ) {
        let second = problem.second.iter().map(|s| (s * 4.0) as i32 % outputs).map(f64::from);
        let problem = Problem { second: second.collect(), ..problem };
        for ties in [Ties::Expected, Ties::RowOrder, Ties::Worst] {
            for metric in metrics(ties, Empty::Zero) {
                let mut options = SweepOptions::new(metric, RANGES[range]);
                let all = problem.sweep(&options);
                options.few_outputs = true;
                let thinned = problem.sweep(&options);
                prop_assert_eq!(format!("{:?}", all), format!("{:?}", thinned));
            }
        }
    }

    #[test]
    fn little_memory_takes_more_passes_to_the_same_answer(problem in problems(12, 30)) {
        for range in RANGES {
            let mut options = SweepOptions::new("ndcg".parse().unwrap(), range);
            let whole = problem.sweep(&options);
            options.most_events = 3;
            let parts = problem.sweep(&options);
            prop_assert_eq!(format!("{:?}", whole), format!("{:?}", parts));
        }
    }
}

/// Several queries with scores that are no round numbers.
fn large(num_queries: u64, num_docs: u64) -> Problem {
    let rows = 0..num_queries * num_docs;
    let uniform = |stream, row| rustrank::random::draw(5, stream, row) as f64 / 2f64.powi(64);
    let label = |row| (uniform(0, row) * uniform(1, row) * 5.0).floor() as f32;
    let scores = |stream| move |row| uniform(stream, row) * 3.0 + f64::from(label(row));
    Problem {
        first: rows.clone().map(scores(2)).collect(),
        second: rows.clone().map(scores(3)).map(|s| 40.0 * s - 7.0).collect(),
        labels: rows.map(label).collect(),
        sizes: vec![num_docs.cast_signed(); num_queries as usize],
        weights: Some((0..num_queries).map(|q| 0.3 + uniform(4, q)).collect()),
    }
}

#[test]
fn no_grid_and_no_ranker_alone_is_better() {
    let check = |problem: &Problem, range: Range, metric: &Metric| {
        let found = problem.sweep(&SweepOptions::new(metric.clone(), range)).unwrap();
        let (low, high) = ends(range);
        for step in 0..=10_000 {
            let alpha = low + (high - low) * f64::from(step) / 10_000.0;
            let value = problem.value(metric, range, alpha);
            assert!(value <= found.value + 1e-12, "{metric} at {alpha}: {value} > {}", found.value);
        }
    };
    let problem = large(40, 25);
    for name in ["ndcg@10", "map", "err@5", "mrr"] {
        check(&problem, Range::Between, &name.parse().unwrap());
    }
    let problem = large(12, 15);
    for metric in metrics(Ties::Expected, Empty::Skip).iter().skip(2).step_by(3) {
        for range in [Range::Between, RANGES[2]] {
            check(&problem, range, metric);
        }
    }
}

#[test]
fn neither_threads_nor_the_order_of_rows_or_queries_change_a_bit() {
    let problem = large(100, 17);
    // Queries backwards, and the docs of each.
    let reversed = Problem {
        first: problem.first.iter().rev().copied().collect(),
        second: problem.second.iter().rev().copied().collect(),
        labels: problem.labels.iter().rev().copied().collect(),
        sizes: problem.sizes.clone(),
        weights: problem.weights.clone().map(|w| w.into_iter().rev().collect()),
    };
    for name in ["ndcg@5", "map"] {
        let options = SweepOptions::new(name.parse().unwrap(), RANGES[2]);
        let found = format!("{:?}", problem.sweep(&options).unwrap());
        assert_eq!(found, format!("{:?}", reversed.sweep(&options).unwrap()));
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let again = pool.install(|| problem.sweep(&options).unwrap());
            assert_eq!(found, format!("{again:?}"));
        }
    }
}

#[test]
fn scores_of_any_magnitude_are_combined() {
    let problem = large(10, 20);
    let options =
        SweepOptions::new("ndcg@5".parse().unwrap(), Range::Along { from: -1.0, to: 1.0 });
    let found = problem.sweep(&options).unwrap();
    for power in [-900, -40, 40, 900] {
        let scale = 2f64.powi(power);
        let second = problem.second.iter().map(|s| s / scale).collect();
        let scaled = Problem { second, ..problem.clone() };
        let range = Range::Along { from: -scale, to: scale };
        let other = scaled.sweep(&SweepOptions { range, ..options.clone() }).unwrap();
        assert_eq!((other.alpha / scale, other.value), (found.alpha, found.value));
    }
}

#[test]
fn edge_cases_have_clear_answers() {
    let problem = |first: &[f64], second: &[f64], labels: &[f32]| Problem {
        first: first.to_vec(),
        second: second.to_vec(),
        labels: labels.to_vec(),
        sizes: vec![i64::try_from(labels.len()).unwrap()],
        weights: None,
    };
    let options = SweepOptions::new("ndcg@10".parse().unwrap(), Range::Between);
    let answer = |problem: &Problem| problem.sweep(&options).map(|s| (s.alpha, s.value));
    let refusal = |problem: &Problem| answer(problem).unwrap_err().to_string();

    let one_doc = problem(&[3.0], &[4.0], &[1.0]);
    assert_eq!(answer(&one_doc).unwrap(), (0.5, 1.0));
    let all_equal = problem(&[1.0, 2.0], &[2.0, 1.0], &[1.0, 1.0]);
    assert_eq!(answer(&all_equal).unwrap(), (0.5, 1.0));
    let twice_the_same = problem(&[1.0, 2.0], &[1.0, 2.0], &[0.0, 1.0]);
    assert_eq!(answer(&twice_the_same).unwrap(), (0.5, 1.0));
    let constant = problem(&[0.0, 0.0], &[0.0, 0.0], &[0.0, 1.0]);
    assert_eq!(answer(&constant).unwrap().0, 0.5);
    // Only where the docs tie is the good one not below both others.
    let best_alone = problem(&[0.0, 0.0], &[1.0, 0.0], &[0.0, 1.0]);
    assert_eq!(answer(&best_alone).unwrap().0, 0.0);

    let nothing = problem(&[1.0, 2.0], &[2.0, 1.0], &[0.0, 0.0]);
    assert!(refusal(&nothing).starts_with("no query has anything to find"));
    let nan = problem(&[1.0, f64::NAN], &[2.0, 1.0], &[0.0, 1.0]);
    assert!(refusal(&nan).starts_with("scores[0][1] = NaN (query 0)"), "{}", refusal(&nan));
    let infinite = problem(&[1.0, 2.0], &[f64::NEG_INFINITY, 1.0], &[0.0, 1.0]);
    assert!(refusal(&infinite).starts_with("scores[1][0] = -inf"));
    let short = problem(&[1.0], &[2.0, 1.0], &[0.0, 1.0]);
    assert!(refusal(&short).contains("wrong length"));
    let range = Range::Along { from: 1.0, to: 1.0 };
    let empty = one_doc.sweep(&SweepOptions { range, ..options.clone() }).unwrap_err();
    assert_eq!(empty.fault().unwrap().code, "combine.range");
}

/// One query after the other, with the labels of each.
fn of_queries(queries: &[[&[f64]; 2]], labels: &[&[f32]]) -> Problem {
    Problem {
        first: queries.iter().flat_map(|[first, _]| first.iter().copied()).collect(),
        second: queries.iter().flat_map(|[_, second]| second.iter().copied()).collect(),
        labels: labels.concat(),
        sizes: labels.iter().map(|labels| i64::try_from(labels.len()).unwrap()).collect(),
        weights: None,
    }
}

#[test]
fn a_small_value_of_many_queries_is_found() {
    // The best that there is is a ten-thousandth of what there might be.
    let convention = Convention { max_label: Some(12.0), ..Convention::default() };
    let err = Metric::new(Measure::Err, None, convention).unwrap();
    let down = [9.0, 8.0, 1.0, 0.0];
    let problem = of_queries(&[[&down, &[9.0, 8.0, 0.0, 1.0]]], &[&[0.0, 0.0, 1.0, 0.0]]);
    let found = problem.sweep(&SweepOptions::new(err, Range::Between)).unwrap();
    assert_eq!(found.interval, (0.0, 0.5));
    assert!((found.value * 3.0 * 4096.0 - 1.0).abs() < 1e-12);
    // One query in five thousand has anything to find.
    let nothing = [&[1.0, 2.0][..], &[2.0, 1.0]];
    let mut queries = vec![[&[9.0, 8.0, 0.0, 1.0][..], &down]];
    queries.resize(5000, nothing);
    let mut labels = vec![&[0.0, 0.0, 1.0, 0.0][..]];
    labels.resize(5000, &[0.0, 0.0]);
    let problem = of_queries(&queries, &labels);
    let found = problem.sweep(&SweepOptions::new("mrr".parse().unwrap(), Range::Between)).unwrap();
    assert_eq!((found.interval, found.value), ((0.5, 1.0), 1.0 / 3.0));
}

#[test]
fn scores_too_far_apart_are_refused_or_no_worse_than_each_ranker() {
    let options = SweepOptions::new("ndcg".parse().unwrap(), Range::Between);
    for far in [-1e30, f64::from(f32::MIN), 1e17] {
        let problem = of_queries(&[[&[1.0, 2.0, 3.0], &[1.0, 2.0, far]]], &[&[0.0, 1.0, 0.0]]);
        let refused = problem.sweep(&options).unwrap_err();
        assert_eq!(refused.fault().unwrap().code, "score.far");
        assert!(refused.to_string().contains("scores[1][2] = "), "{refused}");
        // Where few scores are all that there is, they count.
        let trees = SweepOptions { few_outputs: true, ..options.clone() };
        let best = [0.0, 1.0].map(|alpha| problem.value(&options.metric, Range::Between, alpha));
        assert!(problem.sweep(&trees).unwrap().value >= best[0].max(best[1]));
    }
    for (a, b) in [([0.0, 1.0], [1e18, 1e18]), ([1e-20, 2e-20], [2.0, 1.0])] {
        for labels in [[0.0, 1.0], [1.0, 0.0]] {
            let problem = of_queries(&[[&a, &b]], &[&labels]);
            let best = [0.0, 1.0].map(|t| problem.value(&options.metric, Range::Between, t));
            assert!(problem.sweep(&options).unwrap().value >= best[0].max(best[1]));
        }
    }
    // Next to nothing is what rounding leaves of 0.
    let rounded = of_queries(
        &[[&[1e-17, 1.0, 2.0, 0.5, 0.7, 0.1], &[1.0, 0.0, -1e-18, 3.0, 2.0, 5.0]]],
        &[&[0.0, 1.0, 2.0, 0.0, 1.0, 0.0]],
    );
    assert!(rounded.sweep(&options).is_ok());
}

#[test]
fn a_query_of_many_crossings_takes_many_passes() {
    let docs = 0..400;
    let up: Vec<f64> = docs.clone().map(f64::from).collect();
    let down: Vec<f64> = docs.clone().map(|doc| f64::from(doc * doc) / -100.0).collect();
    let labels: Vec<f32> = docs.map(|doc| (doc % 3) as f32).collect();
    let problem = of_queries(&[[&up, &down]], &[&labels]);
    let mut options = SweepOptions::new("ndcg".parse().unwrap(), Range::Between);
    let whole = problem.sweep(&options).unwrap();
    options.most_events = 100;
    assert!(whole.num_events > 10_000);
    assert_eq!(problem.sweep(&options).unwrap(), whole);
}

#[test]
fn a_long_curve_is_sampled_at_its_heights() {
    let problem = large(100, 20);
    let mut options = SweepOptions::new("ndcg".parse().unwrap(), Range::Between);
    let whole = problem.sweep(&options).unwrap();
    options.curve_steps = 50;
    let sample = problem.sweep(&options).unwrap();
    assert_eq!((sample.alpha, sample.value), (whole.alpha, whole.value));
    assert!(whole.curve.is_whole && !sample.curve.is_whole);
    assert!((40..=50).contains(&sample.curve.steps.len()), "{}", sample.curve.steps.len());
    assert!(sample.curve.steps.iter().all(|step| whole.curve.steps.contains(step)));
    let top = |steps: &[rustrank::combine::Step]| steps.iter().map(|s| s.value).fold(0.0, f64::max);
    assert_eq!(top(&sample.curve.steps), top(&whole.curve.steps));
}
