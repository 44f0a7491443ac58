//! Texts composed from the parts that an assignment wants of them.
//!
//! The parts come from the theories of their own paths, as if any could stand together; a text made of them is a guess, which
//! the evaluator confirms or refuses.

use crate::facets::Facet;
use crate::json::Json;

use super::sample;
use super::script;

/// The key of the normal form in the parts of a path.
pub(super) const NORMAL: &str = "\u{1}normal";

/// Texts that may have these parts, the likeliest first.
pub(super) fn texts(facet: Facet, parts: &Json<'static>) -> Vec<String> {
    let mut made = match facet {
        Facet::Url => url(parts),
        Facet::Path => paths(parts),
        Facet::Email => vec![format!(
            "{}@{}",
            text(parts, "local").unwrap_or("user"),
            text(parts, "domain").unwrap_or("example.org")
        )],
        Facet::Ip | Facet::Cidr => text(parts, "address")
            .into_iter()
            .map(str::to_owned)
            .collect(),
        Facet::Semver => version(parts),
        Facet::Json => {
            let mut document = String::new();
            sample::write(parts, &mut document);
            vec![document]
        }
        Facet::Shell => script::lines(parts),
        Facet::Sql => statements(parts),
        Facet::Links => vec![words(parts).join(" ")],
    };
    let mut known = std::collections::BTreeSet::new();
    made.retain(|text| known.insert(text.clone()));
    made
}

/// The value of a part.
pub(super) fn part<'p>(parts: &'p Json<'static>, name: &str) -> Option<&'p Json<'static>> {
    let Json::Map(map) = parts else { return None };
    let found = map
        .entries()
        .iter()
        .find(|(key, _)| key.as_str() == Some(name));
    found.map(|(_, value)| value)
}

/// The text of a part.
pub(super) fn text<'p>(parts: &'p Json<'static>, name: &str) -> Option<&'p str> {
    match part(parts, name)? {
        Json::Text(text) => text.as_str(),
        _ => None,
    }
}

/// The texts of a list.
fn words<'p>(list: &'p Json<'static>) -> Vec<&'p str> {
    let Json::List(items) = list else {
        return Vec::new();
    };
    let texts = items.iter().filter_map(|item| match item {
        Json::Text(text) => text.as_str(),
        _ => None,
    });
    texts.collect()
}

/// The texts of a part that is a list.
pub(super) fn list<'p>(parts: &'p Json<'static>, name: &str) -> Vec<&'p str> {
    part(parts, name).map(words).unwrap_or_default()
}

fn flag(parts: &Json<'static>, name: &str) -> Option<bool> {
    match part(parts, name)? {
        Json::Bool(value) => Some(*value),
        _ => None,
    }
}

fn number(parts: &Json<'static>, name: &str) -> Option<i64> {
    match part(parts, name)? {
        Json::Int(value) => Some(*value),
        _ => None,
    }
}

fn url(parts: &Json<'static>) -> Vec<String> {
    let host =
        text(parts, "host").unwrap_or(match (flag(parts, "is_ip"), flag(parts, "is_private")) {
            (Some(true), Some(true)) => "10.0.0.1",
            (Some(true), _) => "8.8.8.8",
            (_, Some(true)) => "localhost",
            _ => "example.org",
        });
    let host = match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    };
    let user = text(parts, "userinfo").map(|user| format!("{user}@"));
    let port = number(parts, "port").map(|port| format!(":{port}"));
    let path = match text(parts, "path") {
        Some(path) if path.is_empty() || path.starts_with('/') => path.to_owned(),
        Some(path) => format!("/{path}"),
        None => "/".to_owned(),
    };
    let keys = list(parts, "query_keys");
    let query: Vec<String> = keys
        .iter()
        .map(|key| format!("{}=1", escaped(key)))
        .collect();
    let query = match query.is_empty() {
        true => String::new(),
        false => format!("?{}", query.join("&")),
    };
    let front = format!("{}{host}", user.unwrap_or_default());
    let scheme = text(parts, "scheme").unwrap_or("https");
    let port = port.unwrap_or_default();
    vec![
        format!("{scheme}://{front}{port}{path}{query}"),
        format!("{scheme}://{front}{path}{query}"),
    ]
}

/// A name of a query, in which all but letters, digits and `-._` is escaped.
fn escaped(key: &str) -> String {
    let mut out = String::new();
    for byte in key.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => out.push(byte.into()),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn paths(parts: &Json<'static>) -> Vec<String> {
    let base = text(parts, NORMAL);
    let (name, suffix) = (text(parts, "name"), text(parts, "suffix"));
    let name = match (name, suffix) {
        (Some(name), Some(suffix)) if !name.ends_with(suffix) => Some(format!("{name}{suffix}")),
        (Some(name), _) => Some(name.to_owned()),
        (None, Some(suffix)) => Some(format!("x{suffix}")),
        (None, None) => None,
    };
    let components: Vec<String> = list(parts, "components")
        .into_iter()
        .map(|component| match component {
            "" | "." | ".." => format!("{component}x"),
            component => component.replace('/', "_"),
        })
        .collect();
    let directory = base.map(|base| base.trim_end_matches('/').to_owned());
    let last = components
        .last()
        .map(|last| format!("{last}{}", suffix.unwrap_or_default()));
    let joined = |with: &[Option<&str>]| {
        let pieces: Vec<&str> = with.iter().filter_map(|piece| *piece).collect();
        pieces.join("/")
    };
    let below = (!components.is_empty()).then(|| components.join("/"));
    let (directory, below, name) = (directory.as_deref(), below.as_deref(), name.as_deref());
    let mut made = vec![
        joined(&[directory, below, name]),
        joined(&[directory, below]),
        joined(&[directory, last.as_deref()]),
        joined(&[directory, name]),
        joined(&[below, name]),
        joined(&[below]),
        base.unwrap_or_default().to_owned(),
    ];
    made.retain(|path| !path.is_empty());
    let absolute = flag(parts, "is_absolute");
    made.into_iter()
        .map(|path| match (absolute, path.starts_with('/')) {
            (Some(true), false) => format!("/{path}"),
            (Some(false), true) => path.trim_start_matches('/').to_owned(),
            _ => path,
        })
        .collect()
}

fn version(parts: &Json<'static>) -> Vec<String> {
    let [major, minor, patch] =
        ["major", "minor", "patch"].map(|name| number(parts, name).unwrap_or(1));
    let pre = text(parts, "prerelease").filter(|pre| !pre.is_empty());
    let pre = pre.map(|pre| format!("-{pre}")).unwrap_or_default();
    vec![format!("{major}.{minor}.{patch}{pre}")]
}

fn statements(parts: &Json<'static>) -> Vec<String> {
    let mut tables: Vec<&str> = Vec::new();
    for name in ["writes", "tables", "reads", "table_names"] {
        for table in list(parts, name) {
            if !tables.contains(&table) {
                tables.push(table);
            }
        }
    }
    let functions = ["functions", "function_names", "unknown_functions"];
    let call = functions
        .iter()
        .find_map(|name| list(parts, name).first().copied())
        .map_or("1".to_owned(), |function| format!("{function}(1)"));
    let first = tables.first().copied().unwrap_or("t");
    let kinds = list(parts, "kinds");
    let kind = text(parts, "kind").or(kinds.first().copied());
    let mut made = Vec::new();
    for kind in kind.map_or_else(|| vec!["select", "update"], |kind| vec![kind]) {
        made.push(match kind {
            "insert" => format!("insert into {first} values ({call})"),
            "update" => format!("update {first} set a = {call}"),
            "delete" => format!("delete from {first}"),
            "create" => format!("create table {first} (a int)"),
            "select" if tables.is_empty() => format!("select {call}"),
            "select" => format!("select {call} from {}", tables.join(", ")),
            other => format!("{other} table {first}"),
        });
    }
    made
}
