//! The differences of long lists of rules: the calls of each way of one policy, by each way of the other one.

use std::collections::{BTreeMap, BTreeSet};

use super::budget::Stop;
use super::dd::TRUE;
use super::differences::{Change, Differences, Termed, differ, differ_in, equal_arguments};
use super::lazy::{Condition, Lane};
use super::policy::{Policy, Rank};
use super::search::Found;
use super::verify::Decided;
use super::view::View;
use super::way::{How, Way};

/// A way, and what tells it from the ways of the other policy.
struct Own {
    /// The numbers of its transforms.
    transforms: Vec<u32>,
    terms: Option<u32>,
    /// True if all of its rules are rules of the other policy, too, in the same order.
    kept: bool,
}

impl Differences<'_> {
    /// The differences of two policies whose rules are matches only.
    pub(super) fn long<'a>(
        &mut self,
        view: &mut View<'a>,
        lanes: Vec<Lane<'a>>,
    ) -> Result<(), Stop> {
        let Ok([mut old, mut new]) = <[Lane<'a>; 2]>::try_from(lanes) else {
            return Ok(());
        };
        let kept = match (view.rules.first(), view.rules.get(1)) {
            (Some(before), Some(after)) => kept((old.policy, before), (new.policy, after)),
            _ => [BTreeSet::new(), BTreeSet::new()],
        };
        let same_defaults = old.policy.program.defaults() == new.policy.program.defaults();
        let own = |side: usize, policy: &Policy, way: &Way, kept: &BTreeSet<u32>| Own {
            transforms: way
                .steps
                .iter()
                .map(|step| policy.change_number(*step))
                .collect(),
            terms: self
                .terms
                .and_then(|terms| terms.of(side, way.rule.filter(|_| way.how == How::Fires))),
            kept: same_defaults && way.sequence().iter().all(|rule| kept.contains(rule)),
        };
        let [kept_old, kept_new] = kept;
        let before = old.ways.iter();
        let before: Vec<Own> = before
            .map(|way| own(0, old.policy, way, &kept_old))
            .collect();
        let after = new.ways.iter();
        let after: Vec<Own> = after
            .map(|way| own(1, new.policy, way, &kept_new))
            .collect();
        let with_terms = self.terms.is_some();
        for change in Change::ALL {
            for (one, left) in before.iter().enumerate() {
                view.space.budget.check()?;
                for (other, right) in after.iter().enumerate() {
                    let (Some(was), Some(now)) = (old.ways.get(one), new.ways.get(other)) else {
                        continue;
                    };
                    let verdicts = Change::of(was.verdict, now.verdict);
                    let wanted = match change {
                        _ if left.kept && right.kept => false,
                        Change::Loosening | Change::Tightening => verdicts == Some(change),
                        Change::Arguments => {
                            verdicts.is_none()
                                && was.verdict != Rank::Deny
                                && left.transforms != right.transforms
                        }
                        Change::Terms => {
                            with_terms && verdicts.is_none() && differ_in((left.terms, right.terms))
                        }
                    };
                    if !wanted {
                        continue;
                    }
                    if self.is_full(change) {
                        break;
                    }
                    let termed = (was.verdict, left.terms, right.terms);
                    self.long_pair(view, change, ((&mut old, one), (&mut new, other)), termed)?;
                }
            }
        }
        Ok(())
    }

    fn long_pair<'a>(
        &mut self,
        view: &mut View<'a>,
        change: Change,
        ((old, one), (new, other)): ((&mut Lane<'a>, usize), (&mut Lane<'a>, usize)),
        termed: Termed,
    ) -> Result<(), Stop> {
        let calls = (
            old.calls(&mut view.space, one)?,
            new.calls(&mut view.space, other)?,
        );
        if !view.space.dd.meet(calls.0, calls.1) {
            return Ok(());
        }
        let (Some(was), Some(now)) = (old.ways.get(one), new.ways.get(other)) else {
            return Ok(());
        };
        let sides = ((was.verdict, was.rule), (now.verdict, now.rule));
        let known = match change {
            Change::Terms => self.has_terms(&termed),
            _ => self.has(change, sides),
        };
        if known || old.is_dead(&mut view.space, one)? || new.is_dead(&mut view.space, other)? {
            return Ok(());
        }
        let holds = |_: &str, decided: &[Decided]| -> Result<bool, Stop> {
            Ok(match decided {
                [before, after] => differ(before, after),
                _ => false,
            })
        };
        let arguments: Condition<'_> = (&holds, Some(equal_arguments()));
        let condition = (change == Change::Arguments).then_some(arguments);
        match view
            .space
            .taken(TRUE, &mut [(old, one), (new, other)], condition)
        {
            Ok(Found::Nothing) => {}
            Ok(Found::Witness((request, decided))) => self.found(change, request, &decided),
            Ok(Found::Unknown(reasons)) => self.add(change, sides, (None, reasons)),
            // Without nodes no other pair is found either.
            Err(stop) if stop.ends() || matches!(stop, Stop::Nodes(_)) => return Err(stop),
            Err(stop) => self.add(change, sides, (None, vec![stop.into()])),
        }
        Ok(())
    }
}

/// The rules of two policies that are the same, in the same order, as far as they are found by the rules that each has once.
///
/// A call that two of them decide, one in each policy, is decided by the same one: of two different ones, each would be
/// before the other.
fn kept((old, before): (&Policy, &[u32]), (new, after): (&Policy, &[u32])) -> [BTreeSet<u32>; 2] {
    let content = |policy: &Policy, rule: u32| policy.content.get(rule as usize).copied();
    let same = |(one, other): &(&u32, &u32)| content(old, **one) == content(new, **other);
    let first = before.iter().zip(after).take_while(same).count();
    let rest = before.len().min(after.len()) - first;
    let both = before.iter().rev().zip(after.iter().rev());
    let last = both.take(rest).take_while(same).count();
    let middle = |rules: &[u32]| -> Vec<u32> {
        let rules = rules.get(first..rules.len() - last);
        rules.unwrap_or_default().to_vec()
    };
    let (middle_old, middle_new) = (middle(before), middle(after));
    let places = |policy: &Policy, rules: &[u32]| {
        let mut places: BTreeMap<Option<u32>, Vec<usize>> = BTreeMap::new();
        for (place, rule) in rules.iter().enumerate() {
            places
                .entry(content(policy, *rule))
                .or_default()
                .push(place);
        }
        places
    };
    let (by_old, by_new) = (places(old, &middle_old), places(new, &middle_new));
    let mut common: Vec<(usize, usize)> = Vec::new();
    for (content, own) in &by_old {
        if let ([one], Some([other])) = (own.as_slice(), by_new.get(content).map(Vec::as_slice)) {
            common.push((*one, *other));
        }
    }
    common.sort_unstable();
    let mut kept = [BTreeSet::new(), BTreeSet::new()];
    for (one, other) in ascending(&common) {
        kept[0].extend(middle_old.get(one));
        kept[1].extend(middle_new.get(other));
    }
    for (rules, kept) in [before, after].into_iter().zip(&mut kept) {
        kept.extend(rules.get(..first).unwrap_or_default());
        kept.extend(rules.get(rules.len() - last..).unwrap_or_default());
    }
    kept
}

/// The longest part of pairs, which are in the order of the first numbers, in which the second numbers ascend, too.
fn ascending(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // By length: the pair with the least second number that ends so long a part, and for each pair the one before.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::new();
    let second = |at: usize| pairs.get(at).map(|pair| pair.1);
    for (at, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| second(*end) < Some(pair.1));
        before.push(length.checked_sub(1).and_then(|at| ends.get(at).copied()));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut found = Vec::new();
    let mut next = ends.last().copied();
    while let Some(at) = next {
        found.extend(pairs.get(at));
        next = before.get(at).copied().flatten();
    }
    found.reverse();
    found
}
