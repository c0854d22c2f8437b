//! A model to text; [`format`](super::format) has the grammar.

use super::classes::{Classes, Link};
use super::composite::{Component, Model, Part};
use super::forest::{Cells, Forest};
use super::format::{MAGIC, VERSION, checksum_line, escape};
use super::linear::Linear;
use super::mlp::Mlp;
use super::normalisation::Normalisation;
use super::stack::Stack;
use super::tree::{Child, Tree};
use std::fmt::{self, Display, Write};

impl Model {
    /// The model as text, which is what a file of it holds. Equal models have equal texts.
    pub fn to_text(&self) -> String {
        let mut body = String::new();
        model(&mut body, self);
        let after = body.len() + checksum_line(&[]).len();
        let mut text = format!("{MAGIC}{VERSION}\nbytes {after}\n{body}");
        text.push_str(&checksum_line(text.as_bytes()));
        text
    }
}

/// Writing to a `String` cannot fail.
fn put(text: &mut String, what: fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a string takes all that is written");
}

fn model(text: &mut String, model: &Model) {
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
    match &component.part {
        Part::Forest(part) => forest(text, part),
        Part::Linear(part) => linear(text, part),
        Part::Classes(part) => classes(text, part),
        Part::Mlp(part) => mlp(text, part),
        Part::Model(part) => {
            text.push_str("model\n");
            model(text, part);
        }
        Part::Stack(part) => stack(text, part),
    }
}

/// The rest of a line.
fn normalise(text: &mut String, normalisation: Normalisation) {
    if let Normalisation::Fixed { mean, scale } = normalisation {
        return put(text, format_args!("fixed {mean:?} {scale:?}\n"));
    }
    put(text, format_args!("{}\n", normalisation.name().unwrap_or_default()));
}

fn stack(text: &mut String, stack: &Stack) {
    text.push_str(if stack.own() { "stack own\n" } else { "stack alone\n" });
    put(text, format_args!("rankers {}\n", stack.rankers().len()));
    for ranker in stack.rankers() {
        text.push_str("ranker ");
        normalise(text, ranker.normalisation);
        model(text, &ranker.model);
    }
    put(text, format_args!("derived {}\n", stack.derived().len()));
    for derived in stack.derived() {
        put(text, format_args!("{} {}\n", derived.ranker, derived.statistic));
    }
    model(text, stack.outer());
}

fn forest(text: &mut String, forest: &Forest) {
    let cells = match forest.cells() {
        Cells::F32 => "f32",
        Cells::F64 => "f64",
    };
    put(text, format_args!("forest {cells} {}\n", forest.trees().len()));
    put(text, format_args!("zeros {}", forest.zero_is_missing().len()));
    list(text, forest.zero_is_missing());
    put(text, format_args!("sets {}\n", forest.sets().len()));
    for set in forest.sets() {
        put(text, format_args!("set {} {}", set.feature, set.categories.len()));
        list(text, &set.categories);
    }
    for each in forest.trees() {
        tree(text, each);
    }
}

/// The rest of a line.
fn list(text: &mut String, items: &[impl Display]) {
    for item in items {
        put(text, format_args!(" {item}"));
    }
    text.push('\n');
}

fn tree(text: &mut String, tree: &Tree) {
    put(text, format_args!("tree {}\n", tree.splits().len()));
    for split in tree.splits() {
        put(text, format_args!("{} {:?} ", split.feature, split.threshold));
        text.push_str(if split.missing_left { "l" } else { "r" });
        for child in [split.left, split.right] {
            match child {
                Child::Split(at) => put(text, format_args!(" s{at}")),
                Child::Leaf(at) => put(text, format_args!(" l{at}")),
            }
        }
        put(text, format_args!(" {:?} {:?} {}\n", split.reduction, split.cover, split.docs));
    }
    for leaf in tree.leaves() {
        put(text, format_args!("{:?} {:?} {}\n", leaf.value, leaf.cover, leaf.docs));
    }
}

fn linear(text: &mut String, linear: &Linear) {
    put(text, format_args!("linear {}\n", linear.terms().len()));
    for (feature, weight) in linear.terms() {
        put(text, format_args!("{feature} {weight:?}\n"));
    }
}

fn classes(text: &mut String, classes: &Classes) {
    let link = match classes.expectation().link() {
        Link::Softmax => "softmax",
        Link::Ordinal => "ordinal",
    };
    put(text, format_args!("classes {link} {}\n", classes.classes().len()));
    for class in classes.classes() {
        put(text, format_args!("{:?} {:?}\n", class.label, class.gain));
    }
    put(text, format_args!("starts {}", classes.starts().len()));
    for start in classes.starts() {
        put(text, format_args!(" {start:?}"));
    }
    text.push('\n');
    for each in classes.forests() {
        forest(text, each);
    }
}

fn mlp(text: &mut String, mlp: &Mlp) {
    put(text, format_args!("mlp {:?} {}\n", mlp.limit(), mlp.inputs().len()));
    for input in mlp.inputs() {
        let kind = if input.log { "log" } else { "x" };
        put(text, format_args!("{} {kind} {:?} {:?}\n", input.feature, input.mean, input.scale));
    }
    put(text, format_args!("layers {}\n", mlp.layers().len()));
    for layer in mlp.layers() {
        put(text, format_args!("layer {}\n", layer.biases.len()));
        let before = layer.weights.len() / layer.biases.len();
        for (bias, weights) in layer.biases.iter().zip(layer.weights.chunks(before)) {
            put(text, format_args!("{bias:?}"));
            for weight in weights {
                put(text, format_args!(" {weight:?}"));
            }
            text.push('\n');
        }
    }
}
