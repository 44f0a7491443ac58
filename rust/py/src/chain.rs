//! The records of a run, made one after the other, each with the hash of itself and all before it.

use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::canonical::{Text, exact_text};
use crate::coroutine::first_step;
use crate::hashing::{
    Hash, Kind, before_body, digits, first, hashed, key_of, parsed, write_action,
};
use crate::names::Names;
use crate::record_template::RecordTemplate;
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
            let hash = match self.hash(py, Kind::Name(kind.as_borrowed()), key, |text| {
                text.value(plain)
            })? {
                Some(hash) => hash,
                None => self.linked(body, kind, key)?,
            };
            body.set_item(Names::get(py)?.chain.bind(py), &hash)?;
        }
        self.finished(kind, body, key, at)
    }

    #[pyo3(signature = (form, values, key, at, /))]
    fn fill<'py>(
        &mut self,
        form: &Bound<'py, RecordTemplate>,
        values: &Bound<'py, PyTuple>,
        key: &Bound<'py, PyAny>,
        at: &Bound<'py, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let (py, form) = (values.py(), form.get());
        let kind = form.kind.bind(py).as_any();
        if !form.fits(values) {
            return Err(PyTypeError::new_err(
                "a form takes a value for each name that has none",
            ));
        }
        if self.link.is_none() {
            return self.finished(kind, &form.body(values, None)?, key, at);
        }
        let Some(hash) = self.hash(py, Kind::Framed(&form.framed_kind), key, |text| {
            form.write(text, values)
        })?
        else {
            return self.record(kind, &form.body(values, None)?, key, at);
        };
        let body = form.body(values, Some(&hash))?;
        self.finished(kind, &body, key, at)
    }

    #[pyo3(signature = (step, tool, args, /))]
    fn key<'py>(
        &mut self,
        step: &Bound<'py, PyAny>,
        tool: &Bound<'py, PyAny>,
        args: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyString>>> {
        let py = args.py();
        let run_id = self.run_id.bind(py).as_borrowed();
        let mut text = Text::over(Names::get(py)?, std::mem::take(&mut self.buffer));
        text.out.clear();
        let made = [run_id, tool.as_borrowed()]
            .into_iter()
            .all(|name| exact_text(name).is_some_and(|name| !name.contains('|')))
            .then(|| {
                let (step, tool) = (step.as_borrowed(), tool.as_borrowed());
                write_action(&mut text, run_id, step, tool, args.as_borrowed())
            })
            .flatten()
            .and_then(|()| key_of(py, &text.out));
        self.buffer = text.out;
        Ok(made)
    }

    fn kept(&mut self) {
        self.seq += 1;
        if let Some(made) = self.made.take() {
            (self.head, self.follows) = (made.digits, made.hash);
        }
    }

    #[pyo3(signature = (writing, /))]
    fn keep<'py>(
        slf: &Bound<'py, Self>,
        writing: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let waits = first_step(writing)?; // runs the store's code, which may ask for `seq` and `head`
        if waits.is_none() {
            slf.try_borrow_mut()?.kept();
        }
        Ok(waits)
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

    /// The hash of the next record, whose body `write` writes; `None` where only `link` can compute it.
    fn hash<'a, 'py: 'a>(
        &mut self,
        py: Python<'py>,
        kind: Kind<'a, 'py>,
        key: &'a Bound<'py, PyAny>,
        write: impl FnOnce(&mut Text<'a, 'py>) -> Option<()>,
    ) -> PyResult<Option<Bound<'py, PyString>>> {
        let Some(follows) = self.follows else {
            return Ok(None);
        };
        let mut text = Text::over(Names::get(py)?, std::mem::take(&mut self.buffer));
        text.out.clear();
        let written = before_body(&mut text, &follows, self.seq, kind, key.as_borrowed());
        let hash = written
            .and_then(|()| write(&mut text))
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
