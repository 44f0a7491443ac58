//! Static analysis of functions.

pub(crate) mod tool_scope_fn;
pub(crate) mod triggers;
