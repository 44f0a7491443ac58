//! Glances: how far a course goes by tests of what paths lead to, prepared so that it takes no machine to judge them.
//!
//! PERF: a machine takes 150 instructions to set up and to drop, and a test that is looked up in the code 60 more than one
//! that is prepared. Most rules test a few values and return.
//!
//! INVARIANT: as for [`super::quick`]: an answer given here is that of the walk, and takes as many steps of the budget as it
//! does. Whatever else a course does the machine does, from the turn where a glance does not tell.

mod prepare;

use super::course::{Start, Turn};
use super::fixed::Fixed;
use super::node::{Comparison, Function, Types};
use super::quick::{Seen, Sight, is_mapping, scalars};
use super::slots::Slots;
use super::text;
use super::value::Budget;
use super::world::World;
use crate::limits::MAX_SCRIPT_STEPS;
use crate::value::{Step, Value, View};
pub(super) use prepare::prepare;

/// A turn as far as a glance tells it.
#[derive(Debug)]
pub(crate) enum Glance {
    /// It does not.
    Machine,
    /// None is returned.
    Pass,
    /// A decision that is always the same.
    Say(u32),
    /// A local takes what is read; what follows.
    Hold(Read, u32),
    /// A test that [`super::quick`] judges as it is written; what follows when it is true, and when it is false.
    Written(u32, u32),
    /// A test; what follows when it is true, and when it is false.
    Test(Read, Ask, u32, u32),
}

/// What is read.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    path: u32,
    /// Whether a local holds it already: it must be what was read then.
    held: bool,
    /// What it is where the path leads nowhere; `None`: that raises.
    otherwise: Option<Box<Otherwise>>,
}

/// `owner.get(key, default)` of a mapping without the key.
#[derive(Clone, Debug)]
struct Otherwise {
    owner: u32,
    default: Scalar,
    steps: u64,
}

/// A constant.
#[derive(Clone, Debug)]
pub(crate) enum Scalar {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Box<str>),
}

/// What is asked of a value.
#[derive(Debug)]
pub(crate) enum Ask {
    /// Its truth.
    Truth,
    /// Whether it is None; false: whether it is not.
    Null(bool),
    /// `value == text`; false: `value != text`.
    Text(Box<str>, bool),
    /// `value operator number`
    Int(Order, i64),
    /// `value operator constant`
    Compare(Comparison, Scalar),
    /// `constant operator value operator constant`, as two comparisons of the value.
    Between(Box<[(Comparison, Scalar); 2]>),
    /// `value operator value`
    With(Comparison, Read),
    /// Whether it is one of these; true: whether it is none.
    Among(Box<[Box<str>]>, bool),
    /// Whether this is in it; true: whether it is not.
    Finds(Box<str>, bool),
    /// Whether it begins with one of these; true: whether it ends so.
    Affix(Box<[Box<str>]>, bool),
    /// Whether it is there, in the mapping that another path leads to; true: whether it is not.
    Has(u32, bool),
    /// Whether it is of one of these types.
    Is(Types),
    /// Whether this is so of each of its elements, or of any.
    Each(Box<Each>),
}

/// `any(test for element in value)`, or `all`.
#[derive(Debug)]
pub(crate) struct Each {
    any: bool,
    ask: Ask,
    /// Whether the answer to what is asked is negated.
    negated: bool,
}

/// An order or an equality, and the orders of two numbers that it holds for. PERF: these are looked up, not branched on.
#[derive(Debug)]
pub(crate) struct Order {
    operator: Comparison,
    less: bool,
    equal: bool,
    greater: bool,
}

impl Order {
    fn new(operator: Comparison) -> Option<Self> {
        use Comparison::{Eq, Ge, Gt, In, Is, IsNot, Le, Lt, Ne, NotIn};
        let (less, equal, greater) = match operator {
            Eq => (false, true, false),
            Ne => (true, false, true),
            Lt => (true, false, false),
            Le => (true, true, false),
            Gt => (false, false, true),
            Ge => (false, true, true),
            In | NotIn | Is | IsNot => return None,
        };
        Some(Self {
            operator,
            less,
            equal,
            greater,
        })
    }

    /// Whether `number operator bound`.
    #[inline]
    fn holds(&self, number: i64, bound: i64) -> bool {
        (self.less & (number < bound))
            | (self.equal & (number == bound))
            | (self.greater & (number > bound))
    }

    /// What the walk takes to compare two numbers, beyond reading them: finding that they are no texts.
    #[inline]
    fn steps(&self) -> u64 {
        u64::from(matches!(self.operator, Comparison::Eq | Comparison::Ne))
    }
}

impl Scalar {
    fn of(fixed: &Fixed) -> Option<Self> {
        Some(match fixed {
            Fixed::None => Self::None,
            Fixed::Bool(flag) => Self::Bool(*flag),
            Fixed::Int(number) => Self::Int(*number),
            Fixed::Float(number) => Self::Float(*number),
            Fixed::Str(text) => Self::Str(text.clone()),
            _ => return None,
        })
    }

    #[inline]
    fn seen(&self) -> Seen<'_> {
        match self {
            Self::None => Seen::None,
            Self::Bool(flag) => Seen::Bool(*flag),
            Self::Int(number) => Seen::Int(*number),
            Self::Float(number) => Seen::Float(*number),
            Self::Str(text) => Seen::Str(text),
        }
    }
}

/// What a function answers whose course is told by glances: the number of a decision that is always the same, or nothing;
/// otherwise where the machine begins.
#[inline]
pub(crate) fn glanced<W: World>(
    function: &Function,
    world: &mut W,
    mut start: Start,
) -> Result<Option<u32>, Start> {
    let (mut at, mut steps) = (start.at, u64::from(start.steps));
    // Whether a local holds something, or a text was made: what the machine would have to do itself.
    let (mut held, mut bytes) = (false, 0);
    loop {
        let glance = function.glances.get(at as usize);
        let (next, more) = match glance.unwrap_or(&Glance::Machine) {
            Glance::Pass | Glance::Say(_) if !world.took(steps) => return Err(start),
            Glance::Pass => return Ok(None),
            Glance::Say(number) => return Ok(Some(*number)),
            Glance::Machine => return Err(start),
            Glance::Hold(read, next) => {
                held = true;
                match read.is_there(world) {
                    Some(more) => (*next, more),
                    None => return Err(start),
                }
            }
            Glance::Test(read, ask, yes, no) => match ask.truth(read, world) {
                Some((truth, more)) => {
                    held |= matches!(ask, Ask::Each(_));
                    (if truth { *yes } else { *no }, more)
                }
                None => return Err(start),
            },
            Glance::Written(yes, no) => match written(function.turn(at), world, &mut bytes) {
                Some((truth, more)) => {
                    held |= bytes > 0;
                    (if truth { *yes } else { *no }, more)
                }
                None => return Err(start),
            },
        };
        at = next;
        steps += more;
        if steps > MAX_SCRIPT_STEPS {
            return Err(start);
        }
        if !held {
            start = Start {
                at,
                steps: steps as u32,
            };
        }
    }
}

/// The truth of a test as [`super::quick`] finds it, and what the walk takes to it; `bytes` are those of texts made so far.
#[inline(never)]
fn written<W: World>(turn: &Turn, world: &mut W, bytes: &mut usize) -> Option<(bool, u64)> {
    let Turn::Test(code, ..) = turn else {
        return None;
    };
    let (mut budget, mut buffer) = (Budget::within(MAX_SCRIPT_STEPS, 0), String::new());
    budget.both(0, *bytes)?;
    let mut sight = Sight {
        world,
        slots: &Slots::new(0),
        budget: &mut budget,
        buffer: &mut buffer,
    };
    let truth = sight.truth(code)?;
    let (steps, all) = budget.taken();
    *bytes = all;
    Some((truth, steps))
}

impl Read {
    /// What stands for a path that leads nowhere, and what the walk takes to it.
    #[inline(never)]
    fn otherwise<W: World>(&self, world: &mut W) -> Option<(&Scalar, u64)> {
        let otherwise = self.otherwise.as_ref()?;
        if self.held {
            return Some((&otherwise.default, 1));
        }
        let taken = (&otherwise.default, otherwise.steps);
        is_mapping(world, otherwise.owner).then_some(taken)
    }

    /// Whether there is something to read, and what the walk takes to it.
    #[inline]
    fn is_there<W: World>(&self, world: &mut W) -> Option<u64> {
        match world.step(self.path) {
            Step::Found(_) => Some(1),
            Step::Absent => self.otherwise(world).map(|(_, steps)| steps),
            Step::Unreadable => None,
        }
    }
}

impl Ask {
    /// The answer, and what the walk takes to it.
    #[inline]
    fn truth<W: World>(&self, read: &Read, world: &mut W) -> Option<(bool, u64)> {
        if read.held && !world.holds(read.path) {
            return None;
        }
        match (world.step(read.path), self) {
            (Step::Found(_), Self::Has(_, negated)) => Some((!negated, 3)),
            (Step::Absent, Self::Has(of, negated)) => {
                is_mapping(world, *of).then_some((*negated, 3))
            }
            (Step::Found(value), Self::With(operator, other)) => {
                let value = value.clone();
                with(&value, *operator, other, world)
            }
            (Step::Found(value), ask) => ask.judge(value),
            (Step::Absent, ask) => {
                let (scalar, steps) = read.otherwise(world)?;
                ask.of(scalar.seen(), steps)
            }
            (Step::Unreadable, _) => None,
        }
    }

    /// The answer to what is asked of a value that is there. PERF: what is asked most is answered where the value is;
    /// what is made to be looked at is written in pieces and waited for when it is moved.
    #[inline]
    fn judge<V: Value>(&self, value: &V) -> Option<(bool, u64)> {
        if let Self::Null(wanted) = self {
            return Some((value.is_null() == *wanted, 3));
        }
        if let Some(text) = value.text() {
            return match self {
                Self::Text(wanted, equal) => Some(((*text == **wanted) == *equal, 3)),
                Self::Affix(affixes, at_end) => {
                    let found = is_at(text, affixes, *at_end);
                    Some((found, 3 + scanned(text)))
                }
                ask => ask.of(Seen::Str(text), 1),
            };
        }
        match (self, &value.view()) {
            (Self::Int(order, bound), View::Int(number)) => {
                Some((order.holds(*number, *bound), 3 + order.steps()))
            }
            (ask, view) => ask.other(value, view),
        }
    }

    /// The same for what is seldom asked.
    #[inline(never)]
    fn other<V: Value>(&self, value: &V, view: &View<'_>) -> Option<(bool, u64)> {
        match (self, view) {
            (Self::Each(each), View::List) => each.judge(value),
            (ask, view) => ask.of(Seen::view(view)?, 1),
        }
    }

    /// The answer to what is asked of a value that is seen, which took some steps.
    #[inline(never)]
    fn of(&self, seen: Seen<'_>, steps: u64) -> Option<(bool, u64)> {
        Some(match (self, seen) {
            (Self::Null(wanted), seen) => (matches!(seen, Seen::None) == *wanted, steps + 2),
            (Self::Text(wanted, equal), Seen::Str(text)) => {
                ((*text == **wanted) == *equal, steps + 2)
            }
            (Self::Text(_, equal), _) => (!*equal, steps + 3),
            (Self::Int(order, bound), seen) => {
                let (answer, cost) = scalars(seen, order.operator, Seen::Int(*bound))?;
                (answer, steps + 2 + cost.taken())
            }
            (Self::Compare(operator, constant), seen) => {
                let (answer, cost) = scalars(seen, *operator, constant.seen())?;
                (answer, steps + 2 + cost.taken())
            }
            (Self::Affix(affixes, at_end), Seen::Str(text)) => {
                (is_at(text, affixes, *at_end), steps + 2 + scanned(text))
            }
            (Self::Among(texts, negated), Seen::Str(text)) => {
                let found = texts.iter().any(|item| **item == *text);
                (found != *negated, steps + 2)
            }
            (Self::Finds(wanted, negated), Seen::Str(text)) => {
                let found = text::find(text, wanted).is_some();
                (found != *negated, steps + 2 + scanned(text))
            }
            (Self::Between(both), seen) => {
                let [(one, first), (two, last)] = &**both;
                let (answer, cost) = scalars(seen, *one, first.seen())?;
                let steps = steps + 2 + cost.taken();
                if !answer {
                    return Some((false, steps));
                }
                let (answer, cost) = scalars(seen, *two, last.seen())?;
                (answer, steps + 1 + cost.taken())
            }
            (Self::Truth, seen) => (seen.truth(), steps),
            (Self::Is(types), seen) => (seen.types().meets(*types), steps + 1),
            (Self::Affix(..) | Self::Among(..) | Self::Finds(..), _)
            | (Self::Has(..) | Self::With(..) | Self::Each(_), _) => return None,
        })
    }
}

/// Whether one of these is at an end of a text.
#[inline]
fn is_at(text: &str, affixes: &[Box<str>], at_end: bool) -> bool {
    affixes.iter().any(|affix| {
        if at_end {
            text.ends_with(&**affix)
        } else {
            text.starts_with(&**affix)
        }
    })
}

fn scanned(text: &str) -> u64 {
    Budget::scanned(text) as u64
}

/// `value operator other`
#[inline(never)]
fn with<W: World>(
    value: &W::Value,
    operator: Comparison,
    other: &Read,
    world: &mut W,
) -> Option<(bool, u64)> {
    if other.held && !world.holds(other.path) {
        return None;
    }
    let (default, steps) = match world.step(other.path) {
        Step::Found(other) => {
            if let (Comparison::Eq | Comparison::Ne, Some(one), Some(two)) =
                (operator, value.text(), other.text())
            {
                return Some(((one == two) == (operator == Comparison::Eq), 3));
            }
            let (one, two) = (Seen::view(&value.view())?, Seen::view(&other.view())?);
            let (answer, cost) = scalars(one, operator, two)?;
            return Some((answer, 3 + cost.taken()));
        }
        Step::Absent => other.otherwise(world)?,
        Step::Unreadable => return None,
    };
    let (answer, cost) = scalars(Seen::view(&value.view())?, operator, default.seen())?;
    Some((answer, 2 + steps + cost.taken()))
}

impl Each {
    fn judge<V: Value>(&self, list: &V) -> Option<(bool, u64)> {
        let (mut index, mut steps) = (0, 2);
        while let Some(item) = list.item(index) {
            let (truth, more) = self.ask.judge(&item)?;
            steps += 1 + more;
            if steps > MAX_SCRIPT_STEPS {
                return None;
            }
            if (truth != self.negated) == self.any {
                return Some((self.any, steps));
            }
            index += 1;
        }
        Some((!self.any, steps + 1))
    }
}
