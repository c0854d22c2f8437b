//! Float sums over documents, block by block: any number of threads gives the same bits.

use crate::error::Result;
use crate::interrupt::Interrupt;
use rayon::prelude::*;

/// `num_sums` times `N` sums over all blocks. `add` adds a block to sums of its own, which are then
/// added in the order of the blocks.
pub(crate) fn block_sums<B, const N: usize>(
    blocks: impl IndexedParallelIterator<Item = B>,
    num_sums: usize,
    interrupt: &Interrupt,
    add: impl Fn(&mut [[f64; N]], B) + Sync + Send,
) -> Result<Vec<[f64; N]>> {
    let none = vec![[0.0; N]; num_sums];
    let of_block = |block| {
        interrupt.check()?;
        let mut sums = none.clone();
        add(&mut sums, block);
        Ok(sums)
    };
    let mut all = none.clone();
    for sums in blocks.map(of_block).collect::<Result<Vec<_>>>()? {
        for (all, sum) in all.iter_mut().flatten().zip(sums.iter().flatten()) {
            *all += sum;
        }
    }
    Ok(all)
}
