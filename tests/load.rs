//! Loading LETOR text: the dataset that the same cells make in memory, whichever way they came.

#![expect(clippy::unwrap_used, reason = "a test")]

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use rustrank::binning::nearest;
use rustrank::data::line_source::{LineOptions, LineSource};
use rustrank::data::load::load_from;
use rustrank::data::{
    Dataset, Infinite, LoadOptions, Loaded, MissingPolicy, RowData, StridedTable, TextBase,
    load_files,
};
use rustrank::model::{Component, Linear, Model, Normalisation, Part};
use rustrank::random::draw;
use rustrank::{Error, ErrorKind, Grouping, Interrupt, Queries};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Docs with their cells, written as text or laid out as a table.
#[derive(Debug, Clone)]
struct Doc {
    query: u64,
    label: u32,
    cells: Vec<f64>,
}

/// Cells of all shapes; about one in `gaps` is 0, and zeros are not always written.
fn docs(rows: u64, features: u64, gaps: u64) -> Vec<Doc> {
    let cell = |row, feature| {
        let bits = draw(1, row, feature);
        match bits % 5 {
            _ if !(bits >> 8).is_multiple_of(gaps) => 0.0,
            0 => (bits % 7) as f64,
            1 => (bits >> 40) as f64 / 1e3 - 1000.0,
            2 => (bits >> 11) as f64 * 1e-25,
            3 => -1.0,
            _ => f64::NAN,
        }
    };
    let doc = |row| Doc {
        query: row / 7,
        label: (draw(2, row, 0) % 5) as u32,
        cells: (0..features).map(|feature| cell(row, feature)).collect(),
    };
    (0..rows).map(doc).collect()
}

fn text(docs: &[Doc], zeros: bool) -> String {
    let mut text = String::new();
    for (row, doc) in docs.iter().enumerate() {
        write!(text, "{} qid:q{}", doc.label, doc.query).unwrap();
        for (feature, cell) in (1..).zip(&doc.cells) {
            match cell {
                cell if *cell == 0.0 && !zeros => Ok(()),
                cell if feature % 3 == 0 => write!(text, " {feature}:{cell:e}"),
                cell => write!(text, " {feature}:{cell}"),
            }
            .unwrap();
        }
        text.push_str(["\n", " # a:1\n", "\r\n", "\n\n"][row % 4]);
    }
    text
}

fn options() -> LoadOptions {
    let mut options = LoadOptions::default();
    (options.bins.max_bins, options.bins.sample_rows) = (15, 60);
    options
}

fn source(text: &str, options: &LoadOptions) -> LineSource {
    let bytes = io::Cursor::new(text.as_bytes().to_vec());
    LineSource::from_reader("text", Box::new(bytes), &options.lines).unwrap()
}

fn loaded(text: &str, options: &LoadOptions) -> Result<Loaded, Error> {
    load_from(vec![source(text, options)], None, options, &Interrupt::new())
}

/// The dataset of the docs as a table in memory.
fn table(docs: &[Doc], options: &LoadOptions) -> Dataset {
    let width = docs.iter().map(|doc| doc.cells.len()).max().unwrap();
    let padded = docs.iter().flat_map(|doc| {
        let zeros = std::iter::repeat_n(0.0, width - doc.cells.len());
        doc.cells.iter().copied().chain(zeros)
    });
    let cells: Vec<f32> = padded.map(nearest).collect();
    let policy = MissingPolicy { missing: options.missing, infinite: Infinite::Error };
    let sizes =
        docs.chunk_by(|a, b| a.query == b.query).map(|docs| i64::try_from(docs.len()).unwrap());
    let sizes: Vec<i64> = sizes.collect();
    let queries = Queries::from_sizes(&sizes, docs.len()).unwrap();
    let labels = docs.iter().map(|doc| doc.label as f32).collect();
    Dataset::new(
        &StridedTable::by_row(&cells, width, policy),
        RowData::new(labels, Grouping::in_row_order(queries)),
        &options.bins,
        &Interrupt::new(),
    )
    .unwrap()
}

/// All that a dataset says, places of the caller included.
fn content(d: &Dataset) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        (d.fingerprint(), d.num_features()),
        d.matrix().clone(),
        d.labels().to_vec(),
        (d.rows().to_vec(), d.query_of().to_vec()),
        (d.doc_hash().to_vec(), d.query_hash().to_vec()),
    )
}

fn with_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
}

/// The dataset must be that of the table for every cut, buffer and number of threads.
fn assert_same_as_table(docs: &[Doc], text: &str, options: &LoadOptions) {
    let expected = content(&table(docs, options));
    for block_bytes in [1, 70, 1000, 1 << 18] {
        for buffer_bytes in [0, 700, 5000, 1 << 30] {
            for threads in [1, 4] {
                let options = LoadOptions {
                    lines: LineOptions { block_bytes, ..LineOptions::default() },
                    buffer_bytes,
                    ..options.clone()
                };
                let found = with_threads(threads, || loaded(text, &options)).unwrap().dataset;
                let how = (block_bytes, buffer_bytes, threads);
                assert_eq!(content(&found), expected, "{how:?}");
            }
        }
    }
}

#[test]
fn dense_and_sparse_text_make_the_dataset_of_the_table() {
    for (features, gaps) in [(1, 2), (9, 1), (9, 2), (30, 12)] {
        let mut docs = docs(160, features, gaps);
        // Else the text would not say how many features there are.
        docs[100].cells[features as usize - 1] = 5.0;
        for zeros in [true, false] {
            assert_same_as_table(&docs, &text(&docs, zeros), &options());
        }
    }
}

#[test]
fn a_number_that_stands_for_missing_is_missing() {
    for missing in [-1.0, 2.0, 0.0] {
        for zeros in [true, false] {
            let mut docs = docs(160, 9, 2);
            docs[100].cells[8] = 5.0;
            let options = LoadOptions { missing: Some(missing), ..options() };
            assert_same_as_table(&docs, &text(&docs, zeros), &options);
        }
    }
}

#[test]
fn features_may_come_late() {
    for wider in [10, 17, 19, 400] {
        let mut docs = docs(160, 9, 1);
        for (row, more) in [(40, 1), (41, 3), (90, wider - 9), (130, 2)] {
            docs[row].cells.extend((0..more).map(|i| f64::from(i) + 1.0));
        }
        for missing in [None, Some(-1.0), Some(0.0)] {
            let options = LoadOptions { missing, ..options() };
            assert_same_as_table(&docs, &text(&docs, true), &options);
        }
    }
}

#[test]
fn one_high_feature_does_not_make_all_rows_wide() {
    let mut text = String::new();
    for row in 0..3000 {
        writeln!(text, "{} qid:{} 1:{row} 2:1 3:{}", row % 2, row / 9, row % 5).unwrap();
    }
    text += "1 qid:last 1:1 1000000:3\n";
    // As dense rows of one piece they would take 12 GB.
    let options = options();
    let like = loaded("1 qid:1 1:1 2:2\n0 qid:1 1:2 2:3\n", &options).unwrap();
    let binning = Some(Arc::clone(like.dataset.binning()));
    let error = load_from(vec![source(&text, &options)], binning, &options, &Interrupt::new());
    assert_eq!(error.unwrap_err().fault().unwrap().code, "features");
}

/// Linear models of nine features; the scores of the second depend on the query.
fn bases() -> [Model; 2] {
    [Normalisation::AsIs, Normalisation::Query].map(|normalisation| {
        let part = Part::Linear(Linear::new(vec![(0, 0.5), (4, -0.125), (8, 0.3)]));
        let mut model = Model::new(9);
        model.set_intercept(0.25).unwrap();
        model.add(Component { weight: -2.5, normalisation, part }).unwrap();
        model
    })
}

/// The score of each document, computed query by query.
fn scores(model: &Model, docs: &[Doc]) -> Vec<f64> {
    let of_query = |docs: &[Doc]| {
        let cells: Vec<f32> = docs.iter().flat_map(|doc| &doc.cells).map(|&x| nearest(x)).collect();
        let mut scores = vec![0.0; docs.len()];
        model.scorer().score_queries(&cells, &[0, docs.len()], &mut scores).unwrap();
        scores
    };
    docs.chunk_by(|a, b| a.query == b.query).flat_map(of_query).collect()
}

#[test]
fn rows_are_scored_by_a_base_while_they_are_read() {
    let docs = docs(1500, 9, 1);
    let text = text(&docs, true);
    for model in bases() {
        let expected = scores(&model, &docs);
        let base = Some(TextBase::new(Arc::new(model)));
        for block_bytes in [70, 5000, 1 << 18] {
            for buffer_bytes in [0, 5000, 1 << 30] {
                let lines = LineOptions { block_bytes, ..LineOptions::default() };
                let options = LoadOptions { lines, buffer_bytes, base: base.clone(), ..options() };
                let found = with_threads(3, || loaded(&text, &options)).unwrap().dataset;
                let like = Some(Arc::clone(found.binning()));
                let sources = vec![source(&text, &options)];
                let again = load_from(sources, like, &options, &Interrupt::new()).unwrap().dataset;
                for dataset in [&found, &again] {
                    let scores = dataset.by_row(dataset.base_score().unwrap());
                    assert_eq!(scores, expected, "{block_bytes} {buffer_bytes}");
                }
                assert_eq!(content(&found), content(&again));
            }
        }
    }
}

#[test]
fn a_base_that_bins_can_score_leaves_the_dataset_as_it_is() {
    let docs = docs(160, 9, 1);
    let text = text(&docs, true);
    let [model, _] = bases().map(Arc::new);
    for buffer_bytes in [0, 1 << 30] {
        let plain = LoadOptions { buffer_bytes, ..options() };
        let base = |can: bool| {
            let scores_bins = if can { |_: &_, _: &_| true } else { |_: &_, _: &_| false };
            let base = Some(TextBase::new(model.clone()).if_needed(scores_bins));
            loaded(&text, &LoadOptions { base, ..plain.clone() }).unwrap().dataset
        };
        assert_eq!(content(&base(true)), content(&loaded(&text, &plain).unwrap().dataset));
        assert!(base(true).base_score().is_none());
        let dataset = base(false);
        assert_eq!(dataset.by_row(dataset.base_score().unwrap()), scores(&model, &docs));
    }
}

#[test]
fn text_wider_than_the_base_is_refused_and_narrower_text_has_zeros() {
    let base = Some(TextBase::new(Arc::new(bases()[0].clone())));
    for buffer_bytes in [0, 1 << 30] {
        let options = LoadOptions { buffer_bytes, base: base.clone(), ..options() };
        let error = loaded(&text(&docs(60, 10, 1), true), &options).unwrap_err();
        assert_eq!(error.fault().unwrap().code, "features");
        let mut narrow = docs(60, 5, 1);
        let found = loaded(&text(&narrow, true), &options).unwrap().dataset;
        for doc in &mut narrow {
            doc.cells.resize(9, 0.0);
        }
        let plain = LoadOptions { base: None, ..options };
        assert_eq!(found.num_features(), 9);
        let thresholds = |dataset: &Dataset| {
            let mappers = dataset.binning().mappers().iter();
            mappers.map(|mapper| mapper.thresholds().to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(thresholds(&found), thresholds(&table(&narrow, &plain)));
    }
}

#[test]
fn order_of_rows_and_queries_is_lost() {
    let docs = docs(200, 8, 2);
    let expected = loaded(&text(&docs, true), &options()).unwrap().dataset.fingerprint();
    for seed in 0..5 {
        let mut shuffled = docs.clone();
        shuffled.sort_by_key(|doc| (draw(seed, 3, doc.query), doc.query));
        for docs in shuffled.chunk_by_mut(|a, b| a.query == b.query) {
            docs.sort_by_key(|doc| draw(seed, 4, doc.cells[0].to_bits() ^ u64::from(doc.label)));
        }
        let text = text(&shuffled, seed % 2 == 0);
        for buffer_bytes in [0, 1 << 30] {
            let options = LoadOptions { buffer_bytes, ..options() };
            let found = loaded(&text, &options).unwrap();
            assert_eq!(found.dataset.fingerprint(), expected);
            let first: Box<str> = format!("q{}", shuffled[0].query).into();
            assert_eq!(found.query_ids[0], first);
        }
    }
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("load-{name}"));
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn compressed_text_is_the_same_text() {
    let text = text(&docs(150, 8, 2), false);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(1));
    encoder.write_all(text.as_bytes()).unwrap();
    let paths =
        [file("plain.txt", text.as_bytes()), file("zipped.txt.gz", &encoder.finish().unwrap())];
    for buffer_bytes in [0, 1 << 30] {
        let options = LoadOptions { buffer_bytes, ..options() };
        let [plain, zipped] = paths
            .each_ref()
            .map(|path| load_files(&[path], None, &options, &Interrupt::new()).unwrap().dataset);
        assert_eq!(content(&plain), content(&zipped));
    }
}

#[test]
fn a_validation_set_has_the_features_of_its_training_set() {
    let train = docs(150, 9, 1);
    let options = options();
    let binning = Arc::clone(loaded(&text(&train, true), &options).unwrap().dataset.binning());
    let like = |docs: &[Doc]| {
        let source = source(&text(docs, false), &options);
        load_from(vec![source], Some(Arc::clone(&binning)), &options, &Interrupt::new())
    };
    let mut narrow = docs(60, 9, 1);
    for doc in &mut narrow {
        doc.cells.truncate(5);
    }
    let found = like(&narrow).unwrap().dataset;
    for doc in &mut narrow {
        doc.cells.resize(9, 0.0);
    }
    assert_eq!(content(&found), content(&like(&narrow).unwrap().dataset));
    assert_eq!(found.num_features(), 9);
    narrow[50].cells.push(1.0);
    let error = like(&narrow).unwrap_err();
    assert_eq!(error.fault().unwrap().code, "features");
    assert!(error.to_string().contains("got 10, expected 9"), "{error}");
}

#[test]
fn faults_name_file_line_and_column() {
    let good = "1 qid:1 1:2 2:3\n".repeat(50);
    let after = "0 qid:2 1:1 2:5\n".repeat(50);
    for (line, code, column) in [
        ("1 1:2", "letor.qid", 3),
        ("x qid:1 1:2", "letor.label", 1),
        ("1 qid:1 0:2", "letor.index", 9),
        ("1 qid:1 2000000:2", "letor.index", 9),
        ("1 qid:1 2:2 1:3", "letor.order", 13),
        ("1 qid:1 1:2 2:abc", "letor.value", 15),
        ("1 qid:1 1:2 2:inf", "letor.value", 15),
        ("1 qid:1 1:2 word", "letor.token", 13),
        ("1 qid:1 1:2 2:\u{1}", "letor.value", 15),
        ("1 qid:3 1:1\n1 qid:1 1:1", "qid.returns", 3),
    ] {
        let path = file("fault.txt", format!("{good}{line}\n{after}").as_bytes());
        let line = 50 + line.lines().count() as u64;
        for (block_bytes, buffer_bytes) in [(1, 0), (30, 200), (100, 1 << 30), (1 << 20, 0)] {
            let lines = LineOptions { block_bytes, ..LineOptions::default() };
            let options = LoadOptions { lines, buffer_bytes, ..options() };
            let error = load_files(&[&path], None, &options, &Interrupt::new()).unwrap_err();
            let fault = error.fault().unwrap();
            assert_eq!((fault.code, fault.place.line), (code, Some(line)), "{error}");
            assert_eq!(fault.place.column, Some(column), "{error}");
            assert_eq!(fault.place.path.as_deref(), Some(&*path));
        }
    }
}

#[test]
fn text_without_rows_or_features_is_refused() {
    for (text, code) in [("# nothing\n", "data.empty"), ("1 qid:1\n0 qid:1\n", "features")] {
        for buffer_bytes in [0, 1 << 30] {
            let error = loaded(text, &LoadOptions { buffer_bytes, ..options() }).unwrap_err();
            assert_eq!(error.fault().unwrap().code, code, "{error}");
        }
    }
}

#[test]
fn an_interrupt_ends_the_load() {
    let interrupt = Interrupt::new();
    interrupt.raise();
    let text = text(&docs(50, 4, 1), true);
    for buffer_bytes in [0, 1 << 30] {
        let options = LoadOptions { buffer_bytes, ..options() };
        let error =
            load_from(vec![source(&text, &options)], None, &options, &interrupt).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Interrupted));
    }
}

proptest! {
    #[test]
    fn any_table_loads_as_it_is(
        rows in prop::collection::vec(prop::collection::vec(any::<f32>(), 1..12), 1..40),
        block_bytes in 1usize..400, buffer_bytes in 0usize..2000,
    ) {
        let width = rows.iter().map(Vec::len).max().unwrap();
        let mut docs: Vec<Doc> = (0..).zip(rows).map(|(row, cells)| {
            let finite = cells.into_iter().filter(|cell| !cell.is_infinite());
            Doc { query: row / 3, label: (row % 3) as u32, cells: finite.map(f64::from).collect() }
        }).collect();
        docs[0].cells.resize(width, 1.5);
        let lines = LineOptions { block_bytes, ..LineOptions::default() };
        let options = LoadOptions { lines, buffer_bytes, ..options() };
        let found = loaded(&text(&docs, true), &options).unwrap().dataset;
        prop_assert_eq!(content(&found), content(&table(&docs, &options)));
    }
}

#[test]
fn several_files_are_one() {
    let options = LoadOptions::default();
    let text = "1 qid:1 1:0.5 2:3\n0 qid:1 2:1\n2 qid:b 3:7\n0 qid:c 1:9\n1 qid:c 2:4\n";
    let whole = loaded(text, &options).unwrap();
    for buffer_bytes in [0, 1 << 20] {
        let options = LoadOptions { buffer_bytes, ..LoadOptions::default() };
        for cut in [text.find("2 qid:b"), text.find("0 qid:c"), Some(0), Some(text.len())] {
            let (one, two) = text.split_at(cut.unwrap());
            let sources = [one, "", two].map(|text| source(text, &options)).into();
            let parts = load_from(sources, None, &options, &Interrupt::new()).unwrap();
            assert_eq!(parts.dataset.fingerprint(), whole.dataset.fingerprint());
            assert_eq!(parts.query_ids, whole.query_ids);
        }
    }
    let (one, two) = text.split_at(text.find("0 qid:1").unwrap());
    let sources = [one, two].map(|text| source(text, &options)).into();
    let error = load_from(sources, None, &options, &Interrupt::new()).unwrap_err();
    assert_eq!(error.fault().unwrap().code, "qid.files");
}
