//! Patterns that are equivalent to a comparison with one literal.

use regex_syntax::hir::literal::{ExtractKind, Extractor};
use regex_syntax::hir::{Hir, HirKind, Look};

/// The literal test a pattern amounts to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiteralKind {
    /// The text is the literal: `\Aabc\z`.
    Exact(String),
    /// The text begins with the literal: `^abc`.
    Prefix(String),
    /// The text ends with the literal: `abc$` of RE2.
    Suffix(String),
    /// The text contains the literal: `abc`. The empty literal is in every text.
    Contains(String),
}

/// The most prefixes of one pattern.
const PREFIXES: usize = 16;

/// Texts with one of which every text begins that the pattern matches; `None`: there are no such texts, or too many.
pub(super) fn prefixes(hir: &Hir) -> Option<Vec<String>> {
    if !hir.properties().look_set_prefix().contains(Look::Start) {
        return None;
    }
    let mut extractor = Extractor::new();
    extractor.kind(ExtractKind::Prefix).limit_total(PREFIXES);
    let found = extractor.extract(hir);
    let mut prefixes = Vec::new();
    for literal in found.literals()? {
        let bytes = literal.as_bytes();
        let valid = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?,
        };
        if valid.is_empty() {
            return None;
        }
        prefixes.push(valid.to_owned());
    }
    Some(prefixes)
}

pub(super) fn kind(hir: &Hir) -> Option<LiteralKind> {
    let parts = match hir.kind() {
        HirKind::Concat(parts) => parts.as_slice(),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Look(_) => std::slice::from_ref(hir),
        HirKind::Class(_)
        | HirKind::Repetition(_)
        | HirKind::Capture(_)
        | HirKind::Alternation(_) => return None,
    };
    let (start, parts) = match parts.split_first() {
        Some((first, rest)) if matches!(first.kind(), HirKind::Look(Look::Start)) => (true, rest),
        Some(_) | None => (false, parts),
    };
    let (end, parts) = match parts.split_last() {
        Some((last, rest)) if matches!(last.kind(), HirKind::Look(Look::End)) => (true, rest),
        Some(_) | None => (false, parts),
    };
    let literal = match parts {
        [] => String::new(),
        [one] => match one.kind() {
            HirKind::Literal(literal) => String::from_utf8(literal.0.to_vec()).ok()?,
            HirKind::Empty => String::new(),
            _ => return None,
        },
        _ => return None,
    };
    Some(match (start, end) {
        (true, true) => LiteralKind::Exact(literal),
        (true, false) => LiteralKind::Prefix(literal),
        (false, true) => LiteralKind::Suffix(literal),
        (false, false) => LiteralKind::Contains(literal),
    })
}
