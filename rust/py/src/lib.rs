//! The Python face of `bobcat-core`: module `bobcat._core`.
//!
//! A request is read in place, through the borrowed-value traits of the core ([`value`], [`request`]); an outcome becomes
//! a `bobcat.model.decision.Decision` ([`decision`]), prebuilt wherever it is static. Nothing here decides.

mod analysis;
mod attribute;
mod batch;
mod bound_program;
mod canonical;
mod chain;
mod chars;
mod conformance;
mod constant;
mod coroutine;
mod decision;
mod error;
mod facet;
mod freeze;
mod hashing;
mod hook_session;
mod host;
mod instant;
mod layered;
mod manifest;
mod names;
mod operators;
mod pattern;
mod program;
mod proxy;
mod record_template;
mod request;
mod requests;
mod run_state;
mod session;
mod shell;
mod slot_constructor;
mod static_object;
mod text_search;
mod trace;
mod tracking;
mod transform;
mod value;
mod vectorcall;
mod yaml;

/// The Rust core of Bobcat.
///
/// INVARIANT: it needs no lock of the interpreter. What is borrowed from a container is counted where there is no lock (see
/// `value::FREE_THREADED`), and slots are read in a critical section. A decision reads a value more than once: a request that
/// another thread changes meanwhile is decided by what each read finds, and never read after it is freed.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "a Python module attribute")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::analysis::Analysis;
    #[pymodule_export]
    use crate::batch::check_request;
    #[pymodule_export]
    use crate::canonical::canonical_text;
    #[pymodule_export]
    use crate::chain::Chain;
    #[pymodule_export]
    use crate::chars::{is_printable, lower};
    #[pymodule_export]
    use crate::conformance::_conformance_for_tests;
    #[pymodule_export]
    use crate::coroutine::first_step;
    #[pymodule_export]
    use crate::error::CoreError;
    #[pymodule_export]
    use crate::facet::{facet_operand, facet_parts, facets, occurs_in, parse_facet};
    #[pymodule_export]
    use crate::freeze::frozen_if_flat;
    #[pymodule_export]
    use crate::hashing::{action_key, chained_hash, sha256};
    #[pymodule_export]
    use crate::hook_session::{HookSession, session_directory};
    #[pymodule_export]
    use crate::manifest::{is_manifest_of, manifest_head};
    #[pymodule_export]
    use crate::pattern::{Pattern, check_pattern, pattern_cost};
    #[pymodule_export]
    use crate::program::{_panic_for_tests, Program, evaluate_json, evaluate_many, explain};
    #[pymodule_export]
    use crate::record_template::RecordTemplate;
    #[pymodule_export]
    use crate::requests::Requests;
    #[pymodule_export]
    use crate::run_state::RunState;
    #[pymodule_export]
    use crate::shell::{parse_shell, shell_packs};
    #[pymodule_export]
    use crate::slot_constructor::SlotConstructor;
    #[pymodule_export]
    use crate::text_search::find_text;
    #[pymodule_export]
    use crate::yaml::{
        CollectionNode, MappingNode, Mark, Node, ScalarNode, SequenceNode, YamlError, compose_yaml,
    };

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyModuleMethods as _;
        module.add("unicode_version", crate::chars::unicode_version())?;
        crate::vectorcall::add(module)
    }
}
