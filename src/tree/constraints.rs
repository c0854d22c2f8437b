//! Constraints on the features of trees: monotone directions, interactions and weights.
//!
//! A *monotone direction* says how scores may change as a feature grows. A split on such a feature
//! bounds the values of all leaves below its sides by the mean of the two sides' values. So raising
//! the feature of a document, all else equal, never moves it to a smaller leaf value (for a rising
//! direction), in any tree or sum of trees. Missing values have no place in the order of a feature:
//! a split between missing and all other values has no direction.
//!
//! *Interactions* are groups of features. The features on a path from the root must lie in one of
//! the groups. A feature of no group is a group of its own.

use super::categorical::CategoryOptions;
use super::features::{FeatureSet, FeatureSlots};
use super::grower::OpenLeaf;
use super::options::{Criterion, GrowOptions, LeafValues};
use super::packed_gradients::{GradientScale, GradientSums};
use super::split_search::{SplitCandidate, SplitTest};
use crate::binning::Binning;
use crate::error::{Error, Result};
use std::collections::BTreeSet;

/// How scores may change as a feature grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MonotoneDirection {
    /// Scores may not fall.
    Rising,
    /// Scores may not rise.
    Falling,
}

/// Constraints on the use of features; none by default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Constraints {
    /// Monotone features. They need [`Criterion::SecondOrder`], which chooses splits by the values
    /// of their leaves.
    pub monotone: Vec<(u32, MonotoneDirection)>,
    /// Groups of features: the features on a path from the root must lie in one of them. No groups
    /// mean no constraint.
    pub interactions: Vec<Vec<u32>>,
    /// Factors for the reductions of splits on a feature, where not 1. A weight of 0 excludes the
    /// feature.
    pub feature_weight: Vec<(u32, f64)>,
}

impl Constraints {
    /// Returns an error if the constraints do not fit the options or the table.
    pub(super) fn check(&self, options: &GrowOptions, binning: &Binning) -> Result<()> {
        let num_features = binning.num_features();
        if !self.monotone.is_empty() && options.criterion == Criterion::LeastSquares {
            let what = "monotone needs splits that are chosen by leaf values";
            return Err(Error::param("monotone", what)
                .got("criterion \"least_squares\"")
                .expected("\"second_order\""));
        }
        if !self.monotone.is_empty() && options.leaf_values == LeafValues::Mean {
            let what = "monotone needs the leaf values that splits are chosen by";
            return Err(Error::param("monotone", what)
                .got(format!("leaf_values=\"{}\"", options.leaf_values))
                .expected("leaf_values=\"newton\""));
        }
        check_unique("monotone", self.monotone.iter().map(|&(f, _)| f), num_features)?;
        let categorical =
            |(feature, _): &&(u32, _)| binning.mappers()[*feature as usize].categories().is_some();
        if let Some((feature, _)) = self.monotone.iter().find(categorical) {
            let what = format!("monotone has feature {feature}, whose categories have no order");
            return Err(Error::param("monotone", what));
        }
        check_unique("feature_weight", self.feature_weight.iter().map(|&(f, _)| f), num_features)?;
        for group in &self.interactions {
            check_known("interactions", group.iter().copied(), num_features)?;
            if group.is_empty() {
                let what = "interactions has a group without features";
                return Err(Error::param("interactions", what));
            }
        }
        for &(feature, weight) in &self.feature_weight {
            if !(weight.is_finite() && weight >= 0.0) {
                let what = format!("feature_weight of feature {feature} is out of range");
                return Err(Error::param("feature_weight", what)
                    .got(weight)
                    .expected("a number from 0 on"));
            }
        }
        Ok(())
    }

    /// The constraints in use, by parameter name.
    pub(crate) fn named(&self) -> Vec<(&'static str, String)> {
        let monotone = self.monotone.iter().map(|(feature, direction)| match direction {
            MonotoneDirection::Rising => format!("{feature}:+1"),
            MonotoneDirection::Falling => format!("{feature}:-1"),
        });
        let groups = self.interactions.iter();
        let groups = groups.map(|group| joined(group.iter().map(u32::to_string), ","));
        let weights =
            self.feature_weight.iter().map(|(feature, weight)| format!("{feature}:{weight}"));
        let values = [joined(monotone, " "), joined(groups, " "), joined(weights, " ")];
        Self::NAMES.into_iter().zip(values).filter(|(_, value)| !value.is_empty()).collect()
    }

    /// The names that [`named`](Self::named) can return.
    pub(crate) const NAMES: [&'static str; 3] = ["monotone", "interactions", "feature_weight"];
}

fn joined(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.collect::<Vec<_>>().join(separator)
}

fn check_known(
    name: &'static str,
    mut features: impl Iterator<Item = u32>,
    num_features: usize,
) -> Result<()> {
    match features.find(|&feature| feature as usize >= num_features) {
        Some(feature) => Err(Error::param(name, format!("{name} has a feature that there is not"))
            .got(feature)
            .expected(format!("below {num_features}"))),
        None => Ok(()),
    }
}

fn check_unique(
    name: &'static str,
    features: impl Iterator<Item = u32> + Clone,
    num_features: usize,
) -> Result<()> {
    check_known(name, features.clone(), num_features)?;
    let mut seen = BTreeSet::new();
    match features.into_iter().find(|&feature| !seen.insert(feature)) {
        Some(feature) => Err(Error::param(name, format!("{name} has feature {feature} twice"))),
        None => Ok(()),
    }
}

/// The constraints of a table, by slot index.
#[derive(Debug)]
pub(super) struct ActiveConstraints {
    /// 1 for rising, -1 for falling, 0 for unconstrained.
    directions: Vec<i8>,
    weights: Vec<f64>,
    groups: Vec<FeatureSet>,
    /// The features that need the constrained search in every node.
    constrained: FeatureSet,
    /// Whether leaf values are bounded.
    pub(super) is_monotone: bool,
    /// How splits on categories are chosen.
    pub(super) categories: CategoryOptions,
}

impl ActiveConstraints {
    /// `None` if the SIMD kernels can search all features.
    pub(super) fn of(options: &GrowOptions, slots: &FeatureSlots) -> Option<Self> {
        let limits = &options.limits;
        let has_weights = limits.feature_weight.iter().any(|&(_, weight)| weight != 1.0);
        let is_monotone = !limits.monotone.is_empty();
        let has_categories = slots.list.iter().any(|slot| slot.is_category);
        if !has_weights && !is_monotone && limits.interactions.is_empty() && !has_categories {
            return None;
        }
        let len = slots.list.len();
        let number = |feature: u32| slots.list.iter().position(|d| d.feature == feature);
        let (mut directions, mut weights) = (vec![0; len], vec![1.0; len]);
        for &(feature, direction) in &limits.monotone {
            if let Some(slot) = number(feature) {
                directions[slot] = if direction == MonotoneDirection::Rising { 1 } else { -1 };
            }
        }
        for &(feature, weight) in &limits.feature_weight {
            if let Some(slot) = number(feature) {
                weights[slot] = weight;
            }
        }
        let group = |group: &Vec<u32>| {
            FeatureSet::of(len, group.iter().filter_map(|&feature| number(feature)))
        };
        // Weighted reductions can be compared only if all are computed the same way.
        let is_constrained =
            |&slot: &usize| has_weights || slots.list[slot].is_category || directions[slot] != 0;
        Some(Self {
            constrained: FeatureSet::of(len, (0..len).filter(is_constrained)),
            groups: limits.interactions.iter().map(group).collect(),
            directions,
            weights,
            is_monotone,
            categories: options.categories.clone(),
        })
    }

    /// No constraints on this many slots.
    pub(super) fn none(num_slots: usize) -> Self {
        Self {
            directions: vec![0; num_slots],
            weights: vec![1.0; num_slots],
            groups: Vec::new(),
            constrained: FeatureSet::of(num_slots, []),
            is_monotone: false,
            categories: CategoryOptions::default(),
        }
    }

    /// The interaction groups that contain the empty path: all of them.
    pub(super) fn all_groups(&self) -> Vec<u32> {
        (0..self.groups.len() as u32).collect()
    }

    /// Removes the features whose weight is 0.
    pub(super) fn remove_weightless(&self, features: &mut FeatureSet) {
        let weightless = self.weights.iter().enumerate().filter(|(_, weight)| **weight == 0.0);
        weightless.for_each(|(slot, _)| features.remove(slot));
    }

    /// Extends a path by a feature: keeps the groups that contain it, and the features of these.
    pub(super) fn extend_path(
        &self,
        slot: usize,
        groups: &mut Vec<u32>,
        features: &mut FeatureSet,
    ) {
        if self.groups.is_empty() {
            return;
        }
        groups.retain(|&group| self.groups[group as usize].contains(slot));
        let mut may = FeatureSet::of(self.weights.len(), [slot]);
        for &group in &*groups {
            may.unite(&self.groups[group as usize]);
        }
        features.intersect(&may);
    }

    /// The features that need the constrained search in a node with these bounds.
    pub(super) fn constrained_features(
        &self,
        features: &FeatureSet,
        bounds: &ValueBounds,
    ) -> FeatureSet {
        let mut constrained = features.clone();
        if !bounds.is_bounded() {
            constrained.intersect(&self.constrained);
        }
        constrained
    }

    /// Gives both sides of a split their value bounds and their allowed features.
    pub(super) fn constrain_children(
        &self,
        slots: &FeatureSlots,
        choice: &SplitCandidate,
        l2: f64,
        sides: [&mut OpenLeaf; 2],
    ) {
        let [left, right] = sides;
        let direction = self.direction_of(slots, choice);
        let sums = [left.total, right.total].map(GradientSums::of);
        [left.bounds, right.bounds] = left.bounds.below(direction, sums, l2);
        self.extend_path(choice.slot, &mut left.groups, &mut left.features);
        right.groups.clone_from(&left.groups);
        right.features.clone_from(&left.features);
    }

    /// The factor for reductions of splits on a feature.
    pub(super) fn weight(&self, slot: usize) -> f64 {
        self.weights[slot]
    }

    /// The direction of a chosen split.
    pub(super) fn direction_of(&self, slots: &FeatureSlots, choice: &SplitCandidate) -> i8 {
        match choice.test {
            SplitTest::UpTo(code) => self.direction(slots, choice.slot, code),
            SplitTest::In(_) => 0,
        }
    }

    /// The direction of a split; 0 if unconstrained, or if only missing values go right.
    pub(super) fn direction(&self, slots: &FeatureSlots, slot: usize, code: u8) -> i8 {
        let is_of_missing = u16::from(code) + 2 == slots.list[slot].location.codes;
        if is_of_missing { 0 } else { self.directions[slot] }
    }
}

/// The range of a leaf's values, in packed units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ValueBounds {
    low: f64,
    high: f64,
}

impl Default for ValueBounds {
    fn default() -> Self {
        Self { low: f64::NEG_INFINITY, high: f64::INFINITY }
    }
}

impl ValueBounds {
    /// Whether the range is bounded on either side.
    pub(super) fn is_bounded(&self) -> bool {
        self.low > f64::NEG_INFINITY || self.high < f64::INFINITY
    }

    /// The Newton step of a leaf with these sums, clipped to the bounds, in packed units.
    pub(super) fn step(&self, sums: GradientSums, l2: f64) -> f64 {
        let step = -f64::from(sums.grad) / (f64::from(sums.mass) + l2);
        // 0 / 0: no documents and no `l2`.
        if step.is_nan() { self.clip(0.0) } else { self.clip(step) }
    }

    fn clip(&self, step: f64) -> f64 {
        step.max(self.low).min(self.high)
    }

    /// The loss reduction of a leaf's step, in packed units: `G² / (H + l2)` unless the step was
    /// clipped.
    pub(super) fn value(&self, sums: GradientSums, l2: f64) -> f64 {
        let (grad, mass) = (f64::from(sums.grad), f64::from(sums.mass) + l2);
        let step = self.step(sums, l2);
        if !self.is_bounded() || step == -grad / mass {
            return grad * grad / mass;
        }
        -step * (2.0 * grad + mass * step)
    }

    /// The bounds of both sides of a split with this direction.
    pub(super) fn below(
        &self,
        direction: i8,
        [left, right]: [GradientSums; 2],
        l2: f64,
    ) -> [Self; 2] {
        if direction == 0 {
            return [*self; 2];
        }
        let middle = 0.5 * (self.step(left, l2) + self.step(right, l2));
        let (lower, upper) = (Self { high: middle, ..*self }, Self { low: middle, ..*self });
        if direction > 0 { [lower, upper] } else { [upper, lower] }
    }

    /// The bounds of a node, from those of its sides.
    pub(super) fn union(&self, other: &Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Clips the value of a leaf to the bounds.
    pub(super) fn clip_value(&self, value: f64, scale: &GradientScale) -> f64 {
        if !self.is_bounded() {
            return value;
        }
        let unit = scale.grad / scale.mass;
        value.max(self.low * unit).min(self.high * unit)
    }
}
