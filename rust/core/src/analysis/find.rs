//! The question for one request with some properties.

use crate::program::TraceOutcome;

use super::answer::{self, Object};
use super::budget::{Reason, Stop};
use super::dd::{Dd, FALSE, TRUE};
use super::lazy::Lane;
use super::long_find;
use super::policy::{End, Ends, Policy, Rank};
use super::question::Constraint;
use super::search::{Found, Goal};
use super::verify::{self, Decided};
use super::view::{View, unknown_end};
use super::{Analysis, Asked};

/// A request, and the decisions on it.
pub(super) struct Witness {
    pub(super) request: String,
    pub(super) decisions: Vec<Decided>,
}

/// Terminals of functions that may be true; those that only may have a number of their own.
struct Wanted {
    caveats: Vec<Reason>,
}

/// A request may have the properties: the first caveat has this number.
const MAYBE: u32 = 16;

impl Goal for Wanted {
    fn wants(&self, terminal: u32) -> bool {
        Dd::terminal(terminal) == TRUE || terminal >= MAYBE
    }

    fn caveat(&self, terminal: u32) -> Option<Reason> {
        let at = terminal.checked_sub(MAYBE)?;
        self.caveats.get(at as usize).cloned()
    }
}

/// The conjunction of functions to true, false and terminals of caveat.
struct Both;

impl super::dd::Operation for Both {
    fn id(&self) -> u32 {
        8
    }

    fn known(&mut self, left: Dd, right: Dd) -> Option<Dd> {
        match (left, right) {
            (FALSE, _) | (_, FALSE) => Some(FALSE),
            (TRUE, other) | (other, TRUE) => Some(other),
            (left, right) if left.value().is_some() && right.value().is_some() => Some(left),
            _ => None,
        }
    }
}

impl Analysis {
    pub(super) fn find(&mut self, constraints: &[Constraint], asked: &mut Asked<'_>) -> String {
        let mut reasons: Vec<Reason> = Vec::new();
        let tools = asked.named.clone();
        for (done, tool) in asked.tools.clone().into_iter().enumerate() {
            let found = match asked.progress(done, tool.as_deref()) {
                Ok(()) => self.find_for(constraints, tool.as_deref(), &tools),
                Err(stop) => Err(stop),
            };
            match found {
                Ok(Found::Witness(witness)) => {
                    return Object::new()
                        .text("answer", "witness")
                        .raw("witness", &witness.request)
                        .raw(
                            "decisions",
                            &answer::list(witness.decisions.iter().map(answer::decision)),
                        )
                        .finish();
                }
                Ok(Found::Nothing) => {}
                Ok(Found::Unknown(more)) => add(&mut reasons, more),
                Err(stop) => {
                    let ends = matches!(stop, Stop::Seconds | Stop::Stopped | Stop::Internal(_));
                    add(&mut reasons, vec![stop.into()]);
                    if ends {
                        break;
                    }
                }
            }
        }
        match reasons.is_empty() {
            true => Object::new().text("answer", "none").finish(),
            false => Object::new()
                .text("answer", "unknown")
                .reasons("reasons", &reasons)
                .finish(),
        }
    }

    fn find_for(
        &mut self,
        constraints: &[Constraint],
        tool: Option<&str>,
        tools: &[String],
    ) -> Result<Found<Witness>, Stop> {
        let numbers: Vec<usize> = (0..self.policies.len()).collect();
        let firsts = constraints
            .iter()
            .filter_map(|constraint| match constraint {
                Constraint::Match(policy, _) => Some(*policy),
                Constraint::Verdicts(..) | Constraint::Rules(..) => None,
            });
        let matches: Vec<usize> = firsts.collect();
        let mut view = View::new(self.parts(tools), &numbers, (tool, &matches));
        let sought = |number: usize| {
            constraints.iter().any(|constraint| match constraint {
                Constraint::Verdicts(of, _) | Constraint::Rules(of, _) => *of == number,
                Constraint::Match(..) => false,
            })
        };
        let is_match = |policy: &usize| {
            let of = view.policies.get(*policy);
            of.is_some_and(|of| of.matched(0).is_some())
        };
        let plain = matches.iter().all(is_match);
        let rules = view.rules.iter().enumerate();
        let many = rules
            .filter(|(number, _)| sought(*number))
            .any(|(_, rules)| rules.len() >= view.many);
        let mut lanes = Vec::new();
        if plain && many {
            let all = view.policies.iter().zip(&view.rules).enumerate();
            for (number, (policy, rules)) in all.filter(|(number, _)| sought(*number)) {
                lanes.push((number, Lane::new(policy, rules)));
            }
        }
        let long = !lanes.is_empty() && lanes.iter().all(|(_, lane)| lane.is_some());
        let lanes = lanes.into_iter();
        let lanes = lanes.filter_map(|(number, lane)| Some((number, lane?)));
        let mut ends = Ends::default();
        let decisions = match long {
            true => {
                view.interleave()?;
                Vec::new()
            }
            false => view.decisions(&mut ends)?,
        };
        let mut caveats = Vec::new();
        let mut wanted = TRUE;
        for constraint in constraints {
            let one = match constraint {
                Constraint::Match(policy, outcomes) => {
                    let Some(of) = view.policies.get(*policy).copied() else {
                        continue;
                    };
                    let is_code = of.matched(0).is_none() && of.program.rule_count() > 0;
                    if is_code {
                        caveats.push(unknown_end("function_rule", Some(*policy), Some(0)));
                        Dd::terminal(MAYBE + caveats.len() as u32 - 1)
                    } else {
                        let matched = view.space.matched(of, 0)?;
                        let id = view.space.dd.operation();
                        view.space.dd.map(id, matched, &mut |value| {
                            truth(
                                outcomes
                                    .iter()
                                    .any(|outcome| *outcome as u32 == trace_of(value) as u32),
                            )
                        })?
                    }
                }
                Constraint::Verdicts(policy, _) | Constraint::Rules(policy, _) => {
                    let (Some(of), Some(decision)) =
                        (view.policies.get(*policy).copied(), decisions.get(*policy))
                    else {
                        continue;
                    };
                    let id = view.space.dd.operation();
                    view.space.dd.map(id, *decision, &mut |number| {
                        let Some(end) = ends.get(number) else {
                            return FALSE;
                        };
                        match (end.unknown, has(constraint, end, of)) {
                            (None, is) => truth(is),
                            (Some(code), _) => {
                                let rule = end.rule.and_then(|content| of.rule_of(content));
                                let reason = unknown_end(code, Some(*policy), rule);
                                let at = caveats.iter().position(|known| *known == reason);
                                let at = at.unwrap_or_else(|| {
                                    caveats.push(reason);
                                    caveats.len() - 1
                                });
                                Dd::terminal(MAYBE + at as u32)
                            }
                        }
                    })?
                }
            };
            wanted = view.space.dd.apply(&mut Both, wanted, one)?;
        }
        if long {
            return long_find::find(&mut view, lanes.collect(), (wanted, constraints));
        }
        let policies = view.policies.clone();
        view.space
            .search(wanted, &Wanted { caveats }, &mut |request| {
                confirm(&policies, constraints, request)
            })
    }
}

/// Adds reasons that are not there yet.
pub(super) fn add(reasons: &mut Vec<Reason>, more: Vec<Reason>) {
    for reason in more {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
}

fn truth(is: bool) -> Dd {
    if is { TRUE } else { FALSE }
}

fn trace_of(value: u32) -> TraceOutcome {
    match Dd::terminal(value) {
        TRUE => TraceOutcome::True,
        super::dd::ABSENT => TraceOutcome::Absent,
        super::dd::ERROR => TraceOutcome::Error,
        _ => TraceOutcome::False,
    }
}

fn has(constraint: &Constraint, end: &End, policy: &Policy) -> bool {
    match constraint {
        Constraint::Verdicts(_, verdicts) => end
            .verdict
            .is_some_and(|verdict| verdicts.contains(&verdict)),
        Constraint::Rules(_, rules) => match end.rule {
            None => rules.contains(&None),
            Some(content) => rules.contains(&policy.rule_of(content)),
        },
        Constraint::Match(..) => true,
    }
}

/// The decisions on a request, if it has the properties.
pub(super) fn confirm(
    policies: &[&Policy],
    constraints: &[Constraint],
    request: &str,
) -> Result<Option<Witness>, Stop> {
    let decisions = policies
        .iter()
        .map(|policy| verify::decide(policy, request))
        .collect::<Result<Vec<Decided>, Stop>>()?;
    for constraint in constraints {
        let holds = match constraint {
            Constraint::Verdicts(policy, verdicts) => decisions
                .get(*policy)
                .is_some_and(|decided| !decided.asks_more && verdicts.contains(&decided.verdict)),
            Constraint::Rules(policy, rules) => decisions
                .get(*policy)
                .is_some_and(|decided| !decided.asks_more && rules.contains(&decided.rule)),
            Constraint::Match(policy, outcomes) => match policies.get(*policy) {
                Some(policy) => verify::matched(policy, 0, request)?
                    .is_some_and(|outcome| outcomes.contains(&outcome)),
                None => false,
            },
        };
        if !holds {
            return Ok(None);
        }
    }
    Ok(Some(Witness {
        request: request.to_owned(),
        decisions,
    }))
}

/// The verdicts from the strictest on.
pub(super) const VERDICTS: [Rank; 5] = Rank::ALL;
