//! The manifest of a bundle, as far as a loader checks it: canonical, and that of the policy beside it.
//!
//! Readers without Python accept no other manifest. `bobcat.bundle.load` decodes those that are refused here, for the reason, or because
//! they hold host rules. INVARIANT: what is accepted here is accepted there, with the same meaning.

use crate::json::{Caps, Json, JsonMap, parse};
use crate::lang::Verdict;
use crate::program::{Profile, Program};
use crate::value::Civil;

const CAPS: Caps = Caps {
    depth: 8,
    nodes: 16 << 20,
};
const MAX_EPOCH: i64 = (1 << 53) - 1;
const LAYERS: &[u8] = b",\"layers\":";
const MEMORY: &[u8] = b",\"memory\":";
const IR_VERSION: i64 = crate::ir::IR_VERSION;

/// Metadata of a policy.
#[derive(Debug)]
pub struct Manifest {
    /// The digest of the IR, in hexadecimal.
    pub digest: String,
    /// The profile.
    pub profile: Profile,
    /// True if the policy has host rules.
    pub has_host_rules: bool,
    /// The number of rules.
    pub rule_count: u64,
    /// The number of the release, if it has one.
    pub epoch: Option<i64>,
    /// The canonical bytes of the policy up to its rules, before and behind the place of its layers and its memory.
    header: (String, String),
}

impl Manifest {
    /// Reads the section. Anything but the canonical text of a manifest is refused.
    ///
    /// # Errors
    /// The reason, for people.
    pub fn parse(data: &[u8]) -> Result<Self, String> {
        let parsed = parse(data, CAPS).map_err(|error| malformed(&error.message))?;
        let Json::Map(map) = &parsed else {
            return Err(malformed("it is not an object"));
        };
        let text = |key: &str| string(map, key).ok_or_else(|| malformed(key));
        let profile = match text("profile")? {
            "strict" => Profile::Strict,
            "lynx" => Profile::Lynx,
            _ => return Err(malformed("profile")),
        };
        let language =
            integer(map, "language_version").ok_or_else(|| malformed("language_version"))?;
        let defaults = defaults(map).ok_or_else(|| malformed("defaults"))?;
        let digest = text("digest")?.to_owned();
        let rule_count = integer(map, "rule_count").ok_or_else(|| malformed("rule_count"))?;
        let Some(Json::List(host_rules)) = map.get("host_rules") else {
            return Err(malformed("host_rules"));
        };
        let manifest = Self {
            digest,
            profile,
            has_host_rules: !host_rules.is_empty(),
            rule_count: u64::try_from(rule_count).map_err(|_| malformed("rule_count"))?,
            epoch: integer(map, "epoch"),
            header: header(&defaults, language, text("profile")?),
        };
        // One with host rules is refused by its reader, whatever its form.
        if manifest.has_host_rules || canonical(map, &defaults)?.as_bytes() == data {
            Ok(manifest)
        } else {
            Err(malformed("it is not in canonical form"))
        }
    }

    /// Returns true if this is the manifest of `program`, which was made from `ir` and has no host rules.
    #[must_use]
    pub fn describes(&self, program: &Program, ir: &[u8]) -> bool {
        let (before, behind) = &self.header;
        let rest = ir.strip_prefix(before.as_bytes());
        let rest = rest.and_then(|rest| part(rest, LAYERS, program.layers_bytes()));
        let rest = rest.and_then(|rest| part(rest, MEMORY, program.memory_bytes()));
        rest.is_some_and(|rest| rest.starts_with(behind.as_bytes()))
            && ir.ends_with(b"]}")
            && program.profile() == self.profile
            && program.host_count() == 0
            && u64::try_from(program.rule_count()) == Ok(self.rule_count)
    }
}

/// What follows a part of the header, if there is one.
fn part<'d>(rest: &'d [u8], key: &[u8], value: &[u8]) -> Option<&'d [u8]> {
    match value {
        [] => Some(rest),
        value => rest.strip_prefix(key)?.strip_prefix(value),
    }
}

/// The text of the whole manifest, keys sorted.
fn canonical(map: &JsonMap<'_>, defaults: &str) -> Result<String, String> {
    let mut out = format!("{{\"defaults\":{defaults},\"digest\":");
    write_text(string(map, "digest").unwrap_or_default(), &mut out);
    match map.get("epoch") {
        None => {}
        Some(Json::Int(epoch @ 0..=MAX_EPOCH)) => out.push_str(&format!(",\"epoch\":{epoch}")),
        Some(_) => return Err(malformed("epoch")),
    }
    match map.get("expires") {
        None => {}
        // In UTC and in whole seconds, as it is written.
        Some(Json::Text(text)) if text.as_str().is_some_and(is_utc_second) => {
            out.push_str(",\"expires\":");
            write_text(text.as_str().unwrap_or_default(), &mut out);
        }
        Some(_) => return Err(malformed("expires")),
    }
    let version = integer(map, "language_version").unwrap_or_default();
    out.push_str(&format!(
        ",\"host_rules\":[],\"language_version\":{version},\"lynx_id\":"
    ));
    match map.get("lynx_id") {
        Some(Json::Null) => out.push_str("null"),
        _ => write_text(
            string(map, "lynx_id").ok_or_else(|| malformed("lynx_id"))?,
            &mut out,
        ),
    }
    out.push_str(",\"profile\":");
    write_text(string(map, "profile").unwrap_or_default(), &mut out);
    let rules = integer(map, "rule_count").unwrap_or_default();
    out.push_str(&format!(",\"rule_count\":{rules},\"source_files\":["));
    let Some(Json::List(files)) = map.get("source_files") else {
        return Err(malformed("source_files"));
    };
    for (at, file) in files.iter().enumerate() {
        let Json::Text(file) = file else {
            return Err(malformed("source_files"));
        };
        out.push_str(if at > 0 { "," } else { "" });
        write_text(
            file.as_str().ok_or_else(|| malformed("source_files"))?,
            &mut out,
        );
    }
    out.push_str("]}");
    Ok(out)
}

fn is_utc_second(text: &str) -> bool {
    text.len() == "2026-01-31T12:00:00Z".len()
        && text.ends_with('Z')
        && text.as_bytes().get(10) == Some(&b'T')
        && Civil::parse(text).is_some()
}

/// The canonical text of the defaults.
fn defaults(map: &JsonMap<'_>) -> Option<String> {
    let Some(Json::Map(defaults)) = map.get("defaults") else {
        return None;
    };
    let verdict = |key| string(defaults, key).filter(|name| Verdict::from_name(name).is_some());
    let (shadow, no_match) = (verdict("on_missing_shadow")?, verdict("on_no_match")?);
    let error =
        string(defaults, "on_rule_error").filter(|name| matches!(*name, "deny" | "continue"))?;
    Some(format!(
        "{{\"on_missing_shadow\":\"{shadow}\",\"on_no_match\":\"{no_match}\",\"on_rule_error\":\"{error}\"}}"
    ))
}

fn header(defaults: &str, language: i64, profile: &str) -> (String, String) {
    (
        format!(
            "{{\"defaults\":{defaults},\"ir_version\":{IR_VERSION},\"language_version\":{language}"
        ),
        format!(",\"profile\":\"{profile}\",\"rules\":["),
    )
}

fn string<'m>(map: &'m JsonMap<'_>, key: &str) -> Option<&'m str> {
    match map.get(key) {
        Some(Json::Text(text)) => text.as_str(),
        _ => None,
    }
}

fn integer(map: &JsonMap<'_>, key: &str) -> Option<i64> {
    match map.get(key) {
        Some(Json::Int(value)) => Some(*value),
        _ => None,
    }
}

/// Appends a string as the writer of manifests does: short escapes where JSON has them.
fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn malformed(what: &str) -> String {
    format!("section `manifest` is malformed: {what}")
}
