//! Inline evaluation: tests on a value of the request, a local or a constant, without copying the value.
//!
//! PERF: the walk copies a value to look at it, and makes another one of what it finds. Most tests of a rule compare a
//! string or a number with a constant.
//!
//! INVARIANT: an answer given here is that of the walk, and takes as many steps of the budget as it does; anything that
//! could raise is left to the walk.

use std::cmp::Ordering;
use std::ops::Add;

use super::ast::{Builtin, Code, Comparison, Method, Types};
use super::builtins::text;
use super::consts::PyConst;
use super::interp::env::Env;
use super::interp::locals::Locals;
use super::interp::value::{Budget, Val};
use crate::num::number::compare_int_float;
use crate::value::{Step, Value, View};

/// A borrowed scalar.
#[derive(Clone, Copy, Debug)]
pub(super) enum ScalarRef<'v> {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(&'v str),
}

/// The context of an inline evaluation.
pub(super) struct Ctx<'s, 'p, W: Env> {
    pub(super) env: &'s mut W,
    pub(super) locals: &'s Locals<'p, W::Value>,
    pub(super) budget: &'s mut Budget,
    /// Buffer for texts that are built for a test.
    pub(super) buffer: &'s mut String,
}

impl<'v> ScalarRef<'v> {
    #[inline]
    pub(super) fn view(view: &View<'v>) -> Option<Self> {
        Some(match view {
            View::Str(text) => Self::Str(text),
            View::Null => Self::None,
            View::Bool(flag) => Self::Bool(*flag),
            View::Int(number) => Self::Int(*number),
            View::Float(number) => Self::Float(*number),
            _ => return None,
        })
    }

    #[inline]
    fn constant(constant: &'v PyConst) -> Option<Self> {
        Some(match constant {
            PyConst::Str(text) => Self::Str(text),
            PyConst::None => Self::None,
            PyConst::Bool(flag) => Self::Bool(*flag),
            PyConst::Int(number) => Self::Int(*number),
            PyConst::Float(number) => Self::Float(*number),
            _ => return None,
        })
    }

    #[inline]
    fn local<V: Value>(value: &'v Val<'_, V>) -> Option<Self> {
        Some(match value {
            Val::None => Self::None,
            Val::Bool(flag) => Self::Bool(*flag),
            Val::Int(number) => Self::Int(*number),
            Val::Float(number) => Self::Float(*number),
            value => Self::Str(value.text()?),
        })
    }

    /// `bool(self)`
    #[inline]
    pub(super) fn truth(self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(flag) => flag,
            Self::Int(number) => number != 0,
            Self::Float(number) => number != 0.0,
            Self::Str(text) => !text.is_empty(),
        }
    }

    /// The types `isinstance` finds it to be.
    #[inline]
    pub(super) fn types(self) -> Types {
        match self {
            Self::None => Types::NONE,
            Self::Bool(_) => Types::BOOL.and(Types::INT),
            Self::Int(_) => Types::INT,
            Self::Float(_) => Types::FLOAT,
            Self::Str(_) => Types::STR.and(Types::SEQUENCE),
        }
    }

    /// The exact order of two numbers; `None` if one is NaN.
    #[inline]
    fn order(self, other: Self) -> Option<Option<Ordering>> {
        let number = |scalar| match scalar {
            Self::Bool(flag) => Self::Int(i64::from(flag)),
            scalar => scalar,
        };
        Some(match (number(self), number(other)) {
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(&right)),
            (Self::Int(left), Self::Float(right)) => compare_int_float(left, right),
            (Self::Float(left), Self::Int(right)) => {
                compare_int_float(right, left).map(Ordering::reverse)
            }
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(&right),
            _ => return None,
        })
    }
}

/// The steps that the walk takes from the budget.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    fuel: usize,
    bytes: usize,
}

/// Reading a value that is there.
const READ: Cost = Cost::fuel(1);

impl Cost {
    /// Steps that make no bytes.
    #[inline]
    pub(super) const fn taken(self) -> u64 {
        self.fuel as u64
    }

    const fn fuel(fuel: usize) -> Self {
        Self { fuel, bytes: 0 }
    }

    /// Looking through a text.
    #[inline]
    fn scan(text: &str) -> Self {
        Self::fuel(Budget::scanned(text))
    }
}

impl Add for Cost {
    type Output = Self;

    #[inline]
    fn add(self, more: Self) -> Self {
        Self {
            fuel: self.fuel + more.fuel,
            bytes: self.bytes + more.bytes,
        }
    }
}

/// A value, and what the walk takes to it.
type Costed<'v> = (ScalarRef<'v>, Cost);

/// Returns the value of `code`, if inline evaluation can compute it. `buffer` is for a text that is built.
#[inline]
fn scalar_of<'s, 'p: 's, W: Env>(
    env: &'s mut W,
    locals: &'s Locals<'p, W::Value>,
    buffer: &'s mut String,
    code: &'p Code,
) -> Option<Costed<'s>> {
    match code {
        Code::Method(of, method @ (Method::Lower | Method::Strip), args) if args.is_empty() => {
            let (ScalarRef::Str(text), cost) = simple(env, locals, of)? else {
                return None;
            };
            let cost = cost + Cost::fuel(1) + Cost::scan(text);
            let found = if *method == Method::Strip {
                text::strip(text, None)
            } else if !text.is_ascii() {
                return None;
            } else if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
                buffer.clear();
                buffer.push_str(text);
                buffer.make_ascii_lowercase();
                let bytes = Budget::made(buffer);
                return Some((ScalarRef::Str(buffer), cost + Cost { fuel: 0, bytes }));
            } else {
                text
            };
            let made = found.len() != text.len();
            let bytes = if made { Budget::made(found) } else { 0 };
            Some((ScalarRef::Str(found), cost + Cost { fuel: 0, bytes }))
        }
        Code::Call(Builtin::Len, args) => match &**args {
            [of] => {
                let length = ScalarRef::Int(length(env, locals, of)?);
                Some((length, READ + Cost::fuel(1)))
            }
            _ => None,
        },
        code => simple(env, locals, code),
    }
}

/// A path, a local or a constant.
#[inline]
fn simple<'s, 'p: 's, W: Env>(
    env: &'s mut W,
    locals: &'s Locals<'p, W::Value>,
    code: &'p Code,
) -> Option<Costed<'s>> {
    match code {
        Code::Path(path, slow) => {
            let may_be_absent = matches!(**slow, Code::Method(_, Method::Get, _));
            if may_be_absent && matches!(env.step(*path), Step::Absent) {
                return default_of(env, slow);
            }
            match env.step(*path) {
                Step::Found(value) => Some((ScalarRef::view(&value.view())?, READ)),
                Step::Absent | Step::Unreadable => None,
            }
        }
        Code::Local(slot) => Some((ScalarRef::local(locals.get(*slot)?)?, READ)),
        Code::Const(constant) => Some((ScalarRef::constant(constant)?, READ)),
        _ => None,
    }
}

/// Returns the value of `owner.get(key)` and `owner.get(key, constant)` on a mapping without the key.
fn default_of<'p, W: Env>(env: &mut W, get: &'p Code) -> Option<Costed<'p>> {
    let Code::Method(owner, Method::Get, args) = get else {
        return None;
    };
    let Code::Path(owner, _) = &**owner else {
        return None;
    };
    if !is_mapping(env, *owner) {
        return None;
    }
    // The path, the call, its owner and its arguments.
    match &**args {
        [_] => Some((ScalarRef::None, Cost::fuel(4))),
        [_, Code::Const(default)] => Some((ScalarRef::constant(default)?, Cost::fuel(5))),
        _ => None,
    }
}

pub(super) fn is_mapping<W: Env>(env: &mut W, path: u32) -> bool {
    matches!(env.step(path), Step::Found(value) if matches!(value.view(), View::Map))
}

/// `len(of)`
fn length<'p, W: Env>(env: &mut W, locals: &Locals<'p, W::Value>, of: &'p Code) -> Option<i64> {
    let length = match of {
        Code::Path(path, _) => match env.step(*path) {
            Step::Found(value) => match value.view() {
                View::Str(text) => text::length(text),
                View::List | View::Map => value.checked_len()?,
                _ => return None,
            },
            Step::Absent | Step::Unreadable => return None,
        },
        Code::Local(slot) => locals.get(*slot)?.len().ok()?,
        _ => return None,
    };
    i64::try_from(length).ok()
}

impl<'p, W: Env> Ctx<'_, 'p, W> {
    /// The truth of `code`; `None`: the walk finds out.
    #[inline]
    pub(super) fn truth(&mut self, code: &'p Code) -> Option<bool> {
        match code {
            Code::Compare(first, others) => match &**others {
                [(operator, other)] => self.comparison(first, *operator, other),
                [(one, value), (two, Code::Const(last))] => match &**first {
                    Code::Const(first) => self.chain(first, (*one, value), (*two, last)),
                    _ => None,
                },
                _ => None,
            },
            Code::Method(owner, method @ (Method::StartsWith | Method::EndsWith), args) => {
                match &**args {
                    [Code::Const(affix)] => self.affix(owner, affix, *method == Method::EndsWith),
                    _ => None,
                }
            }
            Code::Has(path, of, compare) => self.has(*path, *of, compare),
            Code::Path(..) | Code::Local(_) => {
                let (scalar, cost) = scalar_of(self.env, self.locals, self.buffer, code)?;
                let truth = scalar.truth();
                self.take(cost)?;
                Some(truth)
            }
            Code::Regex(node) => {
                let (pattern, text) = &**node;
                let (ScalarRef::Str(text), cost) =
                    scalar_of(self.env, self.locals, self.buffer, text)?
                else {
                    return None;
                };
                let cost = cost + Cost::scan(text);
                self.budget.both(cost.fuel, cost.bytes)?;
                pattern.matches(text, self.budget).ok()
            }
            Code::IsInstance(of, types) => {
                let (scalar, cost) = scalar_of(self.env, self.locals, self.buffer, of)?;
                let found = scalar.types().meets(*types);
                self.take(cost + Cost::fuel(1))?;
                Some(found)
            }
            _ => None,
        }
    }

    #[inline]
    fn take(&mut self, cost: Cost) -> Option<()> {
        self.budget.both(cost.fuel, cost.bytes)
    }

    #[inline]
    fn comparison(
        &mut self,
        first: &'p Code,
        operator: Comparison,
        other: &'p Code,
    ) -> Option<bool> {
        let (answer, cost) = match (first, other) {
            (first, Code::Const(constant)) => {
                let (scalar, cost) = scalar_of(self.env, self.locals, self.buffer, first)?;
                let (answer, more) = against(scalar, operator, constant)?;
                (answer, cost + READ + more)
            }
            (Code::Const(constant), other) => {
                let (scalar, cost) = scalar_of(self.env, self.locals, self.buffer, other)?;
                let (answer, more) = scalars(ScalarRef::constant(constant)?, operator, scalar)?;
                (answer, cost + READ + more)
            }
            (Code::Path(path, _), other @ (Code::Path(..) | Code::Local(_))) => {
                let Step::Found(value) = self.env.step(*path).clone() else {
                    return None;
                };
                let left = ScalarRef::view(&value.view())?;
                let (right, cost) = simple(self.env, self.locals, other)?;
                let (answer, more) = scalars(left, operator, right)?;
                (answer, cost + READ + more)
            }
            _ => return None,
        };
        self.take(cost + Cost::fuel(1))?;
        Some(answer)
    }

    /// `constant operator value operator constant`
    #[inline]
    fn chain(
        &mut self,
        first: &'p PyConst,
        (one, value): (Comparison, &'p Code),
        (two, last): (Comparison, &'p PyConst),
    ) -> Option<bool> {
        let (scalar, cost) = scalar_of(self.env, self.locals, self.buffer, value)?;
        let (mut answer, more) = scalars(ScalarRef::constant(first)?, one, scalar)?;
        let mut cost = cost + READ + more + Cost::fuel(1);
        if answer {
            let (holds, more) = against(scalar, two, last)?;
            (answer, cost) = (holds, cost + READ + more);
        }
        self.take(cost)?;
        Some(answer)
    }

    #[inline]
    fn affix(&mut self, owner: &'p Code, affix: &'p PyConst, at_end: bool) -> Option<bool> {
        let (ScalarRef::Str(text), cost) = scalar_of(self.env, self.locals, self.buffer, owner)?
        else {
            return None;
        };
        let has = |affix: &str| {
            if at_end {
                text.ends_with(affix)
            } else {
                text.starts_with(affix)
            }
        };
        let found = match affix {
            PyConst::Str(affix) => has(affix),
            PyConst::Tuple(affixes) => {
                let mut found = false;
                for affix in affixes {
                    found = has(affix.text()?);
                    if found {
                        break;
                    }
                }
                found
            }
            _ => return None,
        };
        let cost = cost + READ + Cost::fuel(1) + Cost::scan(text);
        self.take(cost)?;
        Some(found)
    }

    #[inline]
    fn has(&mut self, path: u32, of: u32, compare: &Code) -> Option<bool> {
        let Code::Compare(_, others) = compare else {
            return None;
        };
        let negated = matches!(&**others, [(Comparison::NotIn, _)]);
        let found = match self.env.step(path) {
            Step::Found(_) => true,
            Step::Absent => false,
            Step::Unreadable => return None,
        };
        if !found && !is_mapping(self.env, of) {
            return None;
        }
        self.take(READ + READ + Cost::fuel(1))?;
        Some(found != negated)
    }
}

/// `left operator right`, and what it takes beyond reading the two.
#[inline]
pub(super) fn scalars(
    left: ScalarRef<'_>,
    operator: Comparison,
    right: ScalarRef<'_>,
) -> Option<(bool, Cost)> {
    use Comparison::{Eq, Ge, Gt, In, Is, IsNot, Le, Lt, Ne, NotIn};
    match operator {
        Eq | Ne => {
            let (equal, fuel) = match (left, right) {
                (ScalarRef::Str(left), ScalarRef::Str(right)) => (left == right, 0),
                (ScalarRef::None, ScalarRef::None) => (true, 1),
                (left, right) => match left.order(right) {
                    Some(order) => (order == Some(Ordering::Equal), 1),
                    None => (false, 1),
                },
            };
            Some((equal == (operator == Eq), Cost::fuel(fuel)))
        }
        Is | IsNot => {
            let same = match (left, right) {
                (ScalarRef::None, ScalarRef::None) => true,
                (ScalarRef::Bool(left), ScalarRef::Bool(right)) => left == right,
                (ScalarRef::None | ScalarRef::Bool(_), _)
                | (_, ScalarRef::None | ScalarRef::Bool(_)) => false,
                _ => return None,
            };
            Some((same == (operator == Is), Cost::default()))
        }
        Lt | Le | Gt | Ge => {
            let order = match (left, right) {
                (ScalarRef::Str(left), ScalarRef::Str(right)) => Some(left.cmp(right)),
                (left, right) => left.order(right)?,
            };
            let holds = order.is_some_and(|order| match operator {
                Lt => order.is_lt(),
                Le => order.is_le(),
                Gt => order.is_gt(),
                _ => order.is_ge(),
            });
            Some((holds, Cost::default()))
        }
        In | NotIn => {
            let (ScalarRef::Str(wanted), ScalarRef::Str(text)) = (left, right) else {
                return None;
            };
            let found = text::find(text, wanted).is_some();
            Some((found == (operator == In), Cost::scan(text)))
        }
    }
}

/// `scalar operator constant`, and what it takes beyond reading the two.
#[inline]
fn against(
    scalar: ScalarRef<'_>,
    operator: Comparison,
    constant: &PyConst,
) -> Option<(bool, Cost)> {
    let (Comparison::In | Comparison::NotIn, ScalarRef::Str(text)) = (operator, scalar) else {
        return scalars(scalar, operator, ScalarRef::constant(constant)?);
    };
    let (found, fuel) = match constant {
        PyConst::Set(set) => (set.has_text(text), 0),
        PyConst::Dict(dict) => (dict.get_text(text).is_some(), 0),
        PyConst::Tuple(items) | PyConst::List(items) => {
            let (mut found, mut others) = (false, 0);
            for item in items {
                match item.text() {
                    Some(item) => found = item == text,
                    // No string equals it, which takes a step to find.
                    None => others += 1,
                }
                if found {
                    break;
                }
            }
            (found, others)
        }
        constant => return scalars(scalar, operator, ScalarRef::constant(constant)?),
    };
    Some((found == (operator == Comparison::In), Cost::fuel(fuel)))
}
