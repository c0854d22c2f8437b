//! Rounds without a split: when they end training, and why the first tree may have none.

use super::BoostingParams;
use crate::Gradient;
use crate::data::Dataset;
use crate::error::Error;
use crate::model::Tree;
use crate::tree::Criterion;

/// Training ends after this many consecutive rounds without a split.
const FRUITLESS: usize = 20;

/// Beside an `l2` of so many times all hessians, no split is worth more than another.
const OVERWHELMING: f64 = 1e100;

/// Whether the latest rounds all have trees without splits.
pub(super) fn is_fruitless<'a>(
    trees: impl Iterator<Item = &'a Tree>,
    trees_a_round: usize,
) -> bool {
    let count = |run, tree: &Tree| if tree.splits().is_empty() { run + 1 } else { 0 };
    trees.fold(0, count) >= FRUITLESS * trees_a_round
}

/// The error for a first round without a split, with the likely reason.
pub(super) fn of_no_split(
    dataset: &Dataset,
    params: &BoostingParams,
    gradients: &[Gradient],
    docs: &[u32],
) -> Error {
    let grow = &params.grow;
    let hess: f64 = docs.iter().map(|&doc| f64::from(gradients[doc as usize].hess)).sum();
    let nothing = |what: &str| Error::data("nothing", format!("nothing can be learned: {what}"));
    if docs.iter().all(|&doc| gradients[doc as usize].grad == 0.0) {
        return nothing("all gradients are 0")
            .hint("check that the labels differ, and from the base scores");
    }
    if dataset.binning().unused_features().count() == dataset.num_features() {
        return nothing("no feature has two values");
    }
    let too_large = |name: &'static str, value: String, most: String| {
        let what = format!("nothing can be learned: {name} is too large for the data");
        Error::param(name, what).got(value).expected(most)
    };
    if docs.len() / 2 < grow.min_leaf_docs as usize {
        let most = format!("at most half of the {} docs with a gradient", docs.len());
        return too_large("min_leaf_docs", grow.min_leaf_docs.to_string(), most);
    }
    let by_hess = grow.criterion == Criterion::SecondOrder;
    if by_hess && hess / 2.0 < grow.min_leaf_hess {
        let most = format!("at most half of {hess:.3e}, the sum of all hessians");
        return too_large("min_leaf_hess", grow.min_leaf_hess.to_string(), most);
    }
    if by_hess && grow.l2 > OVERWHELMING * hess {
        let most = format!("far less: the sum of all hessians is {hess:.3e}");
        return too_large("l2", grow.l2.to_string(), most);
    }
    if grow.min_reduction > 0.0 {
        let most = "less: no split takes so much off the loss".to_owned();
        return too_large("min_reduction", grow.min_reduction.to_string(), most);
    }
    let most = "smaller leaves: no feature splits the docs with enough on both sides".to_owned();
    let error = too_large("min_leaf_docs", grow.min_leaf_docs.to_string(), most);
    match grow.limits.named()[..] {
        [] => error,
        [(name, _), ..] => error.hint(format!("or {name} leaves no split")),
    }
}
