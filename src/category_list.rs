//! The categories of a feature whose column has texts, or numbers that need not be whole.
//!
//! Splits hold the number of a category: its place in the list. A feature without a list holds whole numbers, each
//! of which is its own category.

/// The categories of a feature, all different, in the order of their numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum CategoryList {
    /// Texts, such as names of brands.
    Texts(Vec<String>),
    /// Numbers, such as ids; finite, and of any size and sign.
    Numbers(Vec<f64>),
    /// Truth values, which are the numbers 0 and 1; other libraries tell them from these.
    Truths(Vec<bool>),
}

impl CategoryList {
    /// The number of categories.
    pub fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Numbers(numbers) => numbers.len(),
            Self::Truths(truths) => truths.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The categories as numbers; `None` of texts.
    pub(crate) fn numbers(&self) -> Option<Vec<f64>> {
        match self {
            Self::Texts(_) => None,
            Self::Numbers(numbers) => Some(numbers.clone()),
            Self::Truths(truths) => Some(truths.iter().map(|&truth| f64::from(truth)).collect()),
        }
    }

    /// Whether these are the first categories of another list.
    pub fn begins(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Texts(mine), Self::Texts(theirs)) => theirs.starts_with(mine),
            (Self::Numbers(mine), Self::Numbers(theirs)) => theirs.starts_with(mine),
            (Self::Truths(mine), Self::Truths(theirs)) => theirs.starts_with(mine),
            _ => self.is_empty() && other.is_empty(),
        }
    }
}
