//! Model files of other libraries: an error, or a model that works and is exported again.

#![no_main]

rustrank_fuzz::target!("importers", text);
