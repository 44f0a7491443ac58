//! Compilation: from the checked IR to a [`Program`]. Interns keys, resolves paths, lists rules by tool.
//!
//! PERF: what a request does not need is not made: [`lazy`] makes what a clause compares, and [`index_build`] the index of
//! a tool, for the first request that needs it. Automata are built by the first search. [`eager`] builds everything at
//! once.

mod builder;
mod eager;
mod guard;
mod guard_selection;
mod index_build;
mod lazy;
mod reorder;
mod tool_scope;

use std::sync::OnceLock;

use crate::bytes::interner::Interner;
use crate::error::DecodeError;
use crate::ir::{self, Kind, Policy};
use crate::lang::path::{Field, Path};
use crate::program::{Body, Clause, Match, Prepared, Program, Rule, Verdict};
use crate::pyfn::trigger::Trigger;
use crate::regex::CacheBudget;
use crate::source::Source;

impl Program {
    /// Decodes canonical IR bytes, of which it keeps a copy, and compiles them.
    ///
    /// # Errors
    /// Those of [`Program::from_source`].
    pub fn from_ir(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::from_source(Source::new(bytes.to_vec()))
    }

    /// Decodes canonical IR bytes and compiles them.
    ///
    /// # Errors
    /// The bytes are no IR, or pass a cap of [`crate::limits`]; the codes are those of [`ir::decode`].
    pub fn from_source(source: Source) -> Result<Self, DecodeError> {
        Self::from_source_within(source, &CacheBudget::default())
    }

    /// The same, whose automata keep their states within `caches`.
    ///
    /// # Errors
    /// Those of [`Program::from_source`].
    pub fn from_source_within(source: Source, caches: &CacheBudget) -> Result<Self, DecodeError> {
        ir::decode_within(source.bytes(), caches).map(|policy| compile(policy, source))
    }
}

/// Compiles what was decoded from `source`.
fn compile(policy: Policy, source: Source) -> Program {
    let mut keys = Interner::default();
    let paths = policy.paths.iter().map(|path| {
        let (field, taken) = Field::resolve(path.head, &path.keys).unzip();
        let taken = taken.unwrap_or(0);
        let keys: Box<[u32]> = path.keys.iter().map(|key| keys.intern(key)).collect();
        let arg = match keys.get(taken..) {
            Some([only]) if field == Some(Field::Args) => Some(*only),
            Some(_) | None => None,
        };
        Path {
            head: path.head,
            field,
            taken,
            keys,
            arg,
        }
    });
    let paths: Vec<Path> = paths.collect();
    let clauses = policy.leaves.iter().map(|leaf| Clause {
        path: leaf.path,
        refs: leaf.refs,
        tools: None,
        span: leaf.span,
        prepared: Default::default(),
        info: Default::default(),
    });
    let mut host_count = 0;
    let rules = policy.rules.into_iter().map(|rule| {
        let (verdict, body) = match rule.kind {
            Kind::Host => {
                host_count += 1;
                (Verdict::Deny, Body::Host(host_count - 1))
            }
            Kind::Match(verdict, from, to) => (
                verdict,
                Body::Match(Match {
                    written: (from, to),
                    reordered: Default::default(),
                }),
            ),
            // A function that fails denies, as a host rule does.
            Kind::Function(function) => (Verdict::Deny, Body::Function(function.0)),
        };
        Rule {
            verdict,
            body,
            span: rule.span,
            info: Default::default(),
        }
    });
    let mut program = Program {
        source,
        profile: policy.profile,
        defaults: policy.defaults,
        rules: rules.collect(),
        words: policy.words,
        keys: keys.texts,
        paths,
        refs: policy.refs,
        clauses: clauses.collect(),
        host_count: 0,
        templates: policy.templates,
        tool_sets: Vec::new(),
        listed: Vec::new(),
        tools: Default::default(),
        generic: Default::default(),
        caches: policy.caches,
    };
    program.host_count = host_count;
    tool_scope::list(&mut program);
    attach_triggers(&mut program);
    program
}

/// Finds out what functions are watched by; the tests of it are clauses that the policy has not.
fn attach_triggers(program: &mut Program) {
    for rule in &mut program.rules {
        let Body::Function(function) = &mut rule.body else {
            continue;
        };
        let start = function.pinned.unwrap_or(function.start);
        let Some(wanted) = crate::pyfn::analysis::triggers::infer(function, start) else {
            continue;
        };
        let clauses = &mut program.clauses;
        let triggers = wanted.into_iter().map(|wanted| Trigger {
            path: wanted.path,
            clause: wanted.test.map(|test| {
                clauses.push(Clause {
                    path: wanted.path,
                    refs: 0,
                    tools: None,
                    span: rule.span,
                    prepared: OnceLock::from(Box::new(Prepared::Test(test))),
                    info: OnceLock::new(),
                });
                clauses.len() as u32 - 1
            }),
            missing: wanted.missing,
            classes: wanted.classes,
        });
        function.triggers = Some(triggers.collect());
    }
}
