//! `occurs_in`: a text or a number occurs in other texts, as a whole.

use std::sync::OnceLock;

use super::{Inside, OperandType, Operator, Prepare, operators};
use crate::budget::Steps;
use crate::clause::context::Around;
use crate::clause::operand::Operand;
use crate::clause::predicate::{Truth, sound};
use crate::error::Fault;
use crate::text::{Haystack, Needle};
use crate::value::compare::number;
use crate::value::constant::Const;
use crate::value::{Step, Value, View};

operators! {
    "occurs_in" OperandType::Places, Text, None, None, Prepare::Places;
}

/// Bytes of a text that is read, and of one that is searched, which one step covers.
const READ: u64 = 4;
const SEARCHED: u64 = 16;

/// A text, as it is and in lower case, each read when it is first searched.
#[derive(Debug, Default)]
pub(crate) struct Haystacks([OnceLock<Box<Haystack>>; 2]);

impl Haystacks {
    fn get(&self, text: &str, lower: bool, steps: &Steps) -> Result<&Haystack, Fault> {
        let [plain, lowered] = &self.0;
        let place = if lower { lowered } else { plain };
        if place.get().is_none() {
            steps.take(text.len() as u64 / READ)?;
        }
        Ok(place.get_or_init(|| Box::new(Haystack::new(text, lower))))
    }
}

/// A place in which a value may occur.
#[derive(Debug)]
enum Place {
    Text(Box<str>, Haystacks),
    /// An index into the paths of the program.
    Path(u32),
}

/// The places of one test, of which one must have the value.
#[derive(Debug)]
pub struct Occurrence(Vec<Place>);

impl Occurrence {
    /// The test of an operand; `refs` are the paths it refers to.
    pub(crate) fn prepare(operand: &Operand, refs: &mut impl Iterator<Item = u32>) -> Option<Self> {
        let mut place = |operand: &Operand| match operand {
            Operand::Const(Const::Str(text)) => {
                Some(Place::Text(text.clone(), Haystacks::default()))
            }
            Operand::Ref(..) => refs.next().map(Place::Path),
            _ => None,
        };
        let places = match operand {
            Operand::Places(places) => places.iter().map(place).collect::<Option<_>>()?,
            operand => vec![place(operand)?],
        };
        Some(Self(places))
    }

    /// Returns true if it reads another path.
    pub(crate) fn refers(&self) -> bool {
        self.0.iter().any(|place| matches!(place, Place::Path(_)))
    }

    /// Evaluates a value that is there; `lower`: the value and the places are compared in lower case.
    pub(crate) fn evaluate<V: Value>(
        &self,
        view: &View<'_>,
        lower: bool,
        around: &impl Around<V>,
    ) -> Truth {
        let steps = around.steps();
        let mut result = Truth::Absent;
        for place in &self.0 {
            let found = match place {
                Place::Text(text, haystacks) => occurs(view, text, (haystacks, lower), steps),
                Place::Path(path) => {
                    let held = around.referred().get(*path, |path| around.at(path));
                    match &held.step {
                        Step::Absent => continue,
                        Step::Unreadable => Err(Fault::WrongType),
                        Step::Found(there) => match sound(there.view()) {
                            Ok(View::Str(text)) => {
                                occurs(view, text, (&held.haystacks, lower), steps)
                            }
                            Ok(_) => Err(Fault::WrongType),
                            Err(fault) => Err(fault),
                        },
                    }
                }
            };
            result = match (Truth::from(found), result) {
                (Truth::True, _) => return Truth::True,
                (found @ Truth::Error(Fault::BudgetExceeded), _) => return found,
                (_, result @ Truth::Error(_)) => result,
                (found, _) => found,
            };
        }
        result
    }
}

fn occurs(
    view: &View<'_>,
    text: &str,
    (haystacks, lower): (&Haystacks, bool),
    steps: &Steps,
) -> Result<bool, Fault> {
    let needle = match view {
        View::Str(needle) => {
            steps.take((needle.len() + text.len()) as u64 / SEARCHED)?;
            Some(Needle::text(needle, lower))
        }
        view => Needle::number(&number(view).ok_or(Fault::WrongType)?),
    };
    let haystack = haystacks.get(text, lower, steps)?;
    Ok(needle.is_some_and(|needle| haystack.holds(&needle)))
}
