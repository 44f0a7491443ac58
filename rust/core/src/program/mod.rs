//! Programs: a policy as it runs. Frozen, shared between threads, made by [`crate::compile`] from the IR.

pub(crate) mod affixes;
pub(crate) mod bands;
pub(crate) mod needles;
pub mod outcome;
pub(crate) mod rows;
pub(crate) mod scratch;
pub(crate) mod segment;
pub(crate) mod strmap;
pub mod trace;
pub(crate) mod veto;

use std::sync::OnceLock;

use crate::comparand::Comparand;
use crate::expr::{Part, Word, expression};
use crate::matcher::Test;
use crate::matcher::lynx::Foreign;
use crate::path::{Field, Head, Keys};
use crate::pattern::Dialect;
pub use crate::rule::{Defaults, Op, Profile, Verdict};
use crate::script::node::Function;
pub use crate::script::{Made, Ruling, Said};
use crate::source::{Source, Span};
use crate::value::Key;
use crate::value::constant::Const;
use crate::value::request::Transform;
pub use outcome::{By, Decided, Known, Marker, Outcome, Via};
pub use scratch::Scratch;
use segment::Segment;
use strmap::StrMap;
pub use trace::{
    ClauseTrace, ConditionTrace, FunctionTrace, ReadFrom, ReadTrace, RuleTrace, TraceNode,
    TraceOutcome,
};

/// What a decision needs to know about a rule.
#[derive(Clone, Debug)]
pub struct RuleInfo {
    /// The id; a string in the strict profile.
    pub id: Const,
    /// The verdict; of a host rule: `deny`, which is what its failure means.
    pub verdict: Verdict,
    /// The reason; a string in the strict profile.
    pub reason: Const,
    /// How many of the approvers must approve; one or more.
    pub approvals_needed: u32,
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
    pub operand: Comparand,
    /// The dialect of a pattern.
    pub dialect: Option<Dialect>,
}

/// A rule, and what judges it.
#[derive(Debug)]
pub(crate) struct Rule {
    /// What it says; of a host rule: `deny`, which is what its failure means.
    pub(crate) verdict: Verdict,
    pub(crate) body: Body,
    /// Where it stands.
    pub(crate) span: Span,
    pub(crate) info: OnceLock<Box<RuleInfo>>,
}

/// How a rule is judged.
#[derive(Debug)]
pub(crate) enum Body {
    /// By the host.
    Host(u32),
    /// By its match.
    Match(Match),
    /// By its function.
    Function(Box<Function>),
}

/// The match of a rule.
#[derive(Debug)]
pub(crate) struct Match {
    /// Where its words begin and end: in the order of the IR, which is the order of codes, and the order of judging in the
    /// `lynx` profile.
    pub(crate) written: (u32, u32),
    /// The same match, cheap clauses first, without those on the tool that the index has answered: what the strict profile
    /// judges when the index led to the rule. Made with the segment of the rule.
    pub(crate) cheap: OnceLock<Box<[Word]>>,
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
    /// The one key of the arguments it leads to, when that is all it does. PERF: most paths are such.
    pub(crate) arg: Option<u32>,
}

/// A clause, and where it stands. What it compares is read when it is first judged.
#[derive(Debug)]
pub(crate) struct Clause {
    /// Its path, an index into the program's paths.
    pub(crate) path: u32,
    pub(crate) op: Op,
    /// Where the paths that its operand refers to begin among all of them.
    pub(crate) refs: u32,
    /// Of a clause on the tool that is true for some tools only: their list, an index into the program's tool sets.
    pub(crate) tools: Option<u32>,
    pub(crate) span: Span,
    pub(crate) prepared: OnceLock<Box<Prepared>>,
    pub(crate) info: OnceLock<Box<ClauseInfo>>,
}

/// What judges a clause.
#[derive(Debug)]
pub(crate) enum Prepared {
    /// In the strict profile.
    Test(Test),
    /// In the `lynx` profile.
    Foreign(Foreign),
}

/// Rules that one tool can meet (or that any tool can), and their index.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Where they begin and end among the listed rules.
    pub(crate) rules: (u32, u32),
    /// PERF: made by the first request that needs it: a worker that sees ten tools of a thousand pays for ten.
    pub(crate) segment: OnceLock<Box<Segment>>,
}

/// A loaded policy: checked bytes, and what was made from them so far.
#[derive(Debug)]
pub struct Program {
    pub(crate) source: Source,
    pub(crate) profile: Profile,
    pub(crate) defaults: Defaults,
    pub(crate) rules: Vec<Rule>,
    /// The matches of all rules.
    pub(crate) words: Vec<Word>,
    pub(crate) keys: Vec<Box<str>>,
    pub(crate) paths: Vec<Path>,
    /// The paths that operands refer to, clause by clause.
    pub(crate) refs: Vec<u32>,
    pub(crate) clauses: Vec<Clause>,
    pub(crate) host_count: u32,
    /// The decisions of functions that are always the same.
    pub(crate) rulings: Vec<Ruling>,
    /// Lists of tools, by their numbers.
    pub(crate) tool_sets: Vec<Box<[u32]>>,
    /// Rules, listing by listing.
    pub(crate) listed: Vec<u32>,
    /// The rules that only fire for one tool, by its name.
    pub(crate) tools: StrMap<Listing>,
    /// The rules that may fire whatever the tool.
    pub(crate) generic: Listing,
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

    /// The number of rules, host rules included.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// The keys of all paths; [`Key::id`](crate::value::Key::id) indexes them.
    #[must_use]
    pub fn keys(&self) -> &[Box<str>] {
        &self.keys
    }

    /// The number of distinct clauses; `judge_opaque` gets the index of one.
    #[must_use]
    pub fn clause_count(&self) -> usize {
        self.clauses.len()
    }

    /// The decision of a function that is always the same: [`Said::Always`].
    #[must_use]
    pub fn ruling(&self, number: u32) -> Option<&Ruling> {
        self.rulings.get(number as usize)
    }

    /// How many such decisions there are.
    #[must_use]
    pub fn ruling_count(&self) -> usize {
        self.rulings.len()
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

impl Program {
    /// The match of a rule, in the order of the IR.
    #[inline]
    pub(crate) fn written(&self, body: &Match) -> Part<'_> {
        let (from, to) = body.written;
        expression(
            self.words
                .get(from as usize..to as usize)
                .unwrap_or_default(),
        )
    }

    /// The match of a rule as it is judged where the index led to it.
    #[inline]
    pub(crate) fn cheap<'p>(&'p self, body: &'p Match) -> Part<'p> {
        match body.cheap.get() {
            Some(words) => expression(words),
            None => self.written(body),
        }
    }

    /// The first path that the operand of a clause refers to.
    pub(crate) fn reference(&self, clause: u32) -> Option<u32> {
        let clause = self.clauses.get(clause as usize)?;
        self.refs.get(clause.refs as usize).copied()
    }

    /// The key of a path.
    #[inline]
    pub(crate) fn key(&self, id: u32) -> Key<'_> {
        Key {
            id,
            text: self.keys.get(id as usize).map_or("", AsRef::as_ref),
        }
    }

    /// Whether a rule lets a call run.
    #[inline]
    pub(crate) fn permits(&self, rule: u32) -> bool {
        self.rules
            .get(rule as usize)
            .is_some_and(|rule| rule.verdict.permits())
    }
}
