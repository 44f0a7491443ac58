//! The differences of long lists of rules: those between the rules that both lists begin and end with.

use super::budget::Stop;
use super::compare::Differences;
use super::connect::Connect;
use super::dd::FALSE;
use super::lazy::{How, Target};
use super::policy::{Policy, Rank};
use super::search::Found;
use super::view::View;

/// A way in which a policy decides: the verdict, the rule, and how it takes the call.
type Way = (Rank, Option<u32>, How);

/// The ways of some rules.
fn ways(policy: &Policy, rules: &[u32]) -> Vec<Way> {
    let mut ways = Vec::new();
    for &rule in rules {
        let verdict = policy.verdict(rule);
        ways.push((Rank::from(verdict), Some(rule), How::Fires));
        if !verdict.permits() && !policy.continues_on_error(rule) {
            ways.push((Rank::Deny, Some(rule), How::Fails));
        }
    }
    ways
}

/// The ways of the defaults; without an error the first has no shadow.
fn defaults(policy: &Policy) -> [Way; 2] {
    let defaults = policy.program.defaults();
    [
        (Rank::from(defaults.on_missing_shadow), None, How::Fires),
        (Rank::from(defaults.on_no_match), None, How::Fails),
    ]
}

impl Differences<'_> {
    /// The differences of two policies whose rules are matches only.
    pub(super) fn long<'a>(
        &mut self,
        view: &mut View<'a>,
        (old, new): (&'a Policy, &'a Policy),
        (before, after): (&[u32], &[u32]),
    ) -> Result<(), Stop> {
        view.interleave()?;
        let content = |policy: &Policy, rule: u32| policy.content.get(rule as usize).copied();
        let same = |(one, other): &(&u32, &u32)| content(old, **one) == content(new, **other);
        let mut first = before.iter().zip(after).take_while(same).count();
        let rest = before.len().min(after.len()) - first;
        let mut last = before
            .iter()
            .rev()
            .zip(after.iter().rev())
            .take_while(same)
            .count();
        last = last.min(rest);
        if old.program.defaults() != new.program.defaults() {
            // Errors and defaults mean something else everywhere.
            (first, last) = (0, 0);
        }
        let part = |rules: &[u32], from: usize, to: usize| {
            rules.get(from..to).unwrap_or_default().to_vec()
        };
        let middle_old = ways(old, &part(before, first, before.len() - last));
        let middle_new = ways(new, &part(after, first, after.len() - last));
        let mut tail_old = ways(old, &part(before, before.len() - last, before.len()));
        let mut tail_new = ways(new, &part(after, after.len() - last, after.len()));
        tail_old.extend(defaults(old));
        tail_new.extend(defaults(new));
        let mut pairs: Vec<(Way, Way)> = Vec::new();
        for one in &middle_old {
            pairs.extend(
                middle_new
                    .iter()
                    .chain(&tail_new)
                    .map(|other| (*one, *other)),
            );
        }
        for other in &middle_new {
            pairs.extend(tail_old.iter().map(|one| (*one, *other)));
        }
        if old.program.defaults() != new.program.defaults() {
            let (one, other) = (defaults(old), defaults(new));
            pairs.extend(
                one.iter()
                    .flat_map(|one| other.iter().map(|other| (*one, *other))),
            );
        }
        pairs.retain(|(one, other)| one.0 != other.0);
        pairs.sort_by_key(|(one, other)| one.0 > other.0);
        for (one, other) in pairs {
            if self.is_full() {
                return Ok(());
            }
            self.long_pair(view, ((old, before), one), ((new, after), other))?;
        }
        Ok(())
    }

    fn long_pair<'a>(
        &mut self,
        view: &mut View<'a>,
        ((old, before), one): ((&'a Policy, &[u32]), Way),
        ((new, after), other): ((&'a Policy, &[u32]), Way),
    ) -> Result<(), Stop> {
        let (left, right) = ((one.0, one.1), (other.0, other.1));
        if self.has(left, right) {
            return Ok(());
        }
        view.space.budget.check()?;
        let targets = [
            Target {
                policy: old,
                rule: one.1,
                rules: before,
            },
            Target {
                policy: new,
                rule: other.1,
                rules: after,
            },
        ];
        let mut calls = super::dd::TRUE;
        for (target, way) in targets.iter().zip([one, other]) {
            let own = match target.rule {
                Some(_) => view.space.calls(target, way.2)?,
                None => view.space.default_calls(way.2 == How::Fires)?,
            };
            calls = view.space.dd.connect(Connect::All, calls, own)?;
        }
        if calls == FALSE {
            return Ok(());
        }
        match view.space.taken(calls, &targets, &mut Vec::new()) {
            Ok(Found::Nothing) => Ok(()),
            Ok(Found::Witness((request, _))) => {
                self.add(left, right, Some(request), Vec::new());
                Ok(())
            }
            Ok(Found::Unknown(reasons)) => {
                self.add(left, right, None, reasons);
                Ok(())
            }
            Err(stop @ (Stop::Seconds | Stop::Stopped | Stop::Internal(_))) => Err(stop),
            Err(stop) => {
                self.add(left, right, None, vec![stop.into()]);
                Ok(())
            }
        }
    }
}
