//! [`Documents`]: what every dataset knows of its documents and queries, whatever it keeps of their values.

use super::builder::{ExtraLabels, RowData};
use super::content_order::ContentOrder;
use crate::Queries;
use crate::error::{Error, Result};
use std::ops::Range;

/// Labels, queries and weights of documents, in an order of their content; `rows` and `query_of` map
/// documents and queries to the caller's numbers.
#[derive(Debug)]
pub struct Documents {
    order: ContentOrder,
    labels: Vec<f32>,
    row_weight: Option<Vec<f64>>,
    query_weight: Option<Vec<f64>>,
    base_score: Option<Vec<f64>>,
    position: Option<Vec<u32>>,
    extra_labels: Vec<ExtraLabels>,
}

impl Documents {
    /// The rows of `data` in this order.
    pub(super) fn new(order: ContentOrder, data: RowData) -> Self {
        let gather = |values: Vec<f64>| order.grouping.gather(&values);
        let gathered = |ExtraLabels { name, values }| {
            let values: Vec<f32> = order.grouping.gather(&values);
            ExtraLabels { name, values: values.into_iter().map(|label| label + 0.0).collect() }
        };
        let by_query = |w: Vec<f64>| order.query_of.iter().map(|&q| w[q as usize]).collect();
        Self {
            labels: order.grouping.rows.iter().map(|&r| data.labels[r as usize] + 0.0).collect(),
            row_weight: data.row_weight.map(gather),
            query_weight: data.query_weight.map(by_query),
            base_score: data.base_score.map(gather),
            position: data.position.map(|position| order.grouping.gather(&position)),
            extra_labels: data.extra_labels.into_iter().map(gathered).collect(),
            order,
        }
    }

    /// Some documents, which make whole queries, in this order.
    pub(super) fn gathered(&self, order: ContentOrder, queries: &[u32], docs: &[u32]) -> Self {
        Self {
            labels: of(&self.labels, docs),
            row_weight: self.row_weight.as_deref().map(|weight| of(weight, docs)),
            query_weight: self.query_weight.as_deref().map(|weight| of(weight, queries)),
            base_score: self.base_score.as_deref().map(|scores| of(scores, docs)),
            position: self.position.as_deref().map(|position| of(position, docs)),
            extra_labels: (self.extra_labels.iter())
                .map(|ExtraLabels { name, values }| ExtraLabels {
                    name: name.clone(),
                    values: of(values, docs),
                })
                .collect(),
            order,
        }
    }

    /// The number of documents.
    pub fn num_docs(&self) -> usize {
        self.labels.len()
    }

    /// The label of each document.
    pub fn labels(&self) -> &[f32] {
        &self.labels
    }

    /// The documents of each query.
    pub fn queries(&self) -> &Queries {
        &self.order.grouping.queries
    }

    /// The caller's row of each document.
    pub fn rows(&self) -> &[u32] {
        &self.order.grouping.rows
    }

    /// The caller's number of each query.
    pub fn query_of(&self) -> &[u32] {
        &self.order.query_of
    }

    /// A hash of each document's content without its further labels, which identifies it in random draws.
    pub fn doc_hash(&self) -> &[u64] {
        &self.order.doc_hash
    }

    /// A hash of each query's content without further labels.
    pub fn query_hash(&self) -> &[u64] {
        &self.order.query_hash
    }

    /// How many queries have the content of a query of `other`, and how many queries were looked at.
    ///
    /// Queries whose documents are all alike, and queries of which there are copies here, are left out: they
    /// coincide by chance. Both datasets must have the same bins.
    pub fn shared_queries(&self, other: &Self) -> (usize, usize) {
        let (own, theirs) = (self.query_hash(), other.query_hash());
        let (mut shared, mut looked_at, mut place) = (0, 0, 0);
        for (query, docs) in self.queries().ranges().enumerate() {
            let hash = own[query];
            let is_copy =
                (query > 0 && own[query - 1] == hash) || own.get(query + 1) == Some(&hash);
            let is_uniform = self.doc_hash()[docs].windows(2).all(|pair| pair[0] == pair[1]);
            if is_copy || is_uniform {
                continue;
            }
            place += theirs[place..].iter().take_while(|&&one| one < hash).count();
            looked_at += 1;
            shared += usize::from(theirs.get(place) == Some(&hash));
        }
        (shared, looked_at)
    }

    /// The first copy of each document: the same for documents with the same content in queries with the
    /// same content, whose order is that of the caller's rows.
    pub(crate) fn first_copies(&self) -> Vec<u32> {
        let (doc_hash, query_hash) = (self.doc_hash(), self.query_hash());
        let (mut first, mut origin) = (Vec::with_capacity(doc_hash.len()), 0);
        for (query, docs) in self.queries().ranges().enumerate() {
            if query == 0 || query_hash[query] != query_hash[query - 1] {
                origin = docs.start;
            }
            for doc in docs.clone() {
                let is_copy = doc > docs.start && doc_hash[doc] == doc_hash[doc - 1];
                first.push(if is_copy {
                    first[doc - 1]
                } else {
                    (origin + doc - docs.start) as u32
                });
            }
        }
        first
    }

    /// A checksum of all queries with all labels, whatever their order.
    pub(crate) fn checksum(&self) -> u64 {
        self.order.checksum
    }

    /// The weight of each document, if given.
    pub fn row_weight(&self) -> Option<&[f64]> {
        self.row_weight.as_deref()
    }

    /// The weight of each query, if given.
    pub fn query_weight(&self) -> Option<&[f64]> {
        self.query_weight.as_deref()
    }

    /// The score of each document that training starts from, if given.
    pub fn base_score(&self) -> Option<&[f64]> {
        self.base_score.as_deref()
    }

    /// The position at which each document was shown, from 1, if given.
    pub fn position(&self) -> Option<&[u32]> {
        self.position.as_deref()
    }

    /// The names of the further labels.
    pub fn extra_label_names(&self) -> impl Iterator<Item = &str> {
        self.extra_labels.iter().map(|extra| extra.name.as_str())
    }

    /// The further labels of that name; an error that lists all names if there are none.
    pub fn extra_labels(&self, name: &str) -> Result<&[f32]> {
        let found = self.extra_labels.iter().find(|extra| extra.name == name);
        found.map(|extra| &*extra.values).ok_or_else(|| {
            let known: Vec<&str> = self.extra_label_names().collect();
            let expected = if known.is_empty() {
                "none: there are no extra labels".to_owned()
            } else {
                known.join(", ")
            };
            Error::data("extra_labels", format!("the dataset has no labels called {name}"))
                .expected(expected)
                .hint(format!("make the dataset with extra_labels={{\"{name}\": ...}}"))
        })
    }

    /// `values[doc]` in the order of the caller's rows.
    pub fn by_row<T: Copy + Default>(&self, values: &[T]) -> Vec<T> {
        self.order.grouping.scatter(values)
    }

    /// Makes an error about documents and queries name the caller's rows and queries.
    pub(crate) fn name_caller_rows<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.with_caller_rows(self.rows(), self.query_of()))
    }

    /// An error unless some query has two different labels, which every ranking loss needs.
    pub fn require_pairs(&self) -> Result<()> {
        let queries = self.queries();
        let mixed = |docs: Range<usize>| self.labels[docs].windows(2).any(|p| p[0] != p[1]);
        if queries.ranges().any(mixed) {
            return Ok(());
        }
        let what = if queries.len() == queries.num_docs() {
            "no pairs to learn from: every query has one document"
        } else {
            "no pairs to learn from: in every query all labels are equal"
        };
        Err(Error::data("pairs", what).hint(
            "check the labels, and that `qid` or `group` puts the documents of a query together",
        ))
    }

    /// The bytes of memory.
    pub(super) fn memory(&self) -> usize {
        let floats = [&self.row_weight, &self.query_weight, &self.base_score];
        let floats: usize = floats.into_iter().flatten().map(|values| 8 * values.len()).sum();
        let places = self.position.as_ref().map_or(0, |places| 4 * places.len());
        self.num_docs() * (4 + 4 + 8 + 4 * self.extra_labels.len())
            + self.queries().len() * 20
            + floats
            + places
    }
}

/// The values at some places.
fn of<T: Copy>(values: &[T], places: &[u32]) -> Vec<T> {
    places.iter().map(|&place| values[place as usize]).collect()
}
