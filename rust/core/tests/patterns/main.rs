//! Patterns, tested through their public names. One crate, so that it is linked once.

#[cfg(test)]
mod budgets;
#[cfg(test)]
mod caps;
#[cfg(test)]
mod generator;
#[cfg(test)]
mod literals;
#[cfg(test)]
mod paths;
