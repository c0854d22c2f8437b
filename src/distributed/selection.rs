//! Selects one of the trees that several workers grow, each from its part of the documents.
//!
//! Either all workers evaluate the trees of the others on their documents by the first metric, or all
//! trees, and the best tree is selected (of equals that of the smallest rank). Or a random worker is
//! drawn for the round, and only that one grows a tree. Workers without documents grow none. The
//! messages are trees and sums of a metric, whatever the number of documents (Svore and Burges,
//! *Large-scale learning to rank using boosted decision trees*, 2011).

use super::{Collective, WorkerGroup};
use crate::boosting::SelectionDocs;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::metric::Mean;
use crate::model::{Model, Tree};
use crate::random::{below, draw};

/// Separates the draws of ranks from all other draws.
const OF_RANKS: u64 = 0x72_61_6e_6b_73;

/// The rank that is drawn in a round, among workers with documents.
pub(super) fn drawn_rank(seed: u64, round: u64, sizes: &[u64]) -> usize {
    let able: Vec<usize> = (0..sizes.len()).filter(|&rank| sizes[rank] > 0).collect();
    able[below(draw(seed ^ OF_RANKS, round, 0), able.len() as u64) as usize]
}

/// A round in which all workers grow a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct SelectionRound {
    pub(super) round: u64,
    /// Whether a worker evaluates its own tree, too.
    pub(super) judges_own: bool,
}

/// The best of the trees of a round; `own` is that of this worker, if it has grown one.
pub(super) fn best_tree(
    group: &WorkerGroup,
    SelectionRound { round, judges_own }: SelectionRound,
    own: Result<Option<Tree>>,
    docs: &SelectionDocs<'_>,
    interrupt: &Interrupt,
) -> Result<Option<Tree>> {
    let own = own
        .and_then(|tree| tree.map_or(Ok(Vec::new()), |tree| to_bytes(tree, docs.num_features())));
    let all = group.gather(Collective { what: "the trees of a round", round }, own)?;
    let mut trees: Vec<(usize, Tree)> = Vec::new();
    for (rank, bytes) in all.iter().enumerate().filter(|(_, bytes)| !bytes.is_empty()) {
        trees.push((rank, from_bytes(bytes)?));
    }
    let any_split = trees.iter().any(|(_, tree)| !tree.splits().is_empty());
    trees.retain(|(_, tree)| !any_split || !tree.splits().is_empty());
    if trees.len() > 1 {
        let mut words = vec![0; trees.len() * Mean::WORDS];
        let of_trees = words.chunks_exact_mut(Mean::WORDS).zip(&trees);
        let mut judged = of_trees.filter(|(_, (rank, _))| judges_own || *rank != group.rank());
        let outcome = judged.try_for_each(|(words, (_, tree))| {
            words.copy_from_slice(&docs.metric_words(tree, interrupt)?);
            Ok(())
        });
        group.sum(Collective { what: "the values of trees", round }, outcome, &mut words)?;
        let values = words.chunks_exact(Mean::WORDS).map(|words| Mean::of_words(words).value);
        let best = values.enumerate().reduce(|a, b| if b.1 > a.1 || a.1.is_nan() { b } else { a });
        trees.swap(0, best.map_or(0, |(at, _)| at));
    }
    Ok(trees.into_iter().next().map(|(_, tree)| tree))
}

/// A tree as a model file, which the receiver checks as it reads it.
fn to_bytes(tree: Tree, num_features: usize) -> Result<Vec<u8>> {
    let mut model = Model::new(num_features);
    model.push(tree)?;
    Ok(model.to_text().into_bytes())
}

fn from_bytes(bytes: &[u8]) -> Result<Tree> {
    let model = Model::from_text(bytes)?;
    let tree = model.trees().next().cloned();
    tree.ok_or_else(|| Error::comm("comm.damaged", "a tree without a tree"))
}
