//! Counts and sums, over the whole run or a window of time.

use std::collections::VecDeque;

use super::Broken;
use crate::error::Fault;
use crate::limits::MAX_WINDOW_CALLS;
use crate::num::exact::Exact;
use crate::num::number::Number;

/// The value of a measure so far.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tally {
    /// Over the whole run.
    Total(Exact),
    /// Over a window.
    Window(VecDeque<Counted>),
    /// Over more than the run: the host sets it.
    Shared(Option<Number>),
}

/// A call in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counted {
    /// The time of its intent, in microseconds.
    pub(super) at: i64,
    /// The number of the call.
    pub(super) call: u64,
    /// The sum of the amounts up to it.
    pub(super) sum: Exact,
    /// Its amount.
    pub(super) amount: Exact,
}

impl Tally {
    /// Adds the amount of a call at a time that is not before any other.
    pub(super) fn add(
        &mut self,
        (call, at): (u64, i64),
        amount: Exact,
        within: Option<i64>,
    ) -> Result<(), Broken> {
        match self {
            Self::Total(total) => *total = total.add(amount).ok_or(Broken::Limit)?,
            Self::Window(calls) => {
                let before = calls.back().map_or(Exact::default(), |last| last.sum);
                let sum = before.add(amount).ok_or(Broken::Limit)?;
                while calls.front().is_some_and(|first| gone(first, at, within)) {
                    calls.pop_front();
                }
                if calls.len() == MAX_WINDOW_CALLS {
                    return Err(Broken::Limit);
                }
                calls.push_back(Counted {
                    at,
                    call,
                    sum,
                    amount,
                });
            }
            Self::Shared(_) => {}
        }
        Ok(())
    }

    /// Takes the amount of a call back.
    pub(super) fn release(&mut self, call: u64, amount: Exact) -> Result<(), Broken> {
        match self {
            Self::Total(total) => *total = total.sub(amount).ok_or(Broken::Limit)?,
            Self::Window(calls) => {
                let at = calls.partition_point(|other| other.call < call);
                if calls.get(at).is_some_and(|found| found.call == call) {
                    calls.remove(at);
                    for later in calls.range_mut(at..) {
                        later.sum = later.sum.sub(amount).ok_or(Broken::Limit)?;
                    }
                }
            }
            Self::Shared(_) => {}
        }
        Ok(())
    }

    /// The value at a time, with an amount more.
    pub(super) fn value(
        &self,
        now: Option<i64>,
        within: Option<i64>,
        more: Exact,
    ) -> Result<Number, Fault> {
        let held = match self {
            Self::Total(total) => *total,
            Self::Window(calls) => {
                let now = now.ok_or(Fault::BadState)?;
                let start = calls.partition_point(|call| gone(call, now, within));
                match (calls.get(start), calls.back()) {
                    (Some(first), Some(last)) => last
                        .sum
                        .sub(first.sum)
                        .and_then(|sum| sum.add(first.amount))
                        .ok_or(Fault::StateLimit)?,
                    _ => Exact::default(),
                }
            }
            Self::Shared(Some(value)) => Exact::from_number(value).ok_or(Fault::StateLimit)?,
            Self::Shared(None) => return Err(Fault::NoState),
        };
        let sum = held.add(more).ok_or(Fault::StateLimit)?;
        Ok(sum.number())
    }
}

/// Returns true if a call has left the window.
fn gone(call: &Counted, now: i64, within: Option<i64>) -> bool {
    within.is_some_and(|within| now.saturating_sub(call.at) > within)
}
