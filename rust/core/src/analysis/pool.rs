//! Texts for facets: candidates composed from the constants of checks, each evaluated like any constant.
//!
//! A witness needs a text with certain parts. Instead of solving for one, the texts that policies are likely to tell apart
//! are listed: the named parts, one beside them, and one that the facet refuses.

use std::collections::{BTreeMap, BTreeSet};

use crate::clause::operand::{Check, Operand};
use crate::clause::ops::OperandType;
use crate::facets::Facet;
use crate::value::constant::Const;

use super::space::Theory;
use super::theory::{Solved, TextTest};

/// The most texts of one slot.
const MOST: usize = 160;

/// Parts by name, each with the texts that checks compare it with; `""` has those of the value itself.
type Parts = BTreeMap<String, BTreeSet<String>>;

/// Candidate texts for the facets that checks ask for.
pub(super) fn texts(checks: &[Check], theory: &Theory) -> BTreeSet<String> {
    let mut by_facet: BTreeMap<&str, (Facet, Parts)> = BTreeMap::new();
    for check in checks {
        if let OperandType::Facet(facet) = check.op.operand
            && let Operand::Tests(tests) = &check.operand
        {
            let (_, parts) = by_facet
                .entry(facet.name())
                .or_insert_with(|| (facet, Parts::new()));
            tests
                .iter()
                .for_each(|test| gather("", test, theory, parts));
        }
    }
    let mut found = BTreeSet::new();
    for (facet, parts) in by_facet.values() {
        found.extend(composed(*facet, parts).into_iter().take(MOST));
    }
    found
}

/// Adds the texts that a test compares with to those of a part.
fn gather(part: &str, check: &Check, theory: &Theory, parts: &mut Parts) {
    match &check.operand {
        Operand::Part(path, tests) => {
            let part = path.join(".");
            parts.entry(part.clone()).or_default();
            tests
                .iter()
                .for_each(|test| gather(&part, test, theory, parts));
        }
        Operand::Tests(tests) => {
            tests
                .iter()
                .for_each(|test| gather(part, test, theory, parts));
        }
        Operand::Const(constant) => {
            let own = parts.entry(part.to_owned()).or_default();
            add(check.op.name, constant, theory, own);
        }
        Operand::Ref(..) | Operand::Sources(_) | Operand::Places(_) => {}
    }
}

fn add(op: &str, constant: &Const, theory: &Theory, own: &mut BTreeSet<String>) {
    match constant {
        Const::List(items) => items.iter().for_each(|item| add(op, item, theory, own)),
        Const::Int(number) => {
            own.extend([number.to_string(), (number + 1).to_string()]);
            own.extend((*number > 0).then(|| (number - 1).to_string()));
        }
        Const::Str(pattern) if op == "matches" => {
            let pattern = pattern.to_string();
            let test = TextTest::Matches { pattern };
            if let Ok(id) = theory.add(test)
                && let Ok(Solved::Value(text)) = theory.solve(&[(id, true)], &[])
            {
                own.insert(text);
            }
        }
        Const::Str(text) => {
            own.insert(text.to_string());
            match op {
                "within" => drop(own.insert(format!("\u{0}{text}"))),
                "starts_with" => drop(own.insert(format!("{text}x"))),
                "ends_with" | "contains" => drop(own.insert(format!("x{text}"))),
                _ => {}
            }
        }
        _ => {}
    }
}

/// The texts of a part, and some beside them.
fn of(parts: &Parts, name: &str, others: &[&str]) -> Vec<String> {
    let own = parts.get(name).into_iter().flatten();
    let own = own.filter(|text| !text.starts_with('\u{0}')).cloned();
    let mut all: Vec<String> = own.collect();
    for other in others {
        if !all.iter().any(|known| known == other) {
            all.push((*other).to_owned());
        }
    }
    all
}

/// The ranges of a part.
fn ranges<'p>(parts: &'p Parts, name: &str) -> impl Iterator<Item = &'p str> {
    let own = parts.get(name).into_iter().flatten();
    own.filter_map(|text| text.strip_prefix('\u{0}'))
}

fn composed(facet: Facet, parts: &Parts) -> Vec<String> {
    match facet {
        Facet::Url => urls(parts),
        Facet::Path => paths(parts),
        Facet::Email => emails(parts),
        Facet::Ip => with_neighbours(
            parts,
            &[
                "8.8.8.8",
                "10.0.0.1",
                "127.0.0.1",
                "169.254.169.254",
                "192.0.2.1",
                "::1",
                "x",
            ],
        ),
        Facet::Cidr => networks(parts),
        Facet::Semver => versions(parts),
        Facet::Json => documents(parts),
        Facet::Shell => scripts(parts),
        Facet::Sql => statements(parts),
        Facet::Links => links(parts),
    }
}

fn hosts(parts: &Parts, name: &str) -> Vec<String> {
    let mut hosts = of(parts, name, &["example.org"]);
    hosts.extend(ranges(parts, name).map(|domain| format!("sub.{domain}")));
    hosts
}

fn urls(parts: &Parts) -> Vec<String> {
    let mut hosts = hosts(parts, "host");
    if parts.contains_key("is_private") || parts.contains_key("is_ip") {
        hosts.extend(["127.0.0.1".to_owned(), "8.8.8.8".to_owned()]);
    }
    let schemes = of(parts, "scheme", &["https", "http"]);
    let paths: Vec<String> = of(parts, "path", &["/"])
        .into_iter()
        .map(|path| {
            if path.starts_with('/') {
                path
            } else {
                format!("/{path}")
            }
        })
        .collect();
    let ports: Vec<String> = [String::new()]
        .into_iter()
        .chain(
            of(parts, "port", &[])
                .into_iter()
                .map(|port| format!(":{port}")),
        )
        .collect();
    let users: &[&str] = if parts.contains_key("userinfo") {
        &["", "user@"]
    } else {
        &[""]
    };
    let queries: Vec<String> = [String::new()]
        .into_iter()
        .chain(
            of(parts, "query_keys", &[])
                .into_iter()
                .map(|key| format!("?{key}=1")),
        )
        .collect();
    let mut made = Vec::new();
    for scheme in &schemes {
        for path in &paths {
            for port in &ports {
                for user in users {
                    for query in &queries {
                        for host in &hosts {
                            let host = if host.contains(':') {
                                format!("[{host}]")
                            } else {
                                host.clone()
                            };
                            made.push(format!("{scheme}://{user}{host}{port}{path}{query}"));
                        }
                    }
                }
            }
        }
    }
    with_refused(made, "x")
}

/// The texts, few enough, and one that the facet refuses.
fn with_refused(mut made: Vec<String>, refused: &str) -> Vec<String> {
    made.truncate(MOST - 1);
    made.push(refused.to_owned());
    made
}

fn paths(parts: &Parts) -> Vec<String> {
    let mut directories: Vec<String> = vec![String::new(), "/etc/".to_owned()];
    for root in ranges(parts, "").chain(ranges(parts, "components")) {
        let root = root
            .strip_prefix("./")
            .unwrap_or(root)
            .trim_end_matches('/');
        directories.push(if root == "." {
            String::new()
        } else {
            format!("{root}/")
        });
    }
    for component in of(parts, "components", &[]) {
        directories.push(format!("{component}/"));
        directories.push(format!("/{component}/"));
    }
    let mut names = of(parts, "name", &["x"]);
    names.extend(
        of(parts, "suffix", &[])
            .into_iter()
            .map(|suffix| format!("x{suffix}")),
    );
    let mut made = Vec::new();
    for name in &names {
        made.extend(
            directories
                .iter()
                .map(|directory| format!("{directory}{name}")),
        );
    }
    made.extend(
        directories
            .iter()
            .map(|directory| directory.trim_end_matches('/').to_owned()),
    );
    made.retain(|path| !path.is_empty());
    with_refused(made, "../x")
}

fn emails(parts: &Parts) -> Vec<String> {
    let mut made = Vec::new();
    for local in of(parts, "local", &["user"]) {
        for domain in hosts(parts, "domain") {
            made.push(format!("{local}@{domain}"));
        }
    }
    with_refused(made, "x")
}

/// The texts of the value itself, those of its address, the first of each range, and others.
fn with_neighbours(parts: &Parts, others: &[&str]) -> Vec<String> {
    let mut made = of(parts, "", &[]);
    made.extend(of(parts, "address", &[]));
    for range in ranges(parts, "") {
        made.push(range.to_owned());
        made.extend(range.split('/').next().map(str::to_owned));
    }
    made.extend(others.iter().map(|other| (*other).to_owned()));
    made
}

/// Networks, also those with each prefix.
fn networks(parts: &Parts) -> Vec<String> {
    let others = ["8.8.8.0/24", "10.0.0.0/8", "10.1.0.0/16", "0.0.0.0/0", "x"];
    let known = with_neighbours(parts, &others);
    let addresses: BTreeSet<&str> = known
        .iter()
        .filter_map(|text| text.split('/').next())
        .collect();
    let mut made = Vec::new();
    for prefix in of(parts, "prefix", &[]) {
        made.extend(
            addresses
                .iter()
                .map(|address| format!("{address}/{prefix}")),
        );
    }
    known.into_iter().chain(made).collect()
}

fn versions(parts: &Parts) -> Vec<String> {
    let mut made = of(parts, "", &["0.0.0", "1.0.0", "999.0.0"]);
    for version in of(parts, "", &[]) {
        let core = version.split(['-', '+']).next().unwrap_or_default();
        made.extend([core.to_owned(), format!("{core}-0")]);
        if let Some((front, patch)) = core.rsplit_once('.')
            && let Ok(patch) = patch.parse::<u64>()
        {
            made.push(format!("{front}.{}", patch + 1));
            made.extend(patch.checked_sub(1).map(|patch| format!("{front}.{patch}")));
        }
    }
    for major in of(parts, "major", &["1"]) {
        for minor in of(parts, "minor", &["0"]) {
            for patch in of(parts, "patch", &["0"]) {
                made.push(format!("{major}.{minor}.{patch}"));
                for pre in of(parts, "prerelease", &[])
                    .iter()
                    .filter(|pre| !pre.is_empty())
                {
                    made.push(format!("{major}.{minor}.{patch}-{pre}"));
                }
            }
        }
    }
    with_refused(made, "x")
}

fn documents(parts: &Parts) -> Vec<String> {
    let mut made = vec!["{}".to_owned(), "[]".to_owned(), "1".to_owned()];
    for (path, values) in parts.iter().filter(|(path, _)| !path.is_empty()) {
        let mut texts: Vec<String> = values
            .iter()
            .map(|value| super::answer::quoted(value))
            .collect();
        texts.extend(
            values
                .iter()
                .filter(|value| value.parse::<i64>().is_ok())
                .cloned(),
        );
        texts.extend(["true", "false", "null", "\"x\"", "[]"].map(str::to_owned));
        for text in texts {
            let steps = path.rsplit('.');
            made.push(steps.fold(text, |inner, step| {
                format!("{{{}: {inner}}}", super::answer::quoted(step))
            }));
        }
    }
    with_refused(made, "{")
}

fn scripts(parts: &Parts) -> Vec<String> {
    let mut programs = of(parts, "program", &[]);
    for name in of(parts, "name", &["ls", "cat", "rm", "curl", "frobnicate"]) {
        if !programs.contains(&name) {
            programs.push(name);
        }
    }
    let mut arguments: Vec<String> = of(parts, "argv", &["a"]);
    arguments.extend(of(parts, "first", &[]));
    arguments.retain(|argument| !argument.is_empty() && !argument.contains([' ', '\t', '\n']));
    let mut made: Vec<String> = programs.clone();
    for argument in &arguments {
        made.extend(
            programs
                .iter()
                .map(|program| format!("{program} {argument}")),
        );
    }
    made.extend(programs.iter().map(|program| format!("{program} > out")));
    made.extend(programs.iter().map(|program| format!("sudo {program}")));
    for launcher in of(parts, "via", &[]) {
        made.extend(
            programs
                .iter()
                .map(|program| format!("{launcher} {program}")),
        );
    }
    for name in of(parts, "assigns", &[]) {
        made.extend(programs.iter().map(|program| format!("{name}=1 {program}")));
    }
    for pair in programs.windows(2) {
        made.push(pair.join(" && "));
    }
    for one in programs.iter().take(8) {
        for other in programs.iter().take(8).filter(|other| *other != one) {
            made.push(format!("{one}; {other}"));
        }
    }
    made.truncate(MOST - 2);
    made.push(" ".to_owned());
    with_refused(made, "$(x)")
}

fn statements(parts: &Parts) -> Vec<String> {
    let mut tables: BTreeSet<String> = BTreeSet::from(["t".to_owned()]);
    for part in ["tables", "table_names", "reads", "writes"] {
        tables.extend(of(parts, part, &[]));
    }
    let mut functions: BTreeSet<String> = BTreeSet::from(["f".to_owned()]);
    for part in ["functions", "function_names", "unknown_functions"] {
        functions.extend(of(parts, part, &[]));
    }
    let mut made = vec!["select 1".to_owned()];
    for table in &tables {
        made.extend([
            format!("select * from {table}"),
            format!("insert into {table} values (1)"),
            format!("update {table} set a = 1"),
            format!("delete from {table}"),
            format!("drop table {table}"),
            format!("create table {table} (a int)"),
        ]);
        made.extend(
            tables
                .iter()
                .filter(|other| *other != table)
                .take(4)
                .map(|other| format!("select * from {table}, {other}")),
        );
    }
    made.extend(
        functions
            .iter()
            .map(|function| format!("select {function}(1)")),
    );
    with_refused(made, "x")
}

fn links(parts: &Parts) -> Vec<String> {
    let mut made = vec!["x".to_owned()];
    let own = parts
        .values()
        .flatten()
        .filter(|text| !text.starts_with('\u{0}'));
    for host in own.cloned().chain(["example.org".to_owned()]) {
        let link = if host.contains("://") {
            host
        } else {
            format!("https://{host}/")
        };
        made.push(link);
    }
    let ranges: Vec<&str> = parts.keys().flat_map(|name| ranges(parts, name)).collect();
    made.extend(ranges.iter().map(|domain| format!("https://sub.{domain}/")));
    made
}
