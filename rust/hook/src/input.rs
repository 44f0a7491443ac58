//! The host's input in JSON: one tool call, read into the parts of a request; the result of one; or the user's words.
//!
//! Only the fields named here are read; others are ignored. A missing or mistyped one is a failure, and so is a key that is
//! written twice anywhere, because two readers would disagree about it.

use std::io::Read as _;

use bobcat_core::json::{Caps, Json, JsonMap, parse, write_string};
use bobcat_core::limits::{MAX_REQUEST_BYTES, MAX_REQUEST_DEPTH, MAX_REQUEST_VALUES};

use crate::Failure;
use crate::call_result::CallResult;
use crate::canonical;
use crate::host::{Event, Host, Occasion};

pub(crate) const CAPS: Caps = Caps {
    depth: MAX_REQUEST_DEPTH,
    nodes: MAX_REQUEST_VALUES,
};

/// The kind of the principal of a request, whose id is the name of the host.
pub(crate) const PRINCIPAL_KIND: &str = "agent";

/// The environment of a request that names none.
pub(crate) const ENVIRONMENT: &str = "dev";

/// The input of a host.
#[derive(Debug)]
pub(crate) enum Input<'a> {
    /// A tool call, before it runs.
    Call(Call<'a>),
    /// The result of a tool call.
    Result(CallResult),
    /// The user's words.
    Task(UserTask),
}

/// The user's words in a session.
#[derive(Debug)]
pub(crate) struct UserTask {
    /// The session.
    pub(crate) session: String,
    /// The words.
    pub(crate) text: String,
}

impl<'a> Input<'a> {
    /// Reads the input of `host`.
    pub(crate) fn parse(host: Host, text: &'a [u8]) -> Result<Self, Failure> {
        let fields = Fields(object(text)?);
        // Copilot's input does not name its event.
        let (name, occasion) = match host {
            Host::Copilot => ("preToolUse".to_owned(), Occasion::Call(Event::Tool)),
            Host::ClaudeCode | Host::Codex | Host::Gemini | Host::Cursor => fields.event(host)?,
        };
        Ok(match occasion {
            Occasion::Call(event) => Self::Call(Call::read(host, (name, event), &fields)?),
            Occasion::Result => Self::Result(CallResult::read(host, &fields)?),
            Occasion::Task => Self::Task(UserTask {
                session: fields.text("session_id")?,
                text: fields.text("prompt")?,
            }),
        })
    }
}

/// One tool call of a host.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The host.
    pub(crate) host: Host,
    /// The event.
    pub(crate) event: Event,
    /// The name of the event.
    event_name: String,
    /// The tool, as the host calls it.
    pub(crate) tool: String,
    /// The arguments: an object.
    pub(crate) args: Json<'a>,
    /// The directory of the call.
    pub(crate) workspace: String,
    /// The id of the call, if the host gives one.
    pub(crate) id: Option<String>,
    session: Option<String>,
    agent: Option<String>,
    agent_type: Option<String>,
}

/// Reads standard input to its end.
pub(crate) fn read_all() -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_REQUEST_BYTES as u64 + 1)
        .read_to_end(&mut text)
        .map_err(|error| format!("the input cannot be read: {error}"))?;
    if text.len() > MAX_REQUEST_BYTES {
        return Err(format!(
            "the input is longer than {MAX_REQUEST_BYTES} bytes"
        ));
    }
    Ok(text)
}

impl<'a> Call<'a> {
    fn read(
        host: Host,
        (event_name, event): (String, Event),
        fields: &Fields<'a>,
    ) -> Result<Self, Failure> {
        let (tool, args) = match (host, event) {
            (Host::Copilot, _) => (fields.text("toolName")?, fields.arguments("toolArgs")?),
            (_, Event::Tool) => (fields.text("tool_name")?, fields.object("tool_input")?),
            (_, Event::Mcp) => (fields.text("tool_name")?, fields.arguments("tool_input")?),
            (_, Event::Shell) => ("Shell".to_owned(), fields.only("command")?),
            (_, Event::ReadFile) => ("Read".to_owned(), fields.only("file_path")?),
        };
        Ok(Self {
            host,
            event,
            event_name,
            tool,
            args,
            workspace: match host {
                Host::Cursor => fields.cursor_workspace()?,
                Host::ClaudeCode | Host::Codex | Host::Gemini | Host::Copilot => {
                    fields.text("cwd")?
                }
            },
            id: fields.call_id(host)?,
            session: match host {
                Host::ClaudeCode | Host::Codex | Host::Gemini => Some(fields.text("session_id")?),
                Host::Cursor => fields.optional_text("conversation_id")?,
                Host::Copilot => fields.optional_text("sessionId")?,
            },
            agent: fields.optional_text("agent_id")?,
            agent_type: fields.optional_text("agent_type")?,
        })
    }

    /// The request without its arguments, as JSON of a request at `time`.
    ///
    /// The principal is the host: kind `agent`, its name on the command line as the id.
    pub(crate) fn frame(&self, time: &str) -> String {
        let mut out = String::from("{\"tool\":");
        write_string(&self.tool, &mut out);
        out.push_str(",\"context\":{\"principal\":{\"kind\":\"agent\",\"id\":");
        write_string(self.host.name(), &mut out);
        out.push_str("},\"workspace\":");
        write_string(&self.workspace, &mut out);
        out.push_str(",\"correlation_id\":");
        write_string(self.session.as_deref().unwrap_or_default(), &mut out);
        out.push_str(",\"timestamp\":");
        write_string(time, &mut out);
        out.push_str(",\"environment\":");
        write_string(ENVIRONMENT, &mut out);
        out.push_str(",\"extra\":");
        out.push_str(&self.extra(write_string));
        out.push_str("}}");
        out
    }

    /// The session, if the host names one.
    pub(crate) fn session(&self) -> Option<&str> {
        self.session
            .as_deref()
            .filter(|session| !session.is_empty())
    }

    /// The request at `time` with these arguments as canonical JSON, without the task: the form of a session's record.
    pub(crate) fn request(&self, args: &str, time: &str) -> String {
        let mut out = format!("{{\"args\":{args},\"context\":{{\"correlation_id\":");
        canonical::write_text(self.session.as_deref().unwrap_or_default(), &mut out);
        out.push_str(",\"environment\":");
        canonical::write_text(ENVIRONMENT, &mut out);
        out.push_str(",\"extra\":");
        out.push_str(&self.extra(canonical::write_text));
        out.push_str(",\"principal\":{\"id\":");
        canonical::write_text(self.host.name(), &mut out);
        out.push_str(",\"kind\":\"agent\"},\"timestamp\":");
        canonical::write_text(time, &mut out);
        out.push_str(",\"workspace\":");
        canonical::write_text(&self.workspace, &mut out);
        out.push_str("},\"tool\":");
        canonical::write_text(&self.tool, &mut out);
        out.push('}');
        out
    }

    /// The facts about the call, as a JSON object with sorted keys; `write` appends a string.
    pub(crate) fn extra(&self, write: fn(&str, &mut String)) -> String {
        let mut out = String::new();
        for (key, value) in [
            ("agent_id", self.agent.as_deref()),
            ("agent_type", self.agent_type.as_deref()),
            ("event", Some(self.event_name.as_str())),
            ("host", Some(self.host.name())),
            ("session_id", self.session.as_deref()),
        ] {
            if let Some(value) = value {
                out.push(if out.is_empty() { '{' } else { ',' });
                out.push_str(&format!("\"{key}\":"));
                write(value, &mut out);
            }
        }
        out.push('}');
        out
    }
}

/// The fields of the input, or of arguments that are written as text.
pub(crate) struct Fields<'a>(Json<'a>);

impl<'a> Fields<'a> {
    pub(crate) fn get(&self, key: &str) -> Option<&Json<'a>> {
        match &self.0 {
            Json::Map(map) => JsonMap::get(map, key),
            _ => None,
        }
    }

    pub(crate) fn text(&self, key: &str) -> Result<String, Failure> {
        self.optional_text(key)?
            .ok_or_else(|| format!("the input has no `{key}`"))
    }

    /// A string; `None` when it is missing or null.
    fn optional_text(&self, key: &str) -> Result<Option<String>, Failure> {
        match self.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::Text(text)) => match text.as_str() {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(format!("`{key}` of the input has a lone surrogate")),
            },
            Some(_) => Err(format!("`{key}` of the input must be a string")),
        }
    }

    /// The id of a call: Claude Code and Codex give one.
    pub(crate) fn call_id(&self, host: Host) -> Result<Option<String>, Failure> {
        match host {
            Host::ClaudeCode | Host::Codex => self.optional_text("tool_use_id"),
            Host::Gemini | Host::Cursor | Host::Copilot => Ok(None),
        }
    }

    fn event(&self, host: Host) -> Result<(String, Occasion), Failure> {
        let name = self.text("hook_event_name")?;
        let known = host.events().iter().find(|(known, _)| *known == name);
        match known {
            Some((_, occasion)) => Ok((name, *occasion)),
            None => Err(format!(
                "{} has no event `{name}` that this hook answers",
                host.name()
            )),
        }
    }

    pub(crate) fn object(&self, key: &str) -> Result<Json<'a>, Failure> {
        match self.get(key) {
            Some(json @ Json::Map(_)) => Ok(json.clone()),
            Some(_) => Err(format!("`{key}` of the input must be an object")),
            None => Err(format!("the input has no `{key}`")),
        }
    }

    /// An object, or the JSON text of one.
    fn arguments(&self, key: &str) -> Result<Json<'a>, Failure> {
        match self.get(key) {
            Some(Json::Text(text)) => {
                let text = text
                    .as_str()
                    .ok_or_else(|| format!("`{key}` of the input has a lone surrogate"))?;
                // The process ends after one call, so its text need not be freed.
                let text: &'static str = Box::leak(text.into());
                object(text.as_bytes())
                    .map_err(|failure| format!("`{key}` of the input: {failure}"))
            }
            _ => self.object(key),
        }
    }

    /// An object of this string alone.
    fn only(&self, key: &'static str) -> Result<Json<'a>, Failure> {
        self.text(key)?;
        let value = self.get(key).cloned().unwrap_or(Json::Null);
        let name = bobcat_core::json::Text::Borrowed(key);
        let map =
            JsonMap::new(vec![(name, value)]).map_err(|key| format!("`{key}` is there twice"))?;
        Ok(Json::Map(map.into()))
    }

    /// The directory of a call of Cursor, or the first directory of its workspace.
    fn cursor_workspace(&self) -> Result<String, Failure> {
        if let Some(directory) = self.optional_text("cwd")?
            && !directory.is_empty()
        {
            return Ok(directory);
        }
        match self.get("workspace_roots") {
            Some(Json::List(roots)) => match roots.first() {
                Some(Json::Text(root)) => root.as_str().map(str::to_owned).ok_or_else(|| {
                    "`workspace_roots` of the input has a lone surrogate".to_owned()
                }),
                Some(_) => {
                    Err("`workspace_roots` of the input must be a list of strings".to_owned())
                }
                None => Err("`workspace_roots` of the input is empty".to_owned()),
            },
            Some(_) => Err("`workspace_roots` of the input must be a list of strings".to_owned()),
            None => Err("the input has no `cwd` and no `workspace_roots`".to_owned()),
        }
    }
}

/// Reads an object.
fn object(text: &[u8]) -> Result<Json<'_>, Failure> {
    match parse(text, CAPS) {
        Ok(json @ Json::Map(_)) => Ok(json),
        Ok(_) => Err("the input is not an object".to_owned()),
        Err(error) => Err(format!(
            "the input is not JSON: {} at byte {}",
            error.message, error.at
        )),
    }
}
