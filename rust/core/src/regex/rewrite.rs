//! Rewriting of assertions of the `python` dialect that no engine has to assertions that engines have, and the texts on
//! which an automaton of the result is exact.

use regex_syntax::hir::{Hir, HirKind, Look, Repetition};

use super::Dialect;
use super::dialect::python::{DOLLAR, WORD, WORD_NEGATE};

/// The assertions of the `python` dialect about words.
const WORD_LOOKS: [Look; 3] = [WORD, WORD_NEGATE, Look::WordAsciiNegate];

/// The expression that an automaton searches for in place of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The pattern itself.
    Itself,
    /// The same meaning, with assertions that automata have.
    Rewritten,
    /// No such expression exists: the plain path searches the pattern.
    Nothing,
}

/// The use of an automaton for a pattern.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rewrite {
    pub(super) target: Target,
    /// The target has the same meaning only on texts that are ASCII and not empty.
    pub(super) ascii_only: bool,
}

impl Rewrite {
    /// The use of an automaton for `hir`, and the expression that it searches for if it is another one.
    pub(super) fn new(hir: &Hir, dialect: Dialect) -> (Self, Option<Hir>) {
        let looks = hir.properties().look_set();
        if dialect == Dialect::Re2 || looks.is_empty() {
            let itself = Self {
                target: Target::Itself,
                ascii_only: false,
            };
            return (itself, None);
        }
        let rewritten = rewrite(hir, true, Words::Ascii);
        // `re` has no positions inside a character, and no `\B` in an empty text.
        let rewrite = Self {
            target: match rewritten {
                Some(_) => Target::Rewritten,
                None => Target::Nothing,
            },
            ascii_only: WORD_LOOKS.iter().any(|look| looks.contains(*look)),
        };
        (rewrite, rewritten)
    }

    /// Returns true if the automaton is exact on `text`.
    pub(super) fn is_exact_on(&self, text: &str) -> bool {
        match self.target {
            Target::Itself | Target::Rewritten => {
                !self.ascii_only || (!text.is_empty() && text.is_ascii())
            }
            Target::Nothing => false,
        }
    }
}

/// What becomes of the boundaries of words.
#[derive(Clone, Copy)]
enum Words {
    /// They are those of ASCII.
    Ascii,
    /// They hold everywhere.
    Anywhere,
}

/// An expression that matches every text that `hir` matches, and perhaps others: without boundaries of words.
pub(super) fn without_words(hir: &Hir) -> Option<Hir> {
    rewrite(hir, true, Words::Anywhere)
}

/// `hir` with assertions that automata have, on ASCII. `tail` says that nothing follows: there, and only there, "the end or
/// before a last line feed" is `\n?\z`.
fn rewrite(hir: &Hir, tail: bool, words: Words) -> Option<Hir> {
    Some(match hir.kind() {
        HirKind::Look(look) if *look == DOLLAR => {
            tail.then_some(())?;
            let sub = Box::new(Hir::literal(*b"\n"));
            let line_feed = Hir::repetition(Repetition {
                min: 0,
                max: Some(1),
                greedy: true,
                sub,
            });
            Hir::concat(vec![line_feed, Hir::look(Look::End)])
        }
        HirKind::Look(look) if WORD_LOOKS.contains(look) => match words {
            Words::Anywhere => Hir::empty(),
            Words::Ascii if *look == WORD => Hir::look(Look::WordAscii),
            Words::Ascii => Hir::look(Look::WordAsciiNegate),
        },
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => hir.clone(),
        HirKind::Repetition(repetition) => {
            let sub = rewrite(&repetition.sub, tail && repetition.max == Some(1), words)?;
            Hir::repetition(Repetition {
                sub: Box::new(sub),
                ..repetition.clone()
            })
        }
        HirKind::Capture(capture) => rewrite(&capture.sub, tail, words)?,
        HirKind::Concat(parts) => {
            let last = parts.len().saturating_sub(1);
            let parts = parts
                .iter()
                .enumerate()
                .map(|(index, part)| rewrite(part, tail && index == last, words));
            Hir::concat(parts.collect::<Option<Vec<Hir>>>()?)
        }
        HirKind::Alternation(parts) => Hir::alternation(
            parts
                .iter()
                .map(|part| rewrite(part, tail, words))
                .collect::<Option<Vec<Hir>>>()?,
        ),
    })
}
