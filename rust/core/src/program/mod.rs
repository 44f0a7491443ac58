//! Programs: a policy as it runs. Frozen, shared between threads, made by [`crate::compile`] from the IR.

use crate::error::{DecodeError, ErrorCode};
use crate::path::Head;
use crate::pattern::Dialect;
use crate::value::constant::Const;
use crate::value::request::{Request, Transform};

/// Which semantics a policy has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The default: absence and errors never permit.
    Strict,
    /// Decision by decision what lynx-agent 2.5 does.
    Lynx,
}

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The call may run.
    Allow,
    /// The call may not run.
    Deny,
    /// Only the shadow may run.
    DryRun,
    /// A human is asked.
    ApproveRequired,
    /// The call may run with other arguments.
    Transform,
}

/// What happens when no rule decides, and when a rule cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// The verdict when no rule fires.
    pub on_no_match: Verdict,
    /// The verdict when no rule fires on an irreversible action without a shadow.
    pub on_missing_shadow: Verdict,
    /// Whether a restricting rule in error is skipped instead of denying.
    pub continue_on_error: bool,
}

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

/// The operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the operators of the policy language")]
pub enum Op {
    Eq,
    Matches,
    In,
    Contains,
    ContainsAny,
    ContainsAll,
    Gt,
    Ge,
    Lt,
    Le,
    Between,
    NotBetween,
    Exists,
}

/// A rule that could not be judged and was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The rule, in evaluation order.
    pub rule: u32,
    /// Why.
    pub code: ErrorCode,
}

/// Who decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decided<D> {
    /// A declarative rule.
    Rule(u32),
    /// A host rule, with what it answered.
    Host(u32, D),
    /// A rule that restricts, or a host rule, could not be judged: the verdict is `deny`.
    ErrorDeny(u32, ErrorCode),
    /// No rule fired.
    NoMatch,
    /// No rule fired on an irreversible action without a shadow.
    MissingShadow,
    /// A host rule asked to stop; the request implementation knows why.
    Aborted,
}

/// A transform on the way to the decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Via<D> {
    /// The rule.
    pub rule: u32,
    /// The answer, of a host rule.
    pub host: Option<D>,
}

/// The decision on one request. The common case allocates nothing.
#[derive(Debug)]
pub struct Outcome<R: Request> {
    /// Who decided.
    pub decided: Decided<R::Decision>,
    /// The rules skipped in error, in evaluation order, each once.
    pub markers: Vec<Marker>,
    /// The transforms of rules that were outranked after rewriting, in the order they were made. The deciding rule is not
    /// among them: `matched_rules` is markers, then these, then the deciding rule.
    pub via: Vec<Via<R::Decision>>,
    /// The request with the effective arguments, when a transform was made (`decided` and `via` tell by whom).
    pub transformed: Option<R>,
}

/// How a rule, or a part of its match, came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceOutcome {
    /// True: the rule fires.
    True,
    /// False.
    False,
    /// The path is not there.
    Absent,
    /// The value cannot be judged.
    Error,
    /// A rule before this one decided.
    NotReached,
}

/// How one rule came out, for `explain`.
#[derive(Clone, Debug)]
pub struct RuleTrace {
    /// The rule, in evaluation order.
    pub rule: u32,
    /// How its match came out; of a host rule: true when it decided, false when it abstained.
    pub outcome: TraceOutcome,
    /// Why it could not be judged.
    pub error: Option<ErrorCode>,
    /// Its match; `None` for rules not reached and host rules.
    pub tree: Option<TraceNode>,
}

/// A part of a match, judged.
#[derive(Clone, Debug)]
pub enum TraceNode {
    /// True when every child is.
    All(TraceOutcome, Vec<TraceNode>),
    /// True when one child is.
    Any(TraceOutcome, Vec<TraceNode>),
    /// The negation of its child.
    Not(TraceOutcome, Box<TraceNode>),
    /// One clause.
    Leaf(ClauseTrace),
}

/// One clause, judged.
#[derive(Clone, Debug)]
pub struct ClauseTrace {
    /// How it came out.
    pub outcome: TraceOutcome,
    /// Index into [`Program::clauses`].
    pub clause: u32,
    /// The operand as JSON, cut.
    pub operand: String,
    /// The value read, as JSON, cut; `None` when there is none.
    pub value: Option<String>,
    /// Why it could not be judged.
    pub error: Option<ErrorCode>,
    /// Which leaf of the rule's match this is, in pre-order.
    pub index: u32,
}

/// A loaded policy.
#[derive(Debug)]
pub struct Program {
    _inner: (),
}

/// Working memory of decisions, reused from call to call and from program to program. Not shared between threads; a
/// host rule that decides again needs another one.
#[derive(Debug, Default)]
pub struct Scratch {
    _inner: (),
}

impl Program {
    /// Decodes canonical IR bytes and compiles them.
    ///
    /// # Errors
    /// The bytes are no IR, or pass a cap of [`crate::limits`].
    pub fn from_ir(ir: &[u8]) -> Result<Self, DecodeError>;
    /// Which semantics the policy has.
    pub fn profile(&self) -> Profile;
    /// What happens when no rule decides.
    pub fn defaults(&self) -> Defaults;
    /// The rules in evaluation order.
    pub fn rules(&self) -> &[RuleInfo];
    /// The keys of all paths and of all mappings in operands; [`crate::value::Key::id`] indexes them.
    pub fn keys(&self) -> &[Box<str>];
    /// The distinct clauses; `judge_opaque` gets an index into them.
    pub fn clauses(&self) -> &[ClauseInfo];
    /// Clause `index`.
    pub fn clause(&self, index: u32) -> Option<&ClauseInfo>;
    /// The number of host rules.
    pub fn host_count(&self) -> u32;
    /// The decision on `request`.
    pub fn decide<R: Request>(&self, request: &R, scratch: &mut Scratch) -> Outcome<R>;
    /// The decision on `request`, rule by rule and clause by clause, along the plain path. Host rules are asked once.
    pub fn explain<R: Request>(&self, request: &R) -> (Outcome<R>, Vec<RuleTrace>);
}
