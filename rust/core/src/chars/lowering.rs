//! Lower case one character at a time, for the analysis of policies.

use super::classes::{IGNORABLE, LOWERCASE, UPPERCASE};
use super::tables::{LOWER, LOWER_MORE};
use super::{is_cased, is_ignorable, push_lower};

/// The letter whose lower case depends on its context.
pub(crate) const SIGMA: char = super::SIGMA;

/// The lower cases of [`SIGMA`]: within a word, and at its end.
pub(crate) const SIGMAS: (char, char) = ('σ', 'ς');

/// The part of a character in the context of [`SIGMA`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Context {
    /// It is skipped.
    Ignorable,
    /// It is a letter.
    Cased,
    /// It ends a word.
    Other,
}

impl Context {
    /// The part of `found`.
    pub(crate) fn of(found: char) -> Self {
        if is_ignorable(found) {
            Self::Ignorable
        } else if is_cased(found) {
            Self::Cased
        } else {
            Self::Other
        }
    }
}

/// The lower case of a character, regardless of its context.
pub(crate) fn lowered(found: char) -> String {
    let mut out = String::new();
    push_lower(&mut out, found);
    out
}

/// The first code points of ranges whose characters are all their own lower case, or are one character; `contexts`: and that
/// have one [`Context`].
pub(crate) fn cuts(contexts: bool) -> Vec<u32> {
    let mapped = LOWER.iter().map(|(from, _)| *from);
    let more = LOWER_MORE.iter().map(|[from, ..]| u32::from(*from));
    let mut cuts: Vec<u32> = mapped.chain(more).flat_map(|at| [at, at + 1]).collect();
    if contexts {
        for class in [&IGNORABLE, &LOWERCASE, &UPPERCASE] {
            for range in class.ranges() {
                cuts.extend([u32::from(range.start()), u32::from(range.end()) + 1]);
            }
        }
        // Characters in title case are few and each for itself.
        cuts.extend((0x1C4..=0x1F3).chain(0x1F88..=0x1FFD));
        for found in "'.:^`".chars() {
            cuts.extend([u32::from(found), u32::from(found) + 1]);
        }
    }
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}
