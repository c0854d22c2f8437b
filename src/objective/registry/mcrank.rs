//! Labels as classes: multinomial and cumulative cross entropy (`McRank`).
//!
//! A doc has a *margin* for each class, or for each class but the lowest: each is learned by trees of
//! its own, from a gradient of its own. With p the probability of a class, or of at least a class,
//! and y whether the doc is of it, the gradient is `p - y`. A leaf is to hold Friedman's step,
//! `(K - 1) / K * sum (y - p) / sum p (1 - p)` for K classes side by side and without the factor for
//! cumulative ones: so the hessian is `p (1 - p)`, for the former times `K / (K - 1)`.
//!
//! A doc counts by its query's weight and its own. Cost: some ten nanoseconds a doc and class.

use super::{BuiltLoss, LossDefinition, LossUses};
use crate::error::{Error, Result};
use crate::gradient::Gradient;
use crate::interrupt::Interrupt;
use crate::objective::Target;
use crate::objective::pointwise::log_odds;
use rayon::prelude::*;

pub(super) const DEFINITION: LossDefinition = LossDefinition {
    name: "mcrank",
    user_name: "mcrank",
    estimator: "McRank",
    other_names: &[],
    uses: LossUses { gains: true, ..LossUses::NONE },
    build: |_| Ok(BuiltLoss::Classes(ClassLink::Softmax)),
};

pub(super) const ORDINAL: LossDefinition = LossDefinition {
    name: "mcrank_ordinal",
    user_name: "mcrank_ordinal",
    estimator: "McRank",
    other_names: &[],
    uses: LossUses { gains: true, ..LossUses::NONE },
    build: |_| Ok(BuiltLoss::Classes(ClassLink::Ordinal)),
};

/// Docs a task takes.
const DOCS_A_TASK: usize = 1 << 12;
/// The most classes.
const MOST: usize = 256;
/// The largest start, either way.
const FURTHEST: f64 = 10.0;

/// How margins become probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClassLink {
    /// In proportion to the exponentials of a margin a class.
    Softmax,
    /// A logistic function of each margin: the probability of its class or one above.
    Ordinal,
}

/// The cross entropy of the classes that the labels of a training set are.
#[derive(Debug)]
pub struct ClassLoss {
    link: ClassLink,
    labels: Vec<f32>,
    /// The class of each doc.
    class_of: Vec<u16>,
    /// The weight of each doc, if one has another than 1.
    weights: Option<Vec<f64>>,
}

impl ClassLoss {
    /// A class for each different label there is.
    pub fn new(link: ClassLink, target: &Target<'_>) -> Result<Self> {
        let mut labels = target.labels.to_vec();
        labels.sort_unstable_by(f32::total_cmp);
        labels.dedup();
        if labels.len() < 2 {
            return Err(Error::data("label.classes", "one class: nothing can be learned")
                .got(format!("all labels are {}", labels.first().copied().unwrap_or_default()))
                .expected("two different labels"));
        }
        if labels.len() > MOST {
            return Err(Error::data("label.classes", "too many different labels to be classes")
                .got(labels.len())
                .expected(format!("at most {MOST}"))
                .hint("objective=\"regression\" learns labels as numbers"));
        }
        let class = |label: &f32| labels.partition_point(|other| other < label) as u16;
        let class_of = target.labels.par_iter().map(class).collect();
        let is_weighted = target.query_weight.is_some() || target.row_weight.is_some();
        let weights = is_weighted.then(|| target.weights().collect());
        Ok(Self { link, labels, class_of, weights })
    }

    /// The labels that are classes, rising.
    pub fn labels(&self) -> &[f32] {
        &self.labels
    }

    /// The number of margins of a doc.
    pub fn num_margins(&self) -> usize {
        match self.link {
            ClassLink::Softmax => self.labels.len(),
            ClassLink::Ordinal => self.labels.len() - 1,
        }
    }

    /// The constant margins that fit the frequencies of the classes.
    pub fn starts(&self) -> Vec<f64> {
        let mut counts = vec![0.0; self.labels.len()];
        for (doc, &class) in self.class_of.iter().enumerate() {
            counts[usize::from(class)] += self.weight(doc);
        }
        let all: f64 = counts.iter().sum();
        if all <= 0.0 {
            return vec![0.0; self.num_margins()];
        }
        match self.link {
            ClassLink::Softmax => {
                counts.iter().map(|count| (count / all).ln().max(-FURTHEST)).collect()
            }
            ClassLink::Ordinal => (1..counts.len())
                .map(|k| log_odds([&counts[..k], &counts[k..]].map(|part| part.iter().sum())))
                .collect(),
        }
    }

    /// The gradients of all docs by each margin, at the given ones.
    ///
    /// Runs on the current rayon pool.
    ///
    /// # Panics
    /// If there are not as many margins and gradients as [`num_margins`](Self::num_margins), each of
    /// as many docs as there are.
    pub fn gradients(
        &self,
        margins: &[Vec<f64>],
        gradients: &mut [Vec<Gradient>],
        interrupt: &Interrupt,
    ) -> Result<()> {
        let docs = self.class_of.len();
        assert!(margins.len() == self.num_margins() && gradients.len() == margins.len());
        assert!(margins.iter().all(|margins| margins.len() == docs));
        let mut tasks: Vec<Vec<&mut [Gradient]>> = Vec::new();
        tasks.resize_with(docs.div_ceil(DOCS_A_TASK), Vec::new);
        for of_margin in gradients.iter_mut() {
            assert_eq!(of_margin.len(), docs);
            for (task, part) in tasks.iter_mut().zip(of_margin.chunks_mut(DOCS_A_TASK)) {
                task.push(part);
            }
        }
        tasks.into_par_iter().enumerate().try_for_each(|(task, mut parts)| {
            interrupt.check()?;
            let first = task * DOCS_A_TASK;
            let mut p = vec![0.0; margins.len()];
            for at in 0..parts[0].len() {
                let doc = first + at;
                for (p, margins) in p.iter_mut().zip(margins) {
                    *p = margins[doc];
                }
                self.probabilities(&mut p);
                for (margin, (part, &p)) in parts.iter_mut().zip(&p).enumerate() {
                    part[at] = self.gradient(doc, margin, p)?;
                }
            }
            Ok(())
        })
    }

    /// Margins become probabilities, of classes or of at least a class.
    fn probabilities(&self, margins: &mut [f64]) {
        match self.link {
            ClassLink::Softmax => {
                let top = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                for margin in margins.iter_mut() {
                    *margin = (*margin - top).exp();
                }
                let sum: f64 = margins.iter().sum();
                for margin in margins {
                    *margin /= sum;
                }
            }
            ClassLink::Ordinal => {
                for margin in margins {
                    // From the side where nothing overflows.
                    let odds = (-margin.abs()).exp();
                    *margin = if *margin < 0.0 { odds } else { 1.0 } / (1.0 + odds);
                }
            }
        }
    }

    fn gradient(&self, doc: usize, margin: usize, p: f64) -> Result<Gradient> {
        let class = usize::from(self.class_of[doc]);
        let (yes, factor) = match self.link {
            ClassLink::Softmax => {
                let count = self.labels.len() as f64;
                (class == margin, count / (count - 1.0))
            }
            ClassLink::Ordinal => (class > margin, 1.0),
        };
        let weight = self.weight(doc);
        let grad = (p - f64::from(u8::from(yes))) * weight;
        let gradient =
            Gradient { grad: grad as f32 + 0.0, hess: (factor * p * (1.0 - p) * weight) as f32 };
        if gradient.is_finite() {
            return Ok(gradient);
        }
        Err(Error::data("gradient.not_finite", "a gradient overflows")
            .got(format!("grad {}, hess {}", gradient.grad, gradient.hess))
            .expected("finite numbers")
            .hint("weights or steps may be very large"))
    }

    fn weight(&self, doc: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[doc])
    }
}
