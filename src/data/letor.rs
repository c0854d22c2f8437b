//! Parses a line of LETOR (SVMlight) text: `label qid:Q index:value index:value ... # comment`.
//!
//! Blanks are spaces and tabs; a `#` ends the line. Indices rise. A *cell* is the `f32` nearest to a
//! value, as when an `f32` array was written as text; callers fill in the features that a line does not
//! mention (usually with 0); `nan` is a missing value.
//!
//! Cost: about a nanosecond a byte. Indices and values are read eight bytes at a time, without branches
//! that depend on their number of digits; longer or faulty tokens take a slow path, which finds out what
//! is wrong.

use super::arrays::Infinite;
use super::line_source::TextLine;
use super::number;
use super::scan::{CellFn, CellScanner, CellSink, is_blank};
use crate::binning::nearest;
use crate::error::{Error, Result, foreign};

/// Labels above this are refused: an `f32` no longer tells neighbours apart.
const MAX_LABEL: f64 = 16_777_216.0;

/// How LETOR text is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetorOptions {
    /// The most features; a larger index is an error.
    pub max_features: u32,
    /// Whether the first feature is 0, and not 1.
    pub zero_based: bool,
    /// How infinite feature values are treated.
    pub infinite: Infinite,
}

impl Default for LetorOptions {
    fn default() -> Self {
        Self { max_features: 1 << 20, zero_based: false, infinite: Infinite::Error }
    }
}

/// The label and the qid of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LetorHead<'a> {
    /// The label: finite, from 0 to 2^24.
    pub label: f32,
    /// The qid, not empty.
    pub qid: &'a str,
    /// The column of the qid's token, from 1.
    pub qid_column: u64,
}

impl LetorOptions {
    /// Parses a line and passes each feature index, as written, and its cell to `sink`.
    ///
    /// An error has line 1 and its column. The cells before it have been passed on.
    pub fn parse_line<'a>(
        &self,
        line: impl Into<TextLine<'a>>,
        sink: impl FnMut(u32, f32),
    ) -> Result<LetorHead<'a>> {
        self.parse_into(line.into(), &mut CellScanner::default(), &mut CellFn(sink))
    }

    /// [`parse_line`](Self::parse_line) for a sink that can take several cells at once.
    pub fn parse_into<'a>(
        &self,
        line: TextLine<'a>,
        scan: &mut CellScanner,
        sink: &mut impl CellSink,
    ) -> Result<LetorHead<'a>> {
        let parsed = head(line.bytes()).and_then(|(row, end)| {
            self.cells(line, end, scan, sink)?;
            Ok(row)
        });
        parsed.map_err(|error| or_not_utf8(line.bytes(), error))
    }

    /// Parses only the label and the qid.
    pub fn parse_head<'a>(&self, line: impl Into<TextLine<'a>>) -> Result<LetorHead<'a>> {
        let line = line.into().bytes();
        head(line).map(|(row, _)| row).map_err(|error| or_not_utf8(line, error))
    }

    /// The index of the first feature.
    pub(super) fn lowest(&self) -> u32 {
        u32::from(!self.zero_based)
    }

    /// The highest index; less than the largest `u32`, so that there is always a next one.
    fn highest(&self) -> u32 {
        self.max_features.saturating_sub(u32::from(self.zero_based)).min(u32::MAX - 1)
    }

    fn cells(
        &self,
        line: TextLine<'_>,
        mut at: usize,
        scan: &mut CellScanner,
        sink: &mut impl CellSink,
    ) -> Result<()> {
        let mut next = self.lowest();
        let (text, begin) = line.with_lead();
        let line = line.bytes();
        loop {
            let indices = next..=self.highest();
            (at, next) = scan.usual_cells(text, begin + at, indices, sink);
            at -= begin;
            let start = skip_blanks(line, at);
            let end = token_end(line, start);
            if start == end {
                return Ok(());
            }
            let (index, value) = self
                .cell(&line[start..end], next)
                .map_err(|error| error.columns_after(start as u64))?;
            sink.cell(index, value);
            (at, next) = (end, index + 1);
            if line.get(at) == Some(&b'#') {
                return Ok(());
            }
        }
    }

    /// The slow path: parses any token, or finds out what is wrong with it, in which column of it.
    #[cold]
    fn cell(&self, token: &[u8], next: u32) -> Result<(u32, f32)> {
        let Some(colon) = memchr::memchr(b':', token) else {
            return Err(Error::data("letor.token", "the token has no colon")
                .at(1, 1)
                .got(foreign(token))
                .expected("index:value"));
        };
        let (index, value) = (&token[..colon], &token[colon + 1..]);
        let index = self.index(index).map_err(|error| error.at(1, 1).got(foreign(index)))?;
        if index < next {
            let what = if index + 1 == next {
                format!("feature {index} occurs twice")
            } else {
                format!("feature {index} comes after feature {}", next - 1)
            };
            return Err(Error::data("letor.order", what).at(1, 1).expected("rising indices"));
        }
        let column = colon as u64 + 2;
        let read = self.value(value);
        let read = read.map_err(|e| e.feature(index).at(1, column).got(foreign(value)))?;
        Ok((index, read))
    }

    fn index(&self, text: &[u8]) -> Result<u32> {
        let (lowest, highest) = (self.lowest(), self.highest());
        let integer = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        let fault = |what| Error::data("letor.index", what);
        let expected = || format!("an integer from {lowest}");
        Err(match number::parse_all(text) {
            Some(x) if x > f64::from(highest) => {
                let max = self.max_features;
                fault("the feature index is above max_features")
                    .expected(format!("at most {highest}"))
                    .hint(format!("max_features is {max}: raise it if there are more features"))
            }
            Some(x) if integer && x >= f64::from(lowest) => return Ok(x as u32),
            Some(_) if integer => fault("the feature index is 0")
                .expected("indices from 1")
                .hint("set zero_based if the first feature is 0"),
            Some(x) if x < 0.0 => fault("the feature index is negative").expected(expected()),
            _ if matches!(text, b"qid" | b"cost" | b"sid") => {
                Error::data("letor.token", "the token is no feature")
                    .expected("label qid:Q index:value ...")
                    .hint("one qid a line, right after the label; weights do not go into the text")
            }
            _ => fault("the feature index is not an integer").expected(expected()),
        })
    }

    fn value(&self, text: &[u8]) -> Result<f32> {
        let Some(value) = number::parse_all(text) else {
            let error = Error::data("letor.value", "the feature value is not a number");
            return Err(error.expected("a number, or nan if it is missing"));
        };
        match self.infinite {
            Infinite::Error if value.is_infinite() => {
                Err(Error::data("letor.value", "the feature value is infinite")
                    .expected("a finite number, or nan if it is missing")
                    .hint("infinite values can be read as missing"))
            }
            Infinite::Missing if value.is_infinite() => Ok(f32::NAN),
            _ => Ok(nearest(value)),
        }
    }
}

fn head(line: &[u8]) -> Result<(LetorHead<'_>, usize)> {
    let start = skip_blanks(line, 0);
    let end = token_end(line, start);
    let label = label(&line[start..end]).map_err(|error| error.at(1, start as u64 + 1))?;
    let start = skip_blanks(line, end);
    let end = token_end(line, start);
    let (token, column) = (&line[start..end], start as u64 + 1);
    let Some(qid) = token.strip_prefix(b"qid:") else {
        let error = Error::data("letor.qid", "the line has no qid").at(1, column);
        let error = if token.is_empty() { error } else { error.got(foreign(token)) };
        return Err(error.expected("label qid:Q index:value ..."));
    };
    let Ok(qid) = std::str::from_utf8(qid) else {
        return Err(Error::data("letor.utf8", "the qid is not UTF-8").at(1, column));
    };
    if qid.is_empty() {
        return Err(Error::data("letor.qid", "the qid is empty").at(1, column));
    }
    Ok((LetorHead { label, qid, qid_column: column }, end))
}

fn label(token: &[u8]) -> Result<f32> {
    if let [digit @ b'0'..=b'9'] = token {
        return Ok(f32::from(digit - b'0'));
    }
    let what = match number::parse_all(token) {
        _ if token.is_empty() || token.contains(&b':') => "the label is missing",
        None => "the label is not a number",
        Some(label) if label.is_nan() => "the label is NaN",
        Some(label) if label.is_infinite() => "the label is infinite",
        Some(label) if label < 0.0 => "the label is negative",
        Some(label) if label > MAX_LABEL => "the label is too large",
        Some(label) => return Ok(label as f32 + 0.0),
    };
    let error = Error::data("letor.label", what);
    let error = if token.is_empty() { error } else { error.got(foreign(token)) };
    Err(error.expected("a number from 0 to 2^24"))
}

fn skip_blanks(line: &[u8], from: usize) -> usize {
    let blanks = line[from..].iter().take_while(|&&byte| is_blank(byte));
    from + blanks.count()
}

fn token_end(line: &[u8], from: usize) -> usize {
    let token = line[from..].iter().take_while(|&&byte| !is_blank(byte) && byte != b'#');
    from + token.count()
}

/// The error, or another one if the line is not UTF-8; comments may have any bytes.
#[cold]
fn or_not_utf8(line: &[u8], error: Error) -> Error {
    let end = memchr::memchr(b'#', line).unwrap_or(line.len());
    match std::str::from_utf8(&line[..end]) {
        Ok(_) => error,
        Err(fault) => Error::data("letor.utf8", "the line is not UTF-8")
            .at(1, fault.valid_up_to() as u64 + 1)
            .hint("is this a text file?"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fmt::Write as _;

    fn cells(options: &LetorOptions, line: &str) -> Result<Vec<(u32, f32)>> {
        let mut cells = Vec::new();
        options.parse_line(line.as_bytes(), |index, cell| cells.push((index, cell)))?;
        Ok(cells)
    }

    fn fault(line: &[u8]) -> (&'static str, u64, String) {
        let error = LetorOptions::default().parse_line(line, |_, _| {}).unwrap_err();
        let fault = error.fault().unwrap();
        (fault.code, fault.place.column.unwrap(), error.to_string())
    }

    #[test]
    fn a_line_gives_label_qid_and_cells() {
        let options = LetorOptions::default();
        let line = b"2\tqid:q-7  1:0.5 \t3:1e3 4:-0 700000:1234567890.5 900000:nan #docid = 5";
        let mut cells = Vec::new();
        let row = options.parse_line(line, |index, cell| cells.push((index, cell))).unwrap();
        assert_eq!(row, LetorHead { label: 2.0, qid: "q-7", qid_column: 3 });
        let (missing, numbers) = cells.split_last().unwrap();
        assert!(missing.0 == 900_000 && missing.1.is_nan());
        assert_eq!(numbers, [(1, 0.5), (3, 1000.0), (4, 0.0), (700_000, 1_234_567_900.0)]);
        assert!(numbers[2].1.is_sign_positive());
        assert_eq!(options.parse_head(line).unwrap(), row);
        assert_eq!(options.parse_line(b"0.5 qid:1#x", |_, _| {}).unwrap().label, 0.5);
    }

    #[test]
    fn a_comment_right_after_the_qid_holds_no_cells() {
        assert_eq!(cells(&LetorOptions::default(), "1 qid:1#5:3 6:4").unwrap(), []);
    }

    #[test]
    fn every_fault_has_a_code_and_a_column() {
        let cases: &[(&str, &str, u64, &str)] = &[
            ("qid:1 1:2", "letor.label", 1, "missing"),
            ("1:2 3:4", "letor.label", 1, "missing"),
            (" # x", "letor.label", 2, "missing"),
            ("x qid:1 1:2", "letor.label", 1, "not a number (line 1:1): got `x`"),
            ("nan qid:1 1:2", "letor.label", 1, "NaN"),
            ("inf qid:1 1:2", "letor.label", 1, "infinite"),
            (" -1 qid:1 1:2", "letor.label", 2, "negative"),
            ("1e30 qid:1 1:2", "letor.label", 1, "too large"),
            ("1", "letor.qid", 2, "no qid"),
            ("1 1:2", "letor.qid", 3, "no qid"),
            ("1 qid: 1:2", "letor.qid", 3, "empty"),
            ("1 qid:1 0:2", "letor.index", 9, "index is 0"),
            ("1 qid:1 -3:2", "letor.index", 9, "negative"),
            ("1 qid:1 1.5:2", "letor.index", 9, "not an integer"),
            ("1 qid:1 x:2", "letor.index", 9, "not an integer"),
            ("1 qid:1 :2", "letor.index", 9, "not an integer"),
            ("1 qid:1 1048577:2", "letor.index", 9, "max_features"),
            ("1 qid:1 4000000000:2", "letor.index", 9, "max_features"),
            ("1 qid:1 99999999999999999999:2", "letor.index", 9, "max_features"),
            ("1 qid:1 1e20:2", "letor.index", 9, "max_features"),
            ("1 qid:1 1:2 1:3", "letor.order", 13, "occurs twice"),
            ("1 qid:1 7:2 3:3", "letor.order", 13, "feature 3 comes after feature 7"),
            ("1 qid:1 1:abc", "letor.value", 11, "got `abc`"),
            ("1 qid:1 1:", "letor.value", 11, "not a number"),
            ("1 qid:1 1:1.2.3", "letor.value", 11, "got `1.2.3`"),
            ("1 qid:1 1:0x10", "letor.value", 11, "not a number"),
            ("1 qid:1 1:1_000 2:3 4:5", "letor.value", 11, "not a number"),
            ("1 qid:1 1:2 2:inf", "letor.value", 15, "infinite"),
            ("1 qid:1 1:2 2:1e999", "letor.value", 15, "infinite"),
            ("1 qid:1 1:2 word", "letor.token", 13, "got `word`"),
            ("1 qid:1 cost:2 1:2", "letor.token", 9, "got `cost`"),
            ("1 qid:1 qid:1 1:2", "letor.token", 9, "one qid a line"),
        ];
        for &(line, code, column, says) in cases {
            // With and without more text behind it: the short way and the long way.
            for more in ["", " 800000:1.5 900000:2.5 1000000:0.25"] {
                let line = if line == "1" { line.to_owned() } else { format!("{line}{more}") };
                let (got_code, got_column, text) = fault(line.as_bytes());
                assert_eq!((got_code, got_column), (code, column), "{line}: {text}");
                assert!(text.contains(says), "{line}: {text}");
            }
        }
    }

    #[test]
    fn what_is_not_text_is_said_to_be_so() {
        assert_eq!(fault(b"\xff\xfe1\0").0, "letor.utf8");
        assert_eq!(fault(b"1 qid:\xff 1:2").0, "letor.utf8");
        let (code, column, _) = fault(b"1 qid:1 1:2 2:\xc3\x28");
        assert_eq!((code, column), ("letor.utf8", 15));
        assert!(LetorOptions::default().parse_line(b"1 qid:1 1:2 # caf\xe9", |_, _| {}).is_ok());
    }

    #[test]
    fn options_move_the_limits() {
        let options = LetorOptions { max_features: 5, zero_based: true, ..LetorOptions::default() };
        assert_eq!(cells(&options, "1 qid:1 0:2 4:3").unwrap(), [(0, 2.0), (4, 3.0)]);
        let error = cells(&options, "1 qid:1 5:3").unwrap_err().to_string();
        assert!(error.contains("at most 4; max_features is 5"), "{error}");
        let options = LetorOptions { infinite: Infinite::Missing, ..LetorOptions::default() };
        assert!(cells(&options, "1 qid:1 1:-inf").unwrap()[0].1.is_nan());
    }

    proptest! {
        #[test]
        fn cells_read_back(values in prop::collection::vec((1u32..3000, any::<f64>()), 0..30)) {
            let mut line = String::from("1 qid:1");
            let (mut index, mut expected) = (0, Vec::new());
            for (step, value) in values {
                index += step;
                let text = if step % 2 == 0 { format!("{value}") } else { format!("{value:.3e}") };
                let value: f64 = text.parse().unwrap();
                if value.is_finite() {
                    write!(line, " {index}:{text}").unwrap();
                    expected.push((index, nearest(value)));
                }
            }
            prop_assert_eq!(cells(&LetorOptions::default(), &line).unwrap(), expected);
        }

        #[test]
        fn short_values_read_back(values in prop::collection::vec("[0-9]{1,5}(\\.[0-9]{0,5})?", 0..30)) {
            let mut line = String::from("1 qid:1");
            let mut expected = Vec::new();
            for (index, text) in (1..).zip(values) {
                write!(line, " {index}:{text}").unwrap();
                expected.push((index, nearest(text.parse().unwrap())));
            }
            prop_assert_eq!(cells(&LetorOptions::default(), &line).unwrap(), expected);
        }

        #[test]
        fn the_short_way_takes_what_the_long_way_takes(
            index in "0?[1-9][0-9]{0,8}", value in "[-+]?[0-9]{0,9}[.0-9e:\t\u{1}-]?[0-9]{0,9}", more in "( 9999999:1)?"
        ) {
            let options = LetorOptions { max_features: 10_000_000, ..LetorOptions::default() };
            let line = format!("1 qid:1 {index}:{value}{more}");
            let (value, rest) = value.split_once('\t').unwrap_or((&value, ""));
            let found = cells(&options, &line);
            match number::parse_all(value.as_bytes()) {
                Some(value)
                    if value.is_finite()
                        && rest.is_empty()
                        && index.parse::<u32>().unwrap() < 9_999_999 =>
                {
                    prop_assert_eq!(found.unwrap()[0].1.to_bits(), nearest(value).to_bits());
                }
                _ => prop_assert!(found.is_err(), "{}", line),
            }
        }

        #[test]
        fn random_bytes_never_panic(line in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = LetorOptions::default().parse_line(&line, |_, _| {});
        }

        #[test]
        fn random_tokens_never_panic(tail in "[ :0-9a-e.#+-]{0,60}") {
            let line = format!("1 qid:1 {tail}");
            let _ = LetorOptions::default().parse_line(line.as_bytes(), |_, _| {});
        }
    }
}
