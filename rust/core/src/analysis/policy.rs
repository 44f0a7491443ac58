//! Policies under analysis: their rules by tool, and the ends that a decision can have.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::clause::flat_expr::{Connective, Part};
use crate::lang::path::Head;
use crate::lang::{Defaults, Verdict};
use crate::program::{Body, Match, Profile, Program};
use crate::pyfn::analysis::tool_scope_fn;
use crate::pyfn::ast::Function;
use crate::value::constant::Const;
use crate::value::request::Transform;

/// The tools for which a rule can fire, or be in error.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Scope {
    Tools(BTreeSet<String>),
    Any,
}

/// Rules that are evaluated one after the other, with what follows when none of them decides: a policy, or a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    pub(super) defaults: Defaults,
}

/// A policy.
#[derive(Debug)]
pub(super) struct Policy {
    pub(super) program: Program,
    /// The content of each rule, by a number that equal rules of all policies share.
    pub(super) content: Vec<u32>,
    by_content: BTreeMap<u32, u32>,
    by_tool: BTreeMap<String, Vec<u32>>,
    any: Vec<u32>,
    changes: BTreeMap<u32, u32>,
    /// The number of its whole content.
    pub(super) whole: u32,
    /// The tools that it names.
    pub(super) tools: BTreeSet<String>,
}

/// The numbers of contents of rules.
pub(super) type Contents = HashMap<Vec<u8>, u32>;

impl Policy {
    pub(super) fn new(program: Program, contents: &mut Contents) -> Self {
        let mut policy = Self {
            program,
            content: Vec::new(),
            by_content: BTreeMap::new(),
            by_tool: BTreeMap::new(),
            any: Vec::new(),
            changes: BTreeMap::new(),
            whole: 0,
            tools: BTreeSet::new(),
        };
        let bytes = policy.program.source.bytes().to_vec();
        let next = contents.len() as u32;
        policy.whole = *contents.entry(bytes).or_insert(next);
        for at in 0..policy.program.rules.len() {
            policy.add(at as u32, contents);
        }
        for clause in 0..policy.program.clause_count() {
            policy
                .tools
                .extend(tools_of(&policy.program, clause as u32).unwrap_or_default());
        }
        policy
    }

    fn add(&mut self, at: u32, contents: &mut Contents) {
        let Some(rule) = self.program.rules.get(at as usize) else {
            return;
        };
        let bytes = self.program.source.get(rule.span).to_vec();
        let next = contents.len() as u32;
        let content = *contents.entry(bytes).or_insert(next);
        self.content.push(content);
        self.by_content.entry(content).or_insert(at);
        if let Some(change) = self.change(at).map(|change| format!("{change:?}")) {
            let next = contents.len() as u32;
            let number = *contents.entry(change.into_bytes()).or_insert(next);
            self.changes.insert(at, number);
        }
        let Some(rule) = self.program.rules.get(at as usize) else {
            return;
        };
        let scope = match &rule.body {
            Body::Match(body) => scope(&self.program, self.program.written(body)),
            Body::Function(function) => {
                let tests = |clause| self.program.test(clause);
                let read = (self.program.paths.as_slice(), &tests as _);
                let named = tool_scope_fn::names(function, read);
                self.tools.extend(named.iter().map(ToString::to_string));
                match tool_scope_fn::tools(function, read) {
                    Some(tools) => Scope::Tools(tools.iter().map(ToString::to_string).collect()),
                    None => Scope::Any,
                }
            }
            Body::Host(_) => Scope::Any,
        };
        match scope {
            Scope::Any => self.any.push(at),
            Scope::Tools(tools) => {
                for tool in tools {
                    self.by_tool.entry(tool).or_default().push(at);
                }
            }
        }
    }

    /// Returns true if its semantics are those of another profile.
    pub(super) fn is_lynx(&self) -> bool {
        self.program.profile() != Profile::Strict
    }

    /// The rules that can matter to a tool, in order; `None`: to any tool that is not named.
    pub(super) fn rules(&self, tool: Option<&str>) -> Vec<u32> {
        let mut rules = self.any.clone();
        if let Some(own) = tool.and_then(|tool| self.by_tool.get(tool)) {
            rules.extend(own);
            rules.sort_unstable();
        }
        rules
    }

    /// The rule with a content.
    pub(super) fn rule_of(&self, content: u32) -> Option<u32> {
        self.by_content.get(&content).copied()
    }

    /// The match of a rule.
    pub(super) fn matched(&self, rule: u32) -> Option<&Match> {
        match &self.program.rules.get(rule as usize)?.body {
            Body::Match(body) => Some(body),
            Body::Host(_) | Body::Function(_) => None,
        }
    }

    /// The function that is a rule.
    pub(super) fn function(&self, rule: u32) -> Option<&Function> {
        match &self.program.rules.get(rule as usize)?.body {
            Body::Function(function) => Some(function),
            Body::Match(_) | Body::Host(_) => None,
        }
    }

    /// Returns true if a restricting rule in error is skipped.
    pub(super) fn continues_on_error(&self, rule: u32) -> bool {
        let layer = self
            .program
            .layers()
            .and_then(|layers| layers.of_rule(rule));
        let defaults = layer.map_or(self.program.defaults(), |layer| layer.defaults);
        defaults.continue_on_error
    }

    /// The rewrite of a rule that is a transform.
    pub(super) fn change(&self, rule: u32) -> Option<&Transform> {
        match self.verdict(rule) {
            Verdict::Transform => self.program.rule(rule)?.transform.as_ref(),
            _ => None,
        }
    }

    /// The number that equal rewrites share.
    pub(super) fn change_number(&self, rule: u32) -> u32 {
        self.changes.get(&rule).copied().unwrap_or_default()
    }

    /// The verdict of a rule; `deny` for a host rule and a function.
    pub(super) fn verdict(&self, rule: u32) -> Verdict {
        let rule = self.program.rules.get(rule as usize);
        rule.map_or(Verdict::Deny, |rule| rule.verdict)
    }

    /// The name of a rule.
    pub(super) fn name(&self, rule: u32) -> String {
        match self.program.rule(rule).map(|info| &info.id) {
            Some(Const::Str(name)) => name.to_string(),
            _ => format!("rule {rule}"),
        }
    }
}

/// The tools for which a match can be anything but false, by its form.
fn scope(program: &Program, part: Part<'_>) -> Scope {
    match part {
        Part::Leaf(clause) => tools_of(program, clause).map_or(Scope::Any, Scope::Tools),
        Part::Of(Connective::All, items) => {
            let mut found = Scope::Any;
            for item in items {
                found = match (found, scope(program, item)) {
                    (Scope::Tools(one), Scope::Tools(other)) => {
                        Scope::Tools(one.intersection(&other).cloned().collect())
                    }
                    (Scope::Any, other) | (other, Scope::Any) => other,
                };
            }
            found
        }
        Part::Of(Connective::Any, items) => {
            let mut found = BTreeSet::new();
            for item in items {
                match scope(program, item) {
                    Scope::Tools(tools) => found.extend(tools),
                    Scope::Any => return Scope::Any,
                }
            }
            Scope::Tools(found)
        }
        Part::Of(Connective::Not, _) => Scope::Any,
    }
}

/// The tools that a clause is true for, of a clause that compares the name of the tool with texts.
pub(super) fn tools_of(program: &Program, clause: u32) -> Option<BTreeSet<String>> {
    let path = program
        .paths
        .get(program.clauses.get(clause as usize)?.path as usize)?;
    if path.head != Head::Tool || !path.keys.is_empty() {
        return None;
    }
    let info = program.clause(clause)?;
    let text = |constant: &Const| match constant {
        Const::Str(text) => Some(text.to_string()),
        _ => None,
    };
    match (info.op.name, info.operand.constant()?) {
        ("eq", Const::Str(tool)) => Some(BTreeSet::from([tool.to_string()])),
        ("in", Const::List(items)) => items.iter().map(text).collect(),
        _ => None,
    }
}

/// An end of a decision.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct End {
    /// The verdict; `None`: only the evaluator knows it.
    pub(super) verdict: Option<Rank>,
    /// The content of the deciding rule; `None`: a default.
    pub(super) rule: Option<u32>,
    /// True if the rule denies because it is in error.
    pub(super) fails: bool,
    /// The rewrites of the arguments, in order.
    pub(super) transforms: Vec<u32>,
    /// The reason for which the verdict is not known.
    pub(super) unknown: Option<&'static str>,
    /// The contents of rules of other layers that require an approval, too.
    pub(super) also: Vec<u32>,
}

/// A verdict by its strictness, from the strictest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Rank {
    Deny,
    ApproveRequired,
    DryRun,
    Transform,
    Allow,
}

impl From<Verdict> for Rank {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Deny => Self::Deny,
            Verdict::ApproveRequired => Self::ApproveRequired,
            Verdict::DryRun => Self::DryRun,
            Verdict::Transform => Self::Transform,
            Verdict::Allow => Self::Allow,
        }
    }
}

impl Rank {
    /// Every verdict, the strictest first.
    pub(super) const ALL: [Self; 5] = [
        Self::Deny,
        Self::ApproveRequired,
        Self::DryRun,
        Self::Transform,
        Self::Allow,
    ];

    /// The name in a decision.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::ApproveRequired => "approve_required",
            Self::DryRun => "dry_run",
            Self::Transform => "transform",
            Self::Allow => "allow",
        }
    }

    /// The verdict with a name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Verdict::from_name(name).map(Self::from)
    }
}

/// The ends of all decisions, by number.
#[derive(Debug, Default)]
pub(super) struct Ends {
    ends: Vec<End>,
    known: HashMap<End, u32>,
}

impl Ends {
    /// The number of an end.
    pub(super) fn number(&mut self, end: End) -> u32 {
        if let Some(&known) = self.known.get(&end) {
            return known;
        }
        let number = self.ends.len() as u32;
        self.ends.push(end.clone());
        self.known.insert(end, number);
        number
    }

    /// The end with a number.
    pub(super) fn get(&self, number: u32) -> Option<&End> {
        self.ends.get(number as usize)
    }
}
