//! Elements of lists: the values that one element can have, and lists with wanted results.

use std::collections::BTreeMap;

use crate::clause::operand::Check;
use crate::facets::Kind as Parsed;
use crate::json::Json;
use crate::program::Program;

use super::budget::{Budget, Reason, Stop};
use super::connect::Connect;
use super::dd::{ABSENT, Dd, ERROR, FALSE, TRUE};
use super::leaf::Tested;
use super::list_leaf::is_composite;
use super::model::Element;
use super::sample;
use super::slot::Place;
use super::space::{Space, Theory};

/// Tests that an element must all pass.
#[derive(Debug)]
pub(super) struct Predicate<'a> {
    pub(super) checks: Vec<Check>,
    pub(super) program: &'a Program,
    /// True if lists and mappings do not pass, instead of being in error.
    pub(super) scalars: bool,
    name: String,
}

impl<'a> Predicate<'a> {
    pub(super) fn new(checks: Vec<Check>, program: &'a Program, scalars: bool) -> Self {
        Self {
            name: format!("{scalars} {checks:?}"),
            checks,
            program,
            scalars,
        }
    }
}

/// The values of one element, and the predicates of elements of one list.
#[derive(Debug)]
pub(super) struct Elements<'a> {
    pub(super) space: Box<Space<'a>>,
    predicates: Vec<Predicate<'a>>,
    numbers: BTreeMap<String, usize>,
    functions: BTreeMap<usize, Dd>,
}

/// The place of an element.
pub(super) const ELEMENT: Place = Place {
    field: None,
    keys: Vec::new(),
};

impl<'a> Elements<'a> {
    pub(super) fn new(
        (theory, budget): (&Theory, &Budget),
        root: Parsed,
        part: Option<(Parsed, String)>,
    ) -> Self {
        let mut space = Space::new((None, &[]), theory.clone(), budget);
        space.root = root;
        space.part = part;
        space.place(ELEMENT);
        Self {
            space: Box::new(space),
            predicates: Vec::new(),
            numbers: BTreeMap::new(),
            functions: BTreeMap::new(),
        }
    }

    /// Adds a predicate.
    pub(super) fn add(&mut self, predicate: Predicate<'a>) {
        if self.numbers.contains_key(&predicate.name) {
            return;
        }
        for check in &predicate.checks {
            self.space
                .note_check_place(&ELEMENT, check, predicate.program);
        }
        self.numbers
            .insert(predicate.name.clone(), self.predicates.len());
        self.predicates.push(predicate);
    }

    pub(super) fn number(&self, predicate: &Predicate<'_>) -> Option<usize> {
        self.numbers.get(&predicate.name).copied()
    }

    /// Gives the elements their variables. `texts`: only texts are elements.
    pub(super) fn finish(&mut self, texts: bool) {
        self.space.number_slots();
        if texts && let Some(root) = self.space.slots.first_mut() {
            root.kinds = &[super::slot::Kind::Text, super::slot::Kind::Broken];
        }
        for predicate in &self.predicates {
            for check in &predicate.checks {
                self.space.note_check_constants(&ELEMENT, check);
            }
        }
        self.space.finish();
    }

    /// The result of a predicate.
    fn function(&mut self, number: usize) -> Result<Dd, Stop> {
        if let Some(&known) = self.functions.get(&number) {
            return Ok(known);
        }
        let Some(predicate) = self.predicates.get(number) else {
            return Ok(FALSE);
        };
        let mut all = TRUE;
        for (at, check) in predicate.checks.iter().enumerate() {
            let Some(test) = predicate.program.prepare_check(check, self.space.root) else {
                return self.free(number);
            };
            let name = format!("{}/{at}", predicate.name);
            let tested = Tested {
                check,
                test: &test,
                name: name.as_bytes(),
                program: predicate.program,
            };
            let one = self.space.at(0, tested)?;
            all = self.space.dd.connect(Connect::All, all, one)?;
        }
        if predicate.scalars {
            let composite = self
                .space
                .by_kind(0, |kind| if is_composite(kind) { TRUE } else { FALSE })?;
            all = self.space.dd.choose(composite, [FALSE, all, all])?;
        }
        self.functions.insert(number, all);
        Ok(all)
    }

    /// The result of a predicate for an element; `None`: it reads more than the element.
    pub(super) fn result(&self, number: usize, element: &Json<'static>) -> Option<Dd> {
        let predicate = self.predicates.get(number)?;
        let mut all = TRUE;
        for check in &predicate.checks {
            if sample::reads_beside(check).is_some() {
                return None;
            }
            let test = predicate.program.prepare_check(check, self.space.root)?;
            all = match (all, sample::result_of(&test, element)) {
                (FALSE, _) | (_, FALSE) => FALSE,
                (ERROR, _) | (_, ERROR) => ERROR,
                (ABSENT, _) | (_, ABSENT) => ABSENT,
                _ => TRUE,
            };
        }
        Some(all)
    }

    /// The result of a predicate that reads more than the element.
    fn free(&mut self, number: usize) -> Result<Dd, Stop> {
        let reason = Reason::new("ref", "a clause compares elements with another path");
        let name = format!("predicate {number}");
        let results = [FALSE, TRUE, super::dd::ERROR, super::dd::ABSENT];
        let made = self
            .space
            .unknown((name.as_bytes(), 0), &reason, &results)?;
        self.functions.insert(number, made);
        Ok(made)
    }

    /// The elements for which a predicate has a result, or has another one.
    pub(super) fn with(&mut self, number: usize, outcome: Dd, is: bool) -> Result<Dd, Stop> {
        let function = self.function(number)?;
        let id = self.space.dd.operation();
        self.space.dd.map(id, function, &mut |value| {
            if (Dd::terminal(value) == outcome) == is {
                TRUE
            } else {
                FALSE
            }
        })
    }

    /// The elements of both functions.
    pub(super) fn both(&mut self, one: Dd, other: Dd) -> Result<Dd, Stop> {
        self.space.dd.connect(Connect::All, one, other)
    }

    /// An element of a function, and the reasons for which it may not be one; `None`: no value is one.
    pub(super) fn pick(&mut self, of: Dd) -> Result<Option<(Json<'static>, Vec<Reason>)>, Stop> {
        let mut rest = of;
        for _ in 0..self.space.budget.assignments {
            self.space.budget.check()?;
            let wanted = &mut |value| Dd::terminal(value) == TRUE;
            let Some(path) = self.space.dd.path(rest, wanted) else {
                return Ok(None);
            };
            let block = match self.space.element(&path)? {
                Element::Value(value, caveats) => return Ok(Some((value, caveats))),
                Element::Conflict(literals) => literals,
            };
            let cube = self.space.dd.cube(&block)?;
            let outside = self.space.dd.not(cube)?;
            rest = self.both(rest, outside)?;
        }
        Err(Stop::Assignments(self.space.budget.assignments))
    }
}
