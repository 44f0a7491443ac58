//! Operators with their own prepared form.

pub mod contains;
pub mod derived;
pub(crate) mod scalar_set;
