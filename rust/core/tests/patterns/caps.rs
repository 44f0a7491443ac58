//! Bounds on the cost of a hostile pattern.

use std::time::{Duration, Instant};

use bobcat_core::regex::{Dialect, MAX_COST, MAX_NESTING, MAX_PATTERN_CHARS, Pattern};

const BOTH: [Dialect; 2] = [Dialect::Re2, Dialect::Python];

fn refused(text: &str, dialect: Dialect) -> &'static str {
    Pattern::parse(text, dialect).map_or_else(
        |error| error.code,
        |pattern| panic!("{:?} was taken", pattern.text()),
    )
}

#[test]
fn a_pattern_has_a_length_and_a_depth() {
    for dialect in BOTH {
        assert!(Pattern::parse(&"é".repeat(MAX_PATTERN_CHARS), dialect).is_ok());
        assert_eq!(
            refused(&"é".repeat(MAX_PATTERN_CHARS + 1), dialect),
            "too_long"
        );
        let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
        let deepest = Pattern::parse(&nested(MAX_NESTING), dialect).expect("as deep as allowed");
        assert!(deepest.is_match("xa"));
        assert!(deepest.is_match_plain("xa"));
        assert_eq!(refused(&nested(MAX_NESTING + 1), dialect), "too_nested");
    }
}

#[test]
fn repetitions_do_not_multiply_without_end() {
    assert_eq!(refused("a{1001}", Dialect::Re2), "bad_repeat");
    assert_eq!(refused("((a{10}){10}){11}", Dialect::Re2), "bad_repeat");
    assert_eq!(
        refused("((a{100}){100}){100}", Dialect::Python),
        "too_large"
    );
    assert_eq!(
        refused("(((((a{9}){9}){9}){9}){9}){9}", Dialect::Python),
        "too_large"
    );
    assert_eq!(refused("a{4294967295}", Dialect::Python), "too_large");
    assert_eq!(
        refused("((((a*){999}){999}){999}){999}", Dialect::Python),
        "too_large"
    );
    assert_eq!(refused(r"(\pL{500}){2}", Dialect::Re2), "too_large");
    assert_eq!(refused(&r"\w{90}".repeat(20), Dialect::Python), "too_large");
}

#[test]
fn the_largest_patterns_are_built_and_searched_in_bounded_time() {
    let start = Instant::now();
    for (text, dialect) in [
        (r"\pL{250}", Dialect::Re2),
        (r"(?i)[\x{100}-\x{ffff}]{900}", Dialect::Re2),
        (r"(\w?){200}\d", Dialect::Python),
        (r"((a?){20}){40}b", Dialect::Python),
        (r"(x+x+)+y", Dialect::Python),
        (r"(.*)*(.*)*(.*)*!", Dialect::Re2),
    ] {
        let pattern =
            Pattern::parse(text, dialect).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(pattern.cost() <= MAX_COST);
        let matcher = &pattern;
        for subject in ["a".repeat(400), "漢".repeat(200), "x".repeat(400)] {
            assert_eq!(
                matcher.is_match(&subject),
                matcher.is_match_plain(&subject),
                "{text}"
            );
        }
    }
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "took {:?}",
        start.elapsed()
    );
}

#[test]
fn a_refusal_points_into_the_pattern() {
    for (text, dialect, code, span) in [
        ("é(?=x)", Dialect::Re2, "look_around", (1, 4)),
        (r"a\Z", Dialect::Re2, "bad_escape", (1, 3)),
        ("(a", Dialect::Re2, "unbalanced", (0, 1)),
        ("a)", Dialect::Python, "unbalanced", (1, 2)),
        (r"(a)\1", Dialect::Re2, "back_reference", (3, 5)),
        (r"(a)\1", Dialect::Python, "unsupported", (3, 5)),
        ("x{3,2}", Dialect::Re2, "bad_repeat", (1, 6)),
        ("x{,3}", Dialect::Re2, "brace_text", (1, 5)),
        ("[z-a]", Dialect::Python, "bad_class", (1, 4)),
        (r"\C", Dialect::Re2, "any_byte", (0, 2)),
        ("a++", Dialect::Python, "unsupported", (1, 3)),
        ("(?P<1a>x)", Dialect::Python, "bad_name", (0, 7)),
        ("(?x)", Dialect::Re2, "bad_group", (0, 3)),
    ] {
        let error = Pattern::parse(text, dialect).expect_err(text);
        assert_eq!(
            (error.code, (error.start, error.end)),
            (code, span),
            "{text}: {error}"
        );
    }
}
