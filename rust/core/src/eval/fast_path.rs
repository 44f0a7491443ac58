//! Fast path of a function: follows the nodes of its CFG as far as no interpreter is needed. See [`crate::pyfn::predicate`].
//!
//! PERF: an interpreter takes 150 instructions to set up and to drop. Most functions test a few values and return.
//!
//! It takes no fuel: it neither loops nor makes anything. What its tests cost beyond that they take from the steps of the
//! decision, as the clauses of any rule do. Texts and lists that are long are left to the interpreter.

use super::evaluator::Evaluator;
use crate::budget::Steps;
use crate::clause::context::Around as _;
use crate::clause::ops::OperatorTest as _;
use crate::clause::ops::equality::Scalar as EqualScalar;
use crate::clause::ops::ordering::Order;
use crate::clause::ops::presence::Presence;
use crate::clause::predicate::{Test, Truth, eval_value};
use crate::clause::prepared::PreparedConst;
use crate::limits::{LONG_LIST, LONG_TEXT};
use crate::pyfn::ast::Function;
use crate::pyfn::predicate::{Each, FastNode, Predicate, Read, Scalar, compared, truth, types};
use crate::value::compare::compare;
use crate::value::request::Request;
use crate::value::{Step, Value, View};

impl<R: Request> Evaluator<'_, R> {
    /// Evaluates a function from node `start`. Returns the number of a decision that is always the same, or no decision;
    /// otherwise the node where the interpreter begins.
    #[inline]
    pub(super) fn try_fast_path(
        &mut self,
        function: &Function,
        mut start: u32,
    ) -> Result<Option<u32>, u32> {
        // Once a local has a value, the interpreter begins where it gets one.
        let (mut at, mut held) = (start, false);
        loop {
            let fast_node = function.fast_nodes.get(at as usize);
            at = match fast_node.unwrap_or(&FastNode::Interp) {
                FastNode::ReturnNone => return Ok(None),
                FastNode::ReturnStatic(number) => return Ok(Some(*number)),
                FastNode::Interp => return Err(start),
                FastNode::Bind(read, next) => {
                    held = true;
                    match self.cached(read.path) {
                        Step::Found(_) => *next,
                        Step::Absent => match self.otherwise(read) {
                            Some(_) => *next,
                            None => return Err(start),
                        },
                        Step::Unreadable => return Err(start),
                    }
                }
                FastNode::Test(read, predicate, yes, no) => match self.test(read, predicate) {
                    Some(true) => *yes,
                    Some(false) => *no,
                    None => return Err(start),
                },
            };
            if !held {
                start = at;
            }
        }
    }

    #[inline]
    fn test(&mut self, read: &Read, predicate: &Predicate) -> Option<bool> {
        if read.held && !self.is_cached(read.path) {
            return None;
        }
        let (program, work) = (self.program, self.work);
        let value = match self.cached(read.path) {
            Step::Found(value) => value,
            Step::Absent => return self.otherwise(read)?.0,
            Step::Unreadable => return None,
        };
        match predicate {
            Predicate::Clause(clause) => {
                let test = program.test(*clause);
                // PERF: what costs less than to look up a known result is evaluated in place.
                let view = value.text().map_or_else(|| value.view(), View::Str);
                if !is_plain(&view, test) {
                    return None;
                }
                in_place(value, &view, test, &work.steps).or_else(|| self.clause(*clause))
            }
            Predicate::Null => Some(value.is_null()),
            predicate => {
                let value = value.clone();
                self.rare(&value, predicate)
            }
        }
    }

    /// The result of a clause.
    #[inline(never)]
    fn clause(&mut self, clause: u32) -> Option<bool> {
        match self.leaf(clause) {
            Truth::True => Some(true),
            Truth::False => Some(false),
            Truth::Absent | Truth::Error(_) => None,
        }
    }

    /// The result of the test for the default of a value, and the default; `None` without a default, and if its owner is
    /// not a mapping.
    #[inline(never)]
    fn otherwise<'p>(&mut self, read: &'p Read) -> Option<(Option<bool>, &'p Scalar)> {
        let otherwise = read.otherwise.as_ref()?;
        // A local got its value from a mapping.
        let is_there = read.held
            || matches!(self.cached(otherwise.owner), Step::Found(owner) if matches!(owner.view(), View::Map));
        is_there.then_some((otherwise.truth, &otherwise.default))
    }

    #[inline(never)]
    fn rare(&mut self, value: &R::Value, predicate: &Predicate) -> Option<bool> {
        match predicate {
            Predicate::With(operator, other) => {
                if other.held && !self.is_cached(other.path) {
                    return None;
                }
                let left = value.view();
                match self.cached(other.path) {
                    Step::Found(right) => compared(&left, *operator, &right.view()),
                    Step::Absent => compared(&left, *operator, &self.otherwise(other)?.1.view()),
                    Step::Unreadable => None,
                }
            }
            Predicate::Each(each) => self.each(value, each),
            predicate => self.of_value(value, predicate),
        }
    }

    fn each(&self, list: &R::Value, each: &Each) -> Option<bool> {
        if !matches!(list.view(), View::List) || list.len() > LONG_LIST {
            return None;
        }
        for item in list.items() {
            self.steps().take(1).ok()?;
            if (self.of_value(&item, &each.predicate)? != each.negated) == each.any {
                return Some(each.any);
            }
        }
        Some(!each.any)
    }

    /// The result of a test that reads nothing but the value.
    #[inline]
    fn of_value(&self, value: &R::Value, predicate: &Predicate) -> Option<bool> {
        let holds = |test: &Test| {
            let view = value.text().map_or_else(|| value.view(), View::Str);
            if !is_plain(&view, test) {
                return None;
            }
            in_place(value, &view, test, self.steps()).or_else(|| match test {
                Test::Derived(derived) => match derived.evaluate(value, self) {
                    Truth::True => Some(true),
                    Truth::False => Some(false),
                    Truth::Absent | Truth::Error(_) => None,
                },
                test => eval_value(test, value, self.steps()).ok(),
            })
        };
        match predicate {
            Predicate::Test(test) => holds(test),
            Predicate::Both(tests) => {
                let [one, two] = &**tests;
                Some(holds(one)? && holds(two)?)
            }
            Predicate::Truth => truth(&value.view()),
            Predicate::Null => Some(value.is_null()),
            Predicate::Is(wanted) => Some(types(&value.view())?.meets(*wanted)),
            Predicate::Compare(operator, constant) => {
                compared(&value.view(), *operator, &constant.view())
            }
            Predicate::Clause(_) | Predicate::With(..) | Predicate::Each(_) => None,
        }
    }
}

/// Returns true if a test has the result for a value that it has in Python: not of a text that is long, an instant, or
/// membership in anything but a text.
#[inline]
fn is_plain(view: &View<'_>, test: &Test) -> bool {
    match view {
        View::Str(text) => text.len() <= LONG_TEXT,
        View::Timestamp(_) => false,
        _ => !matches!(test, Test::Contains(_)),
    }
}

/// The result of a cheap test; `None`: it is not one, or is in error.
#[inline]
fn in_place<V: Value>(value: &V, view: &View<'_>, test: &Test, steps: &Steps) -> Option<bool> {
    match (view, test) {
        (View::Str(text), Test::Equal(EqualScalar(PreparedConst::Str(wanted)))) => {
            Some(**text == **wanted)
        }
        (View::Str(_), Test::Affix(affix)) => affix.eval(value, view, steps).ok(),
        (View::Int(_), Test::Order(Order(relation, PreparedConst::Number(bound)))) => {
            compare(view, bound).map(|order| relation.holds(order))
        }
        (_, Test::Presence(Presence::Exists(wanted))) => Some(*wanted),
        _ => None,
    }
}
