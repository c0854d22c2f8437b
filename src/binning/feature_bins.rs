//! The bins of all features: chosen once, then shared by all tables that are binned with them.

use super::categories::CategoryBins;
use super::cells::{CellSource, block_rows, first_fault, hash_rows, row_hashes};
use super::kernel::transpose::SIDE;
use super::kernel::{self, EncodeJob, ThresholdTable};
use super::layout::ColumnLayout;
use super::mapper::BinMapper;
use super::matrix::BinnedMatrix;
use super::sample::{RowSample, mappers_of_table};
use crate::CategoryList;
use crate::Interrupt;
use crate::error::{Error, Result, room_for};
use crate::hash;
use crate::simd::Level;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::ops::Range;

/// How bins are chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct BinOptions {
    /// The most bins of a feature, without the missing bin: 2 to 255.
    pub max_bins: usize,
    /// The most distinct rows from which thresholds are chosen.
    pub sample_rows: usize,
    /// The categorical features, ascending. Their most frequent categories have bins, at most
    /// `max_bins - 1`; all others share one more bin.
    pub categorical: Vec<u32>,
    /// The lists of categories: see [`Binning::with_category_lists`].
    pub category_lists: BTreeMap<u32, CategoryList>,
    /// Whether a [`Dataset`](crate::Dataset) of a whole table has the ranks of its values within queries
    /// as additional features.
    pub query_ranks: bool,
    /// Whether a small dataset keeps its values beside the bins, so that ranks can be added later: see [`Dataset::with_query_ranks`](crate::Dataset::with_query_ranks).
    pub keep_values: bool,
}

/// The most bins of a feature, without the missing bin.
const MOST_BINS: usize = 255;

impl Default for BinOptions {
    fn default() -> Self {
        Self {
            max_bins: 255,
            sample_rows: 1 << 16,
            categorical: Vec::new(),
            category_lists: BTreeMap::new(),
            query_ranks: false,
            keep_values: false,
        }
    }
}

impl BinOptions {
    /// Returns an error if an option is out of range.
    pub fn check(&self) -> Result<()> {
        for (name, value, range, expected) in [
            ("max_bins", self.max_bins, 2..=MOST_BINS, "2 to 255"),
            ("sample_rows", self.sample_rows, 2..=1 << 30, "2 to 2^30"),
        ] {
            if !range.contains(&value) {
                let what = format!("{name} is out of range");
                return Err(Error::param(name, what).got(value).expected(expected));
            }
        }
        Ok(())
    }
}

/// The bins of all features, and where their codes are stored.
#[derive(Debug)]
pub struct Binning {
    mappers: Vec<BinMapper>,
    layout: ColumnLayout,
    tables: Vec<ThresholdTable>,
    /// The categorical features.
    categorical: Vec<usize>,
    category_lists: BTreeMap<u32, CategoryList>,
    /// Whether the second half of the features are the ranks of the first half within queries.
    query_ranks: bool,
    /// How bins are chosen once ranks are added to a dataset; `None` if datasets keep no values for this.
    later_options: Option<Box<BinOptions>>,
}

impl Binning {
    /// A checksum of all thresholds.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.mappers().iter().fold(self.num_features() as u64, |h, mapper| {
            let bins = match mapper.categories() {
                Some(categories) => bytemuck::cast_slice(categories.by_bin()),
                None => bytemuck::cast_slice(mapper.thresholds()),
            };
            let of = hash::bytes(bins) ^ mapper.num_codes() as u64;
            hash::mix(h.rotate_left(1) ^ of ^ u64::from(mapper.is_used()) << 32)
        })
    }

    /// Chooses the bins of the features of a sample; an error if it has none.
    pub fn choose(sample: RowSample, options: &BinOptions, interrupt: &Interrupt) -> Result<Self> {
        if sample.num_features() == 0 {
            return Err(Error::data("features", "the table has no features"));
        }
        Self::of_mappers(sample.num_features(), options, || sample.into_mappers(options, interrupt))
    }

    /// The bins of a table, from a sample of its rows.
    pub fn of(table: &dyn CellSource, options: &BinOptions, interrupt: &Interrupt) -> Result<Self> {
        options.check()?;
        Self::of_hashed(table, &row_hashes(table, interrupt)?, options, interrupt)
    }

    /// [`of`](Self::of) for a table whose [`row_hashes`] are known.
    pub fn of_hashed(
        table: &dyn CellSource,
        hashes: &[u64],
        options: &BinOptions,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        Self::of_mappers(table.num_features(), options, || {
            mappers_of_table(table, hashes, options, interrupt)
        })
    }

    /// The bins of mappers that are chosen after a check of the options.
    fn of_mappers(
        num_features: usize,
        options: &BinOptions,
        choose: impl FnOnce() -> Result<Vec<BinMapper>>,
    ) -> Result<Self> {
        options.check()?;
        if let Some(feature) = options.categorical.iter().find(|&&f| f as usize >= num_features) {
            let what = "categorical has a feature that there is not";
            return Err(Error::param("categorical", what)
                .got(feature)
                .expected(format!("below {num_features}")));
        }
        // Lists of cells, mappers and locations.
        room_for("the bins of all features", 128 * num_features as u64)?;
        let binning = Self::with(choose()?).with_category_lists(options.category_lists.clone());
        let later_options = options.keep_values.then(|| Box::new(options.clone()));
        Ok(Self { later_options, ..binning })
    }

    /// The bins between given thresholds: finite, ascending, at most 254 per feature. `None` for a
    /// feature that is not used.
    pub fn between(thresholds: Vec<Option<Vec<f32>>>) -> Result<Self> {
        Self::of_lists(thresholds, &BTreeMap::new())
    }

    /// [`between`](Self::between) with categorical features, of at most
    /// [`MOST`](CategoryBins::MOST) categories each.
    pub fn of_lists(
        thresholds: Vec<Option<Vec<f32>>>,
        categories: &BTreeMap<u32, BTreeSet<u32>>,
    ) -> Result<Self> {
        let of_feature = |(feature, thresholds): (usize, Option<Vec<f32>>)| {
            if let Some(own) = categories.get(&(feature as u32)) {
                let both = thresholds.is_some_and(|list| !list.is_empty());
                if both || own.len() > CategoryBins::MOST {
                    let what = "a feature holds too many categories, or numbers too";
                    return Err(Error::data("categories", what)
                        .feature(feature)
                        .got(format!("{} categories", own.len()))
                        .expected(format!("up to {}", CategoryBins::MOST)));
                }
                let own = CategoryBins::of(own.iter().copied().collect());
                return Ok(BinMapper::of_categories(own));
            }
            let list = thresholds.as_deref().unwrap_or_default();
            let rises = list.iter().all(|t| t.is_finite()) && list.is_sorted_by(|a, b| a < b);
            if rises && list.len() < MOST_BINS {
                return Ok(BinMapper::between(thresholds));
            }
            let what = "the thresholds of a feature make no bins";
            Err(Error::data("thresholds", what)
                .feature(feature)
                .got(format!("{} thresholds", list.len()))
                .expected(format!("rising numbers, up to {}", MOST_BINS - 1)))
        };
        Ok(Self::with(thresholds.into_iter().enumerate().map(of_feature).collect::<Result<_>>()?))
    }

    fn with(mappers: Vec<BinMapper>) -> Self {
        let layout = ColumnLayout::pack(&mappers);
        let mut in_column = vec![0; layout.width()];
        for location in layout.locations().iter().flatten() {
            in_column[location.column as usize] += 1;
        }
        let categorical = |feature: &usize| mappers[*feature].categories().is_some();
        let categorical = (0..mappers.len()).filter(categorical).collect();
        let table = |feature: usize| {
            let mapper: &BinMapper = &mappers[feature];
            let location = layout.locations()[feature].filter(|_| mapper.categories().is_none())?;
            let is_alone = in_column[location.column as usize] == 1;
            Some(ThresholdTable::new(feature, mapper, location, is_alone))
        };
        let tables = (0..mappers.len()).filter_map(table).collect();
        let category_lists = BTreeMap::new();
        let (query_ranks, later_options) = (false, None);
        Self { mappers, layout, tables, categorical, category_lists, query_ranks, later_options }
    }

    /// The bins of each feature.
    pub fn mappers(&self) -> &[BinMapper] {
        &self.mappers
    }

    /// The features that are constant or missing in the whole sample: no split can use them.
    pub fn unused_features(&self) -> impl Iterator<Item = usize> + '_ {
        let mappers = self.mappers.iter().enumerate();
        mappers.filter(|(_, mapper)| !mapper.is_used()).map(|(feature, _)| feature)
    }

    /// The categorical features.
    pub fn categorical(&self) -> &[usize] {
        &self.categorical
    }

    /// Where codes are stored.
    pub fn layout(&self) -> &ColumnLayout {
        &self.layout
    }

    /// The number of features, including unused ones.
    pub fn num_features(&self) -> usize {
        self.mappers.len()
    }

    /// The same bins for a table whose second half of features are the ranks of the first half
    /// within queries. Raw rows have only the first half; the ranks must be added before binning.
    #[must_use]
    pub fn with_query_ranks(mut self) -> Self {
        self.query_ranks = true;
        self
    }

    /// The same bins with lists of categories: category `i` of a feature is that at index `i`.
    #[must_use]
    pub fn with_category_lists(mut self, lists: BTreeMap<u32, CategoryList>) -> Self {
        self.category_lists = lists;
        self
    }

    /// The list of categories of each feature that has one.
    pub fn category_lists(&self) -> &BTreeMap<u32, CategoryList> {
        &self.category_lists
    }

    /// Whether the second half of the features are ranks of the first half.
    pub fn query_ranks(&self) -> bool {
        self.query_ranks
    }

    /// How bins are chosen once ranks within queries are added to a small dataset with these bins, which has kept its
    /// values for this; `None` if it keeps none.
    pub fn later_options(&self) -> Option<&BinOptions> {
        self.later_options.as_deref()
    }

    /// The number of values in a raw row.
    pub fn num_raw_features(&self) -> usize {
        if self.query_ranks { self.num_features() / 2 } else { self.num_features() }
    }

    /// Bins rows of `num_features` cells at a SIMD level; all levels give the same bytes. `columns`
    /// are the rows' cells of each column, zeros at first.
    pub fn encode_at(&self, level: Level, cells: &[f32], columns: &mut [&mut [u8]]) {
        let num_features = self.num_features();
        if columns.is_empty() {
            return;
        }
        kernel::encode(level, &self.tables, EncodeJob { cells, num_features, columns });
        for &feature in &self.categorical {
            let categories = self.mappers[feature].categories();
            if let Some((bins, location)) = categories.zip(self.layout.locations()[feature]) {
                let cells = cells[feature..].iter().step_by(num_features);
                bins.encode(location, cells, columns[location.column as usize].iter_mut());
            }
        }
    }

    /// Bins all rows of a table, in the given order, on all threads.
    pub fn encode_in_order(
        &self,
        table: &dyn CellSource,
        order: &[u32],
        interrupt: &Interrupt,
    ) -> Result<BinnedMatrix> {
        let mut matrix = BinnedMatrix::zeros(self.layout.width(), order.len())?;
        let blocks = self.blocks(matrix.columns_mut(0..order.len()), order.len(), &mut []);
        self.encode_blocks((table, Some(order)), blocks, interrupt)?;
        Ok(matrix)
    }

    /// Appends the binned rows of a table to `matrix`, and their hashes to `hashes`.
    pub fn append(
        &self,
        table: &dyn CellSource,
        matrix: &mut BinnedMatrix,
        hashes: &mut Vec<u64>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let (num_rows, old, first) = (table.num_rows(), hashes.len(), matrix.num_rows());
        matrix.grow(num_rows)?;
        hashes.resize(old + num_rows, 0);
        let columns = matrix.columns_mut(first..first + num_rows);
        let blocks = self.blocks(columns, num_rows, &mut hashes[old..]);
        self.encode_blocks((table, None), blocks, interrupt)
    }

    /// The number of rows per block, such that the cells stay in a cache: whole vectors unless rows
    /// are very long.
    fn block_rows(&self) -> usize {
        let rows = block_rows(self.num_features());
        if self.num_features() < LONG { rows.next_multiple_of(SIDE) } else { rows }
    }

    /// Divides columns into blocks.
    fn blocks<'a>(
        &self,
        columns: impl Iterator<Item = &'a mut [u8]>,
        num_rows: usize,
        hashes: &'a mut [u64],
    ) -> impl ExactSizeIterator<Item = EncodeBlock<'a>> + Send {
        let size = self.block_rows();
        let mut columns: Vec<_> = columns.map(|column| column.chunks_mut(size)).collect();
        let mut hashes = hashes.chunks_mut(size);
        (0..num_rows).step_by(size).map(move |start| EncodeBlock {
            rows: start..num_rows.min(start + size),
            columns: columns.iter_mut().filter_map(Iterator::next).collect(),
            hashes: hashes.next().unwrap_or_default(),
        })
    }

    /// Bins blocks of a table, or of its rows in an order, on all threads.
    fn encode_blocks<'a>(
        &self,
        (table, order): (&dyn CellSource, Option<&[u32]>),
        mut blocks: impl ExactSizeIterator<Item = EncodeBlock<'a>> + Send,
        interrupt: &Interrupt,
    ) -> Result<()> {
        // A block needs a list of sixteen bytes per column.
        let most = (LISTS / self.layout.width().max(1)).clamp(1, MOST_AT_ONCE);
        let at_once = (blocks.len() / (8 * rayon::current_num_threads())).clamp(1, most);
        let size = self.block_rows() * self.num_features();
        let scratch = || [vec![0.0; size], vec![0.0; if order.is_some() { size } else { 0 }]];
        // Few blocks at a time, because the lists of all blocks would be as large as a table. A
        // thread takes neighbouring blocks, which share cache lines.
        let next = move || Some(blocks.by_ref().take(at_once).collect::<Vec<_>>());
        let some = iter::from_fn(next).take_while(|some| !some.is_empty());
        let encode = |[cells, other]: &mut [Vec<f32>; 2], blocks: Vec<EncodeBlock<'a>>| {
            blocks.into_iter().try_for_each(|mut block| {
                interrupt.check()?;
                let cells = &mut cells[..block.rows.len() * self.num_features()];
                match order {
                    Some(order) => read_in_order(table, &order[block.rows], cells, other)?,
                    None => table.read(block.rows, cells)?,
                }
                hash_rows(cells, block.hashes);
                self.encode_at(Level::best(), cells, &mut block.columns);
                Ok(())
            })
        };
        let done = some.par_bridge().try_for_each_init(scratch, encode);
        done.map_err(|error| first_fault(table, error))
    }
}

/// Reads rows in the order of memory, and writes them in the given order.
fn read_in_order(
    table: &dyn CellSource,
    order: &[u32],
    cells: &mut [f32],
    scratch: &mut [f32],
) -> Result<()> {
    let width = table.num_features();
    let mut rows: Vec<(u32, usize)> = order.iter().copied().zip(0..).collect();
    rows.sort_unstable();
    for run in rows.chunk_by(|a, b| a.0 + 1 == b.0) {
        let (first, read) = (run[0].0 as usize, &mut scratch[..run.len() * width]);
        table.read(first..first + run.len(), read)?;
        for (&(_, to), row) in run.iter().zip(read.chunks_exact(width.max(1))) {
            cells[to * width..][..width].copy_from_slice(row);
        }
    }
    Ok(())
}

/// With more features, blocks of sixteen rows would be too large.
const LONG: usize = 1 << 16;

/// The most blocks that a thread takes at a time, and the most column slices.
const MOST_AT_ONCE: usize = 16;
const LISTS: usize = 1 << 18;

/// Some rows to bin; `hashes` is empty if they are known.
struct EncodeBlock<'a> {
    rows: Range<usize>,
    /// The rows' slice of each column.
    columns: Vec<&'a mut [u8]>,
    hashes: &'a mut [u64],
}
