//! Which docs a tree is grown from, and the exact step.

use super::LabelOptions;
use crate::boosting::{DocSampling, ExactStep, StepRule, StepTies};
use crate::error::{Error, Result};
use crate::schema::{Foreign, ParamType, ParamValue, choices, parameters};

choices! {
    /// How the docs of a tree are chosen.
    pub enum SamplingRule {
        /// Each with the same probability.
        Uniform = "uniform",
        /// Those with the largest gradients, and others by chance.
        OneSided = "one_sided",
        /// With a probability in proportion to the size of the gradient.
        Importance = "importance",
    }
}

parameters! {
    /// How the docs of a tree are chosen.
    pub struct SamplingOptions in "sampling" {
        /// How the share `docs_per_tree` is chosen: each doc with the same probability; those with the
        /// largest gradients and others by chance (GOSS: Ke et al. 2017); or each with a probability
        /// in proportion to the size of its gradient, up to 1 (minimal variance sampling: Ibragimov
        /// and Gusev 2019). Docs that were kept by chance count for those that were not. Docs without
        /// a gradient are not drawn from.
        pub doc_sampling: SamplingRule = SamplingRule::Uniform;
        /// For `one_sided`: the share of the docs that is kept for its gradients; by default two
        /// thirds of `docs_per_tree`.
        pub top_docs: Option<f64> = None;
    }
}

impl SamplingOptions {
    pub(super) fn sampling(&self, docs_per_tree: f64) -> Result<DocSampling> {
        match (self.doc_sampling, self.top_docs) {
            (SamplingRule::OneSided, top) => {
                Ok(DocSampling::OneSided { top: top.unwrap_or(2.0 / 3.0 * docs_per_tree) })
            }
            (rule, Some(top)) => {
                let what = format!("doc_sampling is '{rule}', not \"one_sided\"");
                Err(Error::param("top_docs", format!("top_docs: got {top:?}, but {what}")))
            }
            (SamplingRule::Uniform, None) => Ok(DocSampling::Uniform),
            (SamplingRule::Importance, None) => Ok(DocSampling::Importance),
        }
    }
}

choices! {
    /// What leaf values are multiplied by, besides the learning rate.
    pub enum StepKind {
        /// Nothing.
        Newton = "newton",
        /// What is best for a metric.
        Exact = "exact",
    }
}

impl StepKind {
    /// The defaults of other parameters that it changes.
    pub fn values(self) -> Vec<(&'static str, ParamValue)> {
        match self {
            Self::Newton => Vec::new(),
            Self::Exact => vec![("learning_rate", 1.0.value())],
        }
    }
}

choices! {
    /// How an exact step ranks docs with equal scores.
    pub enum StepTiesKind {
        /// The expectation over all orders of them.
        Expected = "expected",
        /// By very small random numbers of `seed`.
        Jitter = "jitter",
        /// By a feature, larger values first, as far as its bins tell them apart.
        Feature = "feature",
    }
}

parameters! {
    /// The exact step.
    pub struct StepOptions in "step" {
        /// Whether all leaf values of a tree are multiplied, besides `learning_rate`, by the number
        /// that is best for a metric, found exactly among all from `step_min` to `step_max`. With it,
        /// `learning_rate` is 1 by default: a metric does not see the scale of scores, so steps that
        /// are best for scores that were shrunk, and are shrunk in turn, become very small.
        pub step: StepKind = StepKind::Newton;
        /// For the exact step: the metric; the first `metric` by default.
        pub step_metric: Option<String> = None;
        /// For the exact step: the least number.
        pub step_min: f64 = 0.1;
        /// For the exact step: the largest number.
        pub step_max: f64 = 100.0;
        /// For the exact step: the name of the validation set whose docs decide; the training set by
        /// default.
        pub step_on: Option<String> = None;
        /// For the exact step: how docs with equal scores are ranked.
        pub step_ties: StepTiesKind = StepTiesKind::Expected;
        /// With `step_ties="feature"`: the feature, by name or number; one that rises with relevance,
        /// such as BM25.
        pub step_tie_feature: Foreign = Foreign(ParamValue::None), typed "str | int | None";
    }
}

impl StepOptions {
    /// The rule of the step; `seed` is that of jitter.
    pub(super) fn step(
        &self,
        labels: &LabelOptions,
        names: &KnownNames<'_>,
        seed: u64,
    ) -> Result<StepRule> {
        if self.step == StepKind::Newton {
            return Ok(StepRule::Newton);
        }
        let ties = match (self.step_ties, names.tie_feature) {
            (StepTiesKind::Expected, _) => StepTies::Expected,
            (StepTiesKind::Jitter, _) => StepTies::Jitter(seed),
            (StepTiesKind::Feature, Some(feature)) => StepTies::Feature(feature),
            (StepTiesKind::Feature, None) => {
                return Err(Error::param(
                    "step_tie_feature",
                    "step_ties='feature' needs a feature",
                ));
            }
        };
        let set = self.step_on.as_deref().map(|name| names.place("step_on", name)).transpose()?;
        let metric = self.step_metric.as_deref().or(names.metric).unwrap_or("ndcg@10");
        let (metric, from, to) = (labels.metric(metric)?, self.step_min, self.step_max);
        Ok(StepRule::Exact(ExactStep { metric, from, to, set, ties }))
    }
}

/// What parameters can refer to by name.
#[derive(Debug, Clone, Copy)]
pub struct KnownNames<'a> {
    /// The first metric that is not a function.
    pub metric: Option<&'a str>,
    /// The validation sets.
    pub sets: &'a [&'a str],
    /// The number of `step_tie_feature`.
    pub tie_feature: Option<usize>,
}

impl KnownNames<'_> {
    fn place(&self, name: &'static str, set: &str) -> Result<usize> {
        self.sets.iter().position(|known| *known == set).ok_or_else(|| {
            let none = ["none: pass valid="];
            let known = if self.sets.is_empty() { &none } else { self.sets };
            let expected = format!("a validation set, one of {}", known.join(", "));
            Error::unknown_name(name, name).got(format!("'{set}'")).expected(expected)
        })
    }
}
