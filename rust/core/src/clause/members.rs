//! The scalars of `in` in the `lynx` profile, found without walking the list.

use super::prepared::PreparedConst;
use crate::num::number::Number;
use crate::value::View;

/// The scalars of an operand, as Python compares them: a bool is an integer. Each list is sorted.
#[derive(Debug, Default)]
pub(super) struct Members {
    pub(super) texts: Vec<Box<str>>,
    pub(super) ints: Vec<i64>,
}

impl Members {
    /// `None`: one of the items is of another type, or the operand is no list.
    pub(super) fn new(operand: &PreparedConst) -> Option<Self> {
        let PreparedConst::List(items) = operand else {
            return None;
        };
        let mut members = Self::default();
        for item in items {
            match item {
                PreparedConst::Str(text) => members.texts.push(text.clone()),
                PreparedConst::Number(Number::Int(number)) => members.ints.push(*number),
                PreparedConst::Bool(value) => members.ints.push(i64::from(*value)),
                PreparedConst::Null => {}
                PreparedConst::Number(_)
                | PreparedConst::Timestamp(_)
                | PreparedConst::List(_)
                | PreparedConst::Map(_) => return None,
            }
        }
        members.texts.sort_unstable();
        members.ints.sort_unstable();
        Some(members)
    }

    /// Returns true if a value is one of them; `None`: it is of a type that is compared one by one.
    pub(super) fn holds(&self, view: &View<'_>) -> Option<bool> {
        Some(match view {
            View::Str(text) => self
                .texts
                .binary_search_by(|item| item.as_ref().cmp(text))
                .is_ok(),
            View::Int(number) => self.ints.binary_search(number).is_ok(),
            View::Bool(value) => self.ints.binary_search(&i64::from(*value)).is_ok(),
            _ => return None,
        })
    }
}
