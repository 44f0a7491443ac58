//! `HookSession`: the session of a coding agent, for the hook in Python.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use bobcat_session::{Failure, Result as Ended, Session, default_directory};

use crate::program::{self, Program};
use crate::run_state::RunState;

/// A session that this process holds, until it is closed.
#[pyclass(frozen, module = "bobcat._core")]
pub(crate) struct HookSession {
    program: Py<Program>,
    held: Mutex<Option<(Session, Py<RunState>)>>,
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
    /// Does something with the session, while no other thread does.
    ///
    /// # Errors
    /// The session is closed, or what is done fails.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(
            &bobcat_core::program::Program,
            &mut Session,
        ) -> std::result::Result<T, Failure>
        + Send,
    ) -> PyResult<T> {
        let program = &self.program.get().bound.program;
        py.detach(|| {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            let (session, _) = held.as_mut().ok_or("the session is closed")?;
            act(program, session)
        })
        .map_err(failed)
    }

    /// Makes the state that Python reads from that of the session.
    fn renew(&self, py: Python<'_>) -> PyResult<()> {
        let state = self.with(py, |_, session| Ok(session.state().clone()))?;
        let state = Py::new(py, RunState::of(self.program.bind(py), state))?;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, old)) = &mut *held {
            *old = state;
        }
        Ok(())
    }

    fn take(&self) -> Option<Session> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.take().map(|(session, _)| session)
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
        let state = Py::new(py, RunState::of(program, session.state().clone()))?;
        Ok(Self {
            program: program.clone().unbind(),
            held: Mutex::new(Some((session, state))),
        })
    }

    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<Py<RunState>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match &*held {
            Some((_, state)) => Ok(state.clone_ref(py)),
            None => Err(PyValueError::new_err("the session is closed")),
        }
    }

    fn share(&self, py: Python<'_>, kind: &str, id: &str, at: &str) -> PyResult<()> {
        self.with(py, |program, session| {
            session.share(program, (kind, id), at)
        })?;
        self.renew(py)
    }

    fn repair(&self, py: Python<'_>) -> PyResult<bool> {
        let repaired = self.with(py, |program, session| session.repair(program))?;
        if repaired {
            self.renew(py)?;
        }
        Ok(repaired)
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
        self.with(py, |program, session| {
            session.call(program, request, (id, tool, args))
        })
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
        let ended = Ended {
            id,
            tool,
            args,
            value,
            failed,
            at,
        };
        self.with(py, |program, session| session.result(program, ended))
    }

    fn set_task(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        self.with(py, |_, session| session.set_task(text))
    }

    fn close(&self, py: Python<'_>) {
        if let Some(session) = self.take() {
            py.detach(|| session.compact());
        }
    }
}
