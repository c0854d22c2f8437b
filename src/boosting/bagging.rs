//! Chooses the documents that a tree is fitted to.
//!
//! The documents of a round fall into three parts: those the tree is fitted to; those that are only
//! routed to its leaves (out of the bag, or without a gradient); and those of queries without
//! pairs, which no tree needs if the loss is about pairs. Draws depend on the content of a query or
//! document and on the round only.

use super::doc_sampling::thin;
use super::{BoostingParams, DocSampling};
use crate::Gradient;
use crate::data::Dataset;
use crate::error::Result;
use crate::random::{draw, draw_in, start};
use crate::tree::{Criterion, GrowthReducer};
use rayon::prelude::*;

/// Queries per task.
const QUERIES_A_TASK: usize = 1024;
/// Separate the draws of queries and of documents from all other draws.
const OF_QUERIES: u64 = 0x71_75_65_72_69_65_73;
const OF_DOCS: u64 = 0x64_6f_63_73;

/// The largest draws of queries and of documents that are in the bag.
#[derive(Debug, Clone, Copy, PartialEq)]
struct BagShares {
    queries: u64,
    docs: u64,
}

impl BagShares {
    const ALL: Self = Self { queries: u64::MAX, docs: u64::MAX };

    /// Twice as many of both, up to all.
    fn doubled(self) -> Self {
        let twice = |share: u64| share.saturating_mul(2).max(1);
        Self { queries: twice(self.queries), docs: twice(self.docs) }
    }
}

/// The documents of the latest round, ascending.
#[derive(Debug)]
pub(super) struct Bagging {
    queries: Vec<u32>,
    seed: u64,
    shares: BagShares,
    /// How documents are sampled by their gradients, and the share that is kept; `None` for uniform
    /// sampling.
    thinning: Option<(DocSampling, f64)>,
    /// Whether documents without a gradient are kept: least squares fits them too.
    keeps_still: bool,
    /// The documents that the tree is fitted to.
    pub(super) docs: Vec<u32>,
    /// The documents that are only routed.
    pub(super) rest: Vec<u32>,
}

impl Bagging {
    /// Bagging of all queries, or only of those with two different labels.
    pub(super) fn new(dataset: &Dataset, params: &BoostingParams, only_pairs: bool) -> Self {
        let labels = dataset.labels();
        let keep = |docs: std::ops::Range<usize>| {
            !only_pairs || labels[docs].windows(2).any(|pair| pair[0] != pair[1])
        };
        let queries = dataset.queries().ranges().enumerate();
        let is_uniform = params.doc_sampling == DocSampling::Uniform;
        Self {
            queries: queries
                .filter(|(_, docs)| keep(docs.clone()))
                .map(|(q, _)| q as u32)
                .collect(),
            seed: params.grow.seed,
            shares: BagShares {
                queries: share(params.queries_per_tree),
                docs: share(if is_uniform { params.docs_per_tree } else { 1.0 }),
            },
            thinning: (!is_uniform && params.docs_per_tree < 1.0)
                .then_some((params.doc_sampling, params.docs_per_tree)),
            keeps_still: params.grow.criterion == Criterion::LeastSquares,
            docs: Vec::new(),
            rest: Vec::new(),
        }
    }

    /// Chooses the documents of a round. Gradients of sampled documents are scaled to stand for the
    /// others.
    ///
    /// Returns the number of chosen documents over all workers.
    pub(super) fn draw(
        &mut self,
        dataset: &Dataset,
        gradients: &mut [Gradient],
        reducer: &dyn GrowthReducer,
        round: u64,
    ) -> Result<u64> {
        let mut shares = self.shares;
        let num_docs = loop {
            self.split(dataset, gradients, round, shares);
            let mut num_docs = [self.docs.len() as u64];
            reducer.sum("the docs of a tree", round, &mut num_docs)?;
            if num_docs != [0] || shares == BagShares::ALL {
                break num_docs;
            }
            // A small share of few queries may be none: the share grows until it is one, or a few.
            shares = shares.doubled();
        };
        let Some((sampling, share)) = self.thinning else { return Ok(num_docs[0]) };
        let (start, doc_hash) = (start(self.seed ^ OF_DOCS, round), dataset.doc_hash());
        let draw = |doc: u32| draw_in(start, doc_hash[doc as usize]);
        thin(sampling, share, draw, gradients, [&mut self.docs, &mut self.rest]);
        Ok(self.docs.len() as u64)
    }

    fn split(&mut self, dataset: &Dataset, gradients: &[Gradient], round: u64, shares: BagShares) {
        let part = |queries: &[u32]| {
            let (query_hash, doc_hash) = (dataset.query_hash(), dataset.doc_hash());
            let ranges = queries.iter().map(|&q| (q, dataset.queries().range(q as usize)));
            let num_docs = ranges.clone().map(|(_, docs)| docs.len()).sum();
            let (mut docs, mut rest) = (Vec::with_capacity(num_docs), Vec::new());
            for (query, range) in ranges {
                let hash = query_hash[query as usize];
                if draw(self.seed ^ OF_QUERIES, round, hash) > shares.queries {
                    rest.extend(range.start as u32..range.end as u32);
                    continue;
                }
                let of_query = &gradients[range.clone()];
                // Zero of either sign in both; without a branch, since hardly any gradient is zero.
                let bits = |g: &Gradient| (g.grad.to_bits() | g.hess.to_bits()) << 1;
                let is_still = |gradient: &Gradient| !self.keeps_still && bits(gradient) == 0;
                let any_still =
                    of_query.iter().fold(false, |any, gradient| any | is_still(gradient));
                if shares.docs == u64::MAX && !any_still {
                    docs.extend(range.start as u32..range.end as u32);
                    continue;
                }
                for (doc, gradient) in range.zip(of_query) {
                    let drawn = shares.docs == u64::MAX
                        || draw(self.seed ^ OF_DOCS, round, doc_hash[doc]) <= shares.docs;
                    if drawn && !is_still(gradient) { &mut docs } else { &mut rest }
                        .push(doc as u32);
                }
            }
            [docs, rest]
        };
        let parts: Vec<[Vec<u32>; 2]> = self.queries.par_chunks(QUERIES_A_TASK).map(part).collect();
        self.docs.clear();
        self.rest.clear();
        for [docs, rest] in parts {
            self.docs.extend(docs);
            self.rest.extend(rest);
        }
    }
}

/// The largest draw that is in the bag.
fn share(of: f64) -> u64 {
    // Saturates for a share of 1.
    (of * 2f64.powi(64)) as u64
}
