//! The IR as Rust sees it: typed nodes, decoded from canonical bytes and checked, consumed by [`crate::compile`].
//!
//! The definition of every node is `python/bobcat/ir/schema.py`; this is its reader. Nothing here evaluates.

mod constant;
mod decode;
mod operand;

pub use decode::decode;

use crate::path::Head;
use crate::pattern::{Dialect, Pattern};
use crate::rule::{Defaults, Op, Profile, Verdict};
use crate::value::constant::Const;
use crate::value::request::Transform;

/// The version of the format this crate reads.
pub const IR_VERSION: i64 = 1;

/// A decoded policy.
#[derive(Debug)]
pub struct Policy {
    /// Which semantics it has.
    pub profile: Profile,
    /// What happens when no rule decides.
    pub defaults: Defaults,
    /// The rules, in evaluation order.
    pub rules: Vec<Rule>,
    /// The distinct leaves of all rules; [`Expr::Leaf`] indexes them.
    pub leaves: Vec<Leaf>,
}

/// A decoded rule.
#[derive(Debug)]
pub enum Rule {
    /// A rule with a match.
    Declarative(Box<Declarative>),
    /// A callable of the host language, by its name.
    Host(String),
}

/// A declarative rule.
#[derive(Debug)]
pub struct Declarative {
    /// The id.
    pub id: Const,
    /// When it fires.
    pub matches: Expr,
    /// What it says.
    pub verdict: Verdict,
    /// The reason.
    pub reason: Const,
    /// The approvers.
    pub approvers: Vec<Const>,
    /// The bound of an approval wait.
    pub timeout_seconds: Const,
    /// The rewrite, of a `transform` rule.
    pub transform: Option<Transform>,
}

/// An expression over clauses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// True when every item is.
    All(Vec<Expr>),
    /// True when one item is.
    Any(Vec<Expr>),
    /// The negation.
    Not(Box<Expr>),
    /// A clause, by its index.
    Leaf(u32),
}

/// A clause.
#[derive(Debug)]
pub struct Leaf {
    /// The head of the path.
    pub head: Head,
    /// The keys of the path.
    pub path: Vec<Box<str>>,
    /// The operator.
    pub op: Op,
    /// The operand.
    pub operand: Const,
    /// The dialect of a pattern.
    pub dialect: Option<Dialect>,
    /// The pattern of `matches`; `None` in the `lynx` profile when only the host language can search it.
    pub pattern: Option<Pattern>,
}
