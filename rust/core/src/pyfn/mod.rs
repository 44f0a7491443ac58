//! Functions: rules written in Python and lowered, run with Python's own semantics.
//!
//! `python/bobcat/ir/code.py` defines the nodes, [`crate::ir`] decodes them into [`ast`], [`interp`] runs them over borrowed
//! values. What `CPython` would raise is the error of the rule, by the name of the exception. Where this module does not do
//! what `CPython` does it returns a [`Failure::Fault`](exception::Failure::Fault), which no function can catch: a rule never
//! decides by guess.
//!
//! Two layers. Code, below the decoder: the nodes ([`ast`], [`consts`], [`pattern`], [`format_spec`], [`fold`], [`walk`]), the
//! control-flow graph ([`mod@cfg`]), the nodes of the fast path ([`predicate`]), static [`analysis`]. Execution, above the
//! program: the interpreter and its values ([`interp`]), the [`builtins`]. `eval` follows the fast path.

pub(crate) mod analysis;
pub(crate) mod ast;
pub(crate) mod builtins;
pub(crate) mod cfg;
pub(crate) mod consts;
pub(crate) mod decision;
pub(crate) mod exception;
pub(crate) mod fold;
pub(crate) mod format_spec;
pub(crate) mod interp;
pub(crate) mod pattern;
pub(crate) mod predicate;
pub(crate) mod trigger;
pub(crate) mod walk;

/// `repr` of a float, as Python writes it.
#[must_use]
pub fn float_repr(value: f64) -> String {
    interp::repr::float(value)
}

/// A function that was decoded.
#[derive(Debug)]
pub struct PyFn(pub(crate) Box<ast::Function>);
