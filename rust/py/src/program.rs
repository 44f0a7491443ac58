//! `Program`, and the functions that decide with one.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple, PyType};

use bobcat_core::memory::State;
use bobcat_core::program::{Outcome, Profile, Program as CoreProgram, Scratch, StaticOutcome};
use bobcat_core::regex::CacheBudget;
use bobcat_core::source::Source;

use crate::bound_program::BoundProgram;
use crate::error::core_error;
use crate::request::PyRequest;
use crate::session::Session;
use crate::value::{is_exactly, is_exception};
use crate::{batch, decision, layered, run_state, trace};

/// A loaded policy, frozen and safe to use from many threads.
#[pyclass(frozen, subclass, module = "bobcat._core")]
pub(crate) struct Program {
    pub(crate) bound: BoundProgram,
}

#[pymethods]
impl Program {
    #[new]
    #[classmethod]
    #[pyo3(
        signature = (ir, host_rules=None, *_args, **_kwargs),
        text_signature = "(ir, host_rules=(), *args, **kwargs)"
    )]
    fn new(
        class: &Bound<'_, PyType>,
        ir: Bound<'_, PyBytes>,
        host_rules: Option<&Bound<'_, PyTuple>>,
        _args: &Bound<'_, PyTuple>,
        _kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let py = class.py();
        if class.is_subclass_of::<Self>()? {
            let _ = CLASS.set(py, class.clone().unbind());
        }
        // Nothing is copied: the program keeps the bytes object, and reads its parts from it.
        let source = Source::new(PyBackedBytes::from(ir));
        let program = py
            .detach(|| {
                catch_unwind(AssertUnwindSafe(|| {
                    CoreProgram::from_layered_source(source, &CacheBudget::default())
                }))
            })
            .map_err(|_| core_error(py, "internal_error", "the decoder failed on these bytes"))?
            .map_err(|error| core_error(py, error.code, &error.message))?;
        let host_rules: Vec<Py<PyAny>> =
            host_rules.map_or_else(Vec::new, |rules| rules.iter().map(Bound::unbind).collect());
        if host_rules.len() != program.host_count() as usize {
            let message = format!(
                "the policy has {} host rules, {} callables were given",
                program.host_count(),
                host_rules.len()
            );
            return Err(core_error(py, "host_rules", &message));
        }
        if host_rules.iter().any(|rule| !rule.bind(py).is_callable()) {
            return Err(PyTypeError::new_err("`host_rules` must be callables"));
        }
        Ok(Self {
            bound: BoundProgram::new(py, program, host_rules)?,
        })
    }

    /// Builds the indexes, automata and decisions ahead of the first calls.
    fn prepare(&self, py: Python<'_>) -> PyResult<()> {
        let program = &self.bound.program;
        py.detach(|| catch_unwind(AssertUnwindSafe(|| program.prepare_all())))
            .map_err(|_| {
                core_error(
                    py,
                    "internal_error",
                    "a part of the policy could not be made",
                )
            })?;
        self.bound.prepare_decisions(py)
    }

    /// The number of rules, host rules included.
    #[getter]
    fn rule_count(&self) -> usize {
        self.bound.program.rule_count()
    }

    /// True if decisions read the state of a run.
    #[getter]
    fn remembers(&self) -> bool {
        self.bound.program.remembers()
    }

    /// True if decisions read the task of a run.
    #[getter]
    fn reads_task(&self) -> bool {
        self.bound.program.reads_task()
    }

    /// True if what decisions read of a run depends on results of calls.
    #[getter]
    fn reads_results(&self) -> bool {
        self.bound.program.reads_results()
    }

    /// `strict` or `lynx`.
    #[getter]
    fn profile(&self) -> &'static str {
        match self.bound.program.profile() {
            Profile::Strict => "strict",
            Profile::Lynx => "lynx",
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.bound
            .host_rules
            .iter()
            .try_for_each(|rule| visit.call(rule))
    }
}

/// The class of the first program, mostly the only one. PERF: that an object has it is found by comparing
/// pointers, that its class is a subclass of `Program` by a walk over bases.
static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// An object as a program, if it is one.
#[inline]
pub(crate) fn of<'a, 'py>(object: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, Program>> {
    let class = CLASS.get(object.py());
    if class.is_some_and(|class| is_exactly(object, class)) {
        // SAFETY: the class is one that `Program` made an instance of, so it is `Program` or a subclass of it.
        return Some(unsafe { object.cast_unchecked::<Program>() });
    }
    object.cast::<Program>().ok()
}

/// The decision of `bundle` on `request`; see [`crate::vectorcall`].
#[pyfunction]
#[pyo3(signature = (bundle, request, context=None, state=None))]
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    bundle: &Bound<'py, PyAny>,
    request: &Bound<'py, PyAny>,
    context: Option<&Bound<'py, PyAny>>,
    state: Option<&Bound<'py, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let bound = &program_of(bundle)?.get().bound;
    if bound.program.layers().is_some() {
        return decide_layered(py, bound, (request, context), state);
    }
    match state {
        None => decide(py, bound, request, context),
        Some(state) => decide_reading(py, bound, (request, context), state),
    }
}

/// The program in a policy. The message uses the public name of the class.
pub(crate) fn program_of<'a, 'py>(
    bundle: &'a Bound<'py, PyAny>,
) -> PyResult<&'a Bound<'py, Program>> {
    bundle.cast::<Program>().map_err(|_| {
        PyTypeError::new_err(format!(
            "bundle must be a Policy, got {}; make one with Policy.compile or Policy.load",
            kind_of(bundle)
        ))
    })
}

/// The name of an object's type.
pub(crate) fn kind_of(object: &Bound<'_, PyAny>) -> String {
    object
        .get_type()
        .name()
        .map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

/// One decision per request, in order. TypeError for a wrong bundle or request type.
#[pyfunction]
pub(crate) fn evaluate_many<'py>(
    py: Python<'py>,
    bundle: &Bound<'py, PyAny>,
    requests: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let bound = &program_of(bundle)?.get().bound;
    let decisions = PyList::empty(py);
    let layered = bound.program.layers().is_some();
    for request in requests.try_iter()? {
        decisions.append(if layered {
            decide_layered(py, bound, (&request?, None), None)?
        } else {
            decide(py, bound, &request?, None)?
        })?;
    }
    Ok(decisions)
}

/// One decision per line of JSON Lines `data`, the GIL released while deciding. Host rules are rejected.
///
/// CoreError (a ValueError) with the code `bad_request` and the number of the line, for a line that is no request.
#[pyfunction]
pub(crate) fn evaluate_json<'py>(
    py: Python<'py>,
    bundle: &Bound<'py, PyAny>,
    data: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let program = program_of(bundle)?;
    let data = data.cast::<PyBytes>().map_err(|_| {
        let kind = kind_of(data);
        let instead = match kind.as_str() {
            "bytearray" | "memoryview" | "mmap" => "bytes(data) makes them",
            _ => "a str is encoded by .encode()",
        };
        PyTypeError::new_err(format!(
            "data must be JSON Lines as bytes, got {kind}; {instead}"
        ))
    })?;
    batch::evaluate(py, &program.get().bound, data.as_bytes())
}

/// The decision, and the result of every rule, evaluated clause by clause along the plain path (no index, no automaton).
#[pyfunction]
#[pyo3(signature = (bundle, request, context=None, state=None))]
pub(crate) fn explain<'py>(
    py: Python<'py>,
    bundle: &Bound<'py, PyAny>,
    request: &Bound<'py, PyAny>,
    context: Option<&Bound<'py, PyAny>>,
    state: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Py<PyAny>, Bound<'py, PyList>)> {
    let bound = &program_of(bundle)?.get().bound;
    let state = state.map(|state| run_state::snapshot(bound, state));
    let state = state.transpose()?;
    let session = Session::reading(py, bound, context, state.as_deref());
    let request = PyRequest::new(&session, request)?;
    if let Some(layers) = bound.program.layers() {
        let explained = catch_unwind(AssertUnwindSafe(|| {
            bound.program.explain_layered(layers, &request)
        }));
        session.finish()?;
        return match explained {
            Ok((outcome, rules)) => Ok((
                layered::of(&session, layers, outcome)?,
                trace::to_python(&session, &rules)?,
            )),
            Err(_) => Ok((decision::internal_error(py)?, PyList::empty(py))),
        };
    }
    let explained = catch_unwind(AssertUnwindSafe(|| bound.program.explain(&request)));
    session.finish()?;
    match explained {
        Ok((outcome, rules)) => Ok((
            decision::of(&session, outcome)?,
            trace::to_python(&session, &rules)?,
        )),
        Err(_) => Ok((decision::internal_error(py)?, PyList::empty(py))),
    }
}

/// Returns the answer of `evaluate` to a panic of the core; for a test.
#[pyfunction]
pub(crate) fn _panic_for_tests<'py>(
    py: Python<'py>,
    bundle: &Bound<'py, Program>,
    request: &Bound<'py, PyAny>,
) -> PyResult<Py<PyAny>> {
    #[expect(clippy::panic, reason = "the one thing this function is for")]
    guarded(py, &bundle.get().bound, (request, None, None), |_, _| {
        panic!("a panic for the tests")
    })
}

#[inline]
pub(crate) fn decide<'py>(
    py: Python<'py>,
    bound: &BoundProgram,
    request: &Bound<'py, PyAny>,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Py<PyAny>> {
    guarded(py, bound, (request, context, None), |request, scratch| {
        bound.program.decide_known(request, scratch)
    })
}

/// The decision with the state of a run.
#[inline(never)]
pub(crate) fn decide_reading<'py>(
    py: Python<'py>,
    bound: &BoundProgram,
    (request, context): (&Bound<'py, PyAny>, Option<&Bound<'py, PyAny>>),
    state: &Bound<'py, PyAny>,
) -> PyResult<Py<PyAny>> {
    let state = run_state::snapshot(bound, state)?;
    guarded(
        py,
        bound,
        (request, context, Some(&state)),
        |request, scratch| bound.program.decide_known(request, scratch),
    )
}

/// The decision of a policy with layers.
///
/// INVARIANT: whatever fails in here, short of an interrupt, is answered with a `deny`.
#[inline(never)]
pub(crate) fn decide_layered<'py>(
    py: Python<'py>,
    bound: &BoundProgram,
    (request, context): (&Bound<'py, PyAny>, Option<&Bound<'py, PyAny>>),
    state: Option<&Bound<'py, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let state = state.map(|state| run_state::snapshot(bound, state));
    let state = state.transpose()?;
    let session = Session::reading(py, bound, context, state.as_deref());
    let Some(layers) = bound.program.layers() else {
        return decision::internal_error(py);
    };
    let evaluated = catch_unwind(AssertUnwindSafe(|| {
        let tool = PyRequest::tool_of(&session, request)?;
        let request = PyRequest::with_tool(&session, request, tool);
        request.read_all()?;
        let outcome =
            with_scratch(|scratch| bound.program.decide_layered(layers, &request, scratch));
        session.finish()?;
        layered::of(&session, layers, outcome).or_else(|error| failed(py, error))
    }));
    match evaluated {
        Ok(decided) => decided,
        Err(_) => panicked(&session),
    }
}

/// The core panicked.
#[cold]
fn panicked(session: &Session<'_, '_>) -> PyResult<Py<PyAny>> {
    session.finish()?;
    decision::internal_error(session.py)
}

/// Runs `evaluate` on a request and builds a decision from its result.
///
/// INVARIANT: whatever fails in here, short of an interrupt, is answered with a `deny`.
#[inline(always)]
fn guarded<'py>(
    py: Python<'py>,
    bound: &BoundProgram,
    (request, context, state): Given<'_, 'py>,
    evaluate: impl for<'r> FnOnce(&PyRequest<'r, 'py>, &mut Scratch) -> Evaluated<'r, 'py>,
) -> PyResult<Py<PyAny>> {
    let session = match state {
        None => Session::new(py, bound, context),
        Some(state) => Session::reading(py, bound, context, Some(state)),
    };
    let evaluated = catch_unwind(AssertUnwindSafe(|| {
        let tool = PyRequest::tool_of(&session, request).map_err(Box::new)?;
        let request = PyRequest::with_tool(&session, request, tool);
        request.read_all().map_err(Box::new)?;
        let evaluated = with_scratch(|scratch| evaluate(&request, scratch));
        session.finish().map_err(Box::new)?;
        match evaluated {
            Ok(known) => decision::known(py, bound, known),
            Err(outcome) => decision::of(&session, *outcome),
        }
        .or_else(|error| failed(py, error))
        .map_err(Box::new)
    }));
    // PERF: an error is boxed in there, so that a decision takes two words to hand out.
    match evaluated {
        Ok(decided) => decided.map_err(|error| *error),
        Err(_) => panicked(&session),
    }
}

/// A request, the context passed beside it, and the state of its run.
type Given<'a, 'py> = (
    &'a Bound<'py, PyAny>,
    Option<&'a Bound<'py, PyAny>>,
    Option<&'a State>,
);

/// The result of the core for a request.
type Evaluated<'r, 'py> = Result<StaticOutcome, Box<Outcome<PyRequest<'r, 'py>>>>;

/// The result could not be converted to a decision.
#[cold]
fn failed(py: Python<'_>, error: PyErr) -> PyResult<Py<PyAny>> {
    if is_exception(py, &error) {
        decision::internal_error(py)
    } else {
        Err(error)
    }
}

/// Calls `work` with the working memory of this thread.
#[inline]
pub(crate) fn with_scratch<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    SCRATCH.with(|kept| {
        let mut scratch = kept.take().unwrap_or_default();
        let done = work(&mut scratch);
        kept.set(Some(scratch));
        done
    })
}

thread_local! {
    /// PERF: the working memory of the last evaluation of this thread. A host rule that evaluates finds it in use, and creates
    /// its own.
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}
