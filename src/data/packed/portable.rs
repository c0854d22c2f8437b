//! The portable kernel: packs and unpacks cell by cell.

use super::{CellGroup, GroupHead, HEAD, LANES};

pub(super) fn pack(row: &[CellGroup], to: &mut [u8]) -> usize {
    let (heads, cells) = to.split_at_mut(HEAD * row.len());
    let mut at = 0;
    for (group, head) in row.iter().zip(heads.as_chunks_mut().0) {
        let (mut counts, mut others) = ([0; LANES], [0.0; LANES]);
        let (mut found, mut num_counts, mut num_others) =
            (GroupHead { counts: 0, others: 0 }, 0, 0);
        for (lane, &cell) in group.iter().enumerate() {
            let count = cell as u8;
            let is_other = f32::from(count) != cell;
            let is_count = !is_other && count > 0;
            counts[num_counts & (LANES - 1)] = count;
            others[num_others & (LANES - 1)] = cell;
            num_counts += usize::from(is_count);
            num_others += usize::from(is_other);
            found.counts |= u16::from(is_count) << lane;
            found.others |= u16::from(is_other) << lane;
        }
        *head = found.bytes();
        cells[at..at + num_counts].copy_from_slice(&counts[..num_counts]);
        at += num_counts;
        for other in &others[..num_others] {
            cells[at..at + 4].copy_from_slice(&other.to_le_bytes());
            at += 4;
        }
    }
    HEAD * row.len() + at
}

pub(super) fn unpack(heads: &[[u8; HEAD]], cells: &[u8], first: usize, to: &mut [f32]) {
    let mut at: usize = heads[..first].iter().map(|&head| GroupHead::of(head).size()).sum();
    for (&head, to) in heads[first..].iter().zip(to.chunks_mut(LANES)) {
        let head = GroupHead::of(head);
        let (mut count, mut other) = (at, at + head.counts.count_ones() as usize);
        for (lane, to) in to.iter_mut().enumerate() {
            *to = 0.0;
            if head.counts >> lane & 1 == 1 {
                *to = f32::from(cells[count]);
                count += 1;
            } else if head.others >> lane & 1 == 1 {
                if let Some(&bytes) = cells[other..].first_chunk() {
                    *to = f32::from_le_bytes(bytes);
                }
                other += 4;
            }
        }
        at += head.size();
    }
}
