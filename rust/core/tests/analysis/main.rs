//! Exact analysis, compared with the evaluator on every request of small domains.

mod answers;
mod brute_force;
mod budgets;
mod generator;
