//! Transforms of Python arguments: copies along the path, everything else shared, the original untouched.
//!
//! The new containers are frozen: they are part of the decision, and the decided arguments are those that run.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple};

use bobcat_core::error::ErrorCode;
use bobcat_core::program::OwnedValue;
use bobcat_core::value::request::{Transform, TransformOp};

use crate::bound_program::BoundTransform;
use crate::freeze;
use crate::request::PyRequest;
use crate::session::Session;
use crate::value::{Entries, PyValue, storage};

/// The request with the arguments that transform `transform` of rule `rule` makes.
pub(crate) fn apply<'r, 'py>(
    request: &PyRequest<'r, 'py>,
    rule: u32,
    transform: &Transform,
) -> Result<PyRequest<'r, 'py>, ErrorCode> {
    let session = request.session;
    let args = if session.lynx() {
        flat(request, rule, transform).map_err(|error| session.error_code(error))
    } else {
        nested(request, rule, transform).map_err(|error| {
            if let Some(error) = error {
                session.defer_error(error);
            }
            ErrorCode::CannotTransform
        })
    };
    args.map(|args| request.with_args(args))
}

/// `None`: it does not fit. `Some`: an exception was raised; an `Exception` means that it does not fit either.
type Refused = Option<PyErr>;

fn nested<'py>(
    request: &PyRequest<'_, 'py>,
    rule: u32,
    transform: &Transform,
) -> Result<Bound<'py, PyAny>, Refused> {
    let session = request.session;
    let Ok(args) = request.args() else {
        return Err(None);
    };
    let edit = session.bound.transform(session.py, rule, transform)?;
    if !edit.keys.is_empty() {
        return rewrite(session, args, &edit.keys, edit);
    }
    let owner = PyValue {
        session,
        object: args.clone(),
    };
    match (owner.entries(), edit.op) {
        (Entries::None, _) | (_, TransformOp::Append | TransformOp::Delete) => Err(None),
        (_, TransformOp::Set) => Ok(edit.value.bind(session.py).clone()),
    }
}

fn rewrite<'py>(
    session: &Session<'_, 'py>,
    owner: &Bound<'py, PyAny>,
    path: &[Py<PyString>],
    edit: &BoundTransform,
) -> Result<Bound<'py, PyAny>, Refused> {
    let py = session.py;
    let (copy, frozen) = match freeze::copied(owner)? {
        Some(copy) => (copy, true),
        None => (shallow(session, owner)?, false),
    };
    let Some((key, rest)) = path.split_first() else {
        return Err(None);
    };
    let (key, value) = (key.bind(py), edit.value.bind(py));
    match (edit.op, rest.is_empty()) {
        (TransformOp::Set, true) => copy.set_item(key, value)?,
        (TransformOp::Append, true) => {
            let there = copy.get_item(key)?;
            copy.set_item(key, extended(session, there.as_ref(), value)?)?;
        }
        (TransformOp::Delete, true) => {
            if copy.contains(key)? {
                copy.del_item(key)?;
            }
        }
        (op, false) => match (copy.get_item(key)?, op) {
            (Some(inner), _) => copy.set_item(key, rewrite(session, &inner, rest, edit)?)?,
            (None, TransformOp::Set) => {
                let inner = PyDict::new(py).into_any();
                copy.set_item(key, rewrite(session, &inner, rest, edit)?)?;
            }
            (None, TransformOp::Append) => return Err(None),
            (None, TransformOp::Delete) => {}
        },
    }
    if frozen {
        return Ok(copy.into_any());
    }
    Ok(session.names.frozen_dict.bind(py).call1((copy,))?)
}

/// A plain dict with the entries of `owner`.
fn shallow<'py>(
    session: &Session<'_, 'py>,
    owner: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyDict>, Refused> {
    match (PyValue {
        session,
        object: owner.clone(),
    })
    .entries()
    {
        Entries::Dict(dict) => {
            let copy = PyDict::new(session.py);
            for (key, value) in storage(&dict) {
                copy.set_item(key, value)?;
            }
            Ok(copy)
        }
        Entries::Mapping(mapping) => {
            let copy = PyDict::new(session.py);
            for key in mapping.call_method0("keys")?.try_iter()? {
                let key = key?;
                copy.set_item(&key, mapping.get_item(&key)?)?;
            }
            Ok(copy)
        }
        Entries::None => Err(None),
    }
}

/// A string and a string, or a list and one more element.
fn extended<'py>(
    session: &Session<'_, 'py>,
    current: Option<&Bound<'py, PyAny>>,
    value: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyAny>, Refused> {
    let Some(current) = current else {
        return Err(None);
    };
    if let (Ok(text), Ok(value)) = (current.cast::<PyString>(), value.cast::<PyString>()) {
        return Ok(joined(text, value)?);
    }
    let mut items: Vec<Bound<'py, PyAny>> = if let Ok(list) = current.cast::<PyList>() {
        list.iter().collect()
    } else if let Ok(tuple) = current.cast::<PyTuple>() {
        tuple.iter().collect()
    } else {
        return Err(None);
    };
    items.push(value.clone());
    Ok(session
        .names
        .frozen_list
        .bind(session.py)
        .call1((PyList::new(session.py, items)?,))?)
}

/// The request with the arguments that a function made.
pub(crate) fn made<'r, 'py>(
    request: &PyRequest<'r, 'py>,
    args: OwnedValue<PyValue<'r, 'py>>,
) -> Result<PyRequest<'r, 'py>, ErrorCode> {
    let session = request.session;
    let frozen = to_python(session.py, args)
        .and_then(|args| session.names.deep_freeze.bind(session.py).call1((args,)));
    match frozen {
        Ok(frozen) => Ok(request.with_args(frozen)),
        Err(error) => {
            session.defer_error(error);
            Err(ErrorCode::CannotTransform)
        }
    }
}

fn to_python<'py>(
    py: Python<'py>,
    made: OwnedValue<PyValue<'_, 'py>>,
) -> PyResult<Bound<'py, PyAny>> {
    let each = |items: Vec<OwnedValue<PyValue<'_, 'py>>>| {
        let items = items.into_iter().map(|item| to_python(py, item));
        items.collect::<PyResult<Vec<_>>>()
    };
    Ok(match made {
        OwnedValue::Null => py.None().into_bound(py),
        OwnedValue::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        OwnedValue::Int(value) => value.into_pyobject(py)?.into_any(),
        OwnedValue::BigInt(value) => py.get_type::<PyInt>().call1((value.to_string(),))?,
        OwnedValue::Float(value) => value.into_pyobject(py)?.into_any(),
        OwnedValue::Str(text) => PyString::new(py, &text).into_any(),
        OwnedValue::List(items) => PyList::new(py, each(items)?)?.into_any(),
        OwnedValue::Tuple(items) => PyTuple::new(py, each(items)?)?.into_any(),
        OwnedValue::Set(items, false) => PySet::new(py, each(items)?)?.into_any(),
        OwnedValue::Set(items, true) => PyFrozenSet::new(py, each(items)?)?.into_any(),
        OwnedValue::Map(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                dict.set_item(to_python(py, key)?, to_python(py, value)?)?;
            }
            dict.into_any()
        }
        OwnedValue::Read(value) => value.object,
    })
}

/// Two strings as one. A subclass cannot override it here.
fn joined<'py>(
    text: &Bound<'py, PyString>,
    more: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: both are strings; the result is a new reference, or null with an exception.
    unsafe {
        let made = ffi::PyUnicode_Concat(text.as_ptr(), more.as_ptr());
        Bound::from_owned_ptr_or_err(text.py(), made)
    }
}

/// lynx-agent's transform: one flat key of a shallow copy.
fn flat<'py>(
    request: &PyRequest<'_, 'py>,
    rule: u32,
    transform: &Transform,
) -> PyResult<Bound<'py, PyAny>> {
    let (session, py) = (request.session, request.session.py);
    let edit = session.bound.transform(py, rule, transform)?;
    let args = request.raw_args()?;
    let (copy, frozen) = match freeze::copied(&args)? {
        Some(copy) => (copy, true),
        None => {
            let copy = py.get_type::<PyDict>().call1((args,))?;
            (copy.cast_into::<PyDict>()?, false)
        }
    };
    let key = match &*edit.keys {
        [key] => key.bind(py).clone(),
        _ => PyString::new(py, &transform.path.concat()),
    };
    let value = edit.value.bind(py);
    match edit.op {
        TransformOp::Set => copy.set_item(&key, value)?,
        TransformOp::Append => {
            let current = copy
                .get_item(&key)?
                .map_or_else(|| Ok(PyString::new(py, "")), |current| current.str())?;
            copy.set_item(&key, current.add(value.str()?)?)?;
        }
        TransformOp::Delete => {
            if copy.contains(&key)? {
                copy.del_item(&key)?;
            }
        }
    }
    if frozen {
        return Ok(copy.into_any());
    }
    session.names.frozen_dict.bind(py).call1((copy,))
}
