//! Tests are added once.

use bobcat_core::analysis::theory::{Solved, TextTest, Texts, TheoryBudget};

#[test]
fn equal_tests_have_one_id() {
    let mut texts = Texts::new(TheoryBudget::default());
    let prefix = |text: &str| TextTest::StartsWith(vec![text.to_owned()]);
    let first = texts.add(prefix("a")).unwrap();
    let other = texts.add(prefix("b")).unwrap();
    assert_ne!(first, other);
    assert_eq!(texts.add(prefix("a")).unwrap(), first);
}

fn matches(pattern: &str) -> TextTest {
    TextTest::Matches {
        pattern: pattern.to_owned(),
    }
}

fn solved(wanted: &[(TextTest, bool)], excluded: &[&str]) -> Solved<String, usize> {
    let mut texts = Texts::new(TheoryBudget::default());
    let wanted: Vec<_> = wanted
        .iter()
        .map(|(test, result)| (texts.add(test.clone()).unwrap(), *result))
        .collect();
    texts.solve(&wanted, excluded)
}

#[test]
fn texts_are_short_and_readable() {
    let value = |text: &str| Solved::Value(text.to_owned());
    assert_eq!(solved(&[], &[]), value(""));
    assert_eq!(
        solved(&[(matches(r"^[\w.]+@[\w.]+\.com$"), true)], &[]),
        value("a@a.com")
    );
    assert_eq!(
        solved(
            &[
                (matches(r"\brm\s+-rf\b"), true),
                (matches(r"rm -rf"), false)
            ],
            &[]
        ),
        value("rm  -rf")
    );
    let sudo = TextTest::StartsWith(vec!["sudo ".to_owned()]);
    assert_eq!(
        solved(&[(sudo, true), (matches(r"\brm\b"), true)], &[]),
        value("sudo rm")
    );
    assert_eq!(solved(&[(matches("^[ab]$"), true)], &["a"]), value("b"));
    let shout = TextTest::Lower(Box::new(matches("^rm")));
    assert_eq!(
        solved(&[(shout, true), (matches("^rm"), false)], &[]),
        value("rM")
    );
}

#[test]
fn a_conflict_names_the_fewest_results() {
    let conflict = |places: &[usize]| Solved::Conflict(places.to_vec());
    let tests = [
        (matches("x"), true),
        (matches("^[0-9]+$"), true),
        (matches("y"), false),
    ];
    assert_eq!(solved(&tests, &[]), conflict(&[0, 1]));
    assert_eq!(
        solved(&[(matches("^[ab]$"), true)], &["a", "b"]),
        conflict(&[0])
    );
    assert_eq!(
        solved(&[(matches("a"), true), (matches("a"), false)], &[]),
        conflict(&[0, 1])
    );
}

#[test]
fn lengths_are_counted_far() {
    let long = |min| TextTest::Length {
        min: Some(min),
        max: None,
    };
    let Solved::Value(text) = solved(&[(long(100_001), true), (matches("^a.*b$"), true)], &[])
    else {
        panic!("a text");
    };
    assert_eq!(text.chars().count(), 100_001);
    let bytes = TextTest::ByteLength {
        min: Some(70_000),
        max: None,
    };
    let Solved::Value(text) = solved(&[(bytes, true), (matches("^é.*b$"), true)], &[]) else {
        panic!("a text");
    };
    assert_eq!(text.len(), 70_000);
    let tests = [(long(100_001), true), (matches("^a.{0,20}b$"), true)];
    assert_eq!(solved(&tests, &[]), Solved::Conflict(vec![0, 1]));
}

#[test]
fn many_failing_tests_are_met_one_by_one() {
    let mut tests: Vec<_> = (0..500)
        .map(|at| (matches(&format!(r"\bdeploy-{at}\b")), false))
        .collect();
    tests.push((matches(r"^deploy-\d+$"), true));
    assert_eq!(solved(&tests, &[]), Solved::Value("deploy-00".to_owned()));
}
