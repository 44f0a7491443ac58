//! Preparing clauses and rules: what they hold is read from the bytes of the policy when it is first needed.
//!
//! INVARIANT: the bytes were checked when the policy was loaded, so nothing here fails. If it did, the clause would be in
//! error on every request and the rule a `deny`.

use crate::clause::lynx::LynxTest;
use crate::clause::operand::{Check, Operand};
use crate::clause::ops::derived::{Derived, Each, End, Relative};
use crate::clause::predicate::{Needles, Quantity, Relation, ScalarSet, Search, Test};
use crate::clause::prepared::PreparedConst;
use crate::ir::{self, PathOf};
use crate::program::{Body, Clause, ClauseInfo, Op, Prepared, Profile, Program, Rule, RuleInfo};
use crate::pyfn::ast::{Function, Statement};
use crate::pyfn::exception::Exception;
use crate::regex::{CacheBudget, Dialect, LiteralKind, Pattern};
use crate::value::constant::Const;

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
            ir::body(bytes, paths.collect(), function.template, &self.caches)
                .unwrap_or_else(|_| Box::new([Statement::Raise(Exception::VALUE)]))
        })
    }

    /// Clause `index`, as the policy wrote it.
    #[must_use]
    pub fn clause(&self, index: u32) -> Option<&ClauseInfo> {
        let clause = self.clauses.get(index as usize)?;
        Some(
            clause
                .info
                .get_or_init(|| Box::new(self.read_clause(clause))),
        )
    }

    fn read_clause(&self, clause: &Clause) -> ClauseInfo {
        let path = self.paths.get(clause.path as usize);
        let keys = path.map_or(&[][..], |path| &path.keys);
        let (operand, dialect) = match ir::leaf(self.source.get(clause.span), self.profile) {
            Ok(leaf) => (leaf.operand, leaf.dialect),
            Err(_) => (Operand::Const(Const::Null), None),
        };
        ClauseInfo {
            head: path.map_or(crate::lang::path::Head::Args, |path| path.head),
            path: keys.iter().map(|&id| self.key(id).text.into()).collect(),
            op: clause.op,
            operand,
            dialect,
        }
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
    fn prepared<'p>(&'p self, clause: &'p Clause) -> &'p Prepared {
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
                Prepared::Test(
                    test(check, &mut refs, (false, &self.caches)).unwrap_or(Test::Broken),
                )
            }
            (Profile::Lynx, Operand::Const(operand)) => {
                let search = searched(operand, leaf.dialect, &self.caches);
                Prepared::Lynx(LynxTest::prepare(leaf.op, operand, search))
            }
            (Profile::Lynx, Operand::Ref(..) | Operand::Tests(_)) => Prepared::Test(Test::Broken),
        }
    }
}

fn searched(operand: &Const, dialect: Option<Dialect>, caches: &CacheBudget) -> Option<Search> {
    match (operand, dialect) {
        (Const::Str(text), Some(dialect)) => Pattern::parse_within(text, dialect, caches)
            .ok()
            .map(Search::new),
        _ => None,
    }
}

/// Prepares a clause of the strict profile, whose operand the decoder has checked, or a test in one. `refs` are the paths it
/// refers to, in the order of the operand; `each`: the test is of elements.
fn test(
    (op, operand, dialect): (Op, &Operand, Option<Dialect>),
    refs: &mut impl Iterator<Item = u32>,
    (each, caches): (bool, &CacheBudget),
) -> Option<Test> {
    let mut all = |checks: &[Check], each| {
        let tests = checks.iter().map(|check| {
            test(
                (check.op, &check.operand, check.dialect),
                refs,
                (each, caches),
            )
        });
        tests.collect::<Option<Vec<Test>>>()
    };
    let derived = match (op, operand) {
        (_, Operand::Const(operand)) => {
            return plain(op, operand, searched(operand, dialect, caches));
        }
        (Op::Length, Operand::Tests(checks)) => Derived::Length(all(checks, each)?),
        (Op::Lower, Operand::Tests(checks)) => Derived::Lower(all(checks, each)?),
        (Op::Any, Operand::Tests(checks)) => Derived::Elements(Each::Any, all(checks, true)?),
        (Op::All, Operand::Tests(checks)) => Derived::Elements(Each::All, all(checks, true)?),
        (Op::None, Operand::Tests(checks)) => Derived::Elements(Each::None, all(checks, true)?),
        (_, Operand::Tests(_)) => return None,
        (op, Operand::Ref(..)) => Derived::Ref {
            relative: match op {
                Op::Eq => Relative::Equal,
                Op::In => Relative::In,
                Op::Contains => Relative::Contains,
                Op::Gt => Relative::Order(Relation::Gt),
                Op::Ge => Relative::Order(Relation::Ge),
                Op::Lt => Relative::Order(Relation::Lt),
                Op::Le => Relative::Order(Relation::Le),
                Op::StartsWith => Relative::At(End::Start),
                Op::EndsWith => Relative::At(End::End),
                _ => return None,
            },
            path: refs.next()?,
            each,
        },
    };
    Some(Test::Derived(Box::new(derived)))
}

/// Prepares a comparison with a constant.
fn plain(op: Op, operand: &Const, search: Option<Search>) -> Option<Test> {
    let texts = |operand: PreparedConst| match operand {
        PreparedConst::Str(text) => Some(vec![text]),
        PreparedConst::List(items) => items
            .into_iter()
            .map(|item| match item {
                PreparedConst::Str(text) => Some(text),
                _ => None,
            })
            .collect(),
        _ => None,
    };
    let prepared = PreparedConst::prepare(operand)?;
    Some(match (op, prepared) {
        (Op::Eq, operand @ (PreparedConst::List(_) | PreparedConst::Map(_))) => {
            Test::EqualDeep(operand)
        }
        (Op::Eq, PreparedConst::Bool(wanted)) => Test::EqualBool(wanted),
        (Op::Eq, operand) => Test::Equal(operand),
        (Op::Matches, _) => Test::Matches(search?),
        (Op::In, PreparedConst::List(items)) => Test::In(ScalarSet::new(items)),
        (Op::Contains, operand) => Test::Contains(Needles::new(vec![operand]), Quantity::Any),
        (Op::ContainsAny, PreparedConst::List(items)) => {
            Test::Contains(Needles::new(items), Quantity::Any)
        }
        (Op::ContainsAll, PreparedConst::List(items)) => {
            Test::Contains(Needles::new(items), Quantity::All)
        }
        (Op::Gt, operand) => Test::Order(Relation::Gt, operand),
        (Op::Ge, operand) => Test::Order(Relation::Ge, operand),
        (Op::Lt, operand) => Test::Order(Relation::Lt, operand),
        (Op::Le, operand) => Test::Order(Relation::Le, operand),
        (Op::Between | Op::NotBetween, PreparedConst::List(bounds)) => {
            let [lo, hi] = <[PreparedConst; 2]>::try_from(bounds).ok()?;
            Test::Between {
                lo,
                hi,
                negated: op == Op::NotBetween,
            }
        }
        (Op::Exists, PreparedConst::Bool(wanted)) => Test::Exists(wanted),
        (Op::StartsWith, operand) => Test::Affix(End::Start, End::Start.fewest(texts(operand)?)),
        (Op::EndsWith, operand) => Test::Affix(End::End, End::End.fewest(texts(operand)?)),
        (
            Op::In
            | Op::ContainsAny
            | Op::ContainsAll
            | Op::Between
            | Op::NotBetween
            | Op::Exists
            | Op::Length
            | Op::Lower
            | Op::Any
            | Op::All
            | Op::None,
            _,
        ) => return None,
    })
}

/// The text a test is true for, when it is true for one text only.
pub(super) fn exact_text(test: &Test) -> Option<String> {
    match test {
        Test::Equal(PreparedConst::Str(text)) => Some(text.to_string()),
        Test::Matches(search) => match search.pattern.literal_kind()? {
            LiteralKind::Exact(text) => Some(text),
            LiteralKind::Prefix(_) | LiteralKind::Suffix(_) | LiteralKind::Contains(_) => None,
        },
        _ => None,
    }
}
