//! Splits on categories: which categories go left.
//!
//! Of all ways to divide categories in two, the one that reduces a second-order loss most keeps
//! them in the order of their mean gradient over hessian (Fisher, *On grouping for maximum
//! homogeneity*, 1958). So the categories of a node are sorted by that, and all cuts of the order
//! are tried. With many categories of few documents, some cut looks good by chance. Against that,
//! `smooth` average documents of the node are added to each category before sorting, and as many
//! documents without gradient to each side before a cut is valued.
//!
//! The *pool* is the bin of all other categories together with those that have too few documents in
//! the node. It moves as one, to the side of the categories that the node has never seen. That is
//! the right side, or the complement of the left one: a split names the categories that go left,
//! and no others.

use super::constrained_search::{ConstrainedSearch, FeatureHistogram};
use super::packed_gradients::GradientSums;
use super::split_search::{SearchNode, SearchResult, SplitCandidate, SplitTest, beats};
use crate::error::{Error, Result};

/// How splits on categories are chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct CategoryOptions {
    /// The number of average documents of the node that are added to each category before sorting,
    /// and the number of documents without gradient that are added to each side before a cut is
    /// valued.
    pub smooth: f64,
    /// A category with fewer documents in a node goes where unknown ones go. Documents count by
    /// their hessians, as for `min_leaf_docs`.
    pub min_docs: u32,
    /// The most categories that a split may name.
    pub most: usize,
    /// A node with at most this many categories separates a single one from the rest, without
    /// smoothing.
    pub one_by_one: usize,
}

impl Default for CategoryOptions {
    fn default() -> Self {
        Self { smooth: 10.0, min_docs: 5, most: 32, one_by_one: 4 }
    }
}

impl CategoryOptions {
    /// Returns an error if an option is out of range.
    pub(super) fn check(&self) -> Result<()> {
        if !(self.smooth.is_finite() && self.smooth >= 0.0) {
            return Err(Error::param("category_smooth", "category_smooth is out of range")
                .got(self.smooth)
                .expected("a number from 0 on"));
        }
        if self.most == 0 {
            return Err(Error::param("max_categories", "max_categories is out of range")
                .got(0)
                .expected("at least 1"));
        }
        Ok(())
    }

    /// The options that differ from their defaults, by parameter name.
    pub(crate) fn named(&self) -> Vec<(&'static str, String)> {
        let (default, all) = (Self::default().facts(), self.facts());
        all.into_iter().zip(default).filter(|(own, of)| own != of).map(|(own, _)| own).collect()
    }

    fn facts(&self) -> [(&'static str, String); 4] {
        [
            ("category_smooth", self.smooth.to_string()),
            ("min_category_docs", self.min_docs.to_string()),
            ("max_categories", self.most.to_string()),
            ("category_one_by_one", self.one_by_one.to_string()),
        ]
    }

    /// The names that [`named`](Self::named) can return.
    pub(crate) const NAMES: [&'static str; 4] =
        ["category_smooth", "min_category_docs", "max_categories", "category_one_by_one"];
}

/// Categories that go to the same side.
#[derive(Debug, Clone, Copy)]
struct CategoryGroup {
    ratio: f64,
    sum: u64,
    what: GroupKind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum GroupKind {
    Category(u8),
    HistogramPool,
    Missing,
}

impl ConstrainedSearch<'_> {
    /// Searches a categorical feature.
    pub(super) fn search_categories(
        &self,
        node: &SearchNode<'_>,
        feature: &FeatureHistogram<'_>,
        found: &mut SearchResult,
    ) {
        let options = &self.constraints.categories;
        let mut groups = self.groups(node, feature, options);
        if groups.len() <= options.one_by_one {
            for at in 0..groups.len() {
                groups.swap(0, at);
                self.try_cut(node, (feature, &groups[..]), (1, at as u8, 0.0), found);
                groups.swap(0, at);
            }
            return;
        }
        groups.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        let l2 = options.smooth * self.doc_mass;
        for cut in 1..groups.len() {
            self.try_cut(node, (feature, &groups[..]), (cut, cut as u8, l2), found);
        }
    }

    /// The categories of a node with their sort keys, by code.
    fn groups(
        &self,
        node: &SearchNode<'_>,
        feature: &FeatureHistogram<'_>,
        options: &CategoryOptions,
    ) -> Vec<CategoryGroup> {
        let total = GradientSums::of(node.total);
        let mean = f64::from(total.grad) / f64::from(total.mass);
        let smooth = options.smooth * self.doc_mass;
        let group = |sum: u64, what: GroupKind| {
            let GradientSums { grad, mass } = GradientSums::of(sum);
            let ratio = (f64::from(grad) + smooth * mean) / (f64::from(mass) + smooth);
            // Without hessians a category says nothing about its order.
            CategoryGroup { ratio: if ratio.is_finite() { ratio } else { mean }, sum, what }
        };
        let (missing, rest) = (feature.sums.len() - 1, feature.sums.len() - 2);
        let least = f64::from(options.min_docs) * self.doc_mass;
        let mut pool = feature.sums[rest];
        let mut groups = Vec::new();
        for (code, &sum) in (0..=u8::MAX).zip(&feature.sums[..rest]) {
            if f64::from(GradientSums::of(sum).mass) < least * (1.0 - 1e-9) {
                pool = pool.wrapping_add(sum);
            } else if sum != 0 {
                groups.push(group(sum, GroupKind::Category(code)));
            }
        }
        groups.extend((pool != 0).then(|| group(pool, GroupKind::HistogramPool)));
        let missing = feature.sums[missing];
        groups.extend((missing != 0).then(|| group(missing, GroupKind::Missing)));
        groups
    }

    /// Tries the split between the first `cut` groups and the others.
    fn try_cut(
        &self,
        node: &SearchNode<'_>,
        (feature, groups): (&FeatureHistogram<'_>, &[CategoryGroup]),
        (cut, code, more_l2): (usize, u8, f64),
        found: &mut SearchResult,
    ) {
        let (first, second) = groups.split_at(cut);
        let sum = |side: &[CategoryGroup]| side.iter().fold(0u64, |sum, p| sum.wrapping_add(p.sum));
        let of_first = sum(first);
        let has_pool = |side: &[CategoryGroup]| {
            side.iter().any(|group| group.what == GroupKind::HistogramPool)
        };
        // Unknown categories go where most documents go, unless the node has a pool.
        let is_light = 2 * u64::from(GradientSums::of(of_first).mass)
            <= u64::from(GradientSums::of(node.total).mass);
        let named_first = if has_pool(second) { true } else { !has_pool(first) && is_light };
        let (named, left) = if named_first {
            (first, of_first)
        } else {
            (second, node.total.wrapping_sub(of_first))
        };
        let (mut codes, mut count, mut missing_left) = ([0u64; 4], 0, false);
        for group in named {
            match group.what {
                GroupKind::Category(code) => {
                    codes[usize::from(code / 64)] |= 1 << (code % 64);
                    count += 1;
                }
                GroupKind::Missing => missing_left = true,
                GroupKind::HistogramPool => {}
            }
        }
        if count > self.constraints.categories.most {
            return;
        }
        let Some(value) = self.value(node, left, 0) else { return };
        let valued = self.value_with(node, left, node.l2 + more_l2);
        let [priority, score] = self.score(node, feature, valued, (false, code));
        if beats(score, feature.number, found.best.as_ref()) {
            let (slot, test) = (feature.number, SplitTest::In(codes));
            found.best =
                Some(SplitCandidate { value, score, priority, slot, test, missing_left, left });
        }
    }
}
