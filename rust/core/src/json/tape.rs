//! JSON texts as tapes: one flat list of nodes, each list and mapping before what it holds. Read by the IR decoder.
//!
//! PERF: a tape is used again for text after text, so that reading ten thousand rules allocates nothing.

use std::sync::Arc;

use super::lexer::{Lexer, Number, Read};
use super::{Caps, JsonError, Text};
use crate::value::bigint::BigInt;

/// One node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node<'a> {
    Null,
    Bool(bool),
    /// An integer of at most 64 bits.
    Int(i64),
    /// A larger integer within [`crate::limits::MAX_INT_BITS`], as written.
    BigInt(&'a str),
    /// An integer above the cap.
    HugeInt,
    /// Infinite when out of range.
    Float(f64),
    /// A string, or a key, without escapes.
    Text(&'a str),
    /// A string, or a key, with escapes: an index into the texts of the tape.
    Escaped(u32),
    /// A string, or a key, that holds a lone surrogate.
    BadText,
    /// A list, and how many of the nodes after this one are in it.
    List(u32),
    /// A mapping, how many of the nodes after this one are in it (keys and values in turn), and where the text has it.
    Map {
        nodes: u32,
        start: u32,
        end: u32,
    },
}

/// The nodes of one text.
#[derive(Debug, Default)]
pub(crate) struct Tape<'a> {
    nodes: Vec<Node<'a>>,
    texts: Vec<Arc<str>>,
}

/// What [`stream`] calls: the mapping read so far, an element, whether to go on.
pub(crate) type Each<'e, 'a> = dyn FnMut(&Tape<'a>, &Tape<'a>) -> bool + 'e;

/// Reads one JSON object whose key `key`, when it holds an array, is not kept: `each` gets the entries before it and one
/// element after the other, until it answers `false`; then the result is `None`. What is no object is read whole.
///
/// # Errors
/// Those of [`super::parse`].
pub(crate) fn stream<'a>(
    bytes: &'a [u8],
    caps: Caps,
    key: &str,
    each: &mut Each<'_, 'a>,
) -> Result<Option<Tape<'a>>, JsonError> {
    let mut lexer = Lexer::new(bytes, caps)?;
    let (mut root, mut element) = (Tape::default(), Tape::default());
    lexer.space();
    if lexer.peek() != Some(b'{') {
        root.value(&mut lexer, 0)?;
        lexer.end()?;
        return Ok(Some(root));
    }
    root.nodes.push(Node::Null);
    let mut keys = Keys::default();
    let mut more = lexer.open(b'}');
    while more {
        let name = lexer.key()?;
        keys.see(&name);
        lexer.space();
        if name.as_str() == Some(key) && lexer.peek() == Some(b'[') {
            root.close(0, (0, lexer.at()));
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
            root.push_text(name);
            root.nodes.push(Node::List(0));
        } else {
            root.push_text(name);
            root.value(&mut lexer, 1)?;
        }
        more = lexer.more(b'}')?;
    }
    lexer.end()?;
    root.close(0, (0, lexer.at()));
    if keys.unsorted {
        root.check_keys(0).map_err(|key| lexer.twice(&key))?;
    }
    Ok(Some(root))
}

/// Whether the keys of a mapping ascend, as they do in canonical texts: then none is there twice.
#[derive(Default)]
struct Keys<'a> {
    last: Option<&'a str>,
    unsorted: bool,
}

impl<'a> Keys<'a> {
    #[inline]
    fn see(&mut self, key: &Text<'a>) {
        match key {
            Text::Borrowed(key) if self.last.is_none_or(|last| last < *key) => {
                self.last = Some(*key)
            }
            Text::Borrowed(_) | Text::Owned(_) | Text::Bad => self.unsorted = true,
        }
    }
}

impl<'a> Tape<'a> {
    /// Reads one JSON value.
    ///
    /// # Errors
    /// Those of [`super::parse`].
    pub(crate) fn parse(bytes: &'a [u8], caps: Caps) -> Result<Self, JsonError> {
        let mut lexer = Lexer::new(bytes, caps)?;
        let mut tape = Self::default();
        tape.value(&mut lexer, 0)?;
        lexer.end()?;
        Ok(tape)
    }

    /// The value the tape holds.
    pub(crate) fn root(&self) -> Item<'_, 'a> {
        Item { tape: self, at: 0 }
    }

    fn push_text(&mut self, text: Text<'a>) {
        let node = match text {
            Text::Borrowed(text) => Node::Text(text),
            Text::Owned(text) => {
                self.texts.push(text);
                Node::Escaped(self.texts.len() as u32 - 1)
            }
            Text::Bad => Node::BadText,
        };
        self.nodes.push(node);
    }

    fn value(&mut self, lexer: &mut Lexer<'a>, depth: usize) -> Read<()> {
        lexer.begin(depth)?;
        let node = match lexer.peek() {
            Some(b'"') => {
                let text = lexer.string()?;
                self.push_text(text);
                return Ok(());
            }
            Some(b'{') => return self.map(lexer, depth),
            Some(b'[') => return self.list(lexer, depth),
            Some(b'-' | b'0'..=b'9') => match lexer.number()? {
                Number::Int(value) => Node::Int(value),
                Number::Large(text) => {
                    BigInt::parse_decimal(text).map_or(Node::HugeInt, |_| Node::BigInt(text))
                }
                Number::Float(value) => Node::Float(value),
            },
            Some(b't') => lexer.word("true").map(|()| Node::Bool(true))?,
            Some(b'f') => lexer.word("false").map(|()| Node::Bool(false))?,
            Some(b'n') => lexer.word("null").map(|()| Node::Null)?,
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
        let mut keys = Keys::default();
        let mut more = lexer.open(b'}');
        while more {
            let key = lexer.key()?;
            keys.see(&key);
            self.push_text(key);
            self.value(lexer, depth + 1)?;
            more = lexer.more(b'}')?;
        }
        self.close(at, (start, lexer.at()));
        if keys.unsorted {
            self.check_keys(at).map_err(|key| lexer.twice(&key))?;
        }
        Ok(())
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
        let map = Item { tape: self, at };
        let entries = map.entries().into_iter().flatten();
        let mut keys: Vec<&str> = entries.filter_map(|(key, _)| key.text()).collect();
        keys.sort_unstable();
        match keys.windows(2).find(|pair| pair.first() == pair.last()) {
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
    pub(crate) fn node(self) -> Node<'a> {
        self.tape.nodes.get(self.at).copied().unwrap_or(Node::Null)
    }

    /// The text of a string without lone surrogates.
    #[inline]
    pub(crate) fn text(self) -> Option<&'t str> {
        match self.node() {
            Node::Text(text) => Some(text),
            Node::Escaped(index) => self.tape.texts.get(index as usize).map(AsRef::as_ref),
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
