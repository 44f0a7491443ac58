//! Clauses that compare two paths: values of one for the other, and constants that settle the comparison.

use std::collections::{BTreeMap, BTreeSet};

use crate::clause::operand::{Check, Operand};
use crate::json::Json;
use crate::json::value::JsonValue;
use crate::lang::path::{Field, Key};
use crate::value::{Step, Value as _};

use super::dd::Literal;
use super::facet_leaf::{is_derived, kinds_of};
use super::model::Assignment;
use super::sample;
use super::shape::codes;
use super::slot::{Kind, Place};
use super::space::Space;

/// The variables of a clause that is equality: it is false, and if it is not, it is no truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Compared {
    unequal: Option<u32>,
    equal: Option<u32>,
}

impl Space<'_> {
    /// Notes the paths that a check at a place compares with.
    pub(super) fn note_pairs(&mut self, own: &Place, check: &Check) {
        if own.field.is_none() || is_derived(own) {
            return;
        }
        for other in referred(check) {
            self.pairs.entry((own.clone(), other)).or_default();
        }
    }

    /// Notes the variables of a check that is equality with another path.
    pub(super) fn note_equality(&mut self, slot: usize, check: &Check, name: &[u8]) {
        if check.op.name != "eq" || !matches!(check.operand, Operand::Ref(..)) {
            return;
        }
        let var = |at| self.free.get(&(name.to_vec(), at)).copied();
        let compared = Compared {
            unequal: var(0),
            equal: var(1),
        };
        let own = self.slots.get(slot).map(|slot| slot.place.clone());
        for (own, other) in own.into_iter().zip(referred(check)) {
            if let Some(known) = self.pairs.get_mut(&(own, other))
                && !known.contains(&compared)
            {
                known.push(compared);
            }
        }
    }

    /// Literals with which two paths have texts, and compare otherwise.
    pub(super) fn pair_conflict(&self, assignment: &Assignment<'_>) -> Option<Vec<Literal>> {
        for ((own, other), all) in &self.pairs {
            for compared in all {
                let value = |var: Option<u32>| var.and_then(|var| assignment.value(var));
                let wanted = (value(compared.unequal), value(compared.equal));
                if wanted.0.is_none() || wanted == (Some(true), None) {
                    continue;
                }
                let Some((one, literals)) = self.constants(own, assignment) else {
                    continue;
                };
                let Some((two, more)) = self.constants(other, assignment) else {
                    continue;
                };
                let refuted = match (wanted, one, two) {
                    ((Some(true), Some(false)), Some(one), Some(two)) => one.is_disjoint(&two),
                    ((Some(false), _), Some(one), Some(two)) => one.len() == 1 && one == two,
                    // Texts are equal or not: there is no error.
                    ((Some(true), Some(true)), ..) => true,
                    _ => false,
                };
                if refuted {
                    let own = [compared.unequal, compared.equal];
                    let own = assignment.of(|var| own.contains(&Some(var)));
                    let mut all: Vec<Literal> = own.chain(literals).chain(more).collect();
                    all.sort_unstable();
                    all.dedup();
                    return Some(all);
                }
            }
        }
        None
    }

    /// The texts that an assignment leaves to a path, if all of them are constants, and the literals that leave these;
    /// `None`: it leaves other values than texts.
    pub(super) fn constants(
        &self,
        place: &Place,
        assignment: &Assignment<'_>,
    ) -> Option<(Option<BTreeSet<String>>, Vec<Literal>)> {
        let here = self.slots.get(*self.places.get(place)?)?;
        let mut literals = self.certain(place, Kind::Text, assignment)?;
        literals.extend(assignment.of(|var| here.text.has(var)));
        let left = codes(here.text, here.cells.len(), assignment);
        let texts: Option<BTreeSet<String>> = left
            .into_iter()
            .map(|code| here.text_at(code).cloned())
            .collect();
        Some((texts, literals))
    }

    /// The literals by which the value of a path has a type; `None`: it can have another one.
    pub(super) fn certain(
        &self,
        place: &Place,
        kind: Kind,
        assignment: &Assignment<'_>,
    ) -> Option<Vec<Literal>> {
        let here = self.slots.get(*self.places.get(place)?)?;
        let kinds = codes(here.kind, here.kinds.len(), assignment);
        if !kinds
            .iter()
            .all(|code| here.kinds.get(*code) == Some(&kind))
        {
            return None;
        }
        let mut literals: Vec<Literal> = assignment.of(|var| here.kind.has(var)).collect();
        let mut above = here.parent;
        while let Some(parent) = above.and_then(|slot| self.slots.get(slot)) {
            let map = assignment.of(|var| parent.kind.has(var) || parent.map.has(var));
            literals.extend(map);
            let is_map = |code: &usize| parent.kinds.get(*code) == Some(&Kind::Map);
            let is_other = |code: &usize| *code == 0;
            let kinds = codes(parent.kind, parent.kinds.len(), assignment);
            let maps = codes(parent.map, parent.maps.len() + 1, assignment);
            if !kinds.iter().all(is_map) || !maps.iter().all(is_other) {
                return None;
            }
            above = parent.parent;
        }
        Some(literals)
    }

    /// Notes the value of each path of a pair, and some near it, for the other one.
    pub(super) fn pair_others(&mut self, fields: &BTreeMap<u8, Json<'static>>) {
        let pairs: Vec<(Place, Place)> = self.pairs.keys().cloned().collect();
        for (own, other) in pairs {
            let found = [&own, &other].map(|place| value_at(fields, place));
            for (value, to) in [(&found[0], &other), (&found[1], &own)] {
                if let Some(value) = value {
                    let mut beside = near(value);
                    beside.retain(|value| can_have(to, value));
                    self.others.push((to.clone(), beside));
                }
            }
        }
    }
}

/// The paths that a check compares with.
pub(super) fn referred(check: &Check) -> Vec<Place> {
    let mut others = Vec::new();
    let _ = check.operand.each_ref(&mut |head, keys| {
        if let Some((field, taken)) = Field::resolve(head, keys) {
            others.push(Place::new(field, keys.get(taken..).unwrap_or_default()));
        }
        Ok::<(), std::convert::Infallible>(())
    });
    others
}

/// A value, and others that compare with it in other ways.
fn near(value: &Json<'static>) -> Vec<Json<'static>> {
    let mut made = vec![value.clone()];
    match value {
        Json::Text(text) => {
            let text = text.as_str().unwrap_or_default();
            made.extend([sample::text(&format!("{text}x")), sample::text("")]);
        }
        Json::Int(number) => {
            made.extend(
                [number.checked_add(1), number.checked_sub(1)]
                    .into_iter()
                    .flatten()
                    .map(Json::Int),
            );
        }
        Json::List(items) => made.extend(items.first().cloned()),
        _ => {}
    }
    made.push(sample::list(vec![value.clone()]));
    made.push(sample::list(Vec::new()));
    made
}

/// Returns true if a request can have a value at a place.
pub(super) fn can_have(place: &Place, value: &Json<'static>) -> bool {
    let kind = sample::kind_of(&JsonValue::Json(value.clone()));
    let kinds = kinds_of(place, crate::facets::Kind::Plain);
    let fits = match place.field() {
        None | Some(Field::Tool) => false,
        // Integers from zero on.
        Some(Field::StepSeq | Field::BlastRadiusHint) => {
            matches!(value, Json::Null | Json::Int(0..))
        }
        Some(_) => true,
    };
    fits && kinds.contains(&kind)
}

/// The value that fields have at a place.
fn value_at(fields: &BTreeMap<u8, Json<'static>>, place: &Place) -> Option<Json<'static>> {
    let mut step = Step::Found(JsonValue::Json(fields.get(&place.field?)?.clone()));
    for key in &place.keys {
        match step {
            Step::Found(value) => step = value.get(Key::unprepared(key)),
            Step::Absent | Step::Unreadable => return None,
        }
    }
    match step {
        Step::Found(JsonValue::Json(value)) => Some(value),
        _ => None,
    }
}
