//! Inference of the triggers of a function: if no trigger holds, the function returns None and nothing on the way raises.
//!
//! The analysis follows the fast path from its start to every end. Either a test has a trigger itself, so that it is known
//! to be false, or the value that it reads has triggers, so that it is known not to raise, and then both edges are
//! followed. A trigger that holds although the function would return None costs a call, and nothing else.
//!
//! INVARIANT: long texts ([`crate::limits::LONG_TEXT`]) satisfy every trigger, so that no function is spared the steps that
//! would have stopped it.

use crate::clause::ops::IndexKey;
use crate::clause::ops::nesting::Derived;
use crate::clause::ops::ordering::Order;
use crate::clause::predicate::Test;
use crate::clause::prepared::PreparedConst;
use crate::pyfn::ast::Function;
use crate::pyfn::predicate::{FastNode, Predicate, Read};
use crate::pyfn::trigger::Trigger;
use crate::value::class::{Class, Classes};

/// Maximum number of nodes visited, counted once per incoming edge.
const MAX_NODES: usize = 64;

/// Maximum number of triggers of one function.
const MAX_TRIGGERS: usize = 16;

/// Infers the triggers of a function that begins at node `start`; `None`: it is always called.
pub(crate) fn infer(function: &Function, start: u32) -> Option<Vec<Trigger>> {
    let mut inference = Inference { function, nodes: 0 };
    let (triggers, _) = inference.from(start)?;
    (triggers.len() <= MAX_TRIGGERS).then_some(triggers)
}

/// Triggers, and their cost, roughly in equality comparisons.
type Plan = (Vec<Trigger>, u32);

fn both((mut one, cost): Plan, (other, more): Plan) -> Plan {
    one.extend(other);
    (one, cost + more)
}

struct Inference<'f> {
    function: &'f Function,
    nodes: usize,
}

/// Triggers on a value that is read: the test of a node, and classes of values. `default`: they also hold for the default of
/// a missing value.
fn of_read(read: &Read, node: Option<u32>, classes: Classes, default: bool) -> Vec<Trigger> {
    let mut triggers = vec![Trigger {
        path: read.path,
        node,
        clause: None,
        missing: read.otherwise.is_none() || default,
        classes: classes.with(Class::Broken).with(Class::Timestamp),
    }];
    if let Some(otherwise) = &read.otherwise {
        // The owner of the default has to be a mapping.
        triggers.push(Trigger {
            path: otherwise.owner,
            node: None,
            clause: None,
            missing: true,
            classes: Classes::ALL.without(Class::Mapping),
        });
    }
    triggers
}

impl Inference<'_> {
    fn from(&mut self, at: u32) -> Option<Plan> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return None;
        }
        match self.function.fast_nodes.get(at as usize)? {
            FastNode::ReturnNone => Some((Vec::new(), 0)),
            FastNode::ReturnStatic(_) | FastNode::Interp => None,
            FastNode::Bind(read, next) => {
                let raises = of_read(read, None, Classes::default(), false);
                Some(both((raises, 2), self.from(*next)?))
            }
            FastNode::Test(read, predicate, yes, no) => {
                let (mut all, cost) = self.from(*no)?;
                let default = read
                    .otherwise
                    .as_ref()
                    .and_then(|otherwise| otherwise.truth);
                let watched = true_cost(predicate).map(|more| {
                    let holds = of_read(read, Some(at), Classes::default(), default != Some(false));
                    (holds, cost + more)
                });
                let followed = raising(predicate).and_then(|classes| {
                    let raises = of_read(read, None, classes, default.is_none());
                    let (then, more) = self.from(*yes)?;
                    Some(both((raises, cost + 2), (then, more)))
                });
                let plans = [watched, followed].into_iter().flatten();
                let (triggers, cost) = plans.min_by_key(|(_, cost)| *cost)?;
                all.extend(triggers);
                Some((all, cost))
            }
        }
    }
}

/// The cost of a trigger that holds whenever a predicate is true or raises; `None`: there is no such trigger.
fn true_cost(predicate: &Predicate) -> Option<u32> {
    let Predicate::Test(test) = predicate else {
        return None;
    };
    Some(match &**test {
        Test::Equal(_) => 1,
        Test::Membership(_) => match test.key() {
            IndexKey::Scalars(texts, _) => texts.len() as u32,
            _ => return None,
        },
        Test::Affix(_) | Test::Presence(_) => 3,
        Test::Contains(_) | Test::Matches(_) => 4,
        Test::Order(_) => 6,
        Test::Derived(_) => 8,
        Test::EqualBool(_)
        | Test::EqualDeep(_)
        | Test::Between(_)
        | Test::Within(_)
        | Test::Broken => {
            return None;
        }
    })
}

/// The classes of values that a predicate may raise for; `None`: of any.
fn raising(predicate: &Predicate) -> Option<Classes> {
    let none = Classes::default();
    let containers = none.with(Class::List).with(Class::Mapping);
    let all_but_text = Classes::ALL.without(Class::String);
    Some(match predicate {
        Predicate::Truth => containers,
        Predicate::Null | Predicate::Is(_) | Predicate::Compare(..) => none,
        Predicate::Test(test) => match &**test {
            Test::Equal(_) | Test::Presence(_) => none,
            Test::Membership(_) => containers,
            Test::Contains(_) | Test::Affix(_) | Test::Matches(_) => all_but_text,
            Test::Order(Order(_, PreparedConst::Number(_))) => {
                Classes::ALL.without(Class::Number).without(Class::Bool)
            }
            Test::Order(_) => all_but_text,
            Test::Derived(derived) if matches!(**derived, Derived::Lower(_)) => all_but_text,
            _ => return None,
        },
        Predicate::Clause(_) | Predicate::Both(_) | Predicate::With(..) | Predicate::Each(_) => {
            return None;
        }
    })
}
