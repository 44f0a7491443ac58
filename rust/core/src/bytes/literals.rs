//! Literals searched for in one pass over a text: an Aho-Corasick automaton that takes linear time to build.
//!
//! After it has built the trie, the `aho-corasick` crate moves the match states in front of the others by swaps, and then
//! follows every cycle of that permutation from each of its states. Where most states match, as with `x0`, `x1`, ...
//! `x99999`, there is one cycle of all states: quadratic time, 26 s for 100,000 literals. So a padding literal with as many
//! states that do not match as there are match states is put first. Every swap then exchanges one of these states with a
//! match state, and no cycle has more than two states.

use std::collections::HashSet;
use std::iter;

use aho_corasick::packed::Searcher;
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input};

use super::hash::Keyed;
use crate::budget::Steps;
use crate::error::Fault;

/// Hits per step.
const HITS_A_STEP: u64 = 16;

/// The byte of the padding literal, which is in no UTF-8 text.
const PADDING: u8 = 0xff;

/// The bytes of a text that are copied in lower case at once.
const FOLDED: usize = 256;

/// Finds where the first of a few literals begins in a text.
///
/// PERF: it compares vectors of bytes, a tenth of an automaton's instructions, and most texts have none of the literals.
#[derive(Debug)]
pub(crate) struct FirstLiteral {
    searcher: Searcher,
    /// Of literals in lower case, of which ASCII letters match in either case: the bytes by which parts of a text begin after
    /// one another, so that each literal lies in one of them.
    fold: Option<usize>,
}

impl FirstLiteral {
    /// Builds the search for `literals`, those of [`LiteralSet::new`]. Returns `None` for too many or too long literals, an
    /// empty one, or a processor without vectors of bytes.
    pub(crate) fn new(literals: &[&[u8]], fold: bool) -> Option<Self> {
        let lengths = || literals.iter().map(|literal| literal.len());
        let longest = lengths()
            .max()
            .filter(|_| lengths().all(|length| length > 0))?;
        let fold = match fold {
            false => None,
            true if longest <= FOLDED / 2 => Some(FOLDED + 1 - longest),
            true => return None,
        };
        let searcher = Searcher::new(literals)?;
        Some(Self { searcher, fold })
    }

    /// A place before which no literal begins in `text`: where the first one does, or what is left of the text is too short;
    /// `None`: no literal is in it.
    #[inline]
    pub(crate) fn start(&self, text: &[u8]) -> Option<usize> {
        if text.len() < self.searcher.minimum_len() {
            return Some(0);
        }
        let first = match self.fold {
            None => self.searcher.find(text),
            Some(step) => {
                let mut folded = [0; FOLDED];
                let Some(folded) = folded.get_mut(..text.len()) else {
                    return self.start_in_parts(text, step);
                };
                for (byte, lower) in text.iter().zip(&mut *folded) {
                    *lower = byte.to_ascii_lowercase();
                }
                self.searcher.find(folded)
            }
        };
        first.map(|hit| hit.start())
    }

    #[cold]
    fn start_in_parts(&self, text: &[u8], step: usize) -> Option<usize> {
        let mut from = 0;
        loop {
            let end = text.len().min(from + FOLDED);
            if let Some(start) = self.start(text.get(from..end)?) {
                return Some(from + start);
            }
            if end == text.len() {
                return None;
            }
            from += step;
        }
    }
}

/// An automaton that finds literals, each known by its index.
#[derive(Debug)]
pub(crate) struct LiteralSet {
    automaton: AhoCorasick,
    first: Option<FirstLiteral>,
    /// The number of padding literals in front of the others: 0 or 1.
    padding: usize,
}

/// A literal found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// The index of the literal.
    pub(crate) literal: usize,
    /// The offset of its first byte.
    pub(crate) start: usize,
}

impl LiteralSet {
    /// Builds the automaton of `literals`. Up to `table_bytes` bytes of literals it is a table of all transitions, or begins
    /// where vectors of bytes find the first one. With `fold`, the literals are in lower case, and ASCII letters match in
    /// either case. Returns `None` for too many literals.
    pub(crate) fn new(literals: &[&[u8]], table_bytes: usize, fold: bool) -> Option<Self> {
        let bytes: usize = literals.iter().map(|literal| literal.len()).sum();
        let table = bytes <= table_bytes;
        let padding = match table {
            true => Vec::new(),
            false => padding(literals),
        };
        let first = FirstLiteral::new(literals, fold);
        let kind = match (table, &first) {
            (true, None) => Some(AhoCorasickKind::DFA),
            (true, Some(_)) => Some(AhoCorasickKind::ContiguousNFA),
            (false, _) => None,
        };
        let padded = (!table).then_some(padding.as_slice());
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(fold)
            .kind(kind)
            .prefilter(false)
            .build(padded.into_iter().chain(literals.iter().copied()))
            .ok()?;
        Some(Self {
            automaton,
            first,
            padding: usize::from(!table),
        })
    }

    /// The part of `text` that has all hits; `None`: it has no hit.
    #[inline]
    fn part<'t>(&self, text: &'t str) -> Option<Input<'t>> {
        let start = match &self.first {
            Some(first) => first.start(text.as_bytes())?,
            None => 0,
        };
        Some(Input::new(text).range(start..))
    }

    /// Returns true if a literal is in `text`.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.part(text)
            .is_some_and(|part| self.automaton.is_match(part))
    }

    /// The hits in `text`, overlapping ones included.
    pub(crate) fn hits(&self, text: &str) -> impl Iterator<Item = Hit> {
        let part = self.part(text).into_iter();
        let hits = part.flat_map(|part| self.automaton.find_overlapping_iter(part));
        hits.filter_map(|hit| {
            Some(Hit {
                literal: hit.pattern().as_usize().checked_sub(self.padding)?,
                start: hit.start(),
            })
        })
    }

    /// Calls `visit` with the literal of every hit in `text` until it returns `false`.
    ///
    /// # Errors
    /// [`Fault::BudgetExceeded`].
    pub(crate) fn each_hit(
        &self,
        text: &str,
        steps: &Steps,
        mut visit: impl FnMut(usize) -> bool,
    ) -> Result<(), Fault> {
        for (count, hit) in (1_u64..).zip(self.hits(text)) {
            if count.is_multiple_of(HITS_A_STEP) {
                steps.take(1)?;
            }
            if !visit(hit.literal) {
                break;
            }
        }
        Ok(())
    }
}

/// The padding literal of `literals`: its last state is a match state too, for which it has one more of the others.
fn padding(literals: &[&[u8]]) -> Vec<u8> {
    vec![PADDING; match_states(literals) + 2]
}

/// An upper bound of the match states in the trie of `literals`: the states whose last bytes are those of a literal. Exact
/// where all literals have the same length.
fn match_states(literals: &[&[u8]]) -> usize {
    let width = literals.iter().map(|literal| literal.len()).min();
    let width = width.unwrap_or(0);
    let endings: HashSet<&[u8], Keyed> = literals
        .iter()
        .filter_map(|literal| literal.get(literal.len() - width..))
        .collect();
    let mut sorted = literals.to_vec();
    sorted.sort_unstable();
    let before = iter::once(&[][..]).chain(sorted.iter().copied());
    let states = before.zip(&sorted).map(|(before, literal)| {
        let same = iter::zip(before, *literal).take_while(|(a, b)| a == b);
        let own = (same.count() + 1).max(width)..=literal.len();
        own.filter(|end| {
            let ending = literal.get(end - width..*end);
            ending.is_some_and(|ending| endings.contains(ending))
        })
        .count()
    });
    states.sum()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{FOLDED, FirstLiteral, LiteralSet, match_states, padding};

    /// The states of a trie in the order of their creation: true for a match state.
    fn states(literals: &[Vec<u8>]) -> Vec<bool> {
        let known: HashSet<&[u8]> = literals.iter().map(Vec::as_slice).collect();
        let mut seen = HashSet::new();
        let ends = literals
            .iter()
            .flat_map(|literal| (1..=literal.len()).map(move |end| &literal[..end]));
        let created: Vec<&[u8]> = ends.filter(|state| seen.insert(*state)).collect();
        let longest = literals[literals.len() - 1].len().max(16);
        created
            .iter()
            .map(|state| {
                let first = state.len().saturating_sub(longest);
                (first..state.len()).any(|start| known.contains(&state[start..]))
                    || known.contains(state)
            })
            .collect()
    }

    /// The steps that the crate takes to renumber states: for each the length of its cycle.
    fn renumbering(matching: &[bool]) -> usize {
        let mut map: Vec<usize> = (0..matching.len()).collect();
        let matches = (0..matching.len()).filter(|state| matching[*state]);
        for (next, state) in matches.enumerate() {
            map.swap(next, state);
        }
        let cycle = |first: usize| {
            let mut state = map[first];
            let mut length = 1;
            while state != first {
                (state, length) = (map[state], length + 1);
            }
            length
        };
        (0..map.len()).map(cycle).sum()
    }

    fn sets() -> [Vec<Vec<u8>>; 6] {
        let numbered = |count: usize, text: &dyn Fn(usize) -> String| -> Vec<Vec<u8>> {
            (0..count).map(|n| text(n).into_bytes()).collect()
        };
        [
            numbered(1_000, &|n| format!("x{n}")),
            numbered(1_000, &|n| format!("needle {n}")),
            numbered(1_000, &|n| format!("{n}")),
            numbered(1_000, &|n| format!("/p{n}/")),
            numbered(1_000, &|n| format!("{}z", n * 7_919 % 4_001)),
            numbered(100, &|n| "a".repeat(n + 1)),
        ]
    }

    #[test]
    fn renumbering_the_states_takes_linear_time() {
        for literals in sets() {
            let slices: Vec<&[u8]> = literals.iter().map(Vec::as_slice).collect();
            let plain = states(&literals);
            let matching = plain.iter().filter(|matches| **matches).count();
            let bound = match_states(&slices);
            assert!(matching <= bound && bound <= plain.len());
            let padded = [vec![padding(&slices)], literals.clone()].concat();
            let all = states(&padded);
            assert!(
                renumbering(&all) <= 2 * all.len(),
                "{} of {}",
                renumbering(&all),
                all.len()
            );
        }
        let numbered = &states(&sets()[0]);
        assert!(renumbering(numbered) > 100 * numbered.len());
    }

    #[test]
    fn padding_changes_no_hit() {
        let text = "x17 X399 needle 3 /p399/ 14z0z aaab é";
        for literals in sets() {
            let slices: Vec<&[u8]> = literals.iter().map(Vec::as_slice).collect();
            for fold in [false, true] {
                let set = |table| LiteralSet::new(&slices, table, fold).expect("few literals");
                let (table, padded) = (set(usize::MAX), set(0));
                assert_eq!((table.padding, padded.padding), (0, 1));
                let hits: Vec<_> = table.hits(text).collect();
                assert_eq!(hits, padded.hits(text).collect::<Vec<_>>());
                assert!(!hits.is_empty());
                assert_eq!(table.is_match("?"), padded.is_match("?"));
            }
        }
    }

    /// Texts around the length from which vectors of bytes are compared, and beyond that of a copy in lower case.
    fn texts() -> Vec<String> {
        let words = [
            "Needle 3", "/p399/", "x17", "NEEDLE", "é", "z ", "-", "14z0",
        ];
        let mut state = 7_usize;
        let mut word = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005) + 1;
            words[(state >> 33) % words.len()]
        };
        let mut texts = vec![String::new()];
        for length in [1, 2, 4, 8, 16, 100] {
            texts.extend((0..40).map(|_| (0..length).map(|_| word()).collect::<String>()));
        }
        // At every place of the parts that are copied in lower case, and across their ends.
        texts.extend(
            (FOLDED - 120..2 * FOLDED + 20).map(|before| format!("{:<before$}AAAx1Z", "é")),
        );
        texts
    }

    #[test]
    fn the_first_literal_begins_where_the_first_hit_does() {
        let (mut later, mut none) = (0, 0);
        for literals in sets() {
            let few: Vec<&[u8]> = literals[..literals.len().min(20)]
                .iter()
                .map(Vec::as_slice)
                .collect();
            for fold in [false, true] {
                let Some(first) = FirstLiteral::new(&few, fold) else {
                    continue;
                };
                let mut set = LiteralSet::new(&few, usize::MAX, fold).expect("few literals");
                for text in texts() {
                    let found: Vec<_> = set.hits(&text).collect();
                    let kept = set.first.take();
                    let hits: Vec<_> = set.hits(&text).collect();
                    assert_eq!(
                        (&found, found.is_empty()),
                        (&hits, !set.is_match(&text)),
                        "{text}"
                    );
                    set.first = kept;
                    assert_eq!(hits.is_empty(), !set.is_match(&text), "{text}");
                    let start = first.start(text.as_bytes());
                    let short = |start| text.len() - start < first.searcher.minimum_len();
                    match (start, hits.iter().map(|hit| hit.start).min()) {
                        (Some(start), begins) if short(start) => {
                            assert!(begins.is_none_or(|begins| start <= begins), "{text}");
                        }
                        (start, begins) => {
                            assert_eq!(start, begins, "{text}");
                            later += usize::from(start.is_some());
                            none += usize::from(start.is_none());
                        }
                    }
                }
            }
        }
        assert!(
            later > 100 && none > 100 || !cfg!(target_arch = "x86_64"),
            "{later}, {none}"
        );
        assert!(FirstLiteral::new(&[b"a", b""], false).is_none());
        let long = "a".repeat(FOLDED / 2 + 1);
        assert!(FirstLiteral::new(&[b"b", long.as_bytes()], true).is_none());
    }
}
