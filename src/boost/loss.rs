//! The loss of a training, with what is said of it.

use crate::error::Result;
use crate::objective::{Kind, Objective, ObjectiveOptions};

/// An objective, and the name and options that it is known by.
///
/// These are noted down in the model, and compared when training is resumed.
#[derive(Debug)]
pub struct Loss {
    pub(super) objective: Box<dyn Objective>,
    pub(super) notes: Vec<(&'static str, String)>,
}

impl Loss {
    /// One of ours.
    pub fn new(options: &ObjectiveOptions) -> Result<Self> {
        let objective = options.build()?;
        let mut notes = vec![("objective", options.kind.to_string())];
        let lambda = &options.lambda;
        let none = || "none".to_owned();
        match options.kind {
            Kind::LambdaRank | Kind::RankNet => {
                notes.extend([
                    ("pairs_to", lambda.pairs_to.map_or_else(none, |rank| rank.to_string())),
                    ("sigma", lambda.sigma.to_string()),
                    ("pair_normaliser", lambda.pair_normaliser.to_string()),
                    ("query_normaliser", lambda.query_normaliser.to_string()),
                    ("noise_scale", lambda.noise.map_or(0.0, |noise| noise.scale).to_string()),
                    ("noise_copies", lambda.noise.map_or(0, |noise| noise.copies).to_string()),
                    ("tied_pairs", lambda.ties.to_string()),
                ]);
            }
            Kind::Logistic | Kind::BalancedLogistic => {
                let from = options.relevant_from;
                notes.push(("relevant_from", from.map_or_else(none, |label| label.to_string())));
            }
            _ => {}
        }
        if options.kind == Kind::LambdaRank {
            let metric = &lambda.metric;
            notes.push(("objective_metric", metric.to_string()));
            notes.push(("convention", format!("{:?}", metric.convention())));
        }
        notes.push(("objective_seed", lambda.seed.to_string()));
        Ok(Self { objective, notes })
    }

    /// Somebody else's; the name must tell it from any other.
    pub fn other(name: impl Into<String>, objective: Box<dyn Objective>) -> Self {
        Self { objective, notes: vec![("objective", name.into())] }
    }
}
