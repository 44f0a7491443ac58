//! Results as the definitions of memory see them: beside the call that gave them, record by record.

use std::convert::Infallible;

use crate::error::ErrorCode;
use crate::lang::path::{Field, Key};
use crate::value::owned::OwnedValue;
use crate::value::request::{HostAnswer, Request, Transform};
use crate::value::stored::Stored;
use crate::value::{Step, Value, View};

/// Most lists in one another that are gone through.
pub(super) const DEPTH: usize = 32;

/// The parts of a call that are kept until its result is there; `None`: not there.
pub(super) type Kept = Vec<(Field, Option<Stored>)>;

/// A call with its result, and a record of it.
pub(super) struct Outcome<'s, V: Value> {
    pub(super) kept: &'s Kept,
    pub(super) result: &'s V,
    pub(super) record: Option<Seen<'s, V>>,
}

/// A value of a call with its result.
pub(super) enum Seen<'s, V: Value> {
    /// Of the call.
    Kept(&'s Stored),
    /// Of the result; on the way to a field whose path leads through lists, an element stands for each list.
    Live(V, Option<(&'s Through<'s, V>, usize)>),
}

/// The elements that stand for the lists on the way to a field.
pub(super) struct Through<'s, V> {
    pub(super) path: &'s [Box<str>],
    /// The number of keys before each list, and the element.
    pub(super) elements: &'s [(usize, V)],
}

impl<V: Value> Clone for Seen<'_, V> {
    fn clone(&self) -> Self {
        match self {
            Self::Kept(value) => Self::Kept(value),
            Self::Live(value, through) => Self::Live(value.clone(), *through),
        }
    }
}

impl<V: Value> Value for Seen<'_, V> {
    fn view(&self) -> View<'_> {
        match self {
            Self::Kept(value) => value.view(),
            Self::Live(value, _) => value.view(),
        }
    }

    fn get(&self, key: Key<'_>) -> Step<Self> {
        let (value, through) = match self {
            Self::Kept(value) => {
                return match value.get(key) {
                    Step::Found(value) => Step::Found(Self::Kept(value)),
                    Step::Absent => Step::Absent,
                    Step::Unreadable => Step::Unreadable,
                };
            }
            Self::Live(value, through) => (value, through),
        };
        let on = through.filter(|(through, at)| {
            let next = through.path.get(*at);
            next.is_some_and(|next| **next == *key.text)
        });
        let on = on.map(|(through, at)| (through, at + 1));
        match value.get(key) {
            Step::Found(found) => {
                let element = on.and_then(|(through, at)| {
                    let mut elements = through.elements.iter().rev();
                    elements.find(|(keys, _)| *keys == at)
                });
                Step::Found(match element {
                    Some((_, element)) => Self::Live(element.clone(), on),
                    None => Self::Live(found, on),
                })
            }
            Step::Absent => Step::Absent,
            Step::Unreadable => Step::Unreadable,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Kept(value) => value.len(),
            Self::Live(value, _) => value.len(),
        }
    }

    fn checked_len(&self) -> Option<usize> {
        match self {
            Self::Kept(value) => value.checked_len(),
            Self::Live(value, _) => value.checked_len(),
        }
    }

    fn item(&self, index: usize) -> Option<Self> {
        match self {
            Self::Kept(value) => value.item(index).map(Self::Kept),
            Self::Live(value, _) => value.item(index).map(|item| Self::Live(item, None)),
        }
    }
}

impl<'s, V: Value> Request for Outcome<'s, V> {
    type Value = Seen<'s, V>;
    type Decision = Infallible;

    fn tool(&self) -> Option<&str> {
        None
    }

    fn field(&self, field: Field) -> Step<Self::Value> {
        let kept = match field {
            Field::Result => return Step::Found(Seen::Live(self.result.clone(), None)),
            Field::Record => {
                let record = self.record.clone();
                return record.map_or(Step::Absent, Step::Found);
            }
            field => self.kept.iter().find(|(known, _)| *known == field),
        };
        match kept {
            Some((_, Some(value))) => Step::Found(Seen::Kept(value)),
            Some((_, None)) | None => Step::Absent,
        }
    }

    fn host(&self, _host: u32, _rule: u32) -> HostAnswer<Self> {
        HostAnswer::Failed(ErrorCode::NotADecision)
    }

    fn with_made(&self, _args: OwnedValue<Self::Value>) -> Result<Self, ErrorCode> {
        Err(ErrorCode::CannotTransform)
    }

    fn with_transform(&self, _rule: u32, _transform: &Transform) -> Result<Self, ErrorCode> {
        Err(ErrorCode::CannotTransform)
    }
}

/// Visits every value that is no list: itself, or the elements of a list, of lists in it, and so on, until `visit` ends it.
/// The error of too many lists in one another is `deep`.
pub(super) fn each<V: Value, E: Copy>(
    value: &V,
    (depth, deep): (usize, E),
    visit: &mut dyn FnMut(&V) -> Result<(), E>,
) -> Result<(), E> {
    if !matches!(value.view(), View::List) {
        return visit(value);
    }
    if depth == 0 {
        return Err(deep);
    }
    for item in value.items() {
        each(&item, (depth - 1, deep), visit)?;
    }
    Ok(())
}
