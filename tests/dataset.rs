//! Datasets: what rows become does not depend on where they stood.

#![expect(clippy::unwrap_used, reason = "a test")]

use proptest::prelude::*;
use rustrank::binning::BinOptions;
use rustrank::data::{
    ColumnTable, Dataset, DatasetBuilder, MissingPolicy, RowData, StridedTable, TableColumn,
};
use rustrank::random::draw;
use rustrank::{Error, Grouping, Interrupt, Queries};

const FEATURES: usize = 3;

fn cells(values: &[f32]) -> StridedTable<'_, f32> {
    StridedTable::by_row(values, FEATURES, MissingPolicy::default())
}

fn dataset(values: &[f32], rows: RowData) -> Result<Dataset, Error> {
    let options = BinOptions { max_bins: 7, sample_rows: 40, ..BinOptions::default() };
    Dataset::new(&cells(values), rows, &options, &Interrupt::new())
}

/// Rows of few different cells, so that docs, and whole queries, repeat.
fn values(rows: usize, seed: u64) -> Vec<f32> {
    (0..rows * FEATURES).map(|i| (draw(seed, 1, i as u64) % 4) as f32).collect()
}

fn labels(rows: usize, seed: u64) -> Vec<f32> {
    (0..rows).map(|i| (draw(seed, 2, i as u64) % 3) as f32).collect()
}

fn codes(rows: usize, queries: u64, seed: u64) -> (Vec<u32>, usize) {
    let raw: Vec<u64> = (0..rows).map(|i| draw(seed, 3, i as u64) % queries).collect();
    let mut seen: Vec<u64> = Vec::new();
    let codes = raw
        .iter()
        .map(|id| {
            seen.iter().position(|s| s == id).unwrap_or_else(|| {
                seen.push(*id);
                seen.len() - 1
            }) as u32
        })
        .collect();
    (codes, seen.len())
}

/// All that training can see of a dataset.
fn content(d: &Dataset) -> impl PartialEq + std::fmt::Debug {
    let floats = |v: Option<&[f64]>| v.map(|v| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
    (
        d.matrix().clone(),
        d.labels().to_vec(),
        d.queries().clone(),
        (d.doc_hash().to_vec(), d.query_hash().to_vec()),
        (floats(d.row_weight()), floats(d.query_weight()), floats(d.base_score())),
    )
}

proptest! {
    #[test]
    fn the_order_of_rows_and_queries_is_lost(seed in any::<u64>(), rows in 1usize..90) {
        let (values, labels) = (values(rows, seed), labels(rows, seed));
        let (codes, num_queries) = codes(rows, 8, seed);
        let weight: Vec<f64> = (0..rows).map(|i| (draw(seed, 4, i as u64) % 3) as f64 + 0.5).collect();
        let of_query = |code: u32| f64::from(code % 3) + 1.0;
        let mut first = RowData::new(labels.clone(), Grouping::from_codes(&codes, num_queries).unwrap());
        first.row_weight = Some(weight.clone());
        first.base_score = Some(weight.clone());
        first.query_weight = Some((0..num_queries as u32).map(of_query).collect());
        let first = dataset(&values, first).unwrap();

        let mut order: Vec<usize> = (0..rows).collect();
        order.sort_by_key(|&row| draw(seed, 5, row as u64));
        let mut renumbered: Vec<u32> = Vec::new();
        let new_codes: Vec<u32> = order.iter().map(|&row| {
            renumbered.iter().position(|&c| c == codes[row]).unwrap_or_else(|| {
                renumbered.push(codes[row]);
                renumbered.len() - 1
            }) as u32
        }).collect();
        let moved: Vec<f32> =
            order.iter().flat_map(|&r| values[r * FEATURES..(r + 1) * FEATURES].to_vec()).collect();
        let grouping = Grouping::from_codes(&new_codes, num_queries).unwrap();
        let mut second = RowData::new(order.iter().map(|&r| labels[r]).collect(), grouping);
        second.row_weight = Some(order.iter().map(|&r| weight[r]).collect());
        second.base_score.clone_from(&second.row_weight);
        second.query_weight = Some(renumbered.iter().map(|&c| of_query(c)).collect());
        let second = dataset(&moved, second).unwrap();

        prop_assert_eq!(content(&first), content(&second));
        let back = second.by_row(second.labels());
        prop_assert_eq!(back, order.iter().map(|&r| labels[r]).collect::<Vec<_>>());
    }
}

#[test]
fn rows_and_queries_lead_back_to_the_caller() {
    let (values, labels) = (values(50, 1), labels(50, 1));
    let (codes, num_queries) = codes(50, 6, 1);
    let rows = RowData::new(labels.clone(), Grouping::from_codes(&codes, num_queries).unwrap());
    let d = dataset(&values, rows).unwrap();
    for (q, docs) in d.queries().ranges().enumerate() {
        for doc in docs {
            let row = d.rows()[doc] as usize;
            assert_eq!(codes[row], d.query_of()[q]);
            assert_eq!(labels[row], d.labels()[doc]);
            for (feature, place) in d.binning().layout().locations().iter().enumerate() {
                let mapper = &d.binning().mappers()[feature];
                let code = d.matrix().code(doc, place.unwrap());
                assert_eq!(code, mapper.code(values[row * FEATURES + feature]));
            }
        }
    }
}

#[test]
fn batches_columns_and_double_precision_make_the_same_dataset() {
    let (values, labels) = (values(64, 2), labels(64, 2));
    let rows = || {
        RowData::new(
            labels.clone(),
            Grouping::in_row_order(Queries::from_sizes(&[40, 24], 64).unwrap()),
        )
    };
    let expected = dataset(&values, rows()).unwrap();

    let mut builder = DatasetBuilder::new(expected.binning().clone(), 0).unwrap();
    for batch in values.chunks(10 * FEATURES) {
        builder.push(&cells(batch), &Interrupt::new()).unwrap();
    }
    assert_eq!(content(&builder.finish(rows()).unwrap()), content(&expected));

    let column = |f: usize| values.iter().skip(f).step_by(FEATURES);
    let single: Vec<f32> = column(0).copied().collect();
    let double: Vec<Vec<f64>> =
        (1..3).map(|f| column(f).map(|&x| f64::from(x)).collect()).collect();
    let list =
        vec![TableColumn::F32(&single), TableColumn::F64(&double[0]), TableColumn::F64(&double[1])];
    let columns = ColumnTable::new(list, MissingPolicy::default()).unwrap();
    let options = BinOptions { max_bins: 7, sample_rows: 40, ..BinOptions::default() };
    let d = Dataset::new(&columns, rows(), &options, &Interrupt::new()).unwrap();
    assert_eq!(content(&d), content(&expected));
}

fn refused(change: impl FnOnce(&mut RowData)) -> (String, String, Option<usize>) {
    let queries = Queries::from_sizes(&[2, 2], 4).unwrap();
    let mut rows = RowData::new(vec![0.0, 1.0, 2.0, 0.0], Grouping::in_row_order(queries));
    change(&mut rows);
    let error = dataset(&values(4, 3), rows).unwrap_err();
    let fault = error.fault().unwrap();
    (fault.code.to_owned(), error.to_string(), fault.place.row)
}

#[test]
fn bad_labels_are_refused_with_their_row() {
    let (code, text, row) = refused(|r| r.labels[3] = f32::NAN);
    assert_eq!((code.as_str(), row), ("label.nan", Some(3)));
    assert!(text.starts_with("label[3] is NaN (query 1): expected a finite number"), "{text}");
    assert_eq!(refused(|r| r.labels[1] = f32::INFINITY).0, "label.infinite");
    assert_eq!(refused(|r| r.labels[1] = -1.0).0, "label.negative");
    assert_eq!(refused(|r| r.labels[1] = 1e30).0, "label.large");
    assert_eq!(refused(|r| r.labels.truncate(3)).0, "length");
}

#[test]
fn bad_weights_are_refused_with_their_index() {
    let (code, text, row) = refused(|r| r.row_weight = Some(vec![1.0, -1.0, 1.0, 1.0]));
    assert_eq!((code.as_str(), row), ("weight", Some(1)));
    assert!(text.starts_with("row_weight[1] = -1"), "{text}");
    let (_, text, _) = refused(|r| r.query_weight = Some(vec![1.0, f64::NAN]));
    assert!(text.starts_with("query_weight[1] = NaN (query 1)"), "{text}");
    assert_eq!(refused(|r| r.query_weight = Some(vec![1.0])).0, "length");
    assert_eq!(refused(|r| r.query_weight = Some(vec![0.0, 0.0])).0, "weight");
    assert_eq!(refused(|r| r.base_score = Some(vec![0.0, 0.0, f64::INFINITY, 0.0])).2, Some(2));
}

#[test]
fn another_number_of_features_is_refused() {
    let queries = Queries::from_sizes(&[4], 4).unwrap();
    let rows = RowData::new(vec![0.0; 4], Grouping::in_row_order(queries));
    let train = dataset(&values(4, 3), rows.clone()).unwrap();
    let narrow = vec![0.0f32; 8];
    let table = StridedTable::by_row(&narrow, 2, MissingPolicy::default());
    let error =
        Dataset::like(&table, rows, train.binning().clone(), &Interrupt::new()).unwrap_err();
    assert!(error.to_string().ends_with("got 2, expected 3"), "{error}");
}

#[test]
fn pairs_are_asked_for_by_those_who_need_them() {
    let make = |labels: Vec<f32>, sizes: &[i64]| {
        let queries = Queries::from_sizes(sizes, 4).unwrap();
        dataset(&values(4, 3), RowData::new(labels, Grouping::in_row_order(queries))).unwrap()
    };
    assert!(make(vec![0.0, 0.0, 1.0, 0.0], &[2, 2]).require_pairs().is_ok());
    let say = |d: Dataset| d.require_pairs().unwrap_err().to_string();
    assert!(say(make(vec![0.0, 0.0, 1.0, 1.0], &[2, 2])).contains("all labels are equal"));
    assert!(say(make(vec![0.0, 1.0, 2.0, 3.0], &[1; 4])).contains("one document"));
}

#[test]
fn constant_features_are_counted_and_take_no_room() {
    let queries = Queries::from_sizes(&[4], 4).unwrap();
    let rows = RowData::new(vec![0.0; 4], Grouping::in_row_order(queries));
    let values = [1.0, 7.0, f32::NAN, 2.0, 7.0, f32::NAN, 3.0, 7.0, f32::NAN, 4.0, 7.0, f32::NAN];
    let d = dataset(&values, rows).unwrap();
    assert_eq!(d.binning().unused_features().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(d.matrix().width(), 1);
}
