//! Sets of scalars: `in` without walking its list.

use crate::clause::prepared::{PreparedConst, scalar_equal};
use crate::error::Fault;
use crate::num::number::{Number, integral};
use crate::value::View;
use crate::value::compare::{number, order};

/// The scalars of an `in`, by type.
#[derive(Debug, Default)]
pub struct ScalarSet {
    strings: Vec<Box<str>>,
    ints: Vec<i64>,
    /// Fractions and large numbers, sorted.
    numbers: Vec<Number>,
    /// Everything rare: null, booleans, instants.
    rest: Vec<PreparedConst>,
    /// True if a boolean is among the other scalars.
    bools: bool,
}

impl ScalarSet {
    /// The set of these operands.
    #[must_use]
    pub fn new(operands: Vec<PreparedConst>) -> Self {
        let mut set = Self::default();
        for operand in operands {
            match operand {
                PreparedConst::Str(text) => set.strings.push(text),
                PreparedConst::Number(Number::Int(value)) => set.ints.push(value),
                PreparedConst::Number(number) => set.numbers.push(number),
                other => {
                    set.bools |= matches!(other, PreparedConst::Bool(_));
                    set.rest.push(other);
                }
            }
        }
        set.strings.sort_unstable();
        set.strings.dedup();
        set.ints.sort_unstable();
        set.ints.dedup();
        set.numbers.sort_unstable_by(order);
        set.numbers.dedup_by(|a, b| order(a, b).is_eq());
        set.rest.dedup();
        set
    }

    /// `in` of a sound scalar: the `any_of` of `eq`.
    ///
    /// # Errors
    /// The scalar equals no operand, and one of them is a bool, which compares with bools only.
    #[inline]
    pub fn judge(&self, view: &View<'_>) -> Result<bool, Fault> {
        match self.holds(view) {
            false if self.bools && !matches!(view, View::Bool(_) | View::Null) => {
                Err(Fault::WrongType)
            }
            held => Ok(held),
        }
    }

    /// Returns true if a boolean is in the set.
    #[must_use]
    pub fn has_bools(&self) -> bool {
        self.bools
    }

    fn holds(&self, view: &View<'_>) -> bool {
        match view {
            View::Str(text) => self
                .strings
                .binary_search_by(|item| item.as_ref().cmp(text))
                .is_ok(),
            View::Int(value) => self.ints.binary_search(value).is_ok(),
            View::Float(value) => match integral(*value) {
                Some(value) => self.ints.binary_search(&value).is_ok(),
                None => self.holds_number(view),
            },
            View::BigInt(_) => self.holds_number(view),
            view => self.rest.iter().any(|item| scalar_equal(view, item)),
        }
    }

    fn holds_number(&self, view: &View<'_>) -> bool {
        number(view).is_some_and(|wanted| {
            let found = self.numbers.binary_search_by(|held| order(held, &wanted));
            found.is_ok()
        })
    }

    /// The strings, sorted.
    #[must_use]
    pub fn strings(&self) -> &[Box<str>] {
        &self.strings
    }

    /// The small integers, sorted.
    #[must_use]
    pub fn ints(&self) -> &[i64] {
        &self.ints
    }

    /// Returns true if the set has other scalars.
    #[must_use]
    pub fn has_others(&self) -> bool {
        !self.numbers.is_empty() || !self.rest.is_empty()
    }
}
