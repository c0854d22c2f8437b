//! A calibrated model: its score becomes a probability, by a function that never falls.
//!
//! The function is a list of *knots*, scores with their values; it is linear between knots and
//! constant beyond the first and the last. [`Calibrated::fit`] finds it by isotonic regression: of all
//! functions that never fall, the one with the least squared error on documents that are known to be
//! relevant or not (pool adjacent violators). It is constant over each pool of scores, so documents of a
//! pool are tied.
//!
//! The fit depends on how many documents of each score are relevant, which are integers: neither on the
//! order of the documents nor on threads.
//!
//! ```text
//! calibrated  = "calibrated" count LF                ; of knots, 1 at least
//!               { score value LF }                   ; scores rise, values do not fall
//!               model
//! ```

use super::{ModelPart, Part};
use crate::error::{Error, Result};
use crate::model::binned::AddForest;
use crate::model::composite::no_ranks;
use crate::model::read::{ModelLine, ModelReader};
use crate::model::scorer::{ScoreMap, ScorerBuilder, SumStep};
use crate::model::write::{self, put};
use crate::model::{Component, Model};

/// A point of a calibration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knot {
    /// A score of the model.
    pub score: f64,
    /// What it becomes: a probability.
    pub value: f64,
}

/// A model with a function of its score that never falls.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated {
    model: Model,
    knots: Knots,
}

/// The function: at least one knot; scores rise, values do not fall, all are finite.
#[derive(Debug, Clone, PartialEq)]
struct Knots(Vec<Knot>);

/// Neighbouring scores that get the same value.
#[derive(Debug, Clone, Copy)]
struct ScorePool {
    first: f64,
    last: f64,
    relevant: u64,
    docs: u64,
}

impl ScorePool {
    fn value(self) -> f64 {
        self.relevant as f64 / self.docs as f64
    }

    /// Whether the share of relevant documents is larger than, or the same as, that of another pool.
    fn is_at_least(self, other: Self) -> bool {
        let product = |relevant: u64, docs: u64| u128::from(relevant) * u128::from(docs);
        product(self.relevant, other.docs) >= product(other.relevant, self.docs)
    }

    fn join(&mut self, after: Self) {
        self.last = after.last;
        self.relevant += after.relevant;
        self.docs += after.docs;
    }
}

impl Calibrated {
    /// A model with the knots of its calibration.
    pub fn new(model: Model, knots: Vec<Knot>) -> Result<Self> {
        let rises = |pair: &[Knot]| pair[0].score < pair[1].score && pair[0].value <= pair[1].value;
        let finite = |knot: &Knot| knot.score.is_finite() && knot.value.is_finite();
        let (Some(first), Some(last)) = (knots.first(), knots.last()) else {
            return Err(Error::model("model.calibration", "a calibration has no knots"));
        };
        let spans = [last.score - first.score, last.value - first.value];
        if !knots.iter().all(finite) || !spans.iter().all(|span| span.is_finite()) {
            let what = "the scores and values of a calibration must be finite";
            return Err(Error::model("model.number", what));
        }
        if !knots.windows(2).all(rises) {
            let what = "the scores of a calibration must rise, and its values must not fall";
            return Err(Error::model("model.order", what));
        }
        Ok(Self { model, knots: Knots(knots) })
    }

    /// Fits the share of relevant documents, those with a label of `relevant_from` or more, to the
    /// scores that `model` gave them.
    pub fn fit(model: Model, scores: &[f64], labels: &[f64], relevant_from: f64) -> Result<Self> {
        if scores.len() != labels.len() || scores.is_empty() {
            return Err(Error::data("calibrate.length", "a label is needed for each score")
                .got(format!("{} labels of {} scores", labels.len(), scores.len()))
                .expected("as many labels as scores, at least one"));
        }
        for (name, values) in [("score", scores), ("label", labels)] {
            if let Some(row) = values.iter().position(|value| !value.is_finite()) {
                let what = format!("{name}[{row}] is {}", values[row]);
                let error = Error::data("calibrate.number", what).row(row);
                return Err(error.expected("a finite number"));
            }
        }
        if relevant_from.is_nan() {
            let what = "relevant_from is NaN";
            return Err(Error::param("relevant_from", what).expected("a number"));
        }
        // 0 and -0 are one score.
        let doc = |(score, &label): (&f64, &f64)| (score + 0.0, label >= relevant_from);
        let mut docs: Vec<(f64, bool)> = scores.iter().zip(labels).map(doc).collect();
        docs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut pools: Vec<ScorePool> = Vec::new();
        for equal in docs.chunk_by(|a, b| a.0 == b.0) {
            let count = equal.iter().filter(|(_, is)| *is).count() as u64;
            let (first, docs) = (equal[0].0, equal.len() as u64);
            let mut pool = ScorePool { first, last: first, relevant: count, docs };
            while let Some(before) = pools.pop_if(|before| before.is_at_least(pool)) {
                let after = std::mem::replace(&mut pool, before);
                pool.join(after);
            }
            pools.push(pool);
        }
        let knots = pools.iter().flat_map(|pool| {
            let knot = |score| Knot { score, value: pool.value() };
            [Some(knot(pool.first)), (pool.first < pool.last).then(|| knot(pool.last))]
        });
        Self::new(model, knots.flatten().collect())
    }

    /// A model that is this and nothing else.
    pub fn into_model(self) -> Result<Model> {
        let mut model = Model::around(&[&self.model]);
        model.add(Component::new(Part::Calibrated(Box::new(self))))?;
        Ok(model)
    }

    /// The model whose score is calibrated.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The knots, by rising score.
    pub fn knots(&self) -> &[Knot] {
        &self.knots.0
    }

    /// What a score becomes.
    pub fn value(&self, score: f64) -> f64 {
        self.knots.value(score)
    }
}

impl ScoreMap for Knots {
    fn value(&self, score: f64) -> f64 {
        let after = self.0.partition_point(|knot| knot.score <= score);
        match (after.checked_sub(1).map(|at| self.0[at]), self.0.get(after)) {
            _ if score.is_nan() => score,
            (Some(low), Some(high)) => {
                let share = (score - low.score) / (high.score - low.score);
                // Rounding may go beyond the end.
                (low.value + (high.value - low.value) * share).min(high.value)
            }
            (Some(end), None) => end.value,
            (None, Some(end)) => end.value,
            (None, None) => score,
        }
    }
}

impl ModelPart for Calibrated {
    fn read(reader: &mut ModelReader<'_>, line: ModelLine<'_>) -> Result<Self> {
        let knots = reader.lines(line.last_count()?, |line| {
            Ok(Knot { score: line.float("a score")?, value: line.float("a value")? })
        })?;
        let model = reader.model()?;
        Self::new(model, knots).map_err(|e| reader.refuse(&e))
    }

    fn write(&self, text: &mut String) {
        put(text, format_args!("calibrated {}\n", self.knots().len()));
        for Knot { score, value } in self.knots() {
            put(text, format_args!("{score:?} {value:?}\n"));
        }
        write::model(text, &self.model);
    }

    fn check(&self, model: &Model) -> Result<()> {
        model.check_features(self.model.num_features())?;
        match (model.ranks_features(), self.model.ranks_features()) {
            (true, false) => Err(no_ranks()),
            (false, true) => {
                let what = "a calibrated model that ranks features within queries";
                Err(Error::model("model.ranks", what).expected("a model around it that does, too"))
            }
            _ => Ok(()),
        }
    }

    fn build<'a>(&'a self, scorer: &mut ScorerBuilder<'a>) {
        scorer.open(0.0);
        scorer.model(&self.model);
        scorer.program.push(SumStep::Map(Box::new(self.knots.clone())));
        scorer.program.close(1.0, 0.0, 1.0);
    }

    fn add_binned<'a>(&'a self, add: &mut AddForest<'a, '_>, sums: &mut [f64]) -> Result<()> {
        let mut own = vec![0.0; sums.len()];
        self.model.add_binned(add, &mut own)?;
        self.knots.apply(&mut own);
        sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        Ok(())
    }

    fn check_base(&self) -> Result<()> {
        let what = "training cannot go on from a calibrated model: its score is a probability";
        Err(Error::param("base", what)
            .hint("train on the model as it was, then calibrate the result"))
    }

    fn map_categories(&mut self, feature: u32, number: &mut dyn FnMut(u32) -> u32) {
        self.model.map_categories(feature, number);
    }

    fn inner(&self) -> Option<&Model> {
        Some(&self.model)
    }
}
