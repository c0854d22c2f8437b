//! Parameters by name: what a user can set, with its kind, range, default and documentation.
//!
//! `parameters!` defines a struct whose fields are parameters, each written once:
//!
//! ```text
//! parameters! {
//!     /// What bounds a tree.
//!     pub struct TreeParams in "tree" {
//!         /// The most leaves of a tree.
//!         pub num_leaves: usize = 31, within ParamRange::from(2.0).to(65_536.0), elsewhere "max_leaves";
//!     }
//! }
//! ```
//!
//! From that follow its `Default` and [`Parameters`]: reading a value by name, the check of all ranges,
//! and the list of [`Parameter`]s, which the Python package turns into signatures, command-line
//! options and documentation. A field whose name in Rust is another than the user's says `as "name"`,
//! one whose Python type does not follow from its Rust type says `typed "..."`. Fields behind `with` are
//! no parameters: they are set by code.
//!
//! `choices!` defines an enum whose variants have names.

mod macros;
mod value;

use crate::error::{Error, Result};
use serde::Serialize;

pub(crate) use macros::{choices, parameter_groups, parameters};
pub use value::{Foreign, ParamKind, ParamRange, ParamType, ParamValue};

/// What is known of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Parameter {
    /// The name that users write.
    pub name: &'static str,
    /// What it is about: the group of the struct that it is a field of.
    pub group: &'static str,
    /// Its type in Python.
    pub annotation: String,
    /// What its text is read as: `int`, `float`, `bool` or `str`; `other`, which its type reads; or
    /// `foreign`, which is the caller's.
    pub kind: &'static str,
    /// Whether it can be left open, with None.
    pub is_optional: bool,
    /// Its values, where these are names.
    pub choices: &'static [&'static str],
    /// Its values, where these are numbers.
    pub range: Option<ParamRange>,
    /// Its value if nobody says otherwise.
    pub default: ParamValue,
    /// What other libraries call it.
    pub elsewhere: Vec<&'static str>,
    /// What it does, in Markdown; the first sentence stands alone.
    pub doc: String,
}

/// What `parameters!` knows of a field, apart from its type.
#[derive(Debug, Clone, Copy)]
pub struct ParamField {
    /// The name that users write.
    pub name: &'static str,
    /// The numbers it can be.
    pub range: Option<ParamRange>,
}

impl ParamRange {
    /// Refuses a number out of range.
    pub(crate) fn check<T: ParamType>(self, name: &'static str, value: &T) -> Result<()> {
        ParamField { name, range: Some(self) }.check(value)
    }
}

impl ParamField {
    /// Reads a value of that type.
    pub fn read<T: ParamType>(self, value: &ParamValue) -> Result<T> {
        let read = T::read(value).ok_or_else(|| self.wrong_kind::<T>(value))?;
        match T::KIND {
            ParamKind::Integer(_) if !self.contains(&read) => Err(self.refused::<T>(value)),
            _ => self.check(&read).map(|()| read),
        }
    }

    /// Refuses a number out of range.
    pub fn check<T: ParamType>(self, value: &T) -> Result<()> {
        if self.contains(value) {
            return Ok(());
        }
        let error = Error::param(self.name, format!("{} is out of range", self.name));
        Err(error.got(value.value().noted()).expected(self.expected::<T>()))
    }

    fn contains<T: ParamType>(self, value: &T) -> bool {
        match (self.range, value.value().number()) {
            (Some(range), Some(number)) => range.contains(number),
            _ => true,
        }
    }

    fn expected<T: ParamType>(self) -> String {
        let none = if T::IS_OPTIONAL { ", or None" } else { "" };
        match (T::KIND, self.range) {
            (ParamKind::Integer(most), range) => {
                let least = range.map_or(0.0, |range| range.low);
                let most = range.and_then(|range| range.high).map_or(most, |high| high as u64);
                format!("a whole number from {least} to {most}{none}")
            }
            (ParamKind::Real, Some(range)) => format!("a number {range}{none}"),
            (ParamKind::Real, None) => format!("a number{none}"),
            (ParamKind::Flag, _) => "True or False".to_owned(),
            (ParamKind::Text | ParamKind::Choice(_), _) => format!("a name{none}"),
            (ParamKind::Other(what), _) => format!("{what}{none}"),
            (ParamKind::Foreign, _) => "something else".to_owned(),
        }
    }

    fn refused<T: ParamType>(self, value: &ParamValue) -> Error {
        Error::param(self.name, self.name).got(value).expected(self.expected::<T>())
    }

    fn wrong_kind<T: ParamType>(self, value: &ParamValue) -> Error {
        if let (ParamKind::Integer(_), ParamValue::Integer(_)) = (T::KIND, value) {
            return self.refused::<T>(value);
        }
        if let (ParamKind::Choice(names), ParamValue::Text(text)) = (T::KIND, value) {
            return unknown_choice(self.name, text, names);
        }
        let expected = match T::KIND {
            ParamKind::Real => "a number".to_owned(),
            _ => self.expected::<T>(),
        };
        Error::param_kind(self.name, self.name).got(value).expected(expected)
    }

    /// What is known of a parameter of that type.
    pub fn parameter<T: ParamType>(
        self,
        group: &'static str,
        typed: Option<&'static str>,
        default: &T,
        [elsewhere, doc]: [&'static str; 2],
    ) -> Parameter {
        let kind = T::KIND.name();
        let choices = if let ParamKind::Choice(names) = T::KIND { names } else { &[] };
        let is_any = matches!(T::KIND, ParamKind::Other(_) | ParamKind::Foreign);
        let of_type = if is_any { "Any" } else { kind };
        let none = if T::IS_OPTIONAL && !is_any { " | None" } else { "" };
        let lines: Vec<&str> = doc.lines().map(str::trim).collect();
        Parameter {
            name: self.name,
            group,
            annotation: typed.map_or_else(|| format!("{of_type}{none}"), str::to_owned),
            kind,
            is_optional: T::IS_OPTIONAL,
            choices,
            range: self.range,
            default: default.value(),
            elsewhere: elsewhere.split_whitespace().collect(),
            doc: lines.join(" ").trim().to_owned(),
        }
    }
}

/// The error about a name that is none of those there are.
pub(crate) fn unknown_choice(name: &'static str, got: &str, names: &[&str]) -> Error {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let expected = match quoted.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => quoted.concat(),
    };
    let what = format!("{name} is not known");
    Error::unknown_name(name, what).got(format!("\"{got}\"")).expected(expected)
}

/// A group of parameters, or several groups together.
pub trait Parameters: Default {
    /// All of them, with their defaults.
    fn schema() -> Vec<Parameter>;

    /// Sets the one of that name, if there is one: whether there is.
    fn set(&mut self, name: &str, value: &ParamValue) -> Result<bool>;

    /// All of them with their values.
    fn values(&self) -> Vec<(&'static str, ParamValue)>;

    /// Refuses numbers that are out of their ranges.
    fn check_ranges(&self) -> Result<()>;
}
