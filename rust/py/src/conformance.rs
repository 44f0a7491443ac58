//! The conformance kit of the core, run on Python objects; for the tests.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyMappingProxy, PyString, PyTuple};

use bobcat_core::value::conformance::{Maker, Spec, failures};
use bobcat_core::value::constant::Const;

use crate::constant;
use crate::program::Program;
use crate::session::Session;
use crate::value::PyValue;

/// Returns the failures of Python values, as dicts and lists and again as mapping proxies and tuples; empty when they
/// conform.
#[pyfunction]
pub(crate) fn _conformance_for_tests(bundle: &Bound<'_, Program>) -> PyResult<Vec<String>> {
    let py = bundle.py();
    let session = Session::new(py, &bundle.get().bound, None);
    let mut found = failures(&Objects {
        session: &session,
        read_only: false,
    });
    found.extend(failures(&Objects {
        session: &session,
        read_only: true,
    }));
    Ok(found)
}

struct Objects<'r, 'py> {
    session: &'r Session<'r, 'py>,
    read_only: bool,
}

impl<'r, 'py> Maker for Objects<'r, 'py> {
    type Value = PyValue<'r, 'py>;

    fn make(&self, spec: &Spec) -> Option<Self::Value> {
        let object = self.object(spec).ok()?;
        Some(PyValue {
            session: self.session,
            object,
        })
    }

    fn key(&self, _text: &str) -> u32 {
        // No program has this key: it is looked up by its text.
        u32::MAX
    }
}

impl<'py> Objects<'_, 'py> {
    fn object(&self, spec: &Spec) -> PyResult<Bound<'py, PyAny>> {
        let py = self.session.py;
        Ok(match spec {
            Spec::Null => py.None().into_bound(py),
            Spec::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
            Spec::Int(text) => py.get_type::<PyInt>().call1((text,))?,
            Spec::Float(value) => value.into_pyobject(py)?.into_any(),
            Spec::Str(text) => PyString::new(py, text).into_any(),
            Spec::BadStr => py.import("builtins")?.call_method1("chr", (0xd800,))?,
            Spec::List(items) => {
                let items = items.iter().map(|item| self.object(item));
                let items = items.collect::<PyResult<Vec<_>>>()?;
                if self.read_only {
                    PyTuple::new(py, items)?.into_any()
                } else {
                    PyList::new(py, items)?.into_any()
                }
            }
            Spec::Map(entries) => {
                let dict = PyDict::new(py);
                for (key, value) in entries {
                    dict.set_item(key, self.object(value)?)?;
                }
                if self.read_only {
                    PyMappingProxy::new(py, dict.as_mapping()).into_any()
                } else {
                    dict.into_any()
                }
            }
            Spec::Timestamp(micros) => constant::to_python(py, &Const::Timestamp(*micros))?,
            Spec::Opaque => py.import("builtins")?.getattr("object")?.call0()?,
        })
    }
}
