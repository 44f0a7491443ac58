//! A state as decisions read it.

use super::{Broken, State, Tracked, Tracker, monitor};
use crate::budget::Steps;
use crate::error::{ErrorCode, Fault};
use crate::eval::work::Work;
use crate::ir::memory::{Definition, Definitions};
use crate::program::Program;
use crate::value::memory::{Amount, LeafValue, Memory, Origin, Reading, Wanted};
use crate::value::request::Request;

/// A state as decisions read it.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'s> {
    pub(super) definitions: Option<&'s Definitions>,
    pub(super) state: &'s State,
}

impl Reader<'_> {
    fn tracker(&self, definition: u32) -> Result<&Tracker, Fault> {
        if self.state.full {
            return Err(Fault::StateLimit);
        }
        if self.state.is_damaged() {
            return Err(Fault::BadState);
        }
        let tracker = self.state.trackers.get(definition as usize);
        tracker.ok_or(Fault::BadState)
    }

    /// The values of all measures and formulas for a decision on `request`, by name.
    pub fn values<'p, R: Request>(
        &self,
        program: &'p Program,
        request: &R,
    ) -> Vec<(&'p str, Result<Reading, ErrorCode>)> {
        let Some(definitions) = program.memory() else {
            return Vec::new();
        };
        let work = Work::default();
        let mut found = Vec::new();
        for (number, name) in (0..).zip(&definitions.names) {
            if let Some(Definition::Source(_)) = definitions.items.get(number as usize) {
                continue;
            }
            let value = program.reading(number, (request, self), &work);
            found.push((&**name, value.map_err(ErrorCode::from)));
        }
        found
    }
}

impl Memory for Reader<'_> {
    fn read(
        &self,
        definition: u32,
        now: Option<i64>,
        this: Option<Amount>,
    ) -> Result<Reading, Fault> {
        let tracker = self.tracker(definition)?;
        if let Some(broken) = tracker.broken {
            return Err(broken.fault());
        }
        let known = self.definitions;
        let known = known.and_then(|known| known.items.get(definition as usize));
        let now = now.map(|now| now.max(self.state.last.unwrap_or(now)));
        match (known, &tracker.kind) {
            (Some(Definition::Measure(measure)), Tracked::Measure(tally)) => {
                let Amount(more) = this.unwrap_or_default();
                let below = (&self.state.layers, definition);
                tally
                    .value(now, measure.within, more, below)
                    .map(Reading::Number)
            }
            (Some(Definition::Formula(nodes)), Tracked::Formula(cells)) => {
                let value = monitor::value(nodes, cells, now).ok_or(Fault::BadState)?;
                Ok(Reading::Bool(value))
            }
            _ => Err(Fault::BadState),
        }
    }

    fn drawn(&self, wanted: Wanted, value: &LeafValue<'_>, steps: &Steps) -> Result<bool, Fault> {
        let sources = self.definitions.map_or(&[][..], |known| &known.sources);
        let (mut sound, mut fault) = (0, self.state.full.then_some(Fault::StateLimit));
        for (bit, number) in sources.iter().enumerate() {
            if wanted.sources & 1 << bit == 0 {
                continue;
            }
            let tracker = self.state.trackers.get(*number as usize);
            let broken = tracker.map_or(Some(Broken::Bad), |tracker| tracker.broken);
            // A source that is full is right about what it holds.
            if broken.is_none_or(|broken| broken == Broken::Full) {
                sound |= 1 << bit;
            }
            if let Some(broken) = broken {
                fault = fault.or(Some(broken.fault()));
            }
        }
        let entries = self.state.table.find(value, wanted.lower);
        let mut found = entries.map(|entry| 1_u64.checked_shl(entry.source.into()).unwrap_or(0));
        let found = found.any(|bit| bit & sound != 0);
        if self.state.is_damaged() {
            return Err(Fault::BadState);
        }
        if found {
            return Ok(true);
        }
        if wanted.task
            && let Some(task) = &self.state.task
            && task.holds(value, wanted.lower, steps)?
        {
            return Ok(true);
        }
        fault.map_or(Ok(false), Err)
    }

    fn origins(&self, value: &LeafValue<'_>) -> Vec<Origin> {
        let mut found = Vec::new();
        if let Some(task) = &self.state.task
            && task.holds(value, false, &Steps::endless()) == Ok(true)
        {
            found.push(Origin {
                source: None,
                tool: String::new(),
                key: String::new(),
                field: String::new(),
            });
        }
        let Some(definitions) = self.definitions else {
            return found;
        };
        for entry in self.state.table.find(value, false) {
            let number = definitions.sources.get(entry.source as usize).copied();
            let source = number.and_then(|number| definitions.items.get(number as usize));
            let call = self.state.table.origin(entry.call);
            if let (Some(Definition::Source(source)), Some(call)) = (source, call) {
                let field = source.fields.get(entry.field as usize);
                found.push(Origin {
                    source: number,
                    tool: call.tool.to_string(),
                    key: call.key.to_string(),
                    field: field.map_or_else(String::new, |field| field.join(".")),
                });
            }
        }
        found
    }
}
