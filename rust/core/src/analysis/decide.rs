//! Policies as functions: from the requests of one tool to the ends of their decisions.

use crate::clause::flat_expr::{Connective, Part};
use crate::lang::path::Field;
use crate::program::{Body, Program};

use super::budget::Stop;
use super::dd::{Connect, Dd, FALSE, TRUE};
use super::policy::{End, Ends, Policy, Rank, Section};
use super::slot::{Kind, Place};
use super::space::Space;

impl Space<'_> {
    /// Notes all that some rules of policies read. Call it once, with all of them.
    pub(super) fn read(&mut self, rules: &[(&Policy, &[u32])]) {
        for flag in [Field::Reversible, Field::HasShadow] {
            self.place(Place::new(flag, &[]));
        }
        each_clause(rules, &mut |program, clause| {
            self.note_place(program, clause)
        });
        self.number_slots();
        each_clause(rules, &mut |program, clause| {
            self.note_constants(program, clause)
        });
        self.finish();
    }

    /// The truth value of the match of a rule, in the polarity of the rule.
    pub(super) fn matched(&mut self, policy: &Policy, rule: u32) -> Result<Dd, Stop> {
        let Some(body) = policy.matched(rule) else {
            return Ok(FALSE);
        };
        let permits = policy.verdict(rule).permits();
        self.expression(&policy.program, policy.program.written(body), permits)
    }

    fn expression(&mut self, program: &Program, part: Part<'_>, permits: bool) -> Result<Dd, Stop> {
        match part {
            Part::Leaf(clause) => {
                let leaf = self.leaf(program, clause)?;
                match permits {
                    true => Ok(leaf),
                    false => self.dd.absent_is_false(leaf),
                }
            }
            Part::Of(Connective::Not, mut items) => {
                let Some(item) = items.next() else {
                    return Ok(FALSE);
                };
                let item = self.expression(program, item, permits)?;
                self.dd.not(item)
            }
            Part::Of(connective, items) => {
                let (by, mut result) = match connective {
                    Connective::All => (Connect::All, TRUE),
                    Connective::Any | Connective::Not => (Connect::Any, FALSE),
                };
                for item in items {
                    let item = self.expression(program, item, permits)?;
                    result = self.dd.connect(by, result, item)?;
                }
                Ok(result)
            }
        }
    }

    /// The end of each request by some rules of a section, which are in order.
    pub(super) fn decision(
        &mut self,
        (policy, section): (&Policy, Section),
        rules: &[u32],
        ends: &mut Ends,
    ) -> Result<Dd, Stop> {
        let mut rest = self.defaults(section, ends)?;
        // Atoms have the order of the rules, so that a list of rules is a chain: see ADR 17.
        for &rule in rules {
            self.matched(policy, rule)?;
        }
        for &rule in rules.iter().rev() {
            self.budget.check()?;
            rest = self.rule((policy, section), rule, rest, ends)?;
        }
        Ok(rest)
    }

    fn defaults(&mut self, section: Section, ends: &mut Ends) -> Result<Dd, Stop> {
        let mut end = |verdict: crate::lang::Verdict| {
            Dd::terminal(ends.number(End {
                verdict: Some(Rank::from(verdict)),
                rule: None,
                fails: false,
                transforms: Vec::new(),
                unknown: None,
            }))
        };
        let no_match = end(section.defaults.on_no_match);
        let missing = end(section.defaults.on_missing_shadow);
        let mut result = missing;
        for flag in [Field::HasShadow, Field::Reversible] {
            let Some(&slot) = self.places.get(&Place::new(flag, &[])) else {
                return Err(Stop::Internal("no slot of a flag".to_owned()));
            };
            let is_set = self.by_kind(slot, |kind| match kind {
                Kind::True => TRUE,
                _ => FALSE,
            })?;
            result = self.dd.choose(is_set, [no_match, result, result])?;
        }
        Ok(result)
    }

    /// The end by a rule, and by the rules after it where it does not decide.
    pub(super) fn rule(
        &mut self,
        (policy, section): (&Policy, Section),
        rule: u32,
        rest: Dd,
        ends: &mut Ends,
    ) -> Result<Dd, Stop> {
        let content = policy.content.get(rule as usize).copied();
        let mut end = |verdict: Option<Rank>, unknown| {
            Dd::terminal(ends.number(End {
                verdict,
                rule: content,
                fails: false,
                transforms: Vec::new(),
                unknown,
            }))
        };
        let verdict = policy.verdict(rule);
        match policy
            .program
            .rules
            .get(rule as usize)
            .map(|rule| &rule.body)
        {
            Some(Body::Match(_)) => {
                let matched = self.matched(policy, rule)?;
                let fires = match verdict {
                    crate::lang::Verdict::Transform => end(None, Some("transform")),
                    verdict => end(Some(verdict.into()), None),
                };
                let fails = match verdict.permits() || section.defaults.continue_on_error {
                    true => rest,
                    false => Dd::terminal(ends.number(End {
                        verdict: Some(Rank::Deny),
                        rule: content,
                        fails: true,
                        transforms: Vec::new(),
                        unknown: None,
                    })),
                };
                self.dd.choose(matched, [fires, fails, rest])
            }
            Some(Body::Host(_)) => {
                let unknown = end(None, Some("host_rule"));
                self.may_decide(policy, rule, unknown, rest)
            }
            Some(Body::Function(_)) => {
                let unknown = end(None, Some("function_rule"));
                self.may_decide(policy, rule, unknown, rest)
            }
            None => Ok(rest),
        }
    }

    /// The end of a rule that decides some requests, only the evaluator knows which.
    fn may_decide(
        &mut self,
        policy: &Policy,
        rule: u32,
        decides: Dd,
        rest: Dd,
    ) -> Result<Dd, Stop> {
        let reason = super::budget::Reason {
            rule: Some(rule),
            ..super::budget::Reason::new("host_rule", "a rule is code")
        };
        let name = [b"rule ".as_slice(), policy.name(rule).as_bytes()].concat();
        let fires = self.unknown((&name, 0), &reason, &[FALSE, TRUE])?;
        self.dd.choose(fires, [decides, rest, rest])
    }
}

/// Calls `visit` with the clauses of some rules.
pub(super) fn each_clause<'p>(
    rules: &[(&'p Policy, &[u32])],
    visit: &mut impl FnMut(&'p Program, u32),
) {
    for (policy, rules) in rules {
        for &rule in *rules {
            if let Some(body) = policy.matched(rule) {
                let program = &policy.program;
                program
                    .written(body)
                    .leaves(&mut |clause| visit(program, clause));
            }
        }
    }
}
