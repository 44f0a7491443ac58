//! The tools a function is about: for every other tool it returns None at once, whatever else the request holds.
//!
//! The first nodes of a function are followed with the tool known and nothing else: what may raise, and what depends on
//! anything but the tool, ends the walk, and the function is called for every tool.

use std::collections::BTreeSet;

use crate::clause::ops::IndexKey;
use crate::clause::predicate::Test;
use crate::lang::path::{Field, Path};
use crate::pyfn::ast::Function;
use crate::pyfn::predicate::{FastNode, Predicate, Read};

/// The names of the tools outside of which `function` returns None, without an error; `None`: there may be others. Holds
/// for requests whose tool is a string.
pub(crate) fn tools<'f>(
    function: &'f Function,
    read: (&'f [Path], TestOf<'_, 'f>),
) -> Option<BTreeSet<Box<str>>> {
    let mut walk = Walk::new(function, read, None);
    // A tool that is in none of the comparisons: which these are is found on the way.
    if !walk.passes() {
        return None;
    }
    let mut left = std::mem::take(&mut walk.names);
    left.retain(|name| {
        walk.tool = Some(name.clone());
        !walk.passes()
    });
    Some(left)
}

/// The names of tools that `function` compares the tool with, anywhere.
#[cfg(feature = "analysis")]
pub(crate) fn names<'f>(
    function: &'f Function,
    read: (&'f [Path], TestOf<'_, 'f>),
) -> BTreeSet<Box<str>> {
    let mut walk = Walk::new(function, read, None);
    for node in &function.fast_nodes {
        if let FastNode::Test(read, predicate, ..) = node {
            walk.truth(read, predicate);
        }
    }
    walk.names
}

/// Returns the node that `function` begins with when the tool is one of `tools`, past the nodes that test the tool.
pub(crate) fn start<'f>(
    function: &'f Function,
    read: (&'f [Path], TestOf<'_, 'f>),
    tools: &BTreeSet<Box<str>>,
) -> Option<u32> {
    let mut starts = tools.iter().map(|tool| {
        let mut walk = Walk::new(function, read, Some(tool.clone()));
        let mut at = function.start;
        while let FastNode::Test(read, predicate, yes, no) = walk.node(at)
            && let Some(truth) = walk.truth(read, predicate)
        {
            at = if truth { *yes } else { *no };
        }
        at
    });
    let first = starts.next()?;
    starts.all(|start| start == first).then_some(first)
}

/// The test of a clause, by its number: a compiled program keeps the tests of functions among its clauses.
pub(crate) type TestOf<'c, 'f> = &'c dyn Fn(u32) -> &'f Test;

struct Walk<'c, 'f> {
    function: &'f Function,
    paths: &'f [Path],
    tests: TestOf<'c, 'f>,
    /// The tool; `None`: one that no comparison names.
    tool: Option<Box<str>>,
    names: BTreeSet<Box<str>>,
}

impl<'c, 'f> Walk<'c, 'f> {
    fn new(
        function: &'f Function,
        (paths, tests): (&'f [Path], TestOf<'c, 'f>),
        tool: Option<Box<str>>,
    ) -> Self {
        Self {
            function,
            paths,
            tests,
            tool,
            names: BTreeSet::new(),
        }
    }

    fn node(&self, at: u32) -> &'f FastNode {
        let node = self.function.fast_nodes.get(at as usize);
        node.unwrap_or(&FastNode::Interp)
    }

    /// Returns true if the function is known to return None.
    fn passes(&mut self) -> bool {
        let mut at = self.function.start;
        loop {
            at = match self.node(at) {
                FastNode::ReturnNone => return true,
                FastNode::Test(read, predicate, yes, no) => match self.truth(read, predicate) {
                    Some(true) => *yes,
                    Some(false) => *no,
                    None => return false,
                },
                // A request has a tool and arguments, whatever they hold.
                FastNode::Bind(read, next) => match self.field(read) {
                    Some((Field::Tool | Field::Args, 0)) => *next,
                    _ => return false,
                },
                FastNode::Interp | FastNode::ReturnStatic(_) => return false,
            };
        }
    }

    /// The field that is read, and the number of keys below it.
    fn field(&self, read: &Read) -> Option<(Field, usize)> {
        let path = self.paths.get(read.path as usize)?;
        Some((path.field?, path.keys.len()))
    }

    /// The result of a test of the tool.
    fn truth(&mut self, read: &Read, predicate: &Predicate) -> Option<bool> {
        let (Field::Tool, _) = self.field(read)? else {
            return None;
        };
        let test = match predicate {
            Predicate::Test(test) => test,
            Predicate::Clause(number) => (self.tests)(*number),
            _ => return None,
        };
        let IndexKey::Scalars(texts, []) = test.key() else {
            return None;
        };
        Some(match &self.tool {
            Some(tool) => texts.contains(tool),
            None => {
                self.names.extend(texts.iter().cloned());
                false
            }
        })
    }
}
