//! `{ref: ..}`: comparisons with the value at another path.
//!
//! INVARIANT: linear in what is read. Inside of elements the value at another path is read once, as a set where it is a list
//! that elements are looked up in, and is no larger than [`MAX_REF_IN_ELEMENTS`].

use std::cmp::Ordering;

use super::affix::{self, End};
use super::membership::{self, Member};
use super::ordering::{self, Relation};
use super::{containment, equality};
use crate::budget::{Pace, Steps};
use crate::clause::context::Around;
use crate::clause::predicate::{Truth, sound};
use crate::error::Fault;
use crate::limits::MAX_REF_IN_ELEMENTS;
use crate::value::compare::{compare, number};
use crate::value::{Step, Value, View};

/// The comparison of a value with the value at another path, by family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relative {
    /// Equality.
    Equal,
    /// With a list.
    Member(Member),
    /// Containment.
    Contains,
    /// Order.
    Order(Relation),
    /// With an affix.
    At(End),
}

/// Compares a value that is there with what another path leads to.
pub(super) fn refer<V: Value, W: Value>(
    (relative, path, each): (Relative, u32, bool),
    left: &W,
    around: &impl Around<V>,
) -> Truth {
    let steps = around.steps();
    if !each {
        let right = around.at(path);
        return relate(&right, |right| related(relative, left, right, steps));
    }
    let held = around.referred().get(path, |path| around.at(path));
    relate(&held.step, |right| match relative {
        Relative::Member(member) => membership::related_each(member, left, right, &held, steps),
        Relative::Contains => {
            if let (View::Str(_), View::Str(part)) = (left.view(), right.view()) {
                within(part.len())?;
            }
            related(relative, left, right, steps)
        }
        Relative::Equal | Relative::Order(_) | Relative::At(_) => {
            related(relative, left, right, steps)
        }
    })
}

/// Compares a value that is there with a definition of the state of the run.
pub(super) fn refer_run<V: Value, W: Value>(
    relative: Relative,
    definition: u32,
    left: &W,
    around: &impl Around<V>,
) -> Truth {
    let right = match around.reading(definition) {
        Ok(reading) => reading,
        Err(fault) => return Truth::Error(fault),
    };
    related(relative, left, &right, around.steps()).into()
}

fn relate<V: Value>(right: &Step<V>, evaluate: impl FnOnce(&V) -> Result<bool, Fault>) -> Truth {
    match right {
        Step::Absent => Truth::Absent,
        Step::Unreadable => Truth::Error(Fault::WrongType),
        Step::Found(right) => evaluate(right).into(),
    }
}

fn related<V: Value, W: Value>(
    relative: Relative,
    left: &V,
    right: &W,
    steps: &Steps,
) -> Result<bool, Fault> {
    let (here, there) = (sound(left.view())?, sound(right.view())?);
    charge(&here, steps)?;
    match relative {
        Relative::Equal => equality::related(&here, &there),
        Relative::Order(relation) => {
            ordering::related(&here, &there).map(|order| relation.holds(order))
        }
        Relative::At(end) => affix::related(end, &here, &there),
        Relative::Member(member) => {
            membership::related(member, (left, &here), (right, &there), steps)
        }
        Relative::Contains => containment::related((left, &here), &there, steps),
    }
}

/// Takes the steps of comparing a text.
pub(super) fn charge(view: &View<'_>, steps: &Steps) -> Result<(), Fault> {
    match view {
        View::Str(text) => steps.text(text.len(), Pace::Compare),
        _ => Ok(()),
    }
}

/// Bounds what elements are compared with.
pub(super) fn within(size: usize) -> Result<(), Fault> {
    if size > MAX_REF_IN_ELEMENTS {
        Err(Fault::OutOfRange)
    } else {
        Ok(())
    }
}

/// A view that is no list and no mapping.
pub(super) fn single<'a, 'v>(view: &'a View<'v>) -> Result<&'a View<'v>, Fault> {
    match view {
        View::List | View::Map => Err(Fault::WrongType),
        view => Ok(view),
    }
}

/// Returns true if a list has an element that equals a scalar.
pub(super) fn holds<V: Value>(list: &V, wanted: &View<'_>, steps: &Steps) -> Result<bool, Fault> {
    for item in list.items() {
        steps.take(1)?;
        let view = sound(item.view())?;
        charge(&view, steps)?;
        if equal(&view, wanted) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Equality of scalars: values of different type are not equal, and nothing equals a list or a mapping.
pub(super) fn equal(left: &View<'_>, right: &View<'_>) -> bool {
    match (left, right) {
        (View::Null, View::Null) => true,
        (View::Bool(left), View::Bool(right)) => left == right,
        (View::Str(left), View::Str(right)) => left == right,
        (View::Timestamp(left), View::Timestamp(right)) => left == right,
        (left, right) => match number(right) {
            Some(right) => compare(left, &right) == Some(Ordering::Equal),
            None => false,
        },
    }
}
