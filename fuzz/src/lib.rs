//! The checks of all targets, by name. They live in the tests of the library and of the scoring service, which run them
//! on the inputs in `corpus`, too.

#[path = "../../tests/fuzz_checks/mod.rs"]
mod fuzz_checks;
#[path = "../../examples/serve/tests/request_check/mod.rs"]
mod request_check;
#[allow(dead_code)]
#[path = "../../examples/serve/src/requests.rs"]
mod requests;

use fuzz_checks::{CHECKS, Random};

/// Runs the check of that name, which panics if it fails.
///
/// # Panics
/// If it fails, or there is none.
pub fn check(name: &str, input: &[u8]) {
    if name == "serve_requests" {
        request_check::serve_requests(input);
        return;
    }
    let found = CHECKS.iter().find(|(known, _)| *known == name);
    found.expect("a check of that name").1(input);
}

/// A changed input of text, for libFuzzer: often its own change, else one of words. Gives its new length.
pub fn change(input: &mut [u8], length: usize, seed: u32) -> usize {
    if seed % 4 != 0 {
        return libfuzzer_sys::fuzzer_mutate(input, length, input.len());
    }
    let mut random = Random::new(seed.into());
    let mut changed = input[..length].to_vec();
    let other = changed.clone();
    fuzz_checks::change(&mut random, &mut changed, &other);
    let length = changed.len().min(input.len());
    input[..length].copy_from_slice(&changed[..length]);
    length
}

/// The target of a check; with `text`, words of its inputs are changed, too.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        libfuzzer_sys::fuzz_target!(|input: &[u8]| $crate::check($name, input));
    };
    ($name:literal, text) => {
        $crate::target!($name);
        libfuzzer_sys::fuzz_mutator!(|input: &mut [u8], length: usize, most: usize, seed: u32| {
            $crate::change(&mut input[..most], length, seed)
        });
    };
}
