//! Data: what a ranker learns from and what a metric judges, checked as it comes in.

pub mod inspect;
pub mod judged;
pub mod letor;
pub mod lines;
pub mod number;
pub mod pieces;
pub mod qid;
mod scan;
pub mod trec;
