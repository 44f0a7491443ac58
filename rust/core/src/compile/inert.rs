//! The tools a function is about: for every other tool it returns None at once, whatever else the request holds.
//!
//! The first statements of a function are followed with the tool known and nothing else: what may raise, and what depends
//! on anything but the tool, ends the walk, and the function is asked for every tool.

use std::collections::{BTreeSet, HashMap};

use crate::path::Field;
use crate::program::Path;
use crate::script::Fixed;
use crate::script::node::{Code, Comparison, Function, Statement, Target};

/// The names of the tools outside of which `function` returns None, without an error; `None`: there may be others. Holds
/// for requests whose tool is a string.
pub(super) fn tools(function: &Function, paths: &[Path]) -> Option<BTreeSet<Box<str>>> {
    let mut walk = Walk {
        paths,
        tool: None,
        names: BTreeSet::new(),
        slots: HashMap::new(),
    };
    // A tool that is in none of the comparisons: which these are is found on the way.
    if walk.body(&function.body) != Some(End::Passed) {
        return None;
    }
    let mut left = std::mem::take(&mut walk.names);
    left.retain(|name| {
        walk.tool = Some(name.clone());
        walk.slots.clear();
        walk.body(&function.body) != Some(End::Passed)
    });
    Some(left)
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// After its last statement.
    Fell,
    /// By returning None.
    Passed,
}

/// What an expression is known to be.
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

struct Walk<'f> {
    paths: &'f [Path],
    /// The tool; `None`: one that no comparison names.
    tool: Option<Box<str>>,
    names: BTreeSet<Box<str>>,
    slots: HashMap<u32, Known>,
}

impl Walk<'_> {
    /// The end of a body that is the whole function.
    fn body(&mut self, body: &[Statement]) -> Option<End> {
        self.run(body).map(|_| End::Passed)
    }

    fn run(&mut self, body: &[Statement]) -> Option<End> {
        for statement in body {
            let end = match statement {
                Statement::If(test, then, otherwise) => match self.code(test)? {
                    Known::Truth(true) => self.run(then)?,
                    Known::Truth(false) | Known::None => self.run(otherwise)?,
                    Known::Tool | Known::Quiet => return None,
                },
                Statement::Assign(Target::Slot(slot), code) => {
                    let known = self.code(code)?;
                    self.slots.insert(*slot, known);
                    End::Fell
                }
                Statement::Return(code) => match self.code(code)? {
                    Known::None => End::Passed,
                    Known::Tool | Known::Truth(_) | Known::Quiet => return None,
                },
                _ => return None,
            };
            if end == End::Passed {
                return Some(end);
            }
        }
        Some(End::Fell)
    }

    fn code(&mut self, code: &Code) -> Option<Known> {
        match code {
            Code::Fixed(Fixed::None) => Some(Known::None),
            Code::Fixed(Fixed::Bool(flag)) => Some(Known::Truth(*flag)),
            Code::Fixed(_) | Code::Object(_) => Some(Known::Quiet),
            Code::Local(slot) => self.slots.get(slot).copied(),
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
        let fixed = match (first, other) {
            (first, Code::Fixed(fixed)) if self.code(first) == Some(Known::Tool) => fixed,
            (Code::Fixed(fixed), other)
                if matches!(operator, Comparison::Eq | Comparison::Ne)
                    && self.code(other) == Some(Known::Tool) =>
            {
                fixed
            }
            _ => return None,
        };
        let texts: Vec<&str> = match (operator, fixed) {
            (Comparison::Eq | Comparison::Ne, Fixed::Str(text)) => vec![text],
            (Comparison::In | Comparison::NotIn, Fixed::Tuple(items) | Fixed::List(items)) => {
                items.iter().filter_map(Fixed::text).collect()
            }
            (Comparison::In | Comparison::NotIn, Fixed::Set(set)) => {
                set.items.iter().filter_map(Fixed::text).collect()
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
