//! The inputs of a net: which features it uses, and the standardisation of their values.
//!
//! Sums go over documents in blocks of a fixed size, in the order of their content: any number of
//! threads and any order of rows gives the same bits.

use super::params::Inputs;
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
#[derive(Debug, Clone, Copy, Default)]
struct FeatureMoments {
    count: f64,
    sums: [f64; 2],
    squares: [f64; 2],
    fourths: [f64; 2],
}

impl FeatureMoments {
    fn means(&self) -> [f64; 2] {
        self.sums.map(|sum| sum / self.count.max(1.0))
    }

    fn kurtosis(&self) -> [f64; 2] {
        let of =
            |way: usize| self.fourths[way] * self.count / (self.squares[way] * self.squares[way]);
        [of(0), of(1)]
    }

    /// The input made of a feature; `None` if the feature is constant.
    fn input(&self, feature: usize, inputs: Inputs) -> Option<NetInput> {
        let [plain, log] = self.kurtosis();
        let log = match inputs {
            Inputs::Plain => false,
            Inputs::Log => true,
            Inputs::Auto => plain > LONG_TAIL && log < plain,
        };
        let way = usize::from(log);
        let mean = self.means()[way] as f32;
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
    let none = vec![FeatureMoments::default(); data.num_features()];
    let sums = gather(data, &none, interrupt, |moments, values| {
        moments.count += 1.0;
        for (sum, value) in moments.sums.iter_mut().zip(values) {
            *sum += value;
        }
    })?;
    let moments = gather(data, &sums, interrupt, |moments, values| {
        let means = moments.means();
        for way in 0..2 {
            let square = (values[way] - means[way]) * (values[way] - means[way]);
            moments.squares[way] += square;
            moments.fourths[way] += square * square;
        }
    })?;
    let of_feature = |(feature, moments): (usize, &FeatureMoments)| moments.input(feature, inputs);
    let inputs: Vec<NetInput> = moments.iter().enumerate().filter_map(of_feature).collect();
    if inputs.is_empty() {
        let what = "nothing can be learned: no feature has two values";
        return Err(Error::data("nothing", what));
    }
    Ok(inputs)
}

/// Adds all values to the moments known so far, block by block; the blocks are summed in order.
fn gather(
    data: &RawDataset,
    known: &[FeatureMoments],
    interrupt: &Interrupt,
    add: impl Fn(&mut FeatureMoments, [f64; 2]) + Sync,
) -> Result<Vec<FeatureMoments>> {
    let stride = data.stride();
    let blocks: Vec<Vec<FeatureMoments>> = data
        .cells()
        .par_chunks(BLOCK * stride)
        .map(|cells| {
            interrupt.check()?;
            let mut moments = known.to_vec();
            for row in cells.chunks_exact(stride) {
                for (moments, &cell) in moments.iter_mut().zip(row) {
                    if !cell.is_nan() {
                        add(moments, [cell, kernel::signed_log(cell)].map(f64::from));
                    }
                }
            }
            Ok(moments)
        })
        .collect::<Result<_>>()?;
    let mut all = known.to_vec();
    for block in blocks {
        for ((all, more), known) in all.iter_mut().zip(&block).zip(known) {
            // Each block started from the known moments.
            all.count += more.count - known.count;
            for way in 0..2 {
                all.sums[way] += more.sums[way] - known.sums[way];
                all.squares[way] += more.squares[way];
                all.fourths[way] += more.fourths[way];
            }
        }
    }
    Ok(all)
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
