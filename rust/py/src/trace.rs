//! Traces of `explain` as the nested tuples `_core.pyi` describes.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use bobcat_core::program::{
    ClauseTrace, FunctionTrace, ReadFrom, ReadTrace, RuleTrace, TraceNode, TraceOutcome,
};

use crate::session::Session;

/// The traces of all rules.
pub(crate) fn to_python<'py>(
    session: &Session<'_, 'py>,
    rules: &[RuleTrace],
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(session.py);
    for rule in rules {
        let tree = rule
            .tree
            .as_ref()
            .map(|tree| node(session, tree))
            .transpose()?;
        let error = rule.error.as_ref().map(ToString::to_string);
        let done = rule
            .function
            .as_ref()
            .map(|done| function(session, done))
            .transpose()?;
        list.append((rule.rule, rule.outcome.as_str(), error, tree, done))?;
    }
    Ok(list)
}

fn function<'py>(
    session: &Session<'_, 'py>,
    trace: &FunctionTrace,
) -> PyResult<Bound<'py, PyTuple>> {
    let conditions = PyList::empty(session.py);
    for condition in &trace.conditions {
        let reads = PyList::empty(session.py);
        for read in &condition.reads {
            reads.append(read_from(session, read)?)?;
        }
        conditions.append((
            condition.statement,
            condition.outcome.as_str(),
            condition.times,
            reads,
        ))?;
    }
    (trace.at, conditions).into_pyobject(session.py)
}

fn read_from<'py>(session: &Session<'_, 'py>, read: &ReadTrace) -> PyResult<Bound<'py, PyTuple>> {
    match &read.from {
        ReadFrom::Local(slot) => (*slot, (), &read.value).into_pyobject(session.py),
        ReadFrom::Path(head, keys) => {
            let keys = PyTuple::new(session.py, keys.iter().map(AsRef::<str>::as_ref))?;
            (head.as_str(), keys, &read.value).into_pyobject(session.py)
        }
    }
}

fn node<'py>(session: &Session<'_, 'py>, tree: &TraceNode) -> PyResult<Bound<'py, PyTuple>> {
    match tree {
        TraceNode::All(result, children) => connective(session, "all", *result, children),
        TraceNode::Any(result, children) => connective(session, "any", *result, children),
        TraceNode::Not(result, child) => {
            connective(session, "not", *result, std::slice::from_ref(child))
        }
        TraceNode::Leaf(clause) => leaf(session, clause),
    }
}

fn connective<'py>(
    session: &Session<'_, 'py>,
    kind: &str,
    result: TraceOutcome,
    children: &[TraceNode],
) -> PyResult<Bound<'py, PyTuple>> {
    let children = children
        .iter()
        .map(|child| node(session, child))
        .collect::<PyResult<Vec<_>>>()?;
    (kind, result.as_str(), PyTuple::new(session.py, children)?).into_pyobject(session.py)
}

fn leaf<'py>(session: &Session<'_, 'py>, trace: &ClauseTrace) -> PyResult<Bound<'py, PyTuple>> {
    let (mut head, mut path, mut op) = ("", PyTuple::empty(session.py), "");
    if let Some(info) = session.bound.program.clause(trace.clause) {
        head = info.head.as_str();
        path = PyTuple::new(session.py, info.path.iter().map(AsRef::<str>::as_ref))?;
        op = info.op.name;
    }
    let error = trace.error.as_ref().map(ToString::to_string);
    (
        "leaf",
        trace.outcome.as_str(),
        head,
        path,
        op,
        &trace.operand,
        trace.value.as_ref(),
        error,
        trace.index,
        trace.parsed.as_ref(),
    )
        .into_pyobject(session.py)
}
