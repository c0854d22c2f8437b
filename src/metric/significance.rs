//! Confidence intervals of means over queries, and paired significance tests of two rankers.
//!
//! All of them work on per-query values (NaN where a query is skipped) sorted by content, and draw by
//! hash from `(seed, replicate, position)`: neither the order of queries nor the number of threads
//! changes a bit. Cost: O(resamples x queries), in parallel over resamples, interruptible.
//!
//! The tests follow Smucker, Allan and Carterette 2007: Student's paired t-test, and Fisher's paired
//! randomisation test, in which each query's difference is as likely to have had the other sign.

use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::metric::mean::{mean_of, sorted_by_content};
use crate::random;
use rayon::prelude::*;
use statrs::function::beta::checked_beta_reg;

/// How random replicates are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resampling {
    /// How many replicates.
    pub resamples: usize,
    /// The seed of the draws.
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Self {
        Self { resamples: 10_000, seed: 0 }
    }
}

/// A bootstrap confidence interval of a mean over queries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfidenceInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// How many queries ranker `a` wins, ties and loses against `b`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WinCounts {
    /// Queries whose value is larger for `a`.
    pub wins: usize,
    /// Queries with equal values.
    pub ties: usize,
    /// Queries whose value is larger for `b`.
    pub losses: usize,
    /// The unweighted mean of `a - b`; NaN if there is no pair.
    pub mean_difference: f64,
}

/// A paired t-test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TTest {
    /// The mean difference divided by its standard error; infinite if all differences are one number.
    pub t: f64,
    /// The number of pairs less one.
    pub degrees: usize,
    /// The two-sided p-value; 1 with fewer than two pairs.
    pub p_value: f64,
}

/// A paired randomisation test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomisationTest {
    /// Two-sided: how often random signs give a sum at least as far from 0.
    pub p_value: f64,
    /// Whether all sign patterns were enumerated.
    pub exact: bool,
}

/// The most replicates. More would cost memory and change neither p-values nor intervals.
const MAX_RESAMPLES: usize = 10_000_000;
/// Up to this many non-zero differences all 2^n sign patterns are enumerated.
const ENUMERATED: usize = 16;

/// The percentile bootstrap interval of the (weighted) mean at `level`, such as 0.95.
///
/// Queries are drawn with their weights. NaN ends if no query counts.
pub fn bootstrap(
    values: &[f64],
    weights: Option<&[f64]>,
    level: f64,
    resampling: Resampling,
    interrupt: &Interrupt,
) -> Result<ConfidenceInterval> {
    if !(level > 0.0 && level < 1.0) {
        return Err(Error::param("significance.level", "level")
            .got(level)
            .expected("a number between 0 and 1"));
    }
    resampling.check()?;
    let counted = sorted_by_content(values, weights)?;
    if counted.is_empty() {
        return Ok(ConfidenceInterval { low: f64::NAN, high: f64::NAN });
    }
    let num = counted.len() as u64;
    let one = |replicate: usize| {
        interrupt.check()?;
        let draw = |at| random::below(random::draw(resampling.seed, replicate as u64, at), num);
        Ok(mean_of((0..num).map(|at| counted[draw(at) as usize])))
    };
    let means: Result<Vec<f64>> = (0..resampling.resamples).into_par_iter().map(one).collect();
    let mut means = means?;
    means.sort_unstable_by(f64::total_cmp);
    let outside = (1.0 - level) / 2.0;
    Ok(ConfidenceInterval { low: quantile(&means, outside), high: quantile(&means, 1.0 - outside) })
}

/// Linear between the order statistics at `share` of the way from first to last.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let below = (at.floor() as usize).min(sorted.len() - 1);
    let (low, high) = (sorted[below], sorted[(below + 1).min(sorted.len() - 1)]);
    low + (high - low) * (at - below as f64)
}

/// Wins, ties and losses of `a` against `b` over the queries that both have a value for.
pub fn tally(a: &[f64], b: &[f64]) -> Result<WinCounts> {
    let differences = differences(a, b)?;
    let count = |keep: fn(&f64) -> bool| differences.iter().filter(|d| keep(d)).count();
    Ok(WinCounts {
        wins: count(|d| *d > 0.0),
        ties: count(|d| *d == 0.0),
        losses: count(|d| *d < 0.0),
        mean_difference: differences.iter().sum::<f64>() / differences.len() as f64,
    })
}

/// Student's paired t-test of `a` against `b`, over the queries that both have a value for.
pub fn t_test(a: &[f64], b: &[f64]) -> Result<TTest> {
    let differences = differences(a, b)?;
    let num = differences.len() as f64;
    let degrees = differences.len().saturating_sub(1);
    let mean = differences.iter().sum::<f64>() / num;
    if degrees == 0 || differences.iter().all(|d| *d == 0.0) {
        return Ok(TTest { t: 0.0, degrees, p_value: 1.0 });
    }
    if differences.first() == differences.last() {
        return Ok(TTest { t: f64::INFINITY.copysign(mean), degrees, p_value: 0.0 });
    }
    // In units of the widest, no square overflows or vanishes; a power of two rounds nothing.
    let widest = differences.iter().fold(0.0, |widest: f64, d| widest.max((d - mean).abs()));
    let unit = 2f64.powi(-(widest.log2().floor() as i32).clamp(-1000, 1000));
    let squares: f64 = differences.iter().map(|d| ((d - mean) * unit).powi(2)).sum();
    let t = mean * unit / (squares / degrees as f64 / num).sqrt();
    // Both tails of Student's t by the incomplete beta function: exact far out, where 1 - cdf is not.
    let free = degrees as f64;
    let p_value = checked_beta_reg(free / 2.0, 0.5, free / (free + t * t))
        .map_err(|error| Error::internal(format!("t = {t}: {error}")))?;
    Ok(TTest { t, degrees, p_value })
}

/// Fisher's paired randomisation test of `a` against `b`, over the queries that both have a value
/// for.
///
/// With at most 16 differing queries all sign patterns are enumerated; with more, `resamples` are
/// drawn and `p = (1 + hits) / (1 + resamples)`.
pub fn randomisation_test(
    a: &[f64],
    b: &[f64],
    resampling: Resampling,
    interrupt: &Interrupt,
) -> Result<RandomisationTest> {
    resampling.check()?;
    let steps = in_steps(&differences(a, b)?);
    // A step is rounded by at most half, so equal sums of as many steps differ by less than this.
    let rounding = steps.len().cast_signed() as i64;
    let observed = steps.iter().sum::<i64>().abs() - rounding;
    if steps.len() <= ENUMERATED {
        return Ok(RandomisationTest { p_value: enumerate(&steps, observed), exact: true });
    }
    let hit = |replicate: usize| {
        interrupt.check()?;
        let mut sum = 0i64;
        for (word, steps) in steps.chunks(64).enumerate() {
            let mut signs = random::draw(resampling.seed, replicate as u64, word as u64);
            for step in steps {
                // 0 or -1: the step, or its negative in two's complement.
                let sign = -(signs & 1).cast_signed();
                sum += (step ^ sign) - sign;
                signs >>= 1;
            }
        }
        Ok(u64::from(sum.abs() >= observed))
    };
    let hits: Result<u64> =
        (0..resampling.resamples).into_par_iter().map(hit).try_reduce(|| 0, |a, b| Ok(a + b));
    let p_value = (1 + hits?) as f64 / (1 + resampling.resamples) as f64;
    Ok(RandomisationTest { p_value, exact: false })
}

/// The share of all sign patterns whose sum is at least as far from 0, by a Gray code: each pattern
/// is one flip away from the last.
fn enumerate(steps: &[i64], observed: i64) -> f64 {
    let patterns = 1u64 << steps.len();
    let mut signed = steps.to_vec();
    let mut sum: i64 = steps.iter().sum();
    let mut hits = 1u64;
    for pattern in 1..patterns {
        let flipped = &mut signed[pattern.trailing_zeros() as usize];
        sum -= 2 * *flipped;
        *flipped = -*flipped;
        hits += u64::from(sum.abs() >= observed);
    }
    hits as f64 / patterns as f64
}

/// The non-zero differences in whole steps of 2^-40 of the largest (coarser beyond 2^22 queries):
/// sums of integers do not depend on the order, and the error by rounding is known.
fn in_steps(differences: &[f64]) -> Vec<i64> {
    let largest = differences.iter().fold(0.0f64, |largest, d| largest.max(d.abs()));
    let bits = 40.min(differences.len().leading_zeros().saturating_sub(2));
    let steps = f64::from(bits).exp2();
    let differing = differences.iter().filter(|d| **d != 0.0);
    differing.map(|d| (d / largest * steps).round() as i64).collect()
}

/// `a - b` where both are numbers, sorted.
fn differences(a: &[f64], b: &[f64]) -> Result<Vec<f64>> {
    if a.len() != b.len() {
        return Err(Error::data("length", "the values of the second ranker have the wrong length")
            .got(b.len())
            .expected(format!("{}, as many as of the first", a.len())));
    }
    let both = a.iter().zip(b).filter(|(a, b)| !a.is_nan() && !b.is_nan());
    let mut differences: Vec<f64> = both.map(|(a, b)| a - b).collect();
    if let Some(query) = a.iter().zip(b).position(|(a, b)| a.is_infinite() || b.is_infinite()) {
        return Err(Error::data("significance.value", "a value is infinite").query(query));
    }
    differences.sort_unstable_by(f64::total_cmp);
    Ok(differences)
}

impl Resampling {
    fn check(self) -> Result<()> {
        if !(1..=MAX_RESAMPLES).contains(&self.resamples) {
            return Err(Error::param("significance.resamples", "resamples")
                .got(self.resamples)
                .expected(format!("a whole number from 1 to {MAX_RESAMPLES}")));
        }
        Ok(())
    }
}
