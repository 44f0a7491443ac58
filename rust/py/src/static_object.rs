//! An object that many calls return. Who calls: the static decisions of a program.

use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::value::FREE_THREADED;

/// PERF: without the interpreter's lock, threads that count references of one object wait for its cache line. Two threads on a
/// policy of one rule made 1.4 to 1.5 times the calls of one; with a decision for each of them, 1.9 to 2.1 times.
const COPIES: usize = if FREE_THREADED { 16 } else { 1 };

/// An object made on first use, once; without the interpreter's lock, an equal one for each of some threads.
pub(crate) struct StaticObject([PyOnceLock<Py<PyAny>>; COPIES]);

impl StaticObject {
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| PyOnceLock::new()))
    }

    /// The object, if this thread has made it.
    #[inline]
    pub(crate) fn get(&self, py: Python<'_>) -> Option<&Py<PyAny>> {
        self.cell().get(py)
    }

    /// The object; `make` makes it on first use.
    pub(crate) fn get_or_try_init(
        &self,
        py: Python<'_>,
        make: impl FnOnce() -> PyResult<Py<PyAny>>,
    ) -> PyResult<&Py<PyAny>> {
        self.cell().get_or_try_init(py, make)
    }

    #[inline]
    fn cell(&self) -> &PyOnceLock<Py<PyAny>> {
        let [first, ..] = &self.0;
        if FREE_THREADED {
            self.0.get(place()).unwrap_or(first)
        } else {
            first
        }
    }
}

/// The copy of this thread; their number is a power of two.
fn place() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static PLACE: usize = NEXT.fetch_add(1, Ordering::Relaxed) & (COPIES - 1));
    PLACE.with(|place| *place)
}
