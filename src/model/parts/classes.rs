//! Ranking by classification (`McRank`): a forest for each class of labels, and the expected gain as score.
//!
//! A *class* is a label with its gain. A *margin* is the sum of a forest's leaf values and a start value. A
//! *link* function turns the margins of a doc into the probabilities of the classes, and the doc's score is
//! the expected gain, the sum of gain times probability (Li, Burges and Wu, *`McRank`*, 2007).
//!
//! Invariants: all forests have the same number of trees, one a round; probabilities sum to 1, up to rounding,
//! and none is below 0. The exponential is our own, so that a score has the same bits on every machine.
//!
//! Cost: beside the trees, some nanoseconds a doc and class.
//!
//! ```text
//! classes     = "classes" ( "softmax" | "ordinal" ) count LF   ; 2 to 256 classes, labels rising
//!               { label gain LF }
//!               "starts" count { float } LF        ; of margins: one a class; ordinal: one less
//!               { forest }                         ; one a start: f32, no zeros, no sets, and
//!                                                  ; as many trees as the others
//! ```

use super::{Forest, ModelPart};
use crate::error::{Error, Result};
use crate::model::binned::AddForest;
use crate::model::parallel;
use crate::model::read::{ModelLine, ModelReader};
use crate::model::scorer::ScorerBuilder;
use crate::model::write::{list, put};
use crate::model::{Model, Tree};
use std::ops::Range;

/// Documents that a task takes.
const DOCS_A_TASK: usize = 1 << 12;

/// The link function: how margins become probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Link {
    /// A margin a class; probabilities are in proportion to their exponentials.
    Softmax,
    /// A margin for each class but the lowest: the log-odds that a doc is of that class or above.
    ///
    /// They are learned one by one, so that a higher one may come out more probable than a lower:
    /// then each counts as the mean of the least up to it and the largest from it.
    Ordinal,
}

/// A label and what it is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Class {
    /// The label.
    pub label: f64,
    /// The gain of a doc with this label.
    pub gain: f64,
}

/// The link function and the gains: from the margins of a doc to its expected gain.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    link: Link,
    classes: Vec<Class>,
}

/// A forest for each margin, and the function that makes a score of the margins.
#[derive(Debug, Clone, PartialEq)]
pub struct Classes {
    num_features: usize,
    expectation: Expectation,
    starts: Vec<f64>,
    forests: Vec<Forest>,
}

/// The largest number of classes.
const MOST: usize = 256;

impl Link {
    /// The number of margins of so many classes.
    pub fn num_margins(self, num_classes: usize) -> usize {
        match self {
            Self::Softmax => num_classes,
            Self::Ordinal => num_classes.saturating_sub(1),
        }
    }
}

impl Expectation {
    /// How margins become probabilities.
    pub fn link(&self) -> Link {
        self.link
    }

    /// The classes, by rising label.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The number of classes.
    pub fn num_classes(&self) -> usize {
        self.classes.len()
    }

    /// The number of margins of a doc.
    pub fn num_margins(&self) -> usize {
        self.link.num_margins(self.classes.len())
    }

    /// The probability of each class.
    ///
    /// # Panics
    /// If there are not as many margins and probabilities as the link needs.
    pub fn probabilities(&self, margins: &[f64], probabilities: &mut [f64]) {
        assert_eq!(probabilities.len(), self.num_classes());
        assert_eq!(margins.len(), self.num_margins());
        match self.link {
            Link::Softmax => softmax(margins, probabilities),
            Link::Ordinal => ordinal(margins, probabilities),
        }
    }

    /// Adds the expected gains of documents to their scores; `margins` has a list for each forest.
    pub(crate) fn add_gains(&self, margins: &[Vec<f64>], scores: &mut [f64]) {
        parallel::for_each_chunk(scores, DOCS_A_TASK, |task, scores| {
            let (mut own, mut scratch) = (vec![0.0; margins.len()], vec![0.0; self.num_classes()]);
            for (at, score) in scores.iter_mut().enumerate() {
                for (own, margins) in own.iter_mut().zip(margins) {
                    *own = margins[task * DOCS_A_TASK + at];
                }
                *score += self.gain(&own, &mut scratch);
            }
        });
    }

    /// The expected gain of a doc; `scratch` has room for a probability a class.
    pub fn gain(&self, margins: &[f64], scratch: &mut [f64]) -> f64 {
        self.probabilities(margins, scratch);
        self.classes.iter().zip(&*scratch).fold(0.0, |sum, (class, p)| sum + class.gain * p)
    }
}

fn softmax(margins: &[f64], probabilities: &mut [f64]) {
    let top = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for (p, margin) in probabilities.iter_mut().zip(margins) {
        *p = exp(margin - top);
        sum += *p;
    }
    for p in probabilities {
        *p /= sum;
    }
}

fn ordinal(margins: &[f64], probabilities: &mut [f64]) {
    // First `probabilities[k]` is that of class k or above, as its forest has it.
    probabilities[0] = 1.0;
    for (p, &margin) in probabilities[1..].iter_mut().zip(margins) {
        let odds = exp(-margin.abs());
        *p = if margin < 0.0 { odds / (1.0 + odds) } else { 1.0 / (1.0 + odds) };
    }
    let mut least = 1.0f64;
    for k in 0..probabilities.len() {
        let largest = probabilities[k..].iter().copied().fold(0.0, f64::max);
        least = least.min(probabilities[k]);
        let falling = f64::midpoint(least, largest);
        if k > 0 {
            probabilities[k - 1] -= falling;
        }
        probabilities[k] = falling;
    }
}

impl Classes {
    /// Classes without trees; a start for each margin of the link.
    pub fn new(
        num_features: usize,
        link: Link,
        classes: &[Class],
        starts: Vec<f64>,
    ) -> Result<Self> {
        let wrong = |what| Error::model("model.classes", what);
        if !(2..=MOST).contains(&classes.len()) {
            let expected = format!("2 to {MOST}");
            return Err(wrong("the number of classes").got(classes.len()).expected(expected));
        }
        let numbers = classes.iter().flat_map(|class| [class.label, class.gain]);
        if !numbers.chain(starts.iter().copied()).all(f64::is_finite) {
            return Err(Error::model("model.number", "labels, gains and starts must be finite"));
        }
        if !classes.windows(2).all(|pair| pair[0].label < pair[1].label) {
            return Err(Error::model("model.order", "the labels of classes must rise"));
        }
        let expected = link.num_margins(classes.len());
        if starts.len() != expected {
            return Err(wrong("the number of starts").got(starts.len()).expected(expected));
        }
        Ok(Self {
            num_features,
            expectation: Expectation { link, classes: classes.to_vec() },
            forests: vec![Forest::new(num_features); starts.len()],
            starts,
        })
    }

    /// The same with these forests, one a margin and with as many trees each.
    pub fn with_forests(mut self, forests: Vec<Forest>) -> Result<Self> {
        let rounds = forests.first().map_or(0, |forest| forest.trees().len());
        let fits = |forest: &Forest| {
            forest.is_native()
                && forest.sets().is_empty()
                && forest.num_features() == self.num_features
                && forest.trees().len() == rounds
        };
        if forests.len() != self.forests.len() || !forests.iter().all(fits) {
            let what = "classes need a forest a margin, with as many trees each";
            return Err(Error::model("model.classes", what));
        }
        self.forests = forests;
        Ok(self)
    }

    /// Adds a round: a tree to each forest, or to none.
    pub fn push(&mut self, trees: Vec<Tree>) -> Result<()> {
        let (count, expected) = (trees.len(), self.forests.len());
        if count != expected {
            let wrong = Error::model("model.classes", "a round has a tree for each margin");
            return Err(wrong.got(count).expected(expected));
        }
        let (round, features) = (self.num_rounds(), self.num_features);
        trees.iter().try_for_each(|tree| tree.check(round, features))?;
        self.forests.iter_mut().zip(trees).try_for_each(|(forest, tree)| forest.push(tree))
    }

    /// The number of values in a row.
    pub fn num_features(&self) -> usize {
        self.num_features
    }

    /// The labels with their gains, rising.
    pub fn classes(&self) -> impl ExactSizeIterator<Item = Class> + '_ {
        self.expectation.classes.iter().copied()
    }

    /// The function that makes a score of margins.
    pub fn expectation(&self) -> &Expectation {
        &self.expectation
    }

    /// The start value of each margin.
    pub fn starts(&self) -> &[f64] {
        &self.starts
    }

    /// A forest a margin.
    pub fn forests(&self) -> &[Forest] {
        &self.forests
    }

    /// The number of trees in each forest.
    pub fn num_rounds(&self) -> usize {
        self.forests[0].trees().len()
    }

    /// Sets the gains.
    pub(in crate::model) fn set_gains(&mut self, gains: &[f64]) -> Result<()> {
        let classes = &mut self.expectation.classes;
        if gains.len() != classes.len() || !gains.iter().all(|gain| gain.is_finite()) {
            let expected = format!("{} finite numbers", classes.len());
            return Err(Error::param("gain", "gains").got(format!("{gains:?}")).expected(expected));
        }
        classes.iter_mut().zip(gains).for_each(|(class, &gain)| class.gain = gain);
        Ok(())
    }

    /// The margins of so many binned documents, class by class.
    pub(crate) fn binned_margins<'a>(
        &'a self,
        add: &mut AddForest<'a, '_>,
        num_docs: usize,
    ) -> Result<Vec<Vec<f64>>> {
        let margin = |(forest, &start): (&'a Forest, &f64)| {
            let mut margin = vec![start; num_docs];
            add(forest, &mut margin)?;
            Ok(margin)
        };
        self.forests.iter().zip(&self.starts).map(margin).collect()
    }
}

impl ModelPart for Classes {
    fn read(reader: &mut ModelReader<'_>, mut line: ModelLine<'_>) -> Result<Self> {
        let link = line.one_of([("softmax", Link::Softmax), ("ordinal", Link::Ordinal)])?;
        let classes = reader.lines(line.last_count()?, |line| {
            Ok(Class { label: line.float("a label")?, gain: line.float("a gain")? })
        })?;
        let mut line = reader.after("starts")?;
        let starts = line.list(|line| line.float("a start"))?;
        line.end()?;
        let empty = Self::new(reader.num_features(), link, &classes, starts)
            .map_err(|e| reader.refuse(&e))?;
        let forest = |_| {
            let line = reader.after("forest")?;
            Forest::read(reader, line)
        };
        let forests = empty.starts.iter().map(forest).collect::<Result<_>>()?;
        empty.with_forests(forests).map_err(|e| reader.refuse(&e))
    }

    fn write(&self, text: &mut String) {
        let link = if self.expectation.link == Link::Softmax { "softmax" } else { "ordinal" };
        put(text, format_args!("classes {link} {}\n", self.classes().len()));
        for Class { label, gain } in self.classes() {
            put(text, format_args!("{label:?} {gain:?}\n"));
        }
        put(text, format_args!("starts {}", self.starts().len()));
        list(text, self.starts());
        self.forests.iter().for_each(|forest| forest.write(text));
    }

    fn check(&self, model: &Model) -> Result<()> {
        model.check_features(self.num_features)
    }

    fn build<'a>(&'a self, scorer: &mut ScorerBuilder<'a>) {
        for (forest, &start) in self.forests.iter().zip(&self.starts) {
            scorer.open(start);
            scorer.forest(forest);
        }
        scorer.program.expect(self.expectation.clone());
    }

    fn add_binned<'a>(&'a self, add: &mut AddForest<'a, '_>, sums: &mut [f64]) -> Result<()> {
        let margins = self.binned_margins(add, sums.len())?;
        self.expectation.add_gains(&margins, sums);
        Ok(())
    }

    fn forests(&self) -> &[Forest] {
        &self.forests
    }

    fn forests_mut(&mut self) -> &mut [Forest] {
        &mut self.forests
    }

    fn keep_rounds(&mut self, rounds: Range<usize>, from_start: bool) -> bool {
        self.forests.iter_mut().for_each(|forest| forest.keep(0..rounds.end));
        from_start
    }
}

/// The exponential of a number up to 0, to the last bit or two: the same on every machine.
fn exp(x: f64) -> f64 {
    /// ln 2 in two parts, the first with zeros at its end, so that a multiple of it is exact.
    const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
    // Below, the result would be subnormal: it counts as 0. NaN goes on.
    if x < -708.0 {
        return 0.0;
    }
    let power = (x * std::f64::consts::LOG2_E).round_ties_even();
    let r = (x - power * LN_2[0]) - power * LN_2[1];
    let sum = SERIES.iter().rev().fold(0.0, |sum, term| term + r * sum);
    sum * f64::from_bits(((1023.0 + power) as u64) << 52)
}

/// Taylor's series, 1 / n!: at most 0.35 from 0, the fourteenth term is below the last bit.
const SERIES: [f64; 14] = {
    let mut series = [1.0; 14];
    let mut n = 1;
    let mut factorial = 1.0;
    while n < 14 {
        factorial *= n as f64;
        series[n] = 1.0 / factorial;
        n += 1;
    }
    series
};

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(link: Link, gains: &[f64]) -> Classes {
        let classes: Vec<Class> =
            (0..gains.len()).map(|k| Class { label: k as f64, gain: gains[k] }).collect();
        Classes::new(1, link, &classes, vec![0.0; link.num_margins(gains.len())]).unwrap()
    }

    #[test]
    fn the_exponential_is_that_of_the_system_to_three_units_in_the_last_place() {
        for i in 0..200_000 {
            let x = -f64::from(i) * 0.003_5;
            let near = (exp(x) - x.exp()).abs() <= 3.0 * f64::EPSILON * x.exp();
            assert!(near, "exp({x}) = {:?}, not {:?}", exp(x), x.exp());
        }
        assert_eq!((exp(0.0), exp(-0.0), exp(-1e9), exp(f64::NEG_INFINITY)), (1.0, 1.0, 0.0, 0.0));
    }

    #[test]
    fn probabilities_sum_to_one_and_none_is_below_zero() {
        let margins = [[0.0; 4], [3.0, -1.0, 2.0, 900.0], [-800.0, 5.0, 6.0, 7.0], [1.0; 4]];
        for (link, count) in [(Link::Softmax, 4), (Link::Ordinal, 5)] {
            let expectation = classes(link, &vec![1.0; count]).expectation().clone();
            for margins in margins {
                let mut p = vec![0.0; count];
                expectation.probabilities(&margins, &mut p);
                assert!(p.iter().all(|&p| p >= 0.0), "{margins:?}: {p:?}");
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-15, "{margins:?}: {p:?}");
            }
        }
    }

    #[test]
    fn falling_cumulative_probabilities_are_taken_as_they_are_and_others_smoothed() {
        let expectation = classes(Link::Ordinal, &[0.0, 1.0, 3.0, 7.0]).expectation().clone();
        let logit = |p: f64| (p / (1.0 - p)).ln();
        for (learned, taken) in [
            ([0.9, 0.5, 0.2], [0.9, 0.5, 0.2]),
            ([0.9, 0.2, 0.4], [0.9, 0.3, 0.3]),
            ([0.2, 0.4, 0.6], [0.4, 0.4, 0.4]),
        ] {
            let mut p = [0.0; 4];
            let gain = expectation.gain(&learned.map(logit), &mut p);
            let wanted = taken[0] + 2.0 * taken[1] + 4.0 * taken[2];
            assert!((gain - wanted).abs() < 1e-12, "{learned:?}: {gain}, not {wanted}");
            assert!((1.0 - p[0] - taken[0]).abs() < 1e-12);
        }
    }
}
