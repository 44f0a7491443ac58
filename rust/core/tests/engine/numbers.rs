//! Numbers compare exactly, whatever their representation.

use std::cmp::Ordering;

use bobcat_core::limits::MAX_INT_BITS;
use bobcat_core::num::bigint::{BigInt, compare_float, parse_decimal, to_i64};
use bobcat_core::num::number::{Number, compare_int_float, integral};
use bobcat_core::value::View;
use bobcat_core::value::compare::compare;

use crate::generator::Random;

fn big(text: &str) -> BigInt {
    parse_decimal(text).expect("an integer")
}

#[test]
fn decimal_texts_survive_a_round_trip() {
    for text in [
        "0",
        "7",
        "-7",
        "18446744073709551616",
        "-340282366920938463463374607431768211456",
        "10000000000000000000000000000000000000000",
    ] {
        assert_eq!(big(text).to_string(), text);
    }
    assert_eq!(big("-0").to_string(), "0");
    assert_eq!(big("000123").to_string(), "123");
    for text in ["", "-", "1a", "+1", "1.0", " 1"] {
        assert_eq!(parse_decimal(text), None, "{text}");
    }
}

#[test]
fn the_cap_is_on_bits() {
    let above = BigInt::from(1) << MAX_INT_BITS;
    for negative in ["", "-"] {
        let read = |number: &BigInt| parse_decimal(&format!("{negative}{number}"));
        let top = read(&(&above - 1));
        assert_eq!(top.map(|value| value.bits()), Some(MAX_INT_BITS));
        assert_eq!(read(&above), None);
    }
    assert_eq!(parse_decimal(&"9".repeat(1234)), None);
    assert!(parse_decimal(&"9".repeat(1233)).is_some());
    assert_eq!(parse_decimal(&"9".repeat(4_000_000)), None);
    assert_eq!(parse_decimal(&"0".repeat(4_000_000)), Some(BigInt::ZERO));
}

#[test]
fn small_integers_keep_their_order_as_big_ones() {
    let values = [
        i64::MIN,
        i64::MIN + 1,
        -5,
        -1,
        0,
        1,
        5,
        i64::MAX - 1,
        i64::MAX,
    ];
    for a in values {
        for b in values {
            assert_eq!(BigInt::from(a).cmp(&BigInt::from(b)), a.cmp(&b));
        }
        assert_eq!(to_i64(&BigInt::from(a)), Some(a));
    }
}

#[test]
fn integers_and_floats_compare_without_rounding() {
    let limit = 9_007_199_254_740_992_i64;
    assert_eq!(
        compare_int_float(limit + 1, limit as f64),
        Some(Ordering::Greater)
    );
    assert_eq!(
        compare_int_float(i64::MAX, 9_223_372_036_854_775_808.0),
        Some(Ordering::Less)
    );
    assert_eq!(
        compare_int_float(i64::MIN, -9_223_372_036_854_775_808.0),
        Some(Ordering::Equal)
    );
    assert_eq!(compare_int_float(-1, -0.5), Some(Ordering::Less));
    assert_eq!(compare_int_float(0, -0.0), Some(Ordering::Equal));
    assert_eq!(compare_int_float(0, f64::NAN), None);
    assert_eq!(
        compare_int_float(0, f64::NEG_INFINITY),
        Some(Ordering::Greater)
    );
    assert_eq!(
        compare_float(&big("18446744073709551616"), 18_446_744_073_709_551_616.0),
        Some(Ordering::Equal)
    );
    assert_eq!(
        compare_float(&big("18446744073709551617"), 18_446_744_073_709_551_616.0),
        Some(Ordering::Greater)
    );
    assert_eq!(
        compare_float(&big("-18446744073709551617"), -18_446_744_073_709_551_616.0),
        Some(Ordering::Less)
    );
    assert_eq!(compare_float(&big("5"), 5.5), Some(Ordering::Less));
    assert_eq!(compare_float(&big("-5"), -5.5), Some(Ordering::Greater));
    assert_eq!(
        compare_float(&big("1"), f64::MIN_POSITIVE),
        Some(Ordering::Greater)
    );
    assert_eq!(
        compare_float(&big("0"), f64::MIN_POSITIVE),
        Some(Ordering::Less)
    );
    assert_eq!(
        compare_float(&big(&"9".repeat(1200)), f64::MAX),
        Some(Ordering::Greater)
    );
    assert_eq!(
        compare_float(&big(&"9".repeat(1200)), f64::INFINITY),
        Some(Ordering::Less)
    );
    assert_eq!(compare_float(&big("1"), f64::NAN), None);
}

#[test]
fn comparison_is_antisymmetric_across_representations() {
    let mut random = Random::new(41);
    for _ in 0..20_000 {
        let float = f64::from_bits(random.next() << 16 | random.next());
        let int = (random.next() << 20 | random.next()) as i64 >> random.below(63);
        if float.is_nan() {
            continue;
        }
        let direct = compare_int_float(int, float);
        assert_eq!(
            compare_float(&BigInt::from(int), float),
            direct,
            "{int} {float:e}"
        );
        assert_eq!(
            compare(&View::Float(float), &Number::Int(int)),
            direct.map(Ordering::reverse)
        );
        let near = int as f64;
        assert_eq!(
            compare_float(&BigInt::from(int), near),
            compare_int_float(int, near),
            "{int} {near:e}"
        );
        assert_eq!(
            integral(near).is_some_and(|back| back == int),
            compare_int_float(int, near) == Some(Ordering::Equal)
        );
    }
}
