//! One request with some properties, where policies have long lists of rules: each rule that can give them by itself.

use super::budget::Stop;
use super::connect::Connect;
use super::dd::{Dd, FALSE};
use super::find::{Witness, add, confirm};
use super::lazy::{How, Target};
use super::policy::{Policy, Rank};
use super::question::Constraint;
use super::search::Found;
use super::view::View;

/// A policy with properties, and the ways in which it can have them.
struct Sought<'a, 'r> {
    policy: &'a Policy,
    rules: &'r [u32],
    ways: Vec<(Option<u32>, How)>,
}

/// The ways in which a policy can have all of its properties.
fn ways(policy: &Policy, rules: &[u32], own: &[&Constraint]) -> Vec<(Option<u32>, How)> {
    let defaults = policy.program.defaults();
    let mut all: Vec<(Option<u32>, How, Rank)> = Vec::new();
    for &rule in rules {
        let verdict = policy.verdict(rule);
        all.push((Some(rule), How::Fires, verdict.into()));
        if !verdict.permits() && !policy.continues_on_error(rule) {
            all.push((Some(rule), How::Fails, Rank::Deny));
        }
    }
    // Of the defaults, the first is that without a shadow.
    all.push((None, How::Fires, defaults.on_missing_shadow.into()));
    all.push((None, How::Fails, defaults.on_no_match.into()));
    all.retain(|(rule, _, verdict)| {
        own.iter().all(|constraint| match constraint {
            Constraint::Verdicts(_, verdicts) => verdicts.contains(verdict),
            Constraint::Rules(_, rules) => rules.contains(rule),
            Constraint::Match(..) => true,
        })
    });
    // Errors last: a rule that fires is what a reader looks for.
    all.sort_by_key(|(rule, how, _)| rule.is_some() && *how == How::Fails);
    all.into_iter().map(|(rule, how, _)| (rule, how)).collect()
}

/// Searches by the ways of each policy with properties; `base`: the calls with the other ones.
pub(super) fn find<'a>(
    view: &mut View<'a>,
    (base, constraints): (Dd, &[Constraint]),
) -> Result<Found<Witness>, Stop> {
    let (policies, rules) = (view.policies.clone(), view.rules.clone());
    let mut sought = Vec::new();
    for (number, (policy, rules)) in policies.iter().zip(&rules).enumerate() {
        let own: Vec<&Constraint> = constraints
            .iter()
            .filter(|constraint| match constraint {
                Constraint::Verdicts(of, _) | Constraint::Rules(of, _) => *of == number,
                Constraint::Match(..) => false,
            })
            .collect();
        if !own.is_empty() {
            sought.push(Sought {
                policy,
                rules,
                ways: ways(policy, rules, &own),
            });
        }
    }
    let mut reasons = Vec::new();
    let found = each(
        view,
        base,
        (&sought, &mut Vec::new()),
        &mut |found| match found {
            Found::Witness((request, _)) => {
                let request: String = request;
                confirm(&policies, constraints, &request)
            }
            Found::Nothing => Ok(None),
            Found::Unknown(more) => {
                add(&mut reasons, more);
                Ok(None)
            }
        },
    )?;
    Ok(match found {
        Some(witness) => Found::Witness(witness),
        None if reasons.is_empty() => Found::Nothing,
        None => Found::Unknown(reasons),
    })
}

type Visit<'v> = dyn FnMut(Found<super::lazy::Taken>) -> Result<Option<Witness>, Stop> + 'v;

/// Tries the ways of the policies in turn.
fn each<'a>(
    view: &mut View<'a>,
    calls: Dd,
    (sought, targets): (&[Sought<'a, '_>], &mut Vec<(usize, Option<u32>)>),
    visit: &mut Visit<'_>,
) -> Result<Option<Witness>, Stop> {
    view.space.budget.check()?;
    let Some(next) = sought.get(targets.len()) else {
        let chosen: Vec<Target<'a, '_>> = targets
            .iter()
            .filter_map(|(at, rule)| {
                let one = sought.get(*at)?;
                Some(Target {
                    policy: one.policy,
                    rule: *rule,
                    rules: one.rules,
                })
            })
            .collect();
        let found = view.space.taken(calls, &chosen, &mut Vec::new());
        return match found {
            Err(stop @ (Stop::Seconds | Stop::Stopped | Stop::Internal(_))) => Err(stop),
            Err(stop) => visit(Found::Unknown(vec![stop.into()])),
            Ok(found) => visit(found),
        };
    };
    for (rule, how) in &next.ways {
        let target = Target {
            policy: next.policy,
            rule: *rule,
            rules: next.rules,
        };
        let own = match rule {
            Some(_) => view.space.calls(&target, *how)?,
            None => view.space.default_calls(*how == How::Fires)?,
        };
        let both = view.space.dd.connect(Connect::All, calls, own)?;
        if both == FALSE {
            continue;
        }
        targets.push((targets.len(), *rule));
        let found = each(view, both, (sought, targets), visit)?;
        targets.pop();
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}
