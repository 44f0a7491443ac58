//! Strings of keys that no program has prepared: those inside operands.
//!
//! PERF: a new string takes 60 ns with its hash, and a list of ten mappings is asked for the same few keys by each rule.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::PyString;

/// Strings that a thread keeps.
const KEPT: usize = 256;

/// Bytes of the longest of them.
const LONGEST: usize = 64;

thread_local! {
    static STRINGS: RefCell<Vec<Option<Py<PyString>>>> = const { RefCell::new(Vec::new()) };
}

/// The Python string of `text`.
pub(crate) fn string<'py>(py: Python<'py>, text: &str) -> Bound<'py, PyString> {
    if text.len() > LONGEST {
        return PyString::new(py, text);
    }
    let place = place(text);
    let kept = STRINGS.with_borrow(|strings| {
        let kept = strings.get(place)?.as_ref()?.bind(py);
        (kept.to_str().ok()? == text).then(|| kept.clone())
    });
    kept.unwrap_or_else(|| keep(py, text, place))
}

#[cold]
fn keep<'py>(py: Python<'py>, text: &str, place: usize) -> Bound<'py, PyString> {
    let made = PyString::new(py, text);
    let replaced = STRINGS.with_borrow_mut(|strings| {
        if strings.is_empty() {
            strings.resize_with(KEPT, || None);
        }
        strings
            .get_mut(place)
            .and_then(|kept| kept.replace(made.clone().unbind()))
    });
    drop(replaced);
    made
}

/// PERF: only both ends of the text are read.
fn place(text: &str) -> usize {
    let word = |bytes: Option<&[u8]>| {
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        u64::from_le_bytes(bytes.unwrap_or_default())
    };
    let bytes = text.as_bytes();
    let ends = match bytes.len() {
        0..8 => bytes
            .iter()
            .fold(0, |word, &byte| word << 8 | u64::from(byte)),
        length => word(bytes.get(..8)) ^ word(bytes.get(length - 8..)).rotate_left(29),
    };
    let mixed = (ends ^ bytes.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as usize % KEPT
}
