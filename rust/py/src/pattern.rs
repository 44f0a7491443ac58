//! The pattern gate and single patterns, for the front end and for tests.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use bobcat_core::regex::{Dialect, Pattern as CorePattern, PatternError};

/// Returns the reason why the dialect rejects `pattern`: (code, start, end, message), offsets in code points; empty when it
/// is accepted.
#[pyfunction]
pub(crate) fn check_pattern(
    pattern: &Bound<'_, PyAny>,
    dialect: &str,
) -> PyResult<Vec<(String, usize, usize, String)>> {
    let Ok(text) = pattern.cast::<pyo3::types::PyString>()?.to_str() else {
        let length = pattern.len()?;
        return Ok(vec![(
            "bad_unicode".into(),
            0,
            length,
            "the pattern holds a lone surrogate".into(),
        )]);
    };
    Ok(match CorePattern::parse(text, dialect_named(dialect)?) {
        Ok(_) => Vec::new(),
        Err(error) => vec![(
            error.code.to_string(),
            error.start,
            error.end,
            error.message.to_string(),
        )],
    })
}

/// The size of a pattern with its repetitions written out; ValueError for one that the dialect rejects.
#[pyfunction]
pub(crate) fn pattern_cost(pattern: &str, dialect: &str) -> PyResult<usize> {
    CorePattern::check(pattern, dialect_named(dialect)?).map_err(rejected)
}

/// One compiled pattern as `matches` uses it, for tests and tools.
#[pyclass(frozen, module = "bobcat._core")]
pub(crate) struct Pattern(CorePattern);

#[pymethods]
impl Pattern {
    #[new]
    fn new(pattern: &str, dialect: &str) -> PyResult<Self> {
        CorePattern::parse(pattern, dialect_named(dialect)?)
            .map(Self)
            .map_err(rejected)
    }

    /// Returns true if the pattern matches somewhere in `text`.
    fn search(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

fn rejected(error: PatternError) -> PyErr {
    PyValueError::new_err(format!("{}: {}", error.code, error.message))
}

fn dialect_named(name: &str) -> PyResult<Dialect> {
    match name {
        "re2" => Ok(Dialect::Re2),
        "python" => Ok(Dialect::Python),
        _ => Err(PyValueError::new_err(format!(
            "unknown dialect `{name}`: `re2` or `python`"
        ))),
    }
}
