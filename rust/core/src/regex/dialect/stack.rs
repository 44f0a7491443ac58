//! The shape of a pattern under construction: open groups, their alternatives, their items.
//!
//! Both dialects push items and groups here; nothing recurses, so nesting costs no stack. Groups capture only where
//! a builder asks for it: most searches need no captures. Every item carries its cost, so that a cap is enforced before memory
//! is allocated.

use regex_syntax::hir::{Capture, Class, ClassUnicode, Hir, Look, Repetition};

use crate::regex::PatternError;

/// The output of a parser: the meaning of a pattern, or `()` where only its acceptance is needed.
///
/// INVARIANT: acceptance does not depend on the output, so no method can fail and nothing of the output is inspected.
pub(in crate::regex) trait Build: Sized {
    /// One character of `class`.
    fn class(class: impl FnOnce() -> ClassUnicode) -> Self;
    /// A literal.
    fn text(text: &str) -> Self;
    /// A zero-width assertion.
    fn look(look: Look) -> Self;
    /// A concatenation.
    fn concat(items: Vec<Self>) -> Self;
    /// An alternation.
    fn alternation(items: Vec<Self>) -> Self;
    /// A greedy repetition.
    fn repeated(self, min: u32, max: Option<u32>) -> Self;
    /// A lazy repetition, which matches the same texts.
    fn lazily_repeated(self, min: u32, max: Option<u32>) -> Self;
    /// A capturing group, which matches the same texts.
    fn captured(self, index: u32) -> Self;
}

/// An expression; with `GROUPS`, it keeps capturing groups and lazy repetitions.
#[derive(Debug)]
pub(in crate::regex) struct Built<const GROUPS: bool>(pub(in crate::regex) Hir);

impl<const GROUPS: bool> Built<GROUPS> {
    fn all(items: Vec<Self>) -> Vec<Hir> {
        items.into_iter().map(|item| item.0).collect()
    }

    fn repetition(self, min: u32, max: Option<u32>, greedy: bool) -> Self {
        Self(Hir::repetition(Repetition {
            min,
            max,
            greedy,
            sub: Box::new(self.0),
        }))
    }
}

impl<const GROUPS: bool> Build for Built<GROUPS> {
    fn class(class: impl FnOnce() -> ClassUnicode) -> Self {
        Self(Hir::class(Class::Unicode(class())))
    }

    fn text(text: &str) -> Self {
        Self(Hir::literal(text.as_bytes()))
    }

    fn look(look: Look) -> Self {
        Self(Hir::look(look))
    }

    fn concat(items: Vec<Self>) -> Self {
        Self(Hir::concat(Self::all(items)))
    }

    fn alternation(items: Vec<Self>) -> Self {
        Self(Hir::alternation(Self::all(items)))
    }

    fn repeated(self, min: u32, max: Option<u32>) -> Self {
        self.repetition(min, max, true)
    }

    fn lazily_repeated(self, min: u32, max: Option<u32>) -> Self {
        self.repetition(min, max, !GROUPS)
    }

    fn captured(self, index: u32) -> Self {
        if !GROUPS {
            return self;
        }
        Self(Hir::capture(Capture {
            index,
            name: None,
            sub: Box::new(self.0),
        }))
    }
}

impl Build for () {
    fn class(_: impl FnOnce() -> ClassUnicode) {}
    fn text(_: &str) {}
    fn look(_: Look) {}
    fn concat(_: Vec<Self>) {}
    fn alternation(_: Vec<Self>) {}
    fn repeated(self, _: u32, _: Option<u32>) {}
    fn lazily_repeated(self, _: u32, _: Option<u32>) {}
    fn captured(self, _: u32) {}
}

/// Groups inside one another.
pub const MAX_NESTING: usize = 200;

/// The size of a pattern with its repetitions written out, in bytes of literals and ranges of classes.
pub const MAX_COST: usize = 500_000;

/// The kind of an item for the operators that follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::regex) enum Shape {
    Atom,
    Look,
    Repeat,
}

/// One item: its expression, its cost, and the product of the nested repetition counts in it.
#[derive(Debug)]
pub(in crate::regex) struct Piece<B> {
    pub(in crate::regex) built: B,
    pub(in crate::regex) cost: usize,
    pub(in crate::regex) copies: u32,
    pub(in crate::regex) shape: Shape,
}

impl<B: Build> Piece<B> {
    fn atom(built: B, cost: usize) -> Self {
        Self {
            built,
            cost: cost.max(1),
            copies: 1,
            shape: Shape::Atom,
        }
    }

    /// One character of `class`.
    pub(in crate::regex) fn class(class: ClassUnicode) -> Self {
        let cost = match class.ranges() {
            // A class of one character is that character.
            [one] if one.start() == one.end() => one.start().len_utf8(),
            ranges => ranges
                .iter()
                .map(|range| if range.end().is_ascii() { 1 } else { 3 })
                .sum(),
        };
        Self::atom(B::class(|| class), cost)
    }

    /// One character of a class that is built on demand; `ascii` and `beyond` are the numbers of its ranges.
    pub(in crate::regex) fn class_of(
        (ascii, beyond): (usize, usize),
        class: impl FnOnce() -> ClassUnicode,
    ) -> Self {
        Self::atom(B::class(class), ascii + 3 * beyond)
    }

    /// A literal.
    pub(in crate::regex) fn text(text: &str) -> Self {
        Self::atom(B::text(text), text.len())
    }

    /// The character of one code point: none at all for a surrogate.
    pub(in crate::regex) fn point(point: u32) -> Self {
        match char::from_u32(point) {
            Some(found) => Self::text(found.encode_utf8(&mut [0; 4])),
            None => Self::class(ClassUnicode::empty()),
        }
    }

    /// Any character, without line feed unless `line_feed`.
    pub(in crate::regex) fn any(line_feed: bool) -> Self {
        let ranges = if line_feed { (0, 1) } else { (1, 1) };
        Self::class_of(ranges, || super::class::any(line_feed))
    }

    pub(in crate::regex) fn look(look: Look) -> Self {
        Self {
            built: B::look(look),
            cost: 1,
            copies: 1,
            shape: Shape::Look,
        }
    }

    /// This item as a capturing group.
    pub(in crate::regex) fn captured(self, index: u32) -> Self {
        Self {
            built: self.built.captured(index),
            ..self
        }
    }

    /// A lazy [`Piece::repeated`].
    pub(in crate::regex) fn lazily_repeated(self, min: u32, max: Option<u32>) -> Self {
        self.times(min, max, B::lazily_repeated)
    }

    /// This item, `min` to `max` times.
    pub(in crate::regex) fn repeated(self, min: u32, max: Option<u32>) -> Self {
        self.times(min, max, B::repeated)
    }

    fn times(
        self,
        min: u32,
        max: Option<u32>,
        repeated: impl FnOnce(B, u32, Option<u32>) -> B,
    ) -> Self {
        let times = max.unwrap_or_else(|| min.saturating_add(1)).max(1);
        Self {
            cost: self.cost.saturating_add(1).saturating_mul(times as usize),
            copies: self.copies.saturating_mul(max.unwrap_or(min).max(1)),
            built: repeated(self.built, min, max),
            shape: Shape::Repeat,
        }
    }
}

/// Items of a concatenation or an alternation.
#[derive(Debug)]
struct Row<B> {
    built: Vec<B>,
    cost: usize,
    copies: u32,
}

impl<B: Build> Row<B> {
    fn new() -> Self {
        Self {
            built: Vec::new(),
            cost: 1,
            copies: 1,
        }
    }

    fn add(&mut self, piece: Piece<B>) {
        self.cost = self.cost.saturating_add(piece.cost);
        self.copies = self.copies.max(piece.copies);
        self.built.push(piece.built);
    }

    fn joined(self, join: impl Fn(Vec<B>) -> B) -> Piece<B> {
        Piece {
            built: join(self.built),
            cost: self.cost,
            copies: self.copies,
            shape: Shape::Atom,
        }
    }
}

/// An open group; the whole pattern is the outermost one.
#[derive(Debug)]
struct Frame<F, B> {
    start: usize,
    outer: F,
    alternatives: Row<B>,
    items: Row<B>,
    /// The item an operator would apply to, unless text follows it.
    last: Option<Piece<B>>,
}

impl<F, B: Build> Frame<F, B> {
    fn new(start: usize, outer: F) -> Self {
        Self {
            start,
            outer,
            alternatives: Row::new(),
            items: Row::new(),
            last: None,
        }
    }

    fn push(&mut self, piece: Piece<B>) {
        if let Some(before) = self.last.replace(piece) {
            self.items.add(before);
        }
    }

    fn alternate(&mut self) {
        if let Some(last) = self.last.take() {
            self.items.add(last);
        }
        let items = std::mem::replace(&mut self.items, Row::new());
        self.alternatives.add(items.joined(B::concat));
    }

    fn finish(mut self) -> (F, Piece<B>) {
        self.alternate();
        (self.outer, self.alternatives.joined(B::alternation))
    }
}

/// Open groups, innermost last. `F` is what a group restores when it closes: the flags outside it.
#[derive(Debug)]
pub(in crate::regex) struct Stack<F, B> {
    frame: Frame<F, B>,
    outer: Vec<Frame<F, B>>,
    /// Characters after the last item. PERF: one literal of a run of them takes a third of the time of one each.
    text: String,
}

impl<F, B: Build> Stack<F, B> {
    pub(in crate::regex) fn new(flags: F) -> Self {
        Self {
            frame: Frame::new(0, flags),
            outer: Vec::new(),
            text: String::new(),
        }
    }

    /// Returns true if the current alternative is still empty.
    pub(in crate::regex) fn is_fresh(&self) -> bool {
        self.frame.items.built.is_empty() && self.frame.last.is_none() && self.text.is_empty()
    }

    /// Returns true if this is the first alternative of the whole pattern and it is empty.
    pub(in crate::regex) fn at_start(&self) -> bool {
        self.outer.is_empty() && self.is_fresh() && self.frame.alternatives.built.is_empty()
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.frame.push(Piece::text(&self.text));
            self.text.clear();
        }
    }

    pub(in crate::regex) fn push(&mut self, piece: Piece<B>) {
        self.flush();
        self.frame.push(piece);
    }

    /// Pushes one character.
    pub(in crate::regex) fn push_char(&mut self, found: char) {
        self.text.push(found);
    }

    /// The shape of the item an operator would apply to.
    pub(in crate::regex) fn last(&self) -> Option<Shape> {
        if self.text.is_empty() {
            self.frame.last.as_ref().map(|piece| piece.shape)
        } else {
            Some(Shape::Atom)
        }
    }

    /// Takes the item an operator applies to; the result of the operator is pushed next.
    pub(in crate::regex) fn pop(&mut self) -> Option<Piece<B>> {
        match self.text.pop() {
            Some(last) => {
                self.flush();
                Some(Piece::point(u32::from(last)))
            }
            None => self.frame.last.take(),
        }
    }

    pub(in crate::regex) fn alternate(&mut self) {
        self.flush();
        self.frame.alternate();
    }

    /// Opens a group at `start`; `flags` come back when it closes.
    pub(in crate::regex) fn open(&mut self, start: usize, flags: F) -> Result<(), PatternError> {
        if self.outer.len() >= MAX_NESTING {
            let message = format!("groups are nested deeper than {MAX_NESTING}");
            return Err(PatternError::new("too_nested", start, start + 1, message));
        }
        self.flush();
        self.outer
            .push(std::mem::replace(&mut self.frame, Frame::new(start, flags)));
        Ok(())
    }

    /// Closes the innermost group: the flags outside it, or `None` when no group is open.
    pub(in crate::regex) fn close(&mut self) -> Option<F> {
        let outer = self.outer.pop()?;
        self.flush();
        let (flags, piece) = std::mem::replace(&mut self.frame, outer).finish();
        self.frame.push(piece);
        Some(flags)
    }

    /// Returns the start of the innermost open group, if one is open.
    pub(in crate::regex) fn open_at(&self) -> Option<usize> {
        (!self.outer.is_empty()).then_some(self.frame.start)
    }

    /// The whole pattern.
    pub(in crate::regex) fn finish(mut self) -> Piece<B> {
        self.flush();
        self.frame.finish().1
    }
}
