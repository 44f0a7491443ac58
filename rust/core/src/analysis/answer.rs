//! Answers, written as JSON.

use crate::json::write_string;

use super::budget::Reason;
use super::verify::Decided;

/// A JSON object under construction.
#[derive(Debug, Default)]
pub(super) struct Object(String);

impl Object {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds a value that is JSON already.
    pub(super) fn raw(mut self, key: &str, value: &str) -> Self {
        if !self.0.is_empty() {
            self.0.push_str(", ");
        }
        write_string(key, &mut self.0);
        self.0.push_str(": ");
        self.0.push_str(value);
        self
    }

    pub(super) fn text(self, key: &str, value: &str) -> Self {
        self.raw(key, &quoted(value))
    }

    pub(super) fn optional(self, key: &str, value: Option<impl ToString>) -> Self {
        let text = value.map_or_else(|| "null".to_owned(), |value| value.to_string());
        self.raw(key, &text)
    }

    pub(super) fn flag(self, key: &str, value: bool) -> Self {
        self.raw(key, if value { "true" } else { "false" })
    }

    pub(super) fn reasons(self, key: &str, reasons: &[Reason]) -> Self {
        self.raw(key, &list(reasons.iter().map(reason)))
    }

    pub(super) fn finish(self) -> String {
        format!("{{{}}}", self.0)
    }
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::new();
    write_string(text, &mut out);
    out
}

/// A name, or null.
pub(super) fn name_of(name: Option<&str>) -> String {
    name.map_or_else(|| "null".to_owned(), quoted)
}

/// A list of values that are JSON already.
pub(super) fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("[{}]", items.join(", "))
}

/// A reason.
fn reason(reason: &Reason) -> String {
    Object::new()
        .text("code", reason.code)
        .text("message", &reason.message)
        .optional("policy", reason.policy)
        .optional("rule", reason.rule)
        .raw("path", &name_of(reason.path.as_deref()))
        .finish()
}

/// A decision of the evaluator.
pub(super) fn decision(decided: &Decided) -> String {
    Object::new()
        .text("verdict", decided.verdict.name())
        .raw(
            "rules",
            &list(decided.rules.iter().map(|rule| quoted(rule))),
        )
        .finish()
}
