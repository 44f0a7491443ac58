//! The decision on a call, with its verdict, reason and new arguments in the words of an answer.

use bobcat_core::json::value::{JsonRequest, JsonValue};
use bobcat_core::json::{Json, JsonMap};
use bobcat_core::lang::Verdict;
use bobcat_core::program::{
    DecidedBy, FunctionDecision, MISSING_SHADOW, NO_MATCH, OwnedValue, Program, RuleInfo, Scratch,
    rule_error,
};
use bobcat_core::value::constant::Const;
use bobcat_core::value::request::Request as _;

use crate::Failure;
use crate::input::Call;
use crate::{clock, reason};

/// A decision in the words of an answer.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The verdict.
    pub(crate) verdict: Verdict,
    /// The reason, never blank.
    pub(crate) reason: String,
    /// The arguments that a transform made; none under `deny`.
    pub(crate) args: Option<NewArgs>,
}

/// Arguments that replace those of the call.
#[derive(Debug)]
pub(crate) struct NewArgs {
    /// All arguments, as JSON.
    pub(crate) json: String,
    /// True if an argument of the call is not among them: hosts that merge would keep it.
    pub(crate) removes: bool,
}

/// Decides on `call`. Rules that outrank a transform have seen its arguments.
pub(crate) fn decide(program: &Program, call: &Call<'_>) -> Result<Reply, Failure> {
    let time = clock::now().ok_or("the clock of this machine has no valid time")?;
    let frame = call.frame(&time);
    let request = JsonRequest::parse(frame.as_bytes()).map_err(|error| error.to_string())?;
    let args = OwnedValue::Read(JsonValue::Json(call.args.clone()));
    let request = request
        .with_made(args)
        .map_err(|code| format!("the arguments cannot be read: {code}"))?;
    let outcome = program.decide(&request, &mut Scratch::default());
    let (mut verdict, reason) = explain(program, &outcome.decided)?;
    let mut args = None;
    if let Some(made) = &outcome.transformed
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
        args,
    })
}

/// The verdict and the reason of what decided.
fn explain<D>(program: &Program, decided: &DecidedBy<D>) -> Result<(Verdict, String), Failure> {
    let missing = || "the policy has no such rule (internal_error)".to_owned();
    let info = |rule: u32| program.rule(rule).ok_or_else(missing);
    let defaults = program.defaults();
    Ok(match decided {
        DecidedBy::Rule(rule) => {
            let info = info(*rule)?;
            let Const::Str(text) = &info.reason else {
                return Err(missing());
            };
            (info.verdict, reason::stated(info.verdict, text, id(info)))
        }
        DecidedBy::Function(rule, decision) => {
            let template = match decision {
                FunctionDecision::Always(number) => {
                    program.template(*number).ok_or_else(missing)?
                }
                FunctionDecision::Made(template) => template,
            };
            let id = id(info(*rule)?);
            // The rule's own name comes last, unless the function names it.
            let named = template.matched_rules.iter().any(|name| **name == *id);
            let last = template.matched_rules.last().filter(|_| named);
            let last = last.map_or(id, AsRef::as_ref);
            (
                template.verdict,
                reason::stated(template.verdict, &template.reason, last),
            )
        }
        DecidedBy::ErrorDeny(rule, code) => (Verdict::Deny, rule_error(id(info(*rule)?), code)),
        DecidedBy::NoMatch => (defaults.on_no_match, NO_MATCH.to_owned()),
        DecidedBy::MissingShadow => (defaults.on_missing_shadow, MISSING_SHADOW.to_owned()),
        DecidedBy::Host(..) | DecidedBy::Aborted => {
            return Err("the decision point failed (internal_error)".to_owned());
        }
    })
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
    if !is_exact(new) {
        return Err("the rewritten arguments have no exact JSON form".to_owned());
    }
    let mut json = String::new();
    new.write(&mut json);
    let mut old_keys = old.entries().iter().map(|(key, _)| key);
    let removes = old_keys.any(|key| {
        key.as_str()
            .is_none_or(|key| JsonMap::get(new_map, key).is_none())
    });
    Ok(NewArgs { json, removes })
}

/// Returns true if the text of `json` reads back as the same value: an infinity, a lone surrogate and an integer above the
/// cap have no such text.
fn is_exact(json: &Json<'_>) -> bool {
    match json {
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::BigInt(_) => true,
        Json::HugeInt => false,
        Json::Float(value) => value.is_finite(),
        Json::Text(text) => text.as_str().is_some(),
        Json::List(items) => items.iter().all(is_exact),
        Json::Map(map) => map
            .entries()
            .iter()
            .all(|(key, value)| key.as_str().is_some() && is_exact(value)),
    }
}
