//! Long texts by repetition of one character.

use std::collections::VecDeque;

use super::TheoryBudget;
use super::product::Product;
use super::spans::Spans;

/// The most states of a product in which a repetition is looked for.
const MOST: usize = 2_000;

/// One way from the start to a state, or from it to the end: its characters, its length, and the next state of the way with
/// the class of the character in between.
#[derive(Clone, Copy)]
struct Way {
    chars: u64,
    length: u64,
    link: Option<(u32, u32)>,
}

impl Way {
    const EMPTY: Self = Self {
        chars: 0,
        length: 0,
        link: None,
    };

    fn longer(self, length: u64, link: (u32, u32)) -> Self {
        Self {
            chars: self.chars + 1,
            length: self.length + length,
            link: Some(link),
        }
    }
}

/// A state that was met.
#[derive(Clone, Default)]
struct Met {
    from: Option<Way>,
    to: Option<Way>,
    /// A class of one unit that leads back to the state.
    again: Option<u32>,
    /// The states that lead here, and the classes.
    back: Vec<(u32, u32)>,
}

/// A text of the least length that is allowed: from the start to a state that a character leads back to, that character as
/// often as needed, and on to the end. `bytes`: lengths are in bytes. `None` says nothing.
pub(super) fn pumped(
    product: &mut Product<'_, '_>,
    lengths: &Spans,
    bytes: bool,
    budget: &TheoryBudget,
) -> Option<String> {
    let start = product.start()?;
    let met = explore(product, start, bytes, budget)?;
    let at = |node: u32| met.get(node as usize);
    // No text has fewer characters than this one.
    let length = lengths.next(at(start)?.to?.chars)?;
    let through = |met: &Met| {
        let length = met.from?.length + met.to?.length;
        met.again.map(|again| (length, again))
    };
    let ways = (0..)
        .zip(&met)
        .filter_map(|(node, met)| Some((through(met)?, node)));
    let ((least, again), node) = ways.min_by_key(|((length, _), node)| (*length, *node))?;
    let more = usize::try_from(length.checked_sub(least)?).ok()?;

    let mut text = Vec::new();
    let mut before = at(node)?.from?.link;
    while let Some((node, class)) = before {
        text.push(product.sample(class));
        before = at(node)?.from?.link;
    }
    text.reverse();
    text.extend(std::iter::repeat_n(product.sample(again), more));
    let mut behind = at(node)?.to?.link;
    while let Some((node, class)) = behind {
        text.push(product.sample(class));
        behind = at(node)?.to?.link;
    }
    Some(text.into_iter().collect())
}

/// Meets every state, and finds a way with the fewest characters from the start to it and from it to the end; `None` if the
/// states are many.
fn explore(
    product: &mut Product<'_, '_>,
    start: u32,
    bytes: bool,
    budget: &TheoryBudget,
) -> Option<Vec<Met>> {
    let mut met: Vec<Met> = Vec::new();
    let mut queue = VecDeque::from([(start, Way::EMPTY)]);
    let mut ends = VecDeque::new();
    while let Some((node, from)) = queue.pop_front() {
        if product.nodes.len() > MOST.min(budget.states) {
            return None;
        }
        met.resize(product.nodes.len().max(met.len()), Met::default());
        let place = met.get_mut(node as usize)?;
        if place.from.is_some() {
            continue;
        }
        place.from = Some(from);
        if product.accepts(node) {
            ends.push_back((node, Way::EMPTY));
        }
        let next = product.next(node);
        met.resize(product.nodes.len(), Met::default());
        for (class, next) in next.iter() {
            let unit = unit(product, *class, bytes);
            let place = met.get_mut(*next as usize)?;
            place.back.push((node, *class));
            if *next == node && unit == 1 {
                place.again.get_or_insert(*class);
            }
            queue.push_back((*next, from.longer(unit, (node, *class))));
        }
    }
    while let Some((node, to)) = ends.pop_front() {
        let place = met.get_mut(node as usize)?;
        if place.to.is_some() {
            continue;
        }
        place.to = Some(to);
        for (before, class) in &place.back {
            let unit = unit(product, *class, bytes);
            ends.push_back((*before, to.longer(unit, (node, *class))));
        }
    }
    Some(met)
}

/// The length of a character of a class.
fn unit(product: &Product<'_, '_>, class: u32, bytes: bool) -> u64 {
    match bytes {
        true => product.sample(class).len_utf8() as u64,
        false => 1,
    }
}
