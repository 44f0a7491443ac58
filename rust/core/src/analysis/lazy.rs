//! The first rule that takes a call, found without a diagram of all rules.
//!
//! The calls of a way are a small diagram. A call that an earlier rule takes, as the evaluator finds, excludes that rule's
//! calls, and the search goes on: a few of the earlier rules are enough for an answer, or for a proof. What was excluded
//! stays excluded for the next question about the way.

use std::cell::Cell;

use super::budget::{Reason, Stop};
use super::connect::Connect;
use super::dd::{Dd, FALSE, TRUE};
use super::policy::Policy;
use super::search::{Found, Goal};
use super::space::Space;
use super::verify::{self, Decided};
use super::way::{Beside, How, Way, ways};

/// The fewest rules for which a diagram of all of them may be too large.
pub(super) const MANY: usize = 3;

/// The earlier rules that are excluded from a way for all questions; more are excluded for one question only.
const EXCLUDED: usize = 256;

/// A call, and the decisions of the policies on it.
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

/// True calls; those that were decided as wanted may lack a condition, for a reason.
struct Perhaps<'c> {
    reason: Option<Reason>,
    /// True if the last call was decided as wanted.
    fits: &'c Cell<bool>,
}

impl Goal for Perhaps<'_> {
    fn wants(&self, terminal: u32) -> bool {
        IsTrue.wants(terminal)
    }

    fn caveat(&self, terminal: u32) -> Option<Reason> {
        let lacks = self.wants(terminal) && self.fits.get();
        self.reason.clone().filter(|_| lacks)
    }
}

/// The number of a lane, and a rule that takes calls of its way before, after so many steps.
type Earlier = (usize, usize, u32);

/// One way of a policy, and what is known of it.
#[derive(Debug)]
struct Known {
    /// Its calls, without those of the earlier rules that were excluded.
    calls: Option<Dd>,
    excluded: usize,
    /// True if no call is decided in this way.
    dead: Option<bool>,
}

/// The ways in which a policy decides the calls of one tool.
#[derive(Debug)]
pub(super) struct Lane<'a> {
    pub(super) policy: &'a Policy,
    pub(super) ways: Vec<Way>,
    known: Vec<Known>,
}

impl<'a> Lane<'a> {
    /// The ways of some rules; `None`: they are not matches only.
    pub(super) fn new(policy: &'a Policy, rules: &[u32]) -> Option<Self> {
        let ways = ways(policy, rules)?;
        let known = ways.iter().map(|_| Known {
            calls: None,
            excluded: 0,
            dead: None,
        });
        Some(Self {
            policy,
            known: known.collect(),
            ways,
        })
    }

    /// The calls of a way, without those of some of the rules before it.
    pub(super) fn calls(&mut self, space: &mut Space<'a>, way: usize) -> Result<Dd, Stop> {
        let (Some(known), Some(way)) = (self.known.get_mut(way), self.ways.get(way)) else {
            return Ok(FALSE);
        };
        if let Some(calls) = known.calls {
            return Ok(calls);
        }
        let calls = space.calls(self.policy, way)?;
        known.calls = Some(calls);
        Ok(calls)
    }

    /// Returns true if it is proved that no call is decided in a way.
    pub(super) fn is_dead(&mut self, space: &mut Space<'a>, way: usize) -> Result<bool, Stop> {
        if let Some(known) = self.known.get(way).and_then(|known| known.dead) {
            return Ok(known);
        }
        let found = space.taken(TRUE, &mut [(self, way)], None);
        let dead = match found {
            Ok(Found::Nothing) => true,
            Ok(_) => false,
            Err(stop) if stop.ends() => return Err(stop),
            // The search for a pair tells why.
            Err(_) => false,
        };
        if let Some(known) = self.known.get_mut(way) {
            known.dead = Some(dead);
            if dead {
                known.calls = Some(FALSE);
            }
        }
        Ok(dead)
    }
}

/// A condition on a call and the decisions on it, and the reason for which a call may not have it.
pub(super) type Condition<'c> = (
    &'c dyn Fn(&str, &[Decided]) -> Result<bool, Stop>,
    Option<Reason>,
);

impl<'a> Space<'a> {
    /// Searches a call of `of` that every policy decides in its way.
    pub(super) fn taken(
        &mut self,
        of: Dd,
        lanes: &mut [(&mut Lane<'a>, usize)],
        condition: Option<Condition<'_>>,
    ) -> Result<Found<Taken>, Stop> {
        let mut of = of;
        let policies: Vec<&'a Policy> = lanes.iter().map(|(lane, _)| lane.policy).collect();
        let mut useless: Vec<Earlier> = Vec::new();
        loop {
            let mut rest = of;
            for (lane, way) in lanes.iter_mut() {
                let own = lane.calls(self, *way)?;
                rest = self.dd.connect(Connect::All, rest, own)?;
            }
            if rest == FALSE {
                return Ok(Found::Nothing);
            }
            let fits = Cell::new(false);
            let goal = Perhaps {
                reason: condition.as_ref().and_then(|(_, reason)| reason.clone()),
                fits: &fits,
            };
            let found = self.search(rest, &goal, &mut |request| {
                let decided: Vec<Decided> = policies
                    .iter()
                    .map(|policy| verify::decide(policy, request))
                    .collect::<Result<_, _>>()?;
                fits.set(false);
                if decided.iter().any(|decided| decided.asks_more) {
                    return Ok(None);
                }
                for (number, ((lane, at), decided)) in lanes.iter().zip(&decided).enumerate() {
                    match lane.ways.get(*at).map(|way| way.beside(decided)) {
                        Some(Beside::Same) => {}
                        Some(Beside::Earlier(steps, rule)) => {
                            let earlier = (number, steps, rule);
                            return Ok((!useless.contains(&earlier)).then_some(Err(earlier)));
                        }
                        Some(Beside::Other) | None => return Ok(None),
                    }
                }
                fits.set(true);
                let wanted = match &condition {
                    Some((holds, _)) => holds(request, &decided)?,
                    None => true,
                };
                Ok(wanted.then(|| Ok((request.to_owned(), decided))))
            })?;
            let earlier = match found {
                Found::Witness(Err(earlier)) => earlier,
                Found::Witness(Ok(taken)) => return Ok(Found::Witness(taken)),
                Found::Nothing => return Ok(Found::Nothing),
                Found::Unknown(reasons) => return Ok(Found::Unknown(reasons)),
            };
            let Some((lane, at)) = lanes.get_mut(earlier.0) else {
                return Ok(Found::Nothing);
            };
            let sequence = lane.ways.get(*at).map(Way::sequence).unwrap_or_default();
            let steps = sequence.get(..earlier.1).unwrap_or_default();
            let taken = self.takes(lane.policy, (steps, earlier.2), How::Both)?;
            let outside = self.dd.not(taken)?;
            if self.dd.connect(Connect::All, rest, outside)? == rest {
                // Only the evaluator knows that the rule takes the call.
                useless.push(earlier);
                continue;
            }
            let own = lane.calls(self, *at)?;
            match lane.known.get_mut(*at) {
                Some(known) if known.excluded < EXCLUDED => {
                    known.calls = Some(self.dd.connect(Connect::All, own, outside)?);
                    known.excluded += 1;
                }
                _ => of = self.dd.connect(Connect::All, of, outside)?,
            }
        }
    }
}
