//! The forms of the tests of a function, and the constants at which each divides the values.

use std::collections::BTreeSet;

use crate::lang::path::Field;
use crate::num::number::Number;
use crate::pyfn::ast::{Builtin, Code, Collect, Collection, Comparison, Method, Target};
use crate::pyfn::consts::PyConst;
use crate::pyfn::interp::probe::{self, Bound};
use crate::pyfn::pattern::Pattern;

use crate::analysis::slot::Place;

use super::around::Around;
use super::operand::{Derived, Locals, Of, Operand, Read, Rule};

/// The most constants that `any` and `all` are written out for.
const ITEMS: usize = 64;

/// The form of a test, as far as texts and numbers are concerned.
pub(super) enum Form<'a> {
    /// Its truth, also of its length.
    Truth,
    /// That it has a value, and does not raise.
    Value,
    /// That it is there.
    Key,
    Types,
    Starts(Vec<String>),
    Ends(Vec<String>),
    /// It contains a text.
    Contains(String),
    /// It equals one of these.
    Equal(Vec<&'a PyConst>),
    /// Its order with each of these, all of which are texts or none.
    Order(Vec<(Comparison, &'a PyConst)>),
    Pattern(&'a Pattern),
}

/// A test of one value.
pub(super) struct Test<'a> {
    pub(super) code: &'a Code,
    pub(super) read: Read,
    pub(super) derived: Derived,
    pub(super) form: Form<'a>,
    pub(super) negated: bool,
    pub(super) bound: Locals<'a>,
}

/// What a test of one value, or several, is.
pub(super) enum Shape<'a> {
    Not(&'a Code),
    /// Both parts of a chain, or all items; true: any of them.
    Items(bool, Vec<(&'a Code, Locals<'a>)>),
    Known(bool),
    One(Box<Test<'a>>),
}

impl<'a> Rule<'a, '_> {
    /// What a test is; `None`: only the interpreter knows.
    pub(super) fn shape(&self, code: &'a Code, bound: &Locals<'a>) -> Option<Shape<'a>> {
        let one = |value: &'a Code, form, negated| match self.operand(value, bound)? {
            Operand::Value(read, derived, held) => Some(Shape::One(Box::new(Test {
                code,
                read,
                derived,
                form,
                negated,
                bound: self.kept(code, bound, &held),
            }))),
            Operand::Const(_) => self.known(code, bound),
        };
        let each = |items: &'a [Code]| items.iter().map(|item| (item, bound.clone())).collect();
        match code {
            Code::Not(item) => Some(Shape::Not(item)),
            Code::And(items) => Some(Shape::Items(false, each(items))),
            Code::Or(items) => Some(Shape::Items(true, each(items))),
            Code::Collect(node) => self.unrolled(node, bound),
            Code::Const(_)
            | Code::Path(..)
            | Code::Local(_)
            | Code::Item(_)
            | Code::Call(Builtin::Len | Builtin::Str, _)
            | Code::Method(_, Method::Lower | Method::Get, _) => one(code, Form::Truth, false),
            Code::IsInstance(of, _) => one(of, Form::Types, false),
            Code::Has(path, _, compare) => {
                let Code::Compare(_, others) = &**compare else {
                    return None;
                };
                let [(operator, owner)] = &**others else {
                    return None;
                };
                Some(Shape::One(Box::new(Test {
                    code,
                    read: self.read(*path, owner, true)?,
                    derived: Derived::default(),
                    form: Form::Key,
                    negated: *operator == Comparison::NotIn,
                    bound: Vec::new(),
                })))
            }
            Code::Method(of, method @ (Method::StartsWith | Method::EndsWith), args) => {
                let [affix] = &**args else {
                    return None;
                };
                let affixes = match self.constant(affix, bound)? {
                    PyConst::Str(text) => vec![text.to_string()],
                    PyConst::Tuple(items) => texts(items)?,
                    _ => return None,
                };
                one(
                    of,
                    match method {
                        Method::StartsWith => Form::Starts(affixes),
                        _ => Form::Ends(affixes),
                    },
                    false,
                )
            }
            Code::Regex(node) => one(&node.1, Form::Pattern(&node.0), false),
            Code::Compare(first, others) => match &**others {
                [(operator, other)] => {
                    let (value, form, negated) = self.compared(first, (*operator, other), bound)?;
                    one(value, form, negated)
                }
                [(low, value), (high, last)] => {
                    let bounds = [self.constant(first, bound)?, self.constant(last, bound)?];
                    let order = vec![(mirrored(*low)?, bounds[0]), (*high, bounds[1])];
                    let is_text = |constant: &PyConst| constant.text().is_some();
                    let alike = is_text(bounds[0]) == is_text(bounds[1]);
                    let all = alike && mirrored(*high).is_some();
                    scalar(bounds[0]).and(scalar(bounds[1]))?;
                    all.then_some(())?;
                    one(value, Form::Order(order), false)
                }
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn known(&self, code: &'a Code, bound: &Locals<'a>) -> Option<Shape<'a>> {
        let bound = self.kept(code, bound, &[]);
        let mut around = Around::new(self.program, None);
        let truth = probe::truth(code, (self.locals, &bound), &mut around)?;
        (!around.strayed).then_some(Shape::Known(truth))
    }

    /// The value of a comparison of two operands, its form, and if it is negated.
    fn compared(
        &self,
        first: &'a Code,
        (operator, other): (Comparison, &'a Code),
        bound: &Locals<'a>,
    ) -> Option<(&'a Code, Form<'a>, bool)> {
        use Comparison::{Eq, Ge, Gt, In, Is, IsNot, Le, Lt, Ne, NotIn};
        let negated = matches!(operator, Ne | NotIn | IsNot);
        if let Some(constant) = self.constant(other, bound) {
            let form = match operator {
                In | NotIn => Form::Equal(scalars(constant)?),
                Eq | Ne | Is | IsNot => Form::Equal(vec![scalar(constant)?]),
                Lt | Le | Gt | Ge => Form::Order(vec![(operator, scalar(constant)?)]),
            };
            return Some((first, form, negated));
        }
        let constant = self.constant(first, bound)?;
        let form = match operator {
            In | NotIn => Form::Contains(constant.text()?.to_owned()),
            Eq | Ne | Is | IsNot => Form::Equal(vec![scalar(constant)?]),
            Lt | Le | Gt | Ge => Form::Order(vec![(mirrored(operator)?, scalar(constant)?)]),
        };
        Some((other, form, negated))
    }

    /// `any` or `all` over constants, written out.
    pub(super) fn unrolled(&self, node: &'a Collect, bound: &Locals<'a>) -> Option<Shape<'a>> {
        let any = match node.kind {
            Collection::Any => true,
            Collection::All => false,
            _ => return None,
        };
        let [only] = &*node.loops else {
            return None;
        };
        let (Target::Slot(slot), []) = (&only.target, &*only.conditions) else {
            return None;
        };
        let items = match self.constant(&only.over, bound)? {
            PyConst::Tuple(items) | PyConst::List(items) => items,
            PyConst::Set(set) => &set.items,
            _ => return None,
        };
        if items.len() > ITEMS {
            return None;
        }
        let items = items.iter().map(|item| {
            let mut bound = bound.clone();
            bound.push((*slot, Bound::Const(item)));
            (&node.value, bound)
        });
        Some(Shape::Items(any, items.collect()))
    }

    /// Calls `visit` with the place that each test reads, and with the constants that it compares the value with.
    pub(super) fn each_read(
        &self,
        code: &'a Code,
        bound: &Locals<'a>,
        visit: &mut dyn FnMut(Place, Cuts),
    ) {
        match self.shape(code, bound) {
            Some(Shape::Not(item)) => self.each_read(item, bound, visit),
            Some(Shape::Items(_, items)) => {
                for (item, bound) in items {
                    self.each_read(item, &bound, visit);
                }
            }
            Some(Shape::One(test)) => {
                if let Form::Contains(key) = &test.form
                    && let Some(child) = test.key(key)
                {
                    visit(child, Cuts::default());
                }
                visit(test.read.place.clone(), test.cuts());
            }
            Some(Shape::Known(_)) | None => {}
        }
    }

    /// The same of an expression that a local takes.
    pub(super) fn each_bound(
        &self,
        code: &'a Code,
        bound: &Locals<'a>,
        visit: &mut dyn FnMut(Place, Cuts),
    ) {
        if let Some(Operand::Value(read, ..)) = self.operand(code, bound) {
            visit(read.place, Cuts::default());
        }
    }
}

/// Where a test divides the values.
#[derive(Clone, Debug, Default)]
pub(super) struct Cuts {
    pub(super) texts: Vec<String>,
    pub(super) numbers: Vec<Number>,
    pub(super) counts: Vec<Number>,
}

/// The relation of `b` to `a` where that of `a` to `b` is this one; `None`: it is no order.
pub(super) fn mirrored(operator: Comparison) -> Option<Comparison> {
    Some(match operator {
        Comparison::Lt => Comparison::Gt,
        Comparison::Le => Comparison::Ge,
        Comparison::Gt => Comparison::Lt,
        Comparison::Ge => Comparison::Le,
        _ => return None,
    })
}

pub(super) fn scalar(constant: &PyConst) -> Option<&PyConst> {
    match constant {
        PyConst::None | PyConst::Bool(_) | PyConst::Int(_) | PyConst::Str(_) => Some(constant),
        PyConst::Float(value) if value.is_finite() => Some(constant),
        _ => None,
    }
}

pub(super) fn scalars(constant: &PyConst) -> Option<Vec<&PyConst>> {
    match constant {
        PyConst::Tuple(items) | PyConst::List(items) => items.iter().map(scalar).collect(),
        PyConst::Set(set) => set.items.iter().map(scalar).collect(),
        PyConst::Dict(entries) => entries.entries.iter().map(|(key, _)| scalar(key)).collect(),
        _ => None,
    }
}

pub(super) fn texts(items: &[PyConst]) -> Option<Vec<String>> {
    let texts = items.iter().map(|item| item.text().map(str::to_owned));
    texts.collect()
}

pub(super) fn number_of(constant: &PyConst) -> Option<Number> {
    match constant {
        PyConst::Bool(flag) => Some(Number::Int(i64::from(*flag))),
        PyConst::Int(value) => Some(Number::Int(*value)),
        PyConst::Float(value) => Some(Number::from_float(*value)),
        _ => None,
    }
}

impl<'a> Test<'a> {
    /// The place of a key of the value, if that can be a mapping.
    pub(super) fn key(&self, key: &str) -> Option<Place> {
        let is_map = matches!(self.read.place.field(), Some(Field::Args | Field::Extra));
        let plain = is_map && self.derived == Derived::default();
        plain.then(|| self.read.place.below(&[key.into()]))
    }

    /// The constants of the test that are numbers.
    pub(super) fn numbers(&self) -> Vec<Number> {
        let mut numbers = self.operands();
        if self.derived.replaced {
            numbers.push(Number::Int(0));
        }
        numbers
    }

    pub(super) fn operands(&self) -> Vec<Number> {
        match &self.form {
            Form::Truth => vec![Number::Int(0)],
            Form::Equal(items) => items.iter().filter_map(|item| number_of(item)).collect(),
            Form::Order(bounds) => {
                let constants = bounds.iter().map(|(_, constant)| constant);
                constants
                    .filter_map(|constant| number_of(constant))
                    .collect()
            }
            Form::Value
            | Form::Key
            | Form::Types
            | Form::Starts(_)
            | Form::Ends(_)
            | Form::Contains(_)
            | Form::Pattern(_) => Vec::new(),
        }
    }

    /// The lengths at which its result changes.
    pub(super) fn lengths(&self) -> Vec<Number> {
        let mut cuts = BTreeSet::from([0]);
        for number in self.numbers() {
            match number {
                Number::Int(value) => cuts.extend([value]),
                // Saturates: no length is that long.
                Number::Float(value) => cuts.extend([value.floor() as i64, value.ceil() as i64]),
                Number::Big(_) => {}
            }
        }
        cuts.into_iter().map(Number::Int).collect()
    }

    pub(super) fn cuts(&self) -> Cuts {
        let mut cuts = Cuts::default();
        match self.derived.of {
            Of::Length => cuts.counts = self.lengths(),
            Of::Lower => {}
            Of::Itself => {
                cuts.numbers = self.numbers();
                match &self.form {
                    Form::Truth => {
                        cuts.texts.push(String::new());
                        cuts.counts.push(Number::Int(0));
                    }
                    Form::Equal(items) => {
                        let texts = items.iter().filter_map(|item| item.text());
                        cuts.texts = texts.map(str::to_owned).collect();
                    }
                    _ => {}
                }
            }
        }
        if self.derived.replaced {
            cuts.numbers = self.numbers();
            cuts.texts.push(String::new());
            cuts.counts.push(Number::Int(0));
        }
        cuts
    }
}
