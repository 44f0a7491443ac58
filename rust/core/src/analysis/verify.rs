//! The decisions of the real evaluator on a request that the analysis made.

use crate::error::ErrorCode;
use crate::json::value::JsonRequest;
use crate::lang::Verdict;
use crate::program::{DecidedBy, FunctionDecision, Program, Scratch, TraceOutcome};

use super::budget::Stop;
use super::policy::{Policy, Rank};

/// The decision of one policy.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Decided {
    pub(super) verdict: Rank,
    /// The deciding rule.
    pub(super) rule: Option<u32>,
    /// The transforms before the deciding rule, in order.
    pub(super) steps: Vec<u32>,
    /// True if the rule denies because it is in error.
    pub(super) failed: bool,
    /// The rules as a decision names them.
    pub(super) rules: Vec<String>,
    /// The arguments with which the call may run, as JSON; none of a denied one.
    pub(super) args: Option<String>,
    /// True if a host rule or the state of a run, which cannot be asked here, would have been asked.
    pub(super) asks_more: bool,
}

/// The decision of a policy on a request.
pub(super) fn decide(policy: &Policy, request: &str) -> Result<Decided, Stop> {
    let parsed = JsonRequest::parse(request.as_bytes())
        .map_err(|error| Stop::Internal(format!("{}: {request}", error.message)))?;
    let program = &policy.program;
    let mut scratch = Scratch::new();
    if let Some(layers) = program.layers() {
        return layered(policy, layers, &parsed);
    }
    let outcome = program.decide(&parsed, &mut scratch);
    let rule = outcome.decided.rule();
    let mut names: Vec<String> = outcome
        .markers
        .iter()
        .map(|marker| format!("<rule_error:{}:{}>", policy.name(marker.rule), marker.code))
        .collect();
    names.extend(outcome.transforms.iter().map(|step| policy.name(step.rule)));
    let transformed = outcome.transformed.is_some();
    let verdict = verdict_of(program, &outcome.decided);
    names.push(last_name(policy, &outcome.decided));
    let is_host = |rule: u32| program.rule(rule).is_some_and(|info| info.host.is_some());
    let asks_more = rule.is_some_and(is_host)
        || (outcome.markers.iter())
            .any(|marker| is_host(marker.rule) || marker.code == ErrorCode::NoState)
        || matches!(outcome.decided, DecidedBy::ErrorDeny(_, ErrorCode::NoState));
    let verdict = match verdict {
        Verdict::Allow if transformed => Verdict::Transform,
        verdict => verdict,
    };
    let args = outcome.transformed.as_deref().unwrap_or(&parsed);
    let args = (verdict != Verdict::Deny).then(|| args.args_json());
    Ok(Decided {
        verdict: verdict.into(),
        rule,
        failed: matches!(outcome.decided, DecidedBy::ErrorDeny(..)),
        steps: outcome.transforms.iter().map(|step| step.rule).collect(),
        rules: names,
        args,
        asks_more,
    })
}

fn layered(
    policy: &Policy,
    layers: &crate::program::Layers,
    request: &JsonRequest<'_>,
) -> Result<Decided, Stop> {
    let program = &policy.program;
    let outcome = program.decide_layered(layers, request, &mut Scratch::new());
    let mut names: Vec<String> = outcome
        .markers
        .iter()
        .map(|marker| format!("<rule_error:{}:{}>", policy.name(marker.rule), marker.code))
        .collect();
    let lacks_state = (outcome.markers.iter()).any(|marker| marker.code == ErrorCode::NoState)
        || std::iter::once(&outcome.deciding)
            .chain(&outcome.also)
            .any(|opinion| matches!(opinion.decided, DecidedBy::ErrorDeny(_, ErrorCode::NoState)));
    let verdict = match outcome.conflict {
        Some(conflict) => {
            names.push(conflict.texts(layers).1);
            Verdict::Deny
        }
        None => outcome.deciding.verdict,
    };
    // Of layers that all require an approval, the first one counts as deciding, as in the names of a decision.
    let opinions = std::iter::once(&outcome.deciding).chain(&outcome.also);
    let first = opinions.min_by_key(|opinion| opinion.layer);
    names.extend(outcome.transforms.iter().map(|step| policy.name(step.rule)));
    let also = outcome
        .also
        .iter()
        .map(|other| last_name(policy, &other.decided));
    names.extend(also);
    if outcome.conflict.is_none() {
        names.push(last_name(policy, &outcome.deciding.decided));
    }
    let args = outcome.transformed.as_deref().unwrap_or(request);
    let args = (verdict != Verdict::Deny).then(|| args.args_json());
    Ok(Decided {
        verdict: verdict.into(),
        rule: match outcome.conflict {
            Some(_) => None,
            None => first.and_then(|opinion| opinion.decided.rule()),
        },
        failed: false,
        steps: Vec::new(),
        rules: names,
        args,
        asks_more: lacks_state,
    })
}

fn verdict_of<D>(program: &Program, decided: &DecidedBy<D>) -> Verdict {
    match decided {
        DecidedBy::Rule(rule) => program
            .rules
            .get(*rule as usize)
            .map_or(Verdict::Deny, |rule| rule.verdict),
        DecidedBy::Function(_, decision) => function_verdict(program, decision),
        DecidedBy::Host(..) | DecidedBy::ErrorDeny(..) | DecidedBy::Aborted => Verdict::Deny,
        DecidedBy::NoMatch => program.defaults.on_no_match,
        DecidedBy::MissingShadow => program.defaults.on_missing_shadow,
    }
}

/// The verdict of a function.
pub(super) fn function_verdict(program: &Program, decision: &FunctionDecision) -> Verdict {
    match decision {
        FunctionDecision::Always(number) => program
            .template(*number)
            .map_or(Verdict::Deny, |template| template.verdict),
        FunctionDecision::Made(template) => template.verdict,
    }
}

fn last_name<D>(policy: &Policy, decided: &DecidedBy<D>) -> String {
    match decided {
        DecidedBy::Rule(rule) | DecidedBy::Host(rule, _) | DecidedBy::Function(rule, _) => {
            policy.name(*rule)
        }
        DecidedBy::ErrorDeny(rule, code) => {
            format!("<rule_error:{}:{code}>", policy.name(*rule))
        }
        DecidedBy::NoMatch => "<default:on_no_match>".to_owned(),
        DecidedBy::MissingShadow => "<default:on_missing_shadow>".to_owned(),
        DecidedBy::Aborted => "<aborted>".to_owned(),
    }
}

/// The truth value of the match of a rule on a request, as its terminal; `None`: the rule is not reached, or is code.
pub(super) fn matched(
    policy: &Policy,
    rule: u32,
    request: &str,
) -> Result<Option<TraceOutcome>, Stop> {
    let parsed = JsonRequest::parse(request.as_bytes())
        .map_err(|error| Stop::Internal(format!("{}: {request}", error.message)))?;
    let (_, traces) = policy.program.explain(&parsed);
    Ok(traces
        .into_iter()
        .find(|trace| trace.rule == rule)
        .map(|trace| trace.outcome)
        .filter(|outcome| *outcome != TraceOutcome::NotReached))
}
