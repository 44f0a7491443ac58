//! The shape of a pattern under construction: open groups, their alternatives, their items.
//!
//! Both dialects push items and groups here; nothing recurses, so nesting costs no stack. Groups do not capture: only
//! whether a pattern is found is ever asked. Every item carries what it will cost, so that a cap is met before memory is.

use regex_syntax::hir::{Hir, HirKind, Repetition};

use super::PatternError;

/// Groups inside one another.
pub const MAX_NESTING: usize = 200;
/// The size of a pattern with its repetitions written out, in bytes of literals and ranges of classes.
pub const MAX_COST: usize = 500_000;

/// What an item is to the operators that follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Atom,
    Look,
    Repeat,
}

/// One item: what it means, what it costs, and how deep repetitions multiply in it.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) hir: Hir,
    pub(super) cost: usize,
    pub(super) copies: u32,
    pub(super) shape: Shape,
}

impl Piece {
    pub(super) fn atom(hir: Hir) -> Self {
        let cost = match hir.kind() {
            HirKind::Literal(literal) => literal.0.len(),
            HirKind::Class(regex_syntax::hir::Class::Unicode(class)) => class
                .ranges()
                .iter()
                .map(|range| if range.end().is_ascii() { 1 } else { 3 })
                .sum(),
            HirKind::Class(regex_syntax::hir::Class::Bytes(_))
            | HirKind::Empty
            | HirKind::Look(_)
            | HirKind::Repetition(_)
            | HirKind::Capture(_)
            | HirKind::Concat(_)
            | HirKind::Alternation(_) => 1,
        };
        Self {
            hir,
            cost: cost.max(1),
            copies: 1,
            shape: Shape::Atom,
        }
    }

    pub(super) fn look(look: regex_syntax::hir::Look) -> Self {
        Self {
            hir: Hir::look(look),
            cost: 1,
            copies: 1,
            shape: Shape::Look,
        }
    }

    /// This item, `min` to `max` times.
    pub(super) fn repeated(self, min: u32, max: Option<u32>) -> Self {
        let times = max.unwrap_or_else(|| min.saturating_add(1)).max(1);
        Self {
            cost: self.cost.saturating_add(1).saturating_mul(times as usize),
            copies: self.copies.saturating_mul(max.unwrap_or(min).max(1)),
            hir: Hir::repetition(Repetition {
                min,
                max,
                greedy: true,
                sub: Box::new(self.hir),
            }),
            shape: Shape::Repeat,
        }
    }

    fn joined(pieces: Vec<Self>, join: impl Fn(Vec<Hir>) -> Hir) -> Self {
        let cost = pieces
            .iter()
            .fold(1, |sum: usize, piece| sum.saturating_add(piece.cost));
        let copies = pieces.iter().map(|piece| piece.copies).max().unwrap_or(1);
        let hir = join(pieces.into_iter().map(|piece| piece.hir).collect());
        Self {
            hir,
            cost,
            copies,
            shape: Shape::Atom,
        }
    }
}

/// An open group; the whole pattern is the outermost one.
#[derive(Debug)]
struct Frame<F> {
    start: usize,
    outer: F,
    alternatives: Vec<Piece>,
    items: Vec<Piece>,
    /// Characters after the last item. PERF: one literal of a run of them takes a third of the time of one each.
    text: String,
}

impl<F> Frame<F> {
    fn new(start: usize, outer: F) -> Self {
        Self {
            start,
            outer,
            alternatives: Vec::new(),
            items: Vec::new(),
            text: String::new(),
        }
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.items
                .push(Piece::atom(Hir::literal(self.text.as_bytes())));
            self.text.clear();
        }
    }

    fn alternate(&mut self) {
        self.flush();
        let items = std::mem::take(&mut self.items);
        self.alternatives.push(Piece::joined(items, Hir::concat));
    }

    fn finish(mut self) -> Piece {
        self.alternate();
        Piece::joined(self.alternatives, Hir::alternation)
    }
}

/// Open groups, innermost last. `F` is what a group restores when it closes: the flags outside it.
#[derive(Debug)]
pub(super) struct Stack<F> {
    frame: Frame<F>,
    outer: Vec<Frame<F>>,
}

impl<F> Stack<F> {
    pub(super) fn new(flags: F) -> Self {
        Self {
            frame: Frame::new(0, flags),
            outer: Vec::new(),
        }
    }

    /// Whether nothing stands in the current alternative yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.frame.items.is_empty() && self.frame.text.is_empty()
    }

    /// Whether this is the first alternative of the whole pattern and nothing stands in it.
    pub(super) fn at_start(&self) -> bool {
        self.outer.is_empty() && self.is_fresh() && self.frame.alternatives.is_empty()
    }

    pub(super) fn push(&mut self, piece: Piece) {
        self.frame.flush();
        self.frame.items.push(piece);
    }

    /// Pushes one character.
    pub(super) fn push_char(&mut self, found: char) {
        self.frame.text.push(found);
    }

    /// The shape of the item an operator would apply to.
    pub(super) fn last(&self) -> Option<Shape> {
        if self.frame.text.is_empty() {
            self.frame.items.last().map(|piece| piece.shape)
        } else {
            Some(Shape::Atom)
        }
    }

    /// Takes the item an operator applies to.
    pub(super) fn pop(&mut self) -> Option<Piece> {
        match self.frame.text.pop() {
            Some(last) => {
                self.frame.flush();
                Some(Piece::atom(super::class::literal(u32::from(last))))
            }
            None => self.frame.items.pop(),
        }
    }

    pub(super) fn alternate(&mut self) {
        self.frame.alternate();
    }

    /// Opens a group at `start`; `flags` come back when it closes.
    pub(super) fn open(&mut self, start: usize, flags: F) -> Result<(), PatternError> {
        if self.outer.len() >= MAX_NESTING {
            let message = format!("groups are nested deeper than {MAX_NESTING}");
            return Err(PatternError::new("too_nested", start, start + 1, message));
        }
        self.outer
            .push(std::mem::replace(&mut self.frame, Frame::new(start, flags)));
        Ok(())
    }

    /// Closes the innermost group: the flags outside it, or `None` when no group is open.
    pub(super) fn close(&mut self) -> Option<F> {
        let outer = self.outer.pop()?;
        let Frame {
            start,
            outer: flags,
            alternatives,
            items,
            text,
        } = std::mem::replace(&mut self.frame, outer);
        let piece = Frame {
            start,
            outer: (),
            alternatives,
            items,
            text,
        }
        .finish();
        self.push(piece);
        Some(flags)
    }

    /// Where the innermost open group starts, if one is open.
    pub(super) fn open_at(&self) -> Option<usize> {
        (!self.outer.is_empty()).then_some(self.frame.start)
    }

    /// The whole pattern.
    pub(super) fn finish(self) -> Piece {
        self.frame.finish()
    }
}
