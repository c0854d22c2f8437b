//! From cells to inputs: which features a net looks at, their means and scales.
//!
//! Sums go over docs in blocks of a fixed size, in the order of their content: any number of threads
//! and any order of rows gives the same bits.

use super::params::Inputs;
use crate::data::RawDataset;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::model::NetInput;
use crate::model::mlp::Net;
use crate::model::mlp::kernel;
use crate::simd::Level;
use rayon::prelude::*;

/// Docs of a block.
const BLOCK: usize = 4096;

/// A kurtosis above this is a long tail; that of the normal distribution is 3.
const LONG: f64 = 6.0;

/// The values of a feature as they are, and their logarithms.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    count: f64,
    sums: [f64; 2],
    squares: [f64; 2],
    fourths: [f64; 2],
}

impl Moments {
    fn means(&self) -> [f64; 2] {
        self.sums.map(|sum| sum / self.count.max(1.0))
    }

    fn kurtosis(&self) -> [f64; 2] {
        let of =
            |way: usize| self.fourths[way] * self.count / (self.squares[way] * self.squares[way]);
        [of(0), of(1)]
    }

    /// The input that a feature becomes; `None` if it has not two values.
    fn input(&self, feature: usize, inputs: Inputs) -> Option<NetInput> {
        let [plain, log] = self.kurtosis();
        let log = match inputs {
            Inputs::Plain => false,
            Inputs::Log => true,
            Inputs::Auto => plain > LONG && log < plain,
        };
        let way = usize::from(log);
        let mean = self.means()[way] as f32;
        let scale = (self.squares[way] / self.count).sqrt() as f32;
        let is_usable = mean.is_finite() && scale.is_finite() && (1.0 / scale).is_finite();
        let input = NetInput { feature: feature as u32, log, mean, scale };
        (is_usable && scale > 0.0).then_some(input)
    }
}

/// The inputs of a net that learns from `data`: its features that have two values.
pub(super) fn choose(
    data: &RawDataset,
    inputs: Inputs,
    interrupt: &Interrupt,
) -> Result<Vec<NetInput>> {
    let none = vec![Moments::default(); data.num_features()];
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
    let of_feature = |(feature, moments): (usize, &Moments)| moments.input(feature, inputs);
    let inputs: Vec<NetInput> = moments.iter().enumerate().filter_map(of_feature).collect();
    if inputs.is_empty() {
        let what = "nothing can be learned: no feature has two values";
        return Err(Error::data("nothing", what));
    }
    Ok(inputs)
}

/// Adds all values to the moments that are known: block by block, and these in order.
fn gather(
    data: &RawDataset,
    known: &[Moments],
    interrupt: &Interrupt,
    add: impl Fn(&mut Moments, [f64; 2]) + Sync,
) -> Result<Vec<Moments>> {
    let stride = data.stride();
    let blocks: Vec<Vec<Moments>> = data
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
            // A block began with what is known.
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

/// Turns the cells of a dataset into the inputs of a net, where they stand.
pub(super) fn settle(data: &mut RawDataset, net: &Net, interrupt: &Interrupt) -> Result<()> {
    let stride = data.stride();
    let level = Level::best();
    data.cells_mut().par_chunks_mut(BLOCK * stride).try_for_each(|cells| {
        interrupt.check()?;
        for row in cells.chunks_exact_mut(stride) {
            // Features rise, so none is overwritten before it is read.
            for (to, &feature) in net.features.iter().enumerate() {
                row[to] = row[feature as usize];
            }
            row[net.features.len()..].fill(0.0);
        }
        kernel::standardise(level, cells, stride, &net.scaling);
        Ok(())
    })
}
