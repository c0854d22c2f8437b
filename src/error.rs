//! The crate's only error type.
//!
//! A message says what is wrong, where, what was found, what was expected and, where there is one,
//! what to do: `label[3] is NaN (query 0): expected a finite number >= 0`. Code never parses
//! messages: [`Error::kind`] and the public fields of [`Fault`] carry the same facts.

use std::fmt;
use std::path::{Path, PathBuf};
#[cfg(feature = "train")]
use std::sync::{Mutex, MutexGuard, PoisonError};

use ErrorKind::{
    Comm, CommTimeout, Data, Internal, Interrupted, Io, ModelFormat, ModelVersion, Param,
    ParamKind, Resource, UnknownName,
};

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, in a box so that a `Result` stays one word wide.
#[derive(Debug)]
#[must_use]
pub struct Error(Box<ErrorKind>);

/// The kinds of failure; each is one exception class in Python.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The caller's data cannot be used as they are.
    Data(Fault),
    /// A parameter is unknown or out of range.
    Param(Fault),
    /// A parameter is of a kind that it cannot be, such as text for a number.
    ParamKind(Fault),
    /// A name that is not among those there are.
    UnknownName(Fault),
    /// A model, or a file of one, cannot be used.
    ModelFormat(Fault),
    /// A model file is of a format that this build does not read.
    ModelVersion(Fault),
    /// A table would not fit into memory.
    Resource(Fault),
    /// Another worker has failed, or is out of step.
    Comm(Fault),
    /// Another worker did not respond in time.
    CommTimeout(Fault),
    /// The operating system refused to read or write a file.
    Io {
        /// The file, as the caller named it.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The caller asked, through [`Interrupt`](crate::Interrupt), for the work to end.
    Interrupted,
    /// A bug in rustrank.
    Internal(String),
}

/// The facts of an error about input.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Fault {
    /// A stable name for programs, such as `label.nan`.
    pub code: &'static str,
    /// What is wrong.
    pub what: String,
    /// Where it is.
    pub place: Place,
    /// What was found there.
    pub got: Option<String>,
    /// What would have been accepted.
    pub expected: Option<String>,
    /// What the caller can do about it.
    pub hint: Option<String>,
}

/// Where in the caller's data a fault is. All parts are optional. Counts start at 0, but lines and
/// columns of text start at 1.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: Option<PathBuf>,
    /// The line of the file, from 1.
    pub line: Option<u64>,
    /// The byte in the line, from 1.
    pub column: Option<u64>,
    /// The row of the caller's array.
    pub row: Option<usize>,
    /// The name of that array; the message then begins with the element, as in `label[3]`.
    pub array: Option<String>,
    /// The number of the query.
    pub query: Option<usize>,
    /// The feature, by its name where it has one and else by its number.
    pub feature: Option<String>,
}

impl Error {
    /// The data cannot be used.
    pub fn data(code: &'static str, what: impl Into<String>) -> Self {
        Self::of(ErrorKind::Data, code, what)
    }

    /// A parameter is unknown or out of range.
    pub fn param(code: &'static str, what: impl Into<String>) -> Self {
        Self::of(ErrorKind::Param, code, what)
    }

    /// A parameter is of the wrong kind.
    pub fn param_kind(code: &'static str, what: impl Into<String>) -> Self {
        Self::of(ErrorKind::ParamKind, code, what)
    }

    /// There is nothing of that name.
    pub fn unknown_name(code: &'static str, what: impl Into<String>) -> Self {
        Self::of(ErrorKind::UnknownName, code, what)
    }

    /// The model, or its file, cannot be used.
    pub fn model(code: &'static str, what: impl Into<String>) -> Self {
        Self::of(ErrorKind::ModelFormat, code, what)
    }

    /// The model file is of a format that this build does not read.
    pub fn model_version(what: impl Into<String>) -> Self {
        Self::of(ErrorKind::ModelVersion, "model.version", what)
    }

    /// A table of `bytes` for `what` would not fit.
    pub fn resource(what: &str, bytes: u64) -> Self {
        let what = format!("{what} needs {} MiB of memory", bytes.div_ceil(1 << 20));
        Self::of(ErrorKind::Resource, "memory", what)
    }

    /// The process is at the limit of its memory.
    #[cfg(feature = "train")]
    pub(crate) fn out_of_memory() -> Self {
        Self::of(ErrorKind::Resource, "memory", "this process is at the limit of its memory")
            .hint("use less data at a time or fewer threads, or raise the limit")
    }

    /// The system does not let this process have so many threads.
    pub fn threads(wanted: usize, why: &dyn fmt::Display) -> Self {
        let what = format!("{wanted} threads could not be started ({why})");
        Self::of(ErrorKind::Resource, "threads", what).hint(
            "pass a smaller num_threads, or raise the limit of processes (ulimit -u) or of memory",
        )
    }

    /// The workers cannot go on.
    pub fn comm(code: &'static str, what: impl Into<String>) -> Self {
        Self::of(ErrorKind::Comm, code, what)
    }

    /// Another worker did not respond in time.
    pub fn comm_timeout(what: impl Into<String>) -> Self {
        Self::of(ErrorKind::CommTimeout, "comm.timeout", what)
    }

    fn of(kind: fn(Fault) -> ErrorKind, code: &'static str, what: impl Into<String>) -> Self {
        Self(Box::new(kind(Fault { code, what: what.into(), ..Fault::default() })))
    }

    /// The system refused a file operation.
    pub fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self(Box::new(ErrorKind::Io { path: path.as_ref().to_owned(), source }))
    }

    /// The caller interrupted the work.
    pub fn interrupted() -> Self {
        Self(Box::new(ErrorKind::Interrupted))
    }

    /// A bug in rustrank.
    pub fn internal(what: impl Into<String>) -> Self {
        Self(Box::new(ErrorKind::Internal(what.into())))
    }

    /// What kind of failure this is, with its facts.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// The facts of an error about input; `None` for a failure of the system, an interrupt or a
    /// bug.
    pub fn fault(&self) -> Option<&Fault> {
        match &*self.0 {
            Data(f) | Param(f) | ParamKind(f) | UnknownName(f) | ModelFormat(f)
            | ModelVersion(f) | Resource(f) | Comm(f) | CommTimeout(f) => Some(f),
            Io { .. } | Interrupted | Internal(_) => None,
        }
    }

    /// Adds the row.
    pub fn row(self, row: usize) -> Self {
        self.with(|f| f.place.row = Some(row))
    }

    /// Adds the row, and the array that has the faulty value there: what is wrong follows
    /// `array[row]` in the message.
    pub fn element(self, array: impl Into<String>, row: usize) -> Self {
        self.with(|f| (f.place.array, f.place.row) = (Some(array.into()), Some(row)))
    }

    /// Counts the row from the start of all batches: `rows` came in the batches before.
    #[cfg(feature = "train")]
    pub(crate) fn rows_after(self, rows: usize) -> Self {
        self.with(|f| f.place.row = f.place.row.map(|row| row + rows))
    }

    /// Counts the column from the start of the line: so many are before the text it counts from.
    #[cfg(feature = "train")]
    pub(crate) fn columns_after(self, columns: u64) -> Self {
        self.with(|f| f.place.column = f.place.column.map(|column| column + columns))
    }

    /// Adds the query.
    pub fn query(self, query: usize) -> Self {
        self.with(|f| f.place.query = Some(query))
    }

    /// Replaces the row and the query by the caller's: `rows[row]` and `queries[query]`. A number
    /// that is beyond its list stays.
    #[cfg(feature = "train")]
    pub(crate) fn with_caller_rows(self, rows: &[u32], queries: &[u32]) -> Self {
        let translate = |at: &mut Option<usize>, list: &[u32]| {
            let own = at.and_then(|at| list.get(at)).map(|&own| own as usize);
            *at = own.or(*at);
        };
        self.with(|f| {
            translate(&mut f.place.row, rows);
            translate(&mut f.place.query, queries);
        })
    }

    /// Adds the feature.
    pub fn feature(self, feature: impl fmt::Display) -> Self {
        self.with(|f| f.place.feature = Some(without_control(&feature.to_string())))
    }

    /// Adds the place in a text; `line` and `column` count from 1.
    pub fn at(self, line: u64, column: u64) -> Self {
        self.with(|f| (f.place.line, f.place.column) = (Some(line), Some(column)))
    }

    /// Adds the file.
    pub fn path(self, path: impl AsRef<Path>) -> Self {
        self.with(|f| f.place.path = Some(path.as_ref().to_owned()))
    }

    /// Adds what was found.
    pub fn got(self, got: impl fmt::Display) -> Self {
        self.with(|f| f.got = Some(short_number(got.to_string())))
    }

    /// Adds what would have been accepted.
    pub fn expected(self, expected: impl fmt::Display) -> Self {
        self.with(|f| f.expected = Some(expected.to_string()))
    }

    /// Adds what the caller can do.
    pub fn hint(self, hint: impl fmt::Display) -> Self {
        self.with(|f| f.hint = Some(hint.to_string()))
    }

    fn with(mut self, change: impl FnOnce(&mut Fault)) -> Self {
        match &mut *self.0 {
            Data(f) | Param(f) | ParamKind(f) | UnknownName(f) | ModelFormat(f)
            | ModelVersion(f) | Resource(f) | Comm(f) | CommTimeout(f) => change(f),
            Io { .. } | Interrupted | Internal(_) => {}
        }
        self
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            ErrorKind::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Io { path, source } => write!(f, "{}: {source}", path.display()),
            Interrupted => f.write_str("interrupted"),
            Internal(what) => write!(f, "a bug in rustrank, please report it: {what}"),
            _ => self.fault().map_or(Ok(()), |fault| fault.fmt(f)),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(array), Some(row)) = (&self.place.array, self.place.row) {
            write!(f, "{array}[{row}] ")?;
        }
        f.write_str(&self.what)?;
        let place = self.place.in_brackets();
        if !place.is_empty() {
            write!(f, " ({place})")?;
        }
        let got = self.got.iter().map(|got| format!("got {got}"));
        let expected = self.expected.iter().map(|expected| format!("expected {expected}"));
        let facts: Vec<String> = got.chain(expected).collect();
        if !facts.is_empty() {
            write!(f, ": {}", facts.join(", "))?;
        }
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl Place {
    /// The parts that follow what is wrong: `file:line:column, row 3, query 0, feature 7`. The row
    /// is left out where the message begins with it.
    fn in_brackets(&self) -> String {
        let path = self.path.as_ref().map(|path| path.display().to_string());
        let line = self.line.map(|line| match &path {
            Some(path) => format!("{path}:{line}"),
            None => format!("line {line}"),
        });
        let text = match (line, self.column) {
            (Some(line), Some(column)) => Some(format!("{line}:{column}")),
            (line, _) => line.or(path),
        };
        let mut parts = Vec::from_iter(text);
        let row = self.row.filter(|_| self.array.is_none());
        parts.extend(row.map(|row| format!("row {row}")));
        parts.extend(self.query.map(|query| format!("query {query}")));
        parts.extend(self.feature.as_ref().map(|x| format!("feature {x}")));
        parts.join(", ")
    }
}

/// Returns an error unless `bytes` can be allocated at once, for work that makes many allocations.
///
/// A failed allocation would abort the process; this checks first. It does not know what other
/// threads will allocate meanwhile.
#[cfg(any(feature = "interop", feature = "train"))]
pub(crate) fn room_for(what: &str, bytes: u64) -> Result<()> {
    let fits = usize::try_from(bytes).is_ok_and(|n| Vec::<u8>::new().try_reserve_exact(n).is_ok());
    if fits { Ok(()) } else { Err(Error::resource(what, bytes)) }
}

/// Refuses a list that has not one value for each of the `what`.
#[cfg(feature = "train")]
pub(crate) fn check_length(name: &str, got: usize, expected: usize, what: &str) -> Result<()> {
    if got == expected {
        return Ok(());
    }
    Err(Error::data("length", format!("{name} has the wrong length"))
        .got(got)
        .expected(format!("{expected}, the number of {what}")))
}

/// Refuses scores of a model beyond the largest number there is.
#[cfg(feature = "train")]
pub(crate) fn check_finite(scores: &[f64]) -> Result<()> {
    let Some(score) = scores.iter().find(|score| !score.is_finite()) else { return Ok(()) };
    Err(Error::model("score.infinite", "the model's scores are not finite")
        .got(score)
        .expected("leaf values and weights with a finite sum"))
}

/// Refuses another number of features than the expected one, with the message `what`.
#[cfg(feature = "train")]
pub(crate) fn check_features(what: &str, got: usize, expected: usize) -> Result<()> {
    if got == expected {
        Ok(())
    } else {
        Err(Error::data("features", what).got(got).expected(expected))
    }
}

/// Locks a value whose state is valid after a panic of another thread, too: poisoning is ignored.
#[cfg(feature = "train")]
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A text as it is, or with an exponent if it is a number of many digits.
fn short_number(text: String) -> String {
    const LONGEST: usize = 40;
    if text.len() <= LONGEST {
        return text;
    }
    text.parse::<f64>().map_or(text, |number| format!("{number:?}"))
}

/// A name without characters that a terminal obeys: they are escaped.
fn without_control(name: &str) -> String {
    let shown = |c: char| {
        let escaped = c.is_control().then(|| c.escape_debug());
        let plain = escaped.is_none().then_some(c);
        escaped.into_iter().flatten().chain(plain)
    };
    name.chars().flat_map(shown).collect()
}

/// Text from outside made safe to print: control characters are escaped, and it is cut after 60
/// characters.
pub(crate) fn foreign(text: &[u8]) -> String {
    const LONGEST: usize = 60;
    let head = &text[..text.len().min(4 * LONGEST)];
    let text = String::from_utf8_lossy(head);
    let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().count() > LONGEST {
        shown.push('…');
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_where_got_expected_hint() {
        let error = Error::data("label.nan", "is NaN").element("label", 3).query(0);
        assert_eq!(error.to_string(), "label[3] is NaN (query 0)");
        let error = error.with_caller_rows(&[0, 0, 0, 40], &[7]);
        assert_eq!(error.to_string(), "label[40] is NaN (query 7)");
        let error = Error::data("letor.value", "feature value is not a number")
            .path("a.txt")
            .at(7, 12)
            .got(foreign(b"abc\x1b"))
            .expected("a number")
            .hint("remove it");
        assert_eq!(
            error.to_string(),
            "feature value is not a number (a.txt:7:12): got `abc\\u{1b}`, expected a number; remove it"
        );
    }

    #[test]
    fn long_numbers_have_exponents() {
        let text = Error::param("l2", "l2 is out of range").got(-1e300).to_string();
        assert_eq!(text, "l2 is out of range: got -1e300");
        let text = Error::param("l2", "l2 is out of range").got(u64::MAX).to_string();
        assert_eq!(text, "l2 is out of range: got 18446744073709551615");
    }

    #[test]
    fn names_of_features_do_not_control_terminals() {
        let text = Error::data("x", "is wrong").feature("snö\x1b[2J").to_string();
        assert_eq!(text, "is wrong (feature snö\\u{1b}[2J)");
    }

    #[test]
    fn foreign_text_is_cut() {
        assert!(foreign(&vec![b'x'; 100_000]).chars().count() < 70);
    }
}
