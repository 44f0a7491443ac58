//! The nodes of a YAML text: `ScalarNode`, `SequenceNode` and `MappingNode`, each with its place in the text.
//!
//! PERF: a policy of 100,000 rules has 1.4 million nodes. PyYAML's take 350 bytes each, with two marks and a dict of
//! attributes, and a call of Python to make one.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PySet, PyString, PyTuple};

use bobcat_core::limits::MAX_STRING_BYTES;

use super::events::Position;

/// Plain scalars that are neither strings nor numbers.
const WORDS: [&str; 10] = [
    "~", "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE",
];

/// A position from 0 in a text.
#[pyclass(frozen, module = "bobcat._core", name = "Mark", eq)]
#[derive(PartialEq)]
pub(crate) struct Mark {
    #[pyo3(get)]
    line: i64,
    #[pyo3(get)]
    column: i64,
}

#[pymethods]
impl Mark {
    #[new]
    #[pyo3(signature = (line, column, /))]
    fn new(line: i64, column: i64) -> Self {
        Self { line, column }
    }
}

/// The start or end of a node.
#[derive(Debug)]
enum Place {
    Text(Position),
    /// Any object with `line` and `column`.
    Object(Py<PyAny>),
}

impl Place {
    fn of(mark: &Bound<'_, PyAny>) -> Self {
        let inside = mark.cast::<Mark>().ok().and_then(|mark| {
            let mark = mark.get();
            Some(Position {
                line: u32::try_from(mark.line).ok()?,
                column: u32::try_from(mark.column).ok()?,
            })
        });
        match inside {
            Some(position) => Self::Text(position),
            None => Self::Object(mark.clone().unbind()),
        }
    }

    fn line_and_column(&self, py: Python<'_>) -> PyResult<(i64, i64)> {
        Ok(match self {
            Self::Text(position) => (position.line.into(), position.column.into()),
            Self::Object(mark) => (
                mark.getattr(py, pyo3::intern!(py, "line"))?.extract(py)?,
                mark.getattr(py, pyo3::intern!(py, "column"))?.extract(py)?,
            ),
        })
    }

    fn mark<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Text(position) => {
                let mark = Mark {
                    line: position.line.into(),
                    column: position.column.into(),
                };
                Ok(Bound::new(py, mark)?.into_any())
            }
            Self::Object(mark) => Ok(mark.bind(py).clone()),
        }
    }
}

/// A value of a YAML text with its place.
#[pyclass(frozen, subclass, module = "bobcat._core")]
pub(crate) struct Node {
    #[pyo3(get)]
    tag: Py<PyString>,
    #[pyo3(get)]
    value: Py<PyAny>,
    #[pyo3(get)]
    style: Py<PyAny>,
    start: Place,
    end: Place,
}

impl Node {
    fn given(
        tag: Py<PyString>,
        value: Py<PyAny>,
        start: &Bound<'_, PyAny>,
        end: &Bound<'_, PyAny>,
        style: Py<PyAny>,
    ) -> Self {
        let (start, end) = (Place::of(start), Place::of(end));
        Self {
            tag,
            value,
            style,
            start,
            end,
        }
    }

    /// The node whose end is the end of this one: a collection in block style ends with its last value. `None` where that
    /// is an alias, whose text comes before the collection.
    fn last<'py>(this: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, Self>>> {
        let py = this.py();
        let start = this.get().start.line_and_column(py)?;
        let mut last = this.clone();
        loop {
            // Values of Python can contain themselves.
            py.check_signals()?;
            if !last.is_instance_of::<CollectionNode>() || last.get().style.is_truthy(py)? {
                return Ok(Some(last));
            }
            let items = last.get().value.bind(py).cast::<PyList>()?.clone();
            let Some(index) = items.len().checked_sub(1) else {
                return Ok(Some(last));
            };
            let item = items.get_item(index)?;
            let item = match item.cast::<PyTuple>() {
                Ok(pair) => pair.get_item(1)?,
                Err(_) => item,
            };
            last = item.cast_into::<Self>()?;
            if last.get().start.line_and_column(py)? < start {
                return Ok(None);
            }
        }
    }
}

#[pymethods]
impl Node {
    #[getter]
    fn start_mark<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.start.mark(py)
    }

    #[getter]
    fn end_mark<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.end.mark(py)
    }

    /// The string of a scalar that is one for certain: in quotes, or plain and neither a number by its first character nor a
    /// word; within the length of a string. `None` for any other value.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        let Ok(value) = self.value.bind(py).cast::<PyString>() else {
            return Ok(None);
        };
        // Surrogates are not UTF-8.
        let Ok(text) = value.to_str() else {
            return Ok(None);
        };
        let certain = self.style.is_truthy(py)? || !may_be_typed(text);
        Ok((certain && text.len() <= MAX_STRING_BYTES).then(|| value.clone()))
    }

    /// Returns where the text of the node ends: a collection ends at the end of its last value.
    fn end<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let last = Self::last(this)?;
        last.as_ref().unwrap_or(this).get().end.mark(this.py())
    }

    /// Returns the first line and column, and the last line and the column behind it, from 1, of the text from this node to
    /// another one; of this node alone where the other one comes before it, as the node of an alias does.
    #[pyo3(signature = (other, /))]
    fn position_to(
        this: &Bound<'_, Self>,
        other: &Bound<'_, Self>,
    ) -> PyResult<(i64, i64, i64, i64)> {
        let py = this.py();
        let (line, column) = this.get().start.line_and_column(py)?;
        let before = !this.is(other) && other.get().start.line_and_column(py)? < (line, column);
        let to = if before { this } else { other };
        let last = Self::last(to)?;
        let (end_line, end_column) = last.as_ref().unwrap_or(to).get().end.line_and_column(py)?;
        let from_1 = |number: i64| number.saturating_add(1);
        Ok((
            from_1(line),
            from_1(column),
            from_1(end_line),
            from_1(end_column),
        ))
    }
}

/// Returns true if a plain scalar may be a number, a bool or null.
fn may_be_typed(text: &str) -> bool {
    match text.bytes().next() {
        None | Some(b'0'..=b'9' | b'+' | b'-' | b'.') => true,
        Some(b'~' | b'n' | b'N' | b't' | b'T' | b'f' | b'F') => WORDS.contains(&text),
        Some(_) => false,
    }
}

/// A node of a string, a number, a bool or null, as text: `style` is empty if it is plain.
#[pyclass(frozen, extends = Node, module = "bobcat._core")]
pub(crate) struct ScalarNode;

#[pymethods]
impl ScalarNode {
    #[new]
    #[pyo3(signature = (tag, value, start_mark, end_mark, style=None))]
    fn new(
        tag: Py<PyString>,
        value: Py<PyAny>,
        start_mark: &Bound<'_, PyAny>,
        end_mark: &Bound<'_, PyAny>,
        style: Option<Py<PyAny>>,
    ) -> PyClassInitializer<Self> {
        let style = style.unwrap_or_else(|| start_mark.py().None());
        let node = Node::given(tag, value, start_mark, end_mark, style);
        PyClassInitializer::from(node).add_subclass(Self)
    }
}

/// A sequence or a mapping.
#[pyclass(frozen, subclass, extends = Node, module = "bobcat._core")]
pub(crate) struct CollectionNode;

#[pymethods]
impl CollectionNode {
    /// Returns true if it is written with brackets.
    #[getter]
    fn flow_style(this: PyRef<'_, Self>) -> Py<PyAny> {
        this.as_super().style.clone_ref(this.py())
    }
}

fn collection(
    tag: Py<PyString>,
    value: Py<PyList>,
    start_mark: &Bound<'_, PyAny>,
    end_mark: &Bound<'_, PyAny>,
    flow_style: bool,
) -> PyClassInitializer<CollectionNode> {
    let style = PyBool::new(start_mark.py(), flow_style)
        .to_owned()
        .unbind()
        .into_any();
    let node = Node::given(tag, value.into_any(), start_mark, end_mark, style);
    PyClassInitializer::from(node).add_subclass(CollectionNode)
}

/// A node of a list: `value` is the list of the nodes of its items.
#[pyclass(frozen, extends = CollectionNode, module = "bobcat._core")]
pub(crate) struct SequenceNode;

#[pymethods]
impl SequenceNode {
    #[new]
    #[pyo3(signature = (tag, value, start_mark, end_mark, flow_style=false))]
    fn new(
        tag: Py<PyString>,
        value: Py<PyList>,
        start_mark: &Bound<'_, PyAny>,
        end_mark: &Bound<'_, PyAny>,
        flow_style: bool,
    ) -> PyClassInitializer<Self> {
        collection(tag, value, start_mark, end_mark, flow_style).add_subclass(Self)
    }
}

/// A node of a mapping: `value` is a list of pairs of nodes.
#[pyclass(frozen, extends = CollectionNode, module = "bobcat._core")]
pub(crate) struct MappingNode;

#[pymethods]
impl MappingNode {
    #[new]
    #[pyo3(signature = (tag, value, start_mark, end_mark, flow_style=false))]
    fn new(
        tag: Py<PyString>,
        value: Py<PyList>,
        start_mark: &Bound<'_, PyAny>,
        end_mark: &Bound<'_, PyAny>,
        flow_style: bool,
    ) -> PyClassInitializer<Self> {
        collection(tag, value, start_mark, end_mark, flow_style).add_subclass(Self)
    }

    /// Returns the pairs by the texts of their keys, in order; `None` if a key is not among `known`, or is there twice.
    #[pyo3(signature = (known, /))]
    fn by_key<'py>(
        this: PyRef<'py, Self>,
        known: &Bound<'py, PySet>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let py = this.py();
        let node: &Node = this.as_super().as_super();
        let pairs = node.value.bind(py).cast::<PyList>()?;
        let found = PyDict::new(py);
        for pair in pairs {
            let key = pair.cast::<PyTuple>()?.get_item(0)?.cast_into::<Node>()?;
            let Ok(text) = key.get().value.bind(py).cast::<PyString>() else {
                return Ok(None);
            };
            if !known.contains(text)? {
                return Ok(None);
            }
            found.set_item(text, &pair)?;
        }
        Ok((found.len() == pairs.len()).then_some(found))
    }
}

/// The tag, style and place of a node of a text.
pub(super) struct Written {
    pub(super) tag: Py<PyString>,
    pub(super) style: Py<PyAny>,
    pub(super) start: Position,
    pub(super) end: Position,
}

impl Written {
    fn node(self, value: Py<PyAny>) -> PyClassInitializer<Node> {
        PyClassInitializer::from(Node {
            tag: self.tag,
            value,
            style: self.style,
            start: Place::Text(self.start),
            end: Place::Text(self.end),
        })
    }

    pub(super) fn scalar<'py>(self, value: Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        let made = self
            .node(value.into_any().unbind())
            .add_subclass(ScalarNode);
        Ok(Bound::new(py, made)?.into_any())
    }

    pub(super) fn sequence<'py>(self, items: Bound<'py, PyList>) -> PyResult<Bound<'py, PyAny>> {
        let py = items.py();
        let made = self
            .node(items.into_any().unbind())
            .add_subclass(CollectionNode);
        Ok(Bound::new(py, made.add_subclass(SequenceNode))?.into_any())
    }

    pub(super) fn mapping<'py>(self, pairs: Bound<'py, PyList>) -> PyResult<Bound<'py, PyAny>> {
        let py = pairs.py();
        let made = self
            .node(pairs.into_any().unbind())
            .add_subclass(CollectionNode);
        Ok(Bound::new(py, made.add_subclass(MappingNode))?.into_any())
    }
}
