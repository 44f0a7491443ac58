//! Intervals: rules by the numbers their guards take, found without asking one guard after the other.
//!
//! A rule index tree. The bounds cut the numbers into slots, the bounds themselves and the gaps between them; a guard is
//! listed at the few nodes that cover its slots, and the lists for a number are those on the way from its slot to the root.

use std::cmp::Ordering;

use super::Postings;
use crate::clause::ops::Interval;
use crate::num::number::Number;
use crate::value::View;
use crate::value::compare::{compare, order};

/// The list of a node without rules, whatever a list is.
const EMPTY: Postings = (0, 0);

/// The tree.
#[derive(Debug)]
pub(crate) struct Intervals {
    /// All bounds, ascending, each once.
    bounds: Vec<Number>,
    /// The lists of the nodes: node 1 is the root, those of the slots come last.
    nodes: Vec<Postings>,
}

/// The number of intervals that hold one of their bounds, on average.
pub(crate) fn overlapping(intervals: &[Interval]) -> u32 {
    let all = || intervals.iter().flat_map(|each| [&each.from, &each.to]);
    let mut bounds: Vec<&Number> = all().flatten().map(|(bound, _)| bound).collect();
    bounds.sort_by(|a, b| order(a, b));
    let held = |each: &Interval| {
        let from = each.from.as_ref().map_or(0, |(bound, _)| {
            bounds.partition_point(|at| order(at, bound).is_lt())
        });
        let to = each.to.as_ref().map_or(bounds.len(), |(bound, _)| {
            bounds.partition_point(|at| order(at, bound).is_le())
        });
        to.saturating_sub(from)
    };
    let held: usize = intervals.iter().map(held).sum();
    (held / bounds.len().max(1)) as u32
}

impl Intervals {
    /// The tree of `intervals`, each with its rule; `list` keeps a list of rules.
    pub(crate) fn new(
        intervals: &[(Interval, u32)],
        mut list: impl FnMut(Vec<u32>) -> Postings,
    ) -> Self {
        let mut bounds: Vec<Number> = intervals
            .iter()
            .flat_map(|(interval, _)| [&interval.from, &interval.to])
            .flatten()
            .map(|(bound, _)| bound.clone())
            .collect();
        bounds.sort_by(order);
        bounds.dedup_by(|a, b| order(a, b) == Ordering::Equal);
        let size = (2 * bounds.len() + 1).next_power_of_two();
        let mut nodes: Vec<Vec<u32>> = vec![Vec::new(); 2 * size];
        let slot = |bound: &Number| 2 * bounds.partition_point(|at| order(at, bound).is_lt()) + 1;
        for (interval, rule) in intervals {
            let from = interval
                .from
                .as_ref()
                .map_or(0, |(bound, within)| slot(bound) + usize::from(!within));
            let end = interval
                .to
                .as_ref()
                .map_or(2 * bounds.len() + 1, |(bound, within)| {
                    slot(bound) + usize::from(*within)
                });
            let (mut left, mut right) = (size + from, size + end);
            while left < right {
                if left % 2 == 1 {
                    add(&mut nodes, left, *rule);
                    left += 1;
                }
                if right % 2 == 1 {
                    right -= 1;
                    add(&mut nodes, right, *rule);
                }
                left /= 2;
                right /= 2;
            }
        }
        let nodes = nodes
            .into_iter()
            .map(|mut rules| {
                rules.sort_unstable();
                rules.dedup();
                match rules.is_empty() {
                    true => EMPTY,
                    false => list(rules),
                }
            })
            .collect();
        Self { bounds, nodes }
    }

    /// The lists of the rules whose guard takes a number, which is not NaN.
    #[inline]
    pub(crate) fn of(&self, number: &View<'_>) -> impl Iterator<Item = Postings> + '_ {
        let against = |bound: &Number| compare(number, bound);
        let at = self
            .bounds
            .partition_point(|bound| against(bound) == Some(Ordering::Greater));
        let on = self
            .bounds
            .get(at)
            .is_some_and(|bound| against(bound) == Some(Ordering::Equal));
        let slot = self.nodes.len() / 2 + 2 * at + usize::from(on);
        std::iter::successors(Some(slot), |node| (*node > 1).then_some(node / 2))
            .filter_map(|node| self.nodes.get(node).copied())
            .filter(|list| *list != EMPTY)
    }
}

fn add(nodes: &mut [Vec<u32>], node: usize, rule: u32) {
    if let Some(rules) = nodes.get_mut(node) {
        rules.push(rule);
    }
}

#[cfg(test)]
mod tests {
    use super::{Interval, Intervals, overlapping};
    use crate::num::number::Number;
    use crate::value::View;

    #[test]
    fn a_bound_is_in_as_many_intervals_as_overlap_there() {
        let interval = |from: Option<i64>, to: Option<i64>| Interval {
            from: from.map(|from| (Number::Int(from), true)),
            to: to.map(|to| (Number::Int(to), true)),
        };
        let all = |of: &dyn Fn(i64) -> Interval| (0..100).map(of).collect::<Vec<_>>();
        assert_eq!(overlapping(&[]), 0);
        assert_eq!(overlapping(&[interval(None, None)]), 0);
        // One value in two is beyond a bound.
        assert_eq!(overlapping(&all(&|n| interval(Some(n), None))), 50);
        assert_eq!(overlapping(&all(&|n| interval(None, Some(n)))), 50);
        assert_eq!(
            overlapping(&all(&|n| interval(Some(3 * n), Some(3 * n + 2)))),
            1
        );
        assert_eq!(
            overlapping(&all(&|n| interval(Some(n), Some(n + 1_000)))),
            50
        );
        assert_eq!(overlapping(&all(&|_| interval(Some(1), Some(2)))), 100);
    }

    #[test]
    fn a_number_meets_exactly_the_bands_around_it() {
        let bound = |value: f64, within| Some((Number::from_float(value), within));
        let points = [-2.0, 0.0, 0.5, 1.0, 3.0];
        let mut intervals = Vec::new();
        for from in points {
            for to in points {
                for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
                    intervals.push((from, a, to, b));
                }
            }
        }
        let numbered: Vec<(Interval, u32)> = (0..)
            .zip(&intervals)
            .map(|(rule, (from, a, to, b))| {
                let interval = Interval {
                    from: (*from > -2.0).then_some(()).and(bound(*from, *a)),
                    to: (*to < 3.0).then_some(()).and(bound(*to, *b)),
                };
                (interval, rule)
            })
            .collect();
        let mut rules = Vec::new();
        let tree = Intervals::new(&numbered, |list| {
            let from = rules.len() as u32;
            rules.extend(list);
            (from, rules.len() as u32)
        });
        for number in [-9.0, -2.0, -0.1, 0.0, 0.2, 0.5, 0.7, 1.0, 2.0, 3.0, 9.0] {
            let mut found: Vec<u32> = tree
                .of(&View::Float(number))
                .flat_map(|(from, to)| rules[from as usize..to as usize].to_vec())
                .collect();
            found.sort_unstable();
            let wanted: Vec<u32> = (0..)
                .zip(&intervals)
                .filter(|(_, (from, a, to, b))| {
                    let above = *from <= -2.0 || number > *from || (*a && number == *from);
                    let below = *to >= 3.0 || number < *to || (*b && number == *to);
                    above && below
                })
                .map(|(rule, _)| rule)
                .collect();
            assert_eq!(found, wanted, "{number}");
        }
    }
}
