//! Permutation importance: the loss of a metric when the values of a feature are shuffled.

use super::binned_scoring::{BinnedScorer, native_forests, score_dataset};
use super::initial_model::{ScoreOrigin, is_plain, scores_by};
use crate::Interrupt;
use crate::binning::BinnedMatrix;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::hash::mix;
use crate::metric::{Mean, Metric};
use crate::model::{Forest, Model, Tree};
use crate::random::draw;
use crate::tree::BinnedTree;

/// The shuffles of each feature.
#[derive(Debug, Clone, Copy)]
pub struct Shuffles {
    /// The seed of their random orders.
    pub seed: u64,
    /// How many there are: at least 1.
    pub repeats: u32,
}

/// The loss in the mean of a metric when the values of a feature are shuffled over all documents,
/// for each feature: the mean over shuffles; 0 for a feature that the model does not use.
///
/// A shuffle depends on the seed, its number and the content of the documents.
pub fn permutation_importance(
    model: &Model,
    dataset: &Dataset,
    metric: &Metric,
    shuffles: Shuffles,
    interrupt: &Interrupt,
) -> Result<Vec<f64>> {
    let Shuffles { seed, repeats } = shuffles;
    if repeats == 0 {
        return Err(Error::param("repeats", "no shuffles").got(repeats).expected(">= 1"));
    }
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
        // Trees without the feature do not change.
        let coded = |(forest, tree): (&Forest, &Tree)| {
            BinnedTree::new(tree, forest.sets(), dataset.binning())
        };
        let trees: Vec<BinnedTree> =
            trees.into_iter().filter(|_| is_sum).filter_map(coded).collect();
        let sums = |matrix: &BinnedMatrix| -> Result<Vec<f64>> {
            let mut sums = vec![0.0; dataset.num_docs()];
            trees.iter().try_for_each(|tree| tree.add_to(matrix, &mut sums, interrupt))?;
            Ok(sums)
        };
        let then = sums(matrix)?;
        let mut total = 0.0;
        for repeat in 0..repeats {
            let order = shuffle(dataset, mix(seed ^ feature as u64), repeat);
            for (doc, &other) in order.iter().enumerate() {
                shuffled.set_code(doc, place, matrix.code(other as usize, place));
            }
            let moved = if is_sum {
                let moved = scores.iter().zip(sums(&shuffled)?.into_iter().zip(&then));
                moved.map(|(score, (now, then))| score + (now - then)).collect()
            } else {
                let scorer = BinnedScorer { dataset, matrix: &shuffled, interrupt };
                scores_by(&scorer, model, ScoreOrigin::Model)?.into_scores()
            };
            total += unshuffled - mean(&moved)?;
        }
        *loss = total / f64::from(repeats);
    }
    Ok(losses)
}

/// The documents in random order.
fn shuffle(dataset: &Dataset, seed: u64, repeat: u32) -> Vec<u32> {
    let mut docs: Vec<u32> = (0..dataset.num_docs() as u32).collect();
    let hashes = dataset.doc_hash();
    docs.sort_by_cached_key(|&doc| draw(seed, u64::from(repeat), hashes[doc as usize]));
    docs
}
