//! A net as the kernels want it, and its forward pass over many docs.
//!
//! Layers are as wide as whole lanes. The units beyond the real ones have weights and biases of 0, so
//! they are 0 and add nothing. All weights stand in one list, which is what training changes:
//!
//! ```text
//! [ biases | weights of value 0 | weights of value 1 | ... ]   each as wide as the layer
//! [ the same of the next hidden layer ]
//! [ weights of the score, as wide as the last layer | bias of the score and pads ]
//! ```

use super::kernel::{self, LANES, Rows, Scaling, padded};
use super::{Layer, Mlp, NetInput};
use crate::error::Result;
use crate::simd::Level;
use std::ops::Range;

/// Docs that go through the net at once: their values stay in the first cache.
pub(crate) const DOCS: usize = 32;

/// How many values each layer has, and where its weights stand.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    /// The inputs, then the units of each hidden layer.
    pub(crate) sizes: Vec<usize>,
    /// The same, as wide as whole lanes.
    pub(crate) widths: Vec<usize>,
    /// The biases and weights of each hidden layer.
    pub(crate) blocks: Vec<Range<usize>>,
    /// The weights of the score.
    pub(crate) output: Range<usize>,
}

impl Shape {
    pub(crate) fn new(num_inputs: usize, hidden: &[usize]) -> Self {
        let sizes: Vec<usize> = [num_inputs].into_iter().chain(hidden.iter().copied()).collect();
        let widths: Vec<usize> = sizes.iter().map(|&size| padded(size)).collect();
        let (mut blocks, mut start) = (Vec::new(), 0);
        for (from, width) in sizes.iter().zip(&widths[1..]) {
            blocks.push(start..start + (from + 1) * width);
            start += (from + 1) * width;
        }
        let output = start..start + widths[hidden.len()];
        Self { sizes, widths, blocks, output }
    }

    /// The number of weights, biases and pads.
    pub(crate) fn len(&self) -> usize {
        self.output.end + LANES
    }

    /// The number of hidden layers.
    #[cfg(feature = "train")]
    pub(crate) fn depth(&self) -> usize {
        self.blocks.len()
    }
}

/// What a pass leaves: the values of each hidden layer, doc by doc.
#[derive(Debug, Clone, Default)]
pub(crate) struct Activations(pub(crate) [Vec<f32>; super::MOST_LAYERS]);

/// A net made ready.
#[derive(Debug, Clone)]
pub(crate) struct Net {
    pub(crate) features: Vec<u32>,
    pub(crate) scaling: Scaling,
    pub(crate) shape: Shape,
    pub(crate) weights: Vec<f32>,
}

impl Net {
    /// A net whose weights are all 0.
    pub(crate) fn zero(inputs: &[NetInput], limit: f32, hidden: &[usize]) -> Self {
        let any_log = inputs.iter().any(|input| input.log);
        let log = |input: &NetInput| f32::from(u8::from(input.log));
        let scaling = Scaling {
            means: inputs.iter().map(|input| input.mean).collect(),
            factors: inputs.iter().map(|input| 1.0 / input.scale).collect(),
            logs: if any_log { inputs.iter().map(log).collect() } else { Vec::new() },
            limit,
        };
        let shape = Shape::new(inputs.len(), hidden);
        let weights = vec![0.0; shape.len()];
        let features = inputs.iter().map(|input| input.feature).collect();
        Self { features, scaling, shape, weights }
    }

    pub(crate) fn of(mlp: &Mlp) -> Self {
        let hidden: Vec<usize> =
            mlp.layers[..mlp.layers.len() - 1].iter().map(|layer| layer.biases.len()).collect();
        let mut net = Self::zero(&mlp.inputs, mlp.limit, &hidden);
        let Shape { sizes, widths, blocks, output } = &net.shape;
        for (at, layer) in mlp.layers[..hidden.len()].iter().enumerate() {
            let (block, from, width) =
                (&mut net.weights[blocks[at].clone()], sizes[at], widths[at + 1]);
            for (unit, bias) in layer.biases.iter().enumerate() {
                block[unit] = *bias;
                for value in 0..from {
                    block[(value + 1) * width + unit] = layer.weights[unit * from + value];
                }
            }
        }
        let last = &mlp.layers[hidden.len()];
        net.weights[output.start..][..last.weights.len()].copy_from_slice(&last.weights);
        net.weights[output.end] = last.biases[0];
        net
    }

    /// The same net as a part of a model; `inputs` are those it was made of.
    #[cfg_attr(not(feature = "train"), expect(dead_code, reason = "what training calls"))]
    pub(crate) fn to_mlp(&self, inputs: &[NetInput]) -> Result<Mlp> {
        let Shape { sizes, widths, blocks, output } = &self.shape;
        let mut layers = Vec::with_capacity(blocks.len() + 1);
        for (at, block) in blocks.iter().enumerate() {
            let (block, width) = (&self.weights[block.clone()], widths[at + 1]);
            let units = 0..sizes[at + 1];
            let weights = units.clone().flat_map(|unit| {
                (0..sizes[at]).map(move |value| block[(value + 1) * width + unit])
            });
            layers
                .push(Layer { biases: block[units.clone()].to_vec(), weights: weights.collect() });
        }
        let last = sizes[blocks.len()];
        layers.push(Layer {
            biases: vec![self.weights[output.end]],
            weights: self.weights[output.start..][..last].to_vec(),
        });
        Mlp::new(inputs.to_vec(), self.scaling.limit, layers)
    }

    /// The values of a standardised doc, pads included.
    pub(crate) fn stride(&self) -> usize {
        self.shape.widths[0]
    }

    /// The layers of docs whose values are standardised, and their scores.
    pub(crate) fn forward<'a>(
        &self,
        level: Level,
        mut from: Rows<'a>,
        layers: &'a mut Activations,
        scores: &mut [f64],
    ) {
        let Shape { widths, blocks, output, .. } = &self.shape;
        for ((block, &width), layer) in blocks.iter().zip(&widths[1..]).zip(&mut layers.0) {
            layer.resize(scores.len() * width, 0.0);
            kernel::product(level, from, &self.weights[block.clone()], width, layer);
            kernel::tanh(level, layer);
            from = Rows { values: layer, stride: width };
        }
        let weights = &self.weights[output.clone()];
        kernel::score(level, from, weights, self.weights[output.end], scores);
    }

    /// The scores of docs, [`DOCS`] at a time; `fill` writes the raw inputs of docs from a number on
    /// into rows of [`stride`](Self::stride) values.
    pub(crate) fn scores(
        &self,
        level: Level,
        scratch: &mut (Vec<f32>, Activations),
        scores: &mut [f64],
        fill: impl Fn(usize, &mut [f32]),
    ) {
        let (values, layers) = scratch;
        let stride = self.stride();
        for (at, scores) in scores.chunks_mut(DOCS).enumerate() {
            values.clear();
            values.resize(scores.len() * stride, 0.0);
            fill(at * DOCS, values);
            kernel::standardise(level, values, stride, &self.scaling);
            let rows = Rows { values, stride };
            self.forward(level, rows, layers, scores);
        }
    }

    /// About how many ops of trees a doc costs.
    pub(crate) fn num_ops(&self) -> usize {
        self.weights.len() / 8 + 4 * self.features.len()
    }
}
