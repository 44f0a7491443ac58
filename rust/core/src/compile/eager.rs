//! Making at once what requests otherwise have made when they first need it.

use std::collections::HashMap;

use crate::bytes::hash::Keyed;
use crate::index::{PatternGroup, REMEMBERED, RuleIndex};
use crate::program::{Body, Program, ToolBucket, Verdict};
use crate::regex::{NfaCompiler, PatternSet};

impl Program {
    /// Makes all parts at once, but for the states of automata, which texts bring about, what functions search for, and the
    /// clauses as explanations show them.
    /// For workers that want no slow first call, and the off switch of making parts late, for tests.
    pub fn prepare_all(&self) {
        for rule in 0..self.rules.len() as u32 {
            let _ = self.rule(rule);
        }
        let compiler = NfaCompiler::default();
        let buckets = || {
            let tools = self.tools.values().map(|bucket| (bucket, true));
            tools.chain([(&self.generic, false)])
        };
        let mut uses = vec![0; self.clauses.len()];
        for (bucket, _) in buckets() {
            self.each_use(bucket, |_, clause| {
                if let Some(uses) = uses.get_mut(clause as usize) {
                    *uses += 1;
                }
            });
        }
        let others: Vec<u32> = (0..)
            .zip(&uses)
            .filter_map(|(clause, uses)| (*uses == 0).then_some(clause))
            .collect();
        for (bucket, tool_known) in buckets() {
            self.prepare_bucket(bucket, tool_known, (&mut uses, &compiler));
        }
        for clause in others {
            self.prepare_clause(clause, &compiler);
            self.forget_expression(clause);
        }
    }

    /// Makes the index of a bucket, its searches, and the clauses of its rules; `uses` are those in this bucket and later
    /// ones.
    ///
    /// PERF: the expression of a pattern is dropped with its last use, so that the next one takes its memory.
    fn prepare_bucket(
        &self,
        bucket: &ToolBucket,
        tool_known: bool,
        (uses, compiler): (&mut [u32], &NfaCompiler),
    ) {
        let rule_index = self.indexed(bucket, tool_known);
        self.prepare_searches(rule_index, compiler);
        let decided = self.decided_by_sets(rule_index);
        self.each_use(bucket, |rule, clause| {
            if decided.get(&clause).is_none_or(|first| rule < *first) {
                self.prepare_clause(clause, compiler);
            }
            if let Some(uses) = uses.get_mut(clause as usize) {
                *uses -= 1;
                if *uses == 0 {
                    self.forget_expression(clause);
                }
            }
        });
    }

    /// Calls `visit` with each rule of a bucket and each clause of its match.
    fn each_use(&self, bucket: &ToolBucket, mut visit: impl FnMut(u32, u32)) {
        let (from, to) = bucket.rules;
        let rules = self.listed.get(from as usize..to as usize);
        for &rule in rules.unwrap_or_default() {
            if let Some(Body::Match(body)) = self.rules.get(rule as usize).map(|rule| &rule.body) {
                self.written(body).leaves(&mut |clause| visit(rule, clause));
            }
        }
    }

    /// The patterns that the sets of a rule index decide on, each with the first rule for which they do.
    ///
    /// A path is read before the first rule that it can find is evaluated, and what its set finds or does not find is
    /// remembered. PERF: the automaton that searches one pattern by itself takes 2.8 KiB.
    fn decided_by_sets(&self, rule_index: &RuleIndex) -> HashMap<u32, u32, Keyed> {
        let mut decided = HashMap::default();
        for path_index in &rule_index.path_indexes {
            let group = path_index.patterns.as_ref();
            let Some(group) = group.filter(|group| group.members.len() <= REMEMBERED) else {
                continue;
            };
            let set = self.patterns_of(group);
            for (at, (clause, _)) in group.members.iter().enumerate() {
                if set.answers(at) {
                    decided.insert(*clause, path_index.first);
                }
            }
        }
        decided
    }

    /// Makes what the first evaluation of a clause would make.
    fn prepare_clause(&self, clause: u32, compiler: &NfaCompiler) {
        match self.lynx_test(clause) {
            Some(test) => test.prepare(compiler),
            None => self.test(clause).prepare(compiler),
        }
    }

    fn forget_expression(&self, clause: u32) {
        if let Some(pattern) = self.pattern(clause) {
            pattern.forget_expression();
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
            let derived = path_index.derived.iter();
            let derived = derived.flat_map(|derived| derived.each_index());
            for substrings in derived.filter_map(|index| index.substrings.as_ref()) {
                substrings.prepare();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::test_policies::{denials, leaf};
    use crate::regex::Pattern;

    fn search(pattern: String) -> Value {
        leaf("args.query", "matches", json!(pattern))
    }

    /// Of the patterns of a policy with these matches: how many have an automaton of their own, and how many keep their
    /// expressions.
    fn prepared(matches: impl Iterator<Item = Value>) -> (usize, usize) {
        let program = denials(matches);
        program.prepare_all();
        let clauses = 0..program.clauses.len() as u32;
        let patterns: Vec<_> = clauses
            .filter_map(|clause| program.pattern(clause))
            .collect();
        let count =
            |has: fn(&Pattern) -> bool| patterns.iter().filter(|pattern| has(pattern)).count();
        (
            count(Pattern::has_automaton),
            count(Pattern::keeps_expression),
        )
    }

    fn pair(number: usize) -> [Value; 2] {
        [
            search(format!("drop.*t{number}x")),
            search(format!("delete.*t{number}x")),
        ]
    }

    #[test]
    fn patterns_that_a_set_decides_on_have_no_automaton_of_their_own() {
        let conjuncts = (0..20).map(|number| {
            json!({"k": "all", "items": [search(format!("drop.*t{number}x")), leaf("args.mode", "eq", json!("w"))]})
        });
        assert_eq!(prepared(conjuncts), (0, 0));
        let either = (0..10).map(|number| json!({"k": "any", "items": pair(number)}));
        assert_eq!(prepared(either), (0, 0));
    }

    #[test]
    fn patterns_of_rules_that_are_found_before_the_set_searches_have_one() {
        let [one, _] = pair(1);
        // Found by the mode, before the query is read for the others.
        let items = [
            leaf("args.mode", "eq", json!("w")),
            json!({"k": "not", "item": one}),
        ];
        let first = json!({"k": "all", "items": items});
        let others = (1..12).map(|number| json!({"k": "any", "items": pair(number)}));
        let rules = [first].into_iter().chain(others);
        assert_eq!(prepared(rules), (1, 0));
    }

    #[test]
    fn a_pattern_that_stands_alone_has_an_automaton_and_no_expression() {
        let rules = (0..2).map(|number| search(format!("drop.*t{number}x")));
        assert_eq!(prepared(rules), (2, 0));
    }
}
