//! URLs: absolute ones that the WHATWG standard and RFC 3986 read alike.
//!
//! The two differ in backslashes, control characters, spaces, missing slashes, numbers as addresses, percent signs in the
//! host, empty hosts and dot segments. None of them is accepted.

use std::net::IpAddr;

use super::{Undecidable, address, host};

/// Longest text, in bytes.
pub(crate) const MAX_TEXT: usize = 8192;

/// A parsed URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// The scheme, in lower case.
    pub scheme: String,
    /// The host: a canonical name, or a canonical address without brackets.
    pub host: Option<String>,
    /// The address, of a host that is one.
    pub ip: Option<IpAddr>,
    /// The port that is connected to: the one written, or that of the scheme.
    pub port: Option<u16>,
    /// The path as written, `/` where a hierarchical scheme has none.
    pub path: String,
    /// The names of the query's parameters in order, decoded.
    pub query_keys: Vec<String>,
    /// What is before the `@`.
    pub userinfo: Option<String>,
}

impl Url {
    /// Returns true if the host is an address that is not public, or a name of this machine or its network.
    #[must_use]
    pub fn is_private(&self) -> bool {
        match (self.ip, &self.host) {
            (Some(ip), _) => address::is_private(ip),
            (None, Some(name)) => host::is_private(name),
            (None, None) => true,
        }
    }
}

fn bad(code: &'static str, at: usize, detail: impl Into<String>) -> Undecidable {
    Undecidable::new(code, at, detail)
}

/// The schemes to which the WHATWG standard gives a syntax of their own, with their ports.
fn special(scheme: &str) -> Option<Option<u16>> {
    Some(match scheme {
        "http" | "ws" => Some(80),
        "https" | "wss" => Some(443),
        "ftp" => Some(21),
        "file" => None,
        _ => return None,
    })
}

/// Parses an absolute URL.
///
/// # Errors
/// The text is no URL, or one that is read in different ways.
pub fn parse(text: &str) -> Result<Url, Undecidable> {
    if text.len() > MAX_TEXT {
        return Err(bad("url_length", MAX_TEXT, "the text is too long"));
    }
    // Beyond ASCII only a host is read alike; it is checked below.
    let accepted = |byte: u8| {
        ACCEPTED
            .get(byte as usize)
            .is_some_and(|accepted| *accepted)
    };
    if let Some(at) = text.bytes().position(|byte| !accepted(byte)) {
        return Err(bad("url_character", at, "URLs do not have this character"));
    }
    let scheme_end = text.bytes().position(|byte| byte == b':').unwrap_or(0);
    let (scheme, rest) = (
        text.get(..scheme_end).unwrap_or_default(),
        text.get(scheme_end + 1..).unwrap_or_default(),
    );
    let follows = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    if !scheme.starts_with(|char: char| char.is_ascii_alphabetic()) || !scheme.bytes().all(follows)
    {
        return Err(bad("url_scheme", 0, "the URL does not begin with a scheme"));
    }
    let mut url = Url {
        scheme: scheme.to_ascii_lowercase(),
        ..Url::default()
    };
    let special = special(&url.scheme);
    let Some(after) = rest.strip_prefix("//") else {
        if special.is_some() {
            return Err(bad("url_slashes", scheme_end + 1, "`//` is missing"));
        }
        tail(&mut url, rest, scheme_end + 1)?;
        return Ok(url);
    };
    let begin = scheme_end + 3;
    let end = after
        .bytes()
        .position(|byte| matches!(byte, b'/' | b'?' | b'#'))
        .unwrap_or(after.len());
    let (authority, below) = after.split_at_checked(end).unwrap_or((after, ""));
    read_authority(&mut url, authority, begin)?;
    if url.host.is_none() && url.scheme != "file" {
        return Err(bad("url_host", begin, "the host is missing"));
    }
    if url.host.is_some() && url.scheme == "file" {
        return Err(bad("url_host", begin, "a file has no host"));
    }
    if url.scheme == "file" && below.starts_with("//") {
        return Err(bad("url_slashes", begin, "there are too many slashes"));
    }
    if let (None, Some(port)) = (url.port, special) {
        url.port = port;
    }
    tail(&mut url, below, begin + end)?;
    if url.path.is_empty() {
        url.path.push('/');
    }
    Ok(url)
}

/// The characters of URLs, and bytes beyond ASCII. Those that are not here are read in different ways.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const ACCEPTED: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte >= 128
            || ((byte as u8).is_ascii_graphic()
                && !matches!(
                    byte as u8,
                    b'\\' | b'"' | b'<' | b'>' | b'^' | b'`' | b'{' | b'|' | b'}'
                ));
        byte += 1;
    }
    table
};

fn read_authority(url: &mut Url, text: &str, at: usize) -> Result<(), Undecidable> {
    let (mut host, mut begin) = (text, at);
    if let Some((userinfo, rest)) = text.split_once('@') {
        if rest.contains('@') {
            return Err(bad("url_userinfo", at, "there are two `@`"));
        }
        let named = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:%".contains(&byte);
        if let Some(place) = userinfo.bytes().position(|byte| !named(byte)) {
            return Err(bad("url_userinfo", at + place, "this is no name of a user"));
        }
        escapes(userinfo, at)?;
        url.userinfo = Some(userinfo.to_owned());
        (host, begin) = (rest, at + userinfo.len() + 1);
        if host.is_empty() {
            return Err(bad("url_host", begin, "the host is missing"));
        }
    }
    let name = if let Some(rest) = host.strip_prefix('[') {
        let Some((inside, after)) = rest.split_once(']') else {
            return Err(bad("url_host", begin, "`]` is missing"));
        };
        if !inside.contains(':') {
            return Err(bad("url_host", begin, "brackets hold an IPv6 address"));
        }
        let ip = address::literal(inside)
            .map_err(|error| bad("url_address", begin + 1 + error.at, error.detail))?;
        url.ip = Some(ip);
        url.host = Some(ip.to_string());
        if !after.is_empty() && !after.starts_with(':') {
            return Err(bad("url_host", begin, "only a port follows an address"));
        }
        host.get(..host.len() - after.len()).unwrap_or(host)
    } else {
        host.split(':').next().unwrap_or(host)
    };
    if let Some(port) = host.get(name.len() + 1..) {
        url.port = Some(read_port(port, begin + name.len() + 1)?);
    }
    if name.is_empty() {
        if host.is_empty() {
            return Ok(());
        }
        return Err(bad("url_host", begin, "the host is missing"));
    }
    if url.ip.is_none() {
        read_name(url, name, begin)?;
    }
    Ok(())
}

fn read_name(url: &mut Url, name: &str, at: usize) -> Result<(), Undecidable> {
    if host::ends_in_number(name) {
        let ip = address::literal(name).map_err(|error| {
            bad(
                "url_address",
                at + error.at,
                "numbers are read as addresses in different ways",
            )
        })?;
        url.ip = Some(ip);
        url.host = Some(ip.to_string());
        return Ok(());
    }
    url.host = Some(host::parse(name, at)?);
    Ok(())
}

fn read_port(text: &str, at: usize) -> Result<u16, Undecidable> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    match text.parse() {
        Ok(port) if plain => Ok(port),
        _ => Err(bad(
            "url_port",
            at,
            "a port is a number up to 65535, without zeros before it",
        )),
    }
}

/// Checks that every `%` begins an escape of a byte that has no other spelling and that no reader takes for a separator.
fn escapes(text: &str, at: usize) -> Result<(), Undecidable> {
    let bytes = text.as_bytes();
    for (place, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%') {
        let digit = |offset: usize| {
            let byte = bytes.get(place + offset).copied();
            byte.and_then(|byte| char::from(byte).to_digit(16))
        };
        let (Some(high), Some(low)) = (digit(1), digit(2)) else {
            return Err(bad(
                "url_escape",
                at + place,
                "`%` is not followed by two digits",
            ));
        };
        let byte = (high * 16 + low) as u8;
        if byte.is_ascii_alphanumeric() || b"-._~/\\%".contains(&byte) || byte.is_ascii_control() {
            let detail = "some programs decode this escape, others do not";
            return Err(bad("url_escape", at + place, detail));
        }
    }
    Ok(())
}

/// Reads the path, the query and the fragment.
fn tail(url: &mut Url, text: &str, at: usize) -> Result<(), Undecidable> {
    if let Some(place) = text.bytes().position(|byte| !byte.is_ascii()) {
        let detail = "characters beyond ASCII are written as escapes";
        return Err(bad("url_character", at + place, detail));
    }
    if let Some(place) = text.find(['[', ']']) {
        return Err(bad(
            "url_character",
            at + place,
            "brackets hold an address only",
        ));
    }
    let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
    if let Some(place) = fragment.find('#') {
        return Err(bad(
            "url_character",
            at + before.len() + 1 + place,
            "there are two `#`",
        ));
    }
    let (path, query) = match before.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (before, None),
    };
    escapes(path, at)?;
    let mut begin = at;
    for segment in path.split('/') {
        if matches!(segment, "." | "..") {
            let detail = "some programs resolve dot segments, others do not";
            return Err(bad("url_dots", begin, detail));
        }
        begin += segment.len() + 1;
    }
    url.path = path.to_owned();
    match query {
        Some(query) => read_query(url, query, at + path.len() + 1),
        None => Ok(()),
    }
}

fn read_query(url: &mut Url, query: &str, at: usize) -> Result<(), Undecidable> {
    if let Some(place) = query.find(';') {
        return Err(bad(
            "url_query",
            at + place,
            "some programs take `;` for a separator",
        ));
    }
    let mut begin = at;
    for pair in query.split('&') {
        let key = pair.split('=').next().unwrap_or(pair);
        if !pair.is_empty() {
            url.query_keys.push(decoded(key, begin)?);
        }
        begin += pair.len() + 1;
    }
    Ok(())
}

/// The name of a parameter, decoded.
fn decoded(key: &str, at: usize) -> Result<String, Undecidable> {
    if !key.contains(['%', '+']) {
        return Ok(key.to_owned());
    }
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => match (digit(rest.next()), digit(rest.next())) {
                (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
                _ => return Err(bad("url_escape", at, "`%` is not followed by two digits")),
            },
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| bad("url_escape", at, "the escapes are no text"))
}
