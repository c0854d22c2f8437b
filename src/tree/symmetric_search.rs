//! Finding the best question to all nodes of a level.
//!
//! The sums of a level are made some columns at a time, node after node, and what the splits on these
//! columns take off is summed up meanwhile: so the sums of a column, and what is made of them, stay in
//! a cache. As with one node, only the smaller of two siblings is summed from its docs.

use super::column_strips::Strip;
use super::features::Set;
use super::histogram::{BLOCK, Docs, Part};
use super::kernel::{self, Asked, Summand, Tables, Tally};
use super::split_noise::Noise;
use super::split_search::{FEW, GROUP, Node, Scanner, cut};
use rayon::prelude::*;
use std::ops::Range;

/// A node whose sums are made from its docs, and perhaps its sibling.
pub(super) struct Pair<'a> {
    pub(super) docs: Docs<'a>,
    /// Where its sums are left.
    pub(super) own: Option<&'a mut [u64]>,
    /// The sums of the parent, whose place those of the sibling take.
    pub(super) parent: Option<&'a mut [u64]>,
    /// The node and its sibling, where they may be split.
    pub(super) nodes: [Option<Node<'a>>; 2],
    /// The sums are there already.
    pub(super) is_made: bool,
}

/// What is asked, besides the nodes.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    pub(super) features: &'a Set,
    /// The value of all nodes if none is split.
    pub(super) base: f64,
    /// What the value must be above.
    pub(super) floor: f64,
    pub(super) noise: Option<Noise>,
}

/// Some columns of one strip, in all nodes.
struct Unit<'a> {
    strip: Strip<'a>,
    /// Among the scanner's list.
    columns: Range<usize>,
    pairs: Vec<Pair<'a>>,
}

impl Scanner<'_> {
    /// The question that takes off most in all nodes together, the first of equals.
    pub(super) fn scan_level(
        &self,
        mut pairs: Vec<Pair<'_>>,
        terms: Terms<'_>,
        spare: &mut Vec<u64>,
    ) -> Option<Asked> {
        let sums = |pair: &Pair<'_>| pair.docs.len() + self.shape.stride;
        let work = self.places.len() * pairs.iter().map(sums).sum::<usize>();
        let threads = if work < FEW { 1 } else { rayon::current_num_threads() };
        for pair in &mut pairs {
            // Of many docs, threads take some each.
            let is_large = self.num_parts(pair.docs.len(), threads) > 1;
            if let Some(own) = pair.own.as_deref_mut().filter(|_| is_large) {
                self.fill(pair.docs, own, spare);
                pair.is_made = true;
            }
        }
        let units = self.level_units(pairs, threads);
        let scan = |scratch: &mut Vec<u64>, unit| self.scan_level_unit(unit, terms, scratch);
        let better = |a: Option<Asked>, b: Option<Asked>| match (a, b) {
            (Some(a), Some(b)) if b.beats(&a) => Some(b),
            (None, b) => b,
            (a, _) => a,
        };
        if threads == 1 {
            let scratch = &mut Vec::new();
            return units.into_iter().map(|unit| scan(scratch, unit)).fold(None, better);
        }
        let found: Vec<_> = units.into_par_iter().map_init(Vec::new, scan).collect();
        found.into_iter().fold(None, better)
    }

    fn level_units<'s>(&'s self, mut pairs: Vec<Pair<'s>>, threads: usize) -> Vec<Unit<'s>> {
        let places = self.places;
        // As few units as threads: each asks for the lines of all small nodes.
        let most = if threads == 1 { usize::MAX } else { places.len().div_ceil(threads).max(8) };
        let (mut units, mut start) = (Vec::new(), 0);
        while let Some(&place) = places.get(start) {
            let (strip, of_strip) = self.lines.strip(place);
            let len = places[start..].partition_point(|&place| place < of_strip.end);
            let num_parts = len.div_ceil(most);
            for part in 0..num_parts {
                let columns = start + len * part / num_parts..start + len * (part + 1) / num_parts;
                let size = columns.len() * self.shape.stride;
                let part = |pair: &mut Pair<'s>| Pair {
                    own: cut(&mut pair.own, size),
                    parent: cut(&mut pair.parent, size),
                    ..*pair
                };
                let pairs = pairs.iter_mut().map(part).collect();
                units.push(Unit { strip, columns, pairs });
            }
            start += len;
        }
        units
    }

    fn scan_level_unit(
        &self,
        unit: Unit<'_>,
        terms: Terms<'_>,
        scratch: &mut Vec<u64>,
    ) -> Option<Asked> {
        let mut tally = Tally::new(self, unit.columns.clone(), terms.features);
        let tables = &mut Tables::new();
        for mut pair in unit.pairs {
            // The sums of few docs are looked at while they are in the first-level cache.
            let is_small = pair.docs.len() <= BLOCK;
            let most = if is_small { self.shape.tile() } else { unit.columns.len() };
            for first in unit.columns.clone().step_by(most) {
                let columns = first..unit.columns.end.min(first + most);
                let size = columns.len() * self.shape.stride;
                let (own, parent) = (cut(&mut pair.own, size), cut(&mut pair.parent, size));
                let own = own.unwrap_or_else(|| {
                    scratch.resize(size, 0);
                    scratch
                });
                let is_cold = first == unit.columns.start;
                let (strip, places) = (unit.strip, &self.places[columns]);
                let (level, runs) = (self.level, self.lines.quiet().runs());
                let part = Part { strip, places, level, runs, is_cold, next: None };
                if !pair.is_made {
                    part.fill(pair.docs, &self.shape, own);
                }
                self.add_pair((first, own, parent), &pair.nodes, tables, &mut tally);
            }
        }
        tally.best(self, &terms)
    }

    /// Adds a node to a tally, makes the sums of its sibling, and adds that.
    fn add_pair(
        &self,
        (first, own, parent): (usize, &[u64], Option<&mut [u64]>),
        nodes: &[Option<Node<'_>>; 2],
        tables: &mut Tables,
        tally: &mut Tally,
    ) {
        let mut add = |node: &Option<Node<'_>>, first: usize, sums: &[u64]| {
            if let Some(node) = node {
                kernel::add_node(Summand { scanner: self, node, first, sums }, tables, tally);
            }
        };
        let group = GROUP * self.shape.stride;
        let mut parent = parent.map(|parent| parent.chunks_mut(group));
        for (i, own) in own.chunks(group).enumerate() {
            let first = first + i * GROUP;
            add(&nodes[0], first, own);
            let Some(parent) = parent.as_mut().and_then(Iterator::next) else { continue };
            kernel::subtract(self.level, parent, own);
            add(&nodes[1], first, parent);
        }
    }
}
