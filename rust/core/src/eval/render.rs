//! Values and operands as people read them in `explain`: JSON, cut.

use crate::comparand::Comparand;
use crate::json::{write_float, write_string};
use crate::path::Head;
use crate::value::constant::{Const, Exotic};
use crate::value::{Step, Value, View};

/// Longest text shown, in characters.
const SHOWN: usize = 200;
/// Deepest level shown: values may be cyclic.
const DEPTH: usize = 8;

/// A value as JSON, cut.
pub(super) fn value<V: Value>(value: &V) -> String {
    let mut out = String::new();
    write_value(value, &mut out, 0);
    cut(out)
}

/// An operand as JSON, cut: other paths by their keys, tests by their operators.
pub(super) fn comparand(operand: &Comparand) -> String {
    let mut out = String::new();
    write_comparand(operand, &mut out);
    cut(out)
}

/// Another path with the value it led to, as JSON, cut; without one when nothing is there.
pub(super) fn reference<V: Value>(head: Head, keys: &[Box<str>], step: &Step<V>) -> String {
    let mut out = String::from("{\"ref\": ");
    write_path(head, keys, &mut out);
    if let Step::Found(there) = step {
        out.push_str(", \"value\": ");
        write_value(there, &mut out, 0);
    }
    out.push('}');
    cut(out)
}

fn write_path(head: Head, keys: &[Box<str>], out: &mut String) {
    let mut path = head.as_str().to_owned();
    for key in keys {
        path.push('.');
        path.push_str(key);
    }
    write_text(&path, out);
}

pub(super) fn cut(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(SHOWN) {
        text.truncate(at);
        text.push('…');
    }
    text
}

/// No need to write what will be cut.
fn full(out: &str) -> bool {
    out.len() > SHOWN * 4
}

fn write_value<V: Value>(value: &V, out: &mut String, depth: usize) {
    match value.view() {
        View::List | View::Map if depth >= DEPTH => out.push('…'),
        View::List => {
            out.push('[');
            let mut index = 0;
            while let Some(item) = value.item(index) {
                if index > 0 {
                    out.push_str(", ");
                }
                if full(out) {
                    break;
                }
                write_value(&item, out, depth + 1);
                index += 1;
            }
            out.push(']');
        }
        View::Map => {
            out.push('{');
            let mut first = true;
            value.each_entry(&mut |key, item| {
                if !first {
                    out.push_str(", ");
                }
                first = false;
                write_view(&key, out);
                out.push_str(": ");
                write_value(item, out, depth + 1);
                !full(out)
            });
            out.push('}');
        }
        view => write_view(&view, out),
    }
}

fn write_text(text: &str, out: &mut String) {
    let end = text
        .char_indices()
        .nth(SHOWN + 1)
        .map_or(text.len(), |(at, _)| at);
    write_string(text.get(..end).unwrap_or(text), out);
}

fn write_view(view: &View<'_>, out: &mut String) {
    match view {
        View::Null => out.push_str("null"),
        View::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        View::Int(value) => out.push_str(&value.to_string()),
        View::BigInt(value) => out.push_str(&value.to_string()),
        View::HugeInt => out.push_str("<an integer above the cap>"),
        View::Float(value) => write_float(*value, out),
        View::Str(text) => write_text(text, out),
        View::BadStr => out.push_str("<a string with a lone surrogate>"),
        View::Timestamp(micros) => write_timestamp(*micros, out),
        View::Opaque => out.push_str("<opaque>"),
        View::List | View::Map => out.push('…'),
    }
}

/// An instant as RFC 3339, in UTC.
fn write_timestamp(micros: i64, out: &mut String) {
    const DAY: i64 = 86_400_000_000;
    let (days, rest) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    // Days since 0000-03-01 in the proleptic Gregorian calendar, so that leap days end a year.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (seconds, fraction) = (rest / 1_000_000, rest % 1_000_000);
    let clock = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    let fraction = if fraction == 0 {
        String::new()
    } else {
        format!(".{fraction:06}")
    };
    out.push_str(&format!(
        "\"{year:04}-{month:02}-{day:02}T{clock}{fraction}Z\""
    ));
}

fn write_items(items: &[Const], out: &mut String) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        if full(out) {
            return;
        }
        write_const(item, out);
    }
}

fn write_comparand(operand: &Comparand, out: &mut String) {
    match operand {
        Comparand::Const(constant) => write_const(constant, out),
        Comparand::Ref(head, keys) => {
            out.push_str("{\"ref\": ");
            write_path(*head, keys, out);
            out.push('}');
        }
        Comparand::Tests(checks) => {
            out.push('{');
            for (at, check) in checks.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write_text(check.op.as_str(), out);
                out.push_str(": ");
                write_comparand(&check.operand, out);
            }
            out.push('}');
        }
    }
}

fn write_const(constant: &Const, out: &mut String) {
    match constant {
        Const::Null => out.push_str("null"),
        Const::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Const::Int(value) => out.push_str(&value.to_string()),
        Const::BigInt(value) => out.push_str(&value.to_string()),
        Const::Float(value) => write_float(*value, out),
        Const::Str(text) => write_text(text, out),
        Const::Timestamp(micros) => write_timestamp(*micros, out),
        Const::List(items) => {
            out.push('[');
            write_items(items, out);
            out.push(']');
        }
        Const::Map(entries) => {
            out.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                if full(out) {
                    break;
                }
                write_text(key, out);
                out.push_str(": ");
                write_const(value, out);
            }
            out.push('}');
        }
        Const::Exotic(Exotic::Date(text) | Exotic::DateTime(text) | Exotic::Bytes(text)) => {
            write_text(text, out)
        }
        Const::Exotic(Exotic::Set(items)) => {
            out.push_str("set(");
            write_items(items, out);
            out.push(')');
        }
        Const::Exotic(Exotic::Tuple(items)) => {
            out.push('(');
            write_items(items, out);
            out.push(')');
        }
        Const::Exotic(Exotic::Pairs(pairs)) => {
            out.push('{');
            for (at, (key, value)) in pairs.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                if full(out) {
                    break;
                }
                write_const(key, out);
                out.push_str(": ");
                write_const(value, out);
            }
            out.push('}');
        }
    }
}
