//! `contains`, `contains_any`, `contains_all`: which of some needles a text, a list or a mapping holds, in one pass over it
//! however many needles there are.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use memchr::memmem::{self, Finder};

use super::{Facts, IndexKey, Inside, OperandType, Operator, OperatorTest, Prepare, operators};
use crate::budget::{Pace, Steps};
use crate::bytes::strmap::StrMap;
use crate::bytes::substrings::Substrings;
use crate::clause::lynx::LynxOp;
use crate::clause::ops::reference::{self, Relative, single};
use crate::clause::predicate::{Test, sound};
use crate::clause::prepared::{self, PreparedConst};
use crate::error::Fault;
use crate::lang::path::Key;
use crate::num::number::Number;
use crate::regex::NfaCompiler;
use crate::value::class::{Class, Classes};
use crate::value::compare::{number, order};
use crate::value::{Step, Value, View};

operators! {
    "contains" OperandType::Scalar, Text, Some(Relative::Contains), Some(LynxOp::Contains),
        Prepare::Constant(|operand| Some(Test::Contains(Needles::new(vec![operand], Quantity::Any))));
    "contains_any" OperandType::Scalars, Text, None, Some(LynxOp::ContainsAny),
        Prepare::Constant(|operand| several(operand, Quantity::Any));
    "contains_all" OperandType::SomeScalars, Text, None, Some(LynxOp::ContainsAll),
        Prepare::Constant(|operand| several(operand, Quantity::All));
}

fn several(operand: PreparedConst, quantity: Quantity) -> Option<Test> {
    match operand {
        PreparedConst::List(items) => Some(Test::Contains(Needles::new(items, quantity))),
        _ => None,
    }
}

/// Up to this many needles are searched for one by one.
const FEW: usize = 8;

/// One operand of a containment test.
#[derive(Debug)]
pub struct Needle {
    /// The constant that an element of a list must equal.
    pub operand: PreparedConst,
    /// Of a string: how it is found in a text.
    pub text: Option<Finder<'static>>,
}

impl Needle {
    /// The needle that is `operand`.
    #[must_use]
    pub fn new(operand: PreparedConst) -> Self {
        let text = match &operand {
            PreparedConst::Str(text) => Some(Finder::new(text.as_bytes()).into_owned()),
            _ => None,
        };
        Self { operand, text }
    }
}

/// The quantifier over several needles: any or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// At least one.
    Any,
    /// All.
    All,
}

/// The needles of one test.
#[derive(Debug)]
pub struct Needles {
    list: Vec<Needle>,
    quantity: Quantity,
    /// By the value that an element equals; built when many needles are searched for in a list.
    by_value: OnceLock<ByValue>,
    /// The searcher for the needles that are strings; built when many are searched for in a text. `None`: it could not be
    /// built.
    searcher: OnceLock<Option<Box<Searcher>>>,
}

impl Needles {
    /// These needles.
    #[must_use]
    pub fn new(operands: Vec<PreparedConst>, quantity: Quantity) -> Self {
        Self {
            quantity,
            list: operands.into_iter().map(Needle::new).collect(),
            by_value: OnceLock::new(),
            searcher: OnceLock::new(),
        }
    }

    fn one_by_one<V: Value>(
        &self,
        value: &V,
        view: &View<'_>,
        quantity: Quantity,
        steps: &Steps,
    ) -> Result<bool, Fault> {
        let decisive = quantity == Quantity::Any;
        let mut fault = None;
        for needle in &self.list {
            match holds(value, view, needle, steps) {
                Ok(answer) if answer == decisive => return Ok(answer),
                Ok(_) => {}
                Err(Fault::BudgetExceeded) => return Err(Fault::BudgetExceeded),
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        fault.map_or(Ok(!decisive), Err)
    }

    fn in_list<V: Value>(
        &self,
        list: &V,
        quantity: Quantity,
        steps: &Steps,
    ) -> Result<bool, Fault> {
        let by_value = self.by_value.get_or_init(|| ByValue::new(&self.list));
        let mut missing = by_value.distinct;
        let mut found = match quantity {
            Quantity::Any => Vec::new(),
            Quantity::All => vec![false; missing],
        };
        for item in list.items() {
            steps.take(1)?;
            let view = sound(item.view())?;
            if let View::Str(text) = &view {
                steps.text(text.len(), Pace::Compare)?;
            }
            if let Some(at) = by_value.find(&view) {
                if quantity == Quantity::Any {
                    return Ok(true);
                }
                if let Some(found) = found.get_mut(at)
                    && !std::mem::replace(found, true)
                {
                    missing -= 1;
                    if missing == 0 {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    fn searcher(&self) -> Option<&Searcher> {
        let build = || {
            let (at, texts): (Vec<u32>, Vec<&[u8]>) = (0..)
                .zip(&self.list)
                .filter_map(|(at, needle)| Some((at, needle.text.as_ref()?.needle())))
                .unzip();
            let substrings = Substrings::new(&texts)?;
            Some(Box::new(Searcher { substrings, at }))
        };
        self.searcher.get_or_init(build).as_deref()
    }

    /// The needles of which one must be there; `None` if they are of a kind that is not looked up.
    fn wanted(&self) -> Option<Vec<&PreparedConst>> {
        let fits = |operand: &&PreparedConst| match operand {
            PreparedConst::Str(text) => !text.is_empty(),
            PreparedConst::Number(Number::Int(_)) => true,
            _ => false,
        };
        let mut needles = self.list.iter().map(|needle| &needle.operand);
        match self.quantity {
            Quantity::Any => needles
                .clone()
                .all(|needle| fits(&needle))
                .then(|| needles.collect()),
            Quantity::All => needles.find(fits).map(|needle| vec![needle]),
        }
    }

    fn in_text(&self, text: &str, quantity: Quantity, steps: &Steps) -> Result<bool, Fault> {
        steps.text(text.len(), Pace::Search)?;
        let Some(Searcher { substrings, at }) = self.searcher() else {
            // INVARIANT: it can be built for any needles within the caps of a policy.
            return Err(Fault::BudgetExceeded);
        };
        let others = match at.len() < self.list.len() {
            true => Err(Fault::WrongType),
            false => Ok(quantity == Quantity::All),
        };
        let needle = |number: usize| {
            let needle = at.get(number).and_then(|at| self.list.get(*at as usize));
            needle
                .and_then(|needle| needle.text.as_ref())
                .map_or(&[][..], Finder::needle)
        };
        if quantity == Quantity::Any {
            return match substrings.any(text, needle, steps)? {
                true => Ok(true),
                false => others,
            };
        }
        let mut missing = at.len();
        let mut found = vec![false; missing];
        substrings.each_hit(text, needle, steps, |number| {
            if let Some(found) = found.get_mut(number)
                && !std::mem::replace(found, true)
            {
                missing -= 1;
            }
            missing > 0
        })?;
        if missing == 0 { others } else { Ok(false) }
    }
}

impl OperatorTest for Needles {
    #[inline]
    fn eval<V: Value>(&self, value: &V, view: &View<'_>, steps: &Steps) -> Result<bool, Fault> {
        match view {
            View::Str(text) if self.list.len() > FEW => self.in_text(text, self.quantity, steps),
            View::List if self.list.len() > FEW => self.in_list(value, self.quantity, steps),
            View::Str(_) | View::List | View::Map => {
                self.one_by_one(value, view, self.quantity, steps)
            }
            _ => Err(Fault::WrongType),
        }
    }

    fn facts(&self) -> Facts {
        let texts = self.list.iter().all(|needle| needle.text.is_some());
        Facts {
            // Of a list each element is read.
            cost: 5 + 2 * self.list.len() as u32,
            guard_cost: 3,
            fails: if texts {
                Classes::ALL.without(Class::String)
            } else {
                Classes::ALL
            },
        }
    }

    fn key(&self) -> IndexKey<'_> {
        match self.wanted() {
            Some(needles) => IndexKey::Needles {
                needles,
                exact: self.quantity == Quantity::Any,
            },
            None => IndexKey::Scan,
        }
    }

    fn prepare(&self, _: &NfaCompiler) {
        if self.list.len() > FEW {
            self.searcher();
            self.by_value.get_or_init(|| ByValue::new(&self.list));
        }
    }
}

/// Searches a value for the scalar at another path.
pub(super) fn related<V: Value>(
    (left, here): (&V, &View<'_>),
    there: &View<'_>,
    steps: &Steps,
) -> Result<bool, Fault> {
    match (here, single(there)?) {
        (View::Str(text), View::Str(part)) => {
            steps.text(part.len(), Pace::Compare)?;
            Ok(memmem::find(text.as_bytes(), part.as_bytes()).is_some())
        }
        (View::List, part) => reference::holds(left, part, steps),
        (View::Map, View::Str(key)) => has_key(left, key),
        _ => Err(Fault::WrongType),
    }
}

fn has_key<V: Value>(map: &V, key: &str) -> Result<bool, Fault> {
    match map.get(Key::unprepared(key)) {
        Step::Found(_) => Ok(true),
        Step::Absent => Ok(false),
        Step::Unreadable => Err(Fault::WrongType),
    }
}

/// Searcher for needles in texts, with the positions of the needles among all needles.
#[derive(Debug)]
struct Searcher {
    substrings: Substrings,
    at: Vec<u32>,
}

/// Needles by what an element of a list equals; those that equal one another have one number.
#[derive(Debug)]
struct ByValue {
    texts: StrMap<usize>,
    /// Sorted.
    numbers: Vec<(Number, usize)>,
    /// Sorted.
    instants: Vec<(i64, usize)>,
    null: Option<usize>,
    bools: [Option<usize>; 2],
    distinct: usize,
}

impl ByValue {
    fn new(needles: &[Needle]) -> Self {
        let (mut texts, mut instants) = (BTreeMap::new(), BTreeMap::new());
        let (mut numbers, mut null, mut bools) = (Vec::new(), None, [None; 2]);
        let mut distinct = 0;
        let mut next = || {
            distinct += 1;
            distinct - 1
        };
        for needle in needles {
            match &needle.operand {
                PreparedConst::Null => {
                    null.get_or_insert_with(&mut next);
                }
                PreparedConst::Bool(flag) => {
                    let [no, yes] = &mut bools;
                    (if *flag { yes } else { no }).get_or_insert_with(&mut next);
                }
                PreparedConst::Number(number) => numbers.push(number.clone()),
                PreparedConst::Str(text) => {
                    texts.entry(text.clone()).or_insert_with(&mut next);
                }
                PreparedConst::Timestamp(at) => {
                    instants.entry(*at).or_insert_with(&mut next);
                }
                // No element equals one. A policy has no such needle.
                PreparedConst::List(_) | PreparedConst::Map(_) => {
                    next();
                }
            }
        }
        numbers.sort_unstable_by(order);
        numbers.dedup_by(|a, b| order(a, b).is_eq());
        let numbers = numbers.into_iter().map(|number| (number, next())).collect();
        Self {
            texts: StrMap::new(texts.into_iter().collect()),
            numbers,
            instants: instants.into_iter().collect(),
            null,
            bools,
            distinct,
        }
    }

    /// The number of the needles that a scalar equals.
    fn find(&self, view: &View<'_>) -> Option<usize> {
        match view {
            View::Str(text) => self.texts.get(text).copied(),
            View::Null => self.null,
            View::Bool(flag) => {
                let [no, yes] = self.bools;
                if *flag { yes } else { no }
            }
            View::Timestamp(at) => {
                let found = self.instants.binary_search_by_key(at, |(at, _)| *at);
                self.instants.get(found.ok()?).map(|(_, number)| *number)
            }
            view => {
                let wanted = number(view)?;
                let found = self
                    .numbers
                    .binary_search_by(|(held, _)| order(held, &wanted));
                self.numbers.get(found.ok()?).map(|(_, number)| *number)
            }
        }
    }
}

/// Returns true if one needle is in the value.
fn holds<V: Value>(
    value: &V,
    view: &View<'_>,
    needle: &Needle,
    steps: &Steps,
) -> Result<bool, Fault> {
    if let (View::Map, PreparedConst::Str(key)) = (view, &needle.operand) {
        return has_key(value, key);
    }
    match (view, &needle.text) {
        (View::Str(text), Some(finder)) => {
            steps.text(text.len(), Pace::Compare)?;
            Ok(finder.find(text.as_bytes()).is_some())
        }
        (View::List, _) => {
            for item in value.items() {
                steps.take(1)?;
                let view = sound(item.view())?;
                if let View::Str(text) = &view {
                    steps.text(text.len(), Pace::Compare)?;
                }
                if prepared::scalar_equal(&view, &needle.operand) {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Err(Fault::WrongType),
    }
}
