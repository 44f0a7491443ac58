//! Short cuts of the walk: tests on a value of the request, a local or a constant, judged where the value is.
//!
//! PERF: the walk copies a value to look at it, and makes another one of what it finds. Most tests of a rule compare a
//! string or a number with a constant.
//!
//! INVARIANT: an answer given here is that of the walk, and takes as many steps of the budget as it does; anything that
//! could raise is left to the walk.

use std::cmp::Ordering;
use std::ops::Add;

use super::fixed::Fixed;
use super::node::{Builtin, Code, Comparison, Method, Types};
use super::slots::Slots;
use super::text;
use super::value::{Budget, Val};
use super::world::World;
use crate::matcher::number::compare_int_float;
use crate::value::{Step, Value, View};

/// A value as it stands where it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen<'v> {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(&'v str),
}

/// Where a value may be looked at.
pub(super) struct Sight<'s, 'p, W: World> {
    pub(super) world: &'s mut W,
    pub(super) slots: &'s Slots<'p, W::Value>,
    pub(super) budget: &'s mut Budget,
    /// For texts that are made to be looked at.
    pub(super) buffer: &'s mut String,
}

impl<'v> Seen<'v> {
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
    fn fixed(fixed: &'v Fixed) -> Option<Self> {
        Some(match fixed {
            Fixed::Str(text) => Self::Str(text),
            Fixed::None => Self::None,
            Fixed::Bool(flag) => Self::Bool(*flag),
            Fixed::Int(number) => Self::Int(*number),
            Fixed::Float(number) => Self::Float(*number),
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

    /// The exact order of two numbers; `None` where one is none.
    #[inline]
    fn order(self, other: Self) -> Option<Option<Ordering>> {
        let number = |seen| match seen {
            Self::Bool(flag) => Self::Int(i64::from(flag)),
            seen => seen,
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

/// What the walk takes from the budget.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    steps: usize,
    bytes: usize,
}

/// Reading a value that is there.
const READ: Cost = Cost::steps(1);

impl Cost {
    /// Steps that make no bytes.
    #[inline]
    pub(super) const fn taken(self) -> u64 {
        self.steps as u64
    }

    const fn steps(steps: usize) -> Self {
        Self { steps, bytes: 0 }
    }

    /// Looking through a text.
    #[inline]
    fn scan(text: &str) -> Self {
        Self::steps(Budget::scanned(text))
    }
}

impl Add for Cost {
    type Output = Self;

    #[inline]
    fn add(self, more: Self) -> Self {
        Self {
            steps: self.steps + more.steps,
            bytes: self.bytes + more.bytes,
        }
    }
}

/// A value, and what the walk takes to it.
type Sighted<'v> = (Seen<'v>, Cost);

/// What `code` is, where a look tells. `buffer` is for a text that is made.
#[inline]
fn see<'s, 'p: 's, W: World>(
    world: &'s mut W,
    slots: &'s Slots<'p, W::Value>,
    buffer: &'s mut String,
    code: &'p Code,
) -> Option<Sighted<'s>> {
    match code {
        Code::Method(of, method @ (Method::Lower | Method::Strip), args) if args.is_empty() => {
            let (Seen::Str(text), cost) = simple(world, slots, of)? else {
                return None;
            };
            let cost = cost + Cost::steps(1) + Cost::scan(text);
            let found = if *method == Method::Strip {
                text::strip(text, None)
            } else if !text.is_ascii() {
                return None;
            } else if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
                buffer.clear();
                buffer.push_str(text);
                buffer.make_ascii_lowercase();
                let bytes = Budget::made(buffer);
                return Some((Seen::Str(buffer), cost + Cost { steps: 0, bytes }));
            } else {
                text
            };
            let made = found.len() != text.len();
            let bytes = if made { Budget::made(found) } else { 0 };
            Some((Seen::Str(found), cost + Cost { steps: 0, bytes }))
        }
        Code::Call(Builtin::Len, args) => match &**args {
            [of] => {
                let length = Seen::Int(length(world, slots, of)?);
                Some((length, READ + Cost::steps(1)))
            }
            _ => None,
        },
        code => simple(world, slots, code),
    }
}

/// A path, a local or a constant.
#[inline]
fn simple<'s, 'p: 's, W: World>(
    world: &'s mut W,
    slots: &'s Slots<'p, W::Value>,
    code: &'p Code,
) -> Option<Sighted<'s>> {
    match code {
        Code::Path(path, slow) => {
            let may_be_absent = matches!(**slow, Code::Method(_, Method::Get, _));
            if may_be_absent && matches!(world.step(*path), Step::Absent) {
                return default_of(world, slow);
            }
            match world.step(*path) {
                Step::Found(value) => Some((Seen::view(&value.view())?, READ)),
                Step::Absent | Step::Unreadable => None,
            }
        }
        Code::Local(slot) => Some((Seen::local(slots.get(*slot)?)?, READ)),
        Code::Fixed(fixed) => Some((Seen::fixed(fixed)?, READ)),
        _ => None,
    }
}

/// What `owner.get(key)` and `owner.get(key, constant)` are of a mapping without the key.
fn default_of<'p, W: World>(world: &mut W, get: &'p Code) -> Option<Sighted<'p>> {
    let Code::Method(owner, Method::Get, args) = get else {
        return None;
    };
    let Code::Path(owner, _) = &**owner else {
        return None;
    };
    if !is_mapping(world, *owner) {
        return None;
    }
    // The path, the call, its owner and its arguments.
    match &**args {
        [_] => Some((Seen::None, Cost::steps(4))),
        [_, Code::Fixed(default)] => Some((Seen::fixed(default)?, Cost::steps(5))),
        _ => None,
    }
}

pub(super) fn is_mapping<W: World>(world: &mut W, path: u32) -> bool {
    matches!(world.step(path), Step::Found(value) if matches!(value.view(), View::Map))
}

/// `len(of)`
fn length<'p, W: World>(world: &mut W, slots: &Slots<'p, W::Value>, of: &'p Code) -> Option<i64> {
    let length = match of {
        Code::Path(path, _) => match world.step(*path) {
            Step::Found(value) => match value.view() {
                View::Str(text) => text::length(text),
                View::List | View::Map => value.checked_len()?,
                _ => return None,
            },
            Step::Absent | Step::Unreadable => return None,
        },
        Code::Local(slot) => slots.get(*slot)?.len().ok()?,
        _ => return None,
    };
    i64::try_from(length).ok()
}

impl<'p, W: World> Sight<'_, 'p, W> {
    /// The truth of `code`; `None`: the walk finds out.
    #[inline]
    pub(super) fn truth(&mut self, code: &'p Code) -> Option<bool> {
        match code {
            Code::Compare(first, others) => match &**others {
                [(operator, other)] => self.comparison(first, *operator, other),
                [(one, value), (two, Code::Fixed(last))] => match &**first {
                    Code::Fixed(first) => self.chain(first, (*one, value), (*two, last)),
                    _ => None,
                },
                _ => None,
            },
            Code::Method(owner, method @ (Method::StartsWith | Method::EndsWith), args) => {
                match &**args {
                    [Code::Fixed(affix)] => self.affix(owner, affix, *method == Method::EndsWith),
                    _ => None,
                }
            }
            Code::Has(path, of, compare) => self.has(*path, *of, compare),
            Code::Path(..) | Code::Local(_) => {
                let (seen, cost) = see(self.world, self.slots, self.buffer, code)?;
                let truth = seen.truth();
                self.take(cost)?;
                Some(truth)
            }
            Code::Regex(node) => {
                let (pattern, text) = &**node;
                let (Seen::Str(text), cost) = see(self.world, self.slots, self.buffer, text)?
                else {
                    return None;
                };
                let cost = cost + Cost::scan(text);
                self.budget.both(cost.steps, cost.bytes)?;
                pattern.matches(text, self.budget).ok()
            }
            Code::IsInstance(of, types) => {
                let (seen, cost) = see(self.world, self.slots, self.buffer, of)?;
                let found = seen.types().meets(*types);
                self.take(cost + Cost::steps(1))?;
                Some(found)
            }
            _ => None,
        }
    }

    #[inline]
    fn take(&mut self, cost: Cost) -> Option<()> {
        self.budget.both(cost.steps, cost.bytes)
    }

    #[inline]
    fn comparison(
        &mut self,
        first: &'p Code,
        operator: Comparison,
        other: &'p Code,
    ) -> Option<bool> {
        let (answer, cost) = match (first, other) {
            (first, Code::Fixed(fixed)) => {
                let (seen, cost) = see(self.world, self.slots, self.buffer, first)?;
                let (answer, more) = against(seen, operator, fixed)?;
                (answer, cost + READ + more)
            }
            (Code::Fixed(fixed), other) => {
                let (seen, cost) = see(self.world, self.slots, self.buffer, other)?;
                let (answer, more) = scalars(Seen::fixed(fixed)?, operator, seen)?;
                (answer, cost + READ + more)
            }
            (Code::Path(path, _), other @ (Code::Path(..) | Code::Local(_))) => {
                let Step::Found(value) = self.world.step(*path).clone() else {
                    return None;
                };
                let left = Seen::view(&value.view())?;
                let (right, cost) = simple(self.world, self.slots, other)?;
                let (answer, more) = scalars(left, operator, right)?;
                (answer, cost + READ + more)
            }
            _ => return None,
        };
        self.take(cost + Cost::steps(1))?;
        Some(answer)
    }

    /// `constant operator value operator constant`
    #[inline]
    fn chain(
        &mut self,
        first: &'p Fixed,
        (one, value): (Comparison, &'p Code),
        (two, last): (Comparison, &'p Fixed),
    ) -> Option<bool> {
        let (seen, cost) = see(self.world, self.slots, self.buffer, value)?;
        let (mut answer, more) = scalars(Seen::fixed(first)?, one, seen)?;
        let mut cost = cost + READ + more + Cost::steps(1);
        if answer {
            let (holds, more) = against(seen, two, last)?;
            (answer, cost) = (holds, cost + READ + more);
        }
        self.take(cost)?;
        Some(answer)
    }

    #[inline]
    fn affix(&mut self, owner: &'p Code, affix: &'p Fixed, at_end: bool) -> Option<bool> {
        let (Seen::Str(text), cost) = see(self.world, self.slots, self.buffer, owner)? else {
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
            Fixed::Str(affix) => has(affix),
            Fixed::Tuple(affixes) => {
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
        let cost = cost + READ + Cost::steps(1) + Cost::scan(text);
        self.take(cost)?;
        Some(found)
    }

    #[inline]
    fn has(&mut self, path: u32, of: u32, compare: &Code) -> Option<bool> {
        let Code::Compare(_, others) = compare else {
            return None;
        };
        let negated = matches!(&**others, [(Comparison::NotIn, _)]);
        let found = match self.world.step(path) {
            Step::Found(_) => true,
            Step::Absent => false,
            Step::Unreadable => return None,
        };
        if !found && !is_mapping(self.world, of) {
            return None;
        }
        self.take(READ + READ + Cost::steps(1))?;
        Some(found != negated)
    }
}

/// `left operator right`, and what it takes beyond reading the two.
#[inline]
pub(super) fn scalars(
    left: Seen<'_>,
    operator: Comparison,
    right: Seen<'_>,
) -> Option<(bool, Cost)> {
    use Comparison::{Eq, Ge, Gt, In, Is, IsNot, Le, Lt, Ne, NotIn};
    match operator {
        Eq | Ne => {
            let (equal, steps) = match (left, right) {
                (Seen::Str(left), Seen::Str(right)) => (left == right, 0),
                (Seen::None, Seen::None) => (true, 1),
                (left, right) => match left.order(right) {
                    Some(order) => (order == Some(Ordering::Equal), 1),
                    None => (false, 1),
                },
            };
            Some((equal == (operator == Eq), Cost::steps(steps)))
        }
        Is | IsNot => {
            let same = match (left, right) {
                (Seen::None, Seen::None) => true,
                (Seen::Bool(left), Seen::Bool(right)) => left == right,
                (Seen::None | Seen::Bool(_), _) | (_, Seen::None | Seen::Bool(_)) => false,
                _ => return None,
            };
            Some((same == (operator == Is), Cost::default()))
        }
        Lt | Le | Gt | Ge => {
            let order = match (left, right) {
                (Seen::Str(left), Seen::Str(right)) => Some(left.cmp(right)),
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
            let (Seen::Str(wanted), Seen::Str(text)) = (left, right) else {
                return None;
            };
            let found = text::find(text, wanted).is_some();
            Some((found == (operator == In), Cost::scan(text)))
        }
    }
}

/// `seen operator fixed`, and what it takes beyond reading the two.
#[inline]
fn against(seen: Seen<'_>, operator: Comparison, fixed: &Fixed) -> Option<(bool, Cost)> {
    let (Comparison::In | Comparison::NotIn, Seen::Str(text)) = (operator, seen) else {
        return scalars(seen, operator, Seen::fixed(fixed)?);
    };
    let (found, steps) = match fixed {
        Fixed::Set(set) => (set.has_text(text), 0),
        Fixed::Dict(dict) => (dict.get_text(text).is_some(), 0),
        Fixed::Tuple(items) | Fixed::List(items) => {
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
        fixed => return scalars(seen, operator, Seen::fixed(fixed)?),
    };
    Some((found == (operator == Comparison::In), Cost::steps(steps)))
}
