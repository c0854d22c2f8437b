//! `RankNet` on preferences between pairs of docs instead of labels.
//!
//! A preference says that one doc is better than another, with a probability P that need not be 1;
//! preferences may contradict each other, and labels play no part. With `o = sigma (s_a - s_b)` and
//! `q = 1 / (1 + exp(-o))`, the loss of a pair is `-P ln q - (1 - P) ln(1 - q)` times its weight
//! (Burges et al. 2005), `grad_a = sigma (q - P) = -grad_b` and `hess = sigma² q (1 - q)` for both.
//!
//! Cost: O(pairs) a round.

use super::tasks::{Query, for_each_query};
use super::{GradientCall, Objective};
use crate::error::{Error, Result};
use crate::gradient::Gradient;
use crate::queries::Queries;
use std::cmp::Ordering;
use std::ops::Range;

/// One doc of a query is better than another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preference {
    /// A doc, by its number in the dataset's order.
    pub better: u32,
    /// Another doc of the same query.
    pub worse: u32,
    /// The probability that `better` is better, from 0 to 1; below 1/2 it is rather the worse one.
    pub probability: f64,
    /// The weight of the pair, at least 0.
    pub weight: f64,
}

/// `RankNet` on explicit preferences.
#[derive(Debug, Clone)]
pub struct PreferenceNet {
    sigma: f64,
    /// Query by query.
    preferences: Vec<Preference>,
    queries: Queries,
}

impl PreferenceNet {
    /// The objective for a dataset with these queries. The order of preferences does not matter.
    pub fn new(preferences: &[Preference], queries: &Queries, sigma: f64) -> Result<Self> {
        super::SCALE.check("sigma", &sigma)?;
        for (at, preference) in preferences.iter().enumerate() {
            check(at, preference, queries)?;
        }
        let mut preferences = preferences.to_vec();
        preferences
            .sort_by(|a, b| (a.better, a.worse).cmp(&(b.better, b.worse)).then(values(a, b)));
        Ok(Self { sigma, preferences, queries: queries.clone() })
    }

    /// The objective for preferences between the caller's rows; `rows` has that of each doc, and
    /// `first_copies` the first doc with the same content. Which of several copies a preference is about
    /// then changes neither the order of sums nor anything else.
    pub(crate) fn of_rows(
        by_row: &[Preference],
        rows: &[u32],
        first_copies: &[u32],
        queries: &Queries,
        sigma: f64,
    ) -> Result<Self> {
        let mut doc_of = vec![0u32; rows.len()];
        for (doc, &row) in rows.iter().enumerate() {
            doc_of[row as usize] = doc as u32;
        }
        let of_docs = |(at, preference): (usize, &Preference)| {
            let Preference { better, worse, .. } = *preference;
            let doc = |row: u32| {
                doc_of.get(row as usize).copied().ok_or_else(|| {
                    Error::data("preference.doc", format!("a row of preferences[{at}]"))
                        .got(row)
                        .expected(format!("a number below {}, the number of rows", rows.len()))
                })
            };
            let docs = [doc(better)?, doc(worse)?];
            let [query, other] = docs.map(|doc| queries.of_doc(doc as usize));
            if query == other && better != worse {
                return Ok(Preference { better: docs[0], worse: docs[1], ..*preference });
            }
            Err(Error::data("preference.pair", format!("the rows of preferences[{at}]"))
                .got(format!("{better} and {worse}"))
                .expected("two rows of one query"))
        };
        let preferences: Vec<Preference> =
            by_row.iter().enumerate().map(of_docs).collect::<Result<_>>()?;
        let mut net = Self::new(&preferences, queries, sigma)?;
        let content = |preference: &Preference| {
            let query = queries.of_doc(preference.better as usize);
            let copy = |doc: u32| first_copies[doc as usize];
            (query, copy(preference.better), copy(preference.worse))
        };
        net.preferences.sort_by(|a, b| content(a).cmp(&content(b)).then(values(a, b)));
        Ok(net)
    }

    /// The objective for a batch: the queries `numbers`, whose docs are `docs` of the batch.
    pub(crate) fn of_batch(&self, numbers: &[u32], docs: &Queries) -> Self {
        let mut preferences = Vec::new();
        for (&number, docs) in numbers.iter().zip(docs.ranges()) {
            let start = self.queries.range(number as usize).start;
            let moved = |doc: u32| (doc as usize - start + docs.start) as u32;
            preferences.extend(self.of_query(number as usize).iter().map(|preference| {
                let Preference { better, worse, .. } = *preference;
                Preference { better: moved(better), worse: moved(worse), ..*preference }
            }));
        }
        Self { sigma: self.sigma, preferences, queries: docs.clone() }
    }

    /// The preferences of a query. They are in the order of queries, though not of docs.
    pub(crate) fn of_query(&self, query: usize) -> &[Preference] {
        let Range { start, end } = self.queries.range(query);
        let before = |doc| self.preferences.partition_point(|pair| (pair.better as usize) < doc);
        &self.preferences[before(start)..before(end)]
    }

    /// All preferences, query by query.
    pub(crate) fn preferences(&self) -> &[Preference] {
        &self.preferences
    }
}

/// The order of two preferences between the same docs.
fn values(a: &Preference, b: &Preference) -> Ordering {
    a.probability.total_cmp(&b.probability).then(a.weight.total_cmp(&b.weight))
}

fn check(at: usize, preference: &Preference, queries: &Queries) -> Result<()> {
    let Preference { better, worse, probability, weight } = *preference;
    let what = |what: &str| format!("{what} of preference[{at}]");
    let docs = queries.num_docs();
    for doc in [better, worse] {
        if doc as usize >= docs {
            return Err(Error::data("preference.doc", what("a doc"))
                .got(doc)
                .expected(format!("a number below {docs}, the number of docs")));
        }
    }
    let [query, other] = [better, worse].map(|doc| queries.of_doc(doc as usize));
    if query != other || better == worse {
        return Err(Error::data("preference.pair", what("the docs"))
            .query(query)
            .got(format!("docs {better} and {worse}"))
            .expected("two docs of one query"));
    }
    if !(0.0..=1.0).contains(&probability) {
        return Err(Error::data("preference.probability", what("the probability"))
            .query(query)
            .got(probability)
            .expected("a number from 0 to 1"));
    }
    if !(0.0..f64::INFINITY).contains(&weight) {
        return Err(Error::data("preference.weight", what("the weight"))
            .query(query)
            .got(weight)
            .expected("a finite number >= 0"));
    }
    Ok(())
}

impl Objective for PreferenceNet {
    fn compute(&self, call: GradientCall<'_>, gradients: &mut [Gradient]) -> Result<()> {
        let target = call.target;
        if target.queries != &self.queries {
            return Err(Error::data("preference.queries", "the preferences are of other queries")
                .got(format!("{} docs", target.queries.num_docs()))
                .expected(format!("the {} docs they were given for", self.queries.num_docs())));
        }
        let one = |sums: &mut Vec<[f64; 2]>, query: Query<'_>, gradients: &mut [Gradient]| {
            self.query(sums, query, gradients)
        };
        let cost = |docs: usize| 100 * docs as u64;
        for_each_query(call, gradients, cost, one)
    }
}

impl PreferenceNet {
    fn query(
        &self,
        sums: &mut Vec<[f64; 2]>,
        query: Query<'_>,
        gradients: &mut [Gradient],
    ) -> Result<()> {
        query.check_scores()?;
        sums.clear();
        sums.resize(gradients.len(), [0.0; 2]);
        let start = self.queries.range(query.number).start;
        for preference in self.of_query(query.number) {
            let [a, b] = [preference.better, preference.worse].map(|doc| doc as usize - start);
            let o = self.sigma * (query.scores[a] - query.scores[b]);
            // Without cancellation.
            let odds = (-o.abs()).exp();
            let (small, large) = (odds / (1.0 + odds), 1.0 / (1.0 + odds));
            let (q, rest) = if o < 0.0 { (small, large) } else { (large, small) };
            let p = preference.probability;
            let grad = self.sigma * preference.weight * ((1.0 - p) * q - p * rest);
            let hess = self.sigma * self.sigma * preference.weight * small * large;
            sums[a] = [sums[a][0] + grad, sums[a][1] + hess];
            sums[b] = [sums[b][0] - grad, sums[b][1] + hess];
        }
        query.write(sums, [1.0; 2], gradients)
    }
}
