//! TREC files: a *run* lists the documents that a system retrieved, *qrels* their relevance judgements.
//!
//! A line of a run is `qid Q0 docno rank score tag`, one of qrels `qid iter docno label`, separated by
//! blanks; the second field and the rank are ignored. Lines may come in any order.
//!
//! [`join`] puts the documents of a query into an order in which ties fall as in `trec_eval`, if ties are
//! broken by row order: retrieved documents by descending docno (as bytes), then the others, with score
//! minus infinity. Documents without a judgement or with a negative label have label 0. Queries without
//! judgements are left out, and so are those for which nothing was retrieved, unless `all_queries` is
//! set. Cost: a sort of each query's documents; memory: the docnos of both files.

use super::labels;
use super::line_source::{LineSource, TextLine};
use super::number;
use super::parallel_parse::parse_lines;
use crate::error::{Error, Result, foreign};
use crate::interrupt::Interrupt;
use crate::queries::Queries;
use std::collections::HashMap;

/// How a run and its qrels are joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrecOptions {
    /// Queries for which nothing was retrieved count, as with `trec_eval -c`.
    pub all_queries: bool,
    /// Scores are rounded to single precision, as `trec_eval` does: some that differ then tie.
    pub single_precision: bool,
}

/// A run joined with its judgements.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedRun {
    /// The score of each document; minus infinity if it was not retrieved.
    pub scores: Vec<f64>,
    /// The label of each document.
    pub labels: Vec<f32>,
    /// The documents of each query, in the order of the qrels.
    pub queries: Queries,
    /// The id of each query.
    pub ids: Vec<Box<str>>,
    /// Queries of the run without judgements, which are left out.
    pub queries_not_judged: usize,
    /// Queries of the qrels for which nothing was retrieved, whether they count or not.
    pub queries_not_retrieved: usize,
}

/// The fields of a line of a file. The first is the qid, the third the docno.
struct TrecFormat {
    fields: &'static [&'static str],
    /// The place of the score or label among the fields.
    value: usize,
}

const QID: usize = 0;
const DOCNO: usize = 2;
const QRELS: TrecFormat = TrecFormat { fields: &["qid", "iteration", "docno", "label"], value: 3 };
const RUN: TrecFormat =
    TrecFormat { fields: &["qid", "Q0", "docno", "rank", "score", "tag"], value: 4 };

/// A line: a document of a query and its score or label.
struct TrecDoc {
    docno: Box<[u8]>,
    value: f64,
    line: u64,
    column: u64,
}

/// The documents of each query, in the order in which queries first occur.
#[derive(Default)]
struct DocsByQuery {
    ids: Vec<Box<str>>,
    docs: Vec<Vec<TrecDoc>>,
    numbers: HashMap<Box<str>, usize>,
}

/// Joins a run and qrels.
pub fn join(
    run: &mut LineSource,
    qrels: &mut LineSource,
    options: &TrecOptions,
    interrupt: &Interrupt,
) -> Result<JudgedRun> {
    let judged = read(qrels, interrupt, &QRELS, label)?;
    let mut retrieved = read(run, interrupt, &RUN, |text| labels::score(text, "trec.score"))?;
    let known = |id: &str| judged.numbers.contains_key(id);
    let mut joined = JudgedRun {
        scores: Vec::new(),
        labels: Vec::new(),
        queries: Queries::from_offsets(vec![0, 1]),
        ids: Vec::new(),
        queries_not_judged: retrieved.ids.iter().filter(|id| !known(id)).count(),
        queries_not_retrieved: 0,
    };
    let mut offsets = vec![0];
    for (id, judged) in judged.ids.into_iter().zip(judged.docs) {
        let number = retrieved.numbers.get(&id);
        let docs = number.map(|&query| std::mem::take(&mut retrieved.docs[query]));
        joined.queries_not_retrieved += usize::from(docs.is_none());
        if docs.is_none() && !options.all_queries {
            continue;
        }
        joined.add(&docs.unwrap_or_default(), &judged, options);
        joined.ids.push(id);
        offsets.push(joined.scores.len());
    }
    if joined.ids.is_empty() {
        let what = "the run retrieved nothing for any query of the qrels";
        return Err(Error::data("trec.disjoint", what)
            .path(run.path())
            .hint("do both files name their queries alike?"));
    }
    joined.queries = Queries::from_offsets(offsets);
    Ok(joined)
}

impl JudgedRun {
    /// Adds the documents of a query; both lists are sorted by descending docno.
    fn add(&mut self, retrieved: &[TrecDoc], judged: &[TrecDoc], options: &TrecOptions) {
        let mut rest = judged.iter().peekable();
        let mut missed = Vec::new();
        for doc in retrieved {
            missed.extend(std::iter::from_fn(|| rest.next_if(|other| other.docno > doc.docno)));
            let label =
                rest.next_if(|other| other.docno == doc.docno).map_or(0.0, |other| other.value);
            let single = f64::from(doc.value as f32);
            self.scores.push(if options.single_precision { single } else { doc.value });
            self.labels.push(label as f32);
        }
        missed.extend(rest);
        self.scores.extend(missed.iter().map(|_| f64::NEG_INFINITY));
        self.labels.extend(missed.iter().map(|doc| doc.value as f32));
    }
}

/// Reads lines of a format; `value` parses the score or label. The documents of each query are sorted by
/// descending docno.
fn read(
    source: &mut LineSource,
    interrupt: &Interrupt,
    format: &TrecFormat,
    value: impl Fn(&[u8]) -> Result<f64> + Sync,
) -> Result<DocsByQuery> {
    type BlockDocs = Vec<(Box<str>, Vec<TrecDoc>)>;
    let parse = |queries: &mut BlockDocs, number, line: TextLine<'_>| {
        let (id, doc) = parse_line(line.bytes(), format, &value)?;
        let doc = TrecDoc { line: number, ..doc };
        match queries.last_mut() {
            Some((last, docs)) if **last == *id => docs.push(doc),
            _ => queries.push((id.into(), vec![doc])),
        }
        Ok(())
    };
    let mut all = DocsByQuery::default();
    parse_lines(source, interrupt, parse, |queries, before| {
        for (id, mut docs) in queries {
            for doc in &mut docs {
                doc.line += before;
            }
            all.add(id, docs);
        }
        Ok(())
    })?;
    if all.ids.is_empty() {
        return Err(Error::data("data.empty", "the file has no lines").path(source.path()));
    }
    all.sort().map_err(|error| error.path(source.path()))?;
    Ok(all)
}

impl DocsByQuery {
    fn add(&mut self, id: Box<str>, docs: Vec<TrecDoc>) {
        if let Some(&query) = self.numbers.get(&id) {
            self.docs[query].extend(docs);
        } else {
            self.numbers.insert(id.clone(), self.ids.len());
            self.ids.push(id);
            self.docs.push(docs);
        }
    }

    /// Sorts the documents of each query by descending docno; the first line that repeats one is an error.
    fn sort(&mut self) -> Result<()> {
        let pairs = self.ids.iter().zip(&mut self.docs).flat_map(|(id, docs)| {
            docs.sort_by(|a, b| b.docno.cmp(&a.docno).then(a.line.cmp(&b.line)));
            docs.windows(2).map(move |pair| (id, &pair[0], &pair[1]))
        });
        let repeated = pairs.filter(|(_, before, again)| before.docno == again.docno);
        let first = repeated.min_by_key(|(_, _, again)| again.line);
        let Some((id, before, again)) = first else { return Ok(()) };
        let (docno, id, line) = (foreign(&again.docno), foreign(id.as_bytes()), before.line);
        let what = format!("doc {docno} of query {id} is there already, on line {line}");
        Err(Error::data("trec.duplicate", what).at(again.line, again.column))
    }
}

fn parse_line<'a>(
    line: &'a [u8],
    format: &TrecFormat,
    value: impl Fn(&[u8]) -> Result<f64>,
) -> Result<(&'a str, TrecDoc)> {
    let fields: Vec<(usize, &[u8])> = fields(line).collect();
    let column = |at: usize| fields[at].0 as u64 + 1;
    let expected = || format.fields.join(" ");
    if let Some(name) = format.fields.get(fields.len()) {
        return Err(Error::data("trec.fields", format!("the line has no {name}"))
            .at(1, line.len() as u64 + 1)
            .expected(expected()));
    }
    if let Some((_, field)) = fields.get(format.fields.len()) {
        return Err(Error::data("trec.fields", "the line has too many fields")
            .at(1, column(format.fields.len()))
            .got(foreign(field))
            .expected(expected()));
    }
    let not_text = |_| Error::data("trec.utf8", "the qid is not UTF-8").at(1, column(QID));
    let id = std::str::from_utf8(fields[QID].1).map_err(not_text)?;
    let number = value(fields[format.value].1).map_err(|e| e.at(1, column(format.value)))?;
    let doc =
        TrecDoc { docno: fields[DOCNO].1.into(), value: number, line: 0, column: column(DOCNO) };
    Ok((id, doc))
}

/// The fields of a line and where they start.
fn fields(line: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let words = line.split(u8::is_ascii_whitespace);
    let place = |at: &mut usize, word: &'_ [u8]| {
        let start = *at;
        *at += word.len() + 1;
        Some((start, word.len()))
    };
    let placed = words.scan(0, place).filter(|&(_, length)| length > 0);
    placed.map(|(start, length)| (start, &line[start..start + length]))
}

fn label(text: &[u8]) -> Result<f64> {
    match number::parse_all(text) {
        Some(label) if label <= 16_777_216.0 => Ok(label.max(0.0)),
        _ => Err(Error::data("trec.label", "the label is not a usable number")
            .got(foreign(text))
            .expected("a number up to 2^24")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::line_source::LineOptions;

    const QRELS: &str = "q1 0 a 2\nq1 0 b 0\nq2 0 x 1\nq1 0 z -1\nq3 0 x 1\nq1 0 d 1\n";
    const RUN: &str = "q1 Q0 a 1 0.5 me\nq1\tQ0 z 2 0.5 me\nq1 Q0 new 3 0.25 me\n\
                       q3 Q0 y 1 7 me\nq9 Q0 y 1 7 me\n";

    fn joined(run: &'static str, qrels: &'static str, options: &TrecOptions) -> Result<JudgedRun> {
        let source = |name, text: &'static str| {
            let reader = Box::new(text.as_bytes());
            LineSource::from_reader(name, reader, &LineOptions::default()).unwrap()
        };
        join(&mut source("run", run), &mut source("qrels", qrels), options, &Interrupt::new())
    }

    #[test]
    fn retrieved_docs_come_by_falling_docno_and_the_others_after_them() {
        let none = f64::NEG_INFINITY;
        let joined = joined(RUN, QRELS, &TrecOptions::default()).unwrap();
        assert_eq!(joined.ids, ["q1".into(), "q3".into()]);
        assert_eq!(joined.queries.ranges().collect::<Vec<_>>(), [0..5, 5..7]);
        // q1: z, new, a, and then d, b; q3: y, and then x.
        assert_eq!(joined.scores, [0.5, 0.25, 0.5, none, none, 7.0, none]);
        assert_eq!(joined.labels, [0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 1.0]);
        assert_eq!((joined.queries_not_judged, joined.queries_not_retrieved), (1, 1));
    }

    #[test]
    fn all_queries_count_if_asked_for() {
        let options = TrecOptions { all_queries: true, ..TrecOptions::default() };
        let joined = joined(RUN, QRELS, &options).unwrap();
        assert_eq!(joined.ids, ["q1".into(), "q2".into(), "q3".into()]);
        assert_eq!(joined.scores[joined.queries.range(1)], [f64::NEG_INFINITY]);
    }

    #[test]
    fn single_precision_makes_ties() {
        let run = "q Q0 a 1 0.50000000001 t\nq Q0 b 2 0.5 t\n";
        let options = TrecOptions { single_precision: true, ..TrecOptions::default() };
        let scores = |options| joined(run, "q 0 a 1\n", options).unwrap().scores;
        assert_eq!(scores(&options), [0.5, 0.5]);
        assert_eq!(scores(&TrecOptions::default()), [0.5, 0.500_000_000_01]);
    }

    #[test]
    fn faults_have_a_place() {
        let run = "q Q0 a 1 1 t\n";
        let cases = [
            ("q Q0 a 1\n", "q 0 a 1", "trec.fields", "run:1:9"),
            ("q Q0 a 1 1 t more\n", "q 0 a 1", "trec.fields", "run:1:14"),
            ("q Q0 a 1 x t\n", "q 0 a 1", "trec.score", "run:1:10"),
            ("q Q0 a 1 nan t\n", "q 0 a 1", "trec.score", "run:1:10"),
            (run, "q 0 a", "trec.fields", "qrels:1:6"),
            (run, "q 0 a 1\nq 0 b  x", "trec.label", "qrels:2:8"),
            (run, "q 0 a inf", "trec.label", "qrels:1:7"),
            (run, "q 0 a 1\np 0 a 1\nq 0 a 1", "trec.duplicate", "on line 1 (qrels:3:5)"),
            ("q Q0 a 1 1 t\nq Q0 a 2 0 t", "q 0 a 1", "trec.duplicate", "run:2:6"),
            (run, "other 0 a 1", "trec.disjoint", "run"),
            ("\n", "q 0 a 1", "data.empty", "run"),
        ];
        for (run, qrels, code, place) in cases {
            let error = joined(run, qrels, &TrecOptions::default()).unwrap_err();
            assert_eq!(error.fault().unwrap().code, code, "{error}");
            assert!(error.to_string().contains(place), "{error}");
        }
    }
}
