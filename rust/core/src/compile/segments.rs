//! Building the index of the rules that one tool can meet: by guard. Made when the first request asks for it.

use std::collections::{BTreeMap, HashMap};

use super::cheap;
use super::guard::{Guards, may_fail};
use super::prepare::exact_text;
use crate::expr::Part;
use crate::matcher::Test;
use crate::matcher::number::Number;
use crate::matcher::operand::Operand;
use crate::program::segment::{Class, PatternGroup, Probe, Rules, Segment};
use crate::program::strmap::StrMap;
use crate::program::{Body, Listing, Profile, Program};

/// Segments of fewer rules are judged rule by rule: an index would cost more than it saves.
const SMALL: usize = 4;
/// Fewer patterns than this are searched one by one.
const FEW_PATTERNS: usize = 4;

impl Program {
    /// The rules that are about `tool` only, and their index; `None` when there is none.
    #[inline]
    pub(crate) fn segment(&self, tool: &str) -> Option<&Segment> {
        self.tools
            .get(tool)
            .map(|listing| self.indexed(listing, true))
    }

    /// The rules that any tool can meet, and their index.
    #[inline]
    pub(crate) fn generic(&self) -> &Segment {
        self.indexed(&self.generic, false)
    }

    #[inline]
    fn indexed<'p>(&'p self, listing: &'p Listing, tool_known: bool) -> &'p Segment {
        listing
            .segment
            .get_or_init(|| Box::new(self.index(listing, tool_known)))
    }

    #[cold]
    fn index(&self, listing: &Listing, tool_known: bool) -> Segment {
        let (from, to) = listing.rules;
        let rules = self
            .listed
            .get(from as usize..to as usize)
            .unwrap_or_default();
        if self.profile == Profile::Strict {
            for &rule in rules {
                if let Some(Body::Match(body)) =
                    self.rules.get(rule as usize).map(|rule| &rule.body)
                {
                    body.cheap
                        .get_or_init(|| cheap::cheap(self, self.written(body), tool_known));
                }
            }
        }
        segment(self, rules.to_vec(), tool_known)
    }
}

fn segment(program: &Program, rules: Rules, tool_known: bool) -> Segment {
    if rules.len() < SMALL || program.profile == Profile::Lynx {
        return Segment {
            always: rules,
            probes: Vec::new(),
        };
    }
    let matches: Vec<(u32, Option<Part<'_>>)> = rules
        .iter()
        .map(|&rule| {
            let rule_body = program.rules.get(rule as usize).map(|rule| &rule.body);
            match rule_body {
                Some(Body::Match(body)) => (rule, Some(program.written(body))),
                Some(Body::Host(_)) | None => (rule, None),
            }
        })
        .collect();
    let exprs: Vec<Part<'_>> = matches.iter().filter_map(|(_, expr)| *expr).collect();
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
    patterns: BTreeMap<u32, Rules>,
    missing: Rules,
    errors: [Rules; 8],
}

impl Drafts<'_> {
    fn add(&mut self, rule: u32, expr: Part<'_>, guard: &[u32]) {
        let permits = self.program.permits(rule);
        for &clause in guard {
            self.guard(rule, clause, permits);
        }
        if permits {
            // With an absent guard another clause may still put the rule in error, which leaves a marker.
            expr.leaves(&mut |clause| {
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
        match program.test(index) {
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
            test @ Test::Matches(_) => match exact_text(test) {
                Some(text) => draft.strings.entry(text).or_default().push(rule),
                None => draft.patterns.entry(index).or_default().push(rule),
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
            | Test::Broken => {
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
        let test = self.program.test(index);
        let draft = self.by_path.entry(clause.path).or_default();
        for (class, rules) in Class::ALL.into_iter().zip(&mut draft.errors) {
            if may_fail(test, class) && rules.last() != Some(&rule) {
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
            self.clauses.extend(self.patterns);
        } else {
            patterns = Some(PatternGroup {
                members: self.patterns.into_iter().collect(),
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
