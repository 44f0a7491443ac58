//! Decisions of policies with layers as `bobcat.model.decision.Decision` objects.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use bobcat_core::json::value::JsonRequest;
use bobcat_core::program::{
    Approvals, DecidedBy, LayeredOutcome, Layers, Marker, Opinion, Origin, TransformStep, Verdict,
    layer_default,
};
use bobcat_core::value::request::Request;

use crate::batch;
use crate::bound_program::BoundProgram;
use crate::decision::{each, error_deny, extended, internal_error, marker, simple};
use crate::request::PyRequest;
use crate::session::Session;

/// Converts `outcome` to a decision.
pub(crate) fn of<'py>(
    session: &Session<'_, 'py>,
    layers: &Layers,
    mut outcome: LayeredOutcome<PyRequest<'_, 'py>>,
) -> PyResult<Py<PyAny>> {
    let args = outcome.transformed.take();
    let args = args.and_then(|request| request.into_args());
    made(session.py, session.bound, layers, (outcome, args))
}

/// Converts the outcome of a JSON request to a decision; `None` when its arguments have not been kept.
pub(crate) fn of_json(
    py: Python<'_>,
    bound: &BoundProgram,
    outcome: LayeredOutcome<JsonRequest<'_>>,
) -> PyResult<Option<Py<PyAny>>> {
    let Some(layers) = bound.program.layers() else {
        return internal_error(py).map(Some);
    };
    let args = match &outcome.transformed {
        None => None,
        Some(request) => match batch::to_python(py, request.args())? {
            None => return Ok(None),
            Some(plain) => Some(bound.names.deep_freeze.bind(py).call1((plain,))?),
        },
    };
    made(py, bound, layers, (outcome, args)).map(Some)
}

/// The decision of an outcome over new arguments, if there are any.
fn made<'py, R: Request>(
    py: Python<'py>,
    bound: &BoundProgram,
    layers: &Layers,
    (outcome, args): (LayeredOutcome<R>, Option<Bound<'py, PyAny>>),
) -> PyResult<Py<PyAny>> {
    if let Some(conflict) = outcome.conflict {
        let (reason, marker) = conflict.texts(layers);
        let marker = PyString::new(py, &marker).into_any();
        return simple(py, Verdict::Deny, &reason, marker);
    }
    let mut decision = single(py, bound, layers, &outcome.deciding)?;
    if outcome.is_plain() && args.is_none() {
        return Ok(decision);
    }
    if let Some(approvals) = &outcome.approvals {
        let mut all = vec![(outcome.deciding.layer, decision)];
        for other in &outcome.also {
            all.push((other.layer, single(py, bound, layers, other)?));
        }
        all.sort_by_key(|(layer, _)| *layer);
        let all: Vec<_> = all.iter().map(|(_, decision)| decision.bind(py)).collect();
        decision = jointly(py, bound, &all, approvals)?;
    }
    let (mut rules, mut obligations) = (Vec::new(), Vec::new());
    for (rule, function) in &outcome.obliging {
        match function {
            None => obligations.extend(bound.obligations(py, bound.rule(*rule)?)?),
            Some(decision) => {
                let decided = bound.function_decision(py, *rule, decision)?;
                obligations.extend(each(decided.bind(py), "obligations")?);
            }
        }
    }
    for Marker { rule, code } in &outcome.markers {
        rules.push(marker(py, bound, *rule, code)?);
    }
    for TransformStep { rule, origin } in &outcome.transforms {
        match origin {
            Origin::Match | Origin::Host(_) => {
                rules.push(bound.rule_id(py, *rule)?);
                obligations.extend(bound.obligations(py, bound.rule(*rule)?)?);
            }
            Origin::Function(decision) => {
                let decided = bound.function_decision(py, *rule, decision)?;
                rules.extend(each(decided.bind(py), "matched_rules")?);
                obligations.extend(each(decided.bind(py), "obligations")?);
            }
        }
    }
    extended(bound, decision.bind(py), (rules, obligations), args)
}

/// The decision of one layer.
fn single<D>(
    py: Python<'_>,
    bound: &BoundProgram,
    layers: &Layers,
    opinion: &Opinion<D>,
) -> PyResult<Py<PyAny>> {
    match &opinion.decided {
        DecidedBy::Rule(rule) => Ok(bound.decision(py, *rule)?.clone_ref(py)),
        DecidedBy::Function(rule, decision) => bound.function_decision(py, *rule, decision),
        DecidedBy::ErrorDeny(rule, code) => error_deny(py, bound, *rule, code),
        DecidedBy::NoMatch => default(py, bound, layers, (opinion, false)),
        DecidedBy::MissingShadow => default(py, bound, layers, (opinion, true)),
        // The reader refuses host rules in layers.
        DecidedBy::Host(..) | DecidedBy::Aborted => internal_error(py),
    }
}

/// The decision of a layer when no rule of it fired: the same object every time.
fn default<D>(
    py: Python<'_>,
    bound: &BoundProgram,
    layers: &Layers,
    (opinion, missing_shadow): (&Opinion<D>, bool),
) -> PyResult<Py<PyAny>> {
    let cells = bound.layer_defaults.get(opinion.layer as usize);
    let Some(cell) = cells.and_then(|cells| cells.get(usize::from(missing_shadow))) else {
        return internal_error(py);
    };
    let made = cell.get_or_try_init(py, || {
        let (reason, marker) = layer_default(layers.name(opinion.layer), missing_shadow);
        let marker = PyString::new(py, &marker).into_any();
        simple(py, opinion.verdict, &reason, marker)
    })?;
    Ok(made.clone_ref(py))
}

/// The decision of several layers that require approvals.
#[cold]
fn jointly<'py>(
    py: Python<'py>,
    bound: &BoundProgram,
    decisions: &[&Bound<'py, PyAny>],
    approvals: &Approvals,
) -> PyResult<Py<PyAny>> {
    let (mut reasons, mut rules, mut obligations) = (Vec::<String>::new(), Vec::new(), Vec::new());
    let mut timeout: Option<(f64, Bound<'py, PyAny>)> = None;
    for decision in decisions {
        let reason: String = decision.getattr("reason")?.extract()?;
        if !reason.is_empty() && !reasons.contains(&reason) {
            reasons.push(reason);
        }
        rules.extend(each(decision, "matched_rules")?);
        obligations.extend(each(decision, "obligations")?);
        let seconds = decision.getattr("timeout_seconds")?;
        if !seconds.is_none() {
            let value: f64 = seconds.extract()?;
            if timeout.as_ref().is_none_or(|(least, _)| value < *least) {
                timeout = Some((value, seconds));
            }
        }
    }
    let parts = (
        bound.names.verdict(Verdict::ApproveRequired),
        reasons.join("; "),
        PyTuple::new(py, rules)?,
        PyTuple::new(py, &approvals.approvers)?,
        py.None(),
        timeout.map(|(_, seconds)| seconds),
        approvals.needed,
        PyTuple::new(py, obligations)?,
    );
    Ok(bound.names.decision.bind(py).call1(parts)?.unbind())
}
