//! The operators of the policy language: one [`Operator`] row each, in the file of its family, with the tests that its
//! operands are prepared as.
//!
//! To add an operator, add its row to `OPERATORS` of a family, and to the family what the row prepares. A new family is a line
//! of [`FAMILIES`] and, if it has a prepared form of its own, a line of [`Test`].

pub mod affix;
pub mod containment;
pub(crate) mod derived_key;
pub mod equality;
pub mod facet;
pub mod group;
pub mod membership;
pub mod nesting;
pub mod occurrence;
pub mod ordering;
pub(crate) mod parts;
pub mod pattern;
pub mod presence;
pub mod provenance;
pub mod reference;

use std::fmt;

use super::lynx::LynxOp;
use super::predicate::Test;
use super::prepared::PreparedConst;
use crate::budget::{Pace, Steps};
use crate::clause::inline::InlineTest;
use crate::error::Fault;
use crate::facets::Facet;
use crate::num::number::Number;
use crate::regex::NfaCompiler;
use crate::value::class::Classes;
use crate::value::{Value, View};
use affix::End;
use derived_key::DerivedKey;
use group::Connective;
use nesting::Derived;
use parts::PartKey;
use reference::Relative;

/// The families, frequent ones first: names are looked up in this order.
const FAMILIES: [&[Operator]; 12] = [
    equality::OPERATORS,
    membership::OPERATORS,
    pattern::OPERATORS,
    containment::OPERATORS,
    ordering::OPERATORS,
    affix::OPERATORS,
    presence::OPERATORS,
    nesting::OPERATORS,
    facet::OPERATORS,
    provenance::OPERATORS,
    occurrence::OPERATORS,
    group::OPERATORS,
];

/// One operator.
pub struct Operator {
    /// Its name in a policy.
    pub name: &'static str,
    /// The operands of the strict profile.
    pub operand: OperandType,
    /// The comparison with the value at another path, of an operator that takes `{ref: ..}`.
    pub(crate) relative: Option<Relative>,
    /// The derived values that it can test.
    pub inside: Inside,
    /// Its meaning in the `lynx` profile; `None`: the profile does not have it.
    pub lynx: Option<LynxOp>,
    pub(crate) prepare: Prepare,
}

/// An operator of a clause.
pub type Op = &'static Operator;

impl Operator {
    /// The operator a policy calls `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Op> {
        let mut operators = FAMILIES.into_iter().flatten();
        operators.find(|operator| operator.name == name)
    }

    /// Every operator.
    pub fn all() -> impl Iterator<Item = Op> {
        FAMILIES.into_iter().flatten()
    }
}

/// The rows of a family: of each operator the name, the operand, the derived values that it tests, the comparison with the
/// value at another path, the meaning in the `lynx` profile, the preparation.
macro_rules! operators {
    ($($name:literal $operand:expr, $inside:ident, $relative:expr, $lynx:expr, $prepare:expr;)*) => {
        pub(super) const OPERATORS: &[Operator] = &[$(Operator {
            name: $name,
            operand: $operand,
            inside: Inside::$inside,
            relative: $relative,
            lynx: $lynx,
            prepare: $prepare,
        }),*];
    };
}
use operators;

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The operands that an operator takes in the strict profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandType {
    /// Any constant.
    Any,
    /// A scalar.
    Scalar,
    /// A list of scalars.
    Scalars,
    /// A list of scalars that is not empty.
    SomeScalars,
    /// A number, a string or an instant.
    Bound,
    /// Two of the same type.
    Bounds,
    /// A bool.
    Bool,
    /// A string.
    Text,
    /// A string, or a list of strings that is not empty.
    Texts,
    /// Tests of a value derived from the value, each by an operator that tests such values.
    Tests(Inside),
    /// Tests of the value that a facet parses.
    Facet(Facet),
    /// Names of parts, and tests of the last one.
    Part,
    /// Names of sources.
    Sources,
    /// A text, a path, or several of them.
    Places,
    /// Tests of the value itself; inside of other tests only.
    Group,
}

/// The derived values that an operator can test, each kind including those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Inside {
    /// No derived values: the operator tests the path.
    Nothing,
    /// Elements of a list.
    Element,
    /// A string in lower case.
    Text,
    /// A length.
    Count,
}

/// Preparation of a clause by the form of its operand.
pub(crate) enum Prepare {
    /// From a constant.
    Constant(fn(PreparedConst) -> Option<Test>),
    /// From a pattern.
    Search,
    /// From tests of a derived value. `true`: the values are elements.
    Tests(fn(Vec<Test>) -> Derived, bool),
    /// From tests of the value that a facet parses.
    Facet(Facet),
    /// From tests of a part.
    Part,
    /// From texts and paths.
    Places,
    /// From tests of the same value.
    Group(Connective),
    /// From ranges, by the kind of the value.
    Within,
    /// From names of sources.
    Sources,
}

/// A prepared comparison with a constant: the properties that compilation and evaluation need.
pub(crate) trait OperatorTest {
    /// Steps that a long text takes.
    const PACE: Pace = Pace::Compare;

    /// Evaluates a sound value: a cell of the table of operators in `docs/reference/semantics.md`.
    fn eval<V: Value>(&self, value: &V, view: &View<'_>, steps: &Steps) -> Result<bool, Fault>;

    /// The facts that compilation needs.
    fn facts(&self) -> Facts;

    /// The key under which an index lists the rules that have it as a guard.
    fn key(&self) -> IndexKey<'_> {
        IndexKey::Scan
    }

    /// Builds what the first evaluation would build.
    fn prepare(&self, _compiler: &NfaCompiler) {}

    /// The same test with its operand inline, if it has one.
    fn inline(&self) -> InlineTest {
        InlineTest::None
    }
}

/// Facts of a prepared test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// The cost of evaluation, roughly in equality comparisons.
    pub(crate) cost: u32,
    /// The cost as a guard beside the rules that share it: the more values pass, the higher.
    /// That of tests with the key `Scalars` depends on the policy: `compile::guard` has it.
    pub(crate) guard_cost: u32,
    /// The classes of values that can be in error.
    pub(crate) fails: Classes,
}

/// The values for which a test is true, as far as an index can list them.
#[derive(Debug)]
pub(crate) enum IndexKey<'t> {
    /// Unknown: the test is evaluated on every value that is there.
    Scan,
    /// No value: the path is missing.
    Missing,
    /// These strings and integers.
    Scalars(&'t [Box<str>], &'t [i64]),
    /// The matches of a pattern; the one text that it matches, if there is one only.
    Pattern(Option<String>),
    /// The numbers of intervals.
    Intervals(Vec<Interval>),
    /// Values that contain one of these needles. `exact`: one is enough.
    Needles {
        needles: Vec<&'t PreparedConst>,
        exact: bool,
    },
    /// Texts with one of these in a part.
    Part(PartKey<'t>, Vec<&'t str>),
    /// Strings with one of these affixes.
    Affixes(End, &'t [Box<str>]),
    /// Values from which such a value is made.
    Derived(DerivedKey<'t>),
}

/// From bound to bound, each with whether it is within; `None` is no bound.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    pub(crate) from: Option<(Number, bool)>,
    pub(crate) to: Option<(Number, bool)>,
}
