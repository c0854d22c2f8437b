//! Facts about the plan and the data of all workers, exchanged before the first round.

use super::reducer::TrainingWorkers;
use super::{Collective, WorkerGroup, WorkerMode};
use crate::boosting::{DataFacts, DocSampling, EvaluationSets, StepRule, TrainingPlan};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::metric::largest;

/// The facts if each worker has a part of the queries, and the number of documents of each worker.
///
/// Also tells metrics and loss what they need to know about all documents.
pub(super) fn of_parts(
    group: &WorkerGroup,
    plan: &mut TrainingPlan,
    evaluation: &mut EvaluationSets,
) -> Result<(DataFacts, Vec<u64>)> {
    let sets = evaluation.datasets();
    let (facts, sizes) = sum_contents(group, &sets)?;
    let max = |labels: &[f32]| f64::from(labels.iter().copied().fold(0.0, f32::max));
    let mut most: Vec<f64> = sets.iter().map(|set| max(set.labels())).collect();
    most.extend(sets.iter().map(|set| {
        if set.num_docs() == 0 { 0.0 } else { set.query_weight().map_or(1.0, largest) }
    }));
    group.max(Collective::at_start("labels and weights"), Ok(()), &mut most)?;
    let (labels, weights) = most.split_at(sets.len());
    let max_labels: Vec<f32> = labels.iter().map(|&label| label as f32).collect();
    evaluation.settle_scales(&max_labels, weights)?;
    let labels = Collective::at_start("the labels of all docs");
    let sum = |own, words: &mut [u64]| group.sum(labels, own, words);
    plan.loss.settle(evaluation.train(), max_labels[0], sum)?;
    Ok((facts, sizes))
}

/// The facts that are sums over all workers, and the number of documents of each worker.
fn sum_contents(group: &WorkerGroup, sets: &[&Dataset]) -> Result<(DataFacts, Vec<u64>)> {
    let has_base = |set: &&Dataset| set.num_docs() > 0 && set.base_score().is_some();
    let mut words: Vec<u64> = sets.iter().flat_map(|set| set.content()).collect();
    words.extend(sets.iter().map(|set| u64::from(has_base(set))));
    words.extend(sets.iter().map(|set| u64::from(set.base_score().is_none())));
    words.push(u64::from(sets[0].require_pairs().is_ok()));
    let own_size = |rank| if rank == group.rank() { sets[0].num_docs() as u64 } else { 0 };
    words.extend((0..group.size()).map(own_size));
    group.sum(Collective::at_start("the content of the parts"), Ok(()), &mut words)?;
    let (content, rest) = words.split_at(2 * sets.len());
    let (with, rest) = rest.split_at(sets.len());
    let (without, rest) = rest.split_at(sets.len());
    let (has_pairs, sizes) = (rest[0] > 0, rest[1..].to_vec());
    if with.iter().zip(without).any(|(with, without)| *with > 0 && *without > 0) {
        let what = "some ranks have base scores, and others have none, or no docs";
        return Err(Error::data("base", what));
    }
    if sizes.iter().all(|&size| size == 0) {
        return Err(Error::data("data.empty", "no rank has docs"));
    }
    let of_set =
        |(set, content): (&&Dataset, &[u64])| set.fingerprint_with([content[0], content[1]]);
    let fingerprints = sets.iter().zip(content.chunks_exact(2)).map(of_set).collect();
    Ok((DataFacts { fingerprints, has_pairs }, sizes))
}

/// Returns an error for data and options that workers of this mode do not support.
fn check(mode: WorkerMode, plan: &TrainingPlan, evaluation: &EvaluationSets) -> Result<()> {
    let dataset = evaluation.train();
    if mode != WorkerMode::Histogram && !dataset.binning().categorical().is_empty() {
        let what = "workers split on categories in the mode `histogram` alone";
        return Err(Error::data("categorical", what).hint("encode the categories as numbers"));
    }
    if mode == WorkerMode::Features {
        return Ok(());
    }
    let refused =
        |name: &'static str, what: &str| Err(Error::param(name, format!("{what}, by a team")));
    if plan.params.step != StepRule::Newton {
        return refused("step", "an exact step is not taken");
    }
    if mode != WorkerMode::Histogram && plan.params.dropout.is_some() {
        return refused("dropout", "trees are not dropped");
    }
    if plan.loss.has_classes() {
        return refused("objective", "classes are not learned");
    }
    if dataset.query_ranks() {
        return refused("query_ranks", "values are not ranked within queries");
    }
    let needs_all = |name| Error::param(name, format!("{name} needs all docs on every rank"));
    if mode == WorkerMode::Histogram && plan.params.doc_sampling != DocSampling::Uniform {
        return Err(needs_all("doc_sampling").hint("the mode `features`, or uniform sampling"));
    }
    if dataset.position().is_some() {
        return Err(needs_all("position").hint("the mode `features`"));
    }
    let is_judged = matches!(mode, WorkerMode::FullSelection | WorkerMode::FullSelectionAll);
    if is_judged && evaluation.described().next().is_none() {
        let what = "trees are selected by a metric";
        return Err(Error::param("metric", what).hint("give a metric"));
    }
    Ok(())
}

/// Returns an error on all workers, naming the difference, unless all have the same plan. If they do
/// not support it, the next collective returns an error.
pub(super) fn agree_on_plan(
    workers: &TrainingWorkers,
    plan: &TrainingPlan,
    evaluation: &EvaluationSets,
) -> Result<()> {
    let TrainingWorkers { group, mode, .. } = workers;
    let base = plan.base.as_ref().map(|base| crate::hash::bytes(base.model.to_text().as_bytes()));
    let names: Vec<&str> = evaluation.sets().map(|set| set.name.as_str()).collect();
    let metrics: Vec<String> = evaluation.described().collect();
    let mut facts = vec![
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("mode", mode.to_string()),
        ("bins", format!("{:016x}", evaluation.train().bins_fingerprint())),
        ("num_trees", plan.params.num_trees.to_string()),
        ("early stopping", format!("{:?}", plan.patience)),
    ];
    facts.extend(plan.params.named().into_iter().chain(plan.loss.notes.iter().cloned()));
    facts.extend([
        ("watched sets", names.join(", ")),
        ("metrics", metrics.join(", ")),
        ("base", format!("{base:?}")),
    ]);
    let text: Vec<String> = facts.iter().map(|(name, value)| format!("{name}\t{value}")).collect();
    let own = text.join("\n").into_bytes();
    let all = group.gather(Collective::at_start("the parameters"), Ok(own))?;
    let texts: Vec<_> = all.iter().map(|bytes| String::from_utf8_lossy(bytes)).collect();
    for (rank, text) in texts.iter().enumerate() {
        let lines = texts[0].lines().chain(std::iter::repeat("")).zip(text.lines());
        let Some((first, other)) = lines.into_iter().find(|(first, other)| first != other) else {
            continue;
        };
        let [(name, value), (_, other)] =
            [first, other].map(|line| line.split_once('\t').unwrap_or((line, "")));
        let what = format!("rank {rank} has another {name} than rank 0");
        return Err(Error::comm("comm.differ", what).got(other).expected(value));
    }
    group.fail_later(check(*mode, plan, evaluation));
    Ok(())
}

/// The error of a worker without a split, in the words of the worker with most documents.
pub(super) fn error_of_largest(workers: &WorkerGroup, num_docs: usize, own: Error) -> Error {
    let text = [&(num_docs as u64).to_le_bytes()[..], own.to_string().as_bytes()].concat();
    let Ok(all) = workers.gather(Collective::at_start("why there is no split"), Ok(text)) else {
        return own;
    };
    let docs = |bytes: &Vec<u8>| bytes.first_chunk().copied().map_or(0, u64::from_le_bytes);
    let largest = all.iter().max_by_key(|bytes| docs(bytes));
    let text = largest.map(|bytes| String::from_utf8_lossy(&bytes[8..]).into_owned());
    Error::data("nothing", text.unwrap_or_default())
}
