//! The walk compiled for each level of instructions.
//!
//! The loops are plain Rust, written once in [`Front::walk`]; only the instructions differ, and with
//! them no result: crossings are one division of whole numbers, and the least of them is exact.
#![expect(unsafe_code, reason = "a kernel: features behind a run-time check")]

use super::front::{Event, Front, Walked};
use super::tally::Tally;
use crate::simd::Level;

/// [`Front::walk`] with the instructions of `level`, or portable if this machine lacks them.
pub(super) fn walk<T: Tally>(
    level: Level,
    front: &mut Front,
    until: f64,
    tally: &mut T,
    events: &mut Vec<Event>,
) -> Walked {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if level.is_available() => {
            // SAFETY: the level has these features, and the machine has the level.
            unsafe { x86::avx512(front, until, tally, events) }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if level.is_available() => {
            // SAFETY: the level has these features, and the machine has the level.
            unsafe { x86::avx2(front, until, tally, events) }
        }
        _ => front.walk(until, tally, events),
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Event, Front, Tally, Walked};

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    pub(super) fn avx512<T: Tally>(
        front: &mut Front,
        until: f64,
        tally: &mut T,
        events: &mut Vec<Event>,
    ) -> Walked {
        front.walk(until, tally, events)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(super) fn avx2<T: Tally>(
        front: &mut Front,
        until: f64,
        tally: &mut T,
        events: &mut Vec<Event>,
    ) -> Walked {
        front.walk(until, tally, events)
    }
}
