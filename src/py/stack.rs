//! Normalised scores, and stacks of models, for Python.

use super::arrays::{ArrayArg, NewArray, NewMatrix};
use super::booster::PyBooster;
use super::dataset::QueryArg;
use super::gil::detached;
use crate::Grouping;
use crate::error::{Error, Result};
use crate::model::{
    Component, Derived, Model, Normalisation, Part, Ranker, Stack, derive as derived_of,
};
use pyo3::prelude::*;
use std::collections::BTreeSet;

/// A normalisation of scores: `(mean, scale)`, or a name.
#[derive(FromPyObject)]
pub(super) enum NormalisationArg {
    Fixed(f64, f64),
    Named(String),
}

impl NormalisationArg {
    pub(super) fn normalisation(&self) -> Result<Normalisation> {
        match self {
            Self::Fixed(mean, scale) => Ok(Normalisation::Fixed { mean: *mean, scale: *scale }),
            Self::Named(name) => Normalisation::named(name),
        }
    }
}

/// Features derived from scores: the number of a ranker and the name of a statistic each.
type DerivedArg = Vec<(u32, String)>;

fn derived(features: &DerivedArg) -> Result<Vec<Derived>> {
    let one =
        |(ranker, name): &(u32, String)| Ok(Derived { ranker: *ranker, statistic: name.parse()? });
    features.iter().map(one).collect()
}

/// How a stack combines the scores of its rankers: the attributes of a Python object.
#[derive(FromPyObject)]
pub(super) struct StackArgs<'py> {
    normalisations: Vec<NormalisationArg>,
    features: DerivedArg,
    own: bool,
    outer: PyRef<'py, PyBooster>,
}

impl StackArgs<'_> {
    /// A model that is the stack, with the names of the first ranker.
    pub(super) fn model<'a>(&self, rankers: impl Iterator<Item = &'a Model>) -> Result<Model> {
        let (mut models, mut outer) =
            (rankers.cloned().collect::<Vec<_>>(), self.outer.model().clone());
        let seeing = models.iter_mut().chain(self.own.then_some(&mut outer));
        Model::share_categories(&mut seeing.collect::<Vec<_>>(), &BTreeSet::new())?;
        // Each ranker computes ranks within queries itself.
        let raw = Model::new(models.first().map_or(0, Model::num_raw_features));
        let mut stacked = Model::around(&models.iter().chain([&raw]).collect::<Vec<_>>());
        let ranker = |(model, normalising): (Model, &NormalisationArg)| {
            Ok(Ranker { normalisation: normalising.normalisation()?, model })
        };
        let rankers = models.into_iter().zip(&self.normalisations).map(ranker);
        let (rankers, derived) = (rankers.collect::<Result<_>>()?, derived(&self.features)?);
        let stack = Stack::new(raw.num_features(), rankers, derived, self.own, outer)?;
        stacked.add(Component::new(Part::Stack(Box::new(stack))))?;
        Ok(stacked)
    }
}

/// Normalised scores in the order of queries.
fn in_queries(
    scores: &[f64],
    grouping: &Grouping,
    normalising: &NormalisationArg,
) -> Result<Vec<f64>> {
    if scores.len() != grouping.rows.len() {
        let what = "a score is needed for each row";
        return Err(Error::data("scores.length", what)
            .got(scores.len())
            .expected(grouping.rows.len()));
    }
    let mut own = grouping.gather(scores);
    normalising.normalisation()?.apply(&mut own, grouping.queries.offsets())?;
    Ok(own)
}

/// Normalised scores.
#[pyfunction]
pub(super) fn normalised(
    scores: ArrayArg<f64>,
    normalising: NormalisationArg,
    queries: QueryArg,
) -> PyResult<NewArray<f64>> {
    let grouping = queries.grouping(scores.0.len())?;
    let scores = detached(Some(1), |_| {
        Ok(grouping.scatter(&in_queries(&scores.0, &grouping, &normalising)?))
    })?;
    Ok(NewArray(scores))
}

/// The features derived from the scores of rankers, for each of the caller's rows.
#[pyfunction]
pub(super) fn derive(
    scores: Vec<ArrayArg<f64>>,
    normalisations: Vec<NormalisationArg>,
    features: DerivedArg,
    queries: QueryArg,
) -> PyResult<NewMatrix<f32>> {
    let rows = scores.first().map_or(0, |scores| scores.0.len());
    let grouping = queries.grouping(rows)?;
    let width = features.len();
    let columns = detached(Some(1), |_| {
        let own = scores.iter().zip(&normalisations);
        let own = own.map(|(scores, normalising)| in_queries(&scores.0, &grouping, normalising));
        let own: Vec<_> = own.collect::<Result<_>>()?;
        let columns = derived_of(&derived(&features)?, &own, grouping.queries.offsets())?;
        let mut by_row = vec![0.0; columns.len()];
        for (&row, cells) in grouping.rows.iter().zip(columns.chunks_exact(width)) {
            by_row[row as usize * width..][..width].copy_from_slice(cells);
        }
        Ok(by_row)
    })?;
    Ok(NewMatrix(columns, [rows, width]))
}
