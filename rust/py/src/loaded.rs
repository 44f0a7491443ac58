//! A program with the Python objects that belong to it: prepared when it is loaded, or when they are first needed.

use pyo3::exceptions::PyLookupError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};

use bobcat_core::program::{ClauseInfo, Profile, Program, RuleInfo};
use bobcat_core::value::constant::Const;

use crate::constant;
use crate::names::Names;
use crate::operators;

/// A program, its keys as interned strings, its host rules, and everything static it can answer with.
pub(crate) struct Loaded {
    pub(crate) program: Program,
    pub(crate) names: &'static Names,
    pub(crate) keys: Vec<Py<PyString>>,
    pub(crate) host_rules: Vec<Py<PyAny>>,
    ids: Vec<PyOnceLock<Py<PyAny>>>,
    decisions: Vec<PyOnceLock<Py<PyAny>>>,
    transform_values: Vec<PyOnceLock<Py<PyAny>>>,
    operands: Vec<PyOnceLock<Py<PyAny>>>,
    pub(crate) no_match: PyOnceLock<Py<PyAny>>,
    pub(crate) missing_shadow: PyOnceLock<Py<PyAny>>,
}

impl Loaded {
    pub(crate) fn new(
        py: Python<'_>,
        program: Program,
        host_rules: Vec<Py<PyAny>>,
    ) -> PyResult<Self> {
        let cells = |count: usize| {
            std::iter::repeat_with(PyOnceLock::new)
                .take(count)
                .collect::<Vec<_>>()
        };
        let rules = program.rule_count();
        let clauses = match program.profile() {
            Profile::Strict => 0,
            Profile::Lynx => program.clause_count(),
        };
        Ok(Self {
            names: Names::get(py)?,
            keys: program
                .keys()
                .iter()
                .map(|key| PyString::intern(py, key).unbind())
                .collect(),
            host_rules,
            ids: cells(rules),
            decisions: cells(rules),
            transform_values: cells(rules),
            operands: cells(clauses),
            no_match: PyOnceLock::new(),
            missing_shadow: PyOnceLock::new(),
            program,
        })
    }

    /// What the policy says about rule `rule`.
    pub(crate) fn rule(&self, rule: u32) -> PyResult<&RuleInfo> {
        self.program
            .rule(rule)
            .ok_or_else(|| PyLookupError::new_err("no such rule"))
    }

    /// The id of rule `rule`.
    pub(crate) fn rule_id<'py>(&self, py: Python<'py>, rule: u32) -> PyResult<Bound<'py, PyAny>> {
        let cell = self
            .ids
            .get(rule as usize)
            .ok_or_else(|| PyLookupError::new_err("no such rule"))?;
        let id = cell.get_or_try_init(py, || {
            Ok::<_, PyErr>(constant::to_python(py, &self.rule(rule)?.id)?.unbind())
        })?;
        Ok(id.bind(py).clone())
    }

    /// The decision of rule `rule` when nothing else has a say in it.
    pub(crate) fn decision(&self, py: Python<'_>, rule: u32) -> PyResult<&Py<PyAny>> {
        let cell = self
            .decisions
            .get(rule as usize)
            .ok_or_else(|| PyLookupError::new_err("no such rule"))?;
        cell.get_or_try_init(py, || {
            let (names, info) = (self.names, self.rule(rule)?);
            let decision = names.decision.bind(py).call1((
                names.verdict(info.verdict),
                constant::to_python(py, &info.reason)?,
                PyTuple::new(py, [self.rule_id(py, rule)?])?,
                constant::tuple(py, &info.approvers)?,
                py.None(),
                constant::to_python(py, &info.timeout_seconds)?,
            ))?;
            Ok(decision.unbind())
        })
    }

    /// The operand of the transform of rule `rule`, frozen.
    pub(crate) fn transform_value(
        &self,
        py: Python<'_>,
        rule: u32,
        value: &Const,
    ) -> PyResult<&Py<PyAny>> {
        let cell = self
            .transform_values
            .get(rule as usize)
            .ok_or_else(|| PyLookupError::new_err("no such rule"))?;
        cell.get_or_try_init(py, || {
            let plain = constant::to_python(py, value)?;
            Ok(self.names.deep_freeze.bind(py).call1((plain,))?.unbind())
        })
    }

    /// The operand of clause `clause`, as Python's operators want it.
    pub(crate) fn operand(
        &self,
        py: Python<'_>,
        clause: u32,
        info: &ClauseInfo,
    ) -> PyResult<&Py<PyAny>> {
        let cell = self
            .operands
            .get(clause as usize)
            .ok_or_else(|| PyLookupError::new_err("no such clause"))?;
        cell.get_or_try_init(py, || Ok(operators::prepare(py, info)?.unbind()))
    }
}
