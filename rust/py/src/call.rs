//! One evaluation: what all values of a request share while it runs.

use std::cell::Cell;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use bobcat_core::error::ErrorCode;
use bobcat_core::program::Profile;
use bobcat_core::value::Key;

use crate::loaded::Loaded;
use crate::names::Names;
use crate::value::is_exception;

/// The state of one call of `evaluate`.
pub(crate) struct Call<'r, 'py> {
    pub(crate) py: Python<'py>,
    pub(crate) names: &'static Names,
    pub(crate) loaded: &'r Loaded,
    /// The context passed beside the request.
    pub(crate) context: Option<&'r Bound<'py, PyAny>>,
    lynx: bool,
    /// An interrupt or exit raised while a value was read: raised again when the evaluation is over.
    pending: Cell<Option<PyErr>>,
}

impl<'r, 'py> Call<'r, 'py> {
    pub(crate) fn new(
        py: Python<'py>,
        loaded: &'r Loaded,
        context: Option<&'r Bound<'py, PyAny>>,
    ) -> Self {
        let lynx = loaded.program.profile() == Profile::Lynx;
        Self {
            py,
            names: loaded.names,
            loaded,
            context,
            lynx,
            pending: Cell::new(None),
        }
    }

    /// Whether the policy has the `lynx` profile.
    pub(crate) fn lynx(&self) -> bool {
        self.lynx
    }

    /// The interned form of a key of the program.
    pub(crate) fn key(&self, key: Key<'_>) -> Option<&'r Bound<'py, PyString>> {
        self.loaded
            .keys
            .get(key.id as usize)
            .map(|prepared| prepared.bind(self.py))
    }

    /// Forgets an `Exception` (the answer says what became of it); keeps anything else for [`Self::finish`].
    #[cold]
    pub(crate) fn note(&self, error: PyErr) {
        if is_exception(self.py, &error) {
            forget(error);
        } else {
            self.pending.set(Some(error));
        }
    }

    /// The code of an exception: the name of its type.
    #[cold]
    pub(crate) fn error_code(&self, error: PyErr) -> ErrorCode {
        let code = code_of(self.py, &error);
        self.note(error);
        code
    }

    /// Raises the interrupt or exit that was met on the way, if any.
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

/// Drops what PyO3 would otherwise keep until its next call: [`crate::fast`] does not tell it that the thread is attached.
#[cold]
pub(crate) fn forget<T>(dropped: T) {
    Python::attach(|_| drop(dropped));
}
