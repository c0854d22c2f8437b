//! Text to a model; [`format`](super::format) has the grammar.
//!
//! First the frame (what file, which version, how long, which checksum), then the structure. Both
//! are one pass over the bytes and allocate no more than a small multiple of them.

use super::classes::{Class, Classes, Link};
use super::composite::{Component, DEEPEST, Model, Part};
use super::forest::{Cells, Forest, Set};
use super::format::{MAGIC, VERSION, checksum_line, unescape};
use super::linear::Linear;
use super::mlp::{Input, Layer, Mlp};
use super::normalisation::Normalisation;
use super::stack::{Derived, Ranker, Stack};
use super::tree::{Child, Leaf, Split, Tree};
use crate::error::{Error, Result, foreign};
use std::str::{FromStr, Split as Words};

impl Model {
    /// The model of a text that [`Model::to_text`] wrote.
    pub fn from_text(text: &[u8]) -> Result<Self> {
        let body = frame(text)?;
        let mut reader = Reader { rest: body, line: 2 };
        let model = reader.model(1)?;
        if !reader.rest.is_empty() {
            return Err(reader.line()?.wrong("the checksum"));
        }
        Ok(model)
    }
}

/// The lines between the second and the last, once the whole is known to be as it was written.
fn frame(text: &[u8]) -> Result<&str> {
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
    let ends = || Error::model("model.length", format!("the file ends at byte {}", text.len()));
    let (second, rest) = split_line(after_first).ok_or_else(ends)?;
    let declared = second.strip_prefix(b"bytes ").and_then(number::<u64>).ok_or_else(|| {
        Error::model("model.syntax", "the length is not there").at(2, 1).got(foreign(second))
    })?;
    let whole = ((text.len() - rest.len()) as u64).saturating_add(declared);
    if declared > rest.len() as u64 {
        return Err(ends().expected(format!("{whole} bytes")));
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

fn split_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|&byte| byte == b'\n')?;
    Some((&text[..end], &text[end + 1..]))
}

fn number<T: FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

struct Reader<'a> {
    rest: &'a str,
    /// The number of the line before `rest`.
    line: u64,
}

/// A line that is being read.
struct Line<'a> {
    text: &'a str,
    words: Words<'a, char>,
    number: u64,
    /// The bytes after it: nothing that it counts can be more.
    left: u64,
}

impl<'a> Reader<'a> {
    fn line(&mut self) -> Result<Line<'a>> {
        let Some((text, rest)) = self.rest.split_once('\n') else {
            let what = "the model ends too early";
            return Err(Error::model("model.syntax", what).at(self.line + 1, 1));
        };
        self.rest = rest;
        self.line += 1;
        let left = rest.len() as u64;
        Ok(Line { text, words: text.split(' '), number: self.line, left })
    }

    /// The next line, which must start with `keyword`.
    fn after(&mut self, keyword: &str) -> Result<Line<'a>> {
        let mut line = self.line()?;
        if line.words.next() == Some(keyword) { Ok(line) } else { Err(line.wrong(keyword)) }
    }

    /// A line that is a keyword and the number of things that follow.
    fn count(&mut self, keyword: &str) -> Result<usize> {
        let mut line = self.after(keyword)?;
        let count = line.count()?;
        line.end()?;
        Ok(count)
    }

    fn model(&mut self, depth: usize) -> Result<Model> {
        let mut line = self.after("features")?;
        let features: u32 = line.parse("a number of features")?;
        let mut model = Model::new(features as usize);
        match line.words.next() {
            None => {}
            Some("ranks") => {
                model.set_ranks_features().map_err(|e| self.refuse(&e))?;
                line.end()?;
            }
            Some(_) => return Err(line.wrong("ranks, or the end of the line")),
        }
        let count = self.count("names")?;
        if count > 0 {
            let names = (0..count).map(|_| self.line()?.unescape_rest()).collect::<Result<_>>()?;
            model.set_feature_names(Some(names)).map_err(|e| self.refuse(&e))?;
        }
        for _ in 0..self.count("attributes")? {
            let mut line = self.line()?;
            let name = line.word("a name")?;
            let name = unescape(name).ok_or_else(|| line.wrong("a name"))?;
            model.set_attribute(name, line.unescape_rest()?);
        }
        let mut line = self.after("intercept")?;
        let intercept = line.float("an intercept")?;
        line.end()?;
        model.set_intercept(intercept)?;
        for _ in 0..self.count("components")? {
            let component = self.component(features as usize, depth)?;
            model.add(component).map_err(|e| self.refuse(&e))?;
        }
        Ok(model)
    }

    /// What is wrong with the lines just read, as a fault of the file.
    fn refuse(&self, error: &Error) -> Error {
        Error::model("model.structure", error.to_string()).at(self.line, 1)
    }

    fn component(&mut self, features: usize, depth: usize) -> Result<Component> {
        let mut line = self.after("component")?;
        let weight = line.float("a weight")?;
        let normalisation = line.normalisation()?;
        line.end()?;
        let mut line = self.line()?;
        let part = match line.word("a kind of component")? {
            "forest" => Part::Forest(self.forest(line, features)?),
            "linear" => Part::Linear(self.linear(line)?),
            "classes" => Part::Classes(self.classes(line, features)?),
            "mlp" => Part::Mlp(self.mlp(line)?),
            "model" if depth < DEEPEST => {
                line.end()?;
                Part::Model(Box::new(self.model(depth + 1)?))
            }
            "stack" if depth < DEEPEST => {
                Part::Stack(Box::new(self.stack(line, features, depth + 1)?))
            }
            "model" | "stack" => {
                return Err(line.wrong(&format!("models at most {DEEPEST} deep")));
            }
            _ => return Err(line.wrong("forest, linear, classes, mlp, model or stack")),
        };
        Ok(Component { weight, normalisation, part })
    }

    fn forest(&mut self, mut line: Line<'a>, features: usize) -> Result<Forest> {
        let cells = match line.word("f32 or f64")? {
            "f32" => Cells::F32,
            "f64" => Cells::F64,
            _ => return Err(line.wrong("f32 or f64")),
        };
        let trees = line.count()?;
        line.end()?;
        let mut line = self.after("zeros")?;
        let zeros = line.list("a feature")?;
        line.end()?;
        let mut sets = Vec::new();
        for _ in 0..self.count("sets")? {
            let mut line = self.after("set")?;
            let feature = line.parse("a feature")?;
            sets.push(Set { feature, categories: line.list("a category")? });
            line.end()?;
        }
        let mut forest =
            Forest::foreign(features, cells, zeros, sets).map_err(|e| self.refuse(&e))?;
        for _ in 0..trees {
            let tree = self.tree()?;
            forest.push(tree).map_err(|e| self.refuse(&e))?;
        }
        Ok(forest)
    }

    fn tree(&mut self) -> Result<Tree> {
        let count = self.count("tree")?;
        let mut splits = Vec::with_capacity(count.min(self.rest.len() / 16));
        for _ in 0..count {
            splits.push(self.split()?);
        }
        let mut leaves = Vec::with_capacity(splits.len() + 1);
        for _ in 0..=count {
            let mut line = self.line()?;
            let value = line.float("a leaf's value")?;
            leaves.push(Leaf { value, cover: line.float("a cover")?, docs: line.parse("docs")? });
            line.end()?;
        }
        Ok(Tree::new(splits, leaves))
    }

    fn split(&mut self) -> Result<Split> {
        let mut line = self.line()?;
        let split = Split {
            feature: line.parse("a feature")?,
            threshold: line.float("a threshold")?,
            missing_left: match line.word("l or r")? {
                "l" => true,
                "r" => false,
                _ => return Err(line.wrong("l or r")),
            },
            left: line.child()?,
            right: line.child()?,
            reduction: line.float("a reduction")?,
            cover: line.float("a cover")?,
            docs: line.parse("docs")?,
        };
        line.end()?;
        Ok(split)
    }

    fn linear(&mut self, mut line: Line<'a>) -> Result<Linear> {
        let count = line.count()?;
        line.end()?;
        let mut terms = Vec::new();
        for _ in 0..count {
            let mut line = self.line()?;
            terms.push((line.parse("a feature")?, line.float("a weight")?));
            line.end()?;
        }
        Ok(Linear::new(terms))
    }

    fn mlp(&mut self, mut line: Line<'a>) -> Result<Mlp> {
        let limit = line.single("a limit")?;
        let count = line.count()?;
        line.end()?;
        let mut inputs = Vec::new();
        for _ in 0..count {
            let mut line = self.line()?;
            inputs.push(Input {
                feature: line.parse("a feature")?,
                log: match line.word("x or log")? {
                    "x" => false,
                    "log" => true,
                    _ => return Err(line.wrong("x or log")),
                },
                mean: line.single("a mean")?,
                scale: line.single("a scale")?,
            });
            line.end()?;
        }
        let (mut layers, mut before) = (Vec::new(), count);
        for _ in 0..self.count("layers")? {
            let units = self.count("layer")?;
            layers.push(self.layer(units, before)?);
            before = units;
        }
        Mlp::new(inputs, limit, layers).map_err(|e| self.refuse(&e))
    }

    /// A line a unit: its bias, and a weight for each value before.
    fn layer(&mut self, units: usize, before: usize) -> Result<Layer> {
        let mut layer = Layer::default();
        for _ in 0..units {
            let mut line = self.line()?;
            layer.biases.push(line.single("a bias")?);
            for _ in 0..before {
                layer.weights.push(line.single("a weight")?);
            }
            line.end()?;
        }
        Ok(layer)
    }
}

impl<'a> Reader<'a> {
    fn classes(&mut self, mut line: Line<'a>, features: usize) -> Result<Classes> {
        let link = match line.word("softmax or ordinal")? {
            "softmax" => Link::Softmax,
            "ordinal" => Link::Ordinal,
            _ => return Err(line.wrong("softmax or ordinal")),
        };
        let count = line.count()?;
        line.end()?;
        let mut classes = Vec::new();
        for _ in 0..count {
            let mut line = self.line()?;
            classes.push(Class { label: line.float("a label")?, gain: line.float("a gain")? });
            line.end()?;
        }
        let mut line = self.after("starts")?;
        let count = line.count()?;
        let starts: Vec<f64> = (0..count).map(|_| line.float("a start")).collect::<Result<_>>()?;
        line.end()?;
        let empty = Classes::new(features, link, &classes, starts).map_err(|e| self.refuse(&e))?;
        let mut forests = Vec::new();
        for _ in empty.starts() {
            let line = self.after("forest")?;
            forests.push(self.forest(line, features)?);
        }
        empty.with_forests(forests).map_err(|e| self.refuse(&e))
    }
}

impl<'a> Reader<'a> {
    /// The models in it stand at `depth`.
    fn stack(&mut self, mut line: Line<'a>, features: usize, depth: usize) -> Result<Stack> {
        let own = match line.word("own or alone")? {
            "own" => true,
            "alone" => false,
            _ => return Err(line.wrong("own or alone")),
        };
        line.end()?;
        let mut rankers = Vec::new();
        for _ in 0..self.count("rankers")? {
            let mut line = self.after("ranker")?;
            let normalisation = line.normalisation()?;
            line.end()?;
            rankers.push(Ranker { normalisation, model: self.model(depth)? });
        }
        let mut derived = Vec::new();
        for _ in 0..self.count("derived")? {
            let mut line = self.line()?;
            let ranker = line.parse("a ranker")?;
            derived.push(Derived { ranker, statistic: line.parse("score, max, mean or top3")? });
            line.end()?;
        }
        let outer = self.model(depth)?;
        Stack::new(features, rankers, derived, own, outer).map_err(|e| self.refuse(&e))
    }
}

impl<'a> Line<'a> {
    fn normalisation(&mut self) -> Result<Normalisation> {
        let word = self.word("a normalisation")?;
        if word == "fixed" {
            let mean = self.float("a mean")?;
            return Ok(Normalisation::Fixed { mean, scale: self.float("a scale")? });
        }
        Normalisation::named(word).map_err(|_| self.wrong("fixed, or the name of a normalisation"))
    }

    fn wrong(&self, expected: &str) -> Error {
        Error::model("model.syntax", "a line of the model is not understood")
            .at(self.number, 1)
            .got(foreign(self.text.as_bytes()))
            .expected(expected)
    }

    fn word(&mut self, expected: &str) -> Result<&'a str> {
        self.words.next().ok_or_else(|| self.wrong(expected))
    }

    fn parse<T: FromStr>(&mut self, expected: &str) -> Result<T> {
        self.word(expected)?.parse().map_err(|_| self.wrong(expected))
    }

    fn float(&mut self, expected: &str) -> Result<f64> {
        let value: f64 = self.parse(expected)?;
        if value.is_finite() {
            return Ok(value);
        }
        let what = format!("{expected} is not finite");
        Err(Error::model("model.number", what).at(self.number, 1).got(value))
    }

    /// A float of single precision.
    fn single(&mut self, expected: &str) -> Result<f32> {
        let value: f32 = self.parse(expected)?;
        if value.is_finite() {
            return Ok(value);
        }
        let what = format!("{expected} is not finite");
        Err(Error::model("model.number", what).at(self.number, 1).got(value))
    }

    /// How many things follow: at most one a byte.
    fn count(&mut self) -> Result<usize> {
        let count: u64 = self.parse("a count")?;
        if count <= self.left + self.text.len() as u64 {
            return Ok(count as usize);
        }
        let what = format!("the model declares {count} things in {} bytes", self.left);
        Err(Error::model("model.count", what).at(self.number, 1))
    }

    /// A count and as many numbers.
    fn list(&mut self, expected: &str) -> Result<Vec<u32>> {
        let count = self.count()?;
        (0..count).map(|_| self.parse(expected)).collect()
    }

    fn child(&mut self) -> Result<Child> {
        let word = self.word("a child")?;
        let number = |digits: &str| digits.parse().ok();
        let child = match word.split_at_checked(1) {
            Some(("s", digits)) => number(digits).map(Child::Split),
            Some(("l", digits)) => number(digits).map(Child::Leaf),
            _ => None,
        };
        child.ok_or_else(|| self.wrong("a child such as s3 or l4"))
    }

    /// All that is left of the line, as it was before it was escaped.
    fn unescape_rest(self) -> Result<String> {
        let rest = self.words.clone().collect::<Vec<_>>().join(" ");
        unescape(&rest).ok_or_else(|| self.wrong("an escaped text"))
    }

    fn end(mut self) -> Result<()> {
        match self.words.next() {
            None => Ok(()),
            Some(_) => Err(self.wrong("the end of the line")),
        }
    }
}
