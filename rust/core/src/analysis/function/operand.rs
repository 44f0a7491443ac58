//! Operands of the tests of a function: constants, and what is read or made of one value of the call.

use crate::lang::path::Field;
use crate::program::Program;
use crate::pyfn::ast::{Builtin, Code, Method};
use crate::pyfn::consts::PyConst;
use crate::pyfn::interp::probe::Bound;

use crate::analysis::budget::Reason;
use crate::analysis::slot::Place;

/// Locals, in the order in which they were bound.
pub(super) type Locals<'a> = Vec<(u32, Bound<'a>)>;

/// A rule whose tests are looked at.
#[derive(Clone, Copy)]
pub(super) struct Rule<'a, 'r> {
    pub(super) program: &'a Program,
    /// The number of its locals.
    pub(super) locals: usize,
    /// The reason for what is not known.
    pub(super) reason: &'r Reason,
}

/// What is made of a value before it is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Derived {
    /// A constant in its place where it is empty, or zero.
    pub(super) replaced: bool,
    /// Its text.
    pub(super) text: bool,
    pub(super) of: Of,
}

/// What is made of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Of {
    #[default]
    Itself,
    Lower,
    Length,
}

/// An operand of a test.
pub(super) enum Operand<'a> {
    Const(&'a PyConst),
    /// What is read, and the locals that hold it or a part of it.
    Value(Read, Derived, Vec<usize>),
}

/// A value that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) place: Place,
    /// True if a key is looked for in what holds it.
    pub(super) is_key: bool,
    /// True if the content of what holds it matters where that is no mapping.
    pub(super) loose: bool,
}

/// The place of a path.
pub(super) fn place_of(program: &Program, path: u32) -> Option<Place> {
    let path = program.paths.get(path as usize)?;
    let keys = path.keys.iter().skip(path.taken);
    let keys: Vec<Box<str>> = keys.map(|&id| program.key(id).text.into()).collect();
    Some(Place::new(path.field?, &keys))
}

/// Returns true if the code of a read looks at nothing but the values above it.
pub(super) fn reads_only(program: &Program, place: &Place, code: &Code) -> bool {
    match code {
        Code::Const(_) | Code::Object(_) => true,
        Code::Path(path, slow) => {
            let above = place_of(program, *path);
            above.is_some_and(|above| {
                above.field == place.field && place.keys.starts_with(&above.keys)
            }) && reads_only(program, place, slow)
        }
        Code::Attribute(of, _) => reads_only(program, place, of),
        Code::Item(both) => {
            reads_only(program, place, &both.0) && reads_only(program, place, &both.1)
        }
        Code::Method(of, Method::Get, args) => {
            reads_only(program, place, of) && args.iter().all(|arg| reads_only(program, place, arg))
        }
        Code::Mapping(entries) => entries.is_empty(),
        _ => false,
    }
}

impl<'a> Rule<'a, '_> {
    pub(super) fn read(&self, path: u32, slow: &Code, is_key: bool) -> Option<Read> {
        let place = place_of(self.program, path)?;
        let followed = !matches!(place.field(), None | Some(Field::Timestamp | Field::Scope));
        let read = followed && reads_only(self.program, &place, slow);
        read.then_some(Read {
            place,
            is_key,
            loose: is_key,
        })
    }

    pub(super) fn operand(&self, code: &'a Code, bound: &Locals<'a>) -> Option<Operand<'a>> {
        self.operand_before(code, (bound, bound.len()))
    }

    pub(super) fn operand_before(
        &self,
        code: &'a Code,
        (bound, end): (&Locals<'a>, usize),
    ) -> Option<Operand<'a>> {
        let before = |code| self.operand_before(code, (bound, end));
        let made = |code: &'a Code, make: &dyn Fn(&mut Derived)| match before(code)? {
            Operand::Value(read, mut derived, held) if derived.of == Of::Itself => {
                make(&mut derived);
                Some(Operand::Value(read, derived, held))
            }
            _ => None,
        };
        match code {
            Code::Const(constant) => Some(Operand::Const(constant)),
            Code::Path(path, slow) => {
                let read = self.read(*path, slow, false)?;
                Some(Operand::Value(read, Derived::default(), Vec::new()))
            }
            Code::Local(slot) => {
                let at = bound
                    .get(..end)?
                    .iter()
                    .rposition(|(local, _)| local == slot)?;
                match bound.get(at)?.1 {
                    Bound::Const(constant) => Some(Operand::Const(constant)),
                    Bound::Other => None,
                    Bound::Code(code) => match self.operand_before(code, (bound, at))? {
                        Operand::Value(read, derived, mut held) => {
                            held.push(at);
                            Some(Operand::Value(read, derived, held))
                        }
                        known => Some(known),
                    },
                }
            }
            Code::Item(both) => self.below(before(&both.0)?, &both.1),
            Code::Method(of, Method::Get, args) => match &**args {
                [key] => self.below(before(of)?, key),
                [key, default] => {
                    let known = match default {
                        Code::Const(_) => true,
                        Code::Mapping(entries) => entries.is_empty(),
                        _ => false,
                    };
                    known.then(|| self.below(before(of)?, key))?
                }
                _ => None,
            },
            Code::Or(items) => match &**items {
                [of, Code::Const(_)] => made(of, &|derived| derived.replaced = true),
                [of, Code::Mapping(entries)] if entries.is_empty() => {
                    made(of, &|derived| derived.replaced = true)
                }
                _ => None,
            },
            Code::Method(of, Method::Lower, args) if args.is_empty() => {
                made(of, &|derived| derived.of = Of::Lower)
            }
            Code::Call(builtin @ (Builtin::Len | Builtin::Str), args) => match &**args {
                [of] => made(of, &|derived| match builtin {
                    Builtin::Len => derived.of = Of::Length,
                    _ => derived.text = true,
                }),
                _ => None,
            },
            _ => None,
        }
    }

    /// What a key of an operand leads to.
    pub(super) fn below(&self, of: Operand<'a>, key: &Code) -> Option<Operand<'a>> {
        let (Operand::Value(read, derived, held), Code::Const(PyConst::Str(key))) = (of, key)
        else {
            return None;
        };
        let plain = Derived {
            replaced: derived.replaced,
            ..Derived::default()
        };
        let is_map = matches!(read.place.field(), Some(Field::Args | Field::Extra));
        let read = Read {
            place: read.place.below(std::slice::from_ref(key)),
            loose: read.loose || derived.replaced,
            ..read
        };
        (derived == plain && is_map).then(|| Operand::Value(read, Derived::default(), held))
    }

    /// The constant that an operand is.
    pub(super) fn constant(&self, code: &'a Code, bound: &Locals<'a>) -> Option<&'a PyConst> {
        match self.operand(code, bound)? {
            Operand::Const(constant) => Some(constant),
            Operand::Value(..) => None,
        }
    }

    /// The locals that are constants, or are needed.
    pub(super) fn kept(&self, _: &'a Code, bound: &Locals<'a>, held: &[usize]) -> Locals<'a> {
        let all = bound.iter().enumerate();
        let kept = all.filter(|(at, (_, what))| match what {
            Bound::Const(_) | Bound::Code(Code::Const(_)) => true,
            Bound::Code(_) | Bound::Other => held.contains(at),
        });
        kept.map(|(_, bound)| *bound).collect()
    }

    /// What a local is bound to by an expression.
    pub(super) fn bound(&self, code: &'a Code, bound: &Locals<'a>) -> Bound<'a> {
        match self.operand(code, bound) {
            Some(Operand::Const(constant)) => Bound::Const(constant),
            Some(Operand::Value(..)) => Bound::Code(code),
            None => Bound::Other,
        }
    }
}
