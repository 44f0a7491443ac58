//! Equality of arguments.

use crate::eval::work::Work;
use crate::lang::path::{Field, Key};
use crate::value::request::Request;
use crate::value::{Step, Value, View};

/// Returns true if two requests have equal arguments: the same types, the same values, lists in order. A value without an
/// exact form is equal to none.
pub(super) fn same_args<R: Request>(left: &R, right: &R, work: &Work<R::Value>) -> bool {
    let (Step::Found(left), Step::Found(right)) =
        (left.field(Field::Args), right.field(Field::Args))
    else {
        return false;
    };
    let mut pairs = vec![(left, right)];
    while let Some((left, right)) = pairs.pop() {
        if work.steps.take(1).is_err() || left.len() != right.len() {
            return false;
        }
        match (left.view(), right.view()) {
            (View::Null, View::Null) => {}
            (View::Bool(left), View::Bool(right)) if left == right => {}
            (View::Int(left), View::Int(right)) if left == right => {}
            (View::BigInt(left), View::BigInt(right)) if left == right => {}
            (View::Float(left), View::Float(right)) if left.to_bits() == right.to_bits() => {}
            (View::Str(left), View::Str(right)) if left == right => {}
            (View::Timestamp(left), View::Timestamp(right)) if left == right => {}
            (View::List, View::List) => pairs.extend(left.items().zip(right.items())),
            (View::Map, View::Map) => {
                let mut same = true;
                left.each_entry(&mut |key, value| {
                    let other = match key {
                        View::Str(key) => right.get(Key::unprepared(key)),
                        _ => Step::Unreadable,
                    };
                    match other {
                        Step::Found(other) => pairs.push((value.clone(), other)),
                        Step::Absent | Step::Unreadable => same = false,
                    }
                    same
                });
                if !same {
                    return false;
                }
            }
            _ => return false,
        }
    }
    true
}
