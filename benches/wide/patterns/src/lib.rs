//! The regex crate behind a C interface, on bytes. `floor.c` calls it; it is part of no wheel.
//!
//! The texts of the workload are ASCII, so classes and case are those of ASCII, which is the fastest that the crate has.

use std::ffi::c_int;

use regex::bytes::{Regex, RegexBuilder};

/// Compiles a pattern; null for one that the crate does not take.
///
/// # Safety
/// `text` points to `length` bytes of UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pattern_new(text: *const u8, length: usize) -> *mut Regex {
    // SAFETY: by the contract of this function.
    let text = unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(text, length)) };
    let made = RegexBuilder::new(text).unicode(false).build();
    made.map_or(std::ptr::null_mut(), |made| Box::into_raw(Box::new(made)))
}

/// Returns 1 if some part of the text matches.
///
/// # Safety
/// `pattern` comes from [`pattern_new`]; `text` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pattern_matches(
    pattern: *const Regex,
    text: *const u8,
    length: usize,
) -> c_int {
    // SAFETY: by the contract of this function.
    let (pattern, text) = unsafe { (&*pattern, std::slice::from_raw_parts(text, length)) };
    pattern.is_match(text).into()
}
