//! What policies permit, by tool.

use std::collections::BTreeMap;

use super::answer::{self, Object, name_of, quoted};
use super::budget::{Reason, Stop};
use super::dd::TRUE;
use super::find::{VERDICTS, add};
use super::lazy::Lane;
use super::policy::{Ends, Rank};
use super::search::{Found, Goal};
use super::verify;
use super::view::{View, unknown_end};
use super::{Analysis, Asked};

/// What one policy does with a tool.
#[derive(Debug, Default)]
struct Surface {
    answers: BTreeMap<Rank, &'static str>,
    witnesses: BTreeMap<Rank, String>,
    rules: BTreeMap<Rank, Vec<Option<u32>>>,
    reasons: Vec<Reason>,
}

/// Ends of some kind.
struct AnyOf {
    ends: Vec<u32>,
    caveats: Vec<(u32, Reason)>,
}

impl Goal for AnyOf {
    fn wants(&self, terminal: u32) -> bool {
        self.ends.contains(&terminal)
    }

    fn caveat(&self, terminal: u32) -> Option<Reason> {
        let found = self.caveats.iter().find(|(at, _)| *at == terminal);
        found.map(|(_, reason)| reason.clone())
    }
}

impl Analysis {
    pub(super) fn surface(&mut self, asked: &mut Asked<'_>) -> String {
        let tools = asked.named.clone();
        let (mut items, mut unknown) = (Vec::new(), Vec::new());
        for (done, tool) in asked.tools.clone().iter().enumerate() {
            if let Err(stop) = asked.progress(done, tool.as_deref()) {
                add(&mut unknown, vec![stop.into()]);
                break;
            }
            let mut surfaces = Vec::new();
            for policy in 0..self.policies.len() {
                let mut surface = Surface::default();
                if let Err(stop) = self.surface_of(policy, tool.as_deref(), &tools, &mut surface) {
                    for verdict in VERDICTS {
                        surface.answers.entry(verdict).or_insert("unknown");
                    }
                    add(&mut surface.reasons, vec![stop.into()]);
                }
                surfaces.push(written(&surface));
            }
            items.push(
                Object::new()
                    .raw("tool", &name_of(tool.as_deref()))
                    .raw("policies", &answer::list(surfaces))
                    .finish(),
            );
        }
        Object::new()
            .raw("tools", &answer::list(items))
            .reasons("unknown", &unknown)
            .finish()
    }

    fn surface_of(
        &mut self,
        number: usize,
        tool: Option<&str>,
        tools: &[String],
        surface: &mut Surface,
    ) -> Result<(), Stop> {
        let mut view = View::new(self.parts(tools), &[number], (tool, &[]));
        if let Some(mut lane) = view.long_lane()? {
            return long_surface(&mut view, &mut lane, surface);
        }
        let mut ends = Ends::default();
        let decisions = view.decisions(&mut ends)?;
        let (Some(&decision), Some(&policy)) = (decisions.first(), view.policies.first()) else {
            return Ok(());
        };
        let reached = view.space.dd.terminals(decision);
        for verdict in VERDICTS {
            let mut all = Vec::new();
            let mut caveats = Vec::new();
            for &at in &reached {
                let Some(end) = ends.get(at) else {
                    continue;
                };
                let rule = end.rule.and_then(|content| policy.rule_of(content));
                match end.unknown {
                    Some(code) => {
                        caveats.push((at, unknown_end(code, Some(number), rule)));
                        all.push((at, None));
                    }
                    None if end.verdict == Some(verdict) => all.push((at, Some(rule))),
                    None => {}
                }
            }
            // Each end by itself, so that every deciding rule is found.
            let mut found_rules = Vec::new();
            let mut open = false;
            for (at, rule) in all {
                let goal = AnyOf {
                    ends: vec![at],
                    caveats: caveats.clone(),
                };
                let found = view.space.search(decision, &goal, &mut |request| {
                    let decided = verify::decide(policy, request)?;
                    let by_end = rule.is_none_or(|rule| decided.rule == rule);
                    let is = !decided.asks_more && decided.verdict == verdict && by_end;
                    Ok(is.then(|| (request.to_owned(), decided.rule)))
                });
                match found {
                    Ok(Found::Nothing) => {}
                    Ok(Found::Witness((request, rule))) => {
                        let shorter = surface
                            .witnesses
                            .get(&verdict)
                            .is_none_or(|known| known.len() > request.len());
                        if shorter {
                            surface.witnesses.insert(verdict, request);
                        }
                        found_rules.push(rule);
                    }
                    Ok(Found::Unknown(reasons)) => {
                        open = true;
                        add(&mut surface.reasons, reasons);
                    }
                    Err(stop @ (Stop::Seconds | Stop::Stopped | Stop::Internal(_))) => {
                        return Err(stop);
                    }
                    Err(stop) => {
                        open = true;
                        add(&mut surface.reasons, vec![stop.into()]);
                    }
                }
            }
            found_rules.sort_unstable_by_key(|rule| (rule.is_none(), *rule));
            found_rules.dedup();
            let answer = match (surface.witnesses.contains_key(&verdict), open) {
                (true, _) => "witness",
                (false, true) => "unknown",
                (false, false) => "none",
            };
            surface.answers.insert(verdict, answer);
            surface.rules.insert(verdict, found_rules);
        }
        Ok(())
    }
}

/// The same of a long list of rules.
fn long_surface<'a>(
    view: &mut View<'a>,
    lane: &mut Lane<'a>,
    surface: &mut Surface,
) -> Result<(), Stop> {
    let mut open = false;
    for at in 0..lane.ways.len() {
        let Some(way) = lane.ways.get(at).cloned() else {
            continue;
        };
        let own = surface.rules.get(&way.verdict);
        if way.rule.is_none() && own.is_some_and(|own| own.contains(&None)) {
            continue;
        }
        view.space.budget.check()?;
        match view.space.taken(TRUE, &mut [(lane, at)], None) {
            Ok(Found::Nothing) => {}
            Ok(Found::Witness((request, _))) => {
                let own = surface.rules.entry(way.verdict).or_default();
                if !own.contains(&way.rule) {
                    own.push(way.rule);
                }
                let known = surface.witnesses.get(&way.verdict);
                if known.is_none_or(|known| known.len() > request.len()) {
                    surface.witnesses.insert(way.verdict, request);
                }
            }
            Ok(Found::Unknown(reasons)) => {
                open = true;
                add(&mut surface.reasons, reasons);
            }
            Err(stop) if stop.ends() => return Err(stop),
            Err(stop) => {
                open = true;
                add(&mut surface.reasons, vec![stop.into()]);
            }
        }
    }
    for verdict in VERDICTS {
        let answer = match (surface.witnesses.contains_key(&verdict), open) {
            (true, _) => "witness",
            (false, true) => "unknown",
            (false, false) => "none",
        };
        surface.answers.insert(verdict, answer);
        let rules = surface.rules.entry(verdict).or_default();
        rules.sort_unstable_by_key(|rule| (rule.is_none(), *rule));
    }
    Ok(())
}

fn written(surface: &Surface) -> String {
    let (mut answers, mut witnesses, mut rules) = (Object::new(), Object::new(), Object::new());
    for verdict in VERDICTS {
        let name = verdict.name();
        if let Some(answer) = surface.answers.get(&verdict) {
            answers = answers.raw(name, &quoted(answer));
        }
        if let Some(witness) = surface.witnesses.get(&verdict) {
            witnesses = witnesses.raw(name, witness);
        }
        if let Some(found) = surface.rules.get(&verdict) {
            rules =
                rules.raw(
                    name,
                    &answer::list(found.iter().map(|rule| {
                        rule.map_or_else(|| "null".to_owned(), |rule| rule.to_string())
                    })),
                );
        }
    }
    Object::new()
        .raw("verdicts", &answers.finish())
        .raw("witnesses", &witnesses.finish())
        .raw("rules", &rules.finish())
        .reasons("reasons", &surface.reasons)
        .finish()
}
