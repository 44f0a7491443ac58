//! Seeded patterns of both dialects and texts that meet them.

use bobcat_core::regex::{Dialect, Pattern};

/// A small generator of numbers; the same seed gives the same sequence.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) as usize % bound
    }

    pub(crate) fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }
}

const ATOMS: [&str; 24] = [
    "a", "b", "ab", "é", "k", r"\.", r"\n", r"\d", r"\w", r"\W", r"\s", ".", "[ab]", "[^a]",
    "[^a-k]", "^", "$", r"\b", r"\B", r"\A", "(?i:k)", "(?s:.)", "(?m:^)", "(?m:$)",
];
const OPERATORS: [&str; 10] = ["", "", "", "", "*", "+", "?", "{2}", "{0,3}", "{2,}"];
const LETTERS: [&str; 16] = [
    "a",
    "b",
    "ab",
    "k",
    "K",
    "\u{212a}",
    "é",
    "\n",
    " ",
    "_",
    "1",
    ".",
    "漢",
    "²",
    "\u{1f600}",
    "\u{301}",
];

fn sequence(random: &mut Random, depth: usize) -> String {
    let mut found = String::new();
    for _ in 0..random.below(4) {
        let atom = if depth > 0 && random.below(4) == 0 {
            format!(
                "(?:{}|{})",
                sequence(random, depth - 1),
                sequence(random, depth - 1)
            )
        } else {
            random.pick(&ATOMS).to_owned()
        };
        let look = ["^", "$", r"\b", r"\B", r"\A"].contains(&atom.as_str());
        found.push_str(&atom);
        found.push_str(if look { "" } else { random.pick(&OPERATORS) });
    }
    found
}

/// A pattern of either dialect.
pub(crate) fn pattern(random: &mut Random) -> Pattern {
    let dialect = if random.below(2) == 0 {
        Dialect::Re2
    } else {
        Dialect::Python
    };
    let text = sequence(random, 2);
    Pattern::parse(&text, dialect).unwrap_or_else(|error| panic!("{dialect:?} {text:?}: {error}"))
}

/// A short text.
pub(crate) fn text(random: &mut Random) -> String {
    (0..random.below(7))
        .map(|_| random.pick(&LETTERS))
        .collect()
}
