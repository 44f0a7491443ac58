//! Making at once what requests otherwise have made when they first need it.

use crate::matcher::Test;
use crate::pattern::PatternSet;
use crate::program::segment::{PatternGroup, Segment};
use crate::program::{Body, Program, Verdict};

impl Program {
    /// Makes all parts at once, but for the states of automata, which texts bring about, and what functions search for.
    /// For workers that want no slow first call, and the off switch of making parts late, for tests.
    pub fn prepare_all(&self) {
        for rule in 0..self.rules.len() as u32 {
            let _ = self.rule(rule);
        }
        for clause in 0..self.clauses.len() as u32 {
            let _ = self.clause(clause);
            match self.test(clause) {
                Test::Matches(search) => search.prepare(),
                Test::Contains(needles, _) => needles.prepare(),
                _ => {}
            }
        }
        for listing in self.tools.values() {
            self.prepare_searches(self.indexed(listing, true));
        }
        self.prepare_searches(self.generic());
    }

    /// Whether rule `rule` decides alike whenever it fires: it is no callable, no function, and transforms nothing.
    #[must_use]
    pub fn decides_alike(&self, rule: u32) -> bool {
        let rule = self.rules.get(rule as usize);
        rule.is_some_and(|rule| {
            matches!(rule.body, Body::Match(_)) && rule.verdict != Verdict::Transform
        })
    }

    /// What searches the patterns of a group.
    #[inline]
    pub(crate) fn patterns_of<'g>(&self, group: &'g PatternGroup) -> &'g PatternSet {
        group.set.get_or_init(|| {
            let patterns = group.members.iter();
            let patterns = patterns.filter_map(|(clause, _)| match self.test(*clause) {
                Test::Matches(search) => Some(&search.pattern),
                _ => None,
            });
            PatternSet::build(&patterns.collect::<Vec<_>>())
        })
    }

    fn prepare_searches(&self, segment: &Segment) {
        let vetoes = segment.veto.iter().flat_map(|veto| &veto.probes);
        for probe in segment.probes.iter().chain(&segment.late).chain(vetoes) {
            if let Some(group) = &probe.patterns {
                self.patterns_of(group).prepare();
            }
            if let Some(needles) = &probe.needles {
                needles.prepare();
            }
        }
    }
}
