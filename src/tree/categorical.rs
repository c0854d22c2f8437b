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
use super::split_search::{SearchNode, SearchResult, SplitCandidate, SplitTest};
use crate::schema::{ParamRange, parameters};

parameters! {
    /// How splits on categories are chosen.
    pub struct CategoryOptions in "categories" {
        /// Splits on features with categories (`Dataset`) put them into the order of their gradients
        /// over hessians, and cut it where that is best. As many docs of the node's average stand
        /// beside each category in that order, and as many that say nothing beside each side of the
        /// cut: the more, the less chance decides. With 0 the cut is the best of all ways to part them.
        pub smooth: f64 = 10.0, within ParamRange::from(0.0), as "category_smooth";
        /// A category with fewer docs in a node goes where those go that are not known. With the
        /// criterion `second_order` a doc counts by its hessian, relative to the mean of the node.
        pub min_docs: u32 = 5, as "min_category_docs";
        /// The most categories that a split may name; all others go the other way.
        pub most: usize = 32, within ParamRange::from(1.0).to(4_294_967_295.0), as "max_categories";
        /// With up to so many categories in a node, one at a time is parted from the rest, and nothing
        /// is smoothed. Symmetric trees do so with any number.
        pub one_by_one: usize = 4, within ParamRange::from(0.0).to(4_294_967_295.0),
            as "category_one_by_one";
        /// Whether missing values of a feature with categories go where unknown categories go. Otherwise
        /// each split chooses their side. LightGBM has no such choice: `exportable="lightgbm"` sets this.
        pub missing_unknown: bool = false, as "missing_is_unknown";
    }
}

/// What moves from side to side as one.
#[derive(Debug, Clone, Copy)]
struct CategoryGroup {
    ratio: f64,
    sum: u64,
    /// Its documents, if they are counted.
    docs: u64,
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
        let group = |sum: u64, docs: u64, what: GroupKind| {
            let GradientSums { grad, mass } = GradientSums::of(sum);
            let ratio = (f64::from(grad) + smooth * mean) / (f64::from(mass) + smooth);
            // Without hessians a category says nothing about its order.
            CategoryGroup { ratio: if ratio.is_finite() { ratio } else { mean }, sum, docs, what }
        };
        let (missing, rest) = (feature.sums.len() - 1, feature.sums.len() - 2);
        let least = f64::from(options.min_docs) * self.doc_mass;
        let (mut pool, mut pool_docs) = (feature.sums[rest], feature.docs_of(rest));
        let mut groups = Vec::new();
        for (code, &sum) in (0..=u8::MAX).zip(&feature.sums[..rest]) {
            if f64::from(GradientSums::of(sum).mass) < least * (1.0 - 1e-9) {
                pool = pool.wrapping_add(sum);
                pool_docs += feature.docs_of(code.into());
            } else if sum != 0 {
                groups.push(group(sum, feature.docs_of(code.into()), GroupKind::Category(code)));
            }
        }
        let (missing, docs) = (feature.sums[missing], feature.docs_of(missing));
        if options.missing_unknown {
            pool = pool.wrapping_add(missing);
            pool_docs += docs;
        }
        groups.extend((pool != 0).then(|| group(pool, pool_docs, GroupKind::HistogramPool)));
        let missing = if options.missing_unknown { 0 } else { missing };
        groups.extend((missing != 0).then(|| group(missing, docs, GroupKind::Missing)));
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
        if !feature.has_enough_docs(named.iter().map(|group| group.docs).sum()) {
            return;
        }
        let codes = named.iter().filter_map(|group| match group.what {
            GroupKind::Category(code) => Some(code),
            _ => None,
        });
        if codes.clone().count() > self.constraints.categories.most {
            return;
        }
        let test = SplitTest::In(codes.collect());
        let missing_left = named.iter().any(|group| group.what == GroupKind::Missing);
        let Some(value) = self.value(node, left, 0) else { return };
        let valued = self.value_with(node, left, node.l2 + more_l2);
        let [priority, score] = self.score(node, feature, valued, (false, code));
        let slot = feature.number;
        found.offer(SplitCandidate { value, score, priority, slot, test, missing_left, left });
    }
}
