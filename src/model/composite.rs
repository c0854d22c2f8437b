//! The model: an intercept and a weighted sum of components.
//!
//! The score of a row is summed in one fixed order, in `f64`: the intercept, then component by
//! component. A plain component (weight 1, no normalisation) adds its terms one by one to the sum so
//! far, a forest tree by tree. Any other component is summed separately and then added, as are classes,
//! stacks, calibrated models, and a model that ranks features within queries in one that does not. So adding
//! a tree to a forest does not change the sum of the trees before it, which is what a trainer keeps.
//!
//! A *round* is what a step of boosting adds: a tree of a forest, or a tree for each class.

use super::normalisation::Normalisation;
use super::parts::{Classes, Forest, Linear, Part, Set};
use super::tree::Tree;
use crate::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How deep models may stand inside models.
pub(super) const DEEPEST: usize = 8;

/// An intercept and a weighted sum of components.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Model {
    num_features: usize,
    /// Whether the second half of the features are the ranks of the first.
    query_ranks: bool,
    feature_names: Option<Vec<String>>,
    attributes: BTreeMap<String, String>,
    intercept: f64,
    components: Vec<Component>,
}

/// A term of a model's sum: a part, its normalisation and its weight.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// The factor of its score.
    pub weight: f64,
    /// Applied to its score before the weight.
    pub normalisation: Normalisation,
    /// What computes its score.
    pub part: Part,
}

/// The note of a model of another library whose score is the mean over the trees: a random forest.
pub(super) const AVERAGES: &str = "average_output";

impl Component {
    /// A plain component: weight 1, no normalisation.
    pub fn new(part: Part) -> Self {
        Self { weight: 1.0, normalisation: Normalisation::AsIs, part }
    }

    /// Makes a sum that is divided by a number of trees, that of a random forest, one that is divided by its own.
    fn divide_by_trees(&mut self) {
        let trees = self.part.forests().iter().map(|forest| forest.trees().len()).sum::<usize>();
        if let Normalisation::Fixed { mean: 0.0, scale } = &mut self.normalisation
            && trees > 0
        {
            *scale = trees as f64;
        }
    }

    /// Whether it has weight 1 and no normalisation: its terms are then added one by one to the sum so far.
    pub fn is_plain(&self) -> bool {
        self.weight == 1.0 && self.normalisation == Normalisation::AsIs
    }

    /// Whether it is what training adds to a model that ends with another component.
    fn goes_on_from(&self, before: &Self) -> bool {
        let is_ours = |one: &Self| {
            one.is_plain() && matches!(&one.part, Part::Forest(forest) if forest.is_native())
        };
        // Our trees after our trees are one component, unless they come from two models.
        is_ours(self) && !is_ours(before)
    }

    /// An error unless it can be part of a model.
    fn check(&self, model: &Model) -> Result<()> {
        self.normalisation.check()?;
        if !self.weight.is_finite() {
            return Err(Error::model("model.number", "a component's weight must be finite"));
        }
        self.part.kind().check(model)
    }
}

/// The error of a part that does not rank features, in a model that does.
pub(super) fn no_ranks() -> Error {
    let what = "a model that ranks features within queries cannot hold one that does not";
    Error::model("model.ranks", what).hint("a model that does not rank features can hold both")
}

/// The error of a model that is not one of classes alone.
pub(super) fn not_of_classes() -> Error {
    Error::param("model.classes", "only a model of classes has probabilities")
        .hint("train with objective mcrank or mcrank_ordinal")
}

impl Model {
    /// A model that scores rows of `num_features` values 0.
    pub fn new(num_features: usize) -> Self {
        Self { num_features, ..Self::default() }
    }

    /// The weighted sum of models, each with its weight.
    pub fn sum(mut parts: Vec<(f64, Self)>) -> Result<Self> {
        let mut shared: Vec<&mut Self> = parts.iter_mut().map(|(_, model)| model).collect();
        Self::share_categories(&mut shared, &BTreeSet::new())?;
        let models: Vec<&Self> = parts.iter().map(|(_, model)| model).collect();
        let mut sum = Self::around(&models);
        for (weight, model) in parts {
            let part = Part::Model(Box::new(model));
            sum.add(Component { weight, ..Component::new(part) })?;
        }
        Ok(sum)
    }

    /// An empty model for components made of these models: it has the feature names of the first and the
    /// lists of categories of all, which they must [share](Self::share_categories) before, and ranks features
    /// within queries if all of them do.
    pub fn around(models: &[&Self]) -> Self {
        let Some(first) = models.first() else { return Self::default() };
        let query_ranks = models.iter().all(|model| model.query_ranks);
        let num_features = if query_ranks { first.num_features } else { first.num_raw_features() };
        let names = first.feature_names.as_ref().map(|names| names[..num_features].to_vec());
        let mut around = Self { query_ranks, feature_names: names, ..Self::new(num_features) };
        around.declare_categorical(models.iter().flat_map(|model| model.categorical()));
        for (feature, list) in models.iter().rev().flat_map(|model| model.category_lists()) {
            around.set_category_list(feature, Some(&list));
        }
        around
    }

    /// Adds a tree: to the last component if that is a plain forest of our own training, else to a new one.
    pub fn push(&mut self, tree: Tree) -> Result<()> {
        self.push_with(tree, &[])
    }

    /// [`push`](Self::push) for a tree with sets of categories: a split on set `i` of them looks at
    /// feature `num_features + i`.
    pub fn push_with(&mut self, tree: Tree, sets: &[Set]) -> Result<()> {
        if let Some(Part::Forest(forest)) = self.last_plain()
            && forest.is_native()
        {
            return forest.push_with(tree, sets);
        }
        let mut forest = Forest::new(self.num_features);
        forest.push_with(tree, sets)?;
        self.components.push(Component::new(Part::Forest(forest)));
        Ok(())
    }

    /// Adds a round to the last component, which must be plain classes.
    pub fn push_classes(&mut self, trees: Vec<Tree>) -> Result<()> {
        if let Some(Part::Classes(classes)) = self.last_plain() {
            return classes.push(trees);
        }
        Err(Error::model("model.classes", "the last component of the model has no classes"))
    }

    /// The part of the last component, if that is plain.
    fn last_plain(&mut self) -> Option<&mut Part> {
        self.components.last_mut().filter(|last| last.is_plain()).map(|last| &mut last.part)
    }

    /// Adds a weighted feature: to the last component if that is plain and linear, else to a new one.
    pub fn push_term(&mut self, feature: u32, weight: f64) -> Result<()> {
        let term = Component::new(Part::Linear(Linear::new(vec![(feature, weight)])));
        term.check(self)?;
        if let Some(Part::Linear(linear)) = self.last_plain() {
            linear.push(feature, weight);
            return Ok(());
        }
        self.add(term)
    }

    /// Adds a component at the end.
    pub fn add(&mut self, component: Component) -> Result<()> {
        component.check(self)?;
        if depth_of(&component.part) >= DEEPEST {
            let what = "models stand too deep inside each other";
            return Err(Error::model("model.depth", what).expected(format!("<= {DEEPEST}")));
        }
        self.components.push(component);
        Ok(())
    }

    /// The classes of a model that is nothing else; `None` of any other.
    pub fn classes(&self) -> Option<&Classes> {
        match &self.components[..] {
            [Component { part: Part::Classes(classes), .. }] => Some(classes),
            _ => None,
        }
    }

    /// A model of classes that expects other gains: an error of any other model.
    pub fn with_gains(&self, gains: &[f64]) -> Result<Self> {
        let mut other = self.clone();
        match &mut other.components[..] {
            [Component { part: Part::Classes(classes), .. }] => classes.set_gains(gains)?,
            _ => return Err(not_of_classes()),
        }
        Ok(other)
    }

    /// How deep models are nested: 1 for a model without models inside.
    pub(super) fn depth(&self) -> usize {
        1 + self.components.iter().map(|component| depth_of(&component.part)).max().unwrap_or(0)
    }

    /// An error unless the model has so many features.
    pub(super) fn check_features(&self, features: usize) -> Result<()> {
        if features == self.num_features {
            return Ok(());
        }
        Err(Error::model("model.features", "a component has another number of features")
            .got(features)
            .expected(self.num_features))
    }

    /// An error if training must not go on from the model.
    #[cfg_attr(not(feature = "train"), allow(dead_code, reason = "training asks for it"))]
    pub(crate) fn check_base(&self) -> Result<()> {
        self.components.iter().try_for_each(|component| component.part.kind().check_base())
    }

    /// The number of features, ranks within queries included.
    pub fn num_features(&self) -> usize {
        self.num_features
    }

    /// The number of values in a row: half of the features where the other half are their ranks.
    pub fn num_raw_features(&self) -> usize {
        if self.query_ranks { self.num_features / 2 } else { self.num_features }
    }

    /// Whether the second half of the features are the ranks of the first within the query. A scorer then
    /// computes them from the rows, and needs to know the queries. See [`query_ranks`].
    ///
    /// [`query_ranks`]: super::query_ranks
    pub fn ranks_features(&self) -> bool {
        self.query_ranks
    }

    /// Whether splits may look at ranks within queries: it [ranks features](Self::ranks_features), or a model in
    /// its sum does. Importance and explanations then have values of ranks after those of the raw features.
    pub fn looks_at_ranks(&self) -> bool {
        let inner =
            |component: &Component| component.part.kind().inner().is_some_and(Self::looks_at_ranks);
        self.query_ranks || self.components.iter().any(inner)
    }

    /// The number of features that importance and explanations have values of: the raw ones, and as many ranks
    /// if the model [looks at them](Self::looks_at_ranks).
    pub fn num_explained_features(&self) -> usize {
        self.num_raw_features() * if self.looks_at_ranks() { 2 } else { 1 }
    }

    /// Says that the second half of the features are the ranks of the first: of an empty model with
    /// an even number of features.
    pub fn set_ranks_features(&mut self) -> Result<()> {
        if !self.components.is_empty() || !self.num_features.is_multiple_of(2) {
            let what = "a model of ranks starts empty, with as many ranks as raw features";
            return Err(Error::model("model.ranks", what).got(self.num_features));
        }
        self.query_ranks = true;
        Ok(())
    }

    /// The names of the features, where they have some.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    /// Sets or removes the names of the features.
    pub fn set_feature_names(&mut self, names: Option<Vec<String>>) -> Result<()> {
        let count = names.as_ref().map_or(self.num_features, Vec::len);
        if count != self.num_features {
            return Err(Error::data("names.length", "a name is needed for each feature")
                .got(format!("{count} names"))
                .expected(self.num_features));
        }
        self.feature_names = names;
        Ok(())
    }

    /// Notes by name, such as the objective, the parameters and the best round of training.
    pub fn attributes(&self) -> &BTreeMap<String, String> {
        &self.attributes
    }

    /// Sets a note; one of the same name is replaced.
    pub fn set_attribute(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.attributes.insert(name.into(), value.into());
    }

    /// Removes a note and returns it.
    pub fn remove_attribute(&mut self, name: &str) -> Option<String> {
        self.attributes.remove(name)
    }

    /// The intercept: the first term of the sum.
    pub fn intercept(&self) -> f64 {
        self.intercept
    }

    /// Sets the intercept.
    pub fn set_intercept(&mut self, intercept: f64) -> Result<()> {
        if !intercept.is_finite() {
            return Err(Error::model("model.number", "the intercept is not finite").got(intercept));
        }
        self.intercept = intercept;
        Ok(())
    }

    /// The components, in the order in which they are summed.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Multiplies all scores by a factor, by way of the intercept and the weights of components.
    pub fn scale(&mut self, factor: f64) -> Result<()> {
        let weights = self.components.iter().map(|component| component.weight * factor);
        if !(weights.chain([self.intercept * factor, factor]).all(f64::is_finite)) {
            return Err(Error::param("model.weight", "a scaled weight must be finite").got(factor));
        }
        self.intercept *= factor;
        for component in &mut self.components {
            component.weight *= factor;
        }
        Ok(())
    }

    /// The trees of the model's own forests and classes, round by round; not those of models inside
    /// it.
    pub fn trees(&self) -> impl Iterator<Item = &Tree> {
        self.trees_with_sets().map(|(tree, _)| tree)
    }

    /// The [`trees`](Self::trees), each with the sets of categories that its splits may look at: set
    /// `i` as feature `num_features + i`.
    pub fn trees_with_sets(&self) -> impl Iterator<Item = (&Tree, &[Set])> {
        self.components.iter().flat_map(|component| {
            let forests = component.part.forests();
            (0..component.part.num_rounds()).flat_map(move |round| {
                forests.iter().map(move |forest| (&forest.trees()[round], forest.sets()))
            })
        })
    }

    pub(super) fn components_mut(&mut self) -> &mut [Component] {
        &mut self.components
    }

    /// How often a leaf value of tree `at` of [`trees`](Self::trees) is in the score: the weight of its model in a
    /// sum, and the scale that it is divided by. What is normalised within queries has no such number: 1.
    pub fn tree_weight(&self, at: usize) -> f64 {
        let mut at = at;
        for component in &self.components {
            let trees = component.part.num_rounds() * component.part.forests().len();
            if at < trees {
                return match component.normalisation {
                    Normalisation::AsIs => component.weight,
                    Normalisation::Fixed { scale, .. } => component.weight / scale,
                    _ => 1.0,
                };
            }
            at -= trees;
        }
        1.0
    }

    /// What the score has besides leaf values: the intercept, and the means that weighted models are shifted by.
    pub fn constant(&self) -> f64 {
        let shift = |component: &Component| match component.normalisation {
            Normalisation::Fixed { mean, scale } => -component.weight * mean / scale,
            _ => 0.0,
        };
        self.intercept + self.components.iter().map(shift).sum::<f64>()
    }

    /// Sets the leaf values of tree `at` of [`trees`](Self::trees).
    pub fn set_leaf_values(&mut self, at: usize, values: &[f64]) -> Result<()> {
        let mut at = at;
        for component in &mut self.components {
            let rounds = component.part.num_rounds();
            let forests = component.part.kind_mut().forests_mut();
            let count = forests.len();
            if at < rounds * count {
                return forests[at % count].set_values(at / count, values);
            }
            at -= rounds * count;
        }
        Err(Error::param("model.tree", "the model has no such tree"))
    }

    /// The number of [`trees`](Self::trees).
    pub fn num_trees(&self) -> usize {
        self.forests().map(|forest| forest.trees().len()).sum()
    }

    /// The number of trees of the model and of all models inside it; one that is used twice counts twice.
    pub fn num_trees_inside(&self) -> usize {
        let inside = self.components.iter().flat_map(|component| component.part.kind().models());
        self.num_trees() + inside.map(Self::num_trees_inside).sum::<usize>()
    }

    /// The model's own forests, in order, those of classes too.
    pub fn forests(&self) -> impl Iterator<Item = &Forest> {
        self.components.iter().flat_map(|component| component.part.forests())
    }

    /// The number of rounds that made the model: of classes, the trees of one.
    pub fn num_rounds(&self) -> usize {
        self.components.iter().map(|component| component.part.num_rounds()).sum()
    }

    /// The first [rounds](Self::num_rounds) that a truncation cannot divide, since they are those of several
    /// models that are summed: 0 if all rounds follow each other as training made them.
    ///
    /// Training puts its rounds after those of any base, as the last component.
    pub fn num_mixed_rounds(&self) -> usize {
        let last = self.components.windows(2).rposition(|pair| !pair[1].goes_on_from(&pair[0]));
        let mixed = last.map_or(0, |at| at + 2);
        self.components[..mixed].iter().map(|component| component.part.num_rounds()).sum()
    }

    /// Drops all but the first `count` [rounds](Self::num_rounds); parts without rounds stay.
    pub fn truncate(&mut self, count: usize) {
        self.keep(0..count);
    }

    /// The model with only the rounds of `range`.
    ///
    /// The intercept and parts without rounds belong to a range that starts at 0, so that ranges that follow
    /// each other sum to the model. Classes cannot be divided: a range that starts later has none.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let mut part = self.clone();
        part.keep(range);
        part
    }

    fn keep(&mut self, range: Range<usize>) {
        if range.start > 0 {
            self.intercept = 0.0;
        }
        let mut before = 0;
        self.components.retain_mut(|component| {
            let count = component.part.num_rounds();
            let start = range.start.saturating_sub(before);
            let end = range.end.saturating_sub(before).max(start);
            before += count;
            component.part.kind_mut().keep_rounds(start..end, range.start == 0)
        });
        if self.attributes.contains_key(AVERAGES) {
            self.components.iter_mut().for_each(Component::divide_by_trees);
        }
    }

    /// Whether another model has the same components and so the same scores.
    pub(super) fn scores_as(&self, other: &Self) -> bool {
        self.num_features == other.num_features
            && self.query_ranks == other.query_ranks
            && self.intercept == other.intercept
            && self.components == other.components
    }

    /// A model of the same features without components.
    pub(super) fn emptied(&self) -> Self {
        Self { query_ranks: self.query_ranks, ..Self::new(self.num_features) }
    }

    /// Whether scores depend on the other docs of the query.
    pub fn needs_queries(&self) -> bool {
        self.query_ranks
            || self.components.iter().any(|component| {
                component.normalisation.needs_queries() || component.part.kind().needs_queries()
            })
    }
}

/// The number of models on the longest way into a part.
fn depth_of(part: &Part) -> usize {
    part.kind().models().into_iter().map(Model::depth).max().unwrap_or(0)
}
