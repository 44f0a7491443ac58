//! Decisions on requests given as JSON Lines: everything is decided without the GIL, then made into Python objects.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use pyo3::types::PyList;

use bobcat_core::error::DecodeError;
use bobcat_core::program::{Decided, Marker, Scratch};
use bobcat_core::value::json::JsonRequest;

use crate::decision;
use crate::error::core_error;
use crate::loaded::Loaded;

/// An outcome that borrows nothing.
pub(crate) struct JsonOutcome {
    pub(crate) decided: Decided<()>,
    pub(crate) markers: Vec<Marker>,
    pub(crate) via: Vec<u32>,
    /// The new arguments as JSON.
    pub(crate) args: Option<String>,
}

enum Refused {
    Line(usize, DecodeError),
    Panic,
}

/// One decision per line of `data`.
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    data: &[u8],
) -> PyResult<Bound<'py, PyList>> {
    if loaded.program.host_count() > 0 {
        return Err(core_error(
            py,
            "host_rules",
            "a policy with host rules cannot decide on JSON",
        ));
    }
    let program = &loaded.program;
    let outcomes = py.detach(|| {
        catch_unwind(AssertUnwindSafe(|| decide_all(program, data))).unwrap_or(Err(Refused::Panic))
    });
    match outcomes {
        Ok(outcomes) => {
            let decisions = PyList::empty(py);
            for outcome in outcomes {
                decisions.append(decision::of_json(py, loaded, outcome)?)?;
            }
            Ok(decisions)
        }
        Err(Refused::Line(line, error)) => Err(core_error(
            py,
            "bad_request",
            &format!("line {line}: {}", error.message),
        )),
        Err(Refused::Panic) => Err(core_error(
            py,
            "internal_error",
            "the decision point failed on this batch",
        )),
    }
}

fn decide_all(
    program: &bobcat_core::program::Program,
    data: &[u8],
) -> Result<Vec<JsonOutcome>, Refused> {
    let mut scratch = Scratch::default();
    let mut outcomes = Vec::new();
    let data = data.strip_suffix(b"\n").unwrap_or(data);
    if data.is_empty() {
        return Ok(outcomes);
    }
    for (index, line) in data.split(|&byte| byte == b'\n').enumerate() {
        let request = JsonRequest::parse(line).map_err(|error| Refused::Line(index + 1, error))?;
        let outcome = program.decide(&request, &mut scratch);
        outcomes.push(JsonOutcome {
            decided: match outcome.decided {
                Decided::Rule(rule) => Decided::Rule(rule),
                Decided::ErrorDeny(rule, code) => Decided::ErrorDeny(rule, code),
                Decided::NoMatch => Decided::NoMatch,
                Decided::MissingShadow => Decided::MissingShadow,
                Decided::Host(..) | Decided::Aborted => Decided::Aborted,
            },
            markers: outcome.markers,
            via: outcome.via.iter().map(|via| via.rule).collect(),
            args: outcome.transformed.map(|request| request.args_json()),
        });
    }
    Ok(outcomes)
}
