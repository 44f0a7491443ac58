//! Events of a YAML text, as libyaml reads it: the crate `libyaml-rs` is libyaml, translated from C to Rust.
//!
//! This is the only module that calls it. PyYAML's `CSafeLoader` calls libyaml in C: both accept the same texts, and find the
//! same problems at the same positions.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;
use std::str::Utf8Error;

use libyaml_rs::{
    YAML_ALIAS_EVENT, YAML_BLOCK_MAPPING_STYLE, YAML_BLOCK_SEQUENCE_STYLE,
    YAML_DOUBLE_QUOTED_SCALAR_STYLE, YAML_FOLDED_SCALAR_STYLE, YAML_LITERAL_SCALAR_STYLE,
    YAML_MAPPING_END_EVENT, YAML_MAPPING_START_EVENT, YAML_NO_EVENT, YAML_READER_ERROR,
    YAML_SCALAR_EVENT, YAML_SEQUENCE_END_EVENT, YAML_SEQUENCE_START_EVENT,
    YAML_SINGLE_QUOTED_SCALAR_STYLE, YAML_STREAM_END_EVENT, yaml_event_delete, yaml_event_t,
    yaml_mark_t, yaml_parser_delete, yaml_parser_initialize, yaml_parser_parse,
    yaml_parser_set_input_string, yaml_parser_t,
};

/// A position in a text, from 0; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) line: u32,
    pub(super) column: u32,
}

impl From<yaml_mark_t> for Position {
    fn from(mark: yaml_mark_t) -> Self {
        let limited = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            line: limited(mark.line),
            column: limited(mark.column),
        }
    }
}

/// Why a text is not YAML.
#[derive(Debug)]
pub(super) enum Problem {
    /// The position is `None` at the end of the text.
    Syntax(String, Option<Position>),
    /// A character that YAML does not have, and what libyaml says of it.
    Character(u32, String),
}

/// What an event begins, ends or is.
#[derive(Debug)]
pub(super) enum Event<'parser> {
    StreamEnd,
    Alias(&'parser str),
    Scalar(Start<'parser>, &'parser str),
    Sequence(Start<'parser>),
    Mapping(Start<'parser>),
    /// The end of a sequence or mapping.
    End,
    /// The start of the stream, or the start or end of a document.
    Other,
}

/// What is written before a value, and its style.
#[derive(Debug)]
pub(super) struct Start<'parser> {
    pub(super) anchor: Option<&'parser str>,
    pub(super) tag: Option<&'parser str>,
    pub(super) style: Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
    Folded,
    Block,
    Flow,
}

/// The parser of one text; it holds its last event.
pub(super) struct Parser<'text> {
    /// INVARIANT: of a box, initialized, and used by pointers only, since it holds pointers to itself.
    parser: NonNull<yaml_parser_t>,
    /// INVARIANT: an event of `parser`, or zeros, which `yaml_event_delete` leaves alone.
    event: yaml_event_t,
    size: usize,
    text: PhantomData<&'text str>,
}

impl<'text> Parser<'text> {
    /// Returns the parser of a text.
    pub(super) fn new(text: &'text str) -> Self {
        let place = Box::leak(Box::new(MaybeUninit::<yaml_parser_t>::uninit()));
        let parser: NonNull<yaml_parser_t> = NonNull::from(place).cast();
        // SAFETY: it initializes all of the parser, and cannot fail: without memory it ends the process, as all of Rust does.
        // The text outlives the parser, by its lifetime.
        unsafe {
            let _ = yaml_parser_initialize(parser.as_ptr());
            yaml_parser_set_input_string(parser.as_ptr(), text.as_ptr(), text.len() as u64);
        }
        Self {
            parser,
            // SAFETY: an event is integers, pointers and a union of these; zeros are the event of no kind.
            event: unsafe { MaybeUninit::zeroed().assume_init() },
            size: text.len(),
            text: PhantomData,
        }
    }

    /// Returns the next event with its start and end.
    pub(super) fn next(&mut self) -> Result<(Event<'_>, Position, Position), Problem> {
        // SAFETY: by the invariants; `yaml_parser_parse` overwrites the event, which is deleted first.
        let failed = unsafe {
            yaml_event_delete(&raw mut self.event);
            yaml_parser_parse(self.parser.as_ptr(), &raw mut self.event).fail
        };
        if failed {
            return Err(self.problem());
        }
        let (start, end) = (self.event.start_mark.into(), self.event.end_mark.into());
        let event = self
            .read()
            .map_err(|_| Problem::Syntax("the tag is not UTF-8".to_owned(), Some(start)))?;
        Ok((event, start, end))
    }

    fn read(&self) -> Result<Event<'_>, Utf8Error> {
        let event = &self.event;
        // SAFETY: libyaml fills in the field of the union that belongs to the type. Its texts end with a zero, or have the
        // length beside them, and belong to the event, which is as old as the borrow of `self`. They are UTF-8 like the text,
        // but for tags with escapes of bytes.
        unsafe {
            Ok(match event.type_ {
                YAML_STREAM_END_EVENT | YAML_NO_EVENT => Event::StreamEnd,
                YAML_ALIAS_EVENT => {
                    Event::Alias(text_at(event.data.alias.anchor)?.unwrap_or_default())
                }
                YAML_SCALAR_EVENT => {
                    let scalar = &event.data.scalar;
                    let length = usize::try_from(scalar.length).unwrap_or_default();
                    let value = str::from_utf8(slice::from_raw_parts(scalar.value, length))?;
                    let style = match scalar.style {
                        YAML_SINGLE_QUOTED_SCALAR_STYLE => Style::SingleQuoted,
                        YAML_DOUBLE_QUOTED_SCALAR_STYLE => Style::DoubleQuoted,
                        YAML_LITERAL_SCALAR_STYLE => Style::Literal,
                        YAML_FOLDED_SCALAR_STYLE => Style::Folded,
                        _ => Style::Plain,
                    };
                    Event::Scalar(start_of(scalar.anchor, scalar.tag, style)?, value)
                }
                YAML_SEQUENCE_START_EVENT => {
                    let sequence = &event.data.sequence_start;
                    let block = sequence.style == YAML_BLOCK_SEQUENCE_STYLE;
                    let style = if block { Style::Block } else { Style::Flow };
                    Event::Sequence(start_of(sequence.anchor, sequence.tag, style)?)
                }
                YAML_MAPPING_START_EVENT => {
                    let mapping = &event.data.mapping_start;
                    let block = mapping.style == YAML_BLOCK_MAPPING_STYLE;
                    let style = if block { Style::Block } else { Style::Flow };
                    Event::Mapping(start_of(mapping.anchor, mapping.tag, style)?)
                }
                YAML_SEQUENCE_END_EVENT | YAML_MAPPING_END_EVENT => Event::End,
                _ => Event::Other,
            })
        }
    }

    #[cold]
    fn problem(&self) -> Problem {
        // SAFETY: by the invariant. libyaml's messages are constants that end with a zero.
        let (parser, message) = unsafe {
            let parser = self.parser.as_ref();
            (parser, text_at(parser.problem.cast()))
        };
        let message = message
            .ok()
            .flatten()
            .unwrap_or("it cannot be read")
            .to_owned();
        if parser.error == YAML_READER_ERROR {
            let character = u32::try_from(parser.problem_value).unwrap_or_default();
            return Problem::Character(character, message);
        }
        let mark = parser.problem_mark;
        // Here an index counts bytes; in C it counts characters.
        let inside = usize::try_from(mark.index).is_ok_and(|index| index < self.size);
        Problem::Syntax(message, inside.then(|| mark.into()))
    }
}

impl Drop for Parser<'_> {
    fn drop(&mut self) {
        // SAFETY: by the invariants; nothing uses either of them again.
        unsafe {
            yaml_event_delete(&raw mut self.event);
            yaml_parser_delete(self.parser.as_ptr());
            drop(Box::from_raw(
                self.parser.as_ptr().cast::<MaybeUninit<yaml_parser_t>>(),
            ));
        }
    }
}

/// SAFETY: the pointers are null or texts that end with a zero, valid for the lifetime.
unsafe fn start_of<'event>(
    anchor: *const u8,
    tag: *const u8,
    style: Style,
) -> Result<Start<'event>, Utf8Error> {
    // SAFETY: as the caller says.
    let (anchor, tag) = unsafe { (text_at(anchor)?, text_at(tag)?) };
    Ok(Start { anchor, tag, style })
}

/// SAFETY: the pointer is null or a text that ends with a zero, valid for the lifetime.
unsafe fn text_at<'event>(text: *const u8) -> Result<Option<&'event str>, Utf8Error> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(text.cast()) }.to_str().map(Some)
}
