//! Traces of `explain` as the nested tuples `_core.pyi` describes.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use bobcat_core::program::{
    ClauseTrace, FunctionTrace, ReadFrom, ReadTrace, RuleTrace, TraceNode, TraceOutcome,
};

use crate::call::Call;

/// The traces of all rules.
pub(crate) fn to_python<'py>(
    call: &Call<'_, 'py>,
    rules: &[RuleTrace],
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(call.py);
    for rule in rules {
        let tree = rule
            .tree
            .as_ref()
            .map(|tree| node(call, tree))
            .transpose()?;
        let error = rule.error.as_ref().map(ToString::to_string);
        let done = rule
            .function
            .as_ref()
            .map(|done| function(call, done))
            .transpose()?;
        list.append((rule.rule, outcome(rule.outcome), error, tree, done))?;
    }
    Ok(list)
}

fn function<'py>(call: &Call<'_, 'py>, trace: &FunctionTrace) -> PyResult<Bound<'py, PyTuple>> {
    let conditions = PyList::empty(call.py);
    for condition in &trace.conditions {
        let reads = PyList::empty(call.py);
        for read in &condition.reads {
            reads.append(read_from(call, read)?)?;
        }
        conditions.append((
            condition.statement,
            outcome(condition.outcome),
            condition.times,
            reads,
        ))?;
    }
    (trace.at, conditions).into_pyobject(call.py)
}

fn read_from<'py>(call: &Call<'_, 'py>, read: &ReadTrace) -> PyResult<Bound<'py, PyTuple>> {
    match &read.from {
        ReadFrom::Local(slot) => (*slot, (), &read.value).into_pyobject(call.py),
        ReadFrom::Path(head, keys) => {
            let keys = PyTuple::new(call.py, keys.iter().map(AsRef::<str>::as_ref))?;
            (head.as_str(), keys, &read.value).into_pyobject(call.py)
        }
    }
}

fn node<'py>(call: &Call<'_, 'py>, tree: &TraceNode) -> PyResult<Bound<'py, PyTuple>> {
    match tree {
        TraceNode::All(result, children) => connective(call, "all", *result, children),
        TraceNode::Any(result, children) => connective(call, "any", *result, children),
        TraceNode::Not(result, child) => {
            connective(call, "not", *result, std::slice::from_ref(child))
        }
        TraceNode::Leaf(clause) => leaf(call, clause),
    }
}

fn connective<'py>(
    call: &Call<'_, 'py>,
    kind: &str,
    result: TraceOutcome,
    children: &[TraceNode],
) -> PyResult<Bound<'py, PyTuple>> {
    let children = children
        .iter()
        .map(|child| node(call, child))
        .collect::<PyResult<Vec<_>>>()?;
    (kind, outcome(result), PyTuple::new(call.py, children)?).into_pyobject(call.py)
}

fn leaf<'py>(call: &Call<'_, 'py>, trace: &ClauseTrace) -> PyResult<Bound<'py, PyTuple>> {
    let (mut head, mut path, mut op) = ("", PyTuple::empty(call.py), "");
    if let Some(info) = call.loaded.program.clause(trace.clause) {
        head = info.head.as_str();
        path = PyTuple::new(call.py, info.path.iter().map(AsRef::<str>::as_ref))?;
        op = info.op.as_str();
    }
    let error = trace.error.as_ref().map(ToString::to_string);
    (
        "leaf",
        outcome(trace.outcome),
        head,
        path,
        op,
        &trace.operand,
        trace.value.as_ref(),
        error,
        trace.index,
    )
        .into_pyobject(call.py)
}

fn outcome(outcome: TraceOutcome) -> &'static str {
    match outcome {
        TraceOutcome::True => "true",
        TraceOutcome::False => "false",
        TraceOutcome::Absent => "absent",
        TraceOutcome::Error => "error",
        TraceOutcome::NotReached => "not_reached",
    }
}
