//! Breaks ties of scores: the two alternatives of Wu et al. 2008 to the expectation over ties.
//!
//! Documents of a query with the same score are ordered by another score or by *jitter*: pseudo-random
//! numbers that depend only on a seed and the content of the documents. The scores, counted from the
//! lowest of the query, change by less than 2^-30 of their range in it; documents that are closer than
//! that count as tied.
//!
//! When all rankers are treated with the same numbers, the order of ties is the same in every
//! combination with positive weights.

use super::JudgedQueries;
use super::rankers::{check, range};
use crate::error::Result;
use crate::hash;
use crate::random;
use rayon::prelude::*;

/// The largest change, as a share of the range of a query's scores; a sweep can still see it.
const SHARE: f64 = 1.0 / (1u64 << 30) as f64;

/// What orders tied documents.
#[derive(Debug, Clone, Copy)]
pub enum TieBreak<'a> {
    /// A score of each document, larger is better; documents that tie in it, too, stay tied.
    Score(&'a [f64]),
    /// Pseudo-random numbers of this seed.
    Jitter(u64),
}

/// The scores of all rankers without ties.
pub fn break_ties(
    rankers: &[&[f64]],
    judged: &JudgedQueries<'_>,
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
        // A constant ranker has no say in ties, unless all are constant.
        let is_flat = ranges.iter().all(|&range| range == 0.0);
        for (scores, range) in shifted.iter_mut().zip(ranges) {
            let of_query = &mut scores[docs.clone()];
            let range = if is_flat { 1.0 } else { range };
            // Far from 0, floats would have no bits for the small change.
            let lowest = of_query.iter().copied().fold(f64::INFINITY, f64::min);
            for (score, place) in of_query.iter_mut().zip(&places[docs.clone()]) {
                *score = (*score - lowest) + place * SHARE * range;
            }
        }
    }
    Ok(shifted)
}

/// A number for each document, from a hash of its scores and label and those of its query.
fn jitter(rankers: &[&[f64]], judged: &JudgedQueries<'_>, seed: u64) -> Vec<f64> {
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

/// The place of each document in its query by score: from 0, the lowest, to below 1.
fn places(scores: &[f64], judged: &JudgedQueries<'_>) -> Vec<f64> {
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
