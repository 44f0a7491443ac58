//! Matchers: one prepared test per distinct clause, and how it judges a value in the strict profile.
//!
//! `docs/reference/semantics.md` is the contract: every arm here is a cell of its operator table.

pub mod derived;
pub mod lynx;
pub mod number;
pub mod operand;
mod scalars;

use std::cmp::Ordering;

use memchr::memmem::Finder;

use crate::error::ErrorCode;
use crate::pattern::{Matcher, Pattern};
use crate::value::{Key, Step, Value, View};
use derived::{Derived, End};
use number::compare;
use operand::Operand;
pub use scalars::ScalarSet;

/// Why a value cannot be judged, in the strict profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// [`ErrorCode::WrongType`]
    WrongType,
    /// [`ErrorCode::Nan`]
    Nan,
    /// [`ErrorCode::BadUnicode`]
    BadUnicode,
    /// [`ErrorCode::OutOfRange`]
    OutOfRange,
}

impl From<Fault> for ErrorCode {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::WrongType => Self::WrongType,
            Fault::Nan => Self::Nan,
            Fault::BadUnicode => Self::BadUnicode,
            Fault::OutOfRange => Self::OutOfRange,
        }
    }
}

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
    /// The value cannot be judged.
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
    /// Whether a value in this order to the operand passes.
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

/// One operand of a containment test.
#[derive(Debug)]
pub struct Needle {
    /// What an element of a list must equal.
    pub operand: Operand,
    /// Of a string: how it is found in a text.
    pub text: Option<Finder<'static>>,
}

impl Needle {
    /// The needle that is `operand`.
    #[must_use]
    pub fn new(operand: Operand) -> Self {
        let text = match &operand {
            Operand::Str(text) => Some(Finder::new(text.as_bytes()).into_owned()),
            _ => None,
        };
        Self { operand, text }
    }
}

/// Which of several needles must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// `contains`, `contains_any`
    Any,
    /// `contains_all`
    All,
}

/// A prepared test.
#[derive(Debug)]
pub enum Test {
    /// `eq` with a scalar that is no bool.
    Equal(Operand),
    /// `eq` with a bool.
    EqualBool(bool),
    /// `eq` with a list or a mapping.
    EqualDeep(Operand),
    /// `in`
    In(ScalarSet),
    /// `matches`
    Matches(Search),
    /// `contains`, `contains_any`, `contains_all`
    Contains(Vec<Needle>, Quantity),
    /// `gt`, `ge`, `lt`, `le`
    Order(Relation, Operand),
    /// `between`, and negated `not_between`.
    Between {
        /// The lower bound, within.
        lo: Operand,
        /// The upper bound, within.
        hi: Operand,
        /// Whether the answer is negated.
        negated: bool,
    },
    /// `starts_with`, `ends_with`, with any of some texts.
    Affix(End, Vec<Box<str>>),
    /// A comparison with another value of the request, or of something made from the value.
    Derived(Box<Derived>),
    /// `exists`
    Exists(bool),
    /// A clause that could not be prepared. There is none, and it would be in error on every request.
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

    /// Whether the pattern is found in `text`.
    #[inline]
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.matcher.is_match(text)
    }
}

/// The errors that hold whatever the operator.
///
/// # Errors
/// The value cannot be judged by any operator.
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

/// Judges what a path led to. `at` reads the paths that operands refer to.
#[inline]
pub fn judge<V: Value>(test: &Test, step: &Step<V>, at: &impl Fn(u32) -> Step<V>) -> Truth {
    match (step, test) {
        (_, Test::Broken) => Truth::Error(Fault::WrongType),
        (Step::Found(value), Test::Derived(test)) => test.judge(value, at),
        (Step::Found(value), test) => judge_value(test, value).into(),
        (_, Test::Exists(wanted)) => (!wanted).into(),
        (Step::Absent, _) => Truth::Absent,
        (Step::Unreadable, _) => Truth::Error(Fault::WrongType),
    }
}

#[inline]
fn judge_value<V: Value>(test: &Test, value: &V) -> Result<bool, Fault> {
    if let Test::Exists(wanted) = test {
        return Ok(*wanted);
    }
    // PERF: a view stays where it is made. Moving one copies it in pieces, which the processor cannot read back as a
    // whole without waiting for them.
    if let Some(text) = value.text() {
        return judge_view(test, value, &View::Str(text));
    }
    let view = value.view();
    check(&view)?;
    judge_view(test, value, &view)
}

fn judge_view<V: Value>(test: &Test, value: &V, view: &View<'_>) -> Result<bool, Fault> {
    match test {
        Test::Equal(operand) => match view {
            View::List | View::Map => Err(Fault::WrongType),
            view => Ok(operand::scalar_equal(view, operand)),
        },
        Test::EqualBool(wanted) => match view {
            View::Bool(value) => Ok(value == wanted),
            View::Null => Ok(false),
            // What a tool takes for true may be `1` or `"yes"`.
            _ => Err(Fault::WrongType),
        },
        Test::EqualDeep(operand) => match view {
            View::List | View::Map => operand::deep_equal(value, operand),
            View::Null => Ok(false),
            _ => Err(Fault::WrongType),
        },
        Test::In(set) => match view {
            View::List | View::Map => Err(Fault::WrongType),
            view => set.judge(view),
        },
        Test::Matches(search) => match view {
            View::Str(text) => Ok(search.is_match(text)),
            _ => Err(Fault::WrongType),
        },
        Test::Contains(needles, quantity) => contains(value, view, needles, *quantity),
        Test::Order(relation, bound) => order(view, bound).map(|order| relation.holds(order)),
        Test::Between { lo, hi, negated } => {
            let inside =
                order(view, lo)? != Ordering::Less && order(view, hi)? != Ordering::Greater;
            Ok(inside != *negated)
        }
        Test::Affix(end, texts) => match view {
            View::Str(text) => Ok(texts.iter().any(|affix| end.is_at(text, affix))),
            _ => Err(Fault::WrongType),
        },
        Test::Exists(_) => Ok(false),
        Test::Derived(_) | Test::Broken => Err(Fault::WrongType),
    }
}

/// The order of a value to a bound of the same type.
fn order(view: &View<'_>, bound: &Operand) -> Result<Ordering, Fault> {
    match (view, bound) {
        (View::Str(text), Operand::Str(bound)) => Ok((*text).cmp(bound)),
        (View::Timestamp(at), Operand::Timestamp(bound)) => Ok(at.cmp(bound)),
        (view, Operand::Number(bound)) => compare(view, bound).ok_or(Fault::WrongType),
        _ => Err(Fault::WrongType),
    }
}

fn contains<V: Value>(
    value: &V,
    view: &View<'_>,
    needles: &[Needle],
    quantity: Quantity,
) -> Result<bool, Fault> {
    if !matches!(view, View::Str(_) | View::List | View::Map) {
        return Err(Fault::WrongType);
    }
    let decisive = quantity == Quantity::Any;
    let mut fault = None;
    for needle in needles {
        match holds(value, view, needle) {
            Ok(answer) if answer == decisive => return Ok(answer),
            Ok(_) => {}
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    fault.map_or(Ok(!decisive), Err)
}

/// Whether one needle is in the value.
fn holds<V: Value>(value: &V, view: &View<'_>, needle: &Needle) -> Result<bool, Fault> {
    if let (View::Map, Operand::Str(key)) = (view, &needle.operand) {
        return match value.get(Key::unprepared(key)) {
            Step::Found(_) => Ok(true),
            Step::Absent => Ok(false),
            Step::Unreadable => Err(Fault::WrongType),
        };
    }
    match (view, &needle.text) {
        (View::Str(text), Some(finder)) => Ok(finder.find(text.as_bytes()).is_some()),
        (View::List, _) => {
            let mut index = 0;
            while let Some(item) = value.item(index) {
                let view = sound(item.view())?;
                if operand::scalar_equal(&view, &needle.operand) {
                    return Ok(true);
                }
                index += 1;
            }
            Ok(false)
        }
        _ => Err(Fault::WrongType),
    }
}
