//! Programs: a policy as it runs. Frozen, shared between threads, made by [`crate::compile`] from the IR.

pub mod outcome;
mod scratch;
pub mod segment;
pub mod strmap;
pub mod trace;

use std::sync::OnceLock;

use crate::matcher::{Tables, Test};
use crate::path::{Field, Head, Keys};
use crate::pattern::{Dialect, Matcher, Pattern};
pub use crate::rule::{Defaults, Op, Profile, Verdict};
use crate::value::Key;
use crate::value::constant::Const;
use crate::value::request::Transform;
pub use outcome::{Decided, Marker, Outcome, Via};
pub use scratch::Scratch;
use segment::Segment;
use strmap::StrMap;
pub use trace::{ClauseTrace, RuleTrace, TraceNode, TraceOutcome};

/// What a decision needs to know about a rule.
#[derive(Clone, Debug)]
pub struct RuleInfo {
    /// The id; a string in the strict profile.
    pub id: Const,
    /// The verdict; of a host rule: `deny`, which is what its failure means.
    pub verdict: Verdict,
    /// The reason; a string in the strict profile.
    pub reason: Const,
    /// The approvers; strings in the strict profile.
    pub approvers: Vec<Const>,
    /// Null or a number in the strict profile.
    pub timeout_seconds: Const,
    /// The rewrite, of a `transform` rule.
    pub transform: Option<Transform>,
    /// The index among the host rules, of a host rule.
    pub host: Option<u32>,
}

/// One distinct clause, as the policy wrote it.
#[derive(Clone, Debug)]
pub struct ClauseInfo {
    /// The head of the path.
    pub head: Head,
    /// The keys of the path.
    pub path: Vec<Box<str>>,
    /// The operator.
    pub op: Op,
    /// The operand; of `matches`: the pattern.
    pub operand: Const,
    /// The dialect of a pattern.
    pub dialect: Option<Dialect>,
}

/// A match over clauses.
#[derive(Clone, Debug)]
pub enum Expr {
    /// True when every item is.
    All(Box<[Expr]>),
    /// True when one item is.
    Any(Box<[Expr]>),
    /// The negation.
    Not(Box<Expr>),
    /// A clause.
    Leaf(u32),
}

/// How a rule is judged.
#[derive(Debug)]
pub enum Body {
    /// By the host.
    Host(u32),
    /// By its match.
    Match {
        /// The match, in the order of the IR: the order of codes, and the order of judging in the `lynx` profile.
        written: Expr,
        /// The same match, cheap clauses first, without those on the tool that the index has answered: what the strict
        /// profile judges when the index led to the rule.
        cheap: Expr,
    },
}

/// A path, resolved.
#[derive(Debug)]
pub struct Path {
    /// The head.
    pub head: Head,
    /// The field the path begins with; `None` for paths only the `lynx` profile has.
    pub field: Option<Field>,
    /// How many keys the field takes.
    pub taken: usize,
    /// All keys, as indexes into the key table.
    pub keys: Box<[u32]>,
}

/// A clause, prepared.
#[derive(Debug)]
pub struct Clause {
    /// Its path, an index into the program's paths.
    pub path: u32,
    /// Its test in the strict profile.
    pub test: Test,
    /// Its test in the `lynx` profile.
    pub foreign: Option<crate::matcher::lynx::Foreign>,
}

/// A pattern and its matcher, made when first needed.
#[derive(Debug)]
pub struct PatternSlot {
    /// The parsed pattern.
    pub pattern: Pattern,
    matcher: OnceLock<Matcher>,
}

impl PatternSlot {
    /// A slot for `pattern`.
    #[must_use]
    pub fn new(pattern: Pattern) -> Self {
        Self {
            pattern,
            matcher: OnceLock::new(),
        }
    }
}

/// A loaded policy.
#[derive(Debug)]
pub struct Program {
    pub(crate) profile: Profile,
    pub(crate) defaults: Defaults,
    pub(crate) rules: Vec<RuleInfo>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) keys: Vec<Box<str>>,
    pub(crate) paths: Vec<Path>,
    pub(crate) clauses: Vec<Clause>,
    pub(crate) infos: Vec<ClauseInfo>,
    pub(crate) patterns: Vec<PatternSlot>,
    pub(crate) host_count: u32,
    /// The rules that only fire for one tool, by its name.
    pub(crate) tools: StrMap<Segment>,
    /// The rules that may fire whatever the tool.
    pub(crate) generic: Segment,
}

impl Program {
    /// Which semantics the policy has.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// What happens when no rule decides.
    #[must_use]
    pub fn defaults(&self) -> Defaults {
        self.defaults
    }

    /// The rules in evaluation order.
    #[must_use]
    pub fn rules(&self) -> &[RuleInfo] {
        &self.rules
    }

    /// The keys of all paths and of all mappings in operands; [`Key::id`] indexes them.
    #[must_use]
    pub fn keys(&self) -> &[Box<str>] {
        &self.keys
    }

    /// The distinct clauses; `judge_opaque` gets an index into them.
    #[must_use]
    pub fn clauses(&self) -> &[ClauseInfo] {
        &self.infos
    }

    /// Clause `index`.
    #[must_use]
    pub fn clause(&self, index: u32) -> Option<&ClauseInfo> {
        self.infos.get(index as usize)
    }

    /// The number of host rules.
    #[must_use]
    pub fn host_count(&self) -> u32 {
        self.host_count
    }

    pub(crate) fn path_keys<'k>(&'k self, path: &'k Path) -> Keys<'k> {
        Keys::new(&path.keys, &self.keys)
    }
}

impl Tables for Program {
    fn is_match(&self, pattern: u32, text: &str) -> bool {
        self.patterns.get(pattern as usize).is_some_and(|slot| {
            slot.matcher
                .get_or_init(|| slot.pattern.compile())
                .is_match(text)
        })
    }

    fn key(&self, id: u32) -> Key<'_> {
        Key {
            id,
            text: self.keys.get(id as usize).map_or("", AsRef::as_ref),
        }
    }
}
