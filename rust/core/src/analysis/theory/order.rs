//! The automaton of texts from a bound on, by the order of code points.

use super::automaton::Facts;

/// How far a text is the bound; behind that, the states of texts that are less and that are greater whatever follows.
#[derive(Debug)]
pub(super) struct Order {
    bound: Vec<char>,
    inclusive: bool,
}

impl Order {
    pub(super) fn new(bound: &str, inclusive: bool) -> Self {
        Self {
            bound: bound.chars().collect(),
            inclusive,
        }
    }

    pub(super) fn cuts(bound: &str) -> Vec<u32> {
        let cuts = bound.chars().map(u32::from);
        cuts.flat_map(|found| [found, found + 1]).collect()
    }

    fn less(&self) -> u32 {
        self.bound.len() as u32 + 1
    }

    fn greater(&self) -> u32 {
        self.bound.len() as u32 + 2
    }

    pub(super) fn next(&self, state: u32, found: char) -> u32 {
        match self.bound.get(state as usize) {
            Some(wanted) if found == *wanted => state + 1,
            Some(wanted) if found < *wanted => self.less(),
            Some(_) => self.greater(),
            // Longer than the bound.
            None if state < self.less() => self.greater(),
            None => state,
        }
    }

    pub(super) fn facts(&self, state: u32) -> Facts {
        if state >= self.less() {
            return Facts::certain(state == self.greater());
        }
        match (state as usize == self.bound.len(), self.inclusive) {
            (true, true) => Facts::certain(true),
            (true, false) => Facts {
                accepts: false,
                to_accept: 1,
                to_reject: 0,
            },
            (false, _) => Facts {
                accepts: false,
                // The least that any way takes.
                to_accept: 1,
                to_reject: 0,
            },
        }
    }
}
