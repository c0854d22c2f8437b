//! Model files that are small and stand for much: they are refused, or take memory and time as their size does.

// The Python extension has an allocator of its own.
#![cfg(not(feature = "python"))]
#![expect(clippy::unwrap_used, reason = "a test")]

mod held_memory;

use held_memory::peak_of;
use rustrank::model::{
    CellType, Child, Component, Forest, Leaf, Model, Part, Set, Split, Tree, format::MOST_FEATURES,
};
use rustrank::random::draw;
use rustrank::{Interrupt, simd::Level};
use serde_json::{Value, json};
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const MIB: usize = 1 << 20;

/// What `work` gives, which must hold at most so many bytes at once, and end.
fn within<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let (made, held) = peak_of(work);
    assert!(held <= bytes, "{} MiB are held", held / MIB);
    made
}

fn refused(file: &[u8], what: &str) {
    let error = Model::from_any(file).unwrap_err().to_string();
    assert!(error.contains(what), "{error}");
}

/// A tree in which each split has a leaf to the left and the next split to the right.
fn chain(splits: usize, split: impl Fn(usize) -> Split) -> Tree {
    let next = |at: usize| {
        let next = at as u32 + 1;
        if at + 1 < splits { Child::Split(next) } else { Child::Leaf(next) }
    };
    let came = |at: usize| (splits + 1 - at) as u64;
    let splits: Vec<Split> = (0..splits)
        .map(|at| {
            let (left, right) = (Child::Leaf(at as u32), next(at));
            Split { left, right, docs: came(at), cover: came(at) as f64, ..split(at) }
        })
        .collect();
    let leaf = |at| Leaf { value: f64::from(at % 7) - 3.0, cover: 1.0, docs: 1 };
    let leaves = (0..=splits.len() as u32).map(leaf).collect();
    Tree::new(splits, leaves)
}

/// LightGBM's text with a chain whose splits all look at the first set.
fn lightgbm(splits: usize, features: &[&str], bounds: &str, words: usize) -> String {
    let each = |item: &dyn Fn(usize) -> String| (0..splits).map(item).collect::<Vec<_>>().join(" ");
    // The first leaf is -1.
    let leaf = |at: usize| format!("-{}", at + 1);
    let right = |at: usize| if at + 1 < splits { (at + 1).to_string() } else { leaf(splits) };
    let leaves = vec!["1"; splits + 1].join(" ");
    let words = vec!["4294967295"; words].join(" ");
    format!(
        "tree\nversion=v4\nmax_feature_idx=1\n\nTree=0\nnum_leaves={}\nnum_cat=1\nsplit_feature={}\n\
         threshold={}\ndecision_type={}\nleft_child={}\nright_child={}\nleaf_value={leaves}\n\
         cat_boundaries={bounds}\ncat_threshold={words}\n\n\nend of trees\n",
        splits + 1,
        each(&|at| features[at % features.len()].to_owned()),
        each(&|_| "0".to_owned()),
        each(&|_| "9".to_owned()),
        each(&leaf),
        each(&right),
    )
}

#[test]
fn splits_that_share_a_set_of_lightgbm_keep_it_once() {
    let text = lightgbm(15_000, &["0"], "0 20000", 20_000);
    let model = within(40 * text.len(), || Model::from_any(text.as_bytes()).unwrap());
    let forest = model.forests().next().unwrap();
    assert_eq!((forest.sets().len(), forest.sets()[0].categories.len()), (1, 640_000));
    let scores = |value: f64| model.scorer().score_row(&[value, 0.0]).unwrap();
    within(20 * text.len(), || {
        assert_eq!([scores(639_999.0), scores(640_000.0)], [1.0, 1.0]);
    });
    // A set belongs to a feature, and sets do not overlap.
    refused(lightgbm(4, &["0", "1"], "0 2", 2).as_bytes(), "`decision_type` of tree 0");
    refused(lightgbm(4, &["0"], "0 2 0 2", 2).as_bytes(), "`cat_boundaries` of tree 0");
}

#[test]
fn a_set_that_lightgbm_has_to_repeat_for_each_split_is_refused() {
    let split = |_| Split { feature: 1, threshold: 0.5, ..Split::default() };
    let sets = vec![Set { feature: 0, categories: vec![1_000_000] }];
    let forest = Forest::foreign(1, CellType::F32, vec![], sets, vec![chain(20_000, split)]);
    let mut model = Model::new(1);
    model.add(Component::new(Part::Forest(forest.unwrap()))).unwrap();
    let error = within(100 * MIB, || model.to_foreign("lightgbm").unwrap_err().to_string());
    assert!(error.contains("in our own format"), "{error}");
}

/// XGBoost's JSON with a chain of splits on the same categories; `link` changes the children.
fn xgboost(splits: usize, segments: &[usize], link: impl Fn(&mut Value)) -> Vec<u8> {
    let nodes = 2 * splits + 1;
    let all = |item: i64| vec![item; nodes];
    let (mut left, mut right) = (vec![json!(-1); nodes], vec![json!(-1); nodes]);
    for at in 0..splits {
        left[at] = json!(splits + at);
        right[at] = json!(if at + 1 < splits { at + 1 } else { 2 * splits });
    }
    let mut tree = json!({
        "categories": (0..4000).collect::<Vec<_>>(), "categories_nodes": (0..splits).collect::<Vec<_>>(),
        "categories_segments": segments, "categories_sizes": vec![4000 / splits; splits],
        "default_left": all(0), "left_children": left, "loss_changes": all(0), "right_children": right,
        "split_conditions": all(0), "split_indices": all(0), "split_type": all(1), "sum_hessian": all(1),
        "tree_param": {},
    });
    link(&mut tree);
    let param = json!({ "base_score": "0", "num_feature": "1" });
    let model = json!({ "trees": [tree], "tree_info": [0] });
    let booster = json!({ "name": "gbtree", "model": model });
    let learner =
        json!({ "learner_model_param": param, "gradient_booster": booster, "objective": {} });
    json!({ "learner": learner }).to_string().into_bytes()
}

#[test]
fn categories_of_xgboost_that_overlap_or_come_twice_are_refused() {
    let file = xgboost(4, &[0, 1000, 2000, 3000], |_| {});
    let model = Model::from_any(&file).unwrap();
    assert_eq!(model.forests().next().unwrap().sets().len(), 4);
    for segments in [[0; 4], [0, 1000, 1999, 3000], [1000, 0, 2000, 3000]] {
        refused(&xgboost(4, &segments, |_| {}), "`categories_segments` is not as XGBoost");
    }
    let twice = |tree: &mut Value| tree["left_children"][0] = json!(1);
    refused(&xgboost(4, &[0, 1000, 2000, 3000], twice), "`left_children` is not as XGBoost");
}

/// A model of one split, on its last feature, with its declared number of features changed and its frame made
/// right again.
fn wide(features: u64) -> Vec<u8> {
    let mut model = Model::new(9);
    let split = Split { feature: 8, threshold: 0.5, right: Child::Leaf(1), ..Split::default() };
    model.push(chain(1, |_| split)).unwrap();
    let text = model.to_text().replace("features 9\n", &format!("features {features}\n"));
    let text = text.replace("\n8 0.5", &format!("\n{} 0.5", features - 1));
    let body = text.splitn(3, '\n').nth(2).unwrap();
    let body = &body[..body.rfind("checksum").unwrap()];
    let whole = format!("rustrank model 1\nbytes {}\n{body}", body.len() + 31);
    let checksum = xxhash_rust::xxh3::xxh3_64(whole.as_bytes());
    format!("{whole}checksum xxh3 {checksum:016x}\n").into_bytes()
}

#[test]
fn the_number_of_features_alone_allocates_little() {
    let most = u64::from(MOST_FEATURES);
    for count in [most + 1, u64::from(u32::MAX)] {
        let error = within(MIB, || Model::from_any(&wide(count)).unwrap_err().to_string());
        assert!(error.contains(&format!("the model has {count} features")), "{error}");
        assert!(error.contains("at most 16777216"), "{error}");
    }
    let lightgbm = lightgbm(2, &["0"], "0 1", 1);
    refused(lightgbm.replace("_idx=1", "_idx=4294967294").as_bytes(), "4294967295 features");
    let xgboost = String::from_utf8(xgboost(1, &[0], |_| {})).unwrap();
    let many = xgboost.replace("\"num_feature\":\"1\"", "\"num_feature\":\"4294967295\"");
    refused(many.as_bytes(), "4294967295 features");
    let model = within(MIB, || Model::from_any(&wide(most)).unwrap());
    within(MIB, || {
        let none: [f64; 0] = [];
        model.scorer().score(&none, &mut []).unwrap();
        model.explainer().unwrap().explain(&none, &mut []).unwrap();
    });
    let importance = within(24 * MOST_FEATURES as usize + MIB, || model.split_importance());
    assert_eq!(importance.count.iter().sum::<f64>(), 1.0);
    for library in ["xgboost", "ranklib", "onnx"] {
        within(MIB, || model.to_foreign(library).unwrap());
    }
}

#[test]
fn many_sets_take_memory_and_time_as_their_text_does() {
    let split = |at: usize| Split { feature: 1 + at as u32, threshold: 0.5, ..Split::default() };
    let set = |at: u32| Set { feature: 0, categories: vec![at % 60_000, 60_000 + at / 60_000] };
    let sets: Vec<Set> = (0..130_000).map(set).collect();
    let mut trees = vec![chain(1, |_| Split { feature: 0, ..Split::default() })];
    trees.push(chain(sets.len(), split));
    let mut model = Model::new(1);
    let forest = Forest::foreign(1, CellType::F32, vec![], sets, trees).unwrap();
    model.add(Component::new(Part::Forest(forest))).unwrap();
    let text = model.to_text();
    let model = within(60 * text.len(), || Model::from_any(text.as_bytes()).unwrap());
    within(60 * text.len(), || {
        let (scorer, row) = (model.scorer(), [777.0]);
        let leaf = |tree: &Tree| {
            let forest = model.forests().next().unwrap();
            tree.leaves()[tree.leaf_of(|feature| forest.cell(feature, &row))].value
        };
        assert_eq!(scorer.score_row(&row).unwrap(), model.trees().map(leaf).sum::<f64>());
        let cut = model.slice(0..2);
        assert_eq!(cut.forests().next().unwrap().sets().len(), 130_000);
    });
}

#[test]
fn trees_that_share_a_set_keep_it_once_when_some_are_cut_off() {
    let sets = vec![Set { feature: 0, categories: (0..100_000).collect() }];
    let split = |_| Split { feature: 1, threshold: 0.5, ..Split::default() };
    let trees = (0..10_000).map(|_| chain(2, split)).collect();
    let forest = Forest::foreign(1, CellType::F32, vec![], sets.clone(), trees).unwrap();
    let mut model = Model::new(1);
    model.add(Component::new(Part::Forest(forest))).unwrap();
    let cut = within(20 * MIB, || model.slice(0..9_999));
    assert_eq!(cut.forests().next().unwrap().sets(), sets);
    assert_eq!(cut.scorer().score_row(&[1.0]).unwrap(), -3.0 * 9_999.0);
}

#[test]
fn a_chain_of_splits_is_scored_explained_and_exported() {
    const SPLITS: usize = 100_000;
    let split = |at: usize| Split {
        feature: at as u32 % 3,
        threshold: if at < SPLITS / 2 { -1.0 } else { 1.0 },
        docs: (SPLITS - at + 1) as u64,
        ..Split::default()
    };
    let mut model = Model::new(3);
    model.push(chain(SPLITS, split)).unwrap();
    let row = [0.5, 2.0, f64::NAN];
    let score = within(100 * MIB, || model.scorer().score_row(&row).unwrap());
    let explainer = within(100 * MIB, || model.explainer().unwrap());
    let mut values = [0.0; 4];
    within(100 * MIB, || explainer.explain(&row, &mut values).unwrap());
    assert!((values.iter().sum::<f64>() - score).abs() < 1e-9, "{values:?} {score}");
    let below = [2.0, 2.0, 0.0];
    let between = within(100 * MIB, || explainer.contrast(&row, &below).unwrap());
    let difference = score - model.scorer().score_row(&below).unwrap();
    assert!((between.iter().sum::<f64>() - difference).abs() < 1e-9, "{between:?}");
    for library in ["lightgbm", "xgboost", "ranklib", "onnx"] {
        within(300 * MIB, || model.to_foreign(library).unwrap());
    }
}

#[test]
fn an_explanation_of_a_chain_on_as_many_features_ends_when_it_is_interrupted() {
    const SPLITS: u32 = 100_000;
    let split = |at: usize| Split { feature: at as u32, ..Split::default() };
    let mut model = Model::new(SPLITS as usize);
    model.push(chain(SPLITS as usize, split)).unwrap();
    let explainer = within(100 * MIB, || model.explainer().unwrap());
    let rows: Vec<f32> = (0..16 * SPLITS).map(|at| (at % 5) as f32 - 1.0).collect();
    let mut values = vec![0.0; 16 * (SPLITS as usize + 1)];
    let interrupt = Interrupt::new();
    let ended = std::thread::scope(|scope| {
        let working = scope.spawn(|| {
            let outcome = explainer.explain_until(&|| interrupt.check(), &rows, None, &mut values);
            (outcome.is_err(), Instant::now())
        });
        std::thread::sleep(Duration::from_millis(300));
        interrupt.raise();
        let raised = Instant::now();
        let (is_interrupted, ended) = working.join().unwrap();
        assert!(is_interrupted);
        ended.saturating_duration_since(raised)
    });
    // Without the interrupt it takes minutes.
    assert!(ended < Duration::from_secs(5), "{ended:?}");
    assert!(
        rustrank::model::Explainer::new(&model, Level::Portable, &|| interrupt.check()).is_err()
    );
}

#[test]
fn scores_beyond_what_a_format_holds_are_not_exported() {
    let split = |_| Split { threshold: 0.5, ..Split::default() };
    let exported = |value: f64, weight: f64, library: &str| {
        let mut tree = chain(1, split);
        tree = Tree::new(tree.splits().to_vec(), vec![Leaf { value, ..Leaf::default() }; 2]);
        let forest = Forest::foreign(1, CellType::F32, vec![], vec![], vec![tree]).unwrap();
        let mut model = Model::new(1);
        let part = Part::Forest(forest);
        model.add(Component { weight, ..Component::new(part) }).unwrap();
        model.to_foreign(library).map_err(|error| error.to_string())
    };
    for library in ["xgboost", "onnx"] {
        let error = exported(1e39, 1.0, library).unwrap_err();
        assert!(error.contains("scores beyond the largest single"), "{error}");
        exported(3e38, 1.0, library).unwrap();
    }
    for library in ["lightgbm", "xgboost", "ranklib", "onnx"] {
        let error = exported(1e200, 1e200, library).unwrap_err();
        assert!(error.contains("weighted scores beyond the largest double"), "{error}");
    }
    // What only training looked at is cut off.
    let far = |_| Split { reduction: 1e300, cover: 1e300, ..Split::default() };
    let mut model = Model::new(1);
    model.push(chain(2, far)).unwrap();
    let back = Model::from_any(&model.to_foreign("xgboost").unwrap()).unwrap();
    assert_eq!(back.scorer().score_row(&[1.0]).unwrap(), model.scorer().score_row(&[1.0]).unwrap());
}

#[test]
fn numbers_of_json_are_read_to_the_last_bit() {
    for at in 0..2000 {
        let value = draw(1, 0, at) as f64 / 1e17 - 90.0;
        let text = format!(
            r#"{{"features_info":{{"float_features":[{{"borders":[0.5],"feature_index":0,
            "flat_feature_index":0,"nan_value_treatment":"AsIs"}}]}},"oblivious_trees":[{{"leaf_values":
            [{value:?},1],"splits":[{{"border":0.5,"float_feature_index":0,"split_type":"FloatFeature"}}]}}],
            "scale_and_bias":[1,[0]]}}"#
        );
        let model = Model::from_any(text.as_bytes()).unwrap();
        assert_eq!(model.scorer().score_row(&[0.0]).unwrap().to_bits(), value.to_bits(), "{value}");
    }
}

#[test]
fn what_is_no_model_is_told_from_its_start() {
    let path: PathBuf = std::env::temp_dir().join(format!("rustrank-huge-{}", std::process::id()));
    let file = |start: &[u8]| {
        std::fs::write(&path, start).unwrap();
        // A hole: it takes no room on the disk.
        File::options().append(true).open(&path).unwrap().set_len(3 << 30).unwrap();
    };
    let cases: [(&[u8], &str); 4] = [
        (b"PAR1", "not a rustrank model"),
        (b"rustrank model 1\nbytes 12\n", "the file goes on after byte 38"),
        (b"rustrank model 7\nbytes 12\n", "model format 7"),
        (b"rustrank model 1\nbytes many\n", "the length is not there"),
    ];
    for (start, what) in cases {
        file(start);
        for any in [false, true] {
            let load = || if any { Model::load_any(&path) } else { Model::load(&path) };
            let error = within(MIB, || load().unwrap_err().to_string());
            assert!(error.contains(what) && error.contains("rustrank-huge"), "{error}");
        }
    }
    file(b"tree\nversion=v4\n");
    assert!(within(MIB, || Model::load(&path)).is_err());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn thresholds_below_all_singles_are_exported_to_lightgbm() {
    for threshold in [-6.7e93, f64::MIN, -1e39] {
        let tree = chain(1, |_| Split { threshold, ..Split::default() });
        let leaf = |value| Leaf { value, ..Leaf::default() };
        let tree = Tree::new(tree.splits().to_vec(), vec![leaf(1.0), leaf(2.0)]);
        let forest = Forest::foreign(1, CellType::F32, vec![], vec![], vec![tree]).unwrap();
        let mut model = Model::new(1);
        model.add(Component::new(Part::Forest(forest))).unwrap();
        let back = Model::from_any(&model.to_foreign("lightgbm").unwrap()).unwrap();
        let rows = [-1e38, 0.0, 1e38, f64::from(f32::MIN), f64::NAN];
        let [mut scores, mut again] = [[0.0; 5]; 2];
        model.scorer().score(&rows, &mut scores).unwrap();
        back.scorer().score(&rows, &mut again).unwrap();
        assert_eq!(scores[..4], [scores[0]; 4], "{threshold}");
        assert_eq!(scores, again, "{threshold}");
    }
}
