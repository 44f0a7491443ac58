//! With any set of optimisations, the decision is that of the plain path.

use bobcat_core::eval::ShortCuts;
use bobcat_core::json::value::JsonRequest;
use bobcat_core::program::{Program, Scratch};

use crate::dressed::dress;
use crate::generator::{
    Random, crowded_lynx_policy, crowded_policy, made_policy, negated_policy, policy, request,
    request_of_lists,
};

pub(crate) const CUTS: [ShortCuts; 7] = [
    ShortCuts::ALL,
    ShortCuts {
        exclusion: false,
        ..ShortCuts::ALL
    },
    ShortCuts {
        index: true,
        exclusion: true,
        ..ShortCuts::NONE
    },
    ShortCuts {
        memo: true,
        ..ShortCuts::NONE
    },
    ShortCuts {
        index: true,
        ..ShortCuts::NONE
    },
    ShortCuts {
        index: true,
        memo: true,
        ..ShortCuts::NONE
    },
    ShortCuts {
        index: true,
        sets: true,
        fast_path: true,
        ..ShortCuts::NONE
    },
];

fn agree(seeds: std::ops::Range<u64>, make: impl Fn(&mut Random, usize) -> String) {
    agree_on(seeds, make, request);
}

fn agree_on(
    seeds: std::ops::Range<u64>,
    make: impl Fn(&mut Random, usize) -> String,
    request: impl Fn(&mut Random) -> String,
) {
    let mut scratch = Scratch::new();
    let mut seen = std::collections::BTreeMap::new();
    for seed in seeds {
        let mut random = Random::new(seed);
        let rules = [1, 3, 6, 12, 40][random.below(5)];
        let text = make(&mut random, rules);
        let program = Program::from_ir(text.as_bytes())
            .unwrap_or_else(|error| panic!("seed {seed}: {error}: {text}"));
        let prepared = Program::from_ir(text.as_bytes()).expect("the same text");
        prepared.prepare_all();
        for _ in 0..12 {
            let bytes = request(&mut random);
            let call = JsonRequest::parse(bytes.as_bytes()).expect("a request");
            let plain = dress(&program, program.decide_plain(&call));
            for cuts in CUTS {
                let fast = dress(&program, program.decide_with(&call, &mut scratch, cuts));
                assert_eq!(fast, plain, "seed {seed}, {cuts:?}\n{bytes}\n{text}");
            }
            assert_eq!(
                dress(&prepared, prepared.decide(&call, &mut scratch)),
                plain,
                "seed {seed}, made at once\n{bytes}\n{text}"
            );
            assert_eq!(
                dress(&program, program.explain(&call).0),
                plain,
                "seed {seed}, explain\n{bytes}\n{text}"
            );
            *seen.entry(plain.verdict).or_insert(0) += 1;
        }
    }
    assert_eq!(seen.len(), 5, "not every verdict was met: {seen:?}");
}

#[test]
fn every_short_cut_decides_as_the_plain_path_in_the_strict_profile() {
    agree(0..600, |random, rules| policy(random, "strict", rules));
}

#[test]
fn every_short_cut_decides_as_the_plain_path_in_the_lynx_profile() {
    agree(0..300, |random, rules| policy(random, "lynx", rules));
}

#[test]
fn rules_of_the_lynx_profile_that_crowd_are_found_as_the_plain_path_finds_them() {
    let make = |random: &mut Random, rules| crowded_lynx_policy(random, rules * 2);
    agree(0..500, make);
    agree_on(500..700, make, request_of_lists);
}

#[test]
fn rules_that_crowd_on_one_argument_are_found_as_the_plain_path_finds_them() {
    let make = |random: &mut Random, rules| crowded_policy(random, rules * 2);
    agree(0..500, make);
    agree_on(500..700, make, request_of_lists);
}

#[test]
fn rules_about_made_values_are_found_as_the_plain_path_finds_them() {
    let make = |random: &mut Random, rules| made_policy(random, rules * 2);
    agree_on(0..500, make, request_of_lists);
    agree_on(500..700, make, request);
}

#[test]
fn rules_of_negations_are_ruled_out_as_the_plain_path_passes_them_by() {
    agree(0..500, |random, rules| negated_policy(random, rules * 2));
}

#[test]
fn what_is_made_at_once_leaves_nothing_to_the_first_call() {
    let late = |program: &Program| -> Vec<&str> {
        let shown = format!("{program:?}");
        [
            "info",
            "reordered",
            "prepared",
            "rule_index",
            "set",
            "automaton",
        ]
        .into_iter()
        .filter(|part| shown.contains(&format!("{part}: OnceLock(<uninit>)")))
        .collect()
    };
    let mut random = Random::new(7);
    let text = crowded_policy(&mut random, 80);
    let program = Program::from_ir(text.as_bytes()).expect("a policy");
    assert!(!late(&program).is_empty(), "nothing is made late");
    program.prepare_all();
    assert_eq!(late(&program), Vec::<&str>::new());
}
