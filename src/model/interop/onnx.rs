//! ONNX: one `TreeEnsembleRegressor`, from `features` (singles) to `score`. Written only.
//!
//! Values are compared as singles, which our thresholds are, and missing values go where the tree
//! learned; what runs the file may sum in singles. Sets of categories, zeros that count as missing
//! and parts that are no trees are refused.

use super::super::composite::Model;
use super::super::tree::{Child, Tree};
use super::flat::{Flat, flat};
use crate::error::Result;

/// The model as the bytes of an ONNX file.
pub fn write(model: &Model) -> Result<Vec<u8>> {
    let Flat { intercept, trees } = flat(model, "an ONNX tree ensemble")?;
    let mut nodes = OnnxNodes::default();
    for (id, tree) in (0..).zip(&trees) {
        nodes.push(id, tree);
    }
    let mut ensemble = Message::default();
    ensemble.text(1, "features").text(2, "score").text(3, "trees");
    ensemble.text(4, "TreeEnsembleRegressor").text(7, "ai.onnx.ml");
    for attribute in nodes.attributes(intercept as f32) {
        ensemble.message(5, &attribute);
    }
    let mut graph = Message::default();
    graph.message(1, &ensemble).text(2, "rustrank");
    graph.message(11, &table("features", model.num_features() as u64));
    graph.message(12, &table("score", 1));
    let operators = |domain, version| {
        let mut operators = Message::default();
        operators.text(1, domain).number(2, version);
        operators
    };
    let mut file = Message::default();
    file.number(1, 8).text(2, "rustrank").message(7, &graph);
    file.message(8, &operators("", 15)).message(8, &operators("ai.onnx.ml", 3));
    Ok(file.bytes)
}

/// A named table of singles with any number of rows.
fn table(name: &str, columns: u64) -> Message {
    let (mut rows, mut width) = (Message::default(), Message::default());
    rows.text(2, "docs");
    width.number(1, columns);
    let mut shape = Message::default();
    shape.message(1, &rows).message(1, &width);
    let mut tensor = Message::default();
    tensor.number(1, 1).message(2, &shape);
    let (mut kind, mut info) = (Message::default(), Message::default());
    kind.message(1, &tensor);
    info.text(1, name).message(2, &kind);
    info
}

/// The lists of an ensemble, an entry a node or a leaf.
#[derive(Default)]
struct OnnxNodes {
    trees: Vec<i64>,
    ids: Vec<i64>,
    features: Vec<i64>,
    thresholds: Vec<f32>,
    modes: Vec<&'static str>,
    left: Vec<i64>,
    right: Vec<i64>,
    missing_left: Vec<i64>,
    leaf_trees: Vec<i64>,
    leaf_ids: Vec<i64>,
    values: Vec<f32>,
}

impl OnnxNodes {
    /// Splits first, then leaves.
    fn push(&mut self, id: i64, tree: &Tree) {
        let count = tree.splits().len() as u32;
        let number = |child: Child| match child {
            Child::Split(at) => i64::from(at),
            Child::Leaf(at) => i64::from(count) + i64::from(at),
        };
        for (at, split) in tree.splits().iter().enumerate() {
            let near = split.threshold as f32;
            let above = f64::from(near) > split.threshold;
            self.node(id, at as u32, "BRANCH_LEQ");
            self.features.push(i64::from(split.feature));
            self.thresholds.push(if above { near.next_down() } else { near });
            self.left.push(number(split.left));
            self.right.push(number(split.right));
            self.missing_left.push(i64::from(split.missing_left));
        }
        for (at, leaf) in tree.leaves().iter().enumerate() {
            let node = count + at as u32;
            self.node(id, node, "LEAF");
            for list in [&mut self.features, &mut self.left, &mut self.right] {
                list.push(0);
            }
            self.thresholds.push(0.0);
            self.missing_left.push(0);
            self.leaf_trees.push(id);
            self.leaf_ids.push(i64::from(node));
            self.values.push(leaf.value as f32);
        }
    }

    fn node(&mut self, tree: i64, node: u32, mode: &'static str) {
        self.trees.push(tree);
        self.ids.push(i64::from(node));
        self.modes.push(mode);
    }

    fn attributes(&self, intercept: f32) -> Vec<Message> {
        let none = vec![0; self.values.len()];
        let mut target_count = Message::default();
        target_count.text(1, "n_targets").number(3, 1).number(20, 2);
        vec![
            integers("nodes_treeids", &self.trees),
            integers("nodes_nodeids", &self.ids),
            integers("nodes_featureids", &self.features),
            floats("nodes_values", &self.thresholds),
            texts("nodes_modes", &self.modes),
            integers("nodes_truenodeids", &self.left),
            integers("nodes_falsenodeids", &self.right),
            integers("nodes_missing_value_tracks_true", &self.missing_left),
            integers("target_treeids", &self.leaf_trees),
            integers("target_nodeids", &self.leaf_ids),
            integers("target_ids", &none),
            floats("target_weights", &self.values),
            floats("base_values", &[intercept]),
            target_count,
        ]
    }
}

fn integers(name: &str, values: &[i64]) -> Message {
    let mut packed = Message::default();
    for value in values {
        packed.varint(value.cast_unsigned());
    }
    let mut attribute = Message::default();
    attribute.text(1, name).message(8, &packed).number(20, 7);
    attribute
}

fn floats(name: &str, values: &[f32]) -> Message {
    let packed = Message { bytes: values.iter().flat_map(|value| value.to_le_bytes()).collect() };
    let mut attribute = Message::default();
    attribute.text(1, name).message(7, &packed).number(20, 6);
    attribute
}

fn texts(name: &str, values: &[&str]) -> Message {
    let mut attribute = Message::default();
    attribute.text(1, name);
    for value in values {
        attribute.text(9, value);
    }
    attribute.number(20, 8);
    attribute
}

/// A message in the wire format of protocol buffers.
#[derive(Default)]
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) -> &mut Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn data(&mut self, field: u64, data: &[u8]) -> &mut Self {
        self.varint(field << 3 | 2);
        self.varint(data.len() as u64);
        self.bytes.extend_from_slice(data);
        self
    }

    fn text(&mut self, field: u64, text: &str) -> &mut Self {
        self.data(field, text.as_bytes())
    }

    fn message(&mut self, field: u64, message: &Self) -> &mut Self {
        self.data(field, &message.bytes)
    }
}
