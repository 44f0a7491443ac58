//! Inference of the triggers of a function: if no trigger holds, the function returns None and nothing on the way raises.
//!
//! The analysis follows the CFG from its start to every end. Either a test has a trigger itself, so that it is known to be
//! false, or the values that it reads have triggers, so that it is known not to raise, and then both edges are followed. A
//! trigger that holds although the function would return None costs a call, and nothing else.
//!
//! INVARIANT: long texts ([`crate::limits::LONG_TEXT`]) satisfy every trigger, so that no function is spared the steps that
//! would have stopped it.

use crate::clause::ops::affix::{Affix, End};
use crate::clause::ops::containment::{Needles, Quantity};
use crate::clause::ops::equality::Scalar;
use crate::clause::ops::membership::Membership;
use crate::clause::ops::ordering::{Order, Relation};
use crate::clause::ops::presence::Presence;
use crate::clause::predicate::Test;
use crate::clause::prepared::PreparedConst;
use crate::num::number::Number;
use crate::pyfn::ast::{Code, Comparison, Function, Method, Statement, Target};
use crate::pyfn::cfg::{Node, Start};
use crate::pyfn::consts::PyConst;
use crate::value::class::{Class, Classes};

/// Turns that are followed, each as often as a way leads to it.
const MAX_NODES: usize = 64;

/// Watches of one function.
const MAX_TRIGGERS: usize = 16;

/// One thing that is watched.
pub(crate) struct TriggerSpec {
    /// The path that is read.
    pub(crate) path: u32,
    /// Holds for a value that this is true of, and for one that it cannot evaluate.
    pub(crate) test: Option<Test>,
    /// True if an absent value satisfies the trigger.
    pub(crate) missing: bool,
    /// Values of these classes are seen.
    pub(crate) classes: Classes,
}

/// Infers the triggers of a function that begins there; `None`: it is always called.
pub(crate) fn infer(function: &Function, start: Start) -> Option<Vec<TriggerSpec>> {
    let mut inference = Inference {
        function,
        nodes: 0,
        locals: Vec::new(),
    };
    let (wanted, _) = inference.from(start.at)?;
    (wanted.len() <= MAX_TRIGGERS).then_some(wanted)
}

/// Triggers, and their cost, roughly in equality comparisons.
type Plan = (Vec<TriggerSpec>, u32);

fn both((mut one, cost): Plan, (other, more): Plan) -> Plan {
    one.extend(other);
    (one, cost + more)
}

struct Inference<'f> {
    function: &'f Function,
    nodes: usize,
    /// The locals that hold what a path leads to.
    locals: Vec<(u32, &'f Code)>,
}

/// A path, and the default when it leads nowhere.
#[derive(Clone, Copy)]
struct Read<'f> {
    path: u32,
    otherwise: Otherwise<'f>,
}

#[derive(Clone, Copy)]
enum Otherwise<'f> {
    Raises,
    /// A constant, while the value of this path is a mapping.
    Is(&'f PyConst, u32),
}

impl<'f> Read<'f> {
    fn of(code: &'f Code) -> Option<Self> {
        let Code::Path(path, slow) = code else {
            return None;
        };
        let otherwise = match &**slow {
            Code::Method(owner, Method::Get, args) => match (&**owner, &**args) {
                (Code::Path(of, _), [_]) => Otherwise::Is(&PyConst::None, *of),
                (Code::Path(of, _), [_, Code::Const(default)]) => Otherwise::Is(default, *of),
                _ => return None,
            },
            _ => Otherwise::Raises,
        };
        Some(Self {
            path: *path,
            otherwise,
        })
    }

    /// A trigger on the value read. `default`: true if the default of a missing value satisfies it.
    fn trigger(
        self,
        test: Option<Test>,
        classes: Classes,
        default: impl FnOnce(&PyConst) -> bool,
    ) -> Vec<TriggerSpec> {
        let missing = match self.otherwise {
            Otherwise::Raises => true,
            Otherwise::Is(constant, _) => default(constant),
        };
        let mut wanted = vec![TriggerSpec {
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

/// A trigger that holds for values that are not mappings.
fn mapping(path: u32) -> TriggerSpec {
    TriggerSpec {
        path,
        test: None,
        missing: true,
        classes: Classes::ALL.without(Class::Mapping),
    }
}

impl<'f> Inference<'f> {
    fn from(&mut self, at: u32) -> Option<Plan> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return None;
        }
        match self.function.node(at) {
            Node::ReturnNone => Some((Vec::new(), 0)),
            Node::ReturnStatic(_) | Node::Return(_) => None,
            Node::Run(Statement::Assign(Target::Slot(slot), code), next) => {
                let read = Read::of(code)?;
                let known = self.locals.len();
                self.locals.push((*slot, code));
                let rest = self.from(*next);
                self.locals.truncate(known);
                let raises = read.trigger(None, Classes::default(), |_| false);
                Some(both((raises, 2), rest?))
            }
            Node::Run(..) => None,
            Node::Test(code, yes, no) => {
                let otherwise = self.from(*no);
                let watched = match (&otherwise, self.true_or_raises(code)) {
                    (Some((_, cost)), Some((wanted, more))) => Some((wanted, cost + more)),
                    _ => None,
                };
                let followed = match (&otherwise, self.raises(code)) {
                    (Some((_, cost)), Some(raises)) => {
                        let then = self.from(*yes);
                        then.map(|then| both((raises, cost + 2), then))
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

    /// Returns triggers that hold whenever a test is true or raises.
    fn true_or_raises(&self, code: &'f Code) -> Option<Plan> {
        let none = Classes::default();
        match code {
            Code::Compare(first, others) => {
                let [(operator, other)] = &**others else {
                    return None;
                };
                match (operator, &**first, other) {
                    (Comparison::Eq, one, Code::Const(PyConst::Str(text)))
                    | (Comparison::Eq, Code::Const(PyConst::Str(text)), one) => {
                        let test = Test::Equal(Scalar(PreparedConst::Str(text.clone())));
                        let default = |default: &PyConst| match default {
                            PyConst::None => false,
                            default => default.text().is_none_or(|found| found == &**text),
                        };
                        Some((self.read(one)?.trigger(Some(test), none, default), 1))
                    }
                    (Comparison::Eq, one, Code::Const(PyConst::Int(number))) => {
                        let test = Test::Equal(Scalar(PreparedConst::Number(Number::Int(*number))));
                        let classes = none.with(Class::Bool);
                        let read = self.read(one)?;
                        let default = |default: &PyConst| !matches!(default, PyConst::None);
                        Some((read.trigger(Some(test), classes, default), 1))
                    }
                    (Comparison::In, one, Code::Const(constant)) => {
                        let texts = texts(constant)?;
                        let cost = texts.len() as u32;
                        let test = Test::Membership(Membership::of_texts(texts.iter().copied()));
                        let default = |default: &PyConst| match default {
                            PyConst::None => false,
                            default => default.text().is_none_or(|text| texts.contains(&text)),
                        };
                        Some((self.read(one)?.trigger(Some(test), none, default), cost))
                    }
                    (Comparison::In, Code::Const(PyConst::Str(text)), other) => {
                        let needles = vec![PreparedConst::Str(text.clone())];
                        let test = Test::Contains(Needles::new(needles, Quantity::Any));
                        let default = |default: &PyConst| {
                            default.text().is_none_or(|found| found.contains(&**text))
                        };
                        Some((self.read(other)?.trigger(Some(test), none, default), 4))
                    }
                    (operator, one, Code::Const(constant)) => {
                        let test = Test::Order(Order(relation(*operator)?, number(constant)?));
                        Some((self.read(one)?.trigger(Some(test), none, |_| true), 6))
                    }
                    (operator, Code::Const(constant), other) => {
                        let test =
                            Test::Order(Order(mirrored(relation(*operator)?), number(constant)?));
                        Some((self.read(other)?.trigger(Some(test), none, |_| true), 6))
                    }
                    _ => None,
                }
            }
            Code::Method(owner, method @ (Method::StartsWith | Method::EndsWith), args) => {
                let [Code::Const(constant)] = &**args else {
                    return None;
                };
                let affixes: Vec<&str> = match constant {
                    PyConst::Str(text) => vec![text],
                    PyConst::Tuple(items) => {
                        items.iter().map(PyConst::text).collect::<Option<_>>()?
                    }
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
                let test = Test::Affix(Affix::new(
                    end,
                    affixes.iter().map(|&text| text.into()).collect(),
                ));
                let default = |default: &PyConst| default.text().is_none_or(has);
                Some((self.read(owner)?.trigger(Some(test), none, default), 3))
            }
            Code::Has(path, of, compare) => match &**compare {
                Code::Compare(_, others) if matches!(&**others, [(Comparison::In, _)]) => {
                    let wanted = TriggerSpec {
                        path: *path,
                        test: Some(Test::Presence(Presence::Exists(true))),
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

    /// Returns triggers that hold whenever a test raises.
    fn raises(&self, code: &'f Code) -> Option<Vec<TriggerSpec>> {
        let none = Classes::default();
        let scalar = |default: &PyConst| !is_scalar(default);
        let text = Classes::ALL.without(Class::String);
        let no_text = |default: &PyConst| default.text().is_none();
        match code {
            Code::Path(..) | Code::Local(_) => {
                let classes = none.with(Class::List).with(Class::Mapping);
                Some(self.read(code)?.trigger(None, classes, scalar))
            }
            Code::IsInstance(of, _) => Some(self.read(of)?.trigger(None, none, scalar)),
            Code::Regex(node) => Some(self.read(&node.1)?.trigger(None, text, no_text)),
            Code::Method(owner, Method::StartsWith | Method::EndsWith, args) => match &**args {
                [Code::Const(PyConst::Str(_))] => {
                    Some(self.read(owner)?.trigger(None, text, no_text))
                }
                _ => None,
            },
            Code::Has(_, of, _) => Some(vec![mapping(*of)]),
            Code::Compare(first, others) => {
                let [(operator, other)] = &**others else {
                    return None;
                };
                use Comparison::{Eq, Ge, Gt, In, Is, IsNot, Le, Lt, Ne, NotIn};
                match (operator, &**first, other) {
                    (Eq | Ne | Is | IsNot, one, Code::Const(constant)) if is_scalar(constant) => {
                        // Whether two texts or two numbers are the same object is not known here.
                        let known = matches!(operator, Eq | Ne)
                            || matches!(constant, PyConst::None | PyConst::Bool(_));
                        known.then_some(())?;
                        Some(self.read(one)?.trigger(None, none, scalar))
                    }
                    (In | NotIn, one, Code::Const(constant)) => {
                        texts(constant)?;
                        let classes = none.with(Class::List).with(Class::Mapping);
                        Some(self.read(one)?.trigger(None, classes, scalar))
                    }
                    (In | NotIn, Code::Const(PyConst::Str(_)), other) => {
                        Some(self.read(other)?.trigger(None, text, no_text))
                    }
                    (Lt | Le | Gt | Ge, one, Code::Const(constant))
                    | (Lt | Le | Gt | Ge, Code::Const(constant), one) => {
                        number(constant)?;
                        let classes = Classes::ALL.without(Class::Number).without(Class::Bool);
                        let default = |default: &PyConst| !matches!(default, PyConst::Int(_));
                        Some(self.read(one)?.trigger(None, classes, default))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

fn is_scalar(constant: &PyConst) -> bool {
    matches!(
        constant,
        PyConst::None | PyConst::Bool(_) | PyConst::Int(_) | PyConst::Float(_) | PyConst::Str(_)
    )
}

/// The texts of a tuple, list or set of texts.
fn texts(constant: &PyConst) -> Option<Vec<&str>> {
    let items = match constant {
        PyConst::Tuple(items) | PyConst::List(items) => items,
        PyConst::Set(set) => &set.items,
        _ => return None,
    };
    items.iter().map(PyConst::text).collect()
}

fn number(constant: &PyConst) -> Option<PreparedConst> {
    match constant {
        PyConst::Int(number) => Some(PreparedConst::Number(Number::Int(*number))),
        PyConst::Float(number) if number.is_finite() && number.fract() != 0.0 => {
            Some(PreparedConst::Number(Number::Float(*number)))
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
