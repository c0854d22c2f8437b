//! Merges rankers pair by pair until one is left: a binary tree of two-way combinations.
//!
//! Each merge is the best combination of its two rankers, so it is no worse than either; the order of
//! merges is given, or found greedily.
//!
//! Cost: about `n * n` sweeps for `n` rankers where all pairs are tried, and `n - 1` where the tree is
//! given.

use super::rankers::{Combination, RankerSet, alone, check, mix, spread};
use super::{AlphaRange, JudgedQueries};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::metric::Metric;

/// Which two rankers [`merge_pairwise`] merges next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeOrder {
    /// The pair whose combination is best.
    BestFirst,
    /// The pair between which the metric changes most often.
    MostDifferentFirst,
    /// These pairs, in order. Rankers have their numbers, and the result of a merge has the next one.
    Given(Vec<(usize, usize)>),
}

impl MergeOrder {
    /// Refuses a tree that leaves out a ranker or merges one twice.
    fn check(&self, num_rankers: usize) -> Result<()> {
        let Self::Given(joins) = self else { return Ok(()) };
        let mut is_left = vec![true; num_rankers];
        for (number, &(x, y)) in joins.iter().enumerate() {
            let is_there = |node: usize| is_left.get(node) == Some(&true);
            if x == y || !is_there(x) || !is_there(y) {
                return Err(Error::param("combine.tree", format!("join {number} cannot be made"))
                    .got(format!("{x} and {y}"))
                    .expected(format!(
                        "two different nodes below {} that are left",
                        is_left.len()
                    )));
            }
            (is_left[x], is_left[y]) = (false, false);
            is_left.push(true);
        }
        match is_left.iter().filter(|is_left| **is_left).count() {
            1 => Ok(()),
            left => Err(Error::param("combine.tree", "the tree does not join all rankers")
                .got(format!("{left} that are left"))
                .expected("1")),
        }
    }
}

/// Merges rankers two by two, each pair by its best combination, until one is left.
pub fn merge_pairwise(
    rankers: &[&[f64]],
    judged: &JudgedQueries<'_>,
    metric: &Metric,
    order: &MergeOrder,
    interrupt: &Interrupt,
) -> Result<Combination> {
    check(rankers, judged)?;
    order.check(rankers.len())?;
    let set = RankerSet { rankers, judged, metric, interrupt };
    let num_rankers = rankers.len();
    let alone = |ranker| set.node(alone(ranker, num_rankers));
    let mut nodes = (0..num_rankers).map(alone).collect::<Result<Vec<_>>>()?;
    let mut left: Vec<usize> = (0..num_rankers).collect();
    let (mut joins, mut history, mut path) = (Vec::new(), Vec::new(), Vec::new());
    if !matches!(order, MergeOrder::Given(_)) {
        for y in 0..num_rankers {
            set.try_joins(&nodes, &left[..y], y, &mut joins)?;
        }
    }
    while left.len() > 1 {
        if let MergeOrder::Given(given) = order {
            let (x, y) = given[history.len()];
            joins = vec![set.join(&nodes, [x, y])?];
        }
        let better = |join: &MergeCandidate, than: &MergeCandidate| match order {
            MergeOrder::BestFirst => join.value > than.value,
            MergeOrder::MostDifferentFirst => join.num_events > than.num_events,
            MergeOrder::Given(_) => false,
        };
        let next = joins.iter().reduce(|x, y| if better(y, x) { y } else { x });
        let join = next.ok_or_else(|| Error::internal("two rankers that were never joined"))?;
        let (merged, node) = (join.nodes, set.node(join.weights(&nodes))?);
        joins.retain(|join| !merged.iter().any(|node| join.nodes.contains(node)));
        left.retain(|node| !merged.contains(node));
        // What is merged is not scored again.
        for gone in merged {
            nodes[gone].scores = Vec::new();
        }
        history.push(node.value);
        path.push(node.weights.clone());
        nodes.push(node);
        if !matches!(order, MergeOrder::Given(_)) {
            set.try_joins(&nodes, &left, nodes.len() - 1, &mut joins)?;
        }
        left.push(nodes.len() - 1);
    }
    let last = nodes.pop().ok_or_else(|| Error::internal("no ranker is left"))?;
    let MergeNode { weights, value, .. } = last;
    let passes = history.len();
    if path.is_empty() {
        (history, path) = (vec![value], vec![weights.clone()]);
    }
    Ok(Combination { weights, value, history, path, passes })
}

/// A ranker, or the result of merges.
struct MergeNode {
    weights: Vec<f64>,
    scores: Vec<f64>,
    spread: f64,
    value: f64,
}

/// Two nodes and their best combination.
struct MergeCandidate {
    nodes: [usize; 2],
    /// The weights of the two nodes' scores.
    shares: [f64; 2],
    value: f64,
    num_events: u64,
}

impl RankerSet<'_> {
    fn node(&self, weights: Vec<f64>) -> Result<MergeNode> {
        let scores = mix(self.rankers, &weights);
        let value = self.value(&scores)?;
        let spread = spread(&scores, self.judged);
        Ok(MergeNode { weights, scores, spread, value })
    }

    /// The merges of node `y` with the nodes `left` before it.
    fn try_joins(
        &self,
        nodes: &[MergeNode],
        left: &[usize],
        y: usize,
        joins: &mut Vec<MergeCandidate>,
    ) -> Result<()> {
        for &x in left {
            joins.push(self.join(nodes, [x, y])?);
        }
        Ok(())
    }

    /// The best combination of two nodes.
    fn join(&self, nodes: &[MergeNode], pair: [usize; 2]) -> Result<MergeCandidate> {
        let factors = pair.map(|node| to_one(nodes[node].spread));
        let scaled = |at: usize| -> Vec<f64> {
            nodes[pair[at]].scores.iter().map(|score| score * factors[at]).collect()
        };
        let (a, b) = (scaled(0), scaled(1));
        let found = self.swept([&a, &b], AlphaRange::Between)?;
        let shares = [factors[0] * (1.0 - found.alpha), factors[1] * found.alpha];
        let (value, num_events) = (found.value, found.num_events);
        Ok(MergeCandidate { nodes: pair, shares, value, num_events })
    }
}

impl MergeCandidate {
    /// The weight of each ranker.
    fn weights(&self, nodes: &[MergeNode]) -> Vec<f64> {
        let [x, y] = self.nodes.map(|node| &nodes[node].weights);
        x.iter().zip(y).map(|(v, w)| self.shares[0] * v + self.shares[1] * w).collect()
    }
}

/// The power of two that brings a spread near 1; multiplying by it is exact.
fn to_one(spread: f64) -> f64 {
    let bits = spread.to_bits() & (0x7ff << 52);
    if spread.is_normal() && spread.recip().is_normal() {
        f64::from_bits(bits).recip()
    } else {
        1.0
    }
}
