//! All losses with a name: one file each, and the only places where they are listed.
//!
//! To add a loss, write its file and add it to [`ObjectiveKind`], [`ObjectiveKind::ALL`] and
//! [`ObjectiveKind::definition`]. See "Adding a loss" in `CONTRIBUTING.md`.

mod balanced_logistic;
mod err_logistic;
mod lambdarank;
mod logistic;
mod mcrank;
mod query_rmse;
mod ranknet;
mod regression;
mod xendcg;

pub use balanced_logistic::BalancedLogistic;
pub use err_logistic::ErrLogistic;
pub use lambdarank::LambdaRank;
pub use logistic::Logistic;
pub use mcrank::{ClassLink, ClassLoss};
pub use query_rmse::QueryRmse;
pub use ranknet::RankNet;
pub use regression::Regression;
pub use xendcg::XeNdcg;

use super::{Augment, Objective, ObjectiveOptions};
use crate::error::{Error, Result};
use crate::metric::pick;
use std::fmt;
use std::str::FromStr;

/// The losses that have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ObjectiveKind {
    /// [`LambdaRank`]: pairs weighted by what their exchange changes a metric by.
    LambdaRank,
    /// [`RankNet`]: all pairs weigh the same.
    RankNet,
    /// [`XeNdcg`]: cross entropy of the query's docs, a bound on NDCG.
    XeNdcg,
    /// [`Regression`]: squares of score minus label.
    Regression,
    /// [`QueryRmse`]: squares of score minus label, around the mean of the query.
    QueryRmse,
    /// [`Logistic`]: a doc is relevant or not.
    Logistic,
    /// [`BalancedLogistic`]: relevant and irrelevant docs weigh the same in total.
    BalancedLogistic,
    /// [`ErrLogistic`]: a doc is relevant with the probability that ERR sees in its label.
    ErrLogistic,
    /// [`ClassLoss`]: labels are classes side by side, each with trees of its own.
    McRank,
    /// [`ClassLoss`]: labels are classes one above the other.
    OrdinalMcRank,
}

/// A loss: its names, the options that it reads and how it is made.
pub(crate) struct LossDefinition {
    /// The name in Rust and in the notes of a model.
    pub(crate) name: &'static str,
    /// The name in Python and on the command line.
    pub(crate) user_name: &'static str,
    /// The Python estimator that learns by it.
    pub(crate) estimator: &'static str,
    /// What LightGBM, XGBoost, CatBoost and scikit-learn call it.
    pub(crate) other_names: &'static [&'static str],
    /// The options that it reads.
    pub(crate) uses: LossUses,
    /// Makes the loss, if the options are in range.
    pub(crate) build: fn(&ObjectiveOptions) -> Result<BuiltLoss>,
}

/// The groups of options that a loss reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each says whether one group is read")]
pub(crate) struct LossUses {
    /// [`LambdaOptions`](super::LambdaOptions): it learns from pairs of documents.
    pub(crate) pairs: bool,
    /// The metric.
    pub(crate) metric: bool,
    /// The gains of labels.
    pub(crate) gains: bool,
    /// The threshold of relevance.
    pub(crate) relevant_from: bool,
    /// Copies of queries ([`Augment`]).
    pub(crate) copies: bool,
}

impl LossUses {
    const NONE: Self =
        Self { pairs: false, metric: false, gains: false, relevant_from: false, copies: false };
}

/// A loss made ready.
#[derive(Debug)]
pub(crate) enum BuiltLoss {
    /// One gradient a document.
    Scores(Box<dyn Objective>),
    /// A gradient for each class of a document.
    Classes(ClassLink),
}

impl ObjectiveKind {
    /// All losses.
    pub const ALL: [Self; 10] = [
        Self::LambdaRank,
        Self::RankNet,
        Self::XeNdcg,
        Self::Regression,
        Self::QueryRmse,
        Self::Logistic,
        Self::BalancedLogistic,
        Self::ErrLogistic,
        Self::McRank,
        Self::OrdinalMcRank,
    ];

    /// The loss of a name in Python and on the command line.
    pub fn of_user_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.user_name() == name)
    }

    /// The name in Python and on the command line.
    pub fn user_name(self) -> &'static str {
        self.definition().user_name
    }

    /// The Python estimator that learns by it.
    pub fn estimator(self) -> &'static str {
        self.definition().estimator
    }

    /// What LightGBM, XGBoost, CatBoost and scikit-learn call it.
    pub fn other_names(self) -> &'static [&'static str] {
        self.definition().other_names
    }

    /// The file that answers for it.
    pub(crate) const fn definition(self) -> &'static LossDefinition {
        match self {
            Self::LambdaRank => &lambdarank::DEFINITION,
            Self::RankNet => &ranknet::DEFINITION,
            Self::XeNdcg => &xendcg::DEFINITION,
            Self::Regression => &regression::DEFINITION,
            Self::QueryRmse => &query_rmse::DEFINITION,
            Self::Logistic => &logistic::DEFINITION,
            Self::BalancedLogistic => &balanced_logistic::DEFINITION,
            Self::ErrLogistic => &err_logistic::DEFINITION,
            Self::McRank => &mcrank::DEFINITION,
            Self::OrdinalMcRank => &mcrank::ORDINAL,
        }
    }

    /// The names in Python and on the command line, in the order of [`ALL`](Self::ALL).
    pub const USER_NAMES: [&'static str; Self::ALL.len()] = {
        let mut names = [""; Self::ALL.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = Self::ALL[at].definition().user_name;
            at += 1;
        }
        names
    };
}

impl FromStr for ObjectiveKind {
    type Err = Error;

    /// The loss of that name, `lambdarank` or `regression`.
    fn from_str(text: &str) -> Result<Self> {
        pick("objective.name", "objective", text, &Self::ALL, |kind| kind.definition().name)
    }
}

impl fmt::Display for ObjectiveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.definition().name)
    }
}

impl ObjectiveOptions {
    /// The loss, if its options are in range.
    pub(crate) fn build_any(&self) -> Result<BuiltLoss> {
        let definition = self.kind.definition();
        if self.lambda.augment.is_none() || definition.uses.copies {
            return (definition.build)(self);
        }
        let kinds = ObjectiveKind::ALL.into_iter();
        let names: Vec<String> = kinds
            .filter(|kind| kind.definition().uses.copies)
            .map(|kind| kind.to_string())
            .collect();
        let (last, others) = names.split_last().map_or(("", &[][..]), |(last, all)| (last, all));
        Err(Error::param("augment", "augmentation is for losses of queries, not of docs")
            .got(self.kind)
            .expected(format!("{} or {last}", others.join(", ")))
            .hint("without its neighbours the loss of a doc is the same"))
    }

    /// The objective, if its options are in range, and if it has one gradient a document.
    pub fn build(&self) -> Result<Box<dyn Objective>> {
        match self.build_any()? {
            BuiltLoss::Scores(objective) => Ok(objective),
            BuiltLoss::Classes(_) => {
                let what = format!("{} has a gradient for each class", self.kind);
                Err(Error::param("objective.name", what).hint("boost::Loss trains it"))
            }
        }
    }

    /// The options that the loss reads, by name, as a model notes them.
    pub(crate) fn notes(&self) -> Vec<(&'static str, String)> {
        let (uses, lambda) = (self.kind.definition().uses, &self.lambda);
        let none = || "none".to_owned();
        let mut notes = vec![("objective", self.kind.to_string())];
        if uses.pairs {
            notes.extend([
                ("pairs_to", lambda.pairs_to.map_or_else(none, |rank| rank.to_string())),
                ("sigma", lambda.sigma.to_string()),
                ("pair_normaliser", lambda.pair_normaliser.to_string()),
                ("gap_offset", lambda.gap_offset.to_string()),
                ("query_normaliser", lambda.query_normaliser.to_string()),
                ("noise_scale", lambda.noise.map_or(0.0, |noise| noise.scale).to_string()),
                ("noise_copies", lambda.noise.map_or(0, |noise| noise.copies).to_string()),
                ("tied_pairs", lambda.ties.to_string()),
            ]);
        }
        if let Some(rank) = lambda.ideal_to.filter(|_| uses.pairs) {
            notes.push(("ideal_to", rank.to_string()));
        }
        if uses.relevant_from {
            let from = self.relevant_from;
            notes.push(("relevant_from", from.map_or_else(none, |label| label.to_string())));
        }
        if let Some(Augment { fraction, copies }) = lambda.augment {
            notes.push(("augment", format!("{fraction}x{copies}")));
        }
        if uses.metric {
            notes.push(("objective_metric", lambda.metric.to_string()));
        }
        if uses.gains {
            notes.push(("convention", format!("{:?}", lambda.metric.convention())));
        }
        notes.push(("objective_seed", lambda.seed.to_string()));
        notes
    }
}
