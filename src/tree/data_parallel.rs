//! Growth of one tree by all ranks of a team, each of which has a part of the docs.
//!
//! Each rank sums its docs of a node, and the histograms are added up: they are integers, so every
//! rank then has what one process would have, chooses the same split, and parts its own docs by it.
//! Of two siblings only one is summed from docs, the one of less mass; how many docs the nodes have,
//! on all ranks, travels in the gap behind the last column, with the frame.
//!
//! A histogram of all columns takes eight bytes a column and byte, whatever the number of docs.

use super::grower::sum;
use super::grower::{Grower, Growth};
use super::histogram::Docs;
use super::kernel::{GAP, subtract};
use super::options::TreeShape;
use super::packed_gradients::Sums;
use super::split_search::{Bar, Found, Room};
use crate::distributed::{Call, FRAME};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::simd::Level;
use std::cmp::Reverse;

/// What a message about a node says besides its sums.
#[derive(Debug, Clone, Copy, Default)]
struct Facts {
    /// Its docs.
    count: u64,
    /// Their packed sums.
    total: u64,
}

impl Grower {
    /// Refuses what only one process can grow.
    pub(super) fn check_team(&self) -> Result<()> {
        if self.options.tree_shape != TreeShape::Leafwise {
            let what = "symmetric trees are not grown by a team";
            return Err(Error::param("tree_shape", what).expected("\"leafwise\""));
        }
        if self.options.rows_per_node < 1.0 && self.rules.is_some() {
            let what = "limits of features are not kept by a team that chooses splits by a sample";
            return Err(Error::param("rows_per_node", what).expected(1));
        }
        Ok(())
    }

    pub(super) fn grow_together(
        &mut self,
        growth: &mut Growth<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let mut facts = [self.leaves[0].total];
        let call = Call { what: "the root", round: growth.job.round };
        self.team.sum(call, interrupt.check(), &mut facts)?;
        self.leaves[0].total = facts[0];
        self.search_together(0, growth)?;
        while self.leaves.len() < self.options.num_leaves {
            if growth.trouble.is_ok() {
                growth.trouble = interrupt.check();
            }
            let Some((_, Reverse(leaf))) = growth.queue.pop_last() else { break };
            self.split(leaf, growth)?;
            self.pass_over(growth);
        }
        // Trouble that nobody has heard of is told with the docs of leaves.
        Ok(())
    }

    /// Finds the best splits of two new leaves, whose docs are not counted yet but on this rank.
    pub(super) fn search_children_together(
        &mut self,
        children: [usize; 2],
        histogram: Option<Box<[u64]>>,
        growth: &mut Growth<'_>,
    ) -> Result<()> {
        if self.options.rows_per_node < 1.0 {
            return self.search_samples(children, growth);
        }
        let Some(mut parent) = histogram else { return Ok(()) };
        let is_last = self.leaves.len() == self.options.num_leaves;
        if is_last || !children.iter().any(|&child| self.is_divisible(child)) {
            self.pool.give(parent);
            return Ok(());
        }
        let mass = |leaf: usize| Sums::of(self.leaves[leaf].total).mass;
        let [left, right] = children;
        let (small, large) = if mass(left) <= mass(right) { (left, right) } else { (right, left) };
        let (mut own, facts) = self.sums_of(small, None, growth)?;
        let whole = self.whole(&parent, growth);
        self.leaves[small].count = facts.count as usize;
        self.leaves[large].count = whole.count.wrapping_sub(facts.count) as usize;
        subtract(Level::best(), &mut parent, &own);
        for (leaf, sums) in [(small, &mut own), (large, &mut parent)] {
            self.search_sums(
                leaf,
                sums,
                (self.leaves[leaf].total, self.leaves[leaf].count),
                growth,
            );
        }
        self.keep(small, Some(own));
        self.keep(large, Some(parent));
        Ok(())
    }

    /// Finds the best split of a leaf from its docs.
    fn search_together(&mut self, at: usize, growth: &mut Growth<'_>) -> Result<()> {
        let is_last = self.leaves.len() == self.options.num_leaves;
        if is_last || !self.may_split(at) || growth.places.is_empty() {
            return Ok(());
        }
        let is_sampled = self.options.rows_per_node < 1.0;
        let sample = is_sampled.then(|| self.sample(&self.leaves[at], growth));
        let (mut sums, facts) = self.sums_of(at, sample.as_deref(), growth)?;
        let mut of = (facts.total, facts.count as usize);
        if !is_sampled {
            of.0 = self.leaves[at].total;
        }
        if of.1 > 0 {
            self.search_sums(at, &mut sums, of, growth);
        }
        let kept = if is_sampled {
            self.pool.give(sums);
            None
        } else {
            Some(sums)
        };
        self.keep(at, kept);
        Ok(())
    }

    /// Where splits are chosen by a part of the docs, nothing of one leaf follows from another's.
    fn search_samples(&mut self, children: [usize; 2], growth: &mut Growth<'_>) -> Result<()> {
        let mut words: Vec<u64> = Vec::new();
        for &child in &children {
            let leaf = &self.leaves[child];
            words.extend([
                leaf.docs.len() as u64,
                sum(&self.packed, self.docs.get(leaf.docs.clone())),
            ]);
        }
        let call = Call { what: "two leaves", round: growth.job.round };
        self.team.sum(call, take(&mut growth.trouble), &mut words)?;
        for (&child, words) in children.iter().zip(words.chunks_exact(2)) {
            (self.leaves[child].count, self.leaves[child].total) = (words[0] as usize, words[1]);
        }
        children.into_iter().try_for_each(|child| self.search_together(child, growth))
    }

    /// Whether a leaf may be split, as far as can be told without its number of docs.
    fn is_divisible(&self, at: usize) -> bool {
        let leaf = &self.leaves[at];
        self.options.max_depth.is_none_or(|most| leaf.depth < most)
            && Sums::of(leaf.total).mass >= 2
    }

    /// The sums over the docs of a leaf, or some of them, on all ranks.
    fn sums_of(
        &mut self,
        at: usize,
        sample: Option<&[u32]>,
        growth: &mut Growth<'_>,
    ) -> Result<(Box<[u64]>, Facts)> {
        let mut sums = self.pool.take_for(usize::MAX)?.ok_or_else(no_histogram)?;
        let len = growth.places.len() * self.pool.shape().stride;
        let mut scratch = std::mem::take(&mut self.scratch);
        let docs = sample.unwrap_or_else(|| self.docs.get(self.leaves[at].docs.clone()));
        let own = Facts { count: docs.len() as u64, total: sum(&self.packed, docs) };
        let docs = Docs::of(docs, self.known(), &mut scratch.gathered);
        self.scanner(growth).fill(docs, &mut sums[..len], &mut scratch.spare);
        self.scratch = scratch;
        let room = len - GAP..len - FRAME;
        sums[room.clone()].fill(0);
        sums[room.start] = own.count;
        sums[room.start + 1] = own.total;
        let call = Call { what: "a histogram", round: growth.job.round };
        self.team.sum_framed(call, take(&mut growth.trouble), &mut sums[..len])?;
        let facts = Facts { count: sums[room.start], total: sums[room.start + 1] };
        Ok((sums, facts))
    }

    /// What the message about a leaf has said of it: it is still there.
    fn whole(&self, sums: &[u64], growth: &Growth<'_>) -> Facts {
        let start = growth.places.len() * self.pool.shape().stride - GAP;
        Facts { count: sums[start], total: sums[start + 1] }
    }

    /// Finds the best split of a leaf in its sums.
    fn search_sums(
        &mut self,
        at: usize,
        sums: &mut [u64],
        of: (u64, usize),
        growth: &mut Growth<'_>,
    ) {
        if !self.may_split(at) {
            return;
        }
        let features = self.features_of(at, growth);
        let bar = Bar::default();
        let node = self.node(of, &self.leaves[at], (&features, &bar), growth);
        // Of no docs: the sums of the sibling are all.
        let nothing = Docs::none();
        let room = Room { own: None, parent: Some(sums), spare: &mut Vec::new() };
        let [_, found]: [Found; 2] = self.scanner(growth).scan([None, Some(node)], nothing, room);
        self.settle(at, found, of, growth);
    }
}

/// What is told, and is trouble no more.
pub(super) fn take(trouble: &mut Result<()>) -> Result<()> {
    std::mem::replace(trouble, Ok(()))
}

fn no_histogram() -> Error {
    Error::internal("no histogram")
}
