//! Messages of workers: what was damaged is an error.

#![no_main]

rustrank_fuzz::target!("frames");
