//! Any valid model and rows: every instruction set gives the bits of a plain walk of the trees, and so does a saved model.

use super::draws::Draws;
use super::plain_walk::{bits, walk};
use rustrank::model::{
    CellType, Child, Component, Forest, Leaf, Linear, Model, Normalisation, Part, Scorer, Set,
    Split, Tree,
};
use rustrank::simd::Level;

/// The most splits of all trees, so that an input takes milliseconds.
const MOST_SPLITS: usize = 600;

/// Draws of a model and of rows.
pub(super) fn scoring(input: &[u8]) -> bool {
    let mut draws = Draws::new(input);
    let features = 1 + draws.below(24);
    let (model, thresholds) = draw_model(&mut draws, features);
    let text = model.to_text();
    let back = Model::from_text(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert!(back == model, "the text of a model reads back to it");
    let count = draws.one_of(&[1, 1, 2, 3, 7, 8, 9, 31, 64, 65, 66, 130, 257]);
    let values: Vec<f64> =
        (0..count * features).map(|_| draw_value(&mut draws, &thresholds)).collect();
    check_scores(&model, features, &values);
    true
}

fn check_scores(model: &Model, features: usize, values: &[f64]) {
    let narrow: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    let widened: Vec<f64> = narrow.iter().map(|&value| f64::from(value)).collect();
    let walked = |values: &[f64]| -> Vec<u64> {
        bits(&values.chunks(features).map(|row| walk(model, row)).collect::<Vec<_>>())
    };
    let (of_doubles, of_singles) = (walked(values), walked(&widened));
    let mut scores = vec![0.0; values.len() / features];
    for level in Level::available() {
        let scorer = Scorer::at_level(model, level);
        let scored = scorer.score(values, &mut scores);
        assert!(scored.is_ok() && bits(&scores) == of_doubles, "doubles, {level:?}");
        let scored = scorer.score(&narrow, &mut scores);
        assert!(scored.is_ok() && bits(&scores) == of_singles, "singles, {level:?}");
        let last = scorer.score_row(&values[values.len() - features..]);
        let is_same = last.is_ok_and(|last| bits(&[last])[0] == of_doubles[scores.len() - 1]);
        assert!(is_same, "a row, {level:?}");
    }
}

/// A value near a threshold, a category, or a number of any kind.
fn draw_value(draws: &mut Draws<'_>, thresholds: &[f64]) -> f64 {
    let near = thresholds.get(draws.below(thresholds.len().max(1))).copied().unwrap_or(0.0);
    match draws.below(12) {
        0 => f64::NAN,
        1 => draws.one_of(&[f64::INFINITY, f64::NEG_INFINITY]),
        2 => near.next_up(),
        3 => near.next_down(),
        4 => f64::from((near as f32).next_up()),
        5 => f64::from((near as f32).next_down()),
        6 => draws.finite(),
        7 | 8 => draws.below(40) as f64,
        _ => near,
    }
}

/// A model of one to three parts, and thresholds of its splits.
fn draw_model(draws: &mut Draws<'_>, features: usize) -> (Model, Vec<f64>) {
    let (mut model, mut thresholds, mut left) = (Model::new(features), Vec::new(), MOST_SPLITS);
    if draws.flag() {
        accept(model.set_intercept(draws.finite()));
    }
    for _ in 0..=draws.below(3) {
        let part = match draws.below(8) {
            0 => {
                let terms = (0..features as u32).filter(|_| draws.flag()).collect::<Vec<_>>();
                Part::Linear(Linear::new(terms.into_iter().map(|f| (f, draws.finite())).collect()))
            }
            1 => {
                let mut inner = Model::new(features);
                let forest = draw_forest(draws, features, &mut left, &mut thresholds);
                accept(inner.add(Component::new(Part::Forest(forest))));
                Part::Model(Box::new(inner))
            }
            _ => Part::Forest(draw_forest(draws, features, &mut left, &mut thresholds)),
        };
        let mut component = Component::new(part);
        if draws.below(4) == 0 {
            component.weight = draws.finite();
            let scale = 0.25 + f64::from(draws.below(8) as u32);
            component.normalisation = Normalisation::Fixed { mean: draws.finite(), scale };
        }
        accept(model.add(component));
    }
    (model, thresholds)
}

fn accept(outcome: rustrank::Result<()>) {
    outcome.unwrap_or_else(|error| panic!("it is a valid model: {error}"));
}

fn draw_forest(
    draws: &mut Draws<'_>,
    features: usize,
    left: &mut usize,
    thresholds: &mut Vec<f64>,
) -> Forest {
    let cells = draws.one_of(&[CellType::F32, CellType::F64]);
    let mut few = |features: usize| -> Vec<u32> {
        (0..features as u32).filter(|_| draws.below(4) == 0).collect()
    };
    let zeros = if cells == CellType::F64 { few(features) } else { Vec::new() };
    let sets = (0..draws.below(4))
        .map(|_| Set {
            feature: draws.below(features) as u32,
            categories: (0..40).filter(|_| draws.below(3) == 0).collect(),
        })
        .collect::<Vec<_>>();
    let asked = features + sets.len();
    let mut forest = match Forest::foreign(features, cells, zeros, sets, vec![]) {
        Ok(forest) => forest,
        Err(error) => panic!("it is a valid forest: {error}"),
    };
    let from = thresholds.len();
    thresholds.extend((0..=draws.below(300)).map(|_| {
        let threshold = draws.finite();
        let far = threshold.abs() > f64::from(f32::MAX);
        let near = if far { 0.0 } else { f64::from(threshold as f32) };
        if cells == CellType::F32 { near } else { threshold }
    }));
    for _ in 0..draws.below(12) {
        let most =
            (*left).min(draws.one_of(&[0, 1, 3, 4, 7, 15, 30, 31, 63, 64, 127, 255, 256, 600]));
        let splits = if draws.flag() { most } else { draws.below(most + 1) };
        *left -= splits;
        let tree = draw_tree(draws, splits, asked, &thresholds[from..]);
        accept(forest.push(tree));
    }
    forest
}

/// A tree of some shape: a chain, a symmetric tree, or one in which any leaf becomes the next split.
fn draw_tree(draws: &mut Draws<'_>, count: usize, features: usize, thresholds: &[f64]) -> Tree {
    let shape = draws.below(4);
    let is_whole = (count + 1).is_power_of_two();
    let mut splits: Vec<Split> = Vec::with_capacity(count);
    // Where leaves hang.
    let mut open: Vec<Option<(usize, bool)>> = vec![None];
    for at in 0..count {
        let chosen = match shape {
            0 => open.len() - 1,
            1 => open.len().saturating_sub(2),
            // Level by level.
            2 => 0,
            _ => draws.below(open.len()),
        };
        hang(&mut splits, open.remove(chosen), Child::Split(at as u32));
        // The questions of a level are the same in a symmetric tree.
        let before = splits.last().copied().filter(|_| shape == 2 && is_whole);
        let question = before.filter(|_| !(at + 1).is_power_of_two());
        splits.push(question.unwrap_or_else(|| Split {
            feature: draws.below(features) as u32,
            threshold: thresholds[draws.below(thresholds.len())],
            missing_left: draws.flag(),
            ..Split::default()
        }));
        open.extend([Some((at, false)), Some((at, true))]);
    }
    let leaf = |draws: &mut Draws<'_>| Leaf { value: draws.finite(), cover: 1.0, docs: 2 };
    let leaves: Vec<Leaf> = (0..=count).map(|_| leaf(draws)).collect();
    for (leaf, place) in open.into_iter().enumerate() {
        hang(&mut splits, place, Child::Leaf(leaf as u32));
    }
    Tree::new(splits, leaves)
}

fn hang(splits: &mut [Split], place: Option<(usize, bool)>, child: Child) {
    if let Some((parent, is_right)) = place {
        let parent = &mut splits[parent];
        *(if is_right { &mut parent.right } else { &mut parent.left }) = child;
    }
}
