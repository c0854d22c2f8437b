//! Finding the best split of a node in its histogram.
//!
//! A split puts the docs up to a code to the left. Its value is `G² / (H + l2)` of both sides, summed;
//! what it takes off the loss is that minus the same of the node. All is counted in the units of
//! the packed sums, which are exact, and every level of instructions does the same arithmetic, so the
//! chosen split is the same everywhere. Of equal values the first wins: by column of the table, by
//! feature, by threshold, with missing cells on the right before the left.
//!
//! The sums that are searched are made here too, some columns at a time, so that they are searched
//! while they are in a cache: those of a node from its docs, then those of its sibling, which are the
//! parent's minus those, in place. The sums of a small node are nowhere else: to make its
//! children's from their docs takes less time than to fetch its own from memory.

use super::column_strips::{Lines, Strip};
use super::constrained_search::{self, Careful};
use super::constraints::Rules;
use super::features::{Digit, Digits, Set};
use super::histogram::{BLOCK, Docs, Part, Shape};
use super::kernel::{self, Search, Tables};
use super::split_noise::Noise;
use crate::simd::Level;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// A split as the search sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    /// The value of both sides, in packed units.
    pub(super) value: f64,
    /// What it was chosen by: the value, but for noise.
    pub(super) score: f64,
    /// What leaves are compared by: the value, but for what is heeded.
    pub(super) rank: f64,
    /// The number of the feature in [`Digits`].
    pub(super) digit: usize,
    pub(super) asks: Asks,
    pub(super) missing_left: bool,
    /// The packed sums of the left side.
    pub(super) left: u64,
}

/// Which codes go left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Asks {
    /// Those up to one.
    UpTo(u8),
    /// Those of some categories: a bit a code.
    In([u64; 4]),
}

impl Asks {
    /// One category alone.
    pub(super) fn only(code: u8) -> Self {
        let mut codes = [0; 4];
        codes[usize::from(code / 64)] |= 1 << (code % 64);
        Self::In(codes)
    }

    pub(super) fn is_left(&self, code: u8) -> bool {
        match self {
            Self::UpTo(last) => code <= *last,
            Self::In(codes) => codes[usize::from(code / 64)] >> (code % 64) & 1 == 1,
        }
    }
}

/// What the search must know of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    /// The packed sums of its docs.
    pub(super) total: u64,
    /// The least mass of a child, at least one.
    pub(super) least: f64,
    /// In units of mass.
    pub(super) l2: f64,
    /// Its value if it is not split.
    pub(super) alone: f64,
    /// The features that may be split on, but for those that need care.
    pub(super) features: &'a Set,
    pub(super) careful: Option<Careful<'a>>,
    /// What the best split is worth at least.
    pub(super) bar: &'a Bar,
    pub(super) noise: Option<Noise>,
}

/// The value of the best split of a node so far, over all threads.
///
/// What is below it is passed over; which splits those are depends on who is first, but none of them
/// is ever chosen, so that the choice does not.
#[derive(Debug, Default)]
pub(super) struct Bar(AtomicU64);

impl Bar {
    /// Zero at first: no value is below.
    pub(super) fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// Puts the bar to a value, if it is lower.
    pub(super) fn raise(&self, value: f64) {
        // The bits of numbers above zero are in the order of the numbers.
        self.0.fetch_max(value.to_bits(), Ordering::Relaxed);
    }
}

/// The best split of a node, if any, and the features that no part of it can ever be split on.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) best: Option<Choice>,
    pub(super) dead: Vec<usize>,
}

impl Found {
    /// Adds what was found in other columns.
    pub(super) fn join(mut self, other: Self) -> Self {
        let best = self.best.as_ref();
        if other.best.is_some_and(|other| beats(other.score, other.digit, best)) {
            self.best = other.best;
        }
        self.dead.extend(other.dead);
        self
    }
}

/// Whether a split on a feature is better than the best, or as good and before it.
pub(super) fn beats(score: f64, digit: usize, best: Option<&Choice>) -> bool {
    match best {
        None => score > f64::NEG_INFINITY,
        Some(best) => score > best.score || score == best.score && digit < best.digit,
    }
}

/// Cells and sums below which one thread is faster than waking another.
pub(super) const FEW: usize = 1 << 16;

/// Columns whose sums stay in the first-level cache between subtraction and search.
pub(super) const GROUP: usize = 4;

/// How histograms are made and read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scanner<'a> {
    pub(super) level: Level,
    pub(super) digits: &'a Digits,
    /// The places of the columns that histograms are of, rising.
    pub(super) places: &'a [u32],
    pub(super) lines: &'a Lines,
    pub(super) shape: Shape,
    pub(super) rules: Option<&'a Rules>,
}

/// Where sums are and go.
pub(super) struct Room<'a> {
    /// The sums over the docs, where they are kept.
    pub(super) own: Option<&'a mut [u64]>,
    /// Those of the parent, whose place those of the sibling take; without, there is no sibling.
    pub(super) parent: Option<&'a mut [u64]>,
    /// For sums that are not kept.
    pub(super) spare: &'a mut Vec<u64>,
}

/// Columns of one strip that are worked on together.
struct Unit<'a> {
    /// Where their list begins among the scanner's.
    first: usize,
    part: Part<'a>,
    /// Their sums over the docs, where they are kept.
    own: Option<&'a mut [u64]>,
    /// Those of the parent, of which the sibling's are made.
    parent: Option<&'a mut [u64]>,
    /// Where there are any, `own` is of some docs only, and these are of the others.
    more: Vec<&'a [u64]>,
}

impl<'a> Scanner<'a> {
    /// The features of the column in a place, with their numbers.
    pub(super) fn digits_at(&self, place: u32) -> impl Iterator<Item = (usize, &'a Digit)> {
        self.digits.of_column(self.lines.column(place))
    }

    /// The best splits of two nodes: one of some docs, and its sibling; a node that is `None` will
    /// not be split.
    pub(super) fn scan(
        &self,
        nodes: [Option<Node<'_>>; 2],
        docs: Docs<'_>,
        room: Room<'_>,
    ) -> [Found; 2] {
        let Room { mut own, parent, spare } = room;
        let threads = self.threads(docs.len() + self.shape.stride);
        let join = |[a, b]: [Found; 2], [c, d]: [Found; 2]| [a.join(c), b.join(d)];
        if threads == 1 {
            let scan = |unit| self.scan_unit(unit, &nodes, docs, spare);
            let units = self.units(docs.len(), threads, (own, parent), &[]);
            return units.into_iter().map(scan).fold(Default::default(), join);
        }
        let num_parts = self.num_parts(docs.len(), threads);
        let more = match &mut own {
            Some(own) if num_parts > 1 => self.fill_apart(docs, num_parts, own, spare),
            _ => Vec::new(),
        };
        let units = self.units(docs.len(), threads, (own, parent), &more);
        let scan = |scratch: &mut Vec<u64>, unit| self.scan_unit(unit, &nodes, docs, scratch);
        let found: Vec<_> = units.into_par_iter().map_init(Vec::new, scan).collect();
        found.into_iter().fold(Default::default(), join)
    }

    /// The sums over docs, and nothing else.
    pub(super) fn fill(&self, docs: Docs<'_>, own: &mut [u64], spare: &mut Vec<u64>) {
        let threads = self.threads(docs.len());
        let num_parts = self.num_parts(docs.len(), threads);
        if num_parts > 1 {
            let more = self.fill_apart(docs, num_parts, own, spare);
            let size = self.places.len() * self.shape.stride;
            let each = size.div_ceil(2 * threads);
            own[..size].par_chunks_mut(each).enumerate().for_each(|(number, own)| {
                for more in &more {
                    kernel::join(self.level, own, &more[number * each..][..own.len()]);
                }
            });
            return;
        }
        let units = self.units(docs.len(), threads, (Some(own), None), &[]);
        let fill = |unit: Unit<'_>| {
            if let Some(own) = unit.own {
                unit.part.fill(docs, &self.shape, own);
            }
        };
        if threads == 1 {
            units.into_iter().for_each(fill);
        } else {
            units.into_par_iter().for_each(fill);
        }
    }

    /// How many threads work on so many cells and sums a column.
    fn threads(&self, height: usize) -> usize {
        if self.places.len() * height < FEW { 1 } else { rayon::current_num_threads() }
    }

    /// The columns strip by strip, and the strip after each.
    pub(super) fn by_strip<'s>(
        &'s self,
        mut places: &'s [u32],
    ) -> impl Iterator<Item = (Part<'s>, Option<Strip<'s>>)> {
        std::iter::from_fn(move || {
            let (strip, of_strip) = self.lines.strip(*places.first()?);
            let len = places.partition_point(|&place| place < of_strip.end);
            let own;
            (own, places) = places.split_at(len);
            let next = places.first().map(|&place| self.lines.strip(place).0);
            let (level, runs) = (self.level, self.lines.quiet().runs());
            let part = Part { strip, places: own, level, runs, is_cold: true, next: None };
            Some((part, next))
        })
    }

    /// Cuts the columns into units.
    fn units<'s>(
        &'s self,
        num_docs: usize,
        threads: usize,
        (mut own, mut parent): (Option<&'s mut [u64]>, Option<&'s mut [u64]>),
        more: &[&'s [u64]],
    ) -> Vec<Unit<'s>> {
        // The sums of few docs are searched while they are in the first-level cache.
        let most = match (num_docs, threads) {
            (..=BLOCK, 1) => self.shape.tile(),
            (_, 1) => usize::MAX,
            _ if num_docs > BLOCK && self.are_enough(threads) => usize::MAX,
            _ => self.most_columns(threads),
        };
        let mut units = Vec::new();
        let mut first = 0;
        for (strip, next) in self.by_strip(self.places) {
            let len = strip.places.len();
            let num_parts = len.div_ceil(most);
            let bound = |part: usize| len * part / num_parts;
            for part in 0..num_parts {
                let places = &strip.places[bound(part)..bound(part + 1)];
                let is_cold = first == 0 || num_docs > BLOCK && part > 0;
                let next = next.filter(|_| part == 0);
                let sums = first * self.shape.stride..(first + places.len()) * self.shape.stride;
                let [own, parent] = [&mut own, &mut parent].map(|all| cut(all, sums.len()));
                let more = more.iter().map(|more| &more[sums.clone()]).collect();
                let part = Part { places, is_cold, next, ..strip };
                units.push(Unit { first, part, own, parent, more });
                first += places.len();
            }
        }
        units
    }

    /// The most columns that one of several threads takes at a time.
    fn most_columns(&self, threads: usize) -> usize {
        // Twice as many units as threads: a thread that is held up does not hold up the others.
        self.places.len().div_ceil(2 * threads).clamp(8, self.shape.tile())
    }

    fn scan_unit(
        &self,
        unit: Unit<'_>,
        nodes: &[Option<Node<'_>>; 2],
        docs: Docs<'_>,
        scratch: &mut Vec<u64>,
    ) -> [Found; 2] {
        let mut found = [Found::default(), Found::default()];
        let tables = &mut Tables::new();
        let size = unit.part.places.len() * self.shape.stride;
        let own = unit.own.unwrap_or_else(|| {
            scratch.resize(size, 0);
            scratch
        });
        if unit.more.is_empty() {
            unit.part.fill(docs, &self.shape, own);
        }
        let group = GROUP * self.shape.stride;
        let mut parent = unit.parent.map(|parent| parent.chunks_mut(group));
        for (i, own) in own.chunks_mut(group).enumerate() {
            let first = unit.first + i * GROUP;
            for more in &unit.more {
                kernel::join(self.level, own, &more[i * group..][..own.len()]);
            }
            if let Some(node) = &nodes[0] {
                self.search((first, own), node, tables, &mut found[0]);
            }
            let Some(parent) = parent.as_mut().and_then(Iterator::next) else { continue };
            kernel::subtract(self.level, parent, own);
            if let Some(node) = &nodes[1] {
                self.search((first, parent), node, tables, &mut found[1]);
            }
        }
        found
    }

    /// Searches columns from a first of the list on, as many as there are sums for.
    fn search(
        &self,
        (first, sums): (usize, &[u64]),
        node: &Node<'_>,
        tables: &mut Tables,
        found: &mut Found,
    ) {
        kernel::search(self.level, Search { scanner: self, node, first, sums }, tables, found);
        if let Some(careful) = &node.careful {
            careful.search(constrained_search::Columns { scanner: self, node, first, sums }, found);
        }
    }
}

/// Cuts off the first of some sums.
pub(super) fn cut<'s>(sums: &mut Option<&'s mut [u64]>, size: usize) -> Option<&'s mut [u64]> {
    let (first, rest) = sums.take()?.split_at_mut(size);
    *sums = Some(rest);
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binning::{BinOptions, Binning};
    use crate::binning::{Cells, Matrix};
    use crate::error::Result;
    use crate::interrupt::Interrupt;
    use crate::random::draw;
    use crate::tree::histogram::Known;
    use crate::tree::packed_gradients::Sums;
    use crate::tree::symmetric_search::{Pair, Terms};
    use std::ops::Range;

    #[derive(Debug)]
    struct ByRow(Vec<f32>, usize);

    impl Cells for ByRow {
        fn num_rows(&self) -> usize {
            self.0.len() / self.1
        }

        fn num_features(&self) -> usize {
            self.1
        }

        fn read(&self, rows: Range<usize>, tile: &mut [f32]) -> Result<()> {
            tile.copy_from_slice(&self.0[rows.start * self.1..rows.end * self.1]);
            Ok(())
        }
    }

    #[test]
    fn every_level_finds_the_same_splits() {
        let num_features = 30;
        let cells: Vec<f32> = (0..num_features * 500u64)
            .map(|i| {
                let codes = 1 + i % num_features * 9;
                let of = draw(1, i % num_features, i / num_features) % codes;
                if of == 3 { f32::NAN } else { of as f32 }
            })
            .collect();
        let never = Interrupt::new();
        let table = ByRow(cells, num_features as usize);
        let binning = Binning::of(&table, &BinOptions::default(), &never).unwrap();
        let digits = Digits::of(&binning);
        let stride = digits.stride();
        let width = binning.layout().width();
        let columns: Vec<u32> = (0..width as u32).collect();
        let shape = Shape { stride, width };
        let matrix = &Matrix::zeros(width, 1).unwrap();
        let lines = &Lines::of(matrix).unwrap();
        let size = stride * width;
        let set = Set::all(digits.len());
        for seed in 0..20 {
            // A unit or none of mass, and a small gradient: many equal values, and empty bins.
            let sums: Vec<u64> = (0..size as u64)
                .map(|i| ((draw(seed, 2, i) % 5) << 32) | (draw(seed, 3, i) % 2))
                .collect();
            let column = &sums[..stride];
            let total = column.iter().fold(0u64, |sum, &more| sum.wrapping_add(more));
            let docs = Docs::none();
            let found = Level::available().into_iter().map(|level| {
                let (columns, digits) = (&columns[..], &digits);
                let bar = Bar::default();
                let l2 = if seed % 2 == 0 { 0.5 } else { 1e15 };
                let noise = Noise { deviation: 1.0, start: seed, floor: 0.0 };
                let noise = (seed % 3 == 0).then_some(noise);
                let (least, alone, features, bar) = (1.0, 0.0, &set, &bar);
                let careful = None;
                let node = Node { total, least, l2, alone, features, careful, bar, noise };
                let rules = None;
                let scanner = Scanner { level, digits, places: columns, lines, shape, rules };
                // Of no docs: the sibling's sums are those of the parent.
                let (parent, spare) = (&mut sums.clone()[..], &mut Vec::new());
                let room = Room { own: None, parent: Some(parent), spare };
                let found = scanner.scan([None, Some(node)], docs, room);
                assert_eq!(found[0].best, None);
                let mut sums = sums.clone();
                let nodes = [None, Some(node)];
                let pair = |parent| Pair { docs, own: None, parent, nodes, is_made: false };
                // Of two nodes alike.
                let (first, second) = sums.split_at_mut(size / 2);
                let scanner = Scanner { places: &columns[..width / 2], ..scanner };
                let pairs = vec![pair(Some(first)), pair(Some(&mut second[..width / 2 * stride]))];
                let asked = scanner.scan_level(
                    pairs,
                    Terms { features: &set, base: 1.0, floor: 1.0, noise },
                    &mut Vec::new(),
                );
                assert!(asked.is_some());
                (found.map(|found| (found.best, found.dead)), asked)
            });
            let found: Vec<_> = found.collect();
            assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
        }
    }

    /// Every split one by one, its sides added up byte by byte.
    fn luckiest(digits: &Digits, sums: &[u64], node: &Node<'_>, noise: &Noise) -> Option<Choice> {
        let stride = digits.stride();
        let mut best: Option<Choice> = None;
        for (number, digit) in digits.all().iter().enumerate() {
            let column = &sums[digit.column as usize * stride..][..stride];
            let add = |goes: &dyn Fn(u8) -> bool| {
                let sums = (0..=u8::MAX).zip(column).filter(|&(byte, _)| goes(byte));
                sums.fold(0u64, |sum, (_, &more)| sum.wrapping_add(more))
            };
            let codes = digit.codes as u8;
            // Of the last code but that of missing cells.
            let known = digit.side(&Asks::UpTo(codes - 2), false);
            let has_missing = add(&|byte| !known.is_left(byte)) != 0;
            for missing_left in [false, true] {
                for code in 0..codes - 1 - u8::from(!has_missing) {
                    let asks = Asks::UpTo(code);
                    let side = digit.side(&asks, missing_left);
                    let left = add(&|byte| side.is_left(byte));
                    let (l, all) = (Sums::of(left), Sums::of(node.total));
                    let (gl, ml) = (f64::from(l.grad), f64::from(l.mass));
                    let (gr, mr) = (f64::from(all.grad) - gl, f64::from(all.mass) - ml);
                    let (a, b) = (ml + node.l2, mr + node.l2);
                    let value = (gl * gl * b + gr * gr * a) / (a * b);
                    let id = (digit.feature, missing_left && has_missing, code);
                    let score = noise.score(value, id);
                    let to_beat = best.map_or(f64::NEG_INFINITY, |best| best.score);
                    if ml.min(mr) >= node.least && score > to_beat {
                        let (rank, digit) = (value, number);
                        best = Some(Choice { value, score, rank, digit, asks, missing_left, left });
                    }
                }
            }
        }
        best
    }

    #[test]
    fn noise_chooses_the_luckiest_split() {
        let num_features = 12u64;
        let cells: Vec<f32> = (0..num_features * 400)
            .map(|i| {
                let of = draw(1, i % num_features, i / num_features) % (3 + 5 * (i % num_features));
                if of == 2 { f32::NAN } else { of as f32 }
            })
            .collect();
        let never = Interrupt::new();
        let table = ByRow(cells, num_features as usize);
        let binning = Binning::of(&table, &BinOptions::default(), &never).unwrap();
        let order: Vec<u32> = (0..400).collect();
        let matrix = &binning.encode_in_order(&table, &order, &never).unwrap();
        let digits = &Digits::of(&binning);
        let shape = Shape { stride: digits.stride(), width: matrix.width() };
        let columns: Vec<u32> = (0..matrix.width() as u32).collect();
        let (columns, lines, features) =
            (&columns[..], &Lines::of(matrix).unwrap(), &Set::all(digits.len()));
        let rules = None;
        let scanner = |level| Scanner { level, digits, places: columns, lines, shape, rules };
        for seed in 0..40 {
            let gradient = |&doc: &u32| {
                let pull = u64::from(matrix.column(0)[doc as usize]);
                (draw(seed, 4, doc.into()) % 90 + pull) << 32 | (1 + draw(seed, 5, doc.into()) % 9)
            };
            let gradients: Vec<u64> = order.iter().map(gradient).collect();
            let total = gradients.iter().fold(0u64, |sum, &more| sum.wrapping_add(more));
            let noise = Noise { deviation: 0.2 * seed as f64, start: seed, floor: 1.0 };
            let bar = &Bar::default();
            let (least, l2, alone) = (30.0, 2.0, 0.0);
            let noisy = Some(noise);
            let careful = None;
            let node = Node { total, least, l2, alone, features, careful, bar, noise: noisy };
            let mut sums = vec![0; shape.stride * shape.width];
            let known = Known { packed: &gradients, loud: &[] };
            let docs = Docs { docs: &order, known };
            let level = Level::best();
            let room = Room { own: Some(&mut sums), parent: None, spare: &mut Vec::new() };
            let [found, _] = scanner(level).scan([Some(node), None], docs, room);
            let best = luckiest(digits, &sums, &node, &noise).unwrap();
            let found = found.best.unwrap();
            // Which side missing cells go to where there are none, others say.
            assert_eq!((found.digit, found.asks), (best.digit, best.asks));
            assert_eq!((found.value, found.score), (best.value, best.score));
        }
    }
}
