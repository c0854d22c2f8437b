//! LETOR text: the same however it is cut, threaded and vectorised, that of a plain parser, and faults in their place.

use super::letor_text::{content, from_bytes};
use super::{POOLS, is_plain_text, is_unsupported};
use rustrank::data::inspect::inspect;
use rustrank::data::labels::{read_labels, read_scores};
use rustrank::data::letor::LetorOptions;
use rustrank::data::line_source::{LineOptions, TextBlock};
use rustrank::data::load::load_from;
use rustrank::data::scan::{CellFn, CellScanner};
use rustrank::data::{Infinite, LoadOptions, Loaded};
use rustrank::simd::Level;
use rustrank::{Error, ErrorKind, Interrupt};
use std::fmt::Debug;

/// The most features of a data set: its memory is that of all of them.
const MOST_FEATURES: u32 = 300;

/// A file of LETOR text, plain or gzip.
pub(super) fn letor(text: &[u8]) -> bool {
    let others = LetorOptions { max_features: 40, zero_based: true, infinite: Infinite::Missing };
    if is_unsupported(text) {
        return false;
    }
    let is_plain = is_plain_text(text);
    for options in [LetorOptions::default(), others] {
        if is_plain {
            check_lines(text, &options);
        }
        check_cuts(text, &options);
    }
    check_readers(text);
    check_dataset(text)
}

fn cut(block_bytes: usize) -> LineOptions {
    LineOptions { block_bytes, ..LineOptions::default() }
}

/// What a reader says of the text on one thread, which it must say of smaller blocks and on more threads. What it says
/// of damage in a gzip file may be another fault.
fn same_however_cut<T: Debug + Send>(
    text: &[u8],
    read: impl Fn(&LineOptions) -> Result<T, String> + Sync,
) {
    let is_plain = is_plain_text(text);
    let shown = |block_bytes, pool: usize| {
        let read = POOLS[pool].install(|| read(&cut(block_bytes)));
        if read.is_ok() || is_plain { format!("{read:?}") } else { "refused".to_owned() }
    };
    let first = shown(256 << 10, 0);
    let block_bytes = if text.len().is_multiple_of(2) { 1 } else { 17 };
    let again = shown(block_bytes, 1);
    assert!(first == again, "blocks of {block_bytes} bytes: {first} {again}");
}

fn check_cuts(text: &[u8], options: &LetorOptions) {
    same_however_cut(text, |lines| {
        content(&mut from_bytes(text, lines), options).map_err(|error| error.to_string())
    });
    same_however_cut(text, |lines| {
        let mut source = from_bytes(text, lines);
        inspect(&mut source, options, &Interrupt::new()).map_err(|error| error.to_string())
    });
    if let Err(error) = content(&mut from_bytes(text, &cut(64)), options) {
        check_place(text, &error);
    }
}

/// A fault of a line names a line and a column that there are.
fn check_place(text: &[u8], error: &Error) {
    let ErrorKind::Data(fault) = error.kind() else { panic!("{error}") };
    if !fault.code.starts_with("letor.") {
        return;
    }
    let line = fault.place.line.unwrap_or_else(|| panic!("{error} has no line"));
    if !is_plain_text(text) {
        return;
    }
    let of_number = |line: u64| text.split(|&byte| byte == b'\n').nth(line as usize - 1);
    let line = of_number(line).unwrap_or_else(|| panic!("{error}: there is no such line"));
    let column = fault.place.column.unwrap_or_else(|| panic!("{error} has no column"));
    // A byte order mark is no part of the first line.
    assert!((1..=line.len() as u64 + 1).contains(&column), "{error}");
}

fn check_readers(text: &[u8]) {
    let never = Interrupt::new();
    same_however_cut(text, |lines| {
        let read = read_labels(&mut from_bytes(text, lines), &never);
        read.map(|read| (read.labels, read.ids)).map_err(|error| error.to_string())
    });
    same_however_cut(text, |lines| {
        let read = read_scores(&mut from_bytes(text, lines), &never);
        read.map_err(|error| error.to_string())
    });
}

/// The data set is the same whether its cells fit into the buffer or the text is read twice.
fn check_dataset(text: &[u8]) -> bool {
    let letor = LetorOptions { max_features: MOST_FEATURES, ..LetorOptions::default() };
    let mut is_loaded = Vec::new();
    for buffer_bytes in [1 << 30, 1] {
        let load = |lines: &LineOptions| {
            let (letor, lines) = (letor.clone(), lines.clone());
            let source = from_bytes(text, &lines);
            let options = LoadOptions { letor, lines, buffer_bytes, ..LoadOptions::default() };
            let loaded = load_from(vec![source], None, &options, &Interrupt::new());
            let facts = |loaded: Loaded| (loaded.dataset.fingerprint(), loaded.query_ids);
            loaded.map(facts).map_err(|error| error.to_string())
        };
        same_however_cut(text, load);
        is_loaded.push(load(&cut(64)).ok());
    }
    assert!(is_loaded[0] == is_loaded[1], "{is_loaded:?}");
    is_loaded[0].is_some()
}

/// Every line is parsed at every level as a plain parser does.
fn check_lines(text: &[u8], options: &LetorOptions) {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    for (number, line) in TextBlock::new(text).lines() {
        let plain = plain_line(line.bytes(), options);
        for level in Level::available() {
            let mut cells = Vec::new();
            let mut sink = CellFn(|index, cell: f32| cells.push((index, cell.to_bits())));
            let row = options.parse_into(line, &mut CellScanner::at(level), &mut sink);
            let found = row.map(|row| (row.label.to_bits(), row.qid.to_owned()));
            let found = found.map(|(label, qid)| PlainLine { label, qid, cells });
            match (found, &plain) {
                (Ok(found), Some(plain)) => assert_eq!(found, *plain, "line {number}, {level:?}"),
                (found, plain) => {
                    assert_eq!(
                        found.is_ok(),
                        plain.is_some(),
                        "line {number}, {level:?}: {found:?}"
                    );
                }
            }
        }
    }
}

/// What a line says, floats as their bits.
#[derive(Debug, PartialEq)]
struct PlainLine {
    label: u32,
    qid: String,
    cells: Vec<(u32, u32)>,
}

/// The line by the grammar, with the standard library's parser of numbers.
fn plain_line(line: &[u8], options: &LetorOptions) -> Option<PlainLine> {
    let line = line.split(|&byte| byte == b'#').next()?;
    let mut tokens =
        line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|token| !token.is_empty());
    let number = |token: &[u8]| std::str::from_utf8(token).ok()?.parse::<f64>().ok();
    let label = number(tokens.next()?).filter(|label| (0.0..=16_777_216.0).contains(label))?;
    let qid = tokens.next()?.strip_prefix(b"qid:").filter(|qid| !qid.is_empty())?;
    let qid = std::str::from_utf8(qid).ok()?.to_owned();
    let mut cells: Vec<(u32, u32)> = Vec::new();
    let first = u64::from(!options.zero_based);
    for token in tokens {
        let colon = token.iter().position(|&byte| byte == b':')?;
        let (index, value) = (&token[..colon], number(&token[colon + 1..])?);
        if index.is_empty() || !index.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let digits = std::str::from_utf8(index).ok()?.trim_start_matches('0');
        let index: u64 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
        let next = cells.last().map_or(first, |&(last, _)| u64::from(last) + 1);
        if index < next || index >= first + u64::from(options.max_features) {
            return None;
        }
        let cell = match value {
            value if value.is_finite() => {
                value.clamp(-f64::from(f32::MAX), f64::from(f32::MAX)) as f32 + 0.0
            }
            value if value.is_infinite() && options.infinite == Infinite::Error => return None,
            _ => f32::NAN,
        };
        cells.push((index as u32, cell.to_bits()));
    }
    Some(PlainLine { label: (label as f32 + 0.0).to_bits(), qid, cells })
}
