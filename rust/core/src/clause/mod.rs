//! Clauses: operands, prepared predicates and the expressions that combine them.

pub(crate) mod context;
pub mod flat_expr;
pub(crate) mod inline;
pub mod lynx;
mod lynx_index;
pub mod operand;
pub mod ops;
pub mod predicate;
pub mod prepared;
