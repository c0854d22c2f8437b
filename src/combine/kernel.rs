//! The walk over a kinetic list, compiled for each instruction set.
//!
//! The loops are plain Rust, written once in [`KineticList::walk`]; only the instructions differ and the
//! results are the same: a crossing is one division of whole numbers, and their minimum is exact.

use super::kinetic_list::{KineticList, MetricChange, WalkLimit, WalkOutcome};
use super::query_metric::{GainSum, RecomputedMetric};
use crate::simd::for_levels;

for_levels! {
    /// [`KineticList::walk`] of a sum of gains.
    pub(crate) fn walk_sum(
        list: &mut KineticList, end: WalkLimit, metric: &mut GainSum<'_>,
        events: &mut Vec<MetricChange>
    ) -> WalkOutcome {
        list.walk(end, metric, events)
    }
}

for_levels! {
    /// [`KineticList::walk`] of any other metric.
    pub(crate) fn walk_recomputed(
        list: &mut KineticList, end: WalkLimit, metric: &mut RecomputedMetric<'_>,
        events: &mut Vec<MetricChange>
    ) -> WalkOutcome {
        list.walk(end, metric, events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::combine::AlphaRange;
    use crate::combine::query_metric::{MetricBuffers, MetricRules, WeightedLabels, constant};
    use crate::combine::score_lines::{LineFrame, TiedDocs};
    use crate::metric::Ties;
    use crate::random;
    use crate::simd::Level;

    #[test]
    fn all_levels_walk_the_same_way() {
        for (n, k) in [(1usize, 1usize), (9, 4), (40, 10), (200, 17), (200, 200)] {
            let draw =
                |stream, doc: usize| random::below(random::draw(7, stream, doc as u64), 50) as f64;
            let scores = |stream| (0..n).map(|doc| draw(stream, doc)).collect::<Vec<_>>();
            let labels: Vec<f32> = (0..n).map(|doc| (doc % 3) as f32).collect();
            let (first, second) = (scores(0), scores(1));
            let rules = MetricRules::new(&format!("dcg@{k}").parse().unwrap(), &labels).unwrap();
            let (mut lines, mut tied_docs) = (Vec::new(), TiedDocs::default());
            LineFrame::new(&first, &second, AlphaRange::Between).lines(&first, &second, &mut lines);
            tied_docs.find(&lines, &labels, Ties::Expected);
            let walked = Level::available().into_iter().map(|level| {
                let (mut buffers, mut events) = (MetricBuffers::default(), Vec::new());
                assert!(constant(&rules, &labels, &mut buffers).is_none() || n == 1);
                let mut list = KineticList::default();
                list.start(&mut lines.clone(), k, 0.0);
                let known = WeightedLabels { labels: &labels, unit: 1e12 };
                let mut sum = GainSum::new(&rules, known, &tied_docs, &mut buffers);
                let end = WalkLimit { until: 1.0, most_events: usize::MAX };
                let WalkOutcome { start, next } =
                    walk_sum(level, &mut list, end, &mut sum, &mut events);
                (start, next.to_bits(), events)
            });
            let walked: Vec<_> = walked.collect();
            assert!(walked.windows(2).all(|w| w[0] == w[1]), "{n} docs, {k} ranks");
            assert_eq!(walked[0].2.is_empty(), n == 1);
        }
    }
}
