//! `evaluate`, called by position: reads the arguments directly, without PyO3's parsing of arguments and its guard.
//!
//! PERF: they are 250 of the 1,250 instructions of a decision by the tool alone.
//!
//! INVARIANT: a call that is not `(bundle, request)` or `(bundle, request, context)`, with `state` by position or by its name
//! alone, with the types themselves, goes to the function that PyO3 made, which also finds the words for what is wrong with it.
//! PyO3 is informed that the thread is attached where Python code may run.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::bound_program::BoundProgram;
use crate::decision;
use crate::names::Names;
use crate::program::{self, Program};
use crate::value::is_exactly;

const FUNCTION: &CStr = c"evaluate(bundle, request, context=None, state=None)\n--\n\n\
    The decision of `bundle` on `request`. `context` counts in place of the request's,\n\
    `state` is what the policy reads of the run.\n\n\
    Never raises on the content of a request; TypeError for a value that is not a bundle or not a request.";
const METHOD: &CStr = c"evaluate($self, request, context=None, state=None)\n--\n\n\
    The decision on one request. Never raises on the content of a request; TypeError if it is not one.";

const BESIDE: &CStr = c"evaluate_beside(bundle, candidate, request, context, /)\n--\n\n\
    The decision of `bundle` on `request`, with that of `candidate` in a tuple unless both have the same outcome: verdict,\n\
    rules and obligations, without new arguments or an approval. None where one of them needs more than a request to decide.";

/// Puts `evaluate` into the module, and into `Program`, and `evaluate_beside` into the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let name = module.name()?;
    let class = py.get_type::<Program>();
    // SAFETY: the definitions are leaked, as Python keeps pointers to them; the objects returned are new references.
    let (function, method, beside) = unsafe {
        let function = define((c"evaluate", FUNCTION), evaluate);
        let function = ffi::PyCFunction_NewEx(function, ptr::null_mut(), name.as_ptr());
        let method = define((c"evaluate", METHOD), evaluate_method);
        let method = ffi::PyDescr_NewMethod(class.as_ptr().cast(), method);
        let beside = define((c"evaluate_beside", BESIDE), evaluate_beside);
        let beside = ffi::PyCFunction_NewEx(beside, ptr::null_mut(), name.as_ptr());
        (
            Bound::from_owned_ptr_or_err(py, function)?,
            Bound::from_owned_ptr_or_err(py, method)?,
            Bound::from_owned_ptr_or_err(py, beside)?,
        )
    };
    module.add("evaluate", function)?;
    module.add("evaluate_beside", beside)?;
    class.setattr("evaluate", method)
}

/// A definition that is never dropped; there are three of them.
fn define(
    (name, doc): (&'static CStr, &'static CStr),
    function: ffi::PyCFunctionFastWithKeywords,
) -> *mut ffi::PyMethodDef {
    Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer {
            PyCFunctionFastWithKeywords: function,
        },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: doc.as_ptr(),
    }))
}

/// The function of the module.
unsafe extern "C" fn evaluate(
    _module: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls with `count` positional arguments in place, as the definition asks.
    unsafe { called(ptr::null_mut(), arguments, count, keywords) }
}

/// The method of `Program`.
unsafe extern "C" fn evaluate_method(
    program: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as above; a method descriptor has checked that `program` is a `Program`.
    unsafe { called(program, arguments, count, keywords) }
}

/// The function that decides by two policies.
///
/// PERF: one call from Python, and no Python code that compares equal decisions.
unsafe extern "C" fn evaluate_beside(
    _module: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls with `count` positional arguments in place, as the definition asks; none is read that is not
    // counted. The thread is attached, and the arguments are borrowed references that the caller holds.
    unsafe {
        let py = Python::assume_attached();
        if count != 4 || !keywords.is_null() {
            PyTypeError::new_err("evaluate_beside() takes four positional arguments").restore(py);
            return ptr::null_mut();
        }
        let (request, context) = (*arguments.add(2), *arguments.add(3));
        if may_run_python(py, *arguments) || may_run_python(py, *arguments.add(1)) {
            return py.None().into_ptr();
        }
        let Some(enforced) = decide(*arguments, request, context) else {
            return py.None().into_ptr();
        };
        if enforced.is_null() {
            return enforced;
        }
        let enforced = Bound::from_owned_ptr(py, enforced);
        let Some(other) = decide(*arguments.add(1), request, context) else {
            return py.None().into_ptr();
        };
        let paired = Bound::from_owned_ptr_or_err(py, other).and_then(|other| {
            if decision::is_alike(&enforced, &other)? {
                Ok(enforced)
            } else {
                Ok(PyTuple::new(py, [enforced, other])?.into_any())
            }
        });
        paired.map_or_else(
            |error| {
                error.restore(py);
                ptr::null_mut()
            },
            Bound::into_ptr,
        )
    }
}

/// Returns true if decisions of a policy may run Python code, which then runs once.
///
/// # Safety
/// `bundle` is a borrowed reference.
unsafe fn may_run_python(py: Python<'_>, bundle: *mut ffi::PyObject) -> bool {
    // SAFETY: by the contract of this function.
    let bundle = unsafe { Borrowed::from_ptr(py, bundle) };
    program::of(&bundle).is_some_and(|program| {
        let bound = &program.get().bound;
        !bound.declarative && bound.program.layers().is_none()
    })
}

/// Any call. `first`, if it is not null, comes before the `count` positional arguments.
///
/// # Safety
/// Those of [`parsed`].
#[inline]
unsafe fn called(
    first: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    let skipped = usize::from(first.is_null());
    let least = skipped as ffi::Py_ssize_t + 1;
    // SAFETY: by the contract of this function; no argument is read that is not counted.
    unsafe {
        if keywords.is_null() && (count == least || count == least + 1) {
            let bundle = if skipped == 1 { *arguments } else { first };
            let context = if count > least {
                *arguments.add(skipped + 1)
            } else {
                ptr::null_mut()
            };
            if let Some(decided) = decide(bundle, *arguments.add(skipped), context) {
                return decided;
            }
        } else if let Some((context, state)) =
            with_state((arguments.add(skipped + 1), count - least), keywords)
        {
            let bundle = if skipped == 1 { *arguments } else { first };
            let request = *arguments.add(skipped);
            if let Some(decided) = decide_reading(bundle, request, (context, state)) {
                return decided;
            }
        }
        parsed(first, arguments, count, keywords)
    }
}

/// The context, or null, and the state of a call that has a state, if it has the context and the state only.
///
/// # Safety
/// The thread is attached. `arguments` has `count` values and those of `keywords`, a tuple of names or null.
unsafe fn with_state(
    (arguments, count): (*const *mut ffi::PyObject, ffi::Py_ssize_t),
    keywords: *mut ffi::PyObject,
) -> Option<(*mut ffi::PyObject, *mut ffi::PyObject)> {
    // SAFETY: by the contract of this function; a name is a borrowed reference that `keywords` holds.
    unsafe {
        let named = if keywords.is_null() {
            0
        } else {
            let py = Python::assume_attached();
            let name = ffi::PyTuple_GetItem(keywords, 0);
            let known = Names::get(py).ok()?.state.as_ptr();
            if ffi::PyTuple_Size(keywords) != 1 || name != known {
                return None;
            }
            1
        };
        match count + named {
            1 if named == 1 => Some((ptr::null_mut(), *arguments)),
            2 => Some((*arguments, *arguments.add(1))),
            _ => None,
        }
    }
}

/// [`decide`] with the state of a run.
///
/// # Safety
/// Those of [`decide`]; `state` is a borrowed reference.
unsafe fn decide_reading(
    bundle: *mut ffi::PyObject,
    request: *mut ffi::PyObject,
    (context, state): (*mut ffi::PyObject, *mut ffi::PyObject),
) -> Option<*mut ffi::PyObject> {
    // SAFETY: by the contract of this function; the references are held by the caller until it returns.
    let (py, bundle, request, context, state) = unsafe {
        let py = Python::assume_attached();
        (
            py,
            Borrowed::from_ptr(py, bundle),
            Borrowed::from_ptr(py, request),
            Borrowed::from_ptr_or_opt(py, context),
            Borrowed::from_ptr(py, state),
        )
    };
    if state.is_none() {
        return None;
    }
    let bound = &program::of(&bundle)?.get().bound;
    if !bound.declarative || !is_exactly(&request, &bound.names.action_request) {
        return attached(py, bound, (&request, context.as_deref()), Some(&state));
    }
    let context = context.as_deref().filter(|context| !context.is_none());
    Some(
        match program::decide_reading(py, bound, (&request, context), &state) {
            Ok(decision) => decision.into_ptr(),
            Err(error) => {
                error.restore(py);
                ptr::null_mut()
            }
        },
    )
}

/// The decision, as a new reference; null with an exception set; `None` when this is no call for here.
///
/// # Safety
/// The thread is attached to the interpreter. `bundle` and `request` are borrowed references; `context` is one, or null.
#[inline]
unsafe fn decide(
    bundle: *mut ffi::PyObject,
    request: *mut ffi::PyObject,
    context: *mut ffi::PyObject,
) -> Option<*mut ffi::PyObject> {
    // SAFETY: by the contract of this function; the references are held by the caller until it returns.
    let (py, bundle, request, context) = unsafe {
        let py = Python::assume_attached();
        (
            py,
            Borrowed::from_ptr(py, bundle),
            Borrowed::from_ptr(py, request),
            Borrowed::from_ptr_or_opt(py, context),
        )
    };
    let bound = &program::of(&bundle)?.get().bound;
    if !bound.declarative || !is_exactly(&request, &bound.names.action_request) {
        return attached(py, bound, (&request, context.as_deref()), None);
    }
    let context = context.as_deref().filter(|context| !context.is_none());
    Some(match program::decide(py, bound, &request, context) {
        Ok(decision) => decision.into_ptr(),
        Err(error) => {
            error.restore(py);
            ptr::null_mut()
        }
    })
}

/// The decision of a policy with layers, or one whose decisions may run Python code: of callables, or of Python's operators
/// in the `lynx` profile. `None` when this is no call for here.
#[cold]
fn attached<'py>(
    py: Python<'py>,
    bound: &BoundProgram,
    (request, context): (&Bound<'py, PyAny>, Option<&Bound<'py, PyAny>>),
    state: Option<&Bound<'py, PyAny>>,
) -> Option<*mut ffi::PyObject> {
    if !is_exactly(request, &bound.names.action_request) {
        return None;
    }
    let context = context.filter(|context| !context.is_none());
    let decided = match (bound.program.layers(), state) {
        (Some(_), _) => program::decide_layered(py, bound, (request, context), state),
        // Code that runs in there finds the thread attached.
        (None, Some(state)) => {
            Python::attach(|_| program::decide_reading(py, bound, (request, context), state))
        }
        (None, None) => Python::attach(|_| program::decide(py, bound, request, context)),
    };
    Some(match decided {
        Ok(decision) => decision.into_ptr(),
        Err(error) => {
            error.restore(py);
            ptr::null_mut()
        }
    })
}

/// Any other call: PyO3 parses the arguments.
///
/// # Safety
/// The thread is attached. `first`, if it is not null, comes before the `count` positional arguments, after which come the
/// values of `keywords`, a tuple of names or null.
#[cold]
unsafe fn parsed(
    first: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    let called = catch_unwind(AssertUnwindSafe(|| {
        Python::attach(|py| {
            // SAFETY: by the contract of this function; the references stay borrowed.
            let (first, keywords) = unsafe {
                (
                    Borrowed::from_ptr_or_opt(py, first),
                    Borrowed::from_ptr_or_opt(py, keywords),
                )
            };
            // SAFETY: as above.
            let argument = |at: usize| unsafe { Borrowed::from_ptr(py, *arguments.add(at)) };
            let count = count as usize;
            let positional = first.into_iter().chain((0..count).map(argument));
            let positional = PyTuple::new(py, positional.collect::<Vec<_>>())?;
            let named = PyDict::new(py);
            if let Some(keywords) = keywords {
                for (at, name) in keywords.try_iter()?.enumerate() {
                    named.set_item(name?, argument(count + at))?;
                }
            }
            let function = wrap_pyfunction!(program::evaluate, py)?;
            function.call(positional, Some(&named)).map(Bound::unbind)
        })
    }));
    // SAFETY: the thread is attached.
    let py = unsafe { Python::assume_attached() };
    let decided = called.unwrap_or_else(|_| decision::internal_error(py));
    decided.map_or_else(
        |error| {
            error.restore(py);
            ptr::null_mut()
        },
        Py::into_ptr,
    )
}
