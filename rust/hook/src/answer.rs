//! Answers in the hosts' dialects.
//!
//! An `allow` is no text, so that the host's own permissions still hold. Where a host cannot ask or cannot take a rewrite,
//! the answer is a `deny` that says so.

use bobcat_core::json::write_string;
use bobcat_core::lang::Verdict;

use crate::Failure;
use crate::decide::{NewArgs, Reply};
use crate::host::{Event, Host};
use crate::input::Call;

/// The answer to a host: one that it can carry out.
pub(crate) enum Answer {
    /// The call may run as the host's own permissions say.
    Silence,
    /// The call may run.
    Allow(String),
    /// The call may not run.
    Deny(String),
    /// A person must approve the call, with new arguments if there are any.
    Ask(String, Option<NewArgs>),
    /// The call may run with other arguments; `true`: without the host's own permissions.
    Rewrite(NewArgs, bool),
}

impl Answer {
    /// Returns true if the host may run the call, or asks a person whether it may.
    pub(crate) fn may_run(&self) -> bool {
        !matches!(self, Self::Deny(_))
    }

    /// The status of a call with this answer, in a decision log.
    pub(crate) fn status(&self) -> &'static str {
        match self {
            Self::Silence | Self::Allow(_) | Self::Rewrite(..) => "permitted",
            Self::Deny(_) => "denied",
            Self::Ask(..) => "asked",
        }
    }
}

/// The text of `answer` in the dialect of `host`; empty for silence.
pub(crate) fn render(host: Host, answer: &Answer) -> String {
    match host {
        Host::ClaudeCode => claude(answer),
        Host::Codex => codex(answer),
        Host::Gemini => gemini(answer),
        Host::Cursor => cursor(answer),
        Host::Copilot => copilot(answer),
    }
}

/// The answer to `call`, one that its host can carry out.
pub(crate) fn choose(call: &Call<'_>, reply: &Reply, grant: bool) -> Result<Answer, Failure> {
    let (reason, args) = (reply.stated(), &reply.args);
    let host = call.host.name();
    if let Some(held) = reply.obligations.iter().find(|each| each.before) {
        let name = &held.name;
        return Ok(Answer::Deny(format!(
            "the obligation `{name}` must be performed before the call ({reason}); a hook cannot perform it"
        )));
    }
    if let Some(args) = args
        && matches!(reply.verdict, Verdict::Transform | Verdict::ApproveRequired)
        && !rewrites(call, args)
    {
        return Ok(Answer::Deny(format!(
            "the arguments would be rewritten ({reason}); {host} cannot take this rewrite"
        )));
    }
    Ok(match reply.verdict {
        Verdict::Allow if grant => Answer::Allow(reason),
        Verdict::Allow => Answer::Silence,
        Verdict::Deny => Answer::Deny(reason),
        Verdict::DryRun => Answer::Deny(format!(
            "dry run only ({reason}); the call would only be previewed"
        )),
        Verdict::ApproveRequired if asks(call) => Answer::Ask(reason, args.clone()),
        Verdict::ApproveRequired => Answer::Deny(format!(
            "approval required ({reason}); {host} cannot ask for it here"
        )),
        Verdict::Transform => {
            let args = args.clone();
            let args = args.ok_or("the decision rewrites no arguments (internal_error)")?;
            Answer::Rewrite(args, grant)
        }
    })
}

/// Returns true if the host asks a person, and stops the call where no person can answer.
fn asks(call: &Call<'_>) -> bool {
    match (call.host, call.event) {
        (Host::ClaudeCode, _) | (Host::Cursor, Event::Shell | Event::Mcp) => true,
        // Codex runs the call, Gemini CLI hangs when headless; the others do not promise to ask.
        (Host::Codex | Host::Gemini | Host::Copilot, _)
        | (Host::Cursor, Event::Tool | Event::ReadFile) => false,
    }
}

/// Returns true if the host runs the call with exactly these arguments.
fn rewrites(call: &Call<'_>, args: &NewArgs) -> bool {
    match (call.host, call.event) {
        (Host::ClaudeCode | Host::Codex, _) => true,
        // Gemini CLI merges them into the arguments of the call; the others do not say what they do.
        (Host::Gemini | Host::Copilot, _) | (Host::Cursor, Event::Tool) => !args.removes,
        (Host::Cursor, Event::Shell | Event::Mcp | Event::ReadFile) => false,
    }
}

fn claude(answer: &Answer) -> String {
    let output = match answer {
        Answer::Silence => return String::new(),
        Answer::Allow(reason) => decision("allow", reason),
        Answer::Deny(reason) => decision("deny", reason),
        Answer::Ask(reason, None) => decision("ask", reason),
        Answer::Ask(reason, Some(args)) => {
            format!("{},\"updatedInput\":{}", decision("ask", reason), args.json)
        }
        Answer::Rewrite(args, false) => format!("\"updatedInput\":{}", args.json),
        Answer::Rewrite(args, true) => format!(
            "\"permissionDecision\":\"allow\",\"updatedInput\":{}",
            args.json
        ),
    };
    pre_tool_use(&output)
}

/// Codex takes no `allow` but with new arguments, and runs the call when it finds a key that it does not know.
fn codex(answer: &Answer) -> String {
    let output = match answer {
        Answer::Silence | Answer::Allow(_) => return String::new(),
        Answer::Deny(reason) | Answer::Ask(reason, _) => decision("deny", reason),
        Answer::Rewrite(args, _) => format!(
            "\"permissionDecision\":\"allow\",\"updatedInput\":{}",
            args.json
        ),
    };
    pre_tool_use(&output)
}

fn gemini(answer: &Answer) -> String {
    let rewrite =
        |args: &NewArgs| format!("\"hookSpecificOutput\":{{\"tool_input\":{}}}", args.json);
    match answer {
        Answer::Silence => String::new(),
        Answer::Allow(reason) => object("decision", "allow", &[("reason", reason)]),
        Answer::Deny(reason) | Answer::Ask(reason, _) => {
            object("decision", "deny", &[("reason", reason)])
        }
        Answer::Rewrite(args, false) => format!("{{{}}}", rewrite(args)),
        Answer::Rewrite(args, true) => format!("{{\"decision\":\"allow\",{}}}", rewrite(args)),
    }
}

fn cursor(answer: &Answer) -> String {
    let answered = |permission: &str, reason: &String| {
        object(
            "permission",
            permission,
            &[("user_message", reason), ("agent_message", reason)],
        )
    };
    match answer {
        Answer::Silence => String::new(),
        Answer::Allow(reason) => answered("allow", reason),
        Answer::Deny(reason) => answered("deny", reason),
        Answer::Ask(reason, _) => answered("ask", reason),
        Answer::Rewrite(args, _) => format!(
            "{{\"permission\":\"allow\",\"updated_input\":{}}}",
            args.json
        ),
    }
}

fn copilot(answer: &Answer) -> String {
    let answered = |decision: &str, reason: &String| {
        object(
            "permissionDecision",
            decision,
            &[("permissionDecisionReason", reason)],
        )
    };
    match answer {
        Answer::Silence => String::new(),
        Answer::Allow(reason) => answered("allow", reason),
        Answer::Deny(reason) | Answer::Ask(reason, _) => answered("deny", reason),
        Answer::Rewrite(args, false) => format!("{{\"modifiedArgs\":{}}}", args.json),
        Answer::Rewrite(args, true) => format!(
            "{{\"permissionDecision\":\"allow\",\"modifiedArgs\":{}}}",
            args.json
        ),
    }
}

/// The decision and its reason, as keys of the output of `PreToolUse`.
fn decision(decision: &str, reason: &str) -> String {
    let mut out = format!("\"permissionDecision\":\"{decision}\",\"permissionDecisionReason\":");
    write_string(reason, &mut out);
    out
}

fn pre_tool_use(output: &str) -> String {
    format!("{{\"hookSpecificOutput\":{{\"hookEventName\":\"PreToolUse\",{output}}}}}")
}

fn object(key: &str, word: &str, texts: &[(&str, &String)]) -> String {
    let mut out = format!("{{\"{key}\":\"{word}\"");
    for (key, text) in texts {
        out.push_str(&format!(",\"{key}\":"));
        write_string(text, &mut out);
    }
    out.push('}');
    out
}
