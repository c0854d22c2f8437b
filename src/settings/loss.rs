//! The loss, and what labels mean.

use super::several::at_all_ranks;
use crate::Convention;
use crate::error::Result;
use crate::metric::{Gain, Metric};
use crate::objective::{
    Augment, COPIES, LambdaOptions, ObjectiveKind, ObjectiveOptions, PairNormaliser,
    QueryNormaliser, RANK, SCALE, ScoreNoise, TiedPairs,
};
use crate::schema::{Foreign, ParamKind, ParamRange, ParamType, ParamValue, choices, parameters};

/// A loss of ours, by the name that users write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossName(pub ObjectiveKind);

impl ParamType for LossName {
    const KIND: ParamKind = ParamKind::Choice(&ObjectiveKind::USER_NAMES);

    fn read(value: &ParamValue) -> Option<Self> {
        let ParamValue::Text(text) = value else { return None };
        let named = |kind: &ObjectiveKind| {
            let definition = kind.definition();
            [definition.user_name, definition.name].contains(&&**text)
        };
        ObjectiveKind::ALL.into_iter().find(named).map(Self)
    }

    fn value(&self) -> ParamValue {
        ParamValue::Text(self.0.definition().user_name.to_owned())
    }
}

impl ParamType for Augment {
    const KIND: ParamKind = ParamKind::Other("(fraction, copies) such as (0.7, 5)");

    /// Two numbers, or a text such as `0.7x5`.
    fn read(value: &ParamValue) -> Option<Self> {
        match value {
            ParamValue::Text(text) => {
                let (fraction, copies) = text.split_once('x')?;
                let (fraction, copies) = (fraction.trim().parse(), copies.trim().parse());
                Some(Self { fraction: fraction.ok()?, copies: copies.ok()? })
            }
            ParamValue::List(values) => match &values[..] {
                [fraction, copies] => {
                    Some(Self { fraction: f64::read(fraction)?, copies: usize::read(copies)? })
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn value(&self) -> ParamValue {
        ParamValue::List(vec![self.fraction.value(), self.copies.value()])
    }
}

/// Which pairs count, by the better rank of the two docs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairsTo {
    /// As is usual for the objective: all pairs for `ranknet`, those to rank 30 for `lambdamart`.
    Auto,
    /// All pairs.
    All,
    /// Those with a doc of at most this rank.
    Rank(usize),
}

impl PairsTo {
    /// The largest rank for an objective; `None` for all pairs.
    fn rank(self, kind: ObjectiveKind) -> Option<usize> {
        match self {
            Self::Auto => (kind != ObjectiveKind::RankNet).then_some(30),
            Self::All => None,
            Self::Rank(rank) => Some(rank),
        }
    }
}

impl ParamType for PairsTo {
    const KIND: ParamKind = usize::KIND;
    const IS_OPTIONAL: bool = true;

    fn read(value: &ParamValue) -> Option<Self> {
        match value {
            ParamValue::None => Some(Self::All),
            ParamValue::Text(text) if text == "auto" => Some(Self::Auto),
            value => usize::read(value).map(Self::Rank),
        }
    }

    fn value(&self) -> ParamValue {
        match self {
            Self::Auto => ParamValue::Text("auto".to_owned()),
            Self::All => ParamValue::None,
            Self::Rank(rank) => rank.value(),
        }
    }
}

choices! {
    /// Whether a pair's gradient depends on how far apart its scores are; see [`PairNormaliser`].
    pub enum PairScale {
        /// As is best for the objective: for `lambdamart` it does.
        Auto = "auto",
        /// It does not.
        None = "none",
        /// It is divided by the gap.
        ScoreGap = "score_gap",
    }
}

parameters! {
    /// The loss.
    pub struct LossOptions in "objective" {
        /// The loss: `lambdamart` (pairs weighted by what their exchange changes a metric by),
        /// `ranknet` (all pairs alike), `xendcg`, `regression`, `query_rmse` (the mean error of each
        /// query taken out), `logistic`, `balanced_logistic`, `err_logistic` (a doc is relevant with the probability that ERR sees in its label),
        /// `mcrank` or `mcrank_ordinal` (labels are classes, each with trees of its own; the score is
        /// the gain that their probabilities let expect). Or a function
        /// `(scores, labels, rows) -> (grad, hess)` that sees one query at a time; `rows` are the
        /// numbers of its rows in the training data.
        pub objective: LossName = LossName(ObjectiveKind::LambdaRank),
            typed "str | Callable[..., Any]";
        /// For `lambdamart`: the metric whose changes weigh pairs; by default the first `metric`, at
        /// all ranks.
        pub objective_metric: Option<String> = None;
        /// Pairs count if one of their docs has at most this rank; None for all. By default (`"auto"`) to
        /// rank 30, and all for `ranknet`.
        pub pairs_to: PairsTo = PairsTo::Auto, within RANK, typed "int | str | None",
            elsewhere "lambdarank_truncation_level lambdarank_num_pair_per_sample";
        /// For `lambdamart` with NDCG: the rank to which the best order of a query counts in the DCG that its
        /// gradients are divided by; by default all that the metric sees. LightGBM and XGBoost take `pairs_to`,
        /// which gives long queries more weight.
        pub ideal_to: Option<usize> = None, within RANK;
        /// The steepness of the sigmoid.
        pub sigma: f64 = 1.0, within SCALE;
        /// Whether a pair's gradient is divided by `gap_offset` plus the distance of its scores; by
        /// default it is for `lambdamart`.
        pub pair_normaliser: PairScale = PairScale::Auto;
        /// The smaller, the more training is about pairs of nearly equal scores: good on clean labels,
        /// bad on noisy ones. LightGBM's is 0.01.
        pub gap_offset: f64 = 0.3, within SCALE;
        /// Whether the gradients of a query are scaled by the logarithm of their sum.
        pub query_normaliser: QueryNormaliser = QueryNormaliser::None;
        /// Gradients are averaged over `noise_copies` orders by scores with noise of that scale; 0 for
        /// no noise. By default 1 for `lambdamart`, and 0 for the others.
        pub noise_scale: Option<f64> = None, within ParamRange::from(0.0).to(1e6);
        /// Over how many orders with noise gradients are averaged.
        pub noise_copies: usize = 1, within COPIES;
        /// Each query counts again, `copies` times, each time as a query of a random `fraction` of its
        /// docs, which is ranked alone: for `lambdamart`, `ranknet`, `xendcg` and `query_rmse`, which
        /// then lean less on what happens to lie between two docs. `(0.7, 5)` and `(0.5, 10)` won the Yahoo!
        /// challenge of 2010. No data are copied; a text such as `"0.7x5"` will do, too.
        pub augment: Option<Augment> = None, typed "tuple[float, int] | str | None";
        /// Docs with equal scores: the expectation over their orders, or one order drawn anew in each
        /// round.
        pub tied_pairs: TiedPairs = TiedPairs::Expected;
        /// For `ranknet`, instead of labels: an array with a row for each pair, the row of a better
        /// and of a worse doc of one query, the probability that it is better (1 by default) and the
        /// weight of the pair (1). Pairs may contradict each other.
        pub preferences: Foreign = Foreign(ParamValue::None);
    }
}

impl LossOptions {
    /// The loss as in the papers: no noise, and pairs as they are.
    pub fn plain() -> Self {
        Self { pair_normaliser: PairScale::None, noise_scale: Some(0.0), ..Self::default() }
    }

    /// The objective with all its options; `metric` is the first that is evaluated.
    pub fn options(
        &self,
        labels: &LabelOptions,
        metric: Option<&str>,
        seed: u64,
    ) -> Result<ObjectiveOptions> {
        let LossName(kind) = self.objective;
        let is_tuned = kind == ObjectiveKind::LambdaRank;
        let scale = self.noise_scale.unwrap_or(if is_tuned { 1.0 } else { 0.0 });
        let lambda = LambdaOptions {
            pairs_to: self.pairs_to.rank(kind),
            ideal_to: self.ideal_to,
            sigma: self.sigma,
            pair_normaliser: match self.pair_normaliser {
                PairScale::Auto if is_tuned => PairNormaliser::ScoreGap,
                PairScale::Auto | PairScale::None => PairNormaliser::None,
                PairScale::ScoreGap => PairNormaliser::ScoreGap,
            },
            gap_offset: self.gap_offset,
            query_normaliser: self.query_normaliser,
            augment: self.augment,
            noise: (scale != 0.0).then_some(ScoreNoise { scale, copies: self.noise_copies }),
            ties: self.tied_pairs,
            seed,
            ..LambdaOptions::new(labels.metric(self.metric(metric))?)
        };
        let relevant_from = labels.relevant_from.map(|label| label as f32);
        Ok(ObjectiveOptions { kind, lambda, relevant_from })
    }

    /// The metric that pairs are weighted by: at all ranks, unless it means nothing without its cut.
    fn metric<'a>(&'a self, first: Option<&'a str>) -> &'a str {
        let all = at_all_ranks(first.unwrap_or("ndcg"));
        self.objective_metric.as_deref().unwrap_or(all)
    }
}

impl ParamType for Gain {
    const KIND: ParamKind = ParamKind::Other("'exp2', 'linear' or a table of gains");

    fn read(value: &ParamValue) -> Option<Self> {
        match value {
            ParamValue::Text(text) => text.parse().ok(),
            ParamValue::List(gains) => {
                gains.iter().map(f64::read).collect::<Option<_>>().map(Self::Table)
            }
            _ => None,
        }
    }

    fn value(&self) -> ParamValue {
        match self {
            Self::Table(gains) => ParamValue::List(gains.iter().map(ParamType::value).collect()),
            Self::Linear => ParamValue::Text("linear".to_owned()),
            Self::Exp2 => ParamValue::Text("exp2".to_owned()),
        }
    }
}

parameters! {
    /// What labels mean, to the objective and to the metrics alike.
    pub struct LabelOptions in "labels" {
        /// What a label is worth, as for `rustrank.evaluate`, in the objective and the metrics alike;
        /// also what McRank expects: `exp2`, `linear` or a table of gains.
        pub gain: Gain = Gain::Exp2, typed "Any", elsewhere "label_gain ndcg_exp_gain";
        /// The smallest relevant label, as for `rustrank.evaluate`; 1 by default. With it, logistic
        /// losses tell relevant docs by it; without, labels are probabilities to them.
        pub relevant_from: Option<f64> = None;
        /// The top of the scale of labels, as for `rustrank.evaluate`: what ERR's probabilities are
        /// relative to. By default the largest label.
        pub max_label: Option<f64> = None;
    }
}

impl LabelOptions {
    /// The convention of all metrics.
    pub fn convention(&self) -> Result<Convention> {
        let convention = Convention {
            gain: self.gain.clone(),
            relevant_from: self.relevant_from.unwrap_or(1.0) as f32,
            max_label: self.max_label.map(|label| label as f32),
            ..Convention::default()
        };
        convention.check()?;
        Ok(convention)
    }

    /// The metric of that name.
    pub fn metric(&self, name: &str) -> Result<Metric> {
        name.parse::<Metric>()?.with_convention(&self.convention()?)
    }
}
