//! Outcomes of the core as `bobcat.model.decision.Decision` objects.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};

use bobcat_core::error::ErrorCode;
use bobcat_core::json::value::JsonRequest;
use bobcat_core::program::{
    DecidedBy, FunctionDecision, MISSING_SHADOW, Marker, NO_MATCH, Origin, Outcome, StaticOutcome,
    TransformStep, Verdict, rule_error,
};
use bobcat_core::value::request::Request;

use crate::batch;
use crate::bound_program::BoundProgram;
use crate::names::Names;
use crate::request::PyRequest;
use crate::session::Session;

/// The place of `transform_args` among the fields of a decision.
const TRANSFORM_ARGS: usize = 4;

/// A decision that was there before its request: the same object every time.
#[inline]
pub(crate) fn known(
    py: Python<'_>,
    bound: &BoundProgram,
    known: StaticOutcome,
) -> PyResult<Py<PyAny>> {
    match known {
        StaticOutcome::Rule(rule) => Ok(bound.decision(py, rule)?.clone_ref(py)),
        StaticOutcome::Function(rule, number) => {
            bound.function_decision(py, rule, &FunctionDecision::Always(number))
        }
        StaticOutcome::NoMatch => default(py, bound, false),
        StaticOutcome::MissingShadow => default(py, bound, true),
    }
}

/// Converts `outcome` to a decision.
#[cold]
pub(crate) fn of<'py>(
    session: &Session<'_, 'py>,
    mut outcome: Outcome<PyRequest<'_, 'py>>,
) -> PyResult<Py<PyAny>> {
    let args = outcome.transformed.take();
    let args = args.and_then(|request| request.into_args());
    made(session.py, session.bound, (outcome, args), Bound::clone)
}

/// Converts the outcome of a JSON request to a decision; `None` when its arguments have not been kept.
pub(crate) fn of_json(
    py: Python<'_>,
    bound: &BoundProgram,
    outcome: Outcome<JsonRequest<'_>>,
) -> PyResult<Option<Py<PyAny>>> {
    let args = match &outcome.transformed {
        None => None,
        Some(request) => match batch::to_python(py, request.args())? {
            None => return Ok(None),
            Some(plain) => Some(bound.names.deep_freeze.bind(py).call1((plain,))?),
        },
    };
    made(py, bound, (outcome, args), |never| match *never {}).map(Some)
}

/// The decision of an outcome over new arguments, if there are any; `host` returns the decision of a host rule.
fn made<'py, R: Request>(
    py: Python<'py>,
    bound: &BoundProgram,
    (outcome, args): (Outcome<R>, Option<Bound<'py, PyAny>>),
    host: impl Fn(&R::Decision) -> Bound<'py, PyAny>,
) -> PyResult<Py<PyAny>> {
    let decision = match &outcome.decided {
        // The interrupt itself is raised by `Session::finish`; without one this is a fault of ours.
        DecidedBy::Aborted => return internal_error(py),
        DecidedBy::ErrorDeny(rule, code) => error_deny(py, bound, *rule, code)?,
        DecidedBy::Rule(rule) => bound.decision(py, *rule)?.clone_ref(py),
        DecidedBy::Function(rule, decision) => bound.function_decision(py, *rule, decision)?,
        DecidedBy::Host(_, decision) => host(decision).unbind(),
        DecidedBy::NoMatch => default(py, bound, false)?,
        DecidedBy::MissingShadow => default(py, bound, true)?,
    };
    if outcome.markers.is_empty() && outcome.transforms.is_empty() && args.is_none() {
        return Ok(decision);
    }
    // PERF: the decision of a transform that nothing else takes part in differs by the arguments alone.
    if outcome.markers.is_empty()
        && outcome.transforms.is_empty()
        && let (DecidedBy::Rule(_), Some(args)) = (&outcome.decided, &args)
        && let Some(made) = bound
            .names
            .decide
            .changed(decision.bind(py), TRANSFORM_ARGS, args)
    {
        return made;
    }
    let mut rules = Vec::with_capacity(outcome.markers.len() + outcome.transforms.len() + 1);
    let mut obligations = Vec::new();
    for Marker { rule, code } in &outcome.markers {
        rules.push(marker(py, bound, *rule, code)?);
    }
    for TransformStep { rule, origin } in &outcome.transforms {
        let made = match origin {
            Origin::Match => {
                rules.push(bound.rule_id(py, *rule)?);
                obligations.extend(bound.obligations(py, bound.rule(*rule)?)?);
                continue;
            }
            Origin::Host(decision) => host(decision),
            Origin::Function(decision) => {
                bound.function_decision(py, *rule, decision)?.into_bound(py)
            }
        };
        rules.extend(each(&made, "matched_rules")?);
        obligations.extend(each(&made, "obligations")?);
    }
    extended(bound, decision.bind(py), (rules, obligations), args)
}

/// `decision` with the names and the obligations of the rules before it, and over the new arguments. A denial keeps its own
/// obligations only: those of transforms are about a call that is permitted.
#[cold]
pub(crate) fn extended<'py>(
    bound: &BoundProgram,
    decision: &Bound<'py, PyAny>,
    (mut rules, mut obligations): (Vec<Bound<'py, PyAny>>, Vec<Bound<'py, PyAny>>),
    args: Option<Bound<'py, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let (py, names) = (decision.py(), bound.names);
    let [
        verdict,
        reason,
        matched,
        approvers,
        own_args,
        timeout,
        needed,
        own,
    ] = &names.decision_fields;
    rules.extend(items(&matched.read(decision)?)?);
    let mut verdict = verdict.read(decision)?;
    if verdict.is(names.verdict(Verdict::Deny)) {
        obligations.clear();
    }
    obligations.extend(items(&own.read(decision)?)?);
    let transform_args = match args {
        None => own_args.read(decision)?,
        Some(_) if verdict.is(names.verdict(Verdict::Deny)) => py.None().into_bound(py),
        Some(args) => {
            if verdict.is(names.verdict(Verdict::Allow)) {
                verdict = names.verdict(Verdict::Transform).bind(py).clone();
            }
            args
        }
    };
    let (rules, obligations) = (PyTuple::new(py, rules)?, PyTuple::new(py, obligations)?);
    names.decide.make(
        py,
        [
            verdict.as_borrowed(),
            reason.read(decision)?.as_borrowed(),
            rules.as_any().as_borrowed(),
            approvers.read(decision)?.as_borrowed(),
            transform_args.as_borrowed(),
            timeout.read(decision)?.as_borrowed(),
            needed.read(decision)?.as_borrowed(),
            obligations.as_any().as_borrowed(),
        ],
    )
}

/// The items of a field of a decision.
pub(crate) fn each<'py>(
    decision: &Bound<'py, PyAny>,
    field: &str,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    items(&decision.getattr(field)?)
}

fn items<'py>(values: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    match values.cast_exact::<PyTuple>() {
        Ok(values) => Ok(values.iter().collect()),
        Err(_) => values.try_iter()?.collect(),
    }
}

/// The texts of an error of a rule, made when a decision first has them.
pub(crate) struct RuleError {
    code: ErrorCode,
    /// `<rule_error:RULE:CODE>`
    marker: Py<PyAny>,
    /// The denial, of a rule that restricts.
    denial: PyOnceLock<Py<PyAny>>,
}

impl RuleError {
    fn new(py: Python<'_>, bound: &BoundProgram, rule: u32, code: &ErrorCode) -> PyResult<Self> {
        let id = bound.rule_id(py, rule)?.str()?;
        let marker = PyString::new(py, "<rule_error:")
            .add(id)?
            .add(format!(":{code}>"))?;
        Ok(Self {
            code: code.clone(),
            marker: marker.unbind(),
            denial: PyOnceLock::new(),
        })
    }
}

/// Calls `read` with the error of a rule. PERF: the texts take 2 µs, and the first error of a rule is mostly its only one.
fn with_error<T>(
    py: Python<'_>,
    bound: &BoundProgram,
    (rule, code): (u32, &ErrorCode),
    read: impl FnOnce(&RuleError) -> PyResult<T>,
) -> PyResult<T> {
    let known = bound
        .error_cell(rule)?
        .get_or_try_init(py, || RuleError::new(py, bound, rule, code).map(Box::new))?;
    if known.code == *code {
        read(known)
    } else {
        read(&RuleError::new(py, bound, rule, code)?)
    }
}

/// `<rule_error:RULE:CODE>`
pub(crate) fn marker<'py>(
    py: Python<'py>,
    bound: &BoundProgram,
    rule: u32,
    code: &ErrorCode,
) -> PyResult<Bound<'py, PyAny>> {
    with_error(py, bound, (rule, code), |error| {
        Ok(error.marker.bind(py).clone())
    })
}

pub(crate) fn error_deny(
    py: Python<'_>,
    bound: &BoundProgram,
    rule: u32,
    code: &ErrorCode,
) -> PyResult<Py<PyAny>> {
    with_error(py, bound, (rule, code), |error| {
        let denial = error.denial.get_or_try_init(py, || {
            let reason = rule_error(bound.rule_id(py, rule)?, code);
            let marker = error.marker.bind(py).clone();
            simple(py, Verdict::Deny, &reason, marker)
        })?;
        Ok(denial.clone_ref(py))
    })
}

/// The decision when no rule fired: the same object every time.
fn default(py: Python<'_>, bound: &BoundProgram, missing_shadow: bool) -> PyResult<Py<PyAny>> {
    let defaults = bound.program.defaults();
    let (cell, verdict, reason, marker) = match missing_shadow {
        true => (
            &bound.missing_shadow,
            defaults.on_missing_shadow,
            MISSING_SHADOW,
            "<default:on_missing_shadow>",
        ),
        false => (
            &bound.no_match,
            defaults.on_no_match,
            NO_MATCH,
            "<default:on_no_match>",
        ),
    };
    let made = cell.get_or_try_init(py, || {
        simple(py, verdict, reason, PyString::new(py, marker).into_any())
    })?;
    Ok(made.clone_ref(py))
}

/// Builds the answer to a fault of this module itself: a `deny` with the reason.
pub(crate) fn internal_error(py: Python<'_>) -> PyResult<Py<PyAny>> {
    let reason = "the decision point failed (internal_error); denied";
    simple(
        py,
        Verdict::Deny,
        reason,
        PyString::new(py, "<internal_error>").into_any(),
    )
}

/// Returns true if two decisions have the same outcome: verdict, rules and obligations, without new arguments or an
/// approval.
pub(crate) fn is_alike(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
    let names = Names::get(one.py())?;
    let [verdict, _, rules, _, args, _, _, obligations] = &names.decision_fields;
    let (Some(first), Some(second)) = (verdict.slot(one), verdict.slot(other)) else {
        return Ok(false);
    };
    let plain = |decision| args.slot(decision).is_some_and(|args| args.is_none());
    if !first.is(&second)
        || first.is(names.verdict(Verdict::ApproveRequired))
        || !plain(one)
        || !plain(other)
    {
        return Ok(false);
    }
    for each in [rules, obligations] {
        match (each.slot(one), each.slot(other)) {
            (Some(one), Some(other)) if one.is(&other) || is_equal(&one, &other)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Returns true if two values are equal. PERF: 15 ns less than a comparison with a Python result, as ids are interned.
fn is_equal(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
    // SAFETY: both are live objects, and the thread is attached.
    match unsafe { ffi::PyObject_RichCompareBool(one.as_ptr(), other.as_ptr(), ffi::Py_EQ) } {
        -1 => Err(PyErr::fetch(one.py())),
        equal => Ok(equal == 1),
    }
}

pub(crate) fn simple(
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
