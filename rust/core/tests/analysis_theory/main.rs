//! The decision procedures of the analysis, against the engine that decides.

#[cfg(test)]
mod interning;
