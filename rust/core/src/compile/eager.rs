//! Making at once what requests otherwise have made when they first need it.

use crate::clause::flat_expr::{Connective, Part};
use crate::index::{PatternGroup, REMEMBERED, RuleIndex};
use crate::program::{Body, Program, ToolBucket, Verdict};
use crate::regex::{NfaCompiler, PatternSet};

/// How many rules have a clause, bucket by bucket, and for how many of them the set of its argument has answered it before
/// they are evaluated. PERF: the automaton that searches one pattern by itself takes 2.8 KiB.
#[derive(Clone, Copy, Default)]
struct Uses {
    rules: usize,
    answered: usize,
}

impl Program {
    /// Makes all parts at once, but for the states of automata, which texts bring about, and what functions search for.
    /// For workers that want no slow first call, and the off switch of making parts late, for tests.
    pub fn prepare_all(&self) {
        for rule in 0..self.rules.len() as u32 {
            let _ = self.rule(rule);
        }
        let compiler = NfaCompiler::default();
        let mut uses = vec![Uses::default(); self.clauses.len()];
        for bucket in self.tools.values() {
            self.prepare_bucket(bucket, true, (&mut uses, &compiler));
        }
        self.prepare_bucket(&self.generic, false, (&mut uses, &compiler));
        for (clause, uses) in (0..).zip(uses) {
            let _ = self.clause(clause);
            match self.lynx_test(clause) {
                _ if uses.rules > 0 && uses.rules == uses.answered => {}
                Some(test) => test.prepare(&compiler),
                None => self.test(clause).prepare(&compiler),
            }
        }
    }

    /// Makes the index of a bucket and its searches, and counts the uses of clauses by its rules.
    fn prepare_bucket(
        &self,
        bucket: &ToolBucket,
        tool_known: bool,
        (uses, compiler): (&mut [Uses], &NfaCompiler),
    ) {
        let rule_index = self.indexed(bucket, tool_known);
        self.prepare_searches(rule_index, compiler);
        let (from, to) = bucket.rules;
        let rules = self.listed.get(from as usize..to as usize);
        for rule in rules.unwrap_or_default() {
            if let Some(Body::Match(body)) = self.rules.get(*rule as usize).map(|rule| &rule.body) {
                self.written(body).leaves(&mut |clause| {
                    if let Some(uses) = uses.get_mut(clause as usize) {
                        uses.rules += 1;
                    }
                });
            }
        }
        for group in rule_index
            .path_indexes
            .iter()
            .filter_map(|path_index| path_index.patterns.as_ref())
            .filter(|group| group.members.len() <= REMEMBERED)
        {
            let set = self.patterns_of(group);
            for (at, (clause, (from, to))) in group.members.iter().enumerate() {
                let rules = rule_index.rules.get(*from as usize..*to as usize);
                if let Some(uses) = uses.get_mut(*clause as usize)
                    && set.answers(at)
                {
                    let found = rules.unwrap_or_default().iter();
                    uses.answered += found.filter(|rule| self.requires(**rule, *clause)).count();
                }
            }
        }
    }

    /// Returns true if a clause is a conjunct of the match of a rule.
    fn requires(&self, rule: u32, clause: u32) -> bool {
        let Some(Body::Match(body)) = self.rules.get(rule as usize).map(|rule| &rule.body) else {
            return false;
        };
        match self.written(body) {
            Part::Of(Connective::All, mut items) => items.any(|item| item == Part::Leaf(clause)),
            expr => expr == Part::Leaf(clause),
        }
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
            let patterns = patterns.filter_map(|(clause, _)| self.pattern(*clause));
            PatternSet::build_within(&patterns.collect::<Vec<_>>(), &self.caches)
        })
    }

    fn prepare_searches(&self, rule_index: &RuleIndex, compiler: &NfaCompiler) {
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
                self.patterns_of(group).prepare(compiler);
            }
            if let Some(substrings) = &path_index.substrings {
                substrings.prepare();
            }
        }
    }
}
