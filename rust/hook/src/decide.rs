//! The decision on a call, with its verdict, reason and new arguments in the words of an answer.

use std::collections::BTreeSet;

use bobcat_core::error::ErrorCode;
use bobcat_core::json::value::{JsonRequest, JsonValue};
use bobcat_core::json::{Json, JsonMap};
use bobcat_core::lang::Verdict;
use bobcat_core::program::{
    DecidedBy, DecisionTemplate, FunctionDecision, LayeredOutcome, Layers, MISSING_SHADOW, Marker,
    NO_MATCH, Obligation, Origin, OwnedValue, Program, RuleInfo, Scratch, TransformStep,
    layer_default, rule_error,
};
use bobcat_core::value::constant::Const;
use bobcat_core::value::memory::Memory;
use bobcat_core::value::request::Request;
use bobcat_session::{Session, SessionRequest};

use crate::Failure;
use crate::canonical::canonical_json;
use crate::input::Call;
use crate::reason;

/// A decision in the words of an answer.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The verdict.
    pub(crate) verdict: Verdict,
    /// The reason as the policy has it; it may be blank.
    pub(crate) reason: String,
    /// The names of the rules that took part, the deciding one last.
    pub(crate) rules: Vec<String>,
    /// The arguments that a transform made; none under `deny`.
    pub(crate) args: Option<NewArgs>,
    /// The obligations of a permitted call; none under `deny`.
    pub(crate) obligations: Vec<Obligation>,
    /// The approvers, and the number of them who must approve.
    pub(crate) approvals: Approvals,
}

/// The approvers, and the number of them who must approve.
pub(crate) type Approvals = (BTreeSet<String>, i64);

/// The part of a session that a policy reads.
#[derive(Clone, Copy)]
pub(crate) enum Seen<'s> {
    /// All of it; `None`: the call has no session.
    Session(Option<&'s Session>),
    /// The user's words alone.
    Task(Option<&'s str>),
}

impl Reply {
    /// The reason, never blank.
    pub(crate) fn stated(&self) -> String {
        let rule = self.rules.last().map_or("", String::as_str);
        reason::stated(self.verdict, &self.reason, rule)
    }
}

/// Arguments that replace those of the call.
#[derive(Clone, Debug)]
pub(crate) struct NewArgs {
    /// All arguments, as JSON.
    pub(crate) json: String,
    /// All arguments, as canonical JSON.
    pub(crate) canonical: String,
    /// True if an argument of the call is not among them: hosts that merge would keep it.
    pub(crate) removes: bool,
}

/// Decides on `call` at `time`, with the state of its session. Rules that outrank a transform have seen its arguments.
pub(crate) fn decide(
    program: &Program,
    call: &Call<'_>,
    (seen, time): (Seen<'_>, &str),
) -> Result<Reply, Failure> {
    let frame = call.frame(time);
    let request = JsonRequest::parse(frame.as_bytes()).map_err(|error| error.to_string())?;
    let args = OwnedValue::Read(JsonValue::Json(call.args.clone()));
    let (session, task) = match seen {
        Seen::Session(session) => (session, session.and_then(Session::task)),
        Seen::Task(task) => (None, task),
    };
    let state = session.map(|session| session.state().reader(program));
    let request = SessionRequest::new(request)
        .with_task(task)
        .with_memory(state.as_ref().map(|state| state as &dyn Memory))
        .with_made(args)
        .map_err(|code| format!("the arguments cannot be read: {code}"))?;
    let (mut rules, mut verdict, reason, approvals, transformed, obliging);
    let mut by_functions = Vec::new();
    if let Some(layers) = program.layers() {
        let outcome = program.decide_layered(layers, &request, &mut Scratch::default());
        (rules, verdict, reason, approvals) = layered(program, layers, &outcome)?;
        obliging = outcome.rules().collect();
        transformed = outcome.transformed;
    } else {
        let outcome = program.decide(&request, &mut Scratch::default());
        rules = earlier_rules(program, (&outcome.markers, &outcome.transforms))?;
        (verdict, reason, approvals) = explain(program, &outcome.decided, &mut rules)?;
        for step in &outcome.transforms {
            if let Origin::Function(decision) = &step.origin {
                by_functions.extend_from_slice(&template(program, decision)?.obligations);
            }
        }
        if let DecidedBy::Function(_, decision) = &outcome.decided {
            by_functions.extend_from_slice(&template(program, decision)?.obligations);
        }
        let transforms = outcome.transforms.iter().map(|step| step.rule);
        obliging = transforms.chain(outcome.decided.rule()).collect();
        transformed = outcome.transformed;
    }
    let mut args = None;
    let obligations = match verdict {
        Verdict::Deny => Vec::new(),
        _ => obligations(program, obliging, by_functions)?,
    };
    if let Some(made) = &transformed
        && verdict != Verdict::Deny
    {
        args = Some(new_args(&call.args, made.args())?);
        if verdict == Verdict::Allow {
            verdict = Verdict::Transform;
        }
    }
    Ok(Reply {
        verdict,
        reason,
        rules,
        args,
        obligations,
        approvals,
    })
}

/// The obligations of the rules that a permitted call was decided by.
fn obligations(
    program: &Program,
    rules: Vec<u32>,
    by_functions: Vec<Obligation>,
) -> Result<Vec<Obligation>, Failure> {
    let mut all = Vec::new();
    for rule in rules {
        all.extend_from_slice(&info(program, rule)?.obligations);
    }
    all.extend(by_functions);
    Ok(all)
}

/// The names of the rules before the deciding one: those that could not be evaluated, then the transforms.
fn earlier_rules<D>(
    program: &Program,
    (markers, transforms): (&[Marker], &[TransformStep<D>]),
) -> Result<Vec<String>, Failure> {
    let mut rules = Vec::new();
    for Marker { rule, code } in markers {
        rules.push(marker(id(info(program, *rule)?), code));
    }
    for TransformStep { rule, origin } in transforms {
        match origin {
            Origin::Match => rules.push(id(info(program, *rule)?).to_owned()),
            Origin::Function(decision) => {
                let template = template(program, decision)?;
                rules.extend(function_rules(template, id(info(program, *rule)?)));
            }
            Origin::Host(_) => return Err(HOST_RULE.to_owned()),
        }
    }
    Ok(rules)
}

/// The names of the rules, the verdict and the reason of a policy with layers.
fn layered<R: Request>(
    program: &Program,
    layers: &Layers,
    outcome: &LayeredOutcome<R>,
) -> Result<(Vec<String>, Verdict, String, Approvals), Failure> {
    if let Some(conflict) = outcome.conflict {
        let (reason, marker) = conflict.texts(layers);
        return Ok((vec![marker], Verdict::Deny, reason, no_approvals()));
    }
    let mut rules = earlier_rules(program, (&outcome.markers, &outcome.transforms))?;
    let mut all: Vec<_> = outcome.also.iter().chain([&outcome.deciding]).collect();
    all.sort_by_key(|opinion| opinion.layer);
    let (mut reasons, mut approvals) = (Vec::<String>::new(), no_approvals());
    for opinion in all {
        let missing_shadow = matches!(opinion.decided, DecidedBy::MissingShadow);
        let reason = if missing_shadow || matches!(opinion.decided, DecidedBy::NoMatch) {
            let (reason, marker) = layer_default(layers.name(opinion.layer), missing_shadow);
            rules.push(marker);
            reason
        } else {
            let (_, reason, own) = explain(program, &opinion.decided, &mut rules)?;
            approvals = own;
            reason
        };
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons.retain(|reason| !reason.is_empty() || outcome.also.is_empty());
    if let Some(joint) = &outcome.approvals {
        approvals = (
            joint.approvers.iter().cloned().collect(),
            joint.needed.into(),
        );
    }
    Ok((
        rules,
        outcome.deciding.verdict,
        reasons.join("; "),
        approvals,
    ))
}

/// The verdict and the reason of what decided; appends its name to `rules`.
fn explain<D>(
    program: &Program,
    decided: &DecidedBy<D>,
    rules: &mut Vec<String>,
) -> Result<(Verdict, String, Approvals), Failure> {
    let defaults = program.defaults();
    Ok(match decided {
        DecidedBy::Rule(rule) => {
            let info = info(program, *rule)?;
            let Const::Str(text) = &info.reason else {
                return Err(missing());
            };
            rules.push(id(info).to_owned());
            let approvers = info.approvers.iter().filter_map(|approver| match approver {
                Const::Str(name) => Some(name.to_string()),
                _ => None,
            });
            let approvals = (approvers.collect(), info.approvals_needed.into());
            (info.verdict, text.to_string(), approvals)
        }
        DecidedBy::Function(rule, decision) => {
            let template = template(program, decision)?;
            rules.extend(function_rules(template, id(info(program, *rule)?)));
            let approvers = template.approvers.iter().map(|name| name.to_string());
            let approvals = (approvers.collect(), template.approvals_needed);
            (template.verdict, template.reason.to_string(), approvals)
        }
        DecidedBy::ErrorDeny(rule, code) => {
            let id = id(info(program, *rule)?);
            rules.push(marker(id, code));
            (Verdict::Deny, rule_error(id, code), no_approvals())
        }
        DecidedBy::NoMatch => {
            rules.push("<default:on_no_match>".to_owned());
            (defaults.on_no_match, NO_MATCH.to_owned(), no_approvals())
        }
        DecidedBy::MissingShadow => {
            rules.push("<default:on_missing_shadow>".to_owned());
            (
                defaults.on_missing_shadow,
                MISSING_SHADOW.to_owned(),
                no_approvals(),
            )
        }
        DecidedBy::Host(..) | DecidedBy::Aborted => return Err(HOST_RULE.to_owned()),
    })
}

/// Those of a decision that no rule makes.
fn no_approvals() -> Approvals {
    (BTreeSet::new(), 1)
}

const HOST_RULE: &str = "the decision point failed (internal_error)";

fn missing() -> Failure {
    "the policy has no such rule (internal_error)".to_owned()
}

fn info(program: &Program, rule: u32) -> Result<&RuleInfo, Failure> {
    program.rule(rule).ok_or_else(missing)
}

fn template<'p>(
    program: &'p Program,
    decision: &'p FunctionDecision,
) -> Result<&'p DecisionTemplate, Failure> {
    match decision {
        FunctionDecision::Always(number) => program.template(*number).ok_or_else(missing),
        FunctionDecision::Made(template) => Ok(template),
    }
}

/// The names that a function gives, and the name of its rule last, unless it is among them.
fn function_rules<'t>(
    template: &'t DecisionTemplate,
    id: &'t str,
) -> impl Iterator<Item = String> + 't {
    let named = template.matched_rules.iter().any(|name| **name == *id);
    let names = template.matched_rules.iter().map(AsRef::as_ref);
    names.chain((!named).then_some(id)).map(ToOwned::to_owned)
}

/// The name of a rule that could not be evaluated.
fn marker(id: &str, code: &ErrorCode) -> String {
    format!("<rule_error:{id}:{code}>")
}

fn id(info: &RuleInfo) -> &str {
    match &info.id {
        Const::Str(id) => id,
        _ => "",
    }
}

fn new_args(old: &Json<'_>, new: &Json<'_>) -> Result<NewArgs, Failure> {
    let (Json::Map(old), Json::Map(new_map)) = (old, new) else {
        return Err("the rewritten arguments are not an object".to_owned());
    };
    let canonical = canonical_json(new).ok_or("the rewritten arguments have no exact JSON form")?;
    let mut json = String::new();
    new.write(&mut json);
    let mut old_keys = old.entries().iter().map(|(key, _)| key);
    let removes = old_keys.any(|key| {
        key.as_str()
            .is_none_or(|key| JsonMap::get(new_map, key).is_none())
    });
    Ok(NewArgs {
        json,
        canonical,
        removes,
    })
}
