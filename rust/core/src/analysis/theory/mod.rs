//! Decision procedures about the values of one path: is there a value with these results of these tests?
//!
//! [`Texts`] answers for texts, [`number`] for numbers and instants. An answer is a value, a set of the wanted results that
//! contradict each other, or the name of the budget that was hit; never a guess.
//!
//! ```
//! use bobcat_core::analysis::theory::{Solved, TextTest, Texts, TheoryBudget};
//!
//! let mut texts = Texts::new(TheoryBudget::default());
//! let removes = texts.add(TextTest::Matches { pattern: r"\brm\b".to_owned() })?;
//! let sudo = texts.add(TextTest::StartsWith(vec!["sudo ".to_owned()]))?;
//! let found = texts.solve(&[(removes, true), (sudo, true)], &[]);
//! assert_eq!(found, Solved::Value("sudo rm".to_owned()));
//! # Ok::<(), bobcat_core::analysis::theory::GaveUp>(())
//! ```

mod alphabet;
mod automaton;
mod budget;
mod count;
mod formula;
mod lower;
pub mod number;
mod order;
mod product;
mod pump;
mod search;
mod spans;
mod test;
mod texts;
mod words;

pub use budget::{GaveUp, GaveUpCode, TheoryBudget};
pub use test::TextTest;
pub use texts::{TextId, Texts};

/// The answer to: is there a value with all these results?
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Solved<V, I> {
    /// A value that has them all, the smallest.
    Value(V),
    /// Results that no value has together: as few as were found, in ascending order. The excluded values count with them.
    Conflict(Vec<I>),
    /// A budget was hit.
    GaveUp(GaveUp),
}
