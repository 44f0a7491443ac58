//! One request with some properties, where policies have long lists of rules: each way that can give them by itself.

use super::budget::Stop;
use super::connect::Connect;
use super::dd::{Dd, FALSE};
use super::find::{Witness, add, confirm};
use super::lazy::{Lane, Taken};
use super::question::Constraint;
use super::search::Found;
use super::verify::Decided;
use super::view::View;
use super::way::{How, Way};

/// A policy with properties, and the ways in which it can have them.
struct Sought<'a> {
    lane: Lane<'a>,
    chosen: Vec<usize>,
}

/// The ways with all properties of a policy. Errors last: a rule that fires is what a reader looks for.
fn chosen(ways: &[Way], own: &[&Constraint]) -> Vec<usize> {
    let has = |way: &Way| {
        own.iter().all(|constraint| match constraint {
            Constraint::Verdicts(_, verdicts) => verdicts.contains(&way.verdict),
            Constraint::Rules(_, rules) => rules.contains(&way.rule),
            Constraint::Match(..) => true,
        })
    };
    let all = ways.iter().enumerate();
    let mut chosen: Vec<usize> = all.filter(|(_, way)| has(way)).map(|(at, _)| at).collect();
    chosen.sort_by_key(|at| {
        ways.get(*at)
            .is_some_and(|way| way.rule.is_some() && way.how == How::Fails)
    });
    chosen
}

/// Searches by the ways of each policy with properties; `base`: the calls with the other ones.
pub(super) fn find<'a>(
    view: &mut View<'a>,
    lanes: Vec<(usize, Lane<'a>)>,
    (base, constraints): (Dd, &[Constraint]),
) -> Result<Found<Witness>, Stop> {
    let policies = view.policies.clone();
    let mut sought = Vec::new();
    for (number, lane) in lanes {
        let own: Vec<&Constraint> = constraints
            .iter()
            .filter(|constraint| match constraint {
                Constraint::Verdicts(of, _) | Constraint::Rules(of, _) => *of == number,
                Constraint::Match(..) => false,
            })
            .collect();
        let chosen = chosen(&lane.ways, &own);
        sought.push(Sought { lane, chosen });
    }
    let mut reasons = Vec::new();
    let found = each(
        view,
        base,
        (&mut sought, &mut Vec::new()),
        &|request, _| Ok(confirm(&policies, constraints, request)?.is_some()),
        &mut |found| match found {
            Found::Witness((request, _)) => confirm(&policies, constraints, &request),
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

type Holds<'h> = dyn Fn(&str, &[Decided]) -> Result<bool, Stop> + 'h;
type Visit<'v> = dyn FnMut(Found<Taken>) -> Result<Option<Witness>, Stop> + 'v;

/// Tries the ways of the policies in turn.
fn each<'a>(
    view: &mut View<'a>,
    calls: Dd,
    (sought, taken): (&mut [Sought<'a>], &mut Vec<usize>),
    holds: &Holds<'_>,
    visit: &mut Visit<'_>,
) -> Result<Option<Witness>, Stop> {
    view.space.budget.check()?;
    let place = taken.len();
    let Some(next) = sought.get_mut(place) else {
        let ways = taken.iter().copied();
        let lanes = sought.iter_mut().map(|one| &mut one.lane);
        let mut lanes: Vec<(&mut Lane<'a>, usize)> = lanes.zip(ways).collect();
        return match view.space.taken(calls, &mut lanes, Some((&holds, None))) {
            Err(stop) if stop.ends() => Err(stop),
            Err(stop) => visit(Found::Unknown(vec![stop.into()])),
            Ok(found) => visit(found),
        };
    };
    for at in next.chosen.clone() {
        let Some(next) = sought.get_mut(place) else {
            continue;
        };
        let own = next.lane.calls(&mut view.space, at)?;
        let both = view.space.dd.connect(Connect::All, calls, own)?;
        if both == FALSE {
            continue;
        }
        taken.push(at);
        let found = each(view, both, (sought, taken), holds, visit)?;
        taken.pop();
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}
