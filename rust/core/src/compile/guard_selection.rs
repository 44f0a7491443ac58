//! Fewer path indexes: guards chosen together, so that they read few paths.
//!
//! PERF: a rule by itself chooses its most selective guard. Where rules share the paths that they read, that spreads the
//! guards over all paths, and each path is read on every call: 35 ns, as much as evaluating one more rule.

use std::collections::{BTreeMap, BTreeSet};

use super::guard::Guard;
use crate::program::Program;

/// Up to this many paths are left as they are.
const FEW_PATHS: usize = 8;

/// Selectivity that a guard may lose against the best one of its rule: so many more rules may share its clause.
const SLACK: u32 = 16;

/// Chooses one guard of each rule, of those that it could have; the best one comes first.
pub(super) fn choose(program: &Program, rules: Vec<Vec<Guard>>) -> Vec<Option<Guard>> {
    let best: BTreeSet<u32> = rules
        .iter()
        .filter_map(|guards| guards.first())
        .flat_map(|guard| paths(program, guard))
        .collect();
    let few = match best.len() > FEW_PATHS {
        true => fewest(program, &rules),
        false => best.clone(),
    };
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

/// A minimal set of paths on which each rule has a guard.
fn fewest(program: &Program, rules: &[Vec<Guard>]) -> BTreeSet<u32> {
    let mut by_path = BTreeMap::<u32, Vec<&[Guard]>>::new();
    for guards in rules {
        let limit = limit(guards);
        let guards = guards
            .get(..guards.partition_point(|guard| guard.cost <= limit))
            .unwrap_or_default();
        let all: BTreeSet<u32> = guards
            .iter()
            .flat_map(|guard| paths(program, guard))
            .collect();
        for path in all {
            by_path.entry(path).or_default().push(guards);
        }
    }
    let mut left: BTreeSet<u32> = by_path.keys().copied().collect();
    let mut order: Vec<(u32, Vec<&[Guard]>)> = by_path.into_iter().collect();
    order.sort_by_key(|(_, rules)| rules.len());
    for (path, rules) in order {
        left.remove(&path);
        let covers = |guard: &Guard| paths(program, guard).all(|path| left.contains(&path));
        if !rules.iter().all(|guards| guards.iter().any(covers)) {
            left.insert(path);
        }
    }
    left
}

/// The maximum cost of a guard.
fn limit(guards: &[Guard]) -> u32 {
    guards
        .first()
        .map_or(0, |guard| guard.cost.saturating_add(SLACK))
}

fn paths(program: &Program, guard: &Guard) -> impl Iterator<Item = u32> {
    let clauses = guard.clauses.iter().chain(&guard.exposed);
    clauses.filter_map(|&clause| Some(program.clauses.get(clause as usize)?.path))
}
