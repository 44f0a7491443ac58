//! What decides beside the policy, a candidate and the policy's own monitored rules: the calls that these would decide
//! otherwise are in the log.
//!
//! INVARIANT: nothing of a candidate reaches an answer. One that cannot be used is a line on stderr, as in
//! `python/bobcat/cli/hooks/candidate.py`, whose records are the same.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use bobcat_core::bundle::Bundle;
use bobcat_core::lang::Verdict;
use bobcat_session::Session;

use crate::Failure;
use crate::bundle;
use crate::canonical::{write_text, write_texts};
use crate::decide::{self, Reply, Seen};
use crate::input::Call;

const ERRORS: [&str; 2] = ["<rule_error:", "<default:evaluation_error>"];

/// The divergences from `reply` of the candidate at `path` and of the monitored rules of `enforced`, as canonical JSON with
/// commas between them; `None` without any. `session` is that of the call, before the call is on its record.
pub(crate) fn divergences(
    path: Option<&Path>,
    call: &Call<'_>,
    (enforced, session): (&Bundle, Option<&Session>),
    (reply, time): (&Reply, &str),
) -> Option<String> {
    let candidate = path.and_then(|path| {
        reported("candidate is", || {
            let bundle = loaded(path, enforced)?;
            compared(&bundle, call, (session, reply, time))
        })
    });
    let monitored = reported("monitored rules are", || {
        match enforced.monitored().map_err(|error| error.to_string())? {
            Some(bundle) => compared(&bundle, call, (session, reply, time)),
            None => Ok(None),
        }
    });
    let found: Vec<String> = candidate.into_iter().chain(monitored).collect();
    (!found.is_empty()).then(|| found.join(","))
}

/// The result of a comparison; one that fails is a line on stderr.
fn reported(
    which: &str,
    compare: impl FnOnce() -> Result<Option<String>, Failure>,
) -> Option<String> {
    let compared = catch_unwind(AssertUnwindSafe(compare));
    match compared.unwrap_or_else(|_| Err("internal_error".to_owned())) {
        Ok(found) => found,
        Err(failure) => {
            crate::report(format!(
                "the {which} not compared: {failure}; the call is decided without it"
            ));
            None
        }
    }
}

/// Reads a candidate. What it remembers must be what the policy remembers, which the session has.
fn loaded(path: &Path, enforced: &Bundle) -> Result<Bundle, Failure> {
    let bundle = bundle::load(path)?;
    let program = &bundle.program;
    if program.remembers() && program.memory_bytes() != enforced.program.memory_bytes() {
        return Err(format!(
            "the bundle `{}` has rules that remember otherwise than the policy",
            path.display()
        ));
    }
    Ok(bundle)
}

fn compared(
    bundle: &Bundle,
    call: &Call<'_>,
    (session, reply, time): (Option<&Session>, &Reply, &str),
) -> Result<Option<String>, Failure> {
    let seen = if bundle.program.remembers() {
        Seen::Session(session)
    } else {
        Seen::Task(session.and_then(Session::task))
    };
    let found = decide::decide(&bundle.program, call, (seen, time))?;
    let Some(kind) = kind(reply, &found) else {
        return Ok(None);
    };
    let mut out = String::from("{\"bundle_id\":");
    write_text(&bundle.id, &mut out);
    out.push_str(",\"kind\":");
    write_text(kind, &mut out);
    out.push_str(",\"matched_rules\":");
    write_texts(&found.rules, &mut out);
    out.push_str(",\"reason\":");
    write_text(&found.reason, &mut out);
    out.push_str(",\"verdict\":");
    match kind {
        "error" => out.push_str("null"),
        _ => write_text(found.verdict.as_str(), &mut out),
    }
    out.push('}');
    Ok(Some(out))
}

/// The kind of the difference between two decisions; `None`: a call has the same outcome under both.
fn kind(then: &Reply, now: &Reply) -> Option<&'static str> {
    let failed = |rule: &String| ERRORS.iter().any(|error| rule.starts_with(error));
    if now.rules.iter().any(failed) {
        let same = then.verdict == now.verdict && then.rules == now.rules;
        return (!same).then_some("error");
    }
    if then.verdict != now.verdict {
        return Some(if rank(now.verdict) > rank(then.verdict) {
            "loosened"
        } else {
            "tightened"
        });
    }
    let args = |reply: &Reply| reply.args.as_ref().map(|args| args.canonical.clone());
    if args(then) != args(now) {
        return Some("unclear");
    }
    let other = then.obligations != now.obligations;
    if now.verdict != Verdict::ApproveRequired {
        return other.then_some("unclear");
    }
    let ((approvers, needed), (others, wanted)) = (&then.approvals, &now.approvals);
    if wanted < needed {
        Some("loosened")
    } else if approvers != others {
        Some("unclear")
    } else if wanted > needed {
        Some("tightened")
    } else {
        other.then_some("unclear")
    }
}

/// The place of a verdict from the strictest on.
fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Deny => 0,
        Verdict::DryRun => 1,
        Verdict::ApproveRequired => 2,
        Verdict::Transform => 3,
        Verdict::Allow => 4,
    }
}
