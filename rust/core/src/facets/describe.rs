//! Parsed values as JSON, for people, and operands in their canonical form.

use super::address;
use super::path::Root;
use super::{Facet, Kind, Parsed, Part, host, semver};
use crate::json::value::JsonValue;
use crate::json::write_string;
use crate::lang::path::Key;
use crate::value::{Step, Value as _, View};

impl Parsed {
    /// The parts as JSON; a document as it is.
    #[must_use]
    pub fn describe(&self, kind: Kind) -> String {
        let mut out = String::new();
        if let Self::Document(JsonValue::Json(json)) = self {
            json.write(&mut out);
            return out;
        }
        if let Self::Script(script) = self {
            return super::shell::to_json(script);
        }
        let whole = Part::Whole(self);
        if let Self::Links(_) = self {
            write_part(&whole, &mut out);
            return out;
        }
        out.push('{');
        if let Self::Path(path) = self {
            out.push_str("\"normal\": ");
            write_string(&path.normal, &mut out);
        }
        for (name, _) in kind.parts() {
            if let Step::Found(part) = whole.get(Key::unprepared(name)) {
                if out.len() > 1 {
                    out.push_str(", ");
                }
                write_string(name, &mut out);
                out.push_str(": ");
                write_part(&part, &mut out);
            }
        }
        out.push('}');
        out
    }
}

fn write_part(part: &Part<'_>, out: &mut String) {
    match part.view() {
        View::Str(text) => write_string(text, out),
        View::Bool(flag) => out.push_str(if flag { "true" } else { "false" }),
        View::Int(number) => out.push_str(&number.to_string()),
        View::List => {
            out.push('[');
            for (at, item) in part.items().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write_part(&item, out);
            }
            out.push(']');
        }
        _ => out.push_str("null"),
    }
}

/// The value of a text as JSON, or the code, the place and the construct that made it undecidable.
#[must_use]
pub fn describe(facet: Facet, text: &str) -> String {
    match facet.parse(text) {
        Ok(parsed) => format!("{} {}", facet.name(), parsed.describe(facet.kind())),
        Err(error) => {
            let at = text.get(..error.at).unwrap_or(text).chars().count();
            format!(
                "{} undecidable: {} at character {at}: {}",
                facet.name(),
                error.code,
                error.detail
            )
        }
    }
}

/// The canonical form of an operand of a test of `kind`; `within`: it names a range.
///
/// # Errors
/// The text is no such operand; the error says why, for a person.
pub fn operand(kind: Kind, within: bool, text: &str) -> Result<String, String> {
    let detail = |error: super::Undecidable| error.detail;
    match (kind, within) {
        (Kind::Host, false)
            if (text.contains(':') && !text.contains('/')) || host::ends_in_number(text) =>
        {
            address::parse(text).map(|found| found.text).map_err(detail)
        }
        (Kind::Host, _) => host::parse(text, 0).map_err(detail),
        (Kind::Address | Kind::Network, true) => match address::parse_range(text) {
            Some((ip, prefix)) => Ok(format!("{ip}/{prefix}")),
            None if text.contains('/') => address::parse_network(text)
                .map(|found| found.text)
                .map_err(detail),
            None => address::parse(text).map(|found| found.text).map_err(detail),
        },
        (Kind::Path, true) => {
            super::path::parse(text).map_err(detail)?;
            Root::parse(text).map(|root| root.text()).ok_or_else(|| {
                "write an absolute directory, or one that begins with `./`, or `.` for the one that relative paths start from".into()
            })
        }
        (Kind::Version, false) => semver::parse(text).map(|_| text.to_owned()).map_err(detail),
        _ => Ok(text.to_owned()),
    }
}
