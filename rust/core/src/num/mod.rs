//! Exact numbers: integers of any size, and their comparison with floats.

pub mod bigint;
pub mod number;
