//! Python's own operators, for the `lynx` profile: the host language evaluates the clauses that the core cannot evaluate
//! exactly.
//!
//! Each operator is the expression lynx-agent evaluates: same operand order, same short circuits, same exceptions.

use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};

use bobcat_core::clause::lynx::LynxOp;
use bobcat_core::clause::operand::Operand;
use bobcat_core::clause::ops::ordering::Relation;
use bobcat_core::program::ClauseInfo;

use crate::constant::to_python;
use crate::names::frozenset;
use crate::value::PyValue;

/// Clause `clause` of the program, evaluated on `value`.
pub(crate) fn evaluate(value: &PyValue<'_, '_>, clause: u32) -> PyResult<bool> {
    let (session, py) = (value.session, value.object.py());
    let info = session
        .bound
        .program
        .clause(clause)
        .ok_or_else(|| PyRuntimeError::new_err("no such clause"))?;
    let operand = session.bound.operand(py, clause, info)?;
    let op = info
        .op
        .lynx
        .ok_or_else(|| PyRuntimeError::new_err("no such operator"))?;
    apply(op, &value.object, operand.bind(py))
}

/// The operand of a clause, as its operator wants it.
pub(crate) fn prepare<'py>(py: Python<'py>, info: &ClauseInfo) -> PyResult<Bound<'py, PyAny>> {
    let operand = match &info.operand {
        Operand::Const(operand) => to_python(py, operand)?,
        // The `lynx` profile has constants only.
        Operand::Ref(..)
        | Operand::Tests(_)
        | Operand::Part(..)
        | Operand::Sources(_)
        | Operand::Places(_) => {
            return Err(PyTypeError::new_err("the operand is no constant"));
        }
    };
    match info.op.lynx {
        Some(LynxOp::Matches) => py.import("re")?.call_method1("compile", (operand,)),
        Some(LynxOp::In) if all_hashable_scalars(&operand)? => frozenset(py, &operand),
        Some(LynxOp::In) => py.get_type::<pyo3::types::PyTuple>().call1((operand,)),
        _ => Ok(operand),
    }
}

fn all_hashable_scalars(operand: &Bound<'_, PyAny>) -> PyResult<bool> {
    for item in operand.try_iter()? {
        let item = item?;
        if !(item.is_instance_of::<PyString>()
            || item.is_instance_of::<PyInt>()
            || item.is_instance_of::<PyFloat>()
            || item.is_instance_of::<PyBool>())
        {
            return Ok(false);
        }
    }
    Ok(true)
}

fn apply(op: LynxOp, value: &Bound<'_, PyAny>, operand: &Bound<'_, PyAny>) -> PyResult<bool> {
    let compare = |op| value.rich_compare(operand, op)?.is_truthy();
    if op == LynxOp::Eq {
        return compare(CompareOp::Eq);
    }
    if op == LynxOp::In {
        return operand.contains(value);
    }
    if value.is_none() {
        return Ok(false);
    }
    match op {
        LynxOp::Matches => Ok(value.is_instance_of::<PyString>()
            && !operand.call_method1("search", (value,))?.is_none()),
        LynxOp::Contains => value.contains(operand),
        LynxOp::ContainsAny => some(value, operand, true),
        LynxOp::ContainsAll => Ok(!some(value, operand, false)?),
        LynxOp::Order(Relation::Gt) => compare(CompareOp::Gt),
        LynxOp::Order(Relation::Ge) => compare(CompareOp::Ge),
        LynxOp::Order(Relation::Lt) => compare(CompareOp::Lt),
        LynxOp::Order(Relation::Le) => compare(CompareOp::Le),
        LynxOp::Between => between(value, operand),
        LynxOp::NotBetween => Ok(!between(value, operand)?),
        LynxOp::Eq | LynxOp::In => Ok(true),
    }
}

/// Returns true if some item of `operand` is (`wanted`) or is not in `value`.
fn some(value: &Bound<'_, PyAny>, operand: &Bound<'_, PyAny>, wanted: bool) -> PyResult<bool> {
    for item in operand.try_iter()? {
        if value.contains(item?)? == wanted {
            return Ok(true);
        }
    }
    Ok(false)
}

fn between(value: &Bound<'_, PyAny>, operand: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (low, high) = (operand.get_item(0)?, operand.get_item(1)?);
    Ok(low.rich_compare(value, CompareOp::Le)?.is_truthy()?
        && value.rich_compare(high, CompareOp::Le)?.is_truthy()?)
}
