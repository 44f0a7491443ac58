//! Long texts by repetition of one character.

use std::collections::VecDeque;

use super::TheoryBudget;
use super::product::Product;
use super::spans::Spans;

/// The most states of a product in which a repetition is looked for.
const MOST: usize = 2_000;

/// A state that was met.
#[derive(Clone, Copy, Default)]
struct Met {
    /// The fewest characters from the start, with the state before and the class of the last one.
    from: Option<(u64, Option<(u32, u32)>)>,
    /// The fewest characters to a text that passes, with the class of the first one and the state behind it.
    to: Option<(u64, Option<(u32, u32)>)>,
    /// A class that leads back to the state.
    again: Option<u32>,
}

/// A text of the least length that is allowed: from the start to a state that a character leads back to, that character as
/// often as needed, and on to the end. `None` says nothing.
pub(super) fn pumped(
    product: &mut Product<'_, '_>,
    lengths: &Spans,
    budget: &TheoryBudget,
) -> Option<String> {
    let mut met: Vec<Met> = Vec::new();
    let mut back: Vec<Vec<(u32, u32)>> = Vec::new();
    let start = product.start()?;
    let mut queue = VecDeque::from([(start, (0, None))]);
    let mut ends = VecDeque::new();
    while let Some((node, from)) = queue.pop_front() {
        let at = node as usize;
        if met.len() <= at {
            met.resize(at + 1, Met::default());
            back.resize(at + 1, Vec::new());
        }
        let place = met.get_mut(at)?;
        if place.from.is_some() {
            continue;
        }
        place.from = Some(from);
        if product.nodes.len() > MOST.min(budget.states) {
            return None;
        }
        if product.accepts(node) {
            ends.push_back((node, (0, None)));
        }
        for (class, next) in product.next(node).iter() {
            if *next == node {
                met.get_mut(at)?.again.get_or_insert(*class);
            }
            let place = *next as usize;
            if back.len() <= place {
                met.resize(place + 1, Met::default());
                back.resize(place + 1, Vec::new());
            }
            back.get_mut(place)?.push((node, *class));
            queue.push_back((*next, (from.0 + 1, Some((node, *class)))));
        }
    }
    while let Some((node, to)) = ends.pop_front() {
        let place = met.get_mut(node as usize)?;
        if place.to.is_some() {
            continue;
        }
        place.to = Some(to);
        for (before, class) in back.get(node as usize)? {
            ends.push_back((*before, (to.0 + 1, Some((*class, node)))));
        }
    }
    // No text is shorter than this one.
    let shortest = met.get(start as usize)?.to?.0;
    let length = lengths.next(shortest)?;
    let through = |met: &Met| Some(met.from?.0 + met.to?.0).filter(|_| met.again.is_some());
    let best = (0_usize..)
        .zip(&met)
        .filter_map(|(node, met)| Some((through(met)?, node)));
    let (least, node) = best.min()?;
    let more = length.checked_sub(least)?;

    let mut text = Vec::new();
    let mut before = met.get(node)?.from?.1;
    while let Some((node, class)) = before {
        text.push(product.sample(class));
        before = met.get(node as usize)?.from?.1;
    }
    text.reverse();
    let again = product.sample(met.get(node)?.again?);
    text.extend(std::iter::repeat_n(again, usize::try_from(more).ok()?));
    let mut behind = met.get(node)?.to?.1;
    while let Some((class, node)) = behind {
        text.push(product.sample(class));
        behind = met.get(node as usize)?.to?.1;
    }
    Some(text.into_iter().collect())
}
