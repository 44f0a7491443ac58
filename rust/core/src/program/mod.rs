//! Programs: a policy as it runs. Frozen, shared between threads, made by [`crate::compile`] from the IR.

pub mod layers;
pub mod outcome;
pub(crate) mod scratch;
pub mod trace;

use std::sync::OnceLock;

use crate::bytes::strmap::StrMap;
use crate::clause::flat_expr::{Part, Word, expression};
use crate::clause::lynx::LynxTest;
use crate::clause::operand::Operand;
pub use crate::clause::ops::Op;
use crate::clause::predicate::Test;
use crate::index::RuleIndex;
pub use crate::ir::layers::{Combine, Layer, Layers};
use crate::ir::memory::{Definition, Definitions, FormulaNode};
pub use crate::ir::{Obligation, RuleInfo};
use crate::lang::path::{Field, Head, Key, Keys, Path};
pub use crate::lang::{Defaults, Profile, Verdict};
use crate::pyfn::ast::Function;
pub use crate::pyfn::decision::{DecisionTemplate, FunctionDecision};
use crate::regex::{CacheBudget, Dialect};
use crate::source::{Source, Span};
pub use crate::value::owned::OwnedValue;
pub use layers::{Approvals, Conflict, LayeredOutcome, Opinion, layer_default};
pub use outcome::{
    DecidedBy, MISSING_SHADOW, Marker, NO_MATCH, Origin, Outcome, StaticOutcome, TransformStep,
    rule_error,
};
pub use scratch::Scratch;
pub use trace::{
    ClauseTrace, ConditionTrace, FunctionTrace, ReadFrom, ReadTrace, RuleTrace, TraceNode,
    TraceOutcome,
};

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
    pub operand: Operand,
    /// The dialect of a pattern.
    pub dialect: Option<Dialect>,
}

/// A rule, and its body.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The verdict; `deny` for a host rule, which is the effect of its failure.
    pub(crate) verdict: Verdict,
    pub(crate) body: Body,
    /// The span of the rule.
    pub(crate) span: Span,
    pub(crate) info: OnceLock<Box<RuleInfo>>,
}

/// The body of a rule: how it is evaluated.
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
    /// The start and end of its words: in the order of the IR, which is the order of codes, and the order of evaluation in
    /// the `lynx` profile.
    pub(crate) written: (u32, u32),
    /// The same match, cheap clauses first, without those on the tool that the index has answered: the strict profile
    /// evaluates it when the index led to the rule. Built with the rule index of the rule.
    pub(crate) reordered: OnceLock<Box<[Word]>>,
}

/// A clause, and its span. Its operand is read when the clause is first evaluated.
#[derive(Debug)]
pub(crate) struct Clause {
    /// Its path, an index into the program's paths.
    pub(crate) path: u32,
    /// The start of the paths that its operand refers to, among all of them.
    pub(crate) refs: u32,
    /// Of a clause on the tool that is true for some tools only: their list, an index into the program's tool sets.
    pub(crate) tools: Option<u32>,
    pub(crate) span: Span,
    pub(crate) prepared: OnceLock<Box<Prepared>>,
    /// As the policy wrote it, for explanations and the operators of the host language.
    pub(crate) described: OnceLock<Box<ClauseInfo>>,
}

/// The prepared test of a clause.
#[derive(Debug)]
pub(crate) enum Prepared {
    /// In the strict profile.
    Test(Test),
    /// In the `lynx` profile.
    Lynx(LynxTest),
}

/// Rules that one tool can meet (or that any tool can), and their index.
#[derive(Debug, Default)]
pub(crate) struct ToolBucket {
    /// The start and end of its rules among the listed rules.
    pub(crate) rules: (u32, u32),
    /// PERF: made by the first request that needs it: a worker that sees ten tools of a thousand pays for ten.
    pub(crate) rule_index: OnceLock<Box<RuleIndex>>,
}

/// A loaded policy: checked bytes, and what was made from them so far.
#[derive(Debug)]
pub struct Program {
    pub(crate) source: Source,
    pub(crate) profile: Profile,
    pub(crate) defaults: Defaults,
    pub(crate) memory: Option<Box<Definitions>>,
    pub(crate) layers: Option<Box<Layers>>,
    pub(crate) remembers: bool,
    pub(crate) reads_task: bool,
    pub(crate) rules: Vec<Rule>,
    /// The matches of all rules.
    pub(crate) words: Vec<Word>,
    pub(crate) keys: Vec<Box<str>>,
    /// The keys of parts of values that operands name, in `keys`.
    pub(crate) part_keys: StrMap<u32>,
    pub(crate) paths: Vec<Path>,
    /// The paths that operands refer to, clause by clause.
    pub(crate) refs: Vec<u32>,
    pub(crate) clauses: Vec<Clause>,
    pub(crate) host_count: u32,
    /// True if a rule is monitored.
    pub(crate) monitors: bool,
    /// The decisions of functions that are always the same.
    pub(crate) templates: Vec<DecisionTemplate>,
    /// Lists of tools, by their numbers.
    pub(crate) tool_sets: Vec<Box<[u32]>>,
    /// Rules, tool bucket by tool bucket.
    pub(crate) listed: Vec<u32>,
    /// The rules that only fire for one tool, by its name.
    pub(crate) tools: StrMap<ToolBucket>,
    /// The rules that may fire whatever the tool.
    pub(crate) generic: ToolBucket,
    /// The cache budget of all automata.
    pub(crate) caches: CacheBudget,
}

impl Program {
    /// Returns the semantics of the policy.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Returns the outcomes when no rule decides.
    #[must_use]
    pub fn defaults(&self) -> Defaults {
        self.defaults
    }

    /// Returns true if decisions read the state of a run.
    #[must_use]
    pub fn remembers(&self) -> bool {
        self.remembers
    }

    /// Returns true if decisions read the task of a run.
    #[must_use]
    pub fn reads_task(&self) -> bool {
        self.reads_task
    }

    /// Returns true if the state of a run reads results of calls.
    #[must_use]
    pub fn reads_results(&self) -> bool {
        let definitions = self.memory.iter().flat_map(|memory| &memory.items);
        definitions.into_iter().any(|definition| match definition {
            Definition::Source(_) => true,
            Definition::Formula(nodes) => nodes
                .iter()
                .any(|node| matches!(node, FormulaNode::Result(_))),
            Definition::Measure(_) => false,
        })
    }

    /// The definitions of memory.
    #[must_use]
    pub fn memory(&self) -> Option<&Definitions> {
        self.memory.as_deref()
    }

    /// The canonical bytes of the definitions; empty without any.
    #[must_use]
    pub fn memory_bytes(&self) -> &[u8] {
        self.memory
            .as_ref()
            .map_or(&[], |memory| self.source.get(memory.span))
    }

    /// The layers of a policy that has them.
    #[must_use]
    pub fn layers(&self) -> Option<&Layers> {
        self.layers.as_deref()
    }

    /// The canonical bytes of the layers; empty without any.
    #[must_use]
    pub fn layers_bytes(&self) -> &[u8] {
        self.layers
            .as_ref()
            .map_or(&[], |layers| self.source.get(layers.span))
    }

    /// The number of rules, host rules included.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// The keys of all paths; [`Key::id`](crate::lang::path::Key::id) indexes them.
    #[must_use]
    pub fn keys(&self) -> &[Box<str>] {
        &self.keys
    }

    /// The number of distinct clauses; `eval_opaque` gets the index of one.
    #[must_use]
    pub fn clause_count(&self) -> usize {
        self.clauses.len()
    }

    /// The decision of a function that is always the same: [`FunctionDecision::Always`].
    #[must_use]
    pub fn template(&self, number: u32) -> Option<&DecisionTemplate> {
        self.templates.get(number as usize)
    }

    /// Returns the number of such decisions.
    #[must_use]
    pub fn template_count(&self) -> usize {
        self.templates.len()
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

    /// The match of a rule as it is evaluated where the index led to it.
    #[inline]
    pub(crate) fn reordered<'p>(&'p self, body: &'p Match) -> Part<'p> {
        match body.reordered.get() {
            Some(words) => expression(words),
            None => self.written(body),
        }
    }

    /// The first path that the operand of a clause refers to.
    pub(crate) fn reference(&self, clause: u32) -> Option<u32> {
        let clause = self.clauses.get(clause as usize)?;
        self.refs.get(clause.refs as usize).copied()
    }

    /// The paths that the operand of a clause refers to, in order.
    pub(crate) fn references(&self, clause: u32, operand: &Operand) -> impl Iterator<Item = u32> {
        let mut count = 0;
        let counted = operand.each_ref(&mut |_, _| {
            count += 1;
            Ok::<(), std::convert::Infallible>(())
        });
        let from = match (self.clauses.get(clause as usize), counted) {
            (Some(clause), Ok(())) => clause.refs as usize,
            (None, _) => self.refs.len(),
        };
        self.refs.iter().skip(from).take(count).copied()
    }

    /// Returns true if a path leads to the tool, or into it.
    pub(crate) fn is_tool(&self, path: u32) -> bool {
        let path = self.paths.get(path as usize);
        path.is_some_and(|path| path.field == Some(Field::Tool))
    }

    /// The key of a path.
    #[inline]
    pub(crate) fn key(&self, id: u32) -> Key<'_> {
        Key {
            id,
            text: self.keys.get(id as usize).map_or("", AsRef::as_ref),
        }
    }

    /// Returns true if a rule permits a call.
    #[inline]
    pub(crate) fn permits(&self, rule: u32) -> bool {
        self.rules
            .get(rule as usize)
            .is_some_and(|rule| rule.verdict.permits())
    }
}
