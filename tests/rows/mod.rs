//! Docs to train on, in any order of their rows.

#![expect(clippy::unwrap_used, reason = "for tests")]

use rustrank::binning::BinOptions;
use rustrank::data::{Dataset, Policy, RowData, Strided};
use rustrank::random::draw;
use rustrank::{Grouping, Interrupt};
use std::sync::Arc;

pub(crate) const FEATURES: usize = 5;

/// Rows in one order or another: labels 0 to 3 that two features tell, queries of 1 to 12 docs.
#[derive(Clone)]
pub(crate) struct Rows {
    pub(crate) cells: Vec<f32>,
    pub(crate) labels: Vec<f32>,
    pub(crate) codes: Vec<u32>,
}

impl Rows {
    pub(crate) fn new(num_queries: u64, seed: u64) -> Self {
        let mut rows = Self { cells: Vec::new(), labels: Vec::new(), codes: Vec::new() };
        for query in 0..num_queries {
            for doc in 0..=draw(seed, 1, query) % 12 {
                let id = query * 100 + doc;
                let cell = |f: usize| (draw(seed, 2 + f as u64, id) % 37) as f32;
                let cells: Vec<f32> = (0..FEATURES).map(cell).collect();
                let noise = (draw(seed, 99, id) % 8) as f32;
                rows.labels.push(((cells[0] + cells[1] / 2.0 + noise) / 20.0).floor());
                rows.cells.extend(cells.iter().map(|&c| if c == 7.0 { f32::NAN } else { c }));
                rows.codes.push(query as u32);
            }
        }
        rows
    }

    pub(crate) fn shuffled(&self, seed: u64) -> Self {
        let mut order: Vec<usize> = (0..self.labels.len()).collect();
        order.sort_by_key(|&row| draw(seed, 7, row as u64));
        let cells = |&row: &usize| self.cells[row * FEATURES..][..FEATURES].to_vec();
        Self {
            cells: order.iter().flat_map(cells).collect(),
            labels: order.iter().map(|&row| self.labels[row]).collect(),
            codes: order.iter().map(|&row| self.codes[row]).collect(),
        }
    }

    pub(crate) fn data(&self) -> RowData {
        let count = *self.codes.iter().max().unwrap() as usize + 1;
        let mut number = vec![None; count];
        let mut next = 0;
        let codes: Vec<u32> = self
            .codes
            .iter()
            .map(|&code| {
                *number[code as usize].get_or_insert_with(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        RowData::new(self.labels.clone(), Grouping::from_codes(&codes, next as usize).unwrap())
    }

    pub(crate) fn table(&self) -> Strided<'_, f32> {
        Strided::by_row(&self.cells, FEATURES, Policy::default())
    }

    pub(crate) fn dataset(&self) -> Arc<Dataset> {
        self.dataset_of(self.data())
    }

    pub(crate) fn dataset_of(&self, data: RowData) -> Arc<Dataset> {
        let options = BinOptions::default();
        Arc::new(Dataset::new(&self.table(), data, &options, &Interrupt::new()).unwrap())
    }

    pub(crate) fn like(&self, train: &Dataset) -> Arc<Dataset> {
        let binning = train.binning().clone();
        Arc::new(Dataset::like(&self.table(), self.data(), binning, &Interrupt::new()).unwrap())
    }
}
