//! Numbers compare exactly, whatever their representation.

use std::cmp::Ordering;

use bobcat_core::limits::MAX_INT_BITS;
use bobcat_core::num::bigint::BigInt;
use bobcat_core::num::number::{Number, compare_int_float, integral};
use bobcat_core::value::View;
use bobcat_core::value::compare::compare;

use crate::generator::Random;

fn big(text: &str) -> BigInt {
    BigInt::parse_decimal(text).expect("an integer")
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
        assert_eq!(BigInt::parse_decimal(text), None, "{text}");
    }
}

#[test]
fn bytes_and_decimals_give_the_same_integer() {
    assert_eq!(
        BigInt::from_be_bytes(false, &[1, 0, 0, 0, 0, 0, 0, 0, 0]),
        Some(big("18446744073709551616"))
    );
    assert_eq!(BigInt::from_be_bytes(true, &[0, 0, 5]), Some(big("-5")));
    assert_eq!(BigInt::from_be_bytes(true, &[]), Some(big("0")));
}

#[test]
fn the_cap_is_on_bits() {
    let bytes = MAX_INT_BITS as usize / 8;
    let mut top = vec![0xff; bytes];
    assert_eq!(
        BigInt::from_be_bytes(false, &top).map(|value| value.bits()),
        Some(MAX_INT_BITS)
    );
    top.insert(0, 1);
    assert_eq!(BigInt::from_be_bytes(false, &top), None);
    assert_eq!(BigInt::parse_decimal(&"9".repeat(1234)), None);
    assert!(BigInt::parse_decimal(&"9".repeat(1233)).is_some());
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
            assert_eq!(BigInt::from(a).cmp_i64(b), a.cmp(&b));
        }
        assert_eq!(BigInt::from(a).to_i64(), Some(a));
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
        big("18446744073709551616").cmp_f64(18_446_744_073_709_551_616.0),
        Some(Ordering::Equal)
    );
    assert_eq!(
        big("18446744073709551617").cmp_f64(18_446_744_073_709_551_616.0),
        Some(Ordering::Greater)
    );
    assert_eq!(
        big("-18446744073709551617").cmp_f64(-18_446_744_073_709_551_616.0),
        Some(Ordering::Less)
    );
    assert_eq!(big("5").cmp_f64(5.5), Some(Ordering::Less));
    assert_eq!(big("-5").cmp_f64(-5.5), Some(Ordering::Greater));
    assert_eq!(big("1").cmp_f64(f64::MIN_POSITIVE), Some(Ordering::Greater));
    assert_eq!(big("0").cmp_f64(f64::MIN_POSITIVE), Some(Ordering::Less));
    assert_eq!(
        big(&"9".repeat(1200)).cmp_f64(f64::MAX),
        Some(Ordering::Greater)
    );
    assert_eq!(
        big(&"9".repeat(1200)).cmp_f64(f64::INFINITY),
        Some(Ordering::Less)
    );
    assert_eq!(big("1").cmp_f64(f64::NAN), None);
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
        assert_eq!(BigInt::from(int).cmp_f64(float), direct, "{int} {float:e}");
        assert_eq!(
            compare(&View::Float(float), &Number::Int(int)),
            direct.map(Ordering::reverse)
        );
        let near = int as f64;
        assert_eq!(
            BigInt::from(int).cmp_f64(near),
            compare_int_float(int, near),
            "{int} {near:e}"
        );
        assert_eq!(
            integral(near).is_some_and(|back| back == int),
            compare_int_float(int, near) == Some(Ordering::Equal)
        );
    }
}
