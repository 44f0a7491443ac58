//! Compilation: from the checked IR to a [`Program`]. Interns keys, resolves paths, lists rules by tool.
//!
//! PERF: what a request does not need is not made: [`lazy`] makes what a clause compares, and [`index_build`] the index of
//! a tool, for the first request that needs it. Automata are built by the first search. [`eager`] builds everything at
//! once.

mod builder;
mod derived_builder;
mod eager;
mod guard;
mod guard_selection;
mod index_build;
mod indexed_clause;
mod lazy;
mod reorder;
#[cfg(test)]
mod test_policies;
mod tool_scope;

use std::sync::OnceLock;

use crate::bytes::interner::Interner;
use crate::bytes::strmap::StrMap;
use crate::error::DecodeError;
use crate::ir::{self, Kind, Policy, monitored};
use crate::lang::path::{Field, Path};
use crate::program::{Body, Clause, Match, Prepared, Program, Rule, Verdict};
use crate::pyfn::analysis::triggers::infer;
use crate::pyfn::predicate::{FastNode, Predicate};
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
        let program = Self::from_layered_source(source, caches)?;
        match program.layers {
            None => Ok(program),
            Some(_) => Err(DecodeError::new("bad_ir", "the policy has layers")),
        }
    }

    /// The same for a policy that may have layers. [`Program::decide`] does not know them: a caller decides by
    /// [`Program::decide_layered`] where [`Program::layers`] has any.
    ///
    /// # Errors
    /// Those of [`Program::from_source`].
    pub fn from_layered_source(source: Source, caches: &CacheBudget) -> Result<Self, DecodeError> {
        ir::decode_within(source.bytes(), caches).map(|policy| compile(policy, source))
    }

    /// The canonical bytes of the policy with its monitored rules in force; `None` for a policy without any.
    #[must_use]
    pub fn monitored_in_force(&self) -> Option<Vec<u8>> {
        // PERF: most policies are not read again.
        let spans = self.rules.iter().map(|rule| rule.span);
        self.monitors
            .then(|| monitored::in_force(&self.source, spans))?
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
    let part_keys = policy.part_keys.iter().map(|key| {
        let id = keys.intern(key);
        (key.clone(), id)
    });
    let part_keys = StrMap::new(part_keys.collect());
    let clauses = policy.leaves.iter().map(|leaf| Clause {
        path: leaf.path,
        refs: leaf.refs,
        tools: None,
        span: leaf.span,
        prepared: Default::default(),
        described: Default::default(),
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
    let reads_task = policy.names_task || paths.iter().any(|path| path.field == Some(Field::Task));
    let mut program = Program {
        source,
        profile: policy.profile,
        defaults: policy.defaults,
        memory: policy.memory,
        layers: policy.layers,
        remembers: policy.remembers,
        reads_task,
        rules: rules.collect(),
        words: policy.words,
        keys: keys.texts,
        part_keys,
        paths,
        refs: policy.refs,
        clauses: clauses.collect(),
        host_count: 0,
        templates: policy.templates,
        monitors: policy.monitors,
        tool_sets: Vec::new(),
        listed: Vec::new(),
        tools: Default::default(),
        generic: Default::default(),
        caches: policy.caches,
    };
    program.host_count = host_count;
    tool_scope::list(&mut program);
    attach_tests(&mut program);
    program
}

/// Infers the triggers of functions, and makes clauses of their tests, which the policy does not have.
fn attach_tests(program: &mut Program) {
    for rule in &mut program.rules {
        let Body::Function(function) = &mut rule.body else {
            continue;
        };
        let mut triggers = infer(function, function.pinned.unwrap_or(function.start));
        for (at, node) in (0..).zip(&mut function.fast_nodes) {
            let FastNode::Test(read, predicate, ..) = node else {
                continue;
            };
            let clause = program.clauses.len() as u32;
            *predicate = match std::mem::replace(predicate, Predicate::Clause(clause)) {
                Predicate::Test(test) => {
                    program.clauses.push(Clause {
                        path: read.path,
                        refs: 0,
                        tools: None,
                        span: rule.span,
                        prepared: OnceLock::from(Box::new(Prepared::Test(*test))),
                        described: OnceLock::new(),
                    });
                    Predicate::Clause(clause)
                }
                other => other,
            };
            for trigger in triggers.iter_mut().flatten() {
                if trigger.node == Some(at) {
                    trigger.clause = Some(clause);
                }
            }
        }
        function.triggers = triggers.map(Into::into);
    }
}
