//! What losses of a document alone share: a loop over documents, weighted sums and cross entropy.
//!
//! The loss of a document is multiplied by its query's weight and its own.

use super::tasks::{Query, for_each_query};
use super::{GradientCall, Target};
use crate::error::{Error, Result};
use crate::exact_sum::{ExactSum, WORDS};
use crate::gradient::Gradient;

/// Converts labels to probabilities of relevance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RelevanceLabels {
    from: Option<f32>,
}

impl RelevanceLabels {
    pub(super) fn new(from: Option<f32>) -> Result<Self> {
        if from.is_some_and(|from| !from.is_finite()) {
            return Err(Error::param("objective.relevant_from", "relevant_from")
                .got(from.unwrap_or_default())
                .expected("a finite number"));
        }
        Ok(Self { from })
    }

    pub(super) fn of(self, label: f32) -> f64 {
        self.from.map_or(f64::from(label), |from| f64::from(u8::from(label >= from)))
    }

    /// Checks labels: without a threshold they are probabilities.
    pub(super) fn check(self, target: &Target<'_>) -> Result<()> {
        let refused = |label: &f32| !(0.0..=1.0).contains(label);
        let row = match self.from {
            None => target.labels.iter().position(refused),
            Some(_) => target.labels.iter().position(|label| label.is_nan()),
        };
        let Some(row) = row else { return Ok(()) };
        let what = format!("= {:?}", target.labels[row]);
        Err(Error::data("label.probability", what)
            .element("label", row)
            .query(target.queries.of_doc(row))
            .expected("a number from 0 to 1")
            .hint("relevant_from makes labels from that one on 1 and the others 0"))
    }
}

/// The derivatives of the cross entropy of a doc, `yes` of whose weight `both` are relevant.
pub(super) fn derivatives(score: f64, yes: f64, both: f64) -> (f64, f64) {
    // Without cancellation: 1 - p = 1 / (1 + exp(score)).
    let odds = (-score.abs()).exp();
    let (small, large) = (odds / (1.0 + odds), 1.0 / (1.0 + odds));
    let (p, rest) = if score < 0.0 { (small, large) } else { (large, small) };
    ((both - yes) * p - yes * rest, both * small * large)
}

/// Two weighted sums over labels as integers, so that those of several shards can be added exactly.
pub(super) fn weighted(target: &Target<'_>, of: impl Fn(f32) -> [f64; 2]) -> Vec<u64> {
    let mut sums = [ExactSum::default(), ExactSum::default()];
    for (weight, &label) in target.weights().zip(target.labels) {
        sums.iter_mut().zip(of(label)).for_each(|(sum, part)| sum.add(weight * part));
    }
    sums.map(ExactSum::words).concat()
}

/// The sums of added words.
pub(super) fn sums_of(words: &[u64]) -> [f64; 2] {
    [0, WORDS].map(|at| ExactSum::of_words(&words[at..at + WORDS]).value())
}

/// The log-odds of weights of irrelevant and of relevant docs, at most 10 either way.
pub(super) fn log_odds([no, yes]: [f64; 2]) -> f64 {
    if no + yes > 0.0 { (yes / no).ln().clamp(-10.0, 10.0) } else { 0.0 }
}

/// Gradients from the score and the label of each doc.
pub(super) fn each_doc(
    call: GradientCall<'_>,
    gradients: &mut [Gradient],
    derivatives: impl Fn(f64, f32) -> (f64, f64) + Sync + Send,
) -> Result<()> {
    let cost = |docs: usize| 10 * docs as u64;
    let one = |(): &mut (), query: Query<'_>, gradients: &mut [Gradient]| {
        query.check_scores()?;
        for (doc, gradient) in gradients.iter_mut().enumerate() {
            let (grad, hess) = derivatives(query.scores[doc], query.labels[doc]);
            *gradient = query.gradient(doc, grad, hess)?;
        }
        Ok(())
    };
    for_each_query(call, gradients, cost, one)
}
