//! Augmentation: trains on each query and on copies of it with a random subset of its docs.
//!
//! A ranker may learn that one doc belongs above another only because a third lies between them. Copies
//! without the third prevent this. The docs of a copy are drawn without replacement (Burges and others, "Learning to Rank
//! Using an Ensemble of Lambda-Gradient Models", 2011, section 2: 70% five times, 50% ten times).
//!
//! A *copy* of a query is ranked alone: gains, the ideal order, ties and the cut are those of its own
//! docs. The gradient of a doc is the sum over the query and the copies that contain it. No data are
//! copied: the docs of a copy follow from `hash(seed, copy, content of the doc)`, so that neither the order
//! of rows nor threads matter, and are selected anew each round.

use super::GradientCall;
use super::tasks::{Query, for_each_query};
use crate::error::{Error, Result};
use crate::gradient::Gradient;
use crate::{Queries, random};

/// Separates these random draws from others with the same seed.
const PURPOSE: u64 = u64::from_le_bytes(*b"rraugmnt");

/// How queries are copied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Augment {
    /// The share of its docs that a copy keeps, rounded to whole docs, at least one; above 0, below 1.
    pub fraction: f64,
    /// How many copies there are beside the query itself, from 1 to 1024.
    pub copies: usize,
}

impl Augment {
    /// An error that names what is out of its range.
    pub fn check(self) -> Result<()> {
        if !(self.fraction > 0.0 && self.fraction < 1.0) {
            return Err(Error::param(
                "augment.fraction",
                "augment: the fraction of documents that copies keep",
            )
            .got(self.fraction)
            .expected("a number above 0 and below 1"));
        }
        if !(1..=1024).contains(&self.copies) {
            return Err(Error::param("augment.copies", "augment: the number of copies of queries")
                .got(self.copies)
                .expected("a whole number from 1 to 1024"));
        }
        Ok(())
    }

    /// The docs that copy `copy` of a query keeps, rising, from the content hashes of all its docs.
    ///
    /// Docs of the same content are all kept or all left out, so that one more than the share asks
    /// for may stay.
    pub fn docs(self, seed: u64, copy: usize, doc_hash: &[u64]) -> Vec<u32> {
        let mut copied = Copied::default();
        copied.choose(self, (seed, copy), doc_hash);
        copied.docs
    }

    /// All queries and then all copies, one after the other: the docs of each, and its number.
    ///
    /// Left out are copies without two different labels: they have nothing to be ranked by.
    pub fn copies_of(
        self,
        seed: u64,
        (labels, queries, doc_hash): (&[f32], &Queries, &[u64]),
    ) -> Vec<(usize, Vec<u32>)> {
        let mut all: Vec<(usize, Vec<u32>)> = Vec::new();
        for (query, docs) in queries.ranges().enumerate() {
            all.push((query, docs.map(|doc| doc as u32).collect()));
        }
        for copy in 0..self.copies {
            for (query, docs) in queries.ranges().enumerate() {
                let start = docs.start as u32;
                let mut kept = self.docs(seed, copy, &doc_hash[docs]);
                for doc in &mut kept {
                    *doc += start;
                }
                let label = |doc: u32| labels[doc as usize];
                if kept.iter().any(|&doc| label(doc) != label(kept[0])) {
                    all.push((query, kept));
                }
            }
        }
        all
    }

    /// The identity of a doc of a copy, for all other random draws.
    pub fn identity(seed: u64, copy: usize, doc_hash: u64) -> u64 {
        random::draw(seed ^ PURPOSE, copy as u64, doc_hash)
    }
}

/// Runs `one` for each query, and adds its copies if there are some, which are drawn by the seed. `cost` is
/// that of a query without.
pub(super) fn for_each_query_and_copy<B: Default + Send>(
    (augment, seed): (Option<Augment>, u64),
    call: GradientCall<'_>,
    gradients: &mut [Gradient],
    cost_of_one: impl Fn(usize) -> u64,
    one: impl Fn(&mut B, Query<'_>, &mut [Gradient]) -> Result<()> + Sync + Send,
) -> Result<()> {
    let cost = |docs| cost(augment, docs, &cost_of_one);
    let all = |(buffers, copied): &mut (B, Copied), query: Query<'_>, gradients: &mut [_]| {
        one(buffers, query, gradients)?;
        let Some(augment) = augment else { return Ok(()) };
        copied.start(gradients);
        for copy in 0..augment.copies {
            copied.choose(augment, (seed, copy), query.doc_hash);
            copied.add(query, |copy, gradients| one(buffers, copy, gradients))?;
        }
        copied.finish(query, gradients)
    };
    for_each_query(call, gradients, cost, all)
}

/// The cost of a query with its copies; `cost` is that of a query without.
fn cost(augment: Option<Augment>, docs: usize, cost: impl Fn(usize) -> u64) -> u64 {
    let copies = augment.map_or(0, |augment| {
        let kept = cost((docs as f64 * augment.fraction) as usize);
        (kept + 8 * docs as u64) * augment.copies as u64
    });
    cost(docs) + copies
}

/// A copy of a query, in buffers that a thread keeps.
#[derive(Debug, Default)]
struct Copied {
    /// The random draw of each doc of the query, and a copy of them to select from.
    keys: Vec<u64>,
    selected: Vec<u64>,
    /// The docs that are in the copy, and their columns.
    docs: Vec<u32>,
    scores: Vec<f64>,
    labels: Vec<f32>,
    doc_hash: Vec<u64>,
    row_weight: Vec<f64>,
    gradients: Vec<Gradient>,
    /// Grad and hess of all docs of the query.
    sums: Vec<[f64; 2]>,
}

impl Copied {
    /// Takes in the gradients of the query as it is.
    fn start(&mut self, gradients: &[Gradient]) {
        self.sums.clear();
        self.sums.extend(gradients.iter().map(|one| [f64::from(one.grad), f64::from(one.hess)]));
    }

    /// Chooses the docs that a copy keeps: those that draw the least.
    fn choose(&mut self, augment: Augment, (seed, copy): (u64, usize), doc_hash: &[u64]) {
        let stream = random::start(seed ^ PURPOSE, copy as u64);
        self.keys.clear();
        self.keys.extend(doc_hash.iter().map(|&id| random::draw_in(stream, id)));
        self.selected.clone_from(&self.keys);
        let kept = ((doc_hash.len() as f64 * augment.fraction).round() as usize).max(1);
        self.docs.clear();
        if doc_hash.is_empty() {
            return;
        }
        let (_, &mut most, _) = self.selected.select_nth_unstable(kept - 1);
        let keys = self.keys.iter().zip(0u32..);
        self.docs.extend(keys.filter(|(key, _)| **key <= most).map(|(_, doc)| doc));
    }

    /// Adds the gradients of a copy, which `one` computes, to those of its docs.
    fn add(
        &mut self,
        query: Query<'_>,
        one: impl FnOnce(Query<'_>, &mut [Gradient]) -> Result<()>,
    ) -> Result<()> {
        gather(&self.docs, query.scores, &mut self.scores);
        gather(&self.docs, query.labels, &mut self.labels);
        gather(&self.docs, &self.keys, &mut self.doc_hash);
        let row_weight = query.row_weight.map(|weights| {
            gather(&self.docs, weights, &mut self.row_weight);
            &self.row_weight[..]
        });
        let copy = Query {
            scores: &self.scores,
            labels: &self.labels,
            doc_hash: &self.doc_hash,
            row_weight,
            ..query
        };
        self.gradients.resize(self.docs.len(), Gradient::default());
        one(copy, &mut self.gradients)?;
        for (&doc, gradient) in self.docs.iter().zip(&self.gradients) {
            let sums = &mut self.sums[doc as usize];
            sums[0] += f64::from(gradient.grad);
            sums[1] += f64::from(gradient.hess);
        }
        Ok(())
    }

    /// Writes the sums.
    fn finish(&self, query: Query<'_>, gradients: &mut [Gradient]) -> Result<()> {
        Query { weight: 1.0, row_weight: None, ..query }.write(&self.sums, [1.0; 2], gradients)
    }
}

/// The values of some docs.
fn gather<T: Copy>(docs: &[u32], from: &[T], into: &mut Vec<T>) {
    into.clear();
    into.extend(docs.iter().map(|&doc| from[doc as usize]));
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Augment = Augment { fraction: 0.5, copies: 10 };

    #[test]
    fn copies_keep_their_share_and_differ() {
        let ids: Vec<u64> = (0..31).map(|doc| random::draw(1, 1, doc)).collect();
        let copies: Vec<Vec<u32>> = (0..10).map(|copy| HALF.docs(3, copy, &ids)).collect();
        assert!(copies.iter().all(|docs| docs.len() == 16 && docs.is_sorted_by(|a, b| a < b)));
        assert!((1..10).all(|copy| !copies[..copy].contains(&copies[copy])));
        assert_ne!(HALF.docs(4, 0, &ids), copies[0]);
        // Each doc has the same chance.
        let mut counts = [0u32; 31];
        for copy in 0..20_000 {
            HALF.docs(5, copy, &ids).iter().for_each(|&doc| counts[doc as usize] += 1);
        }
        let mean = 20_000 * 16 / 31;
        assert!(counts.iter().all(|&count| count.abs_diff(mean) < 400), "{counts:?}");
    }

    #[test]
    fn copies_do_not_know_the_order_of_docs() {
        let ids: Vec<u64> = (0..23).map(|doc| random::draw(7, 1, doc % 19)).collect();
        let turned: Vec<u64> = (0..23).map(|doc| ids[(doc * 5 + 2) % 23]).collect();
        for copy in 0..30 {
            let content = |docs: Vec<u32>, ids: &[u64]| {
                let mut content: Vec<u64> = docs.iter().map(|&doc| ids[doc as usize]).collect();
                content.sort_unstable();
                content
            };
            let straight = content(HALF.docs(1, copy, &ids), &ids);
            assert_eq!(straight, content(HALF.docs(1, copy, &turned), &turned));
        }
        assert_eq!(HALF.docs(1, 0, &[5, 5, 5]), [0, 1, 2]);
        assert_eq!(HALF.docs(1, 0, &[5]), [0]);
        assert!(HALF.docs(1, 0, &[]).is_empty());
    }
}
