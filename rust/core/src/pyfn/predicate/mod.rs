//! Predicates of the fast path: tests on single values, prepared when a function is decoded.

pub(crate) mod prepare;

use super::ast::{Comparison, Types};
use super::consts::PyConst;

/// A node of the fast path.
#[derive(Debug)]
pub(crate) enum FastNode {
    /// It does not.
    Interp,
    /// None is returned.
    ReturnNone,
    /// A decision that is always the same.
    ReturnStatic(u32),
    /// A local takes what is read; what follows.
    Bind(Read, u32),
    /// A test that [`super::inline_eval`] evaluates; what follows when it is true, and when it is false.
    Written(u32, u32),
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
#[derive(Clone, Debug)]
pub(crate) struct Otherwise {
    pub(crate) owner: u32,
    pub(crate) default: Scalar,
    pub(crate) fuel: u64,
}

/// A constant.
#[derive(Clone, Debug)]
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
    /// Its truth.
    Truth,
    /// The value is None; false: it is not None.
    Null(bool),
    /// `value == text`; false: `value != text`.
    Text(Box<str>, bool),
    /// `value operator number`
    Int(Order, i64),
    /// `value operator constant`
    Compare(Comparison, Scalar),
    /// `constant operator value operator constant`, as two comparisons of the value.
    Between(Box<[(Comparison, Scalar); 2]>),
    /// `value operator value`
    With(Comparison, Read),
    /// The value is one of these; true: it is not one of them.
    Among(Box<[Box<str>]>, bool),
    /// The value contains this; true: it does not.
    Finds(Box<str>, bool),
    /// The value begins with one of these; true: it ends with one of them.
    Affix(Box<[Box<str>]>, bool),
    /// The value is a key of the mapping that another path leads to; true: it is not.
    Has(u32, bool),
    /// The value is of one of these types.
    Is(Types),
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

/// An order or an equality, and the orders of two numbers that it holds for. PERF: these are looked up, not branched on.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) operator: Comparison,
    pub(crate) less: bool,
    pub(crate) equal: bool,
    pub(crate) greater: bool,
}

impl Order {
    pub(crate) fn new(operator: Comparison) -> Option<Self> {
        use Comparison::{Eq, Ge, Gt, In, Is, IsNot, Le, Lt, Ne, NotIn};
        let (less, equal, greater) = match operator {
            Eq => (false, true, false),
            Ne => (true, false, true),
            Lt => (true, false, false),
            Le => (true, true, false),
            Gt => (false, false, true),
            Ge => (false, true, true),
            In | NotIn | Is | IsNot => return None,
        };
        Some(Self {
            operator,
            less,
            equal,
            greater,
        })
    }

    /// Returns true if `number operator bound`.
    #[inline]
    pub(crate) fn holds(&self, number: i64, bound: i64) -> bool {
        (self.less & (number < bound))
            | (self.equal & (number == bound))
            | (self.greater & (number > bound))
    }

    /// Returns the steps that the walk takes to compare two numbers beyond reading them: finding that they are not texts.
    #[inline]
    pub(crate) fn fuel(&self) -> u64 {
        u64::from(matches!(self.operator, Comparison::Eq | Comparison::Ne))
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
