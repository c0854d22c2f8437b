//! The scorer: a model compiled for fast evaluation of rows.
//!
//! A [`Scorer`] turns each value into a byte, its *code*: the number of the model's thresholds of that
//! feature below it (`plan`, `search`). A split is then a comparison of two bytes. For a block of docs
//! every split of a tree is evaluated, without a branch: with AVX-512 all
//! comparisons first, to a bit a doc, and then a circuit of bits a tree (`leaf_numbers`, `bit_circuit`); else,
//! or for at most 64 docs, children first, a byte a doc (`byte_circuit`): a split passes on the leaf number that its
//! left or its right child found. One to a few docs, and very large trees, walk instead (`walk`).
//!
//! All ways find the leaf that [`Tree::leaf_of`](super::Tree::leaf_of) finds, and
//! leaf values are summed per doc in the order of the model, in `f64`: every path, block size,
//! number of threads and instruction set gives the same bits.
//!
//! A scorer is immutable: threads share it without locks. Each thread keeps one scratch space, so that a
//! call does not allocate once a thread has made one as large.

mod bit_circuit;
mod block;
mod byte_circuit;
mod classes;
mod kernel;
mod leaf_numbers;
mod plan;
mod precomputed;
mod program;
mod rows;
mod search;
mod walk;

pub use classes::ClassScorer;
pub use rows::Value;

use super::composite::{Component, Model};
use super::normalisation::{Normalisation, check_bounds};
use super::parallel;
use super::parts::{Forest, Stack};
use super::ranks;
use crate::error::{Error, Result};
use crate::simd::Level;
use block::{BlockContext, ScorerScratch};
use kernel::Kernels;
use plan::{CodePlan, CodePlanner, Search};
use precomputed::{PrecomputedParts, RankerPool};
use program::Program;
pub(super) use program::{ScoreMap, SumStep};
use rows::ScorerRows;

/// The most docs of a block.
const BLOCK: usize = 512;
/// The most docs that walk down trees at once.
const FEW: usize = 8;
/// The work, in operations times docs, from which another thread is worth waking.
const WORTH_A_THREAD: usize = 4_000_000;

/// A model made ready to score.
#[derive(Debug)]
pub struct Scorer {
    num_features: usize,
    /// Whether the second half of the features must be worked out from a row's values.
    ranks: bool,
    kernels: Kernels,
    searches: Vec<Search>,
    /// The number of columns of codes that they fill.
    columns: usize,
    program: Program,
    /// Up to so many docs walk down the trees.
    few: usize,
    /// The parts that are scored before the sum.
    precomputed: PrecomputedParts,
}

impl Model {
    /// The model made ready to score. It takes about as long as to score some hundred docs.
    pub fn scorer(&self) -> Scorer {
        Scorer::at_level(self, Level::best())
    }
}

impl Scorer {
    /// The same scores with the instructions of `level`, for tests and benches; the portable ones
    /// if this machine does not have them.
    pub fn at_level(model: &Model, level: Level) -> Self {
        Self { ranks: model.ranks_features(), ..Self::of_all_features(model, level) }
    }

    /// A scorer of rows that have all features, ranks too.
    fn of_all_features(model: &Model, level: Level) -> Self {
        let pool = RankerPool::of(model);
        let mut planner = CodePlanner::default();
        visit(model, &pool, &mut |forest| planner.add(forest));
        let kernels = Kernels::new(level);
        let precomputed = pool.scorers(level);
        let (plan, program) = (planner.finish(), Program::new(kernels.has_planes()));
        let mut builder = ScorerBuilder { level, plan, program, precomputed, pool };
        builder.model(model);
        let ScorerBuilder { plan, mut program, precomputed, .. } = builder;
        program.finish();
        let num_features = model.num_features();
        let few = program.few(kernels.picoseconds());
        let CodePlan { searches, columns, .. } = plan;
        Self { num_features, ranks: false, kernels, searches, columns, program, few, precomputed }
    }

    /// The number of values in a row.
    pub fn num_features(&self) -> usize {
        if self.ranks { self.num_features / 2 } else { self.num_features }
    }

    /// Whether scores depend on the other docs of the query: then only
    /// [`score_queries`](Self::score_queries) gives them.
    pub fn needs_queries(&self) -> bool {
        self.ranks || self.precomputed.needs_queries()
    }

    /// Scores rows, one after the other in `rows`; large tables on the current rayon pool.
    pub fn score<T: Value>(&self, rows: &[T], scores: &mut [f64]) -> Result<()> {
        if self.needs_queries() {
            return Err(no_queries(self.ranks));
        }
        self.check_rows(rows, scores.len())?;
        if self.precomputed.is_empty() {
            self.run(rows, scores, &[]);
            return Ok(());
        }
        // Any bounds will do, and some let more than one thread help.
        let bounds: Vec<usize> =
            (0..scores.len()).step_by(2 * BLOCK).chain([scores.len()]).collect();
        self.score_wide(rows, &bounds, scores)
    }

    /// Scores rows of queries: query `i` has the rows `bounds[i]..bounds[i + 1]`.
    pub fn score_queries<T: Value>(
        &self,
        rows: &[T],
        bounds: &[usize],
        scores: &mut [f64],
    ) -> Result<()> {
        self.check_rows(rows, scores.len())?;
        check_bounds(bounds, scores.len())?;
        if self.ranks {
            return ranks::by_queries(rows, bounds, scores, |wide, bounds, scores| {
                self.score_wide(wide, bounds, scores)
            });
        }
        self.score_wide(rows, bounds, scores)
    }

    /// Scores rows that have all features.
    fn score_wide<T: Value>(&self, rows: &[T], bounds: &[usize], scores: &mut [f64]) -> Result<()> {
        self.run(rows, scores, &self.precomputed.score(rows, bounds)?);
        Ok(())
    }

    /// The score of one row.
    pub fn score_row<T: Value>(&self, row: &[T]) -> Result<f64> {
        let mut score = [0.0];
        self.score(row, &mut score)?;
        Ok(score[0])
    }

    /// Whether so many rows are scored on the calling thread, whatever the pool: within about a
    /// millisecond.
    pub fn is_short(&self, docs: usize) -> bool {
        self.work(docs) < 2 * WORTH_A_THREAD
    }

    fn work(&self, docs: usize) -> usize {
        docs.saturating_mul(self.program.num_ops()).saturating_add(self.precomputed.work(docs))
    }

    fn check_rows<T>(&self, values: &[T], count: usize) -> Result<()> {
        let width = self.num_features();
        if width.checked_mul(count) == Some(values.len()) {
            return Ok(());
        }
        let what = format!("the model has {width} features");
        let got = match values.len().checked_div(count) {
            Some(each) if each * count == values.len() => format!("{each} a row"),
            _ => format!("{} values in {count} rows", values.len()),
        };
        Err(Error::data("score.features", what).got(got))
    }

    fn run<T: Value>(&self, values: &[T], scores: &mut [f64], parts: &[Vec<f64>]) {
        let rows = ScorerRows { values, width: self.num_features };
        let docs = scores.len();
        let worth = self.work(docs) / WORTH_A_THREAD;
        // Asking for the number of threads may start them.
        let threads = if worth < 2 { 1 } else { worth.min(parallel::num_threads()) };
        let block = |scratch: &mut ScorerScratch, first, scores: &mut [f64]| {
            let context = BlockContext { rows: rows.skip(first), first, docs: scores.len(), parts };
            self.block(scratch, &context, scores);
        };
        if threads < 2 || docs <= 64 {
            let each = if docs <= self.few { FEW } else { self.kernels.block() };
            return ScorerScratch::with(|scratch| {
                for (i, scores) in scores.chunks_mut(each).enumerate() {
                    block(scratch, i * each, scores);
                }
            });
        }
        // The last blocks decide when all are done: no thread should have one more than another.
        let each = docs.div_ceil(threads).next_multiple_of(64).min(self.kernels.block());
        parallel::for_each_chunk(scores, each, |i, scores| {
            ScorerScratch::with(|scratch| block(scratch, i * each, scores));
        });
    }
}

/// Calls `see` with all forests of a model in order, those of models inside it too, but not with forests of
/// precomputed parts.
fn visit<'a>(model: &'a Model, pool: &RankerPool<'a>, see: &mut impl FnMut(&'a Forest)) {
    for component in model.components() {
        if pool.shared(component).is_some() {
            continue;
        }
        if let Some(inner) = component.part.kind().inner() {
            visit(inner, pool, see);
        }
        component.part.forests().iter().for_each(&mut *see);
    }
}

/// A scorer being built: what the parts of a model add their terms to.
pub(super) struct ScorerBuilder<'a> {
    level: Level,
    plan: CodePlan<'a>,
    /// The steps so far, for parts to add theirs.
    pub(super) program: Program,
    precomputed: PrecomputedParts,
    pool: RankerPool<'a>,
}

impl<'a> ScorerBuilder<'a> {
    /// Adds all terms of a model to the sum, as `composite` says.
    pub(super) fn model(&mut self, model: &'a Model) {
        self.program.push(SumStep::Add(model.intercept()));
        for component in model.components() {
            if let Some(ranker) = self.pool.shared(component) {
                self.shared(ranker, component);
            } else if component.is_plain() {
                component.part.kind().build(self);
            } else {
                self.program.open();
                component.part.kind().build(self);
                self.close_component(component);
            }
        }
    }

    /// Adds the leaf values of trees to the sum.
    pub(super) fn forest(&mut self, forest: &'a Forest) {
        for tree in forest.trees() {
            self.program.tree(&mut self.plan, forest, tree);
        }
    }

    /// Adds the score of a stack to the sum.
    pub(super) fn stack(&mut self, stack: &'a Stack) {
        let part = self.precomputed.push_stack(&self.pool, stack, self.level);
        self.program.push(SumStep::Precomputed { part, weight: 1.0 });
    }

    /// Starts a new sum on top, with a first term.
    pub(super) fn open(&mut self, start: f64) {
        self.program.open();
        self.program.push(SumStep::Add(start));
    }

    /// Adds a component whose scores are those of a ranker of the pool.
    fn shared(&mut self, ranker: usize, component: &Component) {
        let (weight, normalisation) = (component.weight, component.normalisation);
        if normalisation.needs_queries() || normalisation == Normalisation::AsIs {
            let part = self.precomputed.push(ranker, normalisation);
            return self.program.push(SumStep::Precomputed { part, weight });
        }
        let part = self.precomputed.push(ranker, Normalisation::AsIs);
        self.program.open();
        self.program.push(SumStep::Precomputed { part, weight: 1.0 });
        self.close_component(component);
    }

    /// Adds the sum on top to that below, as a component says.
    fn close_component(&mut self, component: &Component) {
        if let Normalisation::Fixed { mean, scale } = component.normalisation {
            return self.program.close(component.weight, mean, scale);
        }
        if component.normalisation == Normalisation::Logistic {
            self.program.push(SumStep::Map(Box::new(component.normalisation)));
        }
        self.program.close(component.weight, 0.0, 1.0);
    }
}

/// The error of rows without queries, for a model that needs them.
pub(super) fn no_queries(ranks: bool) -> Error {
    let (what, other) = if ranks {
        let other = "; a model of rr.Dataset(..., query_ranks=False) needs no queries";
        ("this model ranks features within queries", other)
    } else {
        ("this model's scores depend on the other docs of the query", "")
    };
    Error::param("score.queries", what).hint(format!(
        "say which docs form a query: with qid=, with group=[len(X)] if all rows are of one query, or as a \
         Dataset{other}"
    ))
}
