//! Slots: the values at one path, divided at the constants that the policies compare them with.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::clause::operand::{Check, Operand};
use crate::json::Json;
use crate::lang::path::Field;
use crate::value::constant::Const;

use super::cells::{self, Cells};
use super::dd::Dd;
use super::facet_leaf::{is_derived, is_parsed, of_facet};
use super::line::{COUNTS, Domain, INSTANTS, Line};
use super::space::Theory;
use super::{pool, sample};

/// The number in the place of a field for what memory measures: counts and sums, one for each definition.
pub(super) const RUN: u8 = u8::MAX;

/// The most words of a text that are candidates for what occurs in it.
const WORDS: usize = 8;

/// A path: the field that it begins with (`None`: an element of a list), and the keys below.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) field: Option<u8>,
    pub(super) keys: Vec<Box<str>>,
}

impl Place {
    pub(super) fn new(field: Field, keys: &[Box<str>]) -> Self {
        Self {
            field: Some(field as u8),
            keys: keys.to_vec(),
        }
    }

    /// The field that the path begins with.
    pub(super) fn field(&self) -> Option<Field> {
        let at = usize::from(self.field?);
        Field::ALL.get(at).copied()
    }

    /// The path of what some keys below lead to.
    pub(super) fn below(&self, keys: &[Box<str>]) -> Self {
        Self {
            field: self.field,
            keys: [self.keys.as_slice(), keys].concat(),
        }
    }

    /// The path of what holds this value; `None` of a field, an element and a parsed value.
    pub(super) fn parent(&self) -> Option<Self> {
        if is_parsed(self) || self.field == Some(RUN) {
            return None;
        }
        let (_, rest) = self.keys.split_last()?;
        Some(Self {
            field: self.field,
            keys: rest.to_vec(),
        })
    }

    /// The path as a policy writes it.
    pub(super) fn text(&self) -> String {
        let mut parts: Vec<&str> = Vec::new();
        parts.extend((self.field == Some(RUN)).then_some("run"));
        if let Some(field) = self.field() {
            let (head, keys) = field.path();
            parts.push(head.as_str());
            parts.extend(keys);
        }
        parts.extend(self.keys.iter().map(AsRef::as_ref));
        parts.join(".")
    }
}

/// The types of values at a path, absence among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Absent,
    Text,
    Number,
    True,
    False,
    Null,
    List,
    Map,
    /// A text with a lone surrogate: no operator can evaluate it.
    Broken,
    Instant,
}

/// Every type, by its number.
pub(super) const KINDS: [Kind; 10] = [
    Kind::Absent,
    Kind::Text,
    Kind::Number,
    Kind::True,
    Kind::False,
    Kind::Null,
    Kind::List,
    Kind::Map,
    Kind::Broken,
    Kind::Instant,
];

/// The types that a path can have; a witness prefers earlier ones.
pub(super) fn kinds(place: &Place) -> &'static [Kind] {
    use Kind::{Absent, Broken, False, Instant, List, Map, Null, Number, Text, True};
    if place.field == Some(RUN) {
        // A sum over arguments that are no numbers is an error.
        return &[Number, Broken];
    }
    let Some(field) = place.field() else {
        return match place.keys.is_empty() {
            true => &[Text, Number, True, False, Null, List, Map, Broken],
            false => &[Absent, Text, Number, True, False, Null, List, Map, Broken],
        };
    };
    if !place.keys.is_empty() {
        return &[Absent, Text, Number, True, False, Null, List, Map, Broken];
    }
    match field {
        Field::Tool => &[Text],
        Field::Args | Field::Extra => &[Map],
        Field::Reversible | Field::HasShadow => &[False, True],
        Field::Scope => &[List],
        Field::BlastRadiusHint => &[Null, Number],
        // What a program sets is text in full; a lone surrogate comes from a caller only.
        Field::Isolation | Field::PrincipalName => &[Null, Text],
        Field::StepSeq => &[Number],
        Field::Timestamp => &[Instant],
        Field::Task => &[Absent, Text, Broken],
        Field::Cost
        | Field::Effect
        | Field::Environment
        | Field::Workspace
        | Field::CorrelationId
        | Field::PrincipalKind
        | Field::PrincipalId => &[Text],
        // In definitions of memory only.
        Field::Result | Field::Record => &[Absent],
    }
}

/// A number of variables that together are a number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bits {
    pub(super) var: u32,
    pub(super) count: u32,
}

impl Bits {
    /// Variables from `next` on, for so many codes.
    pub(super) fn of(codes: usize, next: &mut u32) -> Self {
        let count = usize::BITS - codes.saturating_sub(1).leading_zeros();
        let bits = Self { var: *next, count };
        *next += count;
        bits
    }

    pub(super) fn has(self, var: u32) -> bool {
        (self.var..self.var + self.count).contains(&var)
    }

    /// The number of an assignment; variables without a value are false. Codes from `codes` on are the last one.
    pub(super) fn code(self, values: &impl Fn(u32) -> Option<bool>, codes: usize) -> usize {
        let bits = (self.var..self.var + self.count).map(|var| values(var) == Some(true));
        let code = bits.fold(0, |code, bit| code * 2 + usize::from(bit));
        code.min(codes.saturating_sub(1))
    }
}

/// The values at one path.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) place: Place,
    pub(super) parent: Option<usize>,
    pub(super) kinds: &'static [Kind],
    pub(super) kind: Bits,
    /// The texts that it is compared with.
    pub(super) texts: Vec<String>,
    /// All texts, by their codes.
    pub(super) cells: Arc<Cells>,
    pub(super) text: Bits,
    /// Its numbers, or its instants.
    pub(super) numbers: Line,
    pub(super) number: Bits,
    /// The lengths of its lists and mappings.
    pub(super) counts: Line,
    pub(super) count: Bits,
    /// The lists and mappings that it is compared with as a whole; code 0 is any other one.
    pub(super) lists: Vec<Json<'static>>,
    pub(super) list: Bits,
    pub(super) maps: Vec<Json<'static>>,
    pub(super) map: Bits,
    found: BTreeSet<String>,
    prefixes: BTreeSet<String>,
    /// Checks by facets.
    facets: Vec<Check>,
}

impl Slot {
    pub(super) fn new(place: Place, kinds: &'static [Kind]) -> Self {
        let domain = match place.field() {
            // Addresses of IPv6 are numbers of more than 64 bits.
            _ if is_derived(&place) => Domain::Integers,
            _ if place
                .keys
                .first()
                .is_some_and(|name| name.starts_with("count-"))
                && place.field == Some(RUN) =>
            {
                COUNTS
            }
            Some(Field::Timestamp) => INSTANTS,
            Some(Field::StepSeq | Field::BlastRadiusHint) => Domain::Integers,
            _ => Domain::Numbers,
        };
        Self {
            kinds,
            place,
            parent: None,
            kind: Bits::default(),
            texts: Vec::new(),
            cells: Arc::default(),
            text: Bits::default(),
            numbers: Line::new(domain),
            number: Bits::default(),
            counts: Line::new(COUNTS),
            count: Bits::default(),
            lists: Vec::new(),
            list: Bits::default(),
            maps: Vec::new(),
            map: Bits::default(),
            found: BTreeSet::new(),
            prefixes: BTreeSet::new(),
            facets: Vec::new(),
        }
    }

    /// Divides the values at the constants of a check.
    pub(super) fn note(&mut self, check: &Check) {
        match check.op.name {
            "length" | "byte_length" => sample::scalars(&check.operand, &mut |constant| {
                if let Some(number) = sample::number_of(constant) {
                    self.counts.cut(&number);
                }
            }),
            "empty" | "first" => {
                self.found.insert(String::new());
                self.counts.cut(&crate::num::number::Number::Int(0));
            }
            "eq" | "in" | "not_in" => {
                if let Operand::Const(constant) = &check.operand {
                    self.note_whole(check, constant);
                }
                self.note_numbers(check);
            }
            "gt" | "ge" | "lt" | "le" | "between" | "not_between" => self.note_numbers(check),
            "occurs_in" => sample::scalars(&check.operand, &mut |constant| {
                if let Const::Str(text) = constant {
                    // Candidates: the evaluator knows which of them occur as a whole.
                    self.found.insert(text.to_string());
                    let words = text
                        .split([' ', '\t', '\n'])
                        .filter(|word| !word.is_empty());
                    let words = words.take(WORDS);
                    self.found.extend(words.map(str::to_owned));
                }
            }),
            "starts_with" | "matches" => {
                self.prefixes
                    .extend(cells::prefixes(check).into_iter().flatten());
            }
            _ if of_facet(check).is_some() => self.facets.push(check.clone()),
            _ => {}
        }
    }

    fn note_whole(&mut self, check: &Check, constant: &Const) {
        let scalar = |constant: &Const, found: &mut BTreeSet<String>| {
            if let Const::Str(text) = constant {
                found.insert(text.to_string());
            }
        };
        match (check.op.name, constant) {
            ("eq", Const::List(_)) => add(&mut self.lists, sample::of_const(constant)),
            ("eq", Const::Map(_)) => add(&mut self.maps, sample::of_const(constant)),
            (_, Const::List(items)) => items.iter().for_each(|item| scalar(item, &mut self.found)),
            (_, constant) => scalar(constant, &mut self.found),
        }
    }

    fn note_numbers(&mut self, check: &Check) {
        sample::scalars(&check.operand, &mut |constant| {
            let number = match constant {
                Const::Timestamp(micros) => Some(crate::num::number::Number::Int(*micros)),
                constant => sample::number_of(constant),
            };
            if let Some(number) = number {
                self.numbers.cut(&number);
            }
        });
    }

    /// The constant with a code.
    pub(super) fn text_at(&self, code: usize) -> Option<&String> {
        self.cells.get(code)?.constant()
    }

    /// The results of texts as runs of codes: of those that are no constants, and of the constants.
    pub(super) fn text_runs(&self, other: Dd, constants: &[Dd]) -> Vec<(u32, Dd)> {
        let mut constants = constants.iter();
        let results = (0..self.cells.len()).map(|code| match self.text_at(code) {
            Some(_) => constants.next().copied().unwrap_or(other),
            None => other,
        });
        runs(results)
    }

    /// Takes texts from the constants: the slot never has one of them.
    pub(super) fn exclude(&mut self, texts: &[String]) {
        self.found.retain(|text| !texts.contains(text));
    }

    /// Gives it its variables, once all checks are known.
    pub(super) fn finish(&mut self, next: &mut u32, theory: &Theory) {
        if !self.facets.is_empty() {
            self.found.extend(pool::texts(&self.facets, theory));
        }
        self.texts = std::mem::take(&mut self.found).into_iter().collect();
        let prefixes = std::mem::take(&mut self.prefixes);
        let cells = match self.facets.is_empty() {
            true => Cells::new(&self.texts, prefixes),
            false => Cells::constants_first(&self.texts),
        };
        self.cells = Arc::new(cells);
        self.numbers.finish();
        self.counts.finish();
        self.kind = Bits::of(self.kinds.len(), next);
        self.map = Bits::of(self.maps.len() + 1, next);
        self.list = Bits::of(self.lists.len() + 1, next);
        self.text = Bits::of(self.cells.len(), next);
        self.number = Bits::of(self.numbers.cells.len(), next);
        self.count = Bits::of(self.counts.cells.len(), next);
    }
}

/// Results by code, from 0 on, as runs.
pub(super) fn runs(results: impl IntoIterator<Item = Dd>) -> Vec<(u32, Dd)> {
    let mut runs: Vec<(u32, Dd)> = Vec::new();
    for (code, result) in (0..).zip(results) {
        if runs.last().is_none_or(|(_, last)| *last != result) {
            runs.push((code, result));
        }
    }
    runs
}

fn add(known: &mut Vec<Json<'static>>, value: Option<Json<'static>>) {
    if let Some(value) = value
        && !known.contains(&value)
    {
        known.push(value);
    }
}
