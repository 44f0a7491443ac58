//! The ways in which a policy of matches can decide: a rule, after the transforms whose arguments it reads.
//!
//! Each way is a small function. The rules that take its calls before are not in it: see [`Lane`](super::lazy::Lane).

use super::budget::Stop;
use super::connect::Connect;
use super::dd::{Dd, ERROR, FALSE, TRUE};
use super::policy::{Policy, Rank};
use super::space::Space;
use super::transform::Changed;
use super::verify::Decided;

/// The ways of a policy for each of its rules, and some more, past which a diagram of all rules is tried instead.
const MOST: (usize, usize) = (8, 10_000);

/// The first of four operations of [`Diagrams::map`](super::dd::Diagrams::map).
const TAKES: u32 = 9;

/// The rules of one tool, in order.
pub(super) type Rules<'r> = &'r [u32];

/// The result of a rule's match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Its match is true.
    Fires,
    /// Its match is in error.
    Fails,
    /// Either.
    Both,
}

/// A way in which a policy decides.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// The transforms that fire, in order; the last one is `rule` where no rule decides on the new arguments.
    pub(super) steps: Vec<u32>,
    /// The deciding rule; `None`: a default. The default with `Fires` is that without a shadow.
    pub(super) rule: Option<u32>,
    pub(super) how: How,
    pub(super) verdict: Rank,
}

impl Way {
    /// The rules that fire, in order.
    pub(super) fn sequence(&self) -> Vec<u32> {
        sequence(&self.steps, self.rule)
    }
}

fn sequence(steps: &[u32], rule: Option<u32>) -> Vec<u32> {
    let last = rule.filter(|rule| steps.last() != Some(rule));
    steps.iter().copied().chain(last).collect()
}

/// A decision beside a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    /// It is made in this way.
    Same,
    /// Calls that an earlier rule takes, after so many steps of the way.
    Earlier(usize, u32),
    /// The way does not say what the evaluator does.
    Other,
}

impl Way {
    /// Compares a decision with the way.
    pub(super) fn beside(&self, decided: &Decided) -> Beside {
        let (own, other) = (self.sequence(), sequence(&decided.steps, decided.rule));
        let same = own.iter().zip(&other).take_while(|(one, two)| one == two);
        let same = same.count();
        // A rule that restricts denies by its error, too, on other terms.
        let by_error = self.rule.is_some() && self.how == How::Fails;
        match (own.get(same), other.get(same)) {
            (None, None) if self.verdict == decided.verdict && by_error == decided.failed => {
                Beside::Same
            }
            (own, Some(other)) if own.is_none_or(|own| other < own) => {
                Beside::Earlier(same, *other)
            }
            _ => Beside::Other,
        }
    }
}

/// The ways of the rules of one tool, and of the defaults, in order; `None`: some rule is no match, a layer is another
/// policy, or there are too many.
pub(super) fn ways(policy: &Policy, rules: Rules<'_>) -> Option<Vec<Way>> {
    let plain = rules.iter().all(|rule| policy.matched(*rule).is_some());
    if policy.program.layers().is_some() || !plain {
        return None;
    }
    let most = rules.len() * MOST.0 + MOST.1;
    let mut found = Vec::new();
    for (place, &rule) in rules.iter().enumerate() {
        let above = rules.get(..place).unwrap_or_default();
        let start = (Changed::default(), Vec::new());
        add(policy, (rule, above), &start, &mut found);
        if found.len() > most {
            return None;
        }
    }
    let defaults = policy.program.defaults();
    for (how, verdict) in [
        (How::Fires, defaults.on_missing_shadow),
        (How::Fails, defaults.on_no_match),
    ] {
        found.push(Way {
            steps: Vec::new(),
            rule: None,
            how,
            verdict: verdict.into(),
        });
    }
    Some(found)
}

/// Adds the ways of one rule, after some transforms.
fn add(
    policy: &Policy,
    (rule, above): (u32, Rules<'_>),
    (changed, steps): &(Changed, Vec<u32>),
    found: &mut Vec<Way>,
) {
    let mut way = |steps: &[u32], how: How, verdict: Rank| {
        found.push(Way {
            steps: steps.to_vec(),
            rule: Some(rule),
            how,
            verdict,
        });
    };
    if let Some(change) = policy.change(rule) {
        let next = changed.with(change, policy.change_number(rule));
        let steps = [steps.as_slice(), &[rule]].concat();
        way(&steps, How::Fires, Rank::Transform);
        let start = (next, steps);
        for (place, &other) in above.iter().enumerate() {
            if start.0.touches(policy, other) {
                let higher = above.get(..place).unwrap_or_default();
                add(policy, (other, higher), &start, found);
            }
        }
        return;
    }
    let verdict = policy.verdict(rule);
    let own = match Rank::from(verdict) {
        Rank::Allow if !steps.is_empty() => Rank::Transform,
        other => other,
    };
    way(steps, How::Fires, own);
    if !verdict.permits() && !policy.continues_on_error(rule) {
        way(steps, How::Fails, Rank::Deny);
    }
}

impl<'a> Space<'a> {
    /// The calls that a rule takes after some transforms where no rule does before.
    pub(super) fn takes(
        &mut self,
        policy: &'a Policy,
        (steps, rule): (&[u32], u32),
        how: How,
    ) -> Result<Dd, Stop> {
        let mut changed = Changed::default();
        for &step in steps {
            if let Some(change) = policy.change(step) {
                changed = changed.with(change, policy.change_number(step));
            }
        }
        let matched = self.matched_after(policy, rule, &changed)?;
        let restricts = !policy.verdict(rule).permits() && !policy.continues_on_error(rule);
        let of_error = restricts && how != How::Fires;
        let of_true = how != How::Fails;
        let id = TAKES + u32::from(of_true) + 2 * u32::from(of_error);
        let taken = self
            .dd
            .map(id, matched, &mut |value| match Dd::terminal(value) {
                TRUE if of_true => TRUE,
                ERROR if of_error => TRUE,
                _ => FALSE,
            })?;
        match policy.change(rule) {
            Some(change) => {
                let applies = self.applies(change, &changed)?;
                self.dd.connect(Connect::All, taken, applies)
            }
            None => Ok(taken),
        }
    }

    /// The calls that are decided in a way where no earlier rule decides.
    pub(super) fn calls(&mut self, policy: &'a Policy, way: &Way) -> Result<Dd, Stop> {
        if way.rule.is_none() {
            return self.default_calls(way.how == How::Fires);
        }
        let sequence = way.sequence();
        let mut calls = TRUE;
        for (at, &rule) in sequence.iter().enumerate() {
            let steps = sequence.get(..at).unwrap_or_default();
            let how = match at + 1 == sequence.len() {
                true => way.how,
                false => How::Fires,
            };
            let own = self.takes(policy, (steps, rule), how)?;
            calls = self.dd.connect(Connect::All, calls, own)?;
        }
        Ok(calls)
    }
}
