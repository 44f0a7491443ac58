//! `CoreError`: a refusal with a stable code.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pyo3::create_exception!(
    bobcat._core,
    CoreError,
    PyValueError,
    "Rejected IR bytes: `code` is a documented bundle code, the message names the place and the limit."
);

/// A `CoreError` with its code.
pub(crate) fn core_error(py: Python<'_>, code: &str, message: &str) -> PyErr {
    let error = CoreError::new_err(message.to_owned());
    match error.value(py).setattr("code", code) {
        Ok(()) => error,
        Err(failure) => failure,
    }
}
