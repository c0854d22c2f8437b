//! The kinds of model parts: the trait that each implements and their registry.
//!
//! A kind lives in a file of its own, which says how it is written and read, how a scorer evaluates it, and
//! what else can be done with it. Only this file lists them all: a new kind needs a line in the list, and a
//! `pub use`.

mod calibrated;
mod classes;
mod forest;
mod inner;
mod linear;
pub(crate) mod mlp;
mod stack;

pub use calibrated::{Calibrated, Knot};
pub use classes::{Class, Classes, Expectation, Link};
pub use forest::{CellType, Forest, Set};
pub use linear::Linear;
pub use mlp::{Layer, Mlp, NetInput};
pub use stack::{Derived, Ranker, Stack, Statistic, derive};

pub(super) use forest::{ZERO, at_most, flush, is_zero, nearest};
pub(super) use stack::derived_of;

use super::binned::{AddForest, no_bins};
use super::read::{ModelLine, ModelReader};
use super::scorer::ScorerBuilder;
use super::{Model, Tree};
use crate::error::Result;
use std::borrow::{Borrow, BorrowMut};
use std::ops::Range;

/// Defines the list of kinds: the type of each, what a part holds, the keyword of its text, and what messages call it.
macro_rules! kinds_of_parts {
    ($($(#[$doc:meta])* $kind:ident($held:ty) = $keyword:literal, $noun:literal,)*) => {
        /// What scores in a component of a model.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum Part {
            $($(#[$doc])* $kind($held),)*
        }

        $(impl PartNoun for $kind {
            fn noun(&self) -> &'static str {
                $noun
            }
        })*

        impl Part {
            /// The part as its kind.
            pub(super) fn kind(&self) -> &dyn ModelPart {
                match self { $(Self::$kind(part) => Borrow::<$kind>::borrow(part),)* }
            }

            pub(super) fn kind_mut(&mut self) -> &mut dyn ModelPart {
                match self { $(Self::$kind(part) => BorrowMut::<$kind>::borrow_mut(part),)* }
            }

            /// Reads a part whose first line starts with a keyword.
            pub(super) fn read(reader: &mut ModelReader<'_>) -> Result<Self> {
                let mut line = reader.line()?;
                match line.word("a kind of component")? {
                    $($keyword => Ok(Self::$kind($kind::read(reader, line)?.into())),)*
                    _ => Err(line.wrong(&[$($keyword),*].join(", "))),
                }
            }
        }
    };
}

kinds_of_parts! {
    /// Trees.
    Forest(Forest) = "forest", "a forest",
    /// A weighted sum of features.
    Linear(Linear) = "linear", "a linear part",
    /// A forest for each class, and the gain that the classes' probabilities let expect.
    Classes(Classes) = "classes", "classes",
    /// A neural net.
    Mlp(Mlp) = "mlp", "a net",
    /// Another model.
    Model(Box<Model>) = "model", "a model",
    /// A model on the scores of other models.
    Stack(Box<Stack>) = "stack", "a stack",
    /// A model with a rising function of its score.
    Calibrated(Box<Calibrated>) = "calibrated", "a calibrated model",
}

/// What messages call a kind of part, such as `a net`.
pub(super) trait PartNoun {
    /// With its article.
    fn noun(&self) -> &'static str;
}

/// A kind of part: all that the rest of the crate asks of it.
#[cfg_attr(
    not(feature = "train"),
    allow(dead_code, reason = "training and explanations ask for the rest")
)]
pub(super) trait ModelPart: PartNoun {
    /// Reads the rest of its first line, after the keyword, and the lines that follow.
    fn read(reader: &mut ModelReader<'_>, line: ModelLine<'_>) -> Result<Self>
    where
        Self: Sized;

    /// Writes all its lines; the first starts with its keyword.
    fn write(&self, text: &mut String);

    /// An error unless it can be a part of `model`.
    fn check(&self, model: &Model) -> Result<()>;

    /// Adds to a scorer the steps that add its terms to the sum.
    fn build<'a>(&'a self, scorer: &mut ScorerBuilder<'a>);

    /// Adds to `terms` those that it adds to a score, `weight` times: for exporters and explanations, which take
    /// sums apart.
    fn add_terms<'a>(&'a self, _weight: f64, _terms: &mut Vec<Term<'a>>) -> Result<(), NoSum> {
        Err(NoSum::Part(self.noun()))
    }

    /// Adds its scores of binned documents to `sums`; an error if bins are not enough.
    fn add_binned<'a>(&'a self, _add: &mut AddForest<'a, '_>, _sums: &mut [f64]) -> Result<()> {
        Err(no_bins())
    }

    /// An error if training must not go on from a model with it.
    fn check_base(&self) -> Result<()> {
        self.inner().map_or(Ok(()), Model::check_base)
    }

    /// Its forests; those of models inside are not counted.
    fn forests(&self) -> &[Forest] {
        &[]
    }

    /// The same, to change leaf values.
    fn forests_mut(&mut self) -> &mut [Forest] {
        &mut []
    }

    /// Keeps the boosting rounds of a range; whether anything is left of the part.
    ///
    /// What has no rounds belongs to the first: it is left if `from_start`.
    fn keep_rounds(&mut self, _rounds: Range<usize>, from_start: bool) -> bool {
        from_start
    }

    /// The model whose terms are its own: scored on the same rows, in the same sum.
    fn inner(&self) -> Option<&Model> {
        None
    }

    /// The models that are scored on the same rows before the sum is made.
    fn rankers(&self) -> &[Ranker] {
        &[]
    }

    /// All models inside it.
    fn models(&self) -> Vec<&Model> {
        let rankers = self.rankers().iter().map(|ranker| &ranker.model);
        self.inner().into_iter().chain(rankers).collect()
    }

    /// Whether the value of a feature counts, and not only which category it is.
    fn compares(&self, feature: u32) -> bool {
        let is_compared = |tree: &Tree| tree.splits().iter().any(|split| split.feature == feature);
        self.forests().iter().any(|forest| forest.trees().iter().any(is_compared))
            || self.inner().is_some_and(|model| model.compares(feature))
            || self.rankers().iter().any(|ranker| ranker.model.compares(feature))
    }

    /// Changes the numbers of the categories of a feature, in models inside, too.
    fn map_categories(&mut self, feature: u32, number: &mut dyn FnMut(u32) -> u32) {
        for forest in self.forests_mut() {
            forest.map_categories(feature, number);
        }
    }

    /// Whether its scores depend on the other documents of the query.
    fn needs_queries(&self) -> bool {
        self.models().into_iter().any(Model::needs_queries)
    }
}

/// A term of a score.
#[cfg_attr(not(feature = "train"), allow(dead_code, reason = "explanations ask for all of them"))]
pub(super) enum Term<'a> {
    /// The same for all docs.
    Constant(f64),
    /// A leaf value of each tree, so many times.
    Trees(f64, &'a Forest),
    /// A weighted value of a feature.
    Feature(u32, f64),
}

/// Why a score is not a sum of [terms](Term).
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "train"), allow(dead_code, reason = "explanations ask for all of it"))]
pub(super) enum NoSum {
    /// It is a probability.
    Logistic,
    /// It is normalised within queries.
    Queries,
    /// Some of it looks at ranks within queries, which a row does not have.
    Ranks,
    /// It has such a part.
    Part(&'static str),
}

impl Model {
    /// The terms of its score in order, of the features of a row alone.
    #[cfg_attr(not(feature = "interop"), allow(dead_code, reason = "exporters ask for it"))]
    pub(super) fn terms(&self) -> Result<Vec<Term<'_>>, NoSum> {
        if self.looks_at_ranks() { Err(NoSum::Ranks) } else { self.terms_with_ranks() }
    }

    /// The terms of its score in order; features after the raw ones are their ranks within queries.
    #[cfg_attr(
        not(any(feature = "train", feature = "interop")),
        allow(dead_code, reason = "exporters and explanations ask for it")
    )]
    pub(super) fn terms_with_ranks(&self) -> Result<Vec<Term<'_>>, NoSum> {
        let mut terms = Vec::new();
        self.add_terms(1.0, &mut terms)?;
        Ok(terms)
    }
}

impl Part {
    /// Its forests, one after the other; none of a model inside.
    pub fn forests(&self) -> &[Forest] {
        self.kind().forests()
    }

    /// The number of boosting rounds that made it: of classes, the trees of one.
    pub(super) fn num_rounds(&self) -> usize {
        self.forests().first().map_or(0, |forest| forest.trees().len())
    }
}
