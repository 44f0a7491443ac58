//! Character tables of decisions, for the front ends: the interpreter has another version of Unicode.

use bobcat_core::chars;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The lower case of a text, as the operator `lower` makes it; a text with a lone surrogate stays as it is.
#[pyfunction]
pub(crate) fn lower<'py>(text: &Bound<'py, PyString>) -> Bound<'py, PyString> {
    match text.to_str() {
        Ok(found) => PyString::new(text.py(), &chars::lower(found)),
        Err(_) => text.clone(),
    }
}

/// Returns true if every character of a text is printable, as `str.isprintable` defines it.
#[pyfunction]
pub(crate) fn is_printable(text: &Bound<'_, PyString>) -> bool {
    text.to_str()
        .is_ok_and(|text| text.chars().all(chars::is_printable))
}

/// The version of Unicode.
#[must_use]
pub(crate) fn unicode_version() -> String {
    let (major, minor, patch) = chars::UNICODE_VERSION;
    format!("{major}.{minor}.{patch}")
}
