//! Fewer path indexes: guards chosen together, so that they read few paths.
//!
//! PERF: a rule by itself chooses its most selective guard. Where rules share the paths that they read, that spreads the
//! guards over all paths, and each path is read on every call: 35 ns, as much as evaluating one more rule.

use std::collections::{BTreeMap, BTreeSet};

use super::guard::Guard;
use crate::program::Program;

/// Selectivity that a guard may lose against the best one of its rule: so many more rules may share its clause.
const SLACK: u32 = 16;

/// Chooses one guard of each rule, of those that it could have; the best one comes first.
pub(super) fn choose(program: &Program, rules: Vec<Vec<Guard>>) -> Vec<Option<Guard>> {
    let best: BTreeSet<u32> = rules
        .iter()
        .filter_map(|guards| guards.first())
        .flat_map(|guard| paths(program, guard))
        .collect();
    let few = fewest(program, &rules);
    let read = if few.len() < best.len() { few } else { best };
    let choose = |guards: Vec<Guard>| {
        let limit = limit(&guards);
        let mut guards = guards.into_iter();
        guards.find(|guard| {
            guard.cost <= limit && paths(program, guard).all(|path| read.contains(&path))
        })
    };
    rules.into_iter().map(choose).collect()
}

/// The guards of rules that could be found at one path.
#[derive(Default)]
struct Findable {
    /// The rules that have a guard here.
    rules: Vec<usize>,
    /// The number of rules that have their best guard here.
    best: usize,
    /// The clauses of the guards.
    clauses: BTreeSet<u32>,
}

/// A minimal set of paths on which each rule has a guard. Those that are the best ones of few rules are left out first,
/// and those of few different clauses: there, many rules have the same clause, or it lets many values pass.
fn fewest(program: &Program, rules: &[Vec<Guard>]) -> BTreeSet<u32> {
    let allowed: Vec<&[Guard]> = rules.iter().map(|guards| within_limit(guards)).collect();
    let mut by_path = BTreeMap::<u32, Findable>::new();
    for (rule, guards) in allowed.iter().enumerate() {
        for (place, guard) in guards.iter().enumerate() {
            for (clause, path) in clauses(program, guard) {
                let findable = by_path.entry(path).or_default();
                findable.clauses.insert(clause);
                if findable.rules.last() != Some(&rule) {
                    findable.rules.push(rule);
                    findable.best += usize::from(place == 0);
                }
            }
        }
    }
    let mut left: BTreeSet<u32> = by_path.keys().copied().collect();
    let mut order: Vec<(u32, Findable)> = by_path.into_iter().collect();
    order.sort_by_key(|(_, findable)| (findable.best, findable.clauses.len()));
    for (path, findable) in order {
        left.remove(&path);
        let covers = |guard: &Guard| paths(program, guard).all(|path| left.contains(&path));
        let found = |rule: &usize| allowed.get(*rule).is_some_and(|all| all.iter().any(covers));
        if !findable.rules.iter().all(found) {
            left.insert(path);
        }
    }
    left
}

/// The guards of a rule that cost little more than the best one.
fn within_limit(guards: &[Guard]) -> &[Guard] {
    let limit = limit(guards);
    let end = guards.partition_point(|guard| guard.cost <= limit);
    guards.get(..end).unwrap_or_default()
}

/// The maximum cost of a guard.
fn limit(guards: &[Guard]) -> u32 {
    guards
        .first()
        .map_or(0, |guard| guard.cost.saturating_add(SLACK))
}

/// The clauses of a guard with their paths.
fn clauses(program: &Program, guard: &Guard) -> impl Iterator<Item = (u32, u32)> {
    let clauses = guard.clauses.iter().chain(&guard.exposed);
    clauses.filter_map(|&clause| Some((clause, program.clauses.get(clause as usize)?.path)))
}

fn paths(program: &Program, guard: &Guard) -> impl Iterator<Item = u32> {
    clauses(program, guard).map(|(_, path)| path)
}
