//! Values of a running function: borrowed from the request or the program where they can be, else made here.

use std::rc::Rc;

use super::exception::{Exception, Trouble};
use super::find::Found;
use super::fixed::Fixed;
use super::moment::Moment;
use super::node::{Object, Types};
use super::ruling::Pending;
use super::table::Table;
use crate::error::ErrorCode;
use crate::limits::{MAX_SCRIPT_BYTES, MAX_SCRIPT_DEPTH, MAX_SCRIPT_STEPS};
use crate::matcher::Fault;
use crate::value::bigint::BigInt;
use crate::value::{Value, View};
use crate::work::Steps;

/// A value. Cloning is cheap.
#[derive(Clone)]
pub(super) enum Val<'p, V> {
    None,
    Bool(bool),
    Int(i64),
    Big(Rc<BigInt>),
    Float(f64),
    /// A string of the program.
    Str(&'p str),
    /// A string of the request.
    Text(V),
    /// A string made here.
    Made(Rc<str>),
    /// A list, tuple, set or mapping of the program.
    Fixed(&'p Fixed),
    /// A list of the request.
    Seq(V),
    /// A tuple of the request.
    Tup(V),
    /// A mapping of the request.
    Map(V),
    List(Rc<Items<'p, V>>),
    Tuple(Rc<Items<'p, V>>),
    Set(Rc<Table<'p, V>>),
    Dict(Rc<Table<'p, V>>),
    /// The keys, values or items of a mapping.
    View(ViewOf, Rc<Items<'p, V>>),
    Range(Rc<Range>),
    /// What an iterator gives.
    Each(Rc<Items<'p, V>>),
    Object(Object),
    /// A datetime.
    Moment(Rc<Moment<V>>),
    /// A match of a pattern.
    Match(Rc<Found<'p, V>>),
    /// A decision that is always the same, by its number in the program.
    Said(u32),
    Decision(Rc<Pending<'p, V>>),
    /// A value of the request that nothing here judges.
    Opaque(Broken),
}

/// Why a value of the request cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    BadUnicode,
    OutOfRange,
    Foreign,
}

impl From<Broken> for Trouble {
    fn from(broken: Broken) -> Self {
        Self::Fault(match broken {
            Broken::BadUnicode => ErrorCode::BadUnicode,
            Broken::OutOfRange => ErrorCode::OutOfRange,
            Broken::Foreign => ErrorCode::WrongType,
        })
    }
}

/// What a view of a mapping shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViewOf {
    Keys,
    Values,
    Items,
}

/// `range(start, stop, step)`, as far as it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: i64,
    pub(super) step: i64,
    pub(super) len: u64,
}

impl Range {
    pub(super) fn get(self, index: u64) -> Option<i64> {
        let offset = i64::try_from(index).ok()?.checked_mul(self.step)?;
        (index < self.len).then(|| self.start.wrapping_add(offset))
    }
}

/// The elements of a list or a tuple made here.
#[derive(Clone)]
pub(super) struct Items<'p, V> {
    pub(super) items: Vec<Val<'p, V>>,
    /// How deep containers stand in one another.
    pub(super) depth: u16,
}

/// What is left of the bounds of one evaluation.
pub(super) struct Budget {
    steps: u64,
    bytes: usize,
    /// How many steps there were.
    all: u64,
}

impl Budget {
    /// The bounds of a function when so many steps are left of the decision, but for steps that need not be taken again.
    #[inline]
    pub(super) fn within(left: u64, steps: u32) -> Self {
        let all = left.min(MAX_SCRIPT_STEPS);
        Self {
            steps: all.saturating_sub(u64::from(steps)),
            bytes: MAX_SCRIPT_BYTES,
            all,
        }
    }

    /// The steps and bytes that were taken of all there are.
    pub(super) fn taken(&self) -> (u64, usize) {
        (self.all - self.steps, MAX_SCRIPT_BYTES - self.bytes)
    }

    /// Takes some steps.
    #[inline]
    pub(super) fn steps(&mut self, count: usize) -> Result<(), Trouble> {
        match self.steps.checked_sub(count as u64) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => Err(self.spent()),
        }
    }

    #[cold]
    fn spent(&mut self) -> Trouble {
        self.steps = 0;
        Trouble::Fault(match self.all {
            MAX_SCRIPT_STEPS => ErrorCode::TooManySteps,
            _ => ErrorCode::BudgetExceeded,
        })
    }

    /// Does what takes steps of the decision.
    #[inline]
    pub(super) fn metered<T>(
        &mut self,
        work: impl FnOnce(&Steps) -> Result<T, Fault>,
    ) -> Result<T, Trouble> {
        let steps = Steps::of(self.steps);
        let done = work(&steps);
        self.steps = steps.left();
        done.map_err(|_| self.spent())
    }

    /// Takes steps and bytes, or nothing at all.
    #[inline]
    pub(super) fn both(&mut self, steps: usize, bytes: usize) -> Option<()> {
        let steps = self.steps.checked_sub(steps as u64)?;
        self.bytes = self.bytes.checked_sub(bytes)?;
        self.steps = steps;
        Some(())
    }

    /// Takes the steps of looking through a text.
    #[inline]
    pub(super) fn scan(&mut self, text: &str) -> Result<(), Trouble> {
        self.steps(Self::scanned(text))
    }

    /// How many steps it is to look through a text.
    #[inline]
    pub(super) fn scanned(text: &str) -> usize {
        text.len() / 16
    }

    /// How many bytes a text that is made has.
    #[inline]
    pub(super) fn made(text: &str) -> usize {
        text.len() + ELEMENT
    }

    /// Takes some bytes that a value will have.
    #[inline]
    pub(super) fn bytes(&mut self, count: usize) -> Result<(), Trouble> {
        match self.bytes.checked_sub(count) {
            Some(left) => {
                self.bytes = left;
                Ok(())
            }
            None => Err(Trouble::TOO_LARGE),
        }
    }

    /// Takes the bytes and the steps of `count` elements.
    pub(super) fn elements(&mut self, count: usize) -> Result<(), Trouble> {
        self.steps(count)?;
        self.bytes(count.saturating_mul(ELEMENT))
    }
}

/// What an element of a container counts, in bytes.
const ELEMENT: usize = 32;

pub(super) type Run<T> = Result<T, Trouble>;

impl<'p, V: Value> Val<'p, V> {
    /// A value of the request.
    #[inline]
    pub(super) fn import(value: V) -> Self {
        match value.view() {
            View::Str(_) => Self::Text(value),
            View::Null => Self::None,
            View::Bool(flag) => Self::Bool(flag),
            View::Int(number) => Self::Int(number),
            View::Float(number) => Self::Float(number),
            View::List if value.is_tuple() => Self::Tup(value),
            View::List => Self::Seq(value),
            View::Map => Self::Map(value),
            View::BigInt(number) => Self::Big(Rc::new(number)),
            View::HugeInt => Self::Opaque(Broken::OutOfRange),
            View::BadStr => Self::Opaque(Broken::BadUnicode),
            View::Timestamp(_) | View::Opaque => match Moment::of(value) {
                Some(moment) => Self::Moment(Rc::new(moment)),
                None => Self::Opaque(Broken::Foreign),
            },
        }
    }

    /// A constant.
    #[inline]
    pub(super) fn fixed(fixed: &'p Fixed) -> Self {
        match fixed {
            Fixed::None => Self::None,
            Fixed::Bool(value) => Self::Bool(*value),
            Fixed::Int(value) => Self::Int(*value),
            Fixed::Big(value) => Self::Big(Rc::new(BigInt::clone(value))),
            Fixed::Float(value) => Self::Float(*value),
            Fixed::Str(text) => Self::Str(text),
            Fixed::Moment(civil) => Self::Moment(Rc::new(Moment::fixed(*civil))),
            Fixed::List(_) | Fixed::Tuple(_) | Fixed::Set(_) | Fixed::Dict(_) | Fixed::Bytes(_) => {
                Self::Fixed(fixed)
            }
        }
    }

    /// A string made here.
    pub(super) fn made(text: &str, budget: &mut Budget) -> Run<Self> {
        budget.bytes(Budget::made(text))?;
        Ok(Self::Made(text.into()))
    }

    /// A list made here.
    pub(super) fn list(items: Vec<Self>) -> Run<Self> {
        Items::new(items).map(Self::List)
    }

    /// A tuple made here.
    pub(super) fn tuple(items: Vec<Self>) -> Run<Self> {
        Items::new(items).map(Self::Tuple)
    }

    /// The text of a string.
    #[inline]
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            Self::Made(text) => Some(text),
            Self::Text(value) => match value.view() {
                View::Str(text) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    /// The types `isinstance` finds it to be.
    pub(super) fn types(&self) -> Types {
        match self {
            Self::None => Types::NONE,
            Self::Bool(_) => Types::BOOL.and(Types::INT),
            Self::Int(_) | Self::Big(_) => Types::INT,
            Self::Float(_) => Types::FLOAT,
            Self::Str(_) | Self::Text(_) | Self::Made(_) => Types::STR.and(Types::SEQUENCE),
            Self::Seq(_) | Self::List(_) | Self::Fixed(Fixed::List(_)) => {
                Types::LIST.and(Types::SEQUENCE)
            }
            Self::Tup(_) | Self::Tuple(_) | Self::Fixed(Fixed::Tuple(_)) => {
                Types::TUPLE.and(Types::SEQUENCE)
            }
            Self::Map(value) if !value.is_dict() => Types::MAPPING,
            Self::Map(_) | Self::Dict(_) | Self::Fixed(Fixed::Dict(_)) => {
                Types::DICT.and(Types::MAPPING)
            }
            Self::Set(table) if table.frozen => Types::default(),
            Self::Set(_) | Self::Fixed(Fixed::Set(_)) => Types::SET,
            Self::Fixed(Fixed::Bytes(_)) => Types::BYTES.and(Types::SEQUENCE),
            Self::Range(_) => Types::SEQUENCE,
            Self::Fixed(_)
            | Self::View(..)
            | Self::Each(_)
            | Self::Object(_)
            | Self::Moment(_)
            | Self::Match(_)
            | Self::Said(_)
            | Self::Decision(_)
            | Self::Opaque(_) => Types::default(),
        }
    }

    /// `bool(value)`.
    #[inline]
    pub(super) fn truth(&self) -> Run<bool> {
        Ok(match self {
            Self::None => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Big(value) => value.to_i64() != Some(0),
            Self::Float(value) => *value != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::Made(text) => !text.is_empty(),
            Self::Text(_) => self.text().is_some_and(|text| !text.is_empty()),
            Self::Seq(value) | Self::Tup(value) | Self::Map(value) => length_of(value)? > 0,
            Self::List(items) | Self::Tuple(items) | Self::View(_, items) => {
                !items.items.is_empty()
            }
            Self::Set(table) | Self::Dict(table) => table.len() > 0,
            Self::Fixed(fixed) => match fixed {
                Fixed::List(items) | Fixed::Tuple(items) => !items.is_empty(),
                Fixed::Set(set) => !set.items.is_empty(),
                Fixed::Dict(dict) => !dict.entries.is_empty(),
                Fixed::Bytes(bytes) => !bytes.is_empty(),
                _ => true,
            },
            Self::Range(range) => range.len > 0,
            Self::Each(_)
            | Self::Object(_)
            | Self::Moment(_)
            | Self::Match(_)
            | Self::Said(_)
            | Self::Decision(_) => true,
            Self::Opaque(broken) => return Err((*broken).into()),
        })
    }

    /// `len(value)`.
    pub(super) fn len(&self) -> Run<usize> {
        Ok(match self {
            Self::Str(_) | Self::Text(_) | Self::Made(_) => {
                self.text().map_or(0, super::text::length)
            }
            Self::Seq(value) | Self::Tup(value) | Self::Map(value) => length_of(value)?,
            Self::List(items) | Self::Tuple(items) | Self::View(_, items) => items.items.len(),
            Self::Set(table) | Self::Dict(table) => table.len(),
            Self::Fixed(Fixed::List(items) | Fixed::Tuple(items)) => items.len(),
            Self::Fixed(Fixed::Set(set)) => set.items.len(),
            Self::Fixed(Fixed::Dict(dict)) => dict.entries.len(),
            Self::Fixed(Fixed::Bytes(_)) => return Err(Trouble::UNSUPPORTED),
            Self::Range(range) => usize::try_from(range.len).unwrap_or(usize::MAX),
            Self::Opaque(broken) => return Err((*broken).into()),
            Self::None
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Big(_)
            | Self::Float(_)
            | Self::Fixed(_)
            | Self::Each(_)
            | Self::Object(_)
            | Self::Moment(_)
            | Self::Match(_)
            | Self::Said(_)
            | Self::Decision(_) => return Err(Exception::TYPE.into()),
        })
    }

    /// How deep containers stand in it.
    fn depth(&self) -> u16 {
        match self {
            Self::List(items) | Self::Tuple(items) | Self::View(_, items) | Self::Each(items) => {
                items.depth
            }
            Self::Set(table) | Self::Dict(table) => table.depth,
            _ => 0,
        }
    }
}

/// The depth of a container of these.
pub(super) fn depth_over<'v, 'p: 'v, V: Value + 'v>(
    inner: impl Iterator<Item = &'v Val<'p, V>>,
) -> Run<u16> {
    let depth = 1 + inner.map(Val::depth).max().unwrap_or(0);
    if depth > MAX_SCRIPT_DEPTH {
        return Err(Trouble::TOO_LARGE);
    }
    Ok(depth)
}

impl<'p, V: Value> Items<'p, V> {
    pub(super) fn new(items: Vec<Val<'p, V>>) -> Run<Rc<Self>> {
        let depth = depth_over(items.iter())?;
        Ok(Rc::new(Self { items, depth }))
    }

    /// Puts another in place of one.
    pub(super) fn set(&mut self, at: usize, item: Val<'p, V>) -> Run<()> {
        self.depth = self.depth.max(depth_over(std::iter::once(&item))?);
        if let Some(held) = self.items.get_mut(at) {
            *held = item;
        }
        Ok(())
    }

    /// Appends one more.
    pub(super) fn push(&mut self, item: Val<'p, V>) -> Run<()> {
        self.depth = self.depth.max(depth_over(std::iter::once(&item))?);
        self.items.push(item);
        Ok(())
    }
}

/// The length of a list or mapping of the request.
fn length_of<V: Value>(value: &V) -> Run<usize> {
    value
        .checked_len()
        .ok_or(Trouble::Fault(ErrorCode::WrongType))
}
