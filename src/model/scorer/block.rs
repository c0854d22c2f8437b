//! One block of docs from values to scores.

use super::super::parts::mlp::{Activations, Net};
use super::super::parts::{Expectation, ZERO, at_most, flush};
use super::kernel::{Lane, Sheet, Slots};
use super::plan::{CellRule, Search, ValueSource};
use super::program::{Form, SumStep, Trees};
use super::rows::{ScorerRows, Value, is_f32};
use super::{BLOCK, FEW, Scorer};
use std::cell::Cell;

/// Memory that a thread keeps between calls; it grows to the largest call.
#[derive(Default)]
pub(super) struct ScorerScratch {
    /// Cells of one column.
    narrow: Vec<f32>,
    wide: Vec<f64>,
    /// Sixteen columns of cells.
    tile: Vec<[f32; BLOCK]>,
    /// Codes of one column.
    codes: Vec<u8>,
    /// Codes of all columns, one lane after the other, for the circuits.
    lanes: Vec<Lane>,
    /// Codes of all columns, [`FEW`] side by side, for the walks.
    few: Vec<u8>,
    slots: Slots,
    /// What chunks compute with.
    planes: Vec<Lane>,
    /// The stack of sums, [`BLOCK`] each.
    sums: Vec<f64>,
    /// Leaf values of one doc, tree by tree; margins and probabilities of one doc.
    found: Vec<f64>,
    /// Inputs and layers of nets, and their scores.
    net: (Vec<f32>, Activations),
    scores: Vec<f64>,
}

impl ScorerScratch {
    /// Lends the thread's scratch space.
    pub(super) fn with<R>(work: impl FnOnce(&mut Self) -> R) -> R {
        thread_local! {
            static KEPT: Cell<Option<Box<ScorerScratch>>> = const { Cell::new(None) };
        }
        let mut scratch = KEPT.take().unwrap_or_default();
        let result = work(&mut scratch);
        KEPT.set(Some(scratch));
        result
    }
}

/// The inputs of a block's steps.
pub(super) struct BlockContext<'a, T> {
    /// From the block's first doc on.
    pub(super) rows: ScorerRows<'a, T>,
    /// The number of the block's first doc.
    pub(super) first: usize,
    /// The number of docs, at most [`BLOCK`].
    pub(super) docs: usize,
    /// The scores of all docs by each precomputed part.
    pub(super) parts: &'a [Vec<f64>],
}

impl Scorer {
    /// Scores the docs of a block.
    pub(super) fn block<T: Value>(
        &self,
        scratch: &mut ScorerScratch,
        context: &BlockContext<'_, T>,
        scores: &mut [f64],
    ) {
        scratch.sums.clear();
        scratch.sums.resize(self.program.num_sums() * BLOCK, 0.0);
        if self.walks(context.docs) {
            self.encode_few(&mut scratch.few, context);
        } else {
            self.encode(scratch, context);
        }
        let mut top = 0;
        for step in &self.program.steps {
            match step {
                SumStep::Open => {
                    top += 1;
                    scratch.sums[top * BLOCK..][..BLOCK].fill(0.0);
                }
                SumStep::Close { weight, mean, scale } => {
                    top -= 1;
                    let (below, above) = scratch.sums[top * BLOCK..].split_at_mut(BLOCK);
                    for (sum, part) in below.iter_mut().zip(&above[..BLOCK]) {
                        *sum += weight * ((part - mean) / scale);
                    }
                }
                SumStep::Expect(expectation) => {
                    top -= expectation.num_margins();
                    let (below, margins) = scratch.sums[top * BLOCK..].split_at_mut(BLOCK);
                    expect(expectation, margins, &mut below[..context.docs], &mut scratch.found);
                }
                step => self.add(scratch, context, step, top),
            }
        }
        scores.copy_from_slice(&scratch.sums[..scores.len()]);
    }

    /// Whether so many docs walk down all trees.
    fn walks(&self, docs: usize) -> bool {
        docs <= FEW.min(self.few)
    }

    /// The steps that add to the sum on top.
    fn add<T: Value>(
        &self,
        scratch: &mut ScorerScratch,
        context: &BlockContext<'_, T>,
        step: &SumStep,
        top: usize,
    ) {
        let sums = &mut scratch.sums[top * BLOCK..][..BLOCK];
        match step {
            SumStep::Trees(trees) if self.walks(context.docs) => {
                scratch.found.resize(trees.walks.len(), 0.0);
                for (doc, sum) in sums[..context.docs].iter_mut().enumerate() {
                    let code = |column: u32| scratch.few[column as usize * FEW + doc];
                    trees.walks.all(code, &mut scratch.found);
                    *sum = scratch.found.iter().fold(*sum, |sum, value| sum + value);
                }
            }
            SumStep::Trees(trees) => {
                let wide = context.docs.div_ceil(64);
                let sheet = Sheet { lanes: &scratch.lanes, wide };
                let sums = &mut sums[..64 * wide];
                if self.kernels.has_planes() && wide > 1 {
                    let planes = &mut scratch.planes;
                    trees.each(&trees.stages, sheet, sums, |chunk, sums| {
                        planes.resize(chunk.planes.max(planes.len()), Lane::default());
                        self.kernels.chunk(sheet, chunk, planes, sums);
                    });
                } else {
                    let (slots, circuits) = (&mut scratch.slots, &trees.circuits);
                    trees.each(&trees.order, sheet, sums, |circuit, sums| {
                        self.kernels.circuit(sheet, circuits.ops(circuit), slots);
                        self.kernels.add(&slots.root()[..wide], circuits, circuit, sums);
                    });
                }
            }
            SumStep::Add(constant) => sums.iter_mut().for_each(|sum| *sum += constant),
            SumStep::Term { feature, weight } => {
                let values = &mut scratch.wide;
                values.resize(context.docs, 0.0);
                context.rows.gather(*feature, values, Into::into);
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum += if value.is_nan() { 0.0 } else { weight * *value };
                }
            }
            SumStep::Net(net) => self.net(scratch, context, net, top),
            SumStep::Map(map) => map.apply(&mut sums[..context.docs]),
            SumStep::Precomputed { part, weight } => {
                let part = &context.parts[*part][context.first..];
                sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += weight * part);
            }
            SumStep::Open | SumStep::Close { .. } | SumStep::Expect(_) => {}
        }
    }

    fn net<T: Value>(
        &self,
        scratch: &mut ScorerScratch,
        context: &BlockContext<'_, T>,
        net: &Net,
        top: usize,
    ) {
        let ScorerScratch { sums, net: layers, scores, .. } = scratch;
        scores.clear();
        scores.resize(context.docs, 0.0);
        net.scores(self.kernels.level(), layers, scores, |first, values| {
            for (at, inputs) in values.chunks_exact_mut(net.stride()).enumerate() {
                for (input, &feature) in inputs.iter_mut().zip(&net.features) {
                    *input = context.rows.value(first + at, feature).nearest();
                }
            }
        });
        for (sum, score) in sums[top * BLOCK..].iter_mut().zip(scores) {
            *sum += *score;
        }
    }

    /// Fills all columns with the codes of the block.
    fn encode<T: Value>(&self, scratch: &mut ScorerScratch, context: &BlockContext<'_, T>) {
        let BlockContext { rows, docs, .. } = *context;
        let ScorerScratch { narrow, wide, codes, lanes, tile, .. } = scratch;
        let width = docs.div_ceil(64);
        lanes.resize(self.columns * width, Lane::default());
        // Docs beyond the last are given any codes: their scores are not read.
        codes.resize(BLOCK, 0);
        tile.resize(16, [0.0; BLOCK]);
        narrow.resize(BLOCK, 0.0);
        wide.resize(BLOCK, 0.0);
        let (narrow, wide) = (&mut narrow[..docs], &mut wide[..docs]);
        let (searches, row) = (&self.searches, rows.width);
        // The first feature of the tile.
        let mut turned = None;
        for (i, search) in searches.iter().enumerate() {
            if let (Some(exact), false) = (&search.exact, is_f32::<T>()) {
                let cell = |value: T| search.source.cell(value.into());
                rows.gather(search.source.feature, wide, cell);
                for (narrow, wide) in narrow.iter_mut().zip(&*wide) {
                    *narrow = at_most(*wide);
                }
                self.kernels.encode(&search.table, narrow, codes);
                for (code, wide) in codes.iter_mut().zip(&*wide) {
                    *code = exact.mend(*wide, *code);
                }
                search.store(narrow, codes, lanes, width);
                continue;
            }
            if let Some(first) = search.tile(&searches[i..], turned, row) {
                let singles = rows.singles(docs);
                let is_turned = singles.is_some_and(|s| self.kernels.turn(s, row, first, tile));
                turned = is_turned.then_some(first);
            }
            let cells = if let Some(column) = search.column(turned) {
                search.turned(&tile[column][..docs], narrow)
            } else {
                search.gather_narrow(rows, narrow);
                &*narrow
            };
            self.kernels.encode(&search.table, cells, codes);
            search.store(cells, codes, lanes, width);
        }
    }

    /// The same for docs that walk: [`FEW`] bytes a column.
    fn encode_few<T: Value>(&self, few: &mut Vec<u8>, context: &BlockContext<'_, T>) {
        few.resize(self.columns * FEW, 0);
        for search in &self.searches {
            for doc in 0..context.docs {
                let (code, is_missing) = search.code(context.rows, doc);
                if let Some(column) = search.column {
                    few[column * FEW + doc] = if is_missing { search.missing } else { code };
                }
                if let Some(column) = search.right {
                    few[column * FEW + doc] = if is_missing { u8::MAX } else { code };
                }
            }
        }
    }
}

impl Trees {
    /// Adds what trees in these forms say; `add` adds what one that is no walk says.
    fn each<C>(
        &self,
        forms: &[Form<C>],
        sheet: Sheet<'_>,
        sums: &mut [f64],
        mut add: impl FnMut(&C, &mut [f64]),
    ) {
        for form in forms {
            match form {
                Form::Circuit(circuit) => add(circuit, sums),
                Form::Walk(walk) => {
                    let code = |column: u32, doc: usize| {
                        sheet.lanes[column as usize * sheet.wide + doc / 64].0[doc % 64]
                    };
                    self.walks.one(*walk, code, sums);
                }
            }
        }
    }
}

/// Adds the expected gains of margins, [`BLOCK`] of each class.
fn expect(expectation: &Expectation, margins: &[f64], sums: &mut [f64], scratch: &mut Vec<f64>) {
    let count = expectation.num_margins();
    scratch.resize(count + expectation.num_classes(), 0.0);
    let (own, probabilities) = scratch.split_at_mut(count);
    for (doc, sum) in sums.iter_mut().enumerate() {
        for (to, margins) in own.iter_mut().zip(margins.chunks(BLOCK)) {
            *to = margins[doc];
        }
        *sum += expectation.gain(own, probabilities);
    }
}

impl Search {
    /// The code of one doc's cell, and whether it is missing.
    #[inline]
    fn code<T: Value>(&self, rows: ScorerRows<'_, T>, doc: usize) -> (u8, bool) {
        let value = rows.value(doc, self.source.feature);
        let exact = self.exact.as_ref().filter(|_| !is_f32::<T>());
        if matches!(self.source.rule, CellRule::AsIs) && exact.is_none() {
            let cell = value.nearest();
            return (self.table.code(cell), cell.is_nan());
        }
        let cell = self.source.cell(value.into());
        let code = match exact {
            Some(exact) => exact.mend(cell, self.table.code(at_most(cell))),
            None => self.table.code(cell.nearest()),
        };
        (code, cell.is_nan())
    }

    /// The column of its cells in the tile that begins at feature `turned`.
    fn column(&self, turned: Option<usize>) -> Option<usize> {
        if !matches!(self.source.rule, CellRule::AsIs | CellRule::Flush) {
            return None;
        }
        (self.source.feature as usize).checked_sub(turned?).filter(|&column| column < 16)
    }

    /// Where a tile should begin for the sake of this search, the first of `searches`: nowhere if it is
    /// in the tile that begins at `turned`, or would be alone.
    fn tile(&self, searches: &[Self], turned: Option<usize>, width: usize) -> Option<usize> {
        const ENOUGH: usize = 4;
        let first = (self.source.feature as usize).min(width.checked_sub(16)?);
        let is_needed = self.column(turned).is_none()
            && self.column(Some(first)).is_some()
            && searches.get(ENOUGH - 1)?.column(Some(first)).is_some();
        is_needed.then_some(first)
    }

    /// Its cells from its column of the tile.
    fn turned<'a>(&self, column: &'a [f32], cells: &'a mut [f32]) -> &'a [f32] {
        if !matches!(self.source.rule, CellRule::Flush) {
            return column;
        }
        for (cell, &value) in cells.iter_mut().zip(column) {
            *cell = if value.abs() <= ZERO as f32 { 0.0 } else { value };
        }
        cells
    }

    fn gather_narrow<T: Value>(&self, rows: ScorerRows<'_, T>, cells: &mut [f32]) {
        let ValueSource { feature, rule } = &self.source;
        match rule {
            CellRule::AsIs => rows.gather(*feature, cells, T::nearest),
            CellRule::Flush => rows.gather(*feature, cells, |value| flush(value.into()).nearest()),
            _ => rows.gather(*feature, cells, |value| self.source.cell(value.into()).nearest()),
        }
    }

    /// Puts the codes of `cells` into the search's columns of `width` lanes.
    fn store(&self, cells: &[f32], codes: &mut [u8], lanes: &mut [Lane], width: usize) {
        let mut fill = |column: usize, codes: &[u8]| {
            let lanes = &mut lanes[column * width..][..width];
            for (lane, codes) in lanes.iter_mut().zip(codes.as_chunks::<64>().0) {
                lane.0 = *codes;
            }
        };
        // The codes of missing values are 0.
        let mark = |codes: &mut [u8], missing: u8| {
            for (code, cell) in codes.iter_mut().zip(cells) {
                *code |= if cell.is_nan() { missing } else { 0 };
            }
        };
        if let Some(column) = self.column {
            if self.missing > 0 {
                mark(codes, self.missing);
            }
            fill(column, codes);
        }
        if let Some(column) = self.right {
            mark(codes, u8::MAX);
            fill(column, codes);
        }
    }
}
