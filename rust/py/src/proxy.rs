//! Mapping proxies, read without calling a method of the mapping behind them.

use std::ffi::{c_int, c_void};
use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMappingProxy;

/// Returns the mapping behind the proxy `object`, through proxies of proxies; `None` when it cannot be found.
///
/// A proxy has no accessor for it. Its traverse slot, made for the garbage collector, visits exactly that one reference
/// (`gc.get_referents` does the same).
pub(crate) fn target<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let mut current = object.clone();
    while current.is_exact_instance_of::<PyMappingProxy>() {
        let mut found: *mut ffi::PyObject = ptr::null_mut();
        // SAFETY: `current` is an exact mapping proxy, so the slot of its type is the traverse function for it. That
        // function only calls `keep` with borrowed references held by the proxy, which `current` keeps alive; it runs no
        // Python code. The slot number belongs to a function of type `traverseproc`.
        let target = unsafe {
            let slot = ffi::PyType_GetSlot(ffi::Py_TYPE(current.as_ptr()), ffi::Py_tp_traverse);
            if slot.is_null() {
                return None;
            }
            let traverse: ffi::traverseproc =
                std::mem::transmute::<*mut c_void, ffi::traverseproc>(slot);
            traverse(current.as_ptr(), keep, (&raw mut found).cast());
            Bound::from_borrowed_ptr_or_opt(current.py(), found)
        };
        current = target?;
    }
    Some(current)
}

/// Stores the first visited object in the pointer that `slot` points to.
unsafe extern "C" fn keep(object: *mut ffi::PyObject, slot: *mut c_void) -> c_int {
    // SAFETY: `target` passes a pointer to a local `*mut PyObject` that outlives the traversal.
    unsafe { *slot.cast::<*mut ffi::PyObject>() = object };
    1
}
