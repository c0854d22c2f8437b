//! The docs of a tree, node by node.

use super::GROWING;
use super::kernel::{self, Side};
use crate::error::Result;
use crate::pages::Pages;
use crate::simd::Level;
use rayon::prelude::*;
use std::ops::Range;

/// Docs below which one thread is faster than waking another.
const FEW: usize = 1 << 13;

/// A list of docs in which each node has a run, its docs rising.
#[derive(Debug)]
pub(super) struct Rows {
    docs: Pages<u32>,
    right: Pages<u32>,
}

impl Rows {
    /// Room for so many docs.
    pub(super) fn with_room(num_docs: usize) -> Result<Self> {
        let room = || Pages::zeros(GROWING, num_docs);
        Ok(Self { docs: room()?, right: room()? })
    }

    /// Starts with all docs at the root.
    pub(super) fn start(&mut self, docs: &[u32]) {
        self.docs[..docs.len()].copy_from_slice(docs);
    }

    pub(super) fn get(&self, run: Range<usize>) -> &[u32] {
        &self.docs[run]
    }

    /// Moves the docs of a run that go left before the others; both keep their order. Returns where
    /// the others begin.
    pub(super) fn part(&mut self, run: Range<usize>, cells: &[u8], side: &Side) -> usize {
        let level = Level::best();
        let (docs, right) = (&mut self.docs[run.clone()], &mut self.right[run.clone()]);
        if docs.len() < FEW || rayon::current_num_threads() == 1 {
            let left = kernel::part(level, cells, side, docs, right);
            docs[left..].copy_from_slice(&right[..run.len() - left]);
            return run.start + left;
        }
        let size = docs.len().div_ceil(2 * rayon::current_num_threads()).max(FEW / 2);
        let parts = docs.par_chunks_mut(size).zip(right.par_chunks_mut(size));
        let lefts: Vec<usize> =
            parts.map(|(docs, right)| kernel::part(level, cells, side, docs, right)).collect();
        let mut left = 0;
        for (i, &more) in lefts.iter().enumerate() {
            docs.copy_within(i * size..i * size + more, left);
            left += more;
        }
        let mut at = left;
        for (i, &gone) in lefts.iter().enumerate() {
            let here = size.min(right.len() - i * size) - gone;
            docs[at..at + here].copy_from_slice(&right[i * size..i * size + here]);
            at += here;
        }
        run.start + left
    }
}
