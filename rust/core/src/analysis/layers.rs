//! Policies with layers: each layer alone, then what combines them.

use crate::lang::Verdict;
use crate::program::{Approvals, Combine, Layers};
use crate::value::constant::Const;

use super::budget::Stop;
use super::dd::{Dd, FALSE, Operation, TRUE};
use super::policy::{End, Ends, Policy, Rank, Section};
use super::space::Space;
use super::transform::Changed;

/// The terminal of: no layer so far has an opinion.
const NOTHING: Dd = Dd::terminal(1 << 29);

/// A step of combining: the strictest so far, and the end of the next layer.
struct Step<'e> {
    id: u32,
    ends: &'e mut Ends,
    /// The end of what is not followed.
    lost: End,
    join: &'e dyn Fn(Option<&End>, &End) -> Joined,
}

/// The result of a step.
enum Joined {
    /// The best so far stays.
    Stays,
    /// Another end.
    Is(End),
    /// Only the evaluator knows.
    Lost,
}

impl Operation for Step<'_> {
    fn id(&self) -> u32 {
        self.id
    }

    fn known(&mut self, left: Dd, right: Dd) -> Option<Dd> {
        let next = self.ends.get(right.value()?)?.clone();
        let best = match left {
            NOTHING => None,
            best => Some(self.ends.get(best.value()?)?.clone()),
        };
        Some(match (self.join)(best.as_ref(), &next) {
            Joined::Stays => left,
            Joined::Is(end) => Dd::terminal(self.ends.number(end)),
            Joined::Lost => Dd::terminal(self.ends.number(self.lost.clone())),
        })
    }
}

/// Returns true for an end of which the rest is not followed: new arguments, or a rule that only the evaluator knows.
fn is_open(end: &End) -> bool {
    end.unknown.is_some() || (!end.transforms.is_empty() && end.verdict != Some(Rank::Deny))
}

/// Returns true if transforms among the rules of a layer, `own`, change what the other rules may read: one that has no
/// opinion on a call can have one on the new arguments.
fn changes_for_others(policy: &Policy, rules: &[u32], own: &[u32]) -> bool {
    let mut changed = Changed::default();
    for &rule in own {
        if let Some(change) = policy.change(rule) {
            changed = changed.with(change, policy.change_number(rule));
        }
    }
    let mut others = rules.iter().filter(|rule| !own.contains(rule));
    others.any(|rule| changed.touches(policy, *rule))
}

fn is_default(end: &End) -> bool {
    end.rule.is_none() && end.unknown.is_none()
}

/// The strictest opinion; of equal ones a rule comes before a default, then the first. Of several that require an
/// approval, that of the first layer decides. `is_before`: the layer of `next` is before that of a rule.
fn rank(best: Option<&End>, next: &End, is_before: &dyn Fn(u32) -> bool) -> Joined {
    let Some(best) = best else {
        return Joined::Is(next.clone());
    };
    if best.verdict == Some(Rank::Deny) {
        return Joined::Stays;
    }
    if is_open(best) || is_open(next) {
        return Joined::Lost;
    }
    let approves = best.verdict == Some(Rank::ApproveRequired);
    let named = best.verdict == next.verdict && !approves && is_default(best) && !is_default(next);
    if named || next.verdict < best.verdict {
        return Joined::Is(next.clone());
    }
    if approves && next.verdict == best.verdict {
        let (first, second) = match best.rule.is_some_and(is_before) {
            true => (next, best),
            false => (best, next),
        };
        let mut joint = first.clone();
        joint.also.extend(second.rule);
        joint.also.extend(&second.also);
        return Joined::Is(joint);
    }
    Joined::Stays
}

impl<'a> Space<'a> {
    /// The end of each request by a policy with layers.
    pub(super) fn layered(
        &mut self,
        (policy, layers): (&'a Policy, &Layers),
        rules: &[u32],
        ends: &mut Ends,
    ) -> Result<Dd, Stop> {
        let lost = End {
            verdict: None,
            rule: None,
            fails: false,
            transforms: vec![policy.whole],
            unknown: Some("layers"),
            also: Vec::new(),
        };
        let mut opinions = Vec::new();
        for layer in &layers.items {
            let own: Vec<u32> = rules
                .iter()
                .copied()
                .filter(|rule| (layer.rules.0..layer.rules.1).contains(rule))
                .collect();
            let section = Section {
                defaults: layer.defaults,
            };
            let mut opinion = self.decision((policy, section), &own, ends)?;
            if changes_for_others(policy, rules, &own) {
                opinion = self.without_changes(opinion, (&lost, ends))?;
            }
            opinions.push((layer, opinion));
        }
        let abstains = layers.combine != Combine::Strictest;
        let chooses = matches!(layers.combine, Combine::First | Combine::Last);
        let mut best = NOTHING;
        let mut decided = FALSE;
        if chooses {
            let ordinary = opinions.iter().filter(|(layer, _)| !layer.limits);
            let first = layers.combine == Combine::First;
            let choose = |best: Option<&End>, next: &End| match (best, is_default(next)) {
                (_, true) => Joined::Stays,
                (Some(_), false) if first => Joined::Stays,
                _ => Joined::Is(next.clone()),
            };
            for (_, opinion) in ordinary {
                best = self.step(best, *opinion, (&lost, ends), &choose)?;
            }
            decided = self.is_decided(best)?;
        }
        for (layer, opinion) in &opinions {
            if chooses && !layer.limits {
                continue;
            }
            let silent = abstains && !layer.limits;
            let is_before = |content: u32| {
                let rule = policy.rule_of(content);
                rule.is_some_and(|rule| layer.rules.1 <= rule)
            };
            let join = |best: Option<&End>, next: &End| match silent && is_default(next) {
                true => Joined::Stays,
                false => rank(best, next, &is_before),
            };
            if !layer.limits {
                let own = self.decides(*opinion, abstains, ends)?;
                decided = self.dd.choose(own, [TRUE, decided, decided])?;
            }
            best = self.step(best, *opinion, (&lost, ends), &join)?;
        }
        let mut with_default = best;
        for (layer, _) in opinions.iter().filter(|(layer, _)| !layer.limits) {
            let section = Section {
                defaults: layer.defaults,
            };
            let default = self.defaults(section, ends)?;
            let stricter = |best: Option<&End>, next: &End| match best {
                Some(best) if best.verdict == Some(Rank::Deny) => Joined::Stays,
                Some(best) if is_open(best) => Joined::Lost,
                Some(best) if next.verdict >= best.verdict => Joined::Stays,
                _ => Joined::Is(next.clone()),
            };
            with_default = self.step(with_default, default, (&lost, ends), &stricter)?;
        }
        let joined = self
            .dd
            .choose(decided, [best, with_default, with_default])?;
        self.joint(policy, joined, ends)
    }

    /// The ends of a layer whose new arguments other layers read: they are not followed.
    fn without_changes(
        &mut self,
        opinion: Dd,
        (lost, ends): (&End, &mut Ends),
    ) -> Result<Dd, Stop> {
        let id = self.dd.operation();
        self.dd.map(id, opinion, &mut |value| {
            let is_lost = ends.get(value).is_some_and(is_open);
            match is_lost {
                true => Dd::terminal(ends.number(lost.clone())),
                false => Dd::terminal(value),
            }
        })
    }

    fn step(
        &mut self,
        best: Dd,
        next: Dd,
        (lost, ends): (&End, &mut Ends),
        join: &dyn Fn(Option<&End>, &End) -> Joined,
    ) -> Result<Dd, Stop> {
        let mut step = Step {
            id: self.dd.operation(),
            ends,
            lost: lost.clone(),
            join,
        };
        self.dd.apply(&mut step, best, next)
    }

    fn is_decided(&mut self, best: Dd) -> Result<Dd, Stop> {
        let id = self.dd.operation();
        self.dd
            .map(id, best, &mut |value| match Dd::terminal(value) {
                NOTHING => FALSE,
                _ => TRUE,
            })
    }

    /// True where a layer has an opinion.
    fn decides(&mut self, opinion: Dd, abstains: bool, ends: &Ends) -> Result<Dd, Stop> {
        let id = self.dd.operation();
        self.dd.map(id, opinion, &mut |value| {
            let silent = ends.get(value).is_none_or(is_default);
            if abstains && silent { FALSE } else { TRUE }
        })
    }

    /// The ends with the approvals of all layers that require one: some exclude each other.
    fn joint(&mut self, policy: &Policy, of: Dd, ends: &mut Ends) -> Result<Dd, Stop> {
        let id = self.dd.operation();
        self.dd.map(id, of, &mut |value| {
            let Some(end) = ends.get(value).filter(|end| !end.also.is_empty()) else {
                return Dd::terminal(value);
            };
            let mut end = end.clone();
            let also = std::mem::take(&mut end.also);
            let mut joint = Some(approvals(policy, end.rule));
            for other in also {
                let other = approvals(policy, Some(other));
                joint = joint.and_then(|joint| joint.and(&other));
            }
            if joint.is_none() {
                end = End {
                    verdict: Some(Rank::from(Verdict::Deny)),
                    rule: None,
                    ..end
                };
            }
            Dd::terminal(ends.number(end))
        })
    }
}

/// The approvals that a rule requires, or a default.
fn approvals(policy: &Policy, content: Option<u32>) -> Approvals {
    let info = content
        .and_then(|content| policy.rule_of(content))
        .and_then(|rule| policy.program.rule(rule));
    let mut found = Approvals {
        approvers: Vec::new(),
        needed: info.map_or(1, |info| info.approvals_needed),
    };
    for name in info.into_iter().flat_map(|info| &info.approvers) {
        if let Const::Str(name) = name
            && !found.approvers.iter().any(|known| **known == **name)
        {
            found.approvers.push(name.to_string());
        }
    }
    found
}
