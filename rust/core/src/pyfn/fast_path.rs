//! Fast path: walks a CFG as far as it consists of tests on the values of paths, prepared so that no interpreter is needed.
//!
//! PERF: an interpreter takes 150 instructions to set up and to drop, and a test that is looked up in the code 60 more than one
//! that is prepared. Most rules test a few values and return.
//!
//! INVARIANT: as for [`super::inline_eval`]: an answer given here is that of the walk, and takes as many steps of the
//! budget as it does. The interpreter runs the rest of a CFG, from the first node that no predicate can evaluate.

use super::ast::{Comparison, Function};
use super::builtins::text;
use super::cfg::{Node, Start};
use super::inline_eval::{Ctx, ScalarRef, is_mapping, scalars};
use super::interp::env::Env;
use super::interp::locals::Locals;
use super::interp::value::Budget;
use super::predicate::{Each, FastNode, Predicate, Read, Scalar};
use crate::limits::MAX_SCRIPT_STEPS;
use crate::value::{Step, Value, View};

impl Scalar {
    #[inline]
    fn scalar_ref(&self) -> ScalarRef<'_> {
        match self {
            Self::None => ScalarRef::None,
            Self::Bool(flag) => ScalarRef::Bool(*flag),
            Self::Int(number) => ScalarRef::Int(*number),
            Self::Float(number) => ScalarRef::Float(*number),
            Self::Str(text) => ScalarRef::Str(text),
        }
    }
}

/// Evaluates a function by the fast nodes of its CFG. Returns the number of a decision that is always the same, or no
/// decision; otherwise the node where the interpreter begins.
#[inline]
pub(crate) fn try_fast_path<W: Env>(
    function: &Function,
    env: &mut W,
    mut start: Start,
) -> Result<Option<u32>, Start> {
    let (mut at, mut fuel) = (start.at, u64::from(start.fuel));
    // Whether a local holds something, or a text was made: what the interpreter would have to do itself.
    let (mut held, mut bytes) = (false, 0);
    loop {
        let fast_node = function.fast_nodes.get(at as usize);
        let (next, more) = match fast_node.unwrap_or(&FastNode::Interp) {
            FastNode::ReturnNone | FastNode::ReturnStatic(_) if !env.took(fuel) => {
                return Err(start);
            }
            FastNode::ReturnNone => return Ok(None),
            FastNode::ReturnStatic(number) => return Ok(Some(*number)),
            FastNode::Interp => return Err(start),
            FastNode::Bind(read, next) => {
                held = true;
                match read.is_there(env) {
                    Some(more) => (*next, more),
                    None => return Err(start),
                }
            }
            FastNode::Test(read, predicate, yes, no) => match predicate.truth(read, env) {
                Some((truth, more)) => {
                    held |= matches!(predicate, Predicate::Each(_));
                    (if truth { *yes } else { *no }, more)
                }
                None => return Err(start),
            },
            FastNode::Written(yes, no) => match written(function.node(at), env, &mut bytes) {
                Some((truth, more)) => {
                    held |= bytes > 0;
                    (if truth { *yes } else { *no }, more)
                }
                None => return Err(start),
            },
        };
        at = next;
        fuel += more;
        if fuel > MAX_SCRIPT_STEPS {
            return Err(start);
        }
        if !held {
            start = Start {
                at,
                fuel: fuel as u32,
            };
        }
    }
}

/// The truth of a test as [`super::inline_eval`] finds it, and what the walk takes to it; `bytes` are those of texts made so far.
#[inline(never)]
fn written<W: Env>(node: &Node, env: &mut W, bytes: &mut usize) -> Option<(bool, u64)> {
    let Node::Test(code, ..) = node else {
        return None;
    };
    let (mut budget, mut buffer) = (Budget::within(MAX_SCRIPT_STEPS, 0), String::new());
    budget.both(0, *bytes)?;
    let mut ctx = Ctx {
        env,
        locals: &Locals::new(0),
        budget: &mut budget,
        buffer: &mut buffer,
    };
    let truth = ctx.truth(code)?;
    let (fuel, all) = budget.taken();
    *bytes = all;
    Some((truth, fuel))
}

impl Read {
    /// Returns the value for a path that leads nowhere, and the steps that the walk takes to it.
    #[inline(never)]
    fn otherwise<W: Env>(&self, env: &mut W) -> Option<(&Scalar, u64)> {
        let otherwise = self.otherwise.as_ref()?;
        if self.held {
            return Some((&otherwise.default, 1));
        }
        let taken = (&otherwise.default, otherwise.fuel);
        is_mapping(env, otherwise.owner).then_some(taken)
    }

    /// Returns the steps that the walk takes to the value, if there is a value to read.
    #[inline]
    fn is_there<W: Env>(&self, env: &mut W) -> Option<u64> {
        match env.step(self.path) {
            Step::Found(_) => Some(1),
            Step::Absent => self.otherwise(env).map(|(_, fuel)| fuel),
            Step::Unreadable => None,
        }
    }
}

impl Predicate {
    /// The answer, and what the walk takes to it.
    #[inline]
    fn truth<W: Env>(&self, read: &Read, env: &mut W) -> Option<(bool, u64)> {
        if read.held && !env.holds(read.path) {
            return None;
        }
        match (env.step(read.path), self) {
            (Step::Found(_), Self::Has(_, negated)) => Some((!negated, 3)),
            (Step::Absent, Self::Has(of, negated)) => is_mapping(env, *of).then_some((*negated, 3)),
            (Step::Found(value), Self::With(operator, other)) => {
                let value = value.clone();
                with(&value, *operator, other, env)
            }
            (Step::Found(value), predicate) => predicate.judge(value),
            (Step::Absent, predicate) => {
                let (scalar, fuel) = read.otherwise(env)?;
                predicate.of(scalar.scalar_ref(), fuel)
            }
            (Step::Unreadable, _) => None,
        }
    }

    /// The result of a predicate on a value that exists. PERF: the most frequent predicates are evaluated in place; a
    /// temporary is written in pieces, and moving it waits for the writes.
    #[inline]
    fn judge<V: Value>(&self, value: &V) -> Option<(bool, u64)> {
        if let Self::Null(wanted) = self {
            return Some((value.is_null() == *wanted, 3));
        }
        if let Some(text) = value.text() {
            return match self {
                Self::Text(wanted, equal) => Some(((*text == **wanted) == *equal, 3)),
                Self::Affix(affixes, at_end) => {
                    let found = is_at(text, affixes, *at_end);
                    Some((found, 3 + scanned(text)))
                }
                predicate => predicate.of(ScalarRef::Str(text), 1),
            };
        }
        match (self, &value.view()) {
            (Self::Int(order, bound), View::Int(number)) => {
                Some((order.holds(*number, *bound), 3 + order.fuel()))
            }
            (predicate, view) => predicate.other(value, view),
        }
    }

    /// The same for rare predicates.
    #[inline(never)]
    fn other<V: Value>(&self, value: &V, view: &View<'_>) -> Option<(bool, u64)> {
        match (self, view) {
            (Self::Each(each), View::List) => each.judge(value),
            (predicate, view) => predicate.of(ScalarRef::view(view)?, 1),
        }
    }

    /// The result of a predicate on a scalar whose evaluation took some steps.
    #[inline(never)]
    fn of(&self, scalar: ScalarRef<'_>, fuel: u64) -> Option<(bool, u64)> {
        Some(match (self, scalar) {
            (Self::Null(wanted), scalar) => {
                (matches!(scalar, ScalarRef::None) == *wanted, fuel + 2)
            }
            (Self::Text(wanted, equal), ScalarRef::Str(text)) => {
                ((*text == **wanted) == *equal, fuel + 2)
            }
            (Self::Text(_, equal), _) => (!*equal, fuel + 3),
            (Self::Int(order, bound), scalar) => {
                let (answer, cost) = scalars(scalar, order.operator, ScalarRef::Int(*bound))?;
                (answer, fuel + 2 + cost.taken())
            }
            (Self::Compare(operator, constant), scalar) => {
                let (answer, cost) = scalars(scalar, *operator, constant.scalar_ref())?;
                (answer, fuel + 2 + cost.taken())
            }
            (Self::Affix(affixes, at_end), ScalarRef::Str(text)) => {
                (is_at(text, affixes, *at_end), fuel + 2 + scanned(text))
            }
            (Self::Among(texts, negated), ScalarRef::Str(text)) => {
                let found = texts.iter().any(|item| **item == *text);
                (found != *negated, fuel + 2)
            }
            (Self::Finds(wanted, negated), ScalarRef::Str(text)) => {
                let found = text::find(text, wanted).is_some();
                (found != *negated, fuel + 2 + scanned(text))
            }
            (Self::Between(both), scalar) => {
                let [(one, first), (two, last)] = &**both;
                let (answer, cost) = scalars(scalar, *one, first.scalar_ref())?;
                let fuel = fuel + 2 + cost.taken();
                if !answer {
                    return Some((false, fuel));
                }
                let (answer, cost) = scalars(scalar, *two, last.scalar_ref())?;
                (answer, fuel + 1 + cost.taken())
            }
            (Self::Truth, scalar) => (scalar.truth(), fuel),
            (Self::Is(types), scalar) => (scalar.types().meets(*types), fuel + 1),
            (Self::Affix(..) | Self::Among(..) | Self::Finds(..), _)
            | (Self::Has(..) | Self::With(..) | Self::Each(_), _) => return None,
        })
    }
}

/// Returns true if a text has one of these affixes at an end.
#[inline]
fn is_at(text: &str, affixes: &[Box<str>], at_end: bool) -> bool {
    affixes.iter().any(|affix| {
        if at_end {
            text.ends_with(&**affix)
        } else {
            text.starts_with(&**affix)
        }
    })
}

fn scanned(text: &str) -> u64 {
    Budget::scanned(text) as u64
}

/// `value operator other`
#[inline(never)]
fn with<W: Env>(
    value: &W::Value,
    operator: Comparison,
    other: &Read,
    env: &mut W,
) -> Option<(bool, u64)> {
    if other.held && !env.holds(other.path) {
        return None;
    }
    let (default, fuel) = match env.step(other.path) {
        Step::Found(other) => {
            if let (Comparison::Eq | Comparison::Ne, Some(one), Some(two)) =
                (operator, value.text(), other.text())
            {
                return Some(((one == two) == (operator == Comparison::Eq), 3));
            }
            let (one, two) = (
                ScalarRef::view(&value.view())?,
                ScalarRef::view(&other.view())?,
            );
            let (answer, cost) = scalars(one, operator, two)?;
            return Some((answer, 3 + cost.taken()));
        }
        Step::Absent => other.otherwise(env)?,
        Step::Unreadable => return None,
    };
    let (answer, cost) = scalars(
        ScalarRef::view(&value.view())?,
        operator,
        default.scalar_ref(),
    )?;
    Some((answer, 2 + fuel + cost.taken()))
}

impl Each {
    fn judge<V: Value>(&self, list: &V) -> Option<(bool, u64)> {
        let (mut index, mut fuel) = (0, 2);
        while let Some(item) = list.item(index) {
            let (truth, more) = self.predicate.judge(&item)?;
            fuel += 1 + more;
            if fuel > MAX_SCRIPT_STEPS {
                return None;
            }
            if (truth != self.negated) == self.any {
                return Some((self.any, fuel));
            }
            index += 1;
        }
        Some((!self.any, fuel + 1))
    }
}
