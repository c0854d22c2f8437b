//! Data-parallel training: each worker has a part of the queries, and histograms are summed.
//!
//! Each worker has whole queries, so it computes their gradients alone. All that concerns more
//! documents (the scale of gradients, histograms, counts, means of metrics) is summed as integers,
//! so the model is that of a single process with all documents.
//!
//! A message takes eight bytes per column and byte value, whatever the number of documents.

use super::data_facts::{self, Plans};
use super::training::{TrainingGroup, check_growth};
use super::{FRAME, WorkerMode};
use crate::boosting::{DataFacts, EvaluationSets, RoundReducer, TrainingPlan};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::tree::{GrowOptions, GrowthReducer, REDUCER_ROOM};

const _: () = assert!(FRAME == REDUCER_ROOM, "the frame of a histogram takes the room it has");

/// The workers that have the other queries.
#[derive(Debug, Clone)]
pub(super) struct HistogramReducer(pub(super) TrainingGroup);

impl GrowthReducer for HistogramReducer {
    fn divides_docs(&self) -> bool {
        true
    }

    fn check_options(&self, options: &GrowOptions, is_constrained: bool) -> Result<()> {
        check_growth(options, is_constrained)
    }

    fn fail_later(&self, outcome: Result<()>) -> Result<()> {
        self.0.fail_later(outcome);
        Ok(())
    }

    fn sum(&self, what: &'static str, round: u64, words: &mut [u64]) -> Result<()> {
        self.0.sum(what, round, words)
    }

    fn sum_histogram(&self, round: u64, words: &mut [u64]) -> Result<()> {
        self.0.sum_framed("a histogram", round, words)
    }

    fn max(&self, what: &'static str, round: u64, values: &mut [f64]) -> Result<()> {
        self.0.max(what, round, values)
    }
}

impl RoundReducer for HistogramReducer {
    fn growth(&self) -> Box<dyn GrowthReducer> {
        Box::new(self.clone())
    }

    fn exchange_facts(
        &mut self,
        dataset: &Dataset,
        plan: &mut TrainingPlan,
        evaluation: &mut EvaluationSets,
    ) -> Result<DataFacts> {
        let mode = WorkerMode::Histogram;
        data_facts::of_parts(&self.0, mode, dataset, Plans { plan, evaluation })
            .map(|(facts, _)| facts)
    }

    fn agree(&self, what: &'static str, own: Result<()>) -> Result<()> {
        self.0.agree(what, 0, own)
    }

    fn same(&self, what: &'static str, round: u64, value: u64) -> Result<()> {
        self.0.same(what, round, value)
    }

    fn fail_later(&self, outcome: Result<()>) -> Result<()> {
        self.0.fail_later(outcome);
        Ok(())
    }

    fn gradients_made(&self, _round: u64, outcome: Result<()>) -> Result<()> {
        self.0.fail_later(outcome);
        Ok(())
    }

    fn sum_docs(&self, round: u64, num_docs: u64) -> Result<u64> {
        let mut words = [num_docs];
        self.0.sum("the docs of a tree", round, &mut words)?;
        Ok(words[0])
    }

    fn sum_metrics(&self, round: u64, words: &mut [u64]) -> Result<()> {
        self.0.sum("the means of metrics", round, words)
    }

    fn error_without_split(&self, num_docs: usize, own: Error) -> Error {
        self.0.error_without_split(num_docs, own)
    }
}
