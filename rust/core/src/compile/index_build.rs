//! Building the index of the rules that one tool can meet: by guard. Built for the first request that needs it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::builder::Builder;
use super::guard::{self, Guards};
use super::{guard_selection, reorder};
use crate::clause::flat_expr::Part;
use crate::clause::ops::IndexKey;
use crate::index::exclusion::{AT_ONCE, ExclusionIndex};
use crate::index::packed_rules::{PackedRules, RowClause, RowSpec};
use crate::index::{DENSE, RuleIndex, postings};
use crate::program::{Body, Profile, Program, ToolBucket, Verdict};
use crate::pyfn::trigger::Trigger;

/// Rule indexes of fewer rules are evaluated rule by rule: an index would cost more than it saves.
const SMALL: usize = 4;

/// Up to this many rules are evaluated rule by rule if the first tests of all but a few are cheap, and few are about one path.
const WALKED: usize = 16;

/// The cost of the dearest test that is cheap.
const CHEAP: u32 = 6;

/// The cost of finding rules by the value at one path. PERF: a test of equality takes 18 ns, this 70.
const FOUND: u32 = 4;

/// Up to this many generic rules are repeated in the rows of each tool. PERF: two lists that are walked at
/// once take a queue, 400 instructions.
const COPIED: usize = 8;

impl Program {
    /// The rules of `tool` only, and their index; `None` without such rules.
    #[inline]
    pub(crate) fn tool_index(&self, tool: &str) -> Option<&RuleIndex> {
        self.tools
            .get(tool)
            .map(|bucket| self.indexed(bucket, true))
    }

    /// The generic rules, and their index.
    #[inline]
    pub(crate) fn generic(&self) -> &RuleIndex {
        self.indexed(&self.generic, false)
    }

    #[inline]
    pub(super) fn indexed<'p>(&'p self, bucket: &'p ToolBucket, tool_known: bool) -> &'p RuleIndex {
        match bucket.rule_index.get() {
            Some(rule_index) => rule_index,
            None => self.index_once(bucket, tool_known),
        }
    }

    #[cold]
    fn index_once<'p>(&'p self, bucket: &'p ToolBucket, tool_known: bool) -> &'p RuleIndex {
        bucket
            .rule_index
            .get_or_init(|| Box::new(self.index(bucket, tool_known)))
    }

    fn index(&self, bucket: &ToolBucket, tool_known: bool) -> RuleIndex {
        let mut rule_index = self.found(bucket, tool_known);
        if !rule_index.is_plain() && !rule_index.dense {
            return rule_index;
        }
        let mut rules = Cow::Borrowed(rule_index.rules.as_slice());
        if tool_known && rule_index.is_plain() {
            let any = self.generic();
            rule_index.complete = any.is_plain() && any.rules.len() <= COPIED;
            if rule_index.complete && !any.rules.is_empty() {
                rules.to_mut().extend(&any.rules);
                rules.to_mut().sort_unstable();
            }
        }
        let rows = rules.iter().filter_map(|&rule| self.row(rule));
        rule_index.packed_rules = PackedRules::new(rows, |clause| self.row_clause(clause));
        rule_index
    }

    /// The row of a rule.
    fn row(&self, index: u32) -> Option<RowSpec<'_>> {
        let rule = self.rules.get(index as usize)?;
        let words = match &rule.body {
            Body::Match(body) => body.reordered.get(),
            Body::Host(_) | Body::Function(_) => None,
        };
        Some(RowSpec {
            rule: index,
            permits: rule.verdict.permits(),
            transforms: rule.verdict == Verdict::Transform,
            words: words.map_or(&[], AsRef::as_ref),
        })
    }

    fn row_clause(&self, index: u32) -> RowClause {
        let clause = self.clauses.get(index as usize);
        RowClause {
            clause: index,
            path: clause.map_or(u32::MAX, |clause| clause.path),
            test: self.indexed_clause(index).inline(),
        }
    }

    fn found(&self, bucket: &ToolBucket, tool_known: bool) -> RuleIndex {
        let (from, to) = bucket.rules;
        let rules = self
            .listed
            .get(from as usize..to as usize)
            .unwrap_or_default();
        let words = match self.profile {
            Profile::Strict => reorder::reorder,
            Profile::Lynx => reorder::without_tool,
        };
        for &rule in rules {
            if let Some(Body::Match(body)) = self.rules.get(rule as usize).map(|rule| &rule.body) {
                body.reordered
                    .get_or_init(|| words(self, self.written(body), tool_known));
            }
        }
        if rules.len() < SMALL || self.walks(rules) {
            let dense = rules.len() <= DENSE;
            return RuleIndex {
                rules: rules.to_vec(),
                dense,
                always: match dense {
                    true => postings(
                        u64::MAX
                            .checked_shr((DENSE - rules.len()) as u32)
                            .unwrap_or(0),
                    ),
                    false => (0, rules.len() as u32),
                },
                ..RuleIndex::default()
            };
        }
        self.guarded(rules, tool_known)
    }

    /// Returns true if these rules are evaluated rule by rule although they are more than a few: their first tests are
    /// cheap, all but some, and no index lists them, or they cost no more together than to find rules at their paths.
    fn walks(&self, rules: &[u32]) -> bool {
        if rules.len() > WALKED {
            return false;
        }
        let (mut total, mut dear, mut unlisted) = (0, 0, 0);
        let mut paths = BTreeSet::new();
        for &rule in rules {
            let Some(Body::Match(body)) = self.rules.get(rule as usize).map(|rule| &rule.body)
            else {
                dear += 1;
                continue;
            };
            let first = reorder::first(self.reordered(body));
            let cost = first.map_or(0, |first| reorder::cost(self, first));
            let listed = match first {
                Some(Part::Leaf(clause)) => match self.indexed_clause(clause).key() {
                    IndexKey::Scan => None,
                    _ => self.clauses.get(clause as usize),
                },
                Some(Part::Of(..)) | None => None,
            };
            match listed {
                _ if cost > CHEAP => dear += 1,
                Some(clause) => {
                    total += cost;
                    paths.insert(clause.path);
                }
                None => unlisted += 1,
            }
        }
        dear < SMALL && (unlisted >= SMALL || total <= FOUND * paths.len() as u32)
    }

    fn guarded(&self, rules: &[u32], tool_known: bool) -> RuleIndex {
        let matches: Vec<(u32, Option<Part<'_>>)> = rules
            .iter()
            .map(|&rule| {
                let body = self.rules.get(rule as usize).map(|rule| &rule.body);
                match body {
                    Some(Body::Match(body)) => (rule, Some(self.written(body))),
                    Some(Body::Host(_) | Body::Function(_)) | None => (rule, None),
                }
            })
            .collect();
        let exprs: Vec<Part<'_>> = matches.iter().filter_map(|(_, expr)| *expr).collect();
        let guards = Guards::new(self, tool_known, &exprs);
        let mut always = Vec::new();
        let mut builder = Builder::new(self);
        let all = matches
            .iter()
            .map(|(_, expr)| expr.map_or_else(Vec::new, |expr| guards.all(expr)));
        let chosen = guard_selection::choose(self, all.collect());
        for ((rule, expr), guard) in matches.into_iter().zip(chosen) {
            if let Some(triggers) = self.triggers(rule) {
                builder.trigger(rule, triggers);
                continue;
            }
            match expr.zip(guard) {
                Some((expr, guard)) => builder.add(rule, expr, &guard),
                None => always.push(rule),
            }
        }
        let exclusion = self.exclusion(&always);
        let dense = exclusion.is_none() && rules.len() <= DENSE;
        let mut rule_index = builder.finish(always, dense.then_some(rules));
        rule_index.exclusion = exclusion;
        rule_index
    }

    /// Returns the triggers of a function rule.
    fn triggers(&self, rule: u32) -> Option<&[Trigger]> {
        match &self.rules.get(rule as usize)?.body {
            Body::Function(function) => function.triggers.as_deref(),
            Body::Match(_) | Body::Host(_) => None,
        }
    }

    /// Builds the exclusion index of the rules that are evaluated every time. `None`: these rules are few, or no clause
    /// excludes any.
    fn exclusion(&self, always: &[u32]) -> Option<Box<ExclusionIndex>> {
        if always.len() <= 2 * AT_ONCE {
            return None;
        }
        let mut builder = Builder::exact(self);
        let mut some = false;
        for (place, &rule) in (0..).zip(always).skip(AT_ONCE) {
            if let Some(Body::Match(body)) = self.rules.get(rule as usize).map(|rule| &rule.body) {
                let clauses = guard::exclusions(self.reordered(body), self.profile);
                some |= !clauses.is_empty();
                builder.add_exclusion(place, clauses);
            }
        }
        some.then(|| Box::new(builder.finish_exclusion(always.len())))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::test_policies::{denials, leaf};

    /// The paths that are read to find the rules with these matches.
    fn read(matches: impl IntoIterator<Item = Vec<Value>>) -> Vec<String> {
        let all = |items| json!({"k": "all", "items": items});
        let program = denials(matches.into_iter().map(all));
        let paths = program.generic().path_indexes.iter();
        let keys = paths.map(|index| {
            let path = program.paths.get(index.path as usize).expect("a path");
            let keys = path.keys.iter().map(|&id| program.key(id).text);
            keys.collect::<Vec<&str>>().join(".")
        });
        let mut keys: Vec<String> = keys.collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn rules_are_found_by_what_few_requests_pass() {
        let named = (0..20).map(|number| {
            let kind = ["user", "agent", "service"][number % 3];
            let who: Vec<String> = (0..6).map(|more| format!("u-{number}-{more}")).collect();
            vec![
                leaf("context.principal.kind", "eq", json!(kind)),
                leaf("context.principal.id", "in", json!(who)),
            ]
        });
        assert_eq!(read(named), ["principal.id"]);
        let flagged = (0..20).map(|number| {
            vec![
                leaf("declared.reversible", "eq", json!(true)),
                leaf(
                    "context.workspace",
                    "matches",
                    json!(format!("/area-{number}/")),
                ),
            ]
        });
        assert_eq!(read(flagged), ["workspace"]);
    }

    #[test]
    fn no_path_is_read_that_the_others_make_needless() {
        let mixed = (0..20).map(|number| {
            let place = leaf("context.workspace", "eq", json!(format!("/area-{number}")));
            let step = leaf("context.step_seq", "eq", json!(number));
            let who = leaf("context.principal.id", "eq", json!(format!("u-{number}")));
            match number % 4 {
                0 => vec![place],
                1 => vec![step, place],
                2 => vec![who, place],
                _ => vec![who, step, place],
            }
        });
        assert_eq!(read(mixed), ["workspace"]);
    }

    #[test]
    fn rules_are_found_by_what_lets_few_of_them_through() {
        let scope = |number| {
            leaf(
                "declared.scope",
                "contains",
                json!(format!("s{}", number % 20)),
            )
        };
        let bounds = |from: usize, to: usize| leaf("args.n", "between", json!([from, to]));
        let chosen = |of: &dyn Fn(usize) -> Value| {
            read((0..200).map(|number| vec![scope(number), of(number)])).concat()
        };
        assert_eq!(
            chosen(&|number| leaf("args.n", "gt", json!(number))),
            "scope"
        );
        assert_eq!(chosen(&|number| bounds(number, number + 150)), "scope");
        assert_eq!(chosen(&|number| bounds(number, number + 1)), "n");
        let each = |number: usize| json!({"tests": [{"op": "gt", "operand": number}]});
        assert_eq!(
            chosen(&|number| leaf("args.n", "length", each(number))),
            "scope"
        );
    }

    #[test]
    fn rules_are_walked_where_an_index_would_read_as_many_paths() {
        let rules = |paths: usize, of: &dyn Fn(&str, usize) -> Value| {
            read((0..8).map(|number| vec![of(&format!("args.a{}", number % paths), number)]))
        };
        let equal = |path: &str, number| leaf(path, "eq", json!(number));
        assert_eq!(rules(1, &equal), ["a0"]);
        assert_eq!(rules(2, &equal), Vec::<String>::new());
        let several = |path: &str, number| {
            let texts: Vec<String> = (0..8).map(|more| format!("{number}-{more}")).collect();
            leaf(path, "in", json!(texts))
        };
        assert_eq!(rules(2, &several), ["a0", "a1"]);
        // No index lists fractions.
        let fractions = |path: &str, number| leaf(path, "in", json!([number as f64 + 0.5, 0.25]));
        assert_eq!(rules(1, &fractions), Vec::<String>::new());
    }

    #[test]
    fn few_patterns_are_listed_under_their_literals() {
        let listed = |patterns: [&str; 2]| {
            let clause = |op, text: &str| leaf("args.place", op, json!(text));
            // More rules than are walked without an index.
            let texts = (10..30).map(|number| clause("contains", &format!("/area-{number}/")));
            let program = denials(texts.chain(patterns.map(|text| clause("matches", text))));
            let paths = &program.generic().path_indexes;
            assert_eq!(paths.len(), 1);
            (paths[0].substrings.is_some(), paths[0].clauses.len())
        };
        assert_eq!(listed(["^/[^/]+/area-3/", "(^|/)area-4(/|$)"]), (true, 0));
        // A pattern without a literal is searched by itself.
        assert_eq!(listed(["^/[^/]+/area-3/", "^[a-z]+$"]), (true, 1));
    }

    /// A leaf about what is made from an argument.
    fn made(op: &str, test: Value) -> Value {
        leaf("args.list", op, json!({"tests": [test]}))
    }

    /// The tests of rules by their numbers.
    type Tests<'t> = &'t dyn Fn(usize) -> Value;

    #[test]
    fn rules_about_made_values_are_listed() {
        let test = |op: &str, operand: Value| json!({"op": op, "operand": operand});
        let text = |number: usize| json!(format!("v-{number}"));
        let pattern = |number: usize, pattern: &str| {
            let pattern = format!("^[a-z]{{{number}}}{pattern}");
            json!({"op": "matches", "operand": pattern, "dialect": "re2"})
        };
        let lower = |number| test("lower", json!({"tests": [test("eq", text(number))]}));
        let kinds: [(bool, &str, Tests<'_>); 8] = [
            (true, "lower", &|n| test("contains", text(n))),
            (true, "any", &|n| test("starts_with", text(n))),
            (true, "any", &lower),
            (true, "all", &|n| test("in", json!([text(n), n]))),
            (true, "first", &|n| test("eq", text(n))),
            (true, "any", &|n| pattern(n, "-release")),
            (false, "any", &|n| pattern(n, "[0-9]")),
            (false, "any", &|n| test("gt", json!(n))),
        ];
        let listed = |rules: Vec<Value>| {
            let program = denials(rules);
            let [path_index] = program.generic().path_indexes.as_slice() else {
                panic!("one path");
            };
            assert_eq!(path_index.derived.is_some(), path_index.clauses.is_empty());
            path_index.derived.is_some()
        };
        for (wanted, op, of) in kinds {
            let rules = (0..20).map(|number| made(op, of(number))).collect();
            assert_eq!(listed(rules), wanted, "{op} {}", of(0));
        }
        let subset = |n: usize| leaf("args.list", "subset_of", json!([text(n), n]));
        assert!(listed((0..20).map(subset).collect()));
    }

    #[test]
    fn clauses_that_most_values_pass_are_no_guards() {
        let not_in = |number| leaf("args.list", "not_in", json!([number, "a"]));
        let none = |number| made("none", json!({"op": "eq", "operand": number}));
        let none_or = |number| json!({"k": "any", "items": [none(number), not_in(number)]});
        for of in [&not_in as Tests<'_>, &none, &none_or] {
            let program = denials((0..20).map(of));
            assert!(program.generic().path_indexes.is_empty());
        }
    }

    #[test]
    fn equality_is_preferred_to_patterns() {
        let both = (0..20).map(|number| {
            vec![
                leaf("args.cmd", "matches", json!(format!("run.*{number}x"))),
                leaf("args.user", "eq", json!(format!("u-{number}"))),
            ]
        });
        assert_eq!(read(both), ["user"]);
    }
}
