//! Gradients from the pairs of docs of a query, for `LambdaRank` and `RankNet`.
//!
//! The best score of a query is subtracted from its scores, which are then rounded to 32 bits; docs whose
//! scores are then equal are tied. Sums over pairs have 32 bits and an order given by ranks alone.

use super::augment::for_each_query_and_copy;
use super::kernel::{self, Column, GAP, Pairs, SIGN, TWO, WIDE, WIDEST};
use super::options::{LambdaOptions, PairNormaliser, QueryNormaliser, TiedPairs};
use super::pair_gains::{PairGains, PairLabels};
use super::pair_weights::{PairTables, RankDiscounts};
use super::ranks::RankedDocs;
use super::tasks::Query;
use super::{GradientCall, Objective, tied_pairs};
use crate::Interrupt;
use crate::error::Result;
use crate::gradient::Gradient;
use crate::metric::{LabelFacts, PairWeights, PreparedMetric, SwapDelta, place_in_query};
use crate::random;
use crate::simd::Level;

/// Separates these random draws from others with the same seed.
const PURPOSE: u64 = u64::from_le_bytes(*b"rrlambda");

/// A loss of the pairs of documents, `WEIGHTED` by a metric or all alike.
#[derive(Debug, Clone)]
pub struct PairLoss<const WEIGHTED: bool> {
    options: LambdaOptions,
    level: Level,
}

impl<const WEIGHTED: bool> PairLoss<WEIGHTED> {
    /// The objective, if the options are in range.
    pub fn new(options: LambdaOptions) -> Result<Self> {
        options.check()?;
        Ok(Self { options, level: Level::best() })
    }

    /// With the kernels of a level that may not be the best; the gradients are the same bits.
    #[must_use]
    pub fn at_level(self, level: Level) -> Self {
        Self { level, ..self }
    }
}

impl<const WEIGHTED: bool> Objective for PairLoss<WEIGHTED> {
    fn compute(&self, call: GradientCall<'_>, gradients: &mut [Gradient]) -> Result<()> {
        let metric = &self.options.metric;
        let rule = if WEIGHTED { metric.pair_weights() } else { PairWeights::Equal };
        self::gradients(&self.options, rule, self.level, call, gradients)
    }

    fn of_part(&self, max_label: f32, _words: &[u64]) -> Option<Box<dyn Objective>> {
        let metric = self.options.metric.with_largest_label(max_label).ok()?;
        Some(Box::new(Self { options: LambdaOptions { metric, ..self.options.clone() }, ..*self }))
    }

    fn needs_pairs(&self) -> bool {
        true
    }
}

/// So many pairs of a query are added between looks at the interrupt: some hundredths of a second.
const PAIRS: usize = 1 << 27;

/// What all queries of a call share.
struct LambdaTask<'a> {
    options: &'a LambdaOptions,
    level: Level,
    rule: PairWeights,
    labels: PairLabels<'a>,
    swap: Option<SwapDelta>,
    ranks: &'a RankDiscounts,
    /// Tied docs are put into a drawn order.
    drawn: bool,
}

/// The gradients of all docs.
fn gradients(
    options: &LambdaOptions,
    rule: PairWeights,
    level: Level,
    call: GradientCall<'_>,
    gradients: &mut [Gradient],
) -> Result<()> {
    let target = call.target;
    call.check(gradients)?;
    let place = |error| place_in_query(error, |row| target.queries.of_doc(row));
    let facts = LabelFacts::scan(target.labels).map_err(place)?;
    let metric = match rule {
        PairWeights::Equal => None,
        _ => Some(PreparedMetric::new(&options.metric, target.labels, facts).map_err(place)?),
    };
    let swap = match rule {
        PairWeights::SwapDeltas => Some(options.metric.swap_delta(target.labels)?),
        _ => None,
    };
    let longest = target.queries.ranges().map(|docs| docs.len()).max().unwrap_or_default();
    let ranks = RankDiscounts::new(metric.as_ref(), options.pairs_to, longest);
    let drawn = options.noise.is_some() || options.ties == TiedPairs::Drawn || !rule.expects_ties();
    let copies = options.noise.map_or(1, |noise| noise.copies) as u64;
    let depth = ranks.limits.depth;
    let cost = |docs: usize| docs as u64 * (copies * (20 + docs.min(depth) as u64 / 4));
    // Swap deltas read labels as they are.
    let metric = metric.as_ref().filter(|_| swap.is_none());
    let ideal_to = options.ideal_to.unwrap_or(usize::MAX);
    let labels = PairLabels { metric, ranks: &ranks, ideal_to, facts };
    let task = LambdaTask { options, level, rule, labels, swap, ranks: &ranks, drawn };
    let one = |buffers: &mut LambdaBuffers, query: Query<'_>, gradients: &mut [Gradient]| {
        buffers.gradients(&task, query, gradients)
    };
    for_each_query_and_copy((options.augment, options.seed), call, gradients, cost, one)
}

/// The buffers of a thread. Columns are by doc or by rank.
#[derive(Debug, Default)]
struct LambdaBuffers {
    gains: PairGains,
    order: RankedDocs,
    tables: PairTables,
    swap: Option<SwapDelta>,
    /// By doc: scores below the best one, their exponentials, and what ranks are from.
    clean: Column<f32>,
    exp: Column<f32>,
    perturbed: Column<f32>,
    /// By rank.
    ranked: RankColumns,
    /// By doc, over all copies: grad and hess, but for the factor sigma.
    sums: Vec<[f32; 2]>,
    /// The sum of the magnitudes of all lambdas.
    total: f64,
    /// For [`PairWeights::SwapDeltas`]: scores by rank and a row of deltas.
    rank_scores: Vec<f64>,
    deltas: Vec<f64>,
}

#[derive(Debug, Default)]
struct RankColumns {
    score: Column<f32>,
    exp: Column<f32>,
    gain: Column<f32>,
    grad: Column<f32>,
    hess: Column<f32>,
}

impl LambdaBuffers {
    fn gradients(
        &mut self,
        task: &LambdaTask<'_>,
        query: Query<'_>,
        gradients: &mut [Gradient],
    ) -> Result<()> {
        if !self.gains.load(&task.labels, query.labels) {
            gradients.fill(Gradient::default());
            return query.check_scores();
        }
        let shape = self.shape(task, query)?;
        self.sums.resize(query.scores.len(), [0.0; 2]);
        self.total = 0.0;
        let copies = task.options.noise.map_or(1, |noise| noise.copies);
        for copy in 0..copies as u64 {
            self.rank(task, query, copy);
            self.weigh(task, query)?;
            self.add_pairs(task, shape, query.interrupt)?;
            self.collect(copy == 0);
        }
        let sigma = task.options.sigma;
        let mut scale = 1.0 / copies as f64;
        if task.options.query_normaliser == QueryNormaliser::LogSum {
            let sum = 2.0 * sigma * self.total * scale;
            scale *= if sum > 0.0 { (1.0 + sum).log2() / sum } else { 1.0 };
        }
        query.write(&self.sums, [sigma * scale, sigma * sigma * scale], gradients)
    }

    /// Reads the scores; returns which variant of the pair loop to run.
    fn shape(&mut self, task: &LambdaTask<'_>, query: Query<'_>) -> Result<usize> {
        self.clean.reserve(query.scores.len());
        let (worst, all_finite) = kernel::shift(task.level, query.scores, &mut self.clean);
        if !all_finite {
            query.check_scores()?;
        }
        let sigma = task.options.sigma as f32;
        let mut shape = match task.rule {
            PairWeights::Equal | PairWeights::SwapDeltas => SIGN,
            PairWeights::Tables(tables) if tables.two_directions => TWO,
            PairWeights::Tables(_) | PairWeights::Discounts => 0,
        };
        if task.options.pair_normaliser == PairNormaliser::ScoreGap && worst < 0.0 {
            shape |= GAP;
        }
        self.exp.reserve(query.scores.len());
        if worst * sigma < -WIDEST {
            self.exp.reset(query.scores.len(), 1.0);
            shape |= WIDE;
        } else {
            kernel::exps(task.level, sigma, &self.clean, &mut self.exp);
        }
        Ok(shape)
    }

    /// Ranks the docs by the scores of one copy.
    fn rank(&mut self, task: &LambdaTask<'_>, query: Query<'_>, copy: u64) {
        let num_docs = query.scores.len();
        let stream = random::start(task.options.seed ^ PURPOSE, query.round << 8 | copy);
        let mut scores = &self.clean;
        if let Some(noise) = task.options.noise {
            self.perturbed.reset_tail(num_docs, f32::NEG_INFINITY);
            let docs = (query.doc_hash, &self.clean[..num_docs]);
            let noise = (noise.scale as f32, stream);
            kernel::perturb(task.level, noise, docs, &mut self.perturbed[..num_docs]);
            scores = &self.perturbed;
        }
        self.order.rank(task.level, scores, num_docs);
        if task.drawn {
            let draw = |doc: u32| random::draw_in(stream, query.doc_hash[doc as usize]);
            self.order.order_by_draw(&self.gains.gain, draw);
        } else {
            self.order.order_by_gain(&self.gains.gain);
        }
    }

    /// Copies the columns into the order of ranks and fills the pair weights.
    fn weigh(&mut self, task: &LambdaTask<'_>, query: Query<'_>) -> Result<()> {
        let num_docs = query.scores.len();
        let RankColumns { score, exp, gain, grad, hess } = &mut self.ranked;
        score.reset_tail(num_docs, 0.0);
        exp.reset_tail(num_docs, 1.0);
        gain.reset_tail(num_docs, 0.0);
        grad.reset(num_docs, 0.0);
        hess.reset(num_docs, 0.0);
        let from = (&self.clean[..num_docs], &self.exp[..num_docs], &self.gains.gain[..num_docs]);
        let into = score.iter_mut().zip(exp.iter_mut()).zip(gain.iter_mut());
        for (((score, exp), gain), &doc) in into.zip(&self.order.docs) {
            let doc = doc as usize;
            (*score, *exp, *gain) = (from.0[doc], from.1[doc], from.2[doc]);
        }
        let blocks = if task.drawn { &[] } else { &self.order.blocks[..] };
        self.tables.fill(task.rule, task.ranks, &gain[..num_docs], blocks);
        if self.swap.is_none() {
            self.swap.clone_from(&task.swap);
        }
        if let Some(swap) = &mut self.swap {
            self.rank_scores.clear();
            self.rank_scores.extend((0..num_docs).map(|rank| -(rank as f64)));
            let labels = &gain[..num_docs];
            swap.prepare(&self.rank_scores, labels)?;
        }
        Ok(())
    }

    fn add_pairs(
        &mut self,
        task: &LambdaTask<'_>,
        shape: usize,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let uppers = self.tables.uppers;
        if self.swap.is_some() {
            for rank in 0..uppers {
                interrupt.check()?;
                self.swap_row(rank);
                self.add_rows(task, shape, rank..rank + 1);
            }
            return Ok(());
        }
        let each = (PAIRS / self.order.docs.len().max(1)).max(1);
        for start in (0..uppers).step_by(each) {
            interrupt.check()?;
            self.add_rows(task, shape, start..(start + each).min(uppers));
        }
        if task.drawn {
            return Ok(());
        }
        // Between docs of equal scores there is no gap.
        let offset = task.options.gap_offset;
        let factor = if shape & GAP == 0 { 1.0 } else { 1.0 / offset };
        let blocks = self.order.blocks.iter().take_while(|block| block.start < uppers);
        for (block, inside) in blocks.zip(&self.tables.inside) {
            let factor = factor * inside;
            let gains = (&self.ranked.gain[..], shape & SIGN != 0);
            let sums = (&mut self.ranked.grad[..], &mut self.ranked.hess[..]);
            self.total += tied_pairs::add(block, gains, factor, sums);
        }
        Ok(())
    }

    /// The deltas of the doc at a rank with all others, as the tables of one row.
    fn swap_row(&mut self, rank: usize) {
        if let Some(swap) = &self.swap {
            let lower = rank + 1..self.order.docs.len();
            swap.fill(rank, lower.clone(), &mut self.deltas);
            for (below, delta) in self.tables.below[0][lower].iter_mut().zip(&self.deltas) {
                *below = delta.abs() as f32;
            }
        }
    }

    fn add_rows(&mut self, task: &LambdaTask<'_>, shape: usize, uppers: std::ops::Range<usize>) {
        let PairTables { above, below, share, lower_from, .. } = &self.tables;
        let RankColumns { score, exp, gain, grad, hess } = &mut self.ranked;
        let mut pairs = Pairs {
            uppers,
            num_docs: self.order.docs.len(),
            sigma: task.options.sigma as f32,
            gap_offset: task.options.gap_offset as f32,
            lower_from,
            score,
            exp,
            gain,
            above: [&above[0], &above[1]],
            below: [&below[0], &below[1]],
            share,
            grad,
            hess,
        };
        self.total += f64::from(kernel::pairs(task.level, shape, &mut pairs));
    }

    /// Adds the sums by rank to those by doc; docs that are alike share theirs.
    fn collect(&mut self, is_first: bool) {
        let RankColumns { grad, hess, .. } = &mut self.ranked;
        for alike in &self.order.alike {
            for column in [&mut *grad, &mut *hess] {
                let values = &mut column[alike.clone()];
                let sum: f64 = values.iter().map(|&value| f64::from(value)).sum();
                values.fill((sum / alike.len() as f64) as f32);
            }
        }
        let sums = &mut self.sums[..];
        for ((&doc, &grad), &hess) in self.order.docs.iter().zip(&**grad).zip(&**hess) {
            let sums = &mut sums[doc as usize];
            let before = if is_first { [0.0; 2] } else { *sums };
            *sums = [before[0] + grad, before[1] + hess];
        }
    }
}
