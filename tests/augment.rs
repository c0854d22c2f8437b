//! Copies of queries with some of their docs, against data that hold the copies.

#![expect(clippy::unwrap_used, reason = "a test")]

use rustrank::objective::{
    Augment, LambdaOptions, LambdaRank, Objective, ObjectiveKind, ObjectiveOptions, PairNormaliser,
    RankNet, ScoreNoise, State, Target, TiedPairs, XeNdcg,
};
use rustrank::simd::Level;
use rustrank::{Convention, Gradient, Interrupt, Measure, Metric, Queries, random};

const SEED: u64 = 11;
const AUG70: Augment = Augment { fraction: 0.7, copies: 5 };
const AUG50: Augment = Augment { fraction: 0.5, copies: 10 };

/// Queries one after the other, with weights.
#[derive(Debug, Clone, Default)]
struct Data {
    sizes: Vec<i64>,
    scores: Vec<f64>,
    labels: Vec<f32>,
    query_weight: Vec<f64>,
    row_weight: Vec<f64>,
    doc_hash: Vec<u64>,
}

impl Data {
    /// Queries of all sizes, many scores tied, some docs alike.
    fn mixed() -> Self {
        let mut data = Self::default();
        for (query, len) in [1, 2, 3, 5, 16, 17, 40, 120, 257].into_iter().enumerate() {
            data.sizes.push(len);
            data.query_weight.push(0.5 + query as f64);
            for doc in 0..len as u64 {
                // The last doc of a query is the first again.
                let id = random::draw(
                    query as u64,
                    1,
                    if doc > 2 { doc % (len as u64 - 1) } else { doc },
                );
                data.doc_hash.push(id);
                data.labels.push((id % 5) as f32);
                data.scores.push((id >> 8 & 15) as f64 / 4.0);
                data.row_weight.push(1.0 + (id % 3) as f64);
            }
        }
        data
    }

    fn queries(&self) -> Queries {
        Queries::from_sizes(&self.sizes, self.labels.len()).unwrap()
    }

    fn gradients(&self, objective: &dyn Objective) -> Vec<Gradient> {
        let queries = self.queries();
        let target = Target {
            labels: &self.labels,
            queries: &queries,
            query_weight: Some(&self.query_weight),
            row_weight: Some(&self.row_weight),
            doc_hash: &self.doc_hash,
        };
        let mut gradients = vec![Gradient { grad: 7.0, hess: 7.0 }; self.labels.len()];
        let state = State { round: 3, scores: &self.scores };
        objective.gradients(&target, state, &mut gradients, &Interrupt::new()).unwrap();
        gradients
    }

    /// The data with the copies in them, and the doc that each doc of those is.
    fn copied(&self, augment: Augment) -> (Self, Vec<usize>) {
        let (mut all, mut of) = (self.clone(), (0..self.labels.len()).collect::<Vec<_>>());
        for copy in 0..augment.copies {
            for (query, docs) in self.queries().ranges().enumerate() {
                let kept = augment.docs(SEED, copy, &self.doc_hash[docs.clone()]);
                all.sizes.push(i64::try_from(kept.len()).unwrap());
                all.query_weight.push(self.query_weight[query]);
                for doc in kept.iter().map(|&doc| docs.start + doc as usize) {
                    all.labels.push(self.labels[doc]);
                    all.scores.push(self.scores[doc]);
                    all.row_weight.push(self.row_weight[doc]);
                    all.doc_hash.push(Augment::identity(SEED, copy, self.doc_hash[doc]));
                    of.push(doc);
                }
            }
        }
        (all, of)
    }

    /// The sums of the gradients over the copies in the data.
    fn reference(&self, augment: Augment, objective: &dyn Objective) -> Vec<Gradient> {
        let (all, of) = self.copied(augment);
        let mut sums = vec![[0.0; 2]; self.labels.len()];
        for (gradient, doc) in all.gradients(objective).into_iter().zip(of) {
            sums[doc][0] += f64::from(gradient.grad);
            sums[doc][1] += f64::from(gradient.hess);
        }
        let rounded = |[grad, hess]: [f64; 2]| Gradient { grad: grad as f32, hess: hess as f32 };
        sums.into_iter().map(rounded).collect()
    }
}

fn bits(gradients: &[Gradient]) -> Vec<[u32; 2]> {
    gradients.iter().map(|g| [g.grad.to_bits(), g.hess.to_bits()]).collect()
}

fn ways() -> Vec<LambdaOptions> {
    let mut ways = Vec::new();
    for measure in Measure::ALL {
        for how in 0..4 {
            let cut = (how & 1 != 0 && measure != Measure::Pairwise).then_some(10);
            let metric = Metric::new(measure, cut, Convention::default());
            let Ok(metric) = metric else { continue };
            let mut options = LambdaOptions { seed: SEED, ..LambdaOptions::new(metric) };
            match how {
                1 => options.ties = TiedPairs::Drawn,
                2 => options.noise = Some(ScoreNoise { scale: 0.5, copies: 2 }),
                3 => options.pair_normaliser = PairNormaliser::ScoreGap,
                _ => {}
            }
            ways.push(options);
        }
    }
    ways
}

#[test]
fn gradients_are_those_of_data_that_hold_the_copies() {
    let data = Data::mixed();
    for options in ways() {
        for augment in [AUG70, AUG50] {
            let with = LambdaOptions { augment: Some(augment), ..options.clone() };
            let got = data.gradients(&LambdaRank::new(with).unwrap());
            let plain = LambdaRank::new(options.clone()).unwrap();
            let same = bits(&got) == bits(&data.reference(augment, &plain));
            assert!(same, "{options:?}");
            // A metric without a cut may see all docs alike.
            let without = bits(&data.gradients(&plain));
            let learns = without.iter().any(|bits| *bits != [0; 2]);
            assert_eq!(bits(&got) != without, learns, "{options:?}");
        }
    }
}

#[test]
fn other_losses_of_queries_have_copies_too() {
    let (data, options) = (Data::mixed(), ways().swap_remove(0));
    let with = LambdaOptions { augment: Some(AUG50), ..options.clone() };
    let got = data.gradients(&RankNet::new(with).unwrap());
    let plain = RankNet::new(options).unwrap();
    assert_eq!(bits(&got), bits(&data.reference(AUG50, &plain)));
    let plain = XeNdcg::new(SEED);
    let got = data.gradients(&plain.augmented(Some(AUG70)).unwrap());
    assert_eq!(bits(&got), bits(&data.reference(AUG70, &plain)));
}

#[test]
fn threads_and_levels_change_no_bit() {
    let data = Data::mixed();
    let options = LambdaOptions { augment: Some(AUG70), ..ways().swap_remove(2) };
    let objective = LambdaRank::new(options).unwrap();
    let whole = bits(&data.gradients(&objective));
    for level in Level::available() {
        assert_eq!(bits(&data.gradients(&objective.clone().at_level(level))), whole);
    }
    for threads in [1, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| bits(&data.gradients(&objective))), whole);
    }
}

fn moved<T: Copy>(order: &[usize], from: &[T]) -> Vec<T> {
    order.iter().map(|&doc| from[doc]).collect()
}

#[test]
fn the_order_of_docs_changes_no_bit() {
    let data = Data::mixed();
    let mut order = Vec::new();
    for docs in data.queries().ranges() {
        let len = docs.len();
        // Steps that no length is a multiple of.
        order.extend((0..len).map(|doc| docs.start + (doc * 1009 + 1) % len));
    }
    let turned = Data {
        scores: moved(&order, &data.scores),
        labels: moved(&order, &data.labels),
        row_weight: moved(&order, &data.row_weight),
        doc_hash: moved(&order, &data.doc_hash),
        ..data.clone()
    };
    for options in ways() {
        let options = LambdaOptions { augment: Some(AUG50), ..options };
        let objective = LambdaRank::new(options).unwrap();
        let straight = data.gradients(&objective);
        assert_eq!(bits(&turned.gradients(&objective)), bits(&moved(&order, &straight)));
    }
}

#[test]
fn what_cannot_be_augmented_is_refused() {
    for (fraction, copies) in [(0.0, 5), (1.0, 5), (f64::NAN, 5), (-0.5, 5), (0.5, 0), (0.5, 1025)]
    {
        let augment = Some(Augment { fraction, copies });
        let options = LambdaOptions { augment, ..ways().swap_remove(0) };
        assert!(LambdaRank::new(options).is_err(), "{fraction} {copies}");
        assert!(XeNdcg::new(1).augmented(augment).is_err());
    }
    for kind in [
        ObjectiveKind::Regression,
        ObjectiveKind::Logistic,
        ObjectiveKind::BalancedLogistic,
        ObjectiveKind::ErrLogistic,
    ] {
        let mut options = ObjectiveOptions::new(kind, "ndcg".parse().unwrap());
        assert!(options.build().is_ok());
        options.lambda.augment = Some(AUG50);
        let error = options.build().unwrap_err();
        assert!(error.to_string().contains("losses of queries"), "{error}");
    }
}

/// The numbers of queries that the paper gives: 19,944 queries of 24 docs in the mean; with five
/// copies of 70% of the docs 119,305, with ten of 50% 217,175, the original data included.
///
/// Copies are missing in both: 359 of 99,720 and 2,209 of 199,440. The numbers of copies that are left are
/// no multiples of 5 and 10, so what was left out hung on the draw, not on the size of a query
/// alone. One rule is "no two different labels, nothing to learn": it must leave out more of the
/// smaller copies, at least as many as the data themselves have of such queries. The statistics of
/// the data that would tell how many are not at hand; small queries of five labels, drawn with the
/// shares that the labels of the challenge had, bracket the paper's numbers.
#[test]
fn copies_without_two_labels_are_about_as_many_as_the_paper_left_out() {
    assert_eq!((119_305 - 19_944) % 5, 1);
    assert_eq!((217_175 - 19_944) % 10, 1);
    let left_out = |len: u64, augment: Augment| {
        let label = |id: u64| match id % 100 {
            0..26 => 0,
            26..62 => 1,
            62..90 => 2,
            90..98 => 3,
            _ => 4,
        };
        let queries = 400;
        let mut count = 0;
        for query in 0..queries {
            let ids: Vec<u64> = (0..len).map(|doc| random::draw(9, query, doc)).collect();
            for copy in 0..augment.copies {
                let docs = augment.docs(SEED, copy, &ids);
                let first = label(ids[docs[0] as usize]);
                count += u32::from(docs.iter().all(|&doc| label(ids[doc as usize]) == first));
            }
        }
        f64::from(count) / (queries as f64 * augment.copies as f64)
    };
    let (of_70, of_50) = (359.0 / 99_720.0, 2_209.0 / 199_440.0);
    assert!(left_out(6, AUG70) > of_70 && left_out(30, AUG70) < of_70);
    assert!(left_out(6, AUG50) > of_50 && left_out(30, AUG50) < of_50);
}
