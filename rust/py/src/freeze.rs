//! Freezing of flat arguments: the work of `bobcat.model.frozen` for most calls, in one step.

use pyo3::exceptions::PySystemError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyString, PyTuple};

use crate::names::Names;
use crate::tracking::untrack;
use crate::value::{FREE_THREADED, is_exactly};

/// A frozen copy of a dict that has only plain values under plain strings; None for any other value.
///
/// PERF: 250 ns in Python, 90 ns here.
#[pyfunction]
pub(crate) fn frozen_if_flat<'py>(
    value: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Ok(dict) = value.cast_exact::<PyDict>() else {
        return Ok(None);
    };
    let py = value.py();
    let copy = empty(py)?; // first: it may run the garbage collector, which may change the dict
    // PERF: what is not flat is not copied. Without the lock another thread may change it until it is.
    if !FREE_THREADED && !is_flat(dict) {
        return Ok(None);
    }
    // SAFETY: both are live dicts, the first an instance of a subclass that no other code has seen. What is exactly a dict
    // is copied by its storage, and no method of the subclass is called.
    let failed = unsafe { ffi::PyDict_Update(copy.as_ptr(), dict.as_ptr()) };
    if failed != 0 {
        return Err(PyErr::fetch(py));
    }
    if FREE_THREADED && !is_flat(copy.cast::<PyDict>()?) {
        return Ok(None);
    }
    untrack(&copy);
    Ok(Some(copy))
}

/// A copy of the entries of a plain dict, or of a frozen one, as a `FrozenDict` that no other code has seen: it is changed
/// by its storage. None for any other object.
pub(crate) fn copied<'py>(owner: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let py = owner.py();
    let frozen = is_exactly(owner, &Names::get(py)?.frozen_dict);
    if !frozen && !owner.is_exact_instance_of::<PyDict>() {
        return Ok(None);
    }
    let copy = empty(py)?;
    // SAFETY: both are live dicts. Neither class overrides how a dict is iterated, so the entries are copied from storage to
    // storage, and no method of a class is called.
    let failed = unsafe { ffi::PyDict_Update(copy.as_ptr(), owner.as_ptr()) };
    if failed != 0 {
        return Err(PyErr::fetch(py));
    }
    Ok(copy.cast_into::<PyDict>().ok())
}

fn is_flat(dict: &Bound<'_, PyDict>) -> bool {
    let mut entries = dict.iter();
    entries.all(|(key, value)| key.is_exact_instance_of::<PyString>() && is_leaf(&value))
}

fn is_leaf(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyString>()
        || value.is_none()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBytes>()
}

/// A `FrozenDict` without entries, made by the constructor of `dict`: its own would fill it.
fn empty(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let class = Names::get(py)?.frozen_dict.bind(py);
    let nothing = PyTuple::empty(py);
    let dict = py.get_type::<PyDict>();
    // SAFETY: the slot of this number holds a `newfunc` or null. That of `dict` makes an empty dict of any subclass without
    // further storage, which `FrozenDict` is.
    unsafe {
        let slot = ffi::PyType_GetSlot(dict.as_ptr().cast(), ffi::Py_tp_new);
        if slot.is_null() {
            return Err(PySystemError::new_err("dict has no constructor"));
        }
        let make: ffi::newfunc = std::mem::transmute::<*mut std::ffi::c_void, ffi::newfunc>(slot);
        let made = make(
            class.as_ptr().cast(),
            nothing.as_ptr(),
            std::ptr::null_mut(),
        );
        Bound::from_owned_ptr_or_err(py, made)
    }
}
