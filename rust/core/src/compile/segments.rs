//! Building the index: rules by tool, and within a tool by guard.

use std::collections::{BTreeMap, HashMap};

use super::exact_text;
use super::guard::{Guards, leaves, may_fail};
use super::pin;
use crate::matcher::Test;
use crate::matcher::number::Number;
use crate::matcher::operand::Operand;
use crate::program::segment::{Class, PatternGroup, Probe, Rules, Segment};
use crate::program::strmap::StrMap;
use crate::program::{Body, Expr, Profile, Program};

/// Segments of fewer rules are judged rule by rule: an index would cost more than it saves.
const SMALL: usize = 4;
/// Fewer patterns than this are searched one by one.
const FEW_PATTERNS: usize = 4;
/// Listings of rules under tools, per rule of the policy, before rules about many tools are listed as generic.
const LISTINGS_PER_RULE: usize = 8;

/// Gives a program its index.
pub(super) fn build(program: &mut Program) {
    let (tools, generic, pinned) = index(program);
    program.tools = tools;
    program.generic = generic;
    if program.profile == Profile::Strict {
        for (rule, names) in pinned {
            let answered = match program.bodies.get(rule as usize) {
                Some(Body::Match {
                    cheap: Expr::All(items),
                    ..
                }) => items.iter().position(|item| {
                    matches!(item, Expr::Leaf(_))
                        && pin::tools(program, item).as_ref() == Some(&names)
                }),
                Some(Body::Match { .. } | Body::Host(_)) | None => None,
            };
            if let (
                Some(at),
                Some(Body::Match {
                    cheap: Expr::All(items),
                    ..
                }),
            ) = (answered, program.bodies.get_mut(rule as usize))
            {
                let mut kept = std::mem::take(items).into_vec();
                kept.remove(at);
                *items = kept.into();
            }
        }
    }
}

/// The segments of every tool the policy names, the generic one, and the rules that are in the former, with their tools.
#[expect(
    clippy::type_complexity,
    reason = "three results of one walk, taken apart at once"
)]
fn index(program: &Program) -> (StrMap<Segment>, Segment, Vec<(u32, Vec<String>)>) {
    let mut pinned = Vec::new();
    let mut by_tool: BTreeMap<String, Rules> = BTreeMap::new();
    let mut generic = Vec::new();
    let mut listings = program.bodies.len().saturating_mul(LISTINGS_PER_RULE);
    for (rule, body) in (0..).zip(&program.bodies) {
        let names = match body {
            Body::Host(_) => None,
            Body::Match { written, .. } => pin::tools(program, written),
        };
        match names {
            Some(names) if names.len() <= listings => {
                listings -= names.len();
                for name in &names {
                    by_tool.entry(name.clone()).or_default().push(rule);
                }
                pinned.push((rule, names));
            }
            Some(_) | None => generic.push(rule),
        }
    }
    let tools = by_tool
        .into_iter()
        .map(|(name, rules)| (name.into_boxed_str(), segment(program, rules, true)))
        .collect();
    (StrMap::new(tools), segment(program, generic, false), pinned)
}

fn segment(program: &Program, rules: Rules, tool_known: bool) -> Segment {
    if rules.len() < SMALL || program.profile == Profile::Lynx {
        return Segment {
            always: rules,
            probes: Vec::new(),
        };
    }
    let matches: Vec<(u32, Option<&Expr>)> = rules
        .iter()
        .map(|&rule| match program.bodies.get(rule as usize) {
            Some(Body::Match { written, .. }) => (rule, Some(written)),
            Some(Body::Host(_)) | None => (rule, None),
        })
        .collect();
    let exprs: Vec<&Expr> = matches.iter().filter_map(|(_, expr)| *expr).collect();
    let guards = Guards::new(program, tool_known, &exprs);
    let mut always = Vec::new();
    let mut drafts = Drafts {
        program,
        by_path: BTreeMap::new(),
    };
    for (rule, expr) in matches {
        match expr.and_then(|expr| Some((expr, guards.choose(expr)?))) {
            Some((expr, guard)) => drafts.add(rule, expr, &guard),
            None => always.push(rule),
        }
    }
    Segment {
        always,
        probes: drafts.finish(),
    }
}

/// Probes in the making, by path.
struct Drafts<'p> {
    program: &'p Program,
    by_path: BTreeMap<u32, Draft>,
}

#[derive(Default)]
struct Draft {
    guarded: bool,
    permits: bool,
    strings: HashMap<String, Rules>,
    ints: BTreeMap<i64, Rules>,
    clauses: BTreeMap<u32, Rules>,
    patterns: BTreeMap<u32, (u32, Rules)>,
    missing: Rules,
    errors: [Rules; 8],
}

impl Drafts<'_> {
    fn add(&mut self, rule: u32, expr: &Expr, guard: &[u32]) {
        let permits = self.program.permits(rule);
        for &clause in guard {
            self.guard(rule, clause, permits);
        }
        if permits {
            // With an absent guard another clause may still put the rule in error, which leaves a marker.
            leaves(expr, &mut |clause| {
                if !guard.contains(&clause) {
                    self.errors(rule, clause);
                }
            });
        }
    }

    fn guard(&mut self, rule: u32, index: u32, permits: bool) {
        let program = self.program;
        let Some(clause) = program.clauses.get(index as usize) else {
            return;
        };
        let draft = self.by_path.entry(clause.path).or_default();
        draft.guarded = true;
        draft.permits |= permits;
        match &clause.test {
            Test::Exists(false) => {
                draft.missing.push(rule);
                return;
            }
            Test::In(set) if set.rest().is_empty() => {
                for text in set.strings() {
                    draft
                        .strings
                        .entry(text.to_string())
                        .or_default()
                        .push(rule);
                }
                for number in set.ints() {
                    draft.ints.entry(*number).or_default().push(rule);
                }
            }
            Test::Matches(pattern) => match exact_text(program, &clause.test) {
                Some(text) => draft.strings.entry(text).or_default().push(rule),
                None => draft
                    .patterns
                    .entry(index)
                    .or_insert_with(|| (*pattern, Vec::new()))
                    .1
                    .push(rule),
            },
            Test::Equal(Operand::Str(text)) => draft
                .strings
                .entry(text.to_string())
                .or_default()
                .push(rule),
            Test::Equal(Operand::Number(Number::Int(number))) => {
                draft.ints.entry(*number).or_default().push(rule)
            }
            Test::Equal(_)
            | Test::In(_)
            | Test::EqualDeep(_)
            | Test::Contains(..)
            | Test::Order(..)
            | Test::Between { .. }
            | Test::Exists(true)
            | Test::Foreign => {
                // Judged by itself on every value that is there: true and error both name the rule.
                draft.clauses.entry(index).or_default().push(rule);
                return;
            }
        }
        self.errors(rule, index);
    }

    fn errors(&mut self, rule: u32, index: u32) {
        let Some(clause) = self.program.clauses.get(index as usize) else {
            return;
        };
        let draft = self.by_path.entry(clause.path).or_default();
        for (class, rules) in Class::ALL.into_iter().zip(&mut draft.errors) {
            if may_fail(&clause.test, class) && rules.last() != Some(&rule) {
                rules.push(rule);
            }
        }
    }

    fn finish(self) -> Vec<Probe> {
        let mut probes: Vec<Probe> = self
            .by_path
            .into_iter()
            .map(|(path, draft)| draft.finish(path))
            .collect();
        probes.sort_by_key(|probe| probe.late);
        probes
    }
}

impl Draft {
    fn finish(mut self, path: u32) -> Probe {
        let mut patterns = None;
        if self.patterns.len() < FEW_PATTERNS {
            self.clauses.extend(
                self.patterns
                    .into_iter()
                    .map(|(clause, (_, rules))| (clause, rules)),
            );
        } else {
            let members = self
                .patterns
                .into_iter()
                .map(|(clause, (pattern, rules))| (clause, pattern, rules));
            patterns = Some(PatternGroup {
                members: members.collect(),
                set: Default::default(),
            });
        }
        Probe {
            path,
            late: !self.guarded,
            permits: self.permits,
            strings: StrMap::new(
                self.strings
                    .into_iter()
                    .map(|(text, rules)| (text.into(), rules))
                    .collect(),
            ),
            ints: self.ints.into_iter().collect(),
            clauses: self.clauses.into_iter().collect(),
            patterns,
            missing: self.missing,
            errors: self.errors,
        }
    }
}
