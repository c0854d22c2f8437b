//! The portable kernel: parses values eight bytes at a time in a word.

use super::{CellSink, cells_with, ends_token, last_bytes};
use crate::binning::nearest;
use crate::data::number;
use std::ops::RangeInclusive;

// Not inlined: the loop needs all registers for itself.
#[inline(never)]
pub(super) fn usual_cells(
    line: &[u8],
    at: usize,
    indices: RangeInclusive<u32>,
    sink: &mut impl CellSink,
) -> (usize, u32) {
    cells_with(line, at, indices, sink, usual_value)
}

/// The cell, if its value is `-` or nothing, and then up to 15 bytes: digits and at most one point.
#[expect(clippy::inline_always, reason = "a call a cell: benches/letor.rs shows it")]
#[inline(always)]
fn usual_value(line: &[u8], colon: usize, end: usize) -> Option<f32> {
    let first = *line.get(colon.wrapping_add(1))?;
    if line[colon] != b':' || !ends_token(line, end) {
        return None;
    }
    let length = end.wrapping_sub(colon).wrapping_sub(1);
    // A third to a half of real cells have one digit, in runs that branch prediction handles.
    if length == 1 && first.is_ascii_digit() {
        return Some(f32::from(first - b'0'));
    }
    if length > 8 || first == b'-' {
        return longer_value(line, length, end);
    }
    Some(number::decimal_8(last_bytes(line, end)?, length)? as f32)
}

/// As [`usual_value`], with a sign or more digits.
// Not inlined: it would take the registers of the loop around it.
#[inline(never)]
fn longer_value(line: &[u8], length: usize, end: usize) -> Option<f32> {
    let text: [u8; 16] = last_bytes(line, end)?;
    let negative = line[end - length] == b'-';
    let length = length - usize::from(negative);
    let value = match text.last_chunk() {
        Some(&text) if length <= 8 => number::decimal_8(text, length)?,
        _ => number::decimal_16(text, length)?,
    };
    Some(nearest(if negative { -value } else { value }))
}
