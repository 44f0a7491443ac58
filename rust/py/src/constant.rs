//! Constants of a policy as Python objects.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PySet, PyString, PyTuple};

use bobcat_core::value::constant::{Const, HostConst};

use crate::names::Names;

/// `constant` as a plain Python object.
///
/// # Errors
/// A constant that Python rejects, like a set of lists.
pub(crate) fn to_python<'py>(py: Python<'py>, constant: &Const) -> PyResult<Bound<'py, PyAny>> {
    Ok(match constant {
        Const::Null => py.None().into_bound(py),
        Const::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Const::Int(value) => value.into_pyobject(py)?.into_any(),
        Const::BigInt(value) => py.get_type::<PyInt>().call1((value.to_string(),))?,
        Const::Float(value) => value.into_pyobject(py)?.into_any(),
        Const::Str(text) => PyString::new(py, text).into_any(),
        Const::List(items) => PyList::new(py, each(py, items)?)?.into_any(),
        Const::Map(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                dict.set_item(&**key, to_python(py, value)?)?;
            }
            dict.into_any()
        }
        Const::Timestamp(micros) => timestamp(py, *micros)?,
        Const::HostConst(exotic) => exotic_to_python(py, exotic)?,
    })
}

/// A tuple of constants.
pub(crate) fn tuple<'py>(py: Python<'py>, items: &[Const]) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, each(py, items)?)
}

fn each<'py>(py: Python<'py>, items: &[Const]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    items.iter().map(|item| to_python(py, item)).collect()
}

fn timestamp(py: Python<'_>, micros: i64) -> PyResult<Bound<'_, PyAny>> {
    let names = Names::get(py)?;
    let delta = PyDict::new(py);
    delta.set_item("microseconds", micros)?;
    names.epoch.bind(py).add(
        py.import("datetime")?
            .getattr("timedelta")?
            .call((), Some(&delta))?,
    )
}

fn exotic_to_python<'py>(py: Python<'py>, exotic: &HostConst) -> PyResult<Bound<'py, PyAny>> {
    Ok(match exotic {
        HostConst::Date(text) => py
            .import("datetime")?
            .getattr("date")?
            .call_method1("fromisoformat", (&**text,))?,
        HostConst::DateTime(text) => py
            .import("datetime")?
            .getattr("datetime")?
            .call_method1("fromisoformat", (&**text,))?,
        HostConst::Bytes(text) => py
            .import("binascii")?
            .call_method1("a2b_base64", (&**text,))?,
        HostConst::Set(items) => PySet::new(py, each(py, items)?)?.into_any(),
        HostConst::Tuple(items) => tuple(py, items)?.into_any(),
        HostConst::Pairs(pairs) => {
            let dict = PyDict::new(py);
            for (key, value) in pairs {
                dict.set_item(to_python(py, key)?, to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}
