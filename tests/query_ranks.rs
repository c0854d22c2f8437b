//! Ranks within queries: the ranks themselves, datasets that have them, models that work them out.

#![expect(clippy::unwrap_used, reason = "a test")]

use rustrank::binning::BinOptions;
use rustrank::data::{ColumnTable, Dataset, MissingPolicy, RowData, StridedTable};
use rustrank::model::{
    Child, Component, Leaf, Model, Normalisation, Part, Split, Tree, query_ranks,
};
use rustrank::{Grouping, Interrupt, Queries};

/// A stateless stream of numbers.
fn drawn(seed: u64, i: usize) -> u64 {
    rustrank::hash::mix(seed ^ rustrank::hash::mix(i as u64 + 1))
}

/// Values of which many are equal and some missing.
fn table(docs: usize, width: usize, seed: u64) -> Vec<f32> {
    (0..docs * width)
        .map(|i| match drawn(seed, i) % 11 {
            0 => f32::NAN,
            1 => -0.0,
            2 => 0.0,
            3..=6 => (drawn(seed + 1, i) % 4) as f32 - 2.0,
            _ => (drawn(seed + 2, i) % 1000) as f32 / 7.0 - 40.0,
        })
        .collect()
}

/// By the words of the definition.
fn by_definition(rows: &[f32], width: usize) -> Vec<f32> {
    let column = |feature: usize| rows.iter().skip(feature).step_by(width).copied();
    let mut ranks = Vec::new();
    for (i, &value) in rows.iter().enumerate() {
        let feature = i % width;
        let valid = column(feature).filter(|x| !x.is_nan()).count();
        let below = column(feature).filter(|&x| x < value).count();
        let equal = column(feature).filter(|&x| x == value).count();
        let mean_place = below as f64 + f64::midpoint(1.0, equal as f64);
        ranks.push(if value.is_nan() {
            f32::NAN
        } else {
            ((mean_place - 0.5) / valid as f64) as f32
        });
    }
    ranks
}

fn same(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

#[test]
fn ranks_are_what_the_definition_says() {
    for (docs, width) in [(1, 3), (2, 1), (7, 5), (120, 13), (300, 2), (0, 4)] {
        let rows = table(docs, width, docs as u64);
        let mut ranks = vec![9.0; rows.len()];
        query_ranks(&rows, width, &mut ranks);
        assert!(same(&ranks, &by_definition(&rows, width)), "{docs} docs");
        let doubles: Vec<f64> = rows.iter().map(|&x| f64::from(x)).collect();
        let mut again = vec![9.0; rows.len()];
        query_ranks(&doubles, width, &mut again);
        assert!(same(&ranks, &again));
    }
    query_ranks::<f32>(&[], 0, &mut []);
}

#[test]
fn ranks_move_with_their_docs() {
    let (docs, width) = (50, 4);
    let rows = table(docs, width, 3);
    let mut ranks = vec![0.0; rows.len()];
    query_ranks(&rows, width, &mut ranks);
    let order: Vec<usize> = (0..docs).map(|i| (i * 17 + 5) % docs).collect();
    let moved = |from: &[f32]| -> Vec<f32> {
        order.iter().flat_map(|&doc| from[doc * width..(doc + 1) * width].to_vec()).collect()
    };
    let mut of_moved = vec![0.0; rows.len()];
    query_ranks(&moved(&rows), width, &mut of_moved);
    assert!(same(&of_moved, &moved(&ranks)));
}

#[test]
fn one_doc_stands_in_the_middle() {
    let mut ranks = [0.0; 2];
    query_ranks(&[7.0f64, f64::NAN], 2, &mut ranks);
    assert_eq!(ranks[0], 0.5);
    assert!(ranks[1].is_nan());
}

/// A model of two raw features and their ranks: trees that look at both.
fn ranked_model() -> Model {
    let mut model = Model::new(4);
    model.set_ranks_features().unwrap();
    for (feature, threshold) in [(2, 0.5), (0, 1.0), (3, 0.25), (2, 0.75)] {
        let split = Split {
            feature,
            threshold,
            missing_left: feature % 2 == 1,
            left: Child::Leaf(0),
            right: Child::Leaf(1),
            reduction: 1.0,
            cover: 4.0,
            docs: 4,
        };
        let leaf = |value| Leaf { value, cover: 2.0, docs: 2 };
        let value = f64::from(feature) + 1.0;
        model.push(Tree::new(vec![split], vec![leaf(-value), leaf(value / 3.0)])).unwrap();
    }
    model
}

/// The same trees on rows that have their ranks already.
fn without_flag(model: &Model) -> Model {
    let mut plain = Model::new(model.num_features());
    for tree in model.trees() {
        plain.push(tree.clone()).unwrap();
    }
    plain
}

fn widened(rows: &[f32], bounds: &[usize], width: usize) -> Vec<f32> {
    let mut wide = Vec::new();
    for query in bounds.windows(2) {
        let rows = &rows[query[0] * width..query[1] * width];
        let ranks = by_definition(rows, width);
        for (row, ranks) in rows.chunks(width).zip(ranks.chunks(width)) {
            wide.extend_from_slice(row);
            wide.extend_from_slice(ranks);
        }
    }
    wide
}

#[test]
fn a_scorer_works_ranks_out() {
    let model = ranked_model();
    // Queries of all sizes, an empty one among them, in several pieces.
    let bounds = [0, 1, 4, 4, 700, 760, 2000, 2001];
    let rows = table(2001, 2, 9);
    let scorer = model.scorer();
    assert!(scorer.needs_queries() && model.needs_queries());
    assert_eq!((scorer.num_features(), model.num_features(), model.num_raw_features()), (2, 4, 2));
    let mut scores = vec![0.0; 2001];
    scorer.score_queries(&rows, &bounds, &mut scores).unwrap();
    let mut expected = vec![0.0; 2001];
    let wide = widened(&rows, &bounds, 2);
    without_flag(&model).scorer().score(&wide, &mut expected).unwrap();
    assert_eq!(scores, expected);
    for query in bounds.windows(2).filter(|query| query[0] < query[1]) {
        let docs = query[0]..query[1];
        let mut alone = vec![0.0; docs.len()];
        let rows: Vec<f64> =
            rows[docs.start * 2..docs.end * 2].iter().map(|&x| f64::from(x)).collect();
        scorer.score_queries(&rows, &[0, docs.len()], &mut alone).unwrap();
        assert_eq!(alone, scores[docs]);
    }
}

#[test]
fn an_explanation_has_ranks_as_features() {
    let model = ranked_model();
    let bounds = [0, 3, 40, 1300];
    let rows = table(1300, 2, 21);
    let mut scores = vec![0.0; 1300];
    model.scorer().score_queries(&rows, &bounds, &mut scores).unwrap();
    let explainer = model.explainer().unwrap();
    let mut values = vec![0.0; 1300 * 5];
    explainer.explain_queries(&rows, &bounds, &mut values).unwrap();
    for (values, score) in values.chunks(5).zip(scores) {
        assert!((values.iter().sum::<f64>() - score).abs() < 1e-12);
    }
    let error = explainer.explain(&rows, &mut values).unwrap_err();
    assert!(error.to_string().contains("ranks features within queries"), "{error}");
    assert!(explainer.explain_queries(&rows, &[0, 7], &mut values).is_err());
    assert!(explainer.contrast(&rows[..2], &rows[2..4]).is_err());
}

#[test]
fn rows_without_queries_are_refused() {
    let scorer = ranked_model().scorer();
    let error = scorer.score(&[1.0f32, 2.0], &mut [0.0]).unwrap_err();
    assert!(error.to_string().contains("ranks features within queries"), "{error}");
    assert!(scorer.score_row(&[1.0f32, 2.0]).is_err());
    // Rows that bring their ranks along are not what it takes.
    assert!(scorer.score_queries(&[0.0f32; 4], &[0, 1], &mut [0.0]).is_err());
    assert!(scorer.score_queries(&[0.0f32; 4], &[0, 1], &mut [0.0; 2]).is_err());
}

#[test]
fn models_of_ranks_hold_no_others() {
    let ranked = ranked_model();
    let error = Model::sum(vec![(1.0, ranked.clone()), (1.0, without_flag(&ranked))]).unwrap_err();
    assert!(error.to_string().contains("another number of features"), "{error}");
    let mut around = ranked.clone();
    let inner = Component::new(Part::Model(Box::new(without_flag(&ranked))));
    let error = around.add(inner).unwrap_err();
    assert!(error.to_string().contains("cannot hold one that does not"), "{error}");
    assert!(Model::new(3).set_ranks_features().is_err());
    assert!(ranked.clone().set_ranks_features().is_err());
    for library in ["lightgbm", "xgboost", "ranklib", "onnx"] {
        assert!(ranked.to_foreign(library).is_err());
    }
    // A sum of two works, within the query too.
    let mut sum = Model::sum(vec![(2.0, ranked.clone()), (1.0, ranked.clone())]).unwrap();
    let part = Part::Model(Box::new(ranked.clone()));
    let within = Component { normalisation: Normalisation::Query, ..Component::new(part) };
    sum.add(within).unwrap();
    let rows = table(30, 2, 5);
    let (mut scores, mut of_sum) = (vec![0.0; 30], vec![0.0; 30]);
    ranked.scorer().score_queries(&rows, &[0, 30], &mut scores).unwrap();
    sum.scorer().score_queries(&rows, &[0, 30], &mut of_sum).unwrap();
    let mean = scores.iter().sum::<f64>() / 30.0;
    let deviation = (scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / 30.0).sqrt();
    for (score, of_sum) in scores.iter().zip(of_sum) {
        assert!((3.0 * score + (score - mean) / deviation - of_sum).abs() < 1e-9);
    }
}

/// Trees on the two raw features.
fn raw_model() -> Model {
    let ranked = ranked_model();
    let mut raw = Model::new(2);
    for tree in ranked.trees() {
        let on_raw = |split: &Split| Split { feature: split.feature % 2, ..*split };
        let splits = tree.splits().iter().map(on_raw).collect();
        raw.push(Tree::new(splits, tree.leaves().to_vec())).unwrap();
    }
    raw
}

#[test]
fn a_sum_looks_at_ranks_if_a_model_in_it_does() {
    let (ranked, raw) = (ranked_model(), raw_model());
    let sum = |parts: [(f64, &Model); 2]| {
        Model::sum(parts.map(|(weight, model)| (weight, model.clone())).to_vec()).unwrap()
    };
    let inside = sum([(1.0, &ranked), (1.0, &raw)]);
    // Each sum with the weight of its trees on ranks, and of those on raw features alone.
    let sums = [
        (sum([(2.0, &ranked), (0.5, &raw)]), 2.0, 0.5),
        (sum([(0.5, &raw), (2.0, &ranked)]), 2.0, 0.5),
        (sum([(3.0, &inside), (1.0, &raw)]), 3.0, 4.0),
        (sum([(1.0, &ranked), (3.0, &inside)]), 4.0, 3.0),
        (sum([(1.0, &ranked), (3.0, &ranked)]), 4.0, 0.0),
        (sum([(1.0, &raw), (3.0, &raw)]), 0.0, 4.0),
    ];
    let bounds = [0, 3, 40, 200];
    let rows = table(200, 2, 21);
    let explained = |model: &Model| {
        let width = model.num_explained_features() + 1;
        let mut values = vec![0.0; 200 * width];
        model.explainer().unwrap().explain_queries(&rows, &bounds, &mut values).unwrap();
        values.chunks(width).map(<[f64]>::to_vec).collect::<Vec<_>>()
    };
    let (of_ranked, of_raw) = (explained(&ranked), explained(&raw));
    let (by_ranked, by_raw) = (ranked.split_importance(), raw.split_importance());
    for (sum, ranks, plain) in sums {
        let looks = ranks > 0.0;
        let width = if looks { 4 } else { 2 };
        assert_eq!((sum.looks_at_ranks(), sum.num_explained_features()), (looks, width));
        let wanted = |feature: usize| {
            let of_plain = by_raw.reduction.get(feature).unwrap_or(&0.0);
            ranks * by_ranked.reduction[feature] + plain * of_plain
        };
        let found = sum.split_importance();
        assert_eq!(found.reduction, (0..width).map(wanted).collect::<Vec<_>>());
        assert_eq!(found.count.len(), width);
        for (doc, values) in explained(&sum).iter().enumerate() {
            let (ranked, raw) = (&of_ranked[doc], &of_raw[doc]);
            let mut wanted: Vec<f64> = ranked[..width].iter().map(|value| ranks * value).collect();
            wanted.iter_mut().zip(&raw[..2]).for_each(|(sum, value)| *sum += plain * value);
            wanted.push(ranks * ranked[4] + plain * raw[2]);
            assert!(values.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-12));
        }
        for library in ["lightgbm", "xgboost", "ranklib", "onnx"] {
            assert_eq!(sum.to_foreign(library).is_err(), looks);
        }
    }
}

#[test]
fn the_text_of_a_model_says_that_it_ranks() {
    let model = ranked_model();
    let text = model.to_text();
    assert!(text.contains("\nfeatures 4 ranks\n"));
    let read = Model::from_text(text.as_bytes()).unwrap();
    assert_eq!(read, model);
    assert!(read.ranks_features());
    assert_ne!(without_flag(&model), model);
    assert!(model.slice(1..3).ranks_features());
}

#[test]
fn the_golden_file_of_ranks_reads_and_writes() {
    let golden = std::fs::read_to_string("tests/golden/model-1-ranks.rrk").unwrap();
    let model = Model::from_text(golden.as_bytes()).unwrap();
    assert_eq!(model, ranked_model());
    assert_eq!(model.to_text(), golden);
}

#[test]
#[ignore = "writes the golden file of a new version"]
fn write_the_golden_file_of_ranks() {
    std::fs::write("tests/golden/model-1-ranks.rrk", ranked_model().to_text()).unwrap();
}

#[test]
fn a_text_with_another_word_after_its_features_is_refused() {
    let edited = |to: &str| {
        let text = ranked_model().to_text().replace("features 4 ranks", to);
        let body = text.splitn(3, '\n').nth(2).unwrap();
        let body = &body[..body.rfind("checksum").unwrap()];
        let whole = format!("rustrank model 1\nbytes {}\n{body}", body.len() + 31);
        let checksum = xxhash_rust::xxh3::xxh3_64(whole.as_bytes());
        let text = format!("{whole}checksum xxh3 {checksum:016x}\n");
        Model::from_text(text.as_bytes()).unwrap_err().to_string()
    };
    for (to, expected) in [
        ("features 4 rank", "ranks, or the end of the line"),
        ("features 4 ranks 1", "the end of the line"),
        ("features 5 ranks", "as many ranks as raw features"),
    ] {
        let error = edited(to);
        assert!(error.contains(expected), "{error}");
    }
}

fn rows_of(labels: Vec<f32>, codes: &[u32], num_queries: usize) -> RowData {
    RowData::new(labels, Grouping::from_codes(codes, num_queries).unwrap())
}

#[test]
fn a_dataset_has_the_ranks_of_its_queries() {
    let never = Interrupt::new();
    let (docs, width, queries) = (90, 3, 6);
    let cells = table(docs, width, 40);
    let codes: Vec<u32> = (0..docs).map(|row| (row * 7 % queries) as u32).collect();
    let labels: Vec<f32> = (0..docs).map(|row| (row % 3) as f32).collect();
    let by_row = StridedTable::by_row(&cells, width, MissingPolicy::default());
    let rows = rows_of(labels.clone(), &codes, queries);
    let grouping = rows.grouping.clone();
    let options = BinOptions::default();
    let with_ranks = BinOptions { query_ranks: true, ..BinOptions::default() };
    let ranked = Dataset::new(&by_row, rows.clone(), &with_ranks, &never).unwrap();
    assert!(ranked.query_ranks());
    assert_eq!(ranked.num_features(), 2 * width);
    // What it would be if somebody had ranked the values before.
    let gathered: Vec<f32> = (grouping.rows.iter())
        .flat_map(|&row| cells[row as usize * width..][..width].to_vec())
        .collect();
    let mut bounds = vec![0];
    bounds.extend(grouping.queries.ranges().map(|docs| docs.end));
    let in_order = widened(&gathered, &bounds, width);
    let mut wide = vec![0.0; in_order.len()];
    for (doc, &row) in grouping.rows.iter().enumerate() {
        wide[row as usize * 2 * width..][..2 * width]
            .copy_from_slice(&in_order[doc * 2 * width..][..2 * width]);
    }
    let before = StridedTable::by_row(&wide, 2 * width, MissingPolicy::default());
    let plain = Dataset::new(&before, rows.clone(), &options, &never).unwrap();
    assert_eq!(plain.binning().mappers(), ranked.binning().mappers());
    assert_eq!(plain.matrix(), ranked.matrix());
    assert_eq!(plain.fingerprint(), ranked.fingerprint());
    // By columns, and in another order of the rows.
    let mut columns = Vec::new();
    let order: Vec<usize> = (0..docs).map(|row| (row * 31 + 4) % docs).collect();
    for feature in 0..width {
        columns.extend(order.iter().map(|row| cells[row * width + feature]));
    }
    let by_column = ColumnTable::by_column(&columns, width, MissingPolicy::default());
    let codes: Vec<u32> = order.iter().map(|&row| codes[row]).collect();
    let labels: Vec<f32> = order.iter().map(|&row| labels[row]).collect();
    let moved = rows_of(labels, &codes, queries);
    let moved = Dataset::new(&by_column, moved, &with_ranks, &never).unwrap();
    assert_eq!(moved.fingerprint(), ranked.fingerprint());
    assert_eq!(moved.matrix(), ranked.matrix());
    // With the same bins.
    let like = Dataset::like(&by_row, rows.clone(), ranked.binning().clone(), &never).unwrap();
    assert_eq!(like.matrix(), ranked.matrix());
    assert!(Dataset::like(&before, rows, ranked.binning().clone(), &never).is_err());
}

#[test]
fn categories_have_no_ranks() {
    let never = Interrupt::new();
    let (docs, width, queries) = (60, 3, 4);
    let mut cells = table(docs, width, 8);
    for (row, cells) in cells.chunks_exact_mut(width).enumerate() {
        cells[1] = (row * 5 % 7) as f32;
    }
    let codes: Vec<u32> = (0..docs).map(|row| (row % queries) as u32).collect();
    let labels: Vec<f32> = (0..docs).map(|row| (row % 3) as f32).collect();
    let rows = rows_of(labels, &codes, queries);
    let by_row = StridedTable::by_row(&cells, width, MissingPolicy::default());
    let options = BinOptions { query_ranks: true, categorical: vec![1], ..BinOptions::default() };
    let ranked = Dataset::new(&by_row, rows.clone(), &options, &never).unwrap();
    assert_eq!(ranked.num_features(), 2 * width);
    assert_eq!(ranked.binning().categorical(), [1]);
    assert_eq!(ranked.binning().unused_features().collect::<Vec<_>>(), [width + 1]);
    let like = Dataset::like(&by_row, rows.clone(), ranked.binning().clone(), &never).unwrap();
    assert_eq!(like.matrix(), ranked.matrix());
    assert_eq!(like.fingerprint(), ranked.fingerprint());
    let beyond = BinOptions { categorical: vec![9], ..options };
    assert!(Dataset::new(&by_row, rows, &beyond, &never).is_err());
}

#[test]
fn a_fault_in_a_ranked_table_is_told_by_its_row() {
    let never = Interrupt::new();
    let cells = [1.0f32, 2.0, 3.0, f32::INFINITY, 5.0, 6.0];
    let by_row = StridedTable::by_row(&cells, 2, MissingPolicy::default());
    let queries = Queries::from_sizes(&[1, 2], 3).unwrap();
    let rows = RowData::new(vec![0.0, 1.0, 0.0], Grouping::in_row_order(queries));
    let with_ranks = BinOptions { query_ranks: true, ..BinOptions::default() };
    let error = Dataset::new(&by_row, rows.clone(), &with_ranks, &never).unwrap_err();
    let plain = Dataset::new(&by_row, rows, &BinOptions::default(), &never).unwrap_err();
    assert_eq!(error.to_string(), plain.to_string());
}
