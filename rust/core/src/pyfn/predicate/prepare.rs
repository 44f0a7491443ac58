//! Building the fast nodes of a CFG: the nodes that the fast path supports, and their predicates.
//!
//! INVARIANT: what a local holds is followed along every way to a node; where two ways differ, or anything but a path is
//! assigned, a test of the local is left to the interpreter.

use super::{Each, FastNode, Order, Otherwise, Predicate, Read, Scalar};
use crate::pyfn::ast::{Builtin, Code, Collect, Collection, Comparison, Method, Statement, Target};
use crate::pyfn::cfg::Node;
use crate::pyfn::consts::PyConst;

/// Sets of more strings are left to the interpreter, which hashes them.
const FEW: usize = 8;

/// The locals that hold what was read, at one node.
type Held = Vec<(u32, Read)>;

/// The fast nodes of the nodes of a CFG, which are made last node first.
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

/// Notes that a node is come to with these: what all ways to it have in common is held there.
fn merge(held: &mut [Option<Held>], at: u32, known: &Held) {
    match held.get_mut(at as usize) {
        Some(Some(held)) => held.retain(|(slot, read)| {
            known
                .iter()
                .any(|(other, known)| slot == other && read.path == known.path)
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
        Node::Test(code, yes, no) => match predicate(code, held) {
            Some((read, predicate)) => FastNode::Test(read, predicate, *yes, *no),
            None if is_inline(code) => FastNode::Written(*yes, *no),
            None => return None,
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
    // The path, the call, its owner and its arguments.
    let (default, fuel) = match &**args {
        [_] => (Scalar::None, 4),
        [_, Code::Const(default)] => (Scalar::of(default)?, 5),
        _ => return None,
    };
    Some(Otherwise {
        owner: *owner,
        default,
        fuel,
    })
}

fn predicate(code: &Code, held: &Held) -> Option<(Read, Predicate)> {
    match code {
        Code::Path(..) | Code::Local(_) => Some((read(code, held)?, Predicate::Truth)),
        Code::IsInstance(of, types) => Some((read(of, held)?, Predicate::Is(*types))),
        Code::Has(path, of, compare) => {
            let Code::Compare(_, others) = &**compare else {
                return None;
            };
            let read = Read {
                path: *path,
                held: false,
                otherwise: None,
            };
            let negated = matches!(&**others, [(Comparison::NotIn, _)]);
            Some((read, Predicate::Has(*of, negated)))
        }
        Code::Method(owner, method @ (Method::StartsWith | Method::EndsWith), args) => {
            let [Code::Const(affix)] = &**args else {
                return None;
            };
            let affixes = match affix {
                PyConst::Str(affix) => Box::new([affix.clone()]),
                PyConst::Tuple(affixes) => texts(affixes)?,
                _ => return None,
            };
            let predicate = Predicate::Affix(affixes, *method == Method::EndsWith);
            Some((read(owner, held)?, predicate))
        }
        Code::Collect(node) => each(node, held),
        Code::Compare(first, others) => match &**others {
            [(operator, other)] => comparison(first, *operator, other, held),
            [(one, value), (two, Code::Const(last))] => {
                let Code::Const(first) = &**first else {
                    return None;
                };
                let both = [(mirrored(*one)?, first), (*two, last)];
                if both
                    .iter()
                    .any(|(operator, _)| Order::new(*operator).is_none())
                {
                    return None;
                }
                let [one, two] =
                    both.map(|(operator, constant)| Some((operator, Scalar::of(constant)?)));
                Some((
                    read(value, held)?,
                    Predicate::Between(Box::new([one?, two?])),
                ))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The path that denotes an element.
const ELEMENT: u32 = u32::MAX;

fn each(node: &Collect, held: &Held) -> Option<(Read, Predicate)> {
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
    let (negated, test) = match &node.value {
        Code::Not(test) => (true, &**test),
        test => (false, test),
    };
    let (of, predicate) = predicate(test, &vec![(*slot, element)])?;
    let is_of_element =
        of.path == ELEMENT && !matches!(predicate, Predicate::With(..) | Predicate::Each(_));
    let each = Each {
        any,
        predicate,
        negated,
    };
    is_of_element.then_some(())?;
    Some((read(&only.over, held)?, Predicate::Each(Box::new(each))))
}

fn comparison(
    first: &Code,
    operator: Comparison,
    other: &Code,
    held: &Held,
) -> Option<(Read, Predicate)> {
    let contains = matches!(operator, Comparison::In | Comparison::NotIn);
    let negated = operator == Comparison::NotIn;
    match (first, other) {
        (first, Code::Const(constant)) => {
            let among = match constant {
                PyConst::Tuple(items) | PyConst::List(items) if contains => Some(items),
                PyConst::Set(set) if contains => Some(&set.items),
                _ => None,
            };
            let predicate = match among {
                Some(items) => Predicate::Among(texts(items)?, negated),
                None => compared(operator, constant)?,
            };
            Some((read(first, held)?, predicate))
        }
        (Code::Const(PyConst::Str(text)), other) if contains => {
            Some((read(other, held)?, Predicate::Finds(text.clone(), negated)))
        }
        (Code::Const(constant), other) => {
            let predicate = compared(mirrored(operator)?, constant)?;
            Some((read(other, held)?, predicate))
        }
        (first, other) if !contains => Some((
            read(first, held)?,
            Predicate::With(operator, read(other, held)?),
        )),
        _ => None,
    }
}

/// `value operator constant`
fn compared(operator: Comparison, constant: &PyConst) -> Option<Predicate> {
    use Comparison::{Eq, Is, IsNot, Ne};
    Some(match (operator, constant) {
        (Is, PyConst::None) => Predicate::Null(true),
        (IsNot, PyConst::None) => Predicate::Null(false),
        (Eq | Ne, PyConst::Str(text)) => Predicate::Text(text.clone(), operator == Eq),
        (operator, PyConst::Int(number)) if Order::new(operator).is_some() => {
            Predicate::Int(Order::new(operator)?, *number)
        }
        (operator, constant) => Predicate::Compare(operator, Scalar::of(constant)?),
    })
}

/// Returns true if a test consists of expressions that [`crate::pyfn::inline_eval`] evaluates, and reads no local.
fn is_inline(code: &Code) -> bool {
    let of_path = |code: &Code| match code {
        Code::Path(..) => true,
        Code::Method(of, Method::Lower | Method::Strip, args) => {
            args.is_empty() && matches!(**of, Code::Path(..))
        }
        Code::Call(Builtin::Len, args) => matches!(&**args, [Code::Path(..)]),
        _ => false,
    };
    match code {
        Code::Regex(node) => of_path(&node.1),
        Code::Method(owner, Method::StartsWith | Method::EndsWith, args) => {
            of_path(owner) && matches!(&**args, [Code::Const(_)])
        }
        Code::Compare(first, others) => match (&**first, &**others) {
            (first, [(_, Code::Const(_))]) => of_path(first),
            (Code::Const(_), [(_, other)] | [(_, other), (_, Code::Const(_))]) => of_path(other),
            _ => false,
        },
        _ => false,
    }
}

/// `b operator a` for `a operator b`.
fn mirrored(operator: Comparison) -> Option<Comparison> {
    Some(match operator {
        Comparison::Lt => Comparison::Gt,
        Comparison::Le => Comparison::Ge,
        Comparison::Gt => Comparison::Lt,
        Comparison::Ge => Comparison::Le,
        Comparison::Eq | Comparison::Ne | Comparison::Is | Comparison::IsNot => operator,
        Comparison::In | Comparison::NotIn => return None,
    })
}

/// A few texts.
fn texts(items: &[PyConst]) -> Option<Box<[Box<str>]>> {
    if items.len() > FEW {
        return None;
    }
    let texts = items.iter().map(|item| item.text().map(Into::into));
    texts.collect()
}
