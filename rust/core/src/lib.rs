//! Decisions on tool calls of AI agents.
//!
//! [`Policy`] reads a bundle that `bobcat compile` wrote, and decides on requests in JSON:
//!
//! ```no_run
//! use bobcat_core::{Policy, Verdict};
//!
//! let policy = Policy::from_bundle(&std::fs::read("policy.bobcat")?)?;
//! let evaluated = policy.evaluate(br#"{"tool": "shell", "args": {"cmd": "ls"}}"#)?;
//! if evaluated.decision.verdict != Verdict::Allow {
//!     println!("{}: {}", evaluated.decision.verdict.as_str(), evaluated.decision.reason);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! These names are stable within a minor version. The modules are what the Python package and the native hook are built from, and
//! change with them: canonical IR bytes go in ([`ir`]), a frozen [`program`] comes out ([`compile`]), and [`eval`] evaluates
//! requests of any representation through the traits in [`value`]. The crate is pure: no I/O, no clock, no randomness, no Python.

#![forbid(unsafe_code)]

#[cfg(feature = "analysis")]
pub mod analysis;
pub mod budget;
pub mod bundle;
mod bytes;
pub mod chars;
pub mod clause;
pub mod compile;
pub mod decision;
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
pub mod policy;
pub mod program;
pub mod pyfn;
pub mod regex;
pub mod source;
pub mod text;
pub mod value;

pub use bundle::BundleError;
pub use decision::Decision;
pub use lang::Verdict;
pub use policy::{EvaluateError, Evaluated, Policy};
