//! Writes a model as text; [`format`](super::format) has the grammar.

use super::composite::{Component, Model};
use super::format::{MAGIC, VERSION, checksum_line, escape};
use super::normalisation::Normalisation;
use std::fmt::{self, Debug, Write};

impl Model {
    /// The model as text, the content of a model file. Equal models have equal texts.
    pub fn to_text(&self) -> String {
        let mut body = String::new();
        model(&mut body, self);
        let after = body.len() + checksum_line(&[]).len();
        let mut text = format!("{MAGIC}{VERSION}\nbytes {after}\n{body}");
        text.push_str(&checksum_line(text.as_bytes()));
        text
    }
}

/// Appends formatted text.
pub(super) fn put(text: &mut String, what: fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a string takes all that is written");
}

pub(super) fn model(text: &mut String, model: &Model) {
    let ranks = if model.ranks_features() { " ranks" } else { "" };
    put(text, format_args!("features {}{ranks}\n", model.num_features()));
    let names = model.feature_names().unwrap_or_default();
    put(text, format_args!("names {}\n", names.len()));
    for name in names {
        put(text, format_args!("{}\n", escape(name, false)));
    }
    put(text, format_args!("attributes {}\n", model.attributes().len()));
    for (name, value) in model.attributes() {
        put(text, format_args!("{} {}\n", escape(name, true), escape(value, false)));
    }
    put(text, format_args!("intercept {:?}\n", model.intercept()));
    put(text, format_args!("components {}\n", model.components().len()));
    for each in model.components() {
        component(text, each);
    }
}

fn component(text: &mut String, component: &Component) {
    put(text, format_args!("component {:?} ", component.weight));
    normalise(text, component.normalisation);
    component.part.kind().write(text);
}

/// A normalisation, at the end of a line.
pub(super) fn normalise(text: &mut String, normalisation: Normalisation) {
    if let Normalisation::Fixed { mean, scale } = normalisation {
        return put(text, format_args!("fixed {mean:?} {scale:?}\n"));
    }
    put(text, format_args!("{}\n", normalisation.name().unwrap_or_default()));
}

/// Numbers, at the end of a line.
pub(super) fn list(text: &mut String, items: impl IntoIterator<Item: Debug>) {
    for item in items {
        put(text, format_args!(" {item:?}"));
    }
    text.push('\n');
}
