//! The IR as Rust sees it: checked canonical bytes, with the places of the parts that [`crate::compile`] makes when they
//! are needed.
//!
//! The definition of every node is `python/bobcat/ir/schema.py`; this is its reader. Nothing here evaluates.

mod constant;
mod decode;
mod function;
mod function_leaf;
mod function_memory;
pub mod layers;
pub mod memory;
pub(crate) mod monitored;
mod node;
mod operand;
mod part;

use std::collections::BTreeSet;

use crate::clause::flat_expr::Word;
use crate::lang::path::Head;
use crate::lang::{Defaults, Profile, Verdict};
use crate::pyfn::PyFn;
use crate::pyfn::decision::DecisionTemplate;
pub use crate::pyfn::decision::Obligation;
use crate::regex::CacheBudget;
use crate::source::Span;
pub(crate) use decode::body;
pub use decode::{decode, decode_within};
use layers::Layers;
use memory::Definitions;
pub use part::{Leaf, RuleInfo, leaf, rule};

/// The version of the format this crate reads.
pub const IR_VERSION: i64 = 1;

/// A decoded policy. Everything in it was checked; what is not held here is read again from the same bytes, by [`rule`]
/// and [`leaf`].
#[derive(Debug)]
pub struct Policy {
    /// The semantics of the policy.
    pub profile: Profile,
    /// The outcomes when no rule decides.
    pub defaults: Defaults,
    /// The definitions of memory, if there are any.
    pub memory: Option<Box<Definitions>>,
    /// The layers, if there are any.
    pub layers: Option<Box<Layers>>,
    /// True if a clause reads the state of a run.
    pub remembers: bool,
    /// True if `from`, `asked_with` or a function names the task.
    pub names_task: bool,
    /// The rules, in evaluation order.
    pub rules: Vec<RuleAt>,
    /// The matches of all rules.
    pub words: Vec<Word>,
    /// The distinct leaves of all rules; the matches index them.
    pub leaves: Vec<LeafAt>,
    /// The paths of all leaves; two that are written in different ways are two.
    pub paths: Vec<PathOf>,
    /// The paths that operands refer to, leaf by leaf, in the order of the operand.
    pub refs: Vec<u32>,
    /// The keys of parts of values that operands name.
    pub part_keys: BTreeSet<Box<str>>,
    /// The decisions of functions that are always the same.
    pub templates: Vec<DecisionTemplate>,
    /// True if a rule is monitored.
    pub monitors: bool,
    /// The cache budget of all automata of the policy.
    pub caches: CacheBudget,
}

/// A rule, and its span.
#[derive(Debug)]
pub struct RuleAt {
    /// The span of the rule.
    pub span: Span,
    /// The kind of rule.
    pub kind: Kind,
}

/// The kind of a rule.
#[derive(Debug)]
pub enum Kind {
    /// A callable of the host language.
    Host,
    /// A match: where its words begin and end.
    Match(Verdict, u32, u32),
    /// A function.
    Function(PyFn),
}

/// A leaf, and its span.
#[derive(Clone, Copy, Debug)]
pub struct LeafAt {
    /// The span of the leaf.
    pub span: Span,
    /// Its path.
    pub path: u32,
    /// The start of the paths that its operand refers to, among all of them.
    pub refs: u32,
}

/// A path.
#[derive(Debug)]
pub struct PathOf {
    /// The head.
    pub head: Head,
    /// The keys.
    pub keys: Vec<Box<str>>,
}
