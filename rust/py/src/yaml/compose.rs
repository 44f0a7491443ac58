//! Composes the nodes of a YAML text from its events, within limits.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyString, PyTuple};

use super::events::{Event, Parser, Position, Problem, Start, Style};
use super::node::Written;

pyo3::create_exception!(
    bobcat._core,
    YamlError,
    pyo3::exceptions::PyException,
    "A text that is not YAML, or past a limit: `args` are the kind, the problem, and the position or None. See `compose_yaml`."
);

/// Bytes of a tag, and lines that begin with `%TAG`: short tags may stand for prefixes of any length, and each line is compared
/// with all others.
const MAX_TAG: usize = 1_024;
const MAX_DIRECTIVES: usize = 100;
/// Spaces and tabs in a row: libyaml clears the memory that the longest row took once for each line.
const MAX_BLANKS: usize = 10_000;
/// Keys whose strings are kept.
const MAX_KEYS: usize = 4_096;
/// Length in bytes of keys that are kept.
const MAX_KEY: usize = 64;

/// The roots of two documents.
type Documents<'py> = (Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// Composes the first document of a text and the second one, each None where it is missing.
///
/// Values nest in at most `max_depth` levels, and there are at most `max_nodes`, without those of aliases. Raises `YamlError`
/// with one of the kinds `syntax` and `character`, with libyaml's message; `depth` and `count`, at the value around the one
/// that is too deep or too many; and `recursive`, at an anchor that is in its own value. The position is a line and a column
/// from 0.
#[pyfunction]
#[pyo3(signature = (text, max_depth, max_nodes, /))]
pub(crate) fn compose_yaml<'py>(
    py: Python<'py>,
    text: &str,
    max_depth: usize,
    max_nodes: usize,
) -> PyResult<Documents<'py>> {
    check_text(text)?;
    let mut composer = Composer {
        parser: Parser::new(text),
        keys: Keys {
            known: HashMap::new(),
        },
        tag: PyString::new(py, ""),
        nodes: 0,
        max_depth,
        max_nodes,
    };
    let first = composer.document(py)?;
    let second = if first.is_some() {
        composer.document(py)?
    } else {
        None
    };
    Ok((first, second))
}

struct Composer<'py, 'text> {
    parser: Parser<'text>,
    keys: Keys<'py>,
    /// The tag of values without one.
    tag: Bound<'py, PyString>,
    nodes: usize,
    max_depth: usize,
    max_nodes: usize,
}

/// A collection whose end is still to come.
struct Open<'py> {
    tag: Bound<'py, PyString>,
    style: Style,
    start: Position,
    anchor: Option<String>,
    /// Where its values begin among those of all open collections.
    values: usize,
    mapping: bool,
}

enum Anchored<'py> {
    /// The start of a collection that is open.
    Open(Position),
    Done(Bound<'py, PyAny>),
}

/// The strings of short keys, each made once.
struct Keys<'py> {
    known: HashMap<Box<str>, Bound<'py, PyString>>,
}

impl<'py> Keys<'py> {
    fn string(&mut self, py: Python<'py>, key: &str) -> Bound<'py, PyString> {
        if let Some(known) = self.known.get(key) {
            return known.clone();
        }
        let made = PyString::new(py, key);
        if key.len() <= MAX_KEY && self.known.len() < MAX_KEYS {
            self.known.insert(key.into(), made.clone());
        }
        made
    }
}

impl<'py> Composer<'py, '_> {
    /// Returns the root of the next document; `None` at the end of the stream.
    fn document(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut open: Vec<Open<'py>> = Vec::new();
        let mut values: Vec<Bound<'py, PyAny>> = Vec::new();
        let mut anchors: HashMap<String, Anchored<'py>> = HashMap::new();
        loop {
            let (event, start, end) = self.parser.next().map_err(no_yaml)?;
            let is_key = open.last().is_some_and(|around| {
                around.mapping && (values.len() - around.values).is_multiple_of(2)
            });
            let made = match event {
                Event::Other => continue,
                Event::StreamEnd => return Ok(None),
                Event::Alias(name) => match anchors.get(name) {
                    None => return Err(at("syntax", "found undefined alias", Some(start))),
                    Some(Anchored::Open(start)) => {
                        return Err(at("recursive", "", Some(*start)));
                    }
                    Some(Anchored::Done(node)) => node.clone(),
                },
                Event::End => {
                    let Some(done) = open.pop() else { continue };
                    let own = values.drain(done.values..);
                    let written = Written {
                        tag: done.tag.unbind(),
                        style: style_of(py, done.style),
                        start: done.start,
                        end,
                    };
                    let made = if done.mapping {
                        written.mapping(pairs(py, own)?)?
                    } else {
                        let own: Vec<_> = own.collect();
                        written.sequence(PyList::new(py, own)?)?
                    };
                    if let Some(anchor) = done.anchor {
                        anchors.insert(anchor, Anchored::Done(made.clone()));
                    }
                    made
                }
                Event::Scalar(Start { anchor, tag, style }, value) => {
                    check_anchor(anchor, &anchors, start)?;
                    count(&mut self.nodes, self.max_nodes, self.max_depth, &open)?;
                    let value = if is_key {
                        self.keys.string(py, value)
                    } else {
                        PyString::new(py, value)
                    };
                    let written = Written {
                        tag: tag_of(tag, &self.tag, start)?.unbind(),
                        style: style_of(py, style),
                        start,
                        end,
                    };
                    let made = written.scalar(value)?;
                    if let Some(anchor) = anchor {
                        anchors.insert(anchor.to_owned(), Anchored::Done(made.clone()));
                    }
                    made
                }
                Event::Sequence(Start { anchor, tag, style })
                | Event::Mapping(Start { anchor, tag, style }) => {
                    let mapping = matches!(event, Event::Mapping(_));
                    check_anchor(anchor, &anchors, start)?;
                    count(&mut self.nodes, self.max_nodes, self.max_depth, &open)?;
                    if let Some(anchor) = anchor {
                        anchors.insert(anchor.to_owned(), Anchored::Open(start));
                    }
                    open.push(Open {
                        tag: tag_of(tag, &self.tag, start)?,
                        style,
                        start,
                        anchor: anchor.map(str::to_owned),
                        values: values.len(),
                        mapping,
                    });
                    continue;
                }
            };
            if open.is_empty() {
                // The text may break the syntax right behind the value.
                self.parser.next().map_err(no_yaml)?;
                return Ok(Some(made));
            }
            values.push(made);
        }
    }
}

fn pairs<'py>(
    py: Python<'py>,
    values: impl Iterator<Item = Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let mut found = Vec::new();
    let mut values = values;
    while let (Some(key), Some(value)) = (values.next(), values.next()) {
        found.push(PyTuple::new(py, [key, value])?);
    }
    PyList::new(py, found)
}

fn check_anchor(
    anchor: Option<&str>,
    anchors: &HashMap<String, Anchored<'_>>,
    start: Position,
) -> PyResult<()> {
    match anchor {
        Some(name) if anchors.contains_key(name) => {
            Err(at("syntax", "the anchor is defined twice", Some(start)))
        }
        _ => Ok(()),
    }
}

/// Counts a value in the innermost of the open collections.
fn count(nodes: &mut usize, max_nodes: usize, max_depth: usize, open: &[Open<'_>]) -> PyResult<()> {
    *nodes += 1;
    let past = if open.len() >= max_depth {
        "depth"
    } else if *nodes > max_nodes {
        "count"
    } else {
        return Ok(());
    };
    Err(at(past, "", open.last().map(|around| around.start)))
}

fn tag_of<'py>(
    tag: Option<&str>,
    without: &Bound<'py, PyString>,
    start: Position,
) -> PyResult<Bound<'py, PyString>> {
    match tag {
        None | Some("!") => Ok(without.clone()),
        Some(tag) if tag.len() > MAX_TAG => Err(at("syntax", "the tag is too long", Some(start))),
        Some(tag) => Ok(PyString::new(without.py(), tag)),
    }
}

/// Refuses texts that would take more than time and memory in proportion to their length.
fn check_text(text: &str) -> PyResult<()> {
    let mut blanks = 0;
    for (index, byte) in text.bytes().enumerate() {
        blanks = if matches!(byte, b' ' | b'\t') {
            blanks + 1
        } else {
            0
        };
        if blanks > MAX_BLANKS {
            let place = Some(position_at(text, index));
            return Err(at("syntax", "there are too many spaces in a row", place));
        }
    }
    let mut left = MAX_DIRECTIVES;
    for (index, _) in text.match_indices("%TAG") {
        let before = text
            .get(..index)
            .and_then(|before| before.chars().next_back());
        if before.is_none_or(|before| "\n\r\u{85}\u{2028}\u{2029}".contains(before)) {
            left = left.checked_sub(1).ok_or_else(|| {
                let place = Some(position_at(text, index));
                at("syntax", "there are too many %TAG directives", place)
            })?;
        }
    }
    Ok(())
}

#[cold]
fn position_at(text: &str, index: usize) -> Position {
    let before = text.get(..index).unwrap_or_default();
    let last = before.rsplit('\n').next().unwrap_or_default();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Position {
        line: number(before.matches('\n').count()),
        column: number(last.chars().count()),
    }
}

fn style_of(py: Python<'_>, style: Style) -> Py<PyAny> {
    let text = match style {
        Style::Block | Style::Flow => {
            return PyBool::new(py, style == Style::Flow)
                .to_owned()
                .into_any()
                .unbind();
        }
        Style::Plain => pyo3::intern!(py, ""),
        Style::SingleQuoted => pyo3::intern!(py, "'"),
        Style::DoubleQuoted => pyo3::intern!(py, "\""),
        Style::Literal => pyo3::intern!(py, "|"),
        Style::Folded => pyo3::intern!(py, ">"),
    };
    text.clone().into_any().unbind()
}

#[cold]
fn no_yaml(problem: Problem) -> PyErr {
    match problem {
        Problem::Syntax(message, position) => at("syntax", &message, position),
        Problem::Character(character, message) => {
            let problem = format!("unacceptable character #x{character:04x}: {message}");
            at("character", &problem, None)
        }
    }
}

#[cold]
fn at(kind: &'static str, problem: &str, position: Option<Position>) -> PyErr {
    let position = position.map(|position| (position.line, position.column));
    YamlError::new_err((kind, problem.to_owned(), position))
}
