//! Monitors: formulas of past events as a few words of state, one step an event.
//!
//! The last time at which a part was true decides every window, so that no event is kept: of two events at which
//! `formerly` or `since` could have begun, the later one is within more windows, and less has to hold after it.

use crate::ir::memory::FormulaNode;

/// The state of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    /// The truth at the last event.
    pub(super) now: bool,
    /// The truth at the event before it.
    pub(super) was: bool,
    /// Of a node with a window: the time from which it is measured, if there is one.
    pub(super) since: Option<i64>,
}

/// Takes one event: its time, the time of the event before it, and the truth of each atom.
pub(super) fn step<E>(
    nodes: &[FormulaNode],
    cells: &mut [Cell],
    (at, before): (i64, Option<i64>),
    mut atom: impl FnMut(&FormulaNode) -> Result<bool, E>,
) -> Result<(), E> {
    for (place, node) in nodes.iter().enumerate() {
        let (known, rest) = cells.split_at_mut(place);
        let Some(cell) = rest.first_mut() else {
            break;
        };
        let now = |part: &u32| known.get(*part as usize).is_some_and(|part| part.now);
        let was = |part: &u32| known.get(*part as usize).is_some_and(|part| part.was);
        cell.was = cell.now;
        match node {
            FormulaNode::Call(_) | FormulaNode::Result(_) => cell.now = atom(node)?,
            FormulaNode::Not(item) => cell.now = !now(item),
            FormulaNode::All(items) => cell.now = items.iter().all(now),
            FormulaNode::Any(items) => cell.now = items.iter().any(now),
            FormulaNode::Previous(item, within) => {
                cell.since = before.filter(|_| was(item));
                cell.now = recent(cell.since, at, *within);
            }
            FormulaNode::Formerly(item, within) => {
                if now(item) {
                    cell.since = Some(at);
                }
                cell.now = recent(cell.since, at, *within);
            }
            FormulaNode::Since(holds, start, within) => {
                if now(start) {
                    cell.since = Some(at);
                } else if !now(holds) {
                    cell.since = None;
                }
                cell.now = recent(cell.since, at, *within);
            }
        }
    }
    Ok(())
}

/// The truth of a formula at the last event; windows that are in no other are measured to the time of the decision.
/// `None`: it is measured and there is no time.
pub(super) fn value(nodes: &[FormulaNode], cells: &[Cell], now: Option<i64>) -> Option<bool> {
    at(nodes, cells, nodes.len().checked_sub(1)?, now)
}

fn at(nodes: &[FormulaNode], cells: &[Cell], place: usize, now: Option<i64>) -> Option<bool> {
    let cell = cells.get(place)?;
    let part = |part: &u32| at(nodes, cells, *part as usize, now);
    match nodes.get(place)? {
        FormulaNode::Call(_) | FormulaNode::Result(_) => Some(cell.now),
        FormulaNode::Not(item) => Some(!part(item)?),
        FormulaNode::All(items) => items
            .iter()
            .try_fold(true, |all, item| Some(part(item)? && all)),
        FormulaNode::Any(items) => items
            .iter()
            .try_fold(false, |any, item| Some(part(item)? || any)),
        FormulaNode::Previous(_, within)
        | FormulaNode::Formerly(_, within)
        | FormulaNode::Since(_, _, within) => match within {
            None => Some(cell.since.is_some()),
            Some(_) => Some(recent(cell.since, now?, *within)),
        },
    }
}

/// Returns true if there is a time and it is in the window.
fn recent(since: Option<i64>, now: i64, within: Option<i64>) -> bool {
    since.is_some_and(|since| within.is_none_or(|within| now.saturating_sub(since) <= within))
}
