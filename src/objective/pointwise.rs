//! Losses of a doc alone: squares and logistic.
//!
//! A strong baseline on small data with noisy labels. The loss of a doc is multiplied by its query's
//! weight and its own.

use super::tasks::for_each_query;
use super::{Objective, State, Target};
use crate::error::{Error, Result};
use crate::exact_sum::{ExactSum, WORDS};
use crate::gradient::Gradient;
use crate::interrupt::Interrupt;
use crate::metric::Convention;

/// (score - label)² / 2.
#[derive(Debug, Clone, Copy, Default)]
pub struct Regression;

impl Objective for Regression {
    fn gradients(
        &self,
        target: &Target<'_>,
        state: State<'_>,
        gradients: &mut [Gradient],
        interrupt: &Interrupt,
    ) -> Result<()> {
        each_doc((target, &state), gradients, interrupt, |score, label| {
            (score - f64::from(label), 1.0)
        })
    }

    /// The weighted mean of the labels.
    fn start_of(&self, words: &[u64]) -> f64 {
        let [sum, total] = sums_of(words);
        if total > 0.0 { sum / total } else { 0.0 }
    }

    fn words(&self, target: &Target<'_>) -> Vec<u64> {
        weighted(target, |label| [f64::from(label), 1.0])
    }

    fn needs_pairs(&self) -> bool {
        false
    }
}

/// Which labels are relevant, as a probability.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Relevance {
    from: Option<f32>,
}

impl Relevance {
    fn new(from: Option<f32>) -> Result<Self> {
        if from.is_some_and(|from| !from.is_finite()) {
            return Err(Error::param("objective.relevant_from", "relevant_from")
                .got(from.unwrap_or_default())
                .expected("a finite number"));
        }
        Ok(Self { from })
    }

    fn of(self, label: f32) -> f64 {
        self.from.map_or(f64::from(label), |from| f64::from(u8::from(label >= from)))
    }

    /// Without a threshold, labels are probabilities.
    fn check(self, target: &Target<'_>) -> Result<()> {
        let refused = |label: &f32| !(0.0..=1.0).contains(label);
        let row = match self.from {
            None => target.labels.iter().position(refused),
            Some(_) => target.labels.iter().position(|label| label.is_nan()),
        };
        let Some(row) = row else { return Ok(()) };
        let what = format!("label[{row}] = {:?}", target.labels[row]);
        Err(Error::data("label.probability", what)
            .row(row)
            .query(target.queries.of_doc(row))
            .expected("a number from 0 to 1")
            .hint("relevant_from makes labels from that one on 1 and the others 0"))
    }
}

/// Cross entropy: p = 1 / (1 + exp(-score)) is the probability that a doc is relevant.
#[derive(Debug, Clone, Copy)]
pub struct Logistic {
    relevance: Relevance,
}

impl Logistic {
    /// Docs with at least the label `relevant_from` are relevant; without it, labels are from 0 to 1
    /// and are the probabilities themselves.
    pub fn new(relevant_from: Option<f32>) -> Result<Self> {
        Ok(Self { relevance: Relevance::new(relevant_from)? })
    }
}

impl Objective for Logistic {
    fn gradients(
        &self,
        target: &Target<'_>,
        state: State<'_>,
        gradients: &mut [Gradient],
        interrupt: &Interrupt,
    ) -> Result<()> {
        super::tasks::check(target, &state, gradients)?;
        self.relevance.check(target)?;
        cross_entropy((target, &state), gradients, interrupt, (self.relevance, [1.0; 2]))
    }

    /// That of the weighted share of relevant docs.
    fn start_of(&self, words: &[u64]) -> f64 {
        log_odds(sums_of(words))
    }

    fn words(&self, target: &Target<'_>) -> Vec<u64> {
        classes(target, self.relevance)
    }

    fn needs_pairs(&self) -> bool {
        false
    }
}

/// Cross entropy in which relevant and irrelevant docs weigh the same in total.
///
/// With W1 the weighted sum of the probabilities of relevance and W0 that of their complements, what
/// a doc loses as a relevant one is multiplied by (W0 + W1) / (2 W1), and as an irrelevant one by
/// (W0 + W1) / (2 W0). The weights in total stay what they were.
#[derive(Debug, Clone, Copy)]
pub struct BalancedLogistic {
    relevance: Relevance,
    /// The weights of all irrelevant and relevant docs, where the training set is only a part.
    of_all: Option<[f64; 2]>,
}

impl BalancedLogistic {
    /// As [`Logistic::new`].
    pub fn new(relevant_from: Option<f32>) -> Result<Self> {
        Ok(Self { relevance: Relevance::new(relevant_from)?, of_all: None })
    }
}

impl Objective for BalancedLogistic {
    fn gradients(
        &self,
        target: &Target<'_>,
        state: State<'_>,
        gradients: &mut [Gradient],
        interrupt: &Interrupt,
    ) -> Result<()> {
        super::tasks::check(target, &state, gradients)?;
        self.relevance.check(target)?;
        let [no, yes] = self.of_all.unwrap_or_else(|| sums_of(&classes(target, self.relevance)));
        if no <= 0.0 || yes <= 0.0 {
            return Err(Error::data("label.classes", "there is nothing to balance")
                .got(format!("{yes} relevant and {no} irrelevant docs, by weight"))
                .expected("some of each"));
        }
        let half = f64::midpoint(no, yes);
        cross_entropy(
            (target, &state),
            gradients,
            interrupt,
            (self.relevance, [half / no, half / yes]),
        )
    }

    fn words(&self, target: &Target<'_>) -> Vec<u64> {
        classes(target, self.relevance)
    }

    fn of_part(&self, _max_label: f32, words: &[u64]) -> Option<Box<dyn Objective>> {
        let of_all = (!words.is_empty()).then(|| sums_of(words));
        Some(Box::new(Self { of_all, ..*self }))
    }

    fn needs_pairs(&self) -> bool {
        false
    }
}

/// Cross entropy with the probability of relevance that ERR sees in a label: `(2^l - 1) / 2^lmax`,
/// or what another gain makes of it (Burges et al., *Learning to rank using an ensemble of
/// lambda-gradient models*, 2011).
#[derive(Debug, Clone)]
pub struct ErrLogistic {
    convention: Convention,
}

impl ErrLogistic {
    /// By the convention's gain and largest label; without the latter, that of the training set.
    pub fn new(convention: Convention) -> Result<Self> {
        convention.check()?;
        Ok(Self { convention })
    }
}

impl Objective for ErrLogistic {
    fn gradients(
        &self,
        target: &Target<'_>,
        state: State<'_>,
        gradients: &mut [Gradient],
        interrupt: &Interrupt,
    ) -> Result<()> {
        super::tasks::check(target, &state, gradients)?;
        let satisfaction = self.convention.satisfaction(target.labels)?;
        each_doc((target, &state), gradients, interrupt, |score, label| {
            derivatives(score, satisfaction(label), 1.0)
        })
    }

    /// That of the weighted mean.
    fn start_of(&self, words: &[u64]) -> f64 {
        log_odds(sums_of(words))
    }

    fn words(&self, target: &Target<'_>) -> Vec<u64> {
        let Ok(satisfaction) = self.convention.satisfaction(target.labels) else {
            // Labels that have none are told with the gradients.
            return weighted(target, |_| [0.0; 2]);
        };
        weighted(target, |label| [1.0 - satisfaction(label), satisfaction(label)])
    }

    fn of_part(&self, max_label: f32, _words: &[u64]) -> Option<Box<dyn Objective>> {
        let max_label = self.convention.max_label.or(Some(max_label));
        Some(Box::new(Self { convention: Convention { max_label, ..self.convention.clone() } }))
    }

    fn needs_pairs(&self) -> bool {
        false
    }
}

/// The weights of irrelevant and of relevant docs.
fn classes(target: &Target<'_>, relevance: Relevance) -> Vec<u64> {
    weighted(target, |label| [1.0 - relevance.of(label), relevance.of(label)])
}

fn cross_entropy(
    data: (&Target<'_>, &State<'_>),
    gradients: &mut [Gradient],
    interrupt: &Interrupt,
    (relevance, factors): (Relevance, [f64; 2]),
) -> Result<()> {
    each_doc(data, gradients, interrupt, |score, label| {
        let yes = relevance.of(label) * factors[1];
        let both = yes + (1.0 - relevance.of(label)) * factors[0];
        derivatives(score, yes, both)
    })
}

/// The derivatives of the cross entropy of a doc, `yes` of whose weight `both` are relevant.
fn derivatives(score: f64, yes: f64, both: f64) -> (f64, f64) {
    // From the side where nothing cancels: 1 - p = 1 / (1 + exp(score)).
    let odds = (-score.abs()).exp();
    let (small, large) = (odds / (1.0 + odds), 1.0 / (1.0 + odds));
    let (p, rest) = if score < 0.0 { (small, large) } else { (large, small) };
    ((both - yes) * p - yes * rest, both * small * large)
}

/// Two sums of what a label stands for, weighted, as words.
fn weighted(target: &Target<'_>, of: impl Fn(f32) -> [f64; 2]) -> Vec<u64> {
    let mut sums = [ExactSum::default(), ExactSum::default()];
    for (number, docs) in target.queries.ranges().enumerate() {
        let weight = target.query_weight.map_or(1.0, |weights| weights[number]);
        for doc in docs {
            let weight = weight * target.row_weight.map_or(1.0, |weights| weights[doc]);
            let parts = of(target.labels[doc]);
            sums.iter_mut().zip(parts).for_each(|(sum, part)| sum.add(weight * part));
        }
    }
    sums.map(ExactSum::words).concat()
}

/// The sums that words stand for.
fn sums_of(words: &[u64]) -> [f64; 2] {
    [0, WORDS].map(|at| ExactSum::of_words(&words[at..at + WORDS]).value())
}

/// The log-odds of weights of irrelevant and of relevant docs, at most 10 either way.
fn log_odds([no, yes]: [f64; 2]) -> f64 {
    if no + yes > 0.0 { (yes / no).ln().clamp(-10.0, 10.0) } else { 0.0 }
}

/// Gradients from the score and the label of each doc.
fn each_doc(
    data: (&Target<'_>, &State<'_>),
    gradients: &mut [Gradient],
    interrupt: &Interrupt,
    derivatives: impl Fn(f64, f32) -> (f64, f64) + Sync + Send,
) -> Result<()> {
    let cost = |docs: usize| 10 * docs as u64;
    let one = |(): &mut (), query: super::tasks::Query<'_>, gradients: &mut [Gradient]| {
        query.check_scores()?;
        for (doc, gradient) in gradients.iter_mut().enumerate() {
            let (grad, hess) = derivatives(query.scores[doc], query.labels[doc]);
            *gradient = query.gradient(doc, grad, hess)?;
        }
        Ok(())
    };
    for_each_query(data, gradients, interrupt, cost, (|| (), one))
}
