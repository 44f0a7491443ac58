//! The records of a run, made one after the other, each with the hash of itself and all before it.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::canonical::chained_hash;
use crate::maker::Maker;
use crate::names::Names;

/// Makes the records of one run.
#[pyclass(module = "bobcat._core")]
pub(crate) struct Chain {
    make: Py<Maker>,
    /// Hashes a record whose body is not plain; none where records carry no hash.
    link: Option<Py<PyAny>>,
    run_id: Py<PyAny>,
    /// The position of the next record.
    #[pyo3(get, set)]
    seq: u64,
    /// The hash of the last record; "" before the first.
    #[pyo3(get, set)]
    head: Py<PyString>,
    /// The hash of the record that was made last, and is not kept yet.
    made: Option<Py<PyString>>,
}

#[pymethods]
impl Chain {
    #[new]
    #[pyo3(signature = (make, link, run_id, /))]
    fn new(
        py: Python<'_>,
        make: Py<Maker>,
        link: Option<Py<PyAny>>,
        run_id: Py<PyAny>,
    ) -> PyResult<Self> {
        let head = Names::get(py)?.no_text.clone_ref(py);
        Ok(Self {
            make,
            link,
            run_id,
            seq: 0,
            head,
            made: None,
        })
    }

    #[pyo3(signature = (kind, body, key, at, /))]
    fn record<'py>(
        &mut self,
        kind: &Bound<'py, PyAny>,
        body: &Bound<'py, PyDict>,
        key: &Bound<'py, PyAny>,
        at: &Bound<'py, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let py = body.py();
        let seq = self.seq.into_pyobject(py)?.into_any();
        let run_id = self.run_id.bind(py);
        if let Some(link) = &self.link {
            let head = self.head.bind(py).as_any();
            let hash = match chained_hash(head, run_id, &seq, kind, key, body)? {
                Some(hash) => hash,
                None => link
                    .bind(py)
                    .call1((head, body, run_id, &seq, kind, key))?
                    .cast_into()?,
            };
            body.set_item(Names::get(py)?.chain.bind(py), &hash)?;
            self.made = Some(hash.unbind());
        }
        let fields = [run_id, &seq, kind, key, body.as_any(), at];
        let fields = fields.map(|field| field.as_borrowed());
        self.make.get().make(py, fields)
    }

    fn kept(&mut self) {
        self.seq += 1;
        if let Some(made) = self.made.take() {
            self.head = made;
        }
    }
}
