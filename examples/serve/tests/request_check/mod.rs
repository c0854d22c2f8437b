//! What holds for the body of any request; `make fuzz` runs it under libFuzzer, too.

use super::requests::{binary_rows, json_rows, json_scores};
use serde_json::Value;

/// The first byte is the number of features, the rest a body. Whether it holds rows.
pub fn serve_requests(input: &[u8]) -> bool {
    let Some((&width, body)) = input.split_first() else { return false };
    let width = usize::from(width % 8);
    if let Ok((values, count)) = binary_rows(body, width) {
        assert_eq!(values.len(), count * width.max(1));
        let same =
            values.iter().zip(body.chunks(4)).all(|(value, bytes)| value.to_le_bytes() == *bytes);
        assert!(same, "a value is that of its bytes");
    }
    let Ok((values, count)) = json_rows(body, width) else { return false };
    assert_eq!(values.len(), count * width);
    let text = std::str::from_utf8(body).unwrap_or_else(|error| panic!("JSON is text: {error}"));
    let body: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}"));
    let plain = body["rows"].as_array().into_iter().flatten().flat_map(|row| row.as_array());
    let plain: Vec<Option<f64>> = plain.flatten().map(Value::as_f64).collect();
    let found: Vec<Option<f64>> =
        values.iter().map(|value| Some(*value).filter(|x| !x.is_nan())).collect();
    assert_eq!(found, plain, "the values of the rows, one after the other");
    check_answer(&values);
    true
}

/// Scores come back as they were.
fn check_answer(scores: &[f64]) {
    let Ok(answer) = json_scores(scores) else {
        assert!(scores.iter().any(|score| !score.is_finite()));
        return;
    };
    let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}"));
    let back: Option<Vec<f64>> =
        answer["scores"].as_array().map(|all| all.iter().filter_map(Value::as_f64).collect());
    assert_eq!(back.as_deref(), Some(scores), "scores come back as they were");
}
