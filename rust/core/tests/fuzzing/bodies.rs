//! Properties that a fuzzer checks. `rust/fuzz` calls these with bytes of its own making.
//!
//! A body takes any bytes and panics when a promise is broken: a refusal without a code, a decision that depends on a short
//! cut, a match that depends on the automaton.

use std::sync::OnceLock;

use bobcat_core::chars::is_space;
use bobcat_core::facets::{links, shell, sql};
use bobcat_core::json::lines;
use bobcat_core::json::value::{JsonRequest, JsonValue, RequestReader};
use bobcat_core::limits::{MAX_INT_BITS, MAX_LINKS, MAX_LINKS_BYTES, MAX_PATTERN_CHARS, MAX_RULES};
use bobcat_core::memory::State;
use bobcat_core::num::bigint::parse_decimal;
use bobcat_core::program::{Program, Scratch};
use bobcat_core::regex::{Dialect, MAX_COST, MatchSet, Pattern, PatternSet};
use bobcat_core::text::{Haystack, Needle, occurs};
use bobcat_core::value::Civil;
use sha2::{Digest, Sha256};

/// Patterns beyond this are not searched: the plain path would take the fuzzer's time.
const SEARCHED_COST: usize = 20_000;

/// The text around the code of a function.
const FUNCTION: (&[u8], &[u8]) = (
    br#"{"defaults":{"on_missing_shadow":"deny","on_no_match":"deny","on_rule_error":"deny"},"ir_version":1,"language_version":1,"profile":"strict","rules":[{"body":["#,
    br#"],"k":"function","name":"f","priority":0,"slots":16}]}"#,
);

const VECTORS: &str = include_str!("../../../../tests/vectors/cases.jsonl");

pub(crate) const REQUEST: &[u8] =
    br#"{"tool":"shell","args":{"cmd":"rm -rf /","n":5,"s":["a"],"m":{"k":1.5}}}"#;

/// IR bytes: rejected with a code, or a program that decides, the same with and without short cuts.
pub(crate) fn decode_ir(data: &[u8]) {
    let program = match Program::from_ir(data) {
        Ok(program) => program,
        Err(error) => return assert!(!error.code.is_empty() && !error.message.is_empty()),
    };
    assert!(program.rule_count() <= MAX_RULES);
    let request = JsonRequest::parse(REQUEST).expect("a valid request");
    decides_one_way(&program, &request, &mut Scratch::new());
}

/// With short cuts, without, and in an explanation a decision is the same.
fn decides_one_way(program: &Program, request: &JsonRequest<'_>, scratch: &mut Scratch) {
    if program.host_count() > 0 {
        return;
    }
    let fast = format!("{:?}", program.decide(request, scratch));
    assert_eq!(fast, format!("{:?}", program.decide_plain(request)));
    let (explained, traces) = program.explain(request);
    assert_eq!(fast, format!("{explained:?}"));
    assert_eq!(traces.len(), program.rule_count());
}

/// A policy of one function.
pub(crate) fn function_ir(code: &[u8]) -> Vec<u8> {
    [FUNCTION.0, code, FUNCTION.1].concat()
}

/// The code of a function and a request, separated by NUL: rejected with a code, or run within bounds to one decision.
pub(crate) fn run_function(data: &[u8]) {
    let Some(end) = data.iter().position(|&byte| byte == 0) else {
        return;
    };
    let (code, request) = (&data[..end], &data[end + 1..]);
    let program = match Program::from_ir(&function_ir(code)) {
        Ok(program) => program,
        Err(error) => return assert!(!error.code.is_empty() && !error.message.is_empty()),
    };
    let request = JsonRequest::parse(request)
        .unwrap_or_else(|_| JsonRequest::parse(REQUEST).expect("a valid request"));
    decides_one_way(&program, &request, &mut Scratch::new());
}

/// Two bytes that choose a policy, and requests as JSON Lines: earlier lines change no request and no decision.
pub(crate) fn json_lines(data: &[u8]) {
    let Some((&[low, high], batch)) = data.split_first_chunk::<2>() else {
        return;
    };
    let programs = programs();
    let program = &programs[usize::from(u16::from_le_bytes([low, high])) % programs.len()];
    let (mut scratch, mut reader) = (Scratch::new(), RequestReader::default());
    for line in lines(batch) {
        assert!(!line.contains(&b'\n'));
        let read = reader.read(line);
        assert_eq!(read, JsonRequest::parse_plain(line));
        if let Ok(request) = read {
            decides_one_way(program, &request, &mut scratch);
            reader.reuse(request);
        }
    }
    let joined = lines(batch).collect::<Vec<_>>().join(&b'\n');
    assert_eq!(joined, batch.strip_suffix(b"\n").unwrap_or(batch));
}

/// The policies of the case corpus.
fn programs() -> &'static [Program] {
    static PROGRAMS: OnceLock<Vec<Program>> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let ir = |line: &'static str| {
            let (ir, _) = line
                .strip_prefix(r#"{"ir":"#)?
                .split_once(r#","requests":["#)?;
            Program::from_ir(ir.as_bytes()).ok()
        };
        let found: Vec<Program> = VECTORS.lines().filter_map(ir).collect();
        assert_eq!(found.len(), VECTORS.lines().count());
        found
    })
}

/// A number or a date: rejected, or its output reads as the same value.
pub(crate) fn read_scalars(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Some(number) = parse_decimal(text) {
        assert!(number.bits() <= MAX_INT_BITS);
        let written = number.to_string();
        assert_eq!(parse_decimal(&written).as_ref(), Some(&number));
        let (sign, digits) = text.split_at(usize::from(text.starts_with('-')));
        let digits = digits.trim_start_matches('0');
        let wanted = if digits.is_empty() {
            "0".to_owned()
        } else {
            format!("{sign}{digits}")
        };
        assert_eq!(written, wanted);
    }
    if let Some(moment) = Civil::parse(text) {
        let micros = moment.micros().expect("an offset");
        let utc = Civil::utc(micros);
        assert_eq!(utc.micros(), Some(micros), "{text}");
        if moment.offset == Some(0) {
            assert_eq!(utc, moment, "{text}");
        }
    }
}

/// A request: rejected with a code, or read; the same with and without a tree of it.
pub(crate) fn json_request(data: &[u8]) {
    assert_eq!(JsonRequest::parse(data), JsonRequest::parse_plain(data));
    match JsonRequest::parse(data) {
        Ok(request) => assert!(request.args_json().starts_with('{')),
        Err(error) => assert!(!error.code.is_empty() && !error.message.is_empty()),
    }
}

/// A pattern of either dialect: rejected with a place in the text, or within every cap.
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
        let matcher = &pattern;
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

/// A command line: undecidable with a code and a place, or commands with programs, the same again when parsed again.
pub(crate) fn parse_shell(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match shell::parse(text) {
        Ok(script) => {
            for command in script.commands() {
                assert!(command.program().ends_with(command.name()));
                assert!(command.via().count() <= usize::from(u8::MAX));
                assert!(command.effects().names().next().is_some());
                assert!(command.argv().all(|word| word.at() <= text.len()));
            }
            let again = shell::parse(text).expect("decidable before");
            assert_eq!(shell::to_json(&script), shell::to_json(&again));
        }
        Err(found) => {
            assert!(found.at <= text.len() && !found.code.is_empty() && !found.detail.is_empty())
        }
    }
}

/// A statement: undecidable with a code and a place, or kinds and names of the text, the same again when parsed again.
pub(crate) fn parse_sql(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match sql::parse(text) {
        Ok(statement) => {
            assert!(!statement.kinds.is_empty());
            let lower = text.to_ascii_lowercase();
            let names = statement.names.iter();
            let all =
                names.flat_map(|names| names.tables.iter().chain(names.functions.iter().flatten()));
            for name in all {
                assert!(
                    name.split('.')
                        .all(|part| !part.is_empty() && lower.contains(part))
                );
            }
            if let Some(names) = &statement.names {
                let known = |name: &String| names.tables.contains(name);
                assert!(names.reads.iter().chain(&names.writes).all(known));
            }
            assert!(!statement.is_read_only() || statement.kinds == ["select"]);
            assert_eq!(sql::parse(text).as_ref(), Ok(&statement));
        }
        Err(found) => {
            assert!(found.at <= text.len() && !found.code.is_empty() && !found.detail.is_empty())
        }
    }
}

/// A value and a text, separated by NUL: the answer does not depend on white space around and between words, and a value
/// with a letter that occurs is in the text.
pub(crate) fn occurs_in(data: &[u8]) {
    let Some((value, text)) = std::str::from_utf8(data)
        .ok()
        .and_then(|data| data.split_once('\0'))
    else {
        return;
    };
    for lower in [false, true] {
        let found = occurs(value, text, lower);
        let haystack = Haystack::new(text, lower);
        assert_eq!(haystack.holds(&Needle::text(value, lower)), found);
        let spaced = format!(" \n{}\t", text.replace(' ', " \t "));
        assert_eq!(
            occurs(&format!(" {value}\n"), &spaced, lower),
            found,
            "{value:?} in {text:?}"
        );
        if !found {
            continue;
        }
        assert!(!value.chars().all(is_space));
        let plain = |text: &str| text.replace(is_space, "");
        if !lower && value.chars().any(|found| found.is_ascii_alphabetic()) {
            assert!(plain(text).contains(&plain(value)), "{value:?} in {text:?}");
        }
    }
}

/// A text: undecidable with a code and a place, or links of it, each once, within the caps, the same again.
pub(crate) fn find_links(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match links::parse(text) {
        Ok(found) => {
            let mut seen = std::collections::HashSet::new();
            for link in &found {
                assert!(!link.is_empty() && text.contains(link.as_str()) && seen.insert(link));
            }
            assert!(found.len() <= MAX_LINKS);
            assert!(found.iter().map(String::len).sum::<usize>() <= MAX_LINKS_BYTES);
            assert_eq!(links::parse(text), Ok(found));
        }
        Err(found) => {
            assert!(found.at <= text.len() && !found.code.is_empty() && !found.detail.is_empty());
        }
    }
}

/// A policy with a definition of every kind, and rules that read all of them.
const REMEMBERING: &[u8] = include_bytes!("remembering.json");

pub(crate) fn remembering() -> &'static Program {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    PROGRAM.get_or_init(|| Program::from_ir(REMEMBERING).expect("a policy"))
}

/// The snapshot of a state without its checksum: damaged, or a state that decides, goes on, and has a snapshot again.
pub(crate) fn load_state(data: &[u8]) {
    let program = remembering();
    let fresh = State::new(program, None).dump();
    // The magic, and the digest of the definitions: any other is refused at once.
    let head = fresh.get(..40).unwrap_or_default();
    let body = [head, data].concat();
    let snapshot = [body.as_slice(), Sha256::digest(&body).as_slice()].concat();
    let Ok(mut state) = State::load(program, &snapshot) else {
        return;
    };
    let dumped = state.dump();
    let again = State::load(program, &dumped).expect("a snapshot");
    assert_eq!(again.dump(), dumped);
    let mut scratch = Scratch::new();
    let request = JsonRequest::parse(REQUEST).expect("a valid request");
    let read = |state: &State| format!("{:?}", state.reader(program).values(program, &request));
    assert_eq!(read(&state), read(&again));
    state.call(program, &request, "fuzzed", &mut scratch);
    let _ = state.result(
        program,
        "fuzzed",
        (&JsonValue::Json(request.args().clone()), 0),
        &mut scratch,
    );
    state.next_reply();
    let _ = state.release(program, "fuzzed");
    let dumped = state.dump();
    assert_eq!(
        State::load(program, &dumped).expect("a snapshot").dump(),
        dumped
    );
}

/// The part of the snapshot that [`load_state`] takes.
pub(crate) fn snapshot_body(snapshot: &[u8]) -> &[u8] {
    let end = snapshot.len().saturating_sub(32);
    snapshot.get(40..end).unwrap_or_default()
}
