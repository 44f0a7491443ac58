//! A text that values are searched for in, read once.

use std::ops::Range;

use super::boundaries::{Edge, segments};
use super::{Needle, decimal, iban, push_cased, search};
use crate::chars;

const START: u8 = 1;
const END: u8 = 2;

/// A text, with the places at which tokens begin and end, and with its numbers.
#[derive(Debug)]
pub struct Haystack {
    /// One space for each run of white space, and none at the ends.
    text: String,
    /// Of each byte offset, whether a token may begin and end there.
    marks: Vec<u8>,
    chunks: Vec<Chunk>,
    /// Sorted, as [`decimal`] writes them.
    numbers: Vec<Found>,
    /// Sorted, without spaces.
    ibans: Vec<Found>,
}

/// A number or an IBAN.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    value: String,
    /// The first chunk of it.
    chunk: usize,
    chunks: usize,
}

/// A part of the text without white space.
#[derive(Debug)]
struct Chunk {
    begin: usize,
    end: usize,
    /// Where it is in the text as it was given.
    given: Range<usize>,
    /// True if a new line is before it.
    new_line: bool,
    /// The part without the marks around it, if there is one such part.
    core: Range<usize>,
    /// The number at its beginning and at its end, among the numbers.
    numbers: (Shaped, Shaped),
}

/// The digits at one end of a chunk.
#[derive(Clone, Copy, Debug, Default)]
struct Shaped {
    /// True if there are digits, and nothing else in the same token.
    here: bool,
    /// The index of the number that they are.
    index: Option<usize>,
}

impl Haystack {
    /// Reads a text; with `lower`, its lower case.
    #[must_use]
    pub fn new(text: &str, lower: bool) -> Self {
        let mut made = Self {
            text: String::with_capacity(text.len()),
            marks: Vec::with_capacity(text.len() + 1),
            chunks: Vec::new(),
            numbers: Vec::new(),
            ibans: Vec::new(),
        };
        let mut at = 0;
        let mut new_line = false;
        for chunk in text.split(chars::is_space) {
            let given = at..at + chunk.len();
            let space = text.get(given.end..).and_then(|rest| rest.chars().next());
            at = given.end + space.map_or(0, char::len_utf8);
            if !chunk.is_empty() {
                made.push(chunk, given, (new_line, lower));
                new_line = false;
            }
            new_line |= space.is_some_and(is_line_end);
        }
        made.join_numbers();
        made.join_ibans(lower);
        made.numbers.retain(|number| !number.value.is_empty());
        made.numbers.sort_unstable();
        made.ibans.sort_unstable();
        made
    }

    fn push(&mut self, chunk: &str, given: Range<usize>, (new_line, lower): (bool, bool)) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        let begin = self.text.len();
        push_cased(&mut self.text, chunk, lower);
        let end = self.text.len();
        self.marks.resize(end + 1, 0);
        mark(&mut self.marks, Edge::Start, begin);
        mark(&mut self.marks, Edge::End, end);
        let (text, marks, numbers) = (&self.text, &mut self.marks, &mut self.numbers);
        let chunk = text.get(begin..).unwrap_or_default();
        let mut made = Chunk {
            begin,
            end,
            given,
            new_line,
            core: begin..begin,
            numbers: Default::default(),
        };
        let mut cores = 0;
        segments(chunk, |segment| {
            let Some(core) = segment.read(|edge, at| mark(marks, edge, begin + at)) else {
                return;
            };
            cores += 1;
            made.core = begin + core.at..begin + core.at + core.text.len();
            let number = decimal::amount(core.text);
            let shaped = Shaped {
                here: decimal::is_shaped(core.text),
                index: number.as_ref().map(|_| numbers.len()),
            };
            let found = |value| Found {
                value,
                chunk: self.chunks.len(),
                chunks: 1,
            };
            numbers.extend(number.map(found));
            if iban::is_whole(core.text, lower) {
                self.ibans.push(found(core.text.into()));
            }
            if core.at == 0 && core.text.starts_with(|found: char| found.is_ascii_digit()) {
                made.numbers.0 = shaped;
            }
            if made.core.end == end
                && !core.trimmed
                && core.text.ends_with(|found: char| found.is_ascii_digit())
            {
                made.numbers.1 = shaped;
            }
        });
        if cores > 1 {
            made.core = begin..begin;
        }
        self.chunks.push(made);
    }

    /// Digits with nothing but a space between them may be one number: no token begins or ends there.
    fn join_numbers(&mut self) {
        for (one, two) in self.chunks.iter().zip(self.chunks.iter().skip(1)) {
            let (before, behind) = (one.numbers.1, two.numbers.0);
            if !before.here || !behind.here || two.new_line {
                continue;
            }
            unmark(&mut self.marks, END, one.end);
            unmark(&mut self.marks, START, two.begin);
            for index in [before.index, behind.index].into_iter().flatten() {
                if let Some(number) = self.numbers.get_mut(index) {
                    number.value.clear();
                }
            }
        }
    }

    /// Groups of an IBAN are one token.
    fn join_ibans(&mut self, lower: bool) {
        let mut first = 0;
        while first < self.chunks.len() {
            match self.iban_at(first, lower) {
                Some((count, iban)) => {
                    for chunk in self.chunks.iter().skip(first).take(count - 1) {
                        unmark(&mut self.marks, END, chunk.end);
                    }
                    for chunk in self.chunks.iter().skip(first + 1).take(count - 1) {
                        unmark(&mut self.marks, START, chunk.begin);
                    }
                    let from = self.numbers.partition_point(|number| number.chunk < first);
                    let inside = self.numbers.iter_mut().skip(from);
                    for number in inside.take_while(|number| number.chunk < first + count) {
                        number.value.clear();
                    }
                    self.ibans.push(Found {
                        value: iban,
                        chunk: first,
                        chunks: count,
                    });
                    first += count;
                }
                None => first += 1,
            }
        }
    }

    /// The IBAN whose first group is a chunk, and the number of its groups.
    fn iban_at(&self, first: usize, lower: bool) -> Option<(usize, String)> {
        let core = |chunk: &Chunk| self.text.get(chunk.core.clone()).unwrap_or_default();
        let head = self.chunks.get(first)?;
        if !iban::is_head(core(head), lower) || head.core.end < head.end {
            return None;
        }
        let mut iban = core(head).to_owned();
        // The longest with right check digits, else the longest up to a group without a digit: a word may follow.
        let mut valid = None;
        let mut plain = None;
        let mut words = false;
        let following = self
            .chunks
            .iter()
            .skip(first + 1)
            .take(iban::MAX_GROUPS - 1);
        for (count, chunk) in (2..).zip(following) {
            let group = core(chunk);
            if chunk.core.start > chunk.begin || !iban::is_group(group, lower) {
                break;
            }
            iban.push_str(group);
            words |= count > 2 && !group.bytes().any(|byte| byte.is_ascii_digit());
            if iban::is_whole(&iban, lower) {
                if iban::is_valid(&iban) {
                    valid = Some((count, iban.clone()));
                }
                if !words {
                    plain = Some((count, iban.clone()));
                }
            }
            if group.len() < 4 || chunk.core.end < chunk.end {
                break;
            }
        }
        valid.or(plain)
    }

    /// Returns true if a value occurs in the text.
    #[must_use]
    pub fn holds(&self, needle: &Needle<'_>) -> bool {
        self.find(needle).is_some()
    }

    /// Where a value occurs in the text as it was given: byte offsets of the words around it.
    #[must_use]
    pub fn find(&self, needle: &Needle<'_>) -> Option<Range<usize>> {
        let (first, count) = match &needle.number {
            Some(number) => among(&self.numbers, number)?,
            None => {
                let iban = needle.iban.as_ref();
                match iban.and_then(|iban| among(&self.ibans, iban)) {
                    Some(found) => found,
                    None => self.chunks_of(&needle.text)?,
                }
            }
        };
        let (first, last) = (self.chunks.get(first)?, self.chunks.get(first + count - 1)?);
        Some(first.given.start..last.given.end)
    }

    /// The chunks in which a text occurs as it is written: the first, and how many.
    fn chunks_of(&self, needle: &str) -> Option<(usize, usize)> {
        if needle.is_empty() {
            return None;
        }
        let is =
            |place: usize, mark: u8| self.marks.get(place).is_some_and(|marks| marks & mark != 0);
        let place = search::find(self.text.as_bytes(), needle.as_bytes(), |place| {
            is(place, START) && is(place + needle.len(), END)
        })?;
        let first = self.chunks.partition_point(|chunk| chunk.end <= place);
        let last = self
            .chunks
            .partition_point(|chunk| chunk.end < place + needle.len());
        Some((first, (last + 1).saturating_sub(first).max(1)))
    }
}

fn among(sorted: &[Found], wanted: &str) -> Option<(usize, usize)> {
    let at = sorted.partition_point(|found| found.value.as_str() < wanted);
    let found = sorted.get(at).filter(|found| found.value == wanted)?;
    Some((found.chunk, found.chunks))
}

fn mark(marks: &mut [u8], edge: Edge, at: usize) {
    if let Some(marks) = marks.get_mut(at) {
        *marks |= match edge {
            Edge::Start => START,
            Edge::End => END,
        };
    }
}

fn unmark(marks: &mut [u8], mark: u8, at: usize) {
    if let Some(marks) = marks.get_mut(at) {
        *marks &= !mark;
    }
}

fn is_line_end(found: char) -> bool {
    matches!(found, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
