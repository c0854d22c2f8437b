//! RankLib's XML, as search engines' plug-ins read it. Written only.
//!
//! Features count from 1 and a value at most the threshold goes left, as here. A missing value is 0
//! there, whatever the tree learned: a model that was trained on data with missing values scores
//! differently. What a plug-in compares as singles is exact here too, since our thresholds are.
//! RankLib's ensembles have no intercept: it becomes a tree of its own, with two equal leaves.

use super::super::composite::Model;
use super::super::tree::{Child, Tree};
use super::flat::{Flat, flat};
use crate::error::Result;
use std::fmt::Write;

/// The model as RankLib's XML.
pub fn write(model: &Model) -> Result<String> {
    let Flat { intercept, trees } = flat(model, "RankLib's XML")?;
    let mut text = String::from("## LambdaMART\n## written by rustrank\n\n<ensemble>\n");
    let mut number = 0;
    let mut put = |body: String| {
        number += 1;
        text.push_str(&format_tree(number, &body));
    };
    if intercept != 0.0 {
        put(equal(intercept));
    }
    for tree in &trees {
        put(match tree.splits() {
            [] => equal(tree.leaves()[0].value),
            _ => node(tree, Child::Split(0)),
        });
    }
    text.push_str("</ensemble>\n");
    Ok(text)
}

fn format_tree(number: usize, body: &str) -> String {
    format!("\t<tree id=\"{number}\" weight=\"1.0\">\n\t\t<split>\n{body}\t\t</split>\n\t</tree>\n")
}

/// A split whose sides are equal.
fn equal(value: f64) -> String {
    let side = |pos| {
        format!(
            "\t\t\t<split pos=\"{pos}\">\n\t\t\t\t<output> {value:?} </output>\n\t\t\t</split>\n"
        )
    };
    let head = "\t\t\t<feature> 1 </feature>\n\t\t\t<threshold> 0.0 </threshold>\n";
    format!("{head}{}{}", side("left"), side("right"))
}

/// What stands inside the `split` of a node.
fn node(tree: &Tree, root: Child) -> String {
    enum XmlStep {
        Open(Child, usize),
        Text(&'static str, usize),
    }
    let mut text = String::new();
    let mut open = vec![XmlStep::Open(root, 3)];
    while let Some(step) = open.pop() {
        match step {
            XmlStep::Text(line, depth) => {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{:\t<depth$}{line}", "");
            }
            XmlStep::Open(Child::Leaf(at), depth) => {
                let value = tree.leaves()[at as usize].value;
                let _ = writeln!(text, "{:\t<depth$}<output> {value:?} </output>", "");
            }
            XmlStep::Open(Child::Split(at), depth) => {
                let split = &tree.splits()[at as usize];
                let feature = u64::from(split.feature) + 1;
                let _ = writeln!(text, "{:\t<depth$}<feature> {feature} </feature>", "");
                let threshold = split.threshold;
                let _ = writeln!(text, "{:\t<depth$}<threshold> {threshold:?} </threshold>", "");
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
    text
}
