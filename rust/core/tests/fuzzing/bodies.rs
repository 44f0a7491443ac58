//! What a fuzzer may not break. `rust/fuzz` calls these with bytes of its own making.
//!
//! A body takes any bytes and panics when a promise is broken: a refusal without a code, a decision that depends on a short
//! cut, a match that depends on the automaton.

use bobcat_core::limits::{MAX_PATTERN_CHARS, MAX_RULES};
use bobcat_core::pattern::{Dialect, MAX_COST, MatchSet, Pattern, PatternSet};
use bobcat_core::program::{Program, Scratch};
use bobcat_core::value::json::JsonRequest;

/// Patterns beyond this are not searched: the plain path would take the fuzzer's time.
const SEARCHED_COST: usize = 20_000;

const REQUEST: &[u8] =
    br#"{"tool":"shell","args":{"cmd":"rm -rf /","n":5,"s":["a"],"m":{"k":1.5}}}"#;

/// IR bytes: refused with a code, or a program that decides, the same with and without short cuts.
pub(crate) fn decode_ir(data: &[u8]) {
    let program = match Program::from_ir(data) {
        Ok(program) => program,
        Err(error) => return assert!(!error.code.is_empty() && !error.message.is_empty()),
    };
    assert!(program.rule_count() <= MAX_RULES);
    let request = JsonRequest::parse(REQUEST).expect("a valid request");
    if program.host_count() == 0 {
        let fast = program.decide(&request, &mut Scratch::new());
        assert_eq!(
            format!("{fast:?}"),
            format!("{:?}", program.decide_plain(&request))
        );
    }
}

/// A request: refused with a code, or read; the same with and without a tree of it.
pub(crate) fn json_request(data: &[u8]) {
    assert_eq!(JsonRequest::parse(data), JsonRequest::parse_plain(data));
    match JsonRequest::parse(data) {
        Ok(request) => assert!(request.args_json().starts_with('{')),
        Err(error) => assert!(!error.code.is_empty() && !error.message.is_empty()),
    }
}

/// A pattern of either dialect: refused with a place in the text, or within every cap.
pub(crate) fn parse_pattern(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let chars = text.chars().count();
    for dialect in [Dialect::Re2, Dialect::Python] {
        let parsed = Pattern::parse(text, dialect);
        let checked = Pattern::check(text, dialect);
        assert_eq!(checked.err(), parsed.as_ref().err().cloned(), "{text:?}");
        match parsed {
            Ok(pattern) => {
                assert!(chars <= MAX_PATTERN_CHARS && pattern.cost() <= MAX_COST);
                assert_eq!((pattern.text(), pattern.dialect()), (text, dialect));
            }
            Err(error) => {
                assert!(
                    error.start <= error.end && error.end <= chars,
                    "{text:?}: {error}"
                );
                assert!(!error.code.is_empty() && !error.message.is_empty());
            }
        }
    }
}

/// Patterns and a text, separated by NUL, the text last: alone, in a set and along the plain path the answer is one.
pub(crate) fn search_patterns(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut parts: Vec<&str> = text.split('\0').take(6).collect();
    let Some(subject) = parts.pop() else { return };
    let mut patterns: Vec<Pattern> = Vec::new();
    for source in parts {
        for dialect in [Dialect::Re2, Dialect::Python] {
            patterns.extend(
                Pattern::parse(source, dialect)
                    .ok()
                    .filter(|pattern| pattern.cost() <= SEARCHED_COST),
            );
        }
    }
    let mut found = MatchSet::new();
    PatternSet::build(&patterns.iter().collect::<Vec<_>>()).matches(subject, &mut found);
    for (index, pattern) in patterns.iter().enumerate() {
        let matcher = pattern.compile();
        let plain = matcher.is_match_plain(subject);
        assert_eq!(
            matcher.is_match(subject),
            plain,
            "{:?} {:?} on {subject:?}",
            pattern.dialect(),
            pattern.text()
        );
        assert_eq!(
            found.contains(index),
            plain,
            "{:?} {:?} in a set on {subject:?}",
            pattern.dialect(),
            pattern.text()
        );
    }
}
