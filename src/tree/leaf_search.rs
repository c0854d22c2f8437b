//! What a leaf is worth to the search, and what becomes of what the search finds.

use super::constrained_search::Careful;
use super::features::Set;
use super::grower::{Best, Grower, Growth, NODE, NOISE, Open, ROWS, Reduction};
use super::options::Criterion;
use super::packed_gradients::Sums;
use super::split_noise::Noise;
use super::split_search::{Bar, Found, Node, Scanner};
use crate::random::{draw, start};
use crate::simd::Level;
use std::cmp::Reverse;

/// The features that a split may be chosen from.
#[derive(Debug, Default)]
pub(super) struct Eligible {
    pub(super) plain: Set,
    /// Those that need care, where some may.
    pub(super) careful: Option<Set>,
}

impl Grower {
    /// The part of a leaf's docs that its split is chosen by.
    pub(super) fn sample(&self, leaf: &Open, growth: &Growth<'_>) -> Vec<u32> {
        let stream = draw(self.options.seed, growth.job.round ^ ROWS << 60, leaf.number);
        let below = (self.options.rows_per_node * 2f64.powi(64)) as u64;
        let docs = self.docs.get(leaf.docs.clone()).iter().copied();
        let is_drawn = |&doc: &u32| {
            draw(self.options.seed, stream, growth.table.doc_hash[doc as usize]) < below
        };
        docs.filter(is_drawn).collect()
    }

    /// The features that the split of a leaf may be chosen from.
    pub(super) fn features_of(&self, at: usize, growth: &Growth<'_>) -> Eligible {
        let leaf = &self.leaves[at];
        let seed = self.options.seed;
        let stream = draw(seed, growth.job.round ^ NODE << 60, leaf.number);
        let part = self.options.features_per_node;
        let mut plain = leaf.features.sample(part, seed, stream, &self.digits);
        let careful = self.rules.as_ref().map(|rules| rules.careful_of(&plain, &leaf.bounds));
        if let Some(careful) = &careful {
            plain.subtract(careful);
        }
        Eligible { plain, careful }
    }

    pub(super) fn scanner<'s>(&'s self, growth: &'s Growth<'_>) -> Scanner<'s> {
        let (level, shape) = (Level::best(), self.pool.shape());
        let places = &growth.places;
        let (digits, lines, rules) = (&self.digits, &self.lines, self.rules.as_ref());
        Scanner { level, digits, places, lines, shape, rules }
    }

    /// Whether a leaf is shallow and large enough to be split.
    pub(super) fn may_split(&self, at: usize) -> bool {
        let leaf = &self.leaves[at];
        self.options.max_depth.is_none_or(|most| leaf.depth < most)
            && leaf.count as u64 >= 2 * u64::from(self.options.min_leaf_docs)
            && Sums::of(leaf.total).mass >= 2
    }

    /// A node as the search wants it: everything in packed units.
    pub(super) fn node<'s>(
        &'s self,
        (total, num_docs): (u64, usize),
        leaf: &Open,
        (features, bar): (&'s Eligible, &'s Bar),
        growth: &Growth<'_>,
    ) -> Node<'s> {
        let docs = f64::from(self.options.min_leaf_docs);
        let sums = Sums::of(total);
        let l2 = self.l2(growth);
        let least = match self.options.criterion {
            Criterion::SecondOrder => {
                let of_docs = docs * f64::from(sums.mass) / num_docs as f64;
                let unit = growth.scale.mass;
                of_docs.max(self.options.min_leaf_hess / unit)
            }
            Criterion::LeastSquares => docs,
        };
        let alone = leaf.bounds.value(sums, l2);
        let noise = self.noise(alone, leaf.number, growth);
        let careful = self.rules.as_ref().zip(features.careful.as_ref());
        let careful = careful.map(|(rules, features)| {
            let (bounds, floor) = (leaf.bounds, self.floor(alone, growth));
            let doc_mass = match self.options.criterion {
                Criterion::SecondOrder => f64::from(sums.mass) / num_docs as f64,
                Criterion::LeastSquares => 1.0,
            };
            Careful { rules, features, bounds, floor, doc_mass }
        });
        let features = &features.plain;
        Node { total, least: least.max(1.0), l2, alone, features, careful, bar, noise }
    }

    /// What draws leaf values to zero, in packed units.
    pub(super) fn l2(&self, growth: &Growth<'_>) -> f64 {
        match self.options.criterion {
            Criterion::SecondOrder => self.options.l2 / growth.scale.mass,
            Criterion::LeastSquares => 0.0,
        }
    }

    /// The noise on the choice of a split, the value of what it splits being `alone`.
    pub(super) fn noise(&self, alone: f64, number: u64, growth: &Growth<'_>) -> Option<Noise> {
        let start = start(self.options.seed, growth.job.round ^ NOISE << 60 ^ number << 24);
        let noise =
            || Noise { deviation: growth.deviation, start, floor: self.floor(alone, growth) };
        (growth.deviation > 0.0).then(noise)
    }

    /// What the value of splits must be above, that of what they split being `alone`. Splits that
    /// separate nothing differ from it by rounding alone.
    pub(super) fn floor(&self, alone: f64, growth: &Growth<'_>) -> f64 {
        let rounded = alone * (1.0 + 1e-10);
        rounded.max(alone + self.options.min_reduction / self.unit(growth))
    }

    /// What a packed unit of value takes off the loss.
    pub(super) fn unit(&self, growth: &Growth<'_>) -> f64 {
        let half = match self.options.criterion {
            Criterion::SecondOrder => 0.5,
            Criterion::LeastSquares => 1.0,
        };
        half * (growth.scale.grad * growth.scale.grad / growth.scale.mass)
    }

    /// Takes what the search found for a leaf, if it is worth a split.
    pub(super) fn settle(
        &mut self,
        at: usize,
        found: Found,
        (total, num_docs): (u64, usize),
        growth: &mut Growth<'_>,
    ) {
        let leaf = &mut self.leaves[at];
        found.dead.into_iter().for_each(|digit| leaf.features.remove(digit));
        let Some(choice) = found.best else { return };
        let leaf = &self.leaves[at];
        let (none, bar) = (Eligible::default(), Bar::default());
        let alone = self.node((total, num_docs), leaf, (&none, &bar), growth).alone;
        let reduction = self.unit(growth) * (choice.value - alone);
        // Splits that separate nothing differ from zero by rounding alone.
        if choice.value > alone * (1.0 + 1e-10) && reduction > self.options.min_reduction {
            self.leaves[at].best = Some(Best { choice, reduction });
            let rank = self.unit(growth) * (choice.rank - alone);
            growth.queue.insert((Reduction(rank), Reverse(at)));
        }
    }
}
