//! Tests that need more than a value and a constant: the value at another path, or something made from the value.
//!
//! INVARIANT: linear in what is read. Inside of elements the value at another path is read once, as a set where it is a list
//! that elements are looked up in, and is no larger than [`MAX_REF_IN_ELEMENTS`].

use std::cmp::Ordering;

use memchr::memmem;

use crate::budget::{Pace, Steps};
use crate::chars;
use crate::clause::context::{Around, Referent};
use crate::clause::predicate::{Relation, Test, Truth, judge_value, sound};
use crate::error::Fault;
use crate::lang::path::Key;
use crate::limits::MAX_REF_IN_ELEMENTS;
use crate::value::compare::{compare, number};
use crate::value::{Step, Value, View};

/// An end of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// `starts_with`
    Start,
    /// `ends_with`
    End,
}

impl End {
    /// Returns true if `text` has `affix` at this end.
    #[inline]
    #[must_use]
    pub fn is_at(self, text: &str, affix: &str) -> bool {
        match self {
            Self::Start => text.starts_with(affix),
            Self::End => text.ends_with(affix),
        }
    }
}

/// So many affixes are compared one by one.
const FEW_AFFIXES: usize = 8;

impl End {
    /// The order in which a text that another one has at this end precedes it, as closely as possible.
    fn order(self, left: &str, right: &str) -> Ordering {
        match self {
            Self::Start => left.cmp(right),
            Self::End => left.bytes().rev().cmp(right.bytes().rev()),
        }
    }

    /// `affixes` in order, without those that have another one at this end.
    #[must_use]
    pub fn fewest(self, mut affixes: Vec<Box<str>>) -> Vec<Box<str>> {
        affixes.sort_by(|a, b| self.order(a, b));
        // INVARIANT: every text between an affix and a text that has it has it too, so it is the last one kept.
        affixes.dedup_by(|text, kept| self.is_at(text, kept));
        affixes
    }

    /// Returns true if `text` has one of `affixes` at this end. `affixes` is a result of [`Self::fewest`].
    pub(crate) fn has_one(self, text: &str, affixes: &[Box<str>]) -> bool {
        if affixes.len() <= FEW_AFFIXES {
            return affixes.iter().any(|affix| self.is_at(text, affix));
        }
        let after = affixes.partition_point(|affix| self.order(affix, text).is_le());
        let last = after.checked_sub(1).and_then(|at| affixes.get(at));
        last.is_some_and(|affix| self.is_at(text, affix))
    }
}

/// The quantifier over elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each {
    /// At least one.
    Any,
    /// All; of an empty list, true.
    All,
    /// No one; of an empty list, true.
    None,
}

/// The comparison of a value with the value at another path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relative {
    /// `eq`
    Equal,
    /// `in`
    In,
    /// `contains`
    Contains,
    /// `gt`, `ge`, `lt`, `le`
    Order(Relation),
    /// `starts_with`, `ends_with`
    At(End),
}

/// A prepared test of this kind.
#[derive(Debug)]
pub enum Derived {
    /// `length`
    Length(Vec<Test>),
    /// `lower`
    Lower(Vec<Test>),
    /// `any`, `all`, `none`
    Elements(Each, Vec<Test>),
    /// A comparison with the value at another path.
    Ref {
        /// The comparison.
        relative: Relative,
        /// An index into the paths of the program.
        path: u32,
        /// True if the comparison runs once for every element of a list.
        each: bool,
    },
}

impl Derived {
    /// Returns true if the operand reads another path.
    #[must_use]
    pub fn refers(&self) -> bool {
        let refer = |tests: &[Test]| {
            tests.iter().any(|test| match test {
                Test::Derived(derived) => derived.refers(),
                _ => false,
            })
        };
        match self {
            Self::Length(tests) | Self::Lower(tests) | Self::Elements(_, tests) => refer(tests),
            Self::Ref { .. } => true,
        }
    }

    /// Evaluates a value that is there. `around` reads other paths.
    pub(crate) fn judge<V: Value>(&self, value: &V, around: &impl Around<V>) -> Truth {
        let view = match sound(value.view()) {
            Ok(view) => view,
            Err(fault) => return Truth::Error(fault),
        };
        match self {
            Self::Length(tests) => match length(value, &view, around.steps()) {
                Ok(length) => every(tests, |test| scalar(test, &Scalar::Count(length), around)),
                Err(fault) => Truth::Error(fault),
            },
            Self::Lower(tests) => match view {
                View::Str(text) => {
                    if let Err(fault) = around.steps().text(text.len(), Pace::Make) {
                        return Truth::Error(fault);
                    }
                    let lower = chars::lower(text);
                    every(tests, |test| scalar(test, &Scalar::Text(&lower), around))
                }
                _ => Truth::Error(Fault::WrongType),
            },
            Self::Elements(each, tests) => match view {
                View::List => elements(*each, value, tests, around),
                _ => Truth::Error(Fault::WrongType),
            },
            Self::Ref {
                relative,
                path,
                each,
            } => refer((*relative, *path, *each), value, around),
        }
    }
}

/// A value made from another one.
#[derive(Clone)]
enum Scalar<'a> {
    Count(i64),
    Text(&'a str),
}

impl Value for Scalar<'_> {
    fn view(&self) -> View<'_> {
        match self {
            Self::Count(count) => View::Int(*count),
            Self::Text(text) => View::Str(text),
        }
    }

    fn get(&self, _: Key<'_>) -> Step<Self> {
        Step::Unreadable
    }

    fn len(&self) -> usize {
        0
    }

    fn item(&self, _: usize) -> Option<Self> {
        None
    }

    fn each_entry(&self, _: &mut dyn FnMut(View<'_>, &Self) -> bool) {}
}

fn length<V: Value>(value: &V, view: &View<'_>, steps: &Steps) -> Result<i64, Fault> {
    let length = match view {
        View::Str(text) => {
            steps.text(text.len(), Pace::Compare)?;
            text.chars().count()
        }
        View::List => value.len(),
        View::Map => value.checked_len().ok_or(Fault::WrongType)?,
        _ => return Err(Fault::WrongType),
    };
    i64::try_from(length).map_err(|_| Fault::OutOfRange)
}

/// Evaluates what was made from a value. The tests of it make nothing more.
fn scalar<V: Value>(test: &Test, value: &Scalar<'_>, around: &impl Around<V>) -> Truth {
    match test {
        Test::Derived(derived) => match derived.as_ref() {
            Derived::Ref {
                relative,
                path,
                each,
            } => refer((*relative, *path, *each), value, around),
            Derived::Length(_) | Derived::Lower(_) | Derived::Elements(..) => {
                Truth::Error(Fault::WrongType)
            }
        },
        test => judge_value(test, value, around.steps()).into(),
    }
}

/// The conjunction of tests.
fn every(tests: &[Test], mut judge: impl FnMut(&Test) -> Truth) -> Truth {
    let mut result = Truth::True;
    for test in tests {
        result = both(result, judge(test));
        if result == Truth::False {
            break;
        }
    }
    result
}

fn both(left: Truth, right: Truth) -> Truth {
    match (left, right) {
        (Truth::False, _) | (_, Truth::False) => Truth::False,
        (Truth::Error(fault), _) | (_, Truth::Error(fault)) => Truth::Error(fault),
        (Truth::Absent, _) | (_, Truth::Absent) => Truth::Absent,
        (Truth::True, Truth::True) => Truth::True,
    }
}

fn negated(truth: Truth) -> Truth {
    match truth {
        Truth::True => Truth::False,
        Truth::False => Truth::True,
        other @ (Truth::Absent | Truth::Error(_)) => other,
    }
}

fn elements<V: Value>(each: Each, list: &V, tests: &[Test], around: &impl Around<V>) -> Truth {
    let mut result = Truth::True;
    let mut index = 0;
    while let Some(element) = list.item(index) {
        if let Err(fault) = around.steps().take(1) {
            return Truth::Error(fault);
        }
        let passes = every(tests, |test| match test {
            Test::Derived(derived) => derived.judge(&element, around),
            test => judge_value(test, &element, around.steps()).into(),
        });
        // `any` is the negation of `none`, so that one fold does for the three.
        result = both(
            result,
            match each {
                Each::All => passes,
                Each::Any | Each::None => negated(passes),
            },
        );
        if result == Truth::False {
            break;
        }
        index += 1;
    }
    match each {
        Each::All | Each::None => result,
        Each::Any => negated(result),
    }
}

/// Compares a value that is there with what another path leads to.
fn refer<V: Value, W: Value>(
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
        Relative::In => within_set(left, right, &held, steps),
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

fn relate<V: Value>(right: &Step<V>, judge: impl FnOnce(&V) -> Result<bool, Fault>) -> Truth {
    match right {
        Step::Absent => Truth::Absent,
        Step::Unreadable => Truth::Error(Fault::WrongType),
        Step::Found(right) => judge(right).into(),
    }
}

/// Returns true if an element is in the list at another path.
fn within_set<V: Value, W: Value>(
    left: &W,
    right: &V,
    held: &Referent<V>,
    steps: &Steps,
) -> Result<bool, Fault> {
    let (here, there) = (sound(left.view())?, sound(right.view())?);
    if !matches!(there, View::List) {
        return Err(Fault::WrongType);
    }
    within(right.len())?;
    let wanted = single(&here)?;
    look_at(wanted, steps)?;
    held.set(right, steps)?.holds(wanted)
}

/// Takes the steps of comparing a text.
fn look_at(view: &View<'_>, steps: &Steps) -> Result<(), Fault> {
    match view {
        View::Str(text) => steps.text(text.len(), Pace::Compare),
        _ => Ok(()),
    }
}

fn related<V: Value, W: Value>(
    relative: Relative,
    left: &V,
    right: &W,
    steps: &Steps,
) -> Result<bool, Fault> {
    let (here, there) = (sound(left.view())?, sound(right.view())?);
    look_at(&here, steps)?;
    match relative {
        Relative::Equal => match (single(&here)?, single(&there)?) {
            (View::Bool(left), View::Bool(right)) => Ok(left == right),
            (View::Null, View::Bool(_)) => Ok(false),
            // As with a bool in the policy.
            (_, View::Bool(_)) => Err(Fault::WrongType),
            (left, right) => Ok(equal(left, right)),
        },
        Relative::Order(relation) => order(&here, &there).map(|order| relation.holds(order)),
        Relative::At(end) => match (&here, &there) {
            (View::Str(text), View::Str(affix)) => Ok(end.is_at(text, affix)),
            _ => Err(Fault::WrongType),
        },
        Relative::In => {
            if !matches!(there, View::List) {
                return Err(Fault::WrongType);
            }
            holds(right, single(&here)?, steps)
        }
        Relative::Contains => match (&here, single(&there)?) {
            (View::Str(text), View::Str(part)) => {
                steps.text(part.len(), Pace::Compare)?;
                Ok(memmem::find(text.as_bytes(), part.as_bytes()).is_some())
            }
            (View::List, part) => holds(left, part, steps),
            (View::Map, View::Str(key)) => match left.get(Key::unprepared(key)) {
                Step::Found(_) => Ok(true),
                Step::Absent => Ok(false),
                Step::Unreadable => Err(Fault::WrongType),
            },
            _ => Err(Fault::WrongType),
        },
    }
}

/// Bounds what elements are compared with.
fn within(size: usize) -> Result<(), Fault> {
    if size > MAX_REF_IN_ELEMENTS {
        Err(Fault::OutOfRange)
    } else {
        Ok(())
    }
}

/// A view that is no list and no mapping.
fn single<'a, 'v>(view: &'a View<'v>) -> Result<&'a View<'v>, Fault> {
    match view {
        View::List | View::Map => Err(Fault::WrongType),
        view => Ok(view),
    }
}

/// Returns true if a list has an element that equals a scalar.
fn holds<V: Value>(list: &V, wanted: &View<'_>, steps: &Steps) -> Result<bool, Fault> {
    let mut index = 0;
    while let Some(item) = list.item(index) {
        steps.take(1)?;
        let view = sound(item.view())?;
        look_at(&view, steps)?;
        if equal(&view, wanted) {
            return Ok(true);
        }
        index += 1;
    }
    Ok(false)
}

/// Equality of scalars: values of different type are not equal, and nothing equals a list or a mapping.
fn equal(left: &View<'_>, right: &View<'_>) -> bool {
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

fn order(left: &View<'_>, right: &View<'_>) -> Result<Ordering, Fault> {
    match (left, right) {
        (View::Str(left), View::Str(right)) => Ok(left.cmp(right)),
        (View::Timestamp(left), View::Timestamp(right)) => Ok(left.cmp(right)),
        (left, right) => number(right)
            .and_then(|right| compare(left, &right))
            .ok_or(Fault::WrongType),
    }
}
