//! Boundaries in a chunk, a part of a text without white space: where a token may begin and end.

use crate::chars;

/// A boundary in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// A token may begin here.
    Start,
    /// A token may end here.
    End,
}

/// A part of a chunk between angle brackets and the like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment<'c> {
    /// The byte offset in the chunk.
    pub(super) at: usize,
    text: &'c str,
    /// False: no token ends in it.
    ends: bool,
}

/// What is left of a segment without the marks around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Core<'c> {
    /// The byte offset in the chunk.
    pub(super) at: usize,
    /// The characters.
    pub(super) text: &'c str,
    /// True if marks follow it.
    pub(super) trimmed: bool,
}

/// Marks that may stand before a token.
fn is_open(found: char) -> bool {
    matches!(found, '(' | '[' | '{' | '¿' | '¡') || is_quote(found)
}

/// Marks that may follow a token.
fn is_close(found: char) -> bool {
    matches!(
        found,
        '.' | ','
            | ';'
            | ':'
            | '!'
            | '?'
            | ')'
            | ']'
            | '}'
            | '>'
            | '…'
            | '。'
            | '，'
            | '、'
            | '！'
            | '？'
            | '；'
            | '：'
    ) || is_quote(found)
}

fn is_quote(found: char) -> bool {
    matches!(
        found,
        '"' | '\'' | '`' | '«' | '»' | '‹' | '›' | '“' | '”' | '„' | '‘' | '’' | '‚'
    )
}

/// Calls `visit` with the segments of a chunk.
pub(super) fn segments<'c>(chunk: &'c str, mut visit: impl FnMut(Segment<'c>)) {
    let mut segment = |from: usize, to: usize, ends: bool| {
        if let Some(text) = chunk.get(from..to).filter(|text| !text.is_empty()) {
            visit(Segment {
                at: from,
                text,
                ends,
            });
        }
    };
    let bytes = chunk.as_bytes();
    let tail = chunk.trim_end_matches(is_close).len();
    let mut from = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let next = bytes.get(at + 1);
        match byte {
            b'<' => segment(from, at, true),
            b'>' => segment(from, at, at + 1 >= tail || next == Some(&b'<')),
            // A link in Markdown.
            b']' if next == Some(&b'(') => {
                segment(from, at, true);
                from = at + 2;
                continue;
            }
            _ => continue,
        }
        from = at + 1;
    }
    segment(from, bytes.len(), true);
}

impl<'c> Segment<'c> {
    /// Calls `mark` with the edges of the segment, and returns what is between the marks around it, if a token can end
    /// there.
    pub(super) fn read(self, mut mark: impl FnMut(Edge, usize)) -> Option<Core<'c>> {
        mark(Edge::Start, self.at);
        let mut begin = self.at;
        let mut core = self.text;
        while let Some(first) = core.chars().next().filter(|first| is_open(*first)) {
            begin += first.len_utf8();
            core = core.get(first.len_utf8()..).unwrap_or_default();
            mark(Edge::Start, begin);
        }
        if !self.ends {
            return None;
        }
        mark(Edge::End, begin + core.len());
        let whole = core.len();
        // A bracket that is opened in the core belongs to it.
        let mut extra = ['(', '[', '{'].map(|open| surplus(core, open));
        while let Some(last) = core.chars().next_back().filter(|last| is_close(*last)) {
            let [round, square, curly] = &mut extra;
            let surplus = match last {
                ')' => Some(round),
                ']' => Some(square),
                '}' => Some(curly),
                _ => None,
            };
            if let Some(surplus) = surplus {
                if *surplus == 0 {
                    break;
                }
                *surplus -= 1;
            }
            core = core.get(..core.len() - last.len_utf8()).unwrap_or_default();
            mark(Edge::End, begin + core.len());
        }
        let core = Core {
            at: begin,
            text: core,
            trimmed: core.len() < whole,
        };
        core.inner(mark);
        Some(core)
    }
}

/// How many more brackets are closed than are opened.
fn surplus(text: &str, open: char) -> usize {
    let close = match open {
        '(' => ')',
        '[' => ']',
        _ => '}',
    };
    let count = |wanted: char| {
        text.bytes()
            .filter(|byte| char::from(*byte) == wanted)
            .count()
    };
    count(close).saturating_sub(count(open))
}

impl Core<'_> {
    /// Calls `mark` with the edges inside: of a possessive, a channel, a list, an address for mail.
    fn inner(self, mut mark: impl FnMut(Edge, usize)) {
        let text = self.text;
        for end in ["'s", "’s", "'S", "’S"] {
            if let Some(owner) = text.strip_suffix(end).filter(|owner| !owner.is_empty()) {
                mark(Edge::End, self.at + owner.len());
            }
        }
        if text.strip_prefix('#').is_some_and(is_name) {
            mark(Edge::Start, self.at + 1);
        }
        let label = "mailto:";
        if text.strip_prefix(label).is_some_and(is_address) {
            mark(Edge::Start, self.at + label.len());
        }
        let is_separator = |found: char| matches!(found, ',' | ';');
        let mut items = text.split(is_separator);
        if text.contains(is_separator) && items.all(|item| is_word(item) || is_address(item)) {
            for (at, _) in text.match_indices(is_separator) {
                mark(Edge::End, self.at + at);
                mark(Edge::Start, self.at + at + 1);
            }
        }
    }
}

/// Letters, with apostrophes and hyphens.
fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|found| chars::is_alpha(found) || matches!(found, '\'' | '’' | '-'))
}

/// A letter, and letters, digits, hyphens and underscores.
fn is_name(text: &str) -> bool {
    text.starts_with(chars::is_alpha)
        && text.chars().all(|found| {
            chars::is_alpha(found) || found.is_ascii_digit() || matches!(found, '-' | '_')
        })
}

/// A plain address of mail.
fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else {
        return false;
    };
    let named = |byte: u8| byte.is_ascii_alphanumeric() || b"._%+-".contains(&byte);
    let label = |label: &str| {
        let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty()
            && label.bytes().all(inside)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    !local.is_empty()
        && local.bytes().all(named)
        && !local.starts_with('.')
        && !local.ends_with('.')
        && domain.contains('.')
        && domain.split('.').all(label)
}
