//! Exact analysis, compared with the evaluator on every request of small domains.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod brute_force;
#[cfg(test)]
mod budgets;
#[cfg(test)]
mod generator;
