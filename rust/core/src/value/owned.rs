//! Owned values: arguments that a function built.

use crate::num::bigint::BigInt;

/// A value a function made: new arguments.
#[derive(Clone, Debug)]
pub enum OwnedValue<V> {
    /// `None`
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A larger integer.
    BigInt(BigInt),
    /// A float.
    Float(f64),
    /// A string.
    Str(Box<str>),
    /// A list.
    List(Vec<OwnedValue<V>>),
    /// A tuple.
    Tuple(Vec<OwnedValue<V>>),
    /// A set; true: a `frozenset`.
    Set(Vec<OwnedValue<V>>, bool),
    /// A mapping.
    Map(Vec<(OwnedValue<V>, OwnedValue<V>)>),
    /// A value of the request.
    Read(V),
}
