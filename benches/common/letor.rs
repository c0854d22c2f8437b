//! LETOR text of three kinds, and the ways to read it.

use rustrank::data::letor::LetorOptions;
use rustrank::data::line_source::{LineOptions, LineSource, TextBlock};
use rustrank::data::packed::{CellGroup, LANES, PackedRows};
use rustrank::data::parallel_parse::parse_blocks;
use rustrank::data::scan::{CellFn, CellScanner};
use rustrank::simd::Level;
use rustrank::{Interrupt, random};
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;

/// Docs with the given features; `value` may leave one out.
pub(crate) fn text_of(
    rows: u64,
    features: u64,
    value: impl Fn(u64, u64, u64) -> Option<String>,
) -> Vec<u8> {
    let mut text = String::new();
    for row in 0..rows {
        write!(text, "{} qid:{}", random::below(random::draw(1, 0, row), 5), row / 120).unwrap();
        for feature in 1..=features {
            if let Some(value) = value(feature, row, random::draw(2, row, feature)) {
                write!(text, " {feature}:{value}").unwrap();
            }
        }
        text.push('\n');
    }
    text.into_bytes()
}

fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// As in MSLR-WEB, features come in groups of five, a group being one measure of the five parts of
/// a document: body, anchor, title, url and all. A part that a document lacks is 0 in all groups.
pub(crate) fn web(feature: u64, row: u64, bits: u64) -> String {
    let (group, part) = ((feature - 1) / 5, (feature - 1) % 5);
    let lacks = random::below(random::draw(3, row, part), 100) < [5, 65, 30, 45, 0][part as usize];
    match group % 9 {
        _ if lacks => "0".to_owned(),
        0 | 4 => random::below(bits, 4).to_string(),
        1 => random::below(bits, 30 << (3 * part % 7)).to_string(),
        2 | 7 => format!("{:.6}", unit(bits)),
        3 => format!("{:.1}", unit(bits) * 40.0),
        5 => format!("{:.6}", unit(bits) * 150.0),
        6 => random::below(bits, 2).to_string(),
        _ => format!("-{:.6}", unit(bits) * 20.0),
    }
}

pub(crate) fn scaled(bits: u64) -> String {
    if bits.is_multiple_of(3) { "0.000000".to_owned() } else { format!("{:.6}", unit(bits)) }
}

pub(crate) fn sparse(bits: u64) -> Option<String> {
    bits.is_multiple_of(3).then(|| format!("{:.2}", unit(bits)))
}

pub(crate) fn lines(text: &[u8]) -> usize {
    let letor = LetorOptions::default();
    let mut cells: Vec<(u32, f32)> = Vec::new();
    let mut count = 0;
    for (_, line) in TextBlock::new(text).lines() {
        cells.clear();
        letor.parse_line(line, |index, cell| cells.push((index, cell))).unwrap();
        count += black_box(&cells).len();
    }
    count
}

pub(crate) fn usual(level: Level, text: &[u8]) -> usize {
    let mut cells: Vec<(u32, f32)> = Vec::new();
    let mut count = 0;
    let mut scan = CellScanner::at(level);
    for (_, line) in TextBlock::new(text).lines() {
        cells.clear();
        let mut push = |index, cell| cells.push((index, cell));
        let line = line.bytes();
        let head = line.iter().position(|&byte| byte == b':').unwrap();
        let blank = head + line[head..].iter().position(|&byte| byte == b' ').unwrap();
        let (mut at, mut next) = (blank, 1);
        loop {
            (at, next) = scan.usual_cells(line, at, next..=1 << 20, &mut CellFn(&mut push));
            // A level may leave a cell to the long way, which is not measured here.
            let Some(blank) = line.iter().skip(at + 1).position(|&byte| byte == b' ') else {
                break;
            };
            at += 1 + blank;
        }
        count += black_box(&cells).len();
    }
    count
}

pub(crate) fn file(path: &Path) -> usize {
    let letor = LetorOptions::default();
    let mut source = LineSource::open(path, &LineOptions::default()).unwrap();
    let mut count = 0;
    let parse = |piece: &TextBlock<'_>| {
        let mut cells: Vec<(u32, f32)> = Vec::with_capacity(piece.text().len() / 6);
        let mut push = |index, cell| cells.push((index, cell));
        let outcome = piece.each(|_, line| letor.parse_line(line, &mut push).map(|_| ()));
        (cells, outcome)
    };
    let take = |cells: Vec<_>, _| {
        count += cells.len();
        Ok(())
    };
    parse_blocks(&mut source, &Interrupt::new(), parse, take).unwrap();
    count
}

/// Packs rows of counts, zeros and others, and reads them back.
pub(crate) fn packed(level: Level, rows: &[Vec<CellGroup>], to: &mut [f32]) -> usize {
    let mut packed = PackedRows::at(level, to.len(), 400 * rows.len());
    for row in rows {
        packed.push(row);
    }
    for row in 0..rows.len() {
        packed.read(row, 0..to.len(), black_box(to));
    }
    packed.memory()
}

/// Rows of counts, zeros and others, in the groups that `packed` takes.
pub(crate) fn packed_rows(rows: u64) -> Vec<Vec<CellGroup>> {
    let cell = |row: u64, feature: u64| match random::draw(3, row, feature) % 5 {
        0 | 1 => 0.0,
        2 => (random::draw(4, row, feature) % 100) as f32,
        _ => unit(random::draw(4, row, feature)) as f32,
    };
    let group = |row: u64, group: u64| std::array::from_fn(|i| cell(row, group + i as u64));
    (0..rows).map(|row| (0..136).step_by(LANES).map(|at| group(row, at)).collect()).collect()
}
