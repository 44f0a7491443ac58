//! `links`: what a browser, a mail program or a chat client could take for a link in a text.
//!
//! A link that is missing here is one that no rule sees, so the doubtful ones are in the list: domains with any ending but
//! those of common files, links in links, targets of Markdown and of HTML as they are written.

use super::Undecidable;
use crate::chars;
use crate::limits::{MAX_LINKS, MAX_LINKS_BYTES, MAX_LINKS_TEXT};

/// Endings of file names that are no top-level domains.
const FILES: [&str; 58] = [
    "avi", "bak", "bmp", "cfg", "class", "cpp", "css", "csv", "dat", "db", "dll", "doc", "docm",
    "docx", "env", "exe", "gif", "gz", "htm", "html", "ico", "ini", "ipynb", "jar", "java", "jpeg",
    "jpg", "js", "json", "jsonl", "lock", "log", "mkv", "mp", "odt", "ods", "pdf", "png", "ppt",
    "pptx", "rar", "rst", "rtf", "sql", "svg", "tar", "tex", "tgz", "tif", "tiff", "tmp", "toml",
    "tsv", "txt", "wav", "xls", "xlsx", "xml",
];

/// Attributes of HTML whose value a client follows or loads.
const ATTRIBUTES: [&str; 15] = [
    "action",
    "background",
    "cite",
    "codebase",
    "content",
    "data",
    "formaction",
    "href",
    "longdesc",
    "manifest",
    "ping",
    "poster",
    "src",
    "srcset",
    "url",
];

/// The links of a text, in order, each once.
///
/// # Errors
/// There are too many, or the text is too long.
pub fn parse(text: &str) -> Result<Vec<String>, Undecidable> {
    if text.len() > MAX_LINKS_TEXT {
        return Err(Undecidable::new(
            "links_length",
            MAX_LINKS_TEXT,
            "the text is too long",
        ));
    }
    let mut links = Links {
        text,
        end: 0,
        bytes: 0,
        found: Vec::new(),
    };
    links.read()?;
    let mut found = links.found;
    found.sort_by_key(|(at, _)| *at);
    let mut seen = std::collections::HashSet::new();
    found.retain(|(_, link)| seen.insert(*link));
    Ok(found.into_iter().map(|(_, link)| link.to_owned()).collect())
}

struct Links<'t> {
    text: &'t str,
    /// The end of the run without white space or angle brackets that was found last.
    end: usize,
    bytes: usize,
    found: Vec<(usize, &'t str)>,
}

impl<'t> Links<'t> {
    fn read(&mut self) -> Result<(), Undecidable> {
        // The place of the first letter of the word that is being read, as of a scheme.
        let mut word = None;
        let mut previous = None;
        // The end of the name of a host that was read already.
        let mut host_end = 0;
        let mut run_is_link = false;
        for (at, found) in self.text.char_indices() {
            if at >= self.end {
                run_is_link = false;
            }
            match found {
                ':' => {
                    if let Some(begin) = word.filter(|_| self.is_scheme(at)) {
                        self.push(begin)?;
                        run_is_link = true;
                    }
                }
                '/' | '\\' if self.is_relative(at, previous) => {
                    self.push(at)?;
                    run_is_link = true;
                }
                '(' if previous == Some(']') => self.target(at + 1, ')')?,
                '(' if self.behind(at, "url") => self.target(at + 1, ')')?,
                _ => {}
            }
            if found == ':' && previous == Some(']') {
                self.definition(at + 1)?;
            }
            if found == '=' && self.is_attribute(at) {
                self.attribute(at + 1)?;
            }
            if is_label(found)
                && at >= host_end
                && previous.is_none_or(|before| begins(before, run_is_link))
            {
                let (end, is_host) = self.host(at);
                host_end = end;
                if is_host {
                    self.push(at)?;
                    run_is_link = true;
                }
            }
            if found.is_ascii_alphanumeric() || matches!(found, '+' | '-' | '.') {
                if word.is_none() && found.is_ascii_alphabetic() {
                    word = Some(at);
                }
            } else {
                word = None;
            }
            previous = Some(found);
        }
        Ok(())
    }

    fn rest(&self, at: usize) -> &'t str {
        self.text.get(at..).unwrap_or_default()
    }

    /// The scheme that ends at the colon begins a link: one of the web, or any before slashes.
    fn is_scheme(&self, colon: usize) -> bool {
        let after = self.rest(colon + 1);
        let slashes = after.starts_with(['/', '\\']);
        let web = ["http", "https", "ftp", "ws", "wss"]
            .iter()
            .any(|scheme| self.behind(colon, scheme));
        let runs = ["javascript", "data", "vbscript", "file", "blob"]
            .iter()
            .any(|scheme| self.behind(colon, scheme));
        (slashes || web || runs) && after.chars().next().is_some_and(|next| !ends(next))
    }

    /// Returns true if a text stands before a place, whatever its case, and is no end of a longer word.
    fn behind(&self, at: usize, wanted: &str) -> bool {
        let Some(begin) = at.checked_sub(wanted.len()) else {
            return false;
        };
        let is = self
            .text
            .get(begin..at)
            .is_some_and(|found| found.eq_ignore_ascii_case(wanted));
        let before = self.text.as_bytes().get(begin.wrapping_sub(1));
        is && (begin == 0 || before.is_some_and(|byte| !byte.is_ascii_alphanumeric()))
    }

    /// Two slashes that begin a link to another host: `//host/path`.
    fn is_relative(&self, at: usize, previous: Option<char>) -> bool {
        let mut after = self.rest(at).chars().skip(1);
        let (second, third) = (after.next(), after.next());
        second.is_some_and(|found| matches!(found, '/' | '\\'))
            && third.is_some_and(is_label)
            && previous
                .is_none_or(|before| !is_label(before) && !matches!(before, ':' | '/' | '\\' | '.'))
    }

    /// The link that begins here, and ends with the run.
    fn push(&mut self, at: usize) -> Result<(), Undecidable> {
        if at >= self.end {
            let rest = self.rest(at);
            self.end = at + rest.find(ends).unwrap_or(rest.len());
        }
        let link = trimmed(self.text.get(at..self.end).unwrap_or_default());
        self.add(at, link)
    }

    fn add(&mut self, at: usize, link: &'t str) -> Result<(), Undecidable> {
        if link.is_empty() {
            return Ok(());
        }
        self.bytes += link.len();
        if self.bytes > MAX_LINKS_BYTES || self.found.len() >= MAX_LINKS {
            return Err(Undecidable::new(
                "links_count",
                at,
                "there are too many links",
            ));
        }
        self.found.push((at, link));
        Ok(())
    }

    /// The target of a link of Markdown, or of `url()`.
    fn target(&mut self, at: usize, close: char) -> Result<(), Undecidable> {
        let rest = self.rest(at);
        let inner = rest.trim_start_matches(chars::is_space);
        let at = at + rest.len() - inner.len();
        let quote = inner
            .chars()
            .next()
            .filter(|first| matches!(first, '<' | '"' | '\''));
        match quote {
            Some('<') => self.written(at + 1, |found| matches!(found, '>' | '\n')),
            Some(quote) => self.written(at + 1, |found| found == quote || found == '\n'),
            None => self.written(at, |found| found == close || chars::is_space(found)),
        }
    }

    /// The target of a reference of Markdown: `[name]: target`.
    fn definition(&mut self, at: usize) -> Result<(), Undecidable> {
        let rest = self.rest(at);
        let inner = rest.trim_start_matches(chars::is_space);
        let at = at + rest.len() - inner.len();
        if inner.starts_with('<') {
            self.written(at + 1, |found| matches!(found, '>' | '\n'))
        } else {
            self.written(at, chars::is_space)
        }
    }

    /// Returns true if the name of an attribute stands before `=`.
    fn is_attribute(&self, at: usize) -> bool {
        let before = self.text.get(..at).unwrap_or_default();
        // PERF: the name is short, white space before `=` is rare.
        let end = before.len()
            - before
                .chars()
                .rev()
                .take(8)
                .take_while(|found| chars::is_space(*found))
                .map(char::len_utf8)
                .sum::<usize>();
        ATTRIBUTES.iter().any(|name| self.behind(end, name))
    }

    fn attribute(&mut self, at: usize) -> Result<(), Undecidable> {
        let rest = self.rest(at);
        let inner = rest.trim_start_matches(chars::is_space);
        let at = at + rest.len() - inner.len();
        match inner.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                self.written(at + 1, |found| found == quote || found == '>')
            }
            _ => self.written(at, |found| found == '>' || chars::is_space(found)),
        }
    }

    /// A target as it is written, unless it is one within the same site.
    fn written(&mut self, at: usize, close: impl Fn(char) -> bool) -> Result<(), Undecidable> {
        let rest = self.rest(at).get(..).unwrap_or_default();
        let mut end = rest.len();
        for (place, found) in rest.char_indices() {
            if close(found) {
                end = place;
                break;
            }
            if place > MAX_LINKS_BYTES {
                return Err(Undecidable::new("links_count", at, "a link is too long"));
            }
        }
        let link = rest
            .get(..end)
            .unwrap_or_default()
            .trim_matches(chars::is_space);
        self.bytes += end;
        if self.bytes > MAX_LINKS_BYTES {
            return Err(Undecidable::new(
                "links_count",
                at,
                "there are too many links",
            ));
        }
        if link.contains([':', '&', '\\']) || link.starts_with("//") {
            self.add(at, link)?;
        }
        Ok(())
    }

    /// Where the labels that begin at a place end, and whether they can be the name of a host that clients make a link.
    fn host(&self, at: usize) -> (usize, bool) {
        let rest = self.rest(at);
        let end = end_of_labels(rest);
        let labels = rest.get(..end).unwrap_or_default();
        let after = rest.get(end..).and_then(|after| after.chars().next());
        let name = labels.trim_end_matches('.');
        if name.is_empty() || (after == Some('@') && name == labels) {
            return (at + end, false);
        }
        // The domain of an address of mail is a link only with a path.
        let of_mail = self
            .text
            .get(..at)
            .is_some_and(|before| before.ends_with('@'));
        if of_mail && !matches!(after, Some('/' | '?' | '#' | ':')) {
            return (at + end, false);
        }
        (at + end, is_host(name))
    }
}

/// Where labels with dots between them end. An ideographic dot is one between ASCII letters and digits only.
fn end_of_labels(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut ascii_before = false;
    while let Some((at, found)) = chars.next() {
        let ascii_after = chars
            .peek()
            .is_some_and(|(_, next)| next.is_ascii_alphanumeric());
        if !is_label(found) && found != '.' && !(is_dot(found) && ascii_before && ascii_after) {
            return at;
        }
        ascii_before = found.is_ascii_alphanumeric();
    }
    text.len()
}

/// Returns true if a name has labels, the last of which can be a top-level domain, or is an IPv4 address.
fn is_host(name: &str) -> bool {
    let mut labels = name.split(|found| found == '.' || is_dot(found));
    let Some(last) = labels.next_back().filter(|last| !last.is_empty()) else {
        return false;
    };
    let Some(before) = labels.next_back() else {
        return false;
    };
    if name
        .get(..4)
        .is_some_and(|head| head.eq_ignore_ascii_case("www."))
    {
        return true;
    }
    if before.is_empty() {
        return false;
    }
    if name.split('.').count() == 4 && name.split('.').all(|part| part.parse::<u8>().is_ok()) {
        return true;
    }
    let is_top = last.chars().count() >= 2
        && (last
            .chars()
            .all(|found| found.is_ascii_alphabetic() || !found.is_ascii())
            || last
                .get(..4)
                .is_some_and(|head| head.eq_ignore_ascii_case("xn--")));
    is_top && !FILES.iter().any(|file| last.eq_ignore_ascii_case(file))
}

/// Characters of the labels of a host; any beyond ASCII: clients differ in what they drop.
fn is_label(found: char) -> bool {
    found.is_ascii_alphanumeric()
        || matches!(found, '-' | '_')
        || (!found.is_ascii() && !chars::is_space(found) && !is_dot(found))
}

/// Characters that IDNA takes for a dot.
fn is_dot(found: char) -> bool {
    matches!(found, '。' | '．' | '｡')
}

/// Characters after which the name of a host can begin; within a link, only those at which some clients end it.
fn begins(before: char, within: bool) -> bool {
    if within {
        matches!(
            before,
            ',' | ';' | '|' | '(' | ')' | '[' | ']' | '{' | '}' | '\'' | '*' | '!' | '`' | '@'
        )
    } else {
        !is_label(before)
    }
}

/// Characters that are in no link.
fn ends(found: char) -> bool {
    chars::is_space(found) || matches!(found, '<' | '>' | '"') || found.is_ascii_control()
}

/// The link without the punctuation of the sentence around it.
fn trimmed(link: &str) -> &str {
    let mut rest = link;
    let count = |wanted: char| {
        link.bytes()
            .filter(|byte| char::from(*byte) == wanted)
            .count()
    };
    let mut extra = [(')', '('), (']', '['), ('}', '{')]
        .map(|(close, open)| (close, count(close).saturating_sub(count(open))));
    while let Some(last) = rest.chars().next_back() {
        let surplus = extra.iter_mut().find(|(close, _)| *close == last);
        match surplus {
            Some((_, 0)) => break,
            Some((_, surplus)) => *surplus -= 1,
            None if matches!(
                last,
                '.' | ','
                    | ';'
                    | ':'
                    | '!'
                    | '?'
                    | '\''
                    | '`'
                    | '*'
                    | '_'
                    | '~'
                    | '|'
                    | '…'
                    | '”'
                    | '’'
                    | '»'
                    | '。'
                    | '，'
            ) => {}
            None => break,
        }
        rest = rest.get(..rest.len() - last.len_utf8()).unwrap_or_default();
    }
    rest
}
