//! Coroutines that seldom wait: their first step, taken without setting up for a wait.

use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::names::Names;
use crate::value::is_exactly;

/// Runs `coroutine` until it waits for something or is done: None when it is done, else a tuple of what it yielded; an
/// empty tuple for a value that is not a coroutine, which is left as it is.
///
/// # Errors
/// What it raises.
#[pyfunction]
pub(crate) fn first_step<'py>(
    coroutine: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let py = coroutine.py();
    if !is_exactly(coroutine, &Names::get(py)?.coroutine) {
        return Ok(Some(PyTuple::empty(py)));
    }
    let mut came: *mut ffi::PyObject = ptr::null_mut();
    // SAFETY: `coroutine` is a live object, None a value to send; `came` outlives the call, which leaves a new reference in it
    // unless it fails.
    let (fate, came) = unsafe {
        let fate = ffi::PyIter_Send(coroutine.as_ptr(), ffi::Py_None(), &raw mut came);
        (fate, Bound::from_owned_ptr_or_opt(py, came))
    };
    match (fate, came) {
        (ffi::PySendResult::PYGEN_RETURN, _) => Ok(None),
        (ffi::PySendResult::PYGEN_NEXT, Some(waits)) => Ok(Some(PyTuple::new(py, [waits])?)),
        _ => Err(PyErr::fetch(py)),
    }
}
