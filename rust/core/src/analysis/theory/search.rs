//! The search for a shortest text, in the product of automata.
//!
//! The states of the product are met with the most promising first: nearest to a text that passes, by the distances of the
//! single automata, so that the first text that is found is a shortest one.

use std::collections::{BTreeMap, HashMap};

use super::alphabet::weight;
use super::automaton::FAR;
use super::formula::Leaves;
use super::product::{Goal, Parts, Product};
use super::pump::pumped;
use super::spans::Spans;
use super::{GaveUp, GaveUpCode, TheoryBudget};
use crate::bytes::hash::Keyed;

/// The time is asked for after so many states.
const ROUND: usize = 32;

/// A text at least so long is looked for by repetition first.
const LONG: u64 = 64;

/// A node of the product with what is known about the text before it.
#[derive(Clone, Copy, Debug)]
struct Place {
    node: u32,
    length: u64,
    bytes: u64,
    from: Option<(u32, u32)>,
}

/// Finds a shortest text that has all goals; `None`: no text has.
///
/// # Errors
/// [`GaveUp`] at a budget.
pub(super) fn search(
    leaves: &mut Leaves,
    goals: &[Goal<'_>],
    budget: &TheoryBudget,
) -> Result<Option<String>, GaveUp> {
    let parts = Parts::new(leaves, goals);
    if parts.contradict {
        return Ok(None);
    }
    let by_bytes = !parts.bytes.is_all();
    // The least in characters, unless only bytes are counted.
    let (first, second) = match (by_bytes, parts.chars.is_all()) {
        (true, true) => (parts.bytes.clone(), None),
        (true, false) => (parts.chars.clone(), Some(parts.bytes.clone())),
        (false, _) => (parts.chars.clone(), None),
    };
    let mut product = Product::new(leaves, &parts, by_bytes);
    let only_bytes = by_bytes && second.is_none();
    if second.is_none()
        && first.next(0).is_some_and(|least| least >= LONG)
        && let Some(text) = pumped(&mut product, &first, only_bytes, budget)
    {
        return Ok(Some(text));
    }
    Search {
        counts_bytes: only_bytes,
        weighs: !by_bytes && first.is_all(),
        first,
        second,
        product,
        places: Vec::new(),
        index: HashMap::default(),
        ahead: BTreeMap::new(),
        budget,
    }
    .run()
}

struct Search<'l, 'f, 'b> {
    product: Product<'l, 'f>,
    /// The length that is made small is one in bytes.
    counts_bytes: bool,
    /// Any length will do: what a reader would rather not see counts more.
    weighs: bool,
    first: Spans,
    /// The lengths in bytes, beside those in characters.
    second: Option<Spans>,
    places: Vec<Place>,
    index: HashMap<(u32, u64, u64), u32, Keyed>,
    /// Places by the least length of a text through them, and their own.
    ahead: BTreeMap<u64, Vec<(u64, u32)>>,
    budget: &'b TheoryBudget,
}

impl Search<'_, '_, '_> {
    fn run(mut self) -> Result<Option<String>, GaveUp> {
        if let Some(node) = self.product.start() {
            self.reach(Place {
                node,
                length: 0,
                bytes: 0,
                from: None,
            });
        }
        let found = self.shortest();
        let states = self.product.nodes.len() + self.places.len();
        self.product.leaves.searched += states as u64;
        found
    }

    fn shortest(&mut self) -> Result<Option<String>, GaveUp> {
        let mut rounds = 0;
        while let Some((length, at)) = self.pop() {
            let Some(place) = self.places.get(at as usize).copied() else {
                continue;
            };
            if place.length != length {
                continue;
            }
            rounds += 1;
            self.check(rounds)?;
            let fits = self.first.next(length) == Some(length)
                && self
                    .second
                    .as_ref()
                    .is_none_or(|spans| spans.next(place.bytes) == Some(place.bytes));
            if fits && self.product.accepts(place.node) {
                return Ok(Some(self.text(at)));
            }
            // The last one is taken first: it is the one that a reader would rather see.
            for (class, node) in self.product.next(place.node).iter().rev() {
                let sample = self.product.sample(*class);
                let width = sample.len_utf8() as u64;
                self.reach(Place {
                    node: *node,
                    length: length
                        + match (self.counts_bytes, self.weighs) {
                            (true, _) => width,
                            (false, true) => weight(sample),
                            (false, false) => 1,
                        },
                    bytes: place.bytes + width,
                    from: Some((at, *class)),
                });
            }
        }
        Ok(None)
    }

    fn pop(&mut self) -> Option<(u64, u32)> {
        let mut first = self.ahead.first_entry()?;
        let found = first.get_mut().pop();
        if first.get().is_empty() {
            first.remove();
        }
        found
    }

    fn check(&self, rounds: usize) -> Result<(), GaveUp> {
        let states = self.product.nodes.len() + self.places.len();
        if states > self.budget.states {
            return Err(GaveUp::states(self.budget.states));
        }
        if rounds.is_multiple_of(ROUND)
            && self
                .budget
                .is_over
                .as_ref()
                .is_some_and(|is_over| is_over())
        {
            return Err(GaveUp {
                code: GaveUpCode::Seconds,
                message: "the time is over".to_owned(),
            });
        }
        Ok(())
    }

    /// Notes a place, unless it was reached by a text as short.
    fn reach(&mut self, mut place: Place) {
        let distance = self
            .product
            .nodes
            .get(place.node as usize)
            .map_or(FAR, |node| node.distance);
        let distance = u64::from(distance);
        let Some(least) = self.first.next(place.length + distance) else {
            return;
        };
        match &self.second {
            Some(spans) => {
                if spans.next(place.bytes + distance).is_none() {
                    return;
                }
                if let Some(settled) = spans.settled() {
                    place.bytes = place.bytes.min(settled);
                }
            }
            None => place.bytes = 0,
        }
        let counted = match self.first.settled() {
            _ if self.first.is_downward() => 0,
            Some(settled) => place.length.min(settled),
            None => place.length,
        };
        let next = self.places.len() as u32;
        let at = *self
            .index
            .entry((place.node, counted, place.bytes))
            .or_insert(next);
        match self.places.get_mut(at as usize) {
            None => self.places.push(place),
            Some(known) if place.length < known.length => *known = place,
            Some(_) => return,
        }
        self.ahead
            .entry(least)
            .or_default()
            .push((place.length, at));
    }

    /// The text that leads to a place.
    fn text(&self, at: u32) -> String {
        let mut found = Vec::new();
        let mut place = self.places.get(at as usize);
        while let Some((from, class)) = place.and_then(|place| place.from) {
            found.push(self.product.sample(class));
            place = self.places.get(from as usize);
        }
        found.into_iter().rev().collect()
    }
}
