//! Tests of a function as functions of the value that they read: true, false, an error where they raise, and absence where
//! only the evaluator knows.

use crate::json::Json;
use crate::lang::path::Field;
use crate::pyfn::ast::Code;

use crate::analysis::budget::Stop;
use crate::analysis::dd::{ABSENT, Dd, ERROR, FALSE, TRUE};
use crate::analysis::sample;
use crate::analysis::slot::Kind;
use crate::analysis::space::Space;

use super::around::{evaluated, truth_of};
use super::form::{Form, Shape, Test};
use super::operand::{Locals, Operand, Rule};

impl<'a> Space<'a> {
    /// What follows a test: `of` where it is true, false, raises, and is not known.
    pub(super) fn branch(&mut self, test: Dd, of: [Dd; 4]) -> Result<Dd, Stop> {
        let [yes, no, raises, unknown] = of;
        let id = self.dd.operation();
        let open = self.dd.map(id, test, &mut |value| {
            if Dd::terminal(value) == ABSENT {
                TRUE
            } else {
                FALSE
            }
        })?;
        let known = self.dd.choose(test, [yes, raises, no])?;
        self.dd.choose(open, [unknown, known, known])
    }

    /// The result of a test: absent where it is not known.
    pub(super) fn condition(
        &mut self,
        rule: Rule<'a, '_>,
        code: &'a Code,
        bound: &Locals<'a>,
    ) -> Result<Dd, Stop> {
        match rule.shape(code, bound) {
            None => Ok(ABSENT),
            Some(Shape::Known(truth)) => Ok(truth_of(Some(truth))),
            Some(Shape::Not(item)) => {
                let item = self.condition(rule, item, bound)?;
                self.dd.not(item)
            }
            Some(Shape::Items(any, items)) => {
                let mut result = if any { FALSE } else { TRUE };
                for (item, bound) in items.into_iter().rev() {
                    let item = self.condition(rule, item, &bound)?;
                    let of = match any {
                        true => [TRUE, result, ERROR, ABSENT],
                        false => [result, FALSE, ERROR, ABSENT],
                    };
                    result = self.branch(item, of)?;
                }
                Ok(result)
            }
            Some(Shape::One(test)) => self.test_of(rule, &test),
        }
    }

    /// True where an expression that a local takes has a value, an error where it raises; `None`: it is not followed.
    pub(super) fn binding(
        &mut self,
        rule: Rule<'a, '_>,
        code: &'a Code,
        bound: &Locals<'a>,
    ) -> Result<Option<Dd>, Stop> {
        match rule.operand(code, bound) {
            None => Ok(None),
            Some(Operand::Const(_)) => Ok(Some(TRUE)),
            Some(Operand::Value(read, derived, held)) => {
                let test = Test {
                    code,
                    read,
                    derived,
                    form: Form::Value,
                    negated: false,
                    bound: rule.kept(code, bound, &held),
                };
                self.test_of(rule, &test).map(Some)
            }
        }
    }

    fn test_of(&mut self, rule: Rule<'a, '_>, test: &Test<'a>) -> Result<Dd, Stop> {
        let place = &test.read.place;
        if let Some(tool) = self.tool.clone()
            && place.field() == Some(Field::Tool)
        {
            return Ok(evaluated(
                rule,
                test,
                &place.keys,
                Some(sample::text(&tool)),
            ));
        }
        let Some(&slot) = self.places.get(place) else {
            return Ok(ABSENT);
        };
        let kinds = self.slots.get(slot).map_or(&[][..], |slot| slot.kinds);
        let mut results = Vec::new();
        for kind in kinds {
            results.push((*kind, self.of_value(rule, test, (slot, *kind))?));
        }
        let mut result = self.by_kind(slot, |kind| {
            let found = results.iter().find(|(known, _)| *known == kind);
            found.map_or(FALSE, |(_, result)| *result)
        })?;
        // What holds it: a mapping with the key, or anything else.
        let mut below = slot;
        while let Some(parent) = self.slots.get(below).and_then(|here| here.parent) {
            let Some(here) = self.slots.get(parent) else {
                break;
            };
            let keys = here.place.keys.clone();
            let bits = here.map;
            let mut runs = vec![(0, result)];
            for (at, map) in (1..).zip(&here.maps) {
                runs.push((at, evaluated(rule, test, &keys, Some(map.clone()))));
            }
            let in_map = self.dd.switch(bits.var, bits.count, &runs)?;
            let of = |value: Option<Json<'static>>| evaluated(rule, test, &keys, value);
            let any = |value: Json<'static>| match test.read.loose {
                true => ABSENT,
                false => of(Some(value)),
            };
            result = self.by_kind(parent, |kind| match kind {
                Kind::Map => in_map,
                Kind::Absent => of(None),
                Kind::Null => of(Some(Json::Null)),
                Kind::True => of(Some(Json::Bool(true))),
                Kind::False => of(Some(Json::Bool(false))),
                Kind::Number => any(Json::Int(1)),
                Kind::Text => any(sample::text("x")),
                Kind::List => any(sample::list(Vec::new())),
                // Neither a text with a lone surrogate nor an integer beyond all has a key.
                Kind::Broken => match [sample::broken(), Json::HugeInt].map(any) {
                    [one, other] if one == other => one,
                    _ => ABSENT,
                },
                Kind::Instant => ABSENT,
            })?;
            below = parent;
        }
        Ok(result)
    }
}
