//! Refits the leaf values of all trees to other documents; the splits stay.
//!
//! As in training, tree after tree: the gradients at the scores of the refitted trees so far give
//! each leaf a Newton step times a learning rate. Part of the old value is kept, more of it in
//! leaves with few documents. With a *prior* of `p` documents and a *decay* of `d`, a leaf with `n`
//! documents becomes
//!
//! ```text
//! kept * before + (1 - kept) * rate * (-sum grad / (sum hess + l2))
//! kept = d + (1 - d) * p / (n + p)
//! ```
//!
//! A leaf without documents or hessians keeps its value. A decay of 1 changes nothing.
//!
//! Invariants: gradients are summed in blocks of documents in the data set's own order, so neither
//! threads nor the order of rows matter.
//!
//! Cost: per tree, the gradients and two routings of all documents.

use super::TrainingLoss;
use super::binned_scoring::BinnedScorer;
use super::initial_model::{check_features, is_plain, start_scores, target};
use super::trainer::{check_values, with_values};
use crate::block_sums::block_sums;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::{Leaf, Model};
use crate::objective::State;
use crate::schema::{ParamRange, Parameters, parameters};
use crate::{Gradient, Interrupt};
use rayon::prelude::*;

/// Documents whose gradients one task sums; more if a tree has many leaves.
const BLOCK: usize = 4096;

parameters! {
    /// How leaf values are fitted anew.
    pub struct RefitOptions in "refit" {
        /// What a Newton step is multiplied by.
        pub learning_rate: f64 = 0.1, within ParamRange::above(0.0).to(10.0);
        /// The share of the old value that each leaf keeps.
        pub decay: f64 = 0.5, within ParamRange::from(0.0).to(1.0);
        /// As many docs stand for the old value of each leaf.
        pub prior_docs: f64 = 0.0, within ParamRange::from(0.0);
        /// Added to the hessians of a leaf.
        pub l2: f64 = 0.0, within ParamRange::from(0.0);
    }
}

impl RefitOptions {
    /// The new value of a leaf, from the sums of gradients and hessians and the number of documents.
    fn refitted(&self, leaf: &Leaf, [grad, hess, docs]: [f64; 3]) -> f64 {
        let hess = hess + self.l2;
        if docs == 0.0 || hess <= 0.0 {
            return leaf.value;
        }
        let kept = self.decay + (1.0 - self.decay) * (self.prior_docs / (docs + self.prior_docs));
        if kept >= 1.0 {
            return leaf.value;
        }
        let step = self.learning_rate * (-grad / hess);
        // In the precision of model files.
        f64::from((kept * leaf.value + (1.0 - kept) * step) as f32)
    }
}

/// Refits the leaf values of all trees by the gradients of a loss on a data set.
///
/// The model must consist of native trees whose thresholds are those of the data set's bins. Scores
/// start from the base scores, if there are any. The document counts of splits and leaves stay as
/// they were, so explanations still refer to the documents that the trees were grown from.
pub fn refit(
    model: &Model,
    dataset: &Dataset,
    loss: &TrainingLoss,
    options: &RefitOptions,
    interrupt: &Interrupt,
) -> Result<Model> {
    options.check_ranges()?;
    if !is_plain(model) {
        return Err(Error::data(
            "base",
            "only a model of trees alone, of this library, can be refitted",
        )
        .hint(
            "boost on from it instead, as from any model: make the Dataset with base= and train",
        ));
    }
    check_features(model, dataset)?;
    let objective = loss.of_scores()?;
    if objective.needs_pairs() {
        dataset.require_pairs()?;
    }
    let mut made = model.clone();
    made.truncate(0);
    let mut scores = start_scores(dataset, model.intercept());
    let mut gradients = vec![Gradient::default(); dataset.num_docs()];
    let scorer = BinnedScorer::new(dataset, interrupt);
    for (round, (tree, sets)) in model.trees_with_sets().enumerate() {
        let state = State { round: round as u64, scores: &scores };
        let result = objective.gradients(&target(dataset), state, &mut gradients, interrupt);
        loss.with_caller_rows(dataset.rows(), dataset.query_of(), result)?;
        // The values of leaves that are their own indices, which floats hold exactly.
        let leaf_of = scorer.outputs(&with_values(tree, |(at, _)| at as f64), sets)?;
        let num_leaves = tree.leaves().len();
        // Each block holds sums of all leaves: no more of these than documents.
        let block = BLOCK.max(num_leaves);
        let blocks = gradients.par_chunks(block).zip(leaf_of.par_chunks(block));
        let sums = block_sums(blocks, num_leaves, interrupt, |sums, (gradients, leaf_of)| {
            for (gradient, &leaf) in gradients.iter().zip(leaf_of) {
                let [grad, hess, docs] = &mut sums[leaf as usize];
                *grad += f64::from(gradient.grad);
                *hess += f64::from(gradient.hess);
                *docs += 1.0;
            }
        })?;
        let tree = with_values(tree, |(at, leaf)| options.refitted(leaf, sums[at]));
        check_values(&tree, "set l2")?;
        scorer.add_tree(&tree, sets, &mut scores)?;
        made.push_with(tree, sets)?;
    }
    let RefitOptions { learning_rate, decay, prior_docs, l2 } = options;
    let loss: Vec<String> =
        loss.notes.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let result = format!(
        "learning_rate {learning_rate}, decay {decay}, prior_docs {prior_docs}, l2 {l2}, {}",
        loss.join(", ")
    );
    made.set_attribute("refitted", result);
    Ok(made)
}
