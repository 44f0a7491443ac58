//! Evaluating the definitions of memory on one request.

use super::ShortCuts;
use super::evaluator::Evaluator;
use super::work::Work;
use crate::clause::flat_expr::expression;
use crate::clause::predicate::Truth;
use crate::error::{ErrorCode, Fault};
use crate::ir::memory::{Definition, Measure, Words};
use crate::lang::path::{Field, Key};
use crate::num::exact::Exact;
use crate::num::number::Number;
use crate::program::{Program, Scratch};
use crate::value::compare::number;
use crate::value::memory::{Amount, Memory, Reading};
use crate::value::request::Request;
use crate::value::{Step, Value as _, View};

/// The time of a request, in microseconds.
pub(crate) fn time<R: Request>(request: &R) -> Option<i64> {
    match request.field(Field::Timestamp) {
        Step::Found(value) => match value.view() {
            View::Timestamp(micros) => Some(micros),
            _ => None,
        },
        Step::Absent | Step::Unreadable => None,
    }
}

impl<R: Request> Evaluator<'_, R> {
    /// Evaluates an expression of a definition. A missing path is absent where the definition permits, else false.
    pub(crate) fn matches(&mut self, (from, to): Words, permits: bool) -> Result<bool, Fault> {
        let program = self.program;
        let words = program.words.get(from as usize..to as usize);
        match self.truth(expression(words.unwrap_or_default()), permits) {
            Truth::True => Ok(true),
            Truth::False | Truth::Absent => Ok(false),
            Truth::Error(fault) => Err(fault),
        }
    }

    /// The amount that the call adds to a measure; `None`: it does not count.
    pub(crate) fn amount(&mut self, measure: &Measure) -> Result<Option<Amount>, Fault> {
        let failed = |fault| match fault {
            Fault::BudgetExceeded | Fault::StateLimit => Fault::StateLimit,
            _ => Fault::BadState,
        };
        if !self.matches(measure.of, false).map_err(failed)? {
            return Ok(None);
        }
        let Some(keys) = &measure.field else {
            return Ok(Some(Amount(Exact::ONE)));
        };
        let mut step = self.request.field(Field::Args);
        for key in keys {
            match step {
                Step::Found(value) => step = value.get(Key::unprepared(key)),
                Step::Absent | Step::Unreadable => break,
            }
        }
        let Step::Found(value) = step else {
            return Err(Fault::BadState);
        };
        match value.view() {
            View::Float(value) if !value.is_finite() => Err(Fault::BadState),
            View::HugeInt => Err(Fault::StateLimit),
            view => {
                let number = number(&view).ok_or(Fault::BadState)?;
                match Exact::from_number(&number) {
                    Some(exact) => Ok(Some(Amount(exact))),
                    None => Err(Fault::StateLimit),
                }
            }
        }
    }
}

impl Program {
    /// The amounts that a call adds to each measure that counts it, by name.
    pub fn amounts<R: Request>(&self, request: &R) -> Vec<(&str, Result<Number, ErrorCode>)> {
        let (mut scratch, work) = (Scratch::new(), Work::default());
        let cuts = ShortCuts::NONE;
        let mut evaluator = Evaluator::new(self, request, &mut scratch, (cuts, &work));
        let mut found = Vec::new();
        let memory = self.memory.iter();
        for (name, item) in memory.flat_map(|memory| memory.names.iter().zip(&memory.items)) {
            if let Definition::Measure(measure) = item {
                match evaluator.amount(measure) {
                    Ok(None) => {}
                    Ok(Some(Amount(amount))) => found.push((&**name, Ok(amount.number()))),
                    Err(fault) => found.push((&**name, Err(fault.into()))),
                }
            }
        }
        found
    }

    /// Reads a definition for a decision on `request`.
    pub(crate) fn reading<R: Request>(
        &self,
        definition: u32,
        (request, memory): (&R, &dyn Memory),
        work: &Work<R::Value>,
    ) -> Result<Reading, Fault> {
        let known = self.memory.as_ref();
        let this = match known.and_then(|known| known.items.get(definition as usize)) {
            Some(Definition::Measure(measure)) if measure.this => {
                let mut scratch = Scratch::new();
                let cuts = ShortCuts::NONE;
                Evaluator::new(self, request, &mut scratch, (cuts, work)).amount(measure)
            }
            _ => Ok(None),
        };
        // A definition that is broken stays so, whatever the call.
        let more = this.as_ref().ok().copied().flatten();
        let read = memory.read(definition, time(request), more)?;
        this.map(|_| read)
    }
}
