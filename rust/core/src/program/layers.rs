//! Decisions of a policy with layers: `docs/reference/layers.md` is the contract.

use crate::ir::layers::Layers;
use crate::lang::Verdict;
use crate::program::{
    DecidedBy, FunctionDecision, MISSING_SHADOW, Marker, NO_MATCH, TransformStep,
};
use crate::value::request::Request;

/// The verdict of one layer.
#[derive(Debug)]
pub struct Opinion<D> {
    /// The layer.
    pub layer: u32,
    /// Its verdict.
    pub verdict: Verdict,
    /// What decided.
    pub decided: DecidedBy<D>,
}

/// The decision of a policy with layers.
#[derive(Debug)]
pub struct LayeredOutcome<R: Request> {
    /// The layer that decides: the first with the verdict of the decision.
    pub deciding: Opinion<R::Decision>,
    /// The layers that require an approval too.
    pub also: Vec<Opinion<R::Decision>>,
    /// Other rules of which the obligations hold for the call, if it is permitted: each with the decision of its function.
    pub obliging: Vec<(u32, Option<FunctionDecision>)>,
    /// The approvals that hold for all these layers, if there are several.
    pub approvals: Option<Approvals>,
    /// Two layers of which no decision satisfies both: the decision is `deny`.
    pub conflict: Option<Conflict>,
    /// The rules skipped in error, in the order of evaluation, each once.
    pub markers: Vec<Marker>,
    /// The transforms of all layers, in the order they were made, without that of the deciding rule.
    pub transforms: Vec<TransformStep<R::Decision>>,
    /// The request with the effective arguments, when a transform was made.
    pub transformed: Option<Box<R>>,
}

impl<R: Request> LayeredOutcome<R> {
    /// The rules that take part, the deciding one last, each with the decision of its function.
    pub fn rules(&self) -> impl Iterator<Item = (u32, Option<&FunctionDecision>)> {
        let others = self.obliging.iter();
        let others = others.map(|(rule, function)| (*rule, function.as_ref()));
        let transforms = self.transforms.iter();
        let transforms = transforms.map(|step| (step.rule, step.origin.function()));
        let opinions = self.also.iter().chain([&self.deciding]);
        let opinions = opinions.filter_map(|opinion| opinion.decided.rule_and_function());
        others.chain(transforms).chain(opinions)
    }

    /// Returns true if the decision is that of the deciding layer alone.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.also.is_empty()
            && self.obliging.is_empty()
            && self.markers.is_empty()
            && self.transforms.is_empty()
            && self.transformed.is_none()
            && self.conflict.is_none()
    }
}

/// The reason and the marker of a default of a layer.
#[must_use]
pub fn layer_default(layer: &str, missing_shadow: bool) -> (String, String) {
    let (reason, name) = match missing_shadow {
        true => (MISSING_SHADOW, "on_missing_shadow"),
        false => (NO_MATCH, "on_no_match"),
    };
    (
        format!("{reason} of layer `{layer}`"),
        format!("{layer}:<default:{name}>"),
    )
}

/// Two layers of which no decision satisfies both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// The first would change the arguments that the second has rewritten.
    Arguments(u32, u32),
    /// No choice of approvers satisfies both.
    Approvals(u32, u32),
}

impl Conflict {
    /// The reason and the marker of the decision.
    #[must_use]
    pub fn texts(self, layers: &Layers) -> (String, String) {
        let (first, second, reason) = match self {
            Self::Arguments(first, second) => (first, second, "rewrite the arguments differently"),
            Self::Approvals(first, second) => {
                (first, second, "require approvals that exclude each other")
            }
        };
        let (first, second) = (layers.name(first), layers.name(second));
        (
            format!("layers `{first}` and `{second}` {reason}; denied"),
            format!("<layer_conflict:{first}:{second}>"),
        )
    }
}

/// Approvals that several layers require.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approvals {
    /// Who may approve, each once; empty: anyone.
    pub approvers: Vec<String>,
    /// How many of them must.
    pub needed: u32,
}

impl Approvals {
    /// Approvals that hold for this requirement and for another one, each counted alone.
    ///
    /// Of the people that both accept, as many as the stricter one needs. If there are too few of these, so many of all
    /// that any choice has enough for each. `None` if there is no such number.
    #[must_use]
    pub fn and(&self, other: &Self) -> Option<Self> {
        let needed = self.needed.max(other.needed);
        let within = |approvers: Vec<String>| {
            let enough = needed as usize <= approvers.len();
            enough.then_some(Self { approvers, needed })
        };
        match (self.approvers.as_slice(), other.approvers.as_slice()) {
            ([], []) => {
                return Some(Self {
                    approvers: Vec::new(),
                    needed,
                });
            }
            ([], some) | (some, []) => return within(some.to_vec()),
            (..) => {}
        }
        let shared = self.approvers.iter();
        let shared = shared.filter(|name| other.approvers.contains(name));
        if let Some(both) = within(shared.cloned().collect()) {
            return Some(both);
        }
        let mut all = self.approvers.clone();
        let others = other.approvers.iter();
        all.extend(
            others
                .filter(|name| !self.approvers.contains(name))
                .cloned(),
        );
        let missing = |one: &Self| one.needed as usize + all.len() - one.approvers.len();
        let needed = missing(self).max(missing(other));
        (needed <= all.len()).then_some(Self {
            needed: needed as u32,
            approvers: all,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Approvals;

    fn approvals(names: &str, needed: u32) -> Approvals {
        Approvals {
            approvers: names.chars().map(String::from).collect(),
            needed,
        }
    }

    /// Every choice of approvers that passes passes for each requirement alone.
    #[test]
    fn joint_approvals_hold_for_each_requirement() {
        let lists = ["", "a", "ab", "bc", "abc", "cd", "d"];
        let all = lists.iter().flat_map(|names| {
            let most = if names.is_empty() {
                2
            } else {
                names.len() as u32
            };
            (1..=most).map(|needed| approvals(names, needed))
        });
        let all: Vec<Approvals> = all.collect();
        let passes = |one: &Approvals, chosen: &[String]| {
            let fit = |name: &&String| one.approvers.is_empty() || one.approvers.contains(name);
            chosen.iter().filter(fit).count() >= one.needed as usize
        };
        for (left, right) in all
            .iter()
            .flat_map(|left| all.iter().map(move |right| (left, right)))
        {
            let both = left.and(right);
            for bits in 0..32_u32 {
                let chosen = ["a", "b", "c", "d", "e"].iter().enumerate();
                let chosen = chosen.filter(|(at, _)| bits & (1 << at) != 0);
                let chosen: Vec<String> = chosen.map(|(_, name)| (*name).to_owned()).collect();
                if both.as_ref().is_some_and(|both| passes(both, &chosen)) {
                    assert!(passes(left, &chosen), "{left:?} {right:?} {chosen:?}");
                    assert!(passes(right, &chosen), "{left:?} {right:?} {chosen:?}");
                }
            }
            assert_eq!(both.is_some(), right.and(left).is_some());
        }
    }
}
