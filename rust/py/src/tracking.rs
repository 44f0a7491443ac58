//! Untracking of values that cannot be part of a cycle from the garbage collector.
//!
//! PERF: a journal is made of many small values that live long. Going through them over and over took a quarter of the
//! time of a journaled step. The interpreter does the same with dicts and tuples of numbers and strings.

use pyo3::ffi;
use pyo3::prelude::*;

/// Returns true if the garbage collector tracks `object`.
pub(crate) fn is_tracked(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: a live object, of a type that takes part in garbage collection or not, which the function checks.
    unsafe { ffi::PyObject_GC_IsTracked(object.as_ptr()) != 0 }
}

/// Stops the garbage collector from tracking `object`, which holds no tracked object. A dict is tracked again when it gets
/// such a value; any other object must be one that never does.
pub(crate) fn untrack(object: &Bound<'_, PyAny>) {
    if is_tracked(object) {
        // SAFETY: a live object that is tracked, so its type takes part in garbage collection.
        unsafe { ffi::PyObject_GC_UnTrack(object.as_ptr().cast()) };
    }
}
