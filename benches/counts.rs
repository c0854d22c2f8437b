//! Workloads whose instructions are counted: `scripts/bench-counts` runs each of them once under
//! callgrind and compares the counts with `benches/counts.tsv`.
//!
//! `counts --list` prints the names; `counts NAME` prepares a workload and calls it once, `counts NAME
//! 3` three times. Callgrind counts inside [`measured`] alone. All work stays on the calling thread,
//! since callgrind switches counting on for one thread. Kernels run at the levels that valgrind can
//! emulate, up to AVX2.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench")]

mod common {
    pub(crate) mod bins;
    pub(crate) mod combine;
    pub(crate) mod grow;
    pub(crate) mod lambda;
    pub(crate) mod letor;
    pub(crate) mod metric;
    pub(crate) mod score;
}

use rustrank::binning::{BinOptions, BinnedMatrix, Binning};
use rustrank::boosting::{BoostingParams, BoostingTrainer, TrainingLoss, TrainingPlan};
use rustrank::combine::{AlphaRange, CoordinateOptions, JudgedQueries, coordinate_ascent};
use rustrank::data::{
    Dataset, LoadOptions, MissingPolicy, RawDataset, RowData, StridedTable, load_files,
};
use rustrank::metric::evaluate;
use rustrank::metric::significance::{Resampling, bootstrap, randomisation_test};
use rustrank::model::{Explainer, Model, Scorer};
use rustrank::neural;
use rustrank::objective::{LambdaOptions, ObjectiveKind, ObjectiveOptions};
use rustrank::simd::Level;
use rustrank::tree::{Constraints, GrowOptions, MonotoneDirection};
use rustrank::{Gradient, Grouping, Interrupt, Metric, Queries, random};
use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// What valgrind 3.19 emulates; AVX-512 kernels cannot be counted.
const LEVELS: [Level; 2] = [Level::Portable, Level::Avx2];

/// A prepared workload: each call does the same work.
type Work = Box<dyn FnMut()>;

/// A workload, not yet prepared.
struct Workload {
    name: String,
    prepare: Box<dyn FnOnce() -> Work>,
}

/// The list of all workloads.
#[derive(Default)]
struct Workloads(Vec<Workload>);

impl Workloads {
    /// `prepare` makes the data, which are not counted, and returns the work, which is.
    fn add<W: FnMut() + 'static>(
        &mut self,
        name: impl Into<String>,
        prepare: impl FnOnce() -> W + 'static,
    ) {
        let prepare = Box::new(|| Box::new(prepare()) as Work);
        self.0.push(Workload { name: name.into(), prepare });
    }

    fn all() -> Self {
        let mut all = Self::default();
        bins(&mut all);
        combine(&mut all);
        grow(&mut all);
        lambda(&mut all);
        letor(&mut all);
        metric(&mut all);
        score(&mut all);
        train(&mut all);
        all
    }
}

/// The part that is counted: `scripts/bench-counts` names this function to callgrind.
#[inline(never)]
fn measured(work: &mut dyn FnMut()) {
    work();
}

fn never() -> Interrupt {
    Interrupt::new()
}

fn metric_of(name: &str) -> Metric {
    name.parse().expect("a metric")
}

fn queries(num_docs: usize, per_query: usize) -> Queries {
    let sizes = vec![per_query.cast_signed() as i64; num_docs / per_query];
    Queries::from_sizes(&sizes, num_docs).expect("sizes")
}

fn table_of(values: &[f32]) -> StridedTable<'_, f32> {
    StridedTable::by_row(values, common::bins::FEATURES, MissingPolicy::default())
}

fn bins(all: &mut Workloads) {
    use common::bins::{FEATURES, table};
    const ROWS: usize = 6000;
    let prepared = move || {
        let values = table(ROWS);
        let binning = Binning::of(&table_of(&values), &BinOptions::default(), &never());
        (values, binning.expect("bins"))
    };
    for level in LEVELS {
        all.add(format!("bins/encode/{level:?}"), move || {
            let (values, binning) = prepared();
            let mut matrix = vec![vec![0; 240]; binning.layout().width()];
            move || {
                let mut columns: Vec<_> = matrix.iter_mut().map(|column| &mut column[..]).collect();
                for tile in values.chunks(240 * FEATURES) {
                    binning.encode_at(level, tile, &mut columns);
                }
            }
        });
    }
    all.add("bins/choose", move || {
        let values = table(ROWS);
        move || {
            let binning = Binning::of(&table_of(&values), &BinOptions::default(), &never());
            black_box(binning.expect("bins"));
        }
    });
    all.add("bins/append", move || {
        let (values, binning) = prepared();
        move || {
            let mut matrix =
                BinnedMatrix::with_capacity(binning.layout().width(), 0).expect("room");
            binning
                .append(&table_of(&values), &mut matrix, &mut Vec::new(), &never())
                .expect("rows");
            black_box(matrix);
        }
    });
    all.add("bins/dataset", move || {
        let values = table(ROWS);
        move || {
            let rows = RowData::new(vec![0.0; ROWS], Grouping::in_row_order(queries(ROWS, 120)));
            let options = BinOptions::default();
            let dataset = Dataset::new(&table_of(&values), rows, &options, &never());
            black_box(dataset.expect("a dataset"));
        }
    });
}

fn combine(all: &mut Workloads) {
    use common::combine::{sweep_of, synthetic};
    let along = AlphaRange::Along { from: -1.0, to: 10.0 };
    let cases = [
        ("ndcg@10", 1000, 24, AlphaRange::Between),
        ("ndcg@10", 200, 120, AlphaRange::Between),
        ("ndcg@10", 200, 120, along),
        ("ndcg@10", 24, 1000, AlphaRange::Between),
        ("ndcg", 20, 120, AlphaRange::Between),
        ("err@10", 200, 120, AlphaRange::Between),
        ("map", 4, 120, AlphaRange::Between),
        ("pairwise", 2, 120, AlphaRange::Between),
    ];
    for (name, num_queries, num_docs, range) in cases {
        let title = if range == along { "along" } else { "between" };
        all.add(format!("combine/{name}/{num_docs}/{title}"), move || {
            let data = synthetic(num_queries, num_docs, 0.8);
            move || {
                black_box(sweep_of(&data, name, range));
            }
        });
    }
    all.add("combine/coordinate", || {
        let data = synthetic(50, 120, 0.8);
        let third: Vec<f64> = data.first.iter().rev().copied().collect();
        move || {
            let judged =
                JudgedQueries { labels: &data.labels, queries: &data.queries, query_weight: None };
            let options = CoordinateOptions {
                most_passes: 2,
                ..CoordinateOptions::new(metric_of("ndcg@10"))
            };
            let rankers: [&[f64]; 3] = [&data.first, &data.second, &third];
            let best = coordinate_ascent(&rankers, &judged, &options, &never());
            black_box(best.expect("weights"));
        }
    });
}

fn grow(all: &mut Workloads) {
    use common::grow::{World, cell, cell_of_field, leaves, symmetric};
    type Shape = (usize, usize);
    const LARGE: Shape = (20_000, 136);
    const FIELDS: Shape = (6000, 700);
    const SMALL: Shape = (5000, 46);
    let mut add = |name: &str, shape: Shape, options: GrowOptions| {
        all.add(format!("grow/{name}"), move || {
            let cell = if shape == FIELDS { cell_of_field } else { cell };
            let world = World::new(shape, cell, &BinOptions::default());
            let mut grower = world.grower(options);
            move || world.grow(&mut grower)
        });
    };
    add("root", LARGE, leaves(2));
    add("31_leaves", LARGE, leaves(31));
    add("255_leaves", LARGE, leaves(255));
    add("symmetric_32", LARGE, symmetric(32));
    add("symmetric_256", LARGE, symmetric(256));
    add("noise", LARGE, GrowOptions { random_strength: 1.0, ..leaves(31) });
    add("features_per_tree", LARGE, GrowOptions { features_per_tree: 0.7, ..leaves(31) });
    add("rows_per_node", LARGE, GrowOptions { rows_per_node: 0.5, ..leaves(31) });
    let monotone =
        (0..136).step_by(7).map(|feature| (feature, MonotoneDirection::Rising)).collect();
    let limits = Constraints { monotone, ..Constraints::default() };
    add("monotone", LARGE, GrowOptions { limits, ..leaves(31) });
    add("fields/root", FIELDS, leaves(2));
    add("fields/31_leaves", FIELDS, leaves(31));
    add("fields/255_leaves", FIELDS, leaves(255));
    add("small/7_leaves", SMALL, leaves(7));
    add("small/31_leaves", SMALL, leaves(31));
    add("small/symmetric_32", SMALL, symmetric(32));
    all.add("grow/categories", || {
        let categorical = vec![0, 1];
        let bins = BinOptions { categorical, ..BinOptions::default() };
        let of = |row, feature| match feature {
            0 | 1 => (30.0 * cell(row, feature + 2).ln() / 10.0).floor(),
            _ => cell(row, feature),
        };
        let world = World::new(SMALL, of, &bins);
        let mut grower = world.grower(leaves(31));
        move || world.grow(&mut grower)
    });
}

fn lambda(all: &mut Workloads) {
    use common::lambda::{cases, data};
    for case in cases(&LEVELS) {
        all.add(format!("lambda/{}", case.name), move || {
            let mut data = data(12_000, case.per_query);
            if case.tied {
                data.scores.fill(0.0);
            }
            let mut gradients = vec![Gradient::default(); data.scores.len()];
            move || data.gradients(&*case.objective, &mut gradients)
        });
    }
}

/// The three kinds of text by name.
fn text(kind: &str) -> Vec<u8> {
    use common::letor::{scaled, sparse, text_of, web};
    match kind {
        "web" => text_of(2000, 136, |feature, row, bits| Some(web(feature, row, bits))),
        "scaled" => text_of(4000, 46, |_, _, bits| Some(scaled(bits))),
        _ => text_of(2000, 300, |_, _, bits| sparse(bits)),
    }
}

/// A file of the text, which is left behind: each run writes it again.
fn text_file(kind: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("counts-{kind}.txt"));
    std::fs::write(&path, text(kind)).expect("a file");
    path
}

fn letor(all: &mut Workloads) {
    use common::letor::{file, lines, packed, packed_rows, usual};
    for kind in ["web", "scaled", "sparse"] {
        for level in LEVELS {
            all.add(format!("letor/{kind}/{level:?}"), move || {
                let text = text(kind);
                move || {
                    black_box(usual(level, &text));
                }
            });
        }
        all.add(format!("letor/{kind}/lines"), move || {
            let text = text(kind);
            move || {
                black_box(lines(&text));
            }
        });
        all.add(format!("letor/{kind}/file"), move || {
            let path = text_file(kind);
            move || {
                black_box(file(&path));
            }
        });
        all.add(format!("letor/{kind}/load"), move || {
            let path = text_file(kind);
            move || {
                let loaded = load_files(&[&path], None, &LoadOptions::default(), &never());
                black_box(loaded.expect("a dataset"));
            }
        });
    }
    for level in LEVELS {
        all.add(format!("letor/packed/{level:?}"), move || {
            let rows = packed_rows(2000);
            let mut to = [0.0; 136];
            move || {
                black_box(packed(level, &rows, &mut to));
            }
        });
    }
}

#[expect(clippy::too_many_lines, reason = "a list of workloads")]
fn metric(all: &mut Workloads) {
    use common::metric::{DOCS, synthetic};
    const QUERIES: usize = 200;
    const EIGHT: [&str; 8] =
        ["ndcg", "dcg@5", "err", "map", "mrr", "precision@5", "recall@9", "pairwise"];
    for (title, names, exact) in [
        ("ndcg@10/f32", &["ndcg@10"][..], true),
        ("ndcg@10/f64", &["ndcg@10"], false),
        ("ndcg/f32", &["ndcg"], true),
        ("eight/f32", &EIGHT, true),
        ("eight/f64", &EIGHT, false),
    ] {
        all.add(format!("metric/evaluate/{title}"), move || {
            let data = synthetic(QUERIES, exact);
            let metrics: Vec<Metric> = names.iter().map(|name| metric_of(name)).collect();
            move || {
                let values =
                    evaluate(&metrics, &data.scores, &data.labels, &data.queries, &never());
                black_box(values.expect("values"));
            }
        });
    }
    for name in ["ndcg@10", "err", "map", "mrr", "pairwise"] {
        all.add(format!("metric/deltas/{name}"), move || {
            let data = synthetic(QUERIES, true);
            let mut deltas = metric_of(name).swap_delta(&data.labels).expect("deltas");
            let mut row = Vec::new();
            move || {
                for docs in data.queries.ranges() {
                    let (scores, labels) = (&data.scores[docs.clone()], &data.labels[docs]);
                    deltas.prepare(scores, labels).expect("a query");
                    for doc in 0..DOCS {
                        deltas.fill(doc, 0..DOCS, &mut row);
                        black_box(&row);
                    }
                }
            }
        });
    }
    for name in ["err", "map", "pairwise"] {
        const TIED: usize = 1000;
        all.add(format!("metric/tied/{name}"), move || {
            let (data, metric) = (synthetic(10, true), metric_of(name));
            let (scores, queries) = (vec![1.0; TIED], queries(TIED, TIED));
            move || {
                let values = metric.per_query(&scores, &data.labels[..TIED], &queries, &never());
                black_box(values.expect("values"));
            }
        });
    }
    let values = |seed| (0..2000).map(|q| random::draw(seed, 0, q) as f64 / 2e19).collect();
    let resampling = Resampling { resamples: 200, seed: 0 };
    all.add("metric/bootstrap", move || {
        let values: Vec<f64> = values(1);
        move || {
            black_box(bootstrap(&values, None, 0.95, resampling, &never()).expect("an interval"));
        }
    });
    all.add("metric/randomisation", move || {
        let (a, b): (Vec<f64>, Vec<f64>) = (values(1), values(2));
        move || {
            black_box(randomisation_test(&a, &b, resampling, &never()).expect("a test"));
        }
    });
}

fn score(all: &mut Workloads) {
    use common::score::{FEATURES, TREES, members, model, sum_of, values};
    for level in LEVELS {
        for (leaves, docs) in [(31, 1), (31, 256), (64, 256), (255, 16), (255, 256)] {
            all.add(format!("score/{level:?}/{leaves}_leaves/{docs}_docs"), move || {
                let scorer = Scorer::at_level(&model(TREES, leaves), level);
                let (values, mut scores) = (values(docs), vec![0.0; docs]);
                move || scorer.score(&values, &mut scores).expect("scores")
            });
        }
        all.add(format!("score/{level:?}/explain"), move || {
            const DOCS: usize = 16;
            let explainer = Explainer::at_level(&model(TREES, 31), level).expect("a forest");
            let (rows, mut values) = (values(DOCS), vec![0.0; DOCS * (FEATURES + 1)]);
            move || explainer.explain(&rows, &mut values).expect("values")
        });
    }
    all.add("score/ensemble", || {
        const DOCS: usize = 100;
        let bounds: Vec<usize> = (0..=DOCS).step_by(20).collect();
        let scorer = sum_of(&members()).scorer();
        let (rows, mut scores) = (values(DOCS), vec![0.0; DOCS]);
        move || scorer.score_queries(&rows, &bounds, &mut scores).expect("scores")
    });
    all.add("score/build", || {
        let model = model(TREES, 31);
        move || {
            black_box(model.scorer());
        }
    });
    all.add("model/write", || {
        let model = model(100, 31);
        move || {
            black_box(model.to_text());
        }
    });
    all.add("model/read", || {
        let text = model(100, 31).to_text();
        move || {
            black_box(Model::from_text(text.as_bytes()).expect("a model"));
        }
    });
}

const TRAINING_ROWS: usize = 3000;

/// Docs of 136 features with labels that follow some of them.
fn training_rows() -> (Vec<f32>, Vec<f32>) {
    use common::bins::{FEATURES, table};
    let values = table(TRAINING_ROWS);
    let label = |row: &[f32]| {
        let pull: f32 = [2, 4, 5, 6, 7, 12].iter().map(|&feature| row[feature].ln_1p()).sum();
        (pull / 8.0).floor().clamp(0.0, 4.0)
    };
    let labels = values.chunks(FEATURES).map(label).collect();
    (values, labels)
}

/// The labels, in queries of 100 docs.
fn in_queries(labels: &[f32]) -> RowData {
    let grouping = Grouping::in_row_order(queries(TRAINING_ROWS, 100));
    RowData::new(labels.to_vec(), grouping)
}

fn plan(kind: ObjectiveKind, grow: GrowOptions) -> TrainingPlan {
    let mut options = ObjectiveOptions::new(kind, metric_of("ndcg"));
    options.lambda = LambdaOptions::tuned(metric_of("ndcg"));
    TrainingPlan {
        params: BoostingParams { num_trees: 5, grow, ..BoostingParams::default() },
        loss: TrainingLoss::new(&options).expect("a loss"),
        evaluation_sets: Vec::new(),
        metrics: Vec::new(),
        patience: None,
        base: None,
    }
}

fn train(all: &mut Workloads) {
    use common::grow::{leaves, symmetric};
    for (name, kind, grow) in [
        ("leafwise", ObjectiveKind::LambdaRank, leaves(31)),
        ("symmetric", ObjectiveKind::LambdaRank, symmetric(32)),
        ("regression", ObjectiveKind::Regression, leaves(31)),
        ("mcrank", ObjectiveKind::McRank, leaves(7)),
    ] {
        all.add(format!("train/{name}"), move || {
            let (values, labels) = training_rows();
            let (table, bins) = (table_of(&values), BinOptions::default());
            let dataset = Dataset::new(&table, in_queries(&labels), &bins, &never());
            let dataset = Arc::new(dataset.expect("a dataset"));
            move || {
                let plan = plan(kind, grow.clone());
                let mut trainer =
                    BoostingTrainer::new(dataset.clone(), plan, &never()).expect("a trainer");
                while trainer.next_round(&never()).expect("a round").is_some() {}
                black_box(trainer.model());
            }
        });
    }
    all.add("train/net", || {
        let (values, labels) = training_rows();
        move || {
            let data = RawDataset::new(&table_of(&values), in_queries(&labels), &never());
            let plan = neural::NetPlan {
                params: neural::Params { epochs: 2, ..neural::Params::default() },
                loss: neural::NetLoss::new(ObjectiveOptions {
                    lambda: LambdaOptions::new(metric_of("ndcg")),
                    ..ObjectiveOptions::new(ObjectiveKind::LambdaRank, metric_of("ndcg"))
                })
                .expect("a loss"),
                evaluation_sets: Vec::new(),
                metrics: Vec::new(),
                patience: None,
                restarts: neural::Restarts::default(),
            };
            let mut trainer = neural::NetTrainer::new(data.expect("a dataset"), plan, &never())
                .expect("a trainer");
            while trainer.next_round(&never()).expect("an epoch").is_some() {}
            black_box(trainer.best_model().expect("a model"));
        }
    });
}

/// Prepares a workload and calls it so many times. This thread is the only one of the pool, so that
/// all parallel work is done here.
fn run(workload: Workload, times: usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    let _pool = pool.expect("a pool");
    let mut work = (workload.prepare)();
    measured(&mut || (0..times).for_each(|_| work()));
}

fn main() -> ExitCode {
    let all = Workloads::all().0;
    // `cargo bench` adds --bench: then there is nothing to count with.
    let given: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    match given.first().map(String::as_str) {
        None => println!("instructions are counted by `make bench-counts`"),
        Some("--list") => all.iter().for_each(|workload| println!("{}", workload.name)),
        Some(name) => {
            let times = given.get(1).map_or(1, |times| times.parse().expect("a number"));
            let Some(workload) = all.into_iter().find(|workload| workload.name == name) else {
                println!("counts: got '{name}', expected one of --list");
                return ExitCode::FAILURE;
            };
            run(workload, times);
        }
    }
    ExitCode::SUCCESS
}
