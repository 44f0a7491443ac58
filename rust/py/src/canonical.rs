//! Canonical JSON of plain Python values: one call where Python needs many.
//!
//! The text is, byte for byte, that of `bobcat.text.json_text` in both its modes. A value is plain when it is made of exact
//! `None`, `bool`, `int`, finite `float`, `str` without a lone surrogate, `list`, `tuple`, and `dict` with such strings as
//! keys, of their frozen forms and of mapping proxies of dicts. For any other value the caller has Python code.
//! No Python code runs in here, so the value cannot change meanwhile where the interpreter has a lock.

use std::ffi::CStr;
use std::ptr;

use pyo3::Borrowed;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMappingProxy, PyString, PyTuple};

use crate::freeze::copied;
use crate::names::Names;
use crate::proxy;
use crate::value::{FREE_THREADED, is_exactly};

/// Containers nested deeper than this are left to Python, which truncates at `bobcat.text.json_text.MAX_DEPTH`.
const MAX_DEPTH: usize = 64;

/// The canonical JSON of a plain value; None for any other.
#[pyfunction]
pub(crate) fn canonical_text<'py>(
    value: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyString>>> {
    let mut text = Text::over(Names::get(value.py())?, Vec::with_capacity(256));
    Ok(text
        .value(value.as_borrowed())
        .and_then(|()| ascii(value.py(), &text.out)))
}

/// An ASCII text.
pub(crate) fn ascii<'py>(py: Python<'py>, text: &[u8]) -> Option<Bound<'py, PyString>> {
    Some(PyString::new(py, std::str::from_utf8(text).ok()?))
}

/// A value inside the one that a text is made of. `'a` is the life of that one: it is kept alive by the caller and not
/// changed meanwhile, so its content lives as long. Without the interpreter's lock it can be changed, and the text keeps
/// the content.
pub(crate) type Inside<'a, 'py> = Borrowed<'a, 'py, PyAny>;

/// A text under construction. Its methods return `None` for values that are not plain; the text is incomplete then.
pub(crate) struct Text<'a, 'py> {
    /// The bytes written so far.
    pub(crate) out: Vec<u8>,
    names: &'static Names,
    /// The entries of the dicts being written, the innermost last.
    entries: Vec<(&'a str, Inside<'a, 'py>)>,
    /// What the containers held when they were read; empty where the interpreter has a lock.
    kept: Vec<Bound<'py, PyAny>>,
}

impl<'a, 'py> Text<'a, 'py> {
    /// A text that is appended to `buffer`.
    pub(crate) fn over(names: &'static Names, buffer: Vec<u8>) -> Self {
        Self {
            out: buffer,
            names,
            entries: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// The characters of an exact string.
    pub(crate) fn exact_text(&mut self, object: Inside<'a, 'py>) -> Option<()> {
        self.out.extend_from_slice(exact_text(object)?.as_bytes());
        Some(())
    }

    /// The canonical JSON of a plain value.
    pub(crate) fn value(&mut self, object: Inside<'a, 'py>) -> Option<()> {
        self.part(object, 0)
    }

    /// The canonical JSON of a value that is in `depth` containers.
    pub(crate) fn part(&mut self, object: Inside<'a, 'py>, depth: usize) -> Option<()> {
        if object.is_exact_instance_of::<PyString>() {
            return self.string(exact_text(object)?);
        }
        if object.is_none() {
            self.out.extend_from_slice(b"null");
            return Some(());
        }
        if object.is_exact_instance_of::<PyBool>() {
            let truth: &[u8] = if object.is(&*PyBool::new(object.py(), true)) {
                b"true"
            } else {
                b"false"
            };
            self.out.extend_from_slice(truth);
            return Some(());
        }
        if object.is_exact_instance_of::<PyInt>() {
            return self.exact_int(object);
        }
        if object.is_exact_instance_of::<PyFloat>() {
            return self.float(object);
        }
        if depth >= MAX_DEPTH {
            return None;
        }
        self.container(object, depth + 1)
    }

    /// A value that stays for as long as the text is made.
    fn keep(&mut self, object: Bound<'py, PyAny>) -> Inside<'a, 'py> {
        let (py, place) = (object.py(), object.as_ptr());
        self.kept.push(object);
        // SAFETY: the reference was just kept, until this text is dropped; nothing that is borrowed from it outlives that.
        unsafe { Borrowed::from_ptr(py, place) }
    }

    /// A copy of a container that no other thread can change.
    fn own_container(&mut self, object: Inside<'a, 'py>) -> Option<Inside<'a, 'py>> {
        let copy = if let Ok(list) = object.cast::<PyList>() {
            list.to_tuple().into_any()
        } else {
            copied(&object).ok()??.into_any()
        };
        Some(self.keep(copy))
    }

    fn container(&mut self, object: Inside<'a, 'py>, depth: usize) -> Option<()> {
        if FREE_THREADED {
            let is_list = object.is_exact_instance_of::<PyList>()
                || is_exactly(&object, &self.names.frozen_list);
            if is_list || self.is_dict(&object) {
                let own = self.own_container(object)?;
                return match is_list {
                    true => self.tuple(own, depth),
                    false => self.dict(own, depth),
                };
            }
        }
        if self.is_dict(&object) {
            return self.dict(object, depth);
        }
        if object.is_exact_instance_of::<PyList>() || is_exactly(&object, &self.names.frozen_list) {
            let list = object.cast::<PyList>().ok()?;
            // SAFETY: a borrowed item of a list that lives and does not change; see `Inside`.
            return self.items(list.len(), depth, |index| unsafe {
                let item = ffi::PyList_GetItem(object.as_ptr(), index);
                Borrowed::from_ptr_or_opt(object.py(), item)
            });
        }
        if object.is_exact_instance_of::<PyTuple>() {
            return self.tuple(object, depth);
        }
        if object.is_exact_instance_of::<PyMappingProxy>() {
            let target = proxy::target(&object)?;
            if self.is_dict(&target) {
                // SAFETY: the proxy keeps its dict, and lives itself; see `Inside`.
                let target = unsafe { Borrowed::from_ptr(object.py(), target.as_ptr()) };
                return self.container(target, depth);
            }
        }
        None
    }

    fn is_dict(&self, object: &Bound<'_, PyAny>) -> bool {
        object.is_exact_instance_of::<PyDict>() || is_exactly(object, &self.names.frozen_dict)
    }

    fn tuple(&mut self, object: Inside<'a, 'py>, depth: usize) -> Option<()> {
        let tuple = object.cast::<PyTuple>().ok()?;
        // SAFETY: a borrowed item of a tuple that lives; see `Inside`.
        self.items(tuple.len(), depth, |index| unsafe {
            let item = ffi::PyTuple_GetItem(object.as_ptr(), index);
            Borrowed::from_ptr_or_opt(object.py(), item)
        })
    }

    fn items(
        &mut self,
        count: usize,
        depth: usize,
        item: impl Fn(ffi::Py_ssize_t) -> Option<Inside<'a, 'py>>,
    ) -> Option<()> {
        self.out.push(b'[');
        for index in 0..count {
            if index > 0 {
                self.out.push(b',');
            }
            self.part(item(index.cast_signed())?, depth)?;
        }
        self.out.push(b']');
        Some(())
    }

    fn dict(&mut self, dict: Inside<'a, 'py>, depth: usize) -> Option<()> {
        let first = self.entries.len();
        let (mut position, mut key, mut value) = (0, ptr::null_mut(), ptr::null_mut());
        // SAFETY: `dict` is a dict that lives and does not change (see `Inside`), so the borrowed keys and values live too;
        // they are read only where there was an entry. The three locals outlive the call.
        while unsafe {
            ffi::PyDict_Next(
                dict.as_ptr(),
                &raw mut position,
                &raw mut key,
                &raw mut value,
            )
        } != 0
        {
            // SAFETY: as above.
            let (key, value) = unsafe {
                (
                    Borrowed::from_ptr(dict.py(), key),
                    Borrowed::from_ptr(dict.py(), value),
                )
            };
            self.entries.push((exact_text(key)?, value));
        }
        // The order of UTF-8 bytes is the order of code points, which is Python's.
        self.entries
            .get_mut(first..)?
            .sort_unstable_by_key(|&(key, _)| key);
        self.out.push(b'{');
        for index in first..self.entries.len() {
            if index > first {
                self.out.push(b',');
            }
            let &(key, value) = self.entries.get(index)?;
            self.string(key)?;
            self.out.push(b':');
            self.part(value, depth)?;
        }
        self.entries.truncate(first);
        self.out.push(b'}');
        Some(())
    }

    /// The digits of an exact int.
    pub(crate) fn exact_int(&mut self, object: Inside<'a, 'py>) -> Option<()> {
        if !object.is_exact_instance_of::<PyInt>() {
            return None;
        }
        let mut overflow = 0;
        // SAFETY: `object` is a live int, so no conversion method is called and no exception can be set; `overflow`
        // outlives the call.
        let small =
            unsafe { ffi::PyLong_AsLongLongAndOverflow(object.as_ptr(), &raw mut overflow) };
        if overflow != 0 {
            let digits = object.str().ok()?; // an error where there are more digits than the interpreter converts
            self.out.extend_from_slice(digits.to_str().ok()?.as_bytes());
            return Some(());
        }
        let mut digits = [0_u8; 20];
        let mut place = digits.len();
        let mut left = small.unsigned_abs();
        loop {
            place = place.checked_sub(1)?;
            *digits.get_mut(place)? = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        if small < 0 {
            self.out.push(b'-');
        }
        self.out.extend_from_slice(digits.get(place..)?);
        Some(())
    }

    /// The digits are Python's own: it chooses their number and the exponent.
    fn float(&mut self, object: Inside<'a, 'py>) -> Option<()> {
        // SAFETY: `object` is a live float, so its storage is read and nothing fails. The text is null-terminated and ours;
        // it is copied and freed once.
        unsafe {
            let number = ffi::PyFloat_AsDouble(object.as_ptr());
            if !number.is_finite() {
                return None;
            }
            let (format, flags) = (b'r' as std::ffi::c_char, ffi::Py_DTSF_ADD_DOT_0);
            let text = ffi::PyOS_double_to_string(number, format, 0, flags, ptr::null_mut());
            if text.is_null() {
                ffi::PyErr_Clear();
                return None;
            }
            self.out.extend_from_slice(CStr::from_ptr(text).to_bytes());
            ffi::PyMem_Free(text.cast());
        }
        Some(())
    }

    /// A string of JSON.
    pub(crate) fn string(&mut self, text: &str) -> Option<()> {
        self.out.push(b'"');
        if is_written_as_it_is(text.as_bytes()) {
            self.out.extend_from_slice(text.as_bytes());
        } else {
            for character in text.chars() {
                self.escaped(character);
            }
        }
        self.out.push(b'"');
        Some(())
    }

    fn escaped(&mut self, character: char) {
        let short = match character {
            '"' | '\\' => character as u8,
            '\n' => b'n',
            '\r' => b'r',
            '\t' => b't',
            '\x08' => b'b',
            '\x0c' => b'f',
            ' '..='~' => return self.out.push(character as u8),
            _ => {
                for &mut unit in character.encode_utf16(&mut [0; 2]) {
                    self.out.extend_from_slice(b"\\u");
                    for byte in unit.to_be_bytes() {
                        self.out.extend_from_slice(&hex(byte));
                    }
                }
                return;
            }
        };
        self.out.extend_from_slice(&[b'\\', short]);
    }
}

/// Returns true if no byte has to be escaped. PERF: a block is checked as a whole, in vectors: 0.84 ns per byte -> 0.05 ns.
fn is_written_as_it_is(text: &[u8]) -> bool {
    const fn plain(byte: u8) -> bool {
        matches!(byte, b' '..=b'~') & (byte != b'"') & (byte != b'\\')
    }
    let (blocks, rest) = text.as_chunks::<32>();
    blocks.iter().all(|block| {
        block
            .iter()
            .fold(true, |so_far, &byte| so_far & plain(byte))
    }) && rest.iter().all(|&byte| plain(byte))
}

/// The text of an exact string; `None` with a lone surrogate, and for anything else.
pub(crate) fn exact_text<'a>(object: Inside<'a, '_>) -> Option<&'a str> {
    if !object.is_exact_instance_of::<PyString>() {
        return None;
    }
    let mut length = 0;
    // SAFETY: `object` is a live string; its UTF-8 form is kept by it, for as long as it lives, and is valid UTF-8.
    unsafe {
        let text = ffi::PyUnicode_AsUTF8AndSize(object.as_ptr(), &raw mut length);
        if text.is_null() {
            ffi::PyErr_Clear();
            return None;
        }
        let bytes = std::slice::from_raw_parts(text.cast(), length.cast_unsigned());
        Some(std::str::from_utf8_unchecked(bytes))
    }
}

/// The two digits of a byte.
pub(crate) const fn hex(byte: u8) -> [u8; 2] {
    const fn digit(value: u8) -> u8 {
        if value < 10 {
            b'0' + value
        } else {
            b'a' + value - 10
        }
    }
    [digit(byte >> 4), digit(byte & 15)]
}
