//! Trees under limits: directions, interactions and weights of features, against a naive grower.

#![expect(clippy::unwrap_used, reason = "a test")]

use proptest::prelude::*;
use rustrank::binning::{BinOptions, BinnedMatrix, Binning};
use rustrank::data::{MissingPolicy, StridedTable};
use rustrank::model::{Child, Tree};
use rustrank::random::draw;
use rustrank::tree::{
    Constraints, Criterion, GrowOptions, Grower, MonotoneDirection, TrainingTable, TreeJob,
    TreeShape,
};
use rustrank::{Gradient, Interrupt};

const NUM_FEATURES: usize = 7;

struct World {
    cells: Vec<f32>,
    binning: Binning,
    matrix: BinnedMatrix,
    doc_hash: Vec<u64>,
    gradients: Vec<Gradient>,
}

fn unit(stream: u64, id: usize) -> f64 {
    (draw(23, stream, id as u64) >> 11) as f64 / (1u64 << 53) as f64
}

/// Features 2 and 5 have missing cells, feature 4 has few values.
fn cell(seed: u64, row: usize, feature: usize) -> f32 {
    let u = unit(100 * seed + feature as u64, row);
    match feature {
        2 | 5 if u < 0.25 => f32::NAN,
        4 => (u * 6.0).floor() as f32,
        _ => (u * 50.0).floor() as f32 / 10.0,
    }
}

impl World {
    fn new(seed: u64, num_docs: usize) -> Self {
        let cells: Vec<f32> = (0..num_docs * NUM_FEATURES)
            .map(|i| cell(seed, i / NUM_FEATURES, i % NUM_FEATURES))
            .collect();
        let never = Interrupt::new();
        let table = StridedTable::by_row(&cells, NUM_FEATURES, MissingPolicy::default());
        let binning = Binning::of(&table, &BinOptions::default(), &never).unwrap();
        let order: Vec<u32> = (0..num_docs as u32).collect();
        let matrix = binning.encode_in_order(&table, &order, &never).unwrap();
        let gradient = |row: usize| {
            // Waves: no direction fits.
            let of = |f: usize| {
                let x = f64::from(cells[row * NUM_FEATURES + f]);
                if x.is_nan() { 0.3 } else { (x + f as f64).sin() * (1.0 + f as f64 / 3.0) }
            };
            let pull: f64 = (0..NUM_FEATURES).map(of).sum();
            let hess = (0.1 + unit(seed + 7, row)) as f32;
            Gradient { grad: (pull + unit(seed + 8, row) - 0.5) as f32 * hess, hess }
        };
        let gradients = (0..num_docs).map(gradient).collect();
        let doc_hash = (0..num_docs as u64).map(|doc| draw(5, 5, doc)).collect();
        Self { cells, binning, matrix, doc_hash, gradients }
    }

    /// Hessians of very different sizes: a share of them says little of a number of docs.
    fn skewed(seed: u64, num_docs: usize) -> Self {
        let mut world = Self::new(seed, num_docs);
        for (row, gradient) in world.gradients.iter_mut().enumerate() {
            let hess = (1e-2 + unit(seed + 9, row).powi(8)) as f32;
            *gradient = Gradient { grad: gradient.grad / gradient.hess * hess, hess };
        }
        world
    }

    fn grow(&self, options: &GrowOptions) -> Tree {
        let docs: Vec<u32> = (0..self.gradients.len() as u32).collect();
        let table = TrainingTable {
            matrix: &self.matrix,
            binning: &self.binning,
            doc_hash: &self.doc_hash,
        };
        let mut grower = Grower::new(table, options.clone()).unwrap();
        let job = TreeJob { gradients: &self.gradients, docs: &docs, rest: &[], round: 3 };
        grower.grow(table, job, &Interrupt::new()).unwrap()
    }

    fn row(&self, doc: usize) -> &[f32] {
        &self.cells[doc * NUM_FEATURES..][..NUM_FEATURES]
    }
}

fn leaf_of(tree: &Tree, row: &[f32]) -> usize {
    tree.leaf_of(|feature| f64::from(row[feature as usize]))
}

/// A leaf of the naive tree.
#[derive(Clone)]
struct Leaf {
    docs: Vec<usize>,
    low: f64,
    high: f64,
    path: Vec<u32>,
    value: f64,
}

struct Naive<'a> {
    world: &'a World,
    options: &'a GrowOptions,
}

struct Found {
    reduction: f64,
    rank: f64,
    sides: [Leaf; 2],
}

impl Naive<'_> {
    fn sums(&self, docs: &[usize]) -> (f64, f64) {
        docs.iter().fold((0.0, 0.0), |(g, h), &doc| {
            let gradient = self.world.gradients[doc];
            (g + f64::from(gradient.grad), h + f64::from(gradient.hess))
        })
    }

    fn step(&self, leaf: &Leaf, docs: &[usize]) -> f64 {
        let (grad, hess) = self.sums(docs);
        (-grad / (hess + self.options.l2)).clamp(leaf.low, leaf.high)
    }

    /// The leaf with its value, below a node with that value.
    fn valued(&self, mut leaf: Leaf, parent: f64) -> Leaf {
        let (grad, hess) = self.sums(&leaf.docs);
        let (step, num_docs) = (-grad / (hess + self.options.l2), leaf.docs.len() as f64);
        let weighed = num_docs * step + self.options.path_smooth * parent;
        let value = weighed / (num_docs + self.options.path_smooth);
        leaf.value = value.clamp(leaf.low, leaf.high);
        leaf
    }

    /// What the loss loses at that step.
    fn value(&self, leaf: &Leaf, docs: &[usize]) -> f64 {
        let (grad, hess) = self.sums(docs);
        let step = self.step(leaf, docs);
        -(grad * step + 0.5 * (hess + self.options.l2) * step * step)
    }

    fn may_follow(&self, path: &[u32], feature: u32) -> bool {
        let groups = &self.options.limits.interactions;
        let whole: Vec<u32> = path.iter().copied().chain([feature]).collect();
        groups.is_empty()
            || whole.iter().all(|other| *other == feature)
            || groups.iter().any(|group| whole.iter().all(|feature| group.contains(feature)))
    }

    fn weight(&self, feature: u32) -> f64 {
        let weights = &self.options.limits.feature_weight;
        weights.iter().find(|(of, _)| *of == feature).map_or(1.0, |(_, weight)| *weight)
    }

    fn direction(&self, feature: u32) -> f64 {
        let found = self.options.limits.monotone.iter().find(|(of, _)| *of == feature);
        found.map_or(
            0.0,
            |(_, direction)| if *direction == MonotoneDirection::Rising { 1.0 } else { -1.0 },
        )
    }

    fn split(&self, leaf: &Leaf, question: (u32, f32, bool)) -> Option<Found> {
        let (feature, threshold, missing_left) = question;
        let goes = |&doc: &usize| {
            let x = self.world.row(doc)[feature as usize];
            if x.is_nan() { missing_left } else { x <= threshold }
        };
        let (left, right): (Vec<usize>, Vec<usize>) =
            leaf.docs.iter().copied().partition(|doc| goes(doc));
        let fits = |docs: &[usize]| {
            let least = f64::from(self.options.min_leaf_docs) * self.sums(&leaf.docs).1
                / leaf.docs.len() as f64;
            docs.len() >= self.options.min_leaf_docs as usize
                && self.sums(docs).1 >= least.max(self.options.min_leaf_hess)
        };
        if !fits(&left) || !fits(&right) {
            return None;
        }
        let direction = if threshold == f32::MAX { 0.0 } else { self.direction(feature) };
        let (low, high) = (self.step(leaf, &left), self.step(leaf, &right));
        if direction * low > direction * high {
            return None;
        }
        let reduction =
            self.value(leaf, &left) + self.value(leaf, &right) - self.value(leaf, &leaf.docs);
        let path: Vec<u32> = leaf.path.iter().copied().chain([feature]).collect();
        let middle = f64::midpoint(low, high);
        let side = |docs, is_upper: bool| {
            let side = Leaf { docs, path: path.clone(), ..*leaf };
            let side = match direction {
                0.0 => side,
                _ if is_upper => Leaf { low: middle, ..side },
                _ => Leaf { high: middle, ..side },
            };
            self.valued(side, leaf.value)
        };
        let sides = [side(left, direction < 0.0), side(right, direction > 0.0)];
        Some(Found { reduction, rank: self.weight(feature) * reduction, sides })
    }

    fn best(&self, leaf: &Leaf) -> Option<Found> {
        let mut best: Option<Found> = None;
        for feature in 0..NUM_FEATURES as u32 {
            if !self.may_follow(&leaf.path, feature) || self.weight(feature) == 0.0 {
                continue;
            }
            let thresholds = self.world.binning.mappers()[feature as usize].thresholds().iter();
            let thresholds: Vec<f32> = thresholds.copied().chain([f32::MAX]).collect();
            for missing_left in [false, true] {
                for &threshold in &thresholds {
                    let Some(found) = self.split(leaf, (feature, threshold, missing_left)) else {
                        continue;
                    };
                    let least = self.options.min_reduction.max(1e-9);
                    let is_better =
                        best.as_ref().is_none_or(|best| found.rank > best.rank * (1.0 + 1e-6));
                    if found.reduction > least && is_better {
                        best = Some(found);
                    }
                }
            }
        }
        best
    }

    fn tree(&self) -> (Vec<Leaf>, Vec<f64>) {
        let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        let docs: Vec<usize> = (0..self.world.gradients.len()).collect();
        let mut root = Leaf { docs, low, high, path: vec![], value: 0.0 };
        root.value = self.step(&root, &root.docs);
        let mut leaves = vec![root];
        let mut reductions = Vec::new();
        while leaves.len() < self.options.num_leaves {
            let found = leaves.iter().enumerate().filter_map(|(at, leaf)| {
                (leaf.docs.len() >= 2 * self.options.min_leaf_docs as usize)
                    .then(|| self.best(leaf))
                    .flatten()
                    .map(|found| (at, found))
            });
            let best = found.reduce(|a, b| if b.1.rank > a.1.rank { b } else { a });
            let Some((at, Found { reduction, sides: [left, right], .. })) = best else { break };
            reductions.push(reduction);
            leaves[at] = left;
            leaves.push(right);
        }
        (leaves, reductions)
    }
}

fn assert_same(world: &World, options: &GrowOptions) -> Tree {
    let tree = world.grow(options);
    let naive = Naive { world, options };
    let (leaves, reductions) = naive.tree();
    let mut docs_of = vec![Vec::new(); tree.leaves().len()];
    (0..world.gradients.len()).for_each(|doc| docs_of[leaf_of(&tree, world.row(doc))].push(doc));
    let expected: Vec<_> = leaves.iter().map(|leaf| leaf.docs.clone()).collect();
    assert_eq!(docs_of, expected, "{options:?}");
    for (split, expected) in tree.splits().iter().zip(&reductions) {
        assert!((split.reduction - expected).abs() < 1e-4 * expected, "{split:?} {expected}");
    }
    for (ours, leaf) in tree.leaves().iter().zip(&leaves) {
        assert!((ours.value - leaf.value).abs() < 1e-5 * (1.0 + leaf.value.abs()));
    }
    tree
}

fn limits(seed: u64) -> Constraints {
    let pick =
        |what: u64, feature: u32| unit(1000 + seed, (10 * what + u64::from(feature)) as usize);
    let features = 0..NUM_FEATURES as u32;
    let directed = features.clone().filter(|&f| pick(0, f) < 0.6).map(|f| {
        (f, if pick(1, f) < 0.5 { MonotoneDirection::Rising } else { MonotoneDirection::Falling })
    });
    let weighed = features.clone().filter(|&f| pick(2, f) < 0.5);
    let group = |what: u64| features.clone().filter(|&f| pick(what, f) < 0.5).collect::<Vec<_>>();
    let groups = [group(3), group(4), group(5)].into_iter().filter(|group| !group.is_empty());
    Constraints {
        monotone: if seed % 3 == 1 { vec![] } else { directed.collect() },
        interactions: if seed % 4 == 1 { vec![] } else { groups.collect() },
        feature_weight: match seed % 3 {
            0 => vec![],
            _ => weighed.map(|f| (f, (4.0 * pick(6, f)).floor() / 2.0)).collect(),
        },
    }
}

#[test]
fn limited_trees_are_those_of_a_naive_grower() {
    for seed in 0..24 {
        let world = World::new(seed, 260);
        let base = GrowOptions { num_leaves: 9, min_leaf_docs: 5, ..GrowOptions::default() };
        let limits = limits(seed);
        assert_same(&world, &GrowOptions { limits: limits.clone(), ..base.clone() });
        let path_smooth = 25.0;
        assert_same(&world, &GrowOptions { limits: limits.clone(), path_smooth, ..base.clone() });
        let options =
            GrowOptions { l2: 4.0, min_reduction: 1.0, limits: limits.clone(), ..base.clone() };
        assert_same(&world, &options);
        let options = GrowOptions { min_leaf_docs: 20, limits, ..base };
        let tree = assert_same(&World::skewed(seed, 400), &options);
        assert!(tree.leaves().iter().all(|leaf| leaf.docs >= 20));
    }
}

/// All features with a direction; which rows differ in what is drawn.
fn assert_monotone(world: &World, options: &GrowOptions, seed: u64) {
    let tree = world.grow(options);
    let value = |row: &[f32]| tree.leaves()[leaf_of(&tree, row)].value;
    for doc in 0..world.gradients.len() {
        for &(feature, direction) in &options.limits.monotone {
            let mut row = world.row(doc).to_vec();
            let feature = feature as usize;
            if row[feature].is_nan() {
                continue;
            }
            let before = value(&row);
            row[feature] += (3.0 * unit(seed + 50, doc * NUM_FEATURES + feature)) as f32;
            let after = value(&row);
            let goes = if direction == MonotoneDirection::Rising {
                after - before
            } else {
                before - after
            };
            assert!(goes >= 0.0, "{feature} {before} {after} {options:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn scores_move_in_the_direction_of_a_feature(
        seed in 0u64..10_000, num_docs in 20usize..900, num_leaves in 2usize..40,
        part in 0.4f64..1.0, random_strength in 0.0f64..2.0, path_smooth in 0.0f64..30.0,
    ) {
        let world = World::new(seed, num_docs);
        let mut limits = limits(3 * seed);
        limits.interactions.truncate((seed % 2) as usize * 3);
        for tree_shape in [TreeShape::Leafwise, TreeShape::Symmetric] {
            for (rows_per_node, path_smooth) in [(1.0, 0.0), (1.0, path_smooth), (part, path_smooth)] {
                let options = GrowOptions {
                    tree_shape, num_leaves, min_leaf_docs: 2, rows_per_node, random_strength,
                    path_smooth, limits: limits.clone(), ..GrowOptions::default()
                };
                assert_monotone(&world, &options, seed);
            }
        }
    }
}

/// The features on the way to each leaf.
fn paths(tree: &Tree) -> Vec<Vec<u32>> {
    let mut paths = vec![Vec::new(); tree.leaves().len()];
    let mut waiting = vec![(Child::Split(0), Vec::new())];
    while let Some((child, path)) = waiting.pop() {
        match child {
            Child::Leaf(leaf) => paths[leaf as usize] = path,
            Child::Split(split) => {
                let split = &tree.splits()[split as usize];
                let path = [path, vec![split.feature]].concat();
                waiting.extend([(split.left, path.clone()), (split.right, path)]);
            }
        }
    }
    paths
}

#[test]
fn features_of_a_path_lie_in_one_group() {
    let interactions = vec![vec![0, 1, 2], vec![2, 3], vec![4, 5]];
    let limits = Constraints { interactions: interactions.clone(), ..Constraints::default() };
    for seed in 0..8 {
        let world = World::new(seed, 3000);
        for tree_shape in [TreeShape::Leafwise, TreeShape::Symmetric] {
            let limits = limits.clone();
            let options =
                GrowOptions { tree_shape, num_leaves: 32, limits, ..GrowOptions::default() };
            let tree = world.grow(&options);
            assert!(tree.splits().len() > 5);
            for path in paths(&tree) {
                let is_alone = path.iter().all(|&feature| feature == 6);
                let is_within = |group: &Vec<u32>| path.iter().all(|f| group.contains(f));
                assert!(is_alone || interactions.iter().any(is_within), "{path:?}");
            }
        }
    }
}

#[test]
fn weights_choose_between_features_and_leave_reductions_as_they_are() {
    let world = World::new(1, 2000);
    for tree_shape in [TreeShape::Leafwise, TreeShape::Symmetric] {
        let of = |feature_weight: Vec<(u32, f64)>| {
            let limits = Constraints { feature_weight, ..Constraints::default() };
            world.grow(&GrowOptions { tree_shape, limits, ..GrowOptions::default() })
        };
        let plain = of(vec![]);
        assert!(of((0..7).map(|feature| (feature, 1.0)).collect()) == plain);
        let first = plain.splits()[0].feature;
        assert!(plain.splits().iter().any(|split| split.feature == first));
        let without = of(vec![(first, 0.0)]);
        assert!(without.splits().iter().all(|split| split.feature != first));
        let second = &without.splits()[0];
        let ratio = second.reduction / plain.splits()[0].reduction;
        if tree_shape == TreeShape::Leafwise {
            let of_second = |tree: &Tree| tree.splits()[0];
            let more = of_second(&of(vec![(first, ratio * 0.99)]));
            assert_eq!((more.feature, more.reduction), (second.feature, second.reduction));
            let less = of_second(&of(vec![(first, ratio * 1.01)]));
            assert_eq!((less.feature, less.reduction), (first, plain.splits()[0].reduction));
        }
        // Weighed alike, nothing changes but ties.
        let doubled = of((0..7).map(|feature| (feature, 2.0)).collect());
        assert_eq!(doubled.splits().len(), plain.splits().len());
        assert_eq!(doubled.leaves(), plain.leaves());
    }
}

fn in_pool<T: Send>(num_threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap().install(work)
}

#[test]
fn threads_cannot_be_seen_under_limits() {
    let world = World::new(2, 40_000);
    for (seed, tree_shape) in [(2, TreeShape::Leafwise), (3, TreeShape::Symmetric)] {
        for random_strength in [0.0, 2.0] {
            let limits = limits(seed);
            let options = GrowOptions {
                tree_shape,
                random_strength,
                features_per_node: 0.7,
                limits,
                ..GrowOptions::default()
            };
            let one = in_pool(1, || world.grow(&options));
            assert!(one.splits().len() > 3);
            assert!(in_pool(3, || world.grow(&options)) == one);
        }
    }
}

#[test]
fn limits_that_make_no_sense_are_refused() {
    let rising = |feature| (feature, MonotoneDirection::Rising);
    let base = Constraints::default;
    for (name, limits) in [
        ("monotone", Constraints { monotone: vec![rising(7)], ..base() }),
        ("monotone", Constraints { monotone: vec![rising(1), rising(1)], ..base() }),
        ("interactions", Constraints { interactions: vec![vec![0, 9]], ..base() }),
        ("interactions", Constraints { interactions: vec![vec![]], ..base() }),
        ("feature_weight", Constraints { feature_weight: vec![(0, -1.0)], ..base() }),
        ("feature_weight", Constraints { feature_weight: vec![(0, f64::NAN)], ..base() }),
        ("feature_weight", Constraints { feature_weight: vec![(0, 1.0), (0, 2.0)], ..base() }),
    ] {
        refused(name, GrowOptions { limits, ..GrowOptions::default() });
    }
    let limits = Constraints { monotone: vec![rising(0)], ..base() };
    let criterion = Criterion::LeastSquares;
    refused("monotone", GrowOptions { criterion, limits, ..GrowOptions::default() });
}

fn refused(name: &str, options: GrowOptions) {
    let world = World::new(0, 50);
    let table =
        TrainingTable { matrix: &world.matrix, binning: &world.binning, doc_hash: &world.doc_hash };
    let error = Grower::new(table, options).unwrap_err().to_string();
    assert!(error.starts_with(name), "{error}");
}
