//! Random changes of an input: of bytes, of runs of bytes, and of words.

use super::models::Random;

/// Text as it stands in files, and where numbers end.
const WORDS: &[&str] = &[
    "0",
    "-1",
    "1",
    "255",
    "256",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "-2147483648",
    "9223372036854775807",
    "18446744073709551616",
    "1e999",
    "-1e999",
    "NaN",
    "nan",
    "inf",
    "1e-320",
    "0.5",
    "null",
    "true",
    "\"\"",
    "[]",
    "{}",
    "[",
    "]",
    "{",
    "}",
    "s0",
    "l0",
    "\n",
    " ",
    ",",
    ":",
    "#",
    "qid:1",
    "-0",
    "1e-45",
    "16777216",
    "3.4028235e38",
    "\r\n",
    "\t",
];

/// Changes a file a little; some of it may come from `other`.
pub(crate) fn change(random: &mut Random, file: &mut Vec<u8>, other: &[u8]) {
    let at = random.below(file.len() + 1);
    let most = 1 << random.below(8);
    let length = 1 + random.below(most);
    let end = (at + length).min(file.len());
    match random.below(8) {
        0 if at < file.len() => file[at] ^= 1 << random.below(8),
        1 if at < file.len() => file[at] = random.below(256) as u8,
        2 => drop(file.drain(at..end)),
        3 => {
            let again = file[at..end].to_vec();
            file.splice(at..at, again);
        }
        4 => {
            let from = random.below(other.len() + 1);
            let some = other[from..(from + length).min(other.len())].to_vec();
            file.splice(at..end, some);
        }
        5 => file.truncate(at),
        _ => {
            // A number, or what stands there, becomes another word.
            let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
            let from = file[..at].iter().rposition(|b| !is_word(b)).map_or(0, |before| before + 1);
            let to = file[at..].iter().position(|b| !is_word(b)).map_or(file.len(), |l| at + l);
            let word = WORDS[random.below(WORDS.len())];
            file.splice(from..to, word.bytes());
        }
    }
}
