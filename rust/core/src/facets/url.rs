//! URLs: absolute ones that the WHATWG standard and RFC 3986 read alike.
//!
//! The two differ in backslashes, control characters, spaces, missing slashes, numbers as addresses, percent signs in the
//! host, empty hosts and dot segments. None of them is accepted.

use std::borrow::Cow;
use std::net::IpAddr;
use std::ops::Range;
use std::rc::Rc;

use super::{Undecidable, address, host};

/// Longest text, in bytes.
pub(crate) const MAX_TEXT: usize = 8192;

/// Pairs of a query that are found anew for each question. The keys of a longer query are kept.
const MAX_PAIRS: usize = 16;

/// A parsed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    text: Rc<str>,
    scheme: Piece,
    host: Option<Piece>,
    /// The address, of a host that is one.
    pub ip: Option<IpAddr>,
    /// The port that is connected to: the one written, or that of the scheme.
    pub port: Option<u16>,
    path: Range<usize>,
    /// True if a path that is empty is `/`.
    hierarchical: bool,
    query: Range<usize>,
    /// The names of the query's parameters, where they are not found in the text as they are.
    keys: Option<Vec<String>>,
    userinfo: Option<Range<usize>>,
}

/// A part of a URL: as it is written, or in another form.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Written(Range<usize>),
    Other(Box<str>),
}

impl Piece {
    /// The piece `text`, which begins at `at` if it is written there.
    fn new(text: Cow<'_, str>, at: usize) -> Self {
        match text {
            Cow::Borrowed(text) => Self::Written(at..at + text.len()),
            Cow::Owned(text) => Self::Other(text.into()),
        }
    }
}

impl Url {
    fn new(text: Rc<str>) -> Self {
        Self {
            text,
            scheme: Piece::Written(0..0),
            host: None,
            ip: None,
            port: None,
            path: 0..0,
            hierarchical: false,
            query: 0..0,
            keys: None,
            userinfo: None,
        }
    }

    fn at(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    fn piece<'u>(&'u self, piece: &'u Piece) -> &'u str {
        match piece {
            Piece::Written(range) => self.at(range),
            Piece::Other(text) => text,
        }
    }

    /// The scheme, in lower case.
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.piece(&self.scheme)
    }

    /// The host: a canonical name, or a canonical address without brackets.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        self.host.as_ref().map(|host| self.piece(host))
    }

    /// The path as written, `/` where a hierarchical scheme has none.
    #[must_use]
    pub fn path(&self) -> &str {
        match self.at(&self.path) {
            "" if self.hierarchical => "/",
            path => path,
        }
    }

    /// The names of the query's parameters in order, decoded.
    pub fn query_keys(&self) -> impl Iterator<Item = &str> {
        let written = match self.keys {
            Some(_) => "",
            None => self.at(&self.query),
        };
        let kept = self.keys.iter().flatten().map(String::as_str);
        kept.chain(pairs(written).map(|(key, _)| key))
    }

    /// What is before the `@`.
    #[must_use]
    pub fn userinfo(&self) -> Option<&str> {
        self.userinfo.as_ref().map(|range| self.at(range))
    }

    /// Returns true if the host is an address that is not public, or a name of this machine or its network.
    #[must_use]
    pub fn is_private(&self) -> bool {
        match (self.ip, self.host()) {
            (Some(ip), _) => address::is_private(ip),
            (None, Some(name)) => host::is_private(name),
            (None, None) => true,
        }
    }
}

/// The names of a query's parameters as written, with their places.
fn pairs(query: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut begin = 0;
    let pairs = query.split('&').map(move |pair| {
        let at = begin;
        begin += pair.len() + 1;
        (pair, at)
    });
    let named = pairs.filter(|(pair, _)| !pair.is_empty());
    named.map(|(pair, at)| (pair.split('=').next().unwrap_or(pair), at))
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
    parse_shared(&text.into())
}

/// The same of a text that the URL shares.
pub(crate) fn parse_shared(text: &Rc<str>) -> Result<Url, Undecidable> {
    if text.len() > MAX_TEXT {
        return Err(bad("url_length", MAX_TEXT, "the text is too long"));
    }
    // Beyond ASCII only a host is read alike; it is checked below.
    let traits = Traits::of(text);
    if traits.have(REFUSED)
        && let Some(at) = text.bytes().position(|byte| class(byte) & REFUSED != 0)
    {
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
    let mut url = Url::new(Rc::clone(text));
    url.scheme = Piece::new(host::lower(scheme), 0);
    let special = special(url.scheme());
    let Some(after) = rest.strip_prefix("//") else {
        if special.is_some() {
            return Err(bad("url_slashes", scheme_end + 1, "`//` is missing"));
        }
        tail(&mut url, rest, scheme_end + 1, traits)?;
        return Ok(url);
    };
    let begin = scheme_end + 3;
    let end = after
        .bytes()
        .position(|byte| matches!(byte, b'/' | b'?' | b'#'))
        .unwrap_or(after.len());
    let (authority, below) = after.split_at_checked(end).unwrap_or((after, ""));
    read_authority(&mut url, authority, begin, traits)?;
    let is_file = url.scheme() == "file";
    if url.host.is_none() && !is_file {
        return Err(bad("url_host", begin, "the host is missing"));
    }
    if url.host.is_some() && is_file {
        return Err(bad("url_host", begin, "a file has no host"));
    }
    if is_file && below.starts_with("//") {
        return Err(bad("url_slashes", begin, "there are too many slashes"));
    }
    if let (None, Some(port)) = (url.port, special) {
        url.port = port;
    }
    url.hierarchical = true;
    tail(&mut url, below, begin + end, traits)?;
    Ok(url)
}

/// A character that is read in different ways.
const REFUSED: u8 = 1;
/// A byte beyond ASCII.
const BEYOND: u8 = 1 << 1;
/// `%` or `+`.
const ESCAPE: u8 = 1 << 2;
/// `[` or `]`.
const BRACKET: u8 = 1 << 3;
/// `#`, `;` or `@`.
const MARK: u8 = 1 << 4;
/// `.`; in [`Traits`], one that follows a slash.
const DOT: u8 = 1 << 5;
/// `/`.
const SLASH: u8 = 1 << 6;

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const CLASSES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            128.. => BEYOND,
            b'\\' | b'"' | b'<' | b'>' | b'^' | b'`' | b'{' | b'|' | b'}' => REFUSED,
            b'%' | b'+' => ESCAPE,
            b'[' | b']' => BRACKET,
            b'#' | b';' | b'@' => MARK,
            b'.' => DOT,
            b'/' => SLASH,
            byte if byte.is_ascii_graphic() => 0,
            _ => REFUSED,
        };
        byte += 1;
    }
    table
};

fn class(byte: u8) -> u8 {
    CLASSES.get(byte as usize).copied().unwrap_or(REFUSED)
}

/// The classes of characters that a text has: a check for what is not there is left out.
#[derive(Clone, Copy)]
struct Traits(u8);

impl Traits {
    fn of(text: &str) -> Self {
        let (mut some, mut dots, mut previous) = (0, 0, 0);
        for byte in text.bytes() {
            let class = class(byte);
            some |= class;
            dots |= class & (previous >> 1);
            previous = class;
        }
        Self((some & !DOT) | (dots & DOT))
    }

    fn have(self, classes: u8) -> bool {
        self.0 & classes != 0
    }
}

fn read_authority(url: &mut Url, text: &str, at: usize, traits: Traits) -> Result<(), Undecidable> {
    let (mut host, mut begin) = (text, at);
    if traits.have(MARK)
        && let Some((userinfo, rest)) = text.split_once('@')
    {
        if rest.contains('@') {
            return Err(bad("url_userinfo", at, "there are two `@`"));
        }
        let named = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:%".contains(&byte);
        if let Some(place) = userinfo.bytes().position(|byte| !named(byte)) {
            return Err(bad("url_userinfo", at + place, "this is no name of a user"));
        }
        escapes(userinfo, at)?;
        url.userinfo = Some(at..at + userinfo.len());
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
        url.host = Some(Piece::Other(ip.to_string().into()));
        if !after.is_empty() && !after.starts_with(':') {
            return Err(bad("url_host", begin, "only a port follows an address"));
        }
        host.get(..host.len() - after.len()).unwrap_or(host)
    } else {
        let end = host.bytes().position(|byte| byte == b':');
        end.and_then(|end| host.get(..end)).unwrap_or(host)
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
        url.host = Some(Piece::Other(ip.to_string().into()));
        return Ok(());
    }
    url.host = Some(Piece::new(host::canonical(name, at)?, at));
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
fn tail(url: &mut Url, text: &str, at: usize, traits: Traits) -> Result<(), Undecidable> {
    if traits.have(BEYOND)
        && let Some(place) = text.bytes().position(|byte| !byte.is_ascii())
    {
        let detail = "characters beyond ASCII are written as escapes";
        return Err(bad("url_character", at + place, detail));
    }
    if traits.have(BRACKET)
        && let Some(place) = text.find(['[', ']'])
    {
        return Err(bad(
            "url_character",
            at + place,
            "brackets hold an address only",
        ));
    }
    let mut before = text;
    if traits.have(MARK)
        && let Some((rest, fragment)) = text.split_once('#')
    {
        if let Some(place) = fragment.find('#') {
            return Err(bad(
                "url_character",
                at + rest.len() + 1 + place,
                "there are two `#`",
            ));
        }
        before = rest;
    }
    let end = before.bytes().position(|byte| byte == b'?');
    let path = end.and_then(|end| before.get(..end)).unwrap_or(before);
    if traits.have(ESCAPE) {
        escapes(path, at)?;
    }
    if traits.have(DOT) || path.starts_with('.') {
        let mut begin = at;
        for segment in path.split('/') {
            if matches!(segment, "." | "..") {
                let detail = "some programs resolve dot segments, others do not";
                return Err(bad("url_dots", begin, detail));
            }
            begin += segment.len() + 1;
        }
    }
    url.path = at..at + path.len();
    if let Some(query) = before.get(path.len() + 1..) {
        read_query(url, query, at + path.len() + 1, traits)?;
    }
    Ok(())
}

fn read_query(url: &mut Url, query: &str, at: usize, traits: Traits) -> Result<(), Undecidable> {
    if traits.have(MARK)
        && let Some(place) = query.find(';')
    {
        return Err(bad(
            "url_query",
            at + place,
            "some programs take `;` for a separator",
        ));
    }
    url.query = at..at + query.len();
    if traits.have(ESCAPE) || query.bytes().filter(|byte| *byte == b'&').count() >= MAX_PAIRS {
        let keys = pairs(query).map(|(key, place)| decoded(key, at + place));
        url.keys = Some(keys.collect::<Result<_, _>>()?);
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
