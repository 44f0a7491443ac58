//! Predicates: one prepared test per distinct clause, and its evaluation on a value in the strict profile.
//!
//! `docs/reference/semantics.md` is the contract: every arm here is a cell of its operator table.

use std::cmp::Ordering;

use super::context::Around;
pub use super::ops::contains::{Needle, Needles, Quantity};
use super::ops::derived::{Derived, End};
pub use super::ops::scalar_set::ScalarSet;
use super::prepared::PreparedConst;
use crate::budget::{Pace, Steps};
use crate::error::Fault;
use crate::limits::FREE_TEXT;
use crate::regex::{Matcher, Pattern};
use crate::value::compare::compare;
use crate::value::{Step, Value, View};

/// The four truth values. A missing path is [`Truth::Absent`] here for every rule; `eval` makes it false where a rule
/// restricts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// True.
    True,
    /// False.
    False,
    /// The path is not there.
    Absent,
    /// The value cannot be evaluated.
    Error(Fault),
}

impl From<bool> for Truth {
    fn from(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }
}

impl From<Result<bool, Fault>> for Truth {
    fn from(value: Result<bool, Fault>) -> Self {
        match value {
            Ok(value) => value.into(),
            Err(fault) => Self::Error(fault),
        }
    }
}

/// The order an ordering operator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `gt`
    Gt,
    /// `ge`
    Ge,
    /// `lt`
    Lt,
    /// `le`
    Le,
}

impl Relation {
    /// Returns true if a value with this ordering relative to the operand passes.
    #[must_use]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Gt => order == Ordering::Greater,
            Self::Ge => order != Ordering::Less,
            Self::Lt => order == Ordering::Less,
            Self::Le => order != Ordering::Greater,
        }
    }
}

/// A prepared test.
#[derive(Debug)]
pub enum Test {
    /// `eq` with a scalar that is no bool.
    Equal(PreparedConst),
    /// `eq` with a bool.
    EqualBool(bool),
    /// `eq` with a list or a mapping.
    EqualDeep(PreparedConst),
    /// `in`
    In(ScalarSet),
    /// `matches`
    Matches(Search),
    /// `contains`, `contains_any`, `contains_all`
    Contains(Needles, Quantity),
    /// `gt`, `ge`, `lt`, `le`
    Order(Relation, PreparedConst),
    /// `between`, and negated `not_between`.
    Between {
        /// The lower bound, within.
        lo: PreparedConst,
        /// The upper bound, within.
        hi: PreparedConst,
        /// True if the result is negated.
        negated: bool,
    },
    /// `starts_with`, `ends_with`, with any of some texts.
    Affix(End, Vec<Box<str>>),
    /// A comparison with another value of the request, or of something made from the value.
    Derived(Box<Derived>),
    /// `exists`
    Exists(bool),
    /// A clause that could not be prepared. Loading rules this out; such a clause would be in error on every request.
    Broken,
}

/// A pattern, and what searches it.
#[derive(Debug)]
pub struct Search {
    /// The pattern.
    pub pattern: Pattern,
    matcher: Matcher,
}

impl Search {
    /// The search for `pattern`.
    #[must_use]
    pub fn new(pattern: Pattern) -> Self {
        let matcher = pattern.compile();
        Self { pattern, matcher }
    }

    /// Makes what the first search would make.
    pub(crate) fn prepare(&self) {
        self.matcher.prepare();
    }

    /// Returns true if the pattern is found in `text`.
    #[inline]
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.matcher.is_match(text)
    }

    /// The same, within what is left of a budget.
    #[inline]
    pub(crate) fn is_match_within(&self, text: &str, steps: &Steps) -> Result<bool, Fault> {
        self.matcher.is_match_within(text, steps)
    }
}

/// The errors that hold whatever the operator.
///
/// # Errors
/// The value cannot be evaluated by any operator.
#[inline]
pub fn sound<'v>(view: View<'v>) -> Result<View<'v>, Fault> {
    check(&view).map(|()| view)
}

#[inline]
fn check(view: &View<'_>) -> Result<(), Fault> {
    match view {
        View::Float(value) if value.is_nan() => Err(Fault::Nan),
        View::BadStr => Err(Fault::BadUnicode),
        View::HugeInt => Err(Fault::OutOfRange),
        View::Opaque => Err(Fault::WrongType),
        _ => Ok(()),
    }
}

/// Evaluates what a path led to. `around` reads the paths that operands refer to, and has the budget.
#[inline]
pub(crate) fn judge<V: Value>(test: &Test, step: &Step<V>, around: &impl Around<V>) -> Truth {
    match (step, test) {
        (_, Test::Broken) => Truth::Error(Fault::WrongType),
        (Step::Found(value), Test::Derived(test)) => test.judge(value, around),
        (Step::Found(value), test) => judge_value(test, value, around.steps()).into(),
        (_, Test::Exists(wanted)) => (!wanted).into(),
        (Step::Absent, _) => Truth::Absent,
        (Step::Unreadable, _) => Truth::Error(Fault::WrongType),
    }
}

#[inline]
pub(crate) fn judge_value<V: Value>(test: &Test, value: &V, steps: &Steps) -> Result<bool, Fault> {
    if let Test::Exists(wanted) = test {
        return Ok(*wanted);
    }
    // PERF: a view stays where it is made. Moving one copies it in pieces, which the processor cannot read back as a
    // whole without waiting for them.
    if let Some(text) = value.text() {
        return judge_view(test, value, &View::Str(text), steps);
    }
    let view = value.view();
    check(&view)?;
    judge_view(test, value, &view, steps)
}

fn judge_view<V: Value>(
    test: &Test,
    value: &V,
    view: &View<'_>,
    steps: &Steps,
) -> Result<bool, Fault> {
    if let View::Str(text) = view
        && text.len() >= FREE_TEXT
    {
        let pace = match test {
            Test::Matches(_) => Pace::Search,
            _ => Pace::Compare,
        };
        steps.text(text.len(), pace)?;
    }
    match test {
        Test::Equal(operand) => match view {
            View::List | View::Map => Err(Fault::WrongType),
            view => Ok(super::prepared::scalar_equal(view, operand)),
        },
        Test::EqualBool(wanted) => match view {
            View::Bool(value) => Ok(value == wanted),
            View::Null => Ok(false),
            // What a tool takes for true may be `1` or `"yes"`.
            _ => Err(Fault::WrongType),
        },
        Test::EqualDeep(operand) => match view {
            View::List | View::Map => super::prepared::deep_equal(value, operand, steps),
            View::Null => Ok(false),
            _ => Err(Fault::WrongType),
        },
        Test::In(set) => match view {
            View::List | View::Map => Err(Fault::WrongType),
            view => set.judge(view),
        },
        Test::Matches(search) => match view {
            View::Str(text) => search.is_match_within(text, steps),
            _ => Err(Fault::WrongType),
        },
        Test::Contains(needles, quantity) => needles.judge(value, view, (*quantity, steps)),
        Test::Order(relation, bound) => order(view, bound).map(|order| relation.holds(order)),
        Test::Between { lo, hi, negated } => {
            let inside =
                order(view, lo)? != Ordering::Less && order(view, hi)? != Ordering::Greater;
            Ok(inside != *negated)
        }
        Test::Affix(end, texts) => match view {
            View::Str(text) => Ok(end.has_one(text, texts)),
            _ => Err(Fault::WrongType),
        },
        Test::Exists(_) => Ok(false),
        Test::Derived(_) | Test::Broken => Err(Fault::WrongType),
    }
}

/// The order of a value to a bound of the same type.
fn order(view: &View<'_>, bound: &PreparedConst) -> Result<Ordering, Fault> {
    match (view, bound) {
        (View::Str(text), PreparedConst::Str(bound)) => Ok((*text).cmp(bound)),
        (View::Timestamp(at), PreparedConst::Timestamp(bound)) => Ok(at.cmp(bound)),
        (view, PreparedConst::Number(bound)) => compare(view, bound).ok_or(Fault::WrongType),
        _ => Err(Fault::WrongType),
    }
}
