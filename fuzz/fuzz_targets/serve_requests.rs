//! Bodies of requests to the scoring service: refused, or read as they stand.

#![no_main]

rustrank_fuzz::target!("serve_requests", text);
