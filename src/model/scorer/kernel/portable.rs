//! The twins that run everywhere, written so that compilers find the vectors.
#![expect(clippy::inline_always, reason = "compiled with the features of each level")]

use super::{Lane, Op, SLOTS, Sheet, Slots};

#[inline(always)]
pub(super) fn circuit(sheet: Sheet<'_>, ops: &[Op], slots: &mut Slots) {
    match sheet.wide {
        1 => run::<1>(sheet.lanes, ops, slots),
        2 => run::<2>(sheet.lanes, ops, slots),
        3 => run::<3>(sheet.lanes, ops, slots),
        _ => run::<4>(sheet.lanes, ops, slots),
    }
}

#[inline(always)]
fn run<const WIDE: usize>(lanes: &[Lane], ops: &[Op], slots: &mut Slots) {
    let columns = lanes.as_chunks::<WIDE>().0;
    for op in ops {
        let codes = &columns[op.column as usize];
        for (i, codes) in codes.iter().enumerate() {
            let left = slots.0[op.left as usize % SLOTS][i].0;
            let right = slots.0[op.right as usize % SLOTS][i].0;
            slots.0[op.to as usize % SLOTS][i].0 = choose(op, &codes.0, &left, &right);
        }
    }
}

#[inline(always)]
fn choose(op: &Op, codes: &[u8; 64], left: &[u8; 64], right: &[u8; 64]) -> [u8; 64] {
    let mut chosen = [0; 64];
    for i in 0..64 {
        let right = right[i].wrapping_add(op.add);
        chosen[i] = if codes[i] > op.threshold { right } else { left[i] };
    }
    chosen
}

#[inline(always)]
pub(super) fn add(leaves: &[Lane], values: &[f64], sums: &mut [f64]) {
    match values.len() {
        32 => look_up::<32>(leaves, values, sums),
        64 => look_up::<64>(leaves, values, sums),
        128 => look_up::<128>(leaves, values, sums),
        _ => look_up::<256>(leaves, values, sums),
    }
}

#[inline(always)]
fn look_up<const SIZE: usize>(leaves: &[Lane], values: &[f64], sums: &mut [f64]) {
    let Some(values) = values.first_chunk::<SIZE>() else { return };
    for (lane, sums) in leaves.iter().zip(sums.as_chunks_mut::<64>().0) {
        for (sum, leaf) in sums.iter_mut().zip(lane.0) {
            *sum += values[usize::from(leaf) % SIZE];
        }
    }
}
