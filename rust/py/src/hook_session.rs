//! `HookSession`: the session of a coding agent, for the hook in Python.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use bobcat_session::{Failure, Result as Ended, Session, default_directory};

use crate::program;
use crate::run_state::RunState;

/// A session that this process holds, until something is recorded or it is closed.
#[pyclass(frozen, module = "bobcat._core")]
pub(crate) struct HookSession {
    state: Py<RunState>,
    session: Mutex<Option<Session>>,
}

/// The directory of sessions, by the environment.
#[pyfunction]
pub(crate) fn session_directory() -> PyResult<PathBuf> {
    default_directory().map_err(failed)
}

fn failed(failure: Failure) -> PyErr {
    PyValueError::new_err(failure)
}

impl HookSession {
    fn take(&self) -> PyResult<Session> {
        let mut held = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        held.take()
            .ok_or_else(|| PyValueError::new_err("the session is closed"))
    }
}

#[pymethods]
impl HookSession {
    #[staticmethod]
    fn open(
        py: Python<'_>,
        bundle: &Bound<'_, PyAny>,
        directory: PathBuf,
        host: &str,
        session: &str,
    ) -> PyResult<Self> {
        let program = program::program_of(bundle)?;
        let opened = {
            let program = &program.get().bound.program;
            py.detach(|| Session::open(program, &directory, (host, session)))
        };
        let session = opened.map_err(failed)?;
        let state = RunState::of(program, session.state().clone());
        Ok(Self {
            state: Py::new(py, state)?,
            session: Mutex::new(Some(session)),
        })
    }

    #[getter]
    fn state(&self, py: Python<'_>) -> Py<RunState> {
        self.state.clone_ref(py)
    }

    #[pyo3(signature = (request, *, id, tool, args))]
    fn call(
        &self,
        py: Python<'_>,
        request: &str,
        id: Option<&str>,
        tool: &str,
        args: &str,
    ) -> PyResult<()> {
        let session = self.take()?;
        py.detach(|| session.call(request, (id, tool, args)))
            .map_err(failed)
    }

    #[pyo3(signature = (*, id, tool, args, value, failed, at))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn result(
        &self,
        py: Python<'_>,
        id: Option<&str>,
        tool: &str,
        args: &str,
        value: Option<&str>,
        failed: bool,
        at: &str,
    ) -> PyResult<()> {
        let session = self.take()?;
        let ended = Ended {
            id,
            tool,
            args,
            value,
            failed,
            at,
        };
        py.detach(|| session.result(ended)).map_err(self::failed)
    }

    fn set_task(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        let session = self.take()?;
        py.detach(|| session.set_task(text)).map_err(failed)
    }

    fn close(&self) {
        drop(self.take());
    }
}
