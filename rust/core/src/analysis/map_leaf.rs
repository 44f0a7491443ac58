//! Checks of mappings: their keys, and what these lead to.

use crate::clause::operand::{Check, Operand};
use crate::json::Json;
use crate::value::constant::Const;

use super::budget::Stop;
use super::connect::Connect;
use super::dd::{Dd, ERROR, FALSE, TRUE};
use super::leaf::{Tested, is_whole};
use super::sample;
use super::slot::Kind;
use super::space::Space;

impl<'a> Space<'a> {
    /// The result of a check of a mapping.
    pub(super) fn of_map(&mut self, slot: usize, tested: Tested<'a, '_>) -> Result<Dd, Stop> {
        let name = tested.check.op.name;
        let other = match name {
            "eq" if is_whole(tested.check) => self.or_error(slot, tested, FALSE)?,
            "length" => self.of_length(slot, tested)?,
            "empty" => self.of_count(slot, tested.check, |count| {
                let value = match count {
                    0 => Vec::new(),
                    _ => vec![("k".to_owned(), Json::Null)],
                };
                sample::result_of(tested.test, &sample::mapping(value))
            })?,
            "contains" | "contains_any" | "contains_all" => self.keys(slot, tested)?,
            _ => sample::result_of(tested.test, &sample::mapping(Vec::new())),
        };
        let (maps, bits) = match self.slots.get(slot) {
            Some(here) => (here.maps.clone(), here.map),
            None => return Ok(FALSE),
        };
        let mut runs = vec![(0, other)];
        runs.extend((1..).zip(maps.iter().map(|map| sample::result_of(tested.test, map))));
        self.dd.switch(bits.var, bits.count, &runs)
    }

    /// Checks of what a key of an element leads to.
    pub(super) fn part(
        &mut self,
        slot: usize,
        tested: Tested<'a, '_>,
        (keys, checks): (&[Box<str>], &[Check]),
    ) -> Result<Dd, Stop> {
        let Some(place) = self.slots.get(slot).map(|slot| slot.place.below(keys)) else {
            return Ok(FALSE);
        };
        let Some(&child) = self.places.get(&place) else {
            return Err(Stop::Internal(format!("no slot of {}", place.text())));
        };
        let mut result = TRUE;
        for (at, check) in checks.iter().enumerate() {
            let Some(test) = tested.program.prepare_check(check, self.type_at(child)) else {
                return self.beside(tested, "ref");
            };
            let name = [tested.name, b"/", at.to_string().as_bytes()].concat();
            let inner = Tested {
                check,
                test: &test,
                name: &name,
                program: tested.program,
            };
            let found = self.at(child, inner)?;
            result = self.dd.connect(Connect::All, result, found)?;
        }
        let broken = self.by_kind(slot, |kind| match kind {
            Kind::Broken => TRUE,
            _ => FALSE,
        })?;
        self.dd.choose(broken, [ERROR, result, result])
    }

    /// `contains` of a mapping: its keys.
    fn keys(&mut self, slot: usize, tested: Tested<'a, '_>) -> Result<Dd, Stop> {
        let (by, mut result) = match tested.check.op.name {
            "contains_all" => (Connect::All, TRUE),
            _ => (Connect::Any, FALSE),
        };
        let Operand::Const(operand) = &tested.check.operand else {
            return Ok(ERROR);
        };
        let items = match operand {
            Const::List(items) => items.as_slice(),
            single => std::slice::from_ref(single),
        };
        for item in items {
            let found = match item {
                Const::Str(key) => self.key(slot, key)?,
                _ => ERROR,
            };
            result = self.dd.connect(by, result, found)?;
        }
        Ok(result)
    }

    /// True where the mapping of a slot has a key.
    fn key(&mut self, slot: usize, key: &str) -> Result<Dd, Stop> {
        let Some(here) = self.slots.get(slot) else {
            return Ok(FALSE);
        };
        let place = here.place.below(&[key.into()]);
        let Some(&child) = self.places.get(&place) else {
            return Err(Stop::Internal(format!("no slot of {}", place.text())));
        };
        self.by_kind(child, |kind| match kind {
            Kind::Absent => FALSE,
            _ => TRUE,
        })
    }
}
