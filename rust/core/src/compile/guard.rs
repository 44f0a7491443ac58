//! Guards: the clauses of which one must be true for a match to be true, chosen so that few requests pass.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::BuildHasher as _;

use crate::bytes::hash::Keyed;
use crate::clause::flat_expr::{Connective, Part, Parts};
use crate::clause::ops::{IndexKey, Interval};
use crate::index::intervals::overlapping;
use crate::program::{Profile, Program};
use crate::value::class::Class;

/// Most clauses of one guard.
const MAX_CLAUSES: usize = 32;

/// Clauses of which one must be true, and what they cost.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub(super) clauses: Vec<u32>,
    /// The clauses that are evaluated although none of `clauses` is true, these included: in the `lynx` profile, where each
    /// of them may raise. Empty in the strict one.
    pub(super) exposed: Vec<u32>,
    pub(super) cost: u32,
}

/// Most clauses before a guard that may raise. Each is one more path to read, or one more list at a path.
const MAX_EXPOSED: usize = 32;

/// The cost of a guard that every value passes.
const PASSED_BY_ALL: usize = 16;

/// Values that are likely at a path beside those that clauses name.
const OTHER_VALUES: usize = 3;

/// Finds guards for the rules of one rule index.
pub(super) struct Guards<'p> {
    program: &'p Program,
    /// True if the tool is known in this rule index, so that clauses on the tool select nothing.
    tool_known: bool,
    /// The number of rules of the rule index that have each clause.
    uses: HashMap<u32, u32, Keyed>,
    /// By path.
    places: HashMap<u32, Place, Keyed>,
}

/// The clauses of the rules at one path.
#[derive(Debug, Default)]
struct Place {
    /// The number of different texts and integers that they name. Two with one hash count once.
    values: usize,
    /// The number of them that an index evaluates for every value, and of those with intervals that hold one of their
    /// bounds, on average: such guards let through the more rules, the more there are.
    crowd: u32,
}

impl<'p> Guards<'p> {
    pub(super) fn new(program: &'p Program, tool_known: bool, exprs: &[Part<'_>]) -> Self {
        let mut uses = HashMap::default();
        for expr in exprs {
            expr.leaves(&mut |clause| *uses.entry(clause).or_insert(0) += 1);
        }
        Self {
            program,
            tool_known,
            places: places(program, uses.keys().copied()),
            uses,
        }
    }

    /// The guards that a match could have, the best one first; none when it can be true without any one clause being true.
    pub(super) fn all(&self, expr: Part<'_>) -> Vec<Guard> {
        let mut guards: Vec<Guard> = match expr {
            Part::Of(Connective::All, items) => self.of_items(items),
            expr => self.cover(expr).into_iter().collect(),
        };
        guards.sort_by_key(|guard| guard.cost);
        // The best one is no guard where it is of too many clauses.
        if guards
            .first()
            .is_some_and(|guard| guard.clauses.len() > MAX_CLAUSES)
        {
            return Vec::new();
        }
        guards.retain(|guard| guard.clauses.len() <= MAX_CLAUSES);
        guards
    }

    fn cover(&self, expr: Part<'_>) -> Option<Guard> {
        match expr {
            Part::Leaf(clause) => Some(Guard {
                clauses: vec![clause],
                exposed: self.exposed(expr),
                cost: self.cost(clause)?,
            }),
            Part::Of(Connective::Not, _) => None,
            Part::Of(Connective::All, items) => self
                .of_items(items)
                .into_iter()
                .min_by_key(|guard| guard.cost),
            Part::Of(Connective::Any, items) => {
                let (mut clauses, mut exposed, mut cost) = (Vec::new(), Vec::new(), 0_u32);
                for item in items {
                    let guard = self.cover(item)?;
                    clauses.extend(guard.clauses);
                    exposed.extend(guard.exposed);
                    cost = cost.saturating_add(guard.cost);
                }
                clauses.sort_unstable();
                clauses.dedup();
                Some(Guard {
                    clauses,
                    exposed,
                    cost,
                })
            }
        }
    }

    /// The guard of each item of a conjunction that has one. In the `lynx` profile the items before it are evaluated first.
    fn of_items(&self, items: Parts<'_>) -> Vec<Guard> {
        let mut guards = Vec::new();
        let mut before = Vec::new();
        for item in items {
            if before.len() > MAX_EXPOSED {
                break;
            }
            if let Some(mut guard) = self.cover(item) {
                guard.exposed.extend(&before);
                guards.push(guard);
            }
            before.extend(self.exposed(item));
        }
        guards
    }

    /// The clauses of an expression that may raise, in the `lynx` profile.
    fn exposed(&self, expr: Part<'_>) -> Vec<u32> {
        let mut exposed = Vec::new();
        if self.program.profile == Profile::Lynx {
            expr.leaves(&mut |clause| exposed.push(clause));
            // A request that is looked up has a string for a tool.
            exposed.retain(|&clause| {
                let path = self.program.clauses.get(clause as usize);
                let fails = self.program.indexed_clause(clause).fails();
                fails.has(Class::String)
                    || !path.is_some_and(|clause| self.program.is_tool(clause.path))
            });
        }
        exposed
    }

    /// Returns the cost of a clause as a guard: the cost of finding it, and the rules that it lets through. `None`: the
    /// clause is always true here.
    fn cost(&self, index: u32) -> Option<u32> {
        let clause = self.program.clauses.get(index as usize)?;
        if self.tool_known && self.program.is_tool(clause.path) {
            return None;
        }
        let uses = self.uses.get(&index).copied().unwrap_or(1);
        let test = self.program.indexed_clause(index);
        let place = self.places.get(&clause.path);
        test.guards().then(|| {
            uses + match test.key() {
                // The share of values that pass: one of three kinds of callers is no guard to speak of.
                IndexKey::Scalars(texts, ints) => {
                    let known = place.map_or(0, |place| place.values);
                    let passed = PASSED_BY_ALL * (texts.len() + ints.len());
                    (passed / (known + OTHER_VALUES)) as u32
                }
                IndexKey::Scan | IndexKey::Intervals(_) => {
                    test.facts().guard_cost + place.map_or(0, |place| place.crowd)
                }
                _ => test.facts().guard_cost,
            }
        })
    }
}

fn places(program: &Program, clauses: impl IntoIterator<Item = u32>) -> HashMap<u32, Place, Keyed> {
    let mut places: HashMap<u32, Place, Keyed> = HashMap::default();
    let mut intervals: HashMap<u32, Vec<Interval>, Keyed> = HashMap::default();
    let (mut seen, hash) = (HashSet::<u64, Keyed>::default(), Keyed::default());
    for index in clauses {
        let Some(clause) = program.clauses.get(index as usize) else {
            continue;
        };
        match program.indexed_clause(index).key() {
            IndexKey::Scalars(texts, ints) => {
                let texts = texts.iter().map(|text| hash.hash_one((clause.path, text)));
                let ints = ints
                    .iter()
                    .map(|number| hash.hash_one((clause.path, number)));
                let fresh = texts.chain(ints).filter(|value| seen.insert(*value));
                places.entry(clause.path).or_default().values += fresh.count();
            }
            IndexKey::Scan => places.entry(clause.path).or_default().crowd += 1,
            IndexKey::Intervals(new) => intervals.entry(clause.path).or_default().extend(new),
            _ => {}
        }
    }
    for (path, intervals) in intervals {
        places.entry(path).or_default().crowd += overlapping(&intervals);
    }
    places
}

/// The clauses that each make a match false when they are true, whatever else the request holds.
pub(super) fn exclusions(expr: Part<'_>, profile: Profile) -> BTreeSet<u32> {
    settles(expr, Connective::All, profile)
}

/// The clauses whose truth settles an expression: to false under `decisive` [`Connective::All`], to true under `Any`.
fn settles(expr: Part<'_>, decisive: Connective, profile: Profile) -> BTreeSet<u32> {
    match expr {
        Part::Leaf(clause) if decisive == Connective::Any => BTreeSet::from([clause]),
        Part::Leaf(_) => BTreeSet::new(),
        Part::Of(Connective::Not, mut items) => {
            let other = match decisive {
                Connective::All => Connective::Any,
                Connective::Any | Connective::Not => Connective::All,
            };
            items
                .next()
                .map_or_else(BTreeSet::new, |item| settles(item, other, profile))
        }
        // Of several items that each settle it, the first one: before a later one an earlier one may raise.
        Part::Of(connective, mut items) if connective == decisive && profile == Profile::Lynx => {
            items
                .next()
                .map_or_else(BTreeSet::new, |item| settles(item, decisive, profile))
        }
        // One item settles it, or all have to.
        Part::Of(connective, items) => items
            .map(|item| settles(item, decisive, profile))
            .reduce(|left, right| {
                if connective == decisive {
                    &left | &right
                } else {
                    &left & &right
                }
            })
            .unwrap_or_default(),
    }
}
