//! JSON texts as tapes: one flat list of nodes, each list and mapping before what it holds. Read by the IR decoder.
//!
//! PERF: a tape is used again for text after text, so that reading ten thousand rules allocates nothing.

use std::sync::Arc;

use super::lexer::{Lexer, Read};
use super::number::Number;
use super::{Caps, JsonError, Text};
use crate::num::bigint::parse_decimal;

/// One node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    /// An integer of at most 64 bits.
    Int(i64),
    /// A larger integer within [`crate::limits::MAX_INT_BITS`], by its position.
    BigInt(u32, u32),
    /// An integer above the cap.
    HugeInt,
    /// Infinite when out of range.
    Float(f64),
    /// A string, or a key, without escapes, by its position without the quotes.
    Text(u32, u32),
    /// A string, or a key, with escapes: an index into the texts of the tape.
    Escaped(u32),
    /// A string, or a key, that holds a lone surrogate.
    BadText,
    /// A list, and how many of the nodes after this one are in it.
    List(u32),
    /// A mapping, the number of following nodes in it (keys and values in turn), and its place in the text.
    Map {
        nodes: u32,
        start: u32,
        end: u32,
    },
}

/// The nodes of one text.
#[derive(Debug)]
pub(crate) struct Tape<'a> {
    source: &'a str,
    nodes: Vec<Node>,
    texts: Vec<Arc<str>>,
}

/// The callback of [`stream`]: takes the mapping read so far and an element, and returns true to continue.
pub(crate) type Each<'e, 'a> = dyn FnMut(&Tape<'a>, &Tape<'a>) -> bool + 'e;

/// Reads one JSON object whose key `key`, when it holds an array, is not kept: `each` gets the entries before it and one
/// element after the other, until it answers `false`; then the result is `None`. Any other value is read completely.
///
/// # Errors
/// Those of [`super::parse`].
pub(crate) fn stream<'a>(
    bytes: &'a [u8],
    caps: Caps,
    key: &str,
    each: &mut Each<'_, 'a>,
) -> Result<Option<Tape<'a>>, JsonError> {
    streamed(bytes, caps, key, each).map_err(|error| *error)
}

fn streamed<'a>(
    bytes: &'a [u8],
    caps: Caps,
    key: &str,
    each: &mut Each<'_, 'a>,
) -> Read<Option<Tape<'a>>> {
    let mut lexer = Lexer::new(bytes, caps)?;
    let (mut root, mut element) = (Tape::of(lexer.text()), Tape::of(lexer.text()));
    lexer.space();
    if lexer.peek() != Some(b'{') {
        root.value(&mut lexer, 0)?;
        lexer.end()?;
        return Ok(Some(root));
    }
    root.nodes.push(Node::Null);
    let mut more = lexer.open(b'}');
    while more {
        root.close(0, (0, lexer.at()));
        root.key(&mut lexer)?;
        lexer.space();
        let name = Item {
            tape: &root,
            at: root.nodes.len() - 1,
        };
        if name.text() == Some(key) && lexer.peek() == Some(b'[') {
            let name = root.nodes.pop();
            let mut more = lexer.open(b']');
            while more {
                element.nodes.clear();
                element.texts.clear();
                element.value(&mut lexer, 2)?;
                if !each(&root, &element) {
                    return Ok(None);
                }
                more = lexer.more(b']')?;
            }
            root.nodes.extend(name);
            root.nodes.push(Node::List(0));
        } else {
            root.value(&mut lexer, 1)?;
        }
        more = lexer.more(b'}')?;
    }
    lexer.end()?;
    root.close(0, (0, lexer.at()));
    root.check_keys(0).map_err(|key| lexer.twice(&key))?;
    Ok(Some(root))
}

impl<'a> Tape<'a> {
    /// Reads one JSON value.
    ///
    /// # Errors
    /// Those of [`super::parse`].
    pub(crate) fn parse(bytes: &'a [u8], caps: Caps) -> Result<Self, JsonError> {
        let read = || {
            let mut lexer = Lexer::new(bytes, caps)?;
            let mut tape = Self::of(lexer.text());
            tape.value(&mut lexer, 0)?;
            lexer.end()?;
            Ok(tape)
        };
        read().map_err(|error: Box<JsonError>| *error)
    }

    fn of(source: &'a str) -> Self {
        Self {
            source,
            nodes: Vec::new(),
            texts: Vec::new(),
        }
    }

    /// The value the tape holds.
    pub(crate) fn root(&self) -> Item<'_, 'a> {
        Item { tape: self, at: 0 }
    }

    /// Reads a string or a key, whose quote is here.
    #[inline]
    fn string(&mut self, lexer: &mut Lexer<'a>) -> Read<()> {
        let start = lexer.at() + 1;
        let node = match lexer.plain_string() {
            Some((start, end)) => Node::Text(start as u32, end as u32),
            None => self.escaped(lexer.escaped(start)?),
        };
        self.nodes.push(node);
        Ok(())
    }

    #[cold]
    fn escaped(&mut self, text: Text<'a>) -> Node {
        match text {
            Text::Owned(text) => {
                self.texts.push(text);
                Node::Escaped(self.texts.len() as u32 - 1)
            }
            Text::Borrowed(_) | Text::Bad => Node::BadText,
        }
    }

    /// Reads a key and its colon.
    #[inline]
    fn key(&mut self, lexer: &mut Lexer<'a>) -> Read<()> {
        lexer.before_key()?;
        self.string(lexer)?;
        lexer.colon()
    }

    fn value(&mut self, lexer: &mut Lexer<'a>, depth: usize) -> Read<()> {
        lexer.begin(depth)?;
        let node = match lexer.peek() {
            Some(b'"') => return self.string(lexer),
            Some(b'{') => return self.map(lexer, depth),
            Some(b'[') => return self.list(lexer, depth),
            Some(b'-' | b'0'..=b'9') => {
                let start = lexer.at() as u32;
                match lexer.number()? {
                    Number::Int(value) => Node::Int(value),
                    Number::Large(text) => match parse_decimal(text) {
                        Some(_) => Node::BigInt(start, lexer.at() as u32),
                        None => Node::HugeInt,
                    },
                    Number::Float(value) => Node::Float(value),
                }
            }
            Some(b't') => lexer.word(b"true").map(|()| Node::Bool(true))?,
            Some(b'f') => lexer.word(b"false").map(|()| Node::Bool(false))?,
            Some(b'n') => lexer.word(b"null").map(|()| Node::Null)?,
            Some(_) => return Err(lexer.syntax("no JSON value")),
            None => return Err(lexer.syntax("the text ends too early")),
        };
        self.nodes.push(node);
        Ok(())
    }

    fn list(&mut self, lexer: &mut Lexer<'a>, depth: usize) -> Read<()> {
        let at = self.nodes.len();
        self.nodes.push(Node::List(0));
        let mut more = lexer.open(b']');
        while more {
            self.value(lexer, depth + 1)?;
            more = lexer.more(b']')?;
        }
        let held = (self.nodes.len() - at - 1) as u32;
        if let Some(node) = self.nodes.get_mut(at) {
            *node = Node::List(held);
        }
        Ok(())
    }

    fn map(&mut self, lexer: &mut Lexer<'a>, depth: usize) -> Read<()> {
        let (at, start) = (self.nodes.len(), lexer.at());
        self.nodes.push(Node::Null);
        // Keys that ascend, as they do in canonical texts, are not there twice.
        let (mut last, mut ascending) = (0, true);
        let mut more = lexer.open(b'}');
        while more {
            self.key(lexer)?;
            let next = self.beginning();
            ascending &= last < next;
            last = next;
            self.value(lexer, depth + 1)?;
            more = lexer.more(b'}')?;
        }
        self.close(at, (start, lexer.at()));
        if ascending {
            return Ok(());
        }
        self.check_keys(at).map_err(|key| lexer.twice(&key))
    }

    /// The first eight bytes of the key just read, as a number that orders as they do; 0 when it cannot be computed.
    #[inline]
    fn beginning(&self) -> u64 {
        let Some(Node::Text(start, end)) = self.nodes.last() else {
            return 0;
        };
        let bytes = self.source.as_bytes().get(*start as usize..);
        let Some(first) = bytes.and_then(|bytes| bytes.first_chunk()) else {
            return 0;
        };
        let first = u64::from_be_bytes(*first);
        match end - start {
            0 => 0,
            length @ 1..8 => first & (u64::MAX << (64 - 8 * length)),
            _ => first,
        }
    }

    /// Makes the node at `at` a mapping of all nodes after it.
    fn close(&mut self, at: usize, (start, end): (usize, usize)) {
        let nodes = (self.nodes.len() - at - 1) as u32;
        if let Some(node) = self.nodes.get_mut(at) {
            *node = Node::Map {
                nodes,
                start: start as u32,
                end: end as u32,
            };
        }
    }

    /// The key that the mapping at `at` has twice is the error, if there is one.
    #[cold]
    fn check_keys(&self, at: usize) -> Result<(), String> {
        let keys = Item { tape: self, at }.entries().into_iter().flatten();
        let mut texts: Vec<&str> = keys.filter_map(|(key, _)| key.text()).collect();
        texts.sort_unstable();
        match texts.windows(2).find(|pair| pair.first() == pair.last()) {
            Some(pair) => Err(pair.first().copied().unwrap_or_default().to_owned()),
            None => Ok(()),
        }
    }
}

/// A value, or a key, of a tape.
#[derive(Clone, Copy)]
pub(crate) struct Item<'t, 'a> {
    tape: &'t Tape<'a>,
    at: usize,
}

impl<'t, 'a> Item<'t, 'a> {
    #[inline]
    pub(crate) fn node(self) -> Node {
        self.tape.nodes.get(self.at).copied().unwrap_or(Node::Null)
    }

    /// The text of a string without lone surrogates.
    #[inline]
    pub(crate) fn text(self) -> Option<&'t str> {
        match self.node() {
            Node::Text(start, end) => self.tape.source.get(start as usize..end as usize),
            Node::Escaped(index) => self.tape.texts.get(index as usize).map(AsRef::as_ref),
            _ => None,
        }
    }

    /// [`Item::text`], as bytes. PERF: which no one need see to begin and end between characters.
    #[inline]
    pub(crate) fn bytes(self) -> Option<&'t [u8]> {
        match self.node() {
            Node::Text(start, end) => {
                let source = self.tape.source.as_bytes();
                source.get(start as usize..end as usize)
            }
            Node::Escaped(index) => {
                let text = self.tape.texts.get(index as usize);
                text.map(|text| text.as_bytes())
            }
            _ => None,
        }
    }

    /// The digits of a larger integer.
    pub(crate) fn digits(self) -> Option<&'t str> {
        match self.node() {
            Node::BigInt(start, end) => self.tape.source.get(start as usize..end as usize),
            _ => None,
        }
    }

    /// The elements of a list.
    #[inline]
    pub(crate) fn items(self) -> Option<Items<'t, 'a>> {
        match self.node() {
            Node::List(nodes) => Some(self.within(nodes)),
            _ => None,
        }
    }

    /// The entries of a mapping.
    #[inline]
    pub(crate) fn entries(self) -> Option<Entries<'t, 'a>> {
        match self.node() {
            Node::Map { nodes, .. } => Some(Entries(self.within(nodes))),
            _ => None,
        }
    }

    fn within(self, nodes: u32) -> Items<'t, 'a> {
        Items {
            tape: self.tape,
            at: self.at + 1,
            end: self.at + 1 + nodes as usize,
        }
    }
}

/// The elements of a list.
#[derive(Clone, Copy)]
pub(crate) struct Items<'t, 'a> {
    tape: &'t Tape<'a>,
    at: usize,
    end: usize,
}

impl<'t, 'a> Iterator for Items<'t, 'a> {
    type Item = Item<'t, 'a>;

    #[inline]
    fn next(&mut self) -> Option<Item<'t, 'a>> {
        if self.at >= self.end {
            return None;
        }
        let item = Item {
            tape: self.tape,
            at: self.at,
        };
        self.at += 1 + match item.node() {
            Node::List(nodes) | Node::Map { nodes, .. } => nodes as usize,
            _ => 0,
        };
        Some(item)
    }
}

/// The entries of a mapping.
#[derive(Clone, Copy)]
pub(crate) struct Entries<'t, 'a>(Items<'t, 'a>);

impl<'t, 'a> Iterator for Entries<'t, 'a> {
    type Item = (Item<'t, 'a>, Item<'t, 'a>);

    #[inline]
    fn next(&mut self) -> Option<(Item<'t, 'a>, Item<'t, 'a>)> {
        Some((self.0.next()?, self.0.next()?))
    }
}
