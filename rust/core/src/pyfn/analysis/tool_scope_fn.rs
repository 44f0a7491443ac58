//! The tools a function is about: for every other tool it returns None at once, whatever else the request holds.
//!
//! The first nodes of a function are followed with the tool known and nothing else: what may raise, and what depends on
//! anything but the tool, ends the walk, and the function is called for every tool.

use std::collections::{BTreeSet, HashMap};

use crate::lang::path::{Field, Path};
use crate::pyfn::ast::{Code, Comparison, Function, Statement, Target};
use crate::pyfn::cfg::{Node, Start};
use crate::pyfn::consts::PyConst;

/// The names of the tools outside of which `function` returns None, without an error; `None`: there may be others. Holds
/// for requests whose tool is a string.
pub(crate) fn tools(function: &Function, paths: &[Path]) -> Option<BTreeSet<Box<str>>> {
    let mut walk = Walk {
        paths,
        tool: None,
        names: BTreeSet::new(),
        locals: HashMap::new(),
    };
    // A tool that is in none of the comparisons: which these are is found on the way.
    if !walk.passes(function) {
        return None;
    }
    let mut left = std::mem::take(&mut walk.names);
    left.retain(|name| {
        walk.tool = Some(name.clone());
        walk.locals.clear();
        !walk.passes(function)
    });
    Some(left)
}

/// The static knowledge about an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// The name of the tool.
    Tool,
    /// Of this truth.
    Truth(bool),
    None,
    /// Nothing but that reading it does not raise.
    Quiet,
}

/// Returns the start of the walk of `function` when the tool is one of `tools`, past the nodes that test the tool.
pub(crate) fn start(
    function: &Function,
    paths: &[Path],
    tools: &BTreeSet<Box<str>>,
) -> Option<Start> {
    let mut walk = Walk {
        paths,
        tool: None,
        names: BTreeSet::new(),
        locals: HashMap::new(),
    };
    let mut starts = tools.iter().map(|tool| {
        walk.tool = Some(tool.clone());
        walk.past_the_tool(function)
    });
    let first = starts.next()?;
    starts.all(|start| start == first).then_some(first)
}

/// The steps that the walk of [`crate::pyfn`] takes to compare the tool with a constant.
const STEPS: u32 = 3;

struct Walk<'f> {
    paths: &'f [Path],
    /// The tool; `None`: one that no comparison names.
    tool: Option<Box<str>>,
    names: BTreeSet<Box<str>>,
    locals: HashMap<u32, Known>,
}

impl Walk<'_> {
    /// Returns true if the function is known to return None.
    fn passes(&mut self, function: &Function) -> bool {
        let mut at = function.start.at;
        loop {
            at = match function.node(at) {
                Node::ReturnNone => return true,
                Node::Test(test, yes, no) => match self.code(test) {
                    Some(Known::Truth(true)) => *yes,
                    Some(Known::Truth(false) | Known::None) => *no,
                    Some(Known::Tool | Known::Quiet) | None => return false,
                },
                Node::Run(Statement::Assign(Target::Slot(slot), code), next) => {
                    let Some(known) = self.code(code) else {
                        return false;
                    };
                    self.locals.insert(*slot, known);
                    *next
                }
                Node::Return(code) => return self.code(code) == Some(Known::None),
                Node::Run(..) | Node::ReturnStatic(_) => return false,
            };
        }
    }

    fn past_the_tool(&mut self, function: &Function) -> Start {
        let mut start = function.start;
        while let Node::Test(test @ Code::Compare(_, others), yes, no) = function.node(start.at)
            && let [(_, Code::Const(constant))] = &**others
            && is_of_texts(constant)
            && let Some(Known::Truth(truth)) = self.code(test)
        {
            start.at = if truth { *yes } else { *no };
            start.fuel += STEPS;
        }
        start
    }

    fn code(&mut self, code: &Code) -> Option<Known> {
        match code {
            Code::Const(PyConst::None) => Some(Known::None),
            Code::Const(PyConst::Bool(flag)) => Some(Known::Truth(*flag)),
            Code::Const(_) | Code::Object(_) => Some(Known::Quiet),
            Code::Local(slot) => self.locals.get(slot).copied(),
            Code::Path(path, _) => {
                let path = self.paths.get(*path as usize)?;
                match (path.field, path.keys.len()) {
                    (Some(Field::Tool), _) => Some(Known::Tool),
                    // A request has arguments, whatever they hold.
                    (Some(Field::Args), 0) => Some(Known::Quiet),
                    _ => None,
                }
            }
            Code::Not(item) => match self.code(item)? {
                Known::Truth(truth) => Some(Known::Truth(!truth)),
                Known::None => Some(Known::Truth(true)),
                Known::Tool | Known::Quiet => None,
            },
            Code::IfElse(node) => {
                let (test, then, otherwise) = &**node;
                match self.code(test)? {
                    Known::Truth(true) => self.code(then),
                    Known::Truth(false) | Known::None => self.code(otherwise),
                    Known::Tool | Known::Quiet => None,
                }
            }
            Code::And(items) => self.either(items, false),
            Code::Or(items) => self.either(items, true),
            Code::Compare(first, others) => match &**others {
                [(operator, other)] => self.comparison(first, *operator, other),
                _ => None,
            },
            _ => None,
        }
    }

    /// `and`, whose first false operand decides, or `or`.
    fn either(&mut self, items: &[Code], decisive: bool) -> Option<Known> {
        for item in items {
            let truth = match self.code(item)? {
                Known::Truth(truth) => truth,
                Known::None => false,
                Known::Tool | Known::Quiet => return None,
            };
            if truth == decisive {
                return Some(Known::Truth(decisive));
            }
        }
        Some(Known::Truth(!decisive))
    }

    fn comparison(&mut self, first: &Code, operator: Comparison, other: &Code) -> Option<Known> {
        let negated = matches!(operator, Comparison::Ne | Comparison::NotIn);
        let constant = match (first, other) {
            (first, Code::Const(constant)) if self.code(first) == Some(Known::Tool) => constant,
            (Code::Const(constant), other)
                if matches!(operator, Comparison::Eq | Comparison::Ne)
                    && self.code(other) == Some(Known::Tool) =>
            {
                constant
            }
            _ => return None,
        };
        let texts: Vec<&str> = match (operator, constant) {
            (Comparison::Eq | Comparison::Ne, PyConst::Str(text)) => vec![text],
            (Comparison::In | Comparison::NotIn, PyConst::Tuple(items) | PyConst::List(items)) => {
                items.iter().filter_map(PyConst::text).collect()
            }
            (Comparison::In | Comparison::NotIn, PyConst::Set(set)) => {
                set.items.iter().filter_map(PyConst::text).collect()
            }
            _ => return None,
        };
        let found = match &self.tool {
            Some(tool) => texts.contains(&&**tool),
            None => {
                self.names.extend(texts.into_iter().map(Into::into));
                false
            }
        };
        Some(Known::Truth(found != negated))
    }
}

/// A text or texts: other values would take more steps to compare.
fn is_of_texts(constant: &PyConst) -> bool {
    match constant {
        PyConst::Str(_) => true,
        PyConst::Tuple(items) | PyConst::List(items) => {
            items.iter().all(|item| item.text().is_some())
        }
        PyConst::Set(_) => true,
        _ => false,
    }
}
