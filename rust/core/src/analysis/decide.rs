//! Policies as functions: from the requests of one tool to the ends of their decisions.

use crate::clause::flat_expr::{Connective, Part};
use crate::lang::Verdict;
use crate::lang::path::Field;
use crate::program::{Body, Program};

use super::budget::{Reason, Stop};
use super::connect::Connect;
use super::dd::{ABSENT, Dd, FALSE, TRUE};
use super::function;
use super::policy::{End, Ends, Policy, Rank, Section};
use super::slot::{Kind, Place};
use super::space::Space;
use super::transform::Changed;

impl<'a> Space<'a> {
    /// Notes all that some rules of policies read. Call it once, with all of them.
    pub(super) fn read(&mut self, rules: &[(&'a Policy, &[u32])]) {
        for flag in [Field::Reversible, Field::HasShadow] {
            self.place(Place::new(flag, &[]));
        }
        each_clause(rules, &mut |program, clause| {
            self.note_place(program, clause)
        });
        let mut divided = Vec::new();
        for (policy, rules) in rules {
            for function in rules.iter().filter_map(|rule| policy.function(*rule)) {
                function::reads(policy, function, &mut |place, checks| {
                    self.place(place.clone());
                    divided.push((place, checks));
                });
            }
            for change in rules.iter().filter_map(|rule| policy.change(*rule)) {
                self.place(Place::new(Field::Args, &change.path));
            }
        }
        self.number_slots();
        each_clause(rules, &mut |program, clause| {
            self.note_constants(program, clause)
        });
        for (place, checks) in divided {
            for check in checks {
                self.note_check_constants(&place, &check);
            }
        }
        self.finish();
    }

    /// The truth value of the match of a rule, in the polarity of the rule.
    pub(super) fn matched(&mut self, policy: &'a Policy, rule: u32) -> Result<Dd, Stop> {
        self.matched_after(policy, rule, &Changed::default())
    }

    /// The same after transforms.
    pub(super) fn matched_after(
        &mut self,
        policy: &'a Policy,
        rule: u32,
        changed: &Changed,
    ) -> Result<Dd, Stop> {
        let Some(body) = policy.matched(rule) else {
            return Ok(FALSE);
        };
        let program = &policy.program;
        let permits = policy.verdict(rule).permits();
        self.expression(program, program.written(body), (permits, changed))
    }

    fn expression(
        &mut self,
        program: &'a Program,
        part: Part<'_>,
        (permits, changed): (bool, &Changed),
    ) -> Result<Dd, Stop> {
        match part {
            Part::Leaf(clause) => {
                let leaf = self.leaf_after(program, clause, &changed.changes)?;
                match permits {
                    true => Ok(leaf),
                    false => self.dd.absent_is_false(leaf),
                }
            }
            Part::Of(Connective::Not, mut items) => {
                let Some(item) = items.next() else {
                    return Ok(FALSE);
                };
                let item = self.expression(program, item, (permits, changed))?;
                self.dd.not(item)
            }
            Part::Of(connective, items) => {
                let (by, mut result) = match connective {
                    Connective::All => (Connect::All, TRUE),
                    Connective::Any | Connective::Not => (Connect::Any, FALSE),
                };
                for item in items {
                    let item = self.expression(program, item, (permits, changed))?;
                    result = self.dd.connect(by, result, item)?;
                }
                Ok(result)
            }
        }
    }

    /// The end of each request by some rules of a section, which are in order.
    pub(super) fn decision(
        &mut self,
        (policy, section): (&'a Policy, Section),
        rules: &[u32],
        ends: &mut Ends,
    ) -> Result<Dd, Stop> {
        let mut rest = self.defaults(section, ends)?;
        // Atoms have the order of the rules, so that a list of rules is a chain: see ADR 17.
        for &rule in rules {
            self.matched(policy, rule)?;
        }
        for (place, &rule) in rules.iter().enumerate().rev() {
            self.budget.check()?;
            let above = rules.get(..place).unwrap_or_default();
            let changed = Changed::default();
            rest = self.rule((policy, section), (rule, above), (rest, &changed), ends)?;
        }
        Ok(rest)
    }

    /// The calls of the default for irreversible actions without a shadow, or of the other one.
    pub(super) fn default_calls(&mut self, missing_shadow: bool) -> Result<Dd, Stop> {
        let (missing, other) = match missing_shadow {
            true => (TRUE, FALSE),
            false => (FALSE, TRUE),
        };
        let mut result = missing;
        for flag in [Field::HasShadow, Field::Reversible] {
            let Some(&slot) = self.places.get(&Place::new(flag, &[])) else {
                return Err(Stop::Internal("no slot of a flag".to_owned()));
            };
            let is_set = self.by_kind(slot, |kind| match kind {
                Kind::True => TRUE,
                _ => FALSE,
            })?;
            result = self.dd.choose(is_set, [other, result, result])?;
        }
        Ok(result)
    }

    pub(super) fn defaults(&mut self, section: Section, ends: &mut Ends) -> Result<Dd, Stop> {
        let mut end = |verdict: Verdict| {
            Dd::terminal(ends.number(End {
                verdict: Some(Rank::from(verdict)),
                rule: None,
                fails: false,
                transforms: Vec::new(),
                unknown: None,
                also: Vec::new(),
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

    /// The end by a rule, and by the rules after it where it does not decide. `above`: the rules that outrank it;
    /// `changed`: what rules have made of the arguments before.
    pub(super) fn rule(
        &mut self,
        (policy, section): (&'a Policy, Section),
        (rule, above): (u32, &[u32]),
        (rest, changed): (Dd, &Changed),
        ends: &mut Ends,
    ) -> Result<Dd, Stop> {
        let content = policy.content.get(rule as usize).copied();
        let end = |verdict: Option<Rank>, fails: bool, unknown| End {
            verdict,
            rule: content,
            fails,
            transforms: changed.numbers.clone(),
            unknown,
            also: Vec::new(),
        };
        let verdict = policy.verdict(rule);
        match policy
            .program
            .rules
            .get(rule as usize)
            .map(|rule| &rule.body)
        {
            Some(Body::Match(_)) => {
                let matched = self.matched_after(policy, rule, changed)?;
                if matched == FALSE || matched == ABSENT {
                    return Ok(rest);
                }
                let fires = match (verdict, policy.change(rule)) {
                    (Verdict::Transform, Some(change)) => {
                        let number = policy.change_number(rule);
                        let next = changed.with(change, number);
                        let fits = self.applies(change, changed)?;
                        let made = self.after((policy, section), (rule, above), &next, ends)?;
                        self.dd.choose(fits, [made, rest, rest])?
                    }
                    (Verdict::Allow, _) if !changed.numbers.is_empty() => {
                        Dd::terminal(ends.number(end(Some(Rank::Transform), false, None)))
                    }
                    (verdict, _) => {
                        Dd::terminal(ends.number(end(Some(verdict.into()), false, None)))
                    }
                };
                let fails = match verdict.permits() || section.defaults.continue_on_error {
                    true => rest,
                    false => Dd::terminal(ends.number(end(Some(Rank::Deny), true, None))),
                };
                self.dd.choose(matched, [fires, fails, rest])
            }
            Some(Body::Host(_)) => {
                let unknown = Dd::terminal(ends.number(end(None, false, Some("host_rule"))));
                self.may_decide((policy, rule), (unknown, rest), changed)
            }
            Some(Body::Function(function)) => {
                let unknown = Dd::terminal(ends.number(end(None, false, Some("function_rule"))));
                if !changed.numbers.is_empty() {
                    return self.may_decide((policy, rule), (unknown, rest), changed);
                }
                self.function((policy, rule), function, (rest, unknown), ends)
            }
            None => Ok(rest),
        }
    }

    /// The end after a transform: the rules that outrank it decide on the new arguments.
    fn after(
        &mut self,
        (policy, section): (&'a Policy, Section),
        (rule, above): (u32, &[u32]),
        changed: &Changed,
        ends: &mut Ends,
    ) -> Result<Dd, Stop> {
        let mut rest = Dd::terminal(ends.number(End {
            verdict: Some(Rank::Transform),
            rule: policy.content.get(rule as usize).copied(),
            fails: false,
            transforms: changed.numbers.clone(),
            unknown: None,
            also: Vec::new(),
        }));
        for (place, &other) in above.iter().enumerate().rev() {
            // A rule that does not read what was changed has not fired before, and does not now.
            if changed.touches(policy, other) {
                self.budget.check()?;
                let higher = above.get(..place).unwrap_or_default();
                rest = self.rule((policy, section), (other, higher), (rest, changed), ends)?;
            }
        }
        Ok(rest)
    }

    /// The end of a rule that decides some requests, only the evaluator knows which.
    fn may_decide(
        &mut self,
        (policy, rule): (&'a Policy, u32),
        (decides, rest): (Dd, Dd),
        changed: &Changed,
    ) -> Result<Dd, Stop> {
        let reason = Reason {
            rule: Some(rule),
            ..match policy.function(rule) {
                Some(_) => Reason::new("function_rule", "a Python rule can decide"),
                None => Reason::new("host_rule", "a host rule can decide"),
            }
        };
        let content = policy.content.get(rule as usize).copied();
        let name = format!("rule {content:?} {:?}", changed.numbers);
        let fires = self.unknown((name.as_bytes(), 0), &reason, &[FALSE, TRUE])?;
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
