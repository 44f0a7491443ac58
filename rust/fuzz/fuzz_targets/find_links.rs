//! Feeds `bodies::find_links`.

#![no_main]

#[path = "../../core/tests/fuzzing/bodies.rs"]
#[expect(dead_code, reason = "one body of several")]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::find_links(data));
