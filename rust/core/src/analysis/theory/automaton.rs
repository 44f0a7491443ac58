//! Automata over characters, whose states are built as they are needed.

use std::collections::{BTreeSet, VecDeque};

use super::alphabet::Alphabet;
use super::count::Count;
use super::lower::Lower;
use super::order::Order;
use super::words::{Place, Words};
use crate::regex::states::{FOUND, States};

/// A number of steps that no text takes.
pub(super) const FAR: u32 = u32::MAX;

/// The most states of an automaton that is explored to its end, and the most transitions.
const COMPLETE: (usize, usize) = (2_000, 100_000);

/// The most visits of steps of a pattern in which an automaton is explored: some 50 ms.
const WORK: u64 = 20_000_000;

/// No transition yet.
const UNKNOWN: u32 = u32::MAX;

/// Facts of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// A text that ends here passes.
    pub(super) accepts: bool,
    /// At least so many characters are missing to a text that passes; [`FAR`]: none follows.
    pub(super) to_accept: u32,
    /// The same of a text that does not.
    pub(super) to_reject: u32,
}

impl Facts {
    /// The facts of a state after which all texts have the same result.
    pub(super) fn certain(accepts: bool) -> Self {
        Self {
            accepts,
            to_accept: if accepts { 0 } else { FAR },
            to_reject: if accepts { FAR } else { 0 },
        }
    }

    /// The fewest characters to a text with a result.
    pub(super) fn distance(self, wanted: bool) -> u32 {
        if wanted {
            self.to_accept
        } else {
            self.to_reject
        }
    }
}

/// The maker of the states of an automaton.
#[derive(Debug)]
pub(super) enum Source {
    /// A pattern that is searched for.
    Pattern(Box<States>),
    /// Words at a place.
    Words(Words),
    /// A bound.
    Order(Order),
    /// A length.
    Count(Count),
    /// The lower case.
    Lower(Box<Lower>),
    /// A suffix behind the text.
    Appended(Box<Automaton>, Box<str>),
}

/// A deterministic automaton.
#[derive(Debug)]
pub(super) struct Automaton {
    pub(super) alphabet: Alphabet,
    source: Source,
    rows: Vec<Option<Box<[u32]>>>,
    facts: Vec<Option<Facts>>,
    explored: bool,
}

impl Automaton {
    fn new(alphabet: Alphabet, source: Source) -> Self {
        Self {
            alphabet,
            source,
            rows: Vec::new(),
            facts: Vec::new(),
            explored: false,
        }
    }

    pub(super) fn pattern(states: States) -> Self {
        let alphabet = Alphabet::new(states.cuts(), |samples| states.labels(samples));
        Self::new(alphabet, Source::Pattern(Box::new(states)))
    }

    pub(super) fn words(place: Place, words: &[String]) -> Self {
        let cuts = Words::cuts(words);
        let letters: BTreeSet<char> = words.iter().flat_map(|word| word.chars()).collect();
        let label = |sample: &char| letters.get(sample).copied();
        let alphabet = Alphabet::new(cuts, |samples| samples.iter().map(label).collect());
        Self::new(alphabet, Source::Words(Words::new(place, words)))
    }

    pub(super) fn order(bound: &str, inclusive: bool) -> Self {
        let alphabet = Alphabet::new(Order::cuts(bound), <[char]>::to_vec);
        Self::new(alphabet, Source::Order(Order::new(bound, inclusive)))
    }

    pub(super) fn count(bytes: bool, min: u64, max: Option<u64>) -> Self {
        let alphabet = Alphabet::new(Count::cuts(bytes), <[char]>::to_vec);
        Self::new(alphabet, Source::Count(Count::new(bytes, min, max)))
    }

    pub(super) fn lower(inner: Self) -> Self {
        let lower = Lower::new(inner);
        Self::new(lower.alphabet(), Source::Lower(Box::new(lower)))
    }

    pub(super) fn appended(inner: Self, suffix: &str) -> Self {
        let alphabet = inner.alphabet.clone();
        Self::new(alphabet, Source::Appended(Box::new(inner), suffix.into()))
    }

    pub(super) fn start(&self) -> u32 {
        match &self.source {
            Source::Pattern(states) => states.start(),
            Source::Words(words) => words.start(),
            Source::Order(_) | Source::Count(_) | Source::Lower(_) => 0,
            Source::Appended(inner, _) => inner.start(),
        }
    }

    /// The state after a character of a class.
    pub(super) fn step(&mut self, state: u32, class: u32) -> u32 {
        let at = state as usize;
        if let Some(Some(row)) = self.rows.get(at)
            && let Some(to) = row.get(class as usize)
            && *to != UNKNOWN
        {
            return *to;
        }
        let sample = self.alphabet.sample(class);
        let to = match &mut self.source {
            Source::Pattern(states) => states.next(state, sample),
            Source::Words(words) => words.next(state, sample),
            Source::Order(order) => order.next(state, sample),
            Source::Count(count) => return count.next(state, sample),
            Source::Lower(lower) => lower.next(state, sample),
            Source::Appended(inner, _) => return inner.step(state, class),
        };
        if self.rows.len() <= at {
            self.rows.resize(at + 1, None);
        }
        let classes = self.alphabet.len();
        if let Some(row) = self.rows.get_mut(at) {
            let row = row.get_or_insert_with(|| vec![UNKNOWN; classes].into());
            if let Some(place) = row.get_mut(class as usize) {
                *place = to;
            }
        }
        to
    }

    /// The facts of a state.
    pub(super) fn facts(&mut self, state: u32) -> Facts {
        let at = state as usize;
        if let Some(Some(facts)) = self.facts.get(at) {
            return *facts;
        }
        let facts = match &mut self.source {
            Source::Pattern(_) if state == FOUND => Facts::certain(true),
            Source::Pattern(states) => match (states.accepts(state), states.missing(state)) {
                (false, FAR) => Facts::certain(false),
                (accepts, missing) => Facts {
                    accepts,
                    to_accept: if accepts { 0 } else { missing.max(1) },
                    to_reject: u32::from(accepts),
                },
            },
            Source::Words(words) => words.facts(state),
            Source::Order(order) => order.facts(state),
            Source::Count(count) => return count.facts(state),
            Source::Lower(lower) => lower.facts(state),
            Source::Appended(inner, suffix) => {
                let facts = inner.facts(state);
                let end = inner.run(state, suffix);
                let accepts = inner.facts(end).accepts;
                let least = |steps: u32| if steps == FAR { FAR } else { 0 };
                Facts {
                    accepts,
                    to_accept: least(facts.to_accept),
                    to_reject: least(facts.to_reject),
                }
            }
        };
        self.set_facts(at, facts);
        facts
    }

    fn set_facts(&mut self, at: usize, facts: Facts) {
        if self.facts.len() <= at {
            self.facts.resize(at + 1, None);
        }
        if let Some(place) = self.facts.get_mut(at) {
            *place = Some(facts);
        }
    }

    /// The state after a text.
    pub(super) fn run(&mut self, mut state: u32, text: &str) -> u32 {
        for found in text.chars() {
            let class = self.alphabet.class(found);
            state = self.step(state, class);
        }
        state
    }

    /// Returns true if a text passes.
    pub(super) fn accepts(&mut self, text: &str) -> bool {
        let mut state = self.start();
        for found in text.chars() {
            let facts = self.facts(state);
            if facts.to_accept == FAR || facts.to_reject == FAR {
                return facts.accepts;
            }
            let class = self.alphabet.class(found);
            state = self.step(state, class);
        }
        self.facts(state).accepts
    }

    /// The work that the states took so far, in visits of steps of patterns.
    pub(super) fn work(&self) -> u64 {
        match &self.source {
            Source::Pattern(states) => states.visits(),
            Source::Lower(lower) => lower.inner().work(),
            Source::Appended(inner, _) => inner.work(),
            Source::Words(_) | Source::Order(_) | Source::Count(_) => 0,
        }
    }

    /// Explores all states, if they are few, for the exact distances.
    pub(super) fn explore(&mut self) {
        let known = match &self.source {
            // Their facts are good enough, and their states may be many.
            Source::Words(_) | Source::Order(_) | Source::Count(_) => true,
            Source::Pattern(_) | Source::Lower(_) | Source::Appended(..) => false,
        };
        if std::mem::replace(&mut self.explored, true) || known {
            return;
        }
        let classes = self.alphabet.len() as u32;
        let most = COMPLETE
            .0
            .min(COMPLETE.1 / (classes as usize).max(1))
            .max(64);
        let mut order = vec![self.start()];
        let mut seen = vec![false; self.start() as usize + 1];
        if let Some(place) = seen.last_mut() {
            *place = true;
        }
        // For each state those it is reached from.
        let mut back: Vec<Vec<u32>> = Vec::new();
        let mut at = 0;
        while let Some(state) = order.get(at).copied() {
            at += 1;
            for class in 0..classes {
                let to = self.step(state, class);
                let place = to as usize;
                if seen.len() <= place {
                    seen.resize(place + 1, false);
                }
                if back.len() <= place {
                    back.resize(place + 1, Vec::new());
                }
                if let Some(from) = back.get_mut(place)
                    && from.last() != Some(&state)
                {
                    from.push(state);
                }
                if let Some(seen) = seen.get_mut(place)
                    && !std::mem::replace(seen, true)
                {
                    order.push(to);
                }
            }
            if order.len() > most || self.work() > WORK {
                return;
            }
        }
        let to_accept = self.distances(&order, &back, true);
        let to_reject = self.distances(&order, &back, false);
        for state in &order {
            let at = *state as usize;
            let facts = Facts {
                accepts: self.facts(*state).accepts,
                to_accept: to_accept.get(at).copied().unwrap_or(FAR),
                to_reject: to_reject.get(at).copied().unwrap_or(FAR),
            };
            self.set_facts(at, facts);
        }
    }

    /// The fewest steps from each state to one with a result.
    fn distances(&mut self, order: &[u32], back: &[Vec<u32>], wanted: bool) -> Vec<u32> {
        let size = order.iter().max().map_or(0, |last| *last as usize + 1);
        let mut found = vec![FAR; size];
        let mut queue = VecDeque::new();
        for state in order {
            if self.facts(*state).accepts == wanted
                && let Some(place) = found.get_mut(*state as usize)
            {
                *place = 0;
                queue.push_back(*state);
            }
        }
        while let Some(state) = queue.pop_front() {
            let steps = found.get(state as usize).map_or(FAR, |steps| steps + 1);
            for from in back.get(state as usize).into_iter().flatten() {
                if let Some(place) = found.get_mut(*from as usize)
                    && *place == FAR
                {
                    *place = steps;
                    queue.push_back(*from);
                }
            }
        }
        found
    }
}
