//! Patterns: `re.search`, `re.match`, `re.fullmatch`, and the matches they give.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::OnceLock;

use super::compare::unjudged;
use super::exception::{Exception, Trouble};
use super::node::Method;
use super::table::Table;
use super::value::{Budget, Run, Val};
use crate::pattern::{Dialect, Groups, Matcher, PatternError, Spans};
use crate::value::Value;

/// Words of memory that are made in a step.
const WORDS_A_STEP: usize = 64;

/// Where a pattern must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Search,
    Match,
    FullMatch,
}

/// A pattern, and what searches it.
#[derive(Debug)]
pub(crate) struct Pattern {
    how: How,
    parsed: crate::pattern::Pattern,
    matcher: OnceLock<Matcher>,
    /// What finds its groups; `None`: it cannot.
    spans: OnceLock<Option<Spans>>,
}

impl Pattern {
    /// The pattern `text`, whose flags stand in it.
    ///
    /// # Errors
    /// What the `python` dialect says against it.
    pub(crate) fn new(text: &str, how: How) -> Result<Self, PatternError> {
        let parsed = crate::pattern::Pattern::parse(text, Dialect::Python)?;
        let parsed = match how {
            How::Search => parsed,
            How::Match => parsed.anchored(false),
            How::FullMatch => parsed.anchored(true),
        };
        Ok(Self {
            how,
            parsed,
            matcher: OnceLock::new(),
            spans: OnceLock::new(),
        })
    }

    /// What its automaton takes.
    pub(crate) fn cost(&self) -> usize {
        self.parsed.cost()
    }

    /// Whether there is a match.
    #[inline]
    pub(super) fn is_match(&self, text: &str, budget: &mut Budget) -> Run<bool> {
        budget.scan(text)?;
        self.matches(text, budget)
    }

    /// [`Self::is_match`], but for the steps of looking through the text, which are counted elsewhere.
    #[inline]
    pub(super) fn matches(&self, text: &str, budget: &mut Budget) -> Run<bool> {
        let matcher = self.matcher.get_or_init(|| self.parsed.compile());
        budget.metered(|steps| matcher.is_match_within(text, steps))
    }

    fn spans(&self) -> Run<&Spans> {
        let spans = self.spans.get_or_init(|| Spans::new(self.parsed.text()));
        spans.as_ref().ok_or(Trouble::UNSUPPORTED)
    }
}

/// A match. Its groups are found when they are first asked for.
pub(super) struct Found<'p, V> {
    pattern: &'p Pattern,
    text: Val<'p, V>,
    groups: OnceCell<Groups>,
}

impl<'p, V: Value> Found<'p, V> {
    pub(super) fn new(pattern: &'p Pattern, text: Val<'p, V>) -> Self {
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
        let spans = self.pattern.spans()?;
        budget.steps(spans.remembered(text) / WORDS_A_STEP)?;
        let found = budget.metered(|steps| spans.find(text, (anchored, whole), steps))?;
        let found = found.ok_or(Trouble::UNSUPPORTED)?;
        Ok(self.groups.get_or_init(|| found))
    }

    /// The number of the group that `key` means.
    fn index(&self, key: &Val<'p, V>) -> Run<usize> {
        let names = self.pattern.spans()?.names();
        let found = match key {
            Val::Int(index) => usize::try_from(*index).ok(),
            Val::Bool(flag) => Some(usize::from(*flag)),
            Val::Big(_) | Val::None => None,
            key => match key.text() {
                Some(name) => names
                    .iter()
                    .position(|known| known.as_deref() == Some(name))
                    .map(|at| at + 1),
                None => return Err(unjudged(key, Trouble::UNSUPPORTED)),
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
    pub(super) fn group(&self, key: &Val<'p, V>, budget: &mut Budget) -> Run<Val<'p, V>> {
        let index = self.index(key)?;
        self.text_of(index, &Val::None, budget)
    }

    /// A method of the match.
    pub(super) fn call(
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
                let count = self.pattern.spans()?.names().len();
                let groups = (1..=count).map(|index| self.text_of(index, otherwise, budget));
                Val::tuple(groups.collect::<Run<_>>()?)
            }
            (Method::GroupDict, [] | [_]) => {
                let otherwise = args.first().unwrap_or(&Val::None);
                let mut table = Table::new();
                for (index, name) in (1..).zip(self.pattern.spans()?.names()) {
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
                    Val::Int(super::text::length(before) as i64)
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
