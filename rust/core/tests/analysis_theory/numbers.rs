//! Numbers: small ones near bounds, and conflicts that are real and minimal.

use bobcat_core::analysis::theory::Solved;
use bobcat_core::analysis::theory::number::{Domain, NumberTest, solve};
use bobcat_core::num::bigint::BigInt;
use bobcat_core::num::number::Number;

use crate::oracle::Random;

fn int(value: i64) -> Number {
    Number::Int(value)
}

fn float(value: f64) -> Number {
    Number::from_float(value)
}

fn solved(
    tests: &[(NumberTest, bool)],
    excluded: &[Number],
    domain: &Domain,
) -> Solved<Number, usize> {
    let wanted: Vec<_> = tests.iter().map(|(test, result)| (test, *result)).collect();
    solve(&wanted, excluded, domain)
}

#[test]
fn values_are_near_a_bound_and_whole_where_one_fits() {
    let above = |bound: Number| (NumberTest::Above(bound, false), true);
    let below = |bound: Number| (NumberTest::Below(bound, false), true);
    let any = |tests: &[(NumberTest, bool)]| solved(tests, &[], &Domain::Any);
    assert_eq!(any(&[]), Solved::Value(int(1)));
    assert_eq!(any(&[above(int(100))]), Solved::Value(int(101)));
    assert_eq!(any(&[below(int(-5))]), Solved::Value(int(-6)));
    assert_eq!(
        any(&[above(int(-100)), below(int(100))]),
        Solved::Value(int(1))
    );
    assert_eq!(
        any(&[above(int(3)), below(int(4))]),
        Solved::Value(float(3.5))
    );
    assert_eq!(
        any(&[above(float(0.1)), below(float(0.12))]),
        Solved::Value(float(0.11))
    );
    let big = Number::Big(BigInt::from(1) << 70);
    assert_eq!(
        any(&[above(big)]),
        Solved::Value(Number::Big((BigInt::from(1) << 70) + 1))
    );
    let half = float(1.0_f64.next_up());
    assert_eq!(
        any(&[above(int(1)), below(half)]),
        Solved::Conflict(vec![0, 1])
    );
    let most = Number::Big((BigInt::from(1) << 4096) - 1);
    assert_eq!(
        any(&[above(most)]),
        Solved::Value(Number::Float(f64::INFINITY))
    );
}

#[test]
fn neighbours_of_64_bits_are_distinct() {
    let top = i64::MAX;
    let tests = [
        (NumberTest::Above(int(top - 1), false), true),
        (NumberTest::OneOf(vec![int(top)]), false),
        (
            NumberTest::Below(Number::Big(BigInt::from(top) + 1), false),
            true,
        ),
    ];
    assert_eq!(
        solved(&tests, &[], &Domain::Any),
        Solved::Conflict(vec![0, 1, 2])
    );
    assert_eq!(
        solved(&tests[..2], &[], &Domain::Integers(0, top)),
        Solved::Conflict(vec![0, 1])
    );
}

#[test]
fn random_answers_are_right_and_minimal() {
    let mut random = Random::new(3);
    let grid: Vec<Number> = (-8..=16).map(|at| float(f64::from(at) / 2.0)).collect();
    let constant =
        |random: &mut Random| float((random.below(9) as f64 - 2.0) / [1.0, 2.0][random.below(2)]);
    let mut conflicts = 0;
    for round in 0..5_000 {
        let domain = [Domain::Any, Domain::Integers(0, 3)][random.below(2)].clone();
        let tests: Vec<(NumberTest, bool)> = (0..1 + random.below(5))
            .map(|_| {
                let (one, other) = (constant(&mut random), constant(&mut random));
                let inclusive = random.below(2) == 0;
                let test = match random.below(4) {
                    0 => NumberTest::Above(one, inclusive),
                    1 => NumberTest::Below(one, inclusive),
                    2 => NumberTest::Between(one, other),
                    _ => NumberTest::OneOf(vec![one, other]),
                };
                (test, random.below(2) == 0)
            })
            .collect();
        let excluded: Vec<Number> = (0..random.below(3))
            .map(|_| constant(&mut random))
            .collect();
        let passes = |value: &Number, places: &[usize]| {
            let inside = match (&domain, value) {
                (Domain::Any, _) => true,
                (Domain::Integers(first, last), Number::Int(value)) => {
                    (first..=last).contains(&value)
                }
                (Domain::Integers(..), _) => false,
            };
            inside
                && !excluded.contains(value)
                && places
                    .iter()
                    .all(|at| tests[*at].0.passes(value) == tests[*at].1)
        };
        let all: Vec<usize> = (0..tests.len()).collect();
        match solved(&tests, &excluded, &domain) {
            Solved::Value(value) => assert!(passes(&value, &all), "{round}: {value:?} {tests:?}"),
            Solved::Conflict(places) => {
                conflicts += 1;
                let found = grid.iter().find(|value| passes(value, &places));
                assert_eq!(found, None, "{round}: {places:?} {tests:?} {excluded:?}");
                for left_out in &places {
                    let fewer: Vec<_> = places
                        .iter()
                        .filter(|at| *at != left_out)
                        .map(|at| tests[*at].clone())
                        .collect();
                    let answer = solved(&fewer, &excluded, &domain);
                    assert!(
                        matches!(answer, Solved::Value(_)),
                        "{round}: {places:?} {tests:?}"
                    );
                }
            }
            Solved::GaveUp(failure) => panic!("{failure:?}"),
        }
    }
    assert!(conflicts > 500, "{conflicts}");
}
