//! Python requests: `ActionRequest`, or anything with its four attributes.

use std::cell::OnceCell;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyString, PyType};

use bobcat_core::error::ErrorCode;
use bobcat_core::lang::path::Key;
use bobcat_core::lang::path::{Field, Head, Keys};
use bobcat_core::program::OwnedValue;
use bobcat_core::value::memory::Memory;
use bobcat_core::value::request::{HostAnswer, Request, Transform};
use bobcat_core::value::{Step, Value as _};

use crate::attribute::Attribute;
use crate::program::kind_of;
use crate::session::{Session, drop_attached};
use crate::value::{PyValue, is_exactly, is_exception};
use crate::{host, transform, value};

/// `dataclasses.replace`. PERF: imported when the arguments of a rule in Python have been rewritten: 8 ms.
static REPLACE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// One request under decision.
#[derive(Clone)]
pub(crate) struct PyRequest<'r, 'py> {
    pub(crate) session: &'r Session<'r, 'py>,
    pub(crate) object: &'r Bound<'py, PyAny>,
    tool: Bound<'py, PyAny>,
    /// The effective arguments, once they are read. PERF: so are `declared` and `context`, 10 ns each.
    args: OnceCell<Bound<'py, PyAny>>,
    declared: OnceCell<Bound<'py, PyAny>>,
    context: OnceCell<Bound<'py, PyAny>>,
    /// True if `args` are not those of `object` but a transform's.
    rewritten: bool,
}

impl<'r, 'py> PyRequest<'r, 'py> {
    /// # Errors
    /// `TypeError` when `object` has not the attributes of a request.
    #[inline]
    pub(crate) fn new(
        session: &'r Session<'r, 'py>,
        object: &'r Bound<'py, PyAny>,
    ) -> PyResult<Self> {
        let request = Self::with_tool(session, object, Self::tool_of(session, object)?);
        request.read_all()?;
        Ok(request)
    }

    /// Returns the tool, which a request must have first.
    ///
    /// # Errors
    /// `TypeError` when `object` has no such attribute.
    #[inline]
    pub(crate) fn tool_of(
        session: &Session<'_, 'py>,
        object: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        required(object, session.names.field(Field::Tool))
    }

    /// A request of which only the tool is known. PERF: it is never moved.
    #[inline]
    pub(crate) fn with_tool(
        session: &'r Session<'r, 'py>,
        object: &'r Bound<'py, PyAny>,
        tool: Bound<'py, PyAny>,
    ) -> Self {
        Self {
            session,
            object,
            tool,
            args: OnceCell::new(),
            declared: OnceCell::new(),
            context: OnceCell::new(),
            rewritten: false,
        }
    }

    /// Reads every attribute of an object that is not an `ActionRequest` at once: they may be properties, or missing.
    ///
    /// # Errors
    /// `TypeError` when one is missing.
    #[inline]
    pub(crate) fn read_all(&self) -> PyResult<()> {
        if is_exactly(self.object, &self.session.names.action_request) {
            return Ok(());
        }
        self.read_each()
    }

    #[cold]
    fn read_each(&self) -> PyResult<()> {
        let names = self.session.names;
        let read = |attribute| required(self.object, attribute);
        let _ = self.args.set(read(names.field(Field::Args))?);
        let _ = self.declared.set(read(&names.declared)?);
        let _ = self.context.set(read(&names.context)?);
        Ok(())
    }

    /// This request with other arguments.
    pub(crate) fn with_args(&self, args: Bound<'py, PyAny>) -> Self {
        let args = OnceCell::from(args);
        Self {
            args,
            rewritten: true,
            ..self.clone()
        }
    }

    /// The effective arguments; a step when the request has none.
    pub(crate) fn args(&self) -> Result<&Bound<'py, PyAny>, Gap> {
        self.part(&self.args, self.session.names.field(Field::Args))
    }

    /// The effective arguments, as an attribute.
    ///
    /// # Errors
    /// The exception of reading them.
    pub(crate) fn raw_args(&self) -> PyResult<Bound<'py, PyAny>> {
        match self.args.get() {
            Some(args) => Ok(args.clone()),
            None => required(self.object, self.session.names.field(Field::Args)),
        }
    }

    /// The arguments a transform made.
    pub(crate) fn into_args(self) -> Option<Bound<'py, PyAny>> {
        self.args.into_inner()
    }

    /// The request as host rules see it.
    ///
    /// # Errors
    /// It cannot be copied with other arguments.
    pub(crate) fn for_host(&self) -> PyResult<Bound<'py, PyAny>> {
        if !self.rewritten {
            return Ok(self.object.clone());
        }
        let kwargs = PyDict::new(self.session.py);
        kwargs.set_item(&self.session.names.field(Field::Args).name, self.args.get())?;
        REPLACE
            .import(self.session.py, "dataclasses", "replace")?
            .call((self.object,), Some(&kwargs))
    }

    /// The context as host rules see it.
    pub(crate) fn host_context(&self) -> PyResult<Bound<'py, PyAny>> {
        match self.session.context {
            Some(context) => Ok(context.clone()),
            None => required(self.object, &self.session.names.context),
        }
    }

    #[inline]
    fn value(&self, object: Bound<'py, PyAny>) -> PyValue<'r, 'py> {
        PyValue {
            session: self.session,
            object,
        }
    }

    fn declared(&self) -> Result<&Bound<'py, PyAny>, Gap> {
        self.part(&self.declared, &self.session.names.declared)
    }

    /// The context that rules read: the one passed, except in the `lynx` profile.
    fn context(&self) -> Result<&Bound<'py, PyAny>, Gap> {
        match self.session.context {
            Some(context) if !self.session.lynx() => Ok(context),
            _ => self.part(&self.context, &self.session.names.context),
        }
    }

    #[inline]
    fn part<'s>(
        &'s self,
        cell: &'s OnceCell<Bound<'py, PyAny>>,
        attribute: &Attribute,
    ) -> Result<&'s Bound<'py, PyAny>, Gap> {
        if let Some(object) = cell.get() {
            return Ok(object);
        }
        let object = self.attribute(self.object, attribute)?;
        Ok(cell.get_or_init(|| object))
    }

    /// An attribute; absent when the object has no such attribute, unreadable when reading it raises any other error.
    #[inline]
    fn attribute(
        &self,
        object: &Bound<'py, PyAny>,
        attribute: &Attribute,
    ) -> Result<Bound<'py, PyAny>, Gap> {
        match attribute.slot(object) {
            Some(found) => Ok(found),
            None => self.named(object, attribute),
        }
    }

    #[cold]
    fn named(
        &self,
        object: &Bound<'py, PyAny>,
        attribute: &Attribute,
    ) -> Result<Bound<'py, PyAny>, Gap> {
        match object.getattr_opt(attribute.name.bind(object.py())) {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err(Gap::Absent),
            Err(error) => {
                self.session.defer_error(error);
                Err(Gap::Unreadable)
            }
        }
    }

    fn read(&self, field: Field) -> Result<Bound<'py, PyAny>, Gap> {
        let names = self.session.names;
        let name = names.field(field);
        match field.path() {
            (Head::Tool, _) => Ok(self.tool.clone()),
            (Head::Args, _) => self.args().cloned(),
            (Head::Declared, _) => self.attribute(self.declared()?, name),
            (Head::Context, [_, _]) => {
                let principal = self.attribute(self.plain_context()?, &names.principal)?;
                self.plain(&principal, &names.principal_type)?;
                self.attribute(&principal, name)
            }
            (Head::Context, _) => {
                let found = self.attribute(self.plain_context()?, name)?;
                self.unless_missing(field, found)
            }
            // No rule reads them of a request.
            (Head::Run | Head::Result | Head::Record, _) => Err(Gap::Absent),
        }
    }

    /// A context without a task has no such path in the strict profile.
    #[inline]
    fn unless_missing(
        &self,
        field: Field,
        found: Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyAny>, Gap> {
        if field == Field::Task && found.is_none() && !self.session.lynx() {
            Err(Gap::Absent)
        } else {
            Ok(found)
        }
    }

    /// A field of the context that the request itself has.
    #[cold]
    fn read_own(&self, field: Field) -> Result<Bound<'py, PyAny>, Gap> {
        let names = self.session.names;
        let context = self.part(&self.context, &names.context)?;
        match field.path() {
            (_, [_, _]) => {
                let principal = self.attribute(context, &names.principal)?;
                self.attribute(&principal, names.field(field))
            }
            _ => {
                let found = self.attribute(context, names.field(field))?;
                self.unless_missing(field, found)
            }
        }
    }

    fn plain_context(&self) -> Result<&Bound<'py, PyAny>, Gap> {
        let context = self.context()?;
        self.plain(context, &self.session.names.execution_context)?;
        Ok(context)
    }

    /// In the `lynx` profile only objects of our own types are read by attribute alone; [`Self::walk`] reads the others.
    fn plain(&self, object: &Bound<'py, PyAny>, kind: &Py<PyType>) -> Result<(), Gap> {
        if self.session.lynx() && !is_exactly(object, kind) {
            Err(Gap::Unreadable)
        } else {
            Ok(())
        }
    }

    #[cold]
    fn unusual_tool(&self) -> Option<&str> {
        if self.session.lynx() {
            return None;
        }
        let text = self.tool.cast::<PyString>().ok()?;
        text.to_str().map_err(drop_attached).ok()
    }

    /// The value at a path as lynx-agent walks it; `None` for a missing one.
    fn walk(&self, head: Head, keys: Keys<'_>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let names = self.session.names;
        let (mut current, mappings, attributes) = match head {
            Head::Tool => return Ok(Some(self.tool.clone())),
            Head::Args => (self.raw_args()?, true, false),
            Head::Declared => (required(self.object, &names.declared)?, false, true),
            Head::Context => (required(self.object, &names.context)?, true, true),
            Head::Run | Head::Result | Head::Record => return Ok(None),
        };
        for key in keys.iter() {
            if mappings && current.is_instance(names.mapping.bind(self.session.py))? {
                current = current.call_method1("get", (key.text,))?;
            } else if attributes {
                match current.getattr_opt(key.text)? {
                    Some(found) => current = found,
                    None => current = self.session.py.None().into_bound(self.session.py),
                }
            } else {
                return Ok(None);
            }
        }
        Ok(Some(current))
    }
}

impl<'r, 'py> Request for PyRequest<'r, 'py> {
    type Value = PyValue<'r, 'py>;
    type Decision = Bound<'py, PyAny>;

    #[inline]
    fn tool(&self) -> Option<&str> {
        match self.tool.cast_exact::<PyString>() {
            Ok(text) => text.to_str().map_err(drop_attached).ok(),
            Err(_) => self.unusual_tool(),
        }
    }

    fn field(&self, field: Field) -> Step<Self::Value> {
        match self.read(field) {
            Ok(object) => Step::Found(self.value(object)),
            Err(gap) => gap.into(),
        }
    }

    #[inline(always)]
    fn arg(&self, key: Key<'_>, place: &mut Step<Self::Value>) {
        match self.args() {
            Ok(args) => match value::as_dict(self.session, args) {
                Some(dict) if !self.session.lynx() || value::is_plain_dict(self.session, dict) => {
                    value::dict_item(self.session, dict, key, place)
                }
                _ => *place = self.value(args.clone()).get(key),
            },
            Err(gap) => *place = gap.into(),
        }
    }

    #[inline]
    fn flag(&self, field: Field) -> Option<bool> {
        let declared = self.declared().ok()?;
        let found = self.attribute(declared, self.session.names.field(field));
        let flag = found.ok()?.cast_into_exact::<PyBool>().ok()?;
        Some(flag.is_true())
    }

    fn own_field(&self, field: Field) -> Step<Self::Value> {
        let (head, _) = field.path();
        if self.session.context.is_none() || head != Head::Context {
            return self.field(field);
        }
        match self.read_own(field) {
            Ok(object) => Step::Found(self.value(object)),
            Err(gap) => gap.into(),
        }
    }

    fn with_made(&self, args: OwnedValue<Self::Value>) -> Result<Self, ErrorCode> {
        transform::made(self, args)
    }

    fn lookup(&self, head: Head, keys: Keys<'_>) -> Result<Option<Self::Value>, ErrorCode> {
        match self.walk(head, keys) {
            Ok(found) => Ok(found.map(|object| self.value(object))),
            Err(error) => Err(self.session.error_code(error)),
        }
    }

    #[inline]
    fn memory(&self) -> Option<&dyn Memory> {
        let reader = self.session.reader.as_ref()?;
        Some(reader)
    }

    fn host(&self, host: u32, rule: u32) -> HostAnswer<Self> {
        host::ask(self, host, rule)
    }

    fn with_transform(&self, rule: u32, transform: &Transform) -> Result<Self, ErrorCode> {
        transform::apply(self, rule, transform)
    }
}

/// The reason why nothing was found. PERF: passed in a register, where a [`Step`] takes three words of memory.
#[derive(Clone, Copy)]
pub(crate) enum Gap {
    Absent,
    Unreadable,
}

impl<V> From<Gap> for Step<V> {
    fn from(gap: Gap) -> Self {
        match gap {
            Gap::Absent => Self::Absent,
            Gap::Unreadable => Self::Unreadable,
        }
    }
}

/// An attribute a request must have.
#[inline]
fn required<'py>(object: &Bound<'py, PyAny>, attribute: &Attribute) -> PyResult<Bound<'py, PyAny>> {
    match attribute.slot(object) {
        Some(found) => Ok(found),
        None => asked(object, &attribute.name),
    }
}

fn asked<'py>(object: &Bound<'py, PyAny>, name: &Py<PyString>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    object.getattr(name.bind(py)).map_err(|error| {
        if !is_exception(py, &error) {
            return error;
        }
        let kind = kind_of(object);
        let wrong = PyTypeError::new_err(format!(
            "request must be an ActionRequest: `{kind}` has no attribute `{name}`; request_from_json makes one"
        ));
        wrong.set_cause(py, Some(error));
        wrong
    })
}
