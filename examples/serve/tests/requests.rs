//! The body of any request is refused or read as it stands.

#![expect(clippy::unwrap_used, reason = "a test")]

mod request_check;
#[path = "../src/requests.rs"]
mod requests;

use request_check::serve_requests;
use requests::json_rows;
use std::fs;
use std::path::Path;

#[test]
fn bodies_of_requests_are_refused_or_read_as_they_stand() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/serve_requests");
    let mut accepted = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let input = fs::read(entry.unwrap().path()).unwrap();
        accepted += usize::from(serve_requests(&input));
        for at in 0..input.len() {
            let mut changed = input.clone();
            for bit in 0..8 {
                changed[at] = input[at] ^ (1 << bit);
                serve_requests(&changed);
            }
            serve_requests(&input[..at]);
            changed.remove(at);
            serve_requests(&changed);
        }
    }
    assert!(accepted > 0);
}

#[test]
fn numbers_are_read_to_the_last_bit() {
    let body = br#"{"rows": [[90.64528436893369]]}"#;
    assert_eq!(json_rows(body, 1).unwrap().0, [90.645_284_368_933_69]);
}
