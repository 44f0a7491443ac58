//! Making at once what requests otherwise have made when they first need it.

use crate::clause::predicate::Test;
use crate::index::{PatternGroup, RuleIndex};
use crate::program::{Body, Program, Verdict};
use crate::regex::PatternSet;

impl Program {
    /// Makes all parts at once, but for the states of automata, which texts bring about, and what functions search for.
    /// For workers that want no slow first call, and the off switch of making parts late, for tests.
    pub fn prepare_all(&self) {
        for rule in 0..self.rules.len() as u32 {
            let _ = self.rule(rule);
        }
        for clause in 0..self.clauses.len() as u32 {
            let _ = self.clause(clause);
            self.test(clause).prepare();
        }
        for bucket in self.tools.values() {
            self.prepare_searches(self.indexed(bucket, true));
        }
        self.prepare_searches(self.generic());
    }

    /// Returns true if rule `rule` decides the same way whenever it fires: it is not a callable or a function, and has no
    /// transform.
    #[must_use]
    pub fn decides_alike(&self, rule: u32) -> bool {
        let rule = self.rules.get(rule as usize);
        rule.is_some_and(|rule| {
            matches!(rule.body, Body::Match(_)) && rule.verdict != Verdict::Transform
        })
    }

    /// Returns the set that searches the patterns of a group.
    #[inline]
    pub(crate) fn patterns_of<'g>(&self, group: &'g PatternGroup) -> &'g PatternSet {
        group.set.get_or_init(|| {
            let patterns = group.members.iter();
            let patterns = patterns.filter_map(|(clause, _)| match self.test(*clause) {
                Test::Matches(pattern) => Some(pattern),
                _ => None,
            });
            PatternSet::build_within(&patterns.collect::<Vec<_>>(), &self.caches)
        })
    }

    fn prepare_searches(&self, rule_index: &RuleIndex) {
        let exclusions = rule_index
            .exclusion
            .iter()
            .flat_map(|exclusion| &exclusion.path_indexes);
        for path_index in rule_index
            .path_indexes
            .iter()
            .chain(&rule_index.error_paths)
            .chain(exclusions)
        {
            if let Some(group) = &path_index.patterns {
                self.patterns_of(group).prepare();
            }
            if let Some(substrings) = &path_index.substrings {
                substrings.prepare();
            }
        }
    }
}
