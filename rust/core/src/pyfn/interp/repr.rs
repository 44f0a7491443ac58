//! `str` and `repr` of values.

use super::env::LocalValue;
use super::sequence::{Entries, Kind, items_of};
use super::value::{Broken, Budget, Run, Val, ViewOf};
use crate::chars::is_printable;
use crate::json::write_string;
use crate::limits::{MAX_SCRIPT_DEPTH, MAX_SCRIPT_STEPS};
use crate::pyfn::consts::PyConst;
use crate::pyfn::exception::Failure;
use crate::value::Value;

/// Appends `str(value)`.
pub(in crate::pyfn) fn str_of<V: Value>(
    value: &Val<'_, V>,
    out: &mut String,
    budget: &mut Budget,
) -> Run<()> {
    match value.text() {
        Some(text) => {
            budget.bytes(text.len())?;
            out.push_str(text);
            Ok(())
        }
        None => repr_of(value, out, budget),
    }
}

/// Appends `repr(value)`.
pub(in crate::pyfn) fn repr_of<V: Value>(
    value: &Val<'_, V>,
    out: &mut String,
    budget: &mut Budget,
) -> Run<()> {
    let ascii = false;
    Writer { out, ascii, budget }.value(value, 0)
}

/// Appends `ascii(value)`.
pub(in crate::pyfn) fn ascii_of<V: Value>(
    value: &Val<'_, V>,
    out: &mut String,
    budget: &mut Budget,
) -> Run<()> {
    let ascii = true;
    Writer { out, ascii, budget }.value(value, 0)
}

/// A local as an explanation shows it: JSON, or as Python shows a container.
pub(in crate::pyfn) fn seen<V: Value>(value: &Val<'_, V>) -> LocalValue<V> {
    let mut out = String::new();
    match value {
        Val::Text(read) | Val::Seq(read) | Val::Tup(read) | Val::Map(read) => {
            return LocalValue::Read(read.clone());
        }
        Val::None => out.push_str("null"),
        Val::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Val::Str(text) => write_string(text, &mut out),
        Val::Made(text) => write_string(text, &mut out),
        other => {
            // What a budget cuts off is not shown.
            if repr_of(other, &mut out, &mut Budget::within(MAX_SCRIPT_STEPS)).is_err()
                && out.is_empty()
            {
                return LocalValue::Nothing;
            }
        }
    }
    LocalValue::Made(out)
}

struct Writer<'w> {
    out: &'w mut String,
    ascii: bool,
    budget: &'w mut Budget,
}

impl Writer<'_> {
    fn push(&mut self, text: &str) -> Run<()> {
        self.budget.bytes(text.len())?;
        self.out.push_str(text);
        Ok(())
    }

    fn value<V: Value>(&mut self, value: &Val<'_, V>, depth: u16) -> Run<()> {
        self.budget.fuel(1)?;
        if depth > MAX_SCRIPT_DEPTH {
            return Err(Failure::TOO_LARGE);
        }
        if let Some(text) = value.text() {
            return self.text(text);
        }
        if let Some((kind, items)) = items_of(value) {
            let length = items.len()?;
            self.push(if kind == Kind::List { "[" } else { "(" })?;
            for index in 0..length {
                if index > 0 {
                    self.push(", ")?;
                }
                if let Some(item) = items.get(index) {
                    self.value(&item, depth + 1)?;
                }
            }
            return self.push(match (kind, length) {
                (Kind::List, _) => "]",
                (Kind::Tuple, 1) => ",)",
                (Kind::Tuple, _) => ")",
            });
        }
        if let Some(entries) = Entries::of(value) {
            if let Val::Map(value) = value
                && !value.is_dict()
            {
                return Err(Failure::UNSUPPORTED);
            }
            self.push("{")?;
            for (at, (key, value)) in entries.pairs(self.budget)?.iter().enumerate() {
                if at > 0 {
                    self.push(", ")?;
                }
                self.value(key, depth + 1)?;
                self.push(": ")?;
                self.value(value, depth + 1)?;
            }
            return self.push("}");
        }
        match value {
            Val::None => self.push("None"),
            Val::Bool(true) => self.push("True"),
            Val::Bool(false) => self.push("False"),
            Val::Int(number) => self.push(&number.to_string()),
            Val::Big(number) => self.push(&number.to_string()),
            Val::Float(number) => self.push(&float(*number)),
            Val::Set(table) => {
                // The order of more than one element is CPython's own.
                match (table.len(), table.frozen) {
                    (0, false) => self.push("set()"),
                    (0, true) => self.push("frozenset()"),
                    (1, frozen) => {
                        self.push(if frozen { "frozenset({" } else { "{" })?;
                        for key in table.keys() {
                            self.value(key, depth + 1)?;
                        }
                        self.push(if frozen { "})" } else { "}" })
                    }
                    _ => Err(Failure::UNSUPPORTED),
                }
            }
            Val::View(of, items) => {
                self.push(match of {
                    ViewOf::Keys => "dict_keys([",
                    ViewOf::Values => "dict_values([",
                    ViewOf::Items => "dict_items([",
                })?;
                for (at, item) in items.items.iter().enumerate() {
                    if at > 0 {
                        self.push(", ")?;
                    }
                    self.value(item, depth + 1)?;
                }
                self.push("])")
            }
            Val::DateTime(datetime) => {
                let text = datetime.text().ok_or(Failure::UNSUPPORTED)?;
                if depth > 0 {
                    return Err(Failure::UNSUPPORTED);
                }
                self.push(&text)
            }
            Val::Opaque(broken) => Err((*broken).into()),
            Val::Const(PyConst::Set(_)) => Err(Failure::UNSUPPORTED),
            _ => Err(Broken::Foreign.into()),
        }
    }

    fn text(&mut self, text: &str) -> Run<()> {
        self.budget.scan(text)?;
        let quote = if text.contains('\'') && !text.contains('"') {
            '"'
        } else {
            '\''
        };
        let start = self.out.len();
        self.out.push(quote);
        for found in text.chars() {
            let point = u32::from(found);
            match found {
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\\' => self.out.push_str("\\\\"),
                found if found == quote => {
                    self.out.push('\\');
                    self.out.push(found);
                }
                found if found.is_ascii() && is_printable(found) => self.out.push(found),
                found if !found.is_ascii() && !self.ascii && is_printable(found) => {
                    self.out.push(found);
                }
                _ if point < 0x100 => self.out.push_str(&format!("\\x{point:02x}")),
                _ if point < 0x1_0000 => self.out.push_str(&format!("\\u{point:04x}")),
                _ => self.out.push_str(&format!("\\U{point:08x}")),
            }
        }
        self.out.push(quote);
        self.budget.bytes(self.out.len() - start)
    }
}

/// `repr` of a float.
pub(in crate::pyfn) fn float(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    // The shortest digits that give the number back; Python writes an exponent below -4 and from 16 on.
    let shortest = format!("{value:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = format!("{value}");
        return if plain.contains('.') {
            plain
        } else {
            plain + ".0"
        };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::float;

    #[test]
    fn floats_are_written_as_python_does() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e16, "1.5e+16"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e22, "1e+22"),
            (5e-324, "5e-324"),
            (123_456_789.123, "123456789.123"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(float(value), text);
        }
    }
}
