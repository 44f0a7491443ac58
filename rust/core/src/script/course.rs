//! The course of a function: its tests one after the other, each with what follows when it is true and when it is false.
//!
//! PERF: `if`, `and`, `or`, `not`, conditional expressions and `return` are gone once it is made: a function that tests a few
//! values and says one of a few things walks along here and makes no value.
//!
//! INVARIANT: no turn leads back, so every course ends.

use std::sync::OnceLock;

use super::fixed::Fixed;
use super::glance;
use super::node::{Code, Function, Statement};

/// One step of a course; the numbers are those of the turns that follow.
#[derive(Debug)]
pub(crate) enum Turn {
    /// A test; what follows when it is true, and when it is false.
    Test(Code, u32, u32),
    /// A statement; what follows it.
    Run(Statement, u32),
    /// The value of this is returned.
    Return(Code),
    /// A decision that is always the same, by its number.
    Say(u32),
    /// None is returned.
    Pass,
}

impl Function {
    /// A function with so many locals that does this; its first decision that is always the same has the number `ruling`.
    pub(crate) fn new(slots: usize, body: Box<[Statement]>, ruling: u32) -> Self {
        let mut course = Course {
            turns: vec![Turn::Pass],
        };
        let at = course.body(body, PASS);
        let turns: Box<[Turn]> = course.turns.into();
        Self {
            slots,
            start: Start { at, steps: 0 },
            pinned: None,
            watches: None,
            ruling,
            written: OnceLock::new(),
            glances: glance::prepare(&turns, at),
            turns,
        }
    }

    /// One step of its course.
    #[inline]
    pub(crate) fn turn(&self, at: u32) -> &Turn {
        self.turns.get(at as usize).unwrap_or(&Turn::Pass)
    }
}

/// Where a walk begins, and how many steps of the budget it has behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) at: u32,
    pub(crate) steps: u32,
}

/// The turn that passes.
const PASS: u32 = 0;

struct Course {
    turns: Vec<Turn>,
}

/// Every part is made once what follows it is: the last statement first.
impl Course {
    fn push(&mut self, turn: Turn) -> u32 {
        let at = self.turns.len() as u32;
        self.turns.push(turn);
        at
    }

    fn body(&mut self, body: Box<[Statement]>, mut next: u32) -> u32 {
        for statement in body.into_iter().rev() {
            next = match statement {
                Statement::If(test, then, otherwise) => {
                    let (yes, no) = (self.body(then, next), self.body(otherwise, next));
                    self.test(test, yes, no)
                }
                Statement::Return(code) => self.leave(code),
                other => self.push(Turn::Run(other, next)),
            };
        }
        next
    }

    fn leave(&mut self, code: Code) -> u32 {
        match code {
            Code::Fixed(Fixed::None) => PASS,
            Code::IfElse(node) => {
                let (test, then, otherwise) = *node;
                let (yes, no) = (self.leave(then), self.leave(otherwise));
                self.test(test, yes, no)
            }
            Code::Decide(node) if node.always.is_some() => {
                self.push(node.always.map_or(Turn::Pass, Turn::Say))
            }
            other => self.push(Turn::Return(other)),
        }
    }

    fn test(&mut self, code: Code, yes: u32, no: u32) -> u32 {
        match code {
            Code::Not(item) => self.test(*item, no, yes),
            Code::And(items) => items
                .into_iter()
                .rev()
                .fold(yes, |yes, item| self.test(item, yes, no)),
            Code::Or(items) => items
                .into_iter()
                .rev()
                .fold(no, |no, item| self.test(item, yes, no)),
            Code::IfElse(node) => {
                let (test, then, otherwise) = *node;
                let (one, other) = (self.test(then, yes, no), self.test(otherwise, yes, no));
                self.test(test, one, other)
            }
            other => self.push(Turn::Test(other, yes, no)),
        }
    }
}
