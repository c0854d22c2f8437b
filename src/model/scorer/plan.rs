//! The plan of codes: which thresholds each feature is searched for, and in which column a split finds its code.
//!
//! A *column* holds one code a doc. Where missing values go is part of the code: as a rule there is a
//! number that they could be, one above the thresholds where they go right and below those where they
//! go left, and they get its code. A feature of which that is not so has two columns from one search:
//! in one, missing values get 0, which is at or below every threshold and goes left, in the other 255,
//! which is above every one and goes right. More thresholds than fit a code are searched in several
//! tables.

use super::super::parts::{CellType, Forest, Set, ZERO, at_most, flush};
use super::super::tree::{Split, Tree};
use super::rows::zero_as_missing;
use super::search::{Exact, ThresholdTable};
use std::collections::BTreeMap;

/// All that becomes of a row before the trees see it.
#[derive(Debug, Default)]
pub(super) struct CodePlan<'a> {
    pub(super) searches: Vec<Search>,
    /// The number of columns.
    pub(super) columns: usize,
    /// The thresholds of each key, rising, and the number of its first search.
    keys: ByKey<(Vec<f64>, usize)>,
    sets: SetNumbers<'a>,
}

/// One table, and the columns that it fills.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) source: ValueSource,
    pub(super) table: ThresholdTable,
    /// For cells that are no `f32`.
    pub(super) exact: Option<Exact>,
    /// The column in which missing values get the code `missing`.
    pub(super) column: Option<usize>,
    /// The column in which missing values go right, if none goes right in the other.
    pub(super) right: Option<usize>,
    pub(super) missing: u8,
    /// Whether there is one column for all splits.
    is_single: bool,
}

/// Where cells come from.
#[derive(Debug)]
pub(super) struct ValueSource {
    pub(super) feature: u32,
    pub(super) rule: CellRule,
}

/// What becomes of a value.
#[derive(Debug)]
pub(super) enum CellRule {
    AsIs,
    /// What counts as zero is 0, where a threshold could tell.
    Flush,
    /// Zeros are missing.
    ZeroAsMissing,
    Set(Membership),
}

impl ValueSource {
    #[inline]
    pub(super) fn cell(&self, value: f64) -> f64 {
        match &self.rule {
            CellRule::AsIs => value,
            CellRule::Flush => flush(value),
            CellRule::ZeroAsMissing => zero_as_missing(value),
            CellRule::Set(set) => f64::from(set.cell(value)),
        }
    }
}

/// The same cells: by feature first, so that searches go through a row from left to right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    feature: u32,
    /// The number of the set that is looked at.
    set: Option<usize>,
    zero_is_missing: bool,
    /// Whether cells are compared as `f64`.
    wide: bool,
}

/// A value for each key. Features without sets, as long as their numbers are small, have lists of their own, as
/// a rule of one key; so neither many sets nor large numbers of features take more time or memory.
#[derive(Debug)]
struct ByKey<T> {
    lists: Vec<Vec<(Key, T)>>,
    others: BTreeMap<Key, T>,
}

impl<T> Default for ByKey<T> {
    fn default() -> Self {
        Self { lists: Vec::new(), others: BTreeMap::new() }
    }
}

impl<T: Default> ByKey<T> {
    /// Features from this number on have no lists.
    const LISTS: usize = 1 << 16;

    /// The value of a key, made if there was none.
    fn entry(&mut self, key: Key) -> &mut T {
        let feature = key.feature as usize;
        if key.set.is_some() || feature >= Self::LISTS {
            return self.others.entry(key).or_default();
        }
        if feature >= self.lists.len() {
            self.lists.resize_with(feature + 1, Vec::new);
        }
        let list = &mut self.lists[feature];
        let at = list.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
            list.push((key, T::default()));
            list.len() - 1
        });
        &mut list[at].1
    }

    /// All values, in the order of their keys.
    fn in_order(self) -> Vec<(Key, T)> {
        let mut all: Vec<_> = self.lists.into_iter().flatten().chain(self.others).collect();
        all.sort_by_key(|(key, _)| *key);
        all
    }
}

/// A split on codes: a doc goes left iff its code in the column is at most the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodeTest {
    pub(super) column: u32,
    pub(super) threshold: u8,
}

/// Gathers thresholds of forests until the plan is made.
#[derive(Debug, Default)]
pub(super) struct CodePlanner<'a> {
    /// Each with whether missing values go left.
    thresholds: ByKey<Vec<(f64, bool)>>,
    sets: SetNumbers<'a>,
}

impl<'a> CodePlanner<'a> {
    pub(super) fn add(&mut self, forest: &'a Forest) {
        for split in forest.trees().iter().flat_map(Tree::splits) {
            let key = self.sets.key(forest, split);
            self.thresholds.entry(key).push((threshold(key, split), split.missing_left));
        }
    }

    pub(super) fn finish(self) -> CodePlan<'a> {
        let mut plan = CodePlan { sets: self.sets, ..CodePlan::default() };
        for (key, mut sides) in self.thresholds.in_order() {
            sides.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            sides.dedup();
            let mut thresholds: Vec<f64> = sides.iter().map(|side| side.0).collect();
            thresholds.dedup();
            let first = plan.searches.len();
            let mut sides = &sides[..];
            for some in thresholds.chunks(ThresholdTable::LIMIT) {
                let count = sides.partition_point(|side| side.0 <= some[some.len() - 1]);
                let (own, others) = sides.split_at(count);
                let set = key.set.map(|number| plan.sets.all[number]);
                plan.searches.push(Search::new((key, set), some, own));
                sides = others;
            }
            *plan.keys.entry(key) = (thresholds, first);
        }
        plan
    }
}

impl<'a> CodePlan<'a> {
    /// A split as a test of codes.
    ///
    /// Every split asked for must have been added to the planner.
    pub(super) fn place(&mut self, forest: &'a Forest, split: &Split) -> CodeTest {
        let key = self.sets.key(forest, split);
        let (thresholds, first) = &*self.keys.entry(key);
        let wanted = threshold(key, split);
        let at = thresholds.partition_point(|&t| t < wanted);
        let search = &mut self.searches[first + at / ThresholdTable::LIMIT];
        let is_first = search.is_single || split.missing_left;
        let column = if is_first { &mut search.column } else { &mut search.right };
        let column = *column.get_or_insert_with(|| {
            self.columns += 1;
            self.columns - 1
        });
        let threshold = (at % ThresholdTable::LIMIT) as u8;
        CodeTest { column: column as u32, threshold }
    }
}

/// The numbers of sets: those with the same categories of the same feature have one.
#[derive(Debug, Default)]
struct SetNumbers<'a> {
    all: Vec<&'a Set>,
    /// By the address of a set, so that a large one is not compared for each split that looks at it.
    by_address: BTreeMap<usize, usize>,
    by_content: BTreeMap<&'a Set, usize>,
}

impl<'a> SetNumbers<'a> {
    fn of(&mut self, set: &'a Set) -> usize {
        let Self { all, by_address, by_content } = self;
        *by_address.entry(std::ptr::from_ref(set).addr()).or_insert_with(|| {
            *by_content.entry(set).or_insert_with(|| {
                all.push(set);
                all.len() - 1
            })
        })
    }

    fn key(&mut self, forest: &'a Forest, split: &Split) -> Key {
        let set = (split.feature as usize).checked_sub(forest.num_features());
        let set = set.map(|set| self.of(&forest.sets()[set]));
        let feature = forest.feature_of(split.feature);
        let zero_is_missing =
            set.is_none() && forest.zero_is_missing().binary_search(&feature).is_ok();
        let wide = set.is_none() && forest.cells() == CellType::F64;
        Key { feature, set, zero_is_missing, wide }
    }
}

/// The threshold that tells the same cells apart, equal for all splits that do.
fn threshold(key: Key, split: &Split) -> f64 {
    // The sum makes -0 a 0, which is the same threshold.
    let threshold = split.threshold + 0.0;
    if key.wide { threshold } else { f64::from(at_most(threshold)) }
}

impl Search {
    fn new((key, set): (Key, Option<&Set>), thresholds: &[f64], sides: &[(f64, bool)]) -> Self {
        let rule = match set {
            Some(set) => CellRule::Set(Membership::new(set)),
            None if key.zero_is_missing => CellRule::ZeroAsMissing,
            // All that counts as zero goes where 0 goes, but at thresholds within.
            None if key.wide && thresholds.iter().any(|t| (-ZERO..ZERO).contains(t)) => {
                CellRule::Flush
            }
            None => CellRule::AsIs,
        };
        let source = ValueSource { feature: key.feature, rule };
        let singles: Vec<f32> = thresholds.iter().map(|&t| at_most(t)).collect();
        let table = ThresholdTable::new(&singles);
        let exact = key.wide.then(|| Exact::new(thresholds));
        // The thresholds where missing values go right come first, and none comes again.
        let is_single = sides.len() == thresholds.len() && sides.is_sorted_by_key(|side| side.1);
        let rights = sides.partition_point(|side| !side.1);
        let missing = if is_single { rights as u8 } else { 0 };
        Self { source, table, exact, column: None, right: None, missing, is_single }
    }
}

/// A set that answers fast.
#[derive(Debug)]
pub(super) struct Membership {
    set: Set,
    /// A bit a category, where they are small numbers.
    bits: Box<[u64]>,
}

impl Membership {
    const LARGEST: u32 = 1 << 16;
    /// So many words of bits are spent on a set, and on each of its categories.
    const WORDS: usize = 64;

    fn new(set: &Set) -> Self {
        let largest = set.categories.last().copied().unwrap_or_default();
        let words = largest as usize / 64 + 1;
        let mut bits = Vec::new();
        if largest < Self::LARGEST && words <= Self::WORDS * (1 + set.categories.len()) {
            bits.resize(words, 0);
            for &category in &set.categories {
                bits[category as usize / 64] |= 1 << (category % 64);
            }
        }
        Self { set: set.clone(), bits: bits.into_boxed_slice() }
    }

    /// 0 for a value in the set, 1 for another.
    fn cell(&self, value: f64) -> f32 {
        if value.is_nan() {
            return f32::NAN;
        }
        if self.bits.is_empty() {
            return f32::from(u8::from(!self.set.contains(value)));
        }
        let is_category = value > -1.0 && value < f64::from(Self::LARGEST);
        let category = if is_category { value as usize } else { usize::MAX };
        let word = self.bits.get(category / 64).copied().unwrap_or_default();
        f32::from((word >> (category % 64) & 1) as u8 ^ 1)
    }
}
