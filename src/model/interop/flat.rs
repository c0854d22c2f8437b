//! A model as one list of trees, for formats that know nothing else.

use super::super::Model;
use super::super::parts::{NoSum, Term};
use super::super::tree::Tree;
use crate::error::{Error, Result};

/// A model whose score is the intercept and a leaf value of each tree.
pub(super) struct Flat {
    pub(super) intercept: f64,
    /// Weights are in the leaf values.
    pub(super) trees: Vec<Tree>,
}

impl NoSum {
    /// What a format of trees cannot hold.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Logistic => "probabilities",
            Self::Queries => "scores normalised within queries",
            Self::Ranks => "ranks within queries",
            Self::Part(noun) => noun,
        }
    }
}

/// All trees of a model; an error that names `format` if there is more to it.
pub(super) fn flat(model: &Model, format: &str) -> Result<Flat> {
    let cannot = |what| Error::param("model.export", format!("{format} cannot hold {what}"));
    let mut flat = Flat { intercept: 0.0, trees: Vec::new() };
    for term in model.terms().map_err(|no_sum| cannot(no_sum.what()))? {
        match term {
            Term::Constant(value) => flat.intercept += value,
            Term::Feature(..) => return Err(cannot("a linear part")),
            Term::Trees(_, forest) if !forest.sets().is_empty() => {
                return Err(cannot("sets of categories"));
            }
            Term::Trees(_, forest) if !forest.zero_is_missing().is_empty() => {
                return Err(cannot("zeros that count as missing"));
            }
            Term::Trees(weight, forest) => {
                flat.trees.extend(forest.trees().iter().map(|tree| tree.scaled(weight)));
            }
        }
    }
    Ok(flat)
}
