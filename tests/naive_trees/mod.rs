//! Tables of artificial documents, and a grower that looks at every document for every split.

use rustrank::binning::{BinOptions, BinnedMatrix, Binning};
use rustrank::data::{MissingPolicy, StridedTable};
use rustrank::model::Tree;
use rustrank::random::draw;
use rustrank::tree::{Criterion, GrowOptions, Grower, TrainingTable, TreeJob};
use rustrank::{Gradient, Interrupt};

pub(crate) struct World {
    pub(crate) cells: Vec<f32>,
    pub(crate) num_features: usize,
    pub(crate) binning: Binning,
    pub(crate) matrix: BinnedMatrix,
    pub(crate) doc_hash: Vec<u64>,
    pub(crate) gradients: Vec<Gradient>,
}

pub(crate) fn unit(stream: u64, id: usize) -> f64 {
    (draw(11, stream, id as u64) >> 11) as f64 / (1u64 << 53) as f64
}

/// Features of many kinds: continuous, few values, flags, with missing cells, constant.
pub(crate) fn cell(seed: u64, row: usize, feature: usize) -> f32 {
    let u = unit(1000 * seed + feature as u64, row);
    match feature % 6 {
        1 => (u * 5.0).floor() as f32,
        2 => f32::from(u < 0.3),
        3 if u < 0.4 => f32::NAN,
        3 => (u * 40.0).floor() as f32,
        4 if u < 0.9 => 0.0,
        0 | 4 => u as f32,
        _ => 7.0,
    }
}

impl World {
    pub(crate) fn new(seed: u64, num_docs: usize, num_features: usize, equal_hess: bool) -> Self {
        let cell = |row, feature| cell(seed, row, feature);
        Self::of(cell, seed, [num_docs, num_features], equal_hess)
    }

    /// Features of three fields, all zero in docs without the field: half of them lack the first.
    pub(crate) fn of_fields(seed: u64, num_docs: usize, num_features: usize) -> Self {
        let cell = |row, feature| {
            let lacks = unit(seed + 50 + feature as u64 % 3, row) < [0.5, 0.3, 0.1][feature % 3];
            if lacks { 0.0 } else { 1.0 + unit(seed + 60 + feature as u64, row) as f32 }
        };
        Self::of(cell, seed, [num_docs, num_features], false)
    }

    pub(crate) fn of(
        cell: impl Fn(usize, usize) -> f32,
        seed: u64,
        [num_docs, num_features]: [usize; 2],
        equal_hess: bool,
    ) -> Self {
        let cells: Vec<f32> = (0..num_docs * num_features)
            .map(|i| cell(i / num_features, i % num_features))
            .collect();
        let never = Interrupt::new();
        let table = StridedTable::by_row(&cells, num_features, MissingPolicy::default());
        let options = BinOptions { max_bins: 60, ..BinOptions::default() };
        let binning = Binning::of(&table, &options, &never).unwrap();
        let order: Vec<u32> = (0..num_docs as u32).collect();
        let matrix = binning.encode_in_order(&table, &order, &never).unwrap();
        let gradient = |row: usize| {
            let pull: f64 = cells[row * num_features..][..num_features]
                .iter()
                .map(|&x| if x.is_nan() { 0.4 } else { f64::from(x).min(3.0) })
                .sum();
            let hess = if equal_hess { 1.0 } else { (0.05 + unit(seed + 77, row)) as f32 };
            let grad = (pull - 1.5 + 2.0 * unit(seed + 78, row)) as f32 * hess;
            Gradient { grad, hess }
        };
        let gradients = (0..num_docs).map(gradient).collect();
        let doc_hash = (0..num_docs as u64).map(|doc| draw(5, 5, doc)).collect();
        Self { cells, num_features, binning, matrix, doc_hash, gradients }
    }

    /// Hessians of very different sizes: a share of them says little of a number of docs.
    pub(crate) fn skewed(seed: u64, num_docs: usize, num_features: usize) -> Self {
        let mut world = Self::new(seed, num_docs, num_features, true);
        for (row, gradient) in world.gradients.iter_mut().enumerate() {
            let hess = 1e-3 + unit(seed + 79, row).powi(8);
            *gradient = Gradient { grad: gradient.grad * hess as f32, hess: hess as f32 };
        }
        world
    }

    pub(crate) fn table(&self) -> TrainingTable<'_> {
        TrainingTable { matrix: &self.matrix, binning: &self.binning, doc_hash: &self.doc_hash }
    }

    pub(crate) fn num_docs(&self) -> usize {
        self.gradients.len()
    }

    pub(crate) fn grow(&self, options: &GrowOptions) -> Tree {
        let docs: Vec<u32> = (0..self.num_docs() as u32).collect();
        let mut grower = Grower::new(self.table(), options.clone()).unwrap();
        let job = TreeJob { gradients: &self.gradients, docs: &docs, rest: &[], round: 3 };
        grower.grow(self.table(), job, &Interrupt::new()).unwrap()
    }

    pub(crate) fn leaf_of(&self, tree: &Tree, doc: usize) -> usize {
        tree.leaf_of(|f| f64::from(self.cells[doc * self.num_features + f as usize]))
    }
}

/// A leaf of the naive tree: its docs, and its path as (feature, threshold, missing left, is left).
#[derive(Clone)]
pub(crate) struct NaiveLeaf {
    pub(crate) docs: Vec<usize>,
    pub(crate) depth: u32,
}

/// The formulas of splits, over docs.
pub(crate) struct Rule<'a> {
    pub(crate) world: &'a World,
    pub(crate) options: &'a GrowOptions,
}

impl Rule<'_> {
    pub(crate) fn is_by_squares(&self) -> bool {
        self.options.criterion == Criterion::LeastSquares
    }

    pub(crate) fn sums(&self, docs: &[usize]) -> (f64, f64) {
        docs.iter().fold((0.0, 0.0), |(g, h), &doc| {
            let gradient = self.world.gradients[doc];
            (g + f64::from(gradient.grad), h + f64::from(gradient.hess))
        })
    }

    pub(crate) fn mass(&self, docs: &[usize]) -> f64 {
        if self.is_by_squares() { docs.len() as f64 } else { self.sums(docs).1 }
    }

    pub(crate) fn value(&self, docs: &[usize]) -> f64 {
        let l2 = if self.is_by_squares() { 0.0 } else { self.options.l2 };
        if docs.is_empty() { 0.0 } else { self.sums(docs).0.powi(2) / (self.mass(docs) + l2) }
    }

    /// The least mass of a side of some docs.
    pub(crate) fn least(&self, docs: &[usize]) -> f64 {
        let of_docs = f64::from(self.options.min_leaf_docs) * self.mass(docs) / docs.len() as f64;
        if self.is_by_squares() { of_docs } else { of_docs.max(self.options.min_leaf_hess) }
    }

    pub(crate) fn has_enough_docs(&self, left: &[usize], right: &[usize]) -> bool {
        left.len().min(right.len()) >= self.options.min_leaf_docs as usize
    }

    /// What the loss loses where some docs are divided; `None` where a side has too few hessians.
    pub(crate) fn reduction(&self, left: &[usize], right: &[usize]) -> Option<f64> {
        let all = [left, right].concat();
        let least = self.least(&all);
        // A rounded unit of slack, as the packed sums have.
        let fits = |docs: &[usize]| !docs.is_empty() && self.mass(docs) >= least * (1.0 - 1e-7);
        let half = if self.is_by_squares() { 1.0 } else { 0.5 };
        let reduction = half * (self.value(left) + self.value(right) - self.value(&all));
        (fits(left) && fits(right)).then_some(reduction)
    }

    /// The Newton step of a leaf.
    pub(crate) fn step(&self, docs: &[usize]) -> f64 {
        let (grad, hess) = self.sums(docs);
        -grad / (hess + self.options.l2)
    }

    /// The value of a node below one with that value.
    pub(crate) fn smoothed_step(&self, docs: &[usize], parent: f64) -> f64 {
        if self.options.path_smooth == 0.0 {
            return self.step(docs);
        }
        let ratio = (docs.len() as f64 / self.options.path_smooth).min(1e300);
        self.step(docs) * (ratio / (ratio + 1.0)) + parent / (ratio + 1.0)
    }
}

/// All questions that can be asked of a doc, in the order in which the first of equals wins.
pub(crate) fn questions(
    world: &World,
    features: impl IntoIterator<Item = usize>,
) -> Vec<(usize, f32, bool)> {
    let mut all = Vec::new();
    for feature in features {
        let mut thresholds = world.binning.mappers()[feature].thresholds().to_vec();
        thresholds.push(f32::MAX);
        for missing_left in [false, true] {
            all.extend(thresholds.iter().map(|&threshold| (feature, threshold, missing_left)));
        }
    }
    all
}

pub(crate) fn divided(
    world: &World,
    docs: &[usize],
    (feature, threshold, missing_left): (usize, f32, bool),
) -> [Vec<usize>; 2] {
    let cell = |doc: usize| world.cells[doc * world.num_features + feature];
    let goes =
        |&doc: &usize| if cell(doc).is_nan() { missing_left } else { cell(doc) <= threshold };
    let (left, right) = docs.iter().partition(|doc| goes(doc));
    [left, right]
}

/// The best split of some docs by brute force over raw cells: both sides and the reduction.
pub(crate) fn naive_split(
    world: &World,
    docs: &[usize],
    options: &GrowOptions,
    features: impl IntoIterator<Item = usize>,
    is_counted: bool,
) -> Option<(f64, Vec<usize>, Vec<usize>)> {
    let rule = Rule { world, options };
    let mut best: Option<(f64, Vec<usize>, Vec<usize>)> = None;
    for question in questions(world, features) {
        let [left, right] = divided(world, docs, question);
        let Some(reduction) = rule.reduction(&left, &right) else { continue };
        if is_counted && !rule.has_enough_docs(&left, &right) {
            continue;
        }
        if best.as_ref().is_none_or(|best| reduction > best.0 * (1.0 + 1e-6)) {
            best = Some((reduction, left, right));
        }
    }
    best.filter(|best| best.0 > options.min_reduction.max(1e-9 * rule.value(docs)))
}

/// The leaves of the naive tree, as sets of docs, and the reduction of each split.
///
/// If docs are not counted, hessians alone say whether a side is large enough.
pub(crate) fn naive_tree(
    world: &World,
    options: &GrowOptions,
    is_counted: bool,
) -> (Vec<Vec<usize>>, Vec<f64>) {
    let mut leaves = vec![NaiveLeaf { docs: (0..world.num_docs()).collect(), depth: 0 }];
    let mut reductions = Vec::new();
    while leaves.len() < options.num_leaves {
        let splits = leaves.iter().enumerate().filter_map(|(at, leaf)| {
            let may = options.max_depth.is_none_or(|most| leaf.depth < most);
            let all = 0..world.num_features;
            let split = || naive_split(world, &leaf.docs, options, all, is_counted);
            may.then(split).flatten().map(|split| (at, split))
        });
        let best = splits.reduce(|a, b| if b.1.0 > a.1.0 { b } else { a });
        let Some((at, (reduction, left, right))) = best else { break };
        reductions.push(reduction);
        let depth = leaves[at].depth + 1;
        leaves[at] = NaiveLeaf { docs: left, depth };
        leaves.push(NaiveLeaf { docs: right, depth });
    }
    (leaves.into_iter().map(|leaf| leaf.docs).collect(), reductions)
}

pub(crate) fn assert_same(world: &World, options: &GrowOptions) {
    let tree = world.grow(options);
    let (leaves, reductions) = naive_tree(world, options, true);
    let mut docs_of = vec![Vec::new(); tree.leaves().len()];
    (0..world.num_docs()).for_each(|doc| docs_of[world.leaf_of(&tree, doc)].push(doc));
    // The same cut may be had from two features, its sides exchanged: leaves are told by their docs.
    let sorted = |leaves: &[Vec<usize>]| {
        let mut leaves = leaves.to_vec();
        leaves.sort();
        leaves
    };
    assert_eq!(sorted(&docs_of), sorted(&leaves), "{options:?}");
    for (split, expected) in tree.splits().iter().zip(&reductions) {
        assert!((split.reduction - expected).abs() < 1e-4 * expected, "{split:?} {expected}");
    }
    for (leaf, docs) in tree.leaves().iter().zip(&docs_of) {
        let sum = |of: fn(&Gradient) -> f32| -> f64 {
            docs.iter().map(|&doc| f64::from(of(&world.gradients[doc]))).sum()
        };
        let expected = -sum(|g| g.grad) / (sum(|g| g.hess) + options.l2);
        assert!((leaf.value - expected).abs() < 1e-5 * (1.0 + expected.abs()));
        assert!((leaf.cover - sum(|g| g.hess)).abs() < 1e-4 * leaf.cover);
        assert_eq!(leaf.docs, docs.len() as u64);
    }
}
