//! Reads a model from text; [`format`](super::format) has the grammar.
//!
//! First the frame (first line, version, length, checksum), then the structure. Both are one pass over the bytes
//! and allocate no more than a small multiple of them.

use super::composite::{Component, DEEPEST, Model};
use super::format::{MAGIC, VERSION, check_num_features, checksum_line, unescape};
use super::normalisation::Normalisation;
use super::parts::Part;
use crate::error::{Error, Result, foreign};
use std::fmt::Display;
use std::str::{FromStr, Split as Words};

impl Model {
    /// The model of a text that [`Model::to_text`] wrote.
    pub fn from_text(text: &[u8]) -> Result<Self> {
        let body = frame(text)?;
        let mut reader = ModelReader { rest: body, line: 2, around: Vec::new() };
        let model = reader.model()?;
        if !reader.rest.is_empty() {
            return Err(reader.line()?.wrong("the checksum"));
        }
        Ok(model)
    }
}

/// The number of bytes that the first lines of a file declare, of all of it.
pub(super) fn whole_length(start: &[u8]) -> Result<u64> {
    let (declared, rest) = length(start)?;
    Ok(((start.len() - rest.len()) as u64).saturating_add(declared))
}

/// The number of bytes after the first two lines, as declared, and what there is of them.
fn length(text: &[u8]) -> Result<(u64, &[u8])> {
    let not_ours = || {
        let head = &text[..text.len().min(30)];
        Error::model("model.magic", "not a rustrank model")
            .got(foreign(head))
            .expected(format!("`{MAGIC}{VERSION}`"))
    };
    let (first, after_first) = split_line(text).ok_or_else(not_ours)?;
    let version = first.strip_prefix(MAGIC.as_bytes()).ok_or_else(not_ours)?;
    if version != VERSION.to_string().as_bytes() {
        return Err(match number::<u32>(version) {
            Some(version) => {
                Error::model_version(format!("model format {version}, this build reads {VERSION}"))
                    .hint("a newer rustrank reads it")
            }
            None => not_ours(),
        });
    }
    let (second, rest) = split_line(after_first).ok_or_else(|| ends(text))?;
    let declared = second.strip_prefix(b"bytes ").and_then(number::<u64>).ok_or_else(|| {
        Error::model("model.syntax", "the length is not there").at(2, 1).got(foreign(second))
    })?;
    Ok((declared, rest))
}

/// The lines between the second and the last, after the version, the length and the checksum were checked.
fn frame(text: &[u8]) -> Result<&str> {
    let (declared, rest) = length(text)?;
    let whole = whole_length(text)?;
    if declared > rest.len() as u64 {
        return Err(ends(text).expected(format!("{whole} bytes")));
    }
    if declared < rest.len() as u64 {
        let more = format!("the file goes on after byte {whole}");
        return Err(Error::model("model.length", more).hint("were line ends converted?"));
    }
    let checksum = checksum_line(&[]).len();
    let split = text.len().saturating_sub(checksum).max(text.len() - rest.len());
    if text[split..] != *checksum_line(&text[..split]).as_bytes() {
        let what = "the checksum does not fit: the file was changed after it was written";
        return Err(Error::model("model.checksum", what));
    }
    let body = &text[text.len() - rest.len()..split];
    std::str::from_utf8(body).map_err(|_| Error::model("model.syntax", "the text is not UTF-8"))
}

fn ends(text: &[u8]) -> Error {
    Error::model("model.length", format!("the file ends at byte {}", text.len()))
}

fn split_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|&byte| byte == b'\n')?;
    Some((&text[..end], &text[end + 1..]))
}

fn number<T: FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The text of a model that is left to read.
pub(super) struct ModelReader<'a> {
    rest: &'a str,
    /// The number of the line before `rest`.
    line: u64,
    /// The number of features of each model that is being read, one inside the other.
    around: Vec<usize>,
}

/// A line that is being read, word by word.
pub(super) struct ModelLine<'a> {
    text: &'a str,
    words: Words<'a, char>,
    number: u64,
    /// The bytes after it: nothing that it counts can be more.
    left: u64,
}

impl<'a> ModelReader<'a> {
    pub(super) fn line(&mut self) -> Result<ModelLine<'a>> {
        let Some((text, rest)) = self.rest.split_once('\n') else {
            let what = "the model ends too early";
            return Err(Error::model("model.syntax", what).at(self.line + 1, 1));
        };
        self.rest = rest;
        self.line += 1;
        let left = rest.len() as u64;
        Ok(ModelLine { text, words: text.split(' '), number: self.line, left })
    }

    /// The next line, which must start with `keyword`.
    pub(super) fn after(&mut self, keyword: &str) -> Result<ModelLine<'a>> {
        let mut line = self.line()?;
        line.keyword(keyword)?;
        Ok(line)
    }

    /// A line that is a keyword and the number of things that follow.
    pub(super) fn count(&mut self, keyword: &str) -> Result<usize> {
        self.after(keyword)?.last_count()
    }

    pub(super) fn model(&mut self) -> Result<Model> {
        let mut line = self.after("features")?;
        if self.around.len() == DEEPEST {
            return Err(line.wrong(&format!("models at most {DEEPEST} deep")));
        }
        let features: u32 = line.parse("a number of features")?;
        check_num_features(features.into()).map_err(|error| error.at(self.line, 1))?;
        self.around.push(features as usize);
        let mut model = Model::new(features as usize);
        match line.words.next() {
            None => {}
            Some("ranks") => {
                model.set_ranks_features().map_err(|e| self.refuse(&e))?;
                line.end()?;
            }
            Some(_) => return Err(line.wrong("ranks, or the end of the line")),
        }
        let names = self.list("names", ModelLine::unescape_rest)?;
        if !names.is_empty() {
            model.set_feature_names(Some(names)).map_err(|e| self.refuse(&e))?;
        }
        let attributes = self.list("attributes", |line| {
            let name = unescape(line.word("a name")?).ok_or_else(|| line.wrong("a name"))?;
            Ok((name, line.unescape_rest()?))
        })?;
        for (name, value) in attributes {
            model.set_attribute(name, value);
        }
        model.check_category_lists()?;
        let mut line = self.after("intercept")?;
        let intercept = line.float("an intercept")?;
        line.end()?;
        model.set_intercept(intercept)?;
        for _ in 0..self.count("components")? {
            let component = self.component()?;
            model.add(component).map_err(|e| self.refuse(&e))?;
        }
        self.around.pop();
        Ok(model)
    }

    /// What `read` makes of each of so many lines.
    pub(super) fn lines<T>(
        &mut self,
        count: usize,
        mut read: impl FnMut(&mut ModelLine<'a>) -> Result<T>,
    ) -> Result<Vec<T>> {
        // More lines than there are bytes cannot follow.
        let mut items = Vec::with_capacity(count.min(self.rest.len() / 16));
        for _ in 0..count {
            let mut line = self.line()?;
            items.push(read(&mut line)?);
            line.end()?;
        }
        Ok(items)
    }

    /// A line that is a keyword and a count, and so many [lines](Self::lines).
    pub(super) fn list<T>(
        &mut self,
        keyword: &str,
        read: impl FnMut(&mut ModelLine<'a>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let count = self.count(keyword)?;
        self.lines(count, read)
    }

    /// The number of features of the model that is being read.
    pub(super) fn num_features(&self) -> usize {
        self.around.last().copied().unwrap_or_default()
    }

    /// An error of what has just been read, as an error of the file at this line.
    pub(super) fn refuse(&self, error: &Error) -> Error {
        Error::model("model.structure", error.to_string()).at(self.line, 1)
    }

    fn component(&mut self) -> Result<Component> {
        let mut line = self.after("component")?;
        let weight = line.float("a weight")?;
        let normalisation = line.normalisation()?;
        line.end()?;
        Ok(Component { weight, normalisation, part: Part::read(self)? })
    }
}

impl<'a> ModelLine<'a> {
    pub(super) fn normalisation(&mut self) -> Result<Normalisation> {
        let word = self.word("a normalisation")?;
        if word == "fixed" {
            let mean = self.float("a mean")?;
            return Ok(Normalisation::Fixed { mean, scale: self.float("a scale")? });
        }
        Normalisation::named(word).map_err(|_| self.wrong("fixed, or the name of a normalisation"))
    }

    /// The error of a line where something else was expected.
    pub(super) fn wrong(&self, expected: &str) -> Error {
        Error::model("model.syntax", "a line of the model is not understood")
            .at(self.number, 1)
            .got(foreign(self.text.as_bytes()))
            .expected(expected)
    }

    pub(super) fn keyword(&mut self, keyword: &str) -> Result<()> {
        let is_there = self.words.next() == Some(keyword);
        if is_there { Ok(()) } else { Err(self.wrong(keyword)) }
    }

    /// What the next word, one of two, stands for.
    pub(super) fn one_of<T: Copy>(&mut self, words: [(&str, T); 2]) -> Result<T> {
        let word = self.words.next();
        let found = words.iter().find(|(known, _)| Some(*known) == word);
        let expected = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(" or ");
        found.map(|&(_, value)| value).ok_or_else(|| self.wrong(&expected()))
    }

    pub(super) fn word(&mut self, expected: &str) -> Result<&'a str> {
        self.words.next().ok_or_else(|| self.wrong(expected))
    }

    pub(super) fn parse<T: FromStr>(&mut self, expected: &str) -> Result<T> {
        self.word(expected)?.parse().map_err(|_| self.wrong(expected))
    }

    /// A finite float of either precision.
    pub(super) fn float<T>(&mut self, expected: &str) -> Result<T>
    where
        T: FromStr + Display + Copy + Into<f64>,
    {
        let value: T = self.parse(expected)?;
        if value.into().is_finite() {
            return Ok(value);
        }
        let what = format!("{expected} is not finite");
        Err(Error::model("model.number", what).at(self.number, 1).got(value))
    }

    /// How many things follow: at most one a byte.
    pub(super) fn count(&mut self) -> Result<usize> {
        let count: u64 = self.parse("a count")?;
        if count <= self.left + self.text.len() as u64 {
            return Ok(count as usize);
        }
        let what = format!("the model declares {count} things in {} bytes", self.left);
        Err(Error::model("model.count", what).at(self.number, 1))
    }

    /// [`count`](Self::count) at the end of the line.
    pub(super) fn last_count(mut self) -> Result<usize> {
        let count = self.count()?;
        self.end()?;
        Ok(count)
    }

    /// A count and as many numbers.
    pub(super) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let count = self.count()?;
        (0..count).map(|_| read(self)).collect()
    }

    /// All that is left of the line, as it was before it was escaped.
    fn unescape_rest(&mut self) -> Result<String> {
        let rest = self.words.by_ref().collect::<Vec<_>>().join(" ");
        unescape(&rest).ok_or_else(|| self.wrong("an escaped text"))
    }

    pub(super) fn end(&mut self) -> Result<()> {
        self.words.next().map_or(Ok(()), |_| Err(self.wrong("the end of the line")))
    }
}
