//! `length`, `byte_length`, `lower`, `any`, `all`, `none`, `first`: tests of something made from the value.

use super::group::Connective;
use super::occurrence::Occurrence;
use super::reference::{Relative, refer, refer_run};
use super::{Facts, IndexKey, Inside, OperandType, Operator, Prepare, operators};
use crate::budget::{Pace, Steps};
use crate::chars;
use crate::clause::context::Around;
use crate::clause::inline::InlineTest;
use crate::clause::predicate::{Test, Truth, eval_value, evaluate_within, sound};
use crate::error::Fault;
use crate::facets::{Facet, Part};
use crate::lang::path::Key;
use crate::limits::FREE_COUNT;
use crate::value::class::Classes;
use crate::value::memory::{LeafValue, Wanted};
use crate::value::{Step, Value, View};

operators! {
    "length" OperandType::Tests(Inside::Count), Element, None, None, Prepare::Tests(Derived::Length, false);
    "byte_length" OperandType::Tests(Inside::Count), Element, None, None, Prepare::Tests(Derived::ByteLength, false);
    "lower" OperandType::Tests(Inside::Text), Element, None, None, Prepare::Tests(Derived::Lower, false);
    "any" OperandType::Tests(Inside::Element), Element, None, None,
        Prepare::Tests(|tests| Derived::elements(Each::Any, tests), true);
    "all" OperandType::Tests(Inside::Element), Element, None, None,
        Prepare::Tests(|tests| Derived::elements(Each::All, tests), true);
    "none" OperandType::Tests(Inside::Element), Element, None, None,
        Prepare::Tests(|tests| Derived::elements(Each::None, tests), true);
    "first" OperandType::Tests(Inside::Element), Element, None, None,
        Prepare::Tests(|tests| Derived::elements(Each::First, tests), true);
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
    /// The first; of an empty list, false.
    First,
}

/// A prepared test that needs more than a value and a constant.
#[derive(Debug)]
pub enum Derived {
    /// Of the length.
    Length(Vec<Test>),
    /// Of the length in UTF-8.
    ByteLength(Vec<Test>),
    /// Of the text in lower case.
    Lower(Vec<Test>),
    /// Of each element; a single test also stands here as an inline one.
    Elements(Each, Vec<Test>, InlineTest),
    /// Of the value that a facet parses.
    Facet(Facet, Vec<Test>),
    /// Of a part, by the names that lead to it; a single test also stands here as an inline one.
    Part(PartPath, Vec<Test>, InlineTest),
    /// Of the value itself.
    Group(Connective, Vec<Test>),
    /// Occurrence in other texts.
    Occurs(Occurrence),
    /// A comparison with the value at another path.
    Ref {
        /// The comparison.
        relative: Relative,
        /// An index into the paths of the program.
        path: u32,
        /// True if the comparison runs once for every element of a list.
        each: bool,
    },
    /// Tests of a definition of the state of the run, whatever is at the path.
    Run(u32, Vec<Test>),
    /// A comparison with a definition of the state of the run.
    RunRef(Relative, u32),
    /// The value came from one of some sources.
    From(Wanted),
}

impl Derived {
    fn elements(each: Each, tests: Vec<Test>) -> Self {
        let inline = single(&tests);
        Self::Elements(each, tests, inline)
    }

    pub(crate) fn part(path: PartPath, tests: Vec<Test>) -> Self {
        let inline = single(&tests);
        Self::Part(path, tests, inline)
    }

    pub(crate) fn facts(&self) -> Facts {
        let cost = match self {
            Self::Ref { .. } | Self::Length(_) | Self::ByteLength(_) | Self::Part(..) => 4,
            Self::Elements(Each::First, ..) => 6,
            Self::Facet(..) => 30,
            Self::Group(..) => 10,
            Self::Lower(_) | Self::Elements(..) | Self::RunRef(..) => 20,
            Self::Run(..) | Self::From(_) | Self::Occurs(_) => 40,
        };
        Facts {
            cost,
            guard_cost: match self.key() {
                IndexKey::Part(..) | IndexKey::Derived(_) => 3,
                _ => 8,
            },
            fails: Classes::ALL,
        }
    }

    /// The test as an inline one.
    pub(crate) fn inline(&self) -> InlineTest {
        match self {
            Self::Length(tests) => InlineTest::length(false, tests.iter().map(Test::inline)),
            Self::ByteLength(tests) => InlineTest::length(true, tests.iter().map(Test::inline)),
            _ => InlineTest::None,
        }
    }

    /// Returns true if the clause can be absent although its own path is there: it reads another path, or a part.
    #[must_use]
    pub fn may_be_absent(&self) -> bool {
        let absent = |tests: &[Test]| {
            tests.iter().any(|test| match test {
                Test::Derived(derived) => derived.may_be_absent(),
                _ => false,
            })
        };
        match self {
            Self::Length(tests)
            | Self::ByteLength(tests)
            | Self::Lower(tests)
            | Self::Elements(_, tests, _)
            | Self::Facet(_, tests)
            | Self::Group(_, tests) => absent(tests),
            Self::Occurs(occurrence) => occurrence.refers(),
            Self::Ref { .. } | Self::Part(..) | Self::Run(..) | Self::RunRef(..) => true,
            Self::From(_) => false,
        }
    }

    /// Evaluates tests of the state of the run, which has nothing at its path; absent for any other test.
    #[cold]
    pub(crate) fn evaluate_run<V: Value>(&self, around: &impl Around<V>) -> Truth {
        let Self::Run(definition, tests) = self else {
            return Truth::Absent;
        };
        match around.reading(*definition) {
            Ok(reading) => {
                let step = Step::Found(reading);
                every(tests, |test| evaluate_within(test, &step, around))
            }
            Err(fault) => Truth::Error(fault),
        }
    }

    /// Evaluates a value that is there. `around` reads other paths.
    pub(crate) fn evaluate<V: Value, W: Value>(&self, value: &W, around: &impl Around<V>) -> Truth {
        let view = match sound(value.view()) {
            Ok(view) => view,
            Err(fault) => return Truth::Error(fault),
        };
        match self {
            Self::Length(tests) => match length(value, &view, around.steps()) {
                Ok(length) => every(tests, |test| scalar(test, &Scalar::Count(length), around)),
                Err(fault) => Truth::Error(fault),
            },
            Self::ByteLength(tests) => match view {
                View::Str(text) => match i64::try_from(text.len()) {
                    Ok(length) => every(tests, |test| scalar(test, &Scalar::Count(length), around)),
                    Err(_) => Truth::Error(Fault::OutOfRange),
                },
                _ => Truth::Error(Fault::WrongType),
            },
            Self::Lower(tests) => match view {
                View::Str(text) => {
                    if let Err(fault) = around.steps().text(text.len(), Pace::Make) {
                        return Truth::Error(fault);
                    }
                    let lower = chars::lower(text);
                    every(tests, |test| match test {
                        Test::Derived(derived) => match derived.as_ref() {
                            // Signs of another meaning have the same lower case: the text itself is searched for.
                            Self::Occurs(occurrence) => occurrence.evaluate(&view, true, around),
                            _ => scalar(test, &Scalar::Text(&lower), around),
                        },
                        _ => scalar(test, &Scalar::Text(&lower), around),
                    })
                }
                _ => Truth::Error(Fault::WrongType),
            },
            Self::Elements(each, tests, inline) => match view {
                View::List => elements(*each, value, (tests, inline), around),
                _ => Truth::Error(Fault::WrongType),
            },
            Self::Facet(facet, tests) => match view {
                View::Str(text) => {
                    if let Err(fault) = around.steps().text(text.len(), Pace::Make) {
                        return Truth::Error(fault);
                    }
                    match &*around.facets().get(*facet, text) {
                        Ok(parsed) => {
                            every(tests, |test| any_test(test, &Part::Whole(parsed), around))
                        }
                        Err(_) => Truth::Error(Fault::Undecidable),
                    }
                }
                _ => Truth::Error(Fault::WrongType),
            },
            Self::Part(path, tests, inline) => {
                let step = walk(value, path);
                if let Step::Found(part) = &step {
                    if part.is_undecidable() {
                        return Truth::Error(Fault::Undecidable);
                    }
                    if let Some(passes) = inline.eval(part) {
                        return passes.into();
                    }
                }
                every(tests, |test| evaluate_within(test, &step, around))
            }
            Self::Group(connective, tests) => {
                group(*connective, tests, |test| any_test(test, value, around))
            }
            Self::Occurs(occurrence) => occurrence.evaluate(&view, false, around),
            Self::Ref {
                relative,
                path,
                each,
            } => refer((*relative, *path, *each), value, around),
            Self::RunRef(relative, definition) => refer_run(*relative, *definition, value, around),
            Self::From(wanted) => drawn(*wanted, &view, around),
            Self::Run(..) => Truth::Error(Fault::WrongType),
        }
    }
}

/// Looks a text or a number up in the sources.
fn drawn<V: Value>(wanted: Wanted, view: &View<'_>, around: &impl Around<V>) -> Truth {
    match LeafValue::of(view) {
        Some(LeafValue::Text("")) => Truth::False,
        Some(value) => around.drawn(wanted, &value).into(),
        None => Truth::Error(Fault::WrongType),
    }
}

/// The names that lead to a part of a value.
#[derive(Debug)]
pub struct PartPath {
    /// The names.
    pub names: Vec<Box<str>>,
    /// The number of each in the key table of the program; one that it does not have when the name is not there.
    pub ids: Vec<u32>,
}

impl PartPath {
    fn keys(&self) -> impl Iterator<Item = Key<'_>> {
        let names = self.names.iter().zip(&self.ids);
        names.map(|(text, &id)| Key { id, text })
    }
}

/// The inline form of a single test.
fn single(tests: &[Test]) -> InlineTest {
    match tests {
        [test] => test.inline(),
        _ => InlineTest::None,
    }
}

/// The part of a value that names lead to.
fn walk<W: Value>(value: &W, path: &PartPath) -> Step<W> {
    let mut keys = path.keys();
    let Some(first) = keys.next() else {
        return Step::Found(value.clone());
    };
    let mut step = value.get(first);
    for key in keys {
        match step {
            Step::Found(value) => step = value.get(key),
            Step::Absent | Step::Unreadable => break,
        }
    }
    step
}

/// Evaluates a test of any form on a value that is there.
fn any_test<V: Value, W: Value>(test: &Test, value: &W, around: &impl Around<V>) -> Truth {
    match test {
        Test::Derived(derived) => derived.evaluate(value, around),
        test => eval_value(test, value, around.steps()).into(),
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
}

fn length<V: Value>(value: &V, view: &View<'_>, steps: &Steps) -> Result<i64, Fault> {
    let length = match view {
        View::Str(text) => {
            if text.len() >= FREE_COUNT {
                steps.text(text.len(), Pace::Compare)?;
            }
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
            Derived::RunRef(relative, definition) => {
                refer_run(*relative, *definition, value, around)
            }
            Derived::From(wanted) => {
                let lower = matches!(value, Scalar::Text(_));
                drawn(Wanted { lower, ..*wanted }, &value.view(), around)
            }
            Derived::Run(..)
            | Derived::Length(_)
            | Derived::ByteLength(_)
            | Derived::Lower(_)
            | Derived::Elements(..)
            | Derived::Facet(..)
            | Derived::Part(..)
            | Derived::Group(..)
            | Derived::Occurs(_) => Truth::Error(Fault::WrongType),
        },
        test => eval_value(test, value, around.steps()).into(),
    }
}

/// The conjunction of tests.
fn every(tests: &[Test], mut evaluate: impl FnMut(&Test) -> Truth) -> Truth {
    let mut result = Truth::True;
    for test in tests {
        result = result.and(evaluate(test));
        if result == Truth::False {
            break;
        }
    }
    result
}

/// The connective of tests.
fn group(
    connective: Connective,
    tests: &[Test],
    mut evaluate: impl FnMut(&Test) -> Truth,
) -> Truth {
    match connective {
        Connective::All => every(tests, evaluate),
        Connective::Not => every(tests, evaluate).negated(),
        Connective::Any => every(tests, |test| evaluate(test).negated()).negated(),
    }
}

fn elements<V: Value, W: Value>(
    each: Each,
    list: &W,
    (tests, inline): (&[Test], &InlineTest),
    around: &impl Around<V>,
) -> Truth {
    if each == Each::First {
        return match list.items().next() {
            Some(element) => every(tests, |test| any_test(test, &element, around)),
            None => Truth::False,
        };
    }
    let mut result = Truth::True;
    for element in list.items() {
        if let Err(fault) = around.steps().take(1) {
            return Truth::Error(fault);
        }
        let passes = match inline.eval(&element) {
            Some(passes) => passes.into(),
            None => every(tests, |test| any_test(test, &element, around)),
        };
        // `any` is the negation of `none`, so that one fold does for the three.
        result = result.and(match each {
            Each::All => passes,
            Each::Any | Each::None | Each::First => passes.negated(),
        });
        if result == Truth::False {
            break;
        }
    }
    match each {
        Each::All | Each::None | Each::First => result,
        Each::Any => result.negated(),
    }
}

#[cfg(test)]
mod tests {
    use super::{FREE_COUNT, Scalar, Steps, Value, length};

    #[test]
    fn the_length_of_a_text_takes_steps_from_its_limit_on() {
        let (below, at) = ("a".repeat(FREE_COUNT - 1), "a".repeat(FREE_COUNT));
        for (text, taken) in [(&below, 0), (&at, 16)] {
            let (steps, value) = (Steps::default(), Scalar::Text(text));
            let found = length(&value, &value.view(), &steps);
            assert_eq!(found.ok(), i64::try_from(text.len()).ok());
            assert_eq!(steps.taken(), taken);
        }
    }
}
