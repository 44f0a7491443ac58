//! Functions: rules that were written in Python and lowered, run with Python's own semantics.
//!
//! `python/bobcat/ir/code.py` defines the nodes, [`crate::ir`] decodes them into [`node`], [`machine`] runs them over borrowed
//! values. What `CPython` would raise is the error of the rule, by the name of the exception. Where this module does not do
//! what `CPython` does it says so with a [`Trouble::Fault`], which no function can catch: a rule never decides by guess.
//!
//! One file per concern: what values are ([`value`], [`table`], [`fixed`]), what is done with them ([`compare`], [`number`],
//! [`text`], [`sequence`], [`show`], [`moment`], [`find`]), the walk over the nodes ([`machine`], [`builtin`],
//! [`method`]) and the request that it sees ([`world`]), and what shortens it ([`course`], [`fold`], [`glance`], [`quick`]).

mod builtin;
mod compare;
pub(crate) mod course;
pub(crate) mod exception;
mod find;
mod fixed;
mod fold;
mod format;
mod glance;
mod machine;
mod method;
mod moment;
pub(crate) mod node;
mod number;
mod quick;
mod ruling;
mod sequence;
mod show;
mod slots;
mod table;
mod text;
mod value;
mod walk;
mod world;

pub(crate) use find::{How, Pattern};
pub(crate) use fixed::Fixed;
pub(crate) use format::is_known as is_known_format;
pub(crate) use glance::glanced;
pub(crate) use machine::{call, walk};
pub(crate) use ruling::Answer;
pub use ruling::{Made, Ruling, Said};
pub(crate) use walk::statements;
pub(crate) use world::{End, Seen, World};

/// A function that was decoded.
#[derive(Debug)]
pub struct Script(pub(crate) Box<node::Function>);
