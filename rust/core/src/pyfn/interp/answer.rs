//! Answers of functions: no decision, a decision, or an error.

use super::sequence::{Entries, items_of};
use super::value::{Budget, Run, Val};
use crate::error::ErrorCode;
use crate::lang::Verdict;
use crate::num::bigint::BigInt;
use crate::pyfn::consts::PyConst;
use crate::pyfn::decision::{APPROVAL_SECONDS, DecisionTemplate, FunctionDecision, Obligation};
use crate::pyfn::exception::Failure;
use crate::value::Value;
use crate::value::constant::Const;
use crate::value::owned::OwnedValue;

/// The result of a function.
pub(crate) enum Answer<V> {
    Pass,
    Decided(FunctionDecision),
    Transformed(FunctionDecision, OwnedValue<V>),
    Failed(ErrorCode),
}

/// A decision before its parts are checked.
pub(in crate::pyfn) struct Pending<'p, V> {
    pub(in crate::pyfn) verdict: Verdict,
    pub(in crate::pyfn) reason: Val<'p, V>,
    /// None: not given.
    pub(in crate::pyfn) matched_rules: Option<Val<'p, V>>,
    pub(in crate::pyfn) approvers: Option<Val<'p, V>>,
    pub(in crate::pyfn) timeout_seconds: Val<'p, V>,
    pub(in crate::pyfn) approvals_needed: Val<'p, V>,
    pub(in crate::pyfn) transform_args: Val<'p, V>,
    pub(in crate::pyfn) obligations: &'p [Obligation],
}

impl<'p, V: Value> Pending<'p, V> {
    /// Returns the decision of a constructor without arguments.
    pub(in crate::pyfn) fn new(verdict: Verdict) -> Self {
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
            obligations: &[],
        }
    }

    fn template(&self) -> Result<DecisionTemplate, ErrorCode> {
        Ok(DecisionTemplate {
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
            obligations: self.obligations.to_vec(),
        })
    }
}

fn text<V: Value>(value: &Val<'_, V>) -> Result<Box<str>, ErrorCode> {
    match (value.text(), value) {
        (Some(text), _) => Ok(text.into()),
        (None, Val::Opaque(broken)) => Err(Failure::from(*broken).into()),
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

/// Converts the value that a function returned to its answer.
pub(in crate::pyfn) fn answer<V: Value>(returned: Val<'_, V>, budget: &mut Budget) -> Answer<V> {
    let pending = match returned {
        Val::None => return Answer::Pass,
        Val::Static(number) => return Answer::Decided(FunctionDecision::Always(number)),
        Val::Decision(pending) => pending,
        _ => return Answer::Failed(ErrorCode::NotADecision),
    };
    let template = match pending.template() {
        Ok(template) => FunctionDecision::Made(Box::new(template)),
        Err(code) => return Answer::Failed(code),
    };
    if pending.verdict != Verdict::Transform {
        return Answer::Decided(template);
    }
    if Entries::of(&pending.transform_args).is_none() {
        return Answer::Failed(ErrorCode::CannotTransform);
    }
    match made(&pending.transform_args, budget) {
        Ok(args) => Answer::Transformed(template, args),
        Err(failure) => Answer::Failed(failure.into()),
    }
}

/// A value, to be kept.
fn made<V: Value>(value: &Val<'_, V>, budget: &mut Budget) -> Run<OwnedValue<V>> {
    budget.fuel(1)?;
    if let Val::Text(value) | Val::Seq(value) | Val::Tup(value) | Val::Map(value) = value {
        return Ok(OwnedValue::Read(value.clone()));
    }
    if let Some(text) = value.text() {
        return Ok(OwnedValue::Str(text.into()));
    }
    if let Some((_, items)) = items_of(value) {
        let items = items.collect(budget)?;
        let items = each(&items, budget)?;
        return Ok(match value {
            Val::Tuple(_) | Val::Const(PyConst::Tuple(_)) => OwnedValue::Tuple(items),
            _ => OwnedValue::List(items),
        });
    }
    if let Some(entries) = Entries::of(value) {
        let pairs = entries.pairs(budget)?;
        let pairs = pairs
            .iter()
            .map(|(key, value)| Ok((made(key, budget)?, made(value, budget)?)));
        return Ok(OwnedValue::Map(pairs.collect::<Run<_>>()?));
    }
    if let Some(set) = super::compare::set_of(value) {
        let frozen = matches!(value, Val::Set(table) if table.frozen);
        return Ok(OwnedValue::Set(each(&set.items(), budget)?, frozen));
    }
    Ok(match value {
        Val::None => OwnedValue::Null,
        Val::Bool(flag) => OwnedValue::Bool(*flag),
        Val::Int(number) => OwnedValue::Int(*number),
        Val::Big(number) => OwnedValue::BigInt(BigInt::clone(number)),
        Val::Float(number) => OwnedValue::Float(*number),
        Val::DateTime(datetime) => match &datetime.value {
            Some(value) => OwnedValue::Read(value.clone()),
            None => return Err(Failure::UNSUPPORTED),
        },
        Val::Opaque(broken) => return Err((*broken).into()),
        _ => return Err(Failure::UNSUPPORTED),
    })
}

fn each<V: Value>(items: &[Val<'_, V>], budget: &mut Budget) -> Run<Vec<OwnedValue<V>>> {
    items.iter().map(|item| made(item, budget)).collect()
}
