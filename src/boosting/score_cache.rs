//! What the docs of a set score, as trees are added one by one.
//!
//! Trees add to *sums*: the scores themselves, or the margins of classes, from which the scores are
//! made once a round is whole.

use crate::model::Expectation;

/// Sums and scores of all docs of a set.
#[derive(Debug, Default)]
pub(super) struct ScoreCache {
    /// One of each class, if there are classes.
    margins: Vec<Vec<f64>>,
    scores: Vec<f64>,
}

impl ScoreCache {
    /// Without classes.
    pub(super) fn of_scores(scores: Vec<f64>) -> Self {
        Self { margins: Vec::new(), scores }
    }

    /// With the margins of classes.
    pub(super) fn of_classes(margins: Vec<Vec<f64>>, expectation: &Expectation) -> Self {
        let mut score_cache = Self { scores: Vec::new(), margins };
        score_cache.settle(expectation);
        score_cache
    }

    /// The score of each doc.
    pub(super) fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// The margin of each doc, a class after the other.
    pub(super) fn margins(&self) -> &[Vec<f64>] {
        &self.margins
    }

    /// What tree `at` of a round is added to.
    pub(super) fn sums(&mut self, at: usize) -> &mut [f64] {
        if self.margins.is_empty() { &mut self.scores } else { &mut self.margins[at] }
    }

    /// The largest sum, without its sign.
    pub(super) fn most(&self) -> f64 {
        let all = self.margins.iter().flatten().chain(&self.scores);
        all.fold(0.0, |most, sum| sum.abs().max(most))
    }

    /// Rounds all sums.
    pub(super) fn round(&mut self, round: impl Fn(f64) -> f64) {
        let sums = if self.margins.is_empty() {
            std::slice::from_mut(&mut self.scores)
        } else {
            &mut self.margins
        };
        sums.iter_mut().flatten().for_each(|sum| *sum = round(*sum));
    }

    /// Makes scores from margins.
    pub(super) fn settle(&mut self, expectation: &Expectation) {
        self.scores.clear();
        self.scores.resize(self.margins[0].len(), 0.0);
        expectation.add_gains(&self.margins, &mut self.scores);
    }
}
