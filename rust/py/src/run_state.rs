//! `RunState`: the state of one run, fed by a host.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use bobcat_core::error::{ErrorCode, Fault};
use bobcat_core::memory::{State, UnknownCall};
use bobcat_core::num::number::Number;
use bobcat_core::value::constant::Const;
use bobcat_core::value::memory::{LeafValue, Memory as _, Reading};
use bobcat_core::value::{Value as _, View};

use crate::bound_program::BoundProgram;
use crate::constant;
use crate::program::{self, Program, kind_of};
use crate::request::PyRequest;
use crate::session::Session;
use crate::value::PyValue;

/// The state of one run: what a policy remembers of its calls and their results.
///
/// Decisions see the state as it was when they began: a change makes a copy while a decision reads it.
#[pyclass(frozen, module = "bobcat._core")]
pub(crate) struct RunState {
    program: Py<Program>,
    state: Mutex<Arc<State>>,
    /// The thread that changes it.
    owner: AtomicUsize,
}

/// The state in an object, for decisions of a program.
///
/// # Errors
/// `TypeError` for another object, `ValueError` for the state of another policy.
pub(crate) fn snapshot(bound: &BoundProgram, object: &Bound<'_, PyAny>) -> PyResult<Arc<State>> {
    let Ok(state) = object.cast::<RunState>() else {
        let kind = kind_of(object);
        let message = format!("state must be a RunState, got {kind}");
        return Err(PyTypeError::new_err(message));
    };
    let state = state.get();
    let own = &state.program.get().bound.program;
    if !std::ptr::eq(own, &raw const bound.program)
        && own.memory_bytes() != bound.program.memory_bytes()
    {
        let message = "state is of a policy with other definitions of memory";
        return Err(PyValueError::new_err(message));
    }
    state.snapshot(object.py())
}

impl RunState {
    /// The state, once no other thread changes it. A change may run Python code, which may switch threads, so that a
    /// thread waits without the interpreter's lock.
    ///
    /// # Errors
    /// This thread changes it: reading a request or a result led here. Or a change failed halfway.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Arc<State>>> {
        loop {
            match self.state.try_lock() {
                Ok(held) => return Ok(held),
                Err(TryLockError::Poisoned(_)) => {
                    return Err(PyRuntimeError::new_err("a change of the state failed"));
                }
                Err(TryLockError::WouldBlock) => {}
            }
            if self.owner.load(Ordering::Relaxed) == this_thread() {
                let message = "the state was used by the values it was reading";
                return Err(PyRuntimeError::new_err(message));
            }
            py.detach(|| drop(self.state.lock()));
        }
    }

    fn snapshot(&self, py: Python<'_>) -> PyResult<Arc<State>> {
        self.lock(py).map(|held| Arc::clone(&held))
    }

    fn bound(&self) -> &BoundProgram {
        &self.program.get().bound
    }

    /// Changes the state.
    ///
    /// # Errors
    /// Those of [`Self::lock`].
    fn change<T>(&self, py: Python<'_>, change: impl FnOnce(&mut State) -> T) -> PyResult<T> {
        let mut held = self.lock(py)?;
        self.owner.store(this_thread(), Ordering::Relaxed);
        let done = change(Arc::make_mut(&mut held));
        self.owner.store(NO_THREAD, Ordering::Relaxed);
        Ok(done)
    }

    pub(crate) fn of(program: &Bound<'_, Program>, state: State) -> Self {
        Self {
            program: program.clone().unbind(),
            state: Mutex::new(Arc::new(state)),
            owner: AtomicUsize::new(NO_THREAD),
        }
    }
}

const NO_THREAD: usize = 0;

/// A number of the running thread that no other one has while it runs.
fn this_thread() -> usize {
    thread_local! {
        static MARK: u8 = const { 0 };
    }
    MARK.with(|mark| std::ptr::from_ref(mark).addr())
}

fn known(key: &str, done: Result<(), UnknownCall>) -> PyResult<()> {
    done.map_err(|UnknownCall| {
        PyValueError::new_err(format!("the state knows no open call with the key {key:?}"))
    })
}

fn number<'py>(py: Python<'py>, number: Number) -> PyResult<Bound<'py, PyAny>> {
    constant::to_python(
        py,
        &match number {
            Number::Int(value) => Const::Int(value),
            Number::Big(value) => Const::BigInt(value),
            Number::Float(value) => Const::Float(value),
        },
    )
}

/// Adds the value of a definition, or `{"error": code}`.
fn put(found: &Bound<'_, PyDict>, name: &str, value: Result<Reading, ErrorCode>) -> PyResult<()> {
    let py = found.py();
    match value {
        Ok(Reading::Bool(value)) => found.set_item(name, value),
        Ok(Reading::Number(value)) => found.set_item(name, number(py, value)?),
        Err(code) => {
            let error = PyDict::new(py);
            error.set_item("error", code.as_str())?;
            found.set_item(name, error)
        }
    }
}

/// The reason why a shared measure has no value, by its code.
fn reason(code: &str) -> Option<Fault> {
    [Fault::NoState, Fault::BadState, Fault::StateLimit]
        .into_iter()
        .find(|fault| ErrorCode::from(*fault).as_str() == code)
}

/// The microseconds of a datetime with a time zone.
fn micros(value: &PyValue<'_, '_>) -> PyResult<i64> {
    match value.view() {
        View::Timestamp(micros) => Ok(micros),
        _ => Err(PyTypeError::new_err(format!(
            "at must be a datetime with a time zone, got {}",
            kind_of(&value.object)
        ))),
    }
}

#[pymethods]
impl RunState {
    #[new]
    #[pyo3(signature = (bundle, *, task=None))]
    fn new(bundle: &Bound<'_, PyAny>, task: Option<&str>) -> PyResult<Self> {
        let program = program::program_of(bundle)?;
        let state = State::new(&program.get().bound.program, task);
        Ok(Self::of(program, state))
    }

    #[staticmethod]
    fn load(bundle: &Bound<'_, PyAny>, data: &Bound<'_, PyBytes>) -> PyResult<Self> {
        let program = program::program_of(bundle)?;
        let state = State::load(&program.get().bound.program, data.as_bytes());
        let state = state.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self::of(program, state))
    }

    fn dump<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.snapshot(py)?;
        let bytes = py.detach(|| state.dump());
        Ok(PyBytes::new(py, &bytes))
    }

    #[getter]
    fn task(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.snapshot(py)?.task().map(str::to_owned))
    }

    fn call(&self, py: Python<'_>, request: &Bound<'_, PyAny>, key: &str) -> PyResult<()> {
        let bound = self.bound();
        let session = Session::new(py, bound, None);
        let request = PyRequest::new(&session, request)?;
        program::with_scratch(|scratch| {
            self.change(py, |state| {
                state.call(&bound.program, &request, key, scratch)
            })
        })?;
        session.finish()
    }

    fn result<'py>(
        &self,
        py: Python<'py>,
        key: &str,
        value: &Bound<'py, PyAny>,
        at: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let bound = self.bound();
        let session = Session::new(py, bound, None);
        let read = |object: &Bound<'py, PyAny>| PyValue {
            session: &session,
            object: object.clone(),
        };
        let (value, at) = (read(value), micros(&read(at))?);
        let done = program::with_scratch(|scratch| {
            self.change(py, |state| {
                state.result(&bound.program, key, (&value, at), scratch)
            })
        })?;
        session.finish()?;
        known(key, done)
    }

    fn failed(&self, py: Python<'_>, key: &str, at: &Bound<'_, PyAny>) -> PyResult<()> {
        let bound = self.bound();
        let session = Session::new(py, bound, None);
        micros(&PyValue {
            session: &session,
            object: at.clone(),
        })?;
        known(
            key,
            self.change(py, |state| state.failed(&bound.program, key))?,
        )
    }

    fn release(&self, py: Python<'_>, key: &str) -> PyResult<()> {
        let program = &self.bound().program;
        known(key, self.change(py, |state| state.release(program, key))?)
    }

    fn next_reply(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, State::next_reply)
    }

    #[pyo3(signature = (*, task=None))]
    fn next_turn(&self, py: Python<'_>, task: Option<&str>) -> PyResult<()> {
        let program = &self.bound().program;
        self.change(py, |state| state.next_turn(program, task))
    }

    #[pyo3(signature = (task))]
    fn set_task(&self, py: Python<'_>, task: Option<&str>) -> PyResult<()> {
        self.change(py, |state| state.set_task(task))
    }

    fn share(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let bound = self.bound();
        let session = Session::new(py, bound, None);
        let mut read = Vec::new();
        for pair in values.call_method0("items")?.try_iter()? {
            let (name, object): (String, Bound<'_, PyAny>) = pair?.extract()?;
            let value = PyValue {
                session: &session,
                object,
            };
            let found = match LeafValue::of(&value.view()) {
                Some(LeafValue::Number(Number::Float(value))) if !value.is_finite() => None,
                Some(LeafValue::Number(number)) => Some(Ok(number)),
                Some(LeafValue::Text(code)) => reason(code).map(Err),
                None => None,
            };
            let Some(found) = found else {
                let kind = kind_of(&value.object);
                let message =
                    format!("the value of {name:?} must be a finite number or a code, got {kind}");
                return Err(PyValueError::new_err(message));
            };
            read.push((name, found));
        }
        session.finish()?;
        self.change(py, |state| {
            for (name, value) in read {
                if !state.share(&bound.program, &name, value) {
                    let message = format!("the policy has no shared measure {name:?}");
                    return Err(PyValueError::new_err(message));
                }
            }
            Ok(())
        })?
    }

    fn values<'py>(
        &self,
        py: Python<'py>,
        request: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (bound, state) = (self.bound(), self.snapshot(py)?);
        let session = Session::new(py, bound, None);
        let request = PyRequest::new(&session, request)?;
        let found = PyDict::new(py);
        let reader = state.reader(&bound.program);
        for (name, value) in reader.values(&bound.program, &request) {
            put(&found, name, value)?;
        }
        session.finish()?;
        Ok(found)
    }

    fn amounts<'py>(
        &self,
        py: Python<'py>,
        request: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let bound = self.bound();
        let session = Session::new(py, bound, None);
        let request = PyRequest::new(&session, request)?;
        let found = PyDict::new(py);
        for (name, value) in bound.program.amounts(&request) {
            put(&found, name, value.map(Reading::Number))?;
        }
        session.finish()?;
        Ok(found)
    }

    fn origins<'py>(
        &self,
        py: Python<'py>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (bound, state) = (self.bound(), self.snapshot(py)?);
        let session = Session::new(py, bound, None);
        let value = PyValue {
            session: &session,
            object: value.clone(),
        };
        let list = PyList::empty(py);
        let view = value.view();
        let Some(leaf) = LeafValue::of(&view) else {
            session.finish()?;
            return Ok(list);
        };
        let names = bound
            .program
            .memory()
            .map_or(&[][..], |memory| &memory.names);
        for origin in state.reader(&bound.program).origins(&leaf) {
            let shown = PyDict::new(py);
            match origin.source {
                None => shown.set_item("source", "task")?,
                Some(number) => {
                    let name = names.get(number as usize).map_or("", AsRef::as_ref);
                    shown.set_item("source", name)?;
                    shown.set_item("tool", origin.tool)?;
                    shown.set_item("key", origin.key)?;
                    shown.set_item("field", origin.field)?;
                }
            }
            list.append(shown)?;
        }
        Ok(list)
    }
}
