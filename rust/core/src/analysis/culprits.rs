//! The rules that take the calls of a rule that decides none.

use super::budget::Stop;
use super::connect::Connect;
use super::dd::{Dd, ERROR, FALSE, TRUE};
use super::find::add;
use super::lazy::IsTrue;
use super::policy::Policy;
use super::rules::{Known, settled};
use super::search::Found;
use super::transform::Changed;
use super::verify;
use super::view::View;

/// Looks for calls that a rule matches although it decides nothing, and for the earlier rules that take them all.
pub(super) fn taken<'a>(
    view: &mut View<'a>,
    policy: &'a Policy,
    (rule, earlier): (u32, &[u32]),
    one: &mut Known,
) -> Result<(), Stop> {
    if policy.matched(rule).is_none() {
        one.matches_unknown |= one.matches.is_none();
        return Ok(());
    }
    let matched = view.space.matched(policy, rule)?;
    let id = view.space.dd.operation();
    let fires = view.space.dd.map(id, matched, &mut |value| {
        if Dd::terminal(value) == TRUE {
            TRUE
        } else {
            FALSE
        }
    })?;
    if one.matches.is_none() {
        let found = view
            .space
            .search(fires, &IsTrue, &mut |request| Ok(Some(request.to_owned())));
        match settled(found)? {
            Found::Nothing => {}
            Found::Witness(request) => one.matches = Some(request),
            Found::Unknown(reasons) => {
                one.matches_unknown = true;
                one.applies = true;
                add(&mut one.reasons, reasons);
                return Ok(());
            }
        }
    }
    // A rule that restricts also decides by its error.
    let mut left = takes(view, policy, rule)?;
    let whole = left;
    if !one.applies {
        let found = view.space.search(whole, &IsTrue, &mut |_| Ok(Some(())));
        one.applies = !matches!(settled(found)?, Found::Nothing);
    }
    let mut culprits: Vec<u32> = Vec::new();
    loop {
        let found = view.space.search(left, &IsTrue, &mut |request| {
            Ok(Some(verify::decide(policy, request)?))
        });
        match settled(found)? {
            Found::Nothing => break,
            Found::Unknown(reasons) => {
                one.matches_unknown |= one.matches.is_none();
                one.more_culprits = true;
                add(&mut one.reasons, reasons);
                return Ok(());
            }
            Found::Witness(decided) => {
                // A rule that decides on new arguments has the call from the transform that made them.
                let first = decided.steps.first().copied();
                if first == Some(rule) {
                    one.overruling.extend(decided.rule);
                    return Ok(());
                }
                let taker = first.or(decided.rule);
                let Some(taker) =
                    taker.filter(|taker| earlier.contains(taker) && !culprits.contains(taker))
                else {
                    one.more_culprits = true;
                    return Ok(());
                };
                culprits.push(taker);
                left = without(view, policy, left, taker)?;
            }
        }
    }
    // The fewest that are needed: without each one, some call is left.
    let mut at = 0;
    while at < culprits.len() {
        let mut fewer = culprits.clone();
        fewer.remove(at);
        let mut rest = whole;
        for &other in &fewer {
            rest = without(view, policy, rest, other)?;
        }
        let needed = view
            .space
            .search(rest, &IsTrue, &mut |_| Ok(Some(())))
            .map(|found| !matches!(found, Found::Nothing));
        match needed {
            Ok(false) => culprits = fewer,
            _ => at += 1,
        }
    }
    for culprit in culprits {
        if !one.culprits.contains(&culprit) {
            one.culprits.push(culprit);
        }
    }
    one.culprits.sort_unstable();
    Ok(())
}

/// The calls that a rule would take if it came first: a transform that cannot be made takes none.
fn takes<'a>(view: &mut View<'a>, policy: &'a Policy, rule: u32) -> Result<Dd, Stop> {
    let matched = view.space.matched(policy, rule)?;
    let restricts = !policy.verdict(rule).permits() && !policy.continues_on_error(rule);
    let id = view.space.dd.operation();
    let taken = view
        .space
        .dd
        .map(id, matched, &mut |value| match Dd::terminal(value) {
            TRUE => TRUE,
            ERROR if restricts => TRUE,
            _ => FALSE,
        })?;
    let Some(change) = policy.change(rule) else {
        return Ok(taken);
    };
    let applies = view.space.applies(change, &Changed::default())?;
    view.space.dd.connect(Connect::All, taken, applies)
}

/// The part of a function that a rule does not take.
fn without<'a>(view: &mut View<'a>, policy: &'a Policy, of: Dd, rule: u32) -> Result<Dd, Stop> {
    let taken = takes(view, policy, rule)?;
    let passes = view.space.dd.not(taken)?;
    view.space.dd.connect(Connect::All, of, passes)
}
