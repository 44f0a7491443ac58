//! The fast path of a function: the nodes of its CFG that need no interpreter, with their tests prepared.
//!
//! A test that an operator of the policy language has too is a clause of the program: it shares the memory, the pattern
//! sets and the index of the clauses of other rules. The other tests are [`Predicate`]s of their own. `eval` walks the
//! nodes; [`super::analysis`] follows them to find out which requests a function has to see.
//!
//! INVARIANT: a test is true or false here only where Python finds it so, without an exception. Where it is neither, the
//! interpreter evaluates the node.

pub(crate) mod prepare;

use std::cmp::Ordering;

use super::ast::{Comparison, Types};
use super::consts::PyConst;
use crate::clause::predicate::Test;
use crate::value::compare::{compare, number};
use crate::value::{Value, View};

/// A node of the fast path.
#[derive(Debug)]
pub(crate) enum FastNode {
    /// The interpreter evaluates it.
    Interp,
    /// None is returned.
    ReturnNone,
    /// A decision that is always the same.
    ReturnStatic(u32),
    /// A local takes what is read; what follows.
    Bind(Read, u32),
    /// A test; what follows when it is true, and when it is false.
    Test(Read, Predicate, u32, u32),
}

/// The value that a node reads.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) path: u32,
    /// True if a local already holds the value: it must be the value that was read then.
    pub(crate) held: bool,
    /// The value where the path leads nowhere; `None`: the read raises.
    pub(crate) otherwise: Option<Box<Otherwise>>,
}

/// `owner.get(key, default)` of a mapping without the key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Otherwise {
    pub(crate) owner: u32,
    pub(crate) default: Scalar,
    /// The result of the test for the default; `None`: it raises, or the interpreter finds out.
    pub(crate) truth: Option<bool>,
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Box<str>),
}

/// A test of a value.
#[derive(Debug)]
pub(crate) enum Predicate {
    /// A test of the policy language, in a loop or before it is a clause.
    Test(Box<Test>),
    /// A clause of the program, by its index.
    Clause(u32),
    /// Both tests hold, the first one before the second: a chain of comparisons.
    Both(Box<[Test; 2]>),
    /// Its truth.
    Truth,
    /// The value is None.
    Null,
    /// The value is of one of these types.
    Is(Types),
    /// `value operator constant`
    Compare(Comparison, Scalar),
    /// `value operator value`
    With(Comparison, Read),
    /// The test holds for each of its elements, or for any.
    Each(Box<Each>),
}

/// `any(test for element in value)`, or `all`.
#[derive(Debug)]
pub(crate) struct Each {
    pub(crate) any: bool,
    pub(crate) predicate: Predicate,
    /// True if the result of the test is negated.
    pub(crate) negated: bool,
}

impl Read {
    /// Returns true if both have the same value.
    fn reads_as(&self, other: &Self) -> bool {
        self.path == other.path && self.otherwise == other.otherwise
    }
}

impl Scalar {
    pub(crate) fn of(constant: &PyConst) -> Option<Self> {
        Some(match constant {
            PyConst::None => Self::None,
            PyConst::Bool(flag) => Self::Bool(*flag),
            PyConst::Int(number) => Self::Int(*number),
            PyConst::Float(number) => Self::Float(*number),
            PyConst::Str(text) => Self::Str(text.clone()),
            _ => return None,
        })
    }
}

impl Value for Scalar {
    fn view(&self) -> View<'_> {
        match self {
            Self::None => View::Null,
            Self::Bool(flag) => View::Bool(*flag),
            Self::Int(number) => View::Int(*number),
            Self::Float(number) => View::Float(*number),
            Self::Str(text) => View::Str(text),
        }
    }
}

/// `bool(value)` of a scalar.
#[inline]
pub(crate) fn truth(view: &View<'_>) -> Option<bool> {
    Some(match view {
        View::Null => false,
        View::Bool(flag) => *flag,
        View::Int(number) => *number != 0,
        View::Float(number) => *number != 0.0,
        View::Str(text) => !text.is_empty(),
        _ => return None,
    })
}

/// The types `isinstance` finds a scalar to be.
#[inline]
pub(crate) fn types(view: &View<'_>) -> Option<Types> {
    Some(match view {
        View::Null => Types::NONE,
        View::Bool(_) => Types::BOOL.and(Types::INT),
        View::Int(_) => Types::INT,
        View::Float(_) => Types::FLOAT,
        View::Str(_) => Types::STR.and(Types::SEQUENCE),
        _ => return None,
    })
}

/// `left operator right` of scalars, but for membership.
#[inline]
pub(crate) fn compared(left: &View<'_>, operator: Comparison, right: &View<'_>) -> Option<bool> {
    use Comparison::{Eq, Ge, Gt, In, Is, IsNot, Le, Lt, Ne, NotIn};
    let numbers = plain_number(left).zip(plain_number(right));
    // Of NaN and another number there is no order.
    let order = match (left, right, numbers) {
        (View::Str(left), View::Str(right), _) => Some(Some((*left).cmp(right))),
        (_, _, Some((left, right))) => {
            Some(number(&right).and_then(|right| compare(&left, &right)))
        }
        _ => None,
    };
    let same = match (left, right) {
        (View::Null, View::Null) => Some(true),
        (View::Bool(left), View::Bool(right)) => Some(left == right),
        (View::Null | View::Bool(_), _) | (_, View::Null | View::Bool(_)) => Some(false),
        _ => None,
    };
    match operator {
        Eq | Ne => {
            truth(left).and(truth(right))?;
            let equal = match order {
                Some(order) => order == Some(Ordering::Equal),
                None => same == Some(true),
            };
            Some(equal == (operator == Eq))
        }
        Is | IsNot => Some(same? == (operator == Is)),
        Lt => order.map(|order| order.is_some_and(Ordering::is_lt)),
        Le => order.map(|order| order.is_some_and(Ordering::is_le)),
        Gt => order.map(|order| order.is_some_and(Ordering::is_gt)),
        Ge => order.map(|order| order.is_some_and(Ordering::is_ge)),
        In | NotIn => None,
    }
}

/// A number of 64 bits; a boolean is the integer it is.
fn plain_number(view: &View<'_>) -> Option<View<'static>> {
    Some(match view {
        View::Bool(flag) => View::Int(i64::from(*flag)),
        View::Int(number) => View::Int(*number),
        View::Float(number) => View::Float(*number),
        _ => return None,
    })
}
