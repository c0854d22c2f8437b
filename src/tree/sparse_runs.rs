//! Skips runs of columns in which a document has only dominant bins.
//!
//! The *dominant* byte of a column is its most frequent one. All features of a text field are zero
//! for a document without that field, so many documents have the dominant byte in many columns at
//! once. A *run* is a set of such columns. A document is *active* in a run if any of its bytes
//! there is not dominant. Histograms of a run sum the active documents only; the inactive ones all
//! add to the dominant bytes, and what they add is the difference between the node's total and the
//! column's sum.
//!
//! Invariant: sums are integers, so the result does not depend on the choice of runs. Runs are
//! chosen from a sample of the documents; a poor choice costs time but is never wrong.

use super::histogram::MIN_DOCS_FOR_RUNS;
use crate::binning::BinnedMatrix;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

/// The number of sampled documents from which runs are chosen.
const SAMPLE: usize = 4096;
/// The most runs: each document has a bit per run.
const MAX_RUNS: usize = 32;
/// The most drafts that are kept before they are merged.
const MAX_DRAFTS: usize = 64;
/// The cost of a run per document, as a number of cell additions.
const COST: usize = 3;
/// A column can be in a run only if more than one document in this many has its dominant byte.
const MIN_INACTIVE: usize = 32;
/// Documents per task.
const DOCS_A_TASK: usize = 1 << 13;

/// The runs of a table, and the documents that are active in them.
#[derive(Debug, Default)]
pub(super) struct SparseRuns {
    pub(super) runs: Vec<SparseRun>,
    /// For each document a bit per run in which it is active; empty if there are no runs.
    pub(super) active: Vec<u32>,
}

/// Columns in which many documents have only dominant bytes. They are neighbours in the strips.
#[derive(Debug)]
pub(super) struct SparseRun {
    /// The columns of the table, ascending.
    pub(super) columns: Vec<u32>,
    /// Their positions in the strips.
    pub(super) positions: Range<u32>,
    /// The dominant byte of each column.
    pub(super) dominant: Vec<u8>,
    /// The approximate share of the documents that are inactive.
    pub(super) share: f32,
}

/// A candidate run.
struct RunDraft {
    columns: Vec<u32>,
    /// A bit for each sampled document.
    active: Vec<u64>,
    num_inactive: usize,
}

impl SparseRuns {
    /// Chooses the runs of a table, the largest run first. They have no positions yet.
    pub(super) fn of(matrix: &BinnedMatrix) -> Self {
        if matrix.num_rows() < MIN_DOCS_FOR_RUNS {
            return Self::default();
        }
        let sample = DocSample::of(matrix);
        let mut drafts = sample.drafts();
        drafts.sort_by_key(|run| (Reverse(run.columns.len()), run.columns[0]));
        let run = |RunDraft { mut columns, num_inactive, .. }: RunDraft| {
            columns.sort_unstable();
            let dominant = columns.iter().map(|&column| sample.dominant[column as usize]);
            let dominant = dominant.collect();
            let share = num_inactive as f32 / sample.docs.len() as f32;
            SparseRun { columns, positions: 0..0, dominant, share }
        };
        let runs: Vec<SparseRun> = drafts.into_iter().map(run).collect();
        let mut active = vec![0; if runs.is_empty() { 0 } else { matrix.num_rows() }];
        active.par_chunks_mut(DOCS_A_TASK).enumerate().for_each(|(task, active)| {
            for (bit, run) in runs.iter().enumerate() {
                for (&column, &dominant) in run.columns.iter().zip(&run.dominant) {
                    let cells = &matrix.column(column as usize)[task * DOCS_A_TASK..];
                    for (active, &cell) in active.iter_mut().zip(cells) {
                        *active |= u32::from(cell != dominant) << bit;
                    }
                }
            }
        });
        Self { runs, active }
    }
}

impl SparseRun {
    /// Whether skipping inactive documents saves time for this many columns of the run.
    pub(super) fn pays(&self, num_columns: usize) -> bool {
        num_columns as f32 * self.share >= 1.5
    }

    /// The dominant byte at a position of the run.
    pub(super) fn dominant(&self, position: u32) -> usize {
        usize::from(self.dominant[(position - self.positions.start) as usize])
    }
}

/// Documents spread evenly over the table.
struct DocSample<'a> {
    matrix: &'a BinnedMatrix,
    docs: Vec<u32>,
    /// The dominant byte of each column.
    dominant: Vec<u8>,
}

impl<'a> DocSample<'a> {
    fn of(matrix: &'a BinnedMatrix) -> Self {
        let num_docs = matrix.num_rows();
        let len = num_docs.min(SAMPLE);
        let docs: Vec<u32> = (0..len).map(|i| (i * num_docs / len) as u32).collect();
        let dominant_byte = |column| {
            let cells = matrix.column(column);
            let mut counts = [0u16; 256];
            for &doc in &docs {
                counts[usize::from(cells[doc as usize])] += 1;
            }
            let most = counts.iter().copied().max();
            counts.iter().position(|&count| Some(count) == most).unwrap_or(0) as u8
        };
        Self {
            dominant: (0..matrix.width()).into_par_iter().map(dominant_byte).collect(),
            matrix,
            docs,
        }
    }

    /// Groups columns with nearly the same inactive documents, then merges the pair of groups that
    /// saves most until no merge saves anything.
    fn drafts(&self) -> Vec<RunDraft> {
        let mut runs: Vec<RunDraft> = Vec::new();
        let mut others: Vec<RunDraft> = Vec::new();
        for draft in self.of_same_docs() {
            // Merging them loses next to nothing.
            let is_close = |other: &RunDraft| {
                let both = other.saved() + draft.saved();
                20 * (both - self.saved(other, &draft)) < draft.saved()
            };
            match runs.iter().position(is_close) {
                Some(at) => self.join(&mut runs[at], &draft),
                None if runs.len() < MAX_DRAFTS => runs.push(draft),
                None => others.push(draft),
            }
        }
        let cost = COST * self.docs.len();
        let pairs = |num: usize| (0..num).flat_map(move |b| (0..b).map(move |a| (a, b)));
        let net = |saved: usize| saved.saturating_sub(cost);
        let gain = |a: &RunDraft, b: &RunDraft| {
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
        runs.sort_by_key(RunDraft::sort_key);
        let num_runs = runs.iter().take(MAX_RUNS).take_while(|run| run.saved() > cost).count();
        others.extend(runs.drain(num_runs..));
        for draft in others {
            let gain = |run: &RunDraft| self.saved(run, &draft).saturating_sub(run.saved());
            if let Some(run) =
                runs.iter_mut().max_by_key(|run| gain(run)).filter(|run| gain(run) > 0)
            {
                self.join(run, &draft);
            }
        }
        runs
    }

    /// Columns with many inactive documents, grouped by equal sets of these, the largest saving
    /// first.
    fn of_same_docs(&self) -> Vec<RunDraft> {
        let bits = |(column, &dominant): (usize, &u8)| {
            let cells = self.matrix.column(column);
            let mut active = vec![0; self.docs.len().div_ceil(64)];
            for (i, &doc) in self.docs.iter().enumerate() {
                active[i / 64] |= u64::from(cells[doc as usize] != dominant) << (i % 64);
            }
            active
        };
        let all: Vec<Vec<u64>> = self.dominant.par_iter().enumerate().map(bits).collect();
        let mut alike: BTreeMap<Vec<u64>, Vec<u32>> = BTreeMap::new();
        for (column, active) in (0..).zip(all) {
            alike.entry(active).or_default().push(column);
        }
        let drafts = alike.into_iter().map(|(active, columns)| {
            let num_inactive = self.num_inactive(&active);
            RunDraft { columns, active, num_inactive }
        });
        let mut drafts: Vec<_> =
            drafts.filter(|draft| draft.num_inactive * MIN_INACTIVE > self.docs.len()).collect();
        drafts.sort_by_key(RunDraft::sort_key);
        drafts
    }

    /// The number of sampled cells that two drafts would save if they were one.
    fn saved(&self, run: &RunDraft, other: &RunDraft) -> usize {
        let bits = run.active.iter().zip(&other.active);
        let num_active: u32 = bits.map(|(a, b)| (a | b).count_ones()).sum();
        (run.columns.len() + other.columns.len()) * (self.docs.len() - num_active as usize)
    }

    fn join(&self, run: &mut RunDraft, other: &RunDraft) {
        run.columns.extend(&other.columns);
        run.active.iter_mut().zip(&other.active).for_each(|(own, other)| *own |= other);
        run.num_inactive = self.num_inactive(&run.active);
    }

    fn num_inactive(&self, active: &[u64]) -> usize {
        let num_active: u32 = active.iter().map(|bits| bits.count_ones()).sum();
        self.docs.len() - num_active as usize
    }
}

impl RunDraft {
    /// The number of sampled cells that need not be added.
    fn saved(&self) -> usize {
        self.columns.len() * self.num_inactive
    }

    /// A sort key: the largest saving first.
    fn sort_key(&self) -> (usize, u32) {
        (usize::MAX - self.saved(), self.columns[0])
    }
}
