//! The text of a model: its grammar and version.
//!
//! Lines end with a line feed; one space separates words. Reading checks the length and the checksum first,
//! then the structure, and only then makes a [`Model`]. A count larger than the number of bytes left is an error,
//! so that a broken file cannot make the reader allocate much.
//!
//! ```text
//! file        = "rustrank model 1" LF
//!               "bytes" u64 LF                       ; from the next line to the end of the file
//!               model
//!               "checksum xxh3" 16 hex digits LF     ; of all bytes before this line
//! model       = "features" u32 [ SP "ranks" ] LF     ; up to 2^24; the second half: ranks within queries
//!               "names" count LF { name LF }         ; 0, or one a feature
//!               "attributes" count LF { word [ SP rest ] LF }
//!               "intercept" float LF
//!               "components" count LF { component }
//! component   = "component" weight normalise LF part
//! part        = classes | forest | inner | ...        ; a kind each: its file in `parts/` has its grammar
//! normalise   = "as-is" | "fixed" mean scale | "logistic" | "query" | "query_range" | "query_top"
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

use crate::error::{Error, Result};

/// The most features of a model that is read, in any format: what is made of a model, such as the importance of
/// each feature, takes some bytes a feature, whatever the size of its file.
pub const MOST_FEATURES: u32 = 1 << 24;
/// The version that is written, and the last that is read.
pub const VERSION: u32 = 1;
/// What every file starts with; the version follows.
pub const MAGIC: &str = "rustrank model ";

/// An error if a model has more features than are read.
pub(super) fn check_num_features(count: u64) -> Result<()> {
    if count <= u64::from(MOST_FEATURES) {
        return Ok(());
    }
    Err(Error::model("model.features", format!("the model has {count} features"))
        .expected(format!("at most {MOST_FEATURES}"))
        .hint("train on the features that its splits look at"))
}

/// The last line.
pub(super) fn checksum_line(before: &[u8]) -> String {
    format!("checksum xxh3 {:016x}\n", xxhash_rust::xxh3::xxh3_64(before))
}

/// A text without line ends, and without spaces if it must be one `word`.
pub(super) fn escape(text: &str, word: bool) -> String {
    let escaped = text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
    if word { escaped.replace(' ', "\\s") } else { escaped }
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
