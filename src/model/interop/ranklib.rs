//! RankLib's XML, as search engines' plug-ins read it. Written only.
//!
//! Features count from 1 and a value at most the threshold goes left, as here. A missing value is 0
//! there, whatever the tree learned: a model that was trained on data with missing values scores
//! differently. What a plug-in compares as singles is exact here too, since our thresholds are.
//! RankLib's ensembles have no intercept: it becomes a tree of its own, with two equal leaves.

use super::super::composite::Model;
use super::super::tree::{Child, Tree};
use super::super::write::put;
use super::flat::{Flat, flat};
use crate::error::Result;

/// The model as RankLib's XML.
pub fn write(model: &Model) -> Result<String> {
    let Flat { intercept, trees } = flat(model, "RankLib's XML")?;
    let constant = (intercept != 0.0).then(|| Tree::constant(intercept));
    let mut text = String::from("## LambdaMART\n## written by rustrank\n\n<ensemble>\n");
    for (number, tree) in (1..).zip(constant.iter().chain(&trees)) {
        put(&mut text, format_args!("\t<tree id=\"{number}\" weight=\"1.0\">\n\t\t<split>\n"));
        match tree.root() {
            Child::Leaf(_) => equal(&mut text, tree.leaves()[0].value),
            root @ Child::Split(_) => node(&mut text, tree, root),
        }
        text.push_str("\t\t</split>\n\t</tree>\n");
    }
    text.push_str("</ensemble>\n");
    Ok(text)
}

/// A split whose sides are equal.
fn equal(text: &mut String, value: f64) {
    text.push_str("\t\t\t<feature> 1 </feature>\n\t\t\t<threshold> 0.0 </threshold>\n");
    for pos in ["left", "right"] {
        let output = format!("\t\t\t\t<output> {value:?} </output>\n");
        put(text, format_args!("\t\t\t<split pos=\"{pos}\">\n{output}\t\t\t</split>\n"));
    }
}

/// What stands inside the `split` of a node.
fn node(text: &mut String, tree: &Tree, root: Child) {
    enum XmlStep {
        Open(Child, usize),
        Text(&'static str, usize),
    }
    let mut open = vec![XmlStep::Open(root, 3)];
    while let Some(step) = open.pop() {
        match step {
            XmlStep::Text(line, depth) => {
                put(text, format_args!("{:\t<depth$}{line}\n", ""));
            }
            XmlStep::Open(Child::Leaf(at), depth) => {
                let value = tree.leaves()[at as usize].value;
                put(text, format_args!("{:\t<depth$}<output> {value:?} </output>\n", ""));
            }
            XmlStep::Open(Child::Split(at), depth) => {
                let split = &tree.splits()[at as usize];
                let feature = u64::from(split.feature) + 1;
                put(text, format_args!("{:\t<depth$}<feature> {feature} </feature>\n", ""));
                let threshold = split.threshold;
                put(text, format_args!("{:\t<depth$}<threshold> {threshold:?} </threshold>\n", ""));
                open.extend([
                    XmlStep::Text("</split>", depth),
                    XmlStep::Open(split.right, depth + 1),
                    XmlStep::Text("<split pos=\"right\">", depth),
                    XmlStep::Text("</split>", depth),
                    XmlStep::Open(split.left, depth + 1),
                    XmlStep::Text("<split pos=\"left\">", depth),
                ]);
            }
        }
    }
}
