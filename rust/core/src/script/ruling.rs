//! What a function answers: nothing, a decision, or an error.

use super::exception::Trouble;
use super::fixed::Fixed;
use super::sequence::{Entries, items_of};
use super::value::{Budget, Run, Val};
use crate::error::ErrorCode;
use crate::rule::Verdict;
use crate::value::Value;
use crate::value::bigint::BigInt;
use crate::value::constant::Const;

/// How long an approval waits when a constructor does not say.
const APPROVAL_SECONDS: i64 = 1800;

/// What a decision of a function says. The name of its rule is added to `matched_rules` by whoever dresses it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruling {
    /// The verdict.
    pub verdict: Verdict,
    /// The reason.
    pub reason: Box<str>,
    /// Rules the function names.
    pub matched_rules: Vec<Box<str>>,
    /// The approvers.
    pub approvers: Vec<Box<str>>,
    /// Null or a number.
    pub timeout_seconds: Const,
    /// How many approvers must grant.
    pub approvals_needed: i64,
}

impl Ruling {
    /// What a constructor makes of nothing.
    pub(crate) fn new(verdict: Verdict) -> Self {
        Self {
            verdict,
            reason: "".into(),
            matched_rules: Vec::new(),
            approvers: Vec::new(),
            timeout_seconds: match verdict {
                Verdict::ApproveRequired => Const::Int(APPROVAL_SECONDS),
                Verdict::Allow | Verdict::Deny | Verdict::DryRun | Verdict::Transform => {
                    Const::Null
                }
            },
            approvals_needed: 1,
        }
    }
}

/// A decision of a function.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// One that is always the same, by its number: [`crate::program::Program::ruling`].
    Always(u32),
    /// One made for this request.
    Made(Box<Ruling>),
}

/// A value a function made: new arguments.
#[derive(Clone, Debug)]
pub enum Made<V> {
    /// `None`
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A larger integer.
    BigInt(BigInt),
    /// A float.
    Float(f64),
    /// A string.
    Str(Box<str>),
    /// A list.
    List(Vec<Made<V>>),
    /// A tuple.
    Tuple(Vec<Made<V>>),
    /// A set; true: a `frozenset`.
    Set(Vec<Made<V>>, bool),
    /// A mapping.
    Map(Vec<(Made<V>, Made<V>)>),
    /// A value of the request.
    Read(V),
}

/// How a function came out.
pub(crate) enum Answer<V> {
    Pass,
    Decided(Said),
    Transformed(Said, Made<V>),
    Failed(ErrorCode),
}

/// A decision before its parts are looked at.
pub(super) struct Pending<'p, V> {
    pub(super) verdict: Verdict,
    pub(super) reason: Val<'p, V>,
    /// None: not given.
    pub(super) matched_rules: Option<Val<'p, V>>,
    pub(super) approvers: Option<Val<'p, V>>,
    pub(super) timeout_seconds: Val<'p, V>,
    pub(super) approvals_needed: Val<'p, V>,
    pub(super) transform_args: Val<'p, V>,
}

impl<'p, V: Value> Pending<'p, V> {
    /// What a constructor makes of nothing.
    pub(super) fn new(verdict: Verdict) -> Self {
        Self {
            verdict,
            reason: Val::Str(""),
            matched_rules: None,
            approvers: None,
            timeout_seconds: match verdict {
                Verdict::ApproveRequired => Val::Int(APPROVAL_SECONDS),
                Verdict::Allow | Verdict::Deny | Verdict::DryRun | Verdict::Transform => Val::None,
            },
            approvals_needed: Val::Int(1),
            transform_args: Val::None,
        }
    }

    fn ruling(&self) -> Result<Ruling, ErrorCode> {
        Ok(Ruling {
            verdict: self.verdict,
            reason: match &self.reason {
                Val::None => "".into(),
                reason => text(reason)?,
            },
            matched_rules: texts(self.matched_rules.as_ref())?,
            approvers: texts(self.approvers.as_ref())?,
            timeout_seconds: match &self.timeout_seconds {
                Val::None => Const::Null,
                Val::Int(seconds) => Const::Int(*seconds),
                Val::Big(seconds) => Const::BigInt(BigInt::clone(seconds)),
                Val::Float(seconds) => Const::Float(*seconds),
                _ => return Err(ErrorCode::NotADecision),
            },
            approvals_needed: match &self.approvals_needed {
                Val::Int(needed @ 1..) => *needed,
                _ => return Err(ErrorCode::NotADecision),
            },
        })
    }
}

fn text<V: Value>(value: &Val<'_, V>) -> Result<Box<str>, ErrorCode> {
    match (value.text(), value) {
        (Some(text), _) => Ok(text.into()),
        (None, Val::Opaque(broken)) => Err(Trouble::from(*broken).into()),
        (None, _) => Err(ErrorCode::NotADecision),
    }
}

fn texts<V: Value>(value: Option<&Val<'_, V>>) -> Result<Vec<Box<str>>, ErrorCode> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    let (_, items) = items_of(value).ok_or(ErrorCode::NotADecision)?;
    let length = items.len()?;
    (0..length)
        .filter_map(|index| items.get(index))
        .map(|item| text(&item))
        .collect()
}

/// What follows from what a function returned.
pub(super) fn answer<V: Value>(returned: Val<'_, V>, budget: &mut Budget) -> Answer<V> {
    let pending = match returned {
        Val::None => return Answer::Pass,
        Val::Said(number) => return Answer::Decided(Said::Always(number)),
        Val::Decision(pending) => pending,
        _ => return Answer::Failed(ErrorCode::NotADecision),
    };
    let ruling = match pending.ruling() {
        Ok(ruling) => Said::Made(Box::new(ruling)),
        Err(code) => return Answer::Failed(code),
    };
    if pending.verdict != Verdict::Transform {
        return Answer::Decided(ruling);
    }
    if Entries::of(&pending.transform_args).is_none() {
        return Answer::Failed(ErrorCode::CannotTransform);
    }
    match made(&pending.transform_args, budget) {
        Ok(args) => Answer::Transformed(ruling, args),
        Err(trouble) => Answer::Failed(trouble.into()),
    }
}

/// A value, to be kept.
fn made<V: Value>(value: &Val<'_, V>, budget: &mut Budget) -> Run<Made<V>> {
    budget.steps(1)?;
    if let Val::Text(value) | Val::Seq(value) | Val::Tup(value) | Val::Map(value) = value {
        return Ok(Made::Read(value.clone()));
    }
    if let Some(text) = value.text() {
        return Ok(Made::Str(text.into()));
    }
    if let Some((_, items)) = items_of(value) {
        let items = items.collect(budget)?;
        let items = each(&items, budget)?;
        return Ok(match value {
            Val::Tuple(_) | Val::Fixed(Fixed::Tuple(_)) => Made::Tuple(items),
            _ => Made::List(items),
        });
    }
    if let Some(entries) = Entries::of(value) {
        let pairs = entries.pairs(budget)?;
        let pairs = pairs
            .iter()
            .map(|(key, value)| Ok((made(key, budget)?, made(value, budget)?)));
        return Ok(Made::Map(pairs.collect::<Run<_>>()?));
    }
    if let Some(set) = super::compare::set_of(value) {
        let frozen = matches!(value, Val::Set(table) if table.frozen);
        return Ok(Made::Set(each(&set.items(), budget)?, frozen));
    }
    Ok(match value {
        Val::None => Made::Null,
        Val::Bool(flag) => Made::Bool(*flag),
        Val::Int(number) => Made::Int(*number),
        Val::Big(number) => Made::BigInt(BigInt::clone(number)),
        Val::Float(number) => Made::Float(*number),
        Val::Moment(moment) => match &moment.value {
            Some(value) => Made::Read(value.clone()),
            None => return Err(Trouble::UNSUPPORTED),
        },
        Val::Opaque(broken) => return Err((*broken).into()),
        _ => return Err(Trouble::UNSUPPORTED),
    })
}

fn each<V: Value>(items: &[Val<'_, V>], budget: &mut Budget) -> Run<Vec<Made<V>>> {
    items.iter().map(|item| made(item, budget)).collect()
}
