//! The product of automata, whose states are built as they are met.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::alphabet::Joint;
use super::automaton::{Automaton, FAR, Facts};
use super::formula::{Formula, Leaves, Lengths};
use super::spans::Spans;
use crate::bytes::hash::Keyed;

/// States in place of those of an automaton after which all texts have one result.
const PASSED: u32 = u32::MAX;
const FAILED: u32 = u32::MAX - 1;

/// A formula, and its wanted result.
pub(super) type Goal<'f> = (&'f Formula, bool);

/// Goals in parts that all must hold.
#[derive(Debug)]
pub(super) struct Parts<'f> {
    literals: BTreeMap<usize, bool>,
    complex: Vec<Goal<'f>>,
    pub(super) chars: Spans,
    pub(super) bytes: Spans,
    /// No text has them all.
    pub(super) contradict: bool,
}

impl<'f> Parts<'f> {
    pub(super) fn new(leaves: &Leaves, goals: &[Goal<'f>]) -> Self {
        let mut parts = Self {
            literals: BTreeMap::new(),
            complex: Vec::new(),
            chars: Spans::all(),
            bytes: Spans::all(),
            contradict: false,
        };
        for (formula, wanted) in goals {
            parts.add(leaves, formula, *wanted);
        }
        parts.contradict |= parts.chars.is_empty() || parts.bytes.is_empty();
        parts
    }

    fn add(&mut self, leaves: &Leaves, formula: &'f Formula, wanted: bool) {
        match (formula, wanted) {
            (Formula::Leaf(at), _) => {
                if let Some(Lengths { bytes, min, max }) = leaves.lengths(*at) {
                    let spans = if bytes {
                        &mut self.bytes
                    } else {
                        &mut self.chars
                    };
                    spans.keep(min, max, wanted);
                } else {
                    let known = self.literals.insert(*at, wanted);
                    self.contradict |= known.is_some_and(|known| known != wanted);
                }
            }
            (Formula::Not(inner), _) => self.add(leaves, inner, !wanted),
            (Formula::All(inner), true) | (Formula::Any(inner), false) => {
                inner.iter().for_each(|part| self.add(leaves, part, wanted));
            }
            (Formula::All(inner), false) | (Formula::Any(inner), true) => match inner.as_slice() {
                [only] => self.add(leaves, only, wanted),
                _ => self.complex.push((formula, wanted)),
            },
        }
    }
}

/// Returns true if a goal asks more of a text than to lack something: a search without it finds too little.
pub(super) fn leads(leaves: &Leaves, goal: Goal<'_>) -> bool {
    let parts = Parts::new(leaves, &[goal]);
    parts.contradict
        || !parts.chars.is_all()
        || !parts.bytes.is_all()
        || parts.literals.values().any(|wanted| *wanted)
}

/// A state of the product.
#[derive(Debug)]
pub(super) struct Node {
    states: Rc<[u32]>,
    /// At least so many characters are missing.
    pub(super) distance: u32,
    /// The states that follow, with a class that leads there.
    next: Option<Rc<[(u32, u32)]>>,
}

/// The product of the automata of some goals.
pub(super) struct Product<'l, 'f> {
    pub(super) leaves: &'l mut Leaves,
    slots: Vec<usize>,
    literals: Vec<(usize, bool)>,
    complex: Vec<Goal<'f>>,
    joint: Joint,
    widths: bool,
    pub(super) nodes: Vec<Node>,
    index: HashMap<Rc<[u32]>, u32, Keyed>,
    /// The last state and width that led to each state.
    marks: Vec<u64>,
}

impl<'l, 'f> Product<'l, 'f> {
    pub(super) fn new(leaves: &'l mut Leaves, parts: &Parts<'f>, widths: bool) -> Self {
        let mut slots: BTreeSet<usize> = parts.literals.keys().copied().collect();
        for (formula, _) in &parts.complex {
            formula.leaves(&mut slots);
        }
        let slots: Vec<usize> = slots.into_iter().collect();
        for slot in &slots {
            if let Some(automaton) = leaves.automaton_mut(*slot) {
                automaton.explore();
            }
        }
        let alphabets: Vec<_> = slots
            .iter()
            .filter_map(|slot| leaves.automaton(*slot))
            .collect();
        let alphabets: Vec<_> = alphabets
            .iter()
            .map(|automaton| &automaton.alphabet)
            .collect();
        let joint = Joint::new(&alphabets, widths);
        let place = |leaf: &usize| slots.binary_search(leaf).unwrap_or_default();
        let literals = parts
            .literals
            .iter()
            .map(|(leaf, wanted)| (place(leaf), *wanted));
        Self {
            literals: literals.collect(),
            complex: parts.complex.clone(),
            leaves,
            slots,
            joint,
            widths,
            nodes: Vec::new(),
            index: HashMap::default(),
            marks: Vec::new(),
        }
    }

    pub(super) fn start(&mut self) -> Option<u32> {
        let starts = self.slots.iter().map(|slot| {
            let automaton = self.leaves.automaton(*slot);
            automaton.map_or(FAILED, Automaton::start)
        });
        let mut states: Vec<u32> = starts.collect();
        self.node(&mut states)
    }

    fn facts(&mut self, slot: usize, state: u32) -> Facts {
        match state {
            PASSED => Facts::certain(true),
            FAILED => Facts::certain(false),
            state => {
                let leaf = self.slots.get(slot).copied().unwrap_or_default();
                self.leaves.facts(leaf, state)
            }
        }
    }

    /// The number of the node with these states; `None` if no text that passes goes through it.
    fn node(&mut self, states: &mut [u32]) -> Option<u32> {
        for (slot, place) in states.iter_mut().enumerate() {
            let facts = self.facts(slot, *place);
            if facts.to_reject == FAR {
                *place = PASSED;
            } else if facts.to_accept == FAR {
                *place = FAILED;
            }
        }
        if let Some(known) = self.index.get(&*states) {
            return self
                .nodes
                .get(*known as usize)
                .and_then(|node| (node.distance != FAR).then_some(*known));
        }
        let distance = self.distance(states);
        let number = self.nodes.len() as u32;
        let states: Rc<[u32]> = (&*states).into();
        self.index.insert(Rc::clone(&states), number);
        self.nodes.push(Node {
            states,
            distance,
            next: None,
        });
        self.marks.push(0);
        (distance != FAR).then_some(number)
    }

    fn distance(&mut self, states: &[u32]) -> u32 {
        let mut most = 0;
        for at in 0..self.literals.len() {
            let Some((slot, wanted)) = self.literals.get(at).copied() else {
                continue;
            };
            let state = states.get(slot).copied().unwrap_or(FAILED);
            most = most.max(self.facts(slot, state).distance(wanted));
            if most == FAR {
                return FAR;
            }
        }
        for at in 0..self.complex.len() {
            let Some((formula, wanted)) = self.complex.get(at).copied() else {
                continue;
            };
            let mut leaf = |leaf: usize, wanted: bool| {
                let slot = self.slots.binary_search(&leaf).unwrap_or_default();
                let state = states.get(slot).copied().unwrap_or(FAILED);
                self.facts(slot, state).distance(wanted)
            };
            most = most.max(formula.distance(wanted, &mut leaf));
        }
        most
    }

    /// Returns true if a text that ends at a node passes.
    pub(super) fn accepts(&mut self, node: u32) -> bool {
        let Some(states) = self
            .nodes
            .get(node as usize)
            .map(|node| Rc::clone(&node.states))
        else {
            return false;
        };
        // A bound of the distance may be too low, but never for a text that passes.
        for at in 0..self.literals.len() {
            let Some((slot, wanted)) = self.literals.get(at).copied() else {
                continue;
            };
            let state = states.get(slot).copied().unwrap_or(FAILED);
            if self.facts(slot, state).accepts != wanted {
                return false;
            }
        }
        for at in 0..self.complex.len() {
            let Some((formula, wanted)) = self.complex.get(at).copied() else {
                continue;
            };
            let mut leaf = |leaf: usize| {
                let slot = self.slots.binary_search(&leaf).unwrap_or_default();
                let state = states.get(slot).copied().unwrap_or(FAILED);
                self.facts(slot, state).accepts
            };
            if formula.holds(&mut leaf) != wanted {
                return false;
            }
        }
        true
    }

    pub(super) fn next(&mut self, node: u32) -> Rc<[(u32, u32)]> {
        let Some(known) = self.nodes.get(node as usize) else {
            return Rc::new([]);
        };
        if let Some(next) = &known.next {
            return Rc::clone(next);
        }
        let states = Rc::clone(&known.states);
        let mut found = Vec::new();
        let mut to = Vec::with_capacity(states.len());
        for at in 0..self.joint.classes.len() {
            let Some((sample, classes)) = self.joint.classes.get(at) else {
                continue;
            };
            let mark = 1
                + u64::from(node) * 5
                + if self.widths {
                    sample.len_utf8() as u64
                } else {
                    0
                };
            to.clear();
            for ((state, slot), class) in states.iter().zip(&self.slots).zip(classes) {
                to.push(match *state {
                    PASSED | FAILED => *state,
                    state => self.leaves.step(*slot, state, *class),
                });
            }
            if let Some(next) = self.node(&mut to)
                && let Some(known) = self.marks.get_mut(next as usize)
                && std::mem::replace(known, mark) != mark
            {
                found.push((at as u32, next));
            }
        }
        let next: Rc<[(u32, u32)]> = found.into();
        if let Some(known) = self.nodes.get_mut(node as usize) {
            known.next = Some(Rc::clone(&next));
        }
        next
    }

    pub(super) fn sample(&self, class: u32) -> char {
        self.joint
            .classes
            .get(class as usize)
            .map_or('\0', |(sample, _)| *sample)
    }
}
