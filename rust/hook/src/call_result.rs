//! The result of a call as its host reports it, and the value in it that rules read.

use bobcat_core::json::{Json, JsonMap, parse};

use crate::Failure;
use crate::canonical::canonical_json;
use crate::host::Host;
use crate::input::{CAPS, Fields};

/// The marks that Gemini CLI puts around texts of tools for its model.
const GEMINI_MARKS: (&str, &str) = ("<untrusted_context>\n", "\n</untrusted_context>");
/// The keys of the result of an MCP server.
const MCP_KEYS: [&str; 4] = ["_meta", "content", "isError", "structuredContent"];

/// The result of one call.
#[derive(Debug)]
pub(crate) struct CallResult {
    /// The session.
    pub(crate) session: String,
    /// The id of the call, if the host gives one.
    pub(crate) id: Option<String>,
    /// The tool.
    pub(crate) tool: String,
    /// The arguments, as canonical JSON.
    pub(crate) args: String,
    /// The value, as canonical JSON; `None`: it has no exact one.
    pub(crate) value: Option<String>,
    /// True if the host reports a failure.
    pub(crate) failed: bool,
}

impl CallResult {
    pub(crate) fn read(host: Host, fields: &Fields<'_>) -> Result<Self, Failure> {
        let args = canonical_json(&fields.object("tool_input")?)
            .ok_or("the arguments have no exact JSON form")?;
        let response = fields
            .get("tool_response")
            .ok_or("the input has no `tool_response`")?;
        let mut response = response.clone();
        let mut failed = false;
        if host == Host::Gemini
            && let Json::Map(map) = &response
        {
            failed = is_there(map, "error");
            if let Some(content) = map.get("llmContent") {
                response = content.clone();
            }
        }
        if let Some(content) = mcp_content(&response) {
            failed |=
                matches!(&response, Json::Map(map) if map.get("isError").is_some_and(is_true));
            response = content;
        }
        Ok(Self {
            session: fields.text("session_id")?,
            id: fields.call_id(host)?,
            tool: fields.text("tool_name")?,
            args,
            value: value(host, &response),
            failed,
        })
    }
}

/// The content of the result of an MCP server.
fn mcp_content<'a>(response: &Json<'a>) -> Option<Json<'a>> {
    let Json::Map(map) = response else {
        return None;
    };
    let mut keys = map.entries().iter().map(|(key, _)| key.as_str());
    let known = keys.all(|key| key.is_some_and(|key| MCP_KEYS.contains(&key)));
    match map.get("content") {
        Some(content @ Json::List(_)) if known => Some(if is_there(map, "structuredContent") {
            map.get("structuredContent")?.clone()
        } else {
            content.clone()
        }),
        _ => None,
    }
}

/// The value as canonical JSON. A list of one text is that text, and the text of a JSON object or list is that value.
fn value(host: Host, response: &Json<'_>) -> Option<String> {
    let text = match response {
        Json::Text(text) => text.as_str(),
        Json::List(items) => match items.as_slice() {
            [Json::Map(block)] => block_text(block),
            _ => None,
        },
        _ => None,
    };
    let Some(text) = text else {
        return canonical_json(response);
    };
    let marked = || {
        text.strip_prefix(GEMINI_MARKS.0)?
            .strip_suffix(GEMINI_MARKS.1)
    };
    let text = match host {
        Host::Gemini => marked().unwrap_or(text),
        Host::ClaudeCode | Host::Codex | Host::Cursor | Host::Copilot => text,
    };
    if text.trim_ascii_start().starts_with(['{', '['])
        && let Ok(parsed) = parse(text.as_bytes(), CAPS)
    {
        return canonical_json(&parsed);
    }
    let mut out = String::new();
    crate::canonical::write_text(text, &mut out);
    Some(out)
}

/// The text of a block of content that has one.
fn block_text<'j>(block: &'j JsonMap<'_>) -> Option<&'j str> {
    let is_text = match block.get("type") {
        None => true,
        Some(Json::Text(kind)) => kind.as_str() == Some("text"),
        Some(_) => false,
    };
    match block.get("text") {
        Some(Json::Text(text)) if is_text => text.as_str(),
        _ => None,
    }
}

fn is_there(map: &JsonMap<'_>, key: &str) -> bool {
    !matches!(map.get(key), None | Some(Json::Null))
}

fn is_true(value: &Json<'_>) -> bool {
    matches!(value, Json::Bool(true))
}
