//! Decision diagrams with shared nodes: functions of boolean variables to terminals, which are small numbers.
//!
//! INVARIANT: equal functions are equal references, whatever the order in which they were made. Children are below their
//! parents in the order of variables.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::budget::Stop;

/// A function: a node, or a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Dd(u32);

const TERMINAL: u32 = 1 << 31;

impl Dd {
    /// The constant function.
    pub(super) const fn terminal(value: u32) -> Self {
        Self(value | TERMINAL)
    }

    /// The value of a constant function.
    pub(super) fn value(self) -> Option<u32> {
        (self.0 & TERMINAL != 0).then_some(self.0 & !TERMINAL)
    }
}

/// False, of the four truth values.
pub(super) const FALSE: Dd = Dd::terminal(0);
/// True.
pub(super) const TRUE: Dd = Dd::terminal(1);
/// Absent.
pub(super) const ABSENT: Dd = Dd::terminal(2);
/// Error.
pub(super) const ERROR: Dd = Dd::terminal(3);

/// A literal: a variable, and its value.
pub(super) type Literal = (u32, bool);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Node {
    var: u32,
    low: Dd,
    high: Dd,
}

/// PERF: the keys are small numbers that no request chooses.
#[derive(Debug, Default)]
pub(super) struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 31)
    }
}

type Table<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;

/// An operation on two functions, by its results for terminals.
pub(super) trait Operation {
    /// The number of the operation in the cache; see [`Diagrams::operation`].
    fn id(&self) -> u32;
    /// The result where it is known: always for two terminals.
    fn known(&mut self, left: Dd, right: Dd) -> Option<Dd>;
}

/// Entries of the cache at which it is emptied.
const CACHED: usize = 1 << 22;

/// The nodes of all functions of one tool.
#[derive(Debug)]
pub(super) struct Diagrams {
    nodes: Vec<Node>,
    unique: Table<Node, u32>,
    cache: Table<(u32, Dd, Dd), Dd>,
    choices: Table<(Dd, [Dd; 3]), Dd>,
    /// Pairs of functions that are true for no assignment in common.
    apart: Table<(Dd, Dd), ()>,
    most: usize,
    operations: u32,
}

impl Diagrams {
    /// At most so many nodes.
    pub(super) fn new(most: usize) -> Self {
        Self {
            nodes: Vec::new(),
            unique: Table::default(),
            cache: Table::default(),
            choices: Table::default(),
            apart: Table::default(),
            most: most.min(TERMINAL as usize - 1),
            operations: 16,
        }
    }

    /// The number of an operation that no other one has.
    pub(super) fn operation(&mut self) -> u32 {
        self.operations += 1;
        self.operations
    }

    fn get(&self, function: Dd) -> Option<Node> {
        match function.value() {
            Some(_) => None,
            None => self.nodes.get(function.0 as usize).copied(),
        }
    }

    /// The function that is `low` or `high` by a variable above those of both.
    pub(super) fn node(&mut self, var: u32, low: Dd, high: Dd) -> Result<Dd, Stop> {
        if low == high {
            return Ok(low);
        }
        let node = Node { var, low, high };
        if let Some(&known) = self.unique.get(&node) {
            return Ok(Dd(known));
        }
        if self.nodes.len() >= self.most {
            return Err(Stop::Nodes(self.most));
        }
        let at = self.nodes.len() as u32;
        self.nodes.push(node);
        self.unique.insert(node, at);
        Ok(Dd(at))
    }

    /// The function of a number of `bits` variables from `var` on, the most significant first: `runs` has a function, and
    /// the first number that it is for, in ascending order from 0 on; the last one is for all others.
    pub(super) fn switch(&mut self, var: u32, bits: u32, runs: &[(u32, Dd)]) -> Result<Dd, Stop> {
        self.switch_from(var, bits, 0, runs)
    }

    fn switch_from(
        &mut self,
        var: u32,
        bits: u32,
        from: u32,
        runs: &[(u32, Dd)],
    ) -> Result<Dd, Stop> {
        let Some((&(_, first), rest)) = runs.split_first() else {
            return Ok(FALSE);
        };
        if rest.is_empty() || bits == 0 {
            return Ok(first);
        }
        let middle = from + (1 << (bits - 1));
        let split = runs.partition_point(|(start, _)| *start < middle);
        let starts_there = runs.get(split).is_some_and(|(start, _)| *start == middle);
        let upper = if starts_there { split } else { split - 1 };
        let (below, above) = (
            runs.get(..split).unwrap_or_default(),
            runs.get(upper..).unwrap_or_default(),
        );
        let low = self.switch_from(var + 1, bits - 1, from, below)?;
        let high = self.switch_from(var + 1, bits - 1, middle, above)?;
        self.node(var, low, high)
    }

    /// Applies an operation.
    pub(super) fn apply(
        &mut self,
        operation: &mut impl Operation,
        left: Dd,
        right: Dd,
    ) -> Result<Dd, Stop> {
        if let Some(known) = operation.known(left, right) {
            return Ok(known);
        }
        let key = (operation.id(), left, right);
        if let Some(&known) = self.cache.get(&key) {
            return Ok(known);
        }
        let (one, other) = (self.get(left), self.get(right));
        let var = match (one, other) {
            (Some(one), Some(other)) => one.var.min(other.var),
            (Some(node), None) | (None, Some(node)) => node.var,
            (None, None) => return Ok(FALSE),
        };
        let halves = |node: Option<Node>, whole: Dd| match node {
            Some(node) if node.var == var => (node.low, node.high),
            _ => (whole, whole),
        };
        let ((left_low, left_high), (right_low, right_high)) =
            (halves(one, left), halves(other, right));
        let low = self.apply(operation, left_low, right_low)?;
        let high = self.apply(operation, left_high, right_high)?;
        let made = self.node(var, low, high)?;
        if self.cache.len() >= CACHED {
            self.cache.clear();
        }
        self.cache.insert(key, made);
        Ok(made)
    }

    /// The function with other terminals. `id`: of an operation; one `of` has always the same.
    pub(super) fn map(
        &mut self,
        id: u32,
        function: Dd,
        of: &mut impl FnMut(u32) -> Dd,
    ) -> Result<Dd, Stop> {
        if let Some(value) = function.value() {
            return Ok(of(value));
        }
        let key = (id, function, function);
        if let Some(&known) = self.cache.get(&key) {
            return Ok(known);
        }
        let Some(node) = self.get(function) else {
            return Ok(FALSE);
        };
        let low = self.map(id, node.low, of)?;
        let high = self.map(id, node.high, of)?;
        let made = self.node(node.var, low, high)?;
        self.cache.insert(key, made);
        Ok(made)
    }

    /// The function that is the first of `of` where `test` is true, the second where it is in error, else the third.
    pub(super) fn choose(&mut self, test: Dd, of: [Dd; 3]) -> Result<Dd, Stop> {
        let [fires, fails, rest] = of;
        match test {
            TRUE => return Ok(fires),
            ERROR => return Ok(fails),
            FALSE | ABSENT => return Ok(rest),
            _ if fires == rest && fails == rest => return Ok(rest),
            _ => {}
        }
        if let Some(&known) = self.choices.get(&(test, of)) {
            return Ok(known);
        }
        let all = [test, fires, fails, rest].map(|function| (function, self.get(function)));
        let vars = all.iter().filter_map(|(_, node)| node.map(|node| node.var));
        let Some(var) = vars.min() else {
            return Ok(rest);
        };
        let [low, high] = [false, true].map(|value| {
            all.map(|(whole, node)| match node {
                Some(node) if node.var == var => match value {
                    true => node.high,
                    false => node.low,
                },
                _ => whole,
            })
        });
        let [test_low, low @ ..] = low;
        let [test_high, high @ ..] = high;
        let low = self.choose(test_low, low)?;
        let high = self.choose(test_high, high)?;
        let made = self.node(var, low, high)?;
        if self.choices.len() >= CACHED {
            self.choices.clear();
        }
        self.choices.insert((test, of), made);
        Ok(made)
    }

    /// Returns true if two functions to true and false are both true for some assignment. Makes no nodes.
    pub(super) fn meet(&mut self, left: Dd, right: Dd) -> bool {
        match (left, right) {
            (FALSE, _) | (_, FALSE) => return false,
            // INVARIANT: only the constant has no true path.
            (TRUE, _) | (_, TRUE) => return true,
            _ if left == right => return true,
            _ => {}
        }
        let key = (left.min(right), left.max(right));
        if self.apart.contains_key(&key) {
            return false;
        }
        let (Some(one), Some(other)) = (self.get(left), self.get(right)) else {
            return true;
        };
        let var = one.var.min(other.var);
        let halves = |node: Node, whole: Dd| match node.var == var {
            true => [node.low, node.high],
            false => [whole, whole],
        };
        let both = halves(one, left).into_iter().zip(halves(other, right));
        for (left, right) in both {
            if self.meet(left, right) {
                return true;
            }
        }
        if self.apart.len() >= CACHED {
            self.apart.clear();
        }
        self.apart.insert(key, ());
        false
    }

    /// The conjunction of literals, which are in the order of their variables.
    pub(super) fn cube(&mut self, literals: &[Literal]) -> Result<Dd, Stop> {
        let mut made = TRUE;
        for &(var, value) in literals.iter().rev() {
            made = match value {
                true => self.node(var, FALSE, made)?,
                false => self.node(var, made, FALSE)?,
            };
        }
        Ok(made)
    }

    /// The first path to a terminal that is wanted, low edges first.
    pub(super) fn path(
        &self,
        function: Dd,
        wanted: &mut impl FnMut(u32) -> bool,
    ) -> Option<Vec<Literal>> {
        let mut dead = Table::default();
        let mut path = Vec::new();
        self.path_from(function, wanted, &mut dead, &mut path)
            .then_some(path)
    }

    fn path_from(
        &self,
        function: Dd,
        wanted: &mut impl FnMut(u32) -> bool,
        dead: &mut Table<Dd, ()>,
        path: &mut Vec<Literal>,
    ) -> bool {
        if let Some(value) = function.value() {
            return wanted(value);
        }
        if dead.contains_key(&function) {
            return false;
        }
        let Some(node) = self.get(function) else {
            return false;
        };
        for (value, next) in [(false, node.low), (true, node.high)] {
            path.push((node.var, value));
            if self.path_from(next, wanted, dead, path) {
                return true;
            }
            path.pop();
        }
        dead.insert(function, ());
        false
    }

    /// Every terminal of a function under an assignment, in ascending order.
    pub(super) fn terminals_at(&self, function: Dd, literals: &[Literal]) -> Vec<u32> {
        let values: HashMap<u32, bool> = literals.iter().copied().collect();
        self.terminals_where(function, |var| values.get(&var).copied())
    }

    /// Every terminal of a function, in ascending order.
    pub(super) fn terminals(&self, function: Dd) -> Vec<u32> {
        self.terminals_where(function, |_| None)
    }

    fn terminals_where(&self, function: Dd, value: impl Fn(u32) -> Option<bool>) -> Vec<u32> {
        let (mut seen, mut found) = (Table::default(), Vec::new());
        let mut open = vec![function];
        while let Some(next) = open.pop() {
            if seen.insert(next, ()).is_some() {
                continue;
            }
            match (next.value(), self.get(next)) {
                (Some(value), _) => found.push(value),
                (None, Some(node)) => match value(node.var) {
                    Some(true) => open.push(node.high),
                    Some(false) => open.push(node.low),
                    None => open.extend([node.low, node.high]),
                },
                (None, None) => {}
            }
        }
        found.sort_unstable();
        found
    }
}
