//! A program with the Python objects that belong to it: prepared when it is loaded, or when they are first needed.

use pyo3::exceptions::PyLookupError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};

use bobcat_core::program::{
    ClauseInfo, DecisionTemplate, FunctionDecision, Obligation, Profile, Program, RuleInfo,
};
use bobcat_core::value::constant::Const;
use bobcat_core::value::request::{Transform, TransformOp};

use crate::constant;
use crate::decision::RuleError;
use crate::names::Names;
use crate::operators;
use crate::static_object::StaticObject;
use crate::value::is_exception;

/// A program, its keys as interned strings, its host rules, and its static decisions.
pub(crate) struct BoundProgram {
    pub(crate) program: Program,
    pub(crate) names: &'static Names,
    pub(crate) keys: Vec<Py<PyString>>,
    pub(crate) host_rules: Vec<Py<PyAny>>,
    /// Strict, without layers and without host rules: no callable of the policy runs, and Python's operators evaluate nothing.
    pub(crate) declarative: bool,
    ids: Vec<PyOnceLock<Py<PyAny>>>,
    decisions: Vec<StaticObject>,
    errors: Vec<PyOnceLock<Box<RuleError>>>,
    transforms: Vec<PyOnceLock<Box<BoundTransform>>>,
    templates: Vec<StaticObject>,
    operands: Vec<PyOnceLock<Py<PyAny>>>,
    pub(crate) no_match: StaticObject,
    pub(crate) missing_shadow: StaticObject,
    /// The decisions of each layer when no rule of it fires: without and with a missing shadow.
    pub(crate) layer_defaults: Vec<[StaticObject; 2]>,
}

/// A transform with its keys as interned strings.
pub(crate) struct BoundTransform {
    pub(crate) op: TransformOp,
    pub(crate) keys: Box<[Py<PyString>]>,
    /// The operand, frozen.
    pub(crate) value: Py<PyAny>,
}

/// The cell of a rule or a clause.
#[inline]
fn cell<T>(cells: &[T], at: u32) -> PyResult<&T> {
    cells
        .get(at as usize)
        .ok_or_else(|| PyLookupError::new_err("no such part of the policy"))
}

impl BoundProgram {
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
        let objects = |count: usize| {
            std::iter::repeat_with(StaticObject::new)
                .take(count)
                .collect::<Vec<_>>()
        };
        let rules = program.rule_count();
        let clauses = match program.profile() {
            Profile::Strict => 0,
            Profile::Lynx => program.clause_count(),
        };
        let layers = program.layers().map_or(0, |layers| layers.items.len());
        let layers =
            std::iter::repeat_with(|| [StaticObject::new(), StaticObject::new()]).take(layers);
        Ok(Self {
            names: Names::get(py)?,
            keys: program
                .keys()
                .iter()
                .map(|key| PyString::intern(py, key).unbind())
                .collect(),
            declarative: program.profile() == Profile::Strict
                && host_rules.is_empty()
                && program.layers().is_none(),
            host_rules,
            ids: cells(rules),
            decisions: objects(rules),
            errors: std::iter::repeat_with(PyOnceLock::new)
                .take(rules)
                .collect(),
            transforms: std::iter::repeat_with(PyOnceLock::new)
                .take(rules)
                .collect(),
            templates: objects(program.template_count()),
            operands: cells(clauses),
            no_match: StaticObject::new(),
            missing_shadow: StaticObject::new(),
            layer_defaults: layers.collect(),
            program,
        })
    }

    /// Returns the properties of rule `rule`.
    pub(crate) fn rule(&self, rule: u32) -> PyResult<&RuleInfo> {
        self.program
            .rule(rule)
            .ok_or_else(|| PyLookupError::new_err("no such rule"))
    }

    /// The id of rule `rule`.
    pub(crate) fn rule_id<'py>(&self, py: Python<'py>, rule: u32) -> PyResult<Bound<'py, PyAny>> {
        let cell = cell(&self.ids, rule)?;
        let id = cell.get_or_try_init(py, || {
            Ok::<_, PyErr>(match &self.rule(rule)?.id {
                Const::Str(text) => PyString::intern(py, text).into_any().unbind(),
                id => constant::to_python(py, id)?.unbind(),
            })
        })?;
        Ok(id.bind(py).clone())
    }

    /// The first error of rule `rule` that a decision had.
    pub(crate) fn error_cell(&self, rule: u32) -> PyResult<&PyOnceLock<Box<RuleError>>> {
        cell(&self.errors, rule)
    }

    /// The decision of rule `rule` when nothing else contributes to it.
    #[inline]
    pub(crate) fn decision(&self, py: Python<'_>, rule: u32) -> PyResult<&Py<PyAny>> {
        let cell = cell(&self.decisions, rule)?;
        if let Some(made) = cell.get(py) {
            return Ok(made);
        }
        cell.get_or_try_init(py, || {
            let (names, info) = (self.names, self.rule(rule)?);
            let decision = names.decision.bind(py).call1((
                names.verdict(info.verdict),
                constant::to_python(py, &info.reason)?,
                PyTuple::new(py, [self.rule_id(py, rule)?])?,
                constant::tuple(py, &info.approvers)?,
                py.None(),
                constant::to_python(py, &info.timeout_seconds)?,
                info.approvals_needed,
                self.obligations(py, info)?,
            ))?;
            Ok(decision.unbind())
        })
    }

    /// The obligations of a rule, as a tuple.
    pub(crate) fn obligations<'py>(
        &self,
        py: Python<'py>,
        info: &RuleInfo,
    ) -> PyResult<Bound<'py, PyTuple>> {
        self.obligation_tuple(py, &info.obligations)
    }

    fn obligation_tuple<'py>(
        &self,
        py: Python<'py>,
        obligations: &[Obligation],
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (class, freeze) = (
            self.names.obligation.bind(py),
            self.names.deep_freeze.bind(py),
        );
        let made = obligations.iter().map(
            |Obligation {
                 name,
                 before,
                 value,
             }| {
                let value = freeze.call1((constant::to_python(py, value)?,))?;
                let phase = if *before { "before" } else { "after" };
                class.call1((&**name, value, phase))
            },
        );
        PyTuple::new(py, made.collect::<PyResult<Vec<_>>>()?)
    }

    /// Builds the static decisions of all rules. An invalid one is left to the first call,
    /// which reports it.
    pub(crate) fn prepare_decisions(&self, py: Python<'_>) -> PyResult<()> {
        for rule in 0..self.program.rule_count() as u32 {
            if self.program.decides_alike(rule)
                && let Err(error) = self.decision(py, rule)
                && !is_exception(py, &error)
            {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Returns the decision of the function of rule `rule`. A static decision is the same object every time.
    pub(crate) fn function_decision(
        &self,
        py: Python<'_>,
        rule: u32,
        decision: &FunctionDecision,
    ) -> PyResult<Py<PyAny>> {
        match decision {
            FunctionDecision::Made(template) => self.ruled(py, rule, template),
            FunctionDecision::Always(number) => {
                let missing = || PyLookupError::new_err("no such decision");
                let cell = self.templates.get(*number as usize).ok_or_else(missing)?;
                if let Some(made) = cell.get(py) {
                    return Ok(made.clone_ref(py));
                }
                let made = cell.get_or_try_init(py, || {
                    let template = self.program.template(*number).ok_or_else(missing)?;
                    self.ruled(py, rule, template)
                })?;
                Ok(made.clone_ref(py))
            }
        }
    }

    fn ruled(&self, py: Python<'_>, rule: u32, template: &DecisionTemplate) -> PyResult<Py<PyAny>> {
        let id = self.rule_id(py, rule)?;
        let texts = |texts: &[Box<str>]| -> Vec<Bound<'_, PyAny>> {
            let texts = texts.iter().map(|text| PyString::new(py, text).into_any());
            texts.collect()
        };
        let mut matched = texts(&template.matched_rules);
        let mut named = false;
        for name in &matched {
            named |= name.eq(&id)?;
        }
        if !named {
            matched.push(id);
        }
        let none = py.None().into_bound(py);
        let reason = PyString::new(py, &template.reason);
        let (matched, approvers) = (
            PyTuple::new(py, matched)?,
            PyTuple::new(py, texts(&template.approvers))?,
        );
        let timeout = constant::to_python(py, &template.timeout_seconds)?;
        let needed = template.approvals_needed.into_pyobject(py)?;
        let obligations = self.obligation_tuple(py, &template.obligations)?;
        self.names.decide.make(
            py,
            [
                self.names.verdict(template.verdict).bind_borrowed(py),
                reason.as_any().as_borrowed(),
                matched.as_any().as_borrowed(),
                approvers.as_any().as_borrowed(),
                none.as_borrowed(),
                timeout.as_borrowed(),
                needed.as_any().as_borrowed(),
                obligations.as_any().as_borrowed(),
            ],
        )
    }

    /// The transform of rule `rule`, made when it is first applied.
    pub(crate) fn transform(
        &self,
        py: Python<'_>,
        rule: u32,
        transform: &Transform,
    ) -> PyResult<&BoundTransform> {
        let cell = cell(&self.transforms, rule)?;
        let made = cell.get_or_try_init(py, || {
            let plain = constant::to_python(py, &transform.value)?;
            let value = self.names.deep_freeze.bind(py).call1((plain,))?.unbind();
            let keys = transform.path.iter();
            let keys = keys.map(|key| PyString::intern(py, key).unbind());
            Ok::<_, PyErr>(Box::new(BoundTransform {
                op: transform.op,
                keys: keys.collect(),
                value,
            }))
        })?;
        Ok(made)
    }

    /// The operand of clause `clause` for Python's operators.
    pub(crate) fn operand(
        &self,
        py: Python<'_>,
        clause: u32,
        info: &ClauseInfo,
    ) -> PyResult<&Py<PyAny>> {
        let cell = cell(&self.operands, clause)?;
        cell.get_or_try_init(py, || Ok(operators::prepare(py, info)?.unbind()))
    }
}
