//! Short texts, hashes and maps of byte strings: what the hot paths compare and look up by.

pub(crate) mod hash;
pub(crate) mod interner;
pub(crate) mod literals;
pub(crate) mod short;
pub(crate) mod strmap;
pub(crate) mod substrings;
