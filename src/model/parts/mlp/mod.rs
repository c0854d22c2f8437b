//! A feed-forward net (multi-layer perceptron) with up to two hidden layers and one output, the score.
//!
//! An *input* is a feature taken as it is or as its logarithm, less a mean and divided by a scale, in
//! single precision; a missing value becomes 0, and none goes beyond a *limit*. A hidden unit is
//! the hyperbolic tangent of a bias and the weighted sum of the layer before. The score is a bias
//! and the weighted sum of the last layer; without hidden layers, of the inputs.
//!
//! Sums have a fixed order, and nothing in them is a library's or a processor's choice: the score of
//! a row has the same bits at every level of instructions, in every batch (`kernel`). No sum can
//! overflow, which [`Mlp::new`] makes sure of.
//!
//! Cost: a multiplication and an addition a weight, sixteen at a time.
//!
//! ```text
//! mlp         = "mlp" limit count LF { feature ( "x" | "log" ) mean scale LF }
//!               "layers" count LF { layer }          ; of one unit the last
//! layer       = "layer" count LF { bias { weight } LF } ; a line a unit, a weight each value before
//! ```

pub(crate) mod kernel;
mod net;

#[cfg(feature = "train")]
pub(crate) use net::Shape;
pub(crate) use net::{Activations, Net};

use super::ModelPart;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::model::read::{ModelLine, ModelReader};
use crate::model::scorer::ScorerBuilder;
use crate::model::write::{list, put};

/// The most hidden layers.
pub(crate) const MOST_LAYERS: usize = 2;
/// The most units of a hidden layer.
pub(crate) const MOST_UNITS: usize = 4096;

/// An input of a net: a standardised feature, `(value - mean) / scale`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetInput {
    /// Which feature.
    pub feature: u32,
    /// Whether `value` is `ln(1 + x)` of the feature's value x, and `-ln(1 - x)` where x is negative.
    pub log: bool,
    /// What is subtracted.
    pub mean: f32,
    /// What is divided by, as a multiplication by its reciprocal; above 0.
    pub scale: f32,
}

/// A fully connected layer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layer {
    /// The bias of each unit.
    pub biases: Vec<f32>,
    /// The weights of the first unit, then those of the second, and so on.
    pub weights: Vec<f32>,
}

/// A net whose numbers have been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Mlp {
    inputs: Vec<NetInput>,
    limit: f32,
    layers: Vec<Layer>,
}

impl Mlp {
    /// A net of inputs, which are cut off at `limit`, and layers, of which the last has one unit.
    pub fn new(inputs: Vec<NetInput>, limit: f32, layers: Vec<Layer>) -> Result<Self> {
        if !(limit > 0.0 && limit <= 1e6) {
            return Err(number("the limit of a net's inputs").got(limit).expected("> 0, <= 1e6"));
        }
        for NetInput { feature, mean, scale, .. } in &inputs {
            let usable = |x: f32| x.is_finite() && x > 0.0;
            if !mean.is_finite() || !usable(*scale) || !usable(1.0 / scale) {
                let what = format!("the mean and the scale of feature {feature}");
                return Err(number(&what)
                    .got(format!("{mean:?} and {scale:?}"))
                    .expected("finite, the scale above 0"));
            }
        }
        if inputs.is_empty() {
            return Err(Error::model("model.net", "a net has no inputs"));
        }
        if inputs.windows(2).any(|pair| pair[0].feature >= pair[1].feature) {
            let what = "the features of a net must rise";
            return Err(Error::model("model.net", what));
        }
        check_layers(inputs.len(), limit, &layers)?;
        Ok(Self { inputs, limit, layers })
    }

    /// The inputs, by rising feature.
    pub fn inputs(&self) -> &[NetInput] {
        &self.inputs
    }

    /// The largest magnitude of an input: one that is further from 0 counts as this.
    pub fn limit(&self) -> f32 {
        self.limit
    }

    /// The hidden layers, then the one unit that is the score.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// All weights as one list: of each layer the biases, then the weights.
    pub fn weights(&self) -> Vec<f32> {
        self.layers.iter().flat_map(|layer| [&layer.biases[..], &layer.weights].concat()).collect()
    }

    /// The same net with other weights, in the order of [`weights`](Self::weights).
    pub fn with_weights(&self, mut weights: &[f32]) -> Result<Self> {
        let expected = self.weights().len();
        if weights.len() != expected {
            let what = "a net has another number of weights";
            return Err(Error::param("model.net", what).got(weights.len()).expected(expected));
        }
        let mut layers = self.layers.clone();
        for list in layers.iter_mut().flat_map(|layer| [&mut layer.biases, &mut layer.weights]) {
            let (mine, rest) = weights.split_at(list.len());
            list.copy_from_slice(mine);
            weights = rest;
        }
        Self::new(self.inputs.clone(), self.limit, layers)
    }
}

impl ModelPart for Mlp {
    fn read(reader: &mut ModelReader<'_>, mut line: ModelLine<'_>) -> Result<Self> {
        let limit = line.float("a limit")?;
        let inputs = reader.lines(line.last_count()?, |line| {
            Ok(NetInput {
                feature: line.parse("a feature")?,
                log: line.one_of([("x", false), ("log", true)])?,
                mean: line.float("a mean")?,
                scale: line.float("a scale")?,
            })
        })?;
        let (mut layers, mut before) = (Vec::new(), inputs.len());
        for _ in 0..reader.count("layers")? {
            let mut layer = Layer::default();
            // A unit's bias, and a weight for each value before.
            let units = reader.list("layer", |line| {
                layer.biases.push(line.float("a bias")?);
                for _ in 0..before {
                    layer.weights.push(line.float("a weight")?);
                }
                Ok(())
            })?;
            before = units.len();
            layers.push(layer);
        }
        Self::new(inputs, limit, layers).map_err(|e| reader.refuse(&e))
    }

    fn write(&self, text: &mut String) {
        put(text, format_args!("mlp {:?} {}\n", self.limit(), self.inputs().len()));
        for input in self.inputs() {
            let kind = if input.log { "log" } else { "x" };
            let NetInput { feature, mean, scale, .. } = input;
            put(text, format_args!("{feature} {kind} {mean:?} {scale:?}\n"));
        }
        put(text, format_args!("layers {}\n", self.layers().len()));
        for layer in self.layers() {
            put(text, format_args!("layer {}\n", layer.biases.len()));
            let before = layer.weights.len() / layer.biases.len();
            for (bias, weights) in layer.biases.iter().zip(layer.weights.chunks(before)) {
                put(text, format_args!("{bias:?}"));
                list(text, weights);
            }
        }
    }

    fn compares(&self, _feature: u32) -> bool {
        true
    }

    fn check(&self, model: &Model) -> Result<()> {
        match self.inputs.last() {
            Some(last) if last.feature as usize >= model.num_features() => {
                let what = format!("a net looks at feature {}", last.feature);
                Err(Error::model("model.feature", what)
                    .expected(format!("< {}", model.num_features())))
            }
            _ => Ok(()),
        }
    }

    fn build<'a>(&'a self, scorer: &mut ScorerBuilder<'a>) {
        scorer.program.net(Net::of(self));
    }
}

fn number(what: &str) -> Error {
    Error::model("model.number", format!("{what} cannot be used"))
}

/// Refuses layers that do not fit onto each other, and sums that could overflow.
fn check_layers(num_inputs: usize, limit: f32, layers: &[Layer]) -> Result<()> {
    let wrong = |what: String| Error::model("model.net", what);
    let units = |layer: &Layer| layer.biases.len();
    if layers.is_empty() || layers.len() > MOST_LAYERS + 1 {
        let what = format!("a net has {} layers", layers.len());
        return Err(wrong(what).expected(format!("1 to {}", MOST_LAYERS + 1)));
    }
    if layers.last().map(units) != Some(1) || layers.iter().any(|l| units(l) > MOST_UNITS) {
        let what = format!("the layers of a net have {:?} units", layers.iter().map(units));
        return Err(wrong(what).expected(format!("1 to {MOST_UNITS}, and 1 in the last")));
    }
    let (mut before, mut largest) = (num_inputs, f64::from(limit));
    for (at, layer) in layers.iter().enumerate() {
        if units(layer) == 0 || before.checked_mul(units(layer)) != Some(layer.weights.len()) {
            let what = format!("layer {at} of a net has {} weights", layer.weights.len());
            return Err(wrong(what).expected(format!("{before} for each of its units")));
        }
        for (unit, bias) in layer.biases.iter().enumerate() {
            let weights = &layer.weights[unit * before..][..before];
            let sum: f64 = weights.iter().map(|w| f64::from(w.abs())).sum();
            // Rounding can add a little to a sum; a factor of four is plenty.
            let most = f64::from(bias.abs()) + largest * sum;
            if most.is_nan() || most > f64::from(f32::MAX / 4.0) {
                let what = format!("layer {at} unit {unit} of a net: its sum could overflow");
                return Err(Error::model("model.number", what));
            }
        }
        (before, largest) = (units(layer), 1.0);
    }
    Ok(())
}
