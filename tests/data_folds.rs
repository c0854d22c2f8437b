//! Folds of a dataset, and the ranks that a small dataset can add later, against datasets made of the same rows.

#![expect(clippy::unwrap_used, reason = "a test")]

use rustrank::binning::BinOptions;
use rustrank::data::{Dataset, MissingPolicy, RowData, StridedTable};
use rustrank::{Grouping, Interrupt, Queries};
use std::ops::Range;

const WIDTH: usize = 5;

struct Rows {
    values: Vec<f32>,
    labels: Vec<f32>,
    sizes: Vec<i64>,
    weights: Vec<f64>,
}

/// A stateless stream of numbers below a bound.
fn drawn(seed: u64, i: usize, below: u64) -> u64 {
    rustrank::hash::mix(seed ^ rustrank::hash::mix(i as u64 + 1)) % below
}

fn rows(num_queries: usize) -> Rows {
    let sizes: Vec<i64> = (0..num_queries).map(|q| 1 + drawn(1, q, 7).cast_signed()).collect();
    let num_rows = sizes.iter().sum::<i64>() as usize;
    Rows {
        values: (0..num_rows * WIDTH).map(|i| drawn(2, i, 9) as f32).collect(),
        labels: (0..num_rows).map(|row| drawn(3, row, 3) as f32).collect(),
        weights: (0..num_queries).map(|q| 1.0 + drawn(4, q, 3) as f64).collect(),
        sizes,
    }
}

impl Rows {
    fn data(&self) -> RowData {
        let queries = Queries::from_sizes(&self.sizes, self.labels.len()).unwrap();
        RowData {
            query_weight: Some(self.weights.clone()),
            ..RowData::new(self.labels.clone(), Grouping::in_row_order(queries))
        }
    }

    fn dataset(&self, query_ranks: bool) -> Dataset {
        let options = BinOptions { query_ranks, keep_values: true, ..BinOptions::default() };
        let table = StridedTable::by_row(&self.values, WIDTH, MissingPolicy::default());
        Dataset::new(&table, self.data(), &options, &Interrupt::default()).unwrap()
    }

    /// The rows of a query.
    fn of(&self, query: usize) -> Range<usize> {
        let start: i64 = self.sizes[..query].iter().sum();
        start as usize..(start + self.sizes[query]) as usize
    }
}

#[test]
fn later_ranks_are_those_of_a_dataset_made_with_ranks() {
    let rows = rows(40);
    let (plain, ranked) = (rows.dataset(false), rows.dataset(true));
    let later = plain.with_query_ranks(None, &Interrupt::default()).unwrap().unwrap();
    assert_eq!(later.num_features(), 2 * WIDTH);
    assert_eq!(later.fingerprint(), ranked.fingerprint());
    assert_eq!(later.rows(), ranked.rows());
    assert!(plain.keeps_values() && !ranked.keeps_values());
    let like = plain.with_query_ranks(Some(ranked.binning()), &Interrupt::default()).unwrap();
    assert_eq!(like.unwrap().fingerprint(), ranked.fingerprint());
}

#[test]
fn folds_divide_the_queries() {
    let rows = rows(61);
    let whole = rows.dataset(false);
    let mut seen = vec![0; whole.queries().len()];
    for fold in 0..4 {
        let [rest, held] = whole.fold(fold, 4, usize::MAX).unwrap();
        held.queries.iter().for_each(|&query| seen[query as usize] += 1);
        let mut all = [&rest.queries[..], &held.queries[..]].concat();
        all.sort_unstable();
        assert_eq!(all, (0..61).collect::<Vec<u32>>());
        for part in [rest, held] {
            check_part(&rows, &whole, &part.dataset, &part.queries);
        }
    }
    assert!(seen.iter().all(|&count| count == 1), "{seen:?}");
}

/// Compares a part with the rows of the same queries, in the caller's order.
fn check_part(rows: &Rows, whole: &Dataset, part: &Dataset, queries: &[u32]) {
    assert!(queries.is_sorted());
    let kept: Vec<usize> = queries.iter().flat_map(|&query| rows.of(query as usize)).collect();
    let labels: Vec<f32> = kept.iter().map(|&row| rows.labels[row]).collect();
    assert_eq!(part.by_row(part.labels()), labels);
    for feature in 0..WIDTH {
        let location = whole.binning().layout().locations()[feature].unwrap();
        let codes = |dataset: &Dataset| -> Vec<u8> {
            let codes: Vec<u8> =
                (0..dataset.num_docs()).map(|doc| dataset.matrix().code(doc, location)).collect();
            dataset.by_row(&codes)
        };
        let of_whole = codes(whole);
        let expected: Vec<u8> = kept.iter().map(|&row| of_whole[row]).collect();
        assert_eq!(codes(part), expected);
    }
    for (query, docs) in part.queries().ranges().enumerate() {
        let number = queries[part.query_of()[query] as usize] as usize;
        assert_eq!(docs.len(), rows.sizes[number] as usize);
        assert_eq!(part.query_weight().unwrap()[query], rows.weights[number]);
    }
}

#[test]
fn equal_queries_are_in_one_fold() {
    let whole = rows_twice(&rows(30)).dataset(false);
    for fold in 0..3 {
        let [_, held] = whole.fold(fold, 3, usize::MAX).unwrap();
        for &query in &held.queries {
            let twin = (query + 30) % 60;
            assert!(held.queries.contains(&twin), "{query}");
        }
    }
}

fn rows_twice(rows: &Rows) -> Rows {
    Rows {
        values: rows.values.repeat(2),
        labels: rows.labels.repeat(2),
        sizes: rows.sizes.repeat(2),
        weights: rows.weights.repeat(2),
    }
}

#[test]
fn a_sample_has_whole_queries_and_few_documents() {
    let rows = rows(200);
    let whole = rows.dataset(false);
    let [rest, held] = whole.fold(0, 5, 100).unwrap();
    let num_docs = rest.dataset.num_docs() + held.dataset.num_docs();
    assert!((80..=100).contains(&num_docs), "{num_docs}");
    assert!(held.dataset.num_docs() > 0);
}

#[test]
fn folds_do_not_depend_on_the_order_of_rows() {
    let rows = rows(50);
    let order: Vec<usize> = (0..50).rev().collect();
    let values = order.iter().flat_map(|&q| {
        let docs = rows.of(q);
        rows.values[docs.start * WIDTH..docs.end * WIDTH].to_vec()
    });
    let reversed = Rows {
        values: values.collect(),
        labels: order.iter().flat_map(|&q| rows.labels[rows.of(q)].to_vec()).collect(),
        sizes: order.iter().map(|&q| rows.sizes[q]).collect(),
        weights: order.iter().map(|&q| rows.weights[q]).collect(),
    };
    let folds = |rows: &Rows, number: &dyn Fn(u32) -> u32| {
        let [_, held] = rows.dataset(false).fold(1, 3, usize::MAX).unwrap();
        let mut queries: Vec<u32> = held.queries.iter().map(|&query| number(query)).collect();
        queries.sort_unstable();
        (queries, held.dataset.fingerprint())
    };
    assert_eq!(folds(&rows, &|query| query), folds(&reversed, &|query| 49 - query));
}

#[test]
fn queries_of_another_dataset_are_counted() {
    let rows = rows(40);
    let whole = rows.dataset(false);
    let [fit, held] = whole.fold(0, 4, usize::MAX).unwrap().map(|part| part.dataset);
    let varied = |data: &Dataset| {
        let hashes = data.doc_hash();
        data.queries()
            .ranges()
            .filter(|docs| hashes[docs.clone()].iter().any(|&one| one != hashes[docs.start]))
            .count()
    };
    assert!(varied(&whole) < whole.queries().len(), "some queries have one document");
    for part in [&fit, &held] {
        let all = varied(part);
        assert!(all > 0);
        assert_eq!(part.shared_queries(&whole), (all, all));
        assert_eq!(whole.shared_queries(part), (all, varied(&whole)));
    }
    assert_eq!(held.shared_queries(&fit), (0, varied(&held)));
}
