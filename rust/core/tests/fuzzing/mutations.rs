//! Seeded mutations of the seeds, through every body.

use crate::{bodies, seeds};

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

fn run(body: fn(&[u8]), seeds: &[Vec<u8>], rounds: u64) {
    seeds.iter().for_each(|seed| body(seed));
    for seed in 1..=rounds {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        body(&mutated(&mut random, seeds));
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
fn mutated_requests_are_refused_or_read() {
    run(bodies::json_request, &bytes(&seeds::REQUESTS), 10_000);
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
