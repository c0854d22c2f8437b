//! RankLib's XML, as search engines' plug-ins read it. Written only.
//!
//! Features count from 1 and a value at most the threshold goes left, as here. A missing value is 0
//! there, whatever the tree learned: a model that was trained on data with missing values scores
//! differently, and where a split only tells missing values from known ones, all finite values go with the known ones.
//! What a plug-in compares as singles is exact here too, since our thresholds are.
//! RankLib's ensembles have no intercept: it becomes a tree of its own, with two equal leaves.

use super::super::composite::Model;
use super::super::tree::{Child, Leaf, Split, Tree};
use super::super::write::put;
use super::flat::{Flat, flat};
use crate::error::Result;

/// The model as RankLib's XML.
pub fn write(model: &Model) -> Result<String> {
    let Flat { intercept, trees } = flat(model, "RankLib's XML")?;
    let constant = (intercept != 0.0).then(|| Tree::constant(intercept));
    let trees = constant.into_iter().chain(trees);
    let mut text = String::from("## LambdaMART\n## written by rustrank\n\n<ensemble>\n");
    for (number, tree) in (1..).zip(trees) {
        put(&mut text, format_args!("\t<tree id=\"{number}\" weight=\"1.0\">\n\t\t<split>\n"));
        let tree = if tree.splits().is_empty() { equal(tree.leaves()[0]) } else { tree };
        node(&mut text, &tree);
        text.push_str("\t\t</split>\n\t</tree>\n");
    }
    text.push_str("</ensemble>\n");
    Ok(text)
}

/// A split whose sides are equal.
fn equal(leaf: Leaf) -> Tree {
    Tree::new(vec![Split { right: Child::Leaf(1), ..Split::default() }], vec![leaf; 2])
}

/// Lines further inside stand no further to the right: else the text of a deep tree would grow with the square of
/// its depth.
const WIDEST: usize = 64;

/// What stands inside the `split` of a tree.
fn node(text: &mut String, tree: &Tree) {
    enum XmlStep {
        Open(Child, usize),
        Text(&'static str, usize),
    }
    let mut open = vec![XmlStep::Open(tree.root(), 3)];
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
                let inside = (depth + 1).min(WIDEST);
                put(text, format_args!("{:\t<depth$}<feature> {feature} </feature>\n", ""));
                // An infinite one has all known values below it; Java knows another word for it.
                let all = split.threshold == f64::INFINITY;
                let threshold = if all { f64::from(f32::MAX) } else { split.threshold };
                put(text, format_args!("{:\t<depth$}<threshold> {threshold:?} </threshold>\n", ""));
                open.extend([
                    XmlStep::Text("</split>", depth),
                    XmlStep::Open(split.right, inside),
                    XmlStep::Text("<split pos=\"right\">", depth),
                    XmlStep::Text("</split>", depth),
                    XmlStep::Open(split.left, inside),
                    XmlStep::Text("<split pos=\"left\">", depth),
                ]);
            }
        }
    }
}
