//! Splits on categories: against all ways to part them, and from bins to scores.

#![expect(clippy::unwrap_used, reason = "a test")]

use rustrank::binning::{BinOptions, BinnedMatrix, Binning, CategoryBins};
use rustrank::data::{MissingPolicy, StridedTable};
use rustrank::model::{Forest, Model, Set, Split, Tree};
use rustrank::random::draw;
use rustrank::tree::{
    BinnedTree, CategoryOptions, Constraints, GrowOptions, Grower, TrainingTable, TreeJob,
    TreeShape,
};
use rustrank::{Gradient, Interrupt};

const NUM_FEATURES: usize = 4;

struct World {
    cells: Vec<f32>,
    binning: Binning,
    matrix: BinnedMatrix,
    doc_hash: Vec<u64>,
    gradients: Vec<Gradient>,
}

fn unit(stream: u64, id: usize) -> f64 {
    (draw(31, stream, id as u64) >> 11) as f64 / (1u64 << 53) as f64
}

/// Features 0 and 2 hold categories, 2 with missing cells; 1 and 3 hold numbers.
fn cell(seed: u64, row: usize, feature: usize, num_categories: f64) -> f32 {
    let u = unit(100 * seed + feature as u64, row);
    match feature {
        0 => (u * u * num_categories).floor() as f32 * 3.0 + 2.0,
        2 if u < 0.2 => f32::NAN,
        2 => (u * 6.0).floor() as f32,
        _ => (u * 9.0).floor() as f32,
    }
}

impl World {
    fn new(seed: u64, num_docs: usize, num_categories: usize) -> Self {
        let cells = (0..num_docs * NUM_FEATURES)
            .map(|i| cell(seed, i / NUM_FEATURES, i % NUM_FEATURES, num_categories as f64));
        let cells: Vec<f32> = cells.collect();
        let binning = binning_of(&cells);
        let never = Interrupt::new();
        let table = StridedTable::by_row(&cells, NUM_FEATURES, MissingPolicy::default());
        let order: Vec<u32> = (0..num_docs as u32).collect();
        let matrix = binning.encode_in_order(&table, &order, &never).unwrap();
        let gradient = |row: usize| {
            // What a category is worth has nothing to do with its number.
            let of = |f: usize| {
                let x = cells[row * NUM_FEATURES + f];
                unit(seed + 40 + f as u64, if x.is_nan() { 99 } else { x as usize }) - 0.5
            };
            let pull: f64 = (0..NUM_FEATURES).map(of).sum();
            let hess = (0.2 + unit(seed + 7, row)) as f32;
            Gradient { grad: (2.0 * pull + unit(seed + 8, row) - 0.5) as f32 * hess, hess }
        };
        let gradients = (0..num_docs).map(gradient).collect();
        let doc_hash = (0..num_docs as u64).map(|doc| draw(5, 5, doc)).collect();
        Self { cells, binning, matrix, doc_hash, gradients }
    }

    /// A tree, in a forest with its sets.
    fn grow(&self, options: &GrowOptions) -> Forest {
        let docs: Vec<u32> = (0..self.gradients.len() as u32).collect();
        let table = TrainingTable {
            matrix: &self.matrix,
            binning: &self.binning,
            doc_hash: &self.doc_hash,
        };
        let mut grower = Grower::new(table, options.clone()).unwrap();
        let job = TreeJob { gradients: &self.gradients, docs: &docs, rest: &[], round: 3 };
        let tree = grower.grow(table, job, &Interrupt::new()).unwrap();
        let mut forest = Forest::new(NUM_FEATURES);
        forest.push_with(tree.clone(), grower.sets()).unwrap();
        assert_eq!(forest.sets(), grower.sets());
        self.check_codes(&tree, grower.sets(), &forest);
        forest
    }

    fn row(&self, doc: usize) -> Vec<f64> {
        let row = &self.cells[doc * NUM_FEATURES..][..NUM_FEATURES];
        row.iter().map(|&x| f64::from(x)).collect()
    }

    /// The tree in codes says what the scorer says.
    fn check_codes(&self, tree: &Tree, sets: &[Set], forest: &Forest) {
        let coded = BinnedTree::new(tree, sets, &self.binning).unwrap();
        let mut scores = vec![0.0; self.gradients.len()];
        coded.add_to(&self.matrix, &mut scores, &Interrupt::new()).unwrap();
        let mut model = Model::new(NUM_FEATURES);
        model.push_with(forest.trees()[0].clone(), forest.sets()).unwrap();
        let mut said = vec![0.0; scores.len()];
        model.scorer().score(&self.cells, &mut said).unwrap();
        assert_eq!(said, scores);
        let again = Model::from_text(model.to_text().as_bytes()).unwrap();
        assert!(again == model);
        for (doc, score) in scores.iter().enumerate().step_by(7) {
            assert_eq!(forest.trees()[0].leaves()[leaf_of(forest, &self.row(doc))].value, *score);
        }
    }
}

fn binning_of(cells: &[f32]) -> Binning {
    let table = StridedTable::by_row(cells, NUM_FEATURES, MissingPolicy::default());
    let options = BinOptions { categorical: vec![0, 2], ..BinOptions::default() };
    Binning::of(&table, &options, &Interrupt::new()).unwrap()
}

fn leaf_of(forest: &Forest, row: &[f64]) -> usize {
    forest.trees()[0].leaf_of(|feature| forest.cell(feature, row))
}

fn sums(world: &World, docs: &[usize]) -> (f64, f64) {
    docs.iter().fold((0.0, 0.0), |(g, h), &doc| {
        let gradient = world.gradients[doc];
        (g + f64::from(gradient.grad), h + f64::from(gradient.hess))
    })
}

fn value(world: &World, docs: &[usize]) -> f64 {
    let (grad, hess) = sums(world, docs);
    0.5 * grad * grad / hess
}

/// All ways to part the values of a feature in two: of categories any, of numbers those between two,
/// missing values on either side.
fn ways(world: &World, docs: &[usize], feature: usize, only_one: bool) -> Vec<[Vec<usize>; 2]> {
    let cell = |doc: usize| world.cells[doc * NUM_FEATURES + feature];
    let mut values: Vec<f32> = docs.iter().map(|&doc| cell(doc)).collect();
    values.sort_by(f32::total_cmp);
    values.dedup_by(|a, b| a == b || a.is_nan() && b.is_nan());
    let is_category = feature.is_multiple_of(2);
    let is_asked = |set: &u32| match (is_category, only_one) {
        (true, true) => set.is_power_of_two(),
        (true, false) => true,
        (false, _) => (set + 1).is_power_of_two(),
    };
    let part = |set: u32| {
        let at = |doc: usize| {
            values.iter().position(|v| *v == cell(doc) || v.is_nan() && cell(doc).is_nan()).unwrap()
        };
        let (left, right) = docs.iter().partition(|&&doc| set >> at(doc) & 1 == 1);
        [left, right]
    };
    (1..(1u32 << values.len()) - 1).filter(is_asked).map(part).collect()
}

/// The naive tree: its leaves, sorted, and the reduction of each split.
fn naive_tree(world: &World, options: &GrowOptions, only_one: bool) -> (Vec<Vec<usize>>, Vec<f64>) {
    let min_docs = options.min_leaf_docs as usize;
    let mut leaves = vec![(0..world.gradients.len()).collect::<Vec<_>>()];
    let mut reductions = Vec::new();
    while leaves.len() < options.num_leaves {
        let mut best: Option<(f64, usize, [Vec<usize>; 2])> = None;
        for (at, docs) in leaves.iter().enumerate() {
            let least = min_docs as f64 * sums(world, docs).1 / docs.len() as f64;
            let fits = |side: &Vec<usize>| {
                let hess = sums(world, side).1;
                side.len() >= min_docs && (min_docs == 1 || hess >= least * (1.0 - 1e-7))
            };
            let sides = (0..NUM_FEATURES).flat_map(|f| ways(world, docs, f, only_one));
            for sides in sides.filter(|sides| sides.iter().all(fits)) {
                let reduction =
                    value(world, &sides[0]) + value(world, &sides[1]) - value(world, docs);
                if best.as_ref().is_none_or(|best| reduction > best.0 * (1.0 + 1e-6)) {
                    best = Some((reduction, at, sides));
                }
            }
        }
        let Some((reduction, at, [left, right])) = best else { break };
        reductions.push(reduction);
        leaves[at] = left;
        leaves.push(right);
    }
    leaves.sort();
    (leaves, reductions)
}

/// Nothing but the loss counts.
fn bare() -> GrowOptions {
    GrowOptions {
        num_leaves: 6,
        min_leaf_docs: 1,
        min_leaf_hess: 0.0,
        categories: CategoryOptions {
            smooth: 0.0,
            min_docs: 0,
            most: 254,
            one_by_one: 0,
            missing_unknown: false,
        },
        ..GrowOptions::default()
    }
}

fn assert_naive(world: &World, options: &GrowOptions, only_one: bool) {
    let forest = world.grow(options);
    let tree = &forest.trees()[0];
    let (leaves, reductions) = naive_tree(world, options, only_one);
    let mut docs_of = vec![Vec::new(); tree.leaves().len()];
    (0..world.gradients.len()).for_each(|doc| docs_of[leaf_of(&forest, &world.row(doc))].push(doc));
    docs_of.sort();
    assert_eq!(docs_of, leaves);
    for (split, expected) in tree.splits().iter().zip(&reductions) {
        assert!((split.reduction - expected).abs() < 1e-4 * expected, "{split:?} {expected}");
    }
}

#[test]
fn the_best_of_all_ways_to_part_categories_is_found() {
    for seed in 0..12 {
        let world = World::new(seed, 240, 8);
        assert_naive(&world, &bare(), false);
        let categories = CategoryOptions { one_by_one: 9, ..bare().categories };
        assert_naive(&world, &GrowOptions { categories, ..bare() }, true);
    }
}

/// Where no category is rare, missing values with the unknown ones can still be on either side of any split.
#[test]
fn missing_values_go_where_unknown_categories_go_if_asked() {
    let mut found = [0; 2];
    for seed in 0..12 {
        let world = World::new(seed, 240, 8);
        let categories = CategoryOptions { missing_unknown: true, ..bare().categories };
        let options = GrowOptions { categories, ..bare() };
        assert_naive(&world, &options, false);
        for (at, tree_shape) in [TreeShape::Leafwise, TreeShape::Symmetric].into_iter().enumerate()
        {
            let forest = world.grow(&GrowOptions { tree_shape, ..options.clone() });
            let is_category = |split: &&Split| split.feature as usize >= NUM_FEATURES;
            let splits: Vec<_> = forest.trees()[0].splits().iter().filter(is_category).collect();
            assert!(splits.iter().all(|split| !split.missing_left));
            found[at] += splits.len();
        }
    }
    assert!(found.into_iter().all(|splits| splits > 10), "{found:?}");
}

#[test]
fn docs_of_categories_are_counted() {
    for seed in 0..12 {
        let mut world = World::new(seed, 400, 8);
        for (row, gradient) in world.gradients.iter_mut().enumerate() {
            let hess = (1e-2 + unit(seed + 9, row).powi(8)) as f32;
            *gradient = Gradient { grad: gradient.grad / gradient.hess * hess, hess };
        }
        let categories = CategoryOptions { one_by_one: 9, ..bare().categories };
        assert_naive(&world, &GrowOptions { categories, min_leaf_docs: 30, ..bare() }, true);
    }
}

#[test]
fn bins_are_by_number_of_docs_and_not_by_order_of_rows() {
    let world = World::new(3, 4000, 400);
    let mut rows: Vec<&[f32]> = world.cells.chunks(NUM_FEATURES).collect();
    rows.sort_by(|a, b| a[1].total_cmp(&b[1]).then(b[0].total_cmp(&a[0])));
    let moved = binning_of(&rows.concat());
    assert_eq!(world.binning.mappers(), moved.mappers());
    let categories = world.binning.mappers()[0].categories().unwrap();
    let count = |category: u32| {
        world.cells.iter().step_by(NUM_FEATURES).filter(|&&x| x == category as f32).count()
    };
    let counts: Vec<usize> = categories.by_bin().iter().map(|&c| count(c)).collect();
    assert_eq!(counts.len(), CategoryBins::MOST);
    assert!(counts.is_sorted_by(|a, b| a >= b));
    let mapper = &world.binning.mappers()[0];
    assert_eq!((mapper.num_bins(), mapper.num_codes()), (255, 256));
    for (code, &category) in categories.by_bin().iter().enumerate() {
        assert_eq!(usize::from(mapper.code(category as f32)), code);
        assert_eq!(usize::from(mapper.code(category as f32 + 0.5)), code);
    }
    for other in [-1.0, -7.5, 1e9, 3.0, 0.0] {
        assert_eq!(mapper.code(other), 254);
    }
    assert_eq!(mapper.code(f32::NAN), 255);
    for doc in (0..4000).step_by(13) {
        for (feature, place) in world.binning.layout().locations().iter().enumerate() {
            let mapper = &world.binning.mappers()[feature];
            let expected = mapper.code(world.cells[doc * NUM_FEATURES + feature]);
            assert_eq!(world.matrix.code(doc, place.unwrap()), expected);
        }
    }
}

#[test]
fn unknown_categories_go_where_others_do() {
    let world = World::new(4, 6000, 600);
    let forest = world.grow(&GrowOptions { num_leaves: 40, ..GrowOptions::default() });
    let known = world.binning.mappers()[0].categories().unwrap();
    let others: Vec<f32> = world.cells.iter().step_by(NUM_FEATURES).copied().collect();
    let rare = others.iter().copied().find(|&x| known.bin(x as u32).is_none()).unwrap();
    let mut asked = 0;
    for doc in 0..500 {
        let of = |category: f64| {
            let mut row = world.row(doc);
            row[0] = category;
            leaf_of(&forest, &row)
        };
        assert_eq!(of(f64::from(rare)), of(1e6 + 1.0));
        assert_eq!(of(f64::from(rare)), of(-3.0));
        asked += usize::from(of(f64::from(rare)) != of(f64::from(known.by_bin()[0] as f32)));
    }
    assert!(asked > 0);
    let named = forest.sets().iter().map(|set| set.categories.len());
    assert!(named.max().unwrap() <= 32);
    assert!(
        forest
            .sets()
            .iter()
            .all(|set| set.categories.iter().all(|&c| known.bin(c).is_some() || set.feature == 2))
    );
}

#[test]
fn smoothing_keeps_chance_out() {
    // Five docs a category, and nothing to find.
    let mut world = World::new(5, 1000, 200);
    for (row, gradient) in world.gradients.iter_mut().enumerate() {
        *gradient = Gradient { grad: (unit(1, row) - 0.5) as f32, hess: 1.0 };
    }
    let of = |smooth: f64| {
        let categories = CategoryOptions { smooth, ..bare().categories };
        let limits = Constraints {
            feature_weight: vec![(1, 0.0), (2, 0.0), (3, 0.0)],
            ..Constraints::default()
        };
        let options = GrowOptions { num_leaves: 2, categories, limits, ..GrowOptions::default() };
        world.grow(&options).trees()[0].splits().first().map_or(0.0, |split| split.reduction)
    };
    let (bare, smoothed) = (of(0.0), of(50.0));
    assert!(smoothed < bare, "{smoothed} {bare}");
}

fn in_pool<T: Send>(num_threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap().install(work)
}

#[test]
fn threads_and_shapes_of_trees_make_no_difference_to_what_is_asked() {
    let world = World::new(6, 30_000, 300);
    for tree_shape in [TreeShape::Leafwise, TreeShape::Symmetric] {
        for random_strength in [0.0, 1.0] {
            let options = GrowOptions {
                tree_shape,
                random_strength,
                num_leaves: 32,
                features_per_node: 0.8,
                rows_per_node: 0.9,
                ..GrowOptions::default()
            };
            let one = in_pool(1, || world.grow(&options));
            assert!(!one.sets().is_empty());
            assert!(in_pool(3, || world.grow(&options)) == one);
        }
    }
}

#[test]
fn symmetric_trees_part_one_category_a_level() {
    let world = World::new(7, 3000, 12);
    let options = GrowOptions {
        tree_shape: TreeShape::Symmetric,
        num_leaves: 16,
        min_leaf_docs: 1,
        min_leaf_hess: 0.0,
        ..GrowOptions::default()
    };
    let forest = world.grow(&options);
    let tree = &forest.trees()[0];
    assert_eq!(tree.leaves().len(), 16);
    assert!(!forest.sets().is_empty());
    assert!(forest.sets().iter().all(|set| set.categories.len() == 1));
    let docs: Vec<usize> = (0..3000).collect();
    let best = (0..NUM_FEATURES)
        .flat_map(|feature| ways(&world, &docs, feature, true))
        .map(|[left, right]| value(&world, &left) + value(&world, &right) - value(&world, &docs))
        .fold(0.0, f64::max);
    // A category may also be parted together with missing cells.
    assert!(tree.splits()[0].reduction >= best * (1.0 - 1e-4));
}

#[test]
fn fewer_trees_have_the_sets_of_fewer_trees() {
    let world = World::new(8, 500, 20);
    let mut model = Model::new(NUM_FEATURES);
    let mut texts = vec![model.to_text()];
    for num_leaves in [4, 9, 3, 12] {
        let forest = world.grow(&GrowOptions { num_leaves, ..GrowOptions::default() });
        model.push_with(forest.trees()[0].clone(), forest.sets()).unwrap();
        texts.push(model.to_text());
    }
    for count in (0..4).rev() {
        let mut fewer = model.clone();
        fewer.truncate(count);
        assert_eq!(fewer.to_text(), texts[count]);
    }
    let sum = |model: &Model| {
        let mut scores = vec![0.0; 500];
        model.scorer().score(&world.cells, &mut scores).unwrap();
        scores
    };
    let parts = [model.slice(0..2), model.slice(2..4)].map(|part| sum(&part));
    for ((whole, first), second) in sum(&model).iter().zip(&parts[0]).zip(&parts[1]) {
        assert!((whole - first - second).abs() < 1e-12);
    }
}
