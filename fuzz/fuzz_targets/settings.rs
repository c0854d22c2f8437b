//! Parameters by name and value: refused, or read back.

#![no_main]

rustrank_fuzz::target!("settings", text);
