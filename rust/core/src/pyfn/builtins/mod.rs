//! Builtin functions.

mod facet;
pub(crate) mod format;
pub(crate) mod method;
pub(crate) mod text;

use std::cmp::Ordering;
use std::rc::Rc;

use super::ast::{Binary, Builtin};
use super::exception::{Exception, Failure};
use super::interp::compare::{Wanted, failure_on, ordered};
use super::interp::number::{self, Number};
use super::interp::repr;
use super::interp::sequence::{self, Cursor, Entries, collect, integer};
use super::interp::table::Table;
use super::interp::value::{Budget, Items, Run, Val};
use crate::num::bigint::{BigInt, Signed, truncated};
use crate::value::Value;

/// `function(args)`.
pub(super) fn call<'p, V: Value>(
    function: Builtin,
    args: Vec<Val<'p, V>>,
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    match function {
        Builtin::Max | Builtin::Min => return extreme(function, args, budget),
        Builtin::Zip => return zipped(args, budget),
        Builtin::Range => return range(&args),
        Builtin::FacetPart => return facet::part(&args, budget),
        _ => {}
    }
    let mut args = args.into_iter();
    let (first, second) = (args.next(), args.next());
    if args.next().is_some() {
        return Err(Exception::TYPE.into());
    }
    match (function, first, second) {
        (Builtin::Bool, None, None) => Ok(Val::Bool(false)),
        (Builtin::Int, None, None) => Ok(Val::Int(0)),
        (Builtin::Float, None, None) => Ok(Val::Float(0.0)),
        (Builtin::Str, None, None) => Ok(Val::Str("")),
        (Builtin::List, None, None) => Val::list(Vec::new()),
        (Builtin::Tuple, None, None) => Val::tuple(Vec::new()),
        (Builtin::Set | Builtin::Frozenset, None, None) => {
            let mut table = Table::new();
            table.frozen = function == Builtin::Frozenset;
            Ok(Val::Set(Rc::new(table)))
        }
        (Builtin::Dict, None, None) => Ok(Val::Dict(Rc::new(Table::new()))),
        (function, Some(value), None) => of_one(function, value, budget),
        (Builtin::Sum, Some(values), Some(start)) => sum(values, start, budget),
        (Builtin::Round, Some(value), Some(digits)) => round_to(&value, &digits),
        (Builtin::Enumerate, Some(values), Some(start)) => {
            enumerated(values, integer(&start)?, budget)
        }
        (Builtin::SortedBy, Some(items), Some(keys)) => {
            let (items, keys) = (collect(items, budget)?, collect(keys, budget)?);
            if items.len() != keys.len() {
                return Err(Failure::UNSUPPORTED);
            }
            let mut pairs: Vec<_> = keys.into_iter().zip(items).collect();
            sort(&mut pairs, |(key, _)| key, budget)?;
            Val::list(pairs.into_iter().map(|(_, item)| item).collect())
        }
        // `int(text, base)` and `str(bytes, encoding)`.
        (Builtin::Int | Builtin::Str, Some(_), Some(_)) => Err(Failure::UNSUPPORTED),
        _ => Err(Exception::TYPE.into()),
    }
}

fn of_one<'p, V: Value>(
    function: Builtin,
    value: Val<'p, V>,
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    match function {
        Builtin::Len => value.len().map(|length| Val::Int(length as i64)),
        Builtin::Bool => value.truth().map(Val::Bool),
        Builtin::Str | Builtin::Repr => {
            if function == Builtin::Str && value.text().is_some() {
                return Ok(value);
            }
            let mut text = String::new();
            if function == Builtin::Str {
                repr::str_of(&value, &mut text, budget)?;
            } else {
                repr::repr_of(&value, &mut text, budget)?;
            }
            Ok(Val::Made(text.into()))
        }
        Builtin::Int => to_int(&value, budget),
        Builtin::Float => to_float(&value, budget).map(Val::Float),
        Builtin::Abs => match sequence::number(&value)? {
            Number::Int(number) => match number.checked_abs() {
                Some(number) => Ok(Val::Int(number)),
                None => number::int(BigInt::from(number).abs()),
            },
            Number::Big(number) => number::int(number.abs()),
            Number::Float(number) => Ok(Val::Float(number.abs())),
        },
        Builtin::Round => round_to(&value, &Val::None),
        Builtin::Any | Builtin::All => {
            let decisive = function == Builtin::Any;
            let mut cursor = Cursor::new(value, budget)?;
            while let Some(item) = cursor.next(budget)? {
                if item.truth()? == decisive {
                    return Ok(Val::Bool(decisive));
                }
            }
            Ok(Val::Bool(!decisive))
        }
        Builtin::Sum => sum(value, Val::Int(0), budget),
        Builtin::List => collect(value, budget).and_then(Val::list),
        Builtin::Tuple => match value {
            // `tuple` returns a tuple unchanged.
            value @ (Val::Tuple(_) | Val::Tup(_)) => Ok(value),
            value => collect(value, budget).and_then(Val::tuple),
        },
        Builtin::Set | Builtin::Frozenset => {
            let mut table = Table::set(collect(value, budget)?, budget)?;
            table.frozen = function == Builtin::Frozenset;
            Ok(Val::Set(Rc::new(table)))
        }
        Builtin::Dict => to_dict(value, budget),
        Builtin::Enumerate => enumerated(value, 0, budget),
        Builtin::Reversed => {
            let mut items = match value {
                // `reversed` wants a sequence or a mapping.
                Val::Set(_) | Val::Each(_) => return Err(Exception::TYPE.into()),
                Val::Map(ref value) if !value.is_dict() => return Err(Failure::UNSUPPORTED),
                value if super::interp::compare::set_of(&value).is_some() => {
                    return Err(Exception::TYPE.into());
                }
                value => collect(value, budget)?,
            };
            items.reverse();
            Items::new(items).map(Val::Each)
        }
        Builtin::Sorted => {
            let mut items = collect(value, budget)?;
            sort(&mut items, |item| item, budget)?;
            Val::list(items)
        }
        Builtin::Max
        | Builtin::Min
        | Builtin::Zip
        | Builtin::Range
        | Builtin::SortedBy
        | Builtin::FacetPart
        | Builtin::OccursIn => Err(Exception::TYPE.into()),
    }
}

/// `int(value)`.
fn to_int<'p, V: Value>(value: &Val<'p, V>, budget: &mut Budget) -> Run<Val<'p, V>> {
    if let Some(text) = value.text() {
        budget.scan(text)?;
        return number::int(number::parse_int(text)?);
    }
    match sequence::number(value)? {
        Number::Int(number) => Ok(Val::Int(number)),
        Number::Big(number) => number::int(number),
        Number::Float(number) if number.is_nan() => Err(Exception::VALUE.into()),
        Number::Float(number) if number.is_infinite() => Err(Exception::OVERFLOW.into()),
        Number::Float(number) => number::int(truncated(number)),
    }
}

/// `float(value)`.
fn to_float<V: Value>(value: &Val<'_, V>, budget: &mut Budget) -> Run<f64> {
    if let Some(text) = value.text() {
        budget.scan(text)?;
        return number::parse_float(text);
    }
    sequence::number(value)?.float()
}

fn to_dict<'p, V: Value>(value: Val<'p, V>, budget: &mut Budget) -> Run<Val<'p, V>> {
    let mut table = Table::new();
    if let Some(entries) = Entries::of(&value) {
        for (key, value) in entries.pairs(budget)? {
            table.insert(key, value, budget)?;
        }
        return Ok(Val::Dict(Rc::new(table)));
    }
    for pair in collect(value, budget)? {
        // Another length is a `ValueError`, a value without a length a `TypeError`.
        let parts = collect(pair, budget)?;
        let Ok([key, value]) = <[Val<'p, V>; 2]>::try_from(parts) else {
            return Err(Exception::VALUE.into());
        };
        table.insert(key, value, budget)?;
    }
    Ok(Val::Dict(Rc::new(table)))
}

fn sum<'p, V: Value>(
    values: Val<'p, V>,
    start: Val<'p, V>,
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    let mut cursor = Cursor::new(values, budget)?;
    if start.text().is_some() {
        return Err(Exception::TYPE.into());
    }
    let mut total = start;
    while let Some(item) = cursor.next(budget)? {
        // Floats are added without compensation, as by Python before 3.12.
        total = number::binary(Binary::Add, &total, &item, budget)?;
    }
    Ok(total)
}

fn round_to<'p, V: Value>(value: &Val<'p, V>, digits: &Val<'p, V>) -> Run<Val<'p, V>> {
    if matches!(digits, Val::None) {
        return match sequence::number(value)? {
            Number::Int(number) => Ok(Val::Int(number)),
            Number::Big(number) => number::int(number),
            Number::Float(number) => number::rounded(number),
        };
    }
    let number = sequence::number(value)?;
    let digits = match digits {
        Val::Big(digits) if digits.is_negative() => return Err(Failure::UNSUPPORTED),
        Val::Big(_) => i64::MAX,
        digits => integer(digits)?,
    };
    match number {
        Number::Float(number) => number::rounded_to(number, digits).map(Val::Float),
        number => match number.big() {
            Some(number) => number::rounded_integer(&number, digits),
            None => Err(Exception::TYPE.into()),
        },
    }
}

fn enumerated<'p, V: Value>(
    values: Val<'p, V>,
    start: i64,
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    let items = collect(values, budget)?;
    budget.elements(items.len().saturating_mul(2))?;
    let pairs = (start..)
        .zip(items)
        .map(|(index, item)| Val::tuple(vec![Val::Int(index), item]))
        .collect::<Run<_>>()?;
    Items::new(pairs).map(Val::Each)
}

fn zipped<'p, V: Value>(args: Vec<Val<'p, V>>, budget: &mut Budget) -> Run<Val<'p, V>> {
    let mut columns = args
        .into_iter()
        .map(|value| Cursor::new(value, budget))
        .collect::<Run<Vec<_>>>()?;
    let mut rows = Vec::new();
    'rows: while !columns.is_empty() {
        let mut row = Vec::with_capacity(columns.len());
        for column in &mut columns {
            match column.next(budget)? {
                Some(item) => row.push(item),
                None => break 'rows,
            }
        }
        budget.elements(row.len() + 1)?;
        rows.push(Val::tuple(row)?);
    }
    Items::new(rows).map(Val::Each)
}

fn range<'p, V: Value>(args: &[Val<'p, V>]) -> Run<Val<'p, V>> {
    let (start, stop, step) = match args {
        [stop] => (0, integer(stop)?, 1),
        [start, stop] => (integer(start)?, integer(stop)?, 1),
        [start, stop, step] => (integer(start)?, integer(stop)?, integer(step)?),
        _ => return Err(Exception::TYPE.into()),
    };
    if step == 0 {
        return Err(Exception::VALUE.into());
    }
    Ok(Val::Range(Rc::new(sequence::range(start, stop, step))))
}

fn extreme<'p, V: Value>(
    function: Builtin,
    args: Vec<Val<'p, V>>,
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    let items = match <[Val<'p, V>; 1]>::try_from(args) {
        Ok([values]) => collect(values, budget)?,
        Err(args) if args.is_empty() => return Err(Exception::TYPE.into()),
        Err(args) => args,
    };
    best(items, function == Builtin::Max, budget)?.ok_or_else(|| Exception::VALUE.into())
}

/// The first of the largest (or smallest) items.
pub(super) fn best<'p, V: Value>(
    items: impl IntoIterator<Item = Val<'p, V>>,
    largest: bool,
    budget: &mut Budget,
) -> Run<Option<Val<'p, V>>> {
    let wanted = if largest { Wanted::Gt } else { Wanted::Lt };
    let mut best: Option<Val<'p, V>> = None;
    for item in items {
        budget.fuel(1)?;
        if match &best {
            Some(best) => ordered(&item, best, wanted, budget)?,
            None => true,
        } {
            best = Some(item);
        }
    }
    Ok(best)
}

/// Sorts by `<`, in order where neither is less.
fn sort<'p, V: Value, T>(
    items: &mut [T],
    key: impl Fn(&T) -> &Val<'p, V>,
    budget: &mut Budget,
) -> Run<()> {
    if items
        .iter()
        .map(&key)
        .any(|item| matches!(item, Val::Float(number) if number.is_nan()))
    {
        // The place of incomparable values is that of the algorithm.
        return Err(Failure::UNSUPPORTED);
    }
    let scalar = |item: &Val<'p, V>| item.text().is_some() || Number::of(item).is_some();
    if items.len() > 1 && !items.iter().map(&key).all(scalar) {
        // Only for these it does not matter which pairs are compared.
        let tuples = items
            .iter()
            .map(&key)
            .all(|item| sequence::items_of(item).is_some());
        if !tuples {
            if let Some(odd) = items
                .iter()
                .map(&key)
                .find(|item| matches!(item, Val::Opaque(_)))
            {
                return Err(failure_on(odd, Failure::UNSUPPORTED));
            }
            let set = |item| super::interp::compare::set_of(item).is_some();
            if items.iter().map(&key).any(set) {
                // Of two sets, neither may be less.
                return Err(Failure::UNSUPPORTED);
            }
            return Err(Exception::TYPE.into());
        }
    }
    let mut failure = None;
    items.sort_by(|left, right| {
        if failure.is_some() {
            return Ordering::Equal;
        }
        let mut less = |left, right| {
            ordered(key(left), key(right), Wanted::Lt, budget).unwrap_or_else(|error| {
                failure = Some(error);
                false
            })
        };
        if less(left, right) {
            Ordering::Less
        } else if less(right, left) {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    });
    failure.map_or(Ok(()), Err)
}
