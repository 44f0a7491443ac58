//! `in`, `not_in`, `subset_of`: a value, or each element of one, among those of a list, found without walking the list.

use super::{
    Facts, IndexKey, Inside, OperandType, Operator, OperatorTest, Prepare, derived_key, operators,
};
use crate::budget::Steps;
use crate::clause::context::{ElementSet, Referent};
use crate::clause::inline::{InlineTest, MAX_ITEMS};
use crate::clause::lynx::LynxOp;
use crate::clause::ops::reference::{self, Relative, charge, single};
use crate::clause::predicate::{Test, sound};
use crate::clause::prepared::{PreparedConst, scalar_equal};
use crate::error::Fault;
use crate::num::number::{Number, integral};
use crate::value::class::{Class, Classes};
use crate::value::compare::{number, order};
use crate::value::{Value, View};

operators! {
    "in" OperandType::Scalars, Count, Some(Relative::Member(Member::In)), Some(LynxOp::In),
        Prepare::Constant(|operand| Membership::prepared(operand, Member::In));
    "not_in" OperandType::Scalars, Count, Some(Relative::Member(Member::NotIn)), None,
        Prepare::Constant(|operand| Membership::prepared(operand, Member::NotIn));
    "subset_of" OperandType::Scalars, Element, Some(Relative::Member(Member::Subset)), None,
        Prepare::Constant(|operand| Membership::prepared(operand, Member::Subset));
}

/// The relation of a value to a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// The value is an element.
    In,
    /// The value is no element.
    NotIn,
    /// The value is a list whose elements are all elements.
    Subset,
}

/// A comparison with a list of scalars.
#[derive(Debug)]
pub struct Membership {
    set: ScalarSet,
    member: Member,
}

impl Membership {
    fn prepared(operand: PreparedConst, member: Member) -> Option<Test> {
        let PreparedConst::List(items) = operand else {
            return None;
        };
        let set = ScalarSet::new(items);
        Some(Test::Membership(Self { set, member }))
    }

    /// Returns true if most values pass.
    pub(crate) fn negates(&self) -> bool {
        self.member == Member::NotIn
    }

    /// The test that a value is one of some texts.
    #[must_use]
    pub fn of_texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let texts = texts
            .into_iter()
            .map(|text| PreparedConst::Str(text.into()));
        Self {
            set: ScalarSet::new(texts.collect()),
            member: Member::In,
        }
    }
}

impl OperatorTest for Membership {
    #[inline]
    fn eval<V: Value>(&self, value: &V, view: &View<'_>, steps: &Steps) -> Result<bool, Fault> {
        match (self.member, view) {
            (Member::Subset, _) => {
                is_subset((value, view), steps, |item| self.set.find(single(item)?))
            }
            (Member::In | Member::NotIn, View::List | View::Map) => Err(Fault::WrongType),
            (Member::NotIn, view) => self.set.find(view).map(|found| !found),
            (Member::In, view) => self.set.find(view),
        }
    }

    fn facts(&self) -> Facts {
        let fails = match self.set.bools {
            true => Classes::ALL.without(Class::Bool).without(Class::Null),
            false => Classes::SHAPES,
        };
        let (cost, guard_cost, fails) = match self.member {
            Member::In => {
                let count = self.set.strings.len() + self.set.ints.len();
                let cost = match count {
                    // Compared in the row of the rule.
                    0..=MAX_ITEMS => 1 + count as u32 / 4,
                    _ => 8,
                };
                (cost, count, fails)
            }
            Member::NotIn => (2, 20, fails),
            Member::Subset => (20, 8, Classes::ALL),
        };
        Facts {
            cost,
            guard_cost: guard_cost as u32,
            fails,
        }
    }

    fn key(&self) -> IndexKey<'_> {
        let set = &self.set;
        match (self.member, set.key()) {
            (Member::In, Some(key)) => key,
            (Member::Subset, Some(_)) => derived_key::of_subset(&set.strings, &set.ints),
            (Member::In | Member::NotIn | Member::Subset, _) => IndexKey::Scan,
        }
    }

    fn inline(&self) -> InlineTest {
        let set = &self.set;
        let negated = self.member == Member::NotIn;
        let ints = set.ints.iter().copied().map(Number::Int);
        let mut numbers = ints.chain(set.numbers.iter().cloned()).peekable();
        match (numbers.peek(), set.strings.is_empty()) {
            _ if self.member == Member::Subset || !set.rest.is_empty() => InlineTest::None,
            (None, _) => InlineTest::one_of(negated, &set.strings),
            (Some(_), true) => InlineTest::one_of_numbers(negated, numbers),
            (Some(_), false) => InlineTest::None,
        }
    }
}

/// Returns true if each element of a list is found.
fn is_subset<V: Value>(
    (list, view): (&V, &View<'_>),
    steps: &Steps,
    find: impl Fn(&View<'_>) -> Result<bool, Fault>,
) -> Result<bool, Fault> {
    if !matches!(view, View::List) {
        return Err(Fault::WrongType);
    }
    let mut fault = None;
    for item in list.items() {
        steps.take(1)?;
        let found = sound(item.view()).and_then(|view| {
            charge(&view, steps)?;
            find(&view)
        });
        match found {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(Fault::BudgetExceeded) => return Err(Fault::BudgetExceeded),
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    fault.map_or(Ok(true), Err)
}

/// Compares with the list at another path.
pub(super) fn related<V: Value, W: Value>(
    member: Member,
    (left, here): (&V, &View<'_>),
    (right, there): (&W, &View<'_>),
    steps: &Steps,
) -> Result<bool, Fault> {
    if !matches!(there, View::List) {
        return Err(Fault::WrongType);
    }
    match member {
        Member::In => reference::holds(right, single(here)?, steps),
        Member::NotIn => reference::holds(right, single(here)?, steps).map(|found| !found),
        Member::Subset => {
            steps.take(right.len() as u64)?;
            let set = ElementSet::new(right);
            is_subset((left, here), steps, |item| set.holds(single(item)?))
        }
    }
}

/// The same for elements, which share the set of the list.
pub(super) fn related_each<V: Value, W: Value>(
    member: Member,
    left: &W,
    right: &V,
    held: &Referent<V>,
    steps: &Steps,
) -> Result<bool, Fault> {
    let (here, there) = (sound(left.view())?, sound(right.view())?);
    if !matches!(there, View::List) {
        return Err(Fault::WrongType);
    }
    reference::within(right.len())?;
    match member {
        Member::In | Member::NotIn => {
            let wanted = single(&here)?;
            charge(wanted, steps)?;
            let found = held.set(right, steps)?.holds(wanted)?;
            Ok(found == (member == Member::In))
        }
        Member::Subset => {
            let set = held.set(right, steps)?;
            is_subset((left, &here), steps, |item| set.holds(single(item)?))
        }
    }
}

/// Scalars, by type. Each list is sorted.
#[derive(Debug, Default)]
pub(crate) struct ScalarSet {
    pub(crate) strings: Vec<Box<str>>,
    pub(crate) ints: Vec<i64>,
    /// Fractions and large numbers.
    numbers: Vec<Number>,
    /// Everything rare: null, booleans, instants.
    rest: Vec<PreparedConst>,
    /// True if a boolean is among the other scalars.
    bools: bool,
}

impl ScalarSet {
    fn new(operands: Vec<PreparedConst>) -> Self {
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

    /// The scalars of a list as Python compares them, in which a bool is an integer, without null. `None`: an item has another
    /// type.
    pub(crate) fn of_python(operand: &PreparedConst) -> Option<Self> {
        let PreparedConst::List(items) = operand else {
            return None;
        };
        let items = items.iter().filter(|item| **item != PreparedConst::Null);
        let items = items.map(|item| match item {
            PreparedConst::Bool(value) => {
                Some(PreparedConst::Number(Number::Int(i64::from(*value))))
            }
            PreparedConst::Number(Number::Float(value)) if value.is_nan() => None,
            PreparedConst::Number(_) | PreparedConst::Str(_) => Some(item.clone()),
            _ => None,
        });
        Some(Self::new(items.collect::<Option<_>>()?))
    }

    /// Returns true if one of them equals a value by Python's rules; `None`: the value is of a type that is compared one by one.
    pub(crate) fn holds_python(&self, view: &View<'_>) -> Option<bool> {
        match view {
            View::Bool(value) => Some(self.holds(&View::Int(i64::from(*value)))),
            View::Float(value) if value.is_nan() => None,
            View::Str(_) | View::Int(_) | View::BigInt(_) | View::Float(_) => {
                Some(self.holds(view))
            }
            _ => None,
        }
    }

    /// The key of an index that has all of them.
    pub(crate) fn key(&self) -> Option<IndexKey<'_>> {
        let listed = self.numbers.is_empty() && self.rest.is_empty();
        listed.then_some(IndexKey::Scalars(&self.strings, &self.ints))
    }

    /// Finds a sound scalar: the `any_of` of equality.
    ///
    /// # Errors
    /// The scalar equals no operand, and one of them is a bool, which compares with bools only.
    #[inline]
    fn find(&self, view: &View<'_>) -> Result<bool, Fault> {
        match self.holds(view) {
            false if self.bools && !matches!(view, View::Bool(_) | View::Null) => {
                Err(Fault::WrongType)
            }
            held => Ok(held),
        }
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
}
