//! A forest: trees whose leaf values are summed in order.
//!
//! ```text
//! forest      = "forest" ( "f32" | "f64" ) count LF  ; what a value becomes; how many trees
//!               "zeros" count { feature } LF         ; features in which 0 is missing, rising
//!               "sets" count LF { "set" feature count { category } LF }
//!               { tree }
//! tree        = "tree" count LF                      ; of splits; one leaf more
//!               { feature threshold missing left right reduction cover docs LF }
//!               { value cover docs LF }
//! missing     = "l" | "r"                            ; where a missing value goes
//! left, right = ( "s" | "l" ) u32                    ; a split, further down, or a leaf
//! ```

use super::{ModelPart, NoSum, Term};
use crate::error::{Error, Result};
use crate::model::binned::AddForest;
use crate::model::read::{ModelLine, ModelReader};
use crate::model::scorer::ScorerBuilder;
use crate::model::write::{list, put};
use crate::model::{Child, Leaf, Model, Split, Tree};
use std::collections::BTreeMap;
use std::ops::Range;

/// How a value is converted before a split compares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CellType {
    /// To the nearest `f32`, for finite values a finite one, as in our own training, XGBoost and CatBoost.
    #[default]
    F32,
    /// To an `f64`, with values between -1e-35 and 1e-35 as 0, as in LightGBM.
    F64,
}

/// The categories that go left at a split.
///
/// A split looks at set `i` as if it were a feature, number `num_features + i`, whose cell is 0
/// for a value in the set, 1 for any other, and missing for a missing one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Set {
    /// The feature that holds the category.
    pub feature: u32,
    /// The categories, rising; a value counts as its integer part.
    pub categories: Vec<u32>,
}

impl Set {
    /// Whether a value is in the set.
    pub fn contains(&self, value: f64) -> bool {
        // Values just above -1 have the integer part 0.
        let is_category = value > -1.0 && value < f64::from(u32::MAX) + 1.0;
        is_category && self.categories.binary_search(&(value as u32)).is_ok()
    }

    fn cell(&self, value: f64) -> f64 {
        if value.is_nan() { value } else { f64::from(u8::from(!self.contains(value))) }
    }
}

/// Trees, in the order in which their leaf values are summed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Forest {
    num_features: usize,
    cells: CellType,
    zero_is_missing: Vec<u32>,
    sets: Vec<Set>,
    trees: Vec<Tree>,
}

impl Forest {
    /// A forest without trees, on rows of `num_features` values.
    pub fn new(num_features: usize) -> Self {
        Self { num_features, ..Self::default() }
    }

    /// A forest as other libraries train it: `zero_is_missing` are features, rising, in which a zero
    /// (up to 1e-35 either way) counts as missing; splits of `trees` look at set `i` of `sets` as feature
    /// `num_features + i`.
    pub fn foreign(
        num_features: usize,
        cells: CellType,
        zero_is_missing: Vec<u32>,
        sets: Vec<Set>,
        trees: Vec<Tree>,
    ) -> Result<Self> {
        let mut forest = Self { num_features, cells, zero_is_missing, sets, trees: Vec::new() };
        let (zeros, sets) = (&forest.zero_is_missing, &forest.sets);
        let rises = |list: &[u32]| list.is_sorted_by(|a, b| a < b);
        if !rises(zeros) || !sets.iter().all(|set| rises(&set.categories)) {
            return Err(Error::model("model.order", "a list of features or categories must rise"));
        }
        let mut used = zeros.iter().copied().chain(sets.iter().map(|set| set.feature));
        if let Some(feature) = used.find(|&f| f as usize >= num_features) {
            let what = format!("feature {feature} is beyond the model's {num_features}");
            return Err(Error::model("model.feature", what));
        }
        trees.into_iter().try_for_each(|tree| forest.push(tree))?;
        Ok(forest)
    }

    /// Adds a tree at the end.
    pub fn push(&mut self, tree: Tree) -> Result<()> {
        tree.check(self.trees.len(), self.num_features + self.sets.len())?;
        self.trees.push(tree);
        Ok(())
    }

    /// Adds a tree with sets of its own: a split on set `i` of `sets` looks at feature
    /// `num_features + i`.
    pub fn push_with(&mut self, tree: Tree, sets: &[Set]) -> Result<()> {
        tree.check(self.trees.len(), self.num_features + sets.len())?;
        let tree = self.adopted(tree, sets);
        self.push(tree)
    }

    /// A tree whose sets are added to this forest's, each once, with its splits renumbered.
    fn adopted(&mut self, mut tree: Tree, sets: &[Set]) -> Tree {
        let (mut by_number, mut by_content) = (BTreeMap::new(), BTreeMap::new());
        for split in tree.splits_mut() {
            let Some(at) = (split.feature as usize).checked_sub(self.num_features) else {
                continue;
            };
            let next = self.sets.len();
            let own = *by_number
                .entry(at)
                .or_insert_with(|| *by_content.entry(&sets[at]).or_insert(next));
            if own == self.sets.len() {
                self.sets.push(sets[at].clone());
            }
            split.feature = (self.num_features + own) as u32;
        }
        tree
    }

    /// Changes the numbers of the categories of a feature.
    pub(in crate::model) fn map_categories(
        &mut self,
        feature: u32,
        number: &mut dyn FnMut(u32) -> u32,
    ) {
        for set in self.sets.iter_mut().filter(|set| set.feature == feature) {
            set.categories.iter_mut().for_each(|category| *category = number(*category));
            set.categories.sort_unstable();
            set.categories.dedup();
        }
    }

    /// The number of values in a row.
    pub fn num_features(&self) -> usize {
        self.num_features
    }

    /// How a value is converted before a split compares it.
    pub fn cells(&self) -> CellType {
        self.cells
    }

    /// The features, rising, in which a zero counts as missing.
    pub fn zero_is_missing(&self) -> &[u32] {
        &self.zero_is_missing
    }

    /// The sets of categories.
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }

    /// The trees.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// The feature that a split on `feature`, which may be a set, looks at.
    pub fn feature_of(&self, feature: u32) -> u32 {
        let set = (feature as usize).checked_sub(self.num_features);
        set.map_or(feature, |set| self.sets[set].feature)
    }

    /// Gives the leaves of a tree other values.
    pub(in crate::model) fn set_values(&mut self, tree: usize, values: &[f64]) -> Result<()> {
        self.trees[tree].set_values(values)
    }

    /// Whether our training could have grown it: `f32` values, and no zeros that count as missing.
    pub fn is_native(&self) -> bool {
        self.cells == CellType::F32 && self.zero_is_missing.is_empty()
    }

    /// Keeps the trees of `range`, which may end beyond the last.
    pub(in crate::model) fn keep(&mut self, range: Range<usize>) {
        self.trees.truncate(range.end);
        self.trees.drain(..range.start.min(self.trees.len()));
        if self.is_native() && !self.sets.is_empty() {
            self.keep_used_sets();
        }
    }

    /// Keeps the sets of the trees that are left, in the order in which splits look at them.
    fn keep_used_sets(&mut self) {
        let (mut numbers, mut used) = (BTreeMap::new(), Vec::new());
        for split in self.trees.iter_mut().flat_map(Tree::splits_mut) {
            let Some(at) = (split.feature as usize).checked_sub(self.num_features) else {
                continue;
            };
            let own = *numbers.entry(at).or_insert_with(|| {
                let set = &mut self.sets[at];
                let categories = std::mem::take(&mut set.categories);
                used.push(Set { feature: set.feature, categories });
                used.len() - 1
            });
            split.feature = (self.num_features + own) as u32;
        }
        self.sets = used;
    }

    /// The cell that a split on `feature`, which may be a set, sees of a row.
    pub fn cell(&self, feature: u32, row: &[f64]) -> f64 {
        let value = row[self.feature_of(feature) as usize];
        if let Some(set) = (feature as usize).checked_sub(self.num_features) {
            return self.sets[set].cell(value);
        }
        if self.zero_is_missing.binary_search(&feature).is_ok() && is_zero(value) {
            return f64::NAN;
        }
        match self.cells {
            CellType::F32 => f64::from(nearest(value)),
            CellType::F64 => flush(value),
        }
    }
}

/// The nearest `f32`; the largest finite one for any finite value beyond.
#[inline]
pub(in crate::model) fn nearest(value: f64) -> f32 {
    let near = value as f32;
    if near.is_infinite() && value.is_finite() { f32::MAX.copysign(near) } else { near }
}

/// The largest `f32` that is not above a number.
#[inline]
pub(in crate::model) fn at_most(number: f64) -> f32 {
    let near = number as f32;
    if f64::from(near) > number { near.next_down() } else { near }
}

/// The value, or 0 if it is LightGBM's zero.
#[inline]
pub(in crate::model) fn flush(value: f64) -> f64 {
    if is_zero(value) { 0.0 } else { value }
}

/// LightGBM takes values up to this distance from 0 for 0: the `f32` nearest to 1e-35.
pub(in crate::model) const ZERO: f64 = 1e-35f32 as f64;

pub(in crate::model) fn is_zero(value: f64) -> bool {
    value.abs() <= ZERO
}

impl ModelPart for Forest {
    fn read(reader: &mut ModelReader<'_>, mut line: ModelLine<'_>) -> Result<Self> {
        let cells = line.one_of([("f32", CellType::F32), ("f64", CellType::F64)])?;
        let trees = line.last_count()?;
        let mut line = reader.after("zeros")?;
        let zeros = line.list(|line| line.parse("a feature"))?;
        line.end()?;
        let sets = reader.list("sets", |line| {
            line.keyword("set")?;
            let feature = line.parse("a feature")?;
            Ok(Set { feature, categories: line.list(|line| line.parse("a category"))? })
        })?;
        let mut forest = Self::foreign(reader.num_features(), cells, zeros, sets, vec![])
            .map_err(|e| reader.refuse(&e))?;
        for _ in 0..trees {
            let tree = read_tree(reader)?;
            forest.push(tree).map_err(|e| reader.refuse(&e))?;
        }
        Ok(forest)
    }

    fn write(&self, text: &mut String) {
        let cells = if self.cells == CellType::F32 { "f32" } else { "f64" };
        put(text, format_args!("forest {cells} {}\n", self.trees().len()));
        put(text, format_args!("zeros {}", self.zero_is_missing().len()));
        list(text, self.zero_is_missing());
        put(text, format_args!("sets {}\n", self.sets().len()));
        for set in self.sets() {
            put(text, format_args!("set {} {}", set.feature, set.categories.len()));
            list(text, &set.categories);
        }
        self.trees.iter().for_each(|tree| write_tree(text, tree));
    }

    fn check(&self, model: &Model) -> Result<()> {
        model.check_features(self.num_features)
    }

    fn build<'a>(&'a self, scorer: &mut ScorerBuilder<'a>) {
        scorer.forest(self);
    }

    fn add_terms<'a>(&'a self, weight: f64, terms: &mut Vec<Term<'a>>) -> Result<(), NoSum> {
        terms.push(Term::Trees(weight, self));
        Ok(())
    }

    fn add_binned<'a>(&'a self, add: &mut AddForest<'a, '_>, sums: &mut [f64]) -> Result<()> {
        add(self, sums)
    }

    fn forests(&self) -> &[Forest] {
        std::slice::from_ref(self)
    }

    fn forests_mut(&mut self) -> &mut [Forest] {
        std::slice::from_mut(self)
    }

    fn keep_rounds(&mut self, rounds: Range<usize>, _from_start: bool) -> bool {
        self.keep(rounds);
        !self.trees.is_empty()
    }
}

fn read_tree(reader: &mut ModelReader<'_>) -> Result<Tree> {
    let splits = reader.list("tree", read_split)?;
    let leaves = reader.lines(splits.len() + 1, |line| {
        let value = line.float("a leaf's value")?;
        Ok(Leaf { value, cover: line.float("a cover")?, docs: line.parse("docs")? })
    })?;
    Ok(Tree::new(splits, leaves))
}

fn read_split(line: &mut ModelLine<'_>) -> Result<Split> {
    Ok(Split {
        feature: line.parse("a feature")?,
        threshold: line.float("a threshold")?,
        missing_left: line.one_of([("l", true), ("r", false)])?,
        left: read_child(line)?,
        right: read_child(line)?,
        reduction: line.float("a reduction")?,
        cover: line.float("a cover")?,
        docs: line.parse("docs")?,
    })
}

fn read_child(line: &mut ModelLine<'_>) -> Result<Child> {
    let word = line.word("a child")?;
    let number = |digits: &str| digits.parse().ok();
    let child = match word.split_at_checked(1) {
        Some(("s", digits)) => number(digits).map(Child::Split),
        Some(("l", digits)) => number(digits).map(Child::Leaf),
        _ => None,
    };
    child.ok_or_else(|| line.wrong("a child such as s3 or l4"))
}

fn write_tree(text: &mut String, tree: &Tree) {
    put(text, format_args!("tree {}\n", tree.splits().len()));
    for split in tree.splits() {
        put(text, format_args!("{} {:?} ", split.feature, split.threshold));
        text.push_str(if split.missing_left { "l" } else { "r" });
        for child in [split.left, split.right] {
            match child {
                Child::Split(at) => put(text, format_args!(" s{at}")),
                Child::Leaf(at) => put(text, format_args!(" l{at}")),
            }
        }
        put(text, format_args!(" {:?} {:?} {}\n", split.reduction, split.cover, split.docs));
    }
    for leaf in tree.leaves() {
        put(text, format_args!("{:?} {:?} {}\n", leaf.value, leaf.cover, leaf.docs));
    }
}
