//! From an assignment of variables to values: the joint theory of each path, and the values of a request.

use std::collections::BTreeMap;

use crate::json::Json;
use crate::lang::path::Field;

use super::ascending::Together;
use super::budget::{Reason, Stop};
use super::dd::Literal;
use super::facet_leaf::is_parsed;
use super::line::as_i64;
use super::sample;
use super::slot::{Bits, Kind, Place, RUN, Slot};
use super::space::{Atom, Space};

/// Values with an assignment.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// The values of the fields of a request, by field.
    pub(super) fields: BTreeMap<u8, Json<'static>>,
    /// The time, in microseconds.
    pub(super) instant: Option<i64>,
    /// Reasons for which the values may not have what the assignment says.
    pub(super) inexact: Vec<Reason>,
    /// Other values for some paths, which may have what is wanted.
    pub(super) others: Vec<(Place, Vec<Json<'static>>)>,
    /// The same of several paths at once.
    pub(super) together: Vec<Together>,
}

/// The values of an assignment.
pub(super) enum Modelled {
    Values(Model),
    /// Literals that no request has together.
    Conflict(Vec<Literal>),
}

/// The value of one element.
pub(super) enum Element {
    /// A value, and the reasons for which it may not be one.
    Value(Json<'static>, Vec<Reason>),
    /// Literals that no element has together.
    Conflict(Vec<Literal>),
}

/// An assignment under way.
pub(super) struct Assignment<'p> {
    pub(super) literals: &'p [Literal],
    values: BTreeMap<u32, bool>,
}

impl Assignment<'_> {
    pub(super) fn value(&self, var: u32) -> Option<bool> {
        self.values.get(&var).copied()
    }

    pub(super) fn code(&self, bits: Bits, codes: usize) -> usize {
        bits.code(&|var| self.value(var), codes)
    }

    pub(super) fn is_set(&self, bits: Bits) -> bool {
        (bits.var..bits.var + bits.count).any(|var| self.values.contains_key(&var))
    }

    /// The literals of some variables.
    pub(super) fn of(&self, is_of: impl Fn(u32) -> bool) -> impl Iterator<Item = Literal> {
        let literals = self.literals.iter().copied();
        literals.filter(move |(var, _)| is_of(*var))
    }
}

pub(super) type Valued = Result<Option<Json<'static>>, Failed>;

pub(super) enum Failed {
    Conflict(Vec<Literal>),
    Stop(Stop),
}

impl From<Stop> for Failed {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl Space<'_> {
    /// The values of an assignment, which is a path of a diagram.
    pub(super) fn model(&mut self, literals: &[Literal]) -> Result<Modelled, Stop> {
        let assignment = Assignment {
            literals,
            values: literals.iter().copied().collect(),
        };
        let mut model = Model::default();
        self.caveats.clear();
        self.others.clear();
        for slot in 0..self.slots.len() {
            let Some(here) = self.slots.get(slot) else {
                continue;
            };
            if here.parent.is_some() {
                continue;
            }
            if is_parsed(&here.place) {
                // What no parts have together, no text has.
                match self.value(slot, &assignment) {
                    Ok(_) => continue,
                    Err(Failed::Conflict(literals)) => return Ok(Modelled::Conflict(literals)),
                    Err(Failed::Stop(stop)) => return Err(stop),
                }
            }
            let Some(field) = here.place.field else {
                continue;
            };
            if field == RUN {
                if self.is_touched(slot, &assignment) {
                    model.inexact.push(Reason::memory(here.place.text()));
                }
                continue;
            }
            let instant = here.kinds == [Kind::Instant];
            let cell = assignment.code(here.number, here.numbers.cells.len());
            if instant {
                let set = assignment.is_set(here.number);
                let cell = here.numbers.cells.get(cell).and_then(as_i64);
                model.instant = cell.filter(|_| set);
                continue;
            }
            match self.value(slot, &assignment) {
                Ok(Some(value)) => {
                    model.fields.insert(field, value);
                }
                Ok(None) => {}
                Err(Failed::Conflict(literals)) => return Ok(Modelled::Conflict(literals)),
                Err(Failed::Stop(stop)) => return Err(stop),
            }
        }
        let conflict = self.pair_conflict(&assignment);
        if let Some(literals) = conflict.or_else(|| self.order_conflict(&assignment)) {
            return Ok(Modelled::Conflict(literals));
        }
        for (var, _) in literals {
            if let Some(Atom::Free(reason)) = self.meaning(*var) {
                model.inexact.push(reason.clone());
            }
        }
        self.pair_others(&model.fields);
        model.others = std::mem::take(&mut self.others);
        model.together = self.ascending(&assignment);
        model.inexact.append(&mut self.caveats);
        model.inexact.sort();
        model.inexact.dedup();
        Ok(Modelled::Values(model))
    }

    /// The value of an element with an assignment.
    pub(super) fn element(&mut self, literals: &[Literal]) -> Result<Element, Stop> {
        let assignment = Assignment {
            literals,
            values: literals.iter().copied().collect(),
        };
        self.caveats.clear();
        let value = match self.value(0, &assignment) {
            Ok(value) => value.unwrap_or(Json::Null),
            Err(Failed::Conflict(literals)) => return Ok(Element::Conflict(literals)),
            Err(Failed::Stop(stop)) => return Err(stop),
        };
        for slot in 0..self.slots.len() {
            let is_parsed = self
                .slots
                .get(slot)
                .is_some_and(|slot| is_parsed(&slot.place));
            match is_parsed.then(|| self.value(slot, &assignment)) {
                None | Some(Ok(_)) => {}
                Some(Err(Failed::Conflict(literals))) => return Ok(Element::Conflict(literals)),
                Some(Err(Failed::Stop(stop))) => return Err(stop),
            }
        }
        let mut caveats = std::mem::take(&mut self.caveats);
        for (var, _) in literals {
            if let Some(Atom::Free(reason)) = self.meaning(*var) {
                caveats.push(reason.clone());
            }
        }
        Ok(Element::Value(value, caveats))
    }

    /// The value of a slot; `None`: it is absent, or has its default.
    pub(super) fn value(&mut self, slot: usize, assignment: &Assignment<'_>) -> Valued {
        let Some(here) = self.slots.get(slot) else {
            return Ok(None);
        };
        let kind = here.kinds.get(assignment.code(here.kind, here.kinds.len()));
        let kind = kind.copied().unwrap_or(Kind::Absent);
        let touched = self.is_touched(slot, assignment);
        if !touched && !matches!(here.place.field(), None | Some(Field::Tool)) {
            return Ok(None);
        }
        match kind {
            Kind::Absent | Kind::Instant => Ok(None),
            Kind::True => Ok(Some(Json::Bool(true))),
            Kind::False => Ok(Some(Json::Bool(false))),
            Kind::Null => Ok(Some(Json::Null)),
            Kind::Broken => Ok(Some(sample::broken())),
            Kind::Number => {
                let cell = assignment.code(here.number, here.numbers.cells.len());
                Ok(here.numbers.cells.get(cell).map(sample::json_number))
            }
            Kind::Text => self.text_value(slot, assignment),
            Kind::List => self.list_value(slot, assignment),
            Kind::Map => self.map_value(slot, assignment),
        }
    }

    /// Returns true if the assignment has a literal of a slot, or of one below.
    pub(super) fn is_touched(&self, slot: usize, assignment: &Assignment<'_>) -> bool {
        let own = |slot: &Slot| {
            [
                slot.kind,
                slot.map,
                slot.list,
                slot.text,
                slot.number,
                slot.count,
            ]
            .iter()
            .any(|bits| assignment.is_set(*bits))
        };
        let of_atoms = assignment
            .values
            .keys()
            .any(|var| match self.meaning(*var) {
                Some(Atom::Text(of, _) | Atom::Element { slot: of, .. }) => *of == slot,
                _ => false,
            });
        of_atoms
            || self.slots.get(slot).is_some_and(own)
            || self
                .children(slot)
                .iter()
                .any(|child| self.is_touched(*child, assignment))
    }

    pub(super) fn children(&self, slot: usize) -> Vec<usize> {
        let all = self.slots.iter().enumerate();
        let own = all.filter(|(_, child)| child.parent == Some(slot));
        own.map(|(at, _)| at).collect()
    }

    /// The literals that make a slot have its type, and its value none of the constants.
    fn ground(&self, slot: usize, assignment: &Assignment<'_>) -> Vec<Literal> {
        let mut literals = Vec::new();
        let mut next = Some(slot);
        while let Some(here) = next.and_then(|slot| self.slots.get(slot)) {
            let above = next != Some(slot);
            literals.extend(assignment.of(|var| {
                here.kind.has(var)
                    || (above && here.map.has(var))
                    || (!above
                        && [here.text, here.list, here.map]
                            .iter()
                            .any(|bits| bits.has(var)))
            }));
            next = here.parent;
        }
        literals
    }

    pub(super) fn conflict(
        &self,
        slot: usize,
        assignment: &Assignment<'_>,
        more: impl IntoIterator<Item = Literal>,
    ) -> Failed {
        let mut literals = self.ground(slot, assignment);
        literals.extend(more);
        literals.sort_unstable();
        literals.dedup();
        Failed::Conflict(literals)
    }
}
