//! The model as a value and as a text.

#![expect(clippy::unwrap_used, reason = "a test")]

#[expect(dead_code, reason = "shared with the tests of the scorer")]
mod models;

use models::{Random, mlp, native, nets, rich};
use rustrank::model::{
    Child, Component, Forest, Layer, Leaf, Linear, Mlp, Model, NetInput, Normalisation, Part,
    Split, Tree,
};
use rustrank::{Error, ErrorKind};

fn code(error: &Error) -> &'static str {
    assert!(matches!(error.kind(), ErrorKind::ModelFormat(_) | ErrorKind::ModelVersion(_)));
    error.fault().unwrap().code
}

/// The text with its length and checksum made right again.
fn sealed(text: &str) -> Vec<u8> {
    let body = text.splitn(3, '\n').nth(2).unwrap();
    let body = &body[..body.rfind("checksum").unwrap()];
    let whole = format!("rustrank model 1\nbytes {}\n{body}", body.len() + 31);
    let checksum = xxhash_rust::xxh3::xxh3_64(whole.as_bytes());
    format!("{whole}checksum xxh3 {checksum:016x}\n").into_bytes()
}

/// What is wrong with a text after one edit, its checksum made right again.
fn edited(text: &str, from: &str, to: &str) -> Error {
    assert!(text.contains(from), "{from}");
    Model::from_text(&sealed(&text.replacen(from, to, 1))).unwrap_err()
}

fn stump(feature: u32, threshold: f64) -> Tree {
    let leaf = |value| Leaf { value, cover: 1.0, docs: 2 };
    let split = Split {
        feature,
        threshold,
        missing_left: true,
        left: Child::Leaf(0),
        right: Child::Leaf(1),
        reduction: 0.5,
        cover: 2.0,
        docs: 4,
    };
    Tree::new(vec![split], vec![leaf(-1.0), leaf(1.0)])
}

#[test]
fn the_text_of_a_model_reads_back_to_the_same_model_and_text() {
    for seed in 0..20 {
        let model = rich(seed);
        let text = model.to_text();
        let back = Model::from_text(text.as_bytes()).unwrap();
        assert_eq!(back, model);
        assert_eq!(back.to_text(), text);
        let model = nets(seed, 4 + seed as usize);
        let back = Model::from_text(model.to_text().as_bytes()).unwrap();
        assert_eq!(back, model);
        assert_eq!(back.to_text(), model.to_text());
    }
    let empty = Model::new(0);
    assert_eq!(Model::from_text(empty.to_text().as_bytes()).unwrap(), empty);
}

#[test]
fn floats_keep_every_bit() {
    let edge = [f64::MIN_POSITIVE, 5e-324, -0.0, 0.1 + 0.2, f64::MAX, 1e23, f64::from(1e-35f32)];
    for value in edge {
        let mut model = Model::new(1);
        model.set_intercept(value).unwrap();
        let back = Model::from_text(model.to_text().as_bytes()).unwrap();
        assert_eq!(back.intercept().to_bits(), value.to_bits());
    }
}

#[test]
fn the_golden_file_of_this_version_reads_and_writes() {
    let golden = include_str!("golden/model-1.rrk");
    let model = Model::from_text(golden.as_bytes()).unwrap();
    assert_eq!(model, rich(1));
    assert_eq!(model.to_text(), golden);
    let golden = include_str!("golden/model-1-nets.rrk");
    let model = Model::from_text(golden.as_bytes()).unwrap();
    assert_eq!(model, nets(1, 4));
    assert_eq!(model.to_text(), golden);
}

#[test]
fn every_flipped_bit_is_refused() {
    for model in [native(3, 4, &[5, 3]), nets(3, 4)] {
        let text = model.to_text().into_bytes();
        for bit in 0..8 * text.len() {
            let mut text = text.clone();
            text[bit / 8] ^= 1 << (bit % 8);
            code(&Model::from_text(&text).unwrap_err());
        }
    }
}

#[test]
fn every_truncation_is_refused_with_its_length() {
    for model in [native(3, 4, &[5, 3]), nets(3, 4)] {
        let text = model.to_text().into_bytes();
        for length in 0..text.len() {
            let error = Model::from_text(&text[..length]).unwrap_err();
            code(&error);
            if length > 40 {
                let message = format!("the file ends at byte {length}");
                assert!(error.to_string().contains(&message), "{error}");
                assert!(error.to_string().contains(&format!("{} bytes", text.len())), "{error}");
            }
        }
    }
}

#[test]
fn what_is_no_model_is_called_that() {
    let others =
        ["", "\n", "<!DOCTYPE html>\n<html>", "tree\nversion=v4\n", "rustrank", "{\"a\": 1}"];
    for other in others.map(str::as_bytes).into_iter().chain([&[0xff, 0xfe, 0, 1][..]]) {
        let error = Model::from_text(other).unwrap_err();
        assert_eq!(code(&error), "model.magic");
        assert!(error.to_string().starts_with("not a rustrank model"), "{error}");
    }
}

#[test]
fn a_newer_format_is_told_apart() {
    let text = native(3, 4, &[5]).to_text().replace("model 1", "model 3");
    let error = Model::from_text(text.as_bytes()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ModelVersion(_)));
    assert!(error.to_string().starts_with("model format 3, this build reads 1"), "{error}");
}

#[test]
fn converted_line_ends_and_appended_bytes_are_refused() {
    let text = native(3, 4, &[5]).to_text();
    assert_eq!(
        code(&Model::from_text((text.clone() + "\n").as_bytes()).unwrap_err()),
        "model.length"
    );
    code(&Model::from_text(text.replace('\n', "\r\n").as_bytes()).unwrap_err());
    // Even where all lengths and sums are right, nothing may stand after the model.
    let more = text.replacen("checksum", "features 1\nchecksum", 1);
    assert_eq!(code(&Model::from_text(&sealed(&more)).unwrap_err()), "model.syntax");
}

#[test]
fn faults_of_structure_name_the_tree_and_the_node() {
    let mut model = Model::new(3);
    model.push(stump(1, 0.25)).unwrap();
    model.push(stump(2, 0.75)).unwrap();
    let text = model.to_text();
    let told = |from, to, code_wanted, words: &str| {
        let error = edited(&text, from, to);
        let message = error.to_string();
        assert!(message.contains(words), "{message}");
        assert_eq!(code(&error), code_wanted, "{message}");
        assert!(error.fault().unwrap().place.line.is_some());
    };
    told("2 0.75 l", "3 0.75 l", "model.structure", "tree 1 split 0 looks at feature 3");
    told("0.75 l l0 l1", "0.75 l l0 l2", "model.structure", "tree 1 split 0 has child leaf 2");
    told("0.75 l l0 l1", "0.75 l s0 l1", "model.structure", "tree 1 split 0 has child split 0");
    told("0.75 l l0 l1", "0.75 l s7 l1", "model.structure", "tree 1 split 0 has child split 7");
    told("0.75 l l0 l1", "0.75 l l1 l1", "model.structure", "leaf 1 has two parents");
    told("0.75 l l0", "NaN l l0", "model.number", "a threshold is not finite");
    told("-1.0 1.0 2", "inf 1.0 2", "model.number", "a leaf's value is not finite");
    told("-1.0 1.0 2", "1e999 1.0 2", "model.number", "a leaf's value is not finite");
    told("0.75 l l0 l1", "0.75 x l0 l1", "model.syntax", "expected l or r");
    told("component 1.0", "component nan", "model.number", "a weight is not finite");
    told("forest f32 2", "forest f32 3", "model.syntax", "");
    told("forest f32 2", "forest f32 1", "model.syntax", "");
    told("tree 1", "tree 2", "model.syntax", "");
    told("tree 1", "tree -1", "model.syntax", "a count");
}

#[test]
fn declared_counts_beyond_the_file_allocate_nothing() {
    let text = rich(1).to_text();
    let huge = 1u64 << 60;
    for from in ["forest f32 3", "names 5", "attributes 3", "components 4", "sets 3", "tree 3"] {
        let to = format!("{} {huge}", from.rsplit_once(' ').unwrap().0);
        let error = edited(&text, from, &to);
        assert_eq!(code(&error), "model.count", "{error}");
    }
    let length = text.lines().nth(1).unwrap();
    let text = text.replacen(length, &format!("bytes {huge}"), 1);
    assert_eq!(code(&Model::from_text(text.as_bytes()).unwrap_err()), "model.length");
}

#[test]
fn whatever_one_word_becomes_the_text_is_refused_or_scores() {
    let words = [
        "-1",
        "0",
        "1",
        "7",
        "99",
        "4294967295",
        "18446744073709551616",
        "NaN",
        "-inf",
        "1e400",
        "1e308",
        "s0",
        "s1",
        "l0",
        "s99",
        "forest",
        "model",
        "tree",
        "fixed",
        "x",
        "",
    ];
    let mut random = Random::new(11);
    let mut read = 0;
    for round in 0..4000 {
        let model = match round % 3 {
            0 => rich(3),
            1 => native(5, 3, &[6, 4]),
            _ => nets(2, 3),
        };
        let text = model.to_text();
        let places: Vec<usize> = text.match_indices([' ', '\n']).map(|(at, _)| at).collect();
        // Not in the two first lines, nor in the checksum.
        let from = 4 + random.below(places.len() - 9);
        let (start, end) = (places[from] + 1, places[from + 1]);
        let word = words[random.below(words.len())];
        let edited = format!("{}{word}{}", &text[..start], &text[end..]);
        match Model::from_text(&sealed(&edited)) {
            Err(error) => assert!(!code(&error).is_empty()),
            Ok(model) => {
                let mut scores = [0.0; 9];
                let rows = vec![0.5; 9 * model.num_features().min(1000)];
                let _ = model.scorer().score(&rows, &mut scores);
                read += 1;
            }
        }
    }
    assert!(read > 100, "{read}");
}

#[test]
fn models_inside_models_have_a_limit() {
    let mut model = Model::new(2);
    for depth in 2..=9 {
        let mut outer = Model::new(2);
        let added = outer.add(Component::new(Part::Model(Box::new(model.clone()))));
        if depth == 9 {
            assert_eq!(code(&added.unwrap_err()), "model.depth");
        } else {
            added.unwrap();
            model = outer;
        }
    }
    assert_eq!(Model::from_text(model.to_text().as_bytes()).unwrap(), model);
}

#[test]
fn only_checked_parts_get_into_a_model() {
    let mut model = Model::new(2);
    assert_eq!(code(&model.push(stump(2, 0.0)).unwrap_err()), "model.feature");
    assert_eq!(code(&model.push(stump(1, f64::NAN)).unwrap_err()), "model.number");
    assert_eq!(code(&model.set_intercept(f64::INFINITY).unwrap_err()), "model.number");
    let mut bad = |part| code(&model.add(Component::new(part)).unwrap_err());
    assert_eq!(bad(Part::Linear(Linear::new(vec![(2, 1.0)]))), "model.feature");
    assert_eq!(bad(Part::Linear(Linear::new(vec![(1, f64::NAN)]))), "model.number");
    assert_eq!(bad(Part::Forest(Forest::new(3))), "model.features");
    let normalisation = Normalisation::Fixed { mean: 0.0, scale: 0.0 };
    let part = Part::Linear(Linear::default());
    assert!(model.add(Component { weight: 1.0, normalisation, part }).is_err());
    assert_eq!(model, Model::new(2));
}

#[test]
fn nets_that_do_not_fit_together_are_refused() {
    let input = |feature| NetInput { feature, log: false, mean: 0.0, scale: 1.0 };
    let layer = |biases: &[f32], weights: &[f32]| Layer {
        biases: biases.to_vec(),
        weights: weights.to_vec(),
    };
    let output = || layer(&[0.5], &[1.0, -2.0]);
    let two = || vec![input(0), input(3)];
    let made = |inputs, layers| Mlp::new(inputs, 10.0, layers);
    let net = made(two(), vec![output()]).unwrap();
    let mut model = Model::new(4);
    model.add(Component::new(Part::Mlp(net.clone()))).unwrap();
    assert_eq!(model.scorer().score_row(&[2.0, 0.0, 0.0, 0.25]).unwrap(), 2.0);
    let bad = |inputs, layers| code(&made(inputs, layers).unwrap_err());
    assert_eq!(bad(vec![], vec![layer(&[0.0], &[])]), "model.net");
    assert_eq!(bad(vec![input(3), input(3)], vec![output()]), "model.net");
    assert_eq!(bad(two(), vec![]), "model.net");
    assert_eq!(bad(two(), vec![layer(&[0.0], &[1.0])]), "model.net");
    assert_eq!(bad(two(), vec![layer(&[0.0; 2], &[1.0; 4])]), "model.net");
    assert_eq!(bad(two(), vec![layer(&[], &[]), output()]), "model.net");
    assert_eq!(bad(two(), vec![layer(&[0.0], &[f32::NAN, 0.0])]), "model.number");
    assert_eq!(bad(two(), vec![layer(&[f32::INFINITY], &[1.0; 2])]), "model.number");
    assert_eq!(bad(two(), vec![layer(&[0.0], &[3e37; 2])]), "model.number");
    assert_eq!(bad(vec![NetInput { scale: 0.0, ..input(0) }], vec![output()]), "model.number");
    assert_eq!(bad(vec![NetInput { scale: 1e-45, ..input(0) }], vec![output()]), "model.number");
    assert!(Mlp::new(two(), f32::NAN, vec![output()]).is_err());
    assert_eq!(
        code(&Model::new(3).add(Component::new(Part::Mlp(net))).unwrap_err()),
        "model.feature"
    );
}

#[test]
fn a_net_is_not_exported() {
    let mut model = Model::new(4);
    model.add(Component::new(Part::Mlp(mlp(1, 4, &[2])))).unwrap();
    for library in ["lightgbm", "xgboost", "ranklib", "onnx"] {
        let error = model.to_foreign(library).unwrap_err().to_string();
        assert!(error.contains("cannot hold a net"), "{error}");
    }
}

#[test]
fn pushed_trees_join_one_forest_and_truncation_takes_them_away() {
    let model = native(7, 4, &[3, 5, 2, 9]);
    assert_eq!((model.components().len(), model.num_trees()), (1, 4));
    let mut short = model.clone();
    short.truncate(2);
    assert_eq!(short.trees().collect::<Vec<_>>(), model.trees().take(2).collect::<Vec<_>>());
    short.truncate(9);
    assert_eq!(short.num_trees(), 2);
    for tree in model.trees().skip(2) {
        short.push(tree.clone()).unwrap();
    }
    assert_eq!(short.to_text(), model.to_text());
    short.truncate(0);
    assert_eq!(short, Model::new(4));
}

#[test]
fn rounds_of_summed_models_are_mixed_and_those_after_them_are_not() {
    let (first, second) = (native(7, 4, &[3, 5, 2]), native(8, 4, &[4, 4]));
    assert_eq!(first.num_mixed_rounds(), 0);
    let inside = |model: &Model| Part::Model(Box::new(model.clone()));
    let forest = |model: &Model| model.components()[0].part.clone();
    for (weight, parts, mixed) in [
        (0.5, vec![forest(&first)], 0),
        (0.5, vec![forest(&first), forest(&second)], 5),
        (1.0, vec![forest(&first), forest(&second)], 5),
        (0.5, vec![inside(&first), forest(&second)], 2),
        (0.5, vec![forest(&first), inside(&second)], 3),
        (0.5, vec![inside(&first), inside(&second)], 0),
    ] {
        let mut sum = Model::new(4);
        for part in parts {
            sum.add(Component { weight, ..Component::new(part) }).unwrap();
        }
        assert_eq!(sum.num_mixed_rounds(), mixed);
        if weight < 1.0 {
            for tree in second.trees() {
                sum.push(tree.clone()).unwrap();
            }
            assert_eq!(sum.num_mixed_rounds(), mixed);
            assert_eq!(sum.num_rounds(), sum.num_trees());
        }
    }
}

#[test]
fn slices_hold_each_part_once() {
    let model = rich(5);
    let (head, tail) = (model.slice(0..4), model.slice(4..usize::MAX));
    assert_eq!((head.num_trees(), tail.num_trees()), (4, 2));
    assert_eq!((head.intercept(), tail.intercept()), (model.intercept(), 0.0));
    assert_eq!((head.components().len(), tail.components().len()), (4, 1));
    assert_eq!(model.slice(3..3).num_trees(), 0);
}

#[test]
fn sums_carry_whole_models() {
    let (a, b) = (native(1, 4, &[3]), native(2, 4, &[5]));
    let sum = Model::sum(vec![(0.25, a.clone()), (0.75, b)]).unwrap();
    assert_eq!(sum.num_features(), 4);
    assert!(matches!(&sum.components()[0].part, Part::Model(model) if **model == a));
    assert!(Model::sum(vec![(0.5, a), (0.5, Model::new(3))]).is_err());
}

#[test]
fn saved_models_load_and_faults_name_the_file() {
    let folder = std::env::temp_dir().join(format!("rustrank-model-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("web.rrk");
    let model = rich(2);
    model.save(&path).unwrap();
    assert_eq!(Model::load(&path).unwrap(), model);
    std::fs::write(&path, "tree\n").unwrap();
    let message = Model::load(&path).unwrap_err().to_string();
    assert!(message.contains("web.rrk"), "{message}");
    assert!(matches!(Model::load(folder.join("none")).unwrap_err().kind(), ErrorKind::Io { .. }));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[ignore = "writes the golden file of a new version"]
fn write_the_golden_file() {
    std::fs::write("tests/golden/model-1.rrk", rich(1).to_text()).unwrap();
    std::fs::write("tests/golden/model-1-nets.rrk", nets(1, 4).to_text()).unwrap();
}
