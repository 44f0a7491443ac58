//! The decision procedures of the analysis, against the engine that decides. One crate, so that it is linked once.

#[cfg(test)]
mod api;
#[cfg(test)]
mod budgets;
#[cfg(test)]
mod characters;
#[cfg(test)]
mod numbers;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod properties;
