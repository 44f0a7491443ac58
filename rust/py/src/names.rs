//! The Python objects this module keeps: interned attribute names, the value types of `bobcat.model`, a few builtins.
//!
//! Made once per interpreter, on first use, so that importing `bobcat._core` imports nothing else.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyFrozenSet, PyInt, PyString, PyType};

use bobcat_core::lang::path::{Field, Head};
use bobcat_core::program::Verdict;

use crate::attribute::Attribute;
use crate::instant::InstantStorage;
use crate::slot_constructor::SlotConstructor;

/// The objects that are looked up once.
pub(crate) struct Names {
    /// `bobcat.model.decision.ActionRequest`
    pub(crate) action_request: Py<PyType>,
    /// `bobcat.model.decision.ExecutionContext`
    pub(crate) execution_context: Py<PyType>,
    /// `bobcat.model.decision.Principal`
    pub(crate) principal_type: Py<PyType>,
    /// `bobcat.model.decision.Decision`
    pub(crate) decision: Py<PyType>,
    /// `bobcat.model.decision.Obligation`
    pub(crate) obligation: Py<PyType>,
    /// Makes decisions, of all eight values. PERF: 690 ns less than the class does.
    pub(crate) decide: SlotConstructor,
    /// `bobcat.model.decision.Verdict`
    pub(crate) verdict_type: Py<PyType>,
    verdicts: [Py<PyAny>; 5],
    /// `bobcat.model.frozen.FrozenDict`
    pub(crate) frozen_dict: Py<PyType>,
    /// `bobcat.model.frozen.FrozenList`
    pub(crate) frozen_list: Py<PyType>,
    /// `bobcat.model.frozen.deep_freeze`
    pub(crate) deep_freeze: Py<PyAny>,
    /// `collections.abc.Mapping`
    pub(crate) mapping: Py<PyAny>,
    /// `types.CoroutineType`
    pub(crate) coroutine: Py<PyType>,
    /// `datetime.datetime`
    pub(crate) datetime: Py<PyType>,
    /// Where a datetime keeps its instant, when it is known.
    pub(crate) instants: Option<InstantStorage>,
    /// `datetime.datetime.__sub__`
    pub(crate) datetime_sub: Py<PyAny>,
    /// `datetime.datetime.utcoffset`
    pub(crate) datetime_utcoffset: Py<PyAny>,
    /// 1970-01-01T00:00:00Z
    pub(crate) epoch: Py<PyAny>,
    /// `int.bit_length`
    pub(crate) bit_length: Py<PyAny>,
    /// `int.to_bytes`
    pub(crate) to_bytes: Py<PyAny>,
    /// `{"signed": True}`
    pub(crate) signed: Py<PyDict>,
    /// `bobcat.runtime.hash_chain.CHAIN`
    pub(crate) chain: Py<PyString>,
    /// `state`
    pub(crate) state: Py<PyString>,
    /// `""`
    pub(crate) no_text: Py<PyString>,
    fields: [Attribute; Field::ALL.len()],
    /// The fields of a decision, in order.
    pub(crate) decision_fields: [Attribute; 8],
    /// `declared`
    pub(crate) declared: Attribute,
    /// `context`
    pub(crate) context: Attribute,
    /// `principal`
    pub(crate) principal: Attribute,
}

/// The fields of a decision, in the order of `bobcat.model.decision.Decision`.
const DECISION: [&str; 8] = [
    "verdict",
    "reason",
    "matched_rules",
    "approvers",
    "transform_args",
    "timeout_seconds",
    "approvals_needed",
    "obligations",
];

static NAMES: PyOnceLock<Names> = PyOnceLock::new();

impl Names {
    /// The one instance.
    ///
    /// # Errors
    /// A module of the package or of the standard library cannot be imported.
    pub(crate) fn get(py: Python<'_>) -> PyResult<&'static Self> {
        NAMES.get_or_try_init(py, || Self::load(py))
    }

    fn load(py: Python<'_>) -> PyResult<Self> {
        let model = py.import("bobcat.model.decision")?;
        let frozen = py.import("bobcat.model.frozen")?;
        let datetime_module = py.import("datetime")?;
        let class = |module: &Bound<'_, PyModule>, name: &str| -> PyResult<Py<PyType>> {
            Ok(module.getattr(name)?.cast_into::<PyType>()?.unbind())
        };
        let action_request = class(&model, "ActionRequest")?;
        let tool_metadata = class(&model, "ToolMetadata")?;
        let execution_context = class(&model, "ExecutionContext")?;
        let frozen_dict = class(&frozen, "FrozenDict")?;
        if !frozen_dict.bind(py).is_subclass_of::<PyDict>()? {
            return Err(PyTypeError::new_err("`FrozenDict` is no dict"));
        }
        let principal_type = class(&model, "Principal")?;
        let attribute = |owner: &Py<PyType>, name| Attribute::find(owner.bind(py), name);
        let field = |field: Field| {
            let (head, keys) = field.path();
            let owner = match (head, keys) {
                (Head::Tool | Head::Args, _) => &action_request,
                (Head::Declared, _) => &tool_metadata,
                (Head::Context, [_, _]) => &principal_type,
                (Head::Context | Head::Run | Head::Result | Head::Record, _) => &execution_context,
            };
            attribute(owner, keys.last().unwrap_or(&head.as_str()))
        };
        let verdict_type = class(&model, "Verdict")?;
        let verdict = |name: &str| -> PyResult<Py<PyAny>> {
            Ok(verdict_type.bind(py).getattr(name)?.unbind())
        };
        let verdicts = [
            verdict("ALLOW")?,
            verdict("DENY")?,
            verdict("DRY_RUN")?,
            verdict("APPROVE_REQUIRED")?,
            verdict("TRANSFORM")?,
        ];
        let datetime = class(&datetime_module, "datetime")?;
        let utc = datetime_module.getattr("UTC")?;
        let epoch = datetime.bind(py).call1((1970, 1, 1, 0, 0, 0, 0, &utc))?;
        let int = py.get_type::<PyInt>();
        let signed = PyDict::new(py);
        signed.set_item("signed", true)?;
        let decision = class(&model, "Decision")?;
        let obligation = class(&model, "Obligation")?;
        let decision_fields = DECISION.map(|name| Attribute::find(decision.bind(py), name));
        let fields = DECISION.map(str::to_owned).to_vec();
        Ok(Self {
            decide: SlotConstructor::new(decision.bind(py), fields),
            decision,
            obligation,
            verdicts,
            verdict_type,
            coroutine: class(&py.import("types")?, "CoroutineType")?,
            frozen_dict,
            frozen_list: class(&frozen, "FrozenList")?,
            deep_freeze: frozen.getattr("deep_freeze")?.unbind(),
            mapping: py.import("collections.abc")?.getattr("Mapping")?.unbind(),
            instants: InstantStorage::find(datetime.bind(py), &utc).unwrap_or_default(),
            datetime_sub: datetime.bind(py).getattr("__sub__")?.unbind(),
            datetime_utcoffset: datetime.bind(py).getattr("utcoffset")?.unbind(),
            epoch: epoch.unbind(),
            datetime,
            bit_length: int.getattr("bit_length")?.unbind(),
            to_bytes: int.getattr("to_bytes")?.unbind(),
            signed: signed.unbind(),
            chain: PyString::intern(py, "chain").unbind(),
            state: PyString::intern(py, "state").unbind(),
            no_text: PyString::intern(py, "").unbind(),
            fields: Field::ALL.map(field),
            decision_fields,
            declared: attribute(&action_request, "declared"),
            context: attribute(&action_request, "context"),
            principal: attribute(&execution_context, "principal"),
            action_request,
            execution_context,
            principal_type,
        })
    }

    /// The member of `bobcat.model.decision.Verdict`.
    pub(crate) fn verdict(&self, verdict: Verdict) -> &Py<PyAny> {
        let [allow, deny, dry_run, approve_required, transform] = &self.verdicts;
        match verdict {
            Verdict::Allow => allow,
            Verdict::Deny => deny,
            Verdict::DryRun => dry_run,
            Verdict::ApproveRequired => approve_required,
            Verdict::Transform => transform,
        }
    }

    /// The attribute that holds `field`.
    #[inline]
    pub(crate) fn field(&self, field: Field) -> &Attribute {
        self.fields.get(field as usize).unwrap_or(&self.declared)
    }
}

/// `frozenset(items)`.
pub(crate) fn frozenset<'py>(
    py: Python<'py>,
    items: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    py.get_type::<PyFrozenSet>().call1((items,))
}
