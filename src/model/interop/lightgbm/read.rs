//! LightGBM's text to a model.

use super::super::super::composite::AVERAGES;
use super::super::super::format::check_num_features;
use super::super::super::normalisation::Normalisation;
use super::super::super::parts::{CellType, Forest};
use super::super::super::tree::{Leaf, Split, Tree};
use super::super::super::{Component, Model, Part};
use super::super::GAIN_OF_REDUCTION;
use super::super::arrange::{ForeignNode, ForeignSets, arrange};
use super::super::one_score;
use super::{CATEGORICAL, DEFAULT_LEFT, Missing, pandas};
use crate::error::{Error, Result, foreign};
use std::collections::BTreeMap;
use std::str::FromStr;

/// Whether bytes look like LightGBM's text.
pub(in crate::model::interop) fn is_text(bytes: &[u8]) -> bool {
    bytes.starts_with(b"tree\n") || bytes.starts_with(b"tree\r\n")
}

/// The model of a text that LightGBM wrote.
pub fn read(text: &str) -> Result<Model> {
    let mut sections = text.split("\nTree=");
    let header = Section::new(None, sections.next().unwrap_or_default());
    for name in ["num_class", "num_tree_per_iteration"] {
        if header.number_or::<u64>(name, 1)? != 1 {
            return Err(one_score("lightgbm.classes"));
        }
    }
    let last: u32 = header.number("max_feature_idx")?;
    check_num_features(u64::from(last) + 1)?;
    let features = last as usize + 1;
    let sets = ForeignSets { features, ..ForeignSets::default() };
    let mut reading = LightgbmReader { sets, ..LightgbmReader::default() };
    let mut ended = false;
    for (number, section) in sections.enumerate() {
        if ended {
            return Err(Error::model("lightgbm.order", "a tree follows the end of the trees"));
        }
        let (section, rest) = section.split_once("\nend of trees").unwrap_or((section, ""));
        ended = !rest.is_empty();
        // What stands before the first line end is the tree's number.
        let tree = reading.tree(&Section::new(Some(number), section))?;
        reading.trees.push(tree);
    }
    if !ended && !text.contains("\nend of trees") {
        return Err(Error::model("model.length", "the text has no `end of trees`"));
    }
    let averages =
        text.lines().take_while(|l| !l.starts_with("Tree=")).any(|l| l == "average_output");
    let mut model = Model::new(features);
    let names: Vec<String> = header.words("feature_names").map(str::to_owned).collect();
    // Features without names are called `Column_0`, `Column_1`, ... by LightGBM.
    let numbered = names.iter().enumerate().all(|(at, name)| *name == format!("Column_{at}"));
    if names.len() == features && !numbered {
        model.set_feature_names(Some(names))?;
    }
    if let Some(objective) = header.get("objective") {
        model.set_attribute("objective", objective);
    }
    model.set_attribute("source", "LightGBM");
    if averages {
        model.set_attribute(AVERAGES, "true");
    }
    pandas::read(&mut model, text)?;
    model.add(reading.finish(averages)?)?;
    Ok(model)
}

/// Lines of the form `key=value`.
struct Section<'a> {
    tree: Option<usize>,
    lines: BTreeMap<&'a str, &'a str>,
}

impl<'a> Section<'a> {
    fn new(tree: Option<usize>, text: &'a str) -> Self {
        let lines = text.lines().filter_map(|line| line.split_once('=')).collect();
        Self { tree, lines }
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.lines.get(name).map(|value| value.trim())
    }

    fn words(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.get(name).unwrap_or_default().split_ascii_whitespace()
    }

    fn fault(&self, name: &str, got: &str) -> Error {
        let what = match self.tree {
            Some(tree) => format!("`{name}` of tree {tree} is not as LightGBM writes it"),
            None => format!("`{name}` is not as LightGBM writes it"),
        };
        Error::model("lightgbm.syntax", what).got(foreign(got.as_bytes()))
    }

    fn number<T: FromStr>(&self, name: &str) -> Result<T> {
        let text = self.get(name).unwrap_or_default();
        text.parse().map_err(|_| self.fault(name, text))
    }

    fn number_or<T: FromStr>(&self, name: &str, other: T) -> Result<T> {
        if self.get(name).is_some() { self.number(name) } else { Ok(other) }
    }

    /// `count` numbers.
    fn numbers<T: FromStr>(&self, name: &str, count: usize) -> Result<Vec<T>> {
        let words = self.words(name).take(count.saturating_add(1));
        let numbers: Vec<T> =
            words.map(|w| w.parse().map_err(|_| self.fault(name, w))).collect::<Result<_>>()?;
        if numbers.len() == count {
            return Ok(numbers);
        }
        let counted = format!("{} numbers", numbers.len());
        Err(self.fault(name, &counted).expected(format!("{count} numbers")))
    }

    /// The same, or zeros where an older version did not write them or a number is not finite.
    fn statistics(&self, name: &str, count: usize) -> Result<Vec<f64>> {
        if self.get(name).is_none() {
            return Ok(vec![0.0; count]);
        }
        let mut numbers = self.numbers::<f64>(name, count)?;
        numbers.iter_mut().filter(|x| !x.is_finite()).for_each(|x| *x = 0.0);
        Ok(numbers)
    }
}

/// Forests read so far.
#[derive(Default)]
struct LightgbmReader {
    trees: Vec<Tree>,
    sets: ForeignSets,
    /// What is missing in each feature.
    zeros: BTreeMap<u32, bool>,
}

/// The sets of one tree, one after the other in `words`.
struct LightgbmCategories {
    bounds: Vec<usize>,
    words: Vec<u32>,
    /// Of sets that were read: the feature, and which of the forest's sets it is.
    known: BTreeMap<usize, (u32, usize)>,
}

impl LightgbmCategories {
    fn of(section: &Section<'_>) -> Result<Self> {
        let bounds: Vec<usize> =
            section.words("cat_boundaries").filter_map(|w| w.parse().ok()).collect();
        if !bounds.is_sorted() {
            let expected = "rising numbers: sets do not overlap";
            return Err(section.fault("cat_boundaries", "a falling number").expected(expected));
        }
        let words = section.words("cat_threshold").filter_map(|w| w.parse().ok()).collect();
        Ok(Self { bounds, words, known: BTreeMap::new() })
    }

    fn categories(&self, number: usize) -> Option<Vec<u32>> {
        let (from, to) = (*self.bounds.get(number)?, *self.bounds.get(number.checked_add(1)?)?);
        let words = self.words.get(from..to)?;
        let is_in = |category: &u32| words[*category as usize / 32] >> (category % 32) & 1 == 1;
        Some((0..u32::try_from(32 * words.len()).ok()?).filter(is_in).collect())
    }
}

impl LightgbmReader {
    fn tree(&mut self, section: &Section<'_>) -> Result<Tree> {
        if section.number_or::<u32>("is_linear", 0)? != 0 {
            return Err(Error::model("lightgbm.linear", "linear leaves cannot be read"));
        }
        let leaves: usize = section.number("num_leaves")?;
        let values = section.numbers::<f64>("leaf_value", leaves)?;
        if leaves <= 1 {
            return Ok(Tree::constant(values.first().copied().unwrap_or_default()));
        }
        let covers = section.statistics("leaf_weight", leaves)?;
        let docs = section.statistics("leaf_count", leaves)?;
        let splits = self.splits(section, leaves - 1)?;
        let children = [
            section.numbers::<i64>("left_child", leaves - 1)?,
            section.numbers::<i64>("right_child", leaves - 1)?,
        ];
        // From 0 on splits, and below 0 leaves, the first of which is -1.
        arrange(0, 2 * leaves, |at: i64| {
            let beyond = || section.fault("left_child", &at.to_string());
            if at < 0 {
                let leaf = usize::try_from(-1 - at).ok().filter(|&leaf| leaf < leaves);
                let leaf = leaf.ok_or_else(beyond)?;
                let (value, cover, docs) = (values[leaf], covers[leaf], docs[leaf] as u64);
                return Ok(ForeignNode::Leaf(Leaf { value, cover, docs }));
            }
            let split = usize::try_from(at).ok().filter(|&split| split + 1 < leaves);
            let split = split.ok_or_else(beyond)?;
            let (left, right) = (children[0][split], children[1][split]);
            Ok(ForeignNode::Split { split: splits[split], left, right })
        })
    }

    fn splits(&mut self, section: &Section<'_>, count: usize) -> Result<Vec<Split>> {
        let features = section.numbers::<u32>("split_feature", count)?;
        let thresholds = section.numbers::<f64>("threshold", count)?;
        let decisions = section.numbers::<u32>("decision_type", count)?;
        let gains = section.statistics("split_gain", count)?;
        let covers = section.statistics("internal_weight", count)?;
        let docs = section.statistics("internal_count", count)?;
        let mut categories = LightgbmCategories::of(section)?;
        let split = |i: usize| {
            if thresholds[i].is_nan() {
                // LightGBM would send every value right, and never writes it.
                return Err(section.fault("threshold", "nan").expected("a number"));
            }
            let split = Split {
                feature: features[i],
                threshold: thresholds[i],
                reduction: gains[i] / GAIN_OF_REDUCTION,
                cover: covers[i],
                docs: docs[i] as u64,
                ..Split::default()
            };
            if split.feature as usize >= self.sets.features {
                return Err(section.fault("split_feature", &split.feature.to_string()));
            }
            let read = if decisions[i] & CATEGORICAL == 0 {
                self.numerical(split, decisions[i])
            } else {
                self.categorical(split, &mut categories)
            };
            read.ok_or_else(|| section.fault("decision_type", &decisions[i].to_string()))
        };
        (0..count).map(split).collect()
    }

    /// The threshold of a categorical split is the number of its set; missing values go right.
    ///
    /// LightGBM writes a set for each split. One that several share is kept once, so that a model takes
    /// memory as its file does.
    fn categorical(&mut self, split: Split, all: &mut LightgbmCategories) -> Option<Split> {
        let number = split.threshold as usize;
        if let Some(&(feature, set)) = all.known.get(&number) {
            return (feature == split.feature).then(|| self.sets.split_by(split, set));
        }
        let made = self.sets.split(split, all.categories(number)?);
        all.known.insert(number, (split.feature, self.sets.sets.len() - 1));
        Some(made)
    }

    fn numerical(&mut self, split: Split, decision: u32) -> Option<Split> {
        let missing = Missing::of(decision)?;
        let missing_left = match missing {
            Missing::None => 0.0 <= split.threshold,
            Missing::Zero | Missing::NaN => decision & DEFAULT_LEFT != 0,
        };
        let zero = missing == Missing::Zero;
        if *self.zeros.entry(split.feature).or_insert(zero) != zero {
            return None;
        }
        let split = Split { missing_left, ..split };
        if split.threshold == f64::INFINITY && !zero {
            // All that is not missing goes left, infinity too: in no set.
            return Some(Split { threshold: 1.0, ..self.sets.split(split, vec![]) });
        }
        Some(Split { threshold: split.threshold.min(f64::MAX), ..split })
    }

    fn finish(self, averages: bool) -> Result<Component> {
        let zeros = self.zeros.into_iter().filter(|(_, zero)| *zero).map(|(feature, _)| feature);
        let ForeignSets { features, sets } = self.sets;
        let forest = Forest::foreign(features, CellType::F64, zeros.collect(), sets, self.trees)?;
        // A random forest divides the sum by the number of trees.
        let count = forest.trees().len() as f64;
        let mut component = Component::new(Part::Forest(forest));
        if averages && count > 0.0 {
            component.normalisation = Normalisation::Fixed { mean: 0.0, scale: count };
        }
        Ok(component)
    }
}
