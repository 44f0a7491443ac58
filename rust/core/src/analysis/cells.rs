//! The texts at one path, divided by the constants and the prefixes of checks, so that what begins with one prefix is a run
//! of codes: a rule about one directory contradicts a rule about another one without a search for a text.

use std::collections::BTreeSet;

use crate::clause::operand::Check;
use crate::regex::{Dialect, Pattern};
use crate::value::constant::Const;

/// Texts with one code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cell {
    /// The texts that begin with this prefix, and are no constants and in no cell of a longer one.
    Within(String),
    /// A constant.
    Constant(String),
}

impl Cell {
    fn text(&self) -> &str {
        match self {
            Self::Within(text) | Self::Constant(text) => text,
        }
    }

    fn key(&self) -> (&str, bool) {
        (self.text(), matches!(self, Self::Constant(_)))
    }

    /// The constant.
    pub(super) fn constant(&self) -> Option<&String> {
        match self {
            Self::Constant(text) => Some(text),
            Self::Within(_) => None,
        }
    }
}

/// The cells of a slot, by their codes.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    all: Vec<Cell>,
    /// True if all texts that begin with a prefix have adjacent codes.
    sorted: bool,
}

impl Cells {
    /// Every cell begins before what it holds: by text.
    pub(super) fn new(constants: &[String], prefixes: BTreeSet<String>) -> Self {
        let within = prefixes.into_iter().map(Cell::Within);
        let own = constants.iter().cloned().map(Cell::Constant);
        let mut all: Vec<Cell> = own.chain(within).collect();
        all.push(Cell::Within(String::new()));
        all.sort_unstable_by(|one, other| one.key().cmp(&other.key()));
        all.dedup();
        Self { all, sorted: true }
    }

    /// The constants, and then all other texts: a witness prefers codes that come first.
    pub(super) fn constants_first(constants: &[String]) -> Self {
        let own = constants.iter().cloned().map(Cell::Constant);
        let all = own.chain([Cell::Within(String::new())]).collect();
        Self { all, sorted: false }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, code: usize) -> Option<&Cell> {
        self.all.get(code)
    }

    /// The code of a text.
    pub(super) fn code_of(&self, text: &str) -> usize {
        if !self.sorted {
            let known = self.all.iter().position(|cell| cell.text() == text);
            return known.unwrap_or(self.all.len().saturating_sub(1));
        }
        let at = |key: (&str, bool)| self.all.binary_search_by(|cell| cell.key().cmp(&key));
        if let Ok(code) = at((text, true)) {
            return code;
        }
        let ends = text.char_indices().map(|(end, _)| end).chain([text.len()]);
        let ends: Vec<usize> = ends.collect();
        let prefixes = ends.iter().rev().filter_map(|end| text.get(..*end));
        let mut found = prefixes.filter_map(|prefix| at((prefix, false)).ok());
        found.next().unwrap_or(0)
    }

    /// The codes of the texts that begin with a prefix, and of the cell that holds it: the first, and the one after the last.
    fn range(&self, prefix: &str) -> (usize, usize) {
        let first = self
            .all
            .partition_point(|cell| cell.key() < (prefix, false));
        let rest = self.all.get(first..).unwrap_or_default();
        let count = rest.partition_point(|cell| cell.text().starts_with(prefix));
        (first, first + count)
    }

    /// The codes of the texts for which a check that wants one of some prefixes can have another result than for all others.
    pub(super) fn codes_of(&self, prefixes: &[String]) -> Vec<usize> {
        if !self.sorted {
            return (0..self.all.len()).collect();
        }
        let mut codes = BTreeSet::new();
        for prefix in prefixes {
            let (first, last) = self.range(prefix);
            codes.extend(first..last);
            codes.insert(self.code_of(prefix));
        }
        codes.into_iter().collect()
    }

    /// The place of a cell among prefixes: all of its texts begin with one, some may, or none does.
    pub(super) fn place(&self, code: usize, prefixes: &[String]) -> Among {
        let Some(own) = self.all.get(code).map(Cell::text) else {
            return Among::None;
        };
        if prefixes.iter().any(|prefix| own.starts_with(&**prefix)) {
            return Among::All;
        }
        let open = |prefix: &String| {
            prefix.starts_with(own) && {
                let (first, _) = self.range(prefix);
                let known = self.all.get(first).map(Cell::key);
                !self.sorted || known != Some((prefix.as_str(), false))
            }
        };
        match prefixes.iter().any(open) {
            true => Among::Some,
            false => Among::None,
        }
    }

    /// The prefix of a cell, and the longer ones with cells of their own.
    pub(super) fn bounds(&self, code: usize) -> Option<(&str, Vec<String>)> {
        let Some(Cell::Within(own)) = self.all.get(code) else {
            return None;
        };
        let mut inner: Vec<String> = Vec::new();
        if self.sorted {
            let (_, last) = self.range(own);
            for cell in self.all.get(code + 1..last).unwrap_or_default() {
                if let Cell::Within(text) = cell
                    && inner.last().is_none_or(|known| !text.starts_with(known))
                {
                    inner.push(text.clone());
                }
            }
        }
        Some((own, inner))
    }
}

/// The texts of a cell among those that begin with prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    All,
    Some,
    None,
}

/// The prefixes of which a check of a text wants one; `None`: it wants none, or they are not known.
pub(super) fn prefixes(check: &Check) -> Option<Vec<String>> {
    let found = match (check.op.name, check.operand.constant()?) {
        ("starts_with", Const::List(items)) => {
            let texts = items.iter().map(|item| match item {
                Const::Str(text) => Some(text.to_string()),
                _ => None,
            });
            texts.collect::<Option<Vec<String>>>()?
        }
        ("starts_with", Const::Str(text)) => vec![text.to_string()],
        ("matches", Const::Str(pattern)) => {
            Pattern::parse(pattern, Dialect::Re2).ok()?.prefixes()?
        }
        _ => return None,
    };
    let usable = !found.is_empty() && found.iter().all(|prefix| !prefix.is_empty());
    usable.then_some(found)
}
