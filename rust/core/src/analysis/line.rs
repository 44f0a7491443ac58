//! Numbers and instants, divided at the constants of a policy: within one cell every test of the policy has one result.

use std::cmp::Ordering;

use crate::num::bigint::{BigInt, to_i64, truncated};
use crate::num::number::Number;
use crate::value::compare::order;

/// The values of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Domain {
    /// Integers and floats of JSON.
    Numbers,
    /// Integers of any size.
    Integers,
    /// Integers from the first to the last.
    Range(i64, i64),
}

/// Lengths.
pub(super) const COUNTS: Domain = Domain::Range(0, i64::MAX);

/// The instants that a request can have, in microseconds: the years 1 to 9999.
pub(super) const INSTANTS: Domain = Domain::Range(-62_135_596_800_000_000, 253_402_300_799_999_999);

/// A line under construction, and then its cells.
#[derive(Debug)]
pub(super) struct Line {
    domain: Domain,
    cuts: Vec<Number>,
    /// One number of each cell, in ascending order: one near the bound below it.
    pub(super) cells: Vec<Number>,
}

impl Line {
    pub(super) fn new(domain: Domain) -> Self {
        Self {
            domain,
            cuts: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Divides the line at a number.
    pub(super) fn cut(&mut self, at: &Number) {
        self.cuts.push(at.clone());
    }

    /// Makes the cells, once all cuts are known.
    pub(super) fn finish(&mut self) {
        self.cuts.sort_unstable_by(order);
        self.cuts.dedup_by(|a, b| order(a, b).is_eq());
        let mut cells = Vec::new();
        let mut below: Option<&Number> = None;
        for cut in &self.cuts {
            cells.extend(between(self.domain, below, Some(cut)));
            if is_within(self.domain, cut) {
                cells.push(cut.clone());
            }
            below = Some(cut);
        }
        cells.extend(between(self.domain, below, None));
        self.cells = cells;
    }

    /// The first cells of the runs in which a test has one result that compares with these numbers only.
    pub(super) fn runs(&self, own: &[Number]) -> Vec<usize> {
        let mut starts = vec![0];
        for cut in own {
            let at = self.cells.partition_point(|cell| order(cell, cut).is_lt());
            starts.push(at);
            if self
                .cells
                .get(at)
                .is_some_and(|cell| order(cell, cut).is_eq())
            {
                starts.push(at + 1);
            }
        }
        starts.sort_unstable();
        starts.dedup();
        starts.retain(|start| *start < self.cells.len());
        starts
    }

    /// The numbers at which the line is divided.
    pub(super) fn cuts(&self) -> &[Number] {
        &self.cuts
    }

    /// The cell that holds a number.
    pub(super) fn cell_of(&self, number: &Number) -> Option<usize> {
        (0..self.cells.len()).find(|cell| match self.bounds(*cell) {
            [Some((own, true)), _] => order(&own, number).is_eq(),
            [low, high] => {
                low.is_none_or(|(low, _)| order(&low, number).is_lt())
                    && high.is_none_or(|(high, _)| order(number, &high).is_lt())
            }
        })
    }

    /// The constants below and above the numbers of a cell; true: the cell is this constant.
    pub(super) fn bounds(&self, cell: usize) -> [Option<(Number, bool)>; 2] {
        let Some(here) = self.cells.get(cell) else {
            return [None, None];
        };
        let cut = |wanted: Ordering| move |cut: &&Number| order(cut, here) == wanted;
        let with = |found: Option<&Number>, is_cut| found.map(|cut| (cut.clone(), is_cut));
        if let Some(own) = self.cuts.iter().find(cut(Ordering::Equal)) {
            return [with(Some(own), true), with(Some(own), true)];
        }
        [
            with(self.cuts.iter().rfind(cut(Ordering::Less)), false),
            with(self.cuts.iter().find(cut(Ordering::Greater)), false),
        ]
    }

    /// The greatest number of a cell of integers; `None` without one.
    pub(super) fn last_of(&self, cell: usize) -> Option<i64> {
        let here = self.cells.get(cell)?;
        if self.cuts.iter().any(|cut| order(cut, here).is_eq()) {
            return as_i64(here);
        }
        let above = self.cuts.iter().find(|cut| order(cut, here).is_gt())?;
        as_i64(&below_of(above))
    }
}

/// The integer that a number is.
pub(super) fn as_i64(number: &Number) -> Option<i64> {
    match number {
        Number::Int(value) => Some(*value),
        Number::Big(_) | Number::Float(_) => None,
    }
}

fn is_within(domain: Domain, number: &Number) -> bool {
    match (domain, number) {
        (Domain::Numbers, _) => true,
        (Domain::Integers, number) => integer(number).is_some(),
        (Domain::Range(least, most), Number::Int(value)) => (least..=most).contains(value),
        (Domain::Range(..), Number::Big(_) | Number::Float(_)) => false,
    }
}

/// The integer that a number is, of any size.
fn integer(number: &Number) -> Option<BigInt> {
    match number {
        Number::Int(value) => Some(BigInt::from(*value)),
        Number::Big(value) => Some(value.clone()),
        Number::Float(value) => {
            (value.is_finite() && value.fract() == 0.0).then(|| truncated(*value))
        }
    }
}

fn number(value: BigInt) -> Number {
    to_i64(&value).map_or(Number::Big(value), Number::Int)
}

/// The greatest integer that is not above a number.
fn floor(number: &Number) -> Option<BigInt> {
    match number {
        Number::Int(value) => Some(BigInt::from(*value)),
        Number::Big(value) => Some(value.clone()),
        Number::Float(value) => value.is_finite().then(|| truncated(value.floor())),
    }
}

/// The greatest integer below a number.
fn below_of(number_: &Number) -> Number {
    match floor(number_) {
        Some(floor) if is_integral(number_) => number(floor - 1),
        Some(floor) => number(floor),
        None => number_.clone(),
    }
}

fn is_integral(number: &Number) -> bool {
    integer(number).is_some()
}

/// A number between two others, as near to the lower one as an integer can be; `None` without one.
fn between(domain: Domain, below: Option<&Number>, above: Option<&Number>) -> Option<Number> {
    let fits = |candidate: &Number| {
        is_within(domain, candidate)
            && below.is_none_or(|below| order(below, candidate) == Ordering::Less)
            && above.is_none_or(|above| order(candidate, above) == Ordering::Less)
    };
    let mut candidates = Vec::new();
    match (below, above) {
        (None, None) => candidates.push(Number::Int(1)),
        (None, Some(above)) => candidates.push(below_of(above)),
        (Some(below), _) => candidates.extend(floor(below).map(|floor| number(floor + 1))),
    }
    if let Domain::Range(least, most) = domain {
        candidates.extend([Number::Int(least), Number::Int(most)]);
        if below.is_none() {
            candidates.insert(0, Number::Int(0));
        }
    }
    if let (Domain::Numbers, Some(edge)) = (domain, below.or(above)) {
        let near = match edge {
            Number::Int(value) => *value as f64,
            Number::Big(value) => crate::num::bigint::to_f64(value).unwrap_or(f64::MAX),
            Number::Float(value) => *value,
        };
        let far = above.map(|above| match above {
            Number::Int(value) => *value as f64,
            Number::Big(value) => crate::num::bigint::to_f64(value).unwrap_or(f64::MAX),
            Number::Float(value) => *value,
        });
        if let Some(far) = far.filter(|_| below.is_some()) {
            candidates.push(Number::from_float(near / 2.0 + far / 2.0));
            candidates.extend(
                [near, far]
                    .into_iter()
                    .flat_map(|edge| [edge, edge.next_up(), edge.next_down()])
                    .map(Number::from_float),
            );
        }
        candidates.extend(
            [
                near.next_up(),
                near.next_down(),
                f64::INFINITY,
                f64::NEG_INFINITY,
            ]
            .map(Number::from_float),
        );
    }
    candidates.into_iter().find(fits)
}
