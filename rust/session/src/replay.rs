//! Records of a session, and the state that they make.
//!
//! A record is one line: its kind and its fields, separated by tabs, which JSON does not hold unescaped.

use bobcat_core::ir::memory::Scope;
use bobcat_core::json::value::{Instant, JsonRequest, JsonValue};
use bobcat_core::json::{Caps, Json, parse};
use bobcat_core::limits::{MAX_REQUEST_DEPTH, MAX_REQUEST_VALUES};
use bobcat_core::memory::{Extent, State};
use bobcat_core::program::{Program, Scratch};
use bobcat_core::value::stored::Stored;

use crate::Failure;
use crate::request::SessionRequest;

const CAPS: Caps = Caps {
    depth: MAX_REQUEST_DEPTH,
    nodes: MAX_REQUEST_VALUES,
};

/// The end of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End<'t> {
    /// It succeeded, with this value as JSON.
    Result(&'t str),
    /// It succeeded, and rules cannot read its value.
    Unread,
    /// It failed.
    Failed,
}

/// The record of the session itself, the first one.
pub(crate) fn session(host: &str, session: &str) -> String {
    format!("session\t{}\t{}", quoted(host), quoted(session))
}

/// The record of a scope itself, the first one.
pub(crate) fn scope(by: &str, names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    format!("scope\t{by}\t{}", names.join("\t"))
}

/// The record of a call, with its request as JSON.
pub(crate) fn call(key: &str, request: &str) -> String {
    format!("call\t{key}\t{request}")
}

/// The record of the end of a call at a time in RFC 3339.
pub(crate) fn end(key: &str, at: &str, end: End<'_>) -> String {
    match end {
        End::Result(value) => format!("result\t{key}\t{at}\t{value}"),
        End::Unread => format!("unread\t{key}\t{at}"),
        End::Failed => format!("failed\t{key}\t{at}"),
    }
}

/// The record of the user's words.
pub(crate) fn task(text: &str) -> String {
    format!("task\t{}", quoted(text))
}

/// Takes a record into the state.
pub(crate) fn apply(
    (program, extent): (&Program, Extent),
    state: &mut State,
    record: &str,
    scratch: &mut Scratch,
) -> Result<(), Failure> {
    let (kind, rest) = record.split_once('\t').ok_or_else(unknown)?;
    match kind {
        "session" | "scope" => {}
        "task" => {
            let Json::Text(text) = json(rest)? else {
                return Err(unknown());
            };
            state.set_task(Some(text.as_str().ok_or_else(unknown)?));
        }
        "call" => {
            let (key, request) = rest.split_once('\t').ok_or_else(unknown)?;
            let request = JsonRequest::parse(request.as_bytes()).map_err(|_| unknown())?;
            if let Extent::Scope(_) = extent {
                state.count(program, &SessionRequest::new(request), scratch);
                return Ok(());
            }
            let task = state.task().map(str::to_owned);
            let request = SessionRequest::new(request).with_task(task.as_deref());
            // Calls see the results before them.
            state.next_reply();
            state.call(program, &request, key, scratch);
        }
        "result" | "unread" | "failed" => {
            let (key, rest) = rest.split_once('\t').ok_or_else(unknown)?;
            let (at, value) = rest.split_once('\t').unwrap_or((rest, "null"));
            let Instant { micros, .. } = Instant::parse(at).ok_or_else(unknown)?;
            let ended = match kind {
                "failed" => state.failed(program, key),
                "unread" => state.result(program, key, (&&Stored::Opaque, micros), scratch),
                _ => {
                    let value = JsonValue::Json(json(value)?);
                    state.result(program, key, (&value, micros), scratch)
                }
            };
            ended.map_err(|_| unknown())?;
        }
        _ => return Err(unknown()),
    }
    Ok(())
}

/// Returns true if a measure by this scope counts a call, or cannot.
pub(crate) fn counts(program: &Program, scope: Scope, request: &str) -> Result<bool, Failure> {
    let request = JsonRequest::parse(request.as_bytes()).map_err(|_| unknown())?;
    Ok(program.counts(&SessionRequest::new(request), scope))
}

fn json(text: &str) -> Result<Json<'_>, Failure> {
    parse(text.as_bytes(), CAPS).map_err(|_| unknown())
}

fn unknown() -> Failure {
    "a record in it is not one of this version".to_owned()
}

/// A string of JSON in ASCII, as `bobcat.text.json_text` writes it.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
    out
}
