//! The records of a run, made one after the other, each with the hash of itself and all before it.

use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::canonical::{Text, exact_text};
use crate::hashing::{Hash, before_body, digits, first, hashed, parsed};
use crate::names::Names;
use crate::slot_constructor::SlotConstructor;
use crate::tracking::{is_tracked, untrack};

/// The hash of a record. `hash` is `None` if the digits are not those of a hash; only `link` can handle that.
struct Made {
    digits: Py<PyString>,
    hash: Option<Hash>,
}

/// Makes the records of one run.
#[pyclass(module = "bobcat._core")]
pub(crate) struct Chain {
    make: Py<SlotConstructor>,
    /// Hashes a record whose body is not plain; none where records carry no hash.
    link: Option<Py<PyAny>>,
    run_id: Py<PyAny>,
    /// The position of the next record.
    #[pyo3(get, set)]
    seq: u64,
    /// The hash of the last record; "" before the first.
    #[pyo3(get)]
    head: Py<PyString>,
    /// The hash that the next record follows; `None` where only `link` knows it.
    follows: Option<Hash>,
    /// The hash of the record that was made last, and is not kept yet.
    made: Option<Made>,
    /// PERF: one buffer for all texts.
    buffer: Vec<u8>,
}

#[pymethods]
impl Chain {
    #[new]
    #[pyo3(signature = (make, link, run_id, /))]
    fn new(
        py: Python<'_>,
        make: Py<SlotConstructor>,
        link: Option<Py<PyAny>>,
        run_id: Py<PyAny>,
    ) -> PyResult<Self> {
        let mut chain = Self {
            make,
            link,
            run_id,
            seq: 0,
            head: Names::get(py)?.no_text.clone_ref(py),
            follows: None,
            made: None,
            buffer: Vec::with_capacity(512),
        };
        chain.find_follows(py);
        Ok(chain)
    }

    #[setter]
    fn set_head(&mut self, head: Bound<'_, PyString>) {
        let py = head.py();
        self.head = head.unbind();
        self.find_follows(py);
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
        if self.link.is_some() {
            let plain = body.as_any().as_borrowed();
            let hash = match self.hash(py, kind, key, plain)? {
                Some(hash) => hash,
                None => self.linked(body, kind, key)?,
            };
            body.set_item(Names::get(py)?.chain.bind(py), &hash)?;
        }
        self.finished(kind, body, key, at)
    }

    fn kept(&mut self) {
        self.seq += 1;
        if let Some(made) = self.made.take() {
            (self.head, self.follows) = (made.digits, made.hash);
        }
    }
}

impl Chain {
    fn find_follows(&mut self, py: Python<'_>) {
        let run_id = self.run_id.bind(py).as_borrowed();
        self.follows = match exact_text(self.head.bind(py).as_any().as_borrowed()) {
            Some("") => exact_text(run_id).map(first),
            Some(head) => parsed(head),
            None => None,
        };
    }

    /// The hash of the next record; `None` where only `link` can compute it.
    fn hash<'a, 'py: 'a>(
        &mut self,
        py: Python<'py>,
        kind: &'a Bound<'py, PyAny>,
        key: &'a Bound<'py, PyAny>,
        body: Borrowed<'a, 'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyString>>> {
        let Some(follows) = self.follows else {
            return Ok(None);
        };
        let mut text = Text::over(Names::get(py)?, std::mem::take(&mut self.buffer));
        text.out.clear();
        let (kind, key) = (kind.as_borrowed(), key.as_borrowed());
        let written = before_body(&mut text, &follows, self.seq, kind, key);
        let hash = written
            .and_then(|()| text.value(body))
            .map(|()| hashed(&text.out));
        self.buffer = text.out;
        let spelled = hash.and_then(|hash| digits(py, hash));
        self.made = spelled.as_ref().map(|digits| Made {
            digits: digits.clone().unbind(),
            hash,
        });
        Ok(spelled)
    }

    /// Returns the hash of the next record according to `link`.
    fn linked<'py>(
        &mut self,
        body: &Bound<'py, PyDict>,
        kind: &Bound<'py, PyAny>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyString>> {
        let py = body.py();
        let Some(link) = &self.link else {
            return Err(PyTypeError::new_err(
                "the records of this chain have no hashes",
            ));
        };
        let (head, run_id) = (self.head.bind(py), self.run_id.bind(py));
        let hash = link
            .bind(py)
            .call1((head, body, run_id, self.seq, kind, key))?;
        let digits = hash.cast_into::<PyString>()?;
        self.made = Some(Made {
            digits: digits.clone().unbind(),
            hash: exact_text(digits.as_any().as_borrowed()).and_then(parsed),
        });
        Ok(digits)
    }

    fn finished<'py>(
        &self,
        kind: &Bound<'py, PyAny>,
        body: &Bound<'py, PyDict>,
        key: &Bound<'py, PyAny>,
        at: &Bound<'py, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let py = body.py();
        let seq = self.seq.into_pyobject(py)?.into_any();
        let fields: [Borrowed<'_, 'py, PyAny>; 6] =
            [self.run_id.bind(py), &seq, kind, key, body.as_any(), at]
                .map(|field| field.as_borrowed());
        let made = self.make.get().make(py, fields)?;
        if !is_tracked(body) {
            untrack(made.bind(py)); // its other fields are strings, a number and a time
        }
        Ok(made)
    }
}
