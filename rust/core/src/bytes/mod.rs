//! Short texts, hashes and maps of byte strings, for comparisons and look-ups on hot paths.

pub(crate) mod hash;
pub(crate) mod interner;
pub(crate) mod literals;
pub(crate) mod short;
pub(crate) mod strmap;
pub(crate) mod substrings;
