//! The hosts, and the events at which they ask.

/// A coding agent with hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// Anthropic's Claude Code.
    ClaudeCode,
    /// OpenAI's Codex.
    Codex,
    /// Google's Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
    /// GitHub Copilot.
    Copilot,
}

impl Host {
    const ALL: [Self; 5] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Gemini,
        Self::Cursor,
        Self::Copilot,
    ];

    /// The host that the command line calls `name`.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|host| host.name() == name)
    }

    /// The name on the command line; also the id of the principal.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::Copilot => "copilot",
        }
    }

    /// All names, for messages.
    pub(crate) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// The events that this hook answers.
    pub(crate) fn events(self) -> &'static [(&'static str, Occasion)] {
        match self {
            Self::ClaudeCode | Self::Codex => &[
                ("PreToolUse", Occasion::Call(Event::Tool)),
                ("PostToolUse", Occasion::Result),
                ("UserPromptSubmit", Occasion::Task),
            ],
            Self::Gemini => &[
                ("BeforeTool", Occasion::Call(Event::Tool)),
                ("AfterTool", Occasion::Result),
                ("BeforeAgent", Occasion::Task),
            ],
            Self::Cursor => &[
                ("preToolUse", Occasion::Call(Event::Tool)),
                ("beforeShellExecution", Occasion::Call(Event::Shell)),
                ("beforeMCPExecution", Occasion::Call(Event::Mcp)),
                ("beforeReadFile", Occasion::Call(Event::ReadFile)),
            ],
            // Copilot's input does not name its event.
            Self::Copilot => &[],
        }
    }
}

/// The occasion on which a host runs the hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// Before a tool call.
    Call(Event),
    /// After a tool call that succeeded.
    Result,
    /// After the user has written.
    Task,
}

/// The kind of event, which determines what the input holds and what the answer may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Any tool.
    Tool,
    /// Cursor's shell.
    Shell,
    /// A tool of an MCP server, in Cursor.
    Mcp,
    /// A file that Cursor reads.
    ReadFile,
}
