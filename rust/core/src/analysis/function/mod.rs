//! Compiled Python rules: their tests are followed along the control-flow graph, which has no loops.
//!
//! A test is followed if it reads one path and compares it with constants ([`operand`], [`form`]); one that raises is the
//! error of the rule. Where a test or a statement is not followed, only the evaluator knows what the rule returns.

mod around;
mod condition;
mod form;
mod operand;
mod values;

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::clause::operand::{Check, Operand};
use crate::clause::ops::Operator;
use crate::lang::Verdict;
use crate::num::number::Number;
use crate::program::FunctionDecision;
use crate::pyfn::ast::{Code, Function, Statement, Target};
use crate::pyfn::cfg::Node;
use crate::pyfn::interp::probe::Bound;
use crate::pyfn::walk;
use crate::value::constant::Const;

use crate::analysis::budget::{Reason, Stop};
use crate::analysis::dd::{ABSENT, Dd, FALSE, TRUE};
use crate::analysis::policy::{End, Ends, Policy, Rank};
use crate::analysis::slot::Place;
use crate::analysis::space::Space;
use crate::analysis::verify::function_verdict;

use form::Cuts;
use operand::{Locals, Rule};

/// The most nodes that are followed, each counted once for the same content of the locals.
const NODES: usize = 2_000;

/// A node, and the content of the locals there: their numbers, and where the code of each is.
type Visit = (u32, Vec<(u32, usize)>);

fn visit_of(node: u32, bound: &Locals<'_>) -> Visit {
    let place = |what: &Bound<'_>| match what {
        Bound::Code(code) => std::ptr::from_ref::<Code>(code).addr(),
        Bound::Const(constant) => std::ptr::from_ref(*constant).addr(),
        Bound::Other => 0,
    };
    (
        node,
        bound
            .iter()
            .map(|(slot, what)| (*slot, place(what)))
            .collect(),
    )
}

/// A rule under way.
struct Walk<'a, 'e> {
    rule: Rule<'a, 'e>,
    policy: &'a Policy,
    function: &'a Function,
    content: Option<u32>,
    /// What follows where the rule abstains, where it raises, and where only the evaluator knows.
    rest: Dd,
    fails: Dd,
    unknown: Dd,
    /// The end with each verdict.
    decisions: BTreeMap<Rank, Dd>,
    known: HashMap<Visit, Dd>,
}

impl Walk<'_, '_> {
    fn decided(&self, verdict: Verdict) -> Dd {
        let known = self.decisions.get(&verdict.into());
        known.copied().unwrap_or(self.unknown)
    }
}

/// The reason for what is not known of a rule.
fn reason(policy: &Policy, rule: u32) -> Reason {
    let name = policy.name(rule);
    Reason::new(
        "function_rule",
        format!("the Python rule `{name}` does what is not followed"),
    )
}

/// The verdicts of the decisions that a function makes.
fn verdicts(policy: &Policy, function: &Function) -> Vec<Rank> {
    let mut found = Vec::new();
    walk::parts(&function.nodes, &mut |part| {
        if let walk::Found::Code(Code::Decide(node)) = part {
            found.push(node.verdict);
        }
    });
    for node in &function.nodes {
        if let Node::ReturnStatic(number) = node {
            found.push(function_verdict(
                &policy.program,
                &FunctionDecision::Always(*number),
            ));
        }
    }
    Rank::ALL
        .into_iter()
        .filter(|rank| found.iter().any(|verdict| Rank::from(*verdict) == *rank))
        .collect()
}

/// The local that a statement binds, and its value.
fn assigned(statement: &Statement) -> Option<(u32, &Code)> {
    match statement {
        Statement::Assign(Target::Slot(slot), code) => Some((*slot, code)),
        _ => None,
    }
}

/// Calls `visit` with the places that the tests of a function read, and with checks that divide the values
/// where the tests do.
pub(in crate::analysis) fn reads(
    policy: &Policy,
    function: &Function,
    visit: &mut dyn FnMut(Place, Vec<Check>),
) {
    let visit = &mut |place, cuts: Cuts| visit(place, checks(&cuts));
    let reason = reason(policy, 0);
    let rule = Rule {
        program: &policy.program,
        locals: function.locals,
        reason: &reason,
    };
    for (at, bound) in visits(rule, function).into_iter().flatten() {
        match function.node(at) {
            Node::Test(code, ..) => rule.each_read(code, &bound, visit),
            Node::Run(statement, _) => {
                if let Some((_, code)) = assigned(statement) {
                    rule.each_bound(code, &bound, visit);
                }
            }
            Node::Return(_) | Node::ReturnStatic(_) | Node::ReturnNone => {}
        }
    }
}

/// The nodes of a function with the content of the locals there, each before those that follow it; `None`: too many.
fn visits<'a>(rule: Rule<'a, '_>, function: &'a Function) -> Option<Vec<(u32, Locals<'a>)>> {
    let mut open: Vec<(u32, Locals<'a>)> = vec![(function.start, Vec::new())];
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    while let Some((at, bound)) = open.pop() {
        if !seen.insert(visit_of(at, &bound)) {
            continue;
        }
        if seen.len() > NODES {
            return None;
        }
        match function.node(at) {
            Node::Test(_, yes, no) => open.extend([(*yes, bound.clone()), (*no, bound.clone())]),
            Node::Run(statement, next) => {
                if assigned(statement).is_some() {
                    open.push((*next, rule.then(statement, &bound)));
                }
            }
            Node::Return(_) | Node::ReturnStatic(_) | Node::ReturnNone => {}
        }
        found.push((at, bound));
    }
    // INVARIANT: the nodes that follow one have lower numbers.
    found.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    Some(found)
}

impl<'a> Rule<'a, '_> {
    /// The locals after a statement.
    fn then(&self, statement: &'a Statement, bound: &Locals<'a>) -> Locals<'a> {
        let mut then = bound.clone();
        if let Some((slot, code)) = assigned(statement) {
            then.push((slot, self.bound(code, bound)));
        }
        then
    }
}

/// The checks that divide values at these constants.
fn checks(cuts: &Cuts) -> Vec<Check> {
    let constant = |number: &Number| match number {
        Number::Int(value) => Const::Int(*value),
        Number::Float(value) => Const::Float(*value),
        Number::Big(value) => Const::BigInt(value.clone()),
    };
    let make = |name: &str, items: Vec<Const>| {
        let op = Operator::from_name(name)?;
        (!items.is_empty()).then_some(Check {
            op,
            operand: Operand::Const(Const::List(items)),
            dialect: None,
        })
    };
    let texts = cuts
        .texts
        .iter()
        .map(|text| Const::Str(text.as_str().into()));
    let scalars = texts.chain(cuts.numbers.iter().map(constant)).collect();
    let counts = cuts.counts.iter().map(constant).collect();
    [make("in", scalars), make("length", counts)]
        .into_iter()
        .flatten()
        .collect()
}

impl<'a> Space<'a> {
    /// The end of a rule that is a function. `unknown`: where it rewrites the arguments.
    pub(in crate::analysis) fn function(
        &mut self,
        (policy, rule): (&'a Policy, u32),
        function: &'a Function,
        (rest, unknown): (Dd, Dd),
        ends: &mut Ends,
    ) -> Result<Dd, Stop> {
        let reason = reason(policy, rule);
        let content = policy.content.get(rule as usize).copied();
        let mut end = |verdict: Rank, fails: bool| {
            Dd::terminal(ends.number(End {
                verdict: Some(verdict),
                rule: content,
                fails,
                transforms: Vec::new(),
                unknown: None,
                also: Vec::new(),
            }))
        };
        let fails = match policy.continues_on_error(rule) {
            true => rest,
            false => end(Rank::Deny, true),
        };
        // Where only the evaluator knows: any end that the rule has.
        // INVARIANT: the same function has them in the same order in every policy.
        let mut all = vec![rest, fails];
        let decisions: BTreeMap<Rank, Dd> = verdicts(policy, function)
            .into_iter()
            .map(|verdict| match verdict {
                Rank::Transform => (verdict, unknown),
                verdict => (verdict, end(verdict, false)),
            })
            .collect();
        all.extend(decisions.values());
        let name = format!("function {content:?}");
        let unknown = self.one_of(name.as_bytes(), &reason, &all)?;
        let mut walk = Walk {
            rule: Rule {
                program: &policy.program,
                locals: function.locals,
                reason: &reason,
            },
            policy,
            function,
            content,
            rest,
            fails,
            unknown,
            decisions,
            known: HashMap::new(),
        };
        let Some(visits) = visits(walk.rule, function) else {
            return Ok(walk.unknown);
        };
        // Atoms have the order of the tests.
        let mut results = Vec::new();
        for (at, bound) in &visits {
            results.push(match function.node(*at) {
                Node::Test(code, ..) => Some(self.condition(walk.rule, code, bound)?),
                Node::Run(statement, _) => match assigned(statement) {
                    Some((_, code)) => self.binding(walk.rule, code, bound)?,
                    None => None,
                },
                Node::Return(_) | Node::ReturnStatic(_) | Node::ReturnNone => None,
            });
        }
        let mut result = walk.unknown;
        for ((at, bound), own) in visits.iter().zip(results).rev() {
            self.budget.check()?;
            result = self.node_of(&walk, (*at, bound), own)?;
            walk.known.insert(visit_of(*at, bound), result);
        }
        Ok(result)
    }

    /// What follows from a node on. `own`: the result of its test, or of what it binds.
    fn node_of(
        &mut self,
        walk: &Walk<'a, '_>,
        (at, bound): (u32, &Locals<'a>),
        own: Option<Dd>,
    ) -> Result<Dd, Stop> {
        let after = |next: u32, bound: &Locals<'a>| {
            let known = walk.known.get(&visit_of(next, bound));
            known.copied().unwrap_or(walk.unknown)
        };
        let name = format!("function {:?} {at}", walk.content);
        match walk.function.node(at) {
            Node::ReturnNone => Ok(walk.rest),
            Node::ReturnStatic(number) => {
                let decision = FunctionDecision::Always(*number);
                Ok(walk.decided(function_verdict(&walk.policy.program, &decision)))
            }
            Node::Return(Code::Decide(node)) => {
                // What the decision is made of may raise.
                let ends = [walk.decided(node.verdict), walk.fails];
                self.one_of(name.as_bytes(), walk.rule.reason, &ends)
            }
            Node::Return(_) => Ok(walk.unknown),
            Node::Run(statement, next) => {
                if assigned(statement).is_none() {
                    return Ok(walk.unknown);
                }
                let next = after(*next, &walk.rule.then(statement, bound));
                match own {
                    Some(made) => self.branch(made, [next, walk.unknown, walk.fails, walk.unknown]),
                    None => self.one_of(name.as_bytes(), walk.rule.reason, &[next, walk.fails]),
                }
            }
            Node::Test(_, yes, no) => {
                let (yes, no) = (after(*yes, bound), after(*no, bound));
                let found = own.unwrap_or(ABSENT);
                self.branch(found, [yes, no, walk.fails, walk.unknown])
            }
        }
    }

    /// One of some functions, only the evaluator knows which.
    fn one_of(&mut self, name: &[u8], reason: &Reason, of: &[Dd]) -> Result<Dd, Stop> {
        let Some((&first, rest)) = of.split_first() else {
            return Ok(FALSE);
        };
        let mut result = first;
        for (part, &other) in rest.iter().enumerate() {
            let other_one = self.unknown((name, part), reason, &[FALSE, TRUE])?;
            result = self.dd.choose(other_one, [other, result, result])?;
        }
        Ok(result)
    }
}
