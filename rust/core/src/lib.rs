//! `bobcat-core`: decisions on AI-agent tool calls.
//!
//! Canonical IR bytes go in ([`ir`]), a frozen [`program`] comes out ([`compile`]), and [`eval`] evaluates requests of any
//! representation through the traits in [`value`]. The crate is pure: no I/O, no clock, no randomness, no Python.

#![forbid(unsafe_code)]

#[cfg(feature = "analysis")]
pub mod analysis;
pub mod budget;
mod bytes;
pub mod chars;
pub mod clause;
pub mod compile;
pub mod error;
pub mod eval;
pub mod facets;
mod index;
pub mod ir;
pub mod json;
pub mod lang;
pub mod limits;
pub mod memory;
pub mod num;
pub mod program;
pub mod pyfn;
pub mod regex;
pub mod source;
pub mod text;
pub mod value;
