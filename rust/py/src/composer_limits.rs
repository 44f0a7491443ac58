//! Size of a YAML source, measured while libyaml's composer builds its nodes: the hooks of PyYAML's loaders.
//!
//! PERF: the composer calls three hooks for every value; as methods of Python they took 70 ms of 340 for 210,000 values.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Counts the values of one source and the levels they are nested in; calls `past` for too many.
#[pyclass(module = "bobcat._core")]
pub(crate) struct ComposerLimits {
    depth: usize,
    count: usize,
    max_depth: usize,
    max_count: usize,
    past: Py<PyAny>,
}

#[pymethods]
impl ComposerLimits {
    #[new]
    #[pyo3(signature = (max_depth, max_count, past, /))]
    fn new(max_depth: usize, max_count: usize, past: Py<PyAny>) -> Self {
        Self {
            depth: 0,
            count: 0,
            max_depth,
            max_count,
            past,
        }
    }

    /// Enters a value one level down, in `parent`; the composer also passes its index, which is not used.
    #[pyo3(signature = (parent, index, /))]
    fn descend(&mut self, parent: &Bound<'_, PyAny>, index: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = index;
        self.depth += 1;
        if self.depth > self.max_depth {
            return self.ask("depth", parent);
        }
        self.count += 1;
        if self.count > self.max_count {
            return self.ask("count", parent);
        }
        Ok(())
    }

    /// Leaves a level.
    fn ascend(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Returns no tag for a value without a written one.
    #[pyo3(signature = (kind, value, implicit, /))]
    fn resolve<'py>(
        &self,
        kind: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
        implicit: &Bound<'py, PyAny>,
    ) -> &Bound<'py, PyString> {
        let _ = (value, implicit);
        intern!(kind.py(), "")
    }
}

impl ComposerLimits {
    #[cold]
    fn ask(&self, cap: &str, parent: &Bound<'_, PyAny>) -> PyResult<()> {
        self.past.call1(parent.py(), (cap, parent)).map(drop)
    }
}
