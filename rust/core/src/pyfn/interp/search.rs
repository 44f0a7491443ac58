//! Patterns: `re.search`, `re.match`, `re.fullmatch`, and the matches they give.

use std::cell::OnceCell;
use std::rc::Rc;

use super::compare::failure_on;
use super::table::Table;
use super::value::{Budget, Run, Val};
use crate::pyfn::ast::Method;
use crate::pyfn::exception::{Exception, Failure};
use crate::pyfn::pattern::{How, Pattern};
use crate::regex::{Captures, Groups};
use crate::value::Value;

/// Words of memory that are made in a step.
const WORDS_A_STEP: usize = 64;

impl Pattern {
    /// Returns true if there is a match.
    #[inline]
    pub(in crate::pyfn) fn is_match(&self, text: &str, budget: &mut Budget) -> Run<bool> {
        budget.scan(text)?;
        budget.metered(|fuel| self.parsed.is_match_within(text, fuel))
    }

    fn captures(&self) -> Run<&Captures> {
        let captures = self
            .captures
            .get_or_init(|| Captures::new(self.parsed.text()));
        captures.as_ref().ok_or(Failure::UNSUPPORTED)
    }
}

/// A match. Its groups are found on first use.
pub(in crate::pyfn) struct Found<'p, V> {
    pattern: &'p Pattern,
    text: Val<'p, V>,
    groups: OnceCell<Groups>,
}

impl<'p, V: Value> Found<'p, V> {
    pub(in crate::pyfn) fn new(pattern: &'p Pattern, text: Val<'p, V>) -> Self {
        Self {
            pattern,
            text,
            groups: OnceCell::new(),
        }
    }

    fn groups(&self, budget: &mut Budget) -> Run<&Groups> {
        if let Some(groups) = self.groups.get() {
            return Ok(groups);
        }
        let text = self.text.text().unwrap_or_default();
        let anchored = self.pattern.how != How::Search;
        let whole = self.pattern.how == How::FullMatch;
        let captures = self.pattern.captures()?;
        budget.fuel(captures.remembered(text) / WORDS_A_STEP)?;
        let found = budget.metered(|fuel| captures.find(text, (anchored, whole), fuel))?;
        let found = found.ok_or(Failure::UNSUPPORTED)?;
        Ok(self.groups.get_or_init(|| found))
    }

    /// The number of the group that `key` means.
    fn index(&self, key: &Val<'p, V>) -> Run<usize> {
        let names = self.pattern.captures()?.names();
        let found = match key {
            Val::Int(index) => usize::try_from(*index).ok(),
            Val::Bool(flag) => Some(usize::from(*flag)),
            Val::Big(_) | Val::None => None,
            key => match key.text() {
                Some(name) => names
                    .iter()
                    .position(|known| known.as_deref() == Some(name))
                    .map(|at| at + 1),
                None => return Err(failure_on(key, Failure::UNSUPPORTED)),
            },
        };
        found
            .filter(|index| *index <= names.len())
            .ok_or_else(|| Exception::INDEX.into())
    }

    fn span(&self, index: usize, budget: &mut Budget) -> Run<Option<(usize, usize)>> {
        Ok(self.groups(budget)?.get(index).copied().flatten())
    }

    fn text_of(
        &self,
        index: usize,
        otherwise: &Val<'p, V>,
        budget: &mut Budget,
    ) -> Run<Val<'p, V>> {
        match self.span(index, budget)? {
            Some((start, end)) => {
                let text = self.text.text().unwrap_or_default();
                Val::made(text.get(start..end).unwrap_or_default(), budget)
            }
            None => Ok(otherwise.clone()),
        }
    }

    /// `match[key]`, `match.group(key)`.
    pub(in crate::pyfn) fn group(&self, key: &Val<'p, V>, budget: &mut Budget) -> Run<Val<'p, V>> {
        let index = self.index(key)?;
        self.text_of(index, &Val::None, budget)
    }

    /// A method of the match.
    pub(in crate::pyfn) fn call(
        &self,
        method: Method,
        args: &[Val<'p, V>],
        budget: &mut Budget,
    ) -> Run<Val<'p, V>> {
        match (method, args) {
            (Method::Group, []) => self.text_of(0, &Val::None, budget),
            (Method::Group, [key]) => self.group(key, budget),
            (Method::Group, keys) => {
                let groups = keys.iter().map(|key| self.group(key, budget));
                Val::tuple(groups.collect::<Run<_>>()?)
            }
            (Method::Groups, [] | [_]) => {
                let otherwise = args.first().unwrap_or(&Val::None);
                let count = self.pattern.captures()?.names().len();
                let groups = (1..=count).map(|index| self.text_of(index, otherwise, budget));
                Val::tuple(groups.collect::<Run<_>>()?)
            }
            (Method::GroupDict, [] | [_]) => {
                let otherwise = args.first().unwrap_or(&Val::None);
                let mut table = Table::new();
                for (index, name) in (1..).zip(self.pattern.captures()?.names()) {
                    if let Some(name) = name {
                        let key = Val::made(name, budget)?;
                        let value = self.text_of(index, otherwise, budget)?;
                        table.insert(key, value, budget)?;
                    }
                }
                Ok(Val::Dict(Rc::new(table)))
            }
            (Method::Start | Method::End | Method::Span, [] | [_]) => {
                let index = args.first().map_or(Ok(0), |key| self.index(key))?;
                let text = self.text.text().unwrap_or_default();
                budget.scan(text)?;
                let place = |byte: usize| {
                    let before = text.get(..byte).unwrap_or_default();
                    Val::Int(crate::pyfn::builtins::text::length(before) as i64)
                };
                let (start, end) = match self.span(index, budget)? {
                    Some((start, end)) => (place(start), place(end)),
                    None => (Val::Int(-1), Val::Int(-1)),
                };
                match method {
                    Method::Start => Ok(start),
                    Method::End => Ok(end),
                    _ => Val::tuple(vec![start, end]),
                }
            }
            _ => Err(Exception::TYPE.into()),
        }
    }
}
