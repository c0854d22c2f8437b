//! Any valid model and rows: at each SIMD level the bits of a plain walk, and a file that reads back.

#![no_main]

rustrank_fuzz::target!("scoring");
