//! A script as JSON text, for tests, `explain` and Python rules.

use super::script::{Command, Script};

/// The commands as a JSON array.
#[must_use]
pub fn to_json(script: &Script) -> String {
    let mut out = String::from("[");
    for (index, command) in script.commands().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_command(&mut out, &command);
    }
    out.push(']');
    out
}

/// The packs as a JSON array of objects: `name`, `about`, `rows` of names, settings and options.
#[must_use]
pub fn packs_json() -> String {
    let mut out = String::new();
    list(&mut out, "", super::packs().into_iter(), |out, pack| {
        out.push_str("{\"name\":");
        text(out, pack.name);
        out.push_str(",\"about\":");
        text(out, pack.about);
        list(
            out,
            ",\"rows\":",
            pack.rows.into_iter(),
            |out, (names, settings, flags)| {
                list(out, "[", names.into_iter(), text);
                list(out, ",", settings.into_iter(), text);
                list(out, ",", flags.into_iter(), text);
                out.push(']');
            },
        );
        out.push('}');
    });
    out
}

fn write_command(out: &mut String, command: &Command<'_>) {
    out.push_str("{\"program\":");
    text(out, command.program());
    out.push_str(",\"name\":");
    text(out, command.name());
    list(out, ",\"argv\":", command.argv(), |out, word| {
        text(out, word.text())
    });
    list(out, ",\"literal\":", command.argv(), |out, word| {
        out.push_str(if word.is_literal() { "true" } else { "false" })
    });
    out.push_str(",\"argv_is_certain\":");
    out.push_str(if command.argv_is_certain() {
        "true"
    } else {
        "false"
    });
    list(
        out,
        ",\"assignments\":",
        command.assignments(),
        |out, (name, value)| {
            list(out, "", [name, value.text()].into_iter(), text);
        },
    );
    list(
        out,
        ",\"redirections\":",
        command.redirections(),
        |out, found| {
            out.push_str("{\"operator\":");
            text(out, found.kind.operator());
            out.push_str(",\"fd\":");
            out.push_str(&found.fd.map_or("null".to_owned(), |fd| fd.to_string()));
            out.push_str(",\"target\":");
            text(out, found.target.text());
            out.push('}');
        },
    );
    list(out, ",\"effects\":", command.effects().names(), text);
    list(out, ",\"via\":", command.via(), text);
    out.push('}');
}

fn list<T>(
    out: &mut String,
    key: &str,
    items: impl Iterator<Item = T>,
    write: impl Fn(&mut String, T),
) {
    out.push_str(key);
    out.push('[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}

/// A JSON string. A command line has no control characters but tabs and newlines.
fn text(out: &mut String, text: &str) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ => out.push(char),
        }
    }
    out.push('"');
}
