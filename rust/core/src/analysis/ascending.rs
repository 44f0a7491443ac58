//! Values for paths that clauses compare with each other by order: along a chain, each is a step above the one before.

use crate::json::Json;
use crate::num::number::Number;

use super::model::Assignment;
use super::order::{Graph, Node};
use super::pair::can_have;
use super::sample;
use super::slot::Place;
use super::space::Space;

/// The steps from one number to the next.
const STEPS: [f64; 2] = [1.0, 1.0 / 1024.0];

/// Values of several paths.
pub(super) type Together = Vec<(Place, Json<'static>)>;

impl Space<'_> {
    /// Numbers, and texts, that have the order of an assignment, as guesses for the evaluator.
    pub(super) fn ascending(&self, assignment: &Assignment<'_>) -> Vec<Together> {
        let graph = self.comparisons(assignment);
        let paths = graph.nodes.iter();
        if paths.filter(|node| matches!(node, Node::Path(_))).count() < 3 {
            // Values near that of one path are tried for the other one.
            return Vec::new();
        }
        let numbers = graph.nodes.iter().filter_map(|node| match node {
            Node::Number(number) => float_of(number),
            Node::Path(_) | Node::Text(_) => None,
        });
        let least = numbers.fold(0.0, f64::min);
        let mut made = Vec::new();
        for step in STEPS {
            let below = least - step * graph.nodes.len() as f64;
            for base in [0.0, below] {
                let ranks = graph.ranks(base, step);
                made.extend(ranks.and_then(|ranks| graph.valued(&ranks, &number)));
            }
        }
        let ranks = graph.ranks(0.0, 1.0);
        let text = |rank: f64| sample::text(&"a".repeat(1 + rank as usize));
        made.extend(ranks.and_then(|ranks| graph.valued(&ranks, &text)));
        made.dedup();
        made
    }
}

impl Graph {
    /// The least numbers from `base` on that have the order; `None`: a constant is too small for it, or is a text.
    fn ranks(&self, base: f64, step: f64) -> Option<Vec<f64>> {
        let values = self.nodes.iter().map(|node| match node {
            Node::Path(_) => Some(base),
            Node::Number(number) => float_of(number),
            Node::Text(_) => None,
        });
        let mut values: Vec<f64> = values.collect::<Option<_>>()?;
        for _ in 0..=self.nodes.len() {
            let mut is_ordered = true;
            for edge in &self.edges {
                let low = *values.get(edge.low)?;
                let least = if edge.strict { low + step } else { low };
                let high = values.get_mut(edge.high)?;
                let is_fixed = matches!(self.nodes.get(edge.high), Some(Node::Number(_)));
                let fits = if is_fixed && edge.strict {
                    low < *high
                } else {
                    least <= *high
                };
                if !fits {
                    if is_fixed {
                        return None;
                    }
                    *high = least;
                    is_ordered = false;
                }
            }
            if is_ordered {
                return Some(values);
            }
        }
        None
    }

    /// The values of the paths; `None`: a request cannot have one of them.
    fn valued(&self, ranks: &[f64], value: &dyn Fn(f64) -> Json<'static>) -> Option<Together> {
        let mut made = Vec::new();
        for (node, rank) in self.nodes.iter().zip(ranks) {
            if let Node::Path(place) = node {
                let value = value(*rank);
                if !can_have(place, &value) {
                    return None;
                }
                made.push((place.clone(), value));
            }
        }
        Some(made)
    }
}

fn number(value: f64) -> Json<'static> {
    sample::json_number(&Number::from_float(value))
}

fn float_of(number: &Number) -> Option<f64> {
    match number {
        Number::Int(value) => Some(*value as f64),
        Number::Float(value) => Some(*value),
        Number::Big(_) => None,
    }
}
