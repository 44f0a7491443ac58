//! Paths of files: their lexical normal form, and the directories that they lie in.
//!
//! Symbolic links are not followed: the tool that opens the file has to stay below its root.

use std::rc::Rc;

use super::Undecidable;
use crate::error::Fault;

/// Longest path, in bytes.
pub(crate) const MAX_TEXT: usize = 4096;

/// A parsed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The normal form: `/` before every component of an absolute path, and between those of a relative one; `.` is the
    /// directory that a relative path starts from.
    pub normal: Rc<str>,
}

/// A directory that paths lie in: absolute, or relative to the one that relative paths start from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(Box<str>);

impl Root {
    /// The root of an absolute directory, of `.`, the directory that relative paths start from, or of one below it, which
    /// begins with `./`: a bare name is the name of a resource.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let path = parse(text).ok()?;
        (path.is_absolute() || &*path.normal == "." || text.starts_with("./"))
            .then(|| Self((&*path.normal).into()))
    }

    /// The text of the root in an operand.
    #[must_use]
    pub fn text(&self) -> String {
        match &*self.0 {
            root if root == "." || root.starts_with('/') => root.to_owned(),
            root => format!("./{root}"),
        }
    }

    /// Returns true for a directory from `/` on.
    #[must_use]
    pub fn is_absolute(&self) -> bool {
        self.0.starts_with('/')
    }

    /// The normal form of the directory.
    #[must_use]
    pub fn normal(&self) -> &str {
        &self.0
    }

    /// Returns true if a normal form is the directory or lies in it.
    ///
    /// # Errors
    /// One of the two is relative: it depends on a directory that is not known.
    pub fn holds(&self, normal: &str) -> Result<bool, Fault> {
        if normal.starts_with('/') != self.0.starts_with('/') {
            return Err(Fault::Undecidable);
        }
        Ok(match &*self.0 {
            "/" | "." => true,
            root => normal
                .strip_prefix(root)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        })
    }
}

impl Path {
    /// Returns true for a path from `/` on.
    #[must_use]
    pub fn is_absolute(&self) -> bool {
        self.normal.starts_with('/')
    }

    /// The components, separated by `/`.
    #[must_use]
    pub fn components(&self) -> &str {
        match &*self.normal {
            "." => "",
            normal => normal.strip_prefix('/').unwrap_or(normal),
        }
    }

    /// The last component; empty where there is no component.
    #[must_use]
    pub fn name(&self) -> &str {
        self.components().rsplit('/').next().unwrap_or_default()
    }

    /// The end of the name from its last dot on; empty without one, and where only a dot precedes.
    #[must_use]
    pub fn suffix(&self) -> &str {
        let name = self.name();
        match name.rfind('.') {
            Some(at) if at > 0 => name.get(at..).unwrap_or_default(),
            _ => "",
        }
    }
}

fn bad(code: &'static str, at: usize, detail: &'static str) -> Undecidable {
    Undecidable::new(code, at, detail)
}

/// Parses a path.
///
/// # Errors
/// The text is empty, or is a path that programs or systems read in different ways.
pub fn parse(text: &str) -> Result<Path, Undecidable> {
    parse_shared(&text.into())
}

/// The same of a text that the path shares where it is normal.
pub(crate) fn parse_shared(text: &Rc<str>) -> Result<Path, Undecidable> {
    if text.is_empty() {
        return Err(bad("path_empty", 0, "the path is empty"));
    }
    if text.len() > MAX_TEXT {
        return Err(bad("path_length", MAX_TEXT, "the path is too long"));
    }
    let normal = if is_normal(text) {
        Rc::clone(text)
    } else {
        normalize(text)?.into()
    };
    magic(&normal)?;
    Ok(Path { normal })
}

/// A byte that a component of a normal path does not end in, or a slash.
const ENDING: u8 = 1;
/// `/`.
const SLASH: u8 = 1 << 1;
/// A byte for which a path is looked at more closely.
const SUSPICIOUS: u8 = 1 << 2;

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const CLASSES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'/' => SLASH | ENDING,
            b'.' | b' ' => ENDING,
            0..0x20 | 0x7f.. | b'\\' | b':' | b'~' => SUSPICIOUS,
            _ => 0,
        };
        byte += 1;
    }
    table
};

/// Returns true if one pass finds that a path is accepted and its own normal form.
fn is_normal(text: &str) -> bool {
    let (mut some, mut ends, mut previous) = (0, 0, 0);
    for byte in text.bytes() {
        let class = CLASSES.get(byte as usize).copied().unwrap_or(SUSPICIOUS);
        some |= class;
        ends |= (class >> 1) & previous;
        previous = class;
    }
    some & SUSPICIOUS == 0 && (ends | previous) & ENDING == 0
}

/// The normal form of a path.
fn normalize(text: &str) -> Result<String, Undecidable> {
    characters(text)?;
    if text.starts_with('~') {
        return Err(bad(
            "path_home",
            0,
            "some programs take `~` for the home of a user",
        ));
    }
    if text.starts_with("//") {
        return Err(bad(
            "path_root",
            0,
            "the meaning of `//` depends on the system",
        ));
    }
    if let Some(at) = text.find(':')
        && (at == 1 || text.get(at..).is_some_and(|rest| rest.starts_with("://")))
    {
        return Err(bad(
            "path_drive",
            at,
            "some programs take this for a drive or a URL",
        ));
    }
    let absolute = text.starts_with('/');
    let mut normal = String::with_capacity(text.len());
    let mut at = 0;
    for component in text.split('/') {
        match component {
            "" | "." => {}
            ".." => {
                let end = match normal.rfind('/') {
                    Some(end) => end,
                    None if normal.is_empty() => {
                        return Err(bad(
                            "path_climbs",
                            at,
                            "`..` leaves the directory that the path starts from",
                        ));
                    }
                    None => 0,
                };
                normal.truncate(end);
            }
            name if name.ends_with(['.', ' ']) => {
                return Err(bad(
                    "path_ending",
                    at,
                    "some systems drop a dot or a space at the end of a name",
                ));
            }
            name => {
                if absolute || !normal.is_empty() {
                    normal.push('/');
                }
                normal.push_str(name);
            }
        }
        at += component.len() + 1;
    }
    if normal.is_empty() {
        normal.push(if absolute { '/' } else { '.' });
    }
    Ok(normal)
}

/// Refuses characters that programs drop, map or take for separators.
fn characters(text: &str) -> Result<(), Undecidable> {
    let suspicious = |byte: u8| byte < 0x20 || byte == 0x7f || byte == b'\\' || byte >= 0x80;
    let Some(first) = text.bytes().position(suspicious) else {
        return Ok(());
    };
    for (at, char) in text.char_indices().skip_while(|(at, _)| *at < first) {
        match char {
            '\\' => {
                return Err(bad(
                    "path_backslash",
                    at,
                    "some systems take `\\` for a separator",
                ));
            }
            char if char.is_control() => {
                return Err(bad(
                    "path_character",
                    at,
                    "the path has a control character",
                ));
            }
            // Invisible characters, look-alikes of separators and dots, accents apart from their letter.
            '\u{ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2024}'..='\u{202e}'
            | '\u{2044}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2215}'
            | '\u{2216}'
            | '\u{29f8}'
            | '\u{29f9}'
            | '\u{300}'..='\u{36f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{fe52}'
            | '\u{ff00}'..='\u{ff5e}'
            | '\u{e0000}'..='\u{e0fff}' => {
                return Err(bad(
                    "path_character",
                    at,
                    "some systems map this character to another",
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Refuses the links of `/proc` and `/dev` that lead to other files, for each process to different ones.
fn magic(normal: &str) -> Result<(), Undecidable> {
    let leads = if let Some(below) = normal.strip_prefix("/proc/") {
        below.split('/').any(|name| {
            matches!(
                name,
                "root" | "cwd" | "exe" | "fd" | "fdinfo" | "map_files" | "task"
            )
        })
    } else if let Some(below) = normal.strip_prefix("/dev/") {
        let name = below.split('/').next().unwrap_or_default();
        matches!(name, "fd" | "stdin" | "stdout" | "stderr")
    } else {
        false
    };
    if leads {
        return Err(bad(
            "path_link",
            0,
            "the system leads this path to another file",
        ));
    }
    Ok(())
}
