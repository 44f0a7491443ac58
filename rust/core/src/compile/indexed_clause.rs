//! Clauses as indexes and the choice of guards see them, in either profile.

use crate::clause::inline::InlineTest;
use crate::clause::ops::{Facts, IndexKey};
use crate::clause::predicate::Test;
use crate::facets::Facet;
use crate::program::{Prepared, Program};
use crate::regex::Pattern;
use crate::value::class::Classes;

/// The prepared test of a clause.
#[derive(Clone, Copy)]
pub(super) struct IndexedClause<'p>(&'p Prepared);

impl Program {
    /// Returns clause `index` as an index sees it.
    pub(super) fn indexed_clause(&self, index: u32) -> IndexedClause<'_> {
        let clause = self.clauses.get(index as usize);
        IndexedClause(clause.map_or(&Prepared::Test(Test::Broken), |clause| {
            self.prepared(clause)
        }))
    }

    /// Returns the pattern of clause `index`, if it searches for one.
    pub(crate) fn pattern(&self, index: u32) -> Option<&Pattern> {
        match self.prepared(self.clauses.get(index as usize)?) {
            Prepared::Test(Test::Matches(pattern)) => Some(pattern),
            Prepared::Test(_) => None,
            Prepared::Lynx(test) => test.pattern(),
        }
    }
}

impl<'p> IndexedClause<'p> {
    /// The facts that compilation needs.
    pub(super) fn facts(self) -> Facts {
        match self.0 {
            Prepared::Test(test) => test.facts(),
            Prepared::Lynx(test) => test.facts(),
        }
    }

    /// The classes of values that may leave the clause in error.
    pub(super) fn fails(self) -> Classes {
        self.facts().fails
    }

    /// Returns true if it can be a guard.
    pub(super) fn guards(self) -> bool {
        match self.0 {
            Prepared::Test(test) => test.guards(),
            Prepared::Lynx(_) => true,
        }
    }

    /// The key under which an index lists the rules that have it as a guard.
    pub(super) fn key(self) -> IndexKey<'p> {
        match self.0 {
            Prepared::Test(test) => test.key(),
            Prepared::Lynx(test) => test.key(),
        }
    }

    /// The same test with its operand inline, if it has one.
    pub(super) fn inline(self) -> InlineTest {
        match self.0 {
            Prepared::Test(test) => test.inline(),
            Prepared::Lynx(test) => test.inline(),
        }
    }

    /// Returns true if a missing value makes it true, whatever its key: `lynx` profile only.
    pub(super) fn is_true_of_null(self) -> bool {
        match self.0 {
            Prepared::Test(_) => false,
            Prepared::Lynx(test) => test.on_null(),
        }
    }

    /// Returns true if it tests the state of the run, at whose path a request has nothing.
    pub(super) fn reads_run(self) -> bool {
        match self.0 {
            Prepared::Test(test) => test.reads_run(),
            Prepared::Lynx(_) => false,
        }
    }

    /// The facet that decides whether a text leaves it in error.
    pub(super) fn decided_by(self) -> Option<Facet> {
        match self.0 {
            Prepared::Test(Test::Derived(derived)) => derived.decided_by(),
            Prepared::Test(_) | Prepared::Lynx(_) => None,
        }
    }
}
