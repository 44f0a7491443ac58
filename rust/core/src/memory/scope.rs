//! The calls of a scope, as the measures of a policy `by` it count them, and their values for the states of its runs.

use super::events::CUTS;
use super::measures::Tally;
use super::{Broken, Extent, State, Tracked};
use crate::error::Fault;
use crate::eval::evaluator::Evaluator;
use crate::eval::memory::time;
use crate::eval::work::Work;
use crate::ir::memory::{Definition, Definitions, Measure, Scope};
use crate::num::number::Number;
use crate::program::{Program, Scratch};
use crate::value::memory::{Amount, Memory as _, Reading};
use crate::value::request::Request;

impl State {
    /// Takes a call of the scope. One that a window cannot count is an error while it would be in it.
    pub fn count<R: Request>(&mut self, program: &Program, request: &R, scratch: &mut Scratch) {
        let (Some(definitions), Extent::Scope(scope)) = (program.memory(), self.extent) else {
            return;
        };
        let (seen, call) = (time(request), self.next);
        let last = self.last.unwrap_or(i64::MIN);
        let at = seen.or(self.last).unwrap_or(0).max(last);
        self.next += 1;
        self.last = Some(at);
        let work = Work::default();
        scratch.begin(program.clauses.len());
        let mut evaluator = Evaluator::new(program, request, scratch, (CUTS, &work));
        for (number, _, measure) in measures(definitions, scope) {
            let Some(tracker) = self.trackers.get_mut(number as usize) else {
                continue;
            };
            let Tracked::Measure(tally) = &mut tracker.kind else {
                continue;
            };
            let below = (&self.layers, number);
            let added = match evaluator.amount(measure) {
                Ok(None) => continue,
                Ok(Some(_)) if measure.within.is_some() && seen.is_none() => Err(Broken::Bad),
                Ok(Some(Amount(amount))) => {
                    if let Tally::Window(window) = tally {
                        tracker.broken = tracker.broken.or(window.make_room(below).err());
                    }
                    tally.add((call, at), amount, measure.within, below)
                }
                Err(fault) => Err(Broken::of(fault)),
            };
            match (added, tally) {
                (Ok(()), _) => {}
                (Err(broken), Tally::Window(window)) => window.lapse(at, broken),
                (Err(broken), _) => tracker.broken = tracker.broken.or(Some(broken)),
            }
        }
    }

    /// The values of the measures of the scope at a time in microseconds, by name, or the reasons why they have none.
    #[must_use]
    pub fn shared_values<'p>(
        &self,
        program: &'p Program,
        now: Option<i64>,
    ) -> Vec<(&'p str, Result<Number, Fault>)> {
        let (Some(definitions), Extent::Scope(scope)) = (program.memory(), self.extent) else {
            return Vec::new();
        };
        let reader = self.reader(program);
        let value = |number| match reader.read(number, now, None)? {
            Reading::Number(number) => Ok(number),
            Reading::Bool(_) => Err(Fault::BadState),
        };
        measures(definitions, scope)
            .map(|(number, name, _)| (name, value(number)))
            .collect()
    }
}

impl Program {
    /// Returns true if a measure by this scope counts a call, or cannot.
    pub fn counts<R: Request>(&self, request: &R, scope: Scope) -> bool {
        let Some(definitions) = self.memory() else {
            return false;
        };
        let (mut scratch, work) = (Scratch::new(), Work::default());
        scratch.begin(self.clauses.len());
        let mut evaluator = Evaluator::new(self, request, &mut scratch, (CUTS, &work));
        let mut all = measures(definitions, scope);
        all.any(|(_, _, measure)| evaluator.amount(measure) != Ok(None))
    }

    /// Returns true if the policy has measures by this scope.
    #[must_use]
    pub fn measures_by(&self, scope: Scope) -> bool {
        let definitions = self.memory();
        definitions.is_some_and(|known| measures(known, scope).next().is_some())
    }
}

/// The measures by a scope, with their numbers and names.
fn measures(
    definitions: &Definitions,
    scope: Scope,
) -> impl Iterator<Item = (u32, &str, &Measure)> {
    let all = (0..).zip(&definitions.names).zip(&definitions.items);
    all.filter_map(move |((number, name), item)| match item {
        Definition::Measure(measure) if measure.by == Some(scope) => {
            Some((number, &**name, measure))
        }
        _ => None,
    })
}
