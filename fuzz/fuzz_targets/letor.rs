//! LETOR text: however it is cut and threaded, what a plain parser reads.

#![no_main]

rustrank_fuzz::target!("letor", text);
