//! The shell facet for tests, `bobcat packs` and Python rules.

use bobcat_core::facets::shell;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The commands of a command line as JSON text.
#[pyfunction]
pub(crate) fn parse_shell(text: &str) -> PyResult<String> {
    match shell::parse(text) {
        Ok(script) => Ok(shell::to_json(&script)),
        Err(found) => Err(PyValueError::new_err((found.code, found.at, found.detail))),
    }
}

/// The packs of the shell facet as JSON text.
#[pyfunction]
pub(crate) fn shell_packs() -> String {
    shell::packs_json()
}
