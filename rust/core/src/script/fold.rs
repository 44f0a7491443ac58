//! Constants that stand in a function as displays: made once, when the function is read.
//!
//! PERF: a tuple of approvers that is made anew is a decision that is made anew, 700 ns in Python; a tuple of tools is what
//! [`crate::compile`] lists a rule by.

use super::fixed::Fixed;
use super::node::{Code, Unary};

impl Code {
    /// The tuple of these elements.
    pub(crate) fn tuple(items: Box<[Self]>) -> Self {
        constants(items).map_or_else(Self::Tuple, |items| Self::Fixed(Fixed::Tuple(items)))
    }

    /// This code where its value is looked through and nobody keeps it: the right operand of `in`.
    pub(crate) fn looked_through(self) -> Self {
        match self {
            Self::Set(items) => match constants(items) {
                Ok(items) => match Fixed::set(items) {
                    Ok(set) => Self::Fixed(set),
                    // An element without a hash: making the set raises.
                    Err(items) => Self::Set(items.into_iter().map(Self::Fixed).collect()),
                },
                Err(items) => Self::Set(items),
            },
            other => other.gone_over(),
        }
    }

    /// This code where a loop goes over its value and nobody else keeps it.
    pub(crate) fn gone_over(self) -> Self {
        match self {
            Self::List(items) => {
                constants(items).map_or_else(Self::List, |items| Self::Fixed(Fixed::List(items)))
            }
            other => other,
        }
    }

    /// `operator item`.
    pub(crate) fn unary(operator: Unary, item: Self) -> Self {
        match (operator, &item) {
            (Unary::Neg, Self::Fixed(Fixed::Float(number))) => Self::Fixed(Fixed::Float(-number)),
            (Unary::Neg, Self::Fixed(Fixed::Int(number))) if *number != i64::MIN => {
                Self::Fixed(Fixed::Int(-number))
            }
            _ => Self::Unary(operator, Box::new(item)),
        }
    }
}

/// The constants that all of these are, or these again.
fn constants(items: Box<[Code]>) -> Result<Box<[Fixed]>, Box<[Code]>> {
    if !items.iter().all(|item| matches!(item, Code::Fixed(_))) {
        return Err(items);
    }
    let constant = |item| match item {
        Code::Fixed(fixed) => Some(fixed),
        _ => None,
    };
    Ok(items.into_iter().filter_map(constant).collect())
}
