//! The order of paths that clauses compare with each other: a cycle with a step that is strict has no values.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};

use crate::clause::operand::{Check, Operand};
use crate::lang::path::Field;
use crate::num::number::Number;
use crate::value::compare::order;

use super::dd::Literal;
use super::model::Assignment;
use super::pair::referred;
use super::shape::codes;
use super::slot::{Kind, Place};
use super::space::Space;

/// A comparison of two paths, and the variables of its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ordered {
    own: Place,
    other: Place,
    op: &'static str,
    /// It is not false; if so, it is not true.
    vars: [Option<u32>; 2],
}

/// A constant, or the value of a path.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Path(Place),
    Number(Number),
    Text(String),
}

/// One value is less than another one, or `strict` is false and it can be equal, by these literals.
pub(super) struct Edge {
    pub(super) low: usize,
    pub(super) high: usize,
    pub(super) strict: bool,
    literals: Vec<Literal>,
}

/// The order of paths and constants.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
}

impl Graph {
    fn node(&mut self, node: Node) -> usize {
        let known = self.nodes.iter().position(|known| *known == node);
        known.unwrap_or_else(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        })
    }

    fn edge(&mut self, (low, high): (Node, Node), strict: bool, literals: &[Literal]) {
        let (low, high) = (self.node(low), self.node(high));
        self.edges.push(Edge {
            low,
            high,
            strict,
            literals: literals.to_vec(),
        });
    }

    /// Adds the order of the constants.
    fn constants(&mut self) {
        let mut all: Vec<Node> = self.nodes.clone();
        all.retain(|node| !matches!(node, Node::Path(_)));
        for low in &all {
            for high in &all {
                let less = match (low, high) {
                    (Node::Number(low), Node::Number(high)) => order(low, high) == Ordering::Less,
                    (Node::Text(low), Node::Text(high)) => low < high,
                    _ => false,
                };
                if less {
                    self.edge((low.clone(), high.clone()), true, &[]);
                }
            }
        }
    }

    /// The literals of a cycle with a strict edge.
    fn cycle(&self) -> Option<Vec<Literal>> {
        for strict in self.edges.iter().filter(|edge| edge.strict) {
            let mut before: BTreeMap<usize, usize> = BTreeMap::new();
            let mut open = VecDeque::from([strict.high]);
            while let Some(node) = open.pop_front() {
                if node == strict.low {
                    let mut literals = strict.literals.clone();
                    let mut at = node;
                    while at != strict.high {
                        let edge = before.get(&at).and_then(|edge| self.edges.get(*edge))?;
                        literals.extend(&edge.literals);
                        at = edge.low;
                    }
                    literals.sort_unstable();
                    literals.dedup();
                    return (!literals.is_empty()).then_some(literals);
                }
                for (number, edge) in self.edges.iter().enumerate() {
                    if edge.low == node
                        && edge.high != strict.high
                        && !before.contains_key(&edge.high)
                    {
                        before.insert(edge.high, number);
                        open.push_back(edge.high);
                    }
                }
            }
        }
        None
    }
}

impl Space<'_> {
    /// Notes the variables of a check that compares a value with another path.
    pub(super) fn note_order(&mut self, slot: usize, check: &Check, name: &[u8]) {
        let op = match check.op.name {
            op @ ("eq" | "lt" | "le" | "gt" | "ge") => op,
            _ => return,
        };
        let own = self.slots.get(slot).map(|slot| slot.place.clone());
        let (Some(own), Operand::Ref(..), [other]) = (own, &check.operand, &*referred(check))
        else {
            return;
        };
        let plain =
            |place: &Place| place.field.is_some() && place.field() != Some(Field::Timestamp);
        if !plain(&own) || !plain(other) {
            return;
        }
        let var = |at| self.free.get(&(name.to_vec(), at)).copied();
        let ordered = Ordered {
            own,
            other: other.clone(),
            op,
            vars: [var(0), var(1)],
        };
        if !self.orders.contains(&ordered) {
            self.orders.push(ordered);
        }
    }

    /// Literals of comparisons, and of values, that no values have together.
    pub(super) fn order_conflict(&self, assignment: &Assignment<'_>) -> Option<Vec<Literal>> {
        let mut graph = self.comparisons(assignment);
        graph.constants();
        graph.cycle()
    }

    /// The order that an assignment wants, with the bounds of each path.
    pub(super) fn comparisons(&self, assignment: &Assignment<'_>) -> Graph {
        let mut graph = Graph::default();
        for ordered in &self.orders {
            let [not_false, not_true] = ordered.vars;
            let value = |var: Option<u32>| var.and_then(|var| assignment.value(var));
            let (is_true, vars) = match (value(not_false), value(not_true)) {
                (Some(false), _) => (false, vec![not_false]),
                (Some(true), Some(false)) => (true, vec![not_false, not_true]),
                _ => continue,
            };
            let literals: Vec<Literal> = assignment.of(|var| vars.contains(&Some(var))).collect();
            let [own, other] =
                [&ordered.own, &ordered.other].map(|place| Node::Path(place.clone()));
            let (up, down) = ((own.clone(), other.clone()), (other, own));
            match (ordered.op, is_true) {
                ("eq", true) => {
                    graph.edge(up, false, &literals);
                    graph.edge(down, false, &literals);
                }
                ("lt", true) | ("ge", false) => graph.edge(up, true, &literals),
                ("le", true) | ("gt", false) => graph.edge(up, false, &literals),
                ("gt", true) | ("le", false) => graph.edge(down, true, &literals),
                ("ge", true) | ("lt", false) => graph.edge(down, false, &literals),
                _ => {}
            }
        }
        for node in graph.nodes.clone() {
            if let Node::Path(place) = &node {
                self.bound(&mut graph, place, assignment);
            }
        }
        graph
    }

    /// Adds the constants between which an assignment has the value of a path.
    fn bound(&self, graph: &mut Graph, place: &Place, assignment: &Assignment<'_>) {
        let Some(here) = self.places.get(place).and_then(|at| self.slots.get(*at)) else {
            return;
        };
        let path = || Node::Path(place.clone());
        if let Some((Some(texts), literals)) = self.constants(place, assignment) {
            if let (Some(least), Some(most)) = (texts.first(), texts.last()) {
                graph.edge((Node::Text(least.clone()), path()), false, &literals);
                graph.edge((path(), Node::Text(most.clone())), false, &literals);
            }
            return;
        }
        let Some(mut literals) = self.certain(place, Kind::Number, assignment) else {
            return;
        };
        literals.extend(assignment.of(|var| here.number.has(var)));
        let left = codes(here.number, here.numbers.cells.len(), assignment);
        let (Some(&least), Some(&most)) = (left.iter().min(), left.iter().max()) else {
            return;
        };
        if let [Some((low, is_cut)), _] = here.numbers.bounds(least) {
            graph.edge((Node::Number(low), path()), !is_cut, &literals);
        }
        if let [_, Some((high, is_cut))] = here.numbers.bounds(most) {
            graph.edge((path(), Node::Number(high)), !is_cut, &literals);
        }
    }
}
