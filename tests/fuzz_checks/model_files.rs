//! Model files, ours and those of other libraries: a fault that is told, or a model that works.

use super::plain_walk::bits;
use rustrank::model::{Model, Part, format};

/// A row of more values, and a list of as many names, must be paid for.
const MOST_FEATURES: usize = 1000;
const ROWS: usize = 70;

/// A model of ours, whose length and checksum are made right first, so that what is inside is read.
pub(super) fn model_text(file: &[u8]) -> bool {
    // As it is, too, for the checks of both.
    let as_it_is = Model::from_text(file);
    let sealed = sealed(file).map_or(as_it_is, |file| Model::from_text(&file));
    sealed.inspect(use_model).is_ok()
}

/// A model of any library, as it is told from its first bytes.
pub(super) fn importers(file: &[u8]) -> bool {
    let model = if file.starts_with(format::MAGIC.as_bytes()) {
        return false;
    } else {
        Model::from_any(file)
    };
    model.inspect(use_model).is_ok()
}

/// A file of ours with its length and checksum made right again; `None` where it has none.
fn sealed(file: &[u8]) -> Option<Vec<u8>> {
    let text = file.strip_prefix(b"rustrank model 1\n")?;
    let from = text.iter().position(|&b| b == b'\n')? + 1;
    let to = text.windows(9).rposition(|w| w == b"checksum ").unwrap_or(text.len());
    let body = text.get(from..to)?;
    let mut whole = format!("rustrank model 1\nbytes {}\n", body.len() + 31).into_bytes();
    whole.extend(body);
    let checksum = xxhash_rust::xxh3::xxh3_64(&whole);
    whole.extend(format!("checksum xxh3 {checksum:016x}\n").into_bytes());
    Some(whole)
}

/// What is done with a model; it may be refused by name, never more.
fn use_model(model: &Model) {
    let text = model.to_text();
    let back = Model::from_text(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert!(back == *model, "the text of a model reads back to it");
    assert!(back.to_text() == text, "the text of a model that was read is the same again");
    let (width, all) = (model.num_raw_features(), model.num_features());
    if all > MOST_FEATURES {
        return;
    }
    let value = |i: usize| [0.0, 1.0, f64::NAN, -3.5, 3.0, 1e30, -0.25][i % 7];
    let rows: Vec<f64> = (0..ROWS * width).map(value).collect();
    let mut scores = vec![0.0; ROWS];
    let is_scored = model.scorer().score(&rows, &mut scores).is_ok();
    if is_scored {
        let last = model.scorer().score_row(&rows[(ROWS - 1) * width..]).ok();
        assert!(last.is_some_and(|last| bits(&[last]) == bits(&scores[ROWS - 1..])));
    }
    check_exports(model, &rows, is_scored.then_some(&*scores));
    let bounds = [0, 1, 40, 40, ROWS];
    let scored = model.scorer().score_queries(&rows, &bounds, &mut scores);
    scored.unwrap_or_else(|error| panic!("{error}"));
    if let Ok(explainer) = model.explainer() {
        let mut values = vec![0.0; ROWS * (all + 1)];
        let explained = explainer.explain_queries(&rows, &bounds, &mut values);
        explained.unwrap_or_else(|error| panic!("{error}"));
    }
}

/// What is written for a library that we read is read again; LightGBM's text of one forest scores the same.
fn check_exports(model: &Model, rows: &[f64], scores: Option<&[f64]>) {
    for library in ["ranklib", "onnx"] {
        let _ = model.to_foreign(library);
    }
    for library in ["lightgbm", "xgboost"] {
        let Ok(text) = model.to_foreign(library) else { continue };
        let back = Model::from_any(&text).unwrap_or_else(|error| panic!("{library}: {error}"));
        let is_one_forest = model.intercept() == 0.0
            && matches!(model.components(), [one] if one.is_plain() && matches!(one.part, Part::Forest(_)));
        if let Some(scores) = scores.filter(|_| library == "lightgbm" && is_one_forest) {
            let mut again = vec![0.0; scores.len()];
            let scored = back.scorer().score(rows, &mut again);
            scored.unwrap_or_else(|error| panic!("{error}"));
            assert!(bits(&again) == bits(scores), "LightGBM's text scores the same");
        }
    }
}
