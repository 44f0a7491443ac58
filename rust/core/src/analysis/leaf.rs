//! Clauses as functions: one of the four truth values for each kind of value at the path.

use crate::clause::operand::{Check, Operand};
use crate::clause::predicate::Test;
use crate::facets::Kind as Parsed;
use crate::json::Json;
use crate::json::value::JsonValue;
use crate::lang::path::{Field, Head, Key};
use crate::num::number::Number;
use crate::program::Program;
use crate::value::constant::Const;
use crate::value::{Step, Value as _};

use super::budget::{Reason, Stop};
use super::connect::Connect;
use super::dd::{ABSENT, Dd, ERROR, FALSE, TRUE};
use super::facet_leaf::type_of;
use super::line::as_i64;
use super::sample;
use super::slot::{Kind, RUN};
use super::space::{Space, clause_of};
use super::transform::missing;

/// A check with the test that the engine evaluates.
#[derive(Clone, Copy)]
pub(super) struct Tested<'a, 't> {
    pub(super) check: &'t Check,
    pub(super) test: &'t Test,
    /// The bytes that tell it apart.
    pub(super) name: &'t [u8],
    pub(super) program: &'a Program,
}

impl<'a> Space<'a> {
    /// The truth value of a clause.
    pub(super) fn leaf(&mut self, program: &'a Program, clause: u32) -> Result<Dd, Stop> {
        let name = program.clause_bytes(clause);
        if let Some(&known) = self.leaves.get(name) {
            return Ok(known);
        }
        let made = self.new_leaf(program, clause, name)?;
        self.leaves.insert(name.to_vec(), made);
        Ok(made)
    }

    fn new_leaf(&mut self, program: &'a Program, clause: u32, name: &[u8]) -> Result<Dd, Stop> {
        let Some((place, check)) = clause_of(program, clause) else {
            let reason = match program.clause(clause) {
                Some(info) if info.head == Head::Run => {
                    Reason::memory(format!("run.{}", info.path.join(".")))
                }
                _ => Reason::new("path", "a clause reads a path that requests lack"),
            };
            return self.unknown((name, 0), &reason, &[FALSE, TRUE, ERROR]);
        };
        let test = program.test(clause);
        if let Some(tool) = self.tool.clone()
            && place.field() == Some(Field::Tool)
            && place.keys.is_empty()
            && sample::reads_beside(&check).is_none()
        {
            return Ok(sample::result_of(test, &sample::text(&tool)));
        }
        let Some(&slot) = self.places.get(&place) else {
            return Err(Stop::Internal(format!("no slot of {}", place.text())));
        };
        // The test of a count reads the state of a run; that of its number does not.
        let measured = (place.field == Some(RUN))
            .then(|| program.prepare_check(&check, Parsed::Number))
            .flatten();
        let tested = Tested {
            check: &check,
            test: measured.as_ref().unwrap_or(test),
            name,
            program,
        };
        self.at(slot, tested)
    }

    /// The result of a check at a slot, whatever holds it.
    pub(super) fn at(&mut self, slot: usize, tested: Tested<'a, '_>) -> Result<Dd, Stop> {
        let (absent, unreadable) = missing(tested.check);
        let own = self.here(slot, tested, absent)?;
        self.within(slot, own, [absent, unreadable], &mut |space, value| {
            space.concrete(tested, value)
        })
    }

    /// The function that is `own` where the mappings above have the slot, the first of `without` where it is missing, the
    /// second where a step leads nowhere, and `concrete` where a mapping is a constant.
    pub(super) fn within(
        &mut self,
        slot: usize,
        own: Dd,
        [absent, unreadable]: [Dd; 2],
        concrete: &mut dyn FnMut(&mut Self, JsonValue<'static>) -> Result<Dd, Stop>,
    ) -> Result<Dd, Stop> {
        let mut result = own;
        let mut below = slot;
        let mut keys: Vec<Box<str>> = Vec::new();
        while let Some(here) = self.slots.get(below)
            && let Some(parent) = here.parent
        {
            keys.insert(0, here.place.keys.last().cloned().unwrap_or_default());
            let maps = self.slots.get(parent).map(|slot| slot.maps.clone());
            let mut runs = vec![(0, result)];
            for (at, map) in (1..).zip(maps.unwrap_or_default()) {
                let found = match step_into(&map, &keys) {
                    Step::Absent => absent,
                    Step::Unreadable => unreadable,
                    Step::Found(value) => concrete(self, value)?,
                };
                runs.push((at, found));
            }
            let bits = self.slots.get(parent).map(|slot| slot.map);
            let bits = bits.unwrap_or_default();
            let in_map = self.dd.switch(bits.var, bits.count, &runs)?;
            result = self.by_kind(parent, |kind| match kind {
                Kind::Map => in_map,
                Kind::Absent | Kind::Null => absent,
                _ => unreadable,
            })?;
            below = parent;
        }
        Ok(result)
    }

    /// The result for a known value.
    pub(super) fn concrete(
        &mut self,
        tested: Tested<'a, '_>,
        value: JsonValue<'static>,
    ) -> Result<Dd, Stop> {
        match sample::reads_beside(tested.check) {
            None => Ok(sample::result(tested.test, value)),
            Some(code) => self.beside(tested, code),
        }
    }

    /// The result of a check that reads more than the value.
    pub(super) fn beside(
        &mut self,
        tested: Tested<'a, '_>,
        code: &'static str,
    ) -> Result<Dd, Stop> {
        let reason = Reason::new(
            code,
            match code {
                "memory" => "a clause reads the state of a run",
                _ => "a clause compares with another path",
            },
        );
        self.unknown((tested.name, 0), &reason, &[FALSE, TRUE, ERROR, ABSENT])
    }

    /// The function with a result for each kind of value of a slot.
    pub(super) fn by_kind(&mut self, slot: usize, result: impl Fn(Kind) -> Dd) -> Result<Dd, Stop> {
        let Some(here) = self.slots.get(slot) else {
            return Ok(FALSE);
        };
        let runs: Vec<(u32, Dd)> = (0..)
            .zip(here.kinds.iter().map(|kind| result(*kind)))
            .collect();
        let bits = here.kind;
        self.dd.switch(bits.var, bits.count, &runs)
    }

    /// The result of a check of the value of a slot, in a mapping that may have it.
    pub(super) fn here(
        &mut self,
        slot: usize,
        tested: Tested<'a, '_>,
        absent: Dd,
    ) -> Result<Dd, Stop> {
        match (tested.check.op.name, &tested.check.operand) {
            ("any_of", Operand::Tests(checks)) => {
                return self.every(slot, tested, (Connect::Any, checks), absent);
            }
            ("all_of", Operand::Tests(checks)) => {
                return self.every(slot, tested, (Connect::All, checks), absent);
            }
            ("not", Operand::Tests(checks)) => {
                let all = self.every(slot, tested, (Connect::All, checks), absent)?;
                return self.dd.not(all);
            }
            ("part", Operand::Part(keys, checks)) => {
                return self.part(slot, tested, (keys, checks));
            }
            _ => {}
        }
        let kinds = self.slots.get(slot).map_or(&[][..], |slot| slot.kinds);
        let mut results = Vec::new();
        for kind in kinds {
            results.push((*kind, self.of_kind(slot, *kind, tested, absent)?));
        }
        self.by_kind(slot, |kind| {
            let found = results.iter().find(|(known, _)| *known == kind);
            found.map_or(FALSE, |(_, result)| *result)
        })
    }

    /// The type of the values of a slot.
    pub(super) fn type_at(&self, slot: usize) -> Parsed {
        let slot = self.slots.get(slot);
        slot.map_or(Parsed::Plain, |slot| type_of(&slot.place, self.root))
    }

    /// The connective of several checks of one value.
    fn every(
        &mut self,
        slot: usize,
        tested: Tested<'a, '_>,
        (by, checks): (Connect, &[Check]),
        absent: Dd,
    ) -> Result<Dd, Stop> {
        let mut result = match by {
            Connect::All => TRUE,
            Connect::Any => FALSE,
        };
        for (at, check) in checks.iter().enumerate() {
            let Some(test) = tested.program.prepare_check(check, self.type_at(slot)) else {
                return self.beside(tested, "ref");
            };
            let name = [tested.name, b"/", at.to_string().as_bytes()].concat();
            let inner = Tested {
                check,
                test: &test,
                name: &name,
                program: tested.program,
            };
            let found = self.here(slot, inner, absent)?;
            result = self.dd.connect(by, result, found)?;
        }
        Ok(result)
    }

    fn of_kind(
        &mut self,
        slot: usize,
        kind: Kind,
        tested: Tested<'a, '_>,
        absent: Dd,
    ) -> Result<Dd, Stop> {
        if kind == Kind::Absent {
            return Ok(absent);
        }
        if tested.check.op.name == "exists" {
            return Ok(sample::result_of(tested.test, &Json::Null));
        }
        let is_of_elements = matches!(tested.check.op.name, "any" | "all" | "none" | "first");
        if let Some(code) = sample::reads_beside(tested.check)
            && !(code == "ref" && is_of_elements)
        {
            let made = self.beside(tested, code)?;
            self.note_equality(slot, tested.check, tested.name);
            self.note_order(slot, tested.check, tested.name);
            return Ok(made);
        }
        let single = |value: Json<'static>| Ok(sample::result_of(tested.test, &value));
        match kind {
            Kind::Absent => Ok(absent),
            Kind::True => single(Json::Bool(true)),
            Kind::False => single(Json::Bool(false)),
            Kind::Null => single(Json::Null),
            Kind::Broken => single(sample::broken()),
            Kind::Number | Kind::Instant => self.of_number(slot, kind, tested),
            Kind::Text => self.of_text(slot, tested),
            Kind::List => self.of_list(slot, tested),
            Kind::Map => self.of_map(slot, tested),
        }
    }

    fn of_number(&mut self, slot: usize, kind: Kind, tested: Tested<'a, '_>) -> Result<Dd, Stop> {
        if tested.check.op.name == "occurs_in" {
            let reason = Reason::new("occurs_in", "a clause searches for a number in a text");
            return self.unknown((tested.name, 0), &reason, &[FALSE, TRUE]);
        }
        let Some(here) = self.slots.get(slot) else {
            return Ok(FALSE);
        };
        let own = numbers(tested.check);
        let mut runs = Vec::new();
        for start in here.numbers.runs(&own) {
            let Some(number) = here.numbers.cells.get(start) else {
                continue;
            };
            let result = match (kind, as_i64(number)) {
                (Kind::Instant, Some(micros)) => {
                    sample::result(tested.test, sample::instant(micros))
                }
                _ => sample::result_of(tested.test, &sample::json_number(number)),
            };
            runs.push((start as u32, result));
        }
        let bits = here.number;
        self.dd.switch(bits.var, bits.count, &runs)
    }

    /// The function of the lengths of lists and mappings for which a check has these results, found by `result`.
    pub(super) fn of_count(
        &mut self,
        slot: usize,
        check: &Check,
        result: impl Fn(i64) -> Dd,
    ) -> Result<Dd, Stop> {
        let Some(here) = self.slots.get(slot) else {
            return Ok(FALSE);
        };
        let mut own = numbers(check);
        own.push(Number::Int(0));
        let runs = here.counts.runs(&own).into_iter().filter_map(|start| {
            let count = here.counts.cells.get(start).and_then(as_i64)?;
            Some((start as u32, result(count)))
        });
        let (runs, bits): (Vec<_>, _) = (runs.collect(), here.count);
        self.dd.switch(bits.var, bits.count, &runs)
    }

    /// The result of tests of a length, which are tests of an integer.
    pub(super) fn of_length(&mut self, slot: usize, tested: Tested<'a, '_>) -> Result<Dd, Stop> {
        let Operand::Tests(checks) = &tested.check.operand else {
            return Ok(ERROR);
        };
        let tests: Vec<Test> = checks
            .iter()
            .filter_map(|check| tested.program.prepare_check(check, Parsed::Number))
            .collect();
        self.of_count(slot, tested.check, |count| count_passes(&tests, count))
    }

    /// A result, or an error where a part of the value cannot be evaluated: only the evaluator knows which.
    pub(super) fn or_error(
        &mut self,
        slot: usize,
        tested: Tested<'a, '_>,
        result: Dd,
    ) -> Result<Dd, Stop> {
        let place = self.slots.get(slot).map(|slot| slot.place.text());
        let mut reason = Reason::new("list", "a clause compares a list or a mapping as a whole");
        reason.path = place;
        self.unknown((tested.name, 2), &reason, &[result, ERROR])
    }
}

/// The conjunction of tests of a length.
pub(super) fn count_passes(tests: &[Test], count: i64) -> Dd {
    let mut all = TRUE;
    for test in tests {
        let result = sample::result_of(test, &Json::Int(count));
        all = match (all, result) {
            (FALSE, _) | (_, FALSE) => FALSE,
            (ERROR, _) | (_, ERROR) => ERROR,
            (ABSENT, _) | (_, ABSENT) => ABSENT,
            _ => TRUE,
        };
    }
    all
}

/// The numbers and instants that a check compares with.
pub(super) fn numbers(check: &Check) -> Vec<Number> {
    let mut found = Vec::new();
    sample::scalars(&check.operand, &mut |constant| {
        found.extend(match constant {
            Const::Timestamp(micros) => Some(Number::Int(*micros)),
            constant => sample::number_of(constant),
        });
    });
    found
}

/// Returns true for a comparison with a list or a mapping as a whole.
pub(super) fn is_whole(check: &Check) -> bool {
    matches!(
        check.operand.constant(),
        Some(Const::List(_) | Const::Map(_))
    )
}

pub(super) fn step_into(map: &Json<'static>, keys: &[Box<str>]) -> Step<JsonValue<'static>> {
    let mut step = Step::Found(JsonValue::Json(map.clone()));
    for key in keys {
        match step {
            Step::Found(value) => step = value.get(Key::unprepared(key)),
            Step::Absent | Step::Unreadable => break,
        }
    }
    step
}
