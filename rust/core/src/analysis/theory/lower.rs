//! The automaton of texts whose lower case another automaton accepts.

use std::collections::HashMap;

use super::alphabet::Alphabet;
use super::automaton::{Automaton, FAR, Facts};
use crate::bytes::hash::Keyed;
use crate::chars::lowering::{Context, SIGMA, SIGMAS, cuts, lowered};

/// The state of the inner automaton, and what is known about the sigma rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    /// Of a sigma that waits for what follows: as one within a word.
    inner: u32,
    /// Of a sigma that waits: as one at the end of a word.
    at_end: Option<u32>,
    /// A letter precedes, apart from what is skipped.
    in_word: bool,
}

/// An automaton behind `str.lower`.
#[derive(Debug)]
pub(super) struct Lower {
    inner: Automaton,
    /// The inner automaton tells the lower cases of sigma from each other.
    sigmas: bool,
    states: Vec<State>,
    index: HashMap<State, u32, Keyed>,
}

impl Lower {
    pub(super) fn new(inner: Automaton) -> Self {
        let (within, at_end) = SIGMAS;
        let sigmas = inner.alphabet.class(within) != inner.alphabet.class(at_end);
        let start = State {
            inner: inner.start(),
            at_end: None,
            in_word: false,
        };
        Self {
            inner,
            sigmas,
            states: vec![start],
            index: HashMap::from_iter([(start, 0)]),
        }
    }

    pub(super) fn inner(&self) -> &Automaton {
        &self.inner
    }

    /// The classes of characters whose lower cases the inner automaton treats alike.
    pub(super) fn alphabet(&self) -> Alphabet {
        let inner = &self.inner.alphabet;
        let label = |found: &char| {
            let classes: Vec<u32> = lowered(*found).chars().map(|to| inner.class(to)).collect();
            let context = self.sigmas.then(|| (Context::of(*found), *found == SIGMA));
            (classes, context)
        };
        Alphabet::new(inner.cuts().chain(cuts(self.sigmas)), |samples| {
            samples.iter().map(label).collect()
        })
    }

    fn run(&mut self, state: u32, found: char) -> u32 {
        let class = self.inner.alphabet.class(found);
        self.inner.step(state, class)
    }

    fn state(&self, state: u32) -> State {
        self.states.get(state as usize).copied().unwrap_or(State {
            inner: 0,
            at_end: None,
            in_word: false,
        })
    }

    pub(super) fn next(&mut self, state: u32, found: char) -> u32 {
        let State {
            mut inner,
            at_end,
            in_word,
        } = self.state(state);
        if !self.sigmas {
            for to in lowered(found).chars() {
                inner = self.run(inner, to);
            }
            return self.intern(State {
                inner,
                at_end: None,
                in_word: false,
            });
        }
        let context = Context::of(found);
        let next = if context == Context::Ignorable {
            let (mut inner, mut at_end) = (inner, at_end);
            for to in lowered(found).chars() {
                inner = self.run(inner, to);
                at_end = at_end.map(|at_end| self.run(at_end, to));
            }
            State {
                inner,
                at_end,
                in_word,
            }
        } else {
            let cased = context == Context::Cased;
            if let Some(at_end) = at_end
                && !cased
            {
                inner = at_end;
            }
            if found == SIGMA {
                let at_end = in_word.then(|| self.run(inner, SIGMAS.1));
                State {
                    inner: self.run(inner, SIGMAS.0),
                    at_end,
                    in_word: true,
                }
            } else {
                for to in lowered(found).chars() {
                    inner = self.run(inner, to);
                }
                State {
                    inner,
                    at_end: None,
                    in_word: cased,
                }
            }
        };
        self.intern(next)
    }

    fn intern(&mut self, mut state: State) -> u32 {
        if state.at_end == Some(state.inner) {
            state.at_end = None;
        }
        let next = self.states.len() as u32;
        let at = *self.index.entry(state).or_insert(next);
        if at == next {
            self.states.push(state);
        }
        at
    }

    pub(super) fn facts(&mut self, state: u32) -> Facts {
        let State { inner, at_end, .. } = self.state(state);
        let facts = self.inner.facts(at_end.unwrap_or(inner));
        // One character may become two.
        let half = |steps: u32| if steps == FAR { FAR } else { steps.div_ceil(2) };
        let (to_accept, to_reject) = (half(facts.to_accept), half(facts.to_reject));
        match at_end {
            None => Facts {
                to_accept,
                to_reject,
                ..facts
            },
            Some(_) => {
                let other = self.inner.facts(inner);
                Facts {
                    accepts: facts.accepts,
                    to_accept: to_accept.min(half(other.to_accept)),
                    to_reject: to_reject.min(half(other.to_reject)),
                }
            }
        }
    }
}
