//! Size of a YAML source, measured while libyaml's composer builds its nodes: the hooks of PyYAML's loaders.
//!
//! PERF: the composer calls three hooks for every value; as methods of Python they took 70 ms of 340 for 210,000 values.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};

/// The level of the values in the root.
const IN_ROOT: usize = 2;

/// Counts the values of one source and the levels they are nested in; calls `past` for too many.
#[pyclass(module = "bobcat._core")]
pub(crate) struct ComposerLimits {
    depth: usize,
    count: usize,
    max_depth: usize,
    max_count: usize,
    past: Py<PyAny>,
    /// Called before every item of a list that a key of the root has: with the node of the key, that of the list, in which
    /// the items before are done, and the index.
    on_item: Option<Py<PyAny>>,
    /// The key of the root whose value is being made.
    key: Option<Py<PyAny>>,
}

#[pymethods]
impl ComposerLimits {
    #[new]
    #[pyo3(signature = (max_depth, max_count, past, on_item=None, /))]
    fn new(
        max_depth: usize,
        max_count: usize,
        past: Py<PyAny>,
        on_item: Option<Py<PyAny>>,
    ) -> Self {
        Self {
            depth: 0,
            count: 0,
            max_depth,
            max_count,
            past,
            on_item,
            key: None,
        }
    }

    /// A value more, a level down, in `parent`; `index` is the node of its key, its place in a list, or None.
    #[pyo3(signature = (parent, index, /))]
    fn descend(&mut self, parent: &Bound<'_, PyAny>, index: &Bound<'_, PyAny>) -> PyResult<()> {
        self.depth += 1;
        if self.depth > self.max_depth {
            return self.ask("depth", parent);
        }
        self.count += 1;
        if self.count > self.max_count {
            return self.ask("count", parent);
        }
        if let Some(on_item) = &self.on_item {
            if self.depth == IN_ROOT {
                let keyed = !index.is_none() && !index.is_exact_instance_of::<PyInt>();
                self.key = keyed.then(|| index.clone().unbind());
            } else if self.depth == IN_ROOT + 1
                && let Some(key) = &self.key
                && index.is_exact_instance_of::<PyInt>()
            {
                return on_item.call1(parent.py(), (key, parent, index)).map(drop);
            }
        }
        Ok(())
    }

    /// A level up.
    fn ascend(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// The tag of a value whose author wrote none: none.
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
