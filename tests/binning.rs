//! Bins: kernels against the plain search, samples against order, packing against unpacking.

#![expect(clippy::unwrap_used, reason = "a test")]

use proptest::prelude::*;
use rustrank::Interrupt;
use rustrank::binning::{BinOptions, BinnedMatrix, Binning, CellSource, RowSample};
use rustrank::data::{ColumnTable, Infinite, MissingPolicy, StridedTable};
use rustrank::random::draw;
use rustrank::simd::Level;

/// Cells that are often equal, sometimes missing, and of every size.
fn cell() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => (-3i8..4).prop_map(f32::from),
        3 => any::<f32>().prop_filter("finite", |x| x.is_finite()),
        1 => Just(f32::NAN),
        1 => Just(0.0f32),
        1 => Just(-0.0f32),
        1 => Just(f32::MIN_POSITIVE / 4.0),
    ]
}

fn table(rows: usize, features: usize) -> impl Strategy<Value = (Vec<f32>, usize)> {
    (prop::collection::vec(cell(), rows * features), Just(features))
}

fn by_row(values: &[f32], features: usize) -> StridedTable<'_, f32> {
    StridedTable::by_row(values, features, MissingPolicy::default())
}

fn choose(values: &[f32], features: usize, options: &BinOptions) -> Binning {
    Binning::of(&by_row(values, features), options, &Interrupt::new()).unwrap()
}

fn matrix(binning: &Binning, values: &[f32]) -> BinnedMatrix {
    let mut matrix = BinnedMatrix::with_capacity(binning.layout().width(), 0).unwrap();
    let table = by_row(values, binning.num_features());
    binning.append(&table, &mut matrix, &mut Vec::new(), &Interrupt::new()).unwrap();
    matrix
}

/// A table of `rows` distinct rows with few and with many distinct cells a feature.
fn mixed(rows: usize, features: usize) -> Vec<f32> {
    let value = |r: usize, f: usize| {
        let bits = draw(9, f as u64, r as u64);
        match f % 4 {
            0 => (bits % 3) as f32,
            1 => (bits % 40) as f32 / 7.0,
            _ => (bits >> 40) as f32 / 1e3,
        }
    };
    (0..rows * features).map(|i| value(i / features, i % features)).collect()
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// The columns of binned cells.
fn encoded(binning: &Binning, level: Level, cells: &[f32]) -> Vec<Vec<u8>> {
    let num_rows = cells.len() / binning.num_features();
    let mut columns = vec![vec![0; num_rows]; binning.layout().width()];
    let mut slices: Vec<_> = columns.iter_mut().map(|column| &mut column[..]).collect();
    binning.encode_at(level, cells, &mut slices);
    columns
}

fn thresholds(binning: &Binning) -> Vec<Vec<u32>> {
    let bits = |t: &[f32]| t.iter().map(|x| x.to_bits()).collect();
    binning.mappers().iter().map(|m| bits(m.thresholds())).collect()
}

proptest! {
    #[test]
    fn every_kernel_finds_the_bin_of_the_plain_search(
        (values, features) in table(40, 5),
        max_bins in 2usize..256,
    ) {
        let options = BinOptions { max_bins, ..BinOptions::default() };
        let binning = choose(&values, features, &options);
        for level in Level::available() {
            let columns = encoded(&binning, level, &values);
            for (feature, place) in binning.layout().locations().iter().enumerate() {
                let mapper = &binning.mappers()[feature];
                prop_assert!(mapper.num_bins() <= max_bins);
                let Some(place) = place else { continue };
                for row in 0..40 {
                    let byte = columns[place.column as usize][row];
                    let expected = mapper.code(values[row * features + feature]);
                    prop_assert_eq!(place.code(byte), expected, "{:?} {} {}", level, row, feature);
                }
            }
        }
    }

    #[test]
    fn thresholds_lie_between_neighbouring_cells((values, features) in table(60, 3)) {
        let binning = choose(&values, features, &BinOptions::default());
        for (feature, mapper) in binning.mappers().iter().enumerate() {
            let mut cells: Vec<f32> =
                values.iter().skip(feature).step_by(features).copied().filter(|x| !x.is_nan()).collect();
            cells.sort_by(f32::total_cmp);
            cells.dedup();
            prop_assert_eq!(mapper.num_bins(), cells.len().max(1));
            for (pair, t) in cells.windows(2).zip(mapper.thresholds()) {
                prop_assert!(pair[0] <= *t && *t < pair[1]);
            }
        }
    }

    #[test]
    fn a_sample_that_grows_is_one_that_knew_its_width((values, features) in table(50, 4)) {
        let options = BinOptions { max_bins: 9, sample_rows: 30, ..BinOptions::default() };
        let mut growing = RowSample::growing(options.sample_rows);
        // The first rows do not have the last feature yet: there it is 0.
        let mut padded = values.clone();
        padded[..20 * features].chunks_mut(features).for_each(|row| row[features - 1] = 0.0);
        let narrow: Vec<f32> =
            padded[..20 * features].chunks(features).flat_map(|row| row[..features - 1].to_vec()).collect();
        growing.push(&by_row(&narrow, features - 1), &Interrupt::new()).unwrap();
        growing.push(&by_row(&padded[20 * features..], features), &Interrupt::new()).unwrap();
        let growing = Binning::choose(growing, &options, &Interrupt::new()).unwrap();
        prop_assert_eq!(thresholds(&growing), thresholds(&choose(&padded, features, &options)));
    }
}

#[test]
fn every_kernel_finds_the_bins_of_tables_of_any_shape() {
    let shapes =
        [(136, 240), (1, 600), (5, 37), (46, 512), (17, 300), (16, 257), (15, 17), (33, 6), (3, 5)];
    for (features, rows) in shapes {
        // As many thresholds as trees of each depth can hold, one less and one more.
        let count = |f: usize| [1, 13, 14, 15, 16, 31, 63, 127, 128, 253, 254][f % 11];
        let threshold = |f, i| (draw(3, f, i) % 4096) as f32 / 8.0 - 99.0;
        let thresholds = |f: usize| {
            let mut list: Vec<f32> = (0..count(f)).map(|i| threshold(f as u64, i)).collect();
            list.sort_by(f32::total_cmp);
            list.dedup();
            (f % 29 != 28).then_some(list)
        };
        let binning = Binning::between((0..features).map(thresholds).collect()).unwrap();
        let cell = |i: usize| match draw(4, 0, i as u64) {
            bits if bits % 9 == 0 => f32::NAN,
            bits if bits % 9 == 1 => [f32::MAX, f32::MIN, 0.0][i % 3],
            // Often a threshold itself, else between two.
            bits => (bits % 8192) as f32 / 16.0 - 99.0,
        };
        let cells: Vec<f32> = (0..rows * features).map(cell).collect();
        let mut expected = vec![vec![0; rows]; binning.layout().width()];
        for (i, &cell) in cells.iter().enumerate() {
            if let Some(place) = binning.layout().locations()[i % features] {
                let code = u16::from(binning.mappers()[i % features].code(cell));
                expected[place.column as usize][i / features] += (code * place.stride) as u8;
            }
        }
        for level in Level::available() {
            let found = encoded(&binning, level, &cells);
            assert!(found == expected, "{level:?}, {rows} rows of {features} features");
        }
    }
}

#[test]
fn order_threads_and_batches_leave_the_bins_alone() {
    let (rows, features) = (5000, 9);
    let values = mixed(rows, features);
    let options = BinOptions { max_bins: 63, sample_rows: 700, ..BinOptions::default() };
    let expected = on_threads(1, || thresholds(&choose(&values, features, &options)));
    assert_eq!(on_threads(4, || thresholds(&choose(&values, features, &options))), expected);

    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by_key(|&row| draw(3, 4, row as u64));
    let row = |r: usize| values[r * features..(r + 1) * features].iter().copied();
    let shuffled: Vec<f32> = order.iter().flat_map(|&r| row(r)).collect();
    assert_eq!(thresholds(&choose(&shuffled, features, &options)), expected);

    for batch in [1, 37, 1000, 4999] {
        let mut sample = RowSample::new(options.sample_rows, features);
        for rows in shuffled.chunks(batch * features) {
            sample.push(&by_row(rows, features), &Interrupt::new()).unwrap();
        }
        let binning = Binning::choose(sample, &options, &Interrupt::new()).unwrap();
        assert_eq!(thresholds(&binning), expected, "batches of {batch}");
    }
}

#[test]
fn copies_of_one_row_do_not_crowd_out_the_others() {
    let distinct: Vec<f32> = (0..400).map(|i| i as f32).collect();
    for copied in [0.0, 123.0, 250.5, 399.0] {
        let mut values = distinct.clone();
        values.extend(std::iter::repeat_n(copied, 100_000));
        let options = BinOptions { max_bins: 50, sample_rows: 200, ..BinOptions::default() };
        let bins = choose(&values, 1, &options).mappers()[0].num_bins();
        assert!(bins >= 35, "{bins} bins around {copied}");
    }
}

#[test]
fn a_heavy_cell_has_a_bin_of_its_own() {
    let mut values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    values.extend(vec![500.0; 4000]);
    let options = BinOptions { max_bins: 16, ..BinOptions::default() };
    let binning = choose(&values, 1, &options);
    let mapper = &binning.mappers()[0];
    assert_ne!(mapper.code(499.0), mapper.code(500.0));
    assert_ne!(mapper.code(501.0), mapper.code(500.0));
}

#[test]
fn binned_tables_are_the_same_on_any_number_of_threads() {
    let values = mixed(3000, 11);
    let binning = choose(&values, 11, &BinOptions::default());
    let one = on_threads(1, || matrix(&binning, &values));
    assert_eq!(on_threads(4, || matrix(&binning, &values)), one);
    assert!(one.width() < 11, "narrow features share bytes: {}", one.width());
}

#[test]
fn the_first_infinite_value_is_named_whatever_the_threads() {
    let mut values = mixed(9000, 7);
    for row in [8000, 4321, 7999] {
        values[row * 7 + 3] = f32::NEG_INFINITY;
    }
    let options = BinOptions::default();
    for threads in [1, 4] {
        let table = by_row(&values, 7);
        let error = on_threads(threads, || Binning::of(&table, &options, &Interrupt::new()));
        let error = error.unwrap_err();
        let fault = error.fault().unwrap();
        assert_eq!((fault.code, fault.place.row), ("feature.infinite", Some(4321)));
        assert_eq!(fault.place.feature.as_deref(), Some("3"));
    }
    let policy = MissingPolicy { infinite: Infinite::Missing, ..MissingPolicy::default() };
    let table = StridedTable::by_row(&values, 7, policy);
    let binning = Binning::of(&table, &options, &Interrupt::new()).unwrap();
    assert!(binning.mappers()[3].has_missing());
}

#[test]
fn bad_options_are_refused() {
    let values = [0.0, 1.0];
    for (max_bins, sample_rows) in [(1, 100), (256, 100), (255, 1)] {
        let options = BinOptions { max_bins, sample_rows, ..BinOptions::default() };
        let error = Binning::of(&by_row(&values, 1), &options, &Interrupt::new()).unwrap_err();
        assert!(error.to_string().contains("is out of range"), "{error}");
    }
}

#[test]
fn interrupted_work_ends() {
    let values = mixed(2000, 5);
    let interrupt = Interrupt::new();
    interrupt.raise();
    let error = Binning::of(&by_row(&values, 5), &BinOptions::default(), &interrupt).unwrap_err();
    assert_eq!(error.to_string(), "interrupted");
}

#[test]
fn a_table_is_read_alike_in_any_layout() {
    let values = mixed(300, 6);
    let wide: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
    let columns: Vec<f64> = (0..1800).map(|i| wide[i % 300 * 6 + i / 300]).collect();
    let read = |table: &dyn CellSource| {
        let mut tile = vec![0.0; 50 * 6];
        table.read(100..150, &mut tile).unwrap();
        tile
    };
    let expected = read(&by_row(&values, 6));
    assert_eq!(expected, values[600..900]);
    assert_eq!(read(&StridedTable::by_row(&wide, 6, MissingPolicy::default())), expected);
    assert_eq!(read(&ColumnTable::by_column(&columns, 6, MissingPolicy::default())), expected);
}
