//! The deterministic states of a pattern, character by character, for the analysis of policies.
//!
//! They are built from the steps of [`super::nfa`], as [`super::nfa_sim`] walks them, so that both find the same texts.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, VecDeque};

use regex_syntax::hir::{Look, LookSet};

use super::nfa::{Nfa, Place, Step, holds};
use super::{Dialect, Pattern};
use crate::bytes::hash::Keyed;

/// The state before the first character, unless the pattern is found in every text.
const START: u32 = 0;

/// The state after a match: it stays.
pub(crate) const FOUND: u32 = 1;

/// The kind of the last character, as far as the looks of the pattern ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Before {
    Nothing,
    LineFeed,
    Word,
    Other,
}

impl Before {
    fn char(self) -> Option<char> {
        match self {
            Self::Nothing => None,
            Self::LineFeed => Some('\n'),
            Self::Word => Some('a'),
            Self::Other => Some(' '),
        }
    }
}

/// A set of steps that is emptied at no cost.
#[derive(Debug)]
struct Active {
    order: Vec<u32>,
    seen: Vec<u32>,
    round: u32,
    stack: Vec<u32>,
    visits: u64,
}

impl Active {
    fn clear(&mut self) {
        self.order.clear();
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.seen.fill(0);
            self.round = 1;
        }
    }

    fn insert(&mut self, step: u32) -> bool {
        match self.seen.get_mut(step as usize) {
            Some(seen) if *seen != self.round => {
                *seen = self.round;
                true
            }
            Some(_) | None => false,
        }
    }
}

/// The steps that wait for the next character, without those that wait at every place, and the kind of the last character.
type Waiting = (Box<[u32]>, Before);

/// The states of one pattern, built as they are asked for.
#[derive(Debug)]
pub(crate) struct States {
    nfa: Nfa,
    looks: LookSet,
    /// The steps at which a match may begin at every place; of an anchored pattern, at the first place only.
    seeds: Box<[u32]>,
    anchored: bool,
    /// The pattern is found between the bytes of a character, as RE2 searches bytes.
    inside: bool,
    /// The pattern is found in every text.
    always: bool,
    /// For each step the fewest characters from there to a match, if all looks hold.
    rest: Vec<u32>,
    waiting: Vec<Waiting>,
    index: HashMap<Waiting, u32, Keyed>,
    active: Active,
    next: Active,
}

impl States {
    /// The states of a pattern; `None` if it has looks that need more than one character ahead.
    pub(crate) fn new(pattern: &Pattern) -> Option<Self> {
        if pattern.inner.dialect != Dialect::Re2 {
            return None;
        }
        let expression = pattern.inner.expression()?;
        let hir = &expression.hir;
        let nfa = Nfa::new(hir);
        let properties = hir.properties();
        let active = || Active {
            order: Vec::new(),
            seen: vec![0; nfa.steps.len()],
            round: 0,
            stack: Vec::new(),
            visits: 0,
        };
        let mut states = Self {
            looks: properties.look_set(),
            anchored: properties.look_set_prefix().contains(Look::Start),
            seeds: Box::default(),
            inside: false,
            always: false,
            rest: rest(&nfa),
            waiting: Vec::new(),
            index: HashMap::default(),
            active: active(),
            next: active(),
            nfa,
        };
        states.active.clear();
        let always = states.add_first(None);
        states.active.order.sort_unstable();
        states.seeds = states.active.order.clone().into();
        let inside = Place {
            before: Some('\u{80}'),
            after: Some('\u{80}'),
            last: false,
        };
        states.active.clear();
        states.inside = states.add_first(Some(inside));
        // INVARIANT: the first two are `START` and `FOUND`.
        states.waiting = vec![
            (Box::default(), Before::Nothing),
            (Box::default(), Before::Nothing),
        ];
        states.always = always;
        if states.looks.is_empty() && !states.anchored {
            // Nothing tells the first place from another one without a step that waits.
            states.index.insert((Box::default(), Before::Other), START);
        }
        Some(states)
    }

    fn add_first(&mut self, place: Option<Place>) -> bool {
        add(&self.nfa, 0, place, &mut self.active)
    }

    /// The first characters of ranges in which a pattern treats all characters alike.
    pub(crate) fn cuts(&self) -> Vec<u32> {
        let mut cuts = Vec::new();
        for step in &self.nfa.steps {
            match step {
                Step::Char(only) => cuts.extend([u32::from(*only), u32::from(*only) + 1]),
                Step::Class(ranges) => {
                    for (low, high) in ranges {
                        cuts.extend([u32::from(*low), u32::from(*high) + 1]);
                    }
                }
                Step::Look(_) | Step::Split(..) | Step::Jump(_) | Step::Save(_) | Step::Found => {}
            }
        }
        if self.sees_lines() {
            cuts.extend([0xA, 0xB]);
        }
        if self.sees_words() {
            for (low, high) in [('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')] {
                cuts.extend([u32::from(low), u32::from(high) + 1]);
            }
        }
        if self.inside {
            cuts.push(0x80);
        }
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    /// The labels of characters, one from each range of `cuts`, ascending. Equal labels: equal steps from every state.
    pub(crate) fn labels(&self, samples: &[char]) -> Vec<Vec<u32>> {
        let mut classes: BTreeSet<Cow<'_, [(char, char)]>> = BTreeSet::new();
        for step in &self.nfa.steps {
            match step {
                Step::Char(only) => {
                    classes.insert(Cow::Owned(vec![(*only, *only)]));
                }
                Step::Class(ranges) => {
                    classes.insert(Cow::Borrowed(ranges));
                }
                Step::Look(_) | Step::Split(..) | Step::Jump(_) | Step::Save(_) | Step::Found => {}
            }
        }
        let facts = |sample: &char| {
            let beyond = self.inside && !sample.is_ascii();
            vec![self.kind(*sample) as u32, u32::from(beyond)]
        };
        let mut labels: Vec<Vec<u32>> = samples.iter().map(facts).collect();
        for (number, class) in (2..).zip(&classes) {
            for (low, high) in class.iter() {
                let from = samples.partition_point(|sample| sample < low);
                let to = samples.partition_point(|sample| sample <= high);
                for label in labels.get_mut(from..to).unwrap_or_default() {
                    label.push(number);
                }
            }
        }
        labels
    }

    fn sees_lines(&self) -> bool {
        self.looks.contains(Look::StartLF) || self.looks.contains(Look::EndLF)
    }

    fn sees_words(&self) -> bool {
        self.looks.contains(Look::WordAscii) || self.looks.contains(Look::WordAsciiNegate)
    }

    fn kind(&self, found: char) -> Before {
        match found {
            '\n' if self.sees_lines() => Before::LineFeed,
            '0'..='9' | 'A'..='Z' | '_' | 'a'..='z' if self.sees_words() => Before::Word,
            _ => Before::Other,
        }
    }

    /// The state before the first character.
    pub(crate) fn start(&self) -> u32 {
        if self.always { FOUND } else { START }
    }

    /// The steps that were visited so far.
    pub(crate) fn visits(&self) -> u64 {
        self.active.visits + self.next.visits
    }

    /// At least so many characters are missing to a match; the largest number: none follows.
    pub(crate) fn missing(&self, state: u32) -> u32 {
        let Some((waiting, _)) = self.waiting.get(state as usize) else {
            return 0;
        };
        if state == FOUND || self.inside {
            return 0;
        }
        let steps = waiting.iter().chain(self.seeds(state));
        let rest = steps.filter_map(|step| self.rest.get(*step as usize));
        rest.min().copied().unwrap_or(u32::MAX)
    }

    /// The steps at which a match may begin at a state.
    fn seeds(&self, state: u32) -> &[u32] {
        match self.waiting.get(state as usize) {
            Some((_, before)) if self.anchored && *before != Before::Nothing => &[],
            Some(_) | None => &self.seeds,
        }
    }

    /// Prepares the steps that a character after `state` meets; true if the pattern is found before it.
    fn resolve(&mut self, state: u32, after: Option<char>) -> bool {
        let Some((waiting, before)) = self.waiting.get(state as usize) else {
            return false;
        };
        let place = Place {
            before: before.char(),
            after,
            last: false,
        };
        let seeds: &[u32] = match self.anchored && *before != Before::Nothing {
            true => &[],
            false => &self.seeds,
        };
        self.active.clear();
        waiting
            .iter()
            .chain(seeds)
            .any(|step| add(&self.nfa, *step, Some(place), &mut self.active))
    }

    /// The state after another character.
    pub(crate) fn next(&mut self, state: u32, found: char) -> u32 {
        if state == FOUND || (self.inside && !found.is_ascii()) || self.resolve(state, Some(found))
        {
            return FOUND;
        }
        self.next.clear();
        for step in &self.active.order {
            let at = *step as usize;
            if self.nfa.steps.get(at).is_some_and(|at| at.reads(found))
                && add(&self.nfa, step + 1, None, &mut self.next)
            {
                return FOUND;
            }
        }
        let seeds: &[u32] = if self.anchored { &[] } else { &self.seeds };
        self.next
            .order
            .retain(|step| seeds.binary_search(step).is_err());
        self.next.order.sort_unstable();
        let waiting = (self.next.order.as_slice().into(), self.kind(found));
        if let Some(state) = self.index.get(&waiting) {
            return *state;
        }
        let state = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
        self.waiting.push(waiting.clone());
        self.index.insert(waiting, state);
        state
    }

    /// Returns true if the pattern is found in a text that ends at a state.
    pub(crate) fn accepts(&mut self, state: u32) -> bool {
        state == FOUND || self.resolve(state, None)
    }
}

/// Adds the steps reachable from `step` without reading, those behind looks once there is a place; returns true at the end
/// of the pattern.
fn add(nfa: &Nfa, step: u32, place: Option<Place>, active: &mut Active) -> bool {
    active.stack.clear();
    active.stack.push(step);
    while let Some(step) = active.stack.pop() {
        active.visits += 1;
        if !active.insert(step) {
            continue;
        }
        match nfa.steps.get(step as usize) {
            Some(Step::Class(_) | Step::Char(_)) => active.order.push(step),
            Some(Step::Look(look)) => match place {
                Some(place) if holds(Dialect::Re2, *look, place) => active.stack.push(step + 1),
                Some(_) => {}
                None => active.order.push(step),
            },
            Some(Step::Split(one, other)) => {
                active.stack.extend([*one as u32, *other as u32]);
            }
            Some(Step::Jump(to)) => active.stack.push(*to as u32),
            Some(Step::Save(_)) => active.stack.push(step + 1),
            Some(Step::Found) => return true,
            None => {}
        }
    }
    false
}

/// For each step the fewest characters from there to the end of the pattern, if all looks hold; the largest number: there is
/// no way.
fn rest(nfa: &Nfa) -> Vec<u32> {
    let mut back: Vec<Vec<(usize, u32)>> = vec![Vec::new(); nfa.steps.len()];
    let mut found = vec![u32::MAX; nfa.steps.len()];
    let mut queue = VecDeque::new();
    for (at, step) in nfa.steps.iter().enumerate() {
        let mut link = |to: usize, length: u32| {
            if let Some(back) = back.get_mut(to) {
                back.push((at, length));
            }
        };
        match step {
            Step::Class(ranges) if ranges.is_empty() => {}
            Step::Class(_) | Step::Char(_) => link(at + 1, 1),
            Step::Look(_) | Step::Save(_) => link(at + 1, 0),
            Step::Split(one, other) => {
                link(*one, 0);
                link(*other, 0);
            }
            Step::Jump(to) => link(*to, 0),
            Step::Found => queue.push_back((at, 0)),
        }
    }
    // Steps of no length are taken first, so that the first visit of a step is the shortest.
    while let Some((at, length)) = queue.pop_front() {
        match found.get_mut(at) {
            Some(known) if length < *known => *known = length,
            Some(_) | None => continue,
        }
        for (before, more) in back.get(at).into_iter().flatten() {
            match more {
                0 => queue.push_front((*before, length)),
                _ => queue.push_back((*before, length.saturating_add(*more))),
            }
        }
    }
    found
}
