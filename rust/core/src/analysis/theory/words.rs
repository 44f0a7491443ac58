//! Automata of texts that are, begin with, end with or contain one of some words.

use std::collections::VecDeque;

use super::automaton::{FAR, Facts};

/// The place of a word in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Place {
    /// The text is the word.
    Whole,
    /// The text begins with it.
    Start,
    /// The text ends with it.
    End,
    /// The text contains it.
    Anywhere,
}

/// A prefix of words.
#[derive(Clone, Debug)]
struct Node {
    children: Vec<(char, u32)>,
    /// The node of the longest proper suffix that is a prefix of a word, too.
    fail: u32,
    /// A word ends here.
    hit: bool,
    /// The fewest characters to the end of a word.
    rest: u32,
}

impl Node {
    fn new() -> Self {
        Self {
            children: Vec::new(),
            fail: 0,
            hit: false,
            rest: FAR,
        }
    }

    fn child(&self, found: char) -> Option<u32> {
        let at = self.children.binary_search_by_key(&found, |(key, _)| *key);
        at.ok()
            .and_then(|at| self.children.get(at))
            .map(|(_, child)| *child)
    }
}

/// The prefixes of words, as states; behind them the state after which none can be found, and the one after which it was.
#[derive(Debug)]
pub(super) struct Words {
    place: Place,
    nodes: Vec<Node>,
    empty: bool,
}

impl Words {
    pub(super) fn new(place: Place, words: &[String]) -> Self {
        let mut trie = Self {
            place,
            nodes: vec![Node::new()],
            empty: words.is_empty(),
        };
        words.iter().for_each(|word| trie.add(word));
        if matches!(place, Place::End | Place::Anywhere) {
            trie.link();
        }
        trie.measure();
        trie
    }

    fn node(&self, at: u32) -> Option<&Node> {
        self.nodes.get(at as usize)
    }

    fn node_mut(&mut self, at: u32) -> Option<&mut Node> {
        self.nodes.get_mut(at as usize)
    }

    fn add(&mut self, word: &str) {
        let mut at = 0;
        for found in word.chars() {
            let next = self.nodes.len() as u32;
            let Some(node) = self.node_mut(at) else {
                return;
            };
            at = match node.children.binary_search_by_key(&found, |(key, _)| *key) {
                Ok(place) => node.children.get(place).map_or(0, |(_, child)| *child),
                Err(place) => {
                    node.children.insert(place, (found, next));
                    self.nodes.push(Node::new());
                    next
                }
            };
        }
        if let Some(node) = self.node_mut(at) {
            node.hit = true;
        }
    }

    /// Links every node to the longest suffix of it that is a node.
    fn link(&mut self) {
        let mut queue: VecDeque<u32> = VecDeque::from([0]);
        while let Some(at) = queue.pop_front() {
            let children = self.node(at).map(|node| node.children.clone());
            for (found, child) in children.unwrap_or_default() {
                let fail = if at == 0 {
                    0
                } else {
                    self.follow(self.node(at).map_or(0, |node| node.fail), found)
                };
                let hit = self.node(fail).is_some_and(|node| node.hit);
                if let Some(node) = self.node_mut(child) {
                    node.fail = fail;
                    node.hit |= hit;
                }
                queue.push_back(child);
            }
        }
        if self.node(0).is_some_and(|root| root.hit) {
            self.nodes.iter_mut().for_each(|node| node.hit = true);
        }
    }

    /// The node after another character: of the longest suffix that goes on.
    fn follow(&self, mut at: u32, found: char) -> u32 {
        loop {
            let Some(node) = self.node(at) else { return 0 };
            match node.child(found) {
                Some(child) => return child,
                None if at == 0 => return 0,
                None => at = node.fail,
            }
        }
    }

    /// Counts the fewest characters to the end of a word. A child stands behind its parent.
    fn measure(&mut self) {
        for at in (0..self.nodes.len() as u32).rev() {
            let Some(node) = self.node(at) else { return };
            let below = node
                .children
                .iter()
                .filter_map(|(_, child)| self.node(*child));
            let below = below.map(|child| child.rest.saturating_add(1)).min();
            let rest = if node.hit { 0 } else { below.unwrap_or(FAR) };
            if let Some(node) = self.node_mut(at) {
                node.rest = rest;
            }
        }
        // A node may go on from any of its suffixes, which are shorter: in the order of their lengths.
        if matches!(self.place, Place::End | Place::Anywhere) {
            let mut queue: VecDeque<u32> = VecDeque::from([0]);
            while let Some(at) = queue.pop_front() {
                let Some(node) = self.node(at) else { return };
                let (children, rest) = (node.children.clone(), node.rest);
                let rest = rest.min(self.node(node.fail).map_or(FAR, |fail| fail.rest));
                if let Some(node) = self.node_mut(at) {
                    node.rest = rest;
                }
                queue.extend(children.into_iter().map(|(_, child)| child));
            }
        }
    }

    fn dead(&self) -> u32 {
        self.nodes.len() as u32
    }

    fn found(&self) -> u32 {
        self.dead() + 1
    }

    /// The first code points of ranges that are alike.
    pub(super) fn cuts(words: &[String]) -> Vec<u32> {
        let found = words.iter().flat_map(|word| word.chars()).map(u32::from);
        let mut cuts: Vec<u32> = found.flat_map(|found| [found, found + 1]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    /// The state in place of a node.
    fn state(&self, at: u32) -> u32 {
        let hit = self.node(at).is_some_and(|node| node.hit);
        match self.place {
            Place::Start | Place::Anywhere if hit => self.found(),
            Place::Start | Place::Anywhere | Place::Whole | Place::End => at,
        }
    }

    pub(super) fn start(&self) -> u32 {
        if self.empty {
            self.dead()
        } else {
            self.state(0)
        }
    }

    pub(super) fn next(&self, state: u32, found: char) -> u32 {
        let Some(node) = self.node(state) else {
            return state;
        };
        match self.place {
            Place::Whole | Place::Start => node
                .child(found)
                .map_or(self.dead(), |child| self.state(child)),
            Place::End | Place::Anywhere => self.state(self.follow(state, found)),
        }
    }

    pub(super) fn facts(&self, state: u32) -> Facts {
        let Some(node) = self.node(state) else {
            return Facts::certain(state == self.found());
        };
        let accepts = node.hit && matches!(self.place, Place::Whole | Place::End);
        Facts {
            accepts,
            to_accept: node.rest,
            to_reject: match (accepts, self.place) {
                (false, _) => 0,
                // The empty word is at every end.
                (true, Place::End) if self.node(0).is_some_and(|root| root.hit) => FAR,
                (true, _) => 1,
            },
        }
    }
}
