//! Seeded mutations of the seeds, through every body.

use std::fs::{read, read_dir};
use std::path::Path;

use bobcat_core::json::value::{JsonRequest, JsonValue};
use bobcat_core::memory::State;
use bobcat_core::program::Scratch;

use crate::{bodies, questions, seeds};

type Body = fn(&[u8]);

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) as usize % bound.max(1)
    }
}

/// Bytes that mean something to a parser of patterns or of JSON.
const SPECIAL: &[u8] = b"\\()[]{}|*+?^$-,:\"0129\n\xc3\xa9";

/// Cuts, copies, swaps and overwrites: a few times, anywhere, across seeds.
fn mutated(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(4) {
        let (at, until) = (random.below(bytes.len() + 1), random.below(bytes.len() + 1));
        let (at, until) = (at.min(until), at.max(until).min(at.min(until) + 24));
        match random.below(6) {
            0 => drop(bytes.drain(at..until)),
            1 => {
                let copy = bytes[at..until].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            2 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len() + 1);
                let piece = other[from..].iter().copied().take(24).collect::<Vec<u8>>();
                bytes.splice(at..until, piece);
            }
            3 => bytes.insert(at, SPECIAL[random.below(SPECIAL.len())]),
            4 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            _ => bytes.truncate(until),
        }
    }
    bytes
}

fn run(body: Body, seeds: &[Vec<u8>], rounds: u64) {
    seeds.iter().for_each(|seed| body(seed));
    for seed in 1..=rounds {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        body(&mutated(&mut random, seeds));
    }
}

/// Replays the findings of fuzzers, in `rust/fuzz/found`: a directory per target.
#[test]
fn nothing_that_was_found_is_broken_again() {
    let targets: [(&str, Body); 13] = [
        ("ask_analysis", questions::ask_analysis),
        ("decode_ir", bodies::decode_ir),
        ("find_links", bodies::find_links),
        ("json_lines", bodies::json_lines),
        ("json_request", bodies::json_request),
        ("load_state", bodies::load_state),
        ("occurs_in", bodies::occurs_in),
        ("parse_pattern", bodies::parse_pattern),
        ("parse_shell", bodies::parse_shell),
        ("parse_sql", bodies::parse_sql),
        ("read_scalars", bodies::read_scalars),
        ("run_function", bodies::run_function),
        ("search_patterns", bodies::search_patterns),
    ];
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    for entry in read_dir(fuzz.join("fuzz_targets")).expect("the targets") {
        let path = entry.expect("a target").path();
        let name = path
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("a name");
        if name == "read_yaml" {
            continue; // not of this crate: `tests/differential/test_yaml_nodes.py` replays it
        }
        let (_, body) = targets
            .iter()
            .find(|(known, _)| *known == name)
            .expect("a body");
        for input in read_dir(fuzz.join("found").join(name))
            .into_iter()
            .flatten()
        {
            let input = input.expect("an input").path();
            println!("{}", input.display());
            body(&read(&input).expect("bytes"));
        }
    }
}

fn bytes(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

#[test]
fn mutated_ir_is_refused_or_decides() {
    run(bodies::decode_ir, &bytes(&seeds::IR), 6_000);
}

#[test]
fn the_ir_seeds_are_accepted() {
    for seed in seeds::IR {
        bobcat_core::program::Program::from_ir(seed.as_bytes())
            .unwrap_or_else(|error| panic!("{seed}: {error}"));
    }
}

#[test]
fn the_code_seeds_are_accepted() {
    for seed in seeds::FUNCTIONS {
        let ir = bodies::function_ir(seed.as_bytes());
        bobcat_core::program::Program::from_ir(&ir)
            .unwrap_or_else(|error| panic!("{seed}: {error}"));
    }
}

#[test]
fn mutated_policies_are_refused_or_questions_about_them_answered() {
    let chosen = |(number, ir): (usize, &[u8])| {
        let other = (number as u16).to_le_bytes();
        [&[number as u8], &other[..], ir].concat()
    };
    let own = seeds::IR.iter().map(|ir| ir.as_bytes());
    let corpus = questions::corpus().iter().map(|ir| ir.as_bytes());
    let seeds: Vec<Vec<u8>> = own
        .chain(corpus.step_by(7))
        .enumerate()
        .map(chosen)
        .collect();
    run(questions::ask_analysis, &seeds, 300);
}

#[test]
fn mutated_requests_are_refused_or_read() {
    run(bodies::json_request, &bytes(&seeds::REQUESTS), 10_000);
}

#[test]
fn mutated_code_is_refused_or_runs_to_one_decision() {
    let mut code = Vec::new();
    for (code_of, request) in seeds::FUNCTIONS.iter().zip(seeds::REQUESTS.iter().cycle()) {
        code.push(format!("{code_of}\0{request}").into_bytes());
    }
    run(bodies::run_function, &code, 6_000);
}

#[test]
fn mutated_batches_are_decided_line_by_line() {
    let batch = seeds::REQUESTS.join("\n");
    let chosen = (0..40_u16).map(|policy| [&policy.to_le_bytes()[..], batch.as_bytes()].concat());
    run(bodies::json_lines, &chosen.collect::<Vec<_>>(), 2_000);
}

#[test]
fn mutated_numbers_and_dates_are_refused_or_read_again() {
    run(bodies::read_scalars, &bytes(&seeds::SCALARS), 20_000);
}

#[test]
fn mutated_patterns_are_refused_with_a_place_or_taken_within_caps() {
    run(bodies::parse_pattern, &bytes(&seeds::PATTERNS), 10_000);
}

#[test]
fn mutated_patterns_match_the_same_on_every_path() {
    let mut joined = Vec::new();
    for (index, pattern) in seeds::PATTERNS.iter().enumerate() {
        let (next, text) = (
            seeds::PATTERNS[(index + 1) % seeds::PATTERNS.len()],
            seeds::TEXTS[index % seeds::TEXTS.len()],
        );
        joined.push(format!("{pattern}\0{next}\0{text}").into_bytes());
    }
    run(bodies::search_patterns, &joined, 1_500);
}

#[test]
fn command_lines_are_undecidable_with_a_place_or_decidable() {
    let seeds: Vec<Vec<u8>> = seeds::COMMAND_LINES
        .iter()
        .map(|line| line.as_bytes().to_vec())
        .collect();
    run(bodies::parse_shell, &seeds, 20_000);
    for text in [
        "(",
        "{ ",
        "env ",
        "'a'",
        "\"\"",
        "sh -c '",
        "a;",
        "x >f ",
        "[",
        "{a,",
        "$(",
        "<<E ",
        "find -exec ",
    ] {
        bodies::parse_shell(text.repeat(120_000 / text.len()).as_bytes());
        bodies::parse_shell(text.repeat(1_000_000 / text.len()).as_bytes());
    }
}

#[test]
fn statements_are_undecidable_with_a_place_or_decidable() {
    let seeds: Vec<Vec<u8>> = seeds::STATEMENTS
        .iter()
        .map(|text| text.as_bytes().to_vec())
        .collect();
    run(bodies::parse_sql, &seeds, 30_000);
    for text in [
        "(",
        "select ",
        "select (",
        "select * from (",
        "f(",
        "a.",
        "with a as (",
        "union select 1 ",
        "'",
        "\"",
        "/*",
        "-- a\n",
        "case when ",
        "from a,",
        "a b ",
        "explain ",
        ",",
        "::int",
    ] {
        for start in ["", "select ", "select * from ", "insert into t "] {
            for size in [60_000, 200_000] {
                let repeated = text.repeat(size / text.len());
                bodies::parse_sql(format!("{start}{repeated}").as_bytes());
            }
        }
    }
}

#[test]
fn values_occur_in_texts_whatever_the_white_space() {
    let seeds: Vec<Vec<u8>> = seeds::OCCURRENCES
        .iter()
        .map(|(value, text)| format!("{value}\0{text}").into_bytes())
        .collect();
    run(bodies::occurs_in, &seeds, 30_000);
    for text in [
        "1 ", "a,", "DE89 ", "((", "'", "x@a.b,", "1,000 ", "\u{e9}\n", "- ",
    ] {
        let long = text.repeat(200_000 / text.len());
        bodies::occurs_in(format!("{text}\0{long}").as_bytes());
        bodies::occurs_in(format!("{long}\0{long}").as_bytes());
    }
}

#[test]
fn links_are_parts_of_the_text() {
    let seeds: Vec<Vec<u8>> = seeds::LINKED
        .iter()
        .map(|text| text.as_bytes().to_vec())
        .collect();
    run(bodies::find_links, &seeds, 30_000);
    for text in [
        "http://a.b/",
        "](",
        "href=\"",
        "www.",
        "a.b,",
        "//",
        "1.2.3.4 ",
        "<a src=",
    ] {
        bodies::find_links(text.repeat(900_000 / text.len()).as_bytes());
    }
}

#[test]
fn snapshots_are_damaged_or_states() {
    let program = bodies::remembering();
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for task in [None, Some("list the files of ann, 5 of them")] {
        let mut state = State::new(program, task);
        let mut scratch = Scratch::new();
        for number in 0..9_usize {
            let request = JsonRequest::parse(bodies::REQUEST).expect("a valid request");
            let value = JsonValue::Json(request.args().clone());
            let key = number.to_string();
            state.call(program, &request, &key, &mut scratch);
            let at = number as i64 * 1_000_000;
            let done = match number % 3 {
                0 => state.result(program, &key, (&value, at), &mut scratch),
                1 => state.failed(program, &key),
                _ => Ok(()),
            };
            done.expect("a known call");
            state.next_reply();
            seeds.push(bodies::snapshot_body(&state.dump()).to_vec());
        }
    }
    run(bodies::load_state, &seeds, 30_000);
}
