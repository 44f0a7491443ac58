//! The policies as one tool meets them.

use super::Analysis;
use super::budget::{Budget, Reason, Stop};
use super::dd::Dd;
use super::lazy::Lane;
use super::policy::{Ends, Policy, Section};
use super::space::{Space, Theory};

/// Some policies as one tool meets them.
pub(super) struct View<'a> {
    pub(super) space: Space<'a>,
    pub(super) policies: Vec<&'a Policy>,
    /// The rules of each that can matter.
    pub(super) rules: Vec<Vec<u32>>,
    /// The fewest rules for which a diagram of all of them may be too large.
    pub(super) many: usize,
}

/// The parts of an analysis that a view borrows.
pub(super) struct Parts<'a> {
    pub(super) policies: &'a [Policy],
    pub(super) theory: &'a Theory,
    pub(super) budget: &'a Budget,
    pub(super) tools: &'a [String],
    many: usize,
}

impl Analysis {
    pub(super) fn parts<'a>(&'a self, tools: &'a [String]) -> Parts<'a> {
        Parts {
            policies: &self.policies,
            theory: &self.theory,
            budget: &self.budget,
            tools,
            many: self.many,
        }
    }
}

impl<'a> View<'a> {
    /// The policies with these numbers, for a tool; `None`: for any that is not named.
    /// `first`: the policies whose first rule is read, too, whatever tool it is about.
    pub(super) fn new(
        parts: Parts<'a>,
        numbers: &[usize],
        (tool, first): (Option<&str>, &[usize]),
    ) -> Self {
        let policies: Vec<&'a Policy> = numbers
            .iter()
            .filter_map(|number| parts.policies.get(*number))
            .collect();
        let rules: Vec<Vec<u32>> = policies.iter().map(|policy| policy.rules(tool)).collect();
        let mut space = Space::new(
            (tool.map(str::to_owned), parts.tools),
            parts.theory.clone(),
            parts.budget,
        );
        let read: Vec<(&'a Policy, &[u32])> = policies
            .iter()
            .copied()
            .zip(rules.iter().map(Vec::as_slice))
            .collect();
        let first = first
            .iter()
            .filter_map(|number| parts.policies.get(*number));
        let first = first.map(|policy| (policy, &[0_u32][..]));
        let all: Vec<(&'a Policy, &[u32])> = read.into_iter().chain(first).collect();
        space.read(&all);
        Self {
            space,
            policies,
            rules,
            many: parts.many,
        }
    }

    /// Makes the atoms of all rules, those of the policies in turn.
    pub(super) fn interleave(&mut self) -> Result<(), Stop> {
        let most = self.rules.iter().map(Vec::len).max().unwrap_or(0);
        for at in 0..most {
            for (policy, rules) in self.policies.iter().zip(&self.rules) {
                if let Some(&rule) = rules.get(at) {
                    self.space.matched(policy, rule)?;
                }
            }
        }
        Ok(())
    }

    /// The ways of each policy to decide; `None`: some rule is no match.
    pub(super) fn lanes(&mut self) -> Result<Option<Vec<Lane<'a>>>, Stop> {
        let all = self.policies.iter().zip(&self.rules);
        let lanes: Option<Vec<Lane<'a>>> = all
            .map(|(policy, rules)| Lane::new(policy, rules))
            .collect();
        if lanes.is_some() {
            self.interleave()?;
        }
        Ok(lanes)
    }

    /// The ways of the only policy, if it has so many rules that a diagram of all of them may be too large.
    pub(super) fn long_lane(&mut self) -> Result<Option<Lane<'a>>, Stop> {
        match self.rules.first() {
            Some(rules) if rules.len() >= self.many => {
                Ok(self.lanes()?.and_then(|mut all| all.pop()))
            }
            _ => Ok(None),
        }
    }

    /// The decisions of all policies of the view.
    pub(super) fn decisions(&mut self, ends: &mut Ends) -> Result<Vec<Dd>, Stop> {
        self.interleave()?;
        let mut decisions = Vec::new();
        for (policy, rules) in self.policies.iter().zip(&self.rules) {
            decisions.push(self.space.policy(policy, rules, ends)?);
        }
        Ok(decisions)
    }
}

impl<'a> Space<'a> {
    /// The end of each request by a policy, of which only some rules matter.
    pub(super) fn policy(
        &mut self,
        policy: &'a Policy,
        rules: &[u32],
        ends: &mut Ends,
    ) -> Result<Dd, Stop> {
        if let Some(layers) = policy.program.layers() {
            return self.layered((policy, layers), rules, ends);
        }
        let whole = Section {
            defaults: policy.program.defaults(),
        };
        self.decision((policy, whole), rules, ends)
    }
}

/// The reason for which an end is not known.
pub(super) fn unknown_end(code: &'static str, policy: Option<usize>, rule: Option<u32>) -> Reason {
    Reason {
        policy,
        rule,
        ..Reason::new(
            code,
            match code {
                "transform" => "the rules that outrank a transform decide on the new arguments",
                "host_rule" => "a host rule can decide",
                "function_rule" => "a Python rule can decide",
                "layers" => "layers of which one rewrites the arguments",
                _ => "the evaluator knows the verdict",
            },
        )
    }
}
