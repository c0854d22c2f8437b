//! Current raw scores of every document of a data set, updated after each tree.
//!
//! Trees add to *sums*. These are the scores themselves, or the margins of classes, from which the
//! scores are computed at the end of a round.

use crate::model::Expectation;

/// The sums and scores of all documents of a set.
#[derive(Debug, Default)]
pub(super) struct ScoreCache {
    /// The margins of each class; empty without classes.
    margins: Vec<Vec<f64>>,
    scores: Vec<f64>,
}

impl ScoreCache {
    /// Scores without classes.
    pub(super) fn of_scores(scores: Vec<f64>) -> Self {
        Self { margins: Vec::new(), scores }
    }

    /// Scores from the margins of classes.
    pub(super) fn of_classes(margins: Vec<Vec<f64>>, expectation: &Expectation) -> Self {
        let mut score_cache = Self { scores: Vec::new(), margins };
        score_cache.settle(expectation);
        score_cache
    }

    /// The score of each document.
    pub(super) fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// The score of each document, without the margins.
    pub(super) fn into_scores(self) -> Vec<f64> {
        self.scores
    }

    /// The margins of all documents, class by class.
    pub(super) fn margins(&self) -> &[Vec<f64>] {
        &self.margins
    }

    /// The sums that tree `at` of a round is added to.
    pub(super) fn sums(&mut self, at: usize) -> &mut [f64] {
        if self.margins.is_empty() { &mut self.scores } else { &mut self.margins[at] }
    }

    /// The largest absolute sum.
    pub(super) fn most(&self) -> f64 {
        let all = self.margins.iter().flatten().chain(&self.scores);
        all.fold(0.0, |most, sum| sum.abs().max(most))
    }

    /// Applies a rounding to all sums.
    pub(super) fn round(&mut self, round: impl Fn(f64) -> f64) {
        let all = self.margins.iter_mut().flatten().chain(&mut self.scores);
        all.for_each(|sum| *sum = round(*sum));
    }

    /// Computes the scores from the margins.
    pub(super) fn settle(&mut self, expectation: &Expectation) {
        self.scores.clear();
        self.scores.resize(self.margins[0].len(), 0.0);
        expectation.add_gains(&self.margins, &mut self.scores);
    }
}
