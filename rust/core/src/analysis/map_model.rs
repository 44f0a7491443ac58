//! Mappings with wanted keys and sizes.

use crate::json::Json;
use crate::json::value::JsonValue;
use crate::lang::path::Key;
use crate::value::{Step, Value as _};

use super::budget::Reason;
use super::dd::Literal;
use super::line::as_i64;
use super::model::{Assignment, Valued};
use super::sample;
use super::slot::Bits;
use super::space::Space;

impl Space<'_> {
    /// The value of a mapping.
    pub(super) fn map_value(&mut self, slot: usize, assignment: &Assignment<'_>) -> Valued {
        let Some(here) = self.slots.get(slot) else {
            return Ok(None);
        };
        let code = assignment.code(here.map, here.maps.len() + 1);
        if let Some(constant) = code.checked_sub(1).and_then(|at| here.maps.get(at)) {
            return Ok(Some(constant.clone()));
        }
        self.check_decided(slot, assignment)?;
        self.check_address(slot, assignment)?;
        let (count_bits, set) = (here.count, assignment.is_set(here.count));
        let cell = assignment.code(here.count, here.counts.cells.len());
        let least = here.counts.cells.get(cell).and_then(as_i64).unwrap_or(0);
        let most = here.counts.last_of(cell);
        let maps = here.maps.clone();
        let mut entries = Vec::new();
        let mut present = Vec::new();
        for child in self.children(slot) {
            if let Some(value) = self.value(child, assignment)? {
                let key = self
                    .slots
                    .get(child)
                    .and_then(|slot| slot.place.keys.last());
                entries.push((key.map(ToString::to_string).unwrap_or_default(), value));
                present.push(child);
            }
        }
        let known: Vec<String> = self
            .children(slot)
            .iter()
            .filter_map(|child| self.slots.get(*child)?.place.keys.last())
            .map(ToString::to_string)
            .collect();
        let mut junk = (0..)
            .map(|at| format!("k{at}"))
            .filter(|key| !known.contains(key));
        if set {
            if most.is_some_and(|most| (entries.len() as i64) > most) {
                let kinds: Vec<Bits> = present
                    .iter()
                    .filter_map(|child| self.slots.get(*child).map(|slot| slot.kind))
                    .collect();
                let literals: Vec<Literal> = assignment
                    .of(|var| count_bits.has(var) || kinds.iter().any(|bits| bits.has(var)))
                    .collect();
                return Err(self.conflict(slot, assignment, literals));
            }
            while (entries.len() as i64) < least {
                entries.push((junk.next().unwrap_or_default(), Json::Bool(true)));
            }
        }
        let mut made = sample::mapping(entries.clone());
        if maps.iter().any(|map| same(map, &made)) {
            let may_grow = !set || most.is_none_or(|most| (entries.len() as i64) < most);
            if may_grow {
                entries.push((junk.next().unwrap_or_default(), Json::Bool(true)));
                made = sample::mapping(entries);
            } else {
                // Another mapping may have other values; which ones, only the constants of its keys would tell.
                let message = "a mapping must differ from one that a clause compares with";
                self.caveats.push(Reason::new("list", message));
            }
        }
        Ok(Some(made))
    }
}

/// Returns true for equal values, whatever the order of keys.
fn same(left: &Json<'static>, right: &Json<'static>) -> bool {
    match (left, right) {
        (Json::Map(one), Json::Map(other)) => {
            one.entries().len() == other.entries().len()
                && one.entries().iter().all(|(key, value)| {
                    let key = Key::unprepared(key.as_str().unwrap_or_default());
                    match JsonValue::Json(right.clone()).get(key) {
                        Step::Found(JsonValue::Json(there)) => same(value, &there),
                        _ => false,
                    }
                })
        }
        _ => left == right,
    }
}
