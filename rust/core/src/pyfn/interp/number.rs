//! Numbers: integers of any size and floats, with Python's arithmetic.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::rc::Rc;

use super::compare::{failure_on, set_of};
use super::sequence::{self, Kind};
use super::table::Table;
use super::value::{Budget, Run, Val};
use crate::error::ErrorCode;
use crate::limits::MAX_INT_BITS;
use crate::num::bigint::{self, BigInt, Signed, to_f64, to_i64};
pub(in crate::pyfn) use crate::num::number::Number;
use crate::num::number::integral;
use crate::pyfn::ast::{Binary, Unary};
use crate::pyfn::exception::{Exception, Failure};
use crate::value::Value;

impl Number {
    /// The number a value is, if it is one; a boolean is the integer it is.
    #[inline]
    pub(in crate::pyfn) fn of<V>(value: &Val<'_, V>) -> Option<Self> {
        Some(match value {
            Val::Bool(flag) => Self::Int(i64::from(*flag)),
            Val::Int(number) => Self::Int(*number),
            Val::Big(number) => Self::Big(BigInt::clone(number)),
            Val::Float(number) => Self::Float(*number),
            _ => return None,
        })
    }

    /// Returns true if this is NaN.
    pub(in crate::pyfn) fn is_nan(&self) -> bool {
        matches!(self, Self::Float(number) if number.is_nan())
    }

    /// The integer of 64 bits it equals.
    pub(in crate::pyfn) fn into_integral(self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(value),
            Self::Big(value) => to_i64(&value),
            Self::Float(value) => integral(value),
        }
    }

    /// As a float; `OverflowError` for an integer out of range.
    pub(in crate::pyfn) fn float(&self) -> Run<f64> {
        match self {
            Self::Int(value) => Ok(*value as f64),
            Self::Big(value) => to_f64(value).ok_or_else(|| Exception::OVERFLOW.into()),
            Self::Float(value) => Ok(*value),
        }
    }

    /// As an integer of any size; `None` for a float.
    pub(in crate::pyfn) fn big(&self) -> Option<BigInt> {
        match self {
            Self::Int(value) => Some(BigInt::from(*value)),
            Self::Big(value) => Some(value.clone()),
            Self::Float(_) => None,
        }
    }
}

/// An integer as a value.
pub(in crate::pyfn) fn int<'p, V>(value: BigInt) -> Run<Val<'p, V>> {
    match to_i64(&value) {
        Some(small) => Ok(Val::Int(small)),
        None if value.bits() > MAX_INT_BITS => Err(Failure::Fault(ErrorCode::OutOfRange)),
        None => Ok(Val::Big(Rc::new(value))),
    }
}

/// `operator value`.
pub(in crate::pyfn) fn unary<'p, V: Value>(operator: Unary, value: &Val<'p, V>) -> Run<Val<'p, V>> {
    let number = sequence::number(value)?;
    Ok(match (operator, number) {
        (Unary::Pos, Number::Int(value)) => Val::Int(value),
        (Unary::Pos, Number::Big(value)) => return int(value),
        (Unary::Pos, Number::Float(value)) => Val::Float(value),
        (Unary::Neg, Number::Float(value)) => Val::Float(-value),
        (Unary::Neg, Number::Int(value)) => match value.checked_neg() {
            Some(value) => Val::Int(value),
            None => return int(-BigInt::from(value)),
        },
        (Unary::Neg, Number::Big(value)) => return int(-value),
        (Unary::Invert, Number::Int(value)) => Val::Int(!value),
        (Unary::Invert, Number::Big(value)) => return int(!value),
        (Unary::Invert, Number::Float(_)) => return Err(Exception::TYPE.into()),
    })
}

/// `left operator right`.
pub(in crate::pyfn) fn binary<'p, V: Value>(
    operator: Binary,
    left: &Val<'p, V>,
    right: &Val<'p, V>,
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    if let (Some(one), Some(two)) = (Number::of(left), Number::of(right)) {
        let logical = matches!(operator, Binary::And | Binary::Or | Binary::Xor);
        if let (Val::Bool(one), Val::Bool(two), true) = (left, right, logical) {
            return Ok(Val::Bool(match operator {
                Binary::And => one & two,
                Binary::Or => one | two,
                _ => one ^ two,
            }));
        }
        return arithmetic(operator, &one, &two, budget);
    }
    for value in [left, right] {
        if let Val::Opaque(broken) = value {
            return Err((*broken).into());
        }
    }
    match operator {
        Binary::Add => added(left, right, budget),
        Binary::Mul => repeated(left, right, budget),
        Binary::Sub => match (left, right) {
            (Val::DateTime(_), _) | (_, Val::DateTime(_)) => Err(Failure::UNSUPPORTED),
            _ => sets(operator, left, right, budget),
        },
        Binary::And | Binary::Or | Binary::Xor => sets(operator, left, right, budget),
        Binary::Mod if left.text().is_some_and(|text| text.contains('%')) => {
            Err(Failure::UNSUPPORTED)
        }
        // Text without a field for it takes no number.
        Binary::Mod if left.text().is_some() && Number::of(right).is_none() => {
            Err(Failure::UNSUPPORTED)
        }
        Binary::Div | Binary::FloorDiv | Binary::Mod | Binary::Pow => Err(Exception::TYPE.into()),
    }
}

fn added<'p, V: Value>(
    left: &Val<'p, V>,
    right: &Val<'p, V>,
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    if let (Some(one), Some(two)) = (left.text(), right.text()) {
        budget.bytes(one.len() + two.len())?;
        return Ok(Val::Made([one, two].concat().into()));
    }
    match (sequence::items_of(left), sequence::items_of(right)) {
        (Some((kind, one)), Some((other, two))) if kind == other => {
            let mut items = one.collect(budget)?;
            items.extend(two.collect(budget)?);
            match kind {
                Kind::List => Val::list(items),
                Kind::Tuple => Val::tuple(items),
            }
        }
        _ => match (left, right) {
            (Val::DateTime(_), _) | (_, Val::DateTime(_)) => Err(Failure::UNSUPPORTED),
            _ => Err(Exception::TYPE.into()),
        },
    }
}

fn repeated<'p, V: Value>(
    left: &Val<'p, V>,
    right: &Val<'p, V>,
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    let (what, count) = match (left, right) {
        (Val::Int(_) | Val::Bool(_) | Val::Big(_), what) => (what, left),
        (what, Val::Int(_) | Val::Bool(_) | Val::Big(_)) => (what, right),
        _ => return Err(Exception::TYPE.into()),
    };
    let count = match Number::of(count) {
        Some(Number::Int(count)) => Ok(usize::try_from(count).unwrap_or(0)),
        // Not the index of anything, whatever its sign.
        _ => Err(Exception::OVERFLOW),
    };
    if let Some(text) = what.text() {
        let count = count?;
        budget.bytes(text.len().saturating_mul(count))?;
        return Ok(Val::Made(text.repeat(count).into()));
    }
    match sequence::items_of(what) {
        Some((kind, items)) => {
            let count = count?;
            budget.elements(items.len()?.saturating_mul(count))?;
            let once = items.collect(budget)?;
            let mut all = Vec::new();
            let turns = if once.is_empty() { 0 } else { count };
            for _ in 0..turns {
                all.extend(once.iter().cloned());
            }
            match kind {
                Kind::List => Val::list(all),
                Kind::Tuple => Val::tuple(all),
            }
        }
        None => Err(Exception::TYPE.into()),
    }
}

/// Set operations; `TypeError` for anything but two sets.
fn sets<'p, V: Value>(
    operator: Binary,
    left: &Val<'p, V>,
    right: &Val<'p, V>,
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    if matches!(left, Val::View(..)) || matches!(right, Val::View(..)) {
        return Err(Failure::UNSUPPORTED);
    }
    let (one, two) = match (set_of(left), set_of(right)) {
        (Some(one), Some(two)) => (one, two),
        // `|` of two mappings is one of both.
        _ if operator == Binary::Or
            && sequence::Entries::of(left).is_some()
            && sequence::Entries::of(right).is_some() =>
        {
            return merged(left, right, budget);
        }
        _ => return Err(failure_on(left, failure_on(right, Exception::TYPE.into()))),
    };
    let mut kept = Vec::new();
    for item in one.items() {
        budget.fuel(1)?;
        let both = two.has(&item, budget)?;
        if match operator {
            Binary::And => both,
            Binary::Or => true,
            _ => !both,
        } {
            kept.push(item);
        }
    }
    if matches!(operator, Binary::Or | Binary::Xor) {
        for item in two.items() {
            budget.fuel(1)?;
            if operator == Binary::Or || !one.has(&item, budget)? {
                kept.push(item);
            }
        }
    }
    let mut table = Table::set(kept, budget)?;
    table.frozen = matches!(left, Val::Set(table) if table.frozen);
    Ok(Val::Set(Rc::new(table)))
}

fn merged<'p, V: Value>(
    left: &Val<'p, V>,
    right: &Val<'p, V>,
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    let mut table = Table::new();
    for side in [left, right] {
        if let Val::Map(value) = side
            && !value.is_dict()
        {
            return Err(Failure::UNSUPPORTED);
        }
        if let Some(entries) = sequence::Entries::of(side) {
            for (key, value) in entries.pairs(budget)? {
                table.insert(key, value, budget)?;
            }
        }
    }
    Ok(Val::Dict(Rc::new(table)))
}

fn arithmetic<'p, V: Value>(
    operator: Binary,
    left: &Number,
    right: &Number,
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    if let (Number::Int(left), Number::Int(right)) = (left, right)
        && let Some(value) = small(operator, *left, *right)
    {
        return Ok(Val::Int(value));
    }
    match (left.big(), right.big()) {
        (Some(one), Some(two)) => integers(operator, &one, &two, budget),
        _ => floats(operator, left.float()?, right.float()?),
    }
}

/// Arithmetic on integers of 64 bits; `None` where it needs more.
fn small(operator: Binary, left: i64, right: i64) -> Option<i64> {
    match operator {
        Binary::Add => left.checked_add(right),
        Binary::Sub => left.checked_sub(right),
        Binary::Mul => left.checked_mul(right),
        Binary::And => Some(left & right),
        Binary::Or => Some(left | right),
        Binary::Xor => Some(left ^ right),
        Binary::FloorDiv => {
            let quotient = left.checked_div(right)?;
            let rest = left.checked_rem(right)?;
            Some(quotient - i64::from(rest != 0 && (rest < 0) != (right < 0)))
        }
        Binary::Mod => {
            let rest = left.checked_rem(right)?;
            Some(if rest != 0 && (rest < 0) != (right < 0) {
                rest + right
            } else {
                rest
            })
        }
        Binary::Div | Binary::Pow => None,
    }
}

fn integers<'p, V: Value>(
    operator: Binary,
    left: &BigInt,
    right: &BigInt,
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    budget.fuel(64)?;
    match operator {
        Binary::Add => int(left + right),
        Binary::Sub => int(left - right),
        Binary::Mul => int(left * right),
        Binary::And => int(left & right),
        Binary::Or => int(left | right),
        Binary::Xor => int(left ^ right),
        Binary::FloorDiv | Binary::Mod => {
            budget.fuel(left.bits() as usize)?;
            let (quotient, rest) = bigint::divided(left, right).ok_or(Exception::ZERO_DIVISION)?;
            int(if operator == Binary::Mod {
                rest
            } else {
                quotient
            })
        }
        Binary::Div => divided(left, right, budget),
        Binary::Pow => power(left, right, budget),
    }
}

/// `/` of integers, rounded once.
fn divided<'p, V>(left: &BigInt, right: &BigInt, budget: &mut Budget) -> Run<Val<'p, V>> {
    const EXACT: u64 = 53;
    if right.bits() == 0 {
        return Err(Exception::ZERO_DIVISION.into());
    }
    if left.bits() <= EXACT
        && right.bits() <= EXACT
        && let (Some(left), Some(right)) = (to_f64(left), to_f64(right))
    {
        return Ok(Val::Float(left / right));
    }
    budget.fuel((left.bits() + right.bits()) as usize)?;
    match bigint::ratio(left, right) {
        Some(value) => Ok(Val::Float(value)),
        None if left.bits() > right.bits() => Err(Exception::OVERFLOW.into()),
        // A result below the normal floats would be rounded twice here.
        None => Err(Failure::UNSUPPORTED),
    }
}

fn power<'p, V>(base: &BigInt, exponent: &BigInt, budget: &mut Budget) -> Run<Val<'p, V>> {
    if exponent.is_negative() {
        if base.bits() == 0 {
            return Err(Exception::ZERO_DIVISION.into());
        }
        let number = |value: &BigInt| to_f64(value).ok_or(Exception::OVERFLOW);
        return floats(Binary::Pow, number(base)?, number(exponent)?);
    }
    if base.bits() <= 1 {
        let odd = exponent.bit(0);
        let value = match (base.bits(), base.is_negative()) {
            (0, _) => i64::from(exponent.bits() == 0),
            (_, true) if odd => -1,
            _ => 1,
        };
        return Ok(Val::Int(value));
    }
    let Some(mut left) = to_i64(exponent).filter(|left| *left as u64 <= MAX_INT_BITS) else {
        return Err(Failure::Fault(ErrorCode::OutOfRange));
    };
    let (mut result, mut square) = (BigInt::from(1), base.clone());
    while left > 0 {
        budget.fuel(64)?;
        if left & 1 == 1 {
            result *= &square;
            if result.bits() > MAX_INT_BITS {
                return Err(Failure::Fault(ErrorCode::OutOfRange));
            }
        }
        left >>= 1;
        if left > 0 {
            square = &square * &square;
            if square.bits() > MAX_INT_BITS {
                return Err(Failure::Fault(ErrorCode::OutOfRange));
            }
        }
    }
    int(result)
}

fn floats<'p, V>(operator: Binary, left: f64, right: f64) -> Run<Val<'p, V>> {
    Ok(Val::Float(match operator {
        Binary::Add => left + right,
        Binary::Sub => left - right,
        Binary::Mul => left * right,
        Binary::Div if right == 0.0 => return Err(Exception::ZERO_DIVISION.into()),
        Binary::Div => left / right,
        Binary::FloorDiv | Binary::Mod if right == 0.0 => {
            return Err(Exception::ZERO_DIVISION.into());
        }
        Binary::FloorDiv => parts(left, right).0,
        Binary::Mod => parts(left, right).1,
        Binary::Pow => return float_power(left, right).map(Val::Float),
        Binary::And | Binary::Or | Binary::Xor => return Err(Exception::TYPE.into()),
    }))
}

/// `divmod` of floats.
fn parts(left: f64, right: f64) -> (f64, f64) {
    let mut rest = left % right;
    let mut quotient = (left - rest) / right;
    if rest != 0.0 {
        if (right < 0.0) != (rest < 0.0) {
            rest += right;
            quotient -= 1.0;
        }
    } else {
        rest = 0.0_f64.copysign(right);
    }
    let floor = if quotient != 0.0 {
        let floor = quotient.floor();
        if quotient - floor > 0.5 {
            floor + 1.0
        } else {
            floor
        }
    } else {
        0.0_f64.copysign(left / right)
    };
    (floor, rest)
}

fn float_power(base: f64, exponent: f64) -> Run<f64> {
    if exponent == 0.0 || base == 1.0 {
        return Ok(1.0);
    }
    if base == 0.0 && exponent < 0.0 {
        return Err(Exception::ZERO_DIVISION.into());
    }
    if base < 0.0 && base.is_finite() && exponent.is_finite() && exponent.fract() != 0.0 {
        // A complex number.
        return Err(Failure::UNSUPPORTED);
    }
    let value = base.powf(exponent);
    if value.is_infinite() && base.is_finite() && exponent.is_finite() {
        return Err(Exception::OVERFLOW.into());
    }
    Ok(value)
}

/// `round(value)` of a float: an integer.
pub(in crate::pyfn) fn rounded<'p, V>(value: f64) -> Run<Val<'p, V>> {
    if value.is_nan() {
        return Err(Exception::VALUE.into());
    }
    if value.is_infinite() {
        return Err(Exception::OVERFLOW.into());
    }
    int(bigint::truncated(value.round_ties_even()))
}

/// `round(value, digits)` of a float: a float.
pub(in crate::pyfn) fn rounded_to(value: f64, digits: i64) -> Run<f64> {
    if !value.is_finite() || digits > 323 {
        return Ok(value);
    }
    if digits < -308 {
        return Ok(0.0_f64.copysign(value));
    }
    if digits < 0 {
        return Err(Failure::UNSUPPORTED);
    }
    // Formatting rounds the exact value once, ties to even, as Python does.
    let text = format!("{value:.*}", digits as usize);
    let rounded: f64 = text.parse().map_err(|_| Failure::UNSUPPORTED)?;
    if rounded.is_infinite() {
        return Err(Exception::OVERFLOW.into());
    }
    Ok(rounded)
}

/// `round(value, digits)` of an integer.
pub(in crate::pyfn) fn rounded_integer<'p, V>(value: &BigInt, digits: i64) -> Run<Val<'p, V>> {
    if digits >= 0 {
        return int(value.clone());
    }
    if digits < -1300 {
        return Ok(Val::Int(0));
    }
    let unit = BigInt::from(10).pow(digits.unsigned_abs() as u32);
    let Some((quotient, rest)) = bigint::divided(value, &unit) else {
        return int(value.clone());
    };
    let up = match (&rest + &rest).cmp(&unit) {
        Ordering::Greater => true,
        Ordering::Equal => quotient.bit(0),
        Ordering::Less => false,
    };
    int((quotient + i32::from(up)) * unit)
}

/// The number in a text, as `int(text)` reads it.
pub(in crate::pyfn) fn parse_int(text: &str) -> Run<BigInt> {
    let text = &*in_ascii(crate::pyfn::builtins::text::strip(text, None));
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or_default()),
        Some(b'+') => (false, text.get(1..).unwrap_or_default()),
        _ => (false, text),
    };
    let parts: Vec<&str> = digits.split('_').collect();
    let sound = parts
        .iter()
        .all(|part| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit()));
    if !sound {
        return Err(Exception::VALUE.into());
    }
    let digits = parts.concat();
    // Python does not read more.
    if digits.len() > 4300 {
        return Err(Exception::VALUE.into());
    }
    let value = bigint::parse_decimal(&digits).ok_or(Failure::Fault(ErrorCode::OutOfRange))?;
    Ok(if negative { -value } else { value })
}

/// A text with the decimal digits of every script as those of ASCII, and nothing else beyond ASCII left in it.
fn in_ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    let digit = |found: char| match crate::chars::decimal(found) {
        Some(digit) => char::from(b'0' + digit),
        None if found.is_ascii() => found,
        None => '?',
    };
    text.chars().map(digit).collect()
}

/// The number in a text, as `float(text)` reads it.
pub(in crate::pyfn) fn parse_float(text: &str) -> Run<f64> {
    let text = &*in_ascii(crate::pyfn::builtins::text::strip(text, None));
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let digit = |at: Option<usize>| {
            at.and_then(|at| bytes.get(at))
                .is_some_and(u8::is_ascii_digit)
        };
        if *byte == b'_' && !(digit(at.checked_sub(1)) && digit(Some(at + 1))) {
            return Err(Exception::VALUE.into());
        }
    }
    let plain = text.replace('_', "");
    let word = plain
        .strip_prefix(['+', '-'])
        .unwrap_or(&plain)
        .to_ascii_lowercase();
    if matches!(word.as_str(), "nan" | "inf" | "infinity") {
        return plain.parse().map_err(|_| Exception::VALUE.into());
    }
    if !word.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return Err(Exception::VALUE.into());
    }
    plain.parse().map_err(|_| Exception::VALUE.into())
}
