//! Exact numbers: integers of any size, and their comparison with floats.

pub mod bigint;
pub(crate) mod exact;
pub mod number;
