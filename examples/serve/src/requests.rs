//! The rows that a request holds, and the scores that its answer holds: as JSON or as bytes.

use std::collections::BTreeMap;

/// The rows of a JSON body, one after the other, and how many there are; `null` is a missing value.
pub fn json_rows(body: &[u8], width: usize) -> Result<(Vec<f64>, usize), String> {
    let body: Result<BTreeMap<String, Vec<Vec<Option<f64>>>>, _> = serde_json::from_slice(body);
    let rows = body.map_err(|error| error.to_string())?.remove("rows");
    let rows = rows.ok_or("`rows` is missing")?;
    if let Some(row) = rows.iter().position(|row| row.len() != width) {
        let got = rows[row].len();
        return Err(format!("row {row} has {got} values: expected {width}"));
    }
    let count = rows.len();
    let value = |value: Option<f64>| value.unwrap_or(f64::NAN);
    Ok((rows.into_iter().flatten().map(value).collect(), count))
}

/// The rows of a body of little-endian `f32`, and how many there are.
pub fn binary_rows(body: &[u8], width: usize) -> Result<(Vec<f32>, usize), String> {
    let (values, rest) = body.as_chunks::<4>();
    let width = width.max(1);
    if !rest.is_empty() || !values.len().is_multiple_of(width) {
        return Err(format!("rows have {width} values of 4 bytes"));
    }
    let values: Vec<f32> = values.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let count = values.len() / width;
    Ok((values, count))
}

/// Scores as JSON, which has no infinities.
pub fn json_scores(scores: &[f64]) -> Result<String, String> {
    if let Some(row) = scores.iter().position(|score| !score.is_finite()) {
        let score = scores[row];
        return Err(format!(
            "the score of row {row} is {score}, which JSON cannot hold: ask as application/octet-stream"
        ));
    }
    Ok(serde_json::json!({ "scores": scores }).to_string())
}
