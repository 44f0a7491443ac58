//! The engine, tested through its public names. One crate, so that it is linked once.

#[cfg(test)]
mod budgets;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod dressed;
#[cfg(test)]
mod generator;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod hostile_functions;
#[cfg(test)]
mod json_texts;
#[cfg(test)]
mod numbers;
#[cfg(test)]
mod operators;
mod parts;
#[cfg(test)]
mod short_cuts;
#[cfg(test)]
mod stack;
#[cfg(test)]
mod steps;
#[cfg(test)]
mod traces;
#[cfg(test)]
mod vectors;
