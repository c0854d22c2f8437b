//! Docs that say nothing in many columns at once.
//!
//! The features of a text field are all zero for a doc without that field, and so it is with most groups
//! of features that are about one thing. A doc is *quiet* in a column where its byte is the commonest of
//! the column, and *loud* elsewhere; a *run* is a set of columns in which many docs are quiet all at
//! once. Sums of a run are made from the docs that are loud in any of its columns; the quiet ones all
//! add to the commonest bytes, and what they add is what is missing from the sum over all bytes.
//!
//! Invariant: sums are integers, so that they are the same whatever the runs are. These are drawn up from
//! a sample of the docs, and may be poor ones, but never wrong ones.

use super::histogram::LEAST_LOUD;
use crate::binning::Matrix;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

/// Docs that runs are drawn up from.
const SAMPLE: usize = 4096;
/// The most runs: a bit a doc and run.
const MOST_RUNS: usize = 32;
/// The most runs that are drawn up at first.
const MOST_DRAFTS: usize = 64;
/// What a run costs for each doc, as a number of cells added up.
const COST: usize = 3;
/// A column belongs to a run only if more than one doc in so many is quiet in it.
const LEAST_QUIET: usize = 32;
/// Docs that are looked at by one task.
const DOCS_A_TASK: usize = 1 << 13;

/// The runs of a table, and who is loud in them.
#[derive(Debug, Default)]
pub(super) struct Quiet {
    runs: Vec<Run>,
    /// For each doc a bit for each run that it is loud in; of no docs where there are no runs.
    loud: Vec<u32>,
}

/// Columns in which many docs are quiet all at once: neighbours, where they lie for summing.
#[derive(Debug)]
pub(super) struct Run {
    places: Range<u32>,
    /// The commonest byte of each.
    common: Vec<u8>,
    /// The part of the docs that is quiet, about.
    share: f32,
}

/// Which columns are to lie together.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The columns of each run, and the part of the docs that is quiet there.
    pub(super) runs: Vec<(Vec<u32>, f32)>,
    pub(super) rest: Vec<u32>,
    /// The commonest byte of each column of the table.
    pub(super) common: Vec<u8>,
}

impl Plan {
    /// No runs.
    pub(super) fn plain(width: usize) -> Self {
        Self { rest: (0..width as u32).collect(), ..Self::default() }
    }
}

/// A run that is being drawn up.
struct Draft {
    columns: Vec<u32>,
    /// A bit for each doc of the sample.
    loud: Vec<u64>,
    num_quiet: usize,
}

impl Quiet {
    /// The columns of each run of a table, the largest run first, and all others.
    pub(super) fn plan(matrix: &Matrix) -> Plan {
        if matrix.num_rows() < LEAST_LOUD {
            return Plan::plain(matrix.width());
        }
        let sample = Sample::of(matrix);
        let mut runs = sample.drafts();
        runs.sort_by_key(|run| (Reverse(run.columns.len()), run.columns[0]));
        let mut is_free = vec![true; matrix.width()];
        for run in &mut runs {
            run.columns.sort_unstable();
            for &column in &run.columns {
                is_free[column as usize] = false;
            }
        }
        let share = |run: &Draft| run.num_quiet as f32 / sample.docs.len() as f32;
        Plan {
            runs: runs.iter().map(|run| (run.columns.clone(), share(run))).collect(),
            rest: (0..).zip(is_free).filter(|(_, is)| *is).map(|(column, _)| column).collect(),
            common: sample.common,
        }
    }

    /// The runs of a plan, of which nobody has found out who is loud, where their columns lie.
    pub(super) fn of(plan: &Plan, places: &[Range<u32>]) -> Self {
        let run = |((columns, share), places): (&(Vec<u32>, f32), &Range<u32>)| Run {
            places: places.clone(),
            common: columns.iter().map(|&column| plan.common[column as usize]).collect(),
            share: *share,
        };
        Self { runs: plan.runs.iter().zip(places).map(run).collect(), loud: Vec::new() }
    }

    /// Finds out who is loud; `cells` gives those of a doc in neighbouring places of one strip, from a
    /// first place on up to an end at most.
    pub(super) fn listen<'c>(
        &mut self,
        num_docs: usize,
        cells: impl Fn(usize, Range<u32>) -> &'c [u8] + Sync,
    ) {
        if self.runs.is_empty() {
            return;
        }
        let runs = &self.runs;
        let is_loud = |run: &Run, doc: usize| {
            let (mut common, mut places) = (&run.common[..], run.places.clone());
            while !places.is_empty() {
                let found = cells(doc, places.clone());
                let (here, after) = common.split_at(found.len());
                if found != here {
                    return true;
                }
                (common, places.start) = (after, places.start + found.len() as u32);
            }
            false
        };
        self.loud.resize(num_docs, 0);
        let tasks = self.loud.par_chunks_mut(DOCS_A_TASK).enumerate();
        tasks.for_each(|(task, loud)| {
            for (doc, loud) in (task * DOCS_A_TASK..).zip(loud) {
                let bits = runs.iter().zip(0..).filter(|(run, _)| is_loud(run, doc));
                *loud = bits.fold(0, |bits, (_, run)| bits | 1 << run);
            }
        });
    }

    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// For each doc a bit for each run that it is loud in; empty where there are no runs.
    pub(super) fn loud(&self) -> &[u32] {
        &self.loud
    }
}

impl Run {
    pub(super) fn places(&self) -> Range<u32> {
        self.places.clone()
    }

    /// Whether leaving out quiet docs pays for so many of its columns.
    pub(super) fn pays(&self, num_columns: usize) -> bool {
        num_columns as f32 * self.share >= 1.5
    }

    /// The commonest byte in a place of the run.
    pub(super) fn common(&self, place: u32) -> usize {
        usize::from(self.common[(place - self.places.start) as usize])
    }
}

/// Docs from all over the table.
struct Sample<'a> {
    matrix: &'a Matrix,
    docs: Vec<u32>,
    /// The commonest byte of each column.
    common: Vec<u8>,
}

impl<'a> Sample<'a> {
    fn of(matrix: &'a Matrix) -> Self {
        let num_docs = matrix.num_rows();
        let len = num_docs.min(SAMPLE);
        let docs: Vec<u32> = (0..len).map(|i| (i * num_docs / len) as u32).collect();
        let commonest = |column| {
            let cells = matrix.column(column);
            let mut counts = [0u16; 256];
            for &doc in &docs {
                counts[usize::from(cells[doc as usize])] += 1;
            }
            let most = counts.iter().copied().max();
            counts.iter().position(|&count| Some(count) == most).unwrap_or(0) as u8
        };
        Self { common: (0..matrix.width()).into_par_iter().map(commonest).collect(), matrix, docs }
    }

    /// Columns of nearly the same quiet docs together; then those two become one, again and again, that
    /// gain most by it.
    fn drafts(&self) -> Vec<Draft> {
        let mut runs: Vec<Draft> = Vec::new();
        let mut others: Vec<Draft> = Vec::new();
        for draft in self.of_same_docs() {
            // What they lose by each other is next to nothing.
            let is_close = |other: &Draft| {
                let both = other.saved() + draft.saved();
                20 * (both - self.saved(other, &draft)) < draft.saved()
            };
            match runs.iter().position(is_close) {
                Some(at) => self.join(&mut runs[at], &draft),
                None if runs.len() < MOST_DRAFTS => runs.push(draft),
                None => others.push(draft),
            }
        }
        let cost = COST * self.docs.len();
        let pairs = |num: usize| (0..num).flat_map(move |b| (0..b).map(move |a| (a, b)));
        let net = |saved: usize| saved.saturating_sub(cost);
        let gain = |a: &Draft, b: &Draft| {
            net(self.saved(a, b)).saturating_sub(net(a.saved()) + net(b.saved()))
        };
        loop {
            let gains = pairs(runs.len()).map(|(a, b)| (gain(&runs[a], &runs[b]), (a, b)));
            let Some((1.., (a, b))) = gains.max_by_key(|&(gain, (a, b))| (gain, Reverse((a, b))))
            else {
                break;
            };
            let draft = runs.swap_remove(b);
            self.join(&mut runs[a], &draft);
        }
        runs.sort_by_key(Draft::rank);
        let num_runs = runs.iter().take(MOST_RUNS).take_while(|run| run.saved() > cost).count();
        others.extend(runs.drain(num_runs..));
        for draft in others {
            let gain = |run: &Draft| self.saved(run, &draft).saturating_sub(run.saved());
            if let Some(run) =
                runs.iter_mut().max_by_key(|run| gain(run)).filter(|run| gain(run) > 0)
            {
                self.join(run, &draft);
            }
        }
        runs
    }

    /// The columns that have many quiet docs, those with the same ones together, the largest first.
    fn of_same_docs(&self) -> Vec<Draft> {
        let bits = |(column, &common): (usize, &u8)| {
            let cells = self.matrix.column(column);
            let mut loud = vec![0; self.docs.len().div_ceil(64)];
            for (i, &doc) in self.docs.iter().enumerate() {
                loud[i / 64] |= u64::from(cells[doc as usize] != common) << (i % 64);
            }
            loud
        };
        let all: Vec<Vec<u64>> = self.common.par_iter().enumerate().map(bits).collect();
        let mut alike: BTreeMap<Vec<u64>, Vec<u32>> = BTreeMap::new();
        for (column, loud) in (0..).zip(all) {
            alike.entry(loud).or_default().push(column);
        }
        let drafts = alike.into_iter().map(|(loud, columns)| {
            let num_quiet = self.num_quiet(&loud);
            Draft { columns, loud, num_quiet }
        });
        let mut drafts: Vec<_> =
            drafts.filter(|draft| draft.num_quiet * LEAST_QUIET > self.docs.len()).collect();
        drafts.sort_by_key(Draft::rank);
        drafts
    }

    /// What two would save as one.
    fn saved(&self, run: &Draft, other: &Draft) -> usize {
        let bits = run.loud.iter().zip(&other.loud);
        let num_loud: u32 = bits.map(|(a, b)| (a | b).count_ones()).sum();
        (run.columns.len() + other.columns.len()) * (self.docs.len() - num_loud as usize)
    }

    fn join(&self, run: &mut Draft, other: &Draft) {
        run.columns.extend(&other.columns);
        run.loud.iter_mut().zip(&other.loud).for_each(|(own, other)| *own |= other);
        run.num_quiet = self.num_quiet(&run.loud);
    }

    fn num_quiet(&self, loud: &[u64]) -> usize {
        let num_loud: u32 = loud.iter().map(|bits| bits.count_ones()).sum();
        self.docs.len() - num_loud as usize
    }
}

impl Draft {
    /// The cells of the sample that need not be added up.
    fn saved(&self) -> usize {
        self.columns.len() * self.num_quiet
    }

    /// The largest first.
    fn rank(&self) -> (usize, u32) {
        (usize::MAX - self.saved(), self.columns[0])
    }
}
