//! Long lists of rules: the first rule that takes a call is found without a diagram of all of them.
//!
//! The calls of a rule are a small diagram. A call that an earlier rule takes, as the evaluator finds, excludes that rule's
//! calls, and the search goes on: a few of the earlier rules are enough for an answer, or for a proof.

use super::budget::{Reason, Stop};
use super::connect::Connect;
use super::dd::{Dd, ERROR, FALSE, TRUE};
use super::policy::Policy;
use super::search::{Found, Goal};
use super::space::Space;
use super::verify::{self, Decided};

/// The fewest rules for which a diagram of all of them may be too large.
pub(super) const MANY: usize = 24;

/// A rule, or the defaults, of a policy, with the rules before it.
#[derive(Clone, Copy)]
pub(super) struct Target<'a, 'r> {
    pub(super) policy: &'a Policy,
    /// The rule; `None`: the defaults.
    pub(super) rule: Option<u32>,
    /// The rules of the tool.
    pub(super) rules: &'r [u32],
}

/// A call, and the decisions of the policies of the targets.
pub(super) type Taken = (String, Vec<Decided>);

/// A true function.
pub(super) struct IsTrue;

impl Goal for IsTrue {
    fn wants(&self, terminal: u32) -> bool {
        Dd::terminal(terminal) == TRUE
    }

    fn caveat(&self, _: u32) -> Option<Reason> {
        None
    }
}

/// Returns true if the rules of a tool are many, and all of them are matches that rewrite nothing.
pub(super) fn is_long(policy: &Policy, rules: &[u32]) -> bool {
    rules.len() >= MANY && is_plain(policy, rules)
}

/// Returns true if the rules of a tool are matches that rewrite nothing.
pub(super) fn is_plain(policy: &Policy, rules: &[u32]) -> bool {
    policy.program.layers().is_none()
        && rules
            .iter()
            .all(|rule| policy.matched(*rule).is_some() && policy.change(*rule).is_none())
}

impl<'a> Space<'a> {
    /// The calls that a rule takes where no earlier one does. `how`: by firing, by an error, or both.
    pub(super) fn takes(&mut self, policy: &'a Policy, rule: u32, how: How) -> Result<Dd, Stop> {
        let matched = self.matched(policy, rule)?;
        let restricts = !policy.verdict(rule).permits() && !policy.continues_on_error(rule);
        let of_error = restricts && how != How::Fires;
        let of_true = how != How::Fails;
        let id = self.dd.operation();
        self.dd
            .map(id, matched, &mut |value| match Dd::terminal(value) {
                TRUE if of_true => TRUE,
                ERROR if of_error => TRUE,
                _ => FALSE,
            })
    }

    /// Searches a call of `of` that all targets decide. `excluded`: the earlier rules whose calls had to be excluded.
    pub(super) fn taken(
        &mut self,
        of: Dd,
        targets: &[Target<'a, '_>],
        excluded: &mut Vec<u32>,
    ) -> Result<Found<Taken>, Stop> {
        let mut rest = of;
        loop {
            if rest == FALSE {
                return Ok(Found::Nothing);
            }
            let decide = |request: &str| -> Result<Vec<Decided>, Stop> {
                let decided = targets
                    .iter()
                    .map(|target| verify::decide(target.policy, request));
                decided.collect()
            };
            let found = self.search(rest, &IsTrue, &mut |request| {
                Ok(Some((request.to_owned(), decide(request)?)))
            })?;
            let Found::Witness((request, decided)) = found else {
                return Ok(found);
            };
            let mut before = None;
            for (target, decided) in targets.iter().zip(&decided) {
                if decided.rule == target.rule {
                    continue;
                }
                let earlier = decided.rule.filter(|rule| {
                    target.rule.is_none_or(|own| *rule < own) && target.rules.contains(rule)
                });
                before = Some(earlier.map(|rule| (target.policy, rule)));
                break;
            }
            let narrowed = match before {
                None => return Ok(Found::Witness((request, decided))),
                Some(Some((policy, rule))) => {
                    let taken = self.takes(policy, rule, How::Both)?;
                    let outside = self.dd.not(taken)?;
                    let narrowed = self.dd.connect(Connect::All, rest, outside)?;
                    if !excluded.contains(&rule) {
                        excluded.push(rule);
                    }
                    narrowed
                }
                Some(None) => rest,
            };
            if narrowed == rest {
                // The call does not have what it was made for: the search itself knows why.
                return self.search(rest, &IsTrue, &mut |request| {
                    let decided = decide(request)?;
                    let fits = targets
                        .iter()
                        .zip(&decided)
                        .all(|(target, decided)| decided.rule == target.rule);
                    Ok(fits.then(|| (request.to_owned(), decided)))
                });
            }
            rest = narrowed;
        }
    }

    /// The calls of a target: those of its rule, firing first, or all.
    pub(super) fn calls(&mut self, target: &Target<'a, '_>, how: How) -> Result<Dd, Stop> {
        match target.rule {
            Some(rule) => self.takes(target.policy, rule, how),
            None => Ok(if how == How::Fails { FALSE } else { TRUE }),
        }
    }
}

/// The ways in which a rule takes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Its match is true.
    Fires,
    /// Its match is in error.
    Fails,
    /// Either.
    Both,
}
