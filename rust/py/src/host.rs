//! Host rules: Python callables called for a decision, and the validation of their answers.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};

use bobcat_core::error::ErrorCode;
use bobcat_core::value::request::HostAnswer;

use crate::request::PyRequest;
use crate::session::Session;
use crate::value::is_exception;

type Answer<'r, 'py> = HostAnswer<PyRequest<'r, 'py>>;

/// Calls host rule `host`, which is rule `rule` of the program.
pub(crate) fn ask<'r, 'py>(request: &PyRequest<'r, 'py>, host: u32, rule: u32) -> Answer<'r, 'py> {
    let session = request.session;
    let answer = answer(request, host).and_then(|answer| {
        if answer.is_none() {
            return Ok(HostAnswer::Abstain);
        }
        let name = session.bound.rule_id(session.py, rule)?;
        if session.lynx() {
            lynx(session, &answer, &name)
        } else {
            strict(request, &answer, &name)
        }
    });
    answer.unwrap_or_else(|error| {
        if is_exception(session.py, &error) {
            HostAnswer::Failed(session.error_code(error))
        } else {
            session.defer_error(error);
            HostAnswer::Abort
        }
    })
}

fn answer<'py>(request: &PyRequest<'_, 'py>, host: u32) -> PyResult<Bound<'py, PyAny>> {
    let session = request.session;
    match session.bound.host_rules.get(host as usize) {
        Some(function) => function
            .bind(session.py)
            .call1((request.for_host()?, request.host_context()?)),
        None => Err(pyo3::exceptions::PyLookupError::new_err(
            "no such host rule",
        )),
    }
}

/// The parts of an answer, each of the type it must have; `None` when one has not.
struct Parts<'py> {
    verdict: Bound<'py, PyAny>,
    reason: Bound<'py, PyAny>,
    matched: Vec<Bound<'py, PyAny>>,
    approvers: Bound<'py, PyTuple>,
    timeout: Bound<'py, PyAny>,
    needed: Bound<'py, PyAny>,
    obligations: Bound<'py, PyTuple>,
}

fn strict<'r, 'py>(
    request: &PyRequest<'r, 'py>,
    answer: &Bound<'py, PyAny>,
    name: &Bound<'py, PyAny>,
) -> PyResult<Answer<'r, 'py>> {
    let (session, py) = (request.session, request.session.py);
    let Some(mut parts) = parts(session, answer)? else {
        // A coroutine that is not awaited would warn about it later.
        if answer.hasattr("close")? && answer.hasattr("cr_frame")? {
            answer.call_method0("close")?;
        }
        return Ok(HostAnswer::Failed(ErrorCode::NotADecision));
    };
    if !contains(&parts.matched, name)? {
        parts.matched.push(name.clone());
    }
    let decision = session.names.decision.bind(py).call1((
        &parts.verdict,
        parts.reason,
        PyTuple::new(py, parts.matched)?,
        parts.approvers,
        py.None(),
        parts.timeout,
        parts.needed,
        parts.obligations,
    ))?;
    if !parts.verdict.is(session
        .names
        .verdict(bobcat_core::program::Verdict::Transform))
    {
        return Ok(HostAnswer::Decided(decision));
    }
    let args = answer.getattr("transform_args")?;
    if !args.is_instance(session.names.mapping.bind(py))? {
        return Ok(HostAnswer::Failed(ErrorCode::CannotTransform));
    }
    match session.names.deep_freeze.bind(py).call1((args,)) {
        Ok(frozen) => Ok(HostAnswer::Transformed(decision, request.with_args(frozen))),
        Err(error) if is_exception(py, &error) => {
            Ok(HostAnswer::Failed(ErrorCode::CannotTransform))
        }
        Err(error) => Err(error),
    }
}

fn parts<'py>(
    session: &Session<'_, 'py>,
    answer: &Bound<'py, PyAny>,
) -> PyResult<Option<Parts<'py>>> {
    let py = session.py;
    if !answer.is_instance(session.names.decision.bind(py))? {
        return Ok(None);
    }
    let verdict = answer.getattr("verdict")?;
    let reason = answer.getattr("reason")?;
    let timeout = answer.getattr("timeout_seconds")?;
    let needed = answer.getattr("approvals_needed")?;
    let (Some(matched), Some(approvers)) = (
        texts(&answer.getattr("matched_rules")?),
        texts(&answer.getattr("approvers")?),
    ) else {
        return Ok(None);
    };
    let Some(obligations) = obligations(session, &answer.getattr("obligations")?)? else {
        return Ok(None);
    };
    let needed_fits = needed.is_exact_instance_of::<PyInt>() && needed.ge(1)?;
    let timeout_fits = timeout.is_none()
        || (timeout.is_instance_of::<PyInt>() && !timeout.is_instance_of::<PyBool>())
        || timeout.is_instance_of::<PyFloat>();
    if !verdict.is_exact_instance(session.names.verdict_type.bind(py))
        || !timeout_fits
        || !needed_fits
    {
        return Ok(None);
    }
    let reason = if reason.is_none() {
        session.names.no_text.bind(py).clone().into_any()
    } else {
        reason
    };
    if !reason.is_instance_of::<PyString>() {
        return Ok(None);
    }
    Ok(Some(Parts {
        verdict,
        reason,
        matched,
        approvers: PyTuple::new(py, approvers)?,
        timeout,
        needed,
        obligations,
    }))
}

/// The obligations in a tuple or list; `None` for anything else.
fn obligations<'py>(
    session: &Session<'_, 'py>,
    items: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    if !items.is_instance_of::<PyTuple>() && !items.is_instance_of::<PyList>() {
        return Ok(None);
    }
    let class = session.names.obligation.bind(session.py);
    let items = items.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    for item in &items {
        if !item.is_exact_instance(class) {
            return Ok(None);
        }
    }
    PyTuple::new(session.py, items).map(Some)
}

/// The strings of a tuple or list; `None` for anything else.
fn texts<'py>(items: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyAny>>> {
    let items: Vec<Bound<'py, PyAny>> = if let Ok(tuple) = items.cast::<PyTuple>() {
        tuple.iter().collect()
    } else {
        items.cast::<PyList>().ok()?.iter().collect()
    };
    items
        .iter()
        .all(|item| item.is_instance_of::<PyString>())
        .then_some(items)
}

fn contains(items: &[Bound<'_, PyAny>], name: &Bound<'_, PyAny>) -> PyResult<bool> {
    for item in items {
        if item.eq(name)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// lynx-agent's conversion: any object with the attributes of a decision is one. Obligations of another class than ours
/// are those of lynx-agent 2.11, which `bobcat.lynx` performs itself.
fn lynx<'r, 'py>(
    session: &'r Session<'r, 'py>,
    answer: &Bound<'py, PyAny>,
    name: &Bound<'py, PyAny>,
) -> PyResult<Answer<'r, 'py>> {
    let py = session.py;
    let mut matched = answer.getattr("matched_rules")?;
    if !matched.contains(name)? {
        let mut names = matched.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        names.push(name.clone());
        matched = PyTuple::new(py, names)?.into_any();
    }
    let verdict = answer.getattr("verdict")?;
    let reason = answer.getattr("reason")?;
    let reason = if reason.is_truthy()? {
        reason
    } else {
        session.names.no_text.bind(py).clone().into_any()
    };
    let decision = session.names.decision.bind(py).call1((
        verdict,
        reason,
        matched,
        answer.getattr("approvers")?,
        answer.getattr("transform_args")?,
        answer.getattr("timeout_seconds")?,
        // An object that only resembles a decision was written for lynx-agent, which has single approvals.
        match answer.getattr_opt("approvals_needed")? {
            Some(needed) => needed,
            None => PyInt::new(py, 1).into_any(),
        },
        match answer.getattr_opt("obligations")? {
            Some(items) => obligations(session, &items)?.unwrap_or_else(|| PyTuple::empty(py)),
            None => PyTuple::empty(py),
        },
    ))?;
    Ok(HostAnswer::Decided(decision))
}
