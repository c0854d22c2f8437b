//! Metrics by the names that users write, of the relevance or of extra labels, and their objectives.

use super::{LabelOptions, TrainOptions};
use crate::Convention;
use crate::boosting::{
    EvaluationMetric, ExtraMetric, SeveralMetrics, TrainingLoss, WeightedObjective,
};
use crate::error::{Error, Fault, Result};
use crate::metric::{Gain, Metric};
use crate::objective::{ObjectiveKind, ObjectiveOptions};

/// A metric of the relevance, or of extra labels: `revenue@10` is NDCG@10 of the labels `revenue`, and
/// `revenue:err@10` is ERR@10 of them.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedMetric {
    name: String,
    /// The name of the extra labels, and the name of their metric.
    extra: Option<(String, String)>,
}

impl NamedMetric {
    /// Reads a name, given the names of the extra labels.
    pub fn read(name: &str, extra_labels: &[&str]) -> Self {
        let of_labels = |labels: &str| extra_labels.contains(&labels);
        let extra = match (name.split_once(':'), name.split_once('@')) {
            (Some((labels, metric)), _) if of_labels(labels) => Some((labels, metric.to_owned())),
            (None, Some((labels, cut))) if of_labels(labels) => {
                Some((labels, format!("ndcg@{cut}")))
            }
            (None, None) if of_labels(name) => Some((name, "ndcg".to_owned())),
            _ => None,
        };
        let extra = extra.map(|(labels, metric)| (labels.to_owned(), metric));
        Self { name: name.to_owned(), extra }
    }

    /// The name that the user wrote.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a metric of extra labels.
    pub fn is_extra(&self) -> bool {
        self.extra.is_some()
    }

    /// The name of the extra labels, if it is a metric of these, and the name of the metric.
    pub fn into_parts(self) -> (Option<String>, String) {
        self.extra.map_or((None, self.name), |(labels, metric)| (Some(labels), metric))
    }

    /// The metric as it is evaluated.
    pub fn evaluated(&self, labels: &LabelOptions) -> Result<EvaluationMetric> {
        let Some((of, metric)) = &self.extra else {
            return labels.metric(&self.name).map(EvaluationMetric::Metric).map_err(with_hint);
        };
        let metric = of_extra(metric, labels)?;
        Ok(EvaluationMetric::Extra(ExtraMetric {
            name: self.name.clone(),
            labels: of.clone(),
            metric,
        }))
    }

    /// The objective of the metric: at all ranks, unless it means nothing without its cut.
    fn objective(
        &self,
        labels: &LabelOptions,
        like: &ObjectiveOptions,
    ) -> Result<WeightedObjective> {
        let mut options = like.clone();
        let Some((of, metric)) = &self.extra else {
            options.lambda.metric = labels.metric(at_all_ranks(&self.name))?;
            return WeightedObjective::new(options, None);
        };
        options.lambda.metric = of_extra(at_all_ranks(metric), labels)?;
        WeightedObjective::new(options, Some(of.clone()))
    }
}

/// The error of an unknown metric, which may have been meant to be one of extra labels.
fn with_hint(error: Error) -> Error {
    let is_unknown = |fault: &Fault| fault.code == "metric.name" && fault.hint.is_none();
    if !error.fault().is_some_and(is_unknown) {
        return error;
    }
    error.hint("a metric of labels besides y needs them as extra_labels of every data set")
}

/// A metric of extra labels: those are amounts, of which twice as much is worth twice as much.
fn of_extra(metric: &str, labels: &LabelOptions) -> Result<Metric> {
    let relevance = labels.convention()?;
    let convention = Convention { gain: Gain::Linear, max_label: None, ..relevance };
    metric.parse::<Metric>()?.with_convention(&convention)
}

/// The name of a metric without its cut, unless it means nothing without.
pub(super) fn at_all_ranks(name: &str) -> &str {
    let needs_cut = name.starts_with("precision") || name.starts_with("recall");
    if needs_cut { name } else { name.split('@').next().unwrap_or(name) }
}

impl TrainOptions {
    /// The weighted sum of the objectives of these metrics; an error if the loss is the caller's own.
    pub fn weighted_loss(
        &self,
        metrics: &[NamedMetric],
        several: SeveralMetrics,
        is_ours: bool,
    ) -> Result<TrainingLoss> {
        let like = self.loss.options(&self.labels, None, self.tree.seed)?;
        if !is_ours || like.kind != ObjectiveKind::LambdaRank {
            let what = "metric: weights of metrics are for objective='lambdamart'";
            return Err(Error::param("metric", what));
        }
        if self.loss.objective_metric.is_some() {
            let what = "objective_metric: the metrics with weights are the objective";
            return Err(Error::param("objective_metric", what).hint("leave it out"));
        }
        let objectives = metrics.iter().map(|metric| metric.objective(&self.labels, &like));
        TrainingLoss::weighted(objectives.collect::<Result<_>>()?, several)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_extra_labels_is_their_ndcg() {
        let read = |name| NamedMetric::read(name, &["revenue", "margin"]).extra;
        let of = |labels: &str, metric: &str| Some((labels.to_owned(), metric.to_owned()));
        assert_eq!(read("revenue@10"), of("revenue", "ndcg@10"));
        assert_eq!(read("revenue"), of("revenue", "ndcg"));
        assert_eq!(read("margin:err@5"), of("margin", "err@5"));
        assert_eq!(read("ndcg@10"), None);
        assert_eq!(read("profit@10"), None);
        assert_eq!(read("profit:err@5"), None);
    }

    #[test]
    fn extra_labels_have_linear_gains() {
        let labels = LabelOptions { max_label: Some(4.0), ..LabelOptions::default() };
        let metric = NamedMetric::read("revenue@10", &["revenue"]).evaluated(&labels).unwrap();
        let EvaluationMetric::Extra(extra) = metric else { panic!("a metric of the relevance") };
        assert_eq!(extra.metric.convention().gain, Gain::Linear);
        assert_eq!(extra.metric.convention().max_label, None);
        assert_eq!((extra.name.as_str(), extra.labels.as_str()), ("revenue@10", "revenue"));
    }
}
