//! The requests of one tool as assignments of boolean variables, and what each variable means.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use crate::clause::operand::{Check, Operand};
use crate::facets::Kind as Parsed;
use crate::json::Json;
use crate::lang::path::{Field, Head};
use crate::program::Program;

use super::addresses::Sample;
use super::budget::{Budget, Reason, Stop};
use super::dd::{Dd, Diagrams};
use super::elements::Elements;
use super::facet_leaf::kinds_of;
use super::order::Ordered;
use super::pair::Compared;
use super::search::Lemmas;
use super::slot::{Kind, Place, RUN, Slot};
use super::theory::{Solved, TextId, TextTest, Texts};

/// The meaning of a variable that is no part of a number.
#[derive(Debug)]
pub(super) enum Atom {
    /// A text that is not a constant of its slot passes a test.
    Text(usize, TextId),
    /// Some element of the lists of a slot has this result of a predicate; `first`: the first one.
    Element {
        slot: usize,
        number: usize,
        outcome: Dd,
        first: bool,
    },
    /// Only the evaluator knows.
    Free(Reason),
}

/// The theory of texts, which all spaces of an analysis share.
#[derive(Clone, Debug)]
pub(super) struct Theory(Arc<Mutex<Texts>>);

impl Theory {
    pub(super) fn new(texts: Texts) -> Self {
        Self(Arc::new(Mutex::new(texts)))
    }

    fn with<T>(&self, ask: impl FnOnce(&mut Texts) -> T) -> Result<T, Stop> {
        match self.0.lock() {
            Ok(mut texts) => Ok(ask(&mut texts)),
            Err(_) => Err(Stop::Internal("the theory of texts is lost".to_owned())),
        }
    }

    pub(super) fn set_budget(&self, budget: &Budget) -> Result<(), Stop> {
        self.with(|texts| texts.set_budget(budget.theory()))
    }

    pub(super) fn add(&self, test: TextTest) -> Result<TextId, Stop> {
        Ok(self.with(|texts| texts.add(test))??)
    }

    pub(super) fn accepts(&self, id: TextId, text: &str) -> Result<bool, Stop> {
        Ok(self.with(|texts| texts.accepts(id, text))??)
    }

    pub(super) fn solve(
        &self,
        wanted: &[(TextId, bool)],
        excluded: &[&str],
    ) -> Result<Solved<String, usize>, Stop> {
        self.with(|texts| texts.solve(wanted, excluded))
    }
}

/// The requests of one tool, or the values of one element.
#[derive(Debug)]
pub(super) struct Space<'a> {
    pub(super) dd: Diagrams,
    pub(super) theory: Theory,
    pub(super) budget: Budget,
    pub(super) slots: Vec<Slot>,
    pub(super) places: BTreeMap<Place, usize>,
    /// Counts of a run that are numbers in every state.
    pub(super) never_failing: BTreeSet<Place>,
    /// Variables from `base` on, in order.
    pub(super) atoms: Vec<Atom>,
    pub(super) base: u32,
    pub(super) text_atoms: BTreeMap<(usize, TextTest), u32>,
    pub(super) elements: BTreeMap<Place, Elements<'a>>,
    pub(super) element_atoms: HashMap<(Place, usize, Dd, bool), u32>,
    pub(super) free: HashMap<(Vec<u8>, usize), u32>,
    pub(super) leaves: HashMap<Vec<u8>, Dd>,
    /// The type of an element.
    pub(super) root: Parsed,
    /// The tool; `None`: any other than those of `tools`.
    pub(super) tool: Option<String>,
    pub(super) tools: &'a [String],
    /// Literals that no request has together.
    pub(super) lemmas: Lemmas,
    /// Reasons for which the values of the last assignment may not have its results.
    pub(super) caveats: Vec<Reason>,
    /// Other values that may have what the last assignment wants, by path.
    pub(super) others: Vec<(Place, Vec<Json<'static>>)>,
    /// Paths that clauses compare with each other.
    pub(super) pairs: BTreeMap<(Place, Place), Vec<Compared>>,
    /// Comparisons of paths by their order.
    pub(super) orders: Vec<Ordered>,
    /// The addresses of each slot that holds the parts of one.
    pub(super) addresses: BTreeMap<usize, Vec<Sample>>,
    /// The owner and the name of the part of which these are elements.
    pub(super) part: Option<(Parsed, String)>,
}

impl<'a> Space<'a> {
    pub(super) fn new(
        (tool, tools): (Option<String>, &'a [String]),
        theory: Theory,
        budget: &Budget,
    ) -> Self {
        Self {
            dd: Diagrams::new(budget.nodes),
            theory,
            budget: budget.clone(),
            slots: Vec::new(),
            places: BTreeMap::new(),
            never_failing: BTreeSet::new(),
            atoms: Vec::new(),
            base: 0,
            text_atoms: BTreeMap::new(),
            elements: BTreeMap::new(),
            element_atoms: HashMap::new(),
            free: HashMap::new(),
            leaves: HashMap::new(),
            root: Parsed::Element,
            tool,
            tools,
            lemmas: Lemmas::default(),
            caveats: Vec::new(),
            others: Vec::new(),
            pairs: BTreeMap::new(),
            orders: Vec::new(),
            addresses: BTreeMap::new(),
            part: None,
        }
    }

    /// Makes the slots of a path.
    pub(super) fn place(&mut self, place: Place) {
        if self.places.contains_key(&place) {
            return;
        }
        if let Some(parent) = place.parent() {
            self.place(parent);
        }
        // The number is given by `finish`, when all are known.
        self.places.insert(place, usize::MAX);
    }

    /// Gives each slot its number: parents come before what they hold.
    pub(super) fn number_slots(&mut self) {
        for (at, (place, slot)) in self.places.iter_mut().enumerate() {
            *slot = at;
            let kinds: &'static [Kind] = match self.never_failing.contains(place) {
                true => &[Kind::Number],
                false => kinds_of(place, self.root),
            };
            self.slots.push(Slot::new(place.clone(), kinds));
        }
        for slot in &mut self.slots {
            let parent = slot.place.parent();
            slot.parent = parent.and_then(|parent| self.places.get(&parent).copied());
        }
    }

    /// Gives the slots their variables, once their constants are known.
    pub(super) fn finish(&mut self) {
        let mut next = 0;
        for slot in &mut self.slots {
            if slot.place.field() == Some(Field::Tool) && slot.place.keys.is_empty() {
                slot.exclude(self.tools);
            }
            slot.finish(&mut next, &self.theory);
        }
        self.base = next;
        self.note_addresses();
        for (place, elements) in &mut self.elements {
            let texts = place.field() == Some(Field::Scope) && place.keys.is_empty();
            elements.finish(texts);
        }
    }

    /// A new variable.
    pub(super) fn atom(&mut self, atom: Atom) -> u32 {
        self.atoms.push(atom);
        self.base + self.atoms.len() as u32 - 1
    }

    /// The meaning of a variable, if it is not a part of a number.
    pub(super) fn meaning(&self, var: u32) -> Option<&Atom> {
        self.atoms.get(var.checked_sub(self.base)? as usize)
    }

    /// One of the `results`, which only the evaluator knows: the `part` of the clause with these bytes.
    pub(super) fn unknown(
        &mut self,
        (clause, part): (&[u8], usize),
        reason: &Reason,
        results: &[Dd],
    ) -> Result<Dd, Stop> {
        let mut vars = Vec::new();
        // Variables of earlier results are above.
        for at in 0..results.len().saturating_sub(1) {
            let key = (clause.to_vec(), part * 8 + at);
            let var = match self.free.get(&key) {
                Some(&var) => var,
                None => {
                    let var = self.atom(Atom::Free(reason.clone()));
                    self.free.insert(key, var);
                    var
                }
            };
            vars.push(var);
        }
        let mut result = results.last().copied().unwrap_or(super::dd::ERROR);
        for (&var, &other) in vars.iter().zip(results).rev() {
            let later = self.dd.node(var, super::dd::FALSE, super::dd::TRUE)?;
            result = self.dd.choose(later, [result, other, other])?;
        }
        Ok(result)
    }

    /// The text atom of a slot.
    pub(super) fn text_atom(&mut self, slot: usize, test: TextTest) -> Result<u32, Stop> {
        if let Some(&var) = self.text_atoms.get(&(slot, test.clone())) {
            return Ok(var);
        }
        let id = self.theory.add(test.clone())?;
        let var = self.atom(Atom::Text(slot, id));
        self.text_atoms.insert((slot, test), var);
        Ok(var)
    }
}

/// Returns true for a comparison of a count or a sum with constants.
fn is_measured(place: &Place, check: &Check) -> bool {
    let [name] = place.keys.as_slice() else {
        return false;
    };
    let is_number = name.starts_with("count-") || name.starts_with("sum-");
    let ops = [
        "eq",
        "in",
        "not_in",
        "gt",
        "ge",
        "lt",
        "le",
        "between",
        "not_between",
    ];
    is_number && ops.contains(&check.op.name) && matches!(check.operand, Operand::Const(_))
}

/// A clause of a program as a check of the value at a place. `None`: at a path that no request has.
pub(super) fn clause_of(program: &Program, clause: u32) -> Option<(Place, Check)> {
    let info = program.clause(clause)?;
    if info.head == Head::Run {
        let place = Place {
            field: Some(RUN),
            keys: info.path.clone(),
        };
        let check = Check {
            op: info.op,
            operand: info.operand.clone(),
            dialect: info.dialect,
        };
        return is_measured(&place, &check).then_some((place, check));
    }
    let (field, taken) = Field::resolve(info.head, &info.path)?;
    let keys = info.path.get(taken..).unwrap_or_default();
    let check = Check {
        op: info.op,
        operand: info.operand.clone(),
        dialect: info.dialect,
    };
    Some((Place::new(field, keys), check))
}
