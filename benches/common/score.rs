//! Models and rows for the benches of scoring.

use rustrank::model::{
    Child, Component, Derived, Leaf, Model, Normalisation, Part, Ranker, Split, Stack, Statistic,
    Tree,
};
use rustrank::random::{below, draw};

pub(crate) const FEATURES: usize = 136;
pub(crate) const TREES: usize = 500;

/// A tree as boosting grows them: a random leaf is split, again and again.
fn tree(seed: u64, leaves: usize) -> Tree {
    let random =
        |what: u64, at: usize, n: usize| below(draw(seed, what, at as u64), n as u64) as usize;
    let mut open: Vec<Option<(usize, bool)>> = vec![None];
    let mut splits: Vec<Split> = Vec::new();
    let hang = |splits: &mut Vec<Split>, place: Option<(usize, bool)>, child| match place {
        Some((parent, true)) => splits[parent].right = child,
        Some((parent, false)) => splits[parent].left = child,
        None => {}
    };
    for at in 0..leaves - 1 {
        let place = open.swap_remove(random(0, at, open.len()));
        hang(&mut splits, place, Child::Split(at as u32));
        splits.push(Split {
            feature: random(1, at, FEATURES) as u32,
            threshold: random(2, at, 254) as f64 / 254.0,
            missing_left: random(3, at, 10) == 0,
            left: Child::Leaf(0),
            right: Child::Leaf(0),
            reduction: 0.0,
            cover: 0.0,
            docs: 1,
        });
        open.extend([Some((at, false)), Some((at, true))]);
    }
    for (leaf, place) in open.into_iter().enumerate() {
        hang(&mut splits, place, Child::Leaf(leaf as u32));
    }
    let value = |leaf| f64::from(random(4, leaf, 1000) as f32 / 1000.0);
    let leaf = |leaf| Leaf { value: value(leaf), cover: 0.0, docs: 1 };
    Tree::new(splits, (0..leaves).map(leaf).collect())
}

pub(crate) fn model(trees: usize, leaves: usize) -> Model {
    let mut model = Model::new(FEATURES);
    for i in 0..trees {
        model.push(tree((i % TREES) as u64, leaves)).expect("a tree");
    }
    model
}

/// Trees of their own: a seed for each.
pub(crate) fn forest(first: usize, trees: usize, features: usize) -> Model {
    let mut model = Model::new(features);
    for i in 0..trees {
        model.push(tree((first + i) as u64, 31)).expect("a tree");
    }
    model
}

/// A member that stands on what another says of the query.
fn stacked(first: usize, ranker: &Model) -> Model {
    let ranker = Ranker { normalisation: Normalisation::AsIs, model: ranker.clone() };
    let derived: Vec<Derived> = [Statistic::Max, Statistic::Mean, Statistic::Top(3)]
        .map(|statistic| Derived { ranker: 0, statistic })
        .to_vec();
    let outer = forest(first, TREES, FEATURES + derived.len());
    let stack = Stack::new(FEATURES, vec![ranker], derived, true, outer).expect("a stack");
    let mut model = Model::new(FEATURES);
    model.add(Component::new(Part::Stack(Box::new(stack)))).expect("a stack");
    model
}

/// Twelve members of an ensemble: eight forests, two stacks on one ranker, and this ranker twice.
pub(crate) fn members() -> Vec<(Model, Normalisation)> {
    let mart = forest(0, TREES, FEATURES);
    let plain: Vec<Model> = (0..10).map(|i| forest(i * TREES, TREES, FEATURES)).collect();
    let mut members: Vec<(Model, Normalisation)> = Vec::new();
    let fixed = Normalisation::Fixed { mean: 0.1, scale: 2.0 };
    members.extend(plain[..8].iter().map(|model| (model.clone(), fixed)));
    members.extend([20, 21].map(|i| (stacked(i * TREES, &mart), fixed)));
    members.extend([(mart.clone(), fixed), (mart, Normalisation::QueryTop)]);
    members
}

/// The members in one model.
pub(crate) fn sum_of(members: &[(Model, Normalisation)]) -> Model {
    let mut sum = Model::new(FEATURES);
    for (model, normalisation) in members {
        let part = Part::Model(Box::new(model.clone()));
        let member = Component { weight: 0.125, normalisation: *normalisation, part };
        sum.add(member).expect("a member");
    }
    sum
}

/// Rows of values with 20 bits.
pub(crate) fn values(docs: usize) -> Vec<f32> {
    let value = |i| below(draw(7, 0, i as u64), 1 << 20) as f32 / (1u64 << 20) as f32;
    (0..docs * FEATURES).map(value).collect()
}
