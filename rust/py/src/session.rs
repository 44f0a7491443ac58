//! State of one evaluation, shared by all values of its request.

use std::cell::Cell;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use bobcat_core::error::ErrorCode;
use bobcat_core::lang::path::Key;
use bobcat_core::memory::{Reader, State};
use bobcat_core::program::Profile;

use crate::bound_program::BoundProgram;
use crate::names::Names;
use crate::value::is_exception;

/// The state of one call of `evaluate`.
pub(crate) struct Session<'r, 'py> {
    pub(crate) py: Python<'py>,
    pub(crate) names: &'static Names,
    pub(crate) bound: &'r BoundProgram,
    /// The context passed beside the request.
    pub(crate) context: Option<&'r Bound<'py, PyAny>>,
    /// The state of the run.
    pub(crate) reader: Option<Reader<'r>>,
    lynx: bool,
    /// An interrupt or exit raised while a value was read: raised again when the evaluation is over.
    pending: Cell<Option<PyErr>>,
    /// The datetime that was read last, and its microseconds.
    instant: Cell<Option<(Bound<'py, PyAny>, Option<i64>)>>,
}

impl<'r, 'py> Session<'r, 'py> {
    pub(crate) fn new(
        py: Python<'py>,
        bound: &'r BoundProgram,
        context: Option<&'r Bound<'py, PyAny>>,
    ) -> Self {
        let lynx = bound.program.profile() == Profile::Lynx;
        Self {
            py,
            names: bound.names,
            bound,
            context,
            reader: None,
            lynx,
            pending: Cell::new(None),
            instant: Cell::new(None),
        }
    }

    /// The state of a call of `evaluate` that has the state of a run.
    pub(crate) fn reading(
        py: Python<'py>,
        bound: &'r BoundProgram,
        context: Option<&'r Bound<'py, PyAny>>,
        state: Option<&'r State>,
    ) -> Self {
        Self {
            reader: state.map(|state| state.reader(&bound.program)),
            ..Self::new(py, bound, context)
        }
    }

    /// Returns true if the policy has the `lynx` profile.
    pub(crate) fn lynx(&self) -> bool {
        self.lynx
    }

    /// The interned form of a key of the program.
    pub(crate) fn key(&self, key: Key<'_>) -> Option<&'r Bound<'py, PyString>> {
        self.bound
            .keys
            .get(key.id as usize)
            .map(|prepared| prepared.bind(self.py))
    }

    /// What `read` makes of a datetime. PERF: it takes five calls of Python, and several clauses compare one instant.
    pub(crate) fn instant(
        &self,
        datetime: &Bound<'py, PyAny>,
        read: impl FnOnce() -> Option<i64>,
    ) -> Option<i64> {
        let micros = match self.instant.take() {
            Some((known, micros)) if known.is(datetime) => micros,
            _ => read(),
        };
        self.instant.set(Some((datetime.clone(), micros)));
        micros
    }

    /// Discards an `Exception` (the answer reports its effect); keeps anything else for [`Self::finish`].
    #[cold]
    pub(crate) fn defer_error(&self, error: PyErr) {
        if is_exception(self.py, &error) {
            drop_attached(error);
        } else {
            self.pending.set(Some(error));
        }
    }

    /// The code of an exception: the name of its type.
    #[cold]
    pub(crate) fn error_code(&self, error: PyErr) -> ErrorCode {
        let code = code_of(self.py, &error);
        self.defer_error(error);
        code
    }

    /// Raises the interrupt or exit that occurred on the way, if any.
    pub(crate) fn finish(&self) -> PyResult<()> {
        self.pending.take().map_or(Ok(()), Err)
    }
}

/// The name of the type of `error`.
fn code_of(py: Python<'_>, error: &PyErr) -> ErrorCode {
    if error.get_type(py).is(py.get_type::<PyTypeError>()) {
        return ErrorCode::TypeError;
    }
    let name = error.get_type(py).name().map_or_else(
        |_| Arc::from("Exception"),
        |name| Arc::from(&*name.to_string_lossy()),
    );
    ErrorCode::Named(name)
}

/// Drops what PyO3 would otherwise keep until its next call: [`crate::vectorcall`] does not inform it that the thread is
/// attached.
#[cold]
pub(crate) fn drop_attached<T>(dropped: T) {
    Python::attach(|_| drop(dropped));
}
