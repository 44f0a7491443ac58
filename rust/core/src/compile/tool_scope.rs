//! Tool scopes: the tools that a rule applies to. A rule whose match is false for every other tool is only evaluated for
//! these.

use std::borrow::Cow;

use crate::bytes::interner::Interner;
use crate::bytes::strmap::StrMap;
use crate::clause::flat_expr::{Connective, Part};
use crate::clause::lynx::LynxOp;
use crate::clause::operand::Operand;
use crate::clause::ops::IndexKey;
use crate::lang::path::Field;
use crate::program::{Body, Profile, Program, ToolBucket};
use crate::pyfn::analysis::tool_scope_fn;
use crate::value::constant::Const;

/// Most tools one rule is listed under; a rule about more is listed as generic.
const MAX_TOOLS: usize = 64;

/// Listings of rules under tools, per rule of the policy, before rules about many tools are listed as generic.
const BUCKETS_PER_RULE: usize = 8;

/// Lists the rules of a program by the tools they are about.
pub(super) fn list(program: &mut Program) {
    let mut names = Interner::default();
    number_tools(program, &mut names);
    let mut pairs: Vec<(u32, u32)> = Vec::with_capacity(program.rules.len());
    let mut generic = Vec::new();
    let mut starts_of = Vec::new();
    let mut buckets = program.rules.len().saturating_mul(BUCKETS_PER_RULE);
    let of: &Program = program;
    let tests = |clause| of.test(clause);
    for (index, rule) in (0..).zip(&of.rules) {
        let pins = match &rule.body {
            Body::Host(_) => None,
            Body::Function(function) => tool_scope_fn::tools(function, (&of.paths, &tests))
                .filter(|tools| tools.len() <= MAX_TOOLS)
                .map(|tools| {
                    let read = (of.paths.as_slice(), &tests as _);
                    if let Some(start) = tool_scope_fn::start(function, read, &tools) {
                        starts_of.push((index, start));
                    }
                    Cow::Owned(numbered(&mut names, tools))
                }),
            Body::Match(body) => tools(of, of.written(body)),
        };
        match pins {
            Some(pins) if pins.len() <= buckets => {
                buckets -= pins.len();
                pairs.extend(pins.iter().map(|&tool| (tool, index)));
            }
            Some(_) | None => generic.push(index),
        }
    }
    for (rule, start) in starts_of {
        let listed = generic.binary_search(&rule).is_err();
        if let Some(Body::Function(function)) = program
            .rules
            .get_mut(rule as usize)
            .map(|rule| &mut rule.body)
        {
            function.pinned = listed.then_some(start);
        }
    }
    pairs.sort_unstable();
    let place = |tool: u32| pairs.partition_point(|(other, _)| *other < tool) as u32;
    let buckets = (0..).zip(names.texts).map(|(tool, name)| {
        let rules = (place(tool), place(tool + 1));
        let rule_index = Default::default();
        (name, ToolBucket { rules, rule_index })
    });
    program.tools = StrMap::new(buckets.collect());
    program.generic.rules = (pairs.len() as u32, (pairs.len() + generic.len()) as u32);
    program.listed = pairs.into_iter().map(|(_, rule)| rule).collect();
    program.listed.append(&mut generic);
}

/// Gives every clause that is true for some tools only their list.
fn number_tools(program: &mut Program, names: &mut Interner) {
    for index in 0..program.clauses.len() as u32 {
        let Some(wanted) = names_of(program, index) else {
            continue;
        };
        let set = numbered(names, wanted);
        let at = program.tool_sets.len() as u32;
        program.tool_sets.push(set.into());
        if let Some(clause) = program.clauses.get_mut(index as usize) {
            clause.tools = Some(at);
        }
    }
}

/// The numbers of these tools, in order.
fn numbered(names: &mut Interner, tools: impl IntoIterator<Item: AsRef<str>>) -> Vec<u32> {
    let numbers = tools.into_iter().map(|name| names.intern(name.as_ref()));
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// The tools outside of which a clause on the tool is false, without an error; `None` when it may be anything else.
fn names_of(program: &Program, index: u32) -> Option<Vec<String>> {
    let clause = program.clauses.get(index as usize)?;
    let path = program.paths.get(clause.path as usize)?;
    if path.field != Some(Field::Tool) {
        return None;
    }
    let names: Vec<String> = match program.profile {
        Profile::Strict => match program.test(index).key() {
            IndexKey::Scalars(texts, []) => texts.iter().map(ToString::to_string).collect(),
            IndexKey::Pattern(Some(text)) => vec![text],
            _ => return None,
        },
        Profile::Lynx => {
            let info = program.clause(index)?;
            match (info.op.lynx?, &info.operand) {
                (LynxOp::Eq, Operand::Const(Const::Str(text))) => vec![text.to_string()],
                (LynxOp::In, Operand::Const(list @ Const::List(items)))
                    if !list.has_host_const() =>
                {
                    items
                        .iter()
                        .filter_map(|item| match item {
                            Const::Str(text) => Some(text.to_string()),
                            _ => None,
                        })
                        .collect()
                }
                _ => return None,
            }
        }
    };
    (names.len() <= MAX_TOOLS).then_some(names)
}

/// The numbers of the tools outside of which `expr` is false, without an error and whatever else the request holds, in
/// order; `None` when it may be anything else. Holds for requests whose tool is a string.
pub(super) fn tools<'p>(program: &'p Program, expr: Part<'_>) -> Option<Cow<'p, [u32]>> {
    match expr {
        Part::Leaf(index) => {
            let set = program.clauses.get(index as usize)?.tools?;
            program
                .tool_sets
                .get(set as usize)
                .map(|set| Cow::Borrowed(&**set))
        }
        Part::Of(Connective::Not, _) => None,
        // The lynx profile evaluates in order: only an earlier clause keeps a later one from raising.
        Part::Of(Connective::All, mut items) if program.profile == Profile::Lynx => {
            tools(program, items.next()?)
        }
        Part::Of(Connective::All, items) => items
            .filter_map(|item| tools(program, item))
            .min_by_key(|tools| tools.len()),
        Part::Of(Connective::Any, items) => {
            let mut union = Vec::new();
            for item in items {
                union.extend_from_slice(&tools(program, item)?);
            }
            union.sort_unstable();
            union.dedup();
            (union.len() <= MAX_TOOLS).then_some(Cow::Owned(union))
        }
    }
}
