//! Divides a dataset into folds of whole queries that share its bins.
//!
//! Which fold a query is in depends on its content, not on the order of rows: queries are in the order of
//! their hashes, which is as good as random. Queries of equal content are in one fold, so that no query is
//! learned from and judged at once. Queries without two different labels, which judge nothing, are
//! distributed separately.

use super::Documents;
use super::content_order::ContentOrder;
use super::dataset::Dataset;
use crate::error::Result;
use crate::hash;
use crate::{Grouping, Queries};

/// A part of a dataset, with the numbers that its queries have in the whole.
#[derive(Debug)]
pub struct QueryPart {
    /// The documents of some queries.
    pub dataset: Dataset,
    /// The caller's number of each query in the whole dataset, ascending.
    pub queries: Vec<u32>,
}

impl Dataset {
    /// The fold of each query.
    pub fn query_folds(&self, num_folds: usize) -> Vec<usize> {
        let (hashes, labels) = (self.query_hash(), self.labels());
        // The numbers of distinct queries so far: those with two different labels, and the others.
        let mut counts = [0, 0];
        let mut folds: Vec<usize> = Vec::with_capacity(hashes.len());
        for (query, docs) in self.queries().ranges().enumerate() {
            if query > 0 && hashes[query] == hashes[query - 1] {
                folds.push(folds[query - 1]);
                continue;
            }
            let is_mixed = labels[docs].windows(2).any(|pair| pair[0] != pair[1]);
            let count = &mut counts[usize::from(is_mixed)];
            folds.push(*count % num_folds);
            *count += 1;
        }
        folds
    }

    /// All but one fold, and that fold. Of data with more documents than `most_docs`, a sample of queries.
    pub fn fold(&self, fold: usize, num_folds: usize, most_docs: usize) -> Result<[QueryPart; 2]> {
        let folds = self.query_folds(num_folds);
        let mut num_docs = 0;
        let mut is_sampled = |docs: std::ops::Range<usize>| {
            let is_first = num_docs == 0;
            num_docs += docs.len();
            is_first || num_docs <= most_docs
        };
        let sample: Vec<bool> = self.queries().ranges().map(&mut is_sampled).collect();
        let chosen = |held: bool| -> Vec<u32> {
            let queries = folds.iter().zip(&sample).enumerate();
            let is_in =
                queries.filter(|(_, (own, in_sample))| **in_sample && (**own == fold) == held);
            is_in.map(|(query, _)| query as u32).collect()
        };
        Ok([self.part(&chosen(false))?, self.part(&chosen(true))?])
    }

    /// The documents of some queries, which are given in the order that they have here.
    fn part(&self, queries: &[u32]) -> Result<QueryPart> {
        let ranges = queries.iter().map(|&query| self.queries().range(query as usize));
        let docs: Vec<u32> = ranges.flat_map(|docs| docs.start as u32..docs.end as u32).collect();
        let matrix = self.matrix().gathered(&docs)?;
        let (documents, queries) = self.documents().part(queries, &docs);
        let dataset = Self::of_parts(self.binning().clone(), matrix, documents);
        Ok(QueryPart { dataset, queries })
    }
}

impl Documents {
    /// Some documents, which make whole queries; with the callers' numbers of these in the whole.
    fn part(&self, queries: &[u32], docs: &[u32]) -> (Self, Vec<u32>) {
        let (rows, _) = ranks_among(docs.iter().map(|&doc| self.rows()[doc as usize]));
        let (query_of, numbers) =
            ranks_among(queries.iter().map(|&query| self.query_of()[query as usize]));
        let mut offsets = vec![0];
        for &query in queries {
            offsets.push(offsets[offsets.len() - 1] + self.queries().range(query as usize).len());
        }
        let of = if queries.is_empty() { Queries::none() } else { Queries::from_offsets(offsets) };
        let query_hash: Vec<u64> = queries.iter().map(|&q| self.query_hash()[q as usize]).collect();
        let order = ContentOrder {
            grouping: Grouping { queries: of, rows },
            query_of,
            doc_hash: docs.iter().map(|&doc| self.doc_hash()[doc as usize]).collect(),
            checksum: query_hash.iter().fold(0, |sum, &hash| sum.wrapping_add(hash::mix(hash))),
            query_hash,
        };
        (self.gathered(order, queries, docs), numbers)
    }
}

/// The rank of each number among all, which are different; and all of them in order.
fn ranks_among(numbers: impl Iterator<Item = u32>) -> (Vec<u32>, Vec<u32>) {
    let numbers: Vec<u32> = numbers.collect();
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    let mut order: Vec<u32> = (0..numbers.len() as u32).collect();
    order.sort_unstable_by_key(|&at| numbers[at as usize]);
    let mut ranks = vec![0; numbers.len()];
    for (rank, &at) in order.iter().enumerate() {
        ranks[at as usize] = rank as u32;
    }
    (ranks, sorted)
}
