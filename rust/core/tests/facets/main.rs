//! The facet `url` beside the `url` crate (WHATWG) and the expression of RFC 3986, appendix B: on the rows of the Web Platform Tests in
//! the sources of that crate, the rows of UTS 46 in those of `idna`, and on generated texts.
#![expect(
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::path::PathBuf;

use bobcat_core::facets::url::{self, Url};
use bobcat_core::facets::{address, host};

/// A file of a crate in the registry of this machine.
fn registry_file(name: &str, path: &str) -> Option<String> {
    let home = std::env::var_os("CARGO_HOME").map_or_else(
        || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")),
        |home| Some(PathBuf::from(home)),
    )?;
    let indexes = std::fs::read_dir(home.join("registry/src")).ok()?;
    let crates = indexes.flatten().flat_map(|index| {
        let entries = std::fs::read_dir(index.path()).into_iter().flatten();
        entries.flatten().map(|entry| entry.path())
    });
    let of = |path: &PathBuf| {
        let known = path.file_name().and_then(|known| known.to_str());
        known.is_some_and(|known| {
            known
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()))
        })
    };
    let found = crates.filter(of).max()?;
    std::fs::read_to_string(found.join(path)).ok()
}

/// Authority, path and query by the expression of RFC 3986, appendix B.
fn by_rfc(text: &str) -> (Option<&str>, &str, Option<&str>) {
    let rest = text.split_once(':').map_or(text, |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or(rest);
    let (before, query) = match rest.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (rest, None),
    };
    match before.strip_prefix("//") {
        Some(after) => {
            let end = after.find('/').unwrap_or(after.len());
            (Some(&after[..end]), &after[end..], query)
        }
        None => (None, before, query),
    }
}

/// Checks an accepted text against both readings.
fn agrees(text: &str, found: &Url) {
    let whatwg = ::url::Url::parse(text)
        .unwrap_or_else(|error| panic!("{text:?} is accepted, and WHATWG has: {error}"));
    assert_eq!(found.scheme(), whatwg.scheme(), "{text:?}");
    let canonical = |host: ::url::Host<&str>| match host {
        ::url::Host::Ipv4(ip) => ip.to_string(),
        ::url::Host::Ipv6(ip) => std::net::IpAddr::V6(ip).to_canonical().to_string(),
        // A host of a scheme without rules of its own is opaque to WHATWG.
        ::url::Host::Domain(name) => name.trim_end_matches('.').to_ascii_lowercase(),
    };
    let theirs = whatwg.host().map(canonical).filter(|host| !host.is_empty());
    let encoded = found.host().map(str::to_owned);
    if theirs != encoded {
        // Opaque hosts are not encoded: the name itself has to be the same.
        let opaque = theirs.as_deref().map(|host| {
            let bytes = percent_decoded(host);
            host::parse(&bytes, 0).or_else(|_| address::parse(&bytes).map(|found| found.text))
        });
        assert_eq!(opaque.and_then(Result::ok), encoded, "{text:?}");
    }
    assert_eq!(found.port, whatwg.port_or_known_default(), "{text:?}");
    let path = found.path();
    if whatwg.path() != path {
        assert!(
            whatwg.path().is_empty() && path == "/",
            "{text:?}: {path:?} and {:?}",
            whatwg.path()
        );
    }
    let keys: Vec<String> = whatwg
        .query_pairs()
        .map(|(key, _)| key.into_owned())
        .collect();
    assert_eq!(found.query_keys().collect::<Vec<_>>(), keys, "{text:?}");
    let (authority, path, query) = by_rfc(text);
    assert!(
        found.path() == path || (path.is_empty() && found.path() == "/"),
        "{text:?}"
    );
    assert_eq!(query.is_some(), whatwg.query().is_some(), "{text:?}");
    let authority = authority.unwrap_or_default();
    let (userinfo, host_port) = match authority.rsplit_once('@') {
        Some((userinfo, rest)) => (Some(userinfo), rest),
        None => (None, authority),
    };
    assert_eq!(found.userinfo(), userinfo, "{text:?}");
    let name = match host_port.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => host_port.split(':').next().unwrap_or(host_port),
    };
    let rfc = if name.is_empty() {
        None
    } else {
        let address = address::parse(name).map(|found| found.text);
        address.or_else(|_| host::parse(name, 0)).ok()
    };
    assert_eq!(found.host().map(str::to_owned), rfc, "{text:?}");
}

fn percent_decoded(text: &str) -> String {
    let (mut out, mut bytes) = (Vec::new(), text.bytes());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next().unwrap_or(0), bytes.next().unwrap_or(0)];
            let digits = String::from_utf8_lossy(&digits).into_owned();
            out.push(u8::from_str_radix(&digits, 16).unwrap_or(b'?'));
        } else {
            out.push(byte);
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[test]
fn accepted_rows_of_the_web_platform_tests_are_read_alike() {
    let Some(data) = registry_file("url-", "tests/urltestdata.json") else {
        println!("skipped: the sources of the crate `url` are not here");
        return;
    };
    let rows: Vec<serde_json::Value> = serde_json::from_str(&data).expect("the rows are JSON");
    let (mut accepted, mut refused) = (0, 0);
    for row in &rows {
        let Some(input) = row.get("input").and_then(serde_json::Value::as_str) else {
            continue;
        };
        let Ok(found) = url::parse(input) else {
            refused += 1;
            continue;
        };
        accepted += 1;
        assert!(row.get("failure").is_none(), "{input:?} is a failure");
        agrees(input, &found);
    }
    println!("{accepted} accepted, {refused} refused");
    assert!(
        accepted > 80 && refused > 300,
        "{accepted} accepted, {refused} refused"
    );
}

#[test]
fn accepted_names_of_uts_46_have_one_encoding() {
    let Some(data) = registry_file("idna-", "tests/IdnaTestV2.txt") else {
        println!("skipped: the sources of the crate `idna` are not here");
        return;
    };
    let (mut accepted, mut rows) = (0, 0);
    for line in data.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let columns: Vec<&str> = line
            .split(';')
            .map(|text| text.trim_matches([' ', '\t']))
            .collect();
        let [
            source,
            unicode,
            _,
            ascii,
            ascii_status,
            transitional,
            transitional_status,
        ] = columns[..]
        else {
            continue;
        };
        // A dot at the end is an error of DNS lengths only.
        if source.contains('\\') || source.is_empty() || source.ends_with('.') {
            continue;
        }
        rows += 1;
        let Ok(found) = host::parse(source, 0) else {
            continue;
        };
        accepted += 1;
        let unicode = if unicode.is_empty() { source } else { unicode };
        let ascii = if ascii.is_empty() { unicode } else { ascii };
        assert_eq!(found, ascii.trim_end_matches('.'), "{source:?}");
        let blank = |status: &str| matches!(status, "" | "[]");
        let transitional = if transitional.is_empty() {
            ascii
        } else {
            transitional
        };
        assert_eq!(found, transitional.trim_end_matches('.'), "{source:?}");
        assert!(
            (blank(ascii_status) || ascii_status.contains("U1"))
                && (blank(transitional_status) || ascii_status.contains("U1")),
            "{source:?} is accepted with {ascii_status} {transitional_status}"
        );
    }
    println!("{accepted} accepted of {rows}");
    assert!(accepted > 50, "{accepted} accepted of {rows}");
}

/// Numbers of a linear congruential generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }

    fn one<'t>(&mut self, items: &[&'t str]) -> &'t str {
        items[self.below(items.len())]
    }
}

const SCHEMES: [&str; 12] = [
    "http",
    "https",
    "HTTPS",
    "ws",
    "wss",
    "ftp",
    "file",
    "git+ssh",
    "urn",
    "mailto",
    "javascript",
    "s3",
];
const SEPARATORS: [&str; 8] = ["://", "://", "://", "://", ":", ":/", ":\\\\", "//"];
const USERS: [&str; 8] = [
    "",
    "",
    "",
    "",
    "user@",
    "user:pass@",
    "example.com@",
    "a@b@",
];
const HOSTS: [&str; 24] = [
    "example.com",
    "EXAMPLE.com",
    "a.example.com.",
    "127.0.0.1",
    "127.1",
    "0x7f.1",
    "010.0.0.1",
    "2130706433",
    "[::1]",
    "[::ffff:1.2.3.4]",
    "[fe80::1%25eth0]",
    "localhost",
    "",
    "bücher.example",
    "xn--bcher-kva.example",
    "faß.de",
    "ｅxample.com",
    "a..b",
    "exa%6dple.com",
    "a_b.example",
    "1.2.3.4.5",
    "a.1",
    "a.0x",
    "-a.example",
];
const PORTS: [&str; 8] = ["", "", "", ":80", ":443", ":0080", ":99999", ":"];
const PATHS: [&str; 12] = [
    "",
    "/",
    "/a/b",
    "/a/../b",
    "/./a",
    "/%2e%2e/a",
    "/a%20b",
    "/a b",
    "/a\\b",
    "//a",
    "/a;b=c",
    "/%C3%A9",
];
const QUERIES: [&str; 8] = [
    "",
    "",
    "?",
    "?a=b&c",
    "?a=b;c",
    "?%61=1&b+c=2",
    "?u=http://x/?y",
    "?é",
];
const FRAGMENTS: [&str; 5] = ["", "", "#", "#a/b?c", "#a#b"];
const NOISE: [&str; 20] = [
    "@", "\\", "/", "//", ":", "?", "#", "%", "%2f", "%00", "\t", "\n", " ", ".", "..", "[", "]",
    "。", "\u{200d}", "é",
];

#[test]
fn generated_texts_that_are_accepted_are_read_alike() {
    let rounds = match std::env::var("BOBCAT_CAMPAIGN")
        .ok()
        .and_then(|text| text.parse::<usize>().ok())
    {
        Some(rounds) => rounds * 100,
        None => 100_000,
    };
    let mut numbers = Numbers(7);
    let mut accepted = 0;
    for _ in 0..rounds {
        let parts = [
            numbers.one(&SCHEMES),
            numbers.one(&SEPARATORS),
            numbers.one(&USERS),
            numbers.one(&HOSTS),
            numbers.one(&PORTS),
            numbers.one(&PATHS),
            numbers.one(&QUERIES),
            numbers.one(&FRAGMENTS),
        ];
        let mut text = parts.concat();
        for _ in 0..numbers.below(3) {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            if let Some(at) = places.get(numbers.below(places.len().max(1))) {
                text.insert_str(*at, numbers.one(&NOISE));
            }
        }
        if let Ok(found) = url::parse(&text) {
            accepted += 1;
            agrees(&text, &found);
        }
    }
    println!("{accepted} of {rounds} accepted");
    assert!(accepted * 50 > rounds, "{accepted} of {rounds} accepted");
}
