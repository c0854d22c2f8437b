//! rustrank learns to rank.

pub mod bins;
pub mod data;
mod error;
pub mod hash;
mod interrupt;
pub mod metric;
#[cfg(feature = "python")]
mod py;
mod queries;

pub use error::{Error, ErrorKind, Fault, Place, Result};
pub use interrupt::Interrupt;
pub use metric::{Convention, Empty, Gain, Mean, Measure, Metric, SwapDelta, Ties};
pub use queries::{Grouping, Queries};
