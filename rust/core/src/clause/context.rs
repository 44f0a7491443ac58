//! The context of a clause: other paths, the step budget, element sets shared by one decision.

use std::borrow::Borrow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use super::ops::occurrence::Haystacks;
use super::predicate::sound;
use crate::budget::Steps;
use crate::bytes::hash::Keyed;
use crate::error::Fault;
use crate::facets::cache::Cache;
use crate::num::number::Number;
use crate::value::compare::{number, order};
use crate::value::memory::{LeafValue, Reading, Wanted};
use crate::value::{Step, Value, View};

/// Context of a clause beside its value: other paths, the budget, sets built for the decision.
pub(crate) trait Around<V: Value> {
    /// Reads another path.
    fn at(&self, path: u32) -> Step<V>;
    /// The budget.
    fn steps(&self) -> &Steps;
    /// The texts that facets have parsed.
    fn facets(&self) -> &Cache;
    /// Reads a definition of the state of the run.
    fn reading(&self, definition: u32) -> Result<Reading, Fault>;
    /// Returns true if a value came from one of some sources.
    fn drawn(&self, wanted: Wanted, value: &LeafValue<'_>) -> Result<bool, Fault>;
    /// Returns the values that elements are compared with.
    fn referred(&self) -> &Referred<V>;
}

/// Values at the paths that the elements of lists are compared with, each read once.
#[derive(Debug)]
pub(crate) struct Referred<V>(RefCell<Vec<(u32, Rc<Referent<V>>)>>);

impl<V> Default for Referred<V> {
    #[inline]
    fn default() -> Self {
        Self(RefCell::new(Vec::new()))
    }
}

impl<V: Value> Referred<V> {
    pub(crate) fn forget(&self) {
        self.0.borrow_mut().clear();
    }

    /// Returns the value at `path`, read by `at` the first time.
    pub(crate) fn get(&self, path: u32, at: impl FnOnce(u32) -> Step<V>) -> Rc<Referent<V>> {
        let mut held = self.0.borrow_mut();
        if let Some((_, found)) = held.iter().find(|(known, _)| *known == path) {
            return Rc::clone(found);
        }
        let found = Rc::new(Referent {
            step: at(path),
            set: Default::default(),
            haystacks: Default::default(),
        });
        held.push((path, Rc::clone(&found)));
        found
    }
}

/// The value at a path, and its elements as a set, built on first use.
#[derive(Debug)]
pub(crate) struct Referent<V> {
    pub(crate) step: Step<V>,
    /// The text at the path, for searches of whole values.
    pub(crate) haystacks: Haystacks,
    set: OnceCell<ElementSet<V>>,
}

impl<V: Value> Referent<V> {
    /// The set of the elements of `list`, the value at the path.
    pub(crate) fn set(&self, list: &V, steps: &Steps) -> Result<&ElementSet<V>, Fault> {
        if self.set.get().is_none() {
            steps.take(list.len() as u64)?;
        }
        Ok(self.set.get_or_init(|| ElementSet::new(list)))
    }
}

/// A string of the request, by its text.
#[derive(Debug)]
pub(crate) struct Text<V>(V);

impl<V: Value> Borrow<str> for Text<V> {
    fn borrow(&self) -> &str {
        match self.0.view() {
            View::Str(text) => text,
            _ => "",
        }
    }
}

impl<V: Value> Hash for Text<V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Borrow::<str>::borrow(self).hash(state);
    }
}

impl<V: Value> PartialEq for Text<V> {
    fn eq(&self, other: &Self) -> bool {
        Borrow::<str>::borrow(self) == Borrow::<str>::borrow(other)
    }
}

impl<V: Value> Eq for Text<V> {}

/// The scalars among the elements of a list, up to the first that cannot be evaluated.
#[derive(Debug)]
pub(crate) struct ElementSet<V> {
    texts: HashSet<Text<V>, Keyed>,
    /// Sorted.
    numbers: Vec<Number>,
    /// Sorted.
    instants: Vec<i64>,
    null: bool,
    bools: [bool; 2],
    /// The error of the first element that cannot be evaluated: a value not found before it is not known to be missing.
    fault: Option<Fault>,
}

impl<V: Value> ElementSet<V> {
    pub(crate) fn new(list: &V) -> Self {
        let mut set = Self {
            texts: HashSet::default(),
            numbers: Vec::new(),
            instants: Vec::new(),
            null: false,
            bools: [false; 2],
            fault: None,
        };
        for item in list.items() {
            match sound(item.view()) {
                Err(fault) => {
                    set.fault = Some(fault);
                    break;
                }
                Ok(View::Str(_)) => {
                    set.texts.insert(Text(item));
                }
                Ok(View::Null) => set.null = true,
                Ok(View::Bool(flag)) => set.mark(flag),
                Ok(View::Timestamp(at)) => set.instants.push(at),
                Ok(view) => set.numbers.extend(number(&view)),
            }
        }
        set.numbers.sort_unstable_by(order);
        set.instants.sort_unstable();
        set
    }

    pub(crate) fn mark(&mut self, flag: bool) {
        let [no, yes] = &mut self.bools;
        *(if flag { yes } else { no }) = true;
    }

    /// Returns true if a scalar is among the elements.
    ///
    /// # Errors
    /// The error of an element that cannot be evaluated, if the scalar is not found.
    pub(crate) fn holds(&self, wanted: &View<'_>) -> Result<bool, Fault> {
        let [no, yes] = self.bools;
        let found = match wanted {
            View::Str(text) => self.texts.contains(*text),
            View::Null => self.null,
            View::Bool(flag) => {
                if *flag {
                    yes
                } else {
                    no
                }
            }
            View::Timestamp(at) => self.instants.binary_search(at).is_ok(),
            view => match number(view) {
                Some(number) => self
                    .numbers
                    .binary_search_by(|held| order(held, &number))
                    .is_ok(),
                None => false,
            },
        };
        match (found, self.fault) {
            (false, Some(fault)) => Err(fault),
            (found, _) => Ok(found),
        }
    }
}
