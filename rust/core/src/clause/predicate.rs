//! Predicates: one prepared test per distinct clause, and its evaluation on a value in the strict profile.
//!
//! The tests are those of the operators in [`super::ops`]; the macro dispatches to them statically.

use super::context::Around;
use super::inline::InlineTest;
use super::ops::affix::Affix;
use super::ops::containment::Needles;
use super::ops::equality::{Deep, Flag, Scalar};
use super::ops::facet::Within;
use super::ops::membership::Membership;
use super::ops::nesting::{Derived, Each};
use super::ops::ordering::{Between, Order};
use super::ops::presence::Presence;
use super::ops::{Facts, IndexKey, OperatorTest};
use crate::budget::{Pace, Steps};
use crate::error::Fault;
use crate::limits::FREE_TEXT;
use crate::regex::{NfaCompiler, Pattern};
use crate::value::class::Classes;
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

impl Truth {
    /// The negation; what is neither true nor false stays.
    #[inline]
    #[must_use]
    pub(crate) fn negated(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            other @ (Self::Absent | Self::Error(_)) => other,
        }
    }

    /// The conjunction: false before the first error, an error before absence.
    #[inline]
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::False, _) | (_, Self::False) => Self::False,
            (Self::Error(fault), _) | (_, Self::Error(fault)) => Self::Error(fault),
            (Self::Absent, _) | (_, Self::Absent) => Self::Absent,
            (Self::True, Self::True) => Self::True,
        }
    }
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

macro_rules! tests {
    ($($(#[$doc:meta])* $name:ident($form:ty),)*) => {
        /// A prepared test.
        #[derive(Debug)]
        pub enum Test {
            $($(#[$doc])* $name($form),)*
            /// A comparison with another value of the request, or of something made from the value.
            Derived(Box<Derived>),
            /// A clause that could not be prepared. Loading rules this out; such a clause would be in error on every request.
            Broken,
        }

        impl Test {
            /// The facts that compilation needs.
            pub(crate) fn facts(&self) -> Facts {
                match self {
                    $(Self::$name(test) => test.facts(),)*
                    Self::Derived(test) => test.facts(),
                    Self::Broken => Facts { cost: 1, guard_cost: 0, fails: Classes::ALL },
                }
            }

            /// Returns true if it tests the state of the run, at whose path a request has nothing.
            pub(crate) fn reads_run(&self) -> bool {
                match self {
                    Self::Derived(test) => matches!(test.as_ref(), Derived::Run(..)),
                    _ => false,
                }
            }

            /// Returns true if it can be a guard.
            pub(crate) fn guards(&self) -> bool {
                match self {
                    // Walking the rules ends at the first one that fires; guards are evaluated for all of them.
                    Self::Membership(test) if test.negates() => false,
                    $(Self::$name(_) => true,)*
                    // A clause that is absent although its own path is there would hide the errors of the others.
                    Self::Derived(test) => {
                        let negates = matches!(test.as_ref(), Derived::Elements(Each::None, ..));
                        let part = || matches!(test.key(), IndexKey::Part(..));
                        !negates && (!test.may_be_absent() || part())
                    }
                    Self::Broken => false,
                }
            }

            /// The key under which an index lists the rules that have it as a guard.
            pub(crate) fn key(&self) -> IndexKey<'_> {
                match self {
                    $(Self::$name(test) => test.key(),)*
                    Self::Derived(test) => test.key(),
                    Self::Broken => IndexKey::Scan,
                }
            }

            /// The same test with its operand inline, if it has one.
            pub(crate) fn inline(&self) -> InlineTest {
                match self {
                    $(Self::$name(test) => test.inline(),)*
                    Self::Derived(derived) => derived.inline(),
                    Self::Broken => InlineTest::None,
                }
            }

            /// Builds what the first evaluation would build.
            pub(crate) fn prepare(&self, compiler: &NfaCompiler) {
                match self {
                    $(Self::$name(test) => test.prepare(compiler),)*
                    Self::Derived(_) | Self::Broken => {}
                }
            }

            /// The steps that a long text takes.
            #[inline]
            fn pace(&self) -> Pace {
                match self {
                    $(Self::$name(_) => <$form>::PACE,)*
                    Self::Derived(_) | Self::Broken => Pace::Compare,
                }
            }

            #[inline]
            fn eval<V: Value>(
                &self,
                value: &V,
                view: &View<'_>,
                steps: &Steps,
            ) -> Result<bool, Fault> {
                match self {
                    $(Self::$name(test) => test.eval(value, view, steps),)*
                    Self::Derived(_) | Self::Broken => Err(Fault::WrongType),
                }
            }
        }
    };
}

tests! {
    /// Equality with a scalar that is no bool.
    Equal(Scalar),
    /// Equality with a bool.
    EqualBool(Flag),
    /// Equality with a list or a mapping.
    EqualDeep(Deep),
    /// A value and a list of scalars.
    Membership(Membership),
    /// A pattern.
    Matches(Pattern),
    /// Containment.
    Contains(Needles),
    /// A comparison with a bound.
    Order(Order),
    /// A comparison with two bounds.
    Between(Between),
    /// One of some texts at an end.
    Affix(Affix),
    /// One of some ranges.
    Within(Within),
    /// A test of what is there at all.
    Presence(Presence),
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
pub(crate) fn evaluate<V: Value>(test: &Test, step: &Step<V>, around: &impl Around<V>) -> Truth {
    evaluate_within::<V, V>(test, step, around)
}

/// The same for what a path into a value of the request, or into a parsed one, led to.
#[inline]
pub(crate) fn evaluate_within<V: Value, W: Value>(
    test: &Test,
    step: &Step<W>,
    around: &impl Around<V>,
) -> Truth {
    match (step, test) {
        (_, Test::Broken) => Truth::Error(Fault::WrongType),
        (Step::Found(value), Test::Derived(test)) => test.evaluate(value, around),
        (Step::Found(value), test) => eval_value(test, value, around.steps()).into(),
        (_, Test::Presence(Presence::Exists(wanted))) => (!wanted).into(),
        (Step::Absent, Test::Derived(test)) => test.evaluate_run(around),
        (Step::Absent, _) => Truth::Absent,
        (Step::Unreadable, _) => Truth::Error(Fault::WrongType),
    }
}

#[inline]
pub(crate) fn eval_value<V: Value>(test: &Test, value: &V, steps: &Steps) -> Result<bool, Fault> {
    if let Test::Presence(Presence::Exists(wanted)) = test {
        return Ok(*wanted);
    }
    // PERF: a view stays where it is made. Moving one copies it in pieces, which the processor cannot read back as a
    // whole without waiting for them.
    if let Some(text) = value.text() {
        return eval_view(test, value, &View::Str(text), steps);
    }
    let view = value.view();
    check(&view)?;
    eval_view(test, value, &view, steps)
}

fn eval_view<V: Value>(
    test: &Test,
    value: &V,
    view: &View<'_>,
    steps: &Steps,
) -> Result<bool, Fault> {
    if let View::Str(text) = view
        && text.len() >= FREE_TEXT
    {
        steps.text(text.len(), test.pace())?;
    }
    test.eval(value, view, steps)
}
