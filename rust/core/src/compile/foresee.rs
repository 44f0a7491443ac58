//! What a function is watched by: while nothing of it is seen, the function returns None and nothing on the way raises.
//!
//! The course is followed from where it begins to every end it has. A test is either watched itself, so that it is known to
//! be false, or what it reads is, so that it is known not to raise, and then both ways on are followed. What the watches
//! see although the function would return None costs a call, and nothing else.
//!
//! INVARIANT: texts that are long ([`crate::limits::LONG_TEXT`]) are seen by every watch, so that no function is spared the
//! steps that would have stopped it.

use crate::matcher::derived::End;
use crate::matcher::number::Number;
use crate::matcher::operand::Operand;
use crate::matcher::{Needles, Quantity, Relation, ScalarSet, Test};
use crate::program::segment::{Class, Classes};
use crate::script::Fixed;
use crate::script::course::{Start, Turn};
use crate::script::node::{Code, Comparison, Function, Method, Statement, Target};

/// Turns that are followed, each as often as a way leads to it.
const MAX_TURNS: usize = 64;
/// Watches of one function.
const MAX_WATCHES: usize = 16;

/// One thing that is watched.
pub(super) struct Wanted {
    /// The path that is looked at.
    pub(super) path: u32,
    /// A value that this is true of is seen, and one that it cannot judge.
    pub(super) test: Option<Test>,
    /// Whether it is seen that there is no value.
    pub(super) missing: bool,
    /// Values of these classes are seen.
    pub(super) classes: Classes,
}

/// What is watched for a function that begins there; `None`: it is always called.
pub(super) fn watches(function: &Function, start: Start) -> Option<Vec<Wanted>> {
    let mut foresight = Foresight {
        function,
        turns: 0,
        locals: Vec::new(),
    };
    let (wanted, _) = foresight.from(start.at)?;
    (wanted.len() <= MAX_WATCHES).then_some(wanted)
}

/// What is watched, and what watching costs, roughly in equalities.
type Plan = (Vec<Wanted>, u32);

fn both((mut one, cost): Plan, (other, more): Plan) -> Plan {
    one.extend(other);
    (one, cost + more)
}

struct Foresight<'f> {
    function: &'f Function,
    turns: usize,
    /// The locals that hold what a path leads to.
    locals: Vec<(u32, &'f Code)>,
}

/// A path, and what stands for its value when it leads nowhere.
#[derive(Clone, Copy)]
struct Read<'f> {
    path: u32,
    otherwise: Otherwise<'f>,
}

#[derive(Clone, Copy)]
enum Otherwise<'f> {
    Raises,
    /// A constant, while the value of this path is a mapping.
    Is(&'f Fixed, u32),
}

impl<'f> Read<'f> {
    fn of(code: &'f Code) -> Option<Self> {
        let Code::Path(path, slow) = code else {
            return None;
        };
        let otherwise = match &**slow {
            Code::Method(owner, Method::Get, args) => match (&**owner, &**args) {
                (Code::Path(of, _), [_]) => Otherwise::Is(&Fixed::None, *of),
                (Code::Path(of, _), [_, Code::Fixed(default)]) => Otherwise::Is(default, *of),
                _ => return None,
            },
            _ => Otherwise::Raises,
        };
        Some(Self {
            path: *path,
            otherwise,
        })
    }

    /// A watch on what is read. `default`: whether the constant that stands for a missing value is seen.
    fn watch(
        self,
        test: Option<Test>,
        classes: Classes,
        default: impl FnOnce(&Fixed) -> bool,
    ) -> Vec<Wanted> {
        let missing = match self.otherwise {
            Otherwise::Raises => true,
            Otherwise::Is(fixed, _) => default(fixed),
        };
        let mut wanted = vec![Wanted {
            path: self.path,
            test,
            missing,
            classes: classes.with(Class::Broken).with(Class::Timestamp),
        }];
        if let Otherwise::Is(_, of) = self.otherwise {
            wanted.push(mapping(of));
        }
        wanted
    }
}

/// Sees what is no mapping.
fn mapping(path: u32) -> Wanted {
    Wanted {
        path,
        test: None,
        missing: true,
        classes: Classes::ALL.without(Class::Mapping),
    }
}

impl<'f> Foresight<'f> {
    fn from(&mut self, at: u32) -> Option<Plan> {
        self.turns += 1;
        if self.turns > MAX_TURNS {
            return None;
        }
        match self.function.turn(at) {
            Turn::Pass => Some((Vec::new(), 0)),
            Turn::Say(_) | Turn::Return(_) => None,
            Turn::Run(Statement::Assign(Target::Slot(slot), code), next) => {
                let read = Read::of(code)?;
                let known = self.locals.len();
                self.locals.push((*slot, code));
                let rest = self.from(*next);
                self.locals.truncate(known);
                let quiet = read.watch(None, Classes::default(), |_| false);
                Some(both((quiet, 2), rest?))
            }
            Turn::Run(..) => None,
            Turn::Test(code, yes, no) => {
                let otherwise = self.from(*no);
                let watched = match (&otherwise, self.seen(code)) {
                    (Some((_, cost)), Some((wanted, more))) => Some((wanted, cost + more)),
                    _ => None,
                };
                let followed = match (&otherwise, self.quiet(code)) {
                    (Some((_, cost)), Some(quiet)) => {
                        let then = self.from(*yes);
                        then.map(|then| both((quiet, cost + 2), then))
                    }
                    _ => None,
                };
                let (_, (wanted, cost)) = [watched, followed]
                    .into_iter()
                    .flatten()
                    .map(|plan| (plan.1, plan))
                    .min_by_key(|(cost, _)| *cost)?;
                let (mut all, _) = otherwise?;
                all.extend(wanted);
                Some((all, cost))
            }
        }
    }

    fn read(&self, code: &'f Code) -> Option<Read<'f>> {
        match code {
            Code::Local(slot) => {
                let held = self.locals.iter().rev().find(|(held, _)| held == slot);
                held.and_then(|(_, code)| Read::of(code))
            }
            code => Read::of(code),
        }
    }

    /// What sees all that makes a test true, or makes it raise.
    fn seen(&self, code: &'f Code) -> Option<Plan> {
        let none = Classes::default();
        match code {
            Code::Compare(first, others) => {
                let [(operator, other)] = &**others else {
                    return None;
                };
                match (operator, &**first, other) {
                    (Comparison::Eq, one, Code::Fixed(Fixed::Str(text)))
                    | (Comparison::Eq, Code::Fixed(Fixed::Str(text)), one) => {
                        let test = Test::Equal(Operand::Str(text.clone()));
                        let default = |default: &Fixed| match default {
                            Fixed::None => false,
                            default => default.text().is_none_or(|found| found == &**text),
                        };
                        Some((self.read(one)?.watch(Some(test), none, default), 1))
                    }
                    (Comparison::Eq, one, Code::Fixed(Fixed::Int(number))) => {
                        let test = Test::Equal(Operand::Number(Number::Int(*number)));
                        let classes = none.with(Class::Bool);
                        let read = self.read(one)?;
                        let default = |default: &Fixed| !matches!(default, Fixed::None);
                        Some((read.watch(Some(test), classes, default), 1))
                    }
                    (Comparison::In, one, Code::Fixed(fixed)) => {
                        let texts = texts(fixed)?;
                        let cost = texts.len() as u32;
                        let operands = texts.iter().map(|text| Operand::Str((*text).into()));
                        let test = Test::In(ScalarSet::new(operands.collect()));
                        let default = |default: &Fixed| match default {
                            Fixed::None => false,
                            default => default.text().is_none_or(|text| texts.contains(&text)),
                        };
                        Some((self.read(one)?.watch(Some(test), none, default), cost))
                    }
                    (Comparison::In, Code::Fixed(Fixed::Str(text)), other) => {
                        let needle = Needles::new(vec![Operand::Str(text.clone())]);
                        let test = Test::Contains(needle, Quantity::Any);
                        let default = |default: &Fixed| {
                            default.text().is_none_or(|found| found.contains(&**text))
                        };
                        Some((self.read(other)?.watch(Some(test), none, default), 4))
                    }
                    (operator, one, Code::Fixed(fixed)) => {
                        let test = Test::Order(relation(*operator)?, number(fixed)?);
                        Some((self.read(one)?.watch(Some(test), none, |_| true), 6))
                    }
                    (operator, Code::Fixed(fixed), other) => {
                        let test = Test::Order(mirrored(relation(*operator)?), number(fixed)?);
                        Some((self.read(other)?.watch(Some(test), none, |_| true), 6))
                    }
                    _ => None,
                }
            }
            Code::Method(owner, method @ (Method::StartsWith | Method::EndsWith), args) => {
                let [Code::Fixed(fixed)] = &**args else {
                    return None;
                };
                let affixes: Vec<&str> = match fixed {
                    Fixed::Str(text) => vec![text],
                    Fixed::Tuple(items) => items.iter().map(Fixed::text).collect::<Option<_>>()?,
                    _ => return None,
                };
                let end = match method {
                    Method::StartsWith => End::Start,
                    _ => End::End,
                };
                let has = |text: &str| {
                    affixes.iter().any(|affix| match end {
                        End::Start => text.starts_with(affix),
                        End::End => text.ends_with(affix),
                    })
                };
                let test = Test::Affix(end, affixes.iter().map(|&text| text.into()).collect());
                let default = |default: &Fixed| default.text().is_none_or(has);
                Some((self.read(owner)?.watch(Some(test), none, default), 3))
            }
            Code::Has(path, of, compare) => match &**compare {
                Code::Compare(_, others) if matches!(&**others, [(Comparison::In, _)]) => {
                    let wanted = Wanted {
                        path: *path,
                        test: Some(Test::Exists(true)),
                        missing: false,
                        classes: Classes::ALL,
                    };
                    Some((vec![wanted, mapping(*of)], 3))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// What sees all that makes a test raise.
    fn quiet(&self, code: &'f Code) -> Option<Vec<Wanted>> {
        let none = Classes::default();
        let scalar = |default: &Fixed| !is_scalar(default);
        let text = Classes::ALL.without(Class::String);
        let no_text = |default: &Fixed| default.text().is_none();
        match code {
            Code::Path(..) | Code::Local(_) => {
                let classes = none.with(Class::List).with(Class::Mapping);
                Some(self.read(code)?.watch(None, classes, scalar))
            }
            Code::IsInstance(of, _) => Some(self.read(of)?.watch(None, none, scalar)),
            Code::Regex(node) => Some(self.read(&node.1)?.watch(None, text, no_text)),
            Code::Method(owner, Method::StartsWith | Method::EndsWith, args) => match &**args {
                [Code::Fixed(Fixed::Str(_))] => Some(self.read(owner)?.watch(None, text, no_text)),
                _ => None,
            },
            Code::Has(_, of, _) => Some(vec![mapping(*of)]),
            Code::Compare(first, others) => {
                let [(operator, other)] = &**others else {
                    return None;
                };
                use Comparison::{Eq, Ge, Gt, In, Is, IsNot, Le, Lt, Ne, NotIn};
                match (operator, &**first, other) {
                    (Eq | Ne | Is | IsNot, one, Code::Fixed(fixed)) if is_scalar(fixed) => {
                        // Whether two texts or two numbers are the same object nobody says.
                        let known = matches!(operator, Eq | Ne)
                            || matches!(fixed, Fixed::None | Fixed::Bool(_));
                        known.then_some(())?;
                        Some(self.read(one)?.watch(None, none, scalar))
                    }
                    (In | NotIn, one, Code::Fixed(fixed)) => {
                        texts(fixed)?;
                        let classes = none.with(Class::List).with(Class::Mapping);
                        Some(self.read(one)?.watch(None, classes, scalar))
                    }
                    (In | NotIn, Code::Fixed(Fixed::Str(_)), other) => {
                        Some(self.read(other)?.watch(None, text, no_text))
                    }
                    (Lt | Le | Gt | Ge, one, Code::Fixed(fixed))
                    | (Lt | Le | Gt | Ge, Code::Fixed(fixed), one) => {
                        number(fixed)?;
                        let classes = Classes::ALL.without(Class::Number).without(Class::Bool);
                        let default = |default: &Fixed| !matches!(default, Fixed::Int(_));
                        Some(self.read(one)?.watch(None, classes, default))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

fn is_scalar(fixed: &Fixed) -> bool {
    matches!(
        fixed,
        Fixed::None | Fixed::Bool(_) | Fixed::Int(_) | Fixed::Float(_) | Fixed::Str(_)
    )
}

/// The texts of a tuple, list or set of texts.
fn texts(fixed: &Fixed) -> Option<Vec<&str>> {
    let items = match fixed {
        Fixed::Tuple(items) | Fixed::List(items) => items,
        Fixed::Set(set) => &set.items,
        _ => return None,
    };
    items.iter().map(Fixed::text).collect()
}

fn number(fixed: &Fixed) -> Option<Operand> {
    match fixed {
        Fixed::Int(number) => Some(Operand::Number(Number::Int(*number))),
        Fixed::Float(number) if number.is_finite() && number.fract() != 0.0 => {
            Some(Operand::Number(Number::Float(*number)))
        }
        _ => None,
    }
}

fn relation(operator: Comparison) -> Option<Relation> {
    Some(match operator {
        Comparison::Lt => Relation::Lt,
        Comparison::Le => Relation::Le,
        Comparison::Gt => Relation::Gt,
        Comparison::Ge => Relation::Ge,
        _ => return None,
    })
}

fn mirrored(relation: Relation) -> Relation {
    match relation {
        Relation::Lt => Relation::Gt,
        Relation::Le => Relation::Ge,
        Relation::Gt => Relation::Lt,
        Relation::Ge => Relation::Le,
    }
}
