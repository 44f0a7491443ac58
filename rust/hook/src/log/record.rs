//! The record of one call: its decision and its status. The outcome is the host's, and unknown to a hook.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;

use bobcat_core::lang::Verdict;

use crate::Failure;
use crate::answer::Answer;
use crate::canonical::{canonical_json, write_text, write_texts};
use crate::decide::Reply;
use crate::input::{Call, ENVIRONMENT};

/// Bytes of a body; the limit of the readers.
const MAX_BODY_BYTES: usize = 16 << 20;
const RECORD_ID_BYTES: usize = 16;

/// Appends the record of `call`, decided by the policy with the digest `bundle_id`, to the log at `target`, with the divergence
/// of a candidate as canonical JSON.
pub(crate) fn write(
    target: &OsStr,
    bundle_id: &str,
    call: &Call<'_>,
    (reply, answer, diverged): (&Reply, &Answer, Option<&str>),
) -> Result<(), Failure> {
    let body = body(bundle_id, call, (reply, answer, diverged))?;
    if body.len() > MAX_BODY_BYTES {
        return Err(format!(
            "the record of the call has {} bytes, and the limit is {MAX_BODY_BYTES}",
            body.len()
        ));
    }
    super::append(target, &record_id()?, &body)
}

/// The body as canonical JSON: sorted keys, as `python/bobcat/cli/hooks/record.py` writes them.
fn body(
    bundle_id: &str,
    call: &Call<'_>,
    (reply, answer, diverged): (&Reply, &Answer, Option<&str>),
) -> Result<String, Failure> {
    let proposed = canonical_json(&call.args)
        .ok_or("the arguments have no exact JSON form: the call cannot be recorded")?;
    let mut out = String::from("{\"args\":");
    out.push_str(reply.args.as_ref().map_or(&proposed, |new| &new.canonical));
    let mut text = |key: &str, value: &str| {
        out.push_str(&format!(",\"{key}\":"));
        write_text(value, &mut out);
    };
    text("bundle_id", bundle_id);
    if let Some(diverged) = diverged {
        out.push_str(&format!(",\"diverged\":[{diverged}]"));
    }
    let mut text = |key: &str, value: &str| {
        out.push_str(&format!(",\"{key}\":"));
        write_text(value, &mut out);
    };
    text("environment", ENVIRONMENT);
    if let Answer::Deny(reason) = answer
        && reply.verdict != Verdict::Deny
    {
        text("error", reason);
    }
    out.push_str(",\"extra\":");
    out.push_str(&call.extra(write_text));
    out.push_str(",\"matched_rules\":");
    write_texts(&reply.rules, &mut out);
    out.push_str(",\"principal\":{\"id\":");
    write_text(call.host.name(), &mut out);
    out.push_str(",\"kind\":\"agent\"}");
    if reply.args.is_some() {
        out.push_str(",\"proposed_args\":");
        out.push_str(&proposed);
    }
    for (key, value) in [
        ("reason", reply.reason.as_str()),
        ("status", answer.status()),
        ("tool", &call.tool),
        ("verdict", reply.verdict.as_str()),
        ("workspace", &call.workspace),
    ] {
        out.push_str(&format!(",\"{key}\":"));
        write_text(value, &mut out);
    }
    out.push('}');
    Ok(out)
}

/// A new id: random hexadecimal digits.
fn record_id() -> Result<String, Failure> {
    let mut bytes = [0_u8; RECORD_ID_BYTES];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|error| format!("this machine gives no random numbers: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
