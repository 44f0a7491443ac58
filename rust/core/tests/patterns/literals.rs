//! Patterns that are equivalent to a comparison with a literal.

use bobcat_core::regex::{Dialect, LiteralKind, Pattern};

fn kind(text: &str, dialect: Dialect) -> Option<LiteralKind> {
    Pattern::parse(text, dialect)
        .expect("a valid pattern")
        .literal_kind()
}

#[test]
fn a_literal_between_anchors_is_seen() {
    let owned = |text: &str| text.to_owned();
    for (text, expected) in [
        ("^abc$", LiteralKind::Exact(owned("abc"))),
        (r"\Aabc\z", LiteralKind::Exact(owned("abc"))),
        ("^rm -rf", LiteralKind::Prefix(owned("rm -rf"))),
        (r"\.env$", LiteralKind::Suffix(owned(".env"))),
        (r"\Qa.b\E", LiteralKind::Contains(owned("a.b"))),
        ("(?:pro)(d)", LiteralKind::Contains(owned("prod"))),
        ("é", LiteralKind::Contains(owned("é"))),
        ("", LiteralKind::Contains(owned(""))),
        ("^", LiteralKind::Prefix(owned(""))),
    ] {
        assert_eq!(kind(text, Dialect::Re2), Some(expected), "{text}");
    }
}

#[test]
fn nothing_else_is_taken_for_a_literal() {
    for text in [
        "(?i)abc", "a.c", "ab?", "a|bc", "(?m)^abc", "(?m)abc$", r"\babc", "[ab]",
    ] {
        assert_eq!(kind(text, Dialect::Re2), None, "{text}");
    }
    // A last line feed may follow there.
    assert_eq!(kind("abc$", Dialect::Python), None);
    assert_eq!(
        kind(r"^abc\Z", Dialect::Python),
        Some(LiteralKind::Exact("abc".to_owned()))
    );
}
