//! Feeds `questions::ask_analysis`.

#![no_main]

#[path = "../../core/tests/fuzzing/questions.rs"]
mod questions;

libfuzzer_sys::fuzz_target!(|data: &[u8]| questions::ask_analysis(data));
