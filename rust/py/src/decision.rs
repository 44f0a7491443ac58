//! Outcomes of the core as `bobcat.model.Decision` objects.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};

use bobcat_core::error::ErrorCode;
use bobcat_core::program::{By, Decided, Known, Marker, Outcome, Said, Verdict, Via};

use crate::batch::JsonOutcome;
use crate::call::Call;
use crate::loaded::Loaded;
use crate::names::Names;
use crate::request::PyRequest;

const MISSING_SHADOW: &str = "irreversible action with no shadow; default policy";
const NO_MATCH: &str = "no rule matched; default policy";

/// An outcome in Python's terms.
struct Plan<'py> {
    decided: Decided<Bound<'py, PyAny>>,
    markers: Vec<Marker>,
    /// The transforms on the way.
    via: Vec<Via<Bound<'py, PyAny>>>,
    /// The new arguments.
    args: Option<Bound<'py, PyAny>>,
}

/// A decision that was there before its request: the same object every time.
#[inline]
pub(crate) fn known(py: Python<'_>, loaded: &Loaded, known: Known) -> PyResult<Py<PyAny>> {
    let made = match known {
        Known::Rule(rule) => loaded.decision(py, rule)?,
        Known::Function(rule, number) => {
            return loaded.said(py, rule, &Said::Always(number));
        }
        Known::NoMatch => no_match(py, loaded)?,
        Known::MissingShadow => missing_shadow(py, loaded)?,
    };
    Ok(made.clone_ref(py))
}

/// The decision that `outcome` is.
#[cold]
pub(crate) fn of<'py>(
    call: &Call<'_, 'py>,
    outcome: Outcome<PyRequest<'_, 'py>>,
) -> PyResult<Py<PyAny>> {
    let plan = Plan {
        decided: outcome.decided,
        markers: outcome.markers,
        via: outcome.via,
        args: outcome.transformed.and_then(|request| request.into_args()),
    };
    plan.decision(call.py, call.loaded)
}

/// The decision that the outcome of a JSON request is; `None` when its arguments have not been kept.
pub(crate) fn of_json(
    py: Python<'_>,
    loaded: &Loaded,
    outcome: JsonOutcome<'_>,
) -> PyResult<Option<Py<PyAny>>> {
    let args = match outcome.python_args(py)? {
        None => None,
        Some(None) => return Ok(None),
        Some(Some(plain)) => Some(loaded.names.deep_freeze.bind(py).call1((plain,))?),
    };
    let plan = Plan {
        decided: match outcome.decided {
            Decided::Rule(rule) => Decided::Rule(rule),
            Decided::Function(rule, said) => Decided::Function(rule, said),
            Decided::ErrorDeny(rule, code) => Decided::ErrorDeny(rule, code),
            Decided::NoMatch => Decided::NoMatch,
            Decided::MissingShadow => Decided::MissingShadow,
            Decided::Host(..) | Decided::Aborted => Decided::Aborted,
        },
        markers: outcome.markers,
        via: outcome
            .via
            .into_iter()
            .map(|via| Via {
                rule: via.rule,
                by: match via.by {
                    By::Match => By::Match,
                    By::Function(said) => By::Function(said),
                    By::Host(never) => match never {},
                },
            })
            .collect(),
        args,
    };
    plan.decision(py, loaded).map(Some)
}

impl<'py> Plan<'py> {
    fn decision(self, py: Python<'py>, loaded: &Loaded) -> PyResult<Py<PyAny>> {
        let changed = !self.markers.is_empty() || !self.via.is_empty() || self.args.is_some();
        let decision = match self.decided {
            // The interrupt itself is raised by `Call::finish`; without one this is a fault of ours.
            Decided::Aborted => return internal_error(py),
            Decided::ErrorDeny(rule, ref code) => error_deny(py, loaded, rule, code)?,
            Decided::Rule(rule) => loaded.decision(py, rule)?.clone_ref(py),
            Decided::Function(rule, ref said) => loaded.said(py, rule, said)?,
            Decided::Host(_, ref decision) => decision.clone().unbind(),
            Decided::NoMatch => no_match(py, loaded)?.clone_ref(py),
            Decided::MissingShadow => missing_shadow(py, loaded)?.clone_ref(py),
        };
        if changed {
            self.extended(loaded, decision.bind(py))
        } else {
            Ok(decision)
        }
    }

    /// `decision` with the names of the rules before it, and over the new arguments.
    #[cold]
    fn extended(self, loaded: &Loaded, decision: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        let py = decision.py();
        let names = loaded.names;
        let mut rules = Vec::with_capacity(self.markers.len() + self.via.len() + 1);
        for Marker { rule, code } in &self.markers {
            rules.push(marker(py, loaded, *rule, code)?);
        }
        for Via { rule, by } in &self.via {
            match by {
                By::Match => rules.push(loaded.rule_id(py, *rule)?),
                By::Host(decision) => rules.extend(matched_rules(decision)?),
                By::Function(said) => {
                    rules.extend(matched_rules(loaded.said(py, *rule, said)?.bind(py))?);
                }
            }
        }
        rules.extend(matched_rules(decision)?);
        let mut verdict = decision.getattr("verdict")?;
        let transform_args = match self.args {
            None => decision.getattr("transform_args")?,
            Some(_) if verdict.is(names.verdict(Verdict::Deny)) => py.None().into_bound(py),
            Some(args) => {
                if verdict.is(names.verdict(Verdict::Allow)) {
                    verdict = names.verdict(Verdict::Transform).bind(py).clone();
                }
                args
            }
        };
        let parts = (
            verdict,
            decision.getattr("reason")?,
            PyTuple::new(py, rules)?,
            decision.getattr("approvers")?,
            transform_args,
            decision.getattr("timeout_seconds")?,
            decision.getattr("approvals_needed")?,
        );
        Ok(names.decision.bind(py).call1(parts)?.unbind())
    }
}

fn matched_rules<'py>(decision: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    decision.getattr("matched_rules")?.try_iter()?.collect()
}

/// `<rule_error:RULE:CODE>`
fn marker<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    rule: u32,
    code: &ErrorCode,
) -> PyResult<Bound<'py, PyAny>> {
    let id = loaded.rule_id(py, rule)?.str()?;
    PyString::new(py, "<rule_error:")
        .add(id)?
        .add(format!(":{code}>"))
}

fn error_deny(py: Python<'_>, loaded: &Loaded, rule: u32, code: &ErrorCode) -> PyResult<Py<PyAny>> {
    let reason = format!(
        "rule `{}` could not be judged ({code}); denied",
        loaded.rule_id(py, rule)?
    );
    simple(py, Verdict::Deny, &reason, marker(py, loaded, rule, code)?)
}

fn no_match<'l>(py: Python<'_>, loaded: &'l Loaded) -> PyResult<&'l Py<PyAny>> {
    let verdict = loaded.program.defaults().on_no_match;
    default(
        py,
        &loaded.no_match,
        verdict,
        (NO_MATCH, "<default:on_no_match>"),
    )
}

fn missing_shadow<'l>(py: Python<'_>, loaded: &'l Loaded) -> PyResult<&'l Py<PyAny>> {
    let verdict = loaded.program.defaults().on_missing_shadow;
    default(
        py,
        &loaded.missing_shadow,
        verdict,
        (MISSING_SHADOW, "<default:on_missing_shadow>"),
    )
}

fn default<'l>(
    py: Python<'_>,
    cell: &'l PyOnceLock<Py<PyAny>>,
    verdict: Verdict,
    (reason, marker): (&str, &str),
) -> PyResult<&'l Py<PyAny>> {
    cell.get_or_try_init(py, || {
        simple(py, verdict, reason, PyString::new(py, marker).into_any())
    })
}

/// What a fault of this module itself is answered with: a `deny` that says so.
pub(crate) fn internal_error(py: Python<'_>) -> PyResult<Py<PyAny>> {
    let reason = "the decision point failed (internal_error); denied";
    simple(
        py,
        Verdict::Deny,
        reason,
        PyString::new(py, "<internal_error>").into_any(),
    )
}

fn simple(
    py: Python<'_>,
    verdict: Verdict,
    reason: &str,
    rule: Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let names = Names::get(py)?;
    Ok(names
        .decision
        .bind(py)
        .call1((names.verdict(verdict), reason, (rule,)))?
        .unbind())
}
