//! Building the fast nodes of a CFG: the nodes that the fast path supports, and their tests.
//!
//! INVARIANT: the content of a local is followed along every edge to a node; where two edges differ, or anything but a
//! path is assigned, a test of the local is left to the interpreter.

use super::{Each, FastNode, Otherwise, Predicate, Read, Scalar, compared, truth, types};
use crate::budget::Steps;
use crate::chars;
use crate::clause::ops::affix::{Affix, End};
use crate::clause::ops::containment::{Needles, Quantity};
use crate::clause::ops::equality;
use crate::clause::ops::membership::Membership;
use crate::clause::ops::nesting::Derived;
use crate::clause::ops::ordering::{Order, Relation};
use crate::clause::ops::presence::Presence;
use crate::clause::predicate::{Test, eval_value};
use crate::clause::prepared::PreparedConst;
use crate::num::number::Number;
use crate::pyfn::ast::{Builtin, Code, Collect, Collection, Comparison, Method, Statement, Target};
use crate::pyfn::cfg::Node;
use crate::pyfn::consts::PyConst;
use crate::value::Value as _;

/// The locals that hold what was read, at one node.
type Held = Vec<(u32, Read)>;

/// A test of a value that is read; true: its result is negated.
type Tested = (Read, Predicate, bool);

/// The fast nodes of a CFG. Later nodes have lower numbers, so each node is visited after its predecessors.
pub(in crate::pyfn) fn prepare(nodes: &[Node], start: u32) -> Box<[FastNode]> {
    let mut held: Vec<Option<Held>> = nodes.iter().map(|_| None).collect();
    if let Some(first) = held.get_mut(start as usize) {
        *first = Some(Held::new());
    }
    let mut fast_nodes: Vec<FastNode> = nodes.iter().map(|_| FastNode::Interp).collect();
    for (at, node) in nodes.iter().enumerate().rev() {
        let Some(known) = held.get_mut(at).and_then(Option::take) else {
            continue;
        };
        let Some(made) = fast_node(node, &known) else {
            continue;
        };
        match (node, &made) {
            (
                Node::Run(Statement::Assign(Target::Slot(slot), _), next),
                FastNode::Bind(read, _),
            ) => {
                let mut then = known;
                then.retain(|(other, _)| other != slot);
                let read = Read {
                    held: true,
                    ..read.clone()
                };
                then.push((*slot, read));
                merge(&mut held, *next, &then);
            }
            (Node::Test(code, yes, no), _) => {
                let mut then = known;
                if let Code::Collect(node) = code {
                    then.retain(|(slot, _)| !node.loops.iter().any(|part| part.target.is(*slot)));
                }
                merge(&mut held, *yes, &then);
                merge(&mut held, *no, &then);
            }
            _ => {}
        }
        if let Some(fast_node) = fast_nodes.get_mut(at) {
            *fast_node = made;
        }
    }
    fast_nodes.into()
}

/// Dataflow meet: keeps the locals that hold the same along every edge to a node.
fn merge(held: &mut [Option<Held>], at: u32, known: &Held) {
    match held.get_mut(at as usize) {
        Some(Some(held)) => held.retain(|(slot, read)| {
            known
                .iter()
                .any(|(other, known)| slot == other && read.reads_as(known))
        }),
        Some(none) => *none = Some(known.clone()),
        None => {}
    }
}

fn fast_node(node: &Node, held: &Held) -> Option<FastNode> {
    Some(match node {
        Node::ReturnNone => FastNode::ReturnNone,
        Node::ReturnStatic(number) => FastNode::ReturnStatic(*number),
        Node::Run(Statement::Assign(Target::Slot(_), code @ Code::Path(..)), next) => {
            FastNode::Bind(read(code, held)?, *next)
        }
        Node::Test(code, yes, no) => match tested(code, held)? {
            (read, predicate, false) => FastNode::Test(read, predicate, *yes, *no),
            (read, predicate, true) => FastNode::Test(read, predicate, *no, *yes),
        },
        Node::Run(..) | Node::Return(_) => return None,
    })
}

fn read(code: &Code, held: &Held) -> Option<Read> {
    match code {
        Code::Local(slot) => {
            let found = held.iter().find(|(held, _)| held == slot);
            found.map(|(_, read)| read.clone())
        }
        Code::Path(path, slow) => Some(Read {
            path: *path,
            held: false,
            otherwise: otherwise(slow).map(Box::new),
        }),
        _ => None,
    }
}

fn otherwise(get: &Code) -> Option<Otherwise> {
    let Code::Method(owner, Method::Get, args) = get else {
        return None;
    };
    let Code::Path(owner, _) = &**owner else {
        return None;
    };
    let default = match &**args {
        [_] => Scalar::None,
        [_, Code::Const(default)] => Scalar::of(default)?,
        _ => return None,
    };
    Some(Otherwise {
        owner: *owner,
        default,
        truth: None,
    })
}

/// The operand of a test: a value, or one derived from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
    Itself,
    Lower,
    Length,
}

fn operand(code: &Code, held: &Held) -> Option<(Read, Operand)> {
    match code {
        Code::Method(of, Method::Lower, args) if args.is_empty() => {
            Some((read(of, held)?, Operand::Lower))
        }
        Code::Call(Builtin::Len, args) => match &**args {
            [of] => Some((read(of, held)?, Operand::Length)),
            _ => None,
        },
        code => Some((read(code, held)?, Operand::Itself)),
    }
}

/// A predicate of a value, and its result for the default of the value.
fn on((mut read, operand): (Read, Operand), predicate: Predicate, negated: bool) -> Option<Tested> {
    if let Some(otherwise) = read.otherwise.as_mut() {
        let default = match (operand, &otherwise.default) {
            (Operand::Itself, default) => Some(default.clone()),
            (Operand::Lower, Scalar::Str(text)) => Some(Scalar::Str(chars::lower(text).into())),
            (Operand::Length, Scalar::Str(text)) => Some(Scalar::Int(text.chars().count() as i64)),
            (Operand::Lower | Operand::Length, _) => None,
        };
        otherwise.truth = default.and_then(|default| of_default(&predicate, &default));
    }
    let derived = |test| match operand {
        Operand::Itself => test,
        Operand::Lower => Test::Derived(Box::new(Derived::Lower(vec![test]))),
        Operand::Length => Test::Derived(Box::new(Derived::Length(vec![test]))),
    };
    let predicate = match predicate {
        Predicate::Test(test) => Predicate::Test(Box::new(derived(*test))),
        predicate if operand == Operand::Itself => predicate,
        _ => return None,
    };
    Some((read, predicate, negated))
}

fn of_default(predicate: &Predicate, default: &Scalar) -> Option<bool> {
    let holds = |test: &Test| eval_value(test, default, &Steps::endless()).ok();
    match predicate {
        Predicate::Test(test) => holds(test),
        Predicate::Both(tests) => {
            let [one, two] = &**tests;
            Some(holds(one)? && holds(two)?)
        }
        Predicate::Truth => truth(&default.view()),
        Predicate::Null => Some(default.is_null()),
        Predicate::Is(wanted) => Some(types(&default.view())?.meets(*wanted)),
        Predicate::Compare(operator, constant) => {
            compared(&default.view(), *operator, &constant.view())
        }
        Predicate::Clause(_) | Predicate::With(..) | Predicate::Each(_) => None,
    }
}

fn tested(code: &Code, held: &Held) -> Option<Tested> {
    match code {
        Code::Path(..) | Code::Local(_) => on(operand(code, held)?, Predicate::Truth, false),
        Code::IsInstance(of, types) => on(operand(of, held)?, Predicate::Is(*types), false),
        Code::Has(path, of, compare) => {
            let Code::Compare(_, others) = &**compare else {
                return None;
            };
            let read = Read {
                path: *path,
                held: false,
                otherwise: Some(Box::new(Otherwise {
                    owner: *of,
                    default: Scalar::None,
                    truth: Some(false),
                })),
            };
            let negated = matches!(&**others, [(Comparison::NotIn, _)]);
            Some((
                read,
                Predicate::Test(Box::new(Test::Presence(Presence::Exists(true)))),
                negated,
            ))
        }
        Code::Method(owner, method @ (Method::StartsWith | Method::EndsWith), args) => {
            let [Code::Const(affix)] = &**args else {
                return None;
            };
            let affixes = match affix {
                PyConst::Str(affix) => vec![affix.clone()],
                PyConst::Tuple(affixes) => texts(affixes)?,
                _ => return None,
            };
            let end = match method {
                Method::StartsWith => End::Start,
                _ => End::End,
            };
            let test = Test::Affix(Affix::new(end, affixes));
            on(
                operand(owner, held)?,
                Predicate::Test(Box::new(test)),
                false,
            )
        }
        Code::Regex(node) => {
            let (pattern, text) = &**node;
            let test = Test::Matches(pattern.parsed.clone());
            on(operand(text, held)?, Predicate::Test(Box::new(test)), false)
        }
        Code::Collect(node) => each(node, held),
        Code::Compare(first, others) => match &**others {
            [(operator, other)] => comparison(first, *operator, other, held),
            [(one, value), (two, Code::Const(last))] => {
                let Code::Const(first) = &**first else {
                    return None;
                };
                let both = [
                    Test::Order(Order(mirrored(relation(*one)?), bound(first)?)),
                    Test::Order(Order(relation(*two)?, bound(last)?)),
                ];
                on(
                    operand(value, held)?,
                    Predicate::Both(Box::new(both)),
                    false,
                )
            }
            _ => None,
        },
        _ => None,
    }
}

/// The path that denotes an element.
const ELEMENT: u32 = u32::MAX;

fn each(node: &Collect, held: &Held) -> Option<Tested> {
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
    let element = Read {
        path: ELEMENT,
        held: true,
        otherwise: None,
    };
    let (inverted, test) = match &node.value {
        Code::Not(test) => (true, &**test),
        test => (false, test),
    };
    let (of, predicate, negated) = tested(test, &vec![(*slot, element)])?;
    let is_of_element =
        of.path == ELEMENT && !matches!(predicate, Predicate::With(..) | Predicate::Each(_));
    is_of_element.then_some(())?;
    let each = Each {
        any,
        predicate,
        negated: negated != inverted,
    };
    Some((
        read(&only.over, held)?,
        Predicate::Each(Box::new(each)),
        false,
    ))
}

fn comparison(first: &Code, operator: Comparison, other: &Code, held: &Held) -> Option<Tested> {
    use Comparison::{Eq, In, Is, IsNot, Ne, NotIn};
    let negated = matches!(operator, Ne | NotIn | IsNot);
    match (first, operator, other) {
        (value, In | NotIn, Code::Const(constant)) => {
            let items = match constant {
                PyConst::Tuple(items) | PyConst::List(items) => items,
                PyConst::Set(set) => &set.items,
                _ => return None,
            };
            let texts = texts(items)?;
            let test = Test::Membership(Membership::of_texts(texts.iter().map(AsRef::as_ref)));
            on(
                operand(value, held)?,
                Predicate::Test(Box::new(test)),
                negated,
            )
        }
        (Code::Const(PyConst::Str(text)), In | NotIn, value) => {
            let needles = Needles::new(vec![PreparedConst::Str(text.clone())], Quantity::Any);
            let test = Test::Contains(needles);
            on(
                operand(value, held)?,
                Predicate::Test(Box::new(test)),
                negated,
            )
        }
        (_, In | NotIn, _) => None,
        (value, Eq | Ne | Is | IsNot, Code::Const(constant))
        | (Code::Const(constant), Eq | Ne | Is | IsNot, value) => {
            let of = operand(value, held)?;
            let predicate = match (operator, constant) {
                (Is | IsNot, PyConst::None) => Predicate::Null,
                (Eq | Ne, constant) if is_no_flag(constant) || of.1 == Operand::Length => {
                    Predicate::Test(Box::new(Test::Equal(equality::Scalar(bound(constant)?))))
                }
                (Eq | Ne, constant) => Predicate::Compare(Eq, Scalar::of(constant)?),
                (_, constant) => Predicate::Compare(Is, Scalar::of(constant)?),
            };
            on(of, predicate, negated)
        }
        (value, operator, Code::Const(constant)) => {
            let test = Test::Order(Order(relation(operator)?, bound(constant)?));
            on(
                operand(value, held)?,
                Predicate::Test(Box::new(test)),
                false,
            )
        }
        (Code::Const(constant), operator, value) => {
            let test = Test::Order(Order(mirrored(relation(operator)?), bound(constant)?));
            on(
                operand(value, held)?,
                Predicate::Test(Box::new(test)),
                false,
            )
        }
        (first, operator, other) => {
            let with = Predicate::With(operator, read(other, held)?);
            Some((read(first, held)?, with, false))
        }
    }
}

/// Returns true if a constant is a text, or a number that equals no boolean.
fn is_no_flag(constant: &PyConst) -> bool {
    match constant {
        PyConst::Str(_) => true,
        PyConst::Int(number) => !(0..=1).contains(number),
        PyConst::Float(number) => number.is_finite() && *number != 0.0 && *number != 1.0,
        _ => false,
    }
}

/// The text or the number that a value is compared with.
fn bound(constant: &PyConst) -> Option<PreparedConst> {
    match constant {
        PyConst::Str(text) => Some(PreparedConst::Str(text.clone())),
        PyConst::Int(number) => Some(PreparedConst::Number(Number::Int(*number))),
        PyConst::Float(number) if number.is_finite() => {
            Some(PreparedConst::Number(Number::from_float(*number)))
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

/// The relation of `b` to `a` where that of `a` to `b` is this one.
fn mirrored(relation: Relation) -> Relation {
    match relation {
        Relation::Lt => Relation::Gt,
        Relation::Le => Relation::Ge,
        Relation::Gt => Relation::Lt,
        Relation::Ge => Relation::Le,
    }
}

fn texts(items: &[PyConst]) -> Option<Vec<Box<str>>> {
    let texts = items.iter().map(|item| item.text().map(Into::into));
    texts.collect()
}
