//! A stack: a model whose features are made of other models' scores of a doc and its query.
//!
//! *Rankers* score the docs of a query. *Derived* features are made of those scores: the score
//! itself, the largest of the query, the mean of all or of the best few. The *outer* model scores rows of
//! derived features, with or without the doc's own features before them.
//!
//! A derived value is rounded to `f32`, as values are in training, and does not depend on the order of the
//! docs, so training, which calls [`derive()`], and scorer have the same features.
//!
//! ```text
//! stack       = "stack" ( "own" | "alone" ) LF       ; whether the last model sees the row's values
//!               "rankers" count LF { "ranker" normalise LF model }   ; 1 at least
//!               "derived" count LF { ranker statistic LF }           ; 1 at least
//!               model                                ; of those values, if so, then the derived
//! statistic   = "score" | "max" | "mean" | "top" count ; one word, such as top3: 1 at least
//! ```

use super::{ModelPart, nearest};
use crate::error::{Error, Result};
use crate::model::composite::no_ranks;
use crate::model::normalisation::check_bounds;
use crate::model::read::{ModelLine, ModelReader};
use crate::model::scorer::ScorerBuilder;
use crate::model::write::{self, put};
use crate::model::{Model, Normalisation};
use std::fmt;
use std::str::FromStr;

/// Rankers, the features that are made of their scores, and the model of those.
#[derive(Debug, Clone, PartialEq)]
pub struct Stack {
    num_features: usize,
    rankers: Vec<Ranker>,
    derived: Vec<Derived>,
    own: bool,
    outer: Model,
}

/// A model whose scores a stack makes features of.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranker {
    /// Applied to its scores first.
    pub normalisation: Normalisation,
    /// The model; if it ranks features within queries, it computes the ranks itself.
    pub model: Model,
}

/// A feature that is made of scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Derived {
    /// The number of the ranker.
    pub ranker: u32,
    /// The function of the scores of the query.
    pub statistic: Statistic,
}

/// A function of the scores of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Statistic {
    /// The doc's own score.
    Score,
    /// The largest score of the query; that of its best docs is the same.
    Max,
    /// The mean over the query.
    Mean,
    /// The mean over so many docs with the largest scores, or over all where there are fewer; at
    /// least 1.
    Top(u32),
}

impl Stack {
    /// A stack on rows of `num_features` values; with `own`, the outer model sees them before the
    /// derived ones.
    pub fn new(
        num_features: usize,
        rankers: Vec<Ranker>,
        derived: Vec<Derived>,
        own: bool,
        outer: Model,
    ) -> Result<Self> {
        check(&derived, rankers.len())?;
        let wrong = |which, model: &Model| {
            let what = format!("{which} of a stack has another number of features");
            Error::model("model.features", what).got(model.num_raw_features())
        };
        for ranker in &rankers {
            ranker.normalisation.check()?;
            if ranker.model.num_raw_features() != num_features {
                return Err(wrong("a ranker", &ranker.model).expected(num_features));
            }
        }
        let seen = if own { num_features } else { 0 };
        if outer.num_raw_features().checked_sub(seen) != Some(derived.len()) {
            let expected = format!("{seen} of the row and {} derived", derived.len());
            return Err(wrong("the outer model", &outer).expected(expected));
        }
        Ok(Self { num_features, rankers, derived, own, outer })
    }

    /// The number of values in a row.
    pub fn num_features(&self) -> usize {
        self.num_features
    }

    /// The models whose scores the features are made of.
    pub fn rankers(&self) -> &[Ranker] {
        &self.rankers
    }

    /// The derived features, in order.
    pub fn derived(&self) -> &[Derived] {
        &self.derived
    }

    /// Whether the outer model sees the row's own values before them.
    pub fn own(&self) -> bool {
        self.own
    }

    /// The model of the derived features.
    pub fn outer(&self) -> &Model {
        &self.outer
    }
}

impl Ranker {
    fn needs_queries(&self) -> bool {
        self.normalisation.needs_queries() || self.model.needs_queries()
    }
}

impl ModelPart for Stack {
    fn read(reader: &mut ModelReader<'_>, mut line: ModelLine<'_>) -> Result<Self> {
        let own = line.one_of([("own", true), ("alone", false)])?;
        line.end()?;
        let mut rankers = Vec::new();
        for _ in 0..reader.count("rankers")? {
            let mut line = reader.after("ranker")?;
            let normalisation = line.normalisation()?;
            line.end()?;
            rankers.push(Ranker { normalisation, model: reader.model()? });
        }
        let derived = reader.list("derived", |line| {
            let ranker = line.parse("a ranker")?;
            Ok(Derived { ranker, statistic: line.parse("score, max, mean or top3")? })
        })?;
        let outer = reader.model()?;
        Self::new(reader.num_features(), rankers, derived, own, outer)
            .map_err(|e| reader.refuse(&e))
    }

    fn write(&self, text: &mut String) {
        text.push_str(if self.own() { "stack own\n" } else { "stack alone\n" });
        put(text, format_args!("rankers {}\n", self.rankers().len()));
        for ranker in self.rankers() {
            text.push_str("ranker ");
            write::normalise(text, ranker.normalisation);
            write::model(text, &ranker.model);
        }
        put(text, format_args!("derived {}\n", self.derived().len()));
        for derived in self.derived() {
            put(text, format_args!("{} {}\n", derived.ranker, derived.statistic));
        }
        write::model(text, self.outer());
    }

    fn check(&self, model: &Model) -> Result<()> {
        model.check_features(self.num_features)?;
        if model.ranks_features() { Err(no_ranks()) } else { Ok(()) }
    }

    fn build<'a>(&'a self, scorer: &mut ScorerBuilder<'a>) {
        scorer.stack(self);
    }

    fn compares(&self, feature: u32) -> bool {
        self.rankers.iter().any(|ranker| ranker.model.compares(feature))
            || self.own && self.outer.compares(feature)
    }

    fn map_categories(&mut self, feature: u32, number: &mut dyn FnMut(u32) -> u32) {
        for ranker in &mut self.rankers {
            ranker.model.map_categories(feature, number);
        }
        if self.own {
            self.outer.map_categories(feature, number);
        }
    }

    fn rankers(&self) -> &[Ranker] {
        &self.rankers
    }

    fn models(&self) -> Vec<&Model> {
        self.rankers.iter().map(|ranker| &ranker.model).chain([&self.outer]).collect()
    }

    fn needs_queries(&self) -> bool {
        self.outer.needs_queries()
            || self.derived.iter().any(|derived| derived.statistic != Statistic::Score)
            || self.rankers.iter().any(Ranker::needs_queries)
    }
}

/// Refuses features that cannot be made of the scores of so many rankers.
fn check(derived: &[Derived], rankers: usize) -> Result<()> {
    let wrong = |what: &str| Error::model("model.stack", what);
    if derived.is_empty() || rankers == 0 {
        return Err(wrong("a stack needs a ranker and a feature made of its scores"));
    }
    for one in derived {
        if one.ranker as usize >= rankers {
            let what = format!("a derived feature asks ranker {}", one.ranker);
            return Err(wrong(&what).expected(format!("< {rankers}")));
        }
        if one.statistic == Statistic::Top(0) {
            return Err(wrong("the mean over the best docs needs at least one"));
        }
    }
    Ok(())
}

/// The features that are made of scores: as many values a doc as there are `derived`, doc after doc.
///
/// Each of `scores` has those of one ranker, normalised already; query `i` has the docs
/// `bounds[i]..bounds[i + 1]`.
///
/// ```
/// use rustrank::model::{Derived, Statistic, derive};
/// let derived = [Statistic::Score, Statistic::Max, Statistic::Top(2)]
///     .map(|statistic| Derived { ranker: 0, statistic });
/// let columns = derive(&derived, &[vec![1.0, 4.0, 2.0]], &[0, 3])?;
/// assert_eq!(columns, [1.0, 4.0, 3.0, 4.0, 4.0, 3.0, 2.0, 4.0, 3.0]);
/// # Ok::<(), rustrank::Error>(())
/// ```
pub fn derive(derived: &[Derived], scores: &[Vec<f64>], bounds: &[usize]) -> Result<Vec<f32>> {
    check(derived, scores.len())?;
    let rows = scores.first().map_or(0, Vec::len);
    check_bounds(bounds, rows)?;
    if let Some(other) = scores.iter().find(|of_ranker| of_ranker.len() != rows) {
        let what = "the rankers of a stack must score the same docs";
        return Err(Error::data("stack.scores", what).got(other.len()).expected(rows));
    }
    Ok(derived_of(derived, scores, bounds))
}

/// As [`derive()`], once everything is checked.
pub(in crate::model) fn derived_of(
    derived: &[Derived],
    scores: &[Vec<f64>],
    bounds: &[usize],
) -> Vec<f32> {
    let width = derived.len();
    let rows = scores.first().map_or(0, Vec::len);
    let mut columns = vec![0.0; rows * width];
    let mut sorted: Vec<Vec<f64>> = vec![Vec::new(); scores.len()];
    for query in bounds.windows(2).filter(|query| query[0] < query[1]) {
        let docs = query[0]..query[1];
        for (sorted, scores) in sorted.iter_mut().zip(scores) {
            sorted.clear();
            sorted.extend_from_slice(&scores[docs.clone()]);
            sorted.sort_unstable_by(f64::total_cmp);
        }
        let columns = &mut columns[docs.start * width..docs.end * width];
        for (at, one) in derived.iter().enumerate() {
            let ranker = one.ranker as usize;
            let cells = columns[at..].iter_mut().step_by(width);
            if let Some(value) = one.statistic.of_query(&sorted[ranker]) {
                let value = nearest(value);
                cells.for_each(|cell| *cell = value);
            } else {
                let scores = &scores[ranker][docs.clone()];
                cells.zip(scores).for_each(|(cell, &score)| *cell = nearest(score));
            }
        }
    }
    columns
}

/// As files and options have it: `score`, `max`, `mean`, or `top` and a number of docs.
impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Score => f.write_str("score"),
            Self::Max => f.write_str("max"),
            Self::Mean => f.write_str("mean"),
            Self::Top(count) => write!(f, "top{count}"),
        }
    }
}

impl FromStr for Statistic {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let top = || name.strip_prefix("top")?.parse().ok().filter(|&count| count > 0);
        match name {
            "score" => Ok(Self::Score),
            "max" => Ok(Self::Max),
            "mean" => Ok(Self::Mean),
            _ => top().map(Self::Top).ok_or_else(|| {
                Error::param("features", "scores cannot be made into such a feature")
                    .got(name)
                    .expected("score, max, mean, or top and a number of docs, as in top3")
            }),
        }
    }
}

impl Statistic {
    /// The value that all docs of a query share, from its sorted scores; `None` if each doc has its own.
    fn of_query(self, sorted: &[f64]) -> Option<f64> {
        let mean = |some: &[f64]| some.iter().sum::<f64>() / some.len() as f64;
        match self {
            Self::Score => None,
            Self::Max => sorted.last().copied(),
            Self::Mean => Some(mean(sorted)),
            Self::Top(count) => Some(mean(&sorted[sorted.len().saturating_sub(count as usize)..])),
        }
    }
}
