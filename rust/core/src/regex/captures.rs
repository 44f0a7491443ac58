//! Captures: the groups of a match of a pattern of the `python` dialect, as a match object of `re` gives them.
//!
//! A backtracking walk in the order of `re`, which visits no step twice at one position and so is bounded. It runs after an
//! automaton has found that there is a match.

use super::Dialect;
use super::dialect::python;
use super::dialect::stack::Built;
use super::nfa::{Nfa, Place, Step, holds};
use crate::budget::Steps;
use crate::error::Fault;

/// Visits that take a step of the budget.
const VISITS_A_STEP: u64 = 4;

/// Most steps times places that a walk remembers, in bits.
const MAX_VISITS: usize = 1 << 26;

/// A pattern as a list of steps, and its groups.
#[derive(Debug)]
pub struct Captures {
    nfa: Nfa,
    /// The names of the groups, the first of which is group 1.
    names: Vec<Option<String>>,
}

/// The ranges in bytes that the groups matched; group 0 is the whole match.
pub type Groups = Vec<Option<(usize, usize)>>;

/// An alternative still to be tried.
enum Try {
    Step(usize, usize),
    Restore(usize, Option<usize>),
}

impl Captures {
    /// The steps of a pattern; `None` where `re` may match in another order than this walk does.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let (piece, names) = python::parse_named::<Built<true>>(text).ok()?;
        let nfa = Nfa::new(&piece.built.0);
        // Where a round may be empty `re` has rules of its own on when it is the last.
        (!nfa.empty_rounds).then_some(Self { nfa, names })
    }

    /// The names of the groups, the first of which is group 1.
    #[must_use]
    pub fn names(&self) -> &[Option<String>] {
        &self.names
    }

    /// The groups of the first match: at the start of the text if `anchored`, and to its end if `whole`. `None`: there is
    /// no match, or finding it takes more than this walk may remember.
    ///
    /// # Errors
    /// [`Fault::BudgetExceeded`].
    pub(crate) fn find(
        &self,
        text: &str,
        (anchored, whole): (bool, bool),
        steps: &Steps,
    ) -> Result<Option<Groups>, Fault> {
        let places = text.len() + 1;
        let visits = self.nfa.steps.len().saturating_mul(places);
        if visits > MAX_VISITS {
            return Ok(None);
        }
        let mut walk = Walk {
            captures: self,
            text,
            whole,
            visited: vec![0; visits / 64 + 1],
            slots: vec![None; 2 * (self.names.len() + 1)],
            left: Vec::new(),
            visits: 0,
            budget: steps,
        };
        let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        for start in starts {
            if walk.from(start)? {
                let pairs = walk.slots.chunks(2);
                let group = |pair: &[Option<usize>]| Some(((*pair.first()?)?, (*pair.last()?)?));
                return Ok(Some(pairs.map(group).collect()));
            }
            if anchored {
                break;
            }
        }
        Ok(None)
    }

    /// Words of memory that [`Self::find`] needs.
    #[must_use]
    pub(crate) fn remembered(&self, text: &str) -> usize {
        self.nfa
            .steps
            .len()
            .saturating_mul(text.len() + 1)
            .min(MAX_VISITS)
            / 64
    }
}

struct Walk<'w> {
    captures: &'w Captures,
    text: &'w str,
    whole: bool,
    visited: Vec<u64>,
    slots: Vec<Option<usize>>,
    left: Vec<Try>,
    visits: u64,
    budget: &'w Steps,
}

impl Walk<'_> {
    /// Returns true if this step has not yet been at this position.
    fn is_new(&mut self, step: usize, at: usize) -> bool {
        let bit = step * (self.text.len() + 1) + at;
        match self.visited.get_mut(bit / 64) {
            Some(word) if *word & (1 << (bit % 64)) == 0 => {
                *word |= 1 << (bit % 64);
                true
            }
            Some(_) | None => false,
        }
    }

    fn from(&mut self, start: usize) -> Result<bool, Fault> {
        self.left.push(Try::Step(0, start));
        while let Some(next) = self.left.pop() {
            match next {
                Try::Restore(slot, held) => {
                    if let Some(slot) = self.slots.get_mut(slot) {
                        *slot = held;
                    }
                }
                Try::Step(step, at) => {
                    if self.follow(step, at)? {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    fn follow(&mut self, mut step: usize, mut at: usize) -> Result<bool, Fault> {
        loop {
            self.visits += 1;
            if self.visits.is_multiple_of(VISITS_A_STEP) {
                self.budget.take(1)?;
            }
            if !self.is_new(step, at) {
                return Ok(false);
            }
            let captures = self.captures;
            let rest = self.text.get(at..).unwrap_or_default();
            let next = rest.chars().next();
            match captures.nfa.steps.get(step) {
                Some(reads @ (Step::Char(_) | Step::Class(_))) => match next {
                    Some(found) if reads.reads(found) => at += found.len_utf8(),
                    Some(_) | None => return Ok(false),
                },
                Some(Step::Look(look)) => {
                    let before = self.text.get(..at).unwrap_or_default();
                    let place = Place {
                        before: before.chars().next_back(),
                        after: next,
                        last: next.is_some_and(|next| next.len_utf8() == rest.len()),
                    };
                    if !holds(Dialect::Python, *look, place) {
                        return Ok(false);
                    }
                }
                Some(Step::Split(one, other)) => {
                    self.left.push(Try::Step(*other, at));
                    step = *one;
                    continue;
                }
                Some(Step::Jump(to)) => {
                    step = *to;
                    continue;
                }
                Some(Step::Save(slot)) => {
                    if let Some(held) = self.slots.get_mut(*slot) {
                        self.left.push(Try::Restore(*slot, held.replace(at)));
                    }
                }
                Some(Step::Found) => return Ok(!self.whole || at == self.text.len()),
                None => return Ok(false),
            }
            step += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Captures;
    use crate::budget::Steps;

    fn groups<'t>(pattern: &str, text: &'t str) -> Option<Vec<Option<&'t str>>> {
        let groups = Captures::new(pattern)?
            .find(text, (false, false), &Steps::endless())
            .ok()??;
        let text = |span: Option<(usize, usize)>| span.and_then(|(a, b)| text.get(a..b));
        Some(groups.into_iter().map(text).collect())
    }

    #[test]
    fn groups_are_those_of_re() {
        assert_eq!(
            groups(r"(\w+)@(\w+)\.com", "to bob@example.com"),
            Some(vec![Some("bob@example.com"), Some("bob"), Some("example")])
        );
        assert_eq!(
            groups("(a|ab)(c|bcd)?", "abcd"),
            Some(vec![Some("abcd"), Some("a"), Some("bcd")])
        );
        assert_eq!(groups("(a)?b", "b"), Some(vec![Some("b"), None]));
        assert_eq!(groups("a+?", "aaa"), Some(vec![Some("a")]));
        assert_eq!(groups("b$", "ab\n"), Some(vec![Some("b")]));
        assert_eq!(groups("é(.)", "né😀"), Some(vec![Some("é😀"), Some("😀")]));
        assert!(Captures::new("(a*)*").is_none());
    }
}
