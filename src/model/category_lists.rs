//! The lists of categories of a model's features. Splits hold the numbers of categories: their places in the list.
//!
//! The lists are notes of the model, one a feature, so they are saved with it and do not depend on its trees.

use super::composite::Model;
use super::format::{escape, unescape};
use crate::CategoryList;
use crate::error::{Error, Result, foreign};
use std::collections::{BTreeMap, BTreeSet};

/// The names of such notes are a prefix and the number of the feature: of texts, of numbers and of truth values.
const TEXTS: &str = "categories.";
const NUMBERS: &str = "categories.numbers.";
const TRUTHS: &str = "categories.truths.";

/// The note with the numbers of all features that hold categories.
const DECLARED: &str = "categories.declared";

/// The largest category that is its own number: single precision holds every whole number up to it.
const LARGEST: f64 = 16_777_216.0;

/// The feature and the list of a note, if it is one.
fn noted_list(note: &str, said: &str) -> Option<(u32, CategoryList)> {
    if let Some(feature) = note.strip_prefix(NUMBERS) {
        let numbers = said.split_ascii_whitespace().map(|word| word.parse().ok());
        let numbers: Vec<f64> = numbers.collect::<Option<_>>()?;
        let is_finite = numbers.iter().all(|number| number.is_finite());
        return is_finite.then_some((feature.parse().ok()?, CategoryList::Numbers(numbers)));
    }
    if let Some(feature) = note.strip_prefix(TRUTHS) {
        let truths = said.split_ascii_whitespace().map(|word| word.parse().ok());
        let truths = CategoryList::Truths(truths.collect::<Option<_>>()?);
        return Some((feature.parse().ok()?, truths));
    }
    let feature = note.strip_prefix(TEXTS)?.parse().ok()?;
    let texts = said.split(' ').map(unescape).collect::<Option<_>>()?;
    Some((feature, CategoryList::Texts(texts)))
}

impl Model {
    /// The list of categories of each feature that has one.
    pub fn category_lists(&self) -> BTreeMap<u32, CategoryList> {
        self.attributes().iter().filter_map(|(note, said)| noted_list(note, said)).collect()
    }

    /// Refuses notes that are named as those of categories and are none, as in damaged files.
    pub(super) fn check_category_lists(&self) -> Result<()> {
        let is_known = |feature: u32| (feature as usize) < self.num_features();
        for (note, said) in self.attributes() {
            let is_right = if note == DECLARED {
                said.split_ascii_whitespace().all(|word| word.parse().is_ok_and(is_known))
            } else {
                !note.starts_with(TEXTS)
                    || noted_list(note, said).is_some_and(|(feature, _)| is_known(feature))
            };
            if !is_right {
                let what = format!(
                    "the attribute `{}` is no list of categories",
                    foreign(note.as_bytes())
                );
                return Err(Error::model("model.categories", what).got(foreign(said.as_bytes())));
            }
        }
        Ok(())
    }

    /// Sets the list of categories of a feature, or removes it: categories are then whole numbers.
    pub fn set_category_list(&mut self, feature: u32, list: Option<&CategoryList>) {
        for prefix in [TEXTS, NUMBERS, TRUTHS] {
            self.remove_attribute(&format!("{prefix}{feature}"));
        }
        let (prefix, words) = match list {
            None => return,
            Some(CategoryList::Texts(texts)) => {
                (TEXTS, texts.iter().map(|text| escape(text, true)).collect::<Vec<_>>())
            }
            Some(CategoryList::Numbers(numbers)) => {
                (NUMBERS, numbers.iter().map(|number| format!("{number:?}")).collect())
            }
            Some(CategoryList::Truths(truths)) => {
                (TRUTHS, truths.iter().map(ToString::to_string).collect())
            }
        };
        self.set_attribute(format!("{prefix}{feature}"), words.join(" "));
    }

    /// The features that held categories in training, whether a split looks at them or not.
    pub fn categorical(&self) -> BTreeSet<u32> {
        let declared = self.attributes().get(DECLARED);
        let declared = declared.into_iter().flat_map(|note| note.split_ascii_whitespace());
        let used = self.forests().filter(|forest| forest.is_native());
        let used = used.flat_map(|forest| forest.sets().iter().map(|set| set.feature));
        declared.filter_map(|feature| feature.parse().ok()).chain(used).collect()
    }

    /// Notes that features hold categories, besides those that are noted.
    pub fn declare_categorical(&mut self, features: impl IntoIterator<Item = u32>) {
        let mut all = self.categorical();
        all.extend(features);
        if !all.is_empty() {
            let words: Vec<_> = all.iter().map(ToString::to_string).collect();
            self.set_attribute(DECLARED, words.join(" "));
        }
    }

    /// Gives models that are to be joined the same lists of categories, and renumbers the categories that their
    /// splits hold. A shared list starts with that of the first model that has one; what others add follows.
    ///
    /// Where a feature has a list of numbers in one model, and in another categories that are their own numbers, it
    /// gets the list; or none, if it is among `plain` or a model compares its values. Texts and numbers cannot be
    /// joined: that is an error.
    pub fn share_categories(models: &mut [&mut Self], plain: &BTreeSet<u32>) -> Result<()> {
        let lists: Vec<_> = models.iter().map(|model| model.category_lists()).collect();
        let features: BTreeSet<u32> = lists.iter().flat_map(BTreeMap::keys).copied().collect();
        for feature in features {
            let mut own = OfModels { plain: plain.contains(&feature), ..OfModels::default() };
            for (model, lists) in models.iter_mut().zip(&lists) {
                if let Some(list) = lists.get(&feature) {
                    own.lists.push(list);
                    continue;
                }
                own.plain |= model.compares(feature);
                model.map_categories(feature, &mut |category| {
                    own.used.insert(category);
                    category
                });
            }
            let shared = own.shared(feature)?;
            for (model, lists) in models.iter_mut().zip(&lists) {
                if lists.get(&feature) != shared.as_ref() {
                    let numbers = Renumbering::new(lists.get(&feature), shared.as_ref());
                    model.map_categories(feature, &mut |category| numbers.of(category));
                    model.set_category_list(feature, shared.as_ref());
                }
            }
        }
        Ok(())
    }

    /// Whether the value of a feature counts, and not only which category it is.
    pub(super) fn compares(&self, feature: u32) -> bool {
        self.components().iter().any(|component| component.part.kind().compares(feature))
    }

    /// Changes the numbers of the categories of a feature.
    pub(super) fn map_categories(&mut self, feature: u32, number: &mut dyn FnMut(u32) -> u32) {
        for component in self.components_mut() {
            component.part.kind_mut().map_categories(feature, number);
        }
    }
}

/// What models that are to be joined know of a feature that has a list in some of them.
#[derive(Default)]
struct OfModels<'a> {
    lists: Vec<&'a CategoryList>,
    /// The categories in splits of models without a list.
    used: BTreeSet<u32>,
    /// Whether the feature's values are to stay as they are.
    plain: bool,
}

impl OfModels<'_> {
    /// The list for all of them; none where categories are to be their own numbers.
    fn shared(&self, feature: u32) -> Result<Option<CategoryList>> {
        let texts = self.lists.iter().filter_map(|list| match list {
            CategoryList::Texts(texts) => Some(texts),
            CategoryList::Numbers(_) | CategoryList::Truths(_) => None,
        });
        let numbers = self.lists.iter().filter_map(|list| list.numbers()).flatten();
        let num_texts = texts.clone().count();
        if num_texts > 0 {
            if num_texts < self.lists.len() || self.plain || !self.used.is_empty() {
                return Err(not_alike(
                    "a feature holds texts in one model, and numbers in another",
                )
                .feature(feature as usize));
            }
            let mut seen = BTreeSet::new();
            let all = texts.flatten().filter(|text| seen.insert(text.as_str()));
            return Ok(Some(CategoryList::Texts(all.cloned().collect())));
        }
        if self.plain {
            let is_own = |number: &f64| (0.0..=LARGEST).contains(number) && number.fract() == 0.0;
            return match numbers.clone().find(|number| !is_own(number)) {
                None => Ok(None),
                Some(number) => {
                    let what =
                        "a feature has a list of categories in one model, and none in another";
                    Err(not_alike(what)
                        .feature(feature as usize)
                        .got(format!("category {number}"))
                        .expected("whole numbers from 0 to 2^24, which need no list"))
                }
            };
        }
        let mut seen = BTreeSet::new();
        let used = self.used.iter().map(|&category| f64::from(category));
        let are_truths = |list: &&CategoryList| matches!(list, CategoryList::Truths(_));
        let truths = self.used.is_empty() && self.lists.iter().all(are_truths);
        let all = numbers.chain(used);
        // Adding 0 makes one of the two zeros.
        let all = all.filter(|number| seen.insert((number + 0.0).to_bits()));
        Ok(Some(if truths {
            CategoryList::Truths(all.map(|number| number != 0.0).collect())
        } else {
            CategoryList::Numbers(all.collect())
        }))
    }
}

fn not_alike(what: &str) -> Error {
    Error::data("categories", what).hint("make the datasets of all with like=")
}

/// The numbers of categories in a list that has all those of another.
enum Renumbering {
    /// Of each place of the list.
    Places(Vec<u32>),
    /// Of each category that is its own number.
    Own(BTreeMap<u32, u32>),
}

impl Renumbering {
    fn new(from: Option<&CategoryList>, to: Option<&CategoryList>) -> Self {
        match (from, to) {
            (Some(CategoryList::Texts(from)), Some(CategoryList::Texts(to))) => {
                let places: BTreeMap<&String, u32> = to.iter().zip(0..).collect();
                Self::Places(from.iter().map(|text| places[text]).collect())
            }
            _ => Self::of_numbers(
                from.and_then(CategoryList::numbers),
                to.and_then(CategoryList::numbers),
            ),
        }
    }

    fn of_numbers(from: Option<Vec<f64>>, to: Option<Vec<f64>>) -> Self {
        match (from, to) {
            (Some(from), Some(to)) => {
                let bits = |number: &f64| (number + 0.0).to_bits();
                let places: BTreeMap<u64, u32> = to.iter().map(bits).zip(0..).collect();
                Self::Places(from.iter().map(|number| places[&bits(number)]).collect())
            }
            (Some(from), None) => {
                Self::Places(from.into_iter().map(|number| number as u32).collect())
            }
            (None, Some(to)) => {
                let whole = |number: &f64| number.fract() == 0.0 && *number >= 0.0;
                let places = to.into_iter().zip(0..).filter(|(number, _)| whole(number));
                Self::Own(places.map(|(number, place)| (number as u32, place)).collect())
            }
            // Of these no split holds a category.
            (None, None) => Self::Own(BTreeMap::new()),
        }
    }

    /// The new number of a category. One that is in no list, which only a damaged file has, stays unknown.
    fn of(&self, category: u32) -> u32 {
        let number = match self {
            Self::Places(places) => places.get(category as usize),
            Self::Own(places) => places.get(&category),
        };
        number.copied().unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_lists_of_a_file_are_refused() {
        let read = |note: &str, said: &str| {
            let mut model = Model::new(2);
            model.set_attribute(note, said);
            Model::from_text(model.to_text().as_bytes())
        };
        for (note, said) in [
            ("categories.1", "red blue"),
            ("categories.numbers.0", "1.5 -7.0"),
            ("categories.truths.0", "false true"),
            ("categories.declared", "0 1"),
            ("category", "anything"),
        ] {
            assert!(read(note, said).is_ok(), "{note}");
        }
        for (note, said) in [
            ("categories.numbers.0", "1.5 x"),
            ("categories.numbers.0", "NaN"),
            ("categories.numbers.2", "1"),
            ("categories.truths.0", "maybe"),
            ("categories.first", "red"),
            ("categories.declared", "0 2"),
        ] {
            let error = read(note, said).unwrap_err().to_string();
            assert!(error.contains("is no list of categories"), "{error}");
        }
    }
}
