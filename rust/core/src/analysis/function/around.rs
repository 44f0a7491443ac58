//! Tests of a function evaluated by the interpreter, with a value that was made for them.

use crate::error::Fault;
use crate::json::Json;
use crate::json::value::JsonValue;
use crate::lang::path::{Field, Key};
use crate::program::Program;
use crate::pyfn::interp::env::Env;
use crate::pyfn::interp::probe;
use crate::value::memory::{LeafValue, Reading, Wanted};
use crate::value::{Step, Value as _};

use crate::analysis::dd::{ABSENT, Dd, ERROR, FALSE, TRUE};
use crate::analysis::sample;
use crate::analysis::slot::Place;

use super::form::{Form, Test};
use super::operand::{Rule, place_of};

/// The steps of one evaluation: more than the tests that are followed take.
const FUEL: u64 = 1 << 24;

/// The values of one field, of which one is made for a test.
pub(super) struct Around<'a> {
    pub(super) program: &'a Program,
    /// The field, and its value if it is there.
    root: Option<(u8, Option<Json<'static>>)>,
    /// The last value that was read.
    last: Step<JsonValue<'static>>,
    /// True if something else was read.
    pub(super) strayed: bool,
}

impl<'a> Around<'a> {
    pub(super) fn new(program: &'a Program, root: Option<(u8, Option<Json<'static>>)>) -> Self {
        Self {
            program,
            root,
            last: Step::Absent,
            strayed: false,
        }
    }

    fn at(&mut self, place: &Place) -> Step<JsonValue<'static>> {
        match &self.root {
            Some((field, value)) if place.field == Some(*field) => match value {
                Some(value) => {
                    let mut step = Step::Found(JsonValue::Json(value.clone()));
                    for key in &place.keys {
                        match step {
                            Step::Found(value) => step = value.get(Key::unprepared(key)),
                            Step::Absent | Step::Unreadable => break,
                        }
                    }
                    step
                }
                None => Step::Absent,
            },
            _ => {
                self.strayed = true;
                Step::Absent
            }
        }
    }
}

impl Env for Around<'_> {
    type Value = JsonValue<'static>;

    fn step(&mut self, path: u32) -> &Step<Self::Value> {
        self.last = match place_of(self.program, path) {
            Some(place) => self.at(&place),
            None => {
                self.strayed = true;
                Step::Absent
            }
        };
        &self.last
    }

    fn field(&mut self, field: Field, _: bool) -> Step<Self::Value> {
        self.at(&Place::new(field, &[]))
    }

    fn reading(&mut self, _: u32) -> Result<Reading, Fault> {
        self.strayed = true;
        Err(Fault::NoState)
    }

    fn drawn(&mut self, _: Wanted, _: &LeafValue<'_>) -> Result<bool, Fault> {
        self.strayed = true;
        Err(Fault::NoState)
    }

    fn fuel_left(&self) -> u64 {
        FUEL
    }

    fn took(&mut self, _: u64) -> bool {
        true
    }
}

pub(super) fn truth_of(truth: Option<bool>) -> Dd {
    match truth {
        Some(true) => TRUE,
        Some(false) => FALSE,
        None => ERROR,
    }
}

/// The result of a test where the value at some keys of its field is this one; `None`: it is not there.
pub(super) fn evaluated(
    rule: Rule<'_, '_>,
    test: &Test<'_>,
    keys: &[Box<str>],
    value: Option<Json<'static>>,
) -> Dd {
    let mut made = value;
    for key in keys.iter().rev() {
        let entries = made.map(|value| (key.to_string(), value));
        made = Some(sample::mapping(entries.into_iter().collect()));
    }
    let root = test.read.place.field.map(|field| (field, made));
    let mut around = Around::new(rule.program, root);
    let bound = (rule.locals, test.bound.as_slice());
    let result = match test.form {
        Form::Value => match probe::has_value(test.code, bound, &mut around) {
            true => TRUE,
            false => ERROR,
        },
        _ => truth_of(probe::truth(test.code, bound, &mut around)),
    };
    if around.strayed { ABSENT } else { result }
}
