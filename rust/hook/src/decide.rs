//! The decision on a call, with its verdict, reason and new arguments in the words of an answer.

use std::collections::BTreeSet;

use bobcat_core::decision;
use bobcat_core::json::value::{JsonRequest, JsonValue};
use bobcat_core::json::{Json, JsonMap};
use bobcat_core::lang::Verdict;
use bobcat_core::program::{Obligation, OwnedValue, Program, Scratch};
use bobcat_core::value::memory::Memory;
use bobcat_core::value::request::Request as _;
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
    let (decided, transformed) = decision::decide(program, &request, &mut Scratch::default())
        .map_err(|error| error.to_string())?;
    let args = match transformed {
        Some(made) => Some(new_args(&call.args, made.args())?),
        None => None,
    };
    Ok(Reply {
        verdict: decided.verdict,
        reason: decided.reason,
        rules: decided.rules,
        args,
        obligations: decided.obligations,
        approvals: (decided.approvers, decided.approvals_needed),
    })
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
