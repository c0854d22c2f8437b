//! Intervals and tests: against textbook values and slow references, blind to order and threads.

use proptest::prelude::*;
use rustrank::metric::significance::{Resampling, bootstrap, randomisation_test, t_test, tally};
use rustrank::{ErrorKind, Interrupt, Mean, random};

fn near(a: f64, b: f64, by: f64) -> bool {
    (a - b).abs() <= by
}

fn values(seed: u64, num: usize) -> Vec<f64> {
    (0..num).map(|q| random::below(random::draw(seed, 0, q as u64), 1 << 20) as f64 / 1e6).collect()
}

/// Student's sleep data (1908), the paired test of every textbook: t = -4.0621, p = 0.002833.
const SLEEP: [[f64; 10]; 2] = [
    [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
];

#[test]
fn the_t_test_of_the_sleep_data() {
    let test = t_test(&SLEEP[0], &SLEEP[1]).unwrap();
    assert!(near(test.t, -4.062_127_683, 1e-8), "{test:?}");
    assert!(near(test.p_value, 0.002_832_89, 1e-8), "{test:?}");
    assert_eq!(test.degrees, 9);
    let tally = tally(&SLEEP[0], &SLEEP[1]).unwrap();
    assert_eq!((tally.wins, tally.ties, tally.losses), (0, 1, 9));
    assert!(near(tally.mean_difference, -1.58, 1e-12));
}

#[test]
fn a_t_test_with_one_degree_of_freedom_is_a_cauchy_tail() {
    let test = t_test(&[1.0, 4.0], &[0.0, 1.0]).unwrap();
    let expected = 2.0 * (0.5 - test.t.atan() / std::f64::consts::PI);
    assert!(near(test.t, 2.0, 1e-12) && near(test.p_value, expected, 1e-12), "{test:?}");
}

#[test]
fn t_tests_without_spread() {
    assert_eq!(t_test(&[1.0, 2.0], &[1.0, 2.0]).unwrap().p_value, 1.0);
    assert_eq!(t_test(&[1.0], &[0.0]).unwrap().p_value, 1.0);
    assert_eq!(t_test(&[], &[]).unwrap().p_value, 1.0);
    let same = t_test(&[1.0, 1.0, 1.0], &[2.0, 2.0, 2.0]).unwrap();
    assert_eq!((same.t, same.p_value), (f64::NEG_INFINITY, 0.0));
}

/// All sign patterns, by recursion.
fn exact_p(differences: &[f64]) -> f64 {
    fn sums(differences: &[f64], sum: f64, all: &mut Vec<f64>) {
        match differences {
            [] => all.push(sum),
            [first, rest @ ..] => {
                sums(rest, sum + first, all);
                sums(rest, sum - first, all);
            }
        }
    }
    let mut all = Vec::new();
    sums(differences, 0.0, &mut all);
    let observed = differences.iter().sum::<f64>().abs();
    all.iter().filter(|sum| sum.abs() >= observed - 1e-9).count() as f64 / all.len() as f64
}

proptest! {
    #[test]
    fn few_differences_are_enumerated(tenths in prop::collection::vec(-6..7i32, 0..12)) {
        // Tenths: many sums are equal in truth and differ in the last bit.
        let a: Vec<f64> = tenths.iter().map(|d| 0.3 + f64::from(*d) / 10.0).collect();
        let b = vec![0.3; a.len()];
        let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        let got = randomisation_test(&a, &b, Resampling::default(), &Interrupt::new()).unwrap();
        prop_assert!(got.exact);
        prop_assert_eq!(got.p_value, exact_p(&differences));
    }
}

#[test]
fn many_differences_are_drawn_and_agree_with_the_exact_test() {
    let resampling = Resampling { resamples: 40_000, seed: 3 };
    let a: Vec<f64> = values(1, 16).iter().map(|v| v + 0.15).collect();
    let b = values(2, 16);
    let run =
        |a: &[f64], b: &[f64]| randomisation_test(a, b, resampling, &Interrupt::new()).unwrap();
    let exact = run(&a, &b);
    // A 17th difference too small to matter, but not 0, leaves the enumeration.
    let with = |values: &[f64], last: f64| [values, &[last]].concat();
    let drawn = run(&with(&a, 1e-9), &with(&b, 0.0));
    assert!(exact.exact && !drawn.exact);
    assert!(near(exact.p_value, drawn.p_value, 0.01), "{exact:?} {drawn:?}");
    let strong = run(&values(5, 200).iter().map(|v| v + 1.0).collect::<Vec<_>>(), &values(6, 200));
    assert_eq!(strong.p_value, 1.0 / 40_001.0);
}

#[test]
fn the_bootstrap_agrees_with_the_normal_interval() {
    let values = values(7, 2000);
    let mean = Mean::of(&values, None).unwrap().value;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 1999.0;
    let half = 1.959_964 * (variance / 2000.0).sqrt();
    let resampling = Resampling { resamples: 4000, seed: 1 };
    let got = bootstrap(&values, None, 0.95, resampling, &Interrupt::new()).unwrap();
    assert!(near(got.low, mean - half, half * 0.1), "{got:?}");
    assert!(near(got.high, mean + half, half * 0.1), "{got:?}");
    let one = bootstrap(&[0.3, f64::NAN], None, 0.9, resampling, &Interrupt::new()).unwrap();
    assert_eq!((one.low, one.high), (0.3, 0.3));
    let none = bootstrap(&[f64::NAN], None, 0.9, resampling, &Interrupt::new()).unwrap();
    assert!(none.low.is_nan() && none.high.is_nan());
}

#[test]
fn a_query_of_weight_two_is_not_two_queries_but_moves_the_mean() {
    let resampling = Resampling { resamples: 2000, seed: 1 };
    let run = |weights: &[f64]| {
        bootstrap(&[0.0, 1.0], Some(weights), 0.5, resampling, &Interrupt::new()).unwrap()
    };
    assert_eq!(run(&[0.0, 3.0]).low, 1.0);
    // Both drawn once has probability 1/2: the quartiles are the mean or a single value.
    let got = run(&[1.0, 3.0]);
    assert!(got.low >= 0.0 && got.high <= 1.0 && got.low <= 0.75 && got.high >= 0.75);
}

#[test]
fn order_and_threads_change_no_bit() {
    let (mut a, mut b) = (values(11, 500), values(12, 500));
    a[3] = f64::NAN;
    b[3] = f64::NAN;
    let mut weights: Vec<f64> = values(13, 500);
    let resampling = Resampling { resamples: 300, seed: 9 };
    let run = |threads: usize, a: &[f64], b: &[f64], weights: &[f64]| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let interrupt = Interrupt::new();
            let interval = bootstrap(a, Some(weights), 0.9, resampling, &interrupt).unwrap();
            let random = randomisation_test(a, b, resampling, &interrupt).unwrap();
            let t = t_test(a, b).unwrap();
            let tally = tally(a, b).unwrap();
            [interval.low, interval.high, random.p_value, t.t, t.p_value, tally.mean_difference]
                .map(f64::to_bits)
        })
    };
    let one = run(1, &a, &b, &weights);
    assert_eq!(one, run(4, &a, &b, &weights));
    for list in [&mut a, &mut b, &mut weights] {
        list.rotate_left(123);
        list.reverse();
    }
    assert_eq!(one, run(4, &a, &b, &weights));
}

#[test]
fn swapping_the_rankers_keeps_the_p_values() {
    let (a, b) = (values(21, 40), values(22, 40));
    let resampling = Resampling { resamples: 500, seed: 2 };
    let run = |a: &[f64], b: &[f64]| {
        let random = randomisation_test(a, b, resampling, &Interrupt::new()).unwrap();
        (t_test(a, b).unwrap(), random)
    };
    let ((t1, r1), (t2, r2)) = (run(&a, &b), run(&b, &a));
    assert!(near(t1.t, -t2.t, 1e-12) && near(t1.p_value, t2.p_value, 1e-12));
    assert!(near(r1.p_value, r2.p_value, 0.06));
}

#[test]
fn what_cannot_be_tested_is_refused() {
    let (none, few) = (Resampling { resamples: 0, seed: 0 }, Resampling::default());
    let up = Interrupt::new();
    for level in [0.0, 1.0, f64::NAN] {
        let error = bootstrap(&[1.0], None, level, few, &up).unwrap_err();
        assert_eq!(error.fault().unwrap().code, "significance.level");
    }
    let many = Resampling { resamples: 10_000_001, ..none };
    for resampling in [none, many] {
        let error = bootstrap(&[1.0], None, 0.9, resampling, &up).unwrap_err();
        assert_eq!(error.fault().unwrap().code, "significance.resamples");
    }
    assert!(randomisation_test(&[1.0], &[1.0], none, &up).is_err());
    assert_eq!(t_test(&[1.0], &[]).unwrap_err().fault().unwrap().code, "length");
    let error = tally(&[1.0, f64::INFINITY], &[0.0, 0.0]).unwrap_err();
    assert_eq!(error.fault().unwrap().place.query.as_deref(), Some("1"));
    up.raise();
    let error = bootstrap(&[1.0], None, 0.9, few, &up).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Interrupted));
    let error = randomisation_test(&values(1, 20), &values(2, 20), few, &up).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Interrupted));
}

#[test]
fn the_t_test_does_not_depend_on_the_unit() {
    let zeros = [0.0; 3];
    let p = |unit: f64| t_test(&[unit, 2.0 * unit, 3.0 * unit], &zeros).unwrap().p_value;
    for unit in [1e-300, 1e-200, 1e-9, 1e9, 1e200, 1e300] {
        assert!((p(unit) - p(1.0)).abs() < 1e-12, "{unit:e}: {} and {}", p(unit), p(1.0));
    }
}
