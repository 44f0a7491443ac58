//! Journal records of one kind whose bodies have the same names: the express lane makes three at every step.
//!
//! PERF: with the names known beforehand, a body is a copied dict, and its text is written without sorting; what is the same
//! in every record is written once. 570 ns for a record with its hash -> 300 ns.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::canonical::Text;
use crate::hashing::write_framed;
use crate::names::Names;
use crate::tracking::{is_tracked, untrack};

/// A text, and which value follows it.
type Before = (Vec<u8>, usize);

/// The kind of a record and the names in its body.
#[pyclass(frozen, module = "bobcat._core")]
pub(crate) struct RecordTemplate {
    pub(crate) kind: Py<PyString>,
    /// The part of the hashed bytes that the kind of a record determines.
    pub(crate) framed_kind: Vec<u8>,
    /// The names whose values differ from record to record.
    open: Vec<Py<PyString>>,
    /// A body without those values, and one that has room for a hash.
    plain: Py<PyDict>,
    hashed: Py<PyDict>,
    /// The text of a body before each of those values, and the index of that value, in the order of the text.
    before: Vec<Before>,
    /// The text after the last value.
    end: Vec<u8>,
}

#[pymethods]
impl RecordTemplate {
    #[new]
    #[pyo3(signature = (kind, names, fixed, /))]
    fn new<'py>(
        kind: &Bound<'py, PyString>,
        names: Vec<Bound<'py, PyString>>,
        fixed: &Bound<'py, PyDict>,
    ) -> PyResult<Self> {
        let py = kind.py();
        let chain = Names::get(py)?.chain.bind(py);
        let plain = PyDict::new(py);
        let mut open = Vec::new();
        for name in &names {
            let value = fixed.get_item(name)?;
            if value.is_none() {
                open.push(name.clone().unbind());
            }
            plain.set_item(name, value)?;
        }
        let fitting = plain.len() == names.len() && fixed.len() + open.len() == names.len();
        if !fitting || plain.contains(chain)? {
            let message = "field names of a record must be unique and differ from `chain`, and each fixed value needs a name";
            return Err(PyValueError::new_err(message));
        }
        let hashed = plain.copy()?;
        hashed.set_item(chain, py.None())?;
        let mut framed_kind = Text::over(Names::get(py)?, Vec::new());
        let (before, end) = write_framed(&mut framed_kind, kind.as_any().as_borrowed())
            .and_then(|()| pieces(Names::get(py).ok()?, &names, fixed))
            .ok_or_else(|| PyValueError::new_err("what is fixed in a form must be plain"))?;
        Ok(Self {
            kind: kind.clone().unbind(),
            framed_kind: framed_kind.out,
            open,
            plain: plain.unbind(),
            hashed: hashed.unbind(),
            before,
            end,
        })
    }
}

/// The text of a body around the values that are not fixed.
fn pieces(
    known: &'static Names,
    names: &[Bound<'_, PyString>],
    fixed: &Bound<'_, PyDict>,
) -> Option<(Vec<Before>, Vec<u8>)> {
    let mut sorted = Vec::with_capacity(names.len());
    let mut open = 0;
    for name in names {
        let value = fixed.get_item(name).ok()?;
        sorted.push((name.to_str().ok()?, value, open));
        open += usize::from(sorted.last()?.1.is_none());
    }
    sorted.sort_unstable_by_key(|&(name, _, _)| name);
    let mut before = Vec::with_capacity(open);
    let mut piece = Vec::new();
    for (place, (name, value, index)) in sorted.iter().enumerate() {
        piece.push(if place == 0 { b'{' } else { b',' });
        let mut text = Text::over(known, piece);
        text.string(name);
        text.out.push(b':');
        if let Some(value) = value {
            text.part(value.as_borrowed(), 1)?;
            piece = text.out;
        } else {
            before.push((text.out, *index));
            piece = Vec::new();
        }
    }
    piece.extend_from_slice(if sorted.is_empty() { b"{}" } else { b"}" });
    Some((before, piece))
}

impl RecordTemplate {
    /// Returns true if `values` has one for each name that has none yet.
    pub(crate) fn fits(&self, values: &Bound<'_, PyTuple>) -> bool {
        values.len() == self.open.len()
    }

    /// Writes the text of a body with `values`; `None` when one of them is not plain.
    pub(crate) fn write<'a, 'py>(
        &self,
        text: &mut Text<'a, 'py>,
        values: &'a Bound<'py, PyTuple>,
    ) -> Option<()> {
        for (before, index) in &self.before {
            text.out.extend_from_slice(before);
            text.part(values.get_borrowed_item(*index).ok()?, 1)?;
        }
        text.out.extend_from_slice(&self.end);
        Some(())
    }

    /// A body with `values`, and with `hash` when there is one.
    pub(crate) fn body<'py>(
        &self,
        values: &Bound<'py, PyTuple>,
        hash: Option<&Bound<'py, PyString>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = values.py();
        let template = hash.map_or(&self.plain, |_| &self.hashed).bind(py);
        let body = template.copy()?;
        for (name, value) in self.open.iter().zip(values.iter_borrowed()) {
            body.set_item(name.bind(py), value)?;
        }
        if let Some(hash) = hash {
            body.set_item(Names::get(py)?.chain.bind(py), hash)?;
        }
        if !is_tracked(template) && !values.iter_borrowed().any(|value| is_tracked(&value)) {
            untrack(&body);
        }
        Ok(body)
    }
}
