//! Reads of the state of a run, and searches of whole values in texts.

use super::value::{Budget, Run, Val};
use super::{Interp, Out};
use crate::chars;
use crate::clause::predicate::sound;
use crate::error::Fault;
use crate::num::number::Number;
use crate::pyfn::ast::Code;
use crate::pyfn::exception::{Exception, Failure};
use crate::pyfn::interp::env::Env;
use crate::text::{Haystack, Needle};
use crate::value::memory::{LeafValue, Reading, Wanted};
use crate::value::{Step, Value};

/// Bytes of a text that is read, and of one that is searched, which one step covers.
const READ: usize = 4;
const SEARCHED: usize = 16;

/// The number of texts that a function keeps as they were read.
const MOST_KEPT: usize = 4;

/// Texts that values were searched in, each with its case.
#[derive(Debug, Default)]
pub(super) struct Haystacks(Vec<(Box<str>, bool, Haystack)>);

impl Haystacks {
    fn get(&mut self, text: &str, lower: bool, budget: &mut Budget) -> Run<&Haystack> {
        let known =
            |(kept, cased, _): &(Box<str>, bool, Haystack)| *cased == lower && **kept == *text;
        let at = match self.0.iter().position(known) {
            Some(at) => at,
            None => {
                budget.fuel(text.len() / READ)?;
                if self.0.len() == MOST_KEPT {
                    self.0.remove(0);
                }
                self.0
                    .push((text.into(), lower, Haystack::new(text, lower)));
                self.0.len() - 1
            }
        };
        let found = self.0.get(at).map(|(_, _, haystack)| haystack);
        found.ok_or(Failure::UNSUPPORTED)
    }
}

impl<'p, W: Env> Interp<'_, 'p, W> {
    /// Calls what takes steps of the decision.
    fn outside<T>(&mut self, work: impl FnOnce(&mut W) -> Result<T, Fault>) -> Run<T> {
        let before = self.env.fuel_left();
        let done = work(self.env);
        let taken = before.saturating_sub(self.env.fuel_left());
        self.budget.taken_outside(taken)?;
        done.map_err(fault)
    }

    /// The value of a measure or a formula.
    #[inline(never)]
    pub(super) fn run_value(&mut self, definition: u32) -> Out<'p, W> {
        Ok(match self.outside(|env| env.reading(definition))? {
            Reading::Bool(flag) => Val::Bool(flag),
            Reading::Number(Number::Int(number)) => Val::Int(number),
            Reading::Number(Number::Big(number)) => Val::Big(number.into()),
            Reading::Number(Number::Float(number)) => Val::Float(number),
        })
    }

    /// Returns true if the argument at a path came from one of some sources.
    #[inline(never)]
    pub(super) fn argument_origin(&mut self, wanted: Wanted, path: u32) -> Out<'p, W> {
        let value = match self.env.step(path) {
            Step::Absent => return Ok(Val::Bool(false)),
            Step::Unreadable => return Err(fault(Fault::WrongType)),
            Step::Found(value) => value.clone(),
        };
        let view = sound(value.view()).map_err(fault)?;
        let leaf = LeafValue::of(&view).ok_or(fault(Fault::WrongType))?;
        self.drawn(wanted, leaf)
    }

    /// Returns true if a value came from one of some sources.
    #[inline(never)]
    pub(super) fn origin(&mut self, wanted: Wanted, of: &'p Code) -> Out<'p, W> {
        let value = self.eval(of)?;
        match leaf(&value)? {
            Some(leaf) => self.drawn(wanted, leaf),
            None if matches!(value, Val::None) => Ok(Val::Bool(false)),
            None => Err(fault(Fault::WrongType)),
        }
    }

    fn drawn(&mut self, wanted: Wanted, value: LeafValue<'_>) -> Out<'p, W> {
        let value = match value {
            LeafValue::Text("") => return Ok(Val::Bool(false)),
            LeafValue::Text(text) if wanted.lower => {
                self.budget.fuel(text.len() / SEARCHED)?;
                let lower = chars::lower(text);
                let value = LeafValue::Text(&lower);
                return self.outside(|env| env.drawn(wanted, &value)).map(Val::Bool);
            }
            LeafValue::Number(_) if wanted.lower => return Err(fault(Fault::WrongType)),
            value => value,
        };
        self.outside(|env| env.drawn(wanted, &value)).map(Val::Bool)
    }

    /// `occurs_in(lower, value, *texts)`: a text that is None has no value.
    #[inline(never)]
    pub(super) fn occurs_in(&mut self, args: &'p [Code]) -> Out<'p, W> {
        let values = self.all(args)?;
        let [Val::Bool(lower), value, texts @ ..] = &*values else {
            return Err(Failure::UNSUPPORTED);
        };
        let Some(leaf) = leaf(value)? else {
            return Err(Exception::TYPE.into());
        };
        let mut places = Vec::with_capacity(texts.len());
        for text in texts {
            match text {
                Val::None => {}
                Val::Opaque(broken) => return Err((*broken).into()),
                text => places.push(text.text().ok_or(Failure::from(Exception::TYPE))?),
            }
        }
        for text in places {
            let needle = match &leaf {
                LeafValue::Text(needle) => {
                    self.budget.fuel((needle.len() + text.len()) / SEARCHED)?;
                    Some(Needle::text(needle, *lower))
                }
                LeafValue::Number(number) => Needle::number(number),
            };
            let haystack = self.haystacks.get(text, *lower, &mut self.budget)?;
            if needle.is_some_and(|needle| haystack.holds(&needle)) {
                return Ok(Val::Bool(true));
            }
        }
        Ok(Val::Bool(false))
    }
}

fn fault(fault: Fault) -> Failure {
    Failure::Fault(fault.into())
}

/// The text or the number that a value is.
fn leaf<'v, V: Value>(value: &'v Val<'_, V>) -> Run<Option<LeafValue<'v>>> {
    Ok(match value {
        Val::Int(number) => Some(LeafValue::Number(Number::Int(*number))),
        Val::Big(number) => Some(LeafValue::Number(Number::Big((**number).clone()))),
        Val::Float(number) if number.is_nan() => return Err(fault(Fault::Nan)),
        Val::Float(number) => Some(LeafValue::Number(Number::from_float(*number))),
        Val::Opaque(broken) => return Err((*broken).into()),
        value => value.text().map(LeafValue::Text),
    })
}
