//! The step budget of one decision, and the sets that its clauses share.
//!
//! Clauses take steps for what grows with the request: elements of lists, long texts, what functions do. A clause that wants
//! more than is left is in error ([`Fault::BudgetExceeded`]), and so is every later one that wants any, so that a decision
//! ends soon after. INVARIANT: what is charged is a function of the policy and the request, never of time.
//!
//! PERF: nothing is charged for a clause on a scalar or a short text.

use std::borrow::Borrow;
use std::cell::{Cell, OnceCell, RefCell};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use crate::hash::Keyed;
use crate::limits::{FREE_TEXT, MAX_DECISION_STEPS};
use crate::matcher::number::{Number, compare};
use crate::matcher::{Fault, sound};
use crate::program::Marker;
use crate::value::{Step, Value, View};

/// How many bytes of a text are looked at in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Pace {
    /// Making another text of it.
    Make = 16,
    /// By an automaton.
    Search = 64,
    /// By comparing, copying or counting.
    Compare = 1024,
}

/// The steps that are left of a decision.
#[derive(Debug)]
pub struct Steps(Cell<u64>);

impl Default for Steps {
    #[inline]
    fn default() -> Self {
        Self(Cell::new(MAX_DECISION_STEPS))
    }
}

impl Steps {
    /// Takes some steps.
    ///
    /// # Errors
    /// There are not as many left; then none is.
    #[inline]
    pub(crate) fn take(&self, steps: u64) -> Result<(), Fault> {
        match self.0.get().checked_sub(steps) {
            Some(left) => {
                self.0.set(left);
                Ok(())
            }
            None => self.spent(),
        }
    }

    /// Takes the steps of looking at a text once.
    ///
    /// # Errors
    /// Those of [`Self::take`].
    #[inline]
    pub(crate) fn text(&self, bytes: usize, pace: Pace) -> Result<(), Fault> {
        if bytes < FREE_TEXT {
            return Ok(());
        }
        self.take(bytes as u64 / pace as u64)
    }

    /// No step is left.
    #[cold]
    fn spent(&self) -> Result<(), Fault> {
        self.0.set(0);
        Err(Fault::BudgetExceeded)
    }

    /// Steps without an end.
    pub(crate) fn endless() -> Self {
        Self(Cell::new(u64::MAX))
    }

    /// As many as are left of something.
    pub(crate) fn of(left: u64) -> Self {
        Self(Cell::new(left))
    }

    /// How many are left.
    #[inline]
    pub(crate) fn left(&self) -> u64 {
        self.0.get()
    }

    /// How many were taken.
    #[must_use]
    pub fn taken(&self) -> u64 {
        MAX_DECISION_STEPS.saturating_sub(self.0.get())
    }
}

/// What a clause may use beside its value: other paths, the budget, sets made for the decision.
pub(crate) trait Around<V: Value> {
    /// What another path leads to.
    fn at(&self, path: u32) -> Step<V>;
    /// The budget.
    fn steps(&self) -> &Steps;
    /// What elements are compared with.
    fn referred(&self) -> &Referred<V>;
}

/// What one decision takes along.
#[derive(Debug)]
pub(crate) struct Work<V> {
    pub(crate) steps: Steps,
    /// PERF: most decisions need none of it, and neither make nor drop it.
    rare: OnceCell<Box<Rare<V>>>,
}

/// What few decisions need.
#[derive(Debug)]
struct Rare<V> {
    referred: Referred<V>,
    /// Host rules before this one were asked, with what is known of those that failed.
    asked: Option<(u32, Vec<Marker>)>,
}

impl<V> Default for Rare<V> {
    fn default() -> Self {
        Self {
            referred: Referred::default(),
            asked: None,
        }
    }
}

impl<V> Default for Work<V> {
    #[inline]
    fn default() -> Self {
        Self {
            steps: Steps::default(),
            rare: OnceCell::new(),
        }
    }
}

impl<V> Work<V> {
    /// That of a decision that asks no host rule before `rule` again, as it was judged before. `failed` are those in error.
    pub(crate) fn again(rule: u32, failed: Vec<Marker>) -> Self {
        Self {
            steps: Steps::default(),
            rare: OnceCell::from(Box::new(Rare {
                referred: Referred::default(),
                asked: Some((rule, failed)),
            })),
        }
    }

    /// What elements are compared with.
    #[inline]
    pub(crate) fn referred(&self) -> &Referred<V> {
        &self.rare.get_or_init(Box::default).referred
    }

    /// Host rules are asked again: the arguments are others.
    pub(crate) fn forget_asked(&mut self) {
        if let Some(rare) = self.rare.get_mut() {
            rare.asked = None;
        }
    }

    /// The marker of a host rule that was asked before, if it failed; `None`: it was not asked.
    #[inline]
    pub(crate) fn asked(&self, rule: u32) -> Option<impl Iterator<Item = &Marker>> {
        let (before, failed) = self.rare.get()?.asked.as_ref()?;
        (rule < *before).then(|| failed.iter().filter(move |marker| marker.rule == rule))
    }
}

impl<V: Value> Work<V> {
    /// Forgets what elements are compared with: the request is another one, or may have changed.
    #[inline]
    pub(crate) fn forget_referred(&self) {
        if let Some(rare) = self.rare.get() {
            rare.referred.forget();
        }
    }
}

/// What paths led to that the elements of lists are compared with, each read once.
#[derive(Debug)]
pub(crate) struct Referred<V>(RefCell<Vec<(u32, Rc<Referent<V>>)>>);

impl<V> Default for Referred<V> {
    #[inline]
    fn default() -> Self {
        Self(RefCell::new(Vec::new()))
    }
}

impl<V: Value> Referred<V> {
    fn forget(&self) {
        self.0.borrow_mut().clear();
    }

    /// What `path` leads to, read by `at` for the first time.
    pub(crate) fn get(&self, path: u32, at: impl FnOnce(u32) -> Step<V>) -> Rc<Referent<V>> {
        let mut held = self.0.borrow_mut();
        if let Some((_, found)) = held.iter().find(|(known, _)| *known == path) {
            return Rc::clone(found);
        }
        let found = Rc::new(Referent {
            step: at(path),
            set: Default::default(),
        });
        held.push((path, Rc::clone(&found)));
        found
    }
}

/// What a path led to, and its elements as a set once that is asked for.
#[derive(Debug)]
pub(crate) struct Referent<V> {
    pub(crate) step: Step<V>,
    set: OnceCell<ElementSet<V>>,
}

impl<V: Value> Referent<V> {
    /// The set of the elements of `list`, which is what the path led to.
    pub(crate) fn set(&self, list: &V, steps: &Steps) -> Result<&ElementSet<V>, Fault> {
        if self.set.get().is_none() {
            steps.take(list.len() as u64)?;
        }
        Ok(self.set.get_or_init(|| ElementSet::new(list)))
    }
}

/// A string of the request, by its text.
#[derive(Debug)]
struct Text<V>(V);

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

/// The scalars among the elements of a list, up to the first that cannot be judged.
#[derive(Debug)]
pub(crate) struct ElementSet<V> {
    texts: HashSet<Text<V>, Keyed>,
    /// Sorted.
    numbers: Vec<Number>,
    /// Sorted.
    instants: Vec<i64>,
    null: bool,
    bools: [bool; 2],
    /// The error of the first element that cannot be judged: what is not found before it is not known to be missing.
    fault: Option<Fault>,
}

impl<V: Value> ElementSet<V> {
    fn new(list: &V) -> Self {
        let mut set = Self {
            texts: HashSet::default(),
            numbers: Vec::new(),
            instants: Vec::new(),
            null: false,
            bools: [false; 2],
            fault: None,
        };
        let mut index = 0;
        while let Some(item) = list.item(index) {
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
            index += 1;
        }
        set.numbers.sort_unstable_by(order);
        set.instants.sort_unstable();
        set
    }

    fn mark(&mut self, flag: bool) {
        let [no, yes] = &mut self.bools;
        *(if flag { yes } else { no }) = true;
    }

    /// Whether a scalar is among them.
    ///
    /// # Errors
    /// It is not, and an element cannot be judged.
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

/// The number that a view is.
pub(crate) fn number(view: &View<'_>) -> Option<Number> {
    match view {
        View::Int(value) => Some(Number::Int(*value)),
        View::BigInt(value) => Some(Number::Big(value.clone())),
        View::Float(value) => Some(Number::from_float(*value)),
        View::Null
        | View::Bool(_)
        | View::HugeInt
        | View::Str(_)
        | View::BadStr
        | View::List
        | View::Map
        | View::Timestamp(_)
        | View::Opaque => None,
    }
}

/// The order of numbers none of which is NaN.
pub(crate) fn order(left: &Number, right: &Number) -> Ordering {
    let view = match left {
        Number::Int(value) => View::Int(*value),
        Number::Float(value) => View::Float(*value),
        Number::Big(value) => View::BigInt(value.clone()),
    };
    compare(&view, right).unwrap_or(Ordering::Equal)
}
