//! Searches for texts by the results of tests, for the lints.

use std::collections::BTreeSet;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use bobcat_core::analysis::theory::{GaveUp, GaveUpCode, Solved, TextTest, Texts, TheoryBudget};

/// A test of a text: `pattern`, or the ends at which the text must have one of some texts (`start`, `end`, `both`, or none of
/// them); the pattern or the texts; true if the lower case is tested; and the wanted result.
type Wanted = (String, Vec<String>, bool, bool);

/// Returns a shortest text with the wanted result of every test, and the steps that the search took: more than `steps` where
/// that many did not suffice. ValueError for a pattern that the dialect rejects.
#[pyfunction]
pub(crate) fn find_text(
    py: Python<'_>,
    tests: Vec<Wanted>,
    steps: u64,
) -> PyResult<(Option<String>, u64)> {
    py.detach(|| search(tests, steps))
}

fn search(tests: Vec<Wanted>, steps: u64) -> PyResult<(Option<String>, u64)> {
    let states = usize::try_from(steps).unwrap_or(usize::MAX);
    let mut texts = Texts::new(TheoryBudget {
        states,
        is_over: None,
    });
    let mut wanted = Vec::with_capacity(tests.len());
    for (kind, operands, lower, result) in tests {
        let test = test_of(&kind, operands)?;
        let test = if lower {
            TextTest::Lower(Box::new(test))
        } else {
            test
        };
        let id = texts.add(test).map_err(rejected)?;
        wanted.push((id, result));
    }
    match texts.solve(&wanted, &[]) {
        Solved::Value(text) => Ok((Some(text), texts.work())),
        Solved::Conflict(_) => Ok((None, texts.work())),
        Solved::GaveUp(reason) if reason.code == GaveUpCode::States => {
            Ok((None, texts.work().max(steps.saturating_add(1))))
        }
        Solved::GaveUp(reason) => Err(rejected(reason)),
    }
}

fn test_of(kind: &str, mut operands: Vec<String>) -> PyResult<TextTest> {
    Ok(match kind {
        "" => TextTest::Contains(operands),
        "start" => TextTest::StartsWith(operands),
        "end" => TextTest::EndsWith(operands),
        "both" => TextTest::OneOf(BTreeSet::from_iter(operands)),
        "pattern" if operands.len() == 1 => TextTest::Matches {
            pattern: operands.remove(0),
        },
        _ => {
            return Err(PyValueError::new_err(format!(
                "no test of a text: `{kind}` with {} texts",
                operands.len()
            )));
        }
    })
}

fn rejected(reason: GaveUp) -> PyErr {
    PyValueError::new_err(reason.message)
}
