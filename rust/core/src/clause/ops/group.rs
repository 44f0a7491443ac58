//! `any_of`, `all_of`, `not` inside of the tests of an element: connectives of tests of one value.

use super::{Inside, OperandType, Operator, Prepare, operators};

operators! {
    "any_of" OperandType::Group, Element, None, None, Prepare::Group(Connective::Any);
    "all_of" OperandType::Group, Element, None, None, Prepare::Group(Connective::All);
    "not" OperandType::Group, Element, None, None, Prepare::Group(Connective::Not);
}

/// A connective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connective {
    /// One test is true.
    Any,
    /// All tests are true.
    All,
    /// Not all tests are true.
    Not,
}
