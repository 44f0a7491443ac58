//! The paths and constants of clauses, noted before any function is made of them.

use crate::clause::flat_expr::{Part, expression};
use crate::clause::operand::{Check, Operand};
use crate::facets::Kind as Parsed;
use crate::ir::memory::Definition;
use crate::program::Program;
use crate::value::constant::Const;

use super::elements::Elements;
use super::facet_leaf::{converted, kinds_of, normal, of_facet, parsed, type_of};
use super::list_leaf::predicates;
use super::policy::tools_of;
use super::sample;
use super::slot::{Kind, Place, RUN};
use super::space::{Space, clause_of};

impl<'a> Space<'a> {
    /// Notes the paths of a clause; then its constants, when all slots are numbered.
    pub(super) fn note_place(&mut self, program: &'a Program, clause: u32) {
        if let Some((place, check)) = clause_of(program, clause) {
            if place.field == Some(RUN) && never_fails(program, &place) {
                self.never_failing.insert(place.clone());
            }
            self.note_check_place(&place, &check, program);
        }
    }

    pub(super) fn note_check_place(&mut self, place: &Place, check: &Check, program: &'a Program) {
        self.place(place.clone());
        self.note_pairs(place, check);
        match (check.op.name, &check.operand) {
            ("any_of" | "all_of" | "not", Operand::Tests(checks)) => {
                for check in checks {
                    self.note_check_place(place, check, program);
                }
            }
            ("part", Operand::Part(keys, checks)) => {
                for check in checks {
                    self.note_check_place(&place.below(keys), check, program);
                }
            }
            _ => {}
        }
        let kinds = kinds_of(place, self.root);
        if let Some((facet, checks)) = of_facet(check).filter(|_| kinds.contains(&Kind::Text)) {
            let parsed = parsed(place, facet);
            self.place(parsed.clone());
            self.place(normal(&parsed));
            for check in checks {
                self.note_check_place(&parsed, check, program);
            }
        }
        if kinds.contains(&Kind::Map) {
            for key in keys_of(check) {
                self.place(place.below(&[key.into()]));
            }
        }
        if kinds.contains(&Kind::List) {
            let owner = self.owner(place);
            let around = (&self.theory, &self.budget);
            for predicate in predicates(check, program) {
                let root = type_of(place, self.root)
                    .element()
                    .unwrap_or(Parsed::Element);
                let of = self.elements.entry(place.clone());
                of.or_insert_with(|| Elements::new(around, root, owner.clone()))
                    .add(predicate);
            }
        }
    }

    pub(super) fn note_constants(&mut self, program: &Program, clause: u32) {
        if let Some((place, check)) = clause_of(program, clause) {
            self.note_check_constants(&place, &check);
        }
    }

    pub(super) fn note_check_constants(&mut self, place: &Place, check: &Check) {
        match (check.op.name, &check.operand) {
            ("any_of" | "all_of" | "not", Operand::Tests(checks)) => {
                for check in checks {
                    self.note_check_constants(place, check);
                }
            }
            ("part", Operand::Part(keys, checks)) => {
                for check in checks {
                    self.note_check_constants(&place.below(keys), check);
                }
            }
            _ => {
                if let Some((facet, checks)) = of_facet(check) {
                    let parsed = parsed(place, facet);
                    for check in checks {
                        self.note_check_constants(&parsed, check);
                        let own = converted(type_of(&parsed, self.root), check);
                        for check in own.into_iter().flatten() {
                            self.note_check_constants(&normal(&parsed), &check);
                        }
                    }
                }
                if let Some(&slot) = self.places.get(place)
                    && let Some(slot) = self.slots.get_mut(slot)
                {
                    slot.note(check);
                }
            }
        }
    }
}

/// Returns true for a count of all calls of some tools in the run, which is a number in every state.
fn never_fails(program: &Program, place: &Place) -> bool {
    let definition = program.memory().and_then(|memory| {
        let name = place.keys.first()?;
        let at = memory.names.iter().position(|known| known == name)?;
        memory.items.get(at)
    });
    let Some(Definition::Measure(measure)) = definition else {
        return false;
    };
    let (from, to) = measure.of;
    let words = program.words.get(from as usize..to as usize);
    let by_tool = matches!(words.map(expression), Some(Part::Leaf(clause)) if tools_of(program, clause).is_some());
    by_tool && measure.field.is_none() && measure.within.is_none() && measure.by.is_none()
}

/// The keys that `contains` looks for in a mapping.
fn keys_of(check: &Check) -> Vec<String> {
    let mut keys = Vec::new();
    if matches!(check.op.name, "contains" | "contains_any" | "contains_all") {
        sample::scalars(&check.operand, &mut |constant| {
            if let Const::Str(key) = constant {
                keys.push(key.to_string());
            }
        });
    }
    keys
}
