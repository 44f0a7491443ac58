//! The budget for the states that automata keep: never passed, given back, and without influence on the results.

use std::thread;

use bobcat_core::regex::{CacheBudget, Dialect, MatchSet, Pattern, PatternSet};

use crate::generator::Random;

const LIMITS: [usize; 5] = [0, 1, 40_000, 300_000, 64 << 20];

/// Patterns whose automata have as many states as a text needs.
fn sources(count: usize) -> Vec<String> {
    let source = |number: usize| match number % 4 {
        0 => format!("[a-d].{{{}}}z{number}", number % 9 + 4),
        1 => format!("[ae].{{{}}}[be]", number % 7 + 3),
        2 => format!(r"\bx{number}[a-c]+\b"),
        _ => format!("(?i)[d-h]{{3}}.{{{}}}Y", number % 8 + 2),
    };
    (0..count).map(source).collect()
}

fn parsed(sources: &[String], budget: &CacheBudget) -> Vec<Pattern> {
    let dialects = [Dialect::Re2, Dialect::Python].into_iter().cycle();
    let parsed = sources
        .iter()
        .zip(dialects)
        .map(|(text, dialect)| Pattern::parse_within(text, dialect, budget).expect("a pattern"));
    parsed.collect()
}

fn texts(length: usize) -> Vec<String> {
    let text = |seed: u64| {
        let mut random = Random::new(seed);
        (0..length)
            .map(|_| random.pick(&["a", "b", "c", "d", "e", "f", "x", " ", "Y", "z"]))
            .collect::<String>()
    };
    let mut texts: Vec<String> = (0..3).map(text).collect();
    texts.push(format!("{} x2abc {}z16", text(7), text(8)));
    texts.push(format!("é{}", text(9)));
    texts
}

/// The results of each pattern alone, by text.
fn alone(patterns: &[Pattern], texts: &[String], after: &dyn Fn()) -> Vec<bool> {
    let search = |text: &String| {
        let search = |pattern: &Pattern| {
            let found = pattern.is_match(text);
            after();
            found
        };
        patterns.iter().map(search).collect::<Vec<_>>()
    };
    texts.iter().flat_map(search).collect()
}

/// The results of the patterns as a set.
fn together(set: &PatternSet, texts: &[String], after: &dyn Fn()) -> Vec<bool> {
    let mut found = MatchSet::new();
    let mut all = Vec::new();
    for text in texts {
        set.matches(text, &mut found);
        after();
        all.extend((0..set.len()).map(|index| found.contains(index)));
    }
    all
}

#[test]
fn no_search_leaves_more_than_the_budget_and_each_finds_what_it_finds_without_one() {
    let (sources, texts) = (sources(48), texts(14_000));
    let endless = CacheBudget::new(usize::MAX);
    let patterns = parsed(&sources, &endless);
    let wanted = alone(&patterns, &texts, &|| ());
    assert!(wanted.contains(&true) && wanted.contains(&false));
    assert!(endless.held() > LIMITS[3], "{endless:?}");
    for limit in LIMITS {
        let budget = CacheBudget::new(limit);
        let within = || assert!(budget.held() <= limit, "{budget:?}");
        let patterns = parsed(&sources, &budget);
        let set = PatternSet::build_within(&patterns.iter().collect::<Vec<_>>(), &budget);
        for _ in 0..2 {
            assert_eq!(alone(&patterns, &texts, &within), wanted, "{limit}");
            assert_eq!(together(&set, &texts, &within), wanted, "{limit}");
        }
        assert_eq!(budget.held() > 0, limit >= LIMITS[2], "{budget:?}");
    }
}

#[test]
fn the_plain_path_agrees_however_small_the_budget() {
    for pattern in parsed(&sources(24), &CacheBudget::new(LIMITS[2])) {
        let matcher = &pattern;
        for text in &texts(14_000) {
            let plain = matcher.is_match_plain(text);
            assert_eq!(matcher.is_match(text), plain, "{}", pattern.text());
        }
    }
}

#[test]
fn what_is_searched_takes_the_place_of_what_is_not() {
    let texts = texts(100_000);
    let (large, small) = ("[ad].{8}Q", "[ad].{6}Q");
    let alone = |source: &str, budget: &CacheBudget| {
        let pattern = Pattern::parse_within(source, Dialect::Re2, budget).expect("a pattern");
        let matcher = pattern;
        assert!(!matcher.is_match(&texts[0]));
        matcher
    };
    let held = |source: &str| {
        let budget = CacheBudget::default();
        let _kept = alone(source, &budget);
        budget.held()
    };
    let (of_large, of_small) = (held(large), held(small));
    assert!(of_small > 0 && of_small < of_large);
    // There is room for either, but not for both.
    let budget = CacheBudget::new(of_large);
    let large = alone(large, &budget);
    assert_eq!(budget.held(), of_large);
    let small = alone(small, &budget);
    assert_eq!(budget.held(), of_small);
    for _ in 0..3 {
        assert!(!small.is_match(&texts[0]));
        assert_eq!(budget.held(), of_small, "it is kept");
    }
    for _ in 0..3 {
        assert!(!large.is_match(&texts[0]));
        assert_eq!(budget.held(), of_large, "it is built again, and kept");
    }
}

#[test]
fn the_oldest_are_evicted_and_no_more_of_them_than_needed() {
    let text = &texts(100_000)[0];
    let sources: Vec<String> = (0..40).map(|n| format!("[ad].{{6}}Q{n:02}")).collect();
    let budget = CacheBudget::default();
    let patterns = parsed(&sources, &budget);
    let mut sizes = Vec::new();
    for pattern in &patterns {
        let before = budget.held();
        assert!(!pattern.is_match(text));
        sizes.push(budget.held() - before);
    }
    let most = *sizes.iter().max().expect("some");
    assert!(sizes.iter().all(|size| *size > 0));
    let limit = sizes.iter().take(10).sum::<usize>();
    let budget = CacheBudget::new(limit);
    let patterns = parsed(&sources, &budget);
    for (number, pattern) in patterns.iter().enumerate() {
        assert!(!pattern.is_match(text));
        let kept = budget.held();
        assert!(kept <= limit && (number < 9 || kept + 2 * most > limit));
    }
}

#[test]
fn what_is_dropped_is_given_back() {
    let (sources, texts) = (sources(48), texts(14_000));
    let budget = CacheBudget::default();
    let patterns = parsed(&sources, &budget);
    let set = PatternSet::build_within(&patterns.iter().collect::<Vec<_>>(), &budget);
    together(&set, &texts, &|| ());
    drop(set);
    let of_patterns = budget.held();
    alone(&patterns, &texts, &|| ());
    assert!(budget.held() > of_patterns);
    drop(patterns);
    assert_eq!(budget.held(), 0);
}

#[test]
fn threads_share_one_budget() {
    let (sources, texts) = (sources(32), texts(14_000));
    let wanted = alone(
        &parsed(&sources, &CacheBudget::new(usize::MAX)),
        &texts,
        &|| (),
    );
    for limit in [40_000, 300_000, 2 << 20] {
        let budget = CacheBudget::new(limit);
        let patterns = parsed(&sources, &budget);
        let set = PatternSet::build_within(&patterns.iter().collect::<Vec<_>>(), &budget);
        let within = || assert!(budget.held() <= limit, "{budget:?}");
        thread::scope(|scope| {
            for number in 0..4 {
                let (patterns, set, texts, wanted) = (&patterns, &set, &texts, &wanted);
                scope.spawn(move || {
                    for turn in 0..2 {
                        let found = match (number + turn) % 2 {
                            0 => alone(patterns, texts, &within),
                            _ => together(set, texts, &within),
                        };
                        assert_eq!(&found, wanted);
                    }
                });
            }
        });
        assert!(budget.held() > 0);
        drop((set, patterns));
        assert_eq!(budget.held(), 0);
    }
}
