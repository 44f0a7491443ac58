//! A candidate policy beside the one that decides: the calls that it would decide otherwise are in the log.
//!
//! INVARIANT: nothing of a candidate reaches an answer. One that cannot be used is a line on stderr, as in
//! `python/bobcat/cli/hooks/candidate.py`, whose records are the same.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use bobcat_core::lang::Verdict;

use crate::canonical::{write_text, write_texts};
use crate::decide::{self, Reply, Seen};
use crate::input::Call;
use crate::{Failure, bundle};

const ERRORS: [&str; 2] = ["<rule_error:", "<default:evaluation_error>"];

/// The divergence of the candidate at `path` from `reply`, as canonical JSON; `None`: it decides alike, or cannot be used.
pub(crate) fn divergence(
    path: &Path,
    call: &Call<'_>,
    (reply, task, time): (&Reply, Option<&str>, &str),
) -> Option<String> {
    let compared = catch_unwind(AssertUnwindSafe(|| {
        compared(path, call, (reply, task, time))
    }));
    match compared.unwrap_or_else(|_| Err("it failed (internal_error)".to_owned())) {
        Ok(found) => found,
        Err(failure) => {
            crate::report(format!(
                "the candidate is not compared: {failure}; the call is decided without it"
            ));
            None
        }
    }
}

fn compared(
    path: &Path,
    call: &Call<'_>,
    (reply, task, time): (&Reply, Option<&str>, &str),
) -> Result<Option<String>, Failure> {
    let bundle = bundle::load(path)?;
    if bundle.program.remembers() {
        return Err(format!(
            "the bundle `{}` has rules that remember",
            path.display()
        ));
    }
    let found = decide::decide(&bundle.program, call, (Seen::Task(task), time))?;
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
    if now.verdict != Verdict::ApproveRequired {
        return None;
    }
    let ((approvers, needed), (others, wanted)) = (&then.approvals, &now.approvals);
    if wanted < needed {
        Some("loosened")
    } else if approvers != others {
        Some("unclear")
    } else {
        (wanted > needed).then_some("tightened")
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
