//! Attributes of our own value types, read from their slots.
//!
//! PERF: asking for an attribute by its name takes 13 ns, reading its slot 1 ns; a decision reads four of them or more.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::{PyString, PyType};

/// An attribute of one type.
pub(crate) struct Attribute {
    pub(crate) name: Py<PyString>,
    owner: Py<PyType>,
    /// The offset of its slot in an instance; `None` when it is not known: then the attribute is read by name.
    offset: Option<usize>,
}

impl Attribute {
    /// The attribute `name` of instances of `owner`.
    pub(crate) fn find(owner: &Bound<'_, PyType>, name: &str) -> Self {
        Self {
            name: PyString::intern(owner.py(), name).unbind(),
            owner: owner.clone().unbind(),
            offset: offset(owner, name).unwrap_or_default(),
        }
    }

    /// The offset of its slot in an instance, when it is known.
    pub(crate) fn offset(&self) -> Option<usize> {
        self.offset
    }

    /// Returns the value of this attribute of `object`.
    ///
    /// # Errors
    /// The exception of reading it, where it is not in a slot.
    #[inline]
    pub(crate) fn read<'py>(&self, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self.slot(object) {
            Some(found) => Ok(found),
            None => object.getattr(self.name.bind(object.py())),
        }
    }

    /// Returns the value in the slot of `object`, if `object` is of exactly this type and the slot is not empty.
    #[inline]
    pub(crate) fn slot<'py>(&self, object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        let offset = self.offset?;
        if object.get_type_ptr().cast() != self.owner.as_ptr() {
            return None;
        }
        // SAFETY: `object` is an instance of the very type whose instances keep a reference (or null) at `offset`, which
        // was found in one of them; the layout of a type never changes.
        unsafe { in_slot(object, offset) }
    }
}

/// Returns the value in the slot at `offset` of `object`, if it is not empty.
///
/// # Safety
/// `object` has a slot there, with a reference or null.
#[inline]
pub(crate) unsafe fn in_slot<'py>(
    object: &Bound<'py, PyAny>,
    offset: usize,
) -> Option<Bound<'py, PyAny>> {
    // Python changes a slot in the same section. It is nothing where the interpreter has a lock.
    with_critical_section(object, || {
        // SAFETY: by the contract of this function. The reference is counted before anything else can change the slot.
        unsafe {
            let slot = object
                .as_ptr()
                .byte_add(offset)
                .cast::<*mut ffi::PyObject>();
            Bound::from_borrowed_ptr_or_opt(object.py(), slot.read())
        }
    })
}

/// Finds the offset at which instances of `owner` keep the attribute `name`: Python itself puts a value there, and the
/// search looks for it.
fn offset(owner: &Bound<'_, PyType>, name: &str) -> PyResult<Option<usize>> {
    const WORD: usize = size_of::<*mut ffi::PyObject>();
    let object = owner.py().import("builtins")?.getattr("object")?;
    let size: usize = owner.getattr("__basicsize__")?.extract()?;
    let instance = object.call_method1("__new__", (owner,))?;
    let marker = object.call0()?;
    object.call_method1("__setattr__", (&instance, name, &marker))?;
    if instance.get_type_ptr().cast() != owner.as_ptr() {
        return Ok(None);
    }
    let holds = |offset: &usize| {
        // SAFETY: an instance has at least `__basicsize__` bytes, and is aligned as a pointer is. Its words are compared
        // with the marker and not followed.
        let word = unsafe { instance.as_ptr().byte_add(*offset).cast::<usize>().read() };
        word == marker.as_ptr() as usize
    };
    let mut found = (size_of::<ffi::PyObject>()..size.saturating_sub(WORD - 1))
        .step_by(WORD)
        .filter(holds);
    Ok(match (found.next(), found.next()) {
        (Some(offset), None) => Some(offset),
        _ => None,
    })
}
