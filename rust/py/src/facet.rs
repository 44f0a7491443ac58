//! Facets for the front end, for rules in Python and for tests.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use bobcat_core::facets::{Facet, Kind, describe, document};
use bobcat_core::num::number::Number;
use bobcat_core::text::{Haystack, Needle};
use bobcat_core::value::{Value as _, View};

/// Parses a text: its parts as JSON and nothing, or nothing and (code, place in code points, detail).
#[pyfunction]
#[expect(clippy::type_complexity, reason = "one of two results")]
pub(crate) fn parse_facet(
    facet: &str,
    text: &Bound<'_, PyAny>,
) -> PyResult<(Option<String>, Option<(String, usize, String)>)> {
    let facet = named(facet)?;
    let Ok(text) = text.cast::<pyo3::types::PyString>()?.to_str() else {
        let detail = "the text holds a lone surrogate".to_owned();
        return Ok((None, Some(("bad_unicode".to_owned(), 0, detail))));
    };
    Ok(match facet.parse(text) {
        Ok(parsed) => (Some(parsed.describe(facet.kind())), None),
        Err(error) => {
            let at = text.get(..error.at).unwrap_or(text).chars().count();
            (None, Some((error.code.to_owned(), at, error.detail)))
        }
    })
}

/// Returns true if a text, or a number given as JSON, occurs in one of some texts.
#[pyfunction]
pub(crate) fn occurs_in(
    text: Option<&str>,
    number: &str,
    texts: Vec<String>,
    lower: bool,
) -> PyResult<bool> {
    let needle = match text {
        Some(text) => Some(Needle::text(text, lower)),
        None => {
            let found =
                document::parse(number).map_err(|error| PyValueError::new_err(error.detail))?;
            match found.view() {
                View::Int(number) => Needle::number(&Number::Int(number)),
                View::BigInt(number) => Needle::number(&Number::Big(number)),
                View::Float(number) => Needle::number(&Number::from_float(number)),
                _ => None,
            }
        }
    };
    let holds = |needle| {
        texts
            .iter()
            .any(|text| Haystack::new(text, lower).holds(&needle))
    };
    Ok(needle.is_some_and(holds))
}

/// The canonical form of an operand for values of a kind; ValueError with the reason for one that they cannot have.
#[pyfunction]
pub(crate) fn facet_operand(kind: &str, within: bool, text: &str) -> PyResult<String> {
    describe::operand(kind_named(kind)?, within, text).map_err(PyValueError::new_err)
}

/// The facets: (name, kind).
#[pyfunction]
pub(crate) fn facets() -> Vec<(&'static str, &'static str)> {
    Facet::ALL
        .into_iter()
        .map(|facet| (facet.name(), facet.kind().name()))
        .collect()
}

/// The parts of a kind: (name, kind).
#[pyfunction]
pub(crate) fn facet_parts(kind: &str) -> PyResult<Vec<(&'static str, &'static str)>> {
    let parts = kind_named(kind)?.parts().iter();
    Ok(parts.map(|(name, kind)| (*name, kind.name())).collect())
}

fn named(name: &str) -> PyResult<Facet> {
    Facet::from_name(name).ok_or_else(|| PyValueError::new_err(format!("no facet `{name}`")))
}

fn kind_named(name: &str) -> PyResult<Kind> {
    Kind::ALL
        .into_iter()
        .find(|kind| kind.name() == name)
        .ok_or_else(|| PyValueError::new_err(format!("no kind `{name}`")))
}
