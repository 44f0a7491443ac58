//! Prefilter: literals one of which is in every text that a pattern matches. One pass over the text finds the patterns that
//! need a search.
//!
//! PERF: 1,000 patterns on one argument of 38 characters take 0.2 µs instead of 1.3, and no automaton is built for them.

use std::collections::HashMap;

use regex_syntax::hir::{Class, Hir, HirKind};

use super::multi::MatchSet;
use crate::budget::Steps;
use crate::bytes::hash::Keyed;
use crate::bytes::literals::{FirstLiteral, LiteralSet};
use crate::error::Fault;

/// Minimum length of a literal; shorter ones are in most texts.
const SHORTEST: usize = 2;

/// Maximum number of literals of one pattern.
const MOST: usize = 8;

/// Up to this many bytes of literals a table of all transitions is built where no vectors of bytes search for them.
const SMALL: usize = 16_384;

/// With more bytes of literals than this, only a part of each is used.
const LARGE: usize = 1 << 20;

/// The length of this part, in bytes.
const PART: usize = 16;

/// The prefilter of some patterns of a set.
#[derive(Debug)]
pub(super) struct Prefilter {
    literals: LiteralSet,
    /// By literal: the patterns it may be found by, as indexes into the set.
    patterns: Vec<Vec<u32>>,
}

impl Prefilter {
    /// Builds the prefilter of `patterns`, each with its index in the set. Returns also the indexes of the patterns without
    /// literals.
    pub(super) fn new<'p>(
        patterns: impl Iterator<Item = (usize, &'p Hir)>,
    ) -> (Option<Self>, Vec<usize>) {
        let (chosen, without) = chosen(patterns);
        let (mut numbers, mut literals) = (HashMap::<&[u8], usize, Keyed>::default(), Vec::new());
        let mut by_literal = Vec::<Vec<u32>>::new();
        for (index, own) in &chosen {
            for literal in own {
                let number = *numbers.entry(literal).or_insert_with(|| {
                    literals.push(literal.as_slice());
                    by_literal.push(Vec::new());
                    literals.len() - 1
                });
                if let Some(patterns) = by_literal.get_mut(number) {
                    patterns.push(*index as u32);
                }
            }
        }
        let bytes: usize = literals.iter().map(|literal| literal.len()).sum();
        // A part of a literal is in every text that the whole is in.
        if bytes > LARGE {
            for literal in &mut literals {
                *literal = literal.get(..PART).unwrap_or(literal);
            }
        }
        let built = LiteralSet::new(&literals, SMALL, true).filter(|_| !literals.is_empty());
        match built {
            Some(literals) => (
                Some(Self {
                    literals,
                    patterns: by_literal,
                }),
                without,
            ),
            None => {
                let all = without.into_iter();
                let mut all: Vec<usize> = all.chain(chosen.iter().map(|(at, _)| *at)).collect();
                all.sort_unstable();
                (None, all)
            }
        }
    }

    /// Calls `visit` with every pattern that may be found in `text`, some more than once.
    ///
    /// # Errors
    /// [`Fault::BudgetExceeded`]: not all of them were visited.
    pub(super) fn search(
        &self,
        text: &str,
        (found, steps): (&mut MatchSet, &Steps),
        mut visit: impl FnMut(usize),
    ) -> Result<(), Fault> {
        found.reset(self.patterns.len());
        self.literals.each_hit(text, steps, |literal| {
            // Further occurrences of a literal add nothing.
            if !found.contains(literal) {
                found.insert(literal);
                for pattern in self.patterns.get(literal).into_iter().flatten() {
                    visit(*pattern as usize);
                }
            }
            true
        })
    }
}

/// The longest literal that is in every text that `hir` matches.
pub(super) fn needle(hir: &Hir) -> Option<&[u8]> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(&*literal.0).filter(|all| all.len() >= SHORTEST),
        HirKind::Capture(capture) => needle(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => needle(&repetition.sub),
        HirKind::Concat(parts) => {
            let needles = parts.iter().filter_map(needle);
            needles.max_by_key(|literal| literal.len())
        }
        HirKind::Empty
        | HirKind::Look(_)
        | HirKind::Class(_)
        | HirKind::Repetition(_)
        | HirKind::Alternation(_) => None,
    }
}

/// Finds the first literal of some patterns that an automaton searches for together; `None`: a pattern has no literals, or all
/// have too many.
pub(super) fn first_literal<'p>(patterns: impl Iterator<Item = &'p Hir>) -> Option<FirstLiteral> {
    let (chosen, without) = chosen(patterns.enumerate());
    if !without.is_empty() {
        return None;
    }
    let literals: Vec<&[u8]> = chosen
        .iter()
        .flat_map(|(_, literals)| literals.iter().map(Vec::as_slice))
        .collect();
    FirstLiteral::new(&literals, true)
}

/// The literals that are looked for instead of each pattern, and the patterns without any.
fn chosen<'p>(
    patterns: impl Iterator<Item = (usize, &'p Hir)>,
) -> (Vec<(usize, Literals)>, Vec<usize>) {
    let all: Vec<(usize, Vec<Literals>)> =
        patterns.map(|(index, hir)| (index, choices(hir))).collect();
    // The literals of the fewest patterns are the most selective.
    let mut uses: HashMap<&[u8], u32, Keyed> = HashMap::default();
    for literal in all.iter().flat_map(|(_, choices)| choices).flatten() {
        *uses.entry(literal).or_insert(0) += 1;
    }
    let worth = |literals: &Literals| {
        let used = literals
            .iter()
            .filter_map(|literal| uses.get(literal.as_slice()));
        let shortest = literals.iter().map(Vec::len).min().unwrap_or(0);
        (used.sum::<u32>(), usize::MAX - shortest)
    };
    let best = |choices: &[Literals]| {
        let best = (0..)
            .zip(choices)
            .min_by_key(|(_, literals)| worth(literals));
        best.map(|(at, _)| at)
    };
    let best: Vec<Option<usize>> = all.iter().map(|(_, choices)| best(choices)).collect();
    let (mut chosen, mut without) = (Vec::new(), Vec::new());
    for ((index, mut choices), best) in all.into_iter().zip(best) {
        match best {
            Some(at) => chosen.push((index, choices.swap_remove(at))),
            None => without.push(index),
        }
    }
    (chosen, without)
}

/// Literals in lower case, one of which is in every text that a pattern matches, in upper or lower case.
type Literals = Vec<Vec<u8>>;

/// The literals that a prefilter of `hir` could look for.
fn choices(hir: &Hir) -> Vec<Literals> {
    let mut choices = Vec::new();
    if let Some(whole) = required(hir, &mut choices) {
        choices.push(vec![whole]);
    }
    choices.retain(fit);
    choices
}

fn fit(literals: &Literals) -> bool {
    !literals.is_empty()
        && literals.len() <= MOST
        && literals.iter().all(|literal| literal.len() >= SHORTEST)
}

/// Adds to `choices` the literals of every text that `hir` matches. Returns the text itself, if `hir` matches only one,
/// case aside.
fn required(hir: &Hir, choices: &mut Vec<Literals>) -> Option<Vec<u8>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(Vec::new()),
        HirKind::Literal(literal) => Some(literal.0.to_ascii_lowercase()),
        HirKind::Class(class) => one_letter(class),
        HirKind::Capture(capture) => required(&capture.sub, choices),
        HirKind::Repetition(repetition) => {
            if repetition.min > 0
                && let Some(whole) = required(&repetition.sub, choices)
            {
                choices.push(vec![whole]);
            }
            None
        }
        HirKind::Concat(parts) => {
            let (mut run, mut whole) = (Vec::new(), true);
            for part in parts {
                match required(part, choices) {
                    Some(literal) => run.extend(literal),
                    None => {
                        whole = false;
                        choices.push(vec![std::mem::take(&mut run)]);
                    }
                }
            }
            if whole {
                return Some(run);
            }
            choices.push(vec![run]);
            None
        }
        HirKind::Alternation(branches) => {
            let mut union = Vec::new();
            for branch in branches {
                let mut own = Vec::new();
                if let Some(whole) = required(branch, &mut own) {
                    own.push(vec![whole]);
                }
                // The longest, of each branch.
                let best = own
                    .into_iter()
                    .filter(fit)
                    .max_by_key(|literals| literals.iter().map(Vec::len).min());
                union.extend(best?);
            }
            choices.push(union);
            None
        }
    }
}

/// The letter in lower case, of a class of one letter in either case.
fn one_letter(class: &Class) -> Option<Vec<u8>> {
    let Class::Unicode(class) = class else {
        return None;
    };
    let mut letters = Vec::new();
    for range in class.iter() {
        if range.start() != range.end() || !range.start().is_ascii() {
            return None;
        }
        letters.push(range.start() as u8);
    }
    letters.make_ascii_lowercase();
    letters.dedup();
    (letters.len() == 1).then_some(letters)
}

#[cfg(test)]
mod tests {
    use super::{Prefilter, needle};
    use crate::budget::Steps;
    use crate::regex::multi::MatchSet;
    use crate::regex::{Dialect, Pattern};

    fn choices(pattern: &str) -> Vec<Vec<String>> {
        let parsed = Pattern::parse(pattern, Dialect::Re2).expect("a pattern");
        let expression = parsed.inner.expression().expect("an expression");
        let choices = super::choices(&expression.hir);
        let text = |literal: Vec<u8>| String::from_utf8(literal).expect("UTF-8");
        choices
            .into_iter()
            .map(|literals| literals.into_iter().map(text).collect())
            .collect()
    }

    #[test]
    fn the_literals_of_a_pattern_are_those_it_cannot_do_without() {
        assert_eq!(choices("abc"), [["abc"]]);
        assert_eq!(choices("ab.cd"), [["ab"], ["cd"]]);
        assert_eq!(choices(r"(?i)\bdrop\s+Table\b"), [["drop"], ["table"]]);
        assert_eq!(choices("x(yz|uv)?"), Vec::<Vec<String>>::new());
        assert_eq!(choices("(foo|ba.r|qu.x)"), [["foo", "ba", "qu"]]);
        assert_eq!(choices("(foo|.)"), Vec::<Vec<String>>::new());
        assert_eq!(choices("(?:ab)+c(de)"), [["ab"], ["cde"]]);
        assert_eq!(choices("(?:ab)*cd"), [["cd"]]);
        // `s` in either case has a third letter, which is not ASCII.
        assert_eq!(choices("(?i)as.bb"), [["bb"]]);
        assert_eq!(choices("(?i)é.bb"), [["bb"]]);
    }

    #[test]
    fn a_needle_is_the_longest_literal_in_its_own_case() {
        let needle = |pattern| {
            let parsed = Pattern::parse(pattern, Dialect::Re2).expect("a pattern");
            let expression = parsed.inner.expression().expect("an expression");
            needle(&expression.hir).map(|bytes| String::from_utf8(bytes.to_vec()).expect("UTF-8"))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(needle(r"(^|/)Area-17(/|\.txt$)"), some("Area-17"));
        assert_eq!(needle("ab.cde(fg)+h"), some("cde"));
        assert_eq!(needle("(?:x|yz)é{2}"), some("é"));
        for without in [
            "(?i)drop",
            "a.b",
            "(foo|bar)",
            "(?:foo)?",
            "[0-9]+",
            "(?i)a-b|c",
        ] {
            assert_eq!(needle(without), None, "{without}");
        }
    }

    #[test]
    fn the_rarest_literal_is_looked_for_and_repetition_costs_nothing() {
        let patterns: Vec<Pattern> = (0..20)
            .map(|n| Pattern::parse(&format!(r"(?i)table\s+t{n}\b"), Dialect::Re2).expect("fine"))
            .chain([Pattern::parse("[a-z]{3}[0-9]", Dialect::Re2).expect("fine")])
            .collect();
        let expressions: Vec<_> = patterns
            .iter()
            .map(|pattern| pattern.inner.expression().expect("an expression"))
            .collect();
        let hirs = expressions.iter().map(|expression| &expression.hir);
        let (prefilter, without) = Prefilter::new(hirs.enumerate());
        assert_eq!(without, [20]);
        let (prefilter, mut found, mut visited) =
            (prefilter.expect("seeds"), MatchSet::new(), Vec::new());
        let found = (&mut found, &Steps::endless());
        let searched = prefilter.search("TABLE table T7 t7 t7", found, |pattern| {
            visited.push(pattern)
        });
        assert!(searched.is_ok());
        assert_eq!(visited, [7]);
    }
}
