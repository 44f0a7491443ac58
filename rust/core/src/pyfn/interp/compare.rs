//! Comparisons: equality, order, membership and identity as Python has them.

use std::cmp::Ordering;

use super::number::Number;
use super::sequence::{self, Entries};
use super::table::hash;
use super::value::{Budget, Run, Val};
use crate::limits::MAX_SCRIPT_DEPTH;
use crate::pyfn::ast::Comparison;
use crate::pyfn::consts::PyConst;
use crate::pyfn::exception::{Exception, Failure};
use crate::value::Value;

/// `left operator right`.
pub(in crate::pyfn) fn compare<'p, V: Value>(
    operator: Comparison,
    left: &Val<'p, V>,
    right: &Val<'p, V>,
    budget: &mut Budget,
) -> Run<bool> {
    match operator {
        Comparison::Eq => equal(left, right, budget),
        Comparison::Ne => equal(left, right, budget).map(|equal| !equal),
        Comparison::In => contains(right, left, budget),
        Comparison::NotIn => contains(right, left, budget).map(|found| !found),
        Comparison::Is => identical(left, right),
        Comparison::IsNot => identical(left, right).map(|same| !same),
        Comparison::Lt => ordered(left, right, Wanted::Lt, budget),
        Comparison::Le => ordered(left, right, Wanted::Le, budget),
        Comparison::Gt => ordered(left, right, Wanted::Gt, budget),
        Comparison::Ge => ordered(left, right, Wanted::Ge, budget),
    }
}

/// An order comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pyfn) enum Wanted {
    Lt,
    Le,
    Gt,
    Ge,
}

impl Wanted {
    fn holds(self, order: Option<Ordering>) -> bool {
        match (self, order) {
            (_, None) => false,
            (Self::Lt, Some(order)) => order.is_lt(),
            (Self::Le, Some(order)) => order.is_le(),
            (Self::Gt, Some(order)) => order.is_gt(),
            (Self::Ge, Some(order)) => order.is_ge(),
        }
    }
}

/// `left is right`, where Python defines the result.
fn identical<V: Value>(left: &Val<'_, V>, right: &Val<'_, V>) -> Run<bool> {
    Ok(match (left, right) {
        (Val::None, Val::None) => true,
        (Val::Bool(left), Val::Bool(right)) => left == right,
        (Val::None | Val::Bool(_), _) | (_, Val::None | Val::Bool(_)) => false,
        _ => return Err(Failure::UNSUPPORTED),
    })
}

/// `left == right`.
#[inline]
pub(in crate::pyfn) fn equal<V: Value>(
    left: &Val<'_, V>,
    right: &Val<'_, V>,
    budget: &mut Budget,
) -> Run<bool> {
    if let (Some(left), Some(right)) = (left.text(), right.text()) {
        return Ok(left == right);
    }
    equal_at(left, right, budget, 0)
}

/// Returns true if two values are identical or equal: Python compares elements of containers this way. NaN is equal to
/// nothing, and whether two of them are one object is not known here.
#[inline]
pub(in crate::pyfn) fn equal_held<V: Value>(
    left: &Val<'_, V>,
    right: &Val<'_, V>,
    budget: &mut Budget,
) -> Run<bool> {
    if let (Some(left), Some(right)) = (left.text(), right.text()) {
        return Ok(left == right);
    }
    equal_at(left, right, budget, 1)
}

fn equal_at<V: Value>(
    left: &Val<'_, V>,
    right: &Val<'_, V>,
    budget: &mut Budget,
    depth: u16,
) -> Run<bool> {
    budget.fuel(1)?;
    if depth > MAX_SCRIPT_DEPTH {
        return Err(Failure::TOO_LARGE);
    }
    if let (Val::Opaque(broken), other) | (other, Val::Opaque(broken)) = (left, right) {
        // No value of another type is None; any other value may define its own equality.
        return match other {
            Val::None => Ok(false),
            _ => Err((*broken).into()),
        };
    }
    match (is_object(left), is_object(right)) {
        (true, true) => return Err(Failure::UNSUPPORTED),
        (false, false) => {}
        _ => return Ok(false),
    }
    if let (Some(left), Some(right)) = (left.text(), right.text()) {
        return Ok(left == right);
    }
    if let (Some(left), Some(right)) = (Number::of(left), Number::of(right)) {
        let order = left.compare(&right);
        if order.is_none() && depth > 0 && left.is_nan() && right.is_nan() {
            return Err(Failure::UNSUPPORTED);
        }
        return Ok(order == Some(Ordering::Equal));
    }
    match (left, right) {
        (Val::None, Val::None) => return Ok(true),
        (Val::Const(PyConst::Bytes(left)), Val::Const(PyConst::Bytes(right))) => {
            return Ok(left == right);
        }
        (Val::Range(left), Val::Range(right)) => {
            return Ok(left.len == right.len
                && (left.len == 0
                    || (left.start == right.start && (left.len == 1 || left.step == right.step))));
        }
        (Val::DateTime(left), Val::DateTime(right)) => return Ok(left.equals(right)),
        (Val::View(..), _) | (_, Val::View(..)) => return Err(Failure::UNSUPPORTED),
        _ => {}
    }
    if let (Some((kind, left)), Some((other, right))) =
        (sequence::items_of(left), sequence::items_of(right))
    {
        if kind != other {
            return Ok(false);
        }
        let length = left.len()?;
        if length != right.len()? {
            return Ok(false);
        }
        for index in 0..length {
            match (left.get(index), right.get(index)) {
                (Some(left), Some(right)) if equal_at(&left, &right, budget, depth + 1)? => {}
                _ => return Ok(false),
            }
        }
        return Ok(true);
    }
    if let (Some(left), Some(right)) = (set_of(left), set_of(right)) {
        if left.len() != right.len() {
            return Ok(false);
        }
        return subset(&left, &right, budget);
    }
    if let (Some(left), Some(right)) = (Entries::of(left), Entries::of(right)) {
        if left.len()? != right.len()? {
            return Ok(false);
        }
        for (key, value) in left.pairs(budget)? {
            match right.get(&key, budget)? {
                Some(other) if equal_at(&value, &other, budget, depth + 1)? => {}
                _ => return Ok(false),
            }
        }
        return Ok(true);
    }
    Ok(false)
}

/// Returns true if a value is an object that equals no value of another kind.
fn is_object<V>(value: &Val<'_, V>) -> bool {
    matches!(
        value,
        Val::Object(_) | Val::Match(_) | Val::Static(_) | Val::Decision(_) | Val::Each(_)
    )
}

/// A set.
pub(in crate::pyfn) enum Set<'v, 'p, V> {
    Made(&'v super::table::Table<'p, V>),
    Const(&'p crate::pyfn::consts::ConstSet),
}

/// A value as a set, if it is one.
pub(in crate::pyfn) fn set_of<'v, 'p, V: Value>(value: &'v Val<'p, V>) -> Option<Set<'v, 'p, V>> {
    match value {
        Val::Set(table) => Some(Set::Made(table)),
        Val::Const(PyConst::Set(set)) => Some(Set::Const(set)),
        _ => None,
    }
}

impl<'p, V: Value> Set<'_, 'p, V> {
    pub(in crate::pyfn) fn len(&self) -> usize {
        match self {
            Self::Made(table) => table.len(),
            Self::Const(set) => set.items.len(),
        }
    }

    pub(in crate::pyfn) fn items(&self) -> Vec<Val<'p, V>> {
        match self {
            Self::Made(table) => table.keys().cloned().collect(),
            Self::Const(set) => set.items.iter().map(Val::constant).collect(),
        }
    }

    pub(in crate::pyfn) fn has(&self, item: &Val<'p, V>, budget: &mut Budget) -> Run<bool> {
        match self {
            Self::Made(table) => table.get(item, budget).map(|found| found.is_some()),
            Self::Const(set) => {
                if let Some(text) = item.text() {
                    return Ok(set.has_text(text));
                }
                hash(item)?;
                for held in &set.items {
                    if equal_held(&Val::constant(held), item, budget)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

/// Returns true if all elements of `left` are in `right`.
pub(in crate::pyfn) fn subset<'p, V: Value>(
    left: &Set<'_, 'p, V>,
    right: &Set<'_, 'p, V>,
    budget: &mut Budget,
) -> Run<bool> {
    for item in left.items() {
        budget.fuel(1)?;
        if !right.has(&item, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `item in owner`.
pub(in crate::pyfn) fn contains<'p, V: Value>(
    owner: &Val<'p, V>,
    item: &Val<'p, V>,
    budget: &mut Budget,
) -> Run<bool> {
    if let Some(text) = owner.text() {
        return match item.text() {
            Some(wanted) => {
                budget.scan(text)?;
                Ok(crate::pyfn::builtins::text::find(text, wanted).is_some())
            }
            None => Err(failure_on(item, Exception::TYPE.into())),
        };
    }
    if let Some(set) = set_of(owner) {
        return match item {
            // A set is looked up as the equal frozenset.
            Val::Set(_) | Val::Const(PyConst::Set(_)) => {
                for held in set.items() {
                    if equal_held(&held, item, budget)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            item => set.has(item, budget),
        };
    }
    if let Some(entries) = Entries::of(owner) {
        return entries.get(item, budget).map(|found| found.is_some());
    }
    if let Some((_, items)) = sequence::items_of(owner) {
        let length = items.len()?;
        for index in 0..length {
            budget.fuel(1)?;
            if let Some(held) = items.get(index)
                && equal_held(&held, item, budget)?
            {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    match owner {
        Val::View(_, items) | Val::Each(items) => {
            for held in &items.items {
                if equal_held(held, item, budget)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Val::Range(range) => match Number::of(item).map(Number::into_integral) {
            Some(Some(wanted)) => Ok(wanted.checked_sub(range.start).is_some_and(|offset| {
                offset.checked_rem(range.step) == Some(0)
                    && offset
                        .checked_div(range.step)
                        .and_then(|index| u64::try_from(index).ok())
                        .is_some_and(|index| index < range.len)
            })),
            Some(None) => Ok(false),
            None => Err(Failure::UNSUPPORTED),
        },
        other => Err(failure_on(other, Exception::TYPE.into())),
    }
}

/// The failure of an operation on a value: that of an opaque value, `otherwise` of any other.
pub(in crate::pyfn) fn failure_on<V: Value>(value: &Val<'_, V>, otherwise: Failure) -> Failure {
    match value {
        Val::Opaque(broken) => (*broken).into(),
        _ => otherwise,
    }
}

/// `left < right` and its kin.
pub(in crate::pyfn) fn ordered<'p, V: Value>(
    left: &Val<'p, V>,
    right: &Val<'p, V>,
    wanted: Wanted,
    budget: &mut Budget,
) -> Run<bool> {
    if let (Val::Int(left), Val::Int(right)) = (left, right) {
        return Ok(wanted.holds(Some(left.cmp(right))));
    }
    if let (Some(left), Some(right)) = (left.text(), right.text()) {
        // Code points and their UTF-8 have the same order.
        return Ok(wanted.holds(Some(left.cmp(right))));
    }
    if let (Some(left), Some(right)) = (Number::of(left), Number::of(right)) {
        return Ok(wanted.holds(left.compare(&right)));
    }
    ordered_at(left, right, wanted, budget, 0)
}

fn ordered_at<'p, V: Value>(
    left: &Val<'p, V>,
    right: &Val<'p, V>,
    wanted: Wanted,
    budget: &mut Budget,
    depth: u16,
) -> Run<bool> {
    budget.fuel(1)?;
    if depth > MAX_SCRIPT_DEPTH {
        return Err(Failure::TOO_LARGE);
    }
    if let (Some((kind, one)), Some((other, two))) =
        (sequence::items_of(left), sequence::items_of(right))
    {
        if kind != other {
            return Err(Exception::TYPE.into());
        }
        let (lengths, common) = {
            let (one, two) = (one.len()?, two.len()?);
            (one.cmp(&two), one.min(two))
        };
        for index in 0..common {
            if let (Some(left), Some(right)) = (one.get(index), two.get(index))
                && !equal_at(&left, &right, budget, depth + 1)?
            {
                return match (left.text(), right.text()) {
                    (None, None) if Number::of(&left).is_none() => {
                        ordered_at(&left, &right, wanted, budget, depth + 1)
                    }
                    _ => ordered(&left, &right, wanted, budget),
                };
            }
        }
        return Ok(wanted.holds(Some(lengths)));
    }
    if let (Some(one), Some(two)) = (set_of(left), set_of(right)) {
        return Ok(match wanted {
            Wanted::Le => subset(&one, &two, budget)?,
            Wanted::Lt => one.len() < two.len() && subset(&one, &two, budget)?,
            Wanted::Ge => subset(&two, &one, budget)?,
            Wanted::Gt => two.len() < one.len() && subset(&two, &one, budget)?,
        });
    }
    match (left, right) {
        (Val::Opaque(broken), _) | (_, Val::Opaque(broken)) => Err((*broken).into()),
        (Val::DateTime(left), Val::DateTime(right)) => {
            left.compare(right).map(|order| wanted.holds(Some(order)))
        }
        (Val::View(..), _) | (_, Val::View(..)) => Err(Failure::UNSUPPORTED),
        _ => Err(Exception::TYPE.into()),
    }
}
