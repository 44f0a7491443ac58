//! Early ends of a function: exceptions that it may catch, and faults that it may not.

use std::sync::Arc;

use crate::error::ErrorCode;

/// A builtin exception, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exception(&'static str);

/// Every exception a function can raise or catch, with its base.
const TREE: &[(&str, &str)] = &[
    ("Exception", ""),
    ("ArithmeticError", "Exception"),
    ("AssertionError", "Exception"),
    ("AttributeError", "Exception"),
    ("BufferError", "Exception"),
    ("ConnectionError", "OSError"),
    ("EOFError", "Exception"),
    ("FileExistsError", "OSError"),
    ("FileNotFoundError", "OSError"),
    ("FloatingPointError", "ArithmeticError"),
    ("ImportError", "Exception"),
    ("IndexError", "LookupError"),
    ("InterruptedError", "OSError"),
    ("KeyError", "LookupError"),
    ("LookupError", "Exception"),
    ("MemoryError", "Exception"),
    ("NameError", "Exception"),
    ("NotImplementedError", "RuntimeError"),
    ("OSError", "Exception"),
    ("OverflowError", "ArithmeticError"),
    ("PermissionError", "OSError"),
    ("RecursionError", "RuntimeError"),
    ("ReferenceError", "Exception"),
    ("RuntimeError", "Exception"),
    ("StopIteration", "Exception"),
    ("SystemError", "Exception"),
    ("TimeoutError", "OSError"),
    ("TypeError", "Exception"),
    ("UnboundLocalError", "NameError"),
    ("UnicodeDecodeError", "UnicodeError"),
    ("UnicodeEncodeError", "UnicodeError"),
    ("UnicodeError", "ValueError"),
    ("ValueError", "Exception"),
    ("ZeroDivisionError", "ArithmeticError"),
];

impl Exception {
    pub(crate) const ATTRIBUTE: Self = Self("AttributeError");
    pub(crate) const INDEX: Self = Self("IndexError");
    pub(crate) const KEY: Self = Self("KeyError");
    pub(crate) const OVERFLOW: Self = Self("OverflowError");
    pub(crate) const TYPE: Self = Self("TypeError");
    pub(crate) const UNBOUND: Self = Self("UnboundLocalError");
    pub(crate) const VALUE: Self = Self("ValueError");
    pub(crate) const ZERO_DIVISION: Self = Self("ZeroDivisionError");

    /// The exception of this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let name = match name {
            "IOError" | "EnvironmentError" => "OSError",
            other => other,
        };
        TREE.iter()
            .find(|(known, _)| *known == name)
            .map(|(known, _)| Self(known))
    }

    /// Returns true if this is `other` or derived from it.
    pub(crate) fn is(self, other: Self) -> bool {
        let mut name = self.0;
        while name != other.0 {
            match TREE.iter().find(|(known, _)| *known == name) {
                Some((_, base)) if !base.is_empty() => name = base,
                Some(_) | None => return false,
            }
        }
        true
    }
}

/// The reason why a function ended without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// An exception that `CPython` raises.
    Raised(Exception),
    /// An operation that this implementation does not support; it cannot be caught.
    Fault(ErrorCode),
}

impl Failure {
    /// An operation without an exact implementation of `CPython`'s behaviour.
    pub(crate) const UNSUPPORTED: Self = Self::Fault(ErrorCode::Unsupported);
    /// A bound on the work or the memory of one evaluation is passed.
    pub(crate) const TOO_LARGE: Self = Self::Fault(ErrorCode::TooLarge);
}

impl From<Exception> for Failure {
    fn from(exception: Exception) -> Self {
        Self::Raised(exception)
    }
}

impl From<Failure> for ErrorCode {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Raised(Exception::TYPE) => Self::TypeError,
            Failure::Raised(Exception(name)) => Self::Named(Arc::from(name)),
            Failure::Fault(code) => code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Exception, TREE};

    #[test]
    fn every_base_is_an_exception_too() {
        for (name, base) in TREE {
            assert!(
                base.is_empty() || Exception::from_name(base).is_some(),
                "{name}"
            );
        }
        let is = |name, base| {
            let of = |name| Exception::from_name(name).unwrap_or(Exception::TYPE);
            of(name).is(of(base))
        };
        assert!(
            is("KeyError", "LookupError")
                && is("KeyError", "Exception")
                && is("KeyError", "KeyError")
        );
        assert!(!is("KeyError", "IndexError") && !is("LookupError", "KeyError"));
    }
}
