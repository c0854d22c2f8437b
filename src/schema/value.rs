//! Values of parameters, the types that these have, and their ranges.

use serde::{Serialize, Serializer};
use std::fmt;

/// A value as a caller writes it, before it is known what it should be.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ParamValue {
    /// Nothing: no limit, or a default that depends on other parameters.
    None,
    /// True or false.
    Flag(bool),
    /// A whole number.
    Integer(i128),
    /// Any other number.
    Real(f64),
    /// A name.
    Text(String),
    /// Several values.
    List(Vec<ParamValue>),
    /// Something else, as it is shown in an error.
    Other(#[serde(serialize_with = "none")] String),
}

fn none<S: Serializer>(_: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_none()
}

/// The most characters of a text that an error shows.
const LONGEST: usize = 60;

/// As Python writes it: what an error says it got.
impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Flag(is) => f.write_str(if *is { "True" } else { "False" }),
            Self::Integer(number) => number.fmt(f),
            Self::Real(number) => write!(f, "{number:?}"),
            Self::Text(text) => {
                let cut: String = text.escape_debug().take(LONGEST).collect();
                write!(f, "'{cut}{}'", if text.len() > LONGEST { "…" } else { "" })
            }
            Self::List(values) => {
                let values: Vec<String> = values.iter().map(Self::to_string).collect();
                write!(f, "[{}]", values.join(", "))
            }
            Self::Other(shown) => f.write_str(shown),
        }
    }
}

impl ParamValue {
    /// The text that model files have for it.
    pub(crate) fn noted(&self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::Real(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// It as a number, if it is one.
    pub(crate) fn number(&self) -> Option<f64> {
        match *self {
            Self::Integer(number) => Some(number as f64),
            Self::Real(number) => Some(number),
            Self::Flag(is) => Some(f64::from(u8::from(is))),
            _ => None,
        }
    }
}

/// The numbers that a parameter can be; never NaN nor infinite.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ParamRange {
    /// The least, or what all are above.
    pub low: f64,
    /// Whether `low` itself is refused.
    pub is_above: bool,
    /// The largest, if there is one.
    pub high: Option<f64>,
}

impl ParamRange {
    /// From that number on.
    pub const fn from(low: f64) -> Self {
        Self { low, is_above: false, high: None }
    }

    /// Above that number.
    pub const fn above(low: f64) -> Self {
        Self { low, is_above: true, high: None }
    }

    /// Up to that number.
    #[must_use]
    pub const fn to(self, high: f64) -> Self {
        Self { high: Some(high), ..self }
    }

    pub(super) fn contains(&self, number: f64) -> bool {
        let is_above = if self.is_above { number > self.low } else { number >= self.low };
        is_above && number.is_finite() && self.high.is_none_or(|high| number <= high)
    }
}

impl fmt::Display for ParamRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let low = self.low;
        match (self.is_above, self.high) {
            (true, Some(high)) => write!(f, "above {low}, up to {high}"),
            (true, None) => write!(f, "above {low}"),
            (false, Some(high)) => write!(f, "from {low} to {high}"),
            (false, None) => write!(f, "from {low} on"),
        }
    }
}

/// What sort of values a type reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParamKind {
    /// Whole numbers, up to that.
    Integer(u64),
    /// Numbers.
    Real,
    /// True and false.
    Flag,
    /// Any text.
    Text,
    /// One of some names.
    Choice(&'static [&'static str]),
    /// Something else: what errors call it.
    Other(&'static str),
    /// What only the caller's side of the library understands: see [`Foreign`].
    Foreign,
}

impl ParamKind {
    /// Its name in schemas.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Integer(_) => "int",
            Self::Real => "float",
            Self::Flag => "bool",
            Self::Text | Self::Choice(_) => "str",
            Self::Other(_) => "other",
            Self::Foreign => "foreign",
        }
    }
}

/// A type that parameters can have.
pub trait ParamType: Clone + Sized {
    /// What values it reads.
    const KIND: ParamKind;
    /// Whether it reads [`ParamValue::None`].
    const IS_OPTIONAL: bool = false;

    /// The value, if it is one of this kind.
    fn read(value: &ParamValue) -> Option<Self>;

    /// The opposite of [`read`](Self::read).
    fn value(&self) -> ParamValue;
}

macro_rules! whole_kinds {
    ($($name:ident)+) => {
        $(impl ParamType for $name {
            const KIND: ParamKind = ParamKind::Integer($name::MAX as u64);

            fn read(value: &ParamValue) -> Option<Self> {
                let ParamValue::Integer(number) = *value else { return None };
                Self::try_from(number).ok()
            }

            fn value(&self) -> ParamValue {
                ParamValue::Integer(i128::try_from(*self).unwrap_or(i128::MAX))
            }
        })+
    };
}

whole_kinds! { u32 u64 usize }

impl ParamType for f64 {
    const KIND: ParamKind = ParamKind::Real;

    fn read(value: &ParamValue) -> Option<Self> {
        value.number()
    }

    fn value(&self) -> ParamValue {
        ParamValue::Real(*self)
    }
}

impl ParamType for bool {
    const KIND: ParamKind = ParamKind::Flag;

    fn read(value: &ParamValue) -> Option<Self> {
        if let ParamValue::Flag(is) = value { Some(*is) } else { None }
    }

    fn value(&self) -> ParamValue {
        ParamValue::Flag(*self)
    }
}

impl ParamType for String {
    const KIND: ParamKind = ParamKind::Text;

    fn read(value: &ParamValue) -> Option<Self> {
        if let ParamValue::Text(text) = value { Some(text.clone()) } else { None }
    }

    fn value(&self) -> ParamValue {
        ParamValue::Text(self.clone())
    }
}

/// One number stands for a list of one.
impl ParamType for Vec<usize> {
    const KIND: ParamKind = ParamKind::Other("whole numbers");

    fn read(value: &ParamValue) -> Option<Self> {
        match value {
            ParamValue::List(values) => values.iter().map(usize::read).collect(),
            value => usize::read(value).map(|one| vec![one]),
        }
    }

    fn value(&self) -> ParamValue {
        ParamValue::List(self.iter().map(ParamType::value).collect())
    }
}

impl<T: ParamType> ParamType for Option<T> {
    const KIND: ParamKind = T::KIND;
    const IS_OPTIONAL: bool = true;

    fn read(value: &ParamValue) -> Option<Self> {
        if *value == ParamValue::None { Some(None) } else { T::read(value).map(Some) }
    }

    fn value(&self) -> ParamValue {
        self.as_ref().map_or(ParamValue::None, ParamType::value)
    }
}

/// A value that only the caller's side of the library understands: a data set, a file, a function.
#[derive(Debug, Clone, PartialEq)]
pub struct Foreign(pub ParamValue);

impl ParamType for Foreign {
    const KIND: ParamKind = ParamKind::Foreign;
    const IS_OPTIONAL: bool = true;

    fn read(value: &ParamValue) -> Option<Self> {
        Some(Self(value.clone()))
    }

    fn value(&self) -> ParamValue {
        self.0.clone()
    }
}
