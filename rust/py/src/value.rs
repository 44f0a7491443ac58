//! Python objects as values: read in place, lazily, one level at a time. Nothing is copied into a tree.
//!
//! In the strict profile containers and scalars are read by their storage, whatever a subclass overrides. In the `lynx`
//! profile only exact builtin types are read here; anything else is opaque, and Python's own operators evaluate it.

use std::cell::RefCell;

use pyo3::exceptions::{PyException, PyKeyError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMappingProxy, PyString, PyTuple, PyType,
};

use bobcat_core::error::ErrorCode;
use bobcat_core::lang::path::Key;
use bobcat_core::limits::MAX_INT_BITS;
use bobcat_core::num::bigint::BigInt;
use bobcat_core::value::{Civil, Step, Value, View};

use crate::proxy;
use crate::session::{Session, drop_attached};

/// True in a build for an interpreter without a lock: what a container holds is counted before it is read, as another
/// thread may take it out.
pub(crate) const FREE_THREADED: bool = cfg!(Py_GIL_DISABLED);

/// One Python object inside a request.
#[derive(Clone)]
pub(crate) struct PyValue<'r, 'py> {
    pub(crate) session: &'r Session<'r, 'py>,
    pub(crate) object: Bound<'py, PyAny>,
}

/// The kind of an object, by its type alone.
enum Kind {
    Null,
    Bool,
    Int,
    Float,
    Str,
    List,
    Tuple,
    Dict,
    /// A mapping that is no dict: read through its own methods.
    Mapping,
    Datetime,
    Opaque,
}

/// An object seen as a mapping.
pub(crate) enum Entries<'py> {
    /// A dict, or the mapping behind a mapping proxy.
    Dict(Bound<'py, PyDict>),
    /// Another mapping, read through its own methods.
    Mapping(Bound<'py, PyAny>),
    /// No mapping.
    None,
}

impl<'r, 'py> PyValue<'r, 'py> {
    fn kind(&self) -> Kind {
        let object = &self.object;
        if object.is_exact_instance_of::<PyString>() {
            Kind::Str
        } else if object.is_none() {
            Kind::Null
        } else if object.is_exact_instance_of::<PyBool>() {
            Kind::Bool
        } else if object.is_exact_instance_of::<PyInt>() {
            Kind::Int
        } else if object.is_exact_instance_of::<PyDict>() {
            Kind::Dict
        } else if object.is_exact_instance_of::<PyList>() {
            Kind::List
        } else if object.is_exact_instance_of::<PyFloat>() {
            Kind::Float
        } else if self.session.lynx() {
            self.lynx_kind()
        } else {
            self.strict_kind()
        }
    }

    #[cold]
    fn lynx_kind(&self) -> Kind {
        let names = self.session.names;
        if is_exactly(&self.object, &names.frozen_dict) {
            Kind::Dict
        } else if is_exactly(&self.object, &names.frozen_list) {
            Kind::List
        } else {
            Kind::Opaque
        }
    }

    #[cold]
    fn strict_kind(&self) -> Kind {
        let object = &self.object;
        if is_exactly(object, &self.session.names.datetime) {
            Kind::Datetime
        } else if object.is_instance_of::<PyTuple>() {
            Kind::Tuple
        } else if object.is_instance_of::<PyDict>() {
            Kind::Dict
        } else if object.is_instance_of::<PyString>() {
            Kind::Str
        } else if object.is_instance_of::<PyInt>() {
            Kind::Int
        } else if object.is_instance_of::<PyFloat>() {
            Kind::Float
        } else if object.is_instance_of::<PyList>() {
            Kind::List
        } else if object.is_exact_instance_of::<PyMappingProxy>() {
            Kind::Mapping
        } else if self.is_datetime() {
            Kind::Datetime
        } else if self.is_mapping() {
            Kind::Mapping
        } else {
            Kind::Opaque
        }
    }

    fn is_datetime(&self) -> bool {
        let datetime = self.session.names.datetime.as_ptr();
        // SAFETY: both are live objects, and the second is a type object; the check runs no Python code.
        unsafe { ffi::PyObject_TypeCheck(self.object.as_ptr(), datetime.cast()) != 0 }
    }

    /// `isinstance(object, collections.abc.Mapping)`.
    pub(crate) fn is_mapping(&self) -> bool {
        match self
            .object
            .is_instance(self.session.names.mapping.bind(self.object.py()))
        {
            Ok(answer) => answer,
            Err(error) => {
                self.session.defer_error(error);
                false
            }
        }
    }

    /// This object as a mapping, in the strict profile.
    pub(crate) fn entries(&self) -> Entries<'py> {
        if let Ok(dict) = self.object.cast::<PyDict>() {
            return Entries::Dict(dict.clone());
        }
        if self.object.is_exact_instance_of::<PyMappingProxy>() {
            return match proxy::target(&self.object).map(Bound::cast_into::<PyDict>) {
                Some(Ok(dict)) => Entries::Dict(dict),
                _ => Entries::Mapping(self.object.clone()),
            };
        }
        match self.kind() {
            Kind::Mapping => Entries::Mapping(self.object.clone()),
            _ => Entries::None,
        }
    }

    fn with(&self, object: Bound<'py, PyAny>) -> Self {
        Self {
            session: self.session,
            object,
        }
    }

    /// Returns the view of an object that is not a plain string with a text.
    fn other_view(&self) -> View<'_> {
        match self.kind() {
            Kind::Str => match self.any_text() {
                Some(text) => View::Str(text),
                None if self.session.lynx() => View::Opaque,
                None => View::BadStr,
            },
            Kind::Null => View::Null,
            Kind::Bool => View::Bool(self.object.is(&*PyBool::new(self.object.py(), true))),
            Kind::Int => self.int(),
            // SAFETY: `object` is a live float or an instance of a subclass, so its storage is read and nothing fails.
            Kind::Float => View::Float(unsafe { ffi::PyFloat_AsDouble(self.object.as_ptr()) }),
            Kind::List | Kind::Tuple => View::List,
            Kind::Dict | Kind::Mapping => View::Map,
            Kind::Datetime => self.micros().map_or(View::Opaque, View::Timestamp),
            Kind::Opaque => View::Opaque,
        }
    }

    /// The text of a string; `None` with a lone surrogate.
    fn any_text(&self) -> Option<&str> {
        let text = self.object.cast::<PyString>().ok()?;
        text.to_str().map_err(drop_attached).ok()
    }

    /// An integer. PERF: most values that are no text are small ones.
    #[inline]
    fn int(&self) -> View<'_> {
        let mut overflow = 0;
        // SAFETY: `object` is a live int or an instance of a subclass, so no conversion method is called and no
        // exception can be set; `overflow` outlives the call.
        let small =
            unsafe { ffi::PyLong_AsLongLongAndOverflow(self.object.as_ptr(), &raw mut overflow) };
        match overflow {
            0 => View::Int(small),
            _ => self.large_int(),
        }
    }

    #[cold]
    fn large_int(&self) -> View<'_> {
        match self.big_int() {
            Ok(Some(big)) => return View::BigInt(big),
            Ok(None) => {}
            Err(error) => self.session.defer_error(error),
        }
        match self.session.lynx() {
            true => View::Opaque,
            false => View::HugeInt,
        }
    }

    fn big_int(&self) -> PyResult<Option<BigInt>> {
        let (py, names) = (self.object.py(), self.session.names);
        let bits: u64 = names
            .bit_length
            .bind(py)
            .call1((&self.object,))?
            .extract()?;
        if bits > MAX_INT_BITS {
            return Ok(None);
        }
        let size = bits / 8 + 1;
        let bytes = names
            .to_bytes
            .bind(py)
            .call((&self.object, size, "big"), Some(names.signed.bind(py)))?
            .cast_into::<PyBytes>()?;
        Ok(Some(BigInt::from_signed_bytes_be(bytes.as_bytes())))
    }

    /// Microseconds since the epoch of an aware datetime; `None` for a naive one, or one whose time zone fails.
    fn micros(&self) -> Option<i64> {
        self.session.instant(&self.object, || {
            self.try_micros().unwrap_or_else(|error| {
                self.session.defer_error(error);
                None
            })
        })
    }

    fn try_micros(&self) -> PyResult<Option<i64>> {
        let (py, names) = (self.object.py(), self.session.names);
        let known = names.instants.as_ref();
        if let Some(micros) = known.and_then(|storage| storage.micros(&self.object)) {
            return Ok(Some(micros));
        }
        if names
            .datetime_utcoffset
            .bind(py)
            .call1((&self.object,))?
            .is_none()
        {
            return Ok(None);
        }
        let delta = names
            .datetime_sub
            .bind(py)
            .call1((&self.object, &names.epoch))?;
        micros_of(&delta).map(Some)
    }

    #[cold]
    fn other_item(&self, key: Key<'_>) -> Step<Self> {
        match self.entries() {
            Entries::Dict(dict) => item(self.session, &dict, key),
            Entries::Mapping(mapping) => match mapping.get_item(key.text) {
                Ok(value) => Step::Found(self.with(value)),
                Err(error) if error.is_instance_of::<PyKeyError>(mapping.py()) => Step::Absent,
                Err(error) => {
                    self.session.defer_error(error);
                    Step::Unreadable
                }
            },
            Entries::None => Step::Unreadable,
        }
    }

    fn each_other(
        &self,
        mapping: &Bound<'py, PyAny>,
        visit: &mut dyn FnMut(Self, Self) -> bool,
    ) -> PyResult<()> {
        for key in mapping.call_method0("keys")?.try_iter()? {
            let key = key?;
            let value = self.with(mapping.get_item(&key)?);
            if !visit(self.with(key), value) {
                break;
            }
        }
        Ok(())
    }

    #[cold]
    fn scalar_item(&self, key: &View<'_>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = self.object.py();
        let key = match key {
            View::Null => py.None().into_bound(py),
            View::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
            View::Int(value) => value.into_pyobject(py)?.into_any(),
            View::Float(value) => value.into_pyobject(py)?.into_any(),
            View::BigInt(value) => py.get_type::<PyInt>().call1((value.to_string(),))?,
            _ => return Ok(None),
        };
        match self.entries() {
            Entries::Dict(dict) => dict.get_item(key),
            Entries::Mapping(mapping) => match mapping.get_item(key) {
                Ok(value) => Ok(Some(value)),
                Err(error) if error.is_instance_of::<PyKeyError>(py) => Ok(None),
                Err(error) => Err(error),
            },
            Entries::None => Ok(None),
        }
    }

    fn try_civil(&self) -> PyResult<Option<Civil>> {
        let (py, names) = (self.object.py(), self.session.names);
        let part = |name: &str| self.object.getattr(name);
        let offset = names.datetime_utcoffset.bind(py).call1((&self.object,))?;
        let offset = match offset.is_none() {
            true => None,
            false => Some(micros_of(&offset)?),
        };
        Ok(Some(Civil {
            year: part("year")?.extract()?,
            month: part("month")?.extract()?,
            day: part("day")?.extract()?,
            hour: part("hour")?.extract()?,
            minute: part("minute")?.extract()?,
            second: part("second")?.extract()?,
            microsecond: part("microsecond")?.extract()?,
            offset,
        }))
    }

    fn key_view(&self) -> View<'_> {
        if self.object.is_instance_of::<PyString>() {
            self.any_text().map_or(View::BadStr, View::Str)
        } else {
            View::Opaque
        }
    }
}

impl Value for PyValue<'_, '_> {
    #[inline]
    fn view(&self) -> View<'_> {
        match self.text() {
            Some(text) => View::Str(text),
            None if self.object.is_exact_instance_of::<PyInt>() => self.int(),
            None => self.other_view(),
        }
    }

    #[inline]
    fn is_null(&self) -> bool {
        self.object.is_none()
    }

    // PERF: asking a plain string for its text checks no type again.
    #[inline]
    fn text(&self) -> Option<&str> {
        let text = self.object.cast_exact::<PyString>().ok()?;
        text.to_str().map_err(drop_attached).ok()
    }

    fn get(&self, key: Key<'_>) -> Step<Self> {
        if self.session.lynx() {
            return match self.kind() {
                Kind::Null => Step::Absent,
                Kind::Dict => match self.object.cast::<PyDict>() {
                    Ok(dict) => item(self.session, dict, key),
                    Err(_) => Step::Unreadable,
                },
                _ => Step::Unreadable,
            };
        }
        match self.object.cast::<PyDict>() {
            Ok(dict) => item(self.session, dict, key),
            Err(_) if self.object.is_none() => Step::Absent,
            Err(_) => self.other_item(key),
        }
    }

    fn len(&self) -> usize {
        self.checked_len().unwrap_or(0)
    }

    fn checked_len(&self) -> Option<usize> {
        if let Ok(list) = self.object.cast::<PyList>() {
            return Some(list.len());
        }
        if let Ok(tuple) = self.object.cast::<PyTuple>() {
            return Some(tuple.len());
        }
        match self.entries() {
            Entries::Dict(dict) => Some(dict.len()),
            Entries::Mapping(mapping) => count_keys(&mapping)
                .map_err(|error| self.session.defer_error(error))
                .ok(),
            Entries::None => Some(0),
        }
    }

    fn item(&self, index: usize) -> Option<Self> {
        let item = if let Ok(list) = self.object.cast::<PyList>() {
            (index < list.len()).then(|| list.get_item(index))
        } else if let Ok(tuple) = self.object.cast::<PyTuple>() {
            (index < tuple.len()).then(|| tuple.get_item(index))
        } else {
            None
        };
        item.and_then(Result::ok).map(|object| self.with(object))
    }

    fn each_pair(&self, visit: &mut dyn FnMut(Self, Self) -> bool) {
        match self.entries() {
            Entries::Dict(dict) => {
                for (key, value) in storage(&dict) {
                    if !visit(self.with(key), self.with(value)) {
                        break;
                    }
                }
            }
            Entries::Mapping(mapping) => {
                if let Err(error) = self.each_other(&mapping, visit) {
                    self.session.defer_error(error);
                }
            }
            Entries::None => {}
        }
    }

    fn get_scalar(&self, key: &View<'_>) -> Step<Self> {
        match self.scalar_item(key) {
            Ok(Some(value)) => Step::Found(self.with(value)),
            Ok(None) => Step::Absent,
            Err(error) => {
                self.session.defer_error(error);
                Step::Unreadable
            }
        }
    }

    fn is_tuple(&self) -> bool {
        self.object.is_instance_of::<PyTuple>()
    }

    fn is_plain_tuple(&self) -> bool {
        self.object.is_exact_instance_of::<PyTuple>()
    }

    fn is_plain_instant(&self) -> bool {
        is_exactly(&self.object, &self.session.names.datetime)
    }

    fn is_dict(&self) -> bool {
        self.object.is_instance_of::<PyDict>()
    }

    fn is_host(&self) -> bool {
        true
    }

    fn civil(&self) -> Option<Civil> {
        if !self.is_datetime() {
            return None;
        }
        self.try_civil().unwrap_or_else(|error| {
            self.session.defer_error(error);
            None
        })
    }

    fn each_entry(&self, visit: &mut dyn FnMut(View<'_>, &Self) -> bool) {
        self.each_pair(&mut |key, value| visit(key.key_view(), &value));
    }

    fn eval_opaque(&self, clause: u32) -> Result<bool, ErrorCode> {
        crate::operators::evaluate(self, clause).map_err(|error| self.session.error_code(error))
    }
}

/// Puts the value of a key of a dict into `place`.
/// PERF: results of PyO3 go through memory, 40 instructions and two store-to-load stalls.
#[inline(always)]
pub(crate) fn dict_item<'r, 'py>(
    session: &'r Session<'r, 'py>,
    dict: &Bound<'py, PyDict>,
    key: Key<'_>,
    place: &mut Step<PyValue<'r, 'py>>,
) {
    let Some(prepared) = session.key(key) else {
        *place = item(session, dict, key);
        return;
    };
    if FREE_THREADED {
        *place = item(session, dict, key);
        return;
    }
    // SAFETY: both are objects, held by others until this returns; nothing runs before the item is counted, as the
    // interpreter has a lock.
    let found = unsafe {
        let found = ffi::PyDict_GetItemWithError(dict.as_ptr(), prepared.as_ptr());
        Bound::from_borrowed_ptr_or_opt(dict.py(), found)
    };
    match found {
        Some(object) => *place = Step::Found(PyValue { session, object }),
        None if PyErr::occurred(dict.py()) => {
            session.defer_error(PyErr::fetch(dict.py()));
            *place = Step::Unreadable;
        }
        None => *place = Step::Absent,
    }
}

/// The value of a key of a dict, whether or not rules name it.
fn item<'r, 'py>(
    session: &'r Session<'r, 'py>,
    dict: &Bound<'py, PyDict>,
    key: Key<'_>,
) -> Step<PyValue<'r, 'py>> {
    let found = match session.key(key) {
        Some(prepared) => dict.get_item(prepared),
        None => dict.get_item(key.text),
    };
    match found {
        Ok(Some(object)) => Step::Found(PyValue { session, object }),
        Ok(None) => Step::Absent,
        Err(error) => {
            session.defer_error(error);
            Step::Unreadable
        }
    }
}

/// An object as a dict, when it is one or a subclass. PERF: arguments are plain dicts or our frozen ones.
#[inline]
pub(crate) fn as_dict<'a, 'py>(
    session: &Session<'_, 'py>,
    object: &'a Bound<'py, PyAny>,
) -> Option<&'a Bound<'py, PyDict>> {
    if is_exactly(object, &session.names.frozen_dict) {
        // SAFETY: `FrozenDict` is a subclass of `dict`: [`Names`] checks it when it is found.
        return Some(unsafe { object.cast_unchecked::<PyDict>() });
    }
    object.cast::<PyDict>().ok()
}

/// Returns true if a dict has the type of one, or of our frozen ones: no method of a subclass reads it.
#[inline]
pub(crate) fn is_plain_dict(session: &Session<'_, '_>, dict: &Bound<'_, PyDict>) -> bool {
    dict.is_exact_instance_of::<PyDict>() || is_exactly(dict, &session.names.frozen_dict)
}

/// Returns true if the type of `object` is `kind`, not a subclass. PERF: compares pointers and counts no references.
#[inline]
pub(crate) fn is_exactly(object: &Bound<'_, PyAny>, kind: &Py<PyType>) -> bool {
    object.get_type_ptr().cast() == kind.as_ptr()
}

/// Returns true if `error` is an `Exception`: other errors that Python raises (an interrupt, an exit) are never caught
/// here.
pub(crate) fn is_exception(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyException>(py)
}

/// A `timedelta` in microseconds.
fn micros_of(delta: &Bound<'_, PyAny>) -> PyResult<i64> {
    let py = delta.py();
    let days: i64 = delta.getattr(intern!(py, "days"))?.extract()?;
    let seconds: i64 = delta.getattr(intern!(py, "seconds"))?.extract()?;
    let micros: i64 = delta.getattr(intern!(py, "microseconds"))?.extract()?;
    Ok((days * 86_400 + seconds) * 1_000_000 + micros)
}

/// The number of keys of a mapping that is no dict.
fn count_keys(mapping: &Bound<'_, PyAny>) -> PyResult<usize> {
    let mut count = 0;
    for key in mapping.call_method0("keys")?.try_iter()? {
        key?;
        count += 1;
    }
    Ok(count)
}

/// The entries of a dict, by its storage: `PyDict_Copy` asks a subclass for its `keys`. A snapshot, because the work
/// with the entries may run Python code that changes the dict, and without the interpreter's lock another thread may.
pub(crate) fn storage<'py>(
    dict: &Bound<'py, PyDict>,
) -> Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    if !FREE_THREADED {
        return dict.iter().collect();
    }
    let entries = RefCell::new(Vec::with_capacity(dict.len()));
    // The closure returns no error, and nothing else can fail.
    let _ = dict.locked_for_each(|key, value| {
        entries.borrow_mut().push((key, value));
        Ok(())
    });
    entries.into_inner()
}
