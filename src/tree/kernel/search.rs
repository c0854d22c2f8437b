//! The search of histograms: one safe loop, compiled for each SIMD level.
#![expect(clippy::inline_always, reason = "compiled with the features of its caller's level")]

use super::accumulate::GAP;
#[cfg(target_arch = "x86_64")]
use super::avx512::Avx512Ops;
use crate::simd::for_levels;
use crate::tree::column_scan::{NodeColumns, SplitSearcher};
use crate::tree::doc_counts::SideCounter;
use crate::tree::features::{FeatureSet, FeatureSlot};
use crate::tree::packed_gradients::GradientSums;
use crate::tree::split_noise::SplitNoise;
use crate::tree::split_search::{SearchNode, SearchResult, SplitCandidate, SplitTest, beats};

/// Thresholds that are valued in one step.
pub(super) const LANES: usize = 8;
/// Thresholds that are filtered in one step.
pub(super) const FILTER_LANES: usize = 16;

/// Scratch space for one feature: the prefix sums of its codes, and the value of a split after
/// each.
#[derive(Debug)]
pub(crate) struct SearchScratch {
    pub(super) prefix: [u64; 256],
    values: [f64; 256],
}

impl SearchScratch {
    pub(crate) fn new() -> Self {
        Self { prefix: [0; 256], values: [0.0; 256] }
    }
}

/// The number of splits rounded up to whole steps.
#[inline]
pub(super) fn padded(num_splits: usize) -> usize {
    num_splits.next_multiple_of(FILTER_LANES).min(256)
}

/// The splits of a feature with missing values on one side, by code.
struct ValuedSplits<'s> {
    /// The sums of the codes up to each.
    prefix: &'s [u64],
    /// The value of a split after each code, or its score with noise.
    values: &'s [f64],
    /// The largest of these.
    most: f64,
    missing_left: bool,
    /// The sum of missing values.
    missing: u64,
}

for_levels! {
    /// Finds the best splits in some columns of a node.
    pub(crate) fn search(
        columns: NodeColumns<'_>, scratch: &mut SearchScratch, found: &mut SearchResult
    ) = NodeColumns::run::<PortableOps>, NodeColumns::run::<Avx512Ops>
}

impl NodeColumns<'_> {
    /// The slot index, the slot and the sums of the column of each wanted feature.
    #[inline(always)]
    pub(crate) fn features<'s>(
        self,
        wanted: &'s FeatureSet,
    ) -> impl Iterator<Item = (usize, &'s FeatureSlot, &'s [u64])>
    where
        Self: 's,
    {
        let SplitSearcher { positions, shape, .. } = *self.searcher;
        let columns = self.sums.chunks_exact(shape.stride).zip(&positions[self.first..]);
        columns.flat_map(move |(sums, &position)| {
            let slots = self.searcher.slots_at(position);
            let slots = slots.filter(|&(number, _)| wanted.contains(number));
            slots.map(move |(number, slot)| (number, slot, sums))
        })
    }

    // No closures around the loops below: they would be compiled without the features of the level.
    #[inline(always)]
    fn run<Ops: SearchOps>(self, scratch: &mut SearchScratch, found: &mut SearchResult) {
        let mut own = [0; 256];
        let SplitSearcher { positions, shape, .. } = *self.searcher;
        let columns = self.sums.chunks_exact(shape.stride).zip(&positions[self.first..]);
        for (sums, &position) in columns {
            for (number, slot) in self.searcher.slots_at(position) {
                if self.node.features.contains(number) {
                    let sums = feature_sums(sums, slot, &mut own);
                    self.search::<Ops>((number, slot, sums), scratch, found);
                }
            }
        }
    }

    /// Searches one feature; the last of its sums is that of missing values.
    #[inline(always)]
    fn search<Ops: SearchOps>(
        &self,
        (number, slot, sums): (usize, &FeatureSlot, &[u64]),
        scratch: &mut SearchScratch,
        found: &mut SearchResult,
    ) {
        let codes = usize::from(slot.location.codes);
        let Some(&missing) = sums.get(codes.wrapping_sub(1)) else { return };
        // Without missing values, a split after the last code leaves nothing on the right.
        let num_splits = codes - 1 - usize::from(missing == 0);
        let padded = padded(num_splits);
        let split_filter = self.split_filter();
        let ways = [(false, 0), (true, missing)];
        let ways = &ways[..=usize::from(missing != 0)];
        let [mut may_beat, mut is_split] = [false; 2];
        Ops::prefix_sums(&sums[..padded], &mut scratch.prefix);
        let (prefix, values) = (&mut scratch.prefix[..padded], &mut scratch.values[..padded]);
        for &(_, more) in ways {
            // Padding: nothing remains on the right.
            prefix[num_splits..].fill(self.node.total.wrapping_sub(more));
            let [beats, splits] = Ops::filter(&split_filter, prefix, more);
            may_beat |= beats;
            is_split |= splits;
        }
        if !is_split {
            let codes = sums[..codes].iter().filter(|&&sum| sum != 0).count();
            found.unsplittable.extend((codes <= 1).then_some(number));
            return;
        }
        if !may_beat && self.node.l2 <= LARGE {
            return;
        }
        for &(missing_left, more) in ways {
            prefix[num_splits..].fill(self.node.total.wrapping_sub(more));
            let mut most = self.value_all(prefix, more, values);
            if let Some(noise) = &self.node.noise {
                most = score_all(noise, (slot.feature, missing_left), values);
            }
            if !beats(most, number, found.best.as_ref()) {
                continue;
            }
            let splits = ValuedSplits { prefix, values, most, missing_left, missing };
            let choice = self.candidate(number, &splits);
            if let Some(counter) = &self.node.counter
                && counter.is_short(slot, &choice, self.node.total)
            {
                self.search_counted(counter, (number, slot, sums), missing_left, found);
                continue;
            }
            self.record(choice, found);
        }
    }

    /// The split with the largest of the values.
    #[inline(always)]
    fn candidate(&self, number: usize, splits: &ValuedSplits<'_>) -> SplitCandidate {
        let &ValuedSplits { prefix, values, most, missing_left, missing } = splits;
        let more = if missing_left { missing } else { 0 };
        // One of the values is the largest.
        let at = values.iter().position(|&value| value == most).unwrap_or(0);
        // With noise, the value has been overwritten by its score: compute it again, in eight
        // equal lanes.
        let value = match self.node.noise {
            Some(_) => self.value_all(&[prefix[at]; LANES], more, &mut [0.0; LANES]),
            None => most,
        };
        let left = prefix[at].wrapping_add(more);
        SplitCandidate {
            value,
            score: most,
            priority: value,
            slot: number,
            test: SplitTest::UpTo(at as u8),
            missing_left: self.node.missing_left(missing_left, missing, left),
            left,
        }
    }

    #[inline(always)]
    fn record(&self, choice: SplitCandidate, found: &mut SearchResult) {
        found.best = Some(choice);
        let (noise, score) = (self.node.noise.as_ref(), choice.score);
        let bound = noise.map_or(score, |noise| noise.value_bound(score));
        self.node.best_so_far.raise(bound);
    }

    /// Searches the splits of a feature that leave enough documents on both sides, with missing
    /// values on one side. Rarely needed, so it is compiled for the portable level only.
    #[cold]
    #[inline(never)]
    fn search_counted(
        &self,
        counter: &SideCounter<'_>,
        (number, slot, sums): (usize, &FeatureSlot, &[u64]),
        missing_left: bool,
        found: &mut SearchResult,
    ) {
        let codes = usize::from(slot.location.codes);
        let missing = sums[codes - 1];
        let num_splits = codes - 1 - usize::from(missing == 0);
        let more = if missing_left { missing } else { 0 };
        let mut scratch = SearchScratch::new();
        PortableOps::prefix_sums(&sums[..num_splits], &mut scratch.prefix);
        let left = |code: usize| scratch.prefix[code].wrapping_add(more);
        let is_missing_left = |code| self.node.missing_left(missing_left, missing, left(code));
        let allowed = counter.allowed_codes(slot, num_splits, is_missing_left);
        if allowed.is_empty() {
            return;
        }
        // Whole steps; in what is added, nothing remains on the right.
        let steps = allowed.start / LANES * LANES..allowed.end.next_multiple_of(LANES);
        let refused = self.node.total.wrapping_sub(more);
        scratch.prefix[steps.start..allowed.start].fill(refused);
        scratch.prefix[allowed.end..steps.end].fill(refused);
        // The values of codes that are not allowed stay below all others.
        scratch.values.fill(f64::NEG_INFINITY);
        let mut most =
            self.value_all(&scratch.prefix[steps.clone()], more, &mut scratch.values[steps]);
        if let Some(noise) = &self.node.noise {
            most = score_all(noise, (slot.feature, missing_left), &mut scratch.values);
        }
        if beats(most, number, found.best.as_ref()) {
            let (prefix, values) = (&scratch.prefix, &scratch.values);
            let splits = ValuedSplits { prefix, values, most, missing_left, missing };
            self.record(self.candidate(number, &splits), found);
        }
    }

    #[inline(always)]
    fn split_filter(&self) -> SplitFilter {
        let SearchNode { total, least, l2, best_so_far, .. } = self.node;
        SplitFilter {
            total: GradientSums::of(*total),
            // Masses are integers; no sum is above the largest `u32`.
            least: least.ceil().min(f64::from(u32::MAX)) as u32,
            l2: *l2 as f32,
            threshold: (best_so_far.get() * (1.0 - 1e-5)) as f32,
        }
    }

    /// Writes the value of a split after each code, and returns the largest; minus infinity if a
    /// side would be too small.
    #[inline(always)]
    fn value_all(&self, prefix: &[u64], more: u64, values: &mut [f64]) -> f64 {
        let SearchNode { total, least, l2, .. } = *self.node;
        let mut most = [f64::NEG_INFINITY; LANES];
        let prefix = prefix.as_chunks::<LANES>().0;
        let values = values.as_chunks_mut::<LANES>().0;
        for (prefix, values) in prefix.iter().zip(values) {
            for lane in 0..LANES {
                let (value, mass) = split_value(total, prefix[lane].wrapping_add(more), l2);
                let value = if mass >= least { value } else { f64::NEG_INFINITY };
                values[lane] = value;
                most[lane] = if value > most[lane] { value } else { most[lane] };
            }
        }
        most.into_iter()
            .fold(f64::NEG_INFINITY, |most, value| if value > most { value } else { most })
    }
}

/// The value of both sides of a split, and the smaller of their masses.
#[inline(always)]
pub(crate) fn split_value(total: u64, left: u64, l2: f64) -> (f64, f64) {
    let [total, left] = [total, left].map(GradientSums::of);
    let (left_grad, left_mass) = (f64::from(left.grad), f64::from(left.mass));
    let right_grad = f64::from(total.grad) - left_grad;
    let right_mass = f64::from(total.mass) - left_mass;
    let (left, right) = (left_mass + l2, right_mass + l2);
    // One division for both sides.
    let value = (left_grad * left_grad * right + right_grad * right_grad * left) / (left * right);
    (value, left_mass.min(right_mass))
}

/// Replaces the value of a split after each code by its score with noise, and returns the largest.
#[inline(always)]
pub(super) fn score_all(
    noise: &SplitNoise,
    (feature, missing_left): (u32, bool),
    values: &mut [f64],
) -> f64 {
    let mut most = f64::NEG_INFINITY;
    for (code, value) in (0..=u8::MAX).zip(values) {
        *value = noise.score(*value, (feature, missing_left, code));
        most = if *value > most { *value } else { most };
    }
    most
}

/// A fast test of the splits of a feature before they are valued: whether one may be the best of
/// the node, in single precision and without a division. `a / b` beats `threshold` if
/// `a > threshold * b`.
///
/// The sums are exact and all terms are positive, so two dozen roundings err by less than one part
/// in 2¹⁹; the threshold is lowered by more than that. Nothing overflows unless `l2` is [`LARGE`].
pub(super) struct SplitFilter {
    pub(super) total: GradientSums,
    pub(super) least: u32,
    pub(super) l2: f32,
    pub(super) threshold: f32,
}

/// An `l2` far above all masses.
const LARGE: f64 = (1u64 << 40) as f64;

/// The operations that differ between SIMD levels.
pub(super) trait SearchOps {
    /// Writes the prefix sums.
    fn prefix_sums(sums: &[u64], to: &mut [u64; 256]);

    /// Whether one of the splits may beat the threshold, and whether one of them is large enough on
    /// both sides. The splits fill whole steps.
    fn filter(split_filter: &SplitFilter, prefix: &[u64], more: u64) -> [bool; 2];
}

/// The portable loops.
pub(super) struct PortableOps;

impl SearchOps for PortableOps {
    #[inline(always)]
    fn prefix_sums(sums: &[u64], to: &mut [u64; 256]) {
        let mut sum = 0u64;
        for (to, &more) in to.iter_mut().zip(sums) {
            sum = sum.wrapping_add(more);
            *to = sum;
        }
    }

    #[inline(always)]
    fn filter(split_filter: &SplitFilter, prefix: &[u64], more: u64) -> [bool; 2] {
        let &SplitFilter { total, least, l2, threshold } = split_filter;
        let [mut beats, mut splits] = [[0u32; LANES]; 2];
        for prefix in prefix.as_chunks::<LANES>().0 {
            for lane in 0..LANES {
                let left = GradientSums::of(prefix[lane].wrapping_add(more));
                let right_mass = total.mass.wrapping_sub(left.mass);
                let right_grad = total.grad.wrapping_sub(left.grad) as f32;
                let left_grad = left.grad as f32;
                let fits = u32::from(left.mass.min(right_mass) >= least);
                let (left, right) = (left.mass as f32 + l2, right_mass as f32 + l2);
                let value = left_grad * left_grad * right + right_grad * right_grad * left;
                beats[lane] |= fits & u32::from(value > threshold * (left * right));
                splits[lane] |= fits;
            }
        }
        [beats, splits].map(|lanes| lanes.into_iter().fold(0, |any, lane| any | lane) != 0)
    }
}

/// The sums of one feature, those of missing values last: of its column, or in `own` if it shares the
/// column.
#[inline(always)]
pub(crate) fn feature_sums<'s>(
    sums: &'s [u64],
    slot: &FeatureSlot,
    own: &'s mut [u64; 256],
) -> &'s [u64] {
    if slot.is_whole {
        return sums;
    }
    let (stride, codes) = (usize::from(slot.location.stride), usize::from(slot.location.codes));
    own[..codes].fill(0);
    // The gap is not of the column: after the last one there are words that workers exchange.
    for period in sums[..sums.len() - GAP].chunks(stride * codes) {
        for (to, run) in own.iter_mut().zip(period.chunks(stride)) {
            *to = run.iter().fold(*to, |sum, &more| sum.wrapping_add(more));
        }
    }
    own
}
