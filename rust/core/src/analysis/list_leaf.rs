//! Checks of lists: which results occur among the elements, a variable each.

use crate::clause::operand::{Check, Operand};
use crate::clause::ops::Operator;
use crate::json::Json;
use crate::program::Program;
use crate::value::constant::Const;

use super::budget::{Reason, Stop};
use super::connect::Connect;
use super::dd::{ABSENT, Dd, ERROR, FALSE, TRUE};
use super::elements::Predicate;
use super::leaf::{Tested, is_whole};
use super::sample;
use super::slot::{Kind, Place};
use super::space::{Atom, Space};

/// The predicates of elements that a check has.
pub(super) fn predicates<'a>(check: &Check, program: &'a Program) -> Vec<Predicate<'a>> {
    let single = |name: &str, operand: Const, scalars: bool| {
        let op = Operator::from_name(name)?;
        let check = Check {
            op,
            operand: Operand::Const(operand),
            dialect: None,
        };
        Some(Predicate::new(vec![check], program, scalars))
    };
    match (check.op.name, &check.operand) {
        ("any" | "all" | "none" | "first", Operand::Tests(checks)) => {
            vec![Predicate::new(checks.clone(), program, false)]
        }
        ("subset_of", Operand::Const(operand)) => {
            single("in", operand.clone(), false).into_iter().collect()
        }
        ("contains" | "contains_any" | "contains_all", Operand::Const(operand)) => {
            let items = match operand {
                Const::List(items) => items.as_slice(),
                single => std::slice::from_ref(single),
            };
            let items = items.iter().cloned();
            items.filter_map(|item| single("eq", item, true)).collect()
        }
        _ => Vec::new(),
    }
}

impl<'a> Space<'a> {
    /// The result of a check of a list.
    pub(super) fn of_list(&mut self, slot: usize, tested: Tested<'a, '_>) -> Result<Dd, Stop> {
        let name = tested.check.op.name;
        let other = match name {
            "eq" if is_whole(tested.check) => self.or_error(slot, tested, FALSE)?,
            "length" => self.of_length(slot, tested)?,
            "empty" => self.of_count(slot, tested.check, |count| {
                let items = if count == 0 {
                    Vec::new()
                } else {
                    vec![Json::Null]
                };
                sample::result_of(tested.test, &sample::list(items))
            })?,
            "contains" | "contains_any" | "contains_all" | "any" | "all" | "none" | "first"
            | "subset_of" => self.of_elements(slot, tested)?,
            _ => sample::result_of(tested.test, &sample::list(Vec::new())),
        };
        let (lists, bits) = match self.slots.get(slot) {
            Some(here) => (here.lists.clone(), here.list),
            None => return Ok(FALSE),
        };
        let mut runs = vec![(0, other)];
        for (at, list) in (1..).zip(&lists) {
            let list = crate::json::value::JsonValue::Json(list.clone());
            runs.push((at, self.concrete(tested, list)?));
        }
        self.dd.switch(bits.var, bits.count, &runs)
    }

    fn of_elements(&mut self, slot: usize, tested: Tested<'a, '_>) -> Result<Dd, Stop> {
        let Some(place) = self.slots.get(slot).map(|slot| slot.place.clone()) else {
            return Ok(FALSE);
        };
        let name = tested.check.op.name;
        let mut numbers = Vec::new();
        for predicate in predicates(tested.check, tested.program) {
            match self
                .elements
                .get(&place)
                .and_then(|of| of.number(&predicate))
            {
                Some(number) => numbers.push(number),
                None => {
                    let message = format!("no elements of {}", place.text());
                    return Err(Stop::Internal(message));
                }
            }
        }
        let by = match name {
            "contains_all" => Connect::All,
            _ => Connect::Any,
        };
        if let "contains" | "contains_any" | "contains_all" = name {
            let mut result = match by {
                Connect::All => TRUE,
                Connect::Any => FALSE,
            };
            for number in numbers {
                let found = self.has_element((slot, &place), number, tested)?;
                result = self.dd.connect(by, result, found)?;
            }
            return Ok(result);
        }
        let Some(&number) = numbers.first() else {
            return Ok(ERROR);
        };
        match name {
            "first" => {
                let order = [TRUE, ERROR, ABSENT];
                let found = self.occurs((slot, &place), (number, true), order, FALSE)?;
                self.of_count_cells(slot, |count| if count == 0 { FALSE } else { found })
            }
            "all" | "subset_of" => {
                let order = [FALSE, ERROR, ABSENT];
                self.occurs((slot, &place), (number, false), order, TRUE)
            }
            _ => {
                let order = [TRUE, ERROR, ABSENT];
                let any = self.occurs((slot, &place), (number, false), order, FALSE)?;
                if name == "none" {
                    self.dd.not(any)
                } else {
                    Ok(any)
                }
            }
        }
    }

    /// The first of these results that some element has, else `rest`.
    fn occurs(
        &mut self,
        (slot, place): (usize, &Place),
        (number, first): (usize, bool),
        order: [Dd; 3],
        rest: Dd,
    ) -> Result<Dd, Stop> {
        let mut result = rest;
        for outcome in order.into_iter().rev() {
            let var = self.element_atom((slot, place), (number, outcome, first));
            let found = self.dd.node(var, FALSE, TRUE)?;
            result = self.dd.choose(found, [outcome, result, result])?;
        }
        Ok(result)
    }

    /// True where a list holds a scalar: an element before it that cannot be evaluated makes it an error.
    fn has_element(
        &mut self,
        (slot, place): (usize, &Place),
        number: usize,
        tested: Tested<'a, '_>,
    ) -> Result<Dd, Stop> {
        let [hit, broken] =
            [TRUE, ERROR].map(|outcome| self.element_atom((slot, place), (number, outcome, false)));
        let hit = self.dd.node(hit, FALSE, TRUE)?;
        let broken = self.dd.node(broken, FALSE, TRUE)?;
        let reason = Reason {
            path: Some(place.text()),
            ..Reason::new("list", "an element that cannot be evaluated may come first")
        };
        let either = self.unknown((tested.name, 16 + number), &reason, &[TRUE, ERROR])?;
        let with = self.dd.choose(broken, [either, TRUE, TRUE])?;
        let without = self.dd.choose(broken, [ERROR, FALSE, FALSE])?;
        self.dd.choose(hit, [with, without, without])
    }

    /// The variable of: some element has this result.
    fn element_atom(
        &mut self,
        (slot, place): (usize, &Place),
        (number, outcome, first): (usize, Dd, bool),
    ) -> u32 {
        let key = (place.clone(), number, outcome, first);
        if let Some(&var) = self.element_atoms.get(&key) {
            return var;
        }
        let var = self.atom(Atom::Element {
            slot,
            number,
            outcome,
            first,
        });
        self.element_atoms.insert(key, var);
        var
    }

    /// The function of the lengths of the lists of a slot.
    fn of_count_cells(&mut self, slot: usize, result: impl Fn(i64) -> Dd) -> Result<Dd, Stop> {
        let Some(here) = self.slots.get(slot) else {
            return Ok(FALSE);
        };
        let runs: Vec<(u32, Dd)> = (0..)
            .zip(&here.counts.cells)
            .map(|(at, cell)| (at, result(super::line::as_i64(cell).unwrap_or(1))))
            .collect();
        let bits = here.count;
        self.dd.switch(bits.var, bits.count, &runs)
    }
}

/// Returns true for the type of lists and mappings.
pub(super) fn is_composite(kind: Kind) -> bool {
    matches!(kind, Kind::List | Kind::Map)
}
