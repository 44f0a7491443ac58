//! Borrowed values: how the evaluator sees a request it does not own.
//!
//! A request stays in its own representation (a Python object, a parsed JSON document); the evaluator reads the parts that a
//! rule needs, when it needs it. Implementations must pass the conformance kit in [`conformance`].

mod civil;
pub(crate) mod class;
pub mod compare;
pub mod conformance;
pub mod constant;
pub mod memory;
pub mod owned;
pub mod request;
pub mod stored;

use crate::error::ErrorCode;
use crate::lang::path::Key;
use crate::num::bigint::BigInt;
pub use civil::Civil;

/// One level of a value, as the evaluator sees it.
#[derive(Clone, Debug)]
pub enum View<'v> {
    /// `null`, `None`.
    Null,
    /// A boolean; never a number in the strict profile.
    Bool(bool),
    /// An integer of at most 64 bits.
    Int(i64),
    /// A larger integer, at most [`crate::limits::MAX_INT_BITS`] bits.
    BigInt(BigInt),
    /// An integer above the cap.
    HugeInt,
    /// A float, NaN and infinities included.
    Float(f64),
    /// Text that is valid Unicode.
    Str(&'v str),
    /// A string with a lone surrogate.
    BadStr,
    /// A list (or, in the strict profile, a tuple).
    List,
    /// A mapping.
    Map,
    /// An instant, in microseconds since 1970-01-01T00:00:00Z.
    Timestamp(i64),
    /// Anything else: bytes, sets, decimals, naive datetimes, and tuples in the `lynx` profile.
    Opaque,
}

/// The result of a step into a value.
#[derive(Clone, Debug)]
pub enum Step<V> {
    /// The value of that key.
    Found(V),
    /// No such key, or a step into null.
    Absent,
    /// A step into something that is not a mapping, or that failed to answer.
    Unreadable,
}

/// A value inside a request. Cloning is cheap: it clones a reference.
pub trait Value: Clone {
    /// Returns a view of this value, one level deep.
    fn view(&self) -> View<'_>;
    /// The text, where it is at hand: then [`Self::view`] is that. PERF: most values are texts.
    #[inline]
    fn text(&self) -> Option<&str> {
        None
    }
    /// Returns true if [`Self::view`] is [`View::Null`].
    #[inline]
    fn is_null(&self) -> bool {
        matches!(self.view(), View::Null)
    }
    /// The value of `key`, when this is a mapping; absent on null, unreadable on anything else.
    fn get(&self, key: Key<'_>) -> Step<Self> {
        let _ = key;
        Step::Unreadable
    }
    /// The number of elements or entries of a list or mapping; 0 for anything else.
    fn len(&self) -> usize {
        0
    }
    /// [`Value::len`], or `None` when the mapping raised an error.
    fn checked_len(&self) -> Option<usize> {
        Some(self.len())
    }
    /// Element `index` of a list; `None` past its end.
    fn item(&self, index: usize) -> Option<Self> {
        let _ = index;
        None
    }
    /// The elements of a list.
    #[inline]
    fn items(&self) -> impl Iterator<Item = Self> {
        (0..).map_while(|index| self.item(index))
    }
    /// Calls `visit` with each key and value of a mapping until it returns `false`; only `explain` does. A key that is no
    /// string is seen as [`View::Opaque`].
    fn each_entry(&self, visit: &mut dyn FnMut(View<'_>, &Self) -> bool) {
        let _ = visit;
    }
    /// Calls `visit` with each key and value of a mapping until it returns `false`, keys as values; functions use it.
    fn each_pair(&self, visit: &mut dyn FnMut(Self, Self) -> bool) {
        let _ = visit;
    }
    /// The value of a key that is a scalar but no string, when this is a mapping.
    fn get_scalar(&self, key: &View<'_>) -> Step<Self> {
        let _ = key;
        Step::Absent
    }
    /// Returns true if a list is a tuple to the host language.
    fn is_tuple(&self) -> bool {
        false
    }
    /// Returns true if this is a tuple to the host language, not of a subclass.
    fn is_plain_tuple(&self) -> bool {
        false
    }
    /// Returns true if this is an instant to the host language, not of a subclass.
    fn is_plain_instant(&self) -> bool {
        false
    }
    /// Returns true if a mapping is a `dict` to the host language.
    fn is_dict(&self) -> bool {
        true
    }
    /// Returns true if this is an object of the host language, whose type only the host knows.
    fn is_host(&self) -> bool {
        false
    }
    /// Returns true if this is a part of a text that the text does not decide.
    fn is_undecidable(&self) -> bool {
        false
    }
    /// Returns the fields of a datetime, when this is one.
    fn civil(&self) -> Option<Civil> {
        None
    }
    /// Returns true if a list or mapping is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The answer of the host language's own operators, for clause `clause` of the program
    /// ([`crate::program::Program::clause`]) on this value. Asked for in the `lynx` profile only, where the value or the
    /// operand has no exact counterpart here. The error is the name of the exception.
    ///
    /// # Errors
    /// The name of the exception the operator raised.
    fn eval_opaque(&self, clause: u32) -> Result<bool, ErrorCode> {
        let _ = clause;
        Err(ErrorCode::TypeError)
    }
}
