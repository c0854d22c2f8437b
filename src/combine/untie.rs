//! Scores without ties: the other two ways of Wu et al. 2008, beside the expectation.
//!
//! Docs of a query that a ranker gives the same score are put into an order of their own, by a score
//! that breaks ties or by *jitter*: numbers that look random and depend on the content of docs and a
//! seed alone. To the scores, counted from the lowest of the query, is added less than 2^-30 of what they
//! range over in it: docs that are closer count as tied.
//!
//! Rankers that were all treated so, by the same numbers, keep that order in every mixture of positive
//! weights, so that sweeps need not know of it.

use super::Judged;
use super::many::{check, range};
use crate::error::Result;
use crate::hash;
use crate::random;
use rayon::prelude::*;

/// What of the range of its scores a query gives up; above the last bits that sweeps see.
const SHARE: f64 = 1.0 / (1u64 << 30) as f64;

/// What orders docs that are tied.
#[derive(Debug, Clone, Copy)]
pub enum TieBreak<'a> {
    /// A score of each doc, larger is better; where it ties too, docs stay tied.
    Score(&'a [f64]),
    /// Numbers of this seed.
    Jitter(u64),
}

/// The scores of all rankers without ties.
pub fn untied(
    rankers: &[&[f64]],
    judged: &Judged<'_>,
    tie_break: TieBreak<'_>,
) -> Result<Vec<Vec<f64>>> {
    check(rankers, judged)?;
    let places = match tie_break {
        TieBreak::Score(scores) => {
            judged.check_scores(rankers.len(), scores)?;
            places(scores, judged)
        }
        TieBreak::Jitter(seed) => places(&jitter(rankers, judged, seed), judged),
    };
    let mut shifted: Vec<Vec<f64>> = rankers.iter().map(|scores| scores.to_vec()).collect();
    for docs in judged.queries.ranges() {
        let ranges: Vec<f64> = rankers.iter().map(|scores| range(&scores[docs.clone()])).collect();
        // A ranker that says nothing has no say in ties either, unless no other has.
        let is_flat = ranges.iter().all(|&range| range == 0.0);
        for (scores, range) in shifted.iter_mut().zip(ranges) {
            let of_query = &mut scores[docs.clone()];
            let range = if is_flat { 1.0 } else { range };
            // Far from 0 there would be no bits for what is added.
            let lowest = of_query.iter().copied().fold(f64::INFINITY, f64::min);
            for (score, place) in of_query.iter_mut().zip(&places[docs.clone()]) {
                *score = (*score - lowest) + place * SHARE * range;
            }
        }
    }
    Ok(shifted)
}

/// A number for each doc by what all rankers and the label say of it, and of all docs of its query.
fn jitter(rankers: &[&[f64]], judged: &Judged<'_>, seed: u64) -> Vec<f64> {
    let of_doc = |doc: usize| {
        let label = u64::from(judged.labels[doc].to_bits());
        rankers.iter().fold(hash::mix(label), |sum, scores| {
            // 0 and -0 are one score.
            hash::mix(sum ^ (scores[doc] + 0.0).to_bits())
        })
    };
    let ranges: Vec<_> = judged.queries.ranges().collect();
    let of_query = |docs: std::ops::Range<usize>| {
        let contents: Vec<u64> = docs.map(of_doc).collect();
        let query = contents.iter().fold(0u64, |sum, &content| sum.wrapping_add(content));
        let draw = move |content| (random::draw(seed, query, content) >> 11) as f64;
        contents.into_iter().map(draw).collect::<Vec<_>>()
    };
    ranges.into_par_iter().flat_map_iter(of_query).collect()
}

/// From 0, the lowest doc of a query, to below 1.
fn places(scores: &[f64], judged: &Judged<'_>) -> Vec<f64> {
    let mut places = vec![0.0; scores.len()];
    let mut order = Vec::new();
    for docs in judged.queries.ranges() {
        let scores = &scores[docs.clone()];
        order.clear();
        order.extend(0..scores.len());
        order.sort_unstable_by(|&x, &y| scores[x].total_cmp(&scores[y]));
        let mut before = 0;
        for tied in order.chunk_by(|&x, &y| scores[x] == scores[y]) {
            for &doc in tied {
                places[docs.start + doc] = f64::from(before) / scores.len() as f64;
            }
            before += tied.len() as u32;
        }
    }
    places
}
