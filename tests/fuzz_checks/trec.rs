//! TREC runs and qrels: the same result however they are cut and threaded, and that of a plain join.

use super::letor_text::from_bytes;
use super::{POOLS, is_plain_text, is_unsupported};
use rustrank::data::line_source::LineOptions;
use rustrank::data::trec::{JudgedRun, TrecOptions, join};
use rustrank::{Interrupt, Result};
use std::collections::{BTreeMap, HashMap};

/// What stands between the run and the qrels of an input.
const BETWEEN: &[u8] = b"\n=\n";

/// A run, a line that is `=`, and qrels.
pub(super) fn trec(input: &[u8]) -> bool {
    let at = input.windows(BETWEEN.len()).position(|w| w == BETWEEN);
    let (run, qrels) = at.map_or((input, &b""[..]), |at| (&input[..at], &input[at + 3..]));
    if is_unsupported(run) || is_unsupported(qrels) {
        return false;
    }
    let is_plain = is_plain_text(run) && is_plain_text(qrels);
    let mut was_joined = false;
    for all_queries in [false, true] {
        let options = TrecOptions { all_queries, single_precision: all_queries };
        let joined = |block_bytes: usize, pool: usize| {
            let lines = LineOptions { block_bytes, ..LineOptions::default() };
            let (mut run, mut qrels) = (from_bytes(run, &lines), from_bytes(qrels, &lines));
            POOLS[pool].install(|| join(&mut run, &mut qrels, &options, &Interrupt::new()))
        };
        let first = joined(LineOptions::default().block_bytes, 0);
        for (block_bytes, pool) in [(1, 0), (1, 1), (40, 1)] {
            assert!(
                told(&first) == told(&joined(block_bytes, pool)),
                "{block_bytes} bytes a block"
            );
        }
        if is_plain {
            let plain = plain_join(run, qrels, &options);
            assert_eq!(first.is_ok(), plain.is_some(), "{:?}", first.as_ref().err());
            if let (Ok(first), Some(plain)) = (&first, &plain) {
                assert!(told_of(first) == *plain, "{first:?} {plain:?}");
            }
        }
        was_joined |= first.is_ok();
    }
    was_joined
}

/// All of a result that can be compared.
fn told(joined: &Result<JudgedRun>) -> String {
    joined.as_ref().map_or_else(ToString::to_string, |joined| format!("{joined:?}"))
}

/// Queries, each with its documents' scores and labels, as bits.
type PlainRun = Vec<(String, Vec<(u64, u32)>)>;

fn told_of(run: &JudgedRun) -> PlainRun {
    let docs = |docs: std::ops::Range<usize>| {
        docs.map(|doc| (run.scores[doc].to_bits(), (run.labels[doc] + 0.0).to_bits())).collect()
    };
    run.ids.iter().map(ToString::to_string).zip(run.queries.ranges().map(docs)).collect()
}

/// The documents of a query by docno, with their scores or labels.
type PlainDocs = BTreeMap<Vec<u8>, f64>;

fn plain_join(run: &[u8], qrels: &[u8], options: &TrecOptions) -> Option<PlainRun> {
    let judged = plain_read(qrels, 4, |label| (label <= 16_777_216.0).then(|| label.max(0.0)))?;
    let retrieved = plain_read(run, 6, |score| (score < f64::INFINITY).then_some(score))?;
    let retrieved: HashMap<String, PlainDocs> = retrieved.into_iter().collect();
    let mut all = Vec::new();
    for (id, judged) in judged {
        let none = PlainDocs::new();
        let docs = retrieved.get(&id);
        if docs.is_none() && !options.all_queries {
            continue;
        }
        let docs = docs.unwrap_or(&none);
        let score =
            |&score: &f64| if options.single_precision { f64::from(score as f32) } else { score };
        let found = docs.iter().rev().map(|(docno, found)| {
            (
                score(found).to_bits(),
                (judged.get(docno).copied().unwrap_or(0.0) as f32 + 0.0).to_bits(),
            )
        });
        let missed = judged.iter().rev().filter(|(docno, _)| !docs.contains_key(*docno));
        let missed =
            missed.map(|(_, &label)| (f64::NEG_INFINITY.to_bits(), (label as f32 + 0.0).to_bits()));
        let both = found.chain(missed).collect();
        all.push((id, both));
    }
    (!all.is_empty()).then_some(all)
}

/// The queries of a file in order; `None` if a line is refused.
fn plain_read(
    text: &[u8],
    fields: usize,
    value: impl Fn(f64) -> Option<f64>,
) -> Option<Vec<(String, PlainDocs)>> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut all: Vec<(String, PlainDocs)> = Vec::new();
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    for line in text.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.iter().find(|byte| !is_blank(byte)).is_none_or(|&first| first == b'#') {
            continue;
        }
        let words: Vec<&[u8]> =
            line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        if words.len() != fields {
            return None;
        }
        let id = std::str::from_utf8(words[0]).ok()?;
        let number = words[if fields == 4 { 3 } else { 4 }];
        let number = value(std::str::from_utf8(number).ok()?.parse().ok()?)?;
        let at = all.iter().position(|(known, _)| known == id).unwrap_or_else(|| {
            all.push((id.to_owned(), PlainDocs::new()));
            all.len() - 1
        });
        if all[at].1.insert(words[2].to_vec(), number).is_some() {
            return None;
        }
    }
    (!all.is_empty()).then_some(all)
}
