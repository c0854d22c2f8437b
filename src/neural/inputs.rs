//! The inputs of a net: which features it uses, and the standardisation of their values.
//!
//! Sums go over documents in blocks of a fixed size, in the order of their content: any number of
//! threads and any order of rows gives the same bits.

use super::params::Inputs;
use crate::block_sums::block_sums;
use crate::data::RawDataset;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::model::NetInput;
use crate::model::mlp::Net;
use crate::model::mlp::kernel;
use crate::simd::Level;
use rayon::prelude::*;

/// Documents of a block.
const BLOCK: usize = 4096;

/// A kurtosis above this counts as a long tail; the normal distribution has 3.
const LONG_TAIL: f64 = 6.0;

/// The moments of a feature's values (first of each pair) and of their logarithms (second).
#[derive(Debug, Clone, Copy)]
struct FeatureMoments {
    count: f64,
    means: [f64; 2],
    /// Sums of squares and of fourth powers of the differences from the mean.
    squares: [f64; 2],
    fourths: [f64; 2],
}

impl FeatureMoments {
    fn kurtosis(&self, way: usize) -> f64 {
        self.fourths[way] * self.count / (self.squares[way] * self.squares[way])
    }

    /// The input made of a feature; `None` if the feature is constant.
    fn input(&self, feature: usize, inputs: Inputs) -> Option<NetInput> {
        let [plain, log] = [0, 1].map(|way| self.kurtosis(way));
        let log = match inputs {
            Inputs::Plain => false,
            Inputs::Log => true,
            Inputs::Auto => plain > LONG_TAIL && log < plain,
        };
        let way = usize::from(log);
        let mean = self.means[way] as f32;
        let scale = (self.squares[way] / self.count).sqrt() as f32;
        let is_usable = mean.is_finite() && scale.is_finite() && (1.0 / scale).is_finite();
        let input = NetInput { feature: feature as u32, log, mean, scale };
        (is_usable && scale > 0.0).then_some(input)
    }
}

/// The inputs of a net that learns from `data`: its features that are not constant.
pub(super) fn choose_inputs(
    data: &RawDataset,
    inputs: Inputs,
    interrupt: &Interrupt,
) -> Result<Vec<NetInput>> {
    let sums = sum_terms(data, interrupt, |_, [plain, log]| [1.0, plain, log, 0.0])?;
    let mean = |[count, plain, log, _]: &[f64; 4]| [plain, log].map(|sum| sum / count.max(1.0));
    let means: Vec<[f64; 2]> = sums.iter().map(mean).collect();
    let powers = sum_terms(data, interrupt, |feature, values| {
        let difference = |way: usize| values[way] - means[feature][way];
        let [plain, log] = [0, 1].map(|way| difference(way) * difference(way));
        [plain, log, plain * plain, log * log]
    })?;
    let moments = sums.iter().zip(means).zip(powers);
    let moments = moments.map(|((sums, means), [a, b, c, d])| FeatureMoments {
        count: sums[0],
        means,
        squares: [a, b],
        fourths: [c, d],
    });
    let input = |(feature, moments): (usize, FeatureMoments)| moments.input(feature, inputs);
    let inputs: Vec<NetInput> = moments.enumerate().filter_map(input).collect();
    if inputs.is_empty() {
        let what = "nothing can be learned: no feature has two values";
        return Err(Error::data("nothing", what));
    }
    Ok(inputs)
}

/// For each feature, sums of four terms of a value and its logarithm over all values.
fn sum_terms(
    data: &RawDataset,
    interrupt: &Interrupt,
    terms: impl Fn(usize, [f64; 2]) -> [f64; 4] + Sync + Send,
) -> Result<Vec<[f64; 4]>> {
    let stride = data.stride();
    let blocks = data.cells().par_chunks(BLOCK * stride);
    block_sums(blocks, data.num_features(), interrupt, |sums, cells| {
        for row in cells.chunks_exact(stride) {
            for (feature, (sums, &cell)) in sums.iter_mut().zip(row).enumerate() {
                if !cell.is_nan() {
                    let terms = terms(feature, [cell, kernel::signed_log(cell)].map(f64::from));
                    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
                }
            }
        }
    })
}

/// Replaces the cells of a dataset by the standardised inputs of a net.
pub(super) fn standardise(data: &mut RawDataset, net: &Net, interrupt: &Interrupt) -> Result<()> {
    let stride = data.stride();
    let level = Level::best();
    data.cells_mut().par_chunks_mut(BLOCK * stride).try_for_each(|cells| {
        interrupt.check()?;
        for row in cells.chunks_exact_mut(stride) {
            // Features are in rising order, so none is overwritten before it is read.
            for (to, &feature) in net.features.iter().enumerate() {
                row[to] = row[feature as usize];
            }
            row[net.features.len()..].fill(0.0);
        }
        kernel::standardise(level, cells, stride, &net.scaling);
        Ok(())
    })
}
