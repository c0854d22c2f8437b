//! The text of a model: its grammar and version.
//!
//! Lines end with a line feed; words stand one space apart. A text is whole or refused: its length
//! and its checksum are looked at before its structure, and its structure before a [`Model`]
//! exists. A count is believed only as far as the bytes that are left could hold what it counts.
//!
//! ```text
//! file        = "rustrank model 1" LF
//!               "bytes" u64 LF                       ; from the next line to the end of the file
//!               model
//!               "checksum xxh3" 16 hex digits LF     ; of all bytes before this line
//! model       = "features" u32 [ SP "ranks" ] LF     ; the second half: ranks within queries
//!               "names" count LF { name LF }         ; 0, or one a feature
//!               "attributes" count LF { word [ SP rest ] LF }
//!               "intercept" float LF
//!               "components" count LF { component }
//! component   = "component" weight normalise LF ( forest | linear | classes | mlp | inner | stack )
//! normalise   = "as-is" | "fixed" mean scale | "logistic" | "query" | "query_range" | "query_top"
//! forest      = "forest" ( "f32" | "f64" ) count LF  ; what a value becomes; how many trees
//!               "zeros" count { feature } LF         ; features in which 0 is missing, rising
//!               "sets" count LF { "set" feature count { category } LF }
//!               { tree }
//! tree        = "tree" count LF                      ; of splits; one leaf more
//!               { feature threshold missing left right reduction cover docs LF }
//!               { value cover docs LF }
//! missing     = "l" | "r"                            ; where a missing value goes
//! left, right = ( "s" | "l" ) u32                    ; a split, further down, or a leaf
//! linear      = "linear" count LF { feature weight LF }
//! classes     = "classes" ( "softmax" | "ordinal" ) count LF   ; 2 to 256 classes, labels rising
//!               { label gain LF }
//!               "starts" count { float } LF        ; of margins: one a class; ordinal: one less
//!               { forest }                         ; one a start: f32, no zeros, no sets, and
//!                                                  ; as many trees as the others
//! mlp         = "mlp" limit count LF { feature ( "x" | "log" ) mean scale LF }
//!               "layers" count LF { layer }          ; of one unit the last
//! layer       = "layer" count LF { bias { weight } LF } ; a line a unit, a weight each value before
//! inner       = "model" LF model                     ; at most eight deep, the outermost counted
//! stack       = "stack" ( "own" | "alone" ) LF       ; whether the last model sees the row's values
//!               "rankers" count LF { "ranker" normalise LF model }   ; 1 at least
//!               "derived" count LF { ranker statistic LF }           ; 1 at least
//!               model                                ; of those values, if so, then the derived
//! statistic   = "score" | "max" | "mean" | "top" count ; one word, such as top3: 1 at least
//! ```
//!
//! A float is the shortest decimal that reads back to the same bits, and finite; those of an mlp are
//! single. In a name, in a
//! word and in a rest, `\\`, `\n`, `\r` and `\s` stand for a backslash, a line feed, a carriage
//! return and a space (in a rest, a space may stand for itself).
//!
//! Every version that was ever released is read by every later build; `tests/golden` keeps a file
//! of each.
//!
//! [`Model`]: super::Model

use std::borrow::Cow;

/// The version that is written, and the last that is read.
pub const VERSION: u32 = 1;
/// What every file starts with; the version follows.
pub const MAGIC: &str = "rustrank model ";

/// The last line.
pub(super) fn checksum_line(before: &[u8]) -> String {
    format!("checksum xxh3 {:016x}\n", xxhash_rust::xxh3::xxh3_64(before))
}

/// A text without line ends, and without spaces if it must be one `word`.
pub(super) fn escape(text: &str, word: bool) -> Cow<'_, str> {
    let special = |c: char| matches!(c, '\\' | '\n' | '\r') || (word && c == ' ');
    if !text.contains(special) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            ' ' if word => escaped.push_str("\\s"),
            _ => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// What was escaped; `None` if it cannot have been.
pub(super) fn unescape(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\\' => match chars.next()? {
                '\\' => '\\',
                'n' => '\n',
                'r' => '\r',
                's' => ' ',
                _ => return None,
            },
            c => c,
        });
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_one_line_and_comes_back() {
        for text in ["", "plain", "two words", "a\\nb", "\\", "end\n", "\r\n \\s", "snö 本"] {
            for word in [false, true] {
                let escaped = escape(text, word);
                assert!(!escaped.contains(['\n', '\r']));
                assert!(!word || !escaped.contains(' '));
                assert_eq!(unescape(&escaped).as_deref(), Some(text));
            }
        }
        assert_eq!(unescape("\\x"), None);
        assert_eq!(unescape("\\"), None);
    }
}
