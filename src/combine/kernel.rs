//! The walk compiled for each level of instructions.
//!
//! The loops are plain Rust, written once in [`Front::walk`]; only the instructions differ, and with
//! them no result: crossings are one division of whole numbers, and the least of them is exact.
#![expect(unsafe_code, reason = "a kernel: features behind a run-time check")]

use super::front::{End, Event, Front, Walked};
use super::tally::Tally;
use crate::simd::Level;

/// [`Front::walk`] with the instructions of `level`, or portable if this machine lacks them.
pub(super) fn walk<T: Tally>(
    level: Level,
    front: &mut Front,
    end: End,
    tally: &mut T,
    events: &mut Vec<Event>,
) -> Walked {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if level.is_available() => {
            // SAFETY: the level has these features, and the machine has the level.
            unsafe { x86::avx512(front, end, tally, events) }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if level.is_available() => {
            // SAFETY: the level has these features, and the machine has the level.
            unsafe { x86::avx2(front, end, tally, events) }
        }
        _ => front.walk(end, tally, events),
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{End, Event, Front, Tally, Walked};

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    pub(super) fn avx512<T: Tally>(
        front: &mut Front,
        end: End,
        tally: &mut T,
        events: &mut Vec<Event>,
    ) -> Walked {
        front.walk(end, tally, events)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(super) fn avx2<T: Tally>(
        front: &mut Front,
        end: End,
        tally: &mut T,
        events: &mut Vec<Event>,
    ) -> Walked {
        front.walk(end, tally, events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::combine::Range;
    use crate::combine::lines::{Frame, Twins};
    use crate::combine::tally::{Buffers, Known, Rules, Sum, constant};
    use crate::metric::Ties;
    use crate::random;

    #[test]
    fn all_levels_walk_the_same_way() {
        for (n, k) in [(1usize, 1usize), (9, 4), (40, 10), (200, 17), (200, 200)] {
            let draw =
                |stream, doc: usize| random::below(random::draw(7, stream, doc as u64), 50) as f64;
            let scores = |stream| (0..n).map(|doc| draw(stream, doc)).collect::<Vec<_>>();
            let labels: Vec<f32> = (0..n).map(|doc| (doc % 3) as f32).collect();
            let (first, second) = (scores(0), scores(1));
            let rules = Rules::new(&format!("dcg@{k}").parse().unwrap(), &labels).unwrap();
            let (mut lines, mut twins) = (Vec::new(), Twins::default());
            Frame::new(&first, &second, Range::Between).lines(&first, &second, &mut lines);
            twins.find(&lines, &labels, Ties::Expected);
            let walked = Level::available().into_iter().map(|level| {
                let (mut buffers, mut events) = (Buffers::default(), Vec::new());
                assert!(constant(&rules, &labels, &mut buffers).is_none() || n == 1);
                let mut front = Front::default();
                front.start(&mut lines.clone(), k, 0.0);
                let known = Known { labels: &labels, unit: 1e12 };
                let mut sum = Sum::new(&rules, known, &twins, &mut buffers);
                let end = End { until: 1.0, most_events: usize::MAX };
                let Walked { start, next } = walk(level, &mut front, end, &mut sum, &mut events);
                (start, next.to_bits(), events)
            });
            let walked: Vec<_> = walked.collect();
            assert!(walked.windows(2).all(|w| w[0] == w[1]), "{n} docs, {k} ranks");
            assert_eq!(walked[0].2.is_empty(), n == 1);
        }
    }
}
