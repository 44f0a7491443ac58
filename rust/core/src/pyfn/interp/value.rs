//! Values of a running function: borrowed from the request or the program where they can be, else made here.

use std::rc::Rc;

use super::answer::Pending;
use super::datetime::DateTime;
use super::search::Found;
use super::table::Table;
use crate::budget::Steps;
use crate::error::{ErrorCode, Fault};
use crate::limits::{MAX_SCRIPT_BYTES, MAX_SCRIPT_DEPTH, MAX_SCRIPT_STEPS};
use crate::num::bigint::BigInt;
use crate::pyfn::ast::{Object, Types};
use crate::pyfn::consts::PyConst;
use crate::pyfn::exception::{Exception, Failure};
use crate::value::{Value, View};

/// A value. Cloning is cheap.
#[derive(Clone)]
pub(in crate::pyfn) enum Val<'p, V> {
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
    Const(&'p PyConst),
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
    /// An iterator, by its items.
    Each(Rc<Items<'p, V>>),
    Object(Object),
    /// A datetime.
    DateTime(Rc<DateTime<V>>),
    /// A match of a pattern.
    Match(Rc<Found<'p, V>>),
    /// A decision that is always the same, by its number in the program.
    Static(u32),
    Decision(Rc<Pending<'p, V>>),
    /// A value of the request that the interpreter cannot evaluate.
    Opaque(Broken),
}

/// The reason why a value of the request cannot be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pyfn) enum Broken {
    BadUnicode,
    OutOfRange,
    Foreign,
}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Self {
        Self::Fault(match broken {
            Broken::BadUnicode => ErrorCode::BadUnicode,
            Broken::OutOfRange => ErrorCode::OutOfRange,
            Broken::Foreign => ErrorCode::WrongType,
        })
    }
}

/// The kind of a mapping view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pyfn) enum ViewOf {
    Keys,
    Values,
    Items,
}

/// `range(start, stop, step)`, as far as it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pyfn) struct Range {
    pub(in crate::pyfn) start: i64,
    pub(in crate::pyfn) step: i64,
    pub(in crate::pyfn) len: u64,
}

impl Range {
    pub(in crate::pyfn) fn get(self, index: u64) -> Option<i64> {
        let offset = i64::try_from(index).ok()?.checked_mul(self.step)?;
        (index < self.len).then(|| self.start.wrapping_add(offset))
    }
}

/// The elements of a list or a tuple made here.
#[derive(Clone)]
pub(in crate::pyfn) struct Items<'p, V> {
    pub(in crate::pyfn) items: Vec<Val<'p, V>>,
    /// The nesting depth of containers.
    pub(in crate::pyfn) depth: u16,
}

/// The remaining bounds of one evaluation.
pub(in crate::pyfn) struct Budget {
    fuel: u64,
    bytes: usize,
    /// The initial number of steps.
    all: u64,
}

impl Budget {
    /// The bounds of a function when so many steps are left of the decision.
    #[inline]
    pub(in crate::pyfn) fn within(left: u64) -> Self {
        let all = left.min(MAX_SCRIPT_STEPS);
        Self {
            fuel: all,
            bytes: MAX_SCRIPT_BYTES,
            all,
        }
    }

    /// The steps that were taken.
    pub(in crate::pyfn) fn taken(&self) -> u64 {
        self.all - self.fuel
    }

    /// Takes some steps.
    #[inline]
    pub(in crate::pyfn) fn fuel(&mut self, count: usize) -> Result<(), Failure> {
        match self.fuel.checked_sub(count as u64) {
            Some(left) => {
                self.fuel = left;
                Ok(())
            }
            None => Err(self.spent()),
        }
    }

    #[cold]
    fn spent(&mut self) -> Failure {
        self.fuel = 0;
        Failure::Fault(match self.all {
            MAX_SCRIPT_STEPS => ErrorCode::TooManySteps,
            _ => ErrorCode::BudgetExceeded,
        })
    }

    /// Does what takes steps of the decision.
    #[inline]
    pub(in crate::pyfn) fn metered<T>(
        &mut self,
        work: impl FnOnce(&Steps) -> Result<T, Fault>,
    ) -> Result<T, Failure> {
        let fuel = Steps::of(self.fuel);
        let done = work(&fuel);
        self.fuel = fuel.left();
        done.map_err(|_| self.spent())
    }

    /// Counts steps that were taken of the decision already.
    pub(in crate::pyfn) fn taken_outside(&mut self, count: u64) -> Result<(), Failure> {
        let taken = self.taken();
        self.fuel = self.fuel.saturating_sub(count);
        self.all = taken + self.fuel;
        if count > 0 && self.fuel == 0 {
            return Err(self.spent());
        }
        Ok(())
    }

    /// Takes the steps of looking through a text.
    #[inline]
    pub(in crate::pyfn) fn scan(&mut self, text: &str) -> Result<(), Failure> {
        self.fuel(text.len() / 16)
    }

    /// Takes some bytes that a value will have.
    #[inline]
    pub(in crate::pyfn) fn bytes(&mut self, count: usize) -> Result<(), Failure> {
        match self.bytes.checked_sub(count) {
            Some(left) => {
                self.bytes = left;
                Ok(())
            }
            None => Err(Failure::TOO_LARGE),
        }
    }

    /// Takes the bytes and the steps of `count` elements.
    pub(in crate::pyfn) fn elements(&mut self, count: usize) -> Result<(), Failure> {
        self.fuel(count)?;
        self.bytes(count.saturating_mul(ELEMENT))
    }
}

/// The bytes charged for an element of a container.
const ELEMENT: usize = 32;

pub(in crate::pyfn) type Run<T> = Result<T, Failure>;

impl<'p, V: Value> Val<'p, V> {
    /// A value of the request.
    #[inline]
    pub(in crate::pyfn) fn import(value: V) -> Self {
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
            View::Timestamp(_) | View::Opaque => match DateTime::of(value) {
                Some(datetime) => Self::DateTime(Rc::new(datetime)),
                None => Self::Opaque(Broken::Foreign),
            },
        }
    }

    /// A constant.
    #[inline]
    pub(in crate::pyfn) fn constant(constant: &'p PyConst) -> Self {
        match constant {
            PyConst::None => Self::None,
            PyConst::Bool(value) => Self::Bool(*value),
            PyConst::Int(value) => Self::Int(*value),
            PyConst::Big(value) => Self::Big(Rc::new(BigInt::clone(value))),
            PyConst::Float(value) => Self::Float(*value),
            PyConst::Str(text) => Self::Str(text),
            PyConst::DateTime(civil) => Self::DateTime(Rc::new(DateTime::constant(*civil))),
            PyConst::List(_)
            | PyConst::Tuple(_)
            | PyConst::Set(_)
            | PyConst::Dict(_)
            | PyConst::Bytes(_) => Self::Const(constant),
        }
    }

    /// A string made here.
    pub(in crate::pyfn) fn made(text: &str, budget: &mut Budget) -> Run<Self> {
        budget.bytes(text.len() + ELEMENT)?;
        Ok(Self::Made(text.into()))
    }

    /// A list made here.
    pub(in crate::pyfn) fn list(items: Vec<Self>) -> Run<Self> {
        Items::new(items).map(Self::List)
    }

    /// A tuple made here.
    pub(in crate::pyfn) fn tuple(items: Vec<Self>) -> Run<Self> {
        Items::new(items).map(Self::Tuple)
    }

    /// The text of a string.
    #[inline]
    pub(in crate::pyfn) fn text(&self) -> Option<&str> {
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
    pub(in crate::pyfn) fn types(&self) -> Types {
        match self {
            Self::None => Types::NONE,
            Self::Bool(_) => Types::BOOL.and(Types::INT),
            Self::Int(_) | Self::Big(_) => Types::INT,
            Self::Float(_) => Types::FLOAT,
            Self::Str(_) | Self::Text(_) | Self::Made(_) => Types::STR.and(Types::SEQUENCE),
            Self::Seq(_) | Self::List(_) | Self::Const(PyConst::List(_)) => {
                Types::LIST.and(Types::SEQUENCE)
            }
            Self::Tup(_) | Self::Tuple(_) | Self::Const(PyConst::Tuple(_)) => {
                Types::TUPLE.and(Types::SEQUENCE)
            }
            Self::Map(value) if !value.is_dict() => Types::MAPPING,
            Self::Map(_) | Self::Dict(_) | Self::Const(PyConst::Dict(_)) => {
                Types::DICT.and(Types::MAPPING)
            }
            Self::Set(table) if table.frozen => Types::default(),
            Self::Set(_) | Self::Const(PyConst::Set(_)) => Types::SET,
            Self::Const(PyConst::Bytes(_)) => Types::BYTES.and(Types::SEQUENCE),
            Self::Range(_) => Types::SEQUENCE,
            Self::Const(_)
            | Self::View(..)
            | Self::Each(_)
            | Self::Object(_)
            | Self::DateTime(_)
            | Self::Match(_)
            | Self::Static(_)
            | Self::Decision(_)
            | Self::Opaque(_) => Types::default(),
        }
    }

    /// `bool(value)`.
    #[inline]
    pub(in crate::pyfn) fn truth(&self) -> Run<bool> {
        Ok(match self {
            Self::None => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Big(value) => **value != BigInt::ZERO,
            Self::Float(value) => *value != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::Made(text) => !text.is_empty(),
            Self::Text(_) => self.text().is_some_and(|text| !text.is_empty()),
            Self::Seq(value) | Self::Tup(value) | Self::Map(value) => length_of(value)? > 0,
            Self::List(items) | Self::Tuple(items) | Self::View(_, items) => {
                !items.items.is_empty()
            }
            Self::Set(table) | Self::Dict(table) => table.len() > 0,
            Self::Const(constant) => match constant {
                PyConst::List(items) | PyConst::Tuple(items) => !items.is_empty(),
                PyConst::Set(set) => !set.items.is_empty(),
                PyConst::Dict(dict) => !dict.entries.is_empty(),
                PyConst::Bytes(bytes) => !bytes.is_empty(),
                _ => true,
            },
            Self::Range(range) => range.len > 0,
            Self::Each(_)
            | Self::Object(_)
            | Self::DateTime(_)
            | Self::Match(_)
            | Self::Static(_)
            | Self::Decision(_) => true,
            Self::Opaque(broken) => return Err((*broken).into()),
        })
    }

    /// `len(value)`.
    pub(in crate::pyfn) fn len(&self) -> Run<usize> {
        Ok(match self {
            Self::Str(_) | Self::Text(_) | Self::Made(_) => {
                self.text().map_or(0, crate::pyfn::builtins::text::length)
            }
            Self::Seq(value) | Self::Tup(value) | Self::Map(value) => length_of(value)?,
            Self::List(items) | Self::Tuple(items) | Self::View(_, items) => items.items.len(),
            Self::Set(table) | Self::Dict(table) => table.len(),
            Self::Const(PyConst::List(items) | PyConst::Tuple(items)) => items.len(),
            Self::Const(PyConst::Set(set)) => set.items.len(),
            Self::Const(PyConst::Dict(dict)) => dict.entries.len(),
            Self::Const(PyConst::Bytes(_)) => return Err(Failure::UNSUPPORTED),
            Self::Range(range) => usize::try_from(range.len).unwrap_or(usize::MAX),
            Self::Opaque(broken) => return Err((*broken).into()),
            Self::None
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Big(_)
            | Self::Float(_)
            | Self::Const(_)
            | Self::Each(_)
            | Self::Object(_)
            | Self::DateTime(_)
            | Self::Match(_)
            | Self::Static(_)
            | Self::Decision(_) => return Err(Exception::TYPE.into()),
        })
    }

    /// Returns the nesting depth of containers in the value.
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
pub(in crate::pyfn) fn depth_over<'v, 'p: 'v, V: Value + 'v>(
    inner: impl Iterator<Item = &'v Val<'p, V>>,
) -> Run<u16> {
    let depth = 1 + inner.map(Val::depth).max().unwrap_or(0);
    if depth > MAX_SCRIPT_DEPTH {
        return Err(Failure::TOO_LARGE);
    }
    Ok(depth)
}

impl<'p, V: Value> Items<'p, V> {
    pub(in crate::pyfn) fn new(items: Vec<Val<'p, V>>) -> Run<Rc<Self>> {
        let depth = depth_over(items.iter())?;
        Ok(Rc::new(Self { items, depth }))
    }

    /// Puts another in place of one.
    pub(in crate::pyfn) fn set(&mut self, at: usize, item: Val<'p, V>) -> Run<()> {
        self.depth = self.depth.max(depth_over(std::iter::once(&item))?);
        if let Some(held) = self.items.get_mut(at) {
            *held = item;
        }
        Ok(())
    }

    /// Appends one more.
    pub(in crate::pyfn) fn push(&mut self, item: Val<'p, V>) -> Run<()> {
        self.depth = self.depth.max(depth_over(std::iter::once(&item))?);
        self.items.push(item);
        Ok(())
    }
}

/// The length of a list or mapping of the request.
fn length_of<V: Value>(value: &V) -> Run<usize> {
    value
        .checked_len()
        .ok_or(Failure::Fault(ErrorCode::WrongType))
}
