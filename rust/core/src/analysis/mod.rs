//! Exact questions about policies: what holds of every request, not of one.
//!
//! Behind the feature `analysis`, which processes that only decide do without.

pub mod theory;
