//! Scores of a model as its documentation says them: one row, one tree, one unit after the other.

use rustrank::model::{Mlp, Model, NetInput, Normalisation, Part};

/// The score of a row, as the documentation of the model says it.
pub(crate) fn walk(model: &Model, row: &[f64]) -> f64 {
    add(model, row, 0.0)
}

fn add(model: &Model, row: &[f64], sum: f64) -> f64 {
    model.components().iter().fold(sum + model.intercept(), |sum, component| {
        if component.is_plain() {
            return add_part(&component.part, row, sum);
        }
        let (mean, scale) = match component.normalisation {
            Normalisation::AsIs => (0.0, 1.0),
            Normalisation::Fixed { mean, scale } => (mean, scale),
            _ => unreachable!("tested by themselves"),
        };
        sum + component.weight * ((add_part(&component.part, row, 0.0) - mean) / scale)
    })
}

fn add_part(part: &Part, row: &[f64], sum: f64) -> f64 {
    match part {
        Part::Forest(forest) => forest.trees().iter().fold(sum, |sum, tree| {
            sum + tree.leaves()[tree.leaf_of(|feature| forest.cell(feature, row))].value
        }),
        Part::Linear(linear) => linear.terms().iter().fold(sum, |sum, &(feature, weight)| {
            let value = row[feature as usize];
            if value.is_nan() { sum } else { sum + weight * value }
        }),
        Part::Mlp(mlp) => sum + net_score(mlp, row),
        Part::Model(model) => add(model, row, sum),
        _ => unreachable!("no other part"),
    }
}

/// The score of a net, as the documentation says it: one unit after the other, each sum in the order of its terms.
pub(crate) fn net_score(net: &Mlp, row: &[f64]) -> f64 {
    let input = |input: &NetInput| {
        let value = row[input.feature as usize] as f32;
        let far = value.is_infinite() && row[input.feature as usize].is_finite();
        let value = if far { f32::MAX.copysign(value) } else { value };
        let value = if input.log { signed_log(value) } else { value };
        let value = (value - input.mean) * (1.0 / input.scale);
        if value.is_nan() { 0.0 } else { value.clamp(-net.limit(), net.limit()) }
    };
    let mut values: Vec<f32> = net.inputs().iter().map(input).collect();
    let [hidden @ .., output] = net.layers() else { unreachable!("a net has an output") };
    for layer in hidden {
        let unit = |(&bias, weights): (&f32, &[f32])| {
            let terms = values.iter().zip(weights);
            tangent(terms.fold(bias, |sum, (value, weight)| sum + value * weight))
        };
        values = layer.biases.iter().zip(layer.weights.chunks(values.len())).map(unit).collect();
    }
    // Sixteen sums, each of every sixteenth term.
    let mut sums = [0.0; 16];
    for (at, (&value, &weight)) in values.iter().zip(&output.weights).enumerate() {
        sums[at % 16] += f64::from(value) * f64::from(weight);
    }
    f64::from(output.biases[0]) + sums.iter().sum::<f64>()
}

/// `ln(1 + x)`, or `-ln(1 - x)` where x is negative, in the steps of the scorer: its bits are promised.
fn signed_log(x: f32) -> f32 {
    let y = 1.0 + x.abs().min(f32::MAX);
    // y = 2^power m with m from sqrt(1/2) to sqrt(2), and ln m = 2 artanh t.
    let (mut power, mut m) = (0.0, y);
    let root = std::f32::consts::FRAC_1_SQRT_2;
    while m >= 2.0 * root {
        (power, m) = (power + 1.0, m / 2.0);
    }
    let t = (m - 1.0) / (m + 1.0);
    let square = t * t;
    let factors = [2.0f32 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0];
    let p = factors.iter().fold(2.0 / 11.0, |p, factor| p * square + factor);
    let log = power * std::f32::consts::LN_2 + (t * square * p + 2.0 * t);
    if x.is_nan() { x } else { log.copysign(x) }
}

/// The hyperbolic tangent, `(1 - e) / (1 + e)` with `e = exp(-2 |x|)`, in the steps of the scorer.
fn tangent(x: f32) -> f32 {
    let series = [0.001_333_355_8f32, 0.009_618_129, 0.055_504_11, 0.240_226_5];
    let y = x.abs().min(10.0) * (-2.0 * std::f32::consts::LOG2_E);
    let whole = y.round_ties_even();
    let f = y - whole;
    let p = series.iter().fold(0.000_154_035_3, |p, factor| p * f + factor);
    let e = ((p * f + std::f32::consts::LN_2) * f + 1.0) * whole.exp2();
    ((1.0 - e) / (1.0 + e)).copysign(x)
}

/// The bits of scores, to compare them.
pub(crate) fn bits(scores: &[f64]) -> Vec<u64> {
    // All missing values are one: what a sum of infinities of both signs is called is left open.
    scores.iter().map(|s| if s.is_nan() { f64::NAN.to_bits() } else { s.to_bits() }).collect()
}
