//! Constants: the values a policy itself holds, as the IR writes them.

use crate::num::bigint::BigInt;

/// A constant of the IR.
#[derive(Clone, Debug, PartialEq)]
pub enum Const {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// An integer of at most 64 bits.
    Int(i64),
    /// A larger integer.
    BigInt(BigInt),
    /// A float; NaN and infinities in the `lynx` profile only.
    Float(f64),
    /// A string.
    Str(Box<str>),
    /// A list.
    List(Vec<Const>),
    /// A mapping with string keys, in the order of the IR.
    Map(Vec<(Box<str>, Const)>),
    /// An instant, in microseconds since 1970-01-01T00:00:00Z.
    Timestamp(i64),
    /// A value only the host language has; `lynx` profile only.
    HostConst(HostConst),
}

/// Values of the host language that have no counterpart here; `lynx` profile only.
#[derive(Clone, Debug, PartialEq)]
pub enum HostConst {
    /// An ISO date.
    Date(Box<str>),
    /// An ISO date and time, aware or naive.
    DateTime(Box<str>),
    /// Bytes, in base64.
    Bytes(Box<str>),
    /// A set.
    Set(Vec<Const>),
    /// A tuple.
    Tuple(Vec<Const>),
    /// A mapping with keys of any type.
    Pairs(Vec<(Const, Const)>),
}

impl Const {
    /// Returns true if this constant, or one inside it, is a host constant.
    #[must_use]
    pub fn has_host_const(&self) -> bool {
        match self {
            Self::Null
            | Self::Bool(_)
            | Self::Int(_)
            | Self::BigInt(_)
            | Self::Float(_)
            | Self::Str(_)
            | Self::Timestamp(_) => false,
            Self::List(items) => items.iter().any(Self::has_host_const),
            Self::Map(entries) => entries.iter().any(|(_, value)| value.has_host_const()),
            Self::HostConst(_) => true,
        }
    }
}
