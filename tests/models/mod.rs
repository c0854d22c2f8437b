//! Models for tests: valid, random, and nothing like what training would give.

use rustrank::model::{
    CellType, Child, Component, Forest, Layer, Leaf, Linear, Mlp, Model, NetInput, Normalisation,
    Part, Set, Split, Tree,
};
use rustrank::random::{below, draw};

/// A stateful face of the stateless draws.
pub(crate) struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.drawn += 1;
        below(draw(self.seed, 0, self.drawn), n as u64) as usize
    }

    pub(crate) fn unit(&mut self) -> f64 {
        self.below(1 << 53) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.below(2) == 1
    }
}

/// What the splits of random trees look like.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// The features that splits look at, sets included.
    pub(crate) features: usize,
    /// How many different thresholds a feature has.
    pub(crate) thresholds: usize,
    /// Whether values are exact in `f32`.
    pub(crate) cells: CellType,
}

impl Kind {
    /// Threshold `i`: some are zero, some denormal, some far away.
    pub(crate) fn threshold(self, i: usize) -> f64 {
        let special = [0.0, -0.0, 1e-40, -1e-40, 1e-35, 3e38, -3e38, 1e-45];
        let value = match special.get(i) {
            Some(&value) => value,
            None => (i as f64 - self.thresholds as f64 / 2.0) / 7.0,
        };
        match self.cells {
            CellType::F32 => f64::from(value as f32),
            CellType::F64 => value,
        }
    }

    /// A value that has something to do with the thresholds.
    pub(crate) fn value(self, random: &mut Random) -> f64 {
        let near = self.threshold(random.below(self.thresholds));
        match random.below(12) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => near + f64::EPSILON * near.abs(),
            4 => near - f64::EPSILON * near.abs(),
            5 => f64::from((near as f32).next_up()),
            6 => f64::from((near as f32).next_down()),
            7 => [1e300, -1e300, 38.0, 2.5, -0.5, -1.0][random.below(6)],
            8 => (random.unit() - 0.5) * self.thresholds as f64,
            _ => near,
        }
    }
}

/// A tree of exactly `leaves` leaves, of any shape, its nodes in any order that is allowed.
pub(crate) fn tree(random: &mut Random, leaves: usize, kind: Kind) -> Tree {
    let mut splits: Vec<Split> = Vec::new();
    // Where leaves hang, as (split, right?): a random one becomes a split until all are there.
    let mut open: Vec<Option<(usize, bool)>> = vec![None];
    for at in 0..leaves - 1 {
        // The last is a chain's end, so that some trees are deep.
        let chosen = if random.below(3) == 0 { open.len() - 1 } else { random.below(open.len()) };
        if let Some((parent, right)) = open.swap_remove(chosen) {
            let child = Child::Split(at as u32);
            if right { splits[parent].right = child } else { splits[parent].left = child }
        }
        splits.push(Split {
            feature: random.below(kind.features) as u32,
            threshold: kind.threshold(random.below(kind.thresholds)),
            missing_left: random.flag(),
            left: Child::Leaf(0),
            right: Child::Leaf(0),
            reduction: random.unit(),
            cover: random.unit() * 100.0,
            docs: random.below(1000) as u64,
        });
        open.extend([Some((at, false)), Some((at, true))]);
    }
    for (leaf, hangs) in open.into_iter().enumerate() {
        if let Some((parent, right)) = hangs {
            let child = Child::Leaf(leaf as u32);
            if right { splits[parent].right = child } else { splits[parent].left = child }
        }
    }
    let leaf = |random: &mut Random| Leaf {
        value: f64::from((random.unit() - 0.5) as f32),
        cover: random.unit(),
        docs: random.below(1 << 40) as u64,
    };
    Tree::new(splits, (0..leaves).map(|_| leaf(random)).collect())
}

/// A forest of ours: a tree for each number of leaves.
pub(crate) fn native(seed: u64, num_features: usize, leaves: &[usize]) -> Model {
    native_of(seed, num_features, leaves, Tree::clone)
}

/// The same of changed trees.
pub(crate) fn native_of(
    seed: u64,
    num_features: usize,
    leaves: &[usize],
    change: fn(&Tree) -> Tree,
) -> Model {
    let mut random = Random::new(seed);
    let kind = Kind { features: num_features, thresholds: 40, cells: CellType::F32 };
    let mut model = Model::new(num_features);
    for &leaves in leaves {
        model.push(change(&tree(&mut random, leaves, kind))).unwrap();
    }
    model
}

/// A model with something of everything.
pub(crate) fn rich(seed: u64) -> Model {
    rich_of(seed, Tree::clone)
}

/// The same of changed trees.
pub(crate) fn rich_of(seed: u64, change: fn(&Tree) -> Tree) -> Model {
    let mut random = Random::new(seed);
    let mut model = native_of(seed, 5, &[4, 1, 7], change);
    let names = ["plain", "two words", "back\\slash", "line\nfeed", "snö"];
    model.set_feature_names(Some(names.map(String::from).to_vec())).unwrap();
    model.set_attribute("objective", "lambdamart");
    model.set_attribute("a note", "with \\ and\n lines  and spaces ");
    model.set_attribute("", "");
    model.set_intercept(-0.1).unwrap();
    let mut set = |feature| {
        let categories = (0..40).filter(|_| random.below(3) == 0).collect();
        Set { feature, categories }
    };
    let sets = vec![set(1), set(4), set(1)];
    let mut foreign = Forest::foreign(5, CellType::F64, vec![0, 3], sets, vec![]).unwrap();
    let kind = Kind { features: 8, thresholds: 30, cells: CellType::F64 };
    for leaves in [9, 2, 300] {
        foreign.push(change(&tree(&mut random, leaves, kind))).unwrap();
    }
    model.add(Component { weight: 1.0 / 3.0, ..Component::new(Part::Forest(foreign)) }).unwrap();
    let linear = Linear::new(vec![(3, 0.1), (0, -7e-310), (2, 1e300)]);
    let normalisation = Normalisation::Fixed { mean: 0.7, scale: 1.25 };
    let part = Part::Linear(linear);
    model.add(Component { weight: -2.5, normalisation, part }).unwrap();
    let inner = Part::Model(Box::new(native_of(seed + 1, 5, &[3, 3], change)));
    model.add(Component::new(inner)).unwrap();
    model
}

/// A net that looks at all features but the second.
pub(crate) fn mlp(seed: u64, num_features: usize, hidden: &[usize]) -> Mlp {
    let mut random = Random::new(seed);
    let features = (0..num_features as u32).filter(|&feature| feature != 1);
    let inputs: Vec<NetInput> = features
        .map(|feature| NetInput {
            feature,
            log: random.flag(),
            mean: random.unit() as f32 - 0.5,
            scale: 0.1 + random.unit() as f32,
        })
        .collect();
    let mut layers = Vec::new();
    let mut before = inputs.len();
    for &units in hidden.iter().chain(&[1]) {
        let mut weights = |count: usize| -> Vec<f32> {
            (0..count).map(|_| random.unit() as f32 * 2.0 - 1.0).collect()
        };
        layers.push(Layer { biases: weights(units), weights: weights(units * before) });
        before = units;
    }
    Mlp::new(inputs, 12.5, layers).unwrap()
}

/// A model of nets, one of them normalised, beside a forest.
pub(crate) fn nets(seed: u64, num_features: usize) -> Model {
    let mut model = native(seed, num_features, &[5]);
    for hidden in [&[][..], &[3], &[17, 4]] {
        let part = Part::Mlp(mlp(seed + hidden.len() as u64, num_features, hidden));
        model.add(Component { weight: 0.75, ..Component::new(part) }).unwrap();
    }
    let part = Part::Mlp(mlp(seed + 3, num_features, &[20]));
    let normalisation = Normalisation::Fixed { mean: 0.5, scale: 2.0 };
    model.add(Component { weight: 1.5, normalisation, part }).unwrap();
    model.add(Component::new(Part::Mlp(mlp(seed + 4, num_features, &[2])))).unwrap();
    model
}
