//! Compilation: from the typed IR to a [`Program`]. Interns paths and keys, prepares every distinct clause once, builds
//! the index. Automata are left to the first search that needs them.

mod guard;
mod pin;
mod segments;

use std::collections::HashMap;

use crate::error::DecodeError;
use crate::ir::{self, Leaf, Policy, Rule};
use crate::matcher::lynx::Foreign;
use crate::matcher::operand::Operand;
use crate::matcher::{Needle, Quantity, Relation, ScalarSet, Test};
use crate::path::{Field, Head};
use crate::pattern::LiteralKind;
use crate::program::{
    Body, Clause, ClauseInfo, Expr, Op, Path, PatternSlot, Profile, Program, RuleInfo, Verdict,
};
use crate::value::constant::Const;

impl Program {
    /// Decodes canonical IR bytes and compiles them.
    ///
    /// # Errors
    /// The bytes are no IR, or pass a cap of [`crate::limits`]; the codes are those of [`ir::decode`].
    pub fn from_ir(bytes: &[u8]) -> Result<Self, DecodeError> {
        ir::decode(bytes).map(compile)
    }
}

/// Compiles a decoded policy.
#[must_use]
pub fn compile(policy: Policy) -> Program {
    let mut builder = Builder::default();
    let mut infos = Vec::with_capacity(policy.leaves.len());
    for leaf in policy.leaves {
        infos.push(builder.clause(leaf, policy.profile));
    }
    let mut rules = Vec::with_capacity(policy.rules.len());
    let mut bodies = Vec::with_capacity(policy.rules.len());
    let mut host_count = 0;
    for rule in policy.rules {
        match rule {
            Rule::Host(name) => {
                rules.push(RuleInfo {
                    id: Const::Str(name.into()),
                    verdict: Verdict::Deny,
                    reason: Const::Str("".into()),
                    approvers: Vec::new(),
                    timeout_seconds: Const::Null,
                    transform: None,
                    host: Some(host_count),
                });
                bodies.push(Body::Host(host_count));
                host_count += 1;
            }
            Rule::Declarative(rule) => {
                let written = expr(&rule.matches);
                let (cheap, _) = builder.cheap_first(&written);
                bodies.push(Body::Match { written, cheap });
                rules.push(RuleInfo {
                    id: rule.id,
                    verdict: rule.verdict,
                    reason: rule.reason,
                    approvers: rule.approvers,
                    timeout_seconds: rule.timeout_seconds,
                    transform: rule.transform,
                    host: None,
                });
            }
        }
    }
    let mut program = Program {
        profile: policy.profile,
        defaults: policy.defaults,
        rules,
        bodies,
        keys: builder.keys,
        paths: builder.paths,
        clauses: builder.clauses,
        infos,
        patterns: builder.patterns,
        host_count,
        tools: Default::default(),
        generic: Default::default(),
    };
    segments::build(&mut program);
    program
}

fn expr(node: &ir::Expr) -> Expr {
    match node {
        ir::Expr::All(items) => Expr::All(items.iter().map(expr).collect()),
        ir::Expr::Any(items) => Expr::Any(items.iter().map(expr).collect()),
        ir::Expr::Not(item) => Expr::Not(Box::new(expr(item))),
        ir::Expr::Leaf(index) => Expr::Leaf(*index),
    }
}

#[derive(Default)]
struct Builder {
    keys: Vec<Box<str>>,
    key_ids: HashMap<Box<str>, u32>,
    paths: Vec<Path>,
    path_ids: HashMap<(Head, Box<[u32]>), u32>,
    clauses: Vec<Clause>,
    patterns: Vec<PatternSlot>,
}

impl Builder {
    fn clause(&mut self, leaf: Leaf, profile: Profile) -> ClauseInfo {
        let path = self.path(leaf.head, &leaf.path);
        let pattern = leaf.pattern.map(|pattern| {
            self.patterns.push(PatternSlot::new(pattern));
            (self.patterns.len() - 1) as u32
        });
        let (keys, key_ids) = (&mut self.keys, &mut self.key_ids);
        let mut intern = |text: &str| intern(keys, key_ids, text);
        let (test, foreign) = match profile {
            Profile::Strict => (test(leaf.op, &leaf.operand, pattern, &mut intern), None),
            Profile::Lynx => (
                Test::Foreign,
                Some(Foreign::prepare(
                    leaf.op,
                    &leaf.operand,
                    pattern,
                    &mut intern,
                )),
            ),
        };
        self.clauses.push(Clause {
            path,
            test,
            foreign,
        });
        ClauseInfo {
            head: leaf.head,
            path: leaf.path,
            op: leaf.op,
            operand: leaf.operand,
            dialect: leaf.dialect,
        }
    }

    fn path(&mut self, head: Head, path: &[Box<str>]) -> u32 {
        let keys: Box<[u32]> = path
            .iter()
            .map(|key| intern(&mut self.keys, &mut self.key_ids, key))
            .collect();
        let next = self.paths.len() as u32;
        let id = *self.path_ids.entry((head, keys.clone())).or_insert(next);
        if id == next {
            let (field, taken) = Field::resolve(head, path).unzip();
            self.paths.push(Path {
                head,
                field,
                taken: taken.unwrap_or(0),
                keys,
            });
        }
        id
    }

    /// The same expression with cheap items first, and its cost.
    fn cheap_first(&self, expr: &Expr) -> (Expr, u32) {
        let sorted = |items: &[Expr]| {
            let mut items: Vec<_> = items.iter().map(|item| self.cheap_first(item)).collect();
            items.sort_by_key(|(_, cost)| *cost);
            let cost = items
                .iter()
                .map(|(_, cost)| *cost)
                .fold(0, u32::saturating_add);
            (items.into_iter().map(|(item, _)| item).collect(), cost)
        };
        match expr {
            Expr::Leaf(clause) => (expr.clone(), self.cost(*clause)),
            Expr::Not(item) => {
                let (item, cost) = self.cheap_first(item);
                (Expr::Not(Box::new(item)), cost)
            }
            Expr::All(items) => {
                let (items, cost) = sorted(items);
                (Expr::All(items), cost)
            }
            Expr::Any(items) => {
                let (items, cost) = sorted(items);
                (Expr::Any(items), cost)
            }
        }
    }

    /// What judging a clause costs, roughly in equalities.
    fn cost(&self, clause: u32) -> u32 {
        let Some(clause) = self.clauses.get(clause as usize) else {
            return 0;
        };
        match &clause.test {
            Test::Equal(_)
            | Test::Order(..)
            | Test::Between { .. }
            | Test::Exists(_)
            | Test::Foreign => 1,
            Test::In(_) => 2,
            Test::Contains(needles, _) => 4 + needles.len() as u32,
            Test::EqualDeep(_) => 6,
            Test::Matches(pattern) => match self
                .patterns
                .get(*pattern as usize)
                .map(|slot| slot.pattern.literal_kind())
            {
                Some(Some(_)) => 3,
                Some(None) | None => 20,
            },
        }
    }
}

fn intern(keys: &mut Vec<Box<str>>, ids: &mut HashMap<Box<str>, u32>, text: &str) -> u32 {
    if let Some(&id) = ids.get(text) {
        return id;
    }
    let id = keys.len() as u32;
    keys.push(text.into());
    ids.insert(text.into(), id);
    id
}

/// Prepares a clause of the strict profile, whose operand the decoder has checked.
fn test(
    op: Op,
    operand: &Const,
    pattern: Option<u32>,
    intern: &mut impl FnMut(&str) -> u32,
) -> Test {
    let never = || Test::Order(Relation::Gt, Operand::Null);
    let Some(prepared) = Operand::prepare(operand, intern) else {
        return never();
    };
    let mut needle = |operand: Operand| {
        let text = match &operand {
            Operand::Str(text) => Some((
                intern(text),
                memchr::memmem::Finder::new(text.as_bytes()).into_owned(),
            )),
            _ => None,
        };
        Needle { operand, text }
    };
    match (op, prepared) {
        (Op::Eq, operand @ (Operand::List(_) | Operand::Map(_))) => Test::EqualDeep(operand),
        (Op::Eq, operand) => Test::Equal(operand),
        (Op::Matches, _) => pattern.map_or_else(never, Test::Matches),
        (Op::In, Operand::List(items)) => Test::In(ScalarSet::new(items)),
        (Op::Contains, operand) => Test::Contains(vec![needle(operand)], Quantity::Any),
        (Op::ContainsAny, Operand::List(items)) => {
            Test::Contains(items.into_iter().map(needle).collect(), Quantity::Any)
        }
        (Op::ContainsAll, Operand::List(items)) => {
            Test::Contains(items.into_iter().map(needle).collect(), Quantity::All)
        }
        (Op::Gt, operand) => Test::Order(Relation::Gt, operand),
        (Op::Ge, operand) => Test::Order(Relation::Ge, operand),
        (Op::Lt, operand) => Test::Order(Relation::Lt, operand),
        (Op::Le, operand) => Test::Order(Relation::Le, operand),
        (Op::Between | Op::NotBetween, Operand::List(bounds)) => {
            match <[Operand; 2]>::try_from(bounds) {
                Ok([lo, hi]) => Test::Between {
                    lo,
                    hi,
                    negated: op == Op::NotBetween,
                },
                Err(_) => never(),
            }
        }
        (Op::Exists, Operand::Bool(wanted)) => Test::Exists(wanted),
        (
            Op::In | Op::ContainsAny | Op::ContainsAll | Op::Between | Op::NotBetween | Op::Exists,
            _,
        ) => never(),
    }
}

/// The text a clause equals exactly, when it is true for one text only.
fn exact_text(program: &Program, test: &Test) -> Option<String> {
    match test {
        Test::Equal(Operand::Str(text)) => Some(text.to_string()),
        Test::Matches(pattern) => match program
            .patterns
            .get(*pattern as usize)?
            .pattern
            .literal_kind()?
        {
            LiteralKind::Exact(text) => Some(text),
            LiteralKind::Prefix(_) | LiteralKind::Suffix(_) | LiteralKind::Contains(_) => None,
        },
        _ => None,
    }
}
