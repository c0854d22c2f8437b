//! Contributions of features against Shapley's definition, subset by subset.

#![expect(clippy::unwrap_used, reason = "a test")]

mod models;

use models::{Kind, Random, native_of, nets, rich, rich_of, tree};
use rustrank::model::{
    CellType, Child, Component, Explainer, Forest, Leaf, Linear, Model, Normalisation, Part, Split,
    Tree,
};
use rustrank::simd::Level;

/// The same tree with what comes to a split: what goes to its two sides.
fn added_up(tree: &Tree) -> Tree {
    let (mut splits, leaves) = (tree.splits().to_vec(), tree.leaves().to_vec());
    for at in (0..splits.len()).rev() {
        let of = |child: Child| match child {
            Child::Split(below) => (splits[below as usize].docs, splits[below as usize].cover),
            Child::Leaf(leaf) => (leaves[leaf as usize].docs, leaves[leaf as usize].cover),
        };
        let (left, right) = (of(splits[at].left), of(splits[at].right));
        (splits[at].docs, splits[at].cover) = (left.0 + right.0, left.1 + right.1);
    }
    Tree::new(splits, leaves)
}

/// A forest of ours, whose docs add up.
fn native(seed: u64, num_features: usize, leaves: &[usize]) -> Model {
    native_of(seed, num_features, leaves, added_up)
}

/// What a game is worth to the features in `mask`.
type Game<'a> = dyn Fn(u32) -> f64 + 'a;

/// Shapley's definition: over all sets of the others, weighted by the orders that begin with them.
fn shapley(players: usize, game: &Game<'_>) -> Vec<f64> {
    let factorial = |n: usize| (1..=n).map(|i| i as f64).product::<f64>();
    let worth: Vec<f64> = (0..1u32 << players).map(game).collect();
    let value = |player: usize| {
        let without = (0..1usize << players).filter(|mask| mask >> player & 1 == 0);
        let terms = without.map(|mask| {
            let size = mask.count_ones() as usize;
            let orders = factorial(size) * factorial(players - 1 - size) / factorial(players);
            orders * (worth[mask | 1 << player] - worth[mask])
        });
        terms.sum()
    };
    (0..players).map(value).collect()
}

/// The score of a forest where only the features in `mask` are known.
fn expected(forest: &Forest, row: &[f64], mask: u32) -> f64 {
    forest.trees().iter().map(|tree| expected_tree(forest, tree, row, mask)).sum()
}

fn expected_tree(forest: &Forest, tree: &Tree, row: &[f64], mask: u32) -> f64 {
    fn at(forest: &Forest, tree: &Tree, row: &[f64], mask: u32, node: Child) -> f64 {
        let split = match node {
            Child::Leaf(leaf) => return tree.leaves()[leaf as usize].value,
            Child::Split(split) => &tree.splits()[split as usize],
        };
        let docs = |child| match child {
            Child::Split(at) => tree.splits()[at as usize].docs as f64,
            Child::Leaf(at) => tree.leaves()[at as usize].docs as f64,
        };
        let below = |child| at(forest, tree, row, mask, child);
        let set = (split.feature as usize).checked_sub(forest.num_features());
        let feature = set.map_or(split.feature, |set| forest.sets()[set].feature);
        if mask >> feature & 1 == 1 {
            let cell = forest.cell(split.feature, row);
            let left = if cell.is_nan() { split.missing_left } else { cell <= split.threshold };
            return below(if left { split.left } else { split.right });
        }
        let (left, right) = (docs(split.left), docs(split.right));
        let share = if left + right > 0.0 { left / (left + right) } else { 0.5 };
        share * below(split.left) + (1.0 - share) * below(split.right)
    }
    let root = if tree.splits().is_empty() { Child::Leaf(0) } else { Child::Split(0) };
    at(forest, tree, row, mask, root)
}

fn rows(seed: u64, count: usize, features: usize) -> Vec<f64> {
    let mut random = Random::new(seed);
    let kind = Kind { features, thresholds: 60, cells: CellType::F32 };
    let finite = |x: f64| if x.is_infinite() { 0.5 } else { x };
    (0..count * features).map(|_| finite(kind.value(&mut random))).collect()
}

fn close(found: f64, wanted: f64, scale: f64) -> bool {
    (found - wanted).abs() <= 1e-12 * scale
}

fn explained(explainer: &Explainer, rows: &[f64], count: usize) -> Vec<f64> {
    let mut values = vec![f64::NAN; count * (explainer.num_features() + 1)];
    explainer.explain(rows, &mut values).unwrap();
    values
}

#[test]
fn values_are_shapleys_of_the_game_that_follows_known_features() {
    for (seed, leaves) in [(1, 2), (2, 3), (3, 8), (4, 31), (5, 200), (6, 1)] {
        let model = native(seed, 6, &[leaves; 3]);
        let forest = model.forests().next().unwrap();
        let scale = 3.0;
        let rows = rows(seed, 21, 6);
        let values = explained(&model.explainer().unwrap(), &rows, 21);
        for (row, values) in rows.chunks(6).zip(values.chunks(7)) {
            let wanted = shapley(6, &|mask| expected(forest, row, mask));
            for (found, wanted) in values.iter().zip(wanted) {
                assert!(close(*found, wanted, scale), "{leaves} leaves: {found} {wanted}");
            }
            assert!(close(values[6], expected(forest, row, 0), scale));
        }
    }
}

#[test]
fn categories_and_zeros_are_explained_as_their_feature() {
    let model = rich_of(3, added_up);
    let forest = model.forests().nth(1).unwrap();
    assert!(!forest.sets().is_empty());
    let mut alone = Model::new(5);
    alone.add(Component::new(Part::Forest(forest.clone()))).unwrap();
    let rows = rows(7, 10, 5);
    let values = explained(&alone.explainer().unwrap(), &rows, 10);
    for (row, values) in rows.chunks(5).zip(values.chunks(6)) {
        let wanted = shapley(5, &|mask| expected(forest, row, mask));
        assert!(values.iter().zip(wanted).all(|(found, wanted)| close(*found, wanted, 3.0)));
    }
}

#[test]
fn nets_are_not_explained() {
    let error = nets(1, 4).explainer().unwrap_err().to_string();
    assert!(error.starts_with("the score of a net is not explained"), "{error}");
}

#[test]
fn contributions_sum_to_the_score_whatever_the_model_is_made_of() {
    let mut model = native(1, 5, &[40; 20]);
    model.set_intercept(0.25).unwrap();
    let part = Part::Linear(Linear::new(vec![(3, 0.5), (0, -0.125)]));
    let normalisation = Normalisation::Fixed { mean: 0.7, scale: 1.25 };
    model.add(Component { weight: -2.5, normalisation, part }).unwrap();
    let inner = Part::Model(Box::new(native(2, 5, &[9, 300, 1])));
    model.add(Component { weight: 0.3, ..Component::new(inner) }).unwrap();
    let rows: Vec<f64> =
        rows(3, 100, 5).iter().map(|x| if x.abs() > 100.0 { 7.0 } else { *x }).collect();
    let mut scores = vec![0.0; 100];
    model.scorer().score(&rows, &mut scores).unwrap();
    let explainer = model.explainer().unwrap();
    let values = explained(&explainer, &rows, 100);
    for (i, (values, score)) in values.chunks(6).zip(&scores).enumerate() {
        assert_eq!(values[5], explainer.base());
        assert!(close(values.iter().sum(), *score, 20.0), "row {i}");
    }
    for (a, b) in [(0, 1), (5, 70), (99, 3)] {
        let row = |i: usize| &rows[5 * i..5 * i + 5];
        let values = explainer.contrast(row(a), row(b)).unwrap();
        assert!(close(values.iter().sum(), scores[a] - scores[b], 20.0));
        assert!(explainer.contrast(row(a), row(a)).unwrap().iter().all(|value| *value == 0.0));
    }
}

#[test]
fn a_contrast_is_shapleys_of_going_from_one_doc_to_the_other() {
    for (seed, leaves) in [(1, 2), (2, 8), (3, 31), (4, 200)] {
        let model = native(seed, 6, &[leaves; 3]);
        let (explainer, scorer) = (model.explainer().unwrap(), model.scorer());
        let rows = rows(seed + 50, 12, 6);
        for pair in rows.chunks(12) {
            let (above, below) = pair.split_at(6);
            let mixed = |mask: u32| {
                let pick = |i: usize| if mask >> i & 1 == 1 { above[i] } else { below[i] };
                let row: Vec<f64> = (0..6).map(pick).collect();
                scorer.score_row(&row).unwrap()
            };
            let wanted = shapley(6, &mixed);
            let values = explainer.contrast(above, below).unwrap();
            for i in 0..6 {
                assert!(close(values[i], wanted[i], 3.0), "{leaves} leaves");
                assert!(values[i] == 0.0 || above[i].to_bits() != below[i].to_bits());
            }
        }
    }
}

#[test]
fn levels_threads_and_batches_do_not_matter() {
    let model = native(5, 9, &[31, 64, 2, 200]);
    let rows = rows(1, 203, 9);
    let singles: Vec<f32> = rows.iter().map(|&x| x as f32).collect();
    let portable = Explainer::at_level(&model, Level::Portable).unwrap();
    let wanted = explained(&portable, &rows, 203);
    for level in Level::available() {
        let explainer = Explainer::at_level(&model, level).unwrap();
        assert!(explained(&explainer, &rows, 203) == wanted, "{level:?}");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert!(pool.install(|| explained(&explainer, &rows, 203)) == wanted);
        for (row, wanted) in rows.chunks(9).zip(wanted.chunks(10)) {
            assert_eq!(explained(&explainer, row, 1), wanted);
        }
    }
    let mut values = vec![0.0; 203 * 10];
    portable.explain(&singles, &mut values).unwrap();
    let widened: Vec<f64> = singles.iter().map(|&x| f64::from(x)).collect();
    assert!(values == explained(&portable, &widened, 203));
}

#[test]
fn deep_trees_keep_the_sum() {
    let mut random = Random::new(9);
    let kind = Kind { features: 300, thresholds: 40, cells: CellType::F32 };
    let mut model = Model::new(300);
    for _ in 0..3 {
        model.push(added_up(&tree(&mut random, 1024, kind))).unwrap();
    }
    let rows = rows(4, 9, 300);
    let mut scores = vec![0.0; 9];
    model.scorer().score(&rows, &mut scores).unwrap();
    let values = explained(&model.explainer().unwrap(), &rows, 9);
    for (values, score) in values.chunks(301).zip(scores) {
        assert!(close(values.iter().sum(), score, 3.0));
    }
}

/// A tree in which each split has a leaf on one of its sides; no doc has come to some nodes.
fn chained(random: &mut Random, splits: usize, kind: Kind) -> Tree {
    let docs = |random: &mut Random| (random.below(12) * random.below(3)) as u64;
    let leaf =
        |random: &mut Random| Leaf { value: random.unit() - 0.5, cover: 0.0, docs: docs(random) };
    // To the last nodes, no doc has come.
    let mut leaves: Vec<Leaf> = (0..=splits).map(|_| leaf(random)).collect();
    leaves[splits - 5..].iter_mut().for_each(|leaf| leaf.docs = 0);
    let split = |at: usize, random: &mut Random| {
        let next = at as u32 + 1;
        let below = if at + 1 < splits { Child::Split(next) } else { Child::Leaf(next) };
        let sides = [Child::Leaf(at as u32), below];
        let turned = usize::from(random.flag());
        Split {
            feature: random.below(kind.features) as u32,
            threshold: kind.threshold(random.below(kind.thresholds)),
            missing_left: random.flag(),
            left: sides[turned],
            right: sides[1 - turned],
            docs: leaves[at..].iter().map(|leaf| leaf.docs).sum(),
            ..Split::default()
        }
    };
    let all = (0..splits).map(|at| split(at, random)).collect();
    Tree::new(all, leaves)
}

#[test]
fn a_chain_of_splits_is_explained_as_any_tree() {
    let kind = Kind { features: 6, thresholds: 60, cells: CellType::F32 };
    for (seed, splits) in [(1, 63), (2, 64), (3, 65), (4, 100), (5, 300), (6, 300)] {
        let mut model = Model::new(6);
        model.push(chained(&mut Random::new(seed), splits, kind)).unwrap();
        let (explainer, scorer) = (model.explainer().unwrap(), model.scorer());
        let forest = model.forests().next().unwrap();
        let rows = rows(seed, 21, 6);
        let values = explained(&explainer, &rows, 21);
        for (row, values) in rows.chunks(6).zip(values.chunks(7)) {
            let wanted = shapley(6, &|mask| expected(forest, row, mask));
            for (found, wanted) in values.iter().zip(wanted) {
                assert!(close(*found, wanted, 1.0), "{splits} splits: {found} {wanted}");
            }
            assert!(close(values[6], expected(forest, row, 0), 1.0));
        }
        for pair in rows.chunks_exact(12) {
            let (above, below) = pair.split_at(6);
            let mixed = |mask: u32| {
                let pick = |i: usize| if mask >> i & 1 == 1 { above[i] } else { below[i] };
                scorer.score_row(&(0..6).map(pick).collect::<Vec<f64>>()).unwrap()
            };
            let wanted = shapley(6, &mixed);
            let values = explainer.contrast(above, below).unwrap();
            for (found, wanted) in values.iter().zip(wanted) {
                assert!(close(*found, wanted, 1.0), "{splits} splits: {found} {wanted}");
            }
        }
    }
}

#[test]
fn a_chain_on_as_many_features_keeps_the_sum_and_the_bits_of_all_levels() {
    let kind = Kind { features: 2000, thresholds: 40, cells: CellType::F32 };
    let mut model = Model::new(2000);
    model.push(chained(&mut Random::new(7), 2000, kind)).unwrap();
    model.push(added_up(&tree(&mut Random::new(8), 31, kind))).unwrap();
    let rows = rows(4, 17, 2000);
    let mut scores = vec![0.0; 17];
    model.scorer().score(&rows, &mut scores).unwrap();
    let portable = Explainer::at_level(&model, Level::Portable).unwrap();
    let values = explained(&portable, &rows, 17);
    for (values, score) in values.chunks(2001).zip(&scores) {
        assert!(close(values.iter().sum(), *score, 1.0));
    }
    let difference = portable.contrast(&rows[..2000], &rows[2000..4000]).unwrap();
    assert!(close(difference.iter().sum(), scores[0] - scores[1], 1.0));
    for level in Level::available() {
        let explainer = Explainer::at_level(&model, level).unwrap();
        assert!(explained(&explainer, &rows, 17) == values, "{level:?}");
    }
}

#[test]
fn what_cannot_be_explained_is_said() {
    let grown = native(1, 3, &[5]);
    let tree = grown.trees().next().unwrap();
    let (mut splits, mut leaves) = (tree.splits().to_vec(), tree.leaves().to_vec());
    for split in &mut splits {
        (split.docs, split.cover) = (0, 0.0);
    }
    for leaf in &mut leaves {
        (leaf.docs, leaf.cover) = (0, 0.0);
    }
    assert!(rich(1).explainer().unwrap_err().to_string().contains("do not add up"));
    let mut odd = tree.leaves().to_vec();
    odd[0].docs += 1;
    let mut inconsistent = Model::new(3);
    inconsistent.push(Tree::new(tree.splits().to_vec(), odd.clone())).unwrap();
    let error = inconsistent.explainer().unwrap_err().to_string();
    assert!(error.starts_with("tree 0 is inconsistent: its nodes' docs do not add up"), "{error}");
    // Sums of other libraries are rounded, but not by half.
    for (docs, is_explained) in [(odd[0].docs, true), (u64::MAX, false)] {
        odd[0].docs = docs;
        let trees = vec![Tree::new(tree.splits().to_vec(), odd.clone())];
        let forest = Forest::foreign(3, CellType::F64, vec![], vec![], trees).unwrap();
        let mut theirs = Model::new(3);
        theirs.add(Component::new(Part::Forest(forest))).unwrap();
        assert_eq!(theirs.explainer().is_ok(), is_explained);
    }
    let mut silent = Model::new(3);
    silent.push(Tree::new(splits, leaves)).unwrap();
    let error = silent.explainer().unwrap_err().to_string();
    assert_eq!(error, "tree 0 does not say how many docs came to its nodes");
    let mut model = native(1, 3, &[5]);
    let part = Part::Linear(Linear::new(vec![(0, 1.0)]));
    model.add(Component { weight: 0.5, normalisation: Normalisation::Query, part }).unwrap();
    assert!(model.explainer().unwrap_err().to_string().contains("within queries"));
    let explainer = grown.explainer().unwrap();
    let mut values = [0.0; 8];
    assert!(explainer.explain(&[0.0f32; 5], &mut values).is_err());
    assert!(explainer.explain(&[0.0f32; 6], &mut values[..7]).is_err());
    assert!(explainer.contrast(&[0.0f32; 3], &[0.0; 4]).is_err());
}
