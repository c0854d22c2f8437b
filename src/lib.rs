//! rustrank learns to rank.

pub mod data;
mod error;
pub mod hash;
mod interrupt;
mod queries;

pub use error::{Error, ErrorKind, Fault, Place, Result};
pub use interrupt::Interrupt;
pub use queries::{Grouping, Queries};
