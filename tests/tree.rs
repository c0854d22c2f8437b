//! Trees: against a naive grower, and blind to threads, sampling order and the form of the table.

#![expect(clippy::unwrap_used, reason = "a test")]

mod naive_trees;

use naive_trees::*;
use proptest::prelude::*;
use rustrank::model::{Child, Split, Tree};
use rustrank::tree::{BinnedTree, Criterion, GrowOptions, Grower, TreeJob, TreeShape};
use rustrank::{Gradient, Interrupt};

#[test]
fn trees_are_those_of_a_naive_grower() {
    let base = GrowOptions { num_leaves: 8, min_leaf_docs: 5, ..GrowOptions::default() };
    for seed in 0..6 {
        for equal_hess in [false, true] {
            let world = World::new(seed, 300, 9, equal_hess);
            assert_same(&world, &base);
            assert_same(&world, &GrowOptions { l2: 3.0, max_depth: Some(2), ..base.clone() });
            assert_same(&world, &GrowOptions { min_leaf_hess: 12.0, ..base.clone() });
            let criterion = Criterion::LeastSquares;
            assert_same(&world, &GrowOptions { criterion, min_leaf_docs: 1, ..base.clone() });
        }
    }
}

#[test]
fn no_leaf_has_fewer_docs_than_allowed() {
    let mut changed = 0;
    for seed in 0..12 {
        let world = World::skewed(seed, 400, 9);
        for min_leaf_docs in [2, 10, 25] {
            let base = GrowOptions { num_leaves: 12, min_leaf_docs, ..GrowOptions::default() };
            let min_leaf_hess = 1e-6;
            let options = GrowOptions { min_leaf_hess, ..base };
            assert_same(&world, &options);
            let tree = world.grow(&options);
            assert!(tree.leaves().iter().all(|leaf| leaf.docs >= u64::from(min_leaf_docs)));
            let (by_hess, _) = naive_tree(&world, &options, false);
            changed += by_hess.iter().filter(|docs| docs.len() < min_leaf_docs as usize).count();
        }
    }
    assert!(changed > 20, "counted docs made no difference: {changed}");
}

/// The question that all splits of a level of a symmetric tree ask.
fn question_of(tree: &Tree, level: u32) -> Option<(usize, f32, bool)> {
    let of_level = tree.splits().get((1 << level) - 1..(2 << level) - 1)?;
    let question = |split: &Split| {
        (
            split.feature as usize,
            split.threshold.min(f64::from(f32::MAX)) as f32,
            split.missing_left,
        )
    };
    let first = question(&of_level[0]);
    assert!(of_level.iter().all(|split| question(split) == first));
    Some(first)
}

/// A leaf of the naive symmetric tree.
struct Fixed {
    docs: Vec<usize>,
    value: f64,
    /// Whether its docs are too few for a value of its own.
    is_small: bool,
}

impl Fixed {
    fn may_split(&self, options: &GrowOptions) -> bool {
        !self.is_small && self.docs.len() >= 2 * options.min_leaf_docs as usize
    }

    fn divided(&self, rule: &Rule<'_>, question: (usize, f32, bool)) -> [Self; 2] {
        divided(rule.world, &self.docs, question).map(|docs| {
            let is_small = self.is_small
                || docs.len() < rule.options.min_leaf_docs as usize
                || rule.mass(&docs) < rule.least(&self.docs) * (1.0 - 1e-7);
            let value = if is_small { self.value } else { rule.smoothed_step(&docs, self.value) };
            Self { docs, value, is_small }
        })
    }
}

/// Level by level: what the tree asks is as good as what is best, for many questions are alike.
fn assert_same_symmetric(world: &World, options: &GrowOptions) {
    let tree = world.grow(options);
    let rule = Rule { world, options };
    let docs: Vec<usize> = (0..world.num_docs()).collect();
    let root = Fixed { value: rule.step(&docs), docs, is_small: false };
    let mut leaves = vec![root];
    let depth = options.num_leaves.ilog2().min(options.max_depth.unwrap_or(99));
    for level in 0..depth {
        // The search goes by hessians; of what it finds, only leaves with enough docs on both sides
        // get values of their own.
        let reduction_of = |question, is_counted: bool| -> f64 {
            let of = |leaf: &Fixed| {
                let [left, right] = divided(world, &leaf.docs, question);
                let is_known = !is_counted || rule.has_enough_docs(&left, &right);
                rule.reduction(&left, &right).filter(|_| is_known).unwrap_or(0.0)
            };
            leaves.iter().filter(|leaf| leaf.may_split(options)).map(of).sum()
        };
        let worth = |question| reduction_of(question, false);
        let all = questions(world, 0..world.num_features);
        let best = all.into_iter().map(worth).fold(0.0, f64::max);
        let value: f64 = leaves.iter().map(|leaf| rule.value(&leaf.docs)).sum();
        let Some(question) = question_of(&tree, level) else {
            assert!(best <= options.min_reduction.max(1e-6 * value), "{best} {options:?}");
            assert_eq!(tree.leaves().len(), leaves.len());
            break;
        };
        let ours = worth(question);
        assert!(ours >= best * (1.0 - 1e-5), "{question:?}: {ours} {best} {options:?}");
        let of_level = &tree.splits()[(1 << level) - 1..(2 << level) - 1];
        let sum: f64 = of_level.iter().map(|split| split.reduction).sum();
        let counted = reduction_of(question, true);
        assert!((sum - counted).abs() < 1e-4 * best, "{sum} {counted} {options:?}");
        leaves = leaves.iter().flat_map(|leaf| leaf.divided(&rule, question)).collect();
    }
    let mut seen = 0;
    for leaf in leaves.iter().filter(|leaf| !leaf.docs.is_empty()) {
        let at = world.leaf_of(&tree, leaf.docs[0]);
        assert!(leaf.docs.iter().all(|&doc| world.leaf_of(&tree, doc) == at));
        let ours = &tree.leaves()[at];
        assert_eq!(ours.docs, leaf.docs.len() as u64);
        let off = (ours.value - leaf.value).abs();
        assert!(off < 1e-4 * (1.0 + leaf.value.abs()), "{ours:?} {} {options:?}", leaf.value);
        seen += leaf.docs.len();
    }
    assert_eq!(seen, world.num_docs());
}

#[test]
fn symmetric_trees_are_those_of_a_naive_grower() {
    let base = GrowOptions {
        tree_shape: TreeShape::Symmetric,
        num_leaves: 19,
        min_leaf_docs: 5,
        ..GrowOptions::default()
    };
    for seed in 0..6 {
        for equal_hess in [false, true] {
            let world = World::new(seed, 300, 9, equal_hess);
            assert_same_symmetric(&world, &base);
            assert_same_symmetric(
                &world,
                &GrowOptions { l2: 3.0, max_depth: Some(2), ..base.clone() },
            );
            // Not a whole number: where hessians are equal, rounding would decide.
            assert_same_symmetric(&world, &GrowOptions { min_leaf_hess: 11.9, ..base.clone() });
            let criterion = Criterion::LeastSquares;
            assert_same_symmetric(
                &world,
                &GrowOptions { criterion, min_leaf_docs: 1, ..base.clone() },
            );
            let (path_smooth, min_leaf_docs) = (10.0, 20);
            assert_same_symmetric(
                &world,
                &GrowOptions { path_smooth, min_leaf_docs, ..base.clone() },
            );
            assert_same_symmetric(&world, &GrowOptions { path_smooth, criterion, ..base.clone() });
        }
        let world = World::skewed(seed, 300, 9);
        assert_same_symmetric(&world, &GrowOptions { min_leaf_docs: 15, ..base.clone() });
    }
}

#[test]
fn subtracted_sums_of_a_level_are_those_of_its_docs() {
    // Large enough for kept histograms; the naive grower takes its time.
    let world = World::new(8, 2500, 4, false);
    let options = GrowOptions {
        tree_shape: TreeShape::Symmetric,
        num_leaves: 16,
        min_leaf_docs: 5,
        ..GrowOptions::default()
    };
    assert_same_symmetric(&world, &options);
}

/// The docs of each node, the splits before the leaves.
fn docs_of_splits(world: &World, tree: &Tree) -> Vec<Vec<usize>> {
    let mut docs = vec![Vec::new(); tree.splits().len()];
    for doc in 0..world.num_docs() {
        let mut at = Child::Split(0);
        while let Child::Split(split) = at {
            docs[split as usize].push(doc);
            let split = &tree.splits()[split as usize];
            let cell = world.cells[doc * world.num_features + split.feature as usize];
            let goes_left =
                if cell.is_nan() { split.missing_left } else { f64::from(cell) <= split.threshold };
            at = if goes_left { split.left } else { split.right };
        }
    }
    docs
}

/// From the root down, over the docs of each node; splits are those of a tree that is not smoothed.
fn assert_smoothed(world: &World, options: &GrowOptions) {
    let tree = world.grow(options);
    let plain = world.grow(&GrowOptions { path_smooth: 0.0, ..options.clone() });
    assert_eq!(tree.splits(), plain.splits(), "{options:?}");
    let rule = Rule { world, options };
    let docs_of = docs_of_splits(world, &tree);
    let mut docs_of_leaf = vec![Vec::new(); tree.leaves().len()];
    (0..world.num_docs()).for_each(|doc| docs_of_leaf[world.leaf_of(&tree, doc)].push(doc));
    let mut nodes = vec![(Child::Split(0), rule.step(&docs_of[0]))];
    let mut num_leaves = 0;
    while let Some((node, value)) = nodes.pop() {
        match node {
            Child::Split(split) => {
                let split = &tree.splits()[split as usize];
                for child in [split.left, split.right] {
                    let docs = match child {
                        Child::Split(split) => &docs_of[split as usize],
                        Child::Leaf(leaf) => &docs_of_leaf[leaf as usize],
                    };
                    nodes.push((child, rule.smoothed_step(docs, value)));
                }
            }
            Child::Leaf(leaf) => {
                let ours = tree.leaves()[leaf as usize].value;
                assert!((ours - value).abs() < 1e-5 * (1.0 + value.abs()), "{ours} {value}");
                num_leaves += 1;
            }
        }
    }
    assert_eq!(num_leaves, tree.leaves().len());
    assert!(num_leaves > 4, "a tree of several levels: {num_leaves} leaves of {options:?}");
}

#[test]
fn values_are_smoothed_towards_those_of_all_nodes_above() {
    for seed in 0..4 {
        let world = World::new(seed, 400, 9, false);
        for path_smooth in [0.0, 1e-310, 0.5, 30.0, 1e300] {
            let base = GrowOptions {
                path_smooth,
                num_leaves: 12,
                min_leaf_docs: 3,
                ..GrowOptions::default()
            };
            assert_smoothed(&world, &base);
            assert_smoothed(&world, &GrowOptions { rows_per_node: 0.5, ..base.clone() });
            let criterion = Criterion::LeastSquares;
            assert_smoothed(&world, &GrowOptions { criterion, l2: 2.0, ..base });
        }
    }
}

#[test]
fn trees_of_few_features_take_the_best_of_those_they_use() {
    for (num_features, features_per_tree) in [(46, 0.7), (31, 0.5), (90, 0.9), (12, 0.3)] {
        let world = World::new(9, 1500, num_features, false);
        let options = GrowOptions {
            num_leaves: 20,
            min_leaf_docs: 10,
            features_per_tree,
            ..Default::default()
        };
        let docs: Vec<u32> = (0..1500).collect();
        let mut grower = Grower::new(world.table(), options.clone()).unwrap();
        for round in 0..5 {
            let job = TreeJob { gradients: &world.gradients, docs: &docs, rest: &[], round };
            let tree = grower.grow(world.table(), job, &Interrupt::new()).unwrap();
            assert_eq!(tree.leaves().len(), 20);
            let used = || tree.splits().iter().map(|split| split.feature as usize);
            for (split, docs) in tree.splits().iter().zip(docs_of_splits(&world, &tree)) {
                let (best, ..) = naive_split(&world, &docs, &options, used(), true).unwrap();
                assert!((split.reduction - best).abs() < 1e-4 * best, "{split:?} {best}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn small_trees_of_any_shape_are_naive_too(
        seed in 0u64..10_000, num_docs in 2usize..60, num_features in 1usize..7,
        num_leaves in 2usize..12, min_leaf_docs in 1u32..6,
    ) {
        let world = World::new(seed, num_docs, num_features, false);
        let options = GrowOptions { num_leaves, min_leaf_docs, ..GrowOptions::default() };
        assert_same(&world, &options);
        let tree_shape = TreeShape::Symmetric;
        assert_same_symmetric(&world, &GrowOptions { tree_shape, ..options });
    }
}

#[test]
fn trees_of_docs_that_lack_fields_are_naive_too() {
    for seed in 0..3 {
        let world = World::of_fields(seed, 1500, 21);
        let options = GrowOptions { num_leaves: 6, min_leaf_docs: 5, ..GrowOptions::default() };
        assert_same(&world, &options);
        let some = GrowOptions { features_per_tree: 0.6, ..options.clone() };
        let [plain, thin] = [&options, &some].map(|options| world.grow(options));
        assert_ne!(plain, thin);
        let tree_shape = TreeShape::Symmetric;
        assert_same_symmetric(&world, &GrowOptions { num_leaves: 8, tree_shape, ..options });
    }
}

fn in_pool<T: Send>(num_threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap().install(work)
}

#[test]
fn threads_cannot_be_seen() {
    threads_cannot_be_seen_in(&World::new(1, 50_000, 40, false));
    threads_cannot_be_seen_in(&World::of_fields(1, 30_000, 40));
}

fn threads_cannot_be_seen_in(world: &World) {
    let shapes = [TreeShape::Leafwise, TreeShape::Symmetric];
    let cases = shapes.map(|shape| [(shape, 1.0, 0.0), (shape, 0.7, 0.0), (shape, 1.0, 2.0)]);
    for (tree_shape, rows_per_node, random_strength) in cases.into_iter().flatten() {
        let options = GrowOptions {
            tree_shape,
            random_strength,
            num_leaves: 64,
            features_per_tree: 0.8,
            features_per_node: 0.5,
            rows_per_node,
            path_smooth: 10.0 * random_strength,
            ..GrowOptions::default()
        };
        let one = in_pool(1, || world.grow(&options));
        assert_eq!(one.leaves().len(), 64);
        for num_threads in [2, 3, 4] {
            assert!(in_pool(num_threads, || world.grow(&options)) == one, "{num_threads}");
        }
    }
}

#[test]
fn docs_of_a_leaf_are_those_that_the_tree_sends_there() {
    docs_are_where_the_tree_sends_them(TreeShape::Leafwise);
    docs_are_where_the_tree_sends_them(TreeShape::Symmetric);
}

fn docs_are_where_the_tree_sends_them(tree_shape: TreeShape) {
    let world = World::new(2, 3000, 12, false);
    let (docs, rest): (Vec<u32>, Vec<u32>) = (0..3000u32).partition(|doc| doc % 3 > 0);
    let options = GrowOptions { tree_shape, ..GrowOptions::default() };
    let mut grower = Grower::new(world.table(), options).unwrap();
    let job = TreeJob { gradients: &world.gradients, docs: &docs, rest: &rest, round: 0 };
    let tree = grower.grow(world.table(), job, &Interrupt::new()).unwrap();
    let mut scores = vec![0.0; 3000];
    for (at, leaf) in tree.leaves().iter().enumerate() {
        let [of_docs, of_rest] = grower.docs_of(at);
        assert_eq!(leaf.docs, of_docs.len() as u64);
        assert!(of_docs.is_sorted() && of_rest.is_sorted());
        assert!(of_docs.iter().all(|doc| doc % 3 > 0) && of_rest.iter().all(|doc| doc % 3 == 0));
        for &doc in of_docs.iter().chain(of_rest) {
            assert_eq!(world.leaf_of(&tree, doc as usize), at);
            scores[doc as usize] = leaf.value;
        }
    }
    let coded = BinnedTree::new(&tree, &[], &world.binning).unwrap();
    let mut added = vec![0.0; 3000];
    coded.add_to(&world.matrix, &mut added, &Interrupt::new()).unwrap();
    assert_eq!(added, scores);
}

#[test]
fn a_tree_of_other_thresholds_has_no_codes() {
    let world = World::new(3, 500, 6, false);
    let tree = world.grow(&GrowOptions::default());
    let other = World::new(4, 500, 6, false);
    assert!(BinnedTree::new(&tree, &[], &world.binning).is_some());
    assert!(BinnedTree::new(&tree, &[], &other.binning).is_none());
}

#[test]
fn nothing_to_split_gives_one_leaf() {
    let mut world = World::new(5, 200, 6, false);
    let big = GrowOptions { min_leaf_docs: 101, ..GrowOptions::default() };
    assert_eq!(world.grow(&big).leaves().len(), 1);
    world.gradients.fill(Gradient { grad: 0.0, hess: 0.0 });
    let tree = world.grow(&GrowOptions::default());
    assert_eq!((tree.leaves().len(), tree.leaves()[0].value), (1, 0.0));
    world.gradients.fill(Gradient { grad: -0.3, hess: 0.6 });
    let tree = world.grow(&GrowOptions::default());
    assert_eq!(tree.leaves().len(), 1, "all docs alike: nothing to gain");
    assert!((tree.leaves()[0].value - 0.5).abs() < 1e-6);
}

#[test]
fn sampling_draws_the_asked_part_and_differs_between_rounds() {
    let world = World::new(6, 2000, 36, false);
    let used = |round: u64| {
        let options = GrowOptions { features_per_tree: 0.25, ..GrowOptions::default() };
        let docs: Vec<u32> = (0..2000).collect();
        let mut grower = Grower::new(world.table(), options).unwrap();
        let job = TreeJob { gradients: &world.gradients, docs: &docs, rest: &[], round };
        let tree = grower.grow(world.table(), job, &Interrupt::new()).unwrap();
        let mut used: Vec<u32> = tree.splits().iter().map(|split| split.feature).collect();
        used.sort_unstable();
        used.dedup();
        used
    };
    let [first, second] = [used(0), used(1)];
    // Six of the 36 features are constant: a quarter of 30.
    assert!(first.len() <= 8 && second.len() <= 8);
    assert_ne!(first, second);
    assert_eq!(first, used(0));
}

#[test]
fn children_come_after_their_parents() {
    let tree = World::new(7, 5000, 12, false).grow(&GrowOptions::default());
    for (at, split) in tree.splits().iter().enumerate() {
        for child in [split.left, split.right] {
            assert!(!matches!(child, Child::Split(below) if below as usize <= at));
        }
    }
    let root = &tree.splits()[0];
    assert_eq!(root.docs, 5000);
    let cover: f64 = tree.leaves().iter().map(|leaf| leaf.cover).sum();
    assert!((root.cover - cover).abs() < 1e-9 * cover);
}

/// Noise as the product draws it is tested there; here is what it does to trees.
#[test]
fn noise_fades_and_chooses_nothing_that_takes_nothing_off() {
    let world = World::new(4, 2000, 12, false);
    for tree_shape in [TreeShape::Leafwise, TreeShape::Symmetric] {
        let of = |random_strength: f64, random_decay: f64, round: u64| {
            let options =
                GrowOptions { tree_shape, random_strength, random_decay, ..GrowOptions::default() };
            let docs: Vec<u32> = (0..2000).collect();
            let mut grower = Grower::new(world.table(), options).unwrap();
            let job = TreeJob { gradients: &world.gradients, docs: &docs, rest: &[], round };
            grower.grow(world.table(), job, &Interrupt::new()).unwrap()
        };
        let plain = of(0.0, 0.1, 1);
        let noisy = of(3.0, 0.1, 1);
        assert!(noisy != plain && noisy == of(3.0, 0.1, 1) && noisy != of(3.0, 0.1, 2));
        assert!(of(3.0, 0.1, 2000) == plain, "faded");
        assert!(of(1e-12, 0.1, 1) == plain, "too weak to be seen");
        assert!(noisy.splits()[0].reduction > 0.0);
        assert!(noisy.splits()[0].reduction <= plain.splits()[0].reduction);
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let base = GrowOptions::default;
    for (name, options) in [
        ("num_leaves", GrowOptions { num_leaves: 1, ..base() }),
        ("max_depth", GrowOptions { max_depth: Some(0), ..base() }),
        ("min_leaf_docs", GrowOptions { min_leaf_docs: 0, ..base() }),
        ("l2", GrowOptions { l2: f64::NAN, ..base() }),
        ("path_smooth", GrowOptions { path_smooth: -1.0, ..base() }),
        ("min_leaf_hess", GrowOptions { min_leaf_hess: -1.0, ..base() }),
        ("features_per_tree", GrowOptions { features_per_tree: 0.0, ..base() }),
        ("rows_per_node", GrowOptions { rows_per_node: 1.5, ..base() }),
        ("random_strength", GrowOptions { random_strength: -1.0, ..base() }),
        ("random_decay", GrowOptions { random_decay: f64::INFINITY, ..base() }),
    ] {
        let error = options.check().unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
    }
}
