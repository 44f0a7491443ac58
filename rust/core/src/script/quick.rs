//! Short cuts of the walk: tests on a value of the request, a local or a constant, judged where the value is.
//!
//! PERF: the walk copies a value to look at it, and makes another one of what it finds. Most tests of a rule compare a
//! string or a number with a constant.
//!
//! INVARIANT: an answer given here is that of the walk, and takes as many steps of the budget as it does; anything that
//! could raise is left to the walk.

use std::cmp::Ordering;

use super::fixed::Fixed;
use super::machine::World;
use super::node::{Builtin, Code, Comparison, Method, Types};
use super::slots::Slots;
use super::text;
use super::value::{Budget, Val};
use crate::matcher::number::compare_int_float;
use crate::value::{Step, Value, View};

/// A value as it stands where it is.
#[derive(Clone, Copy, Debug)]
enum Seen<'v> {
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
}

impl<'v> Seen<'v> {
    #[inline]
    fn view(view: View<'v>) -> Option<Self> {
        Some(match view {
            View::Str(text) => Self::Str(text),
            View::Null => Self::None,
            View::Bool(flag) => Self::Bool(flag),
            View::Int(number) => Self::Int(number),
            View::Float(number) => Self::Float(number),
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

/// How many steps the walk takes to read a value that is there.
const READ: usize = 1;

/// A value, and how many steps the walk takes to it.
type Sighted<'v> = (Seen<'v>, usize);

/// What `code` is, where a look tells.
#[inline]
fn see<'s, 'p, W: World>(
    world: &'s mut W,
    slots: &'s Slots<'p, W::Value>,
    code: &'p Code,
) -> Option<Sighted<'s>>
where
    'p: 's,
{
    match code {
        Code::Path(path, slow) => {
            if matches!(world.step(*path), Step::Absent) {
                return default_of(world, slow);
            }
            match world.step(*path) {
                Step::Found(value) => Some((Seen::view(value.view())?, READ)),
                Step::Absent | Step::Unreadable => None,
            }
        }
        Code::Local(slot) => Some((Seen::local(slots.get(*slot)?)?, READ)),
        Code::Fixed(fixed) => Some((Seen::fixed(fixed)?, READ)),
        Code::Call(Builtin::Len, args) => match &**args {
            [of] => Some((Seen::Int(length(world, slots, of)?), READ + 1)),
            _ => None,
        },
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
        [_] => Some((Seen::None, 4)),
        [_, Code::Fixed(default)] => Some((Seen::fixed(default)?, 5)),
        _ => None,
    }
}

fn is_mapping<W: World>(world: &mut W, path: u32) -> bool {
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
                let (seen, steps) = see(self.world, self.slots, code)?;
                let truth = match seen {
                    Seen::None => false,
                    Seen::Bool(flag) => flag,
                    Seen::Int(number) => number != 0,
                    Seen::Float(number) => number != 0.0,
                    Seen::Str(text) => !text.is_empty(),
                };
                self.budget.steps(steps).ok()?;
                Some(truth)
            }
            Code::Regex(node) => {
                let (pattern, text) = &**node;
                let (Seen::Str(text), steps) = see(self.world, self.slots, text)? else {
                    return None;
                };
                self.budget.steps(steps + Budget::scanned(text)).ok()?;
                Some(pattern.matches(text))
            }
            Code::IsInstance(of, types) => {
                let (seen, steps) = see(self.world, self.slots, of)?;
                let found = match seen {
                    Seen::None => Types::NONE,
                    Seen::Bool(_) => Types::BOOL.and(Types::INT),
                    Seen::Int(_) => Types::INT,
                    Seen::Float(_) => Types::FLOAT,
                    Seen::Str(_) => Types::STR.and(Types::SEQUENCE),
                };
                self.budget.steps(1 + steps).ok()?;
                Some(found.meets(*types))
            }
            _ => None,
        }
    }

    #[inline]
    fn comparison(
        &mut self,
        first: &'p Code,
        operator: Comparison,
        other: &'p Code,
    ) -> Option<bool> {
        let (answer, steps) = match (first, other) {
            (first, Code::Fixed(fixed)) => {
                let (seen, steps) = see(self.world, self.slots, first)?;
                let (answer, more) = against(seen, operator, fixed)?;
                (answer, steps + READ + more)
            }
            (Code::Fixed(Fixed::Str(wanted)), other)
                if matches!(operator, Comparison::In | Comparison::NotIn) =>
            {
                let (Seen::Str(text), steps) = see(self.world, self.slots, other)? else {
                    return None;
                };
                let found = text::find(text, wanted).is_some();
                let steps = steps + READ + Budget::scanned(text);
                (found == (operator == Comparison::In), steps)
            }
            _ => return None,
        };
        self.budget.steps(1 + steps).ok()?;
        Some(answer)
    }

    #[inline]
    fn affix(&mut self, owner: &'p Code, affix: &'p Fixed, at_end: bool) -> Option<bool> {
        let (Seen::Str(text), steps) = see(self.world, self.slots, owner)? else {
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
        let steps = 1 + steps + READ + Budget::scanned(text);
        self.budget.steps(steps).ok()?;
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
        self.budget.steps(1 + READ + READ).ok()?;
        Some(found != negated)
    }
}

/// `seen operator fixed`, and how many steps it takes beyond the two reads.
#[inline]
fn against(seen: Seen<'_>, operator: Comparison, fixed: &Fixed) -> Option<(bool, usize)> {
    use Comparison::{Eq, Ge, Gt, In, Is, IsNot, Le, Lt, Ne, NotIn};
    match operator {
        Eq | Ne => {
            let (equal, steps) = match (seen, Seen::fixed(fixed)?) {
                (Seen::Str(left), Seen::Str(right)) => (left == right, 0),
                (Seen::None, Seen::None) => (true, 1),
                (left, right) => match left.order(right) {
                    Some(order) => (order == Some(Ordering::Equal), 1),
                    None => (false, 1),
                },
            };
            Some((equal == (operator == Eq), steps))
        }
        Is | IsNot => {
            let same = match (seen, Seen::fixed(fixed)?) {
                (Seen::None, Seen::None) => true,
                (Seen::Bool(left), Seen::Bool(right)) => left == right,
                (Seen::None | Seen::Bool(_), _) | (_, Seen::None | Seen::Bool(_)) => false,
                _ => return None,
            };
            Some((same == (operator == Is), 0))
        }
        Lt | Le | Gt | Ge => {
            let order = match (seen, Seen::fixed(fixed)?) {
                (Seen::Str(left), Seen::Str(right)) => Some(left.cmp(right)),
                (left, right) => left.order(right)?,
            };
            let holds = order.is_some_and(|order| match operator {
                Lt => order.is_lt(),
                Le => order.is_le(),
                Gt => order.is_gt(),
                _ => order.is_ge(),
            });
            Some((holds, 0))
        }
        In | NotIn => {
            let Seen::Str(text) = seen else {
                return None;
            };
            let (found, steps) = match fixed {
                Fixed::Str(within) => (text::find(within, text).is_some(), Budget::scanned(within)),
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
                _ => return None,
            };
            Some((found == (operator == In), steps))
        }
    }
}
