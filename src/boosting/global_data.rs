//! Facts about the data of all workers, exchanged before the first round.
//!
//! Each worker has whole queries, so it computes gradients by itself. Everything that concerns all
//! documents, such as the mean of a metric, the initial score and the scale of gradients, is summed
//! as integers. So the model equals, byte for byte, that of a single process with all documents.

use super::evaluation::EvaluationSets;
use super::initial_model::target;
use super::loss::LossTarget;
use super::trainer::TrainingPlan;
use super::{StepRule, WorkerMode};
use crate::data::Dataset;
use crate::distributed::{Collective, WorkerGroup};
use crate::error::{Error, Result};
use crate::metric::largest;

/// Facts about the documents of all workers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GlobalData {
    /// The fingerprints of the training set and of each evaluation set.
    pub(super) fingerprints: Vec<u64>,
    /// Whether some query of the training set has two different labels.
    pub(super) has_pairs: bool,
    /// The number of documents of each worker.
    pub(super) sizes: Vec<u64>,
    /// The largest label of the training set and of each evaluation set.
    max_labels: Vec<f32>,
    /// The largest query weight of the training set and of each evaluation set.
    weights: Vec<f64>,
}

impl GlobalData {
    /// Exchanges the facts, after checking that all workers train the same.
    pub(super) fn new(
        (workers, mode): (&WorkerGroup, WorkerMode),
        dataset: &Dataset,
        plan: &mut TrainingPlan,
        evaluation: &mut EvaluationSets,
    ) -> Result<Self> {
        let sets: Vec<&Dataset> =
            std::iter::once(dataset).chain(evaluation.sets().map(|set| &*set.dataset)).collect();
        if workers.is_alone() {
            return Ok(Self {
                fingerprints: sets.iter().map(|set| set.fingerprint()).collect(),
                has_pairs: dataset.require_pairs().is_ok(),
                sizes: vec![dataset.num_docs() as u64],
                max_labels: Vec::new(),
                weights: Vec::new(),
            });
        }
        agree_on_plan(workers, mode, dataset, (plan, evaluation))?;
        if mode == WorkerMode::Features {
            return Self::of_alike(workers, &sets);
        }
        let global_data = Self::ask(workers, &sets, allowed(mode, dataset, (plan, evaluation)))?;
        evaluation.settle_scales(&global_data.max_labels, &global_data.weights)?;
        settle_loss(workers, plan, dataset, global_data.max_labels[0])?;
        Ok(global_data)
    }

    /// The facts if every worker has all documents.
    fn of_alike(workers: &WorkerGroup, sets: &[&Dataset]) -> Result<Self> {
        let fingerprints: Vec<u64> = sets.iter().map(|set| set.fingerprint()).collect();
        for &fingerprint in &fingerprints {
            workers.same(Collective::at_start("the docs"), "dataset", Ok(fingerprint))?;
        }
        let has_pairs = sets[0].require_pairs().is_ok();
        let sizes = vec![sets[0].num_docs() as u64; workers.size()];
        Ok(Self { fingerprints, has_pairs, sizes, max_labels: Vec::new(), weights: Vec::new() })
    }

    fn ask(workers: &WorkerGroup, sets: &[&Dataset], own: Result<()>) -> Result<Self> {
        let has_base = |set: &&Dataset| set.num_docs() > 0 && set.base_score().is_some();
        let mut words: Vec<u64> = sets.iter().flat_map(|set| set.content()).collect();
        words.push(u64::from(sets[0].require_pairs().is_ok()));
        words.extend(sets.iter().map(|set| u64::from(has_base(set))));
        words.extend(sets.iter().map(|set| u64::from(set.base_score().is_none())));
        workers.sum(Collective::at_start("the content of the parts"), own, &mut words)?;
        let num = sets.len();
        let (content, rest) = words.split_at(2 * num);
        let (with, without) = rest[1..].split_at(num);
        if with.iter().zip(without).any(|(with, without)| *with > 0 && *without > 0) {
            let what = "some ranks have base scores, and others have none, or no docs";
            return Err(Error::data("base", what));
        }
        let own = (sets[0].num_docs() as u64).to_le_bytes().to_vec();
        let sizes = workers.gather(Collective::at_start("the number of docs"), Ok(own))?;
        let sizes: Vec<u64> = sizes
            .iter()
            .map(|bytes| bytes.first_chunk().copied().map_or(0, u64::from_le_bytes))
            .collect();
        if sizes.iter().all(|&size| size == 0) {
            return Err(Error::data("data.empty", "no rank has docs"));
        }
        let max = |labels: &[f32]| f64::from(labels.iter().copied().fold(0.0, f32::max));
        let mut most: Vec<f64> = sets.iter().map(|set| max(set.labels())).collect();
        most.extend(sets.iter().map(|set| {
            if set.num_docs() == 0 { 0.0 } else { set.query_weight().map_or(1.0, largest) }
        }));
        workers.max(Collective::at_start("labels and weights"), Ok(()), &mut most)?;
        let of_set =
            |(set, content): (&&Dataset, &[u64])| set.fingerprint_with([content[0], content[1]]);
        Ok(Self {
            fingerprints: sets.iter().zip(content.chunks_exact(2)).map(of_set).collect(),
            has_pairs: rest[0] > 0,
            sizes,
            max_labels: most[..num].iter().map(|&label| label as f32).collect(),
            weights: most[num..].to_vec(),
        })
    }
}

/// Returns an error for options that only a single process supports.
fn allowed(
    mode: WorkerMode,
    dataset: &Dataset,
    (plan, evaluation): (&TrainingPlan, &EvaluationSets),
) -> Result<()> {
    let refused =
        |name: &'static str, what: &str| Err(Error::param(name, format!("{what}, by a team")));
    if plan.params.step != StepRule::Newton {
        return refused("step", "an exact step is not taken");
    }
    if plan.params.dropout.is_some() {
        return refused("dropout", "trees are not dropped");
    }
    if matches!(plan.loss.loss_target, LossTarget::Classes(..)) {
        return refused("objective", "classes are not learned");
    }
    if dataset.query_ranks() {
        return refused("query_ranks", "values are not ranked within queries");
    }
    if mode == WorkerMode::FullSelection && evaluation.described().next().is_none() {
        let what = "trees are selected by a metric";
        return Err(Error::param("metric", what).hint("give a metric"));
    }
    Ok(())
}

/// Returns an error on all workers, naming the difference, unless all have the same plan.
fn agree_on_plan(
    workers: &WorkerGroup,
    mode: WorkerMode,
    dataset: &Dataset,
    (plan, evaluation): (&TrainingPlan, &EvaluationSets),
) -> Result<()> {
    let mut facts = vec![
        ("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("mode".to_owned(), mode.to_string()),
        ("bins".to_owned(), format!("{:016x}", dataset.bins_fingerprint())),
        ("num_trees".to_owned(), plan.params.num_trees.to_string()),
        ("early stopping".to_owned(), format!("{:?}", plan.patience)),
    ];
    let named = plan.params.named().into_iter().chain(plan.loss.notes.iter().cloned());
    facts.extend(named.map(|(name, value)| (name.to_owned(), value)));
    let names: Vec<&str> = evaluation.sets().map(|set| set.name.as_str()).collect();
    facts.push(("watched sets".to_owned(), names.join(", ")));
    facts.push(("metrics".to_owned(), evaluation.described().collect::<Vec<_>>().join(", ")));
    let base = plan.base.as_ref().map(|base| crate::hash::bytes(base.model.to_text().as_bytes()));
    facts.push(("base".to_owned(), format!("{base:?}")));
    let text: Vec<String> = facts.iter().map(|(name, value)| format!("{name}\t{value}")).collect();
    let own = text.join("\n").into_bytes();
    let all = workers.gather(Collective::at_start("the parameters"), Ok(own))?;
    let texts: Vec<_> = all.iter().map(|bytes| String::from_utf8_lossy(bytes)).collect();
    for (rank, text) in texts.iter().enumerate() {
        let lines = texts[0].lines().chain(std::iter::repeat("")).zip(text.lines());
        let Some((first, other)) = lines.into_iter().find(|(first, other)| first != other) else {
            continue;
        };
        let part = |line: &str| {
            let (name, value) = line.split_once('\t').unwrap_or((line, ""));
            (name.to_owned(), value.to_owned())
        };
        let ((name, value), (_, other)) = (part(first), part(other));
        let what = format!("rank {rank} has another {name} than rank 0");
        return Err(Error::comm("comm.differ", what).got(other).expected(value));
    }
    Ok(())
}

/// Tells the objective the facts it needs about the labels of all workers.
fn settle_loss(
    workers: &WorkerGroup,
    plan: &mut TrainingPlan,
    dataset: &Dataset,
    max_label: f32,
) -> Result<()> {
    let LossTarget::Scores(objective) = &mut plan.loss.loss_target else { return Ok(()) };
    if let Some(settled) = objective.of_part(max_label, &[]) {
        *objective = settled;
    }
    let mut words = objective.words(&target(dataset));
    workers.sum(Collective::at_start("the labels of all docs"), Ok(()), &mut words)?;
    plan.loss.start = Some(objective.start_of(&words));
    if let Some(settled) = objective.of_part(max_label, &words) {
        *objective = settled;
    }
    Ok(())
}

/// The error of a worker without a split, in the words of the worker with most documents.
pub(super) fn error_of_largest(workers: &WorkerGroup, num_docs: usize, own: Error) -> Error {
    if workers.is_alone() {
        return own;
    }
    let text = [&(num_docs as u64).to_le_bytes()[..], own.to_string().as_bytes()].concat();
    let Ok(all) = workers.gather(Collective::at_start("why there is no split"), Ok(text)) else {
        return own;
    };
    let docs = |bytes: &Vec<u8>| bytes.first_chunk().copied().map_or(0, u64::from_le_bytes);
    let told = all.iter().max_by_key(|bytes| docs(bytes));
    let text = told.map(|bytes| String::from_utf8_lossy(&bytes[8..]).into_owned());
    Error::data("nothing", text.unwrap_or_default())
}
