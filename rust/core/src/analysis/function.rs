//! Compiled Python rules: the nodes that need no interpreter are followed like clauses.
//!
//! A rule without loops is a graph of tests; each that an operator has too is a check of a slot. Where the interpreter takes
//! over, only the evaluator knows what the rule returns.

use crate::clause::operand::{Check, Operand};
use crate::clause::ops::affix::End as Affixed;
use crate::clause::ops::{IndexKey, Interval, Operator};
use crate::clause::predicate::Test;
use crate::lang::path::Field;
use crate::num::number::Number;
use crate::program::{FunctionDecision, Program};
use crate::pyfn::ast::Function;
use crate::pyfn::predicate::{FastNode, Predicate, Read};
use crate::value::constant::Const;

use super::budget::Stop;
use super::dd::{ABSENT, Dd, ERROR, FALSE, TRUE};
use super::leaf::Tested;
use super::policy::{End, Ends, Policy};
use super::sample;
use super::slot::{Kind, Place};
use super::space::Space;
use super::verify::function_verdict;

/// The most nodes that are followed, counted once for each way to them.
const NODES: usize = 400;

/// A rule under way.
struct Walk<'a, 'e> {
    policy: &'a Policy,
    function: &'a Function,
    content: Option<u32>,
    /// What follows where the rule abstains, and where the interpreter takes over.
    rest: Dd,
    unknown: Dd,
    ends: &'e mut Ends,
    nodes: usize,
}

/// The place that a read leads to.
fn place_of(program: &Program, read: &Read) -> Option<Place> {
    let path = program.paths.get(read.path as usize)?;
    let keys: Vec<Box<str>> = path
        .keys
        .iter()
        .skip(path.taken)
        .map(|&id| program.key(id).text.into())
        .collect();
    Some(Place::new(path.field?, &keys))
}

/// The check that is a test of a function; `None` without one.
fn check_of(test: &Test) -> Option<Check> {
    let make = |name: &str, operand: Const| {
        Some(Check {
            op: Operator::from_name(name)?,
            operand: Operand::Const(operand),
            dialect: None,
        })
    };
    let texts = |texts: &[Box<str>]| Const::List(texts.iter().cloned().map(Const::Str).collect());
    if matches!(test, Test::Matches(_)) {
        // The pattern is of the other dialect.
        return None;
    }
    match test.key() {
        IndexKey::Scalars(own, ints) => {
            let mut items: Vec<Const> = own.iter().cloned().map(Const::Str).collect();
            items.extend(ints.iter().copied().map(Const::Int));
            make("in", Const::List(items))
        }
        IndexKey::Affixes(Affixed::Start, own) => make("starts_with", texts(own)),
        IndexKey::Affixes(Affixed::End, own) => make("ends_with", texts(own)),
        IndexKey::Intervals(intervals) => match intervals.as_slice() {
            [
                Interval {
                    from: Some((from, inclusive)),
                    to: None,
                },
            ] => make(if *inclusive { "ge" } else { "gt" }, constant(from)?),
            [
                Interval {
                    from: None,
                    to: Some((to, inclusive)),
                },
            ] => make(if *inclusive { "le" } else { "lt" }, constant(to)?),
            _ => None,
        },
        _ => None,
    }
}

fn constant(number: &Number) -> Option<Const> {
    match number {
        Number::Int(value) => Some(Const::Int(*value)),
        Number::Float(value) => Some(Const::Float(*value)),
        Number::Big(_) => None,
    }
}

/// The checks of a function, each with its place.
pub(super) fn checks<'a>(
    program: &'a Program,
    function: &'a Function,
) -> impl Iterator<Item = (Place, Option<Check>)> + 'a {
    function.fast_nodes.iter().filter_map(|node| match node {
        FastNode::Test(read, predicate, ..) => {
            let check = match predicate {
                Predicate::Clause(clause) => check_of(program.test(*clause)),
                _ => None,
            };
            Some((place_of(program, read)?, check))
        }
        FastNode::Bind(read, _) => Some((place_of(program, read)?, None)),
        FastNode::Interp | FastNode::ReturnNone | FastNode::ReturnStatic(_) => None,
    })
}

impl<'a> Space<'a> {
    /// The end of a rule that is a function: `unknown` where the interpreter takes over.
    pub(super) fn function(
        &mut self,
        (policy, rule): (&'a Policy, u32),
        function: &'a Function,
        (rest, unknown): (Dd, Dd),
        ends: &mut Ends,
    ) -> Result<Dd, Stop> {
        let mut walk = Walk {
            policy,
            function,
            content: policy.content.get(rule as usize).copied(),
            rest,
            unknown,
            ends,
            nodes: 0,
        };
        self.node_of(&mut walk, function.start)
    }

    fn node_of(&mut self, walk: &mut Walk<'a, '_>, at: u32) -> Result<Dd, Stop> {
        walk.nodes += 1;
        if walk.nodes > NODES {
            return Ok(walk.unknown);
        }
        match walk.function.fast_nodes.get(at as usize) {
            None | Some(FastNode::Interp) => Ok(walk.unknown),
            Some(FastNode::ReturnNone) => Ok(walk.rest),
            Some(FastNode::ReturnStatic(number)) => {
                let decision = FunctionDecision::Always(*number);
                let verdict = function_verdict(&walk.policy.program, &decision);
                if verdict == crate::lang::Verdict::Transform {
                    return Ok(walk.unknown);
                }
                Ok(Dd::terminal(walk.ends.number(End {
                    verdict: Some(verdict.into()),
                    rule: walk.content,
                    fails: false,
                    transforms: Vec::new(),
                    unknown: None,
                    also: Vec::new(),
                })))
            }
            Some(FastNode::Bind(read, next)) => {
                let next = self.node_of(walk, *next)?;
                let missing = match read.otherwise {
                    Some(_) => next,
                    None => walk.unknown,
                };
                self.follow(walk, read, (next, missing))
            }
            Some(FastNode::Test(read, predicate, yes, no)) => {
                let (yes, no) = (self.node_of(walk, *yes)?, self.node_of(walk, *no)?);
                let found = self.test_of(walk, read, predicate)?;
                let id = self.dd.operation();
                // The one result that is neither true nor false is where the interpreter takes over.
                let known = self
                    .dd
                    .map(id, found, &mut |value| match Dd::terminal(value) {
                        TRUE => TRUE,
                        FALSE => FALSE,
                        _ => ERROR,
                    })?;
                self.dd.choose(known, [yes, walk.unknown, no])
            }
        }
    }

    /// What follows a read: the first of both where there is a value, the second where a mapping has none.
    fn follow(
        &mut self,
        walk: &Walk<'a, '_>,
        read: &Read,
        (found, missing): (Dd, Dd),
    ) -> Result<Dd, Stop> {
        let shape = self.reads(&walk.policy.program, read, &|kind| match kind {
            Kind::Absent => FALSE,
            _ => TRUE,
        })?;
        self.dd.choose(shape, [found, walk.unknown, missing])
    }

    /// A result by the type of what is read; an error where a step leads nowhere.
    fn reads(
        &mut self,
        program: &Program,
        read: &Read,
        of: &dyn Fn(Kind) -> Dd,
    ) -> Result<Dd, Stop> {
        let slot = place_of(program, read).and_then(|place| self.places.get(&place).copied());
        let Some(slot) = slot else {
            return Ok(ERROR);
        };
        let own = self.by_kind(slot, of)?;
        self.within(slot, own, [ERROR, ERROR], &mut |_, value| {
            Ok(of(sample::kind_of(&value)))
        })
    }

    /// The result of a test of a function; an error or absence: the interpreter takes over.
    fn test_of(
        &mut self,
        walk: &Walk<'a, '_>,
        read: &Read,
        predicate: &Predicate,
    ) -> Result<Dd, Stop> {
        let program = &walk.policy.program;
        let missing = match read
            .otherwise
            .as_ref()
            .and_then(|otherwise| otherwise.truth)
        {
            Some(true) => TRUE,
            Some(false) => FALSE,
            None => ERROR,
        };
        match predicate {
            Predicate::Null => self.reads(program, read, &|kind| match kind {
                Kind::Absent => missing,
                Kind::Null => TRUE,
                _ => FALSE,
            }),
            Predicate::Truth => self.reads(program, read, &|kind| match kind {
                Kind::Absent => missing,
                Kind::True => TRUE,
                Kind::Null | Kind::False => FALSE,
                _ => ERROR,
            }),
            Predicate::Clause(clause) => {
                let test = program.test(*clause);
                let (Some(check), Some(place)) = (check_of(test), place_of(program, read)) else {
                    return Ok(ERROR);
                };
                if let Some(tool) = &self.tool
                    && place.field() == Some(Field::Tool)
                {
                    return Ok(sample::result_of(test, &sample::text(tool)));
                }
                let Some(&slot) = self.places.get(&place) else {
                    return Ok(ERROR);
                };
                let name = format!("function {check:?} {}", place.text());
                let tested = Tested {
                    check: &check,
                    test,
                    name: name.as_bytes(),
                    program,
                };
                let found = self.here(slot, tested, ABSENT)?;
                let id = self.dd.operation();
                let own = self
                    .dd
                    .map(id, found, &mut |value| match Dd::terminal(value) {
                        ABSENT => missing,
                        other => other,
                    })?;
                self.within(slot, own, [ERROR, ERROR], &mut |_, value| {
                    Ok(sample::result(test, value))
                })
            }
            Predicate::Test(_)
            | Predicate::Both(_)
            | Predicate::Is(_)
            | Predicate::Compare(..)
            | Predicate::With(..)
            | Predicate::Each(_) => Ok(ERROR),
        }
    }
}
