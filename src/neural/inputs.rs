//! From cells to inputs: which features a net looks at, their means and scales.
//!
//! Sums go over docs in blocks of a fixed size, in the order of their content: any number of threads
//! and any order of rows gives the same bits.

use crate::data::RawDataset;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::model::Input;
use crate::model::mlp::Net;
use crate::model::mlp::kernel;
use crate::simd::Level;
use rayon::prelude::*;

/// Docs of a block.
const BLOCK: usize = 4096;

/// The inputs of a net that learns from `data`: its features that have two values.
pub(super) fn choose(data: &RawDataset, log: bool, interrupt: &Interrupt) -> Result<Vec<Input>> {
    let width = data.num_features();
    let seen = |cell: f32| {
        let cell = if log { kernel::signed_log(cell) } else { cell };
        f64::from(cell)
    };
    let sums = sums(data, interrupt, |row, sums: &mut [[f64; 2]]| {
        for (sum, &cell) in sums.iter_mut().zip(row) {
            let usable = !cell.is_nan();
            sum[0] += if usable { seen(cell) } else { 0.0 };
            sum[1] += f64::from(u8::from(usable));
        }
    })?;
    let means: Vec<f64> = sums.iter().map(|[sum, count]| sum / count.max(1.0)).collect();
    let squares = sums_of_squares(data, interrupt, (&means, seen))?;
    let mut inputs = Vec::with_capacity(width);
    for (feature, (&mean, ([_, count], square))) in
        means.iter().zip(sums.iter().zip(squares)).enumerate()
    {
        let (mean, scale) = (mean as f32, (square / count).sqrt() as f32);
        let usable = mean.is_finite() && scale.is_finite() && (1.0 / scale).is_finite();
        if usable && scale > 0.0 {
            inputs.push(Input { feature: feature as u32, log, mean, scale });
        }
    }
    if inputs.is_empty() {
        let what = "nothing can be learned: no feature has two values";
        return Err(Error::data("nothing", what));
    }
    Ok(inputs)
}

fn sums_of_squares(
    data: &RawDataset,
    interrupt: &Interrupt,
    (means, seen): (&[f64], impl Fn(f32) -> f64 + Sync),
) -> Result<Vec<f64>> {
    let sums = sums(data, interrupt, |row, sums: &mut [[f64; 2]]| {
        for ((sum, &cell), mean) in sums.iter_mut().zip(row).zip(means) {
            let off = if cell.is_nan() { 0.0 } else { seen(cell) - mean };
            sum[0] += off * off;
        }
    })?;
    Ok(sums.into_iter().map(|[sum, _]| sum).collect())
}

/// Two sums a feature over all docs.
fn sums(
    data: &RawDataset,
    interrupt: &Interrupt,
    add: impl Fn(&[f32], &mut [[f64; 2]]) + Sync,
) -> Result<Vec<[f64; 2]>> {
    let (width, stride) = (data.num_features(), data.stride());
    let blocks: Vec<Vec<[f64; 2]>> = data
        .cells()
        .par_chunks(BLOCK * stride)
        .map(|cells| {
            interrupt.check()?;
            let mut sums = vec![[0.0; 2]; width];
            cells.chunks_exact(stride).for_each(|row| add(row, &mut sums));
            Ok(sums)
        })
        .collect::<Result<_>>()?;
    let mut sums = vec![[0.0; 2]; width];
    for block in blocks {
        for (sum, more) in sums.iter_mut().zip(block) {
            *sum = [sum[0] + more[0], sum[1] + more[1]];
        }
    }
    Ok(sums)
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
