//! Growth of one tree by ranks that all have all docs, each of which searches some of the features.
//!
//! The columns of a tree are dealt out in runs. For each node, or two siblings, the ranks exchange the
//! best splits that they have found, and all take the best of these: of equals that of the first feature,
//! whoever found it, as one process would. Each rank then parts the docs itself.

use super::grower::{Grower, Growth};
use super::split_search::{Asks, Choice, Found};
use crate::distributed::Call;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;

/// The words of what was found in a node.
const WORDS: usize = 7;

impl Grower {
    /// Leaves the columns that are this rank's to search.
    pub(super) fn take_share(&self, growth: &mut Growth<'_>) {
        if let Some(team) = &self.sharers {
            let (len, rank, size) = (growth.places.len(), team.rank(), team.size());
            growth.places = growth.places[len * rank / size..len * (rank + 1) / size].to_vec();
        }
    }

    /// An error if the work is to end; where others wait for this rank, they are told first.
    pub(super) fn look_at(&self, interrupt: &Interrupt, growth: &mut Growth<'_>) -> Result<()> {
        if self.sharers.is_none() {
            return interrupt.check();
        }
        if growth.trouble.is_ok() {
            growth.trouble = interrupt.check();
        }
        Ok(())
    }

    /// What all ranks together have found.
    pub(super) fn joined(
        &self,
        found: [Found; 2],
        own: Result<()>,
        round: u64,
    ) -> Result<[Found; 2]> {
        let Some(team) = &self.sharers else { return own.map(|()| found) };
        let tells_dead = self.options.features_per_node < 1.0;
        let bytes =
            found.iter().flat_map(|found| to_words(found, tells_dead)).flat_map(u64::to_le_bytes);
        let call = Call { what: "the best splits", round };
        let all = team.gather(call, own.map(|()| bytes.collect()))?;
        let mut joined = <[Found; 2]>::default();
        for bytes in all {
            let words: Vec<u64> = bytes.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
            let mut words = words.into_iter();
            for joined in &mut joined {
                *joined = std::mem::take(joined).join(of_words(&mut words).ok_or_else(cut)?);
            }
        }
        if !tells_dead {
            // What this rank has found to be dead it need not look at again.
            let dead = found.map(|found| found.dead);
            joined.iter_mut().zip(dead).for_each(|(joined, dead)| joined.dead = dead);
        }
        Ok(joined)
    }
}

fn cut() -> Error {
    Error::comm("comm.damaged", "a split was cut off")
}

fn to_words(found: &Found, tells_dead: bool) -> Vec<u64> {
    let mut words = Vec::with_capacity(WORDS);
    let dead = if tells_dead { &found.dead[..] } else { &[] };
    let head = (dead.len() as u64) << 1 | u64::from(found.best.is_some());
    words.push(head);
    if let Some(best) = &found.best {
        // There are no categories where features are shared.
        let code = match best.asks {
            Asks::UpTo(code) => code,
            Asks::In(_) => u8::MAX,
        };
        let place = u64::from(code) << 1 | u64::from(best.missing_left);
        words.extend([
            best.value.to_bits(),
            best.score.to_bits(),
            best.rank.to_bits(),
            best.digit as u64,
            place,
            best.left,
        ]);
    } else {
        words.extend([0; WORDS - 1]);
    }
    words.extend(dead.iter().map(|&digit| digit as u64));
    words
}

fn of_words(words: &mut impl Iterator<Item = u64>) -> Option<Found> {
    let head = words.next()?;
    let mut next = || words.next();
    let [value, score, rank] = [next()?, next()?, next()?].map(f64::from_bits);
    let [digit, place, left] = [next()?, next()?, next()?];
    let choice = Choice {
        value,
        score,
        rank,
        digit: digit as usize,
        asks: Asks::UpTo((place >> 1) as u8),
        missing_left: place & 1 == 1,
        left,
    };
    let dead: Vec<usize> = words.take((head >> 1) as usize).map(|digit| digit as usize).collect();
    Some(Found { best: (head & 1 == 1).then_some(choice), dead })
}
