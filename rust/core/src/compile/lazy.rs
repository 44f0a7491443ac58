//! Preparing clauses and rules: what they hold is read from the bytes of the policy when it is first needed.
//!
//! INVARIANT: the bytes were checked when the policy was loaded, so nothing here fails. If it did, the clause would be in
//! error on every request and the rule a `deny`.

use crate::clause::lynx::LynxTest;
use crate::clause::operand::{Check, Operand};
use crate::clause::ops::Prepare;
use crate::clause::ops::facet::{self, Within};
use crate::clause::ops::nesting::{Derived, PartPath};
use crate::clause::ops::occurrence::Occurrence;
use crate::clause::predicate::Test;
use crate::clause::prepared::PreparedConst;
use crate::facets::Kind;
use crate::ir::memory::TASK;
use crate::ir::{self, PathOf};
use crate::lang::path::Head;
use crate::program::{Body, Clause, ClauseInfo, Op, Prepared, Profile, Program, Rule, RuleInfo};
use crate::pyfn::ast::{Function, Statement};
use crate::pyfn::exception::Exception;
use crate::regex::{CacheBudget, Dialect, Pattern};
use crate::value::constant::Const;
use crate::value::memory::Wanted;

impl Program {
    /// Returns the static properties of a rule.
    #[must_use]
    pub fn rule(&self, rule: u32) -> Option<&RuleInfo> {
        let rule = self.rules.get(rule as usize)?;
        Some(rule.info.get_or_init(|| Box::new(self.read_rule(rule))))
    }

    fn read_rule(&self, rule: &Rule) -> RuleInfo {
        let host = match rule.body {
            Body::Host(host) => Some(host),
            Body::Match(_) | Body::Function(_) => None,
        };
        match ir::rule(self.source.get(rule.span), self.profile) {
            Ok(read) => RuleInfo {
                verdict: rule.verdict,
                host,
                ..read
            },
            Err(_) => RuleInfo {
                host,
                ..RuleInfo::named("")
            },
        }
    }

    /// The body of the function that is rule `rule`, as the policy wrote it.
    pub(crate) fn written_body<'f>(&self, rule: u32, function: &'f Function) -> &'f [Statement] {
        function.written.get_or_init(|| {
            let paths = self.paths.iter().map(|path| PathOf {
                head: path.head,
                keys: path
                    .keys
                    .iter()
                    .map(|&id| self.key(id).text.into())
                    .collect(),
            });
            let span = self.rules.get(rule as usize).map(|rule| rule.span);
            let bytes = span.map_or(&[][..], |span| self.source.get(span));
            // INVARIANT: these bytes were read before. If they could not be, the rule would be in error.
            let known = (paths.collect(), self.memory.clone());
            ir::body(bytes, known, function.template, &self.caches)
                .unwrap_or_else(|_| Box::new([Statement::Raise(Exception::VALUE)]))
        })
    }

    /// Clause `index`, as the policy wrote it.
    #[must_use]
    pub fn clause(&self, index: u32) -> Option<&ClauseInfo> {
        let clause = self.clauses.get(index as usize)?;
        if clause.described.get().is_none() {
            let read = self.read_clause(clause)?;
            return Some(clause.described.get_or_init(|| Box::new(read)));
        }
        clause.described.get().map(AsRef::as_ref)
    }

    /// The canonical bytes of clause `index`; those of a trigger's are those of its rule.
    #[cfg(feature = "analysis")]
    pub(crate) fn clause_bytes(&self, index: u32) -> &[u8] {
        let clause = self.clauses.get(index as usize);
        clause.map_or(&[], |clause| self.source.get(clause.span))
    }

    /// Prepares a test of a value, or of what is derived from one, that reads nothing else.
    #[cfg(feature = "analysis")]
    pub(crate) fn prepare_check(&self, check: &Check, kind: Kind) -> Option<Test> {
        let check = (check.op, &check.operand, check.dialect);
        test(check, &mut std::iter::empty(), (true, kind, self))
    }

    /// `None` for the clause of a trigger, which no policy wrote.
    fn read_clause(&self, clause: &Clause) -> Option<ClauseInfo> {
        let path = self.paths.get(clause.path as usize)?;
        let leaf = ir::leaf(self.source.get(clause.span), self.profile).ok()?;
        let keys = path.keys.iter();
        Some(ClauseInfo {
            head: path.head,
            path: keys.map(|&id| self.key(id).text.into()).collect(),
            op: leaf.op,
            operand: leaf.operand,
            dialect: leaf.dialect,
        })
    }

    /// Returns the prepared test of clause `index` in the strict profile.
    #[inline]
    pub(crate) fn test(&self, index: u32) -> &Test {
        match self.clauses.get(index as usize) {
            Some(clause) => self.test_of(clause),
            None => &Test::Broken,
        }
    }

    /// Returns the prepared test of a clause in the strict profile.
    #[inline]
    pub(crate) fn test_of<'p>(&'p self, clause: &'p Clause) -> &'p Test {
        match self.prepared(clause) {
            Prepared::Test(test) => test,
            Prepared::Lynx(_) => &Test::Broken,
        }
    }

    /// Returns the prepared test of clause `index` in the `lynx` profile.
    #[inline]
    pub(crate) fn lynx_test(&self, index: u32) -> Option<&LynxTest> {
        match self.prepared(self.clauses.get(index as usize)?) {
            Prepared::Lynx(lynx_test) => Some(lynx_test),
            Prepared::Test(_) => None,
        }
    }

    #[inline]
    pub(super) fn prepared<'p>(&'p self, clause: &'p Clause) -> &'p Prepared {
        match clause.prepared.get() {
            Some(prepared) => prepared,
            None => self.prepare_once(clause),
        }
    }

    #[cold]
    fn prepare_once<'p>(&'p self, clause: &'p Clause) -> &'p Prepared {
        clause
            .prepared
            .get_or_init(|| Box::new(self.prepare(clause)))
    }

    fn prepare(&self, clause: &Clause) -> Prepared {
        let Ok(leaf) = ir::leaf(self.source.get(clause.span), self.profile) else {
            return Prepared::Test(Test::Broken);
        };
        match (self.profile, &leaf.operand) {
            (Profile::Strict, operand) => {
                let refs = self.refs.get(clause.refs as usize..).unwrap_or_default();
                let mut refs = refs.iter().copied();
                let check = (leaf.op, operand, leaf.dialect);
                let made = test(check, &mut refs, (false, Kind::Plain, self));
                Prepared::Test(match (made, self.definition(clause.path)) {
                    (None, _) => Test::Broken,
                    (Some(test), None) => test,
                    (Some(test), Some(definition)) => {
                        Test::Derived(Box::new(Derived::Run(definition, vec![test])))
                    }
                })
            }
            (Profile::Lynx, Operand::Const(operand)) => {
                let pattern = pattern(operand, leaf.dialect, &self.caches);
                match leaf.op.lynx {
                    Some(op) => Prepared::Lynx(LynxTest::new(op, operand, pattern)),
                    None => Prepared::Test(Test::Broken),
                }
            }
            (
                Profile::Lynx,
                Operand::Ref(..)
                | Operand::Tests(_)
                | Operand::Part(..)
                | Operand::Sources(_)
                | Operand::Places(_),
            ) => Prepared::Test(Test::Broken),
        }
    }

    /// The definition that a path into the state of the run names.
    pub(crate) fn definition(&self, path: u32) -> Option<u32> {
        let path = self.paths.get(path as usize)?;
        if path.head != Head::Run {
            return None;
        }
        self.memory
            .as_ref()?
            .find(self.key(*path.keys.first()?).text)
    }
}

fn pattern(operand: &Const, dialect: Option<Dialect>, caches: &CacheBudget) -> Option<Pattern> {
    match (operand, dialect) {
        (Const::Str(text), Some(dialect)) => Pattern::parse_within(text, dialect, caches).ok(),
        _ => None,
    }
}

/// Prepares a clause of the strict profile, whose operand the decoder has checked, or a test in one. `refs` are the paths it
/// refers to, in the order of the operand; `each`: the test is of elements; `kind`: the type of the value that it tests.
fn test(
    (op, operand, dialect): (Op, &Operand, Option<Dialect>),
    refs: &mut impl Iterator<Item = u32>,
    (each, kind, program): (bool, Kind, &Program),
) -> Option<Test> {
    let caches = &program.caches;
    let mut all_of = |checks: &[Check], each: bool, kind: Kind| {
        let tests = checks.iter().map(|check| {
            test(
                (check.op, &check.operand, check.dialect),
                refs,
                (each, kind, program),
            )
        });
        tests.collect::<Option<Vec<_>>>()
    };
    let derived = match (operand, &op.prepare) {
        (Operand::Const(_) | Operand::Ref(..) | Operand::Places(_), Prepare::Places) => {
            Derived::Occurs(Occurrence::prepare(operand, refs)?)
        }
        (Operand::Tests(checks), Prepare::Group(connective)) => {
            Derived::Group(*connective, all_of(checks, each, kind)?)
        }
        (Operand::Const(operand), Prepare::Constant(prepare)) => {
            let operand = PreparedConst::prepare(operand)?;
            return prepare(match kind {
                Kind::Version => facet::versions(operand)?,
                _ => operand,
            });
        }
        (Operand::Const(operand), Prepare::Search) => {
            return pattern(operand, dialect, caches).map(Test::Matches);
        }
        (Operand::Const(operand), Prepare::Within) => {
            let operand = PreparedConst::prepare(operand)?;
            return Within::new(kind, &facet::texts(&operand)?).map(Test::Within);
        }
        (Operand::Tests(checks), Prepare::Tests(prepare, elements)) => {
            let inner = if *elements {
                kind.element()?
            } else {
                Kind::Plain
            };
            prepare(all_of(checks, each || *elements, inner)?)
        }
        (Operand::Tests(checks), Prepare::Facet(facet)) => {
            Derived::Facet(*facet, all_of(checks, each, facet.kind())?)
        }
        (Operand::Part(path, checks), Prepare::Part) => {
            let tests = all_of(checks, each, kind.at(path)?)?;
            let ids = path.iter().map(|name| program.part_keys.get(name));
            let ids = ids.map(|id| id.copied().unwrap_or(u32::MAX)).collect();
            let names = path.clone();
            Derived::part(PartPath { names, ids }, tests)
        }
        (Operand::Ref(..), _) => {
            let (relative, path) = (op.relative?, refs.next()?);
            match program.definition(path) {
                Some(definition) => Derived::RunRef(relative, definition),
                None => Derived::Ref {
                    relative,
                    path,
                    each,
                },
            }
        }
        (Operand::Sources(names), Prepare::Sources) => {
            let mut wanted = Wanted::default();
            for name in names {
                if **name == *TASK {
                    wanted.task = true;
                } else {
                    wanted.sources |= 1 << program.memory.as_ref()?.source(name)?;
                }
            }
            Derived::From(wanted)
        }
        (
            Operand::Const(_)
            | Operand::Tests(_)
            | Operand::Part(..)
            | Operand::Sources(_)
            | Operand::Places(_),
            _,
        ) => {
            return None;
        }
    };
    Some(Test::Derived(Box::new(derived)))
}
