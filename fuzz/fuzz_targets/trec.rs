//! TREC runs and qrels: however they are cut and threaded, what a plain join gives.

#![no_main]

rustrank_fuzz::target!("trec", text);
