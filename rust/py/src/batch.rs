//! Decisions on requests given as JSON Lines: all are decided without the GIL, then converted to Python objects.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyString};

use bobcat_core::error::DecodeError;
use bobcat_core::json::value::{JsonRequest, RequestReader};
use bobcat_core::json::{self, Json};
use bobcat_core::program::{LayeredOutcome, Outcome, Program, Scratch, StaticOutcome};

use crate::bound_program::BoundProgram;
use crate::decision;
use crate::error::core_error;
use crate::layered;
use crate::program::{decide, decide_layered};

/// The decision on one line, and the line where it may have to be read again. PERF: an outcome takes many more bytes.
enum Answer<'d> {
    Known(StaticOutcome),
    Made(Box<Outcome<JsonRequest<'d>>>, &'d [u8]),
    Layered(Box<LayeredOutcome<JsonRequest<'d>>>, &'d [u8]),
}

enum Refused {
    Line(usize, DecodeError),
    Panic,
}

/// One decision per line of `data`.
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    bound: &BoundProgram,
    data: &[u8],
) -> PyResult<Bound<'py, PyList>> {
    if bound.program.host_count() > 0 {
        return Err(core_error(
            py,
            "host_rules",
            "a policy with host rules cannot decide on JSON",
        ));
    }
    let program = &bound.program;
    let answers = py.detach(|| {
        catch_unwind(AssertUnwindSafe(|| decide_all(program, data))).unwrap_or(Err(Refused::Panic))
    });
    match answers {
        Ok(answers) => {
            let decisions = answers
                .into_iter()
                .map(|answer| match answer {
                    Answer::Known(known) => decision::known(py, bound, known),
                    Answer::Made(outcome, line) => match decision::of_json(py, bound, *outcome)? {
                        Some(decision) => Ok(decision),
                        None => decide_in_python(py, bound, line),
                    },
                    Answer::Layered(outcome, line) => {
                        match layered::of_json(py, bound, *outcome)? {
                            Some(decision) => Ok(decision),
                            None => decide_in_python(py, bound, line),
                        }
                    }
                })
                .collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, decisions)
        }
        Err(Refused::Line(line, error)) => Err(core_error(
            py,
            "bad_request",
            &format!("line {line}: {}", why(data, line, &error)),
        )),
        Err(Refused::Panic) => Err(core_error(
            py,
            "internal_error",
            "the decision point failed on this batch",
        )),
    }
}

/// Describes the error in a line, where its place does not.
#[cold]
fn why(data: &[u8], line: usize, error: &DecodeError) -> String {
    let text = json::lines(data).nth(line - 1).unwrap_or_default();
    if text.trim_ascii().is_empty() {
        return "it is empty; each line is one request, and each gets one decision".to_owned();
    }
    if text.starts_with("\u{feff}".as_bytes()) {
        return "it begins with a byte order mark; leave it out".to_owned();
    }
    error.message.to_string()
}

fn decide_all<'d>(program: &Program, data: &'d [u8]) -> Result<Vec<Answer<'d>>, Refused> {
    let (mut scratch, mut reader) = (Scratch::default(), RequestReader::default());
    let mut answers = Vec::new();
    for (index, line) in json::lines(data).enumerate() {
        let request = reader
            .read(line)
            .map_err(|error| Refused::Line(index + 1, error))?;
        if let Some(layers) = program.layers() {
            let outcome = program.decide_layered(layers, &request, &mut scratch);
            answers.push(Answer::Layered(Box::new(outcome), line));
        } else {
            answers.push(match program.decide_known(&request, &mut scratch) {
                Ok(known) => Answer::Known(known),
                Err(outcome) => Answer::Made(outcome, line),
            });
        }
        reader.reuse(request);
    }
    Ok(answers)
}

/// CoreError with the code `bad_request` for a text that is no JSON within the caps of a request.
#[pyfunction]
pub(crate) fn check_request(py: Python<'_>, data: &Bound<'_, PyBytes>) -> PyResult<()> {
    let bytes = data.as_bytes();
    py.detach(|| JsonRequest::check(bytes))
        .map_err(|error| core_error(py, error.code, &error.message))
}

/// Decide on one line as Python reads it: its new arguments hold a lone surrogate, or an integer above the cap.
#[cold]
fn decide_in_python(py: Python<'_>, bound: &BoundProgram, line: &[u8]) -> PyResult<Py<PyAny>> {
    let requests = py.import("bobcat.model.request_json")?;
    let request = requests.call_method1("request_from_json", (PyBytes::new(py, line),))?;
    if bound.program.layers().is_some() {
        return decide_layered(py, bound, (&request, None), None);
    }
    decide(py, bound, &request, None)
}

/// A JSON value as Python's `json` reads it; `None` where the text was not kept.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    json: &Json<'_>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(Some(match json {
        Json::Null => py.None().into_bound(py),
        Json::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Json::Int(value) => value.into_pyobject(py)?.into_any(),
        Json::BigInt(value) => py.get_type::<PyInt>().call1((value.to_string(),))?,
        Json::Float(value) => value.into_pyobject(py)?.into_any(),
        Json::HugeInt => return Ok(None),
        Json::Text(text) => match text.as_str() {
            Some(text) => PyString::new(py, text).into_any(),
            None => return Ok(None),
        },
        Json::List(items) => {
            let list = PyList::empty(py);
            for item in items.iter() {
                let Some(item) = to_python(py, item)? else {
                    return Ok(None);
                };
                list.append(item)?;
            }
            list.into_any()
        }
        Json::Map(map) => {
            let dict = PyDict::new(py);
            for (key, value) in map.entries() {
                let (Some(key), Some(value)) = (key.as_str(), to_python(py, value)?) else {
                    return Ok(None);
                };
                dict.set_item(key, value)?;
            }
            dict.into_any()
        }
    }))
}
