//! The hashes a journal goes by: the key of an action, and the hash of a record and all before it.
//!
//! `bobcat.journal` defines the hashed bytes, and computes the hashes of values that are not plain.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use sha2::{Digest as _, Sha256};

use crate::canonical::{Inside, Text, ascii, exact_text, hex};
use crate::names::Names;

/// The domain and version of the hash of a run.
const RUN_DOMAIN: &[u8] = b"bobcat/journal/v2\0";

/// A SHA-256.
pub(crate) type Hash = [u8; 32];

/// The SHA-256 of these bytes, one after the other.
///
/// PERF: importing `hashlib` sets up OpenSSL, which takes a tenth of the time of importing what a worker needs.
#[pyfunction]
#[pyo3(signature = (*parts))]
pub(crate) fn sha256<'py>(parts: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyBytes>> {
    let py = parts.py();
    let bytes = parts.iter_borrowed().map(|part| part.cast::<PyBytes>());
    let bytes = bytes.collect::<Result<Vec<_>, _>>()?;
    let bytes: Vec<&[u8]> = bytes.iter().map(|part| part.as_bytes()).collect();
    let hash = py.detach(|| {
        let mut hash = Sha256::new();
        for part in bytes {
            hash.update(part);
        }
        hash.finalize()
    });
    Ok(PyBytes::new(py, &hash))
}

/// The idempotency key of an action whose arguments are plain; None for any other.
#[pyfunction]
pub(crate) fn action_key<'py>(
    run_id: &Bound<'py, PyAny>,
    step: &Bound<'py, PyAny>,
    tool: &Bound<'py, PyAny>,
    args: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyString>>> {
    let mut text = Text::over(Names::get(args.py())?, Vec::with_capacity(256));
    let written = write_action(
        &mut text,
        run_id.as_borrowed(),
        step.as_borrowed(),
        tool.as_borrowed(),
        args.as_borrowed(),
    );
    Ok(written.and_then(|()| key_of(args.py(), &text.out)))
}

/// The hash of a journal record after another whose body is plain; None for any other.
#[pyfunction]
pub(crate) fn chained_hash<'py>(
    previous: &Bound<'py, PyAny>,
    run_id: &Bound<'py, PyAny>,
    seq: &Bound<'py, PyAny>,
    kind: &Bound<'py, PyAny>,
    key: &Bound<'py, PyAny>,
    body: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyString>>> {
    let mut text = Text::over(Names::get(body.py())?, Vec::with_capacity(512));
    let written = (|| {
        let run = exact_text(run_id.as_borrowed())?;
        let head = match exact_text(previous.as_borrowed())? {
            "" => first(run),
            digits => parsed(digits)?,
        };
        text.exact_int(seq.as_borrowed())?;
        let position = std::str::from_utf8(&text.out).ok()?.parse().ok()?;
        text.out.clear();
        before_body(
            &mut text,
            &head,
            position,
            Kind::Name(kind.as_borrowed()),
            key.as_borrowed(),
        )?;
        text.value(body.as_borrowed())
    })();
    Ok(written.and_then(|()| digits(body.py(), hashed(&text.out))))
}

/// Returns the hash that the first record of a run follows.
pub(crate) fn first(run_id: &str) -> Hash {
    let hash = Sha256::new_with_prefix(RUN_DOMAIN).chain_update(run_id);
    hash.finalize().into()
}

/// Writes what the hash of a record is of, up to its body.
pub(crate) fn before_body<'a, 'py>(
    text: &mut Text<'a, 'py>,
    previous: &Hash,
    seq: u64,
    kind: Kind<'a, 'py>,
    key: Inside<'a, 'py>,
) -> Option<()> {
    text.out.extend_from_slice(previous);
    text.out.extend_from_slice(&seq.to_be_bytes());
    match kind {
        Kind::Name(name) => write_framed(text, name)?,
        Kind::Framed(bytes) => text.out.extend_from_slice(bytes),
    }
    write_framed(text, key)
}

/// The kind of a record.
#[derive(Clone, Copy)]
pub(crate) enum Kind<'a, 'py> {
    Name(Inside<'a, 'py>),
    /// As `write_framed` writes it.
    Framed(&'a [u8]),
}

/// Writes an exact string after its length.
pub(crate) fn write_framed<'a, 'py>(text: &mut Text<'a, 'py>, part: Inside<'a, 'py>) -> Option<()> {
    let part = exact_text(part)?.as_bytes();
    let length = u32::try_from(part.len()).ok()?;
    text.out.extend_from_slice(&length.to_be_bytes());
    text.out.extend_from_slice(part);
    Some(())
}

/// Writes what the key of an action is of.
pub(crate) fn write_action<'a, 'py>(
    text: &mut Text<'a, 'py>,
    run_id: Inside<'a, 'py>,
    step: Inside<'a, 'py>,
    tool: Inside<'a, 'py>,
    args: Inside<'a, 'py>,
) -> Option<()> {
    text.exact_text(run_id)?;
    text.out.push(b'|');
    text.exact_int(step)?;
    text.out.push(b'|');
    text.exact_text(tool)?;
    text.out.push(b'|');
    text.value(args)
}

/// The key that `text` is the key of.
pub(crate) fn key_of<'py>(py: Python<'py>, text: &[u8]) -> Option<Bound<'py, PyString>> {
    ascii(py, spelled(hashed(text)).get(..32)?)
}

pub(crate) fn hashed(text: &[u8]) -> Hash {
    Sha256::digest(text).into()
}

/// A hash, in hex digits.
pub(crate) fn digits(py: Python<'_>, hash: Hash) -> Option<Bound<'_, PyString>> {
    ascii(py, &spelled(hash))
}

fn spelled(hash: Hash) -> [u8; 64] {
    let mut text = [0; 64];
    let (pairs, _) = text.as_chunks_mut::<2>();
    for (pair, byte) in pairs.iter_mut().zip(hash) {
        *pair = hex(byte);
    }
    text
}

/// The hash that 64 hex digits are, as `digits` writes them.
pub(crate) fn parsed(digits: &str) -> Option<Hash> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.len() != 32 || !rest.is_empty() {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, &[high, low]) in hash.iter_mut().zip(pairs) {
        *byte = value(high)? << 4 | value(low)?;
    }
    Some(hash)
}

const fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}
