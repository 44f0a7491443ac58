//! Construction of our own frozen dataclasses without their constructors, for `bobcat.model.fast_init.positional_factory`.
//!
//! PERF: `StepRecord(...)` in Python calls six slots, 285 ns; this takes 80 ns. A journaled step makes five such values.

use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use crate::attribute::{Attribute, in_slot};
use crate::value::is_exactly;

/// Makes instances of one class.
#[pyclass(frozen, module = "bobcat._core")]
pub(crate) struct SlotConstructor {
    class: Py<PyType>,
    /// The number of values that an instance takes.
    fields: usize,
    /// The offsets of the values in an instance, in order; empty when they are not known: then the class is called.
    offsets: Vec<usize>,
}

#[pymethods]
impl SlotConstructor {
    #[new]
    #[pyo3(signature = (cls, fields, /))]
    pub(crate) fn new(cls: &Bound<'_, PyType>, fields: Vec<String>) -> Self {
        Self {
            offsets: offsets(cls, &fields).unwrap_or_default(),
            fields: fields.len(),
            class: cls.clone().unbind(),
        }
    }

    #[pyo3(signature = (*values))]
    fn __call__(&self, values: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        if values.len() != self.fields {
            let (takes, given) = (self.fields, values.len());
            let message = format!("a maker of {takes} values was given {given}");
            return Err(PyTypeError::new_err(message));
        }
        if self.offsets.is_empty() {
            return self.class.call1(values.py(), values);
        }
        self.filled(values.py(), values.iter_borrowed())
    }
}

impl SlotConstructor {
    /// An instance of `values`.
    ///
    /// # Errors
    /// The exceptions of the class, when it has to be called.
    pub(crate) fn make<const N: usize>(
        &self,
        py: Python<'_>,
        values: [Borrowed<'_, '_, PyAny>; N],
    ) -> PyResult<Py<PyAny>> {
        if self.offsets.len() == N {
            self.filled(py, values.into_iter())
        } else {
            self.class.call1(py, PyTuple::new(py, values)?)
        }
    }

    /// A copy of an instance with another value in field `changed`; `None` if it is no plain instance of the class.
    ///
    /// # Errors
    /// No memory is left.
    pub(crate) fn changed(
        &self,
        instance: &Bound<'_, PyAny>,
        changed: usize,
        value: &Bound<'_, PyAny>,
    ) -> Option<PyResult<Py<PyAny>>> {
        if self.offsets.is_empty() || !is_exactly(instance, &self.class) {
            return None;
        }
        let mut values = Vec::with_capacity(self.fields);
        for (field, offset) in self.offsets.iter().enumerate() {
            // SAFETY: `instance` is of exactly the class, whose instances have a slot at each offset (see `offsets`), with a
            // reference or null.
            let held = unsafe { in_slot(instance, *offset) };
            values.push(if field == changed {
                value.clone()
            } else {
                held?
            });
        }
        Some(self.filled(instance.py(), values.iter().map(Bound::as_borrowed)))
    }

    fn filled<'a, 'py>(
        &self,
        py: Python<'py>,
        values: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>,
    ) -> PyResult<Py<PyAny>>
    where
        'py: 'a,
    {
        // SAFETY: the class is one whose instances are allocated by `PyType_GenericAlloc`, and are an object header and
        // one slot per offset (see `offsets`). A fresh instance is zeroed, so each slot holds null, and gets one reference
        // of its own before any other code sees the instance.
        unsafe {
            let instance = Bound::from_owned_ptr_or_err(
                py,
                ffi::PyType_GenericAlloc(self.class.as_ptr().cast(), 0),
            )?;
            for (offset, value) in self.offsets.iter().zip(values) {
                let slot = instance
                    .as_ptr()
                    .byte_add(*offset)
                    .cast::<*mut ffi::PyObject>();
                slot.write(value.to_owned().into_ptr());
            }
            Ok(instance.unbind())
        }
    }
}

/// Returns the offsets of `fields` in instances of `cls`, when these keep only those fields.
fn offsets(cls: &Bound<'_, PyType>, fields: &[String]) -> Option<Vec<usize>> {
    // SAFETY: `cls` is a live type object, and the slot of this number holds an allocator.
    let allocator = unsafe { ffi::PyType_GetSlot(cls.as_ptr().cast(), ffi::Py_tp_alloc) };
    let generic: ffi::allocfunc = ffi::PyType_GenericAlloc;
    if allocator.cast_const() != generic as *const std::ffi::c_void {
        return None;
    }
    let size: usize = cls.getattr("__basicsize__").ok()?.extract().ok()?;
    if size != size_of::<ffi::PyObject>() + fields.len() * size_of::<*mut ffi::PyObject>() {
        return None;
    }
    let found: Vec<usize> = fields
        .iter()
        .filter_map(|name| Attribute::find(cls, name).offset())
        .collect();
    let mut distinct = found.clone();
    distinct.sort_unstable();
    distinct.dedup();
    (distinct.len() == fields.len()).then_some(found)
}
