//! Automaton, set and plain path give one answer.

use bobcat_core::regex::{Dialect, MatchSet, Pattern, PatternSet};

use crate::generator::{Random, pattern, text};

fn agree(patterns: &[Pattern], set: &PatternSet, text: &str, found: &mut MatchSet) {
    set.matches(text, found);
    for (index, pattern) in patterns.iter().enumerate() {
        let matcher = &pattern;
        let plain = matcher.is_match_plain(text);
        let shown = (pattern.dialect(), pattern.text());
        assert_eq!(matcher.is_match(text), plain, "{shown:?} alone on {text:?}");
        assert_eq!(
            found.contains(index),
            plain,
            "{shown:?} in a set on {text:?}"
        );
    }
    assert!(found.iter().all(|index| found.contains(index)));
    assert_eq!(
        found.iter().count(),
        (0..patterns.len())
            .filter(|index| found.contains(*index))
            .count()
    );
}

#[test]
fn a_set_finds_what_its_patterns_find_alone_and_along_the_plain_path() {
    let mut found = MatchSet::new();
    for seed in 0..400 {
        let mut random = Random::new(seed);
        // Many enough, every fourth time, for the prefilter.
        let count = match seed % 4 {
            0 => 24 + random.below(50),
            _ => random.below(12),
        };
        let patterns: Vec<Pattern> = (0..count).map(|_| pattern(&mut random)).collect();
        let set = PatternSet::build(&patterns.iter().collect::<Vec<_>>());
        assert_eq!(set.len(), count);
        for _ in 0..12 {
            let text = text(&mut random);
            agree(&patterns, &set, &text, &mut found);
        }
    }
}

#[test]
fn a_pattern_finds_the_same_in_texts_on_both_sides_of_every_length_that_has_its_own_engine() {
    let mut found = MatchSet::new();
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let patterns = [pattern(&mut random), pattern(&mut random)];
        let set = PatternSet::build(&patterns.iter().collect::<Vec<_>>());
        for length in [255, 256, 257, 3_000] {
            let (before, after) = (text(&mut random), text(&mut random));
            let padding = random.pick(&["-", "a", " ", "_"]).repeat(length);
            let mut long = format!("{before}{padding}");
            while long.len() + after.len() > length.max(after.len()) {
                long.pop();
            }
            long.push_str(&after);
            agree(&patterns, &set, &long, &mut found);
        }
    }
}

#[test]
fn patterns_found_by_their_literals_are_found_in_either_case_and_often() {
    let sources = (0..90).map(|number| match number % 3 {
        0 => format!(r"(?i)\b(drop|truncate)\s+table\s+t{number}\b"),
        1 => format!("(?i)s[k]i{number}(x|K)"),
        _ => format!("[0-9]{{{}}}[a-c]", number % 7 + 1),
    });
    let patterns: Vec<Pattern> = sources
        .flat_map(|text| {
            [Dialect::Re2, Dialect::Python].map(|dialect| Pattern::parse(&text, dialect))
        })
        .map(|parsed| parsed.expect("a valid pattern"))
        .collect();
    let set = PatternSet::build(&patterns.iter().collect::<Vec<_>>());
    let mut found = MatchSet::new();
    for text in [
        "",
        "DROP  Table T30",
        "truncate table t3 and drop table t6; drop\ttable T9; DROP TABLE t12, drop table t15",
        "ski1x \u{17f}\u{212a}i4\u{212a} SKI7K",
        "drop table t99 drop table t3\u{e9}",
        "1a 22b 333c",
    ] {
        agree(&patterns, &set, text, &mut found);
        agree(&patterns, &set, &text.repeat(40), &mut found);
    }
    agree(&patterns, &set, "DROP  Table T30", &mut found);
    assert_eq!(found.iter().collect::<Vec<_>>(), [60, 61]);
}

#[test]
fn sets_of_any_size_find_what_stands_in_texts_of_any_length() {
    let mut found = MatchSet::new();
    for count in [23, 24, 40, 63, 64, 65] {
        let sources = (0..count).map(|number| format!(r"(?i)\bdrop\s+table\s+t{number}\b"));
        let patterns: Vec<Pattern> = sources
            .map(|text| Pattern::parse(&text, Dialect::Re2).expect("a valid pattern"))
            .collect();
        let set = PatternSet::build(&patterns.iter().collect::<Vec<_>>());
        for length in [0, 230, 240, 250, 5_000] {
            let text = format!("DROP  Table T7; {}drop table t22", "-".repeat(length));
            set.matches(&text, &mut found);
            assert_eq!(
                found.iter().collect::<Vec<_>>(),
                [7, 22],
                "{count} {length}"
            );
            agree(&patterns, &set, &text, &mut found);
        }
    }
}

#[test]
fn a_set_of_more_patterns_than_one_automaton_holds_finds_them_all() {
    let texts: Vec<String> = (0..700)
        .map(|number| format!(r"\bword{number}\b"))
        .collect();
    let patterns: Vec<Pattern> = texts
        .iter()
        .enumerate()
        .map(|(number, text)| {
            let dialect = if number % 2 == 0 {
                Dialect::Re2
            } else {
                Dialect::Python
            };
            Pattern::parse(text, dialect).expect("a valid pattern")
        })
        .collect();
    let set = PatternSet::build(&patterns.iter().collect::<Vec<_>>());
    let mut found = MatchSet::new();
    agree(
        &patterns,
        &set,
        "word1 word699 word3000 xword2 word256, word255",
        &mut found,
    );
    assert_eq!(found.iter().collect::<Vec<_>>(), [1, 255, 256, 699]);
    // Beyond ASCII only the dialects' own words count.
    agree(&patterns, &set, "éword1 éword2 ²word3 漢word4", &mut found);
    assert_eq!(found.iter().collect::<Vec<_>>(), [2, 4]);
}

#[test]
fn a_set_stays_right_when_its_automaton_is_of_no_use() {
    // Each of these multiplies the states: the lazy automaton gives up on such a text, every time.
    let sources: Vec<String> = (0..12)
        .map(|number| format!("[ab]*a[ab]{{{}}}c", 40 + number))
        .collect();
    let patterns: Vec<Pattern> = sources
        .iter()
        .map(|text| Pattern::parse(text, Dialect::Re2).expect("a valid pattern"))
        .collect();
    let set = PatternSet::build(&patterns.iter().collect::<Vec<_>>());
    let mut random = Random::new(7);
    let mut found = MatchSet::new();
    for _ in 0..12 {
        let text: String = (0..4_000)
            .map(|_| random.pick(&["a", "b", "a", "b", "a", "b", "b", "c"]))
            .collect();
        set.matches(&text, &mut found);
        for (index, pattern) in patterns.iter().enumerate() {
            assert_eq!(found.contains(index), pattern.is_match(&text));
        }
    }
}

#[test]
fn threads_share_a_set() {
    let patterns: Vec<Pattern> = (0..40)
        .map(|number| {
            Pattern::parse(&format!("a{number}b+"), Dialect::Re2).expect("a valid pattern")
        })
        .collect();
    let set = PatternSet::build(&patterns.iter().collect::<Vec<_>>());
    std::thread::scope(|scope| {
        for start in 0..4 {
            let set = &set;
            scope.spawn(move || {
                let mut found = MatchSet::new();
                for round in 0..500 {
                    let number = (start * 7 + round) % 40;
                    set.matches(&format!("xx a{number}bbb"), &mut found);
                    assert_eq!(found.iter().collect::<Vec<_>>(), [number]);
                }
            });
        }
    });
}
