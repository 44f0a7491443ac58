//! Values and operands as people read them in `explain`: JSON, cut.

use crate::clause::operand::{Check, Operand};
use crate::clause::ops::{Inside, Op, OperandType};
use crate::clause::predicate::sound;
use crate::facets::describe::describe;
use crate::json::{write_float, write_string};
use crate::lang::path::Head;
use crate::text::{Haystack, Needle};
use crate::value::compare::number;
use crate::value::constant::{Const, HostConst};
use crate::value::{Civil, Step, Value, View};

/// Longest text shown, in characters.
const SHOWN: usize = 200;

/// Characters behind those that are counted: an object that occurs in many places has a text without end, and a policy
/// has many rules that read the same long value.
const COUNTED: usize = 100_000;

/// Deepest level shown: values may be cyclic.
const DEPTH: usize = 8;

/// A text that keeps its first [`SHOWN`] characters, and counts the others.
#[derive(Default)]
struct Shown {
    text: String,
    kept: usize,
    left: usize,
}

impl Shown {
    fn push(&mut self, char: char) {
        if self.kept < SHOWN {
            self.kept += 1;
            self.text.push(char);
        } else {
            self.left = self.left.saturating_add(1);
        }
    }

    fn push_str(&mut self, text: &str) {
        text.chars().for_each(|char| self.push(char));
    }

    /// No need to write what is not even counted.
    fn full(&self) -> bool {
        self.left > COUNTED
    }

    /// The text, and how many characters it lacks.
    fn finish(mut self) -> String {
        if self.full() {
            self.text.push_str(&format!(
                "... [more than {} more characters]",
                grouped(COUNTED)
            ));
        } else if self.left > 0 {
            self.text
                .push_str(&format!("... [{} more characters]", grouped(self.left)));
        }
        self.text
    }
}

/// A number with a comma before every three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A value as JSON, cut.
pub(super) fn value<V: Value>(value: &V) -> String {
    let mut out = Shown::default();
    write_value(value, &mut out, 0);
    out.finish()
}

/// Elements of a list whose texts are shown parsed.
const PARSED: usize = 8;

/// The texts that the facets of a clause parse: the value, or elements of it.
pub(super) fn parsed<V: Value>((op, operand): (Op, &Operand), value: &V) -> Option<String> {
    let (Operand::Tests(checks) | Operand::Part(_, checks)) = operand else {
        return None;
    };
    match (op.operand, value.view()) {
        (OperandType::Facet(facet), View::Str(text)) => Some(cut(&describe(facet, text))),
        (OperandType::Tests(Inside::Element), View::List) => {
            let found: Vec<String> = value
                .items()
                .take(PARSED)
                .flat_map(|item| {
                    let inner = |check: &Check| parsed((check.op, &check.operand), &item);
                    checks.iter().filter_map(inner).next()
                })
                .collect();
            (!found.is_empty()).then(|| cut(&found.join("; ")))
        }
        _ => None,
    }
}

/// The values that operands refer to, in order.
type Refs<'s, V> = std::slice::Iter<'s, Step<V>>;

/// Where the values that a clause searches for occur: the value, or elements of it. `refs` are what its operand refers to,
/// in order; `lower`: in lower case.
pub(super) fn places<V: Value, W: Value>(
    (op, operand): (Op, &Operand),
    value: &W,
    refs: &mut Refs<'_, V>,
    lower: bool,
) -> Option<String> {
    match (op.operand, operand) {
        (OperandType::Places, Operand::Places(all)) => {
            let found: Vec<_> = all
                .iter()
                .map(|place| occurrence(place, value, refs, lower))
                .collect();
            let sound = found.into_iter().collect::<Option<Vec<_>>>()?;
            let first = sound.iter().position(|(found, _)| *found);
            let shown = match first {
                Some(at) => sound.into_iter().nth(at).map(|(_, shown)| shown)?,
                None => sound
                    .into_iter()
                    .map(|(_, shown)| shown)
                    .collect::<Vec<_>>()
                    .join(", "),
            };
            Some(cut(&shown))
        }
        (OperandType::Places, place) => {
            occurrence(place, value, refs, lower).map(|(_, shown)| cut(&shown))
        }
        (_, Operand::Tests(checks) | Operand::Part(_, checks)) => {
            let lower = lower || op.operand == OperandType::Tests(Inside::Text);
            let below = refs.clone();
            let mut inner = |value: &dyn Fn(&mut Refs<'_, V>, &Check) -> Option<String>| {
                *refs = below.clone();
                checks.iter().filter_map(|check| value(refs, check)).next()
            };
            match (op.operand, value.view()) {
                (OperandType::Tests(Inside::Element), View::List) => {
                    let found: Vec<String> = value
                        .items()
                        .take(PARSED)
                        .filter_map(|item| {
                            inner(&|refs, check| {
                                places((check.op, &check.operand), &item, refs, lower)
                            })
                        })
                        .collect();
                    (!found.is_empty()).then(|| cut(&found.join("; ")))
                }
                (OperandType::Tests(Inside::Text) | OperandType::Group, _) => {
                    inner(&|refs, check| places((check.op, &check.operand), value, refs, lower))
                }
                _ => None,
            }
        }
        (_, Operand::Ref(..)) => {
            refs.next();
            None
        }
        (_, Operand::Const(_) | Operand::Places(_) | Operand::Sources(_)) => None,
    }
}

/// True and the words around a value in one place, or false.
fn occurrence<V: Value, W: Value>(
    place: &Operand,
    value: &W,
    refs: &mut Refs<'_, V>,
    lower: bool,
) -> Option<(bool, String)> {
    let view = sound(value.view()).ok()?;
    let needle = match &view {
        View::Str(text) => Needle::text(text, lower),
        view => Needle::number(&number(view)?)?,
    };
    let search = |text: &str, name: String| {
        let found = Haystack::new(text, lower)
            .find(&needle)
            .and_then(|range| text.get(range));
        let mut out = Shown::default();
        write_value(value, &mut out, 0);
        match found {
            Some(words) => {
                out.push_str(" is in ");
                out.push_str(&name);
                out.push_str(": ");
                write_text(words, &mut out);
            }
            None => {
                out.push_str(" is not in ");
                out.push_str(&name);
            }
        }
        (found.is_some(), out.finish())
    };
    match place {
        Operand::Const(Const::Str(text)) => Some(search(text, "the text".to_owned())),
        Operand::Ref(head, keys) => match refs.next()? {
            Step::Found(there) => match sound(there.view()) {
                Ok(View::Str(text)) => {
                    let mut name = head.as_str().to_owned();
                    for key in keys {
                        name.push('.');
                        name.push_str(key);
                    }
                    Some(search(text, name))
                }
                _ => None,
            },
            Step::Absent | Step::Unreadable => None,
        },
        _ => None,
    }
}

/// An operand as JSON, cut: other paths by their keys, tests by their operators.
pub(super) fn operand(operand: &Operand) -> String {
    let mut out = Shown::default();
    write_operand(operand, &mut out);
    out.finish()
}

/// Another path with the value it led to, as JSON, cut; without one when nothing is there.
pub(super) fn reference<V: Value>(head: Head, keys: &[Box<str>], step: &Step<V>) -> String {
    let mut out = Shown::default();
    out.push_str("{\"ref\": ");
    write_path(head, keys, &mut out);
    if let Step::Found(there) = step {
        out.push_str(", \"value\": ");
        write_value(there, &mut out, 0);
    }
    out.push('}');
    out.finish()
}

fn write_path(head: Head, keys: &[Box<str>], out: &mut Shown) {
    let mut path = head.as_str().to_owned();
    for key in keys {
        path.push('.');
        path.push_str(key);
    }
    write_text(&path, out);
}

/// A text, unchanged but cut.
pub(super) fn cut(text: &str) -> String {
    let mut out = Shown::default();
    out.push_str(text);
    out.finish()
}

/// Writes items with a comma between them, as far as they are counted.
fn write_row<T>(
    out: &mut Shown,
    (open, close): (&str, &str),
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(T, &mut Shown),
) {
    out.push_str(open);
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        if out.full() {
            break;
        }
        write(item, out);
    }
    out.push_str(close);
}

fn write_value<V: Value>(value: &V, out: &mut Shown, depth: usize) {
    match value.view() {
        View::List | View::Map if depth >= DEPTH => out.push('…'),
        View::List => {
            write_row(out, ("[", "]"), value.items(), |item, out| {
                write_value(&item, out, depth + 1);
            });
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
                !out.full()
            });
            out.push('}');
        }
        view => write_view(&view, out),
    }
}

fn write_text(text: &str, out: &mut Shown) {
    let end = text
        .char_indices()
        .nth(SHOWN + COUNTED + 1)
        .map_or(text.len(), |(at, _)| at);
    let mut json = String::new();
    write_string(text.get(..end).unwrap_or(text), &mut json);
    out.push_str(&json);
}

fn write_number(value: f64, out: &mut Shown) {
    let mut text = String::new();
    write_float(value, &mut text);
    out.push_str(&text);
}

fn write_view(view: &View<'_>, out: &mut Shown) {
    match view {
        View::Null => out.push_str("null"),
        View::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        View::Int(value) => out.push_str(&value.to_string()),
        View::BigInt(value) => out.push_str(&value.to_string()),
        View::HugeInt => out.push_str("<an integer above the cap>"),
        View::Float(value) => write_number(*value, out),
        View::Str(text) => write_text(text, out),
        View::BadStr => out.push_str("<a string with a lone surrogate>"),
        View::Timestamp(micros) => write_timestamp(*micros, out),
        View::Opaque => out.push_str("<opaque>"),
        View::List | View::Map => out.push('…'),
    }
}

/// An instant as RFC 3339, in UTC.
fn write_timestamp(micros: i64, out: &mut Shown) {
    let Civil {
        year,
        month,
        day,
        hour,
        minute,
        second,
        microsecond,
        offset: _,
    } = Civil::utc(micros);
    let fraction = if microsecond == 0 {
        String::new()
    } else {
        format!(".{microsecond:06}")
    };
    out.push_str(&format!(
        "\"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z\""
    ));
}

fn write_operand(operand: &Operand, out: &mut Shown) {
    match operand {
        Operand::Const(constant) => write_const(constant, out),
        Operand::Ref(head, keys) => {
            out.push_str("{\"ref\": ");
            write_path(*head, keys, out);
            out.push('}');
        }
        Operand::Sources(names) => {
            write_row(out, ("[", "]"), names.iter(), |name, out| {
                write_text(name, out)
            });
        }
        Operand::Places(places) => write_row(out, ("[", "]"), places.iter(), write_operand),
        Operand::Tests(checks) | Operand::Part(_, checks) => {
            write_row(out, ("{", "}"), checks.iter(), |check, out| {
                match &check.operand {
                    Operand::Part(path, _) => write_text(&path.join("."), out),
                    _ => write_text(check.op.name, out),
                }
                out.push_str(": ");
                write_operand(&check.operand, out);
            });
        }
    }
}

fn write_const(constant: &Const, out: &mut Shown) {
    match constant {
        Const::Null => out.push_str("null"),
        Const::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Const::Int(value) => out.push_str(&value.to_string()),
        Const::BigInt(value) => out.push_str(&value.to_string()),
        Const::Float(value) => write_number(*value, out),
        Const::Str(text) => write_text(text, out),
        Const::Timestamp(micros) => write_timestamp(*micros, out),
        Const::List(items) => write_row(out, ("[", "]"), items.iter(), write_const),
        Const::Map(entries) => write_row(out, ("{", "}"), entries.iter(), |(key, value), out| {
            write_text(key, out);
            out.push_str(": ");
            write_const(value, out);
        }),
        Const::HostConst(
            HostConst::Date(text) | HostConst::DateTime(text) | HostConst::Bytes(text),
        ) => write_text(text, out),
        Const::HostConst(HostConst::Set(items)) => {
            write_row(out, ("set(", ")"), items.iter(), write_const);
        }
        Const::HostConst(HostConst::Tuple(items)) => {
            write_row(out, ("(", ")"), items.iter(), write_const);
        }
        Const::HostConst(HostConst::Pairs(pairs)) => {
            write_row(out, ("{", "}"), pairs.iter(), |(key, value), out| {
                write_const(key, out);
                out.push_str(": ");
                write_const(value, out);
            });
        }
    }
}
