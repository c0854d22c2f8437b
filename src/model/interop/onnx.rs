//! ONNX: one `TreeEnsembleRegressor`, from `features` (singles) to `score`. Written only.
//!
//! Values are compared as singles, which our thresholds are, and missing values go where the tree
//! learned; what runs the file may sum in singles. Sets of categories, zeros that count as missing
//! and parts that are no trees are refused.

use super::super::composite::Model;
use super::super::parts::at_most;
use super::super::tree::{Child, Split, Tree};
use super::flat::{Flat, flat_in_singles};
use crate::error::Result;

/// The model as the bytes of an ONNX file.
pub fn write(model: &Model) -> Result<Vec<u8>> {
    let Flat { intercept, trees } = flat_in_singles(model, "an ONNX tree ensemble")?;
    let nodes: Vec<_> = (0..).zip(&trees).flat_map(|(number, tree)| nodes(number, tree)).collect();
    let mut ensemble = Message::default().text(1, "features").text(2, "score").text(3, "trees");
    ensemble = ensemble.text(4, "TreeEnsembleRegressor").text(7, "ai.onnx.ml");
    for attribute in attributes(&nodes, intercept as f32) {
        ensemble = ensemble.message(5, &attribute);
    }
    let tables = [table("features", model.num_features() as u64), table("score", 1)];
    let graph = Message::default().message(1, &ensemble).text(2, "rustrank");
    let graph = graph.message(11, &tables[0]).message(12, &tables[1]);
    let operators = |domain, version| Message::default().text(1, domain).number(2, version);
    let file = Message::default().number(1, 8).text(2, "rustrank").message(7, &graph);
    Ok(file.message(8, &operators("", 15)).message(8, &operators("ai.onnx.ml", 3)).bytes)
}

/// A named table of singles with any number of rows.
fn table(name: &str, columns: u64) -> Message {
    let (rows, width) = (Message::default().text(2, "docs"), Message::default().number(1, columns));
    let shape = Message::default().message(1, &rows).message(1, &width);
    let tensor = Message::default().number(1, 1).message(2, &shape);
    let kind = Message::default().message(1, &tensor);
    Message::default().text(1, name).message(2, &kind)
}

/// An entry of the lists of an ensemble.
struct OnnxNode<'a> {
    tree: i64,
    /// Splits count first, then leaves.
    number: i64,
    num_splits: i64,
    split: Option<&'a Split>,
    /// 0 in a split.
    value: f64,
}

fn nodes(tree: i64, of: &Tree) -> impl Iterator<Item = OnnxNode<'_>> {
    let splits = of.splits().iter().map(|split| (Some(split), 0.0));
    let leaves = of.leaves().iter().map(|leaf| (None, leaf.value));
    let num_splits = i64::from(of.splits().len() as u32);
    let node = move |(number, (split, value))| OnnxNode { tree, number, num_splits, split, value };
    (0..).zip(splits.chain(leaves)).map(node)
}

impl OnnxNode<'_> {
    /// An attribute of a split, 0 of a leaf.
    fn of_split(&self, field: impl Fn(&Split) -> i64) -> i64 {
        self.split.map_or(0, field)
    }

    fn child(&self, child: impl Fn(&Split) -> Child) -> i64 {
        self.of_split(|split| match child(split) {
            Child::Split(at) => i64::from(at),
            Child::Leaf(at) => self.num_splits + i64::from(at),
        })
    }
}

fn attributes(nodes: &[OnnxNode<'_>], intercept: f32) -> Vec<Message> {
    let all = || nodes.iter();
    let leaves = || all().filter(|node| node.split.is_none());
    let threshold = |node: &OnnxNode<'_>| node.split.map_or(0.0, |split| at_most(split.threshold));
    let mode = |node: &OnnxNode<'_>| if node.split.is_some() { "BRANCH_LEQ" } else { "LEAF" };
    let missing_left = |node: &OnnxNode<'_>| node.of_split(|split| i64::from(split.missing_left));
    vec![
        integers("nodes_treeids", all().map(|node| node.tree)),
        integers("nodes_nodeids", all().map(|node| node.number)),
        integers("nodes_featureids", all().map(|n| n.of_split(|split| i64::from(split.feature)))),
        floats("nodes_values", all().map(threshold)),
        texts("nodes_modes", all().map(mode)),
        integers("nodes_truenodeids", all().map(|node| node.child(|split| split.left))),
        integers("nodes_falsenodeids", all().map(|node| node.child(|split| split.right))),
        integers("nodes_missing_value_tracks_true", all().map(missing_left)),
        integers("target_treeids", leaves().map(|node| node.tree)),
        integers("target_nodeids", leaves().map(|node| node.number)),
        integers("target_ids", leaves().map(|_| 0)),
        floats("target_weights", leaves().map(|node| node.value as f32)),
        floats("base_values", [intercept].into_iter()),
        Message::default().text(1, "n_targets").number(3, 1).number(20, 2),
    ]
}

fn integers(name: &str, values: impl Iterator<Item = i64>) -> Message {
    let packed =
        values.fold(Message::default(), |packed, value| packed.varint(value.cast_unsigned()));
    Message::default().text(1, name).message(8, &packed).number(20, 7)
}

fn floats(name: &str, values: impl Iterator<Item = f32>) -> Message {
    let packed = Message { bytes: values.flat_map(f32::to_le_bytes).collect() };
    Message::default().text(1, name).message(7, &packed).number(20, 6)
}

fn texts(name: &str, values: impl Iterator<Item = &'static str>) -> Message {
    let named = Message::default().text(1, name);
    values.fold(named, |all, value| all.text(9, value)).number(20, 8)
}

/// A message in the wire format of protocol buffers.
#[derive(Default)]
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn varint(mut self, mut value: u64) -> Self {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
        self
    }

    fn number(self, field: u64, value: u64) -> Self {
        self.varint(field << 3).varint(value)
    }

    fn data(self, field: u64, data: &[u8]) -> Self {
        let mut message = self.varint(field << 3 | 2).varint(data.len() as u64);
        message.bytes.extend_from_slice(data);
        message
    }

    fn text(self, field: u64, text: &str) -> Self {
        self.data(field, text.as_bytes())
    }

    fn message(self, field: u64, message: &Self) -> Self {
        self.data(field, &message.bytes)
    }
}
