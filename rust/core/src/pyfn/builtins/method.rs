//! Methods of strings, mappings, sets, matches and datetimes.

use std::rc::Rc;

use super::text;
use crate::chars;
use crate::num::bigint::Signed;
use crate::pyfn::ast::Method;
use crate::pyfn::consts::PyConst;
use crate::pyfn::exception::{Exception, Failure};
use crate::pyfn::interp::compare::{Set, failure_on, set_of, subset};
use crate::pyfn::interp::sequence::{Entries, Kind, collect, integer, items_of};
use crate::pyfn::interp::table::Table;
use crate::pyfn::interp::value::{Budget, Items, Run, Val, ViewOf};
use crate::value::Value;

/// `owner.method`, before the arguments are evaluated: `AttributeError` where there is no such method.
pub(in crate::pyfn) fn look_up<V: Value>(method: Method, owner: &Val<'_, V>) -> Run<()> {
    let there = match owner {
        Val::Str(_) | Val::Text(_) | Val::Made(_) => method.is_of_text(),
        Val::Map(_) | Val::Dict(_) | Val::Const(PyConst::Dict(_)) => method.is_of_mapping(),
        Val::Seq(_)
        | Val::Tup(_)
        | Val::List(_)
        | Val::Tuple(_)
        | Val::Const(PyConst::List(_) | PyConst::Tuple(_)) => method.is_of_sequence(),
        Val::Set(_) | Val::Const(PyConst::Set(_)) => method.is_of_set(),
        Val::Match(_) => method.is_of_match(),
        Val::DateTime(_) => method.is_of_datetime() || method == Method::Replace,
        Val::View(..) | Val::Range(_) | Val::Object(_) | Val::Const(_) => {
            return Err(Failure::UNSUPPORTED);
        }
        Val::Opaque(broken) => return Err((*broken).into()),
        Val::None
        | Val::Bool(_)
        | Val::Int(_)
        | Val::Big(_)
        | Val::Float(_)
        | Val::Each(_)
        | Val::Static(_)
        | Val::Decision(_) => false,
    };
    if there {
        Ok(())
    } else {
        Err(Exception::ATTRIBUTE.into())
    }
}

/// `owner.method(args)`.
pub(in crate::pyfn) fn call<'p, V: Value>(
    method: Method,
    owner: &Val<'p, V>,
    args: &[Val<'p, V>],
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    if let Some(text) = owner.text() {
        budget.scan(text)?;
        return of_text(method, owner, text, args, budget);
    }
    if let Some(entries) = Entries::of(owner) {
        return of_mapping(method, &entries, args, budget);
    }
    if let Some((_, items)) = items_of(owner) {
        return match (method, args) {
            (Method::Count, [wanted]) => {
                let mut count = 0;
                for index in 0..items.len()? {
                    if let Some(item) = items.get(index)
                        && crate::pyfn::interp::compare::equal_held(&item, wanted, budget)?
                    {
                        count += 1;
                    }
                }
                Ok(Val::Int(count))
            }
            (Method::Index, [wanted]) => {
                for index in 0..items.len()? {
                    if let Some(item) = items.get(index)
                        && crate::pyfn::interp::compare::equal_held(&item, wanted, budget)?
                    {
                        return Ok(Val::Int(index as i64));
                    }
                }
                Err(Exception::VALUE.into())
            }
            (Method::Index, [_, _] | [_, _, _]) => Err(Failure::UNSUPPORTED),
            (Method::Count | Method::Index, _) => Err(Exception::TYPE.into()),
            _ => Err(Exception::ATTRIBUTE.into()),
        };
    }
    if let Some(set) = set_of(owner) {
        let frozen = matches!(owner, Val::Set(table) if table.frozen);
        return of_set(method, &set, frozen, args, budget);
    }
    match (owner, method, args) {
        (Val::DateTime(datetime), Method::Weekday, []) => Ok(Val::Int(datetime.weekday())),
        (Val::DateTime(datetime), Method::IsoWeekday, []) => Ok(Val::Int(datetime.weekday() + 1)),
        (Val::DateTime(datetime), Method::Timestamp, []) => datetime.timestamp(),
        (Val::DateTime(datetime), Method::IsoFormat, []) => datetime.isoformat(budget),
        (Val::DateTime(_), Method::Weekday | Method::IsoWeekday | Method::Timestamp, _) => {
            Err(Exception::TYPE.into())
        }
        (Val::DateTime(_), Method::IsoFormat | Method::Replace, _) => Err(Failure::UNSUPPORTED),
        (Val::Match(found), method, args) => found.call(method, args, budget),
        (Val::View(..) | Val::Range(_) | Val::Object(_), _, _) => Err(Failure::UNSUPPORTED),
        (owner, _, _) => Err(failure_on(owner, Exception::ATTRIBUTE.into())),
    }
}

fn of_mapping<'p, V: Value>(
    method: Method,
    entries: &Entries<'_, 'p, V>,
    args: &[Val<'p, V>],
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    let view = |of, items| Ok(Val::View(of, Items::new(items)?));
    match (method, args) {
        (Method::Get, [key]) => Ok(entries.get(key, budget)?.unwrap_or(Val::None)),
        (Method::Get, [key, default]) => {
            Ok(entries.get(key, budget)?.unwrap_or_else(|| default.clone()))
        }
        (Method::Keys, []) => {
            let pairs = entries.pairs(budget)?;
            view(
                ViewOf::Keys,
                pairs.into_iter().map(|(key, _)| key).collect(),
            )
        }
        (Method::Values, []) => {
            let pairs = entries.pairs(budget)?;
            view(
                ViewOf::Values,
                pairs.into_iter().map(|(_, value)| value).collect(),
            )
        }
        (Method::Items, []) => {
            let pairs = entries.pairs(budget)?;
            let pairs = pairs
                .into_iter()
                .map(|(key, value)| Val::tuple(vec![key, value]));
            view(ViewOf::Items, pairs.collect::<Run<_>>()?)
        }
        (Method::Get | Method::Keys | Method::Values | Method::Items, _) => {
            Err(Exception::TYPE.into())
        }
        _ => Err(Exception::ATTRIBUTE.into()),
    }
}

fn of_set<'p, V: Value>(
    method: Method,
    set: &Set<'_, 'p, V>,
    frozen: bool,
    args: &[Val<'p, V>],
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    let others = args
        .iter()
        .map(|other| Table::set(collect(other.clone(), budget)?, budget))
        .collect::<Run<Vec<_>>>()?;
    let one = match (method, others.as_slice()) {
        (Method::IsDisjoint | Method::IsSubset | Method::IsSuperset, [one]) => Some(one),
        (Method::IsDisjoint | Method::IsSubset | Method::IsSuperset, _) => {
            return Err(Exception::TYPE.into());
        }
        _ => None,
    };
    if let Some(one) = one {
        let one = Set::Made(one);
        return Ok(Val::Bool(match method {
            Method::IsSubset => subset(set, &one, budget)?,
            Method::IsSuperset => subset(&one, set, budget)?,
            _ => {
                let mut apart = true;
                for item in set.items() {
                    apart &= !one.has(&item, budget)?;
                }
                apart
            }
        }));
    }
    let mut kept = Vec::new();
    for item in set.items() {
        let mut keep = true;
        for other in &others {
            let there = Set::Made(other).has(&item, budget)?;
            keep &= match method {
                Method::Intersection => there,
                Method::Difference => !there,
                _ => true,
            };
        }
        if keep {
            kept.push(item);
        }
    }
    if method == Method::Union {
        for other in &others {
            kept.extend(other.keys().cloned());
        }
    }
    let mut table = Table::set(kept, budget)?;
    table.frozen = frozen;
    Ok(Val::Set(Rc::new(table)))
}

/// The argument of a method that takes one string.
fn string<'v, V: Value>(value: &'v Val<'_, V>) -> Run<&'v str> {
    value
        .text()
        .ok_or_else(|| failure_on(value, Exception::TYPE.into()))
}

fn of_text<'p, V: Value>(
    method: Method,
    owner: &Val<'p, V>,
    value: &str,
    args: &[Val<'p, V>],
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    let every =
        |test: fn(char) -> bool| Ok(Val::Bool(!value.is_empty() && value.chars().all(test)));
    match (method, args) {
        (Method::StartsWith | Method::EndsWith, [affix, bounds @ ..]) if bounds.len() <= 2 => {
            has_affix(value, affix, bounds, method == Method::EndsWith).map(Val::Bool)
        }
        (Method::Lower, []) => {
            if value.is_ascii() {
                if !value.bytes().any(|byte| byte.is_ascii_uppercase()) {
                    return Ok(owner.clone());
                }
                return Val::made(&value.to_ascii_lowercase(), budget);
            }
            Val::made(&chars::lower(value), budget)
        }
        (Method::Upper, []) => {
            if value.is_ascii() {
                return Val::made(&value.to_ascii_uppercase(), budget);
            }
            Val::made(&chars::upper(value), budget)
        }
        (Method::Casefold, []) => {
            if value.is_ascii() {
                return Val::made(&value.to_ascii_lowercase(), budget);
            }
            Val::made(&chars::folded(value), budget)
        }
        (Method::Title, []) => cased(text::titled(value), budget),
        (Method::Capitalize, []) => cased(text::capitalized(value), budget),
        (Method::SwapCase, []) => cased(text::swapped(value), budget),
        (Method::Strip | Method::LStrip | Method::RStrip, args) if args.len() <= 1 => {
            let chars = match args.first() {
                None | Some(Val::None) => None,
                Some(chars) => Some(string(chars)?),
            };
            let stripped = match method {
                Method::Strip => text::strip(value, chars),
                Method::LStrip => text::lstrip(value, chars),
                _ => text::rstrip(value, chars),
            };
            if stripped.len() == value.len() {
                return Ok(owner.clone());
            }
            Val::made(stripped, budget)
        }
        (Method::Split | Method::RSplit, args) if args.len() <= 2 => {
            let limit = args.get(1).map_or(Ok(-1), integer)?;
            let parts = match args.first() {
                None | Some(Val::None) if method == Method::Split => {
                    text::split_space(value, limit)
                }
                None | Some(Val::None) => text::rsplit_space(value, limit),
                Some(separator) => match (string(separator)?, method) {
                    ("", _) => return Err(Exception::VALUE.into()),
                    (separator, Method::Split) => text::split(value, separator, limit),
                    (separator, _) => text::rsplit(value, separator, limit),
                },
            };
            listed(&parts, budget).and_then(Val::list)
        }
        (Method::SplitLines, args) if args.len() <= 1 => {
            let keep = match args.first() {
                None => false,
                Some(Val::Int(_) | Val::Bool(_)) => args.first().map_or(Ok(false), Val::truth)?,
                Some(_) => return Err(Failure::UNSUPPORTED),
            };
            listed(&text::lines(value, keep), budget).and_then(Val::list)
        }
        (Method::Partition | Method::RPartition, [separator]) => {
            let separator = string(separator)?;
            if separator.is_empty() {
                return Err(Exception::VALUE.into());
            }
            let parts = if method == Method::Partition {
                value
                    .split_once(separator)
                    .map_or([value, "", ""], |(before, after)| {
                        [before, separator, after]
                    })
            } else {
                value
                    .rsplit_once(separator)
                    .map_or(["", "", value], |(before, after)| {
                        [before, separator, after]
                    })
            };
            listed(&parts, budget).and_then(Val::tuple)
        }
        (Method::RemovePrefix, [affix]) => match value.strip_prefix(string(affix)?) {
            Some(rest) => Val::made(rest, budget),
            None => Ok(owner.clone()),
        },
        (Method::RemoveSuffix, [affix]) => match value.strip_suffix(string(affix)?) {
            Some(rest) => Val::made(rest, budget),
            None => Ok(owner.clone()),
        },
        (Method::Replace, [old, new]) => replaced(value, (old, new), -1, budget),
        (Method::Replace, [old, new, count]) => {
            let (_, _) = (string(old)?, string(new)?);
            replaced(value, (old, new), integer(count)?, budget)
        }
        (
            Method::Find | Method::RFind | Method::Index | Method::RIndex | Method::Count,
            [wanted, bounds @ ..],
        ) if bounds.len() <= 2 => found(method, value, string(wanted)?, bounds),
        (Method::Join, [items]) => joined(value, items.clone(), budget),
        (Method::IsDigit, []) => every(chars::is_digit),
        (Method::IsAlpha, []) => every(chars::is_alpha),
        (Method::IsAlnum, []) => every(|found| chars::is_alpha(found) || chars::is_numeric(found)),
        (Method::IsSpace, []) => every(chars::is_space),
        (Method::IsNumeric, []) => every(chars::is_numeric),
        (Method::IsDecimal, []) => every(chars::is_decimal),
        (Method::IsUpper, []) => Ok(Val::Bool(text::is_cased(value, true))),
        (Method::IsLower, []) => Ok(Val::Bool(text::is_cased(value, false))),
        (Method::IsTitle, []) => Ok(Val::Bool(text::is_titled(value))),
        (Method::IsAscii, []) => Ok(Val::Bool(value.is_ascii())),
        (Method::IsPrintable, []) => Ok(Val::Bool(value.chars().all(chars::is_printable))),
        (Method::IsIdentifier, []) => {
            if !value.is_ascii() {
                return Err(Failure::UNSUPPORTED);
            }
            let word = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
            let first = value.bytes().next();
            Ok(Val::Bool(
                first.is_some_and(|first| !first.is_ascii_digit()) && value.bytes().all(word),
            ))
        }
        (Method::ZFill, [width]) => {
            let width = usize::try_from(integer(width)?).unwrap_or(0);
            budget.bytes(width)?;
            Val::made(&text::zero_filled(value, width), budget)
        }
        _ => Err(Exception::TYPE.into()),
    }
}

fn cased<'p, V: Value>(text: Option<String>, budget: &mut Budget) -> Run<Val<'p, V>> {
    match text {
        Some(text) => Val::made(&text, budget),
        None => Err(Failure::UNSUPPORTED),
    }
}

fn listed<'p, V: Value>(parts: &[&str], budget: &mut Budget) -> Run<Vec<Val<'p, V>>> {
    budget.fuel(parts.len())?;
    parts.iter().map(|part| Val::made(part, budget)).collect()
}

/// The code points that `start` and `stop` leave; `None` when they leave nothing, not even the empty text.
fn bounded<'t, V: Value>(value: &'t str, bounds: &[Val<'_, V>]) -> Run<Option<(&'t str, usize)>> {
    if bounds.is_empty() {
        return Ok(Some((value, 0)));
    }
    let length = text::length(value) as i64;
    let bound = |at: usize, otherwise: i64| match bounds.get(at) {
        None | Some(Val::None) => Ok(otherwise),
        Some(Val::Big(number)) => Ok(if number.is_negative() {
            i64::MIN
        } else {
            i64::MAX
        }),
        Some(other) => integer(other),
    };
    let clip = |bound: i64| {
        if bound < 0 {
            bound.saturating_add(length).max(0)
        } else {
            bound
        }
    };
    let (start, stop) = (clip(bound(0, 0)?), clip(bound(1, length)?).min(length));
    if start > stop {
        return Ok(None);
    }
    let (start, stop) = (start as usize, stop as usize);
    Ok(Some((text::slice(value, start, stop), start)))
}

fn has_affix<V: Value>(
    value: &str,
    affix: &Val<'_, V>,
    bounds: &[Val<'_, V>],
    at_end: bool,
) -> Run<bool> {
    let value = bounded(value, bounds)?.map(|(value, _)| value);
    let has = |affix: &str| {
        value.is_some_and(|value| {
            if at_end {
                value.ends_with(affix)
            } else {
                value.starts_with(affix)
            }
        })
    };
    if let Some(affix) = affix.text() {
        return Ok(has(affix));
    }
    match items_of(affix) {
        Some((Kind::Tuple, affixes)) => {
            for index in 0..affixes.len()? {
                if let Some(affix) = affixes.get(index)
                    && has(string(&affix)?)
                {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Err(failure_on(affix, Exception::TYPE.into())),
    }
}

fn replaced<'p, V: Value>(
    value: &str,
    (old, new): (&Val<'p, V>, &Val<'p, V>),
    count: i64,
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    let (old, new) = (string(old)?, string(new)?);
    let times = value.matches(old).count();
    let times = usize::try_from(count).map_or(times, |count| count.min(times));
    budget.bytes(value.len() + times.saturating_mul(new.len()))?;
    Val::made(&value.replacen(old, new, times), budget)
}

fn found<'p, V: Value>(
    method: Method,
    value: &str,
    wanted: &str,
    bounds: &[Val<'p, V>],
) -> Run<Val<'p, V>> {
    let within = bounded(value, bounds)?;
    if method == Method::Count {
        return Ok(Val::Int(
            within.map_or(0, |(value, _)| value.matches(wanted).count() as i64),
        ));
    }
    let at = within.and_then(|(value, start)| {
        let byte = match method {
            Method::Find | Method::Index => text::find(value, wanted),
            _ => text::rfind(value, wanted),
        }?;
        Some(start + text::length(value.get(..byte)?))
    });
    match (at, method) {
        (Some(at), _) => Ok(Val::Int(at as i64)),
        (None, Method::Find | Method::RFind) => Ok(Val::Int(-1)),
        (None, _) => Err(Exception::VALUE.into()),
    }
}

fn joined<'p, V: Value>(
    separator: &str,
    items: Val<'p, V>,
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    let items = collect(items, budget)?;
    let texts = items.iter().map(string).collect::<Run<Vec<&str>>>()?;
    let length = texts.iter().map(|text| text.len()).sum::<usize>();
    budget.bytes(length.saturating_add(separator.len().saturating_mul(texts.len())))?;
    Ok(Val::Made(texts.join(separator).into()))
}
