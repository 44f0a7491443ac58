//! The solver for texts.

use super::{GaveUp, GaveUpCode, Solved, TextTest, TheoryBudget};

/// A test that was added to [`Texts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextId(u32);

/// Tests of texts, with one automaton for each distinct one, and what was found about them so far.
#[derive(Debug)]
pub struct Texts {
    budget: TheoryBudget,
    tests: Vec<TextTest>,
}

impl Texts {
    /// No tests.
    #[must_use]
    pub fn new(budget: TheoryBudget) -> Self {
        Self {
            budget,
            tests: Vec::new(),
        }
    }

    /// Sets the budget of the next calls; what was found stays.
    pub fn set_budget(&mut self, budget: TheoryBudget) {
        self.budget = budget;
    }

    /// Adds a test. An equal one has the same id.
    ///
    /// # Errors
    /// [`GaveUp`] with a pattern that the dialect rejects.
    pub fn add(&mut self, test: TextTest) -> Result<TextId, GaveUp> {
        let at = self.tests.iter().position(|known| *known == test);
        let at = at.unwrap_or_else(|| {
            self.tests.push(test);
            self.tests.len() - 1
        });
        Ok(TextId(u32::try_from(at).unwrap_or(u32::MAX)))
    }

    /// Returns true if `text` passes a test.
    ///
    /// # Errors
    /// [`GaveUp`] at a budget.
    pub fn accepts(&mut self, _id: TextId, _text: &str) -> Result<bool, GaveUp> {
        Err(Self::unfinished())
    }

    /// A shortest readable text with exactly these results outside of `excluded`, or the smallest set of the wanted
    /// results that contradict, by their indexes.
    pub fn solve(
        &mut self,
        _wanted: &[(TextId, bool)],
        _excluded: &[&str],
    ) -> Solved<String, usize> {
        Solved::GaveUp(Self::unfinished())
    }

    fn unfinished() -> GaveUp {
        GaveUp {
            code: GaveUpCode::States,
            message: "no solver of texts".to_owned(),
        }
    }
}
