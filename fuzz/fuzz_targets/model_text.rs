//! Model files of ours, their length and checksum made right: an error, or a model that works.

#![no_main]

rustrank_fuzz::target!("model_text", text);
