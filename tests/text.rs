//! Reading text: the same result however it is cut, stored or threaded, and faults in their place.

#![expect(clippy::unwrap_used, reason = "a test")]

mod letor_text;

use flate2::{Compression, write::GzEncoder};
use letor_text::{Content, from_bytes};
use proptest::prelude::*;
use rustrank::data::inspect::inspect;
use rustrank::data::labels::{read_labels, read_scores};
use rustrank::data::letor::LetorOptions;
use rustrank::data::line_source::{BlockBuffer, LineOptions, LineSource};
use rustrank::{Error, ErrorKind, Interrupt, Result, random};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

/// A file in the build's folder for temporary files.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("text-{name}"));
    fs::write(&path, bytes).unwrap();
    path
}

fn open(path: &Path) -> LineSource {
    LineSource::open(path, &LineOptions::default()).unwrap()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(1));
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn cut(block_bytes: usize) -> LineOptions {
    LineOptions { block_bytes, ..LineOptions::default() }
}

fn content(source: &mut LineSource) -> Result<Content> {
    letor_text::content(source, &LetorOptions::default())
}

fn with_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
}

fn code(error: &Error) -> &'static str {
    error.fault().unwrap().code
}

/// Docs of 7 features with values of all shapes, five docs a query.
fn sample(rows: u64) -> String {
    let mut text = String::from("# a comment\r\n");
    for row in 0..rows {
        write!(text, "{} qid:q{}", row % 3, row / 5).unwrap();
        for feature in 1..=7 {
            let bits = random::draw(3, row, feature);
            let value = (bits >> 20) as f64 / 1e9 - 2000.0;
            match bits % 6 {
                0 => write!(text, " {feature}:{}", bits % 100),
                1 => write!(text, " {feature}:{value:.6}"),
                2 => write!(text, "  {feature}:{value:e}"),
                3 => write!(text, "\t{feature}:nan"),
                4 => write!(text, " {feature}:{value}"),
                _ => Ok(()),
            }
            .unwrap();
        }
        text.push_str(["\n", " # docno = a:1\n", "\r\n", "\n\n"][row as usize % 4]);
    }
    text
}

#[test]
fn cutting_compression_and_threads_change_nothing() {
    let text = sample(500);
    let expected = content(&mut from_bytes(text.as_bytes(), &LineOptions::default())).unwrap();
    assert_eq!((expected.labels.len(), expected.sizes.len()), (500, 100));
    let plain = file("plain.txt", text.as_bytes());
    let zipped = file("zipped.gz", &gzip(text.as_bytes()));
    let (head, tail) = text.as_bytes().split_at(text.len() / 3);
    let members = file("members.gz", &[gzip(head), gzip(b""), gzip(tail)].concat());
    for options in [cut(10), cut(1), cut(300), LineOptions::default()] {
        for threads in [1, 4] {
            for path in [&plain, &zipped, &members] {
                let mut source = LineSource::open(path, &options).unwrap();
                let found = with_threads(threads, || content(&mut source)).unwrap();
                assert_eq!(found, expected, "{options:?} {}", path.display());
                source.rewind().unwrap();
                assert_eq!(content(&mut source).unwrap(), expected);
            }
            let mut piped = from_bytes(&gzip(text.as_bytes()), &options);
            assert_eq!(content(&mut piped).unwrap(), expected);
            piped.rewind().unwrap();
            assert_eq!(content(&mut piped).unwrap(), expected);
        }
    }
}

#[test]
fn the_first_bad_line_is_reported_however_the_text_is_cut() {
    let good = "1 qid:1 1:2 2:3\n".repeat(40);
    let returns = format!("{good}1 qid:2 1:1\n1 qid:1 1:1\n{good}1 qid:1 0:1\n");
    let parse = format!("{good}\n#\n1 qid:1 2:1 1:1\n{good}x\n1 qid:9 1:1\n1 qid:1 1:1\n");
    let long = format!("{good}1 qid:1 1:x\n{}", "y".repeat(300));
    for (text, says) in [
        (returns, "its docs had ended on line 40 (text:42:3)"),
        (parse, "feature 1 comes after feature 2 (text:43:13)"),
        (long, "the feature value is not a number (text:41:11, feature 1): got `x`"),
    ] {
        for block_bytes in [1, 17, 200, 1 << 20] {
            for threads in [1, 4] {
                let options = LineOptions { max_line_bytes: 200, ..cut(block_bytes) };
                let mut source = from_bytes(text.as_bytes(), &options);
                let error = with_threads(threads, || content(&mut source)).unwrap_err();
                assert!(error.to_string().contains(says), "{block_bytes}: {error}");
            }
        }
    }
}

#[test]
fn a_gzip_file_that_is_cut_short_or_damaged_is_refused() {
    let whole = gzip(sample(300).as_bytes());
    assert!(content(&mut from_bytes(&whole, &LineOptions::default())).is_ok());
    for length in (2..whole.len()).step_by(97).chain([whole.len() - 1]) {
        let mut source = from_bytes(&whole[..length], &LineOptions::default());
        let error = content(&mut source).unwrap_err();
        assert_eq!(code(&error), "text.gzip", "{length}: {error}");
        assert!(error.to_string().contains("(text)"), "{error}");
    }
    let mut damaged = whole.clone();
    let at = damaged.len() - 6;
    damaged[at] ^= 1;
    let error = content(&mut from_bytes(&damaged, &LineOptions::default())).unwrap_err();
    assert!(error.to_string().starts_with("the gzip file is damaged (text)"), "{error}");
}

/// So many bytes, all alike, and how many were asked for.
struct Same(u64);

impl Read for Same {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = into.len().min(usize::try_from(self.0).unwrap_or(usize::MAX));
        into[..n].fill(b'0');
        self.0 -= n as u64;
        Ok(n)
    }
}

#[test]
fn a_line_without_end_is_refused_in_bounded_memory() {
    const LONGEST: usize = 4 << 20;
    let options = LineOptions { max_line_bytes: LONGEST, ..cut(1 << 20) };
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
    io::copy(&mut Same(200 << 20), &mut encoder).unwrap();
    let bomb = file("bomb.gz", &encoder.finish().unwrap());
    let piped = LineSource::from_reader("bomb", Box::new(Same(1 << 40)), &options).unwrap();
    for mut source in [LineSource::open(&bomb, &options).unwrap(), piped] {
        let mut block = BlockBuffer::default();
        let error = source.next_block(&mut block).unwrap_err();
        assert_eq!(code(&error), "text.line_long");
        let place = &error.fault().unwrap().place;
        assert_eq!((place.line, place.column), (Some(1), Some(1)));
        assert!(block.capacity() <= LONGEST + 1024, "{}", block.capacity());
    }
}

#[test]
fn garbage_is_refused_on_its_first_line() {
    let garbage: Vec<u8> = (0..100_000).map(|i| random::draw(9, 0, i) as u8).collect();
    let error = content(&mut from_bytes(&garbage, &LineOptions::default())).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Data(_)), "{error}");
    assert_eq!(error.fault().unwrap().place.line, Some(1));
    let utf16: Vec<u8> = "1 qid:1 1:1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let error = content(&mut from_bytes(&[&b"\xff\xfe"[..], &utf16].concat(), &cut(64)));
    assert_eq!(code(&error.unwrap_err()), "letor.utf8");
}

#[test]
fn what_the_system_refuses_keeps_its_path_and_errno() {
    let errno = |path: &Path| {
        let error = LineSource::open(path, &LineOptions::default()).unwrap_err();
        match error.kind() {
            ErrorKind::Io { path: named, source } => {
                assert_eq!(named, path);
                source.kind()
            }
            _ => unreachable!("{error}"),
        }
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    assert_eq!(errno(&folder.join("no-such-file")), io::ErrorKind::NotFound);
    if cfg!(unix) {
        assert_eq!(errno(folder), io::ErrorKind::IsADirectory);
    }
}

#[test]
fn an_interrupt_ends_the_reading() {
    let interrupt = Interrupt::new();
    interrupt.raise();
    let mut source = from_bytes(sample(10).as_bytes(), &LineOptions::default());
    let error = read_labels(&mut source, &interrupt).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Interrupted));
}

#[test]
fn no_rows_are_an_error_that_names_the_file() {
    let path = file("empty.txt", b"# nothing\n\n");
    let error = read_labels(&mut open(&path), &Interrupt::new()).unwrap_err();
    assert_eq!(code(&error), "data.empty");
    assert_eq!(error.fault().unwrap().place.path.as_deref(), Some(&*path));
    assert!(read_scores(&mut open(&path), &Interrupt::new()).unwrap().is_empty());
}

#[test]
fn a_summary_does_not_depend_on_cutting_and_threads() {
    let text = sample(300).replace(" 3:", " 3:x") + "1 qid:q2 1:1\n";
    let summary = |options: &LineOptions, threads| {
        let mut source = from_bytes(text.as_bytes(), options);
        let letor = LetorOptions::default();
        with_threads(threads, || inspect(&mut source, &letor, &Interrupt::new())).unwrap()
    };
    let expected = summary(&LineOptions::default(), 1);
    assert!(expected.bad_lines > 20 && expected.findings.len() == 20);
    for options in [cut(10), cut(300), LineOptions::default()] {
        for threads in [1, 4] {
            assert_eq!(summary(&options, threads), expected);
        }
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn real_data_are_read_whole() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/MQ2008");
    if !folder.exists() {
        eprintln!("skipped: {} is not there", folder.display());
        return;
    }
    let (mut rows, mut queries) = (0, 0);
    for part in 1..=5 {
        let path = folder.join(format!("part{part}.txt.gz"));
        let summary =
            inspect(&mut open(&path), &LetorOptions::default(), &Interrupt::new()).unwrap();
        assert_eq!((summary.features.len(), summary.bad_lines), (46, 0));
        let judged = read_labels(&mut open(&path), &Interrupt::new()).unwrap();
        assert_eq!(judged.labels.len() as u64, summary.rows);
        assert_eq!(judged.queries.len() as u64, summary.queries);
        rows += summary.rows;
        queries += summary.queries;
    }
    assert_eq!((rows, queries), (15_211, 784));
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut source = from_bytes(&bytes, &cut(4));
        let _ = content(&mut source);
        source.rewind().unwrap();
        let _ = inspect(&mut source, &LetorOptions::default(), &Interrupt::new());
        let _ = content(&mut from_bytes(&[&[0x1f, 0x8b][..], &bytes].concat(), &cut(4)));
    }

    #[test]
    fn files_read_back(
        docs in prop::collection::vec((0u8..5, prop::collection::vec((1u32..400, any::<f32>()), 0..20)), 1..30),
        block_bytes in 1usize..300,
    ) {
        let (mut text, mut expected) = (String::new(), Content::default());
        for (label, cells) in docs {
            write!(text, "{label} qid:1").unwrap();
            let mut index = 0;
            for (step, cell) in cells {
                index += step;
                if cell.is_finite() {
                    write!(text, " {index}:{}", f64::from(cell)).unwrap();
                    expected.cells.push((index, (cell + 0.0).to_bits()));
                }
            }
            text.push('\n');
            expected.labels.push(f32::from(label));
        }
        expected.sizes.push(expected.labels.len());
        expected.ids.push("1".into());
        let found = content(&mut from_bytes(text.as_bytes(), &cut(block_bytes))).unwrap();
        prop_assert_eq!(found, expected);
    }
}
