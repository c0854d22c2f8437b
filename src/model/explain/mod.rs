//! Why a doc scores as it does: what each feature contributes.
//!
//! [`Explainer::explain`] gives the exact path-dependent SHAP values of Lundberg et al. (*Consistent
//! individualized feature attribution for tree ensembles*, 2018): the Shapley values of a game in
//! which a tree sends a doc by its value where the feature takes part, and both ways, by the
//! training docs that went there, where it does not. [`Explainer::contrast`] says what put one doc
//! above another: the Shapley values of going from the one's features to the other's, which need
//! no training docs and are 0 for every feature that the two share.
//!
//! Both sum to what they explain, up to the rounding of sums. Each is a sum over leaves (`paths`),
//! and Shapley values of a leaf are an integral that Gauss's quadrature gives exactly (`kernel`):
//! with `d` features on the way to a leaf a doc takes `d * d` steps, eight docs side by side. Trees
//! of more than 64 splits on a way are summed over their edges instead (`deep`). The sums have a fixed order: threads and instruction sets do not matter.

mod deep;
mod kernel;
mod paths;
mod quadrature;

use super::Model;
use super::normalisation::check_bounds;
use super::parts::{Forest, NoSum, Term};
use super::ranks;
use super::scorer::{Value, no_queries};
use super::tree::Tree;
use crate::error::{Error, Result};
use crate::simd::Level;
use kernel::{ExplainScratch, LANES};
use paths::{BETWEEN_CHECKS, ExplainedTree, Paths};
use quadrature::Quadrature;
use rayon::prelude::*;

/// Called again and again while something is explained: an error, such as that of an interrupt, ends the work.
pub type StopCheck<'a> = dyn Fn() -> Result<()> + Sync + 'a;

/// A model made ready to explain its scores.
#[derive(Debug)]
pub struct Explainer {
    num_features: usize,
    /// The features that the model looks at, rising: all others add nothing.
    features: Vec<u32>,
    /// Whether the second half of the features must be worked out from a row's values.
    ranks: bool,
    /// The score of a doc of which nothing is known.
    base: f64,
    forests: Vec<(Forest, Paths)>,
    /// The features of linear parts, by their places, and their weights.
    terms: Vec<(u32, f64)>,
    quadrature: Quadrature,
    level: Level,
}

impl Model {
    /// The model made ready to explain its scores.
    ///
    /// An error if trees do not say how many training docs came to their nodes, or if scores are
    /// normalised within queries.
    pub fn explainer(&self) -> Result<Explainer> {
        Explainer::at_level(self, Level::best())
    }
}

impl Explainer {
    /// The same values with the instructions of `level`, for tests and benches.
    pub fn at_level(model: &Model, level: Level) -> Result<Self> {
        Self::new(model, level, &|| Ok(()))
    }

    /// The model made ready, unless `check` ends it.
    pub fn new(model: &Model, level: Level, check: &StopCheck<'_>) -> Result<Self> {
        let terms = model.terms_with_ranks().map_err(not_explained)?;
        let mut made = Self {
            num_features: model.num_explained_features(),
            features: features_of(&terms),
            ranks: model.looks_at_ranks(),
            base: 0.0,
            forests: Vec::new(),
            terms: Vec::new(),
            quadrature: Quadrature::default(),
            level: if level.is_available() { level } else { Level::Portable },
        };
        for term in terms {
            match term {
                Term::Constant(value) => made.base += value,
                Term::Feature(feature, weight) => {
                    let place = made.features.binary_search(&feature).unwrap_or_default();
                    made.terms.push((place as u32, weight));
                }
                Term::Trees(weight, forest) => {
                    let paths = Paths::of((forest, weight), &made.features, check)?;
                    made.base += paths.base;
                    made.forests.push((forest.clone(), paths));
                }
            }
        }
        let longest = made.forests.iter().map(|(_, paths)| paths.longest).max();
        made.quadrature = Quadrature::up_to(longest.unwrap_or_default());
        Ok(made)
    }

    /// The number of values in a row.
    pub fn num_raw_features(&self) -> usize {
        if self.ranks { self.num_features / 2 } else { self.num_features }
    }

    /// The number of features, ranks within queries included.
    pub fn num_features(&self) -> usize {
        self.num_features
    }

    /// The score of a doc of which nothing is known: the mean over the training docs of each tree,
    /// and 0 for each linear term.
    pub fn base(&self) -> f64 {
        self.base
    }

    /// What each feature adds to a row's score: for each of `rows`, one after the other, as many
    /// values as there are features, then the [base](Self::base); their sum is the score.
    ///
    /// Runs on the current rayon pool.
    pub fn explain<T: Value>(&self, rows: &[T], values: &mut [f64]) -> Result<()> {
        self.explain_until(&|| Ok(()), rows, None, values)
    }

    /// [`explain`](Self::explain), or with `bounds` [`explain_queries`](Self::explain_queries), unless `check` ends it.
    pub fn explain_until<T: Value>(
        &self,
        check: &StopCheck<'_>,
        rows: &[T],
        bounds: Option<&[usize]>,
        values: &mut [f64],
    ) -> Result<()> {
        match bounds.filter(|_| self.ranks) {
            None if self.ranks => Err(no_queries(true)),
            None => self.explain_wide(rows, values, check),
            Some(bounds) => self.explain_ranked(rows, bounds, values, check),
        }
    }

    /// Explains rows of queries: query `i` has the rows `bounds[i]..bounds[i + 1]`, with a value for
    /// each raw feature. Ranks within queries are features of their own.
    pub fn explain_queries<T: Value>(
        &self,
        rows: &[T],
        bounds: &[usize],
        values: &mut [f64],
    ) -> Result<()> {
        self.explain_until(&|| Ok(()), rows, Some(bounds), values)
    }

    /// Explains rows whose ranks are features, too.
    fn explain_ranked<T: Value>(
        &self,
        rows: &[T],
        bounds: &[usize],
        values: &mut [f64],
        check: &StopCheck<'_>,
    ) -> Result<()> {
        let count = values.len() / (self.num_features + 1);
        let fits = values.len() == count * (self.num_features + 1)
            && self.num_raw_features().checked_mul(count) == Some(rows.len());
        if !fits || check_bounds(bounds, count).is_err() {
            let what = "rows, bounds of queries and values do not fit each other";
            return Err(Error::param("explain.bounds", what)
                .got(format!("{} values in {count} rows", rows.len())));
        }
        ranks::by_queries(rows, bounds, values, |wide, _, values| {
            self.explain_wide(wide, values, check)
        })
    }

    /// Explains rows that have all features.
    fn explain_wide<T: Value>(
        &self,
        rows: &[T],
        values: &mut [f64],
        check: &StopCheck<'_>,
    ) -> Result<()> {
        let width = self.num_features + 1;
        let count = values.len() / width;
        if values.len() != count * width {
            let what = "a row has a value for each feature and one more";
            return Err(Error::param("explain.values", what).got(values.len()));
        }
        if self.num_features.checked_mul(count) != Some(rows.len()) {
            let what = format!("the model has {} features", self.num_features);
            let got = format!("{} values in {count} rows", rows.len());
            return Err(Error::data("explain.features", what).got(got));
        }
        if count <= LANES {
            // Asking the pool may start it.
            return self.block(&mut ExplainScratch::default(), rows, values, check);
        }
        let blocks = values.par_chunks_mut(LANES * width).enumerate();
        blocks.try_for_each_init(ExplainScratch::default, |scratch, (at, values)| {
            let rows = &rows[at * LANES * self.num_features..];
            self.block(scratch, rows, values, check)
        })
    }

    /// Explains the first docs of `rows`, up to eight: as many as there is room for in `values`.
    fn block<T: Value>(
        &self,
        scratch: &mut ExplainScratch,
        rows: &[T],
        values: &mut [f64],
        check: &StopCheck<'_>,
    ) -> Result<()> {
        let width = self.num_features + 1;
        scratch.sums.clear();
        scratch.sums.resize(self.features.len(), [0.0; LANES]);
        let docs = values.len() / width;
        let rows = &rows[..docs * self.num_features];
        for &(place, weight) in &self.terms {
            let feature = self.features[place as usize];
            for (doc, sum) in (0..docs).zip(&mut scratch.sums[place as usize]) {
                *sum += term(weight, rows[doc * self.num_features + feature as usize].into());
            }
        }
        for (forest, paths) in &self.forests {
            gather((forest, paths), rows, self.num_features, scratch);
            for tree in &paths.trees {
                self.add_tree(tree, scratch, check)?;
            }
        }
        for (doc, values) in values.chunks_mut(width).enumerate() {
            values.fill(0.0);
            for (&feature, sums) in self.features.iter().zip(&scratch.sums) {
                values[feature as usize] = sums[doc];
            }
            values[self.num_features] = self.base;
        }
        Ok(())
    }

    /// Adds the values of a tree, whose cells are gathered, to the sums.
    fn add_tree(
        &self,
        tree: &ExplainedTree,
        scratch: &mut ExplainScratch,
        check: &StopCheck<'_>,
    ) -> Result<()> {
        match tree {
            ExplainedTree::Ways(ways) => {
                check()?;
                kernel::sides(self.level, ways, scratch);
                for some in ways.leaves.chunks(BETWEEN_CHECKS) {
                    check()?;
                    kernel::leaves(self.level, ways, some, &self.quadrature, scratch);
                }
                Ok(())
            }
            ExplainedTree::Deep(deep) => {
                let ExplainScratch { cells, sums, deep: kept, .. } = scratch;
                deep.explain(self.level, (cells, kept), sums, check)
            }
        }
    }

    /// What each feature adds to the score of `above` over that of `below`: the values sum to the
    /// difference, and are 0 where the model cannot tell the two apart by the feature.
    pub fn contrast<T: Value>(&self, above: &[T], below: &[T]) -> Result<Vec<f64>> {
        self.contrast_until(&|| Ok(()), above, below)
    }

    /// [`contrast`](Self::contrast), unless `check` ends it.
    pub fn contrast_until<T: Value>(
        &self,
        check: &StopCheck<'_>,
        above: &[T],
        below: &[T],
    ) -> Result<Vec<f64>> {
        if self.ranks {
            let what = "two docs alone have no ranks within their query";
            return Err(Error::param("explain.queries", what)
                .hint("explain the docs of the query and subtract"));
        }
        for row in [above, below] {
            if row.len() != self.num_features {
                let what = format!("the model has {} features", self.num_features);
                return Err(Error::data("explain.features", what).got(row.len()));
            }
        }
        let mut sums = vec![0.0; self.features.len()];
        for &(place, weight) in &self.terms {
            let feature = self.features[place as usize];
            let of = |row: &[T]| term(weight, row[feature as usize].into());
            sums[place as usize] += of(above) - of(below);
        }
        let wide = |row: &[T]| row.iter().map(|&value| value.into()).collect::<Vec<f64>>();
        let rows = [wide(above), wide(below)];
        for (forest, paths) in &self.forests {
            let cell = |feature, doc: usize| forest.cell(feature, &rows[doc]);
            paths.contrast(cell, &mut sums, check)?;
        }
        let mut values = vec![0.0; self.num_features];
        for (&feature, sum) in self.features.iter().zip(sums) {
            values[feature as usize] = sum;
        }
        Ok(values)
    }
}

/// The features that terms look at, rising.
fn features_of(terms: &[Term<'_>]) -> Vec<u32> {
    let mut features = Vec::new();
    for term in terms {
        match term {
            Term::Constant(_) => {}
            Term::Feature(feature, _) => features.push(*feature),
            Term::Trees(_, forest) => {
                let splits = forest.trees().iter().flat_map(Tree::splits);
                features.extend(splits.map(|split| forest.feature_of(split.feature)));
            }
        }
    }
    features.sort_unstable();
    features.dedup();
    features
}

fn not_explained(no_sum: NoSum) -> Error {
    let (code, what) = match no_sum {
        NoSum::Logistic => {
            ("explain.logistic", "probabilities are no sums: they are not explained")
        }
        NoSum::Queries => {
            ("explain.queries", "scores that are normalised within queries are not explained")
        }
        NoSum::Ranks => ("explain.ranks", "ranks within queries are not explained"),
        NoSum::Part(noun) => {
            let what = format!("the score of {noun} is not explained: it is no sum");
            let hint = "permutation_importance asks only for scores";
            return Error::param("explain.part", what).hint(hint);
        }
    };
    Error::param(code, what)
}

/// A term of a linear part: a missing value adds nothing.
fn term(weight: f64, value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { weight * value }
}

/// Brings the cells of the features that a forest looks at side by side.
///
/// A forest of raw features alone looks at the first half of rows that have their ranks, too.
fn gather<T: Value>(
    (forest, paths): (&Forest, &Paths),
    rows: &[T],
    width: usize,
    scratch: &mut ExplainScratch,
) {
    scratch.cells.clear();
    scratch.cells.resize(paths.columns.len(), [0.0; LANES]);
    for (doc, row) in rows.chunks(width.max(1)).enumerate() {
        scratch.row.clear();
        scratch.row.extend(row.iter().map(|&value| -> f64 { value.into() }));
        for (cells, &feature) in scratch.cells.iter_mut().zip(&paths.columns) {
            cells[doc] = forest.cell(feature, &scratch.row);
        }
    }
}
