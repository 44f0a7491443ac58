//! Feeds `bodies::occurs_in`.

#![no_main]

#[path = "../../core/tests/fuzzing/bodies.rs"]
#[expect(dead_code, reason = "one body of several")]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::occurs_in(data));
