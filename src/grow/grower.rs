//! Best-first growth of one tree.

use super::columns::Columns;
use super::features::{Digit, Digits, Set};
use super::histogram::{Docs, Pool, Shape};
use super::lines::Lines;
use super::options::{Criterion, GrowOptions};
use super::packed::{Scale, Sums, pack};
use super::rows::Rows;
use super::scan::{Bar, Choice, Found, Node, Scanner};
use crate::bins::{Binning, Matrix};
use crate::error::{Result, room_for};
use crate::gradient::Gradient;
use crate::hash::draw;
use crate::interrupt::Interrupt;
use crate::model::{Child, Leaf, Split, Tree};
use crate::simd::Level;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;

/// What trees are grown on.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a> {
    /// The binned cells, a row a doc.
    pub matrix: &'a Matrix,
    /// What the bytes of the matrix mean.
    pub binning: &'a Binning,
    /// The content of each doc, its identity for everything random.
    pub doc_hash: &'a [u64],
}

/// One tree to grow.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The gradient of each doc of the table.
    pub gradients: &'a [Gradient],
    /// The docs that the tree is grown from, rising.
    pub docs: &'a [u32],
    /// Docs that are only sent down the tree, rising; none of them is in `docs`.
    pub rest: &'a [u32],
    /// The round: what is drawn at random is drawn anew in each.
    pub round: u64,
}

/// Grows trees on one table.
///
/// Holds what trees have in common: a copy of the table by column, histograms, lists of docs.
#[derive(Debug)]
pub struct Grower {
    options: GrowOptions,
    digits: Digits,
    columns: Columns,
    lines: Lines,
    pool: Pool,
    packed: Vec<u64>,
    /// The packed gradients of a node.
    gathered: Vec<u64>,
    docs: Rows,
    rest: Rows,
    leaves: Vec<Open>,
}

/// A leaf of the tree so far.
#[derive(Debug)]
struct Open {
    docs: Range<usize>,
    rest: Range<usize>,
    /// The packed sums of its docs.
    total: u64,
    depth: u32,
    /// Its number among all nodes of the tree: for what is drawn at random.
    number: u64,
    /// The split above it, and whether it lies on its left.
    parent: Option<(usize, bool)>,
    /// What it may be split on.
    features: Set,
    histogram: Option<Box<[u64]>>,
    best: Option<Best>,
}

/// The best split of a leaf, and what it takes off the loss.
#[derive(Debug, Clone, Copy)]
struct Best {
    choice: Choice,
    reduction: f64,
}

/// One tree on its way.
struct Growth<'a> {
    table: Table<'a>,
    job: Job<'a>,
    scale: Scale,
    splits: Vec<Split>,
    /// The columns that the tree may look at.
    columns: Vec<u32>,
    /// The leaves that can be split, by what that takes off the loss, then the oldest.
    queue: BinaryHeap<(Reduction, Reverse<usize>)>,
}

/// Streams of draws.
const TREE: u64 = 1;
const NODE: u64 = 2;
const ROWS: u64 = 3;

impl Grower {
    /// Makes ready to grow trees on a table.
    pub fn new(table: Table<'_>, options: GrowOptions) -> Result<Self> {
        options.check()?;
        let digits = Digits::of(table.binning);
        let shape = Shape { stride: digits.stride(), width: table.matrix.width() };
        let num_docs = table.matrix.num_rows();
        // No two leaves have a doc in common; a split needs two histograms.
        let most_kept = options.num_leaves.min(num_docs / shape.least_kept() + 2) as u64;
        room_for("growing trees", 8 * shape.len() as u64 * most_kept + 32 * num_docs as u64)?;
        Ok(Self {
            columns: Columns::of(table.matrix),
            lines: Lines::of(table.matrix),
            pool: Pool::new(shape),
            packed: vec![0; num_docs],
            gathered: Vec::new(),
            docs: Rows::default(),
            rest: Rows::default(),
            leaves: Vec::new(),
            digits,
            options,
        })
    }

    /// Grows a tree; its leaves hold the whole Newton step. Where nothing can be split, it is one
    /// leaf.
    ///
    /// # Panics
    /// If the table is another than the grower was made for.
    pub fn grow(&mut self, table: Table<'_>, job: Job<'_>, interrupt: &Interrupt) -> Result<Tree> {
        assert_eq!(self.packed.len(), table.matrix.num_rows(), "the table of `Grower::new`");
        // From outside a pool, each step would be handed over to it by itself.
        rayon::scope(|_| self.grow_in_pool(table, job, interrupt))
    }

    /// The docs in a leaf of the last tree: of those it was grown from, and of the rest.
    pub fn docs_of(&self, leaf: usize) -> [&[u32]; 2] {
        let leaf = &self.leaves[leaf];
        [self.docs.get(leaf.docs.clone()), self.rest.get(leaf.rest.clone())]
    }

    fn grow_in_pool(
        &mut self,
        table: Table<'_>,
        job: Job<'_>,
        interrupt: &Interrupt,
    ) -> Result<Tree> {
        let scale = pack(job.gradients, job.docs, self.options.criterion, &mut self.packed);
        let queue = BinaryHeap::new();
        let columns = Vec::new();
        let mut growth = Growth { table, job, scale, splits: Vec::new(), columns, queue };
        self.start(&mut growth)?;
        while self.leaves.len() < self.options.num_leaves {
            interrupt.check()?;
            let Some((_, Reverse(leaf))) = growth.queue.pop() else { break };
            self.split(leaf, &mut growth)?;
        }
        for leaf in &mut self.leaves {
            leaf.histogram.take().into_iter().for_each(|histogram| self.pool.give(histogram));
        }
        Ok(self.finish(growth))
    }

    /// Puts all docs at the root.
    fn start(&mut self, growth: &mut Growth<'_>) -> Result<()> {
        self.docs.start(growth.job.docs);
        self.rest.start(growth.job.rest);
        let all = Set::all(self.digits.len());
        let (part, seed) = (self.options.features_per_tree, self.options.seed);
        let features = all.sample(part, seed, draw(seed, TREE, growth.job.round), &self.digits);
        growth.columns = self.digits.columns(&features);
        self.leaves.clear();
        self.leaves.push(Open {
            docs: 0..growth.job.docs.len(),
            rest: 0..growth.job.rest.len(),
            total: sum(&self.packed, growth.job.docs),
            depth: 0,
            number: 0,
            parent: None,
            features,
            histogram: None,
            best: None,
        });
        self.search_alone(0, growth)
    }

    /// Splits a leaf: its left child takes its place, the right one comes last.
    fn split(&mut self, at: usize, growth: &mut Growth<'_>) -> Result<()> {
        let Some(best) = self.leaves[at].best.take() else { return Ok(()) };
        let choice = best.choice;
        let histogram = self.leaves[at].histogram.take();
        let digit = self.digits.all()[choice.digit];
        let cells = self.columns.get(growth.table.matrix, digit.column as usize);
        let side = digit.side(choice.code, choice.missing_left);
        let leaf = &mut self.leaves[at];
        let middle = self.docs.part(leaf.docs.clone(), cells, &side);
        let rest_middle = self.rest.part(leaf.rest.clone(), cells, &side);
        let number = growth.splits.len();
        let left = if self.options.rows_per_node < 1.0 {
            sum(&self.packed, self.docs.get(leaf.docs.start..middle))
        } else {
            choice.left
        };
        let right = Open {
            docs: middle..leaf.docs.end,
            rest: rest_middle..leaf.rest.end,
            total: leaf.total.wrapping_sub(left),
            depth: leaf.depth + 1,
            number: 2 * number as u64 + 2,
            parent: Some((number, false)),
            features: leaf.features.clone(),
            histogram: None,
            best: None,
        };
        (leaf.docs.end, leaf.rest.end, leaf.total) = (middle, rest_middle, left);
        (leaf.depth, leaf.number) = (right.depth, right.number - 1);
        let above = leaf.parent.replace((number, true));
        self.leaves.push(right);
        let children = [at, self.leaves.len() - 1];
        growth.add_split(above, digit, &best, children);
        self.search_children(children, histogram, growth)
    }

    /// Finds the best splits of two new leaves.
    fn search_children(
        &mut self,
        children: [usize; 2],
        histogram: Option<Box<[u64]>>,
        growth: &mut Growth<'_>,
    ) -> Result<()> {
        let Some(mut parent) = histogram else {
            for child in children {
                self.search_alone(child, growth)?;
            }
            return Ok(());
        };
        let is_last = self.leaves.len() == self.options.num_leaves;
        if is_last || !children.iter().any(|&child| self.may_split(child)) {
            self.pool.give(parent);
            return Ok(());
        }
        let [left, right] = children;
        let is_left_smaller = self.leaves[left].docs.len() <= self.leaves[right].docs.len();
        let pair = if is_left_smaller { [left, right] } else { [right, left] };
        let mut smaller = self.pool.take_for(self.leaves[pair[0]].docs.len())?;
        let docs = self.docs.get(self.leaves[pair[0]].docs.clone());
        let mut gathered = std::mem::take(&mut self.gathered);
        let sets = pair.map(|leaf| self.features_of(leaf, growth));
        let bars = [Bar::default(), Bar::default()];
        let node = |i: usize| {
            let leaf = &self.leaves[pair[i]];
            let node = || self.node((leaf.total, leaf.docs.len()), &sets[i], &bars[i], growth);
            self.may_split(pair[i]).then(node)
        };
        let docs = Docs::of(docs, &self.packed, &mut gathered);
        let nodes = [node(0), node(1)];
        let found =
            self.scanner(growth).scan(nodes, docs, smaller.as_deref_mut(), Some(&mut parent));
        self.gathered = gathered;
        for ((leaf, found), sums) in pair.into_iter().zip(found).zip([smaller, Some(parent)]) {
            let num_docs = self.leaves[leaf].docs.len();
            let total = self.leaves[leaf].total;
            self.settle(leaf, found, (total, num_docs), growth);
            self.keep(leaf, sums);
        }
        Ok(())
    }

    /// Finds the best split of a leaf whose histogram cannot be had from its parent's.
    fn search_alone(&mut self, at: usize, growth: &mut Growth<'_>) -> Result<()> {
        let is_last = self.leaves.len() == self.options.num_leaves;
        if is_last || !self.may_split(at) {
            return Ok(());
        }
        let leaf = &self.leaves[at];
        let is_sampled = self.options.rows_per_node < 1.0;
        let sample = if is_sampled { self.sample(leaf, growth) } else { Vec::new() };
        let docs = if is_sampled { &sample } else { self.docs.get(leaf.docs.clone()) };
        let num_docs = docs.len();
        let total = if is_sampled { sum(&self.packed, docs) } else { leaf.total };
        let mut sums = if is_sampled { None } else { self.pool.take_for(num_docs)? };
        let mut gathered = std::mem::take(&mut self.gathered);
        let features = self.features_of(at, growth);
        let bar = Bar::default();
        let node = self.node((total, num_docs), &features, &bar, growth);
        let docs = Docs::of(docs, &self.packed, &mut gathered);
        let scanner = self.scanner(growth);
        let [found, _] = scanner.scan([Some(node), None], docs, sums.as_deref_mut(), None);
        self.gathered = gathered;
        self.settle(at, found, (total, num_docs), growth);
        self.keep(at, sums);
        Ok(())
    }

    /// Keeps the histogram of a leaf that will be split, if it is large.
    fn keep(&mut self, at: usize, sums: Option<Box<[u64]>>) {
        let leaf = &mut self.leaves[at];
        match sums {
            Some(sums) if leaf.best.is_some() && self.pool.is_kept(leaf.docs.len()) => {
                leaf.histogram = Some(sums);
            }
            Some(sums) => self.pool.give(sums),
            None => {}
        }
    }

    /// The part of a leaf's docs that its split is chosen by.
    fn sample(&self, leaf: &Open, growth: &Growth<'_>) -> Vec<u32> {
        let stream = draw(self.options.seed, growth.job.round ^ ROWS << 60, leaf.number);
        let below = (self.options.rows_per_node * 2f64.powi(64)) as u64;
        let docs = self.docs.get(leaf.docs.clone()).iter().copied();
        let is_drawn = |&doc: &u32| {
            draw(self.options.seed, stream, growth.table.doc_hash[doc as usize]) < below
        };
        docs.filter(is_drawn).collect()
    }

    /// The features that the split of a leaf may be chosen from.
    fn features_of(&self, at: usize, growth: &Growth<'_>) -> Set {
        let leaf = &self.leaves[at];
        let seed = self.options.seed;
        let stream = draw(seed, growth.job.round ^ NODE << 60, leaf.number);
        leaf.features.sample(self.options.features_per_node, seed, stream, &self.digits)
    }

    fn scanner<'s>(&'s self, growth: &'s Growth<'_>) -> Scanner<'s> {
        let Table { matrix, .. } = growth.table;
        let (level, shape) = (Level::best(), self.pool.shape());
        let columns = &growth.columns;
        Scanner { level, digits: &self.digits, columns, matrix, lines: &self.lines, shape }
    }

    /// Whether a leaf is shallow and large enough to be split.
    fn may_split(&self, at: usize) -> bool {
        let leaf = &self.leaves[at];
        self.options.max_depth.is_none_or(|most| leaf.depth < most)
            && leaf.docs.len() as u64 >= 2 * u64::from(self.options.min_leaf_docs)
            && Sums::of(leaf.total).mass >= 2
    }

    /// A node as the search wants it: everything in packed units.
    fn node<'s>(
        &self,
        (total, num_docs): (u64, usize),
        features: &'s Set,
        bar: &'s Bar,
        growth: &Growth<'_>,
    ) -> Node<'s> {
        let docs = f64::from(self.options.min_leaf_docs);
        let (least, l2) = match self.options.criterion {
            Criterion::SecondOrder => {
                let of_docs = docs * f64::from(Sums::of(total).mass) / num_docs as f64;
                let unit = growth.scale.mass;
                (of_docs.max(self.options.min_leaf_hess / unit), self.options.l2 / unit)
            }
            Criterion::LeastSquares => (docs, 0.0),
        };
        Node { total, least: least.max(1.0), l2, features, bar }
    }

    /// Takes what the search found for a leaf, if it is worth a split.
    fn settle(
        &mut self,
        at: usize,
        found: Found,
        (total, num_docs): (u64, usize),
        growth: &mut Growth<'_>,
    ) {
        let leaf = &mut self.leaves[at];
        found.dead.into_iter().for_each(|digit| leaf.features.remove(digit));
        let Some(choice) = found.best else { return };
        let (features, bar) = (&Set::default(), &Bar::default());
        let l2 = self.node((total, num_docs), features, bar, growth).l2;
        let sums = Sums::of(total);
        let grad = f64::from(sums.grad);
        let alone = grad * grad / (f64::from(sums.mass) + l2);
        let half = match self.options.criterion {
            Criterion::SecondOrder => 0.5,
            Criterion::LeastSquares => 1.0,
        };
        let unit = growth.scale.grad * growth.scale.grad / growth.scale.mass;
        let reduction = half * unit * (choice.value - alone);
        // Splits that separate nothing differ from zero by rounding alone.
        if choice.value > alone * (1.0 + 1e-10) && reduction > self.options.min_reduction {
            self.leaves[at].best = Some(Best { choice, reduction });
            growth.queue.push((Reduction(reduction), Reverse(at)));
        }
    }

    /// The tree, its leaves valued.
    fn finish(&self, growth: Growth<'_>) -> Tree {
        let leaf = |open: &Open| {
            let sums = Sums::of(open.total);
            let docs = self.docs.get(open.docs.clone());
            let hess = match self.options.criterion {
                Criterion::SecondOrder => f64::from(sums.mass) * growth.scale.mass,
                Criterion::LeastSquares => {
                    docs.iter().map(|&doc| f64::from(growth.job.gradients[doc as usize].hess)).sum()
                }
            };
            let value = -f64::from(sums.grad) * growth.scale.grad / (hess + self.options.l2);
            let is_sound = hess >= self.options.min_leaf_hess && value.is_finite();
            Leaf { value: if is_sound { value } else { 0.0 }, cover: hess, docs: docs.len() as u64 }
        };
        let leaves: Vec<Leaf> = self.leaves.iter().map(leaf).collect();
        let mut splits = growth.splits;
        for at in (0..splits.len()).rev() {
            let of = |child: Child| match child {
                Child::Split(split) => (splits[split as usize].cover, splits[split as usize].docs),
                Child::Leaf(leaf) => (leaves[leaf as usize].cover, leaves[leaf as usize].docs),
            };
            let (left, right) = (of(splits[at].left), of(splits[at].right));
            (splits[at].cover, splits[at].docs) = (left.0 + right.0, left.1 + right.1);
        }
        Tree::new(splits, leaves)
    }
}

impl Growth<'_> {
    /// Writes down the split of the leaf that `above` points to.
    fn add_split(
        &mut self,
        above: Option<(usize, bool)>,
        digit: Digit,
        best: &Best,
        children: [usize; 2],
    ) {
        let mapper = &self.table.binning.mappers()[digit.feature as usize];
        let Best { choice, reduction } = *best;
        // After the last threshold, all cells that are not missing go left.
        let threshold = mapper.thresholds().get(usize::from(choice.code));
        let number = self.splits.len() as u32;
        if let Some((above, is_left)) = above {
            let above = &mut self.splits[above];
            *if is_left { &mut above.left } else { &mut above.right } = Child::Split(number);
        }
        let [left, right] = children.map(|leaf| Child::Leaf(leaf as u32));
        self.splits.push(Split {
            feature: digit.feature,
            threshold: f64::from(threshold.copied().unwrap_or(f32::MAX)),
            missing_left: choice.missing_left,
            left,
            right,
            reduction,
            // Known when the leaves are.
            cover: 0.0,
            docs: 0,
        });
    }
}

/// What a split takes off the loss: a number above zero.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reduction(f64);

impl Eq for Reduction {}

impl Ord for Reduction {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Reduction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The packed sums of docs.
fn sum(packed: &[u64], docs: &[u32]) -> u64 {
    docs.iter().fold(0, |sum, &doc| sum.wrapping_add(packed[doc as usize]))
}
