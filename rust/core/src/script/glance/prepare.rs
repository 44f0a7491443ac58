//! Making the glances of a course: which turns they tell, and what is asked there.
//!
//! INVARIANT: what a local holds is followed along every way to a turn; where two ways differ, or anything but a path is
//! assigned, a test of the local is left to the machine.

use super::{Ask, Each, Glance, Order, Otherwise, Read, Scalar};
use crate::script::course::Turn;
use crate::script::fixed::Fixed;
use crate::script::node::{
    Builtin, Code, Collect, Collection, Comparison, Method, Statement, Target,
};

/// Sets of more strings are left to the machine, which hashes them.
const FEW: usize = 8;

/// The locals that hold what was read, at one turn.
type Held = Vec<(u32, Read)>;

/// The glances of the turns of a course, which are made last turn first.
pub(in crate::script) fn prepare(turns: &[Turn], start: u32) -> Box<[Glance]> {
    let mut held: Vec<Option<Held>> = turns.iter().map(|_| None).collect();
    if let Some(first) = held.get_mut(start as usize) {
        *first = Some(Held::new());
    }
    let mut glances: Vec<Glance> = turns.iter().map(|_| Glance::Machine).collect();
    for (at, turn) in turns.iter().enumerate().rev() {
        let Some(known) = held.get_mut(at).and_then(Option::take) else {
            continue;
        };
        let Some(made) = glance(turn, &known) else {
            continue;
        };
        match (turn, &made) {
            (Turn::Run(Statement::Assign(Target::Slot(slot), _), next), Glance::Hold(read, _)) => {
                let mut then = known;
                then.retain(|(other, _)| other != slot);
                let read = Read {
                    held: true,
                    ..read.clone()
                };
                then.push((*slot, read));
                meet(&mut held, *next, &then);
            }
            (Turn::Test(code, yes, no), _) => {
                let mut then = known;
                if let Code::Collect(node) = code {
                    then.retain(|(slot, _)| !node.loops.iter().any(|part| part.target.is(*slot)));
                }
                meet(&mut held, *yes, &then);
                meet(&mut held, *no, &then);
            }
            _ => {}
        }
        if let Some(glance) = glances.get_mut(at) {
            *glance = made;
        }
    }
    glances.into()
}

/// Notes that a turn is come to with these: what all ways to it have in common is held there.
fn meet(held: &mut [Option<Held>], at: u32, known: &Held) {
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

fn glance(turn: &Turn, held: &Held) -> Option<Glance> {
    Some(match turn {
        Turn::Pass => Glance::Pass,
        Turn::Say(number) => Glance::Say(*number),
        Turn::Run(Statement::Assign(Target::Slot(_), code @ Code::Path(..)), next) => {
            Glance::Hold(read(code, held)?, *next)
        }
        Turn::Test(code, yes, no) => match ask(code, held) {
            Some((read, ask)) => Glance::Test(read, ask, *yes, *no),
            None if is_quick(code) => Glance::Written(*yes, *no),
            None => return None,
        },
        Turn::Run(..) | Turn::Return(_) => return None,
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
    let (default, steps) = match &**args {
        [_] => (Scalar::None, 4),
        [_, Code::Fixed(default)] => (Scalar::of(default)?, 5),
        _ => return None,
    };
    Some(Otherwise {
        owner: *owner,
        default,
        steps,
    })
}

fn ask(code: &Code, held: &Held) -> Option<(Read, Ask)> {
    match code {
        Code::Path(..) | Code::Local(_) => Some((read(code, held)?, Ask::Truth)),
        Code::IsInstance(of, types) => Some((read(of, held)?, Ask::Is(*types))),
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
            Some((read, Ask::Has(*of, negated)))
        }
        Code::Method(owner, method @ (Method::StartsWith | Method::EndsWith), args) => {
            let [Code::Fixed(affix)] = &**args else {
                return None;
            };
            let affixes = match affix {
                Fixed::Str(affix) => Box::new([affix.clone()]),
                Fixed::Tuple(affixes) => texts(affixes)?,
                _ => return None,
            };
            let ask = Ask::Affix(affixes, *method == Method::EndsWith);
            Some((read(owner, held)?, ask))
        }
        Code::Collect(node) => each(node, held),
        Code::Compare(first, others) => match &**others {
            [(operator, other)] => comparison(first, *operator, other, held),
            [(one, value), (two, Code::Fixed(last))] => {
                let Code::Fixed(first) = &**first else {
                    return None;
                };
                let both = [(mirrored(*one)?, first), (*two, last)];
                if both
                    .iter()
                    .any(|(operator, _)| Order::new(*operator).is_none())
                {
                    return None;
                }
                let [one, two] = both.map(|(operator, fixed)| Some((operator, Scalar::of(fixed)?)));
                Some((read(value, held)?, Ask::Between(Box::new([one?, two?]))))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The path that stands for an element.
const ELEMENT: u32 = u32::MAX;

fn each(node: &Collect, held: &Held) -> Option<(Read, Ask)> {
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
    let (of, ask) = ask(test, &vec![(*slot, element)])?;
    let is_of_element = of.path == ELEMENT && !matches!(ask, Ask::With(..) | Ask::Each(_));
    let each = Each { any, ask, negated };
    is_of_element.then_some(())?;
    Some((read(&only.over, held)?, Ask::Each(Box::new(each))))
}

fn comparison(
    first: &Code,
    operator: Comparison,
    other: &Code,
    held: &Held,
) -> Option<(Read, Ask)> {
    let contains = matches!(operator, Comparison::In | Comparison::NotIn);
    let negated = operator == Comparison::NotIn;
    match (first, other) {
        (first, Code::Fixed(fixed)) => {
            let among = match fixed {
                Fixed::Tuple(items) | Fixed::List(items) if contains => Some(items),
                Fixed::Set(set) if contains => Some(&set.items),
                _ => None,
            };
            let ask = match among {
                Some(items) => Ask::Among(texts(items)?, negated),
                None => compared(operator, fixed)?,
            };
            Some((read(first, held)?, ask))
        }
        (Code::Fixed(Fixed::Str(text)), other) if contains => {
            Some((read(other, held)?, Ask::Finds(text.clone(), negated)))
        }
        (Code::Fixed(fixed), other) => {
            let ask = compared(mirrored(operator)?, fixed)?;
            Some((read(other, held)?, ask))
        }
        (first, other) if !contains => {
            Some((read(first, held)?, Ask::With(operator, read(other, held)?)))
        }
        _ => None,
    }
}

/// `value operator constant`
fn compared(operator: Comparison, fixed: &Fixed) -> Option<Ask> {
    use Comparison::{Eq, Is, IsNot, Ne};
    Some(match (operator, fixed) {
        (Is, Fixed::None) => Ask::Null(true),
        (IsNot, Fixed::None) => Ask::Null(false),
        (Eq | Ne, Fixed::Str(text)) => Ask::Text(text.clone(), operator == Eq),
        (operator, Fixed::Int(number)) if Order::new(operator).is_some() => {
            Ask::Int(Order::new(operator)?, *number)
        }
        (operator, fixed) => Ask::Compare(operator, Scalar::of(fixed)?),
    })
}

/// Whether a test is of what [`super::quick`] looks at, and of no local.
fn is_quick(code: &Code) -> bool {
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
            of_path(owner) && matches!(&**args, [Code::Fixed(_)])
        }
        Code::Compare(first, others) => match (&**first, &**others) {
            (first, [(_, Code::Fixed(_))]) => of_path(first),
            (Code::Fixed(_), [(_, other)] | [(_, other), (_, Code::Fixed(_))]) => of_path(other),
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
fn texts(items: &[Fixed]) -> Option<Box<[Box<str>]>> {
    if items.len() > FEW {
        return None;
    }
    let texts = items.iter().map(|item| item.text().map(Into::into));
    texts.collect()
}
