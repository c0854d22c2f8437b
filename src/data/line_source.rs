//! Reads a text file in blocks of whole lines, in fixed memory.
//!
//! A [`BlockBuffer`] is the memory of a block; a [`TextBlock`] is its text, small enough to stay in the
//! cache of the thread that reads and parses it. Every line is counted, but [`TextBlock::lines`] skips
//! blank lines and comments. Lines are numbered from 1 in each block; the number of lines before a block
//! is known once all of them have been read, and
//! [`parse_blocks`](super::parallel_parse::parse_blocks) adds it.
//!
//! Plain and gzip text are distinguished by the first two bytes. An input that cannot be read twice (a
//! pipe) is kept in memory while it is read, so every source can be rewound.
//!
//! Invariants: a block begins at the start of a line; no line is longer than `max_line_bytes`; the whole
//! lines before a fault are returned before the fault is, so that the first fault of a file does not
//! depend on the size of a block. (A decoder of gzip may tell damage before it gives out the lines before
//! it: there either is told.) Memory: a block and the start of the next line, each no longer than a
//! block or the longest line.

use crate::error::{Error, Result, lock};
use flate2::bufread::MultiGzDecoder;
use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The first bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Compressed formats that cannot be read, and the first bytes of their files.
const UNSUPPORTED: [(&str, &[u8]); 6] = [
    ("bzip2", b"BZh"),
    ("zip", b"PK\x03\x04"),
    ("zstd", b"\x28\xb5\x2f\xfd"),
    ("xz", b"\xfd7zXZ\0"),
    ("7z", b"7z\xbc\xaf\x27\x1c"),
    ("lz4", b"\x04\x22\x4d\x18"),
];
/// The bytes after `BZh` and a digit: a query of a run could be called `BZh9`.
const BZIP2_BLOCK: &[u8] = b"1AY&SY";
/// The byte order mark that some editors write before UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";
/// The bytes of compressed text that are read at once.
const GZIP_BUFFER: usize = 64 << 10;

/// How text is divided into blocks. Only the longest line allowed affects what is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineOptions {
    /// The approximate size of a block.
    pub block_bytes: usize,
    /// The longest line, its line feed not counted.
    pub max_line_bytes: usize,
}

impl Default for LineOptions {
    fn default() -> Self {
        // Small enough that a block stays in the cache until it is parsed.
        Self { block_bytes: 256 << 10, max_line_bytes: 64 << 20 }
    }
}

/// A text that is read block by block, and can be rewound.
pub struct LineSource {
    path: PathBuf,
    options: LineOptions,
    raw: StoredBytes,
    is_gzip: bool,
    /// The text in `raw`.
    input: Box<dyn Read + Send>,
    /// The start of the next line, read after the last whole line.
    carry: Vec<u8>,
    /// The end of the input was reached.
    ended: bool,
    /// The error that stopped the reading, until it is reported.
    fault: Option<Error>,
    bytes: u64,
}

/// The memory of a block, reused for the next ones.
#[derive(Debug, Default)]
pub struct BlockBuffer {
    /// The text, followed by remains of earlier ones: clearing them would cost a tenth of the parsing.
    buffer: Vec<u8>,
    used: usize,
}

/// A block of whole lines.
#[derive(Debug)]
pub struct TextBlock<'a> {
    text: &'a [u8],
    /// The number of lines read so far, including those that are skipped.
    lines_read: Cell<u64>,
}

impl LineSource {
    /// Opens a file; an input that cannot be read twice is kept in memory while it is read.
    pub fn open(path: impl AsRef<Path>, options: &LineOptions) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        let metadata = file.metadata().map_err(|e| Error::io(path, e))?;
        if metadata.is_file() {
            return Self::new(path, file, options);
        }
        Self::new(path, KeptInput::new(Box::new(file)), options)
    }

    /// Reads from a reader, and keeps the input in memory; `name` is used in messages.
    pub fn from_reader(
        name: impl AsRef<Path>,
        reader: Box<dyn Read + Send>,
        options: &LineOptions,
    ) -> Result<Self> {
        Self::new(name.as_ref(), KeptInput::new(reader), options)
    }

    fn new(path: &Path, raw: impl Rewind + 'static, options: &LineOptions) -> Result<Self> {
        let raw = StoredBytes(Arc::new(Mutex::new(raw)));
        let is_gzip = raw.is_gzip(path)?;
        let max_line_bytes = options.max_line_bytes.max(1);
        let options = LineOptions {
            // A block longer than the limit could hide a line that is too long.
            block_bytes: options.block_bytes.clamp(1, max_line_bytes),
            max_line_bytes,
        };
        Ok(Self {
            path: path.to_owned(),
            options,
            input: raw.text(is_gzip),
            raw,
            is_gzip,
            carry: Vec::new(),
            ended: false,
            fault: None,
            bytes: 0,
        })
    }

    /// The file, as the caller named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of text returned since the start.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Goes back to the first line.
    pub fn rewind(&mut self) -> Result<()> {
        lock(&self.raw.0).rewind().map_err(|e| Error::io(&self.path, e))?;
        self.is_gzip = self.raw.is_gzip(&self.path)?;
        self.input = self.raw.text(self.is_gzip);
        self.carry.clear();
        (self.ended, self.fault, self.bytes) = (false, None, 0);
        Ok(())
    }

    /// Reads the next lines into `block`; `false` once there are none. A fault is on the first line that
    /// was not returned.
    pub fn next_block(&mut self, block: &mut BlockBuffer) -> Result<bool> {
        block.used = 0;
        block.append(&self.carry);
        self.carry.clear();
        let mut whole = self.fill(block);
        if self.fault.is_none() {
            self.carry.extend_from_slice(&block.buffer[whole..block.used]);
        }
        if self.bytes == 0 && block.buffer[..whole].starts_with(BOM) {
            block.buffer.copy_within(BOM.len()..whole, 0);
            whole -= BOM.len();
            self.bytes += BOM.len() as u64;
        }
        block.used = whole;
        self.bytes += whole as u64;
        match self.fault.take_if(|_| whole == 0) {
            Some(fault) => Err(fault),
            None => Ok(whole > 0),
        }
    }

    /// Reads until the block holds a whole line and about `block_bytes`; returns the length of its whole
    /// lines.
    fn fill(&mut self, block: &mut BlockBuffer) -> usize {
        let LineOptions { block_bytes, max_line_bytes, .. } = self.options;
        let mut searched = block.used;
        while !self.ended {
            let goal = if searched < block_bytes { block_bytes } else { searched + block_bytes };
            let goal = goal.min(max_line_bytes + 1);
            match block.read(&mut self.input, goal) {
                Ok(()) => self.ended = block.used < goal,
                Err(error) => self.stop(self.read_error(error)),
            }
            if self.ended && self.fault.is_none() {
                return block.used;
            }
            if let Some(at) = memchr::memrchr(b'\n', &block.buffer[searched..block.used]) {
                return searched + at + 1;
            }
            searched = block.used;
            if self.fault.is_none() && searched > max_line_bytes {
                let error = Error::data("text.line_long", "the line is too long")
                    .path(&self.path)
                    .at(1, 1)
                    .expected(format!("at most {max_line_bytes} bytes"))
                    .hint("is this a text file?");
                self.stop(error);
            }
        }
        if self.fault.is_some() { 0 } else { block.used }
    }

    fn stop(&mut self, fault: Error) {
        self.ended = true;
        self.fault = Some(fault);
    }

    fn read_error(&self, error: io::Error) -> Error {
        if error.raw_os_error().is_some() || !self.is_gzip {
            return Error::io(&self.path, error);
        }
        let cut_short = error.kind() == io::ErrorKind::UnexpectedEof;
        let how = if cut_short { "cut short" } else { "damaged" };
        Error::data("text.gzip", format!("the gzip file is {how}"))
            .path(&self.path)
            .hint("`gzip --test` checks a file; copy or download it again")
    }
}

impl BlockBuffer {
    /// The text.
    pub fn block(&self) -> TextBlock<'_> {
        TextBlock::new(&self.buffer[..self.used])
    }

    /// The memory held, in bytes.
    pub fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    fn append(&mut self, text: &[u8]) {
        self.grow(self.used + text.len());
        self.buffer[self.used..self.used + text.len()].copy_from_slice(text);
        self.used += text.len();
    }

    fn grow(&mut self, length: usize) {
        if self.buffer.len() < length {
            self.buffer.reserve_exact(length - self.buffer.len());
            self.buffer.resize(length, 0);
        }
    }

    /// Reads until `goal` bytes are used; fewer only at the end of the input.
    fn read(&mut self, input: &mut impl Read, goal: usize) -> io::Result<()> {
        self.grow(goal);
        while self.used < goal {
            match input.read(&mut self.buffer[self.used..goal]) {
                Ok(0) => break,
                Ok(n) => self.used += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A line without its line feed, with a few bytes of the text before it.
#[derive(Debug, Clone, Copy)]
pub struct TextLine<'a> {
    text: &'a [u8],
    start: usize,
}

impl<'a> TextLine<'a> {
    /// The bytes kept before a line, if there are as many.
    const LEAD: usize = 16;

    /// The line.
    pub fn bytes(self) -> &'a [u8] {
        &self.text[self.start..]
    }

    /// The line with the bytes kept before it, and where in these the line begins: kernels load vectors
    /// that end at a place, also for the first places of a line.
    pub(super) fn with_lead(self) -> (&'a [u8], usize) {
        (self.text, self.start)
    }
}

/// A line of its own.
impl<'a, B: AsRef<[u8]> + ?Sized> From<&'a B> for TextLine<'a> {
    fn from(line: &'a B) -> Self {
        Self { text: line.as_ref(), start: 0 }
    }
}

impl<'a> TextBlock<'a> {
    /// A block of lines, each with its line feed; only the last line of a file may lack it.
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, lines_read: Cell::new(0) }
    }

    /// The text of the lines.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// The number of lines read so far; of all lines, once [`lines`](Self::lines) has ended.
    pub fn lines_read(&self) -> u64 {
        self.lines_read.get()
    }

    /// The lines, numbered from 1, without blank lines and comments.
    pub fn lines(&self) -> impl Iterator<Item = (u64, TextLine<'a>)> {
        let text = self.text;
        let (mut start, mut number) = (0, 0);
        let next_line = move || {
            let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let from = start.saturating_sub(TextLine::LEAD);
            let text = &text[from..start + length];
            let text = if rest[..length].ends_with(b"\r") { &text[..text.len() - 1] } else { text };
            let line = TextLine { text, start: start - from };
            start += length + 1;
            number += 1;
            self.lines_read.set(number);
            Some((number, line))
        };
        let has_content = |line: TextLine<'_>| {
            let first = line.bytes().iter().find(|byte| !matches!(byte, b' ' | b'\t'));
            first.is_some_and(|&byte| byte != b'#')
        };
        std::iter::from_fn(next_line).filter(move |(_, line)| has_content(*line))
    }

    /// Parses lines up to the first fault, and sets the line of the fault.
    ///
    /// `parse` sets the column of a fault; the line that it sets is replaced.
    pub fn each(&self, mut parse: impl FnMut(u64, TextLine<'a>) -> Result<()>) -> Result<()> {
        for (number, line) in self.lines() {
            parse(number, line).map_err(|error| on_line(error, number))?;
        }
        Ok(())
    }
}

/// The error with its line replaced and its column kept.
pub(crate) fn on_line(error: Error, line: u64) -> Error {
    let column = error.fault().and_then(|fault| fault.place.column).unwrap_or(1);
    error.at(line, column)
}

/// The error with `before` added to its line, if it has one.
pub(super) fn after_lines(error: Error, before: u64) -> Error {
    match error.fault().and_then(|fault| fault.place.line) {
        Some(line) => on_line(error, before + line),
        None => error,
    }
}

/// An input that can be read again from its start.
trait Rewind: Read + Send {
    fn rewind(&mut self) -> io::Result<()>;
}

impl Rewind for File {
    fn rewind(&mut self) -> io::Result<()> {
        Seek::rewind(self)
    }
}

/// An input that cannot be read twice: the bytes read so far, and the reader of the rest.
struct KeptInput {
    bytes: Vec<u8>,
    at: usize,
    rest: Box<dyn Read + Send>,
}

impl KeptInput {
    fn new(rest: Box<dyn Read + Send>) -> Self {
        Self { bytes: Vec::new(), at: 0, rest }
    }
}

impl Rewind for KeptInput {
    fn rewind(&mut self) -> io::Result<()> {
        self.at = 0;
        Ok(())
    }
}

impl Read for KeptInput {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut n = (&self.bytes[self.at..]).read(into)?;
        if n == 0 {
            n = self.rest.read(into)?;
            self.bytes.extend_from_slice(&into[..n]);
            if n == 0 {
                // A terminal would ask for its end of file a second time.
                self.rest = Box::new(io::empty());
            }
        }
        self.at += n;
        Ok(n)
    }
}

/// The bytes as they are stored. Clones share their place, so that a decoder can read from one.
#[derive(Clone)]
struct StoredBytes(Arc<Mutex<dyn Rewind>>);

impl Read for StoredBytes {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        lock(&self.0).read(into)
    }
}

impl StoredBytes {
    /// Whether they are gzip text: known by the first bytes, which will be read again. Other compressed
    /// formats are an error.
    fn is_gzip(&self, path: &Path) -> Result<bool> {
        const LONGEST: u64 = 10;
        let mut magic = Vec::new();
        let read = self.clone().take(LONGEST).read_to_end(&mut magic);
        read.and_then(|_| lock(&self.0).rewind()).map_err(|e| Error::io(path, e))?;
        if let Some(format) = unsupported_format(&magic) {
            return Err(Error::data("text.format", format!("this is a {format} file"))
                .path(path)
                .expected("text, plain or gzip")
                .hint("unpack it first"));
        }
        Ok(magic.starts_with(&GZIP))
    }

    fn text(&self, is_gzip: bool) -> Box<dyn Read + Send> {
        if is_gzip {
            let reader = BufReader::with_capacity(GZIP_BUFFER, self.clone());
            return Box::new(MultiGzDecoder::new(reader));
        }
        Box::new(self.clone())
    }
}

/// The unsupported format whose files begin with these bytes.
fn unsupported_format(first: &[u8]) -> Option<&'static str> {
    let (name, _) = UNSUPPORTED.iter().find(|(_, magic)| first.starts_with(magic))?;
    (*name != "bzip2" || first.get(4..) == Some(BZIP2_BLOCK)).then_some(name)
}

impl fmt::Debug for LineSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineSource").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &'static [u8], block_bytes: usize) -> LineSource {
        let options = LineOptions { block_bytes, max_line_bytes: 40 };
        LineSource::from_reader("text", Box::new(text), &options).unwrap()
    }

    fn all_lines(source: &mut LineSource) -> Vec<(u64, String)> {
        let mut block = BlockBuffer::default();
        let (mut lines, mut before) = (Vec::new(), 0);
        while source.next_block(&mut block).unwrap() {
            let text = |line: TextLine<'_>| String::from_utf8_lossy(line.bytes()).into_owned();
            let whole = block.block();
            lines.extend(whole.lines().map(|(number, line)| (before + number, text(line))));
            before += whole.lines_read();
        }
        lines
    }

    #[test]
    fn blank_and_comment_lines_count_but_do_not_show() {
        let text = b"\xef\xbb\xbfone\r\n\n# no\n \t\n  # no\ntwo\nthree # yes\nlast";
        for block_bytes in [1, 2, 3, 5, 8, 13, 1000] {
            let mut source = source(text, block_bytes);
            let lines = all_lines(&mut source);
            let expected = [(1, "one"), (6, "two"), (7, "three # yes"), (8, "last")];
            assert_eq!(lines, expected.map(|(n, line)| (n, line.to_owned())), "{block_bytes}");
            assert_eq!(source.bytes(), text.len() as u64);
            source.rewind().unwrap();
            assert_eq!(all_lines(&mut source), lines);
        }
    }

    #[test]
    fn a_line_of_the_longest_length_passes_and_one_byte_more_does_not() {
        const LINE: &[u8; 41] = &[b'x'; 41];
        for block_bytes in [1, 7, 40, 1000] {
            let fits = [b"a\n", &LINE[..40], b"\n", &LINE[..40]].concat().leak();
            assert_eq!(all_lines(&mut source(fits, block_bytes)).len(), 3);
            let long = [b"a\n", &LINE[..], b"\nb\n"].concat().leak();
            let mut source = source(long, block_bytes);
            let mut block = BlockBuffer::default();
            assert!(source.next_block(&mut block).unwrap());
            assert_eq!(block.block().text(), b"a\n");
            let error = source.next_block(&mut block).unwrap_err();
            assert_eq!(error.fault().unwrap().code, "text.line_long");
            assert!(error.to_string().contains("(text:1:1)"), "{error}");
        }
    }

    #[test]
    fn other_packed_formats_are_named() {
        let begin = |text: &'static [u8]| {
            LineSource::from_reader("a.txt", Box::new(text), &LineOptions::default())
        };
        for (name, first) in [
            ("bzip2", &b"BZh91AY&SY\0\0"[..]),
            ("zip", b"PK\x03\x04\x14\0"),
            ("zstd", b"\x28\xb5\x2f\xfd\x04"),
            ("xz", b"\xfd7zXZ\0\0\x04"),
        ] {
            let error = begin(first).unwrap_err();
            assert_eq!(error.fault().unwrap().code, "text.format");
            let text = error.to_string();
            let said = format!("this is a {name} file (a.txt): expected text, plain or gzip");
            assert!(text.starts_with(&said), "{text}");
        }
        for text in [&b"BZh9 Q0 doc 1 1 tag\n"[..], b"PK\n", b"7"] {
            assert_eq!(all_lines(&mut begin(text).unwrap()).len(), 1);
        }
    }

    #[test]
    fn nothing_has_no_lines() {
        for text in [&b""[..], b"\xef\xbb\xbf", b"\n\n", b"#"] {
            assert!(all_lines(&mut source(text, 8)).is_empty());
        }
    }
}
