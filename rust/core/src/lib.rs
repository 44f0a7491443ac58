//! `bobcat-core`: decisions on AI-agent tool calls.
//!
//! Canonical IR bytes go in ([`ir`]), a frozen [`program`] comes out ([`compile`]), and [`eval`] judges requests of any
//! representation through the traits in [`value`]. The crate is pure: no I/O, no clock, no randomness, no Python.

#![forbid(unsafe_code)]

pub mod chars;
pub mod comparand;
pub mod compile;
pub mod error;
pub mod eval;
pub mod expr;
mod hash;
pub mod ir;
pub mod json;
pub mod limits;
pub mod matcher;
pub mod path;
pub mod pattern;
pub mod program;
pub mod rule;
pub mod script;
mod short;
pub mod source;
pub mod value;
pub mod work;
