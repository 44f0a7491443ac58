//! Operands of clauses: a constant, the value at another path, or tests of something derived from the value.

use super::ops::Op;
use crate::lang::path::Head;
use crate::regex::Dialect;
use crate::value::constant::Const;

/// The operand of a clause.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A constant; of `matches`: the pattern.
    Const(Const),
    /// The value at another path; strict profile only.
    Ref(Head, Vec<Box<str>>),
    /// Tests that must all hold; strict profile only.
    Tests(Vec<Check>),
    /// Several constants and paths, of which one is enough; strict profile only.
    Places(Vec<Operand>),
    /// The names of parts from the value to one below, and tests of it that must all hold; below a facet only.
    Part(Vec<Box<str>>, Vec<Check>),
    /// Names of sources, `task` among them; strict profile only.
    Sources(Vec<Box<str>>),
}

/// One test of a nesting operator.
#[derive(Clone, Debug)]
pub struct Check {
    /// The operator.
    pub op: Op,
    /// Its operand.
    pub operand: Operand,
    /// The dialect of a pattern.
    pub dialect: Option<Dialect>,
}

impl Operand {
    /// The constant, when it is one.
    #[must_use]
    pub fn constant(&self) -> Option<&Const> {
        match self {
            Self::Const(constant) => Some(constant),
            Self::Ref(..)
            | Self::Tests(_)
            | Self::Part(..)
            | Self::Sources(_)
            | Self::Places(_) => None,
        }
    }

    /// Returns true if a test in it reads sources.
    #[must_use]
    pub fn reads_sources(&self) -> bool {
        self.each_source(&mut |_| Err(())).is_err()
    }

    /// Calls `visit` with the names of sources.
    ///
    /// # Errors
    /// The first that `visit` gives.
    pub fn each_source<E>(&self, visit: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::Const(_) | Self::Ref(..) | Self::Places(_) => Ok(()),
            Self::Sources(names) => names.iter().try_for_each(|name| visit(name)),
            Self::Tests(checks) | Self::Part(_, checks) => checks
                .iter()
                .try_for_each(|check| check.operand.each_source(visit)),
        }
    }

    /// Calls `visit` with every other path, in the order in which a clause numbers them.
    ///
    /// # Errors
    /// The first that `visit` gives.
    pub fn each_ref<E>(
        &self,
        visit: &mut impl FnMut(Head, &[Box<str>]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Const(_) | Self::Sources(_) => Ok(()),
            Self::Ref(head, keys) => visit(*head, keys),
            Self::Places(places) => places.iter().try_for_each(|place| place.each_ref(visit)),
            Self::Tests(checks) | Self::Part(_, checks) => checks
                .iter()
                .try_for_each(|check| check.operand.each_ref(visit)),
        }
    }
}
