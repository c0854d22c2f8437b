//! Permutation importance: the loss of a metric when the values of a feature are shuffled.

use super::binned_scoring::{BinnedScorer, native_forests, score_dataset};
use super::initial_model::{ScoreOrigin, is_plain, scores_by};
use crate::Interrupt;
use crate::binning::BinnedMatrix;
use crate::data::Dataset;
use crate::error::Result;
use crate::hash::mix;
use crate::metric::{Mean, Metric};
use crate::model::{Forest, Model, Tree};
use crate::random::draw;
use crate::tree::BinnedTree;

/// The loss in the mean of a metric when the values of a feature are shuffled over all documents,
/// for each feature; 0 for a feature that the model does not use.
///
/// The shuffle depends on the seed and the content of the documents.
pub fn permutation_importance(
    model: &Model,
    dataset: &Dataset,
    metric: &Metric,
    seed: u64,
    interrupt: &Interrupt,
) -> Result<Vec<f64>> {
    let mean = |scores: &[f64]| {
        let (labels, queries) = (dataset.labels(), dataset.queries());
        let values =
            dataset.name_caller_rows(metric.per_query(scores, labels, queries, interrupt))?;
        Ok(Mean::of(&values, dataset.query_weight())?.value)
    };
    let scores = score_dataset(model, dataset, interrupt)?;
    let (is_sum, forests) = (is_plain(model), native_forests(model)?);
    let unshuffled = mean(&scores)?;
    let mut losses = vec![0.0; model.num_features()];
    let places = dataset.binning().layout().locations();
    for (feature, loss) in losses.iter_mut().enumerate() {
        let looks = |forest: &Forest, tree: &Tree| {
            tree.splits().iter().any(|split| forest.feature_of(split.feature) as usize == feature)
        };
        let trees: Vec<(&Forest, &Tree)> = forests
            .iter()
            .flat_map(|&forest| forest.trees().iter().map(move |tree| (forest, tree)))
            .filter(|(forest, tree)| looks(forest, tree))
            .collect();
        let Some(place) = places[feature].filter(|_| !trees.is_empty()) else { continue };
        let matrix = dataset.matrix();
        let mut shuffled: BinnedMatrix = matrix.clone();
        for (doc, &other) in shuffle(dataset, mix(seed ^ feature as u64)).iter().enumerate() {
            shuffled.set_code(doc, place, matrix.code(other as usize, place));
        }
        if !is_sum {
            let scorer = BinnedScorer { dataset, matrix: &shuffled, interrupt };
            let moved = scores_by(&scorer, model, ScoreOrigin::Model)?.into_scores();
            *loss = unshuffled - mean(&moved)?;
            continue;
        }
        // Trees without the feature do not change.
        let coded = |(forest, tree): (&Forest, &Tree)| {
            BinnedTree::new(tree, forest.sets(), dataset.binning())
        };
        let trees: Vec<BinnedTree> = trees.into_iter().filter_map(coded).collect();
        let mut now = vec![0.0; dataset.num_docs()];
        let mut then = vec![0.0; dataset.num_docs()];
        for tree in &trees {
            tree.add_to(&shuffled, &mut now, interrupt)?;
            tree.add_to(matrix, &mut then, interrupt)?;
        }
        let moved = scores.iter().zip(now.iter().zip(&then));
        let moved: Vec<f64> = moved.map(|(score, (now, then))| score + (now - then)).collect();
        *loss = unshuffled - mean(&moved)?;
    }
    Ok(losses)
}

/// The documents in random order.
fn shuffle(dataset: &Dataset, seed: u64) -> Vec<u32> {
    let mut docs: Vec<u32> = (0..dataset.num_docs() as u32).collect();
    let hashes = dataset.doc_hash();
    docs.sort_by_cached_key(|&doc| draw(seed, 0, hashes[doc as usize]));
    docs
}
