//! The CFG of a function: its tests one after the other, each with what follows when it is true and when it is false.
//!
//! PERF: `if`, `and`, `or`, `not`, conditional expressions and `return` are gone once it is made: a function that tests a few
//! values and returns one of a few decisions is followed here without making a value.
//!
//! INVARIANT: no node leads back, so every CFG ends.

use std::sync::OnceLock;

use super::ast::{Code, Function, Statement};
use super::consts::PyConst;

/// One step of a CFG; the numbers are those of the nodes that follow.
#[derive(Debug)]
pub(crate) enum Node {
    /// A test; what follows when it is true, and when it is false.
    Test(Code, u32, u32),
    /// A statement; what follows it.
    Run(Statement, u32),
    /// The value of this is returned.
    Return(Code),
    /// A decision that is always the same, by its number.
    ReturnStatic(u32),
    /// None is returned.
    ReturnNone,
}

impl Function {
    /// A function with so many locals that does this; its first decision that is always the same has the number `template`.
    pub(crate) fn new(locals: usize, body: Box<[Statement]>, template: u32) -> Self {
        let mut builder = CfgBuilder {
            nodes: vec![Node::ReturnNone],
        };
        let at = builder.body(body, RETURN_NONE);
        let nodes: Box<[Node]> = builder.nodes.into();
        Self {
            locals,
            start: at,
            pinned: None,
            triggers: None,
            template,
            written: OnceLock::new(),
            fast_nodes: super::predicate::prepare::prepare(&nodes, at),
            nodes,
        }
    }

    /// One step of its CFG.
    #[inline]
    pub(crate) fn node(&self, at: u32) -> &Node {
        self.nodes.get(at as usize).unwrap_or(&Node::ReturnNone)
    }
}

/// The node that passes.
const RETURN_NONE: u32 = 0;

struct CfgBuilder {
    nodes: Vec<Node>,
}

/// Every part is made once what follows it is: the last statement first.
impl CfgBuilder {
    fn push(&mut self, node: Node) -> u32 {
        let at = self.nodes.len() as u32;
        self.nodes.push(node);
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
                other => self.push(Node::Run(other, next)),
            };
        }
        next
    }

    fn leave(&mut self, code: Code) -> u32 {
        match code {
            Code::Const(PyConst::None) => RETURN_NONE,
            Code::IfElse(node) => {
                let (test, then, otherwise) = *node;
                let (yes, no) = (self.leave(then), self.leave(otherwise));
                self.test(test, yes, no)
            }
            Code::Decide(node) if node.always.is_some() => {
                self.push(node.always.map_or(Node::ReturnNone, Node::ReturnStatic))
            }
            other => self.push(Node::Return(other)),
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
            other => self.push(Node::Test(other, yes, no)),
        }
    }
}
