//! Feature-parallel training: each worker has all documents and searches some of the features.
//!
//! Each worker searches a contiguous part of the columns. For each node, or pair of siblings, the
//! workers exchange the best splits they have found (some sixty bytes), and all take the best of
//! these; of equal splits the one with the smallest slot, as a single process would. Each worker
//! does everything else itself, so the model is that of a single process.

use super::{Collective, WorkerGroup};
use crate::error::{Error, Result};
use crate::tree::{GrowOptions, SearchResult, SplitCandidate, SplitTest};

/// The best splits of two nodes over the columns of all workers.
pub(super) fn best_splits(
    group: &WorkerGroup,
    options: &GrowOptions,
    round: u64,
    found: [SearchResult; 2],
) -> Result<[SearchResult; 2]> {
    let sends_unsplittable = options.features_per_node < 1.0;
    let bytes = found
        .iter()
        .flat_map(|found| to_words(found, sends_unsplittable))
        .flat_map(u64::to_le_bytes);
    let all = group.gather(Collective { what: "the best splits", round }, Ok(bytes.collect()))?;
    let cut = || Error::comm("comm.damaged", "a split was cut off");
    let mut best_splits = <[SearchResult; 2]>::default();
    for bytes in all {
        let mut words = bytemuck::pod_collect_to_vec(&bytes).into_iter();
        for best in &mut best_splits {
            *best = std::mem::take(best).join(of_words(&mut words).ok_or_else(cut)?);
        }
    }
    if !sends_unsplittable {
        // This worker need not search again what it knows to be unsplittable.
        for (best, found) in best_splits.iter_mut().zip(found) {
            best.unsplittable = found.unsplittable;
        }
    }
    Ok(best_splits)
}

fn to_words(found: &SearchResult, sends_unsplittable: bool) -> Vec<u64> {
    let unsplittable = if sends_unsplittable { &found.unsplittable[..] } else { &[] };
    let head = (unsplittable.len() as u64) << 1 | u64::from(found.best.is_some());
    let best = found.best.as_ref().map_or([0; 6], |best| {
        // Categorical features are not supported with shared features.
        let code = match best.test {
            SplitTest::UpTo(code) => code,
            SplitTest::In(_) => u8::MAX,
        };
        let position = u64::from(code) << 1 | u64::from(best.missing_left);
        let [value, score, priority] = [best.value, best.score, best.priority].map(f64::to_bits);
        [value, score, priority, best.slot as u64, position, best.left]
    });
    let unsplittable = unsplittable.iter().map(|&slot| slot as u64);
    std::iter::once(head).chain(best).chain(unsplittable).collect()
}

fn of_words(words: &mut impl Iterator<Item = u64>) -> Option<SearchResult> {
    let head = words.next()?;
    let mut next = || words.next();
    let [value, score, priority] = [next()?, next()?, next()?].map(f64::from_bits);
    let [slot, position, left] = [next()?, next()?, next()?];
    let choice = SplitCandidate {
        value,
        score,
        priority,
        slot: slot as usize,
        test: SplitTest::UpTo((position >> 1) as u8),
        missing_left: position & 1 == 1,
        left,
    };
    let unsplittable: Vec<usize> =
        words.take((head >> 1) as usize).map(|slot| slot as usize).collect();
    Some(SearchResult { best: (head & 1 == 1).then_some(choice), unsplittable })
}
