//! Models of other libraries, both ways.
//!
//! What is read scores the same: rows, missing values and floats are compared as that library
//! does, and what our model cannot hold is refused by name. What is written scores the same there,
//! or is refused. Each format's module says what is exact.

mod arrange;
pub mod catboost;
mod flat;
pub mod lightgbm;
pub mod onnx;
pub mod ranklib;
mod ubjson;
pub mod xgboost;

use super::composite::Model;
use super::file::read_model;
use crate::error::{Error, Result, foreign, room_for};
use std::path::Path;

/// LightGBM and XGBoost leave the factor 1/2 out of the loss: their gain of a split is this times what
/// the split takes off the loss.
const GAIN_OF_REDUCTION: f64 = 2.0;

/// The most memory that writing a format takes for each split and tree: what is written, and on the way there.
const BYTES_OF_SPLIT: [(&str, u64); 4] =
    [("lightgbm", 400), ("xgboost", 1600), ("ranklib", 900), ("onnx", 300)];

impl Model {
    /// A model from the bytes of a file, whatever library wrote it: ours, LightGBM's text,
    /// XGBoost's JSON or UBJSON, CatBoost's JSON.
    pub fn from_any(text: &[u8]) -> Result<Self> {
        if text.starts_with(super::format::MAGIC.as_bytes()) {
            Self::from_text(text)
        } else if lightgbm::is_text(text) {
            lightgbm::read(utf8(text)?)
        } else if xgboost::is_json(text) {
            xgboost::read(text)
        } else if xgboost::is_ubjson(text) {
            xgboost::read_ubjson(text)
        } else if catboost::is_json(text) {
            catboost::read(text)
        } else {
            Err(no_model(text))
        }
    }

    /// The model as a file of another library: `lightgbm`, `xgboost`, `ranklib` or `onnx`; or as ours,
    /// `rustrank`.
    pub fn to_foreign(&self, library: &str) -> Result<Vec<u8>> {
        let others = ["lightgbm", "xgboost", "ranklib", "onnx"];
        if self.looks_at_ranks() && others.contains(&library) {
            let what = "no other library ranks features within queries";
            return Err(Error::param("model.ranks", what).got(library).hint(format!(
                "train without ranks: on rr.Dataset(..., query_ranks=False), or with \
                 exportable=\"{library}\" where rr.train chooses the settings"
            )));
        }
        if let Some((_, bytes)) = BYTES_OF_SPLIT.iter().find(|(name, _)| *name == library) {
            let splits: usize = self.trees().map(|tree| tree.splits().len() + 1).sum();
            room_for("the model in that format", bytes * splits as u64)?;
        }
        match library {
            "lightgbm" => lightgbm::write(self).map(String::into_bytes),
            "xgboost" => xgboost::write(self).map(String::into_bytes),
            "ranklib" => ranklib::write(self).map(String::into_bytes),
            "onnx" => onnx::write(self),
            "rustrank" => Ok(self.to_text().into_bytes()),
            _ => Err(Error::param("model.library", "not a library that models are written for")
                .got(foreign(library.as_bytes()))
                .expected("lightgbm, xgboost, ranklib, onnx or rustrank")),
        }
    }

    /// Reads a file of [`from_any`](Self::from_any).
    pub fn load_any(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = read_model(path, |start| {
            // That of any JSON, too, binary or not.
            let is_known = start.starts_with(super::format::MAGIC.as_bytes())
                || lightgbm::is_text(start)
                || start.trim_ascii_start().starts_with(b"{");
            if is_known { Ok(()) } else { Err(no_model(start)) }
        })?;
        Self::from_any(&bytes).map_err(|error| error.path(path))
    }
}

/// The error of a file that is none of those that are read.
fn no_model(start: &[u8]) -> Error {
    let known = "LightGBM (text), XGBoost (JSON, UBJSON) or CatBoost (JSON)";
    Error::model("model.magic", "not a rustrank model")
        .got(foreign(&start[..start.len().min(30)]))
        .expected(format!("a file of rustrank, {known}"))
}

/// The value of a JSON text.
fn json(text: &[u8]) -> Result<serde_json::Value> {
    serde_json::from_slice(text).map_err(|error| {
        Error::model("model.syntax", format!("the JSON is broken: {error}"))
            .at(error.line() as u64, error.column() as u64)
    })
}

/// The error of a model that gives a document several scores.
fn one_score(code: &'static str) -> Error {
    Error::model(code, "a model with more than one score a doc cannot be read")
}

fn utf8(text: &[u8]) -> Result<&str> {
    std::str::from_utf8(text).map_err(|_| Error::model("model.syntax", "the text is not UTF-8"))
}
