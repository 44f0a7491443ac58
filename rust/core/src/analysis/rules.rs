//! What each rule of a policy does: decide, match, or neither, and which earlier rules take its calls.

use std::collections::{BTreeMap, BTreeSet};

use super::answer::{self, Object};
use super::budget::{Reason, Stop};
use super::culprits::taken;
use super::dd::TRUE;
use super::find::add;
use super::lazy::Lane;
use super::policy::{Ends, Policy};
use super::search::{Found, Goal};
use super::verify;
use super::view::{View, unknown_end};
use super::{Analysis, Asked};

/// What is known of one rule.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) decides: Option<String>,
    /// True if the search for a decision was not exact.
    pub(super) decides_unknown: bool,
    pub(super) matches: Option<String>,
    pub(super) matches_unknown: bool,
    /// True unless it is a transform, and none is known to be possible on a call that it matches.
    pub(super) applies: bool,
    pub(super) culprits: Vec<u32>,
    /// True if other rules may take calls, too.
    pub(super) more_culprits: bool,
    /// Rules that decide calls on the arguments that it makes.
    pub(super) overruling: BTreeSet<u32>,
    pub(super) reasons: Vec<Reason>,
}

impl Analysis {
    pub(super) fn rules(&mut self, policy: usize, asked: &mut Asked<'_>) -> String {
        let Some(of) = self.policies.get(policy) else {
            return answer(&[]);
        };
        let transforms = |rule: usize| of.change(rule as u32).is_some();
        let mut known: Vec<Known> = (0..of.program.rule_count())
            .map(|rule| Known {
                applies: !transforms(rule),
                ..Known::default()
            })
            .collect();
        let tools = asked.named.clone();
        for (done, tool) in asked.tools.clone().iter().enumerate() {
            let result = match asked.progress(done, tool.as_deref()) {
                Ok(()) => self.rules_of(policy, tool.as_deref(), &tools, &mut known),
                Err(stop) => Err(stop),
            };
            if let Err(stop) = result {
                let ends = matches!(stop, Stop::Seconds | Stop::Stopped | Stop::Internal(_));
                let rules = self
                    .policies
                    .get(policy)
                    .map(|of| of.rules(tool.as_deref()));
                let all = (0..known.len() as u32).collect();
                let rules = if ends { all } else { rules.unwrap_or_default() };
                for rule in rules {
                    if let Some(one) = known.get_mut(rule as usize) {
                        one.give_up(vec![stop.clone().into()]);
                    }
                }
                if ends {
                    break;
                }
            }
        }
        answer(&known)
    }

    /// The answer about a policy that is not analysed.
    pub(super) fn unknown_rules(&self, policy: usize, reasons: &[Reason]) -> String {
        let count = self
            .policies
            .get(policy)
            .map_or(0, |of| of.program.rule_count());
        let mut one = Known::default();
        one.give_up(reasons.to_vec());
        answer(&vec![one; count])
    }

    fn rules_of(
        &mut self,
        number: usize,
        tool: Option<&str>,
        tools: &[String],
        known: &mut [Known],
    ) -> Result<(), Stop> {
        let open = |known: &[Known], rule: u32| {
            known
                .get(rule as usize)
                .is_some_and(|one| one.decides.is_none())
        };
        let rules = match self.policies.get(number) {
            Some(of) => of.rules(tool),
            None => return Ok(()),
        };
        if !rules.iter().any(|rule| open(known, *rule)) {
            return Ok(());
        }
        let mut view = View::new(self.parts(tools), &[number], (tool, &[]));
        if let Some(mut lane) = view.long_lane()? {
            return long_rules(&mut view, &mut lane, &rules, known);
        }
        let mut ends = Ends::default();
        let decisions = view.decisions(&mut ends)?;
        let (Some(&decision), Some(&policy)) = (decisions.first(), view.policies.first()) else {
            return Ok(());
        };
        let reached = view.space.dd.terminals(decision);
        for (place, &rule) in rules.iter().enumerate() {
            if !open(known, rule) {
                continue;
            }
            view.space.budget.check()?;
            let mut one = known.get(rule as usize).cloned().unwrap_or_default();
            let goals = Decides::new((number, policy), rule, &ends, &reached);
            let mut found = Found::Nothing;
            for goal in goals.iter().filter(|goal| !goal.ends.is_empty()) {
                let next = view.space.search(decision, goal, &mut |request| {
                    let decided = verify::decide(policy, request)?;
                    let is = !decided.asks_more && decided.rule == Some(rule);
                    Ok(is.then(|| request.to_owned()))
                });
                found = match (found, settled(next)?) {
                    (_, witness @ Found::Witness(_)) => witness,
                    (Found::Unknown(mut reasons), Found::Unknown(more)) => {
                        add(&mut reasons, more);
                        Found::Unknown(reasons)
                    }
                    (Found::Nothing, next) => next,
                    (found, _) => found,
                };
                if matches!(found, Found::Witness(_)) {
                    break;
                }
            }
            let earlier = rules.get(..place).unwrap_or_default();
            one.keep(found, &mut view, policy, (rule, earlier))?;
            if let Some(slot) = known.get_mut(rule as usize) {
                *slot = one;
            }
        }
        Ok(())
    }
}

impl Known {
    fn give_up(&mut self, reasons: Vec<Reason>) {
        if self.decides.is_none() {
            self.decides_unknown = true;
            self.applies = true;
            self.matches_unknown |= self.matches.is_none();
            add(&mut self.reasons, reasons);
        }
    }

    /// Takes note of the search for a decision; without one, looks for the rules that take the calls.
    fn keep<'a>(
        &mut self,
        found: Found<String>,
        view: &mut View<'a>,
        policy: &'a Policy,
        (rule, earlier): (u32, &[u32]),
    ) -> Result<(), Stop> {
        match found {
            Found::Witness(request) => {
                self.matches.get_or_insert_with(|| request.clone());
                self.decides = Some(request);
            }
            Found::Unknown(reasons) => {
                self.decides_unknown = true;
                add(&mut self.reasons, reasons);
            }
            Found::Nothing => taken(view, policy, (rule, earlier), self)?,
        }
        Ok(())
    }
}

/// A search ends with what is unknown, unless the whole question ends.
pub(super) fn settled<T>(found: Result<Found<T>, Stop>) -> Result<Found<T>, Stop> {
    match found {
        Err(stop @ (Stop::Seconds | Stop::Stopped | Stop::Internal(_))) => Err(stop),
        Err(stop) => Ok(Found::Unknown(vec![stop.into()])),
        found => found,
    }
}

/// The same of a long list of rules.
fn long_rules<'a>(
    view: &mut View<'a>,
    lane: &mut Lane<'a>,
    rules: &[u32],
    known: &mut [Known],
) -> Result<(), Stop> {
    let mut by_rule: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, way) in lane.ways.iter().enumerate() {
        if let Some(rule) = way.rule {
            by_rule.entry(rule).or_default().push(at);
        }
    }
    for (place, &rule) in rules.iter().enumerate() {
        let Some(one) = known
            .get_mut(rule as usize)
            .filter(|one| one.decides.is_none())
        else {
            continue;
        };
        view.space.budget.check()?;
        let mut found = Found::Nothing;
        for &way in by_rule.get(&rule).into_iter().flatten() {
            let next = view.space.taken(TRUE, &mut [(lane, way)], None);
            found = match settled(next)? {
                Found::Nothing => found,
                Found::Unknown(reasons) => Found::Unknown(reasons),
                Found::Witness((request, _)) => Found::Witness(request),
            };
            if matches!(found, Found::Witness(_)) {
                break;
            }
        }
        let earlier = rules.get(..place).unwrap_or_default();
        one.keep(found, view, lane.policy, (rule, earlier))?;
    }
    Ok(())
}

/// Ends that one rule decides.
#[derive(Default)]
struct Decides {
    ends: Vec<u32>,
    caveats: Vec<(u32, Reason)>,
}

impl Decides {
    /// The ends by a rule, those by its error last.
    fn new(
        (number, policy): (usize, &Policy),
        rule: u32,
        ends: &Ends,
        reached: &[u32],
    ) -> [Self; 2] {
        let content = policy.content.get(rule as usize).copied();
        let (mut fires, mut fails) = (Self::default(), Self::default());
        for &at in reached {
            let Some(end) = ends.get(at) else {
                continue;
            };
            // What follows a transform may be decided by a rule that outranks it.
            let through = end.unknown == Some("layers");
            if (end.rule == content && content.is_some()) || through {
                let found = if end.fails { &mut fails } else { &mut fires };
                found.ends.push(at);
                if let Some(code) = end.unknown {
                    let of = end.rule.and_then(|content| policy.rule_of(content));
                    found
                        .caveats
                        .push((at, unknown_end(code, Some(number), of)));
                }
            }
        }
        [fires, fails]
    }
}

impl Goal for Decides {
    fn wants(&self, terminal: u32) -> bool {
        self.ends.contains(&terminal)
    }

    fn caveat(&self, terminal: u32) -> Option<Reason> {
        let found = self.caveats.iter().find(|(at, _)| *at == terminal);
        found.map(|(_, reason)| reason.clone())
    }
}

fn answer(known: &[Known]) -> String {
    let items = (0_u32..).zip(known).map(|(index, one)| {
        let state = |witness: &Option<String>, unknown: bool| match (witness, unknown) {
            (Some(_), _) => "witness",
            (None, true) => "unknown",
            (None, false) => "none",
        };
        let decides = state(&one.decides, one.decides_unknown);
        let matches = state(&one.matches, one.matches_unknown || one.decides_unknown);
        let witness = one.decides.as_ref().or(one.matches.as_ref());
        let overruled = !one.overruling.is_empty();
        let culprits: Vec<u32> = match (decides, overruled, one.more_culprits) {
            ("none", true, _) => one.overruling.iter().copied().collect(),
            ("none", false, false) => one.culprits.clone(),
            _ => Vec::new(),
        };
        Object::new()
            .raw("index", &index.to_string())
            .text("decides", decides)
            .text("matches", matches)
            .flag("applies", one.applies)
            .flag("overruled", overruled)
            .raw("witness", witness.map_or("null", String::as_str))
            .raw(
                "culprits",
                &answer::list(culprits.iter().map(u32::to_string)),
            )
            .reasons(
                "reasons",
                if decides == "witness" {
                    &[]
                } else {
                    &one.reasons
                },
            )
            .finish()
    });
    Object::new().raw("rules", &answer::list(items)).finish()
}
