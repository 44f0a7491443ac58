//! Feeds `bodies::load_state`.

#![no_main]

#[path = "../../core/tests/fuzzing/bodies.rs"]
#[expect(dead_code, reason = "one body of several")]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::load_state(data));
