//! The twins that run everywhere, written so that compilers find the vectors.
#![expect(clippy::inline_always, reason = "compiled with the features of each level")]

use super::{Lane, Op, SLOTS, Sheet, Slots};

#[inline(always)]
pub(super) fn circuit(sheet: Sheet<'_>, ops: &[Op], slots: &mut Slots) {
    // The carries of all lanes would not fit the registers.
    for i in 0..sheet.wide {
        let mut carry = Lane::default().0;
        for op in ops {
            let Op { threshold, add, flip, keep, .. } = *op;
            let codes = sheet.lanes[op.column as usize * sheet.wide + i].0;
            let side = slots.0[op.slot as usize % SLOTS][i].0;
            let mut result = Lane::default();
            for i in 0..64 {
                let side = side[i].wrapping_add(add);
                let carry = carry[i] & keep;
                result.0[i] = if codes[i] ^ flip > threshold { side } else { carry };
            }
            carry = result.0;
            slots.0[op.to as usize % SLOTS][i] = result;
        }
    }
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
