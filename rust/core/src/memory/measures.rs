//! Counts and sums, over the whole run or a window of time.

use std::collections::VecDeque;
use std::ops::Range;

use super::Broken;
use super::layers::Layers;
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
    Window(Window),
    /// Over more than the run: the host sets it.
    Shared(Option<Number>),
}

/// The calls in a window, numbered from the first one that it ever had.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Window {
    /// Those in layers.
    pub(super) below: Range<u64>,
    /// Those after them.
    pub(super) calls: VecDeque<Counted>,
    /// The time of the last call that is missing, of a scope, and the reason: there is no value while it is in the window.
    pub(super) lapse: Option<(i64, Broken)>,
}

/// The layers of a state, and the number of the measure that reads them.
pub(super) type Below<'l> = (&'l Layers, u32);

impl Window {
    pub(super) fn of(calls: VecDeque<Counted>) -> Self {
        Self {
            below: 0..0,
            calls,
            lapse: None,
        }
    }

    /// The number of the next call.
    pub(super) fn end(&self) -> u64 {
        self.below.end + self.calls.len() as u64
    }

    fn len(&self) -> usize {
        (self.below.end - self.below.start) as usize + self.calls.len()
    }

    /// The call of a number from the first one on; the error of a damaged layer.
    fn get(&self, number: u64, (layers, measure): Below<'_>) -> Result<Option<Counted>, Broken> {
        if number < self.below.end {
            let found = layers.counted(measure, number);
            return found.map(Some).ok_or(Broken::Bad);
        }
        let at = number - self.below.end;
        Ok(self.calls.get(at as usize).copied())
    }

    fn last(&self, below: Below<'_>) -> Result<Option<Counted>, Broken> {
        match self
            .end()
            .checked_sub(1)
            .filter(|last| *last >= self.below.start)
        {
            Some(last) => self.get(last, below),
            None => Ok(None),
        }
    }

    fn add(&mut self, call: Counted, within: Option<i64>, below: Below<'_>) -> Result<(), Broken> {
        while let Some(first) = self.get(self.below.start, below)?
            && gone(&first, call.at, within)
        {
            self.drop_first();
        }
        if self.len() == MAX_WINDOW_CALLS {
            return Err(Broken::Limit);
        }
        self.calls.push_back(call);
        Ok(())
    }

    fn drop_first(&mut self) {
        if self.below.is_empty() {
            self.calls.pop_front();
            self.below.end += 1;
        }
        self.below.start += 1;
    }

    /// Takes in that a call is missing.
    pub(super) fn lapse(&mut self, at: i64, broken: Broken) {
        if self.lapse.is_none_or(|(last, _)| last <= at) {
            self.lapse = Some((at, broken));
        }
    }

    /// Drops the first call of a full window.
    pub(super) fn make_room(&mut self, below: Below<'_>) -> Result<(), Broken> {
        if self.len() == MAX_WINDOW_CALLS
            && let Some(first) = self.get(self.below.start, below)?
        {
            self.drop_first();
            self.lapse(first.at, Broken::Limit);
        }
        Ok(())
    }

    /// The first call that is in the window at a time.
    fn first(
        &self,
        now: i64,
        within: Option<i64>,
        below: Below<'_>,
    ) -> Result<Option<Counted>, Broken> {
        let Range {
            start: mut low,
            end,
        } = self.below;
        let mut high = end;
        while low < high {
            let middle = low + (high - low) / 2;
            match self.get(middle, below)? {
                Some(call) if gone(&call, now, within) => low = middle + 1,
                _ => high = middle,
            }
        }
        if low == end {
            low += self.calls.partition_point(|call| gone(call, now, within)) as u64;
        }
        self.get(low, below)
    }

    /// Takes the calls in layers to those in memory. `None`: one cannot be read.
    pub(super) fn thaw(&mut self, read: impl Fn(u64) -> Option<Counted>) -> Option<()> {
        let below: Vec<Counted> = self.below.clone().map(read).collect::<Option<_>>()?;
        self.below = 0..0;
        for call in below.into_iter().rev() {
            self.calls.push_front(call);
        }
        Some(())
    }
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
        below: Below<'_>,
    ) -> Result<(), Broken> {
        match self {
            Self::Total(total) => *total = total.add(amount).ok_or(Broken::Limit)?,
            Self::Window(window) => {
                let last = window.last(below)?;
                let before = last.map_or(Exact::default(), |last| last.sum);
                let counted = Counted {
                    at,
                    call,
                    sum: before.add(amount).ok_or(Broken::Limit)?,
                    amount,
                };
                window.add(counted, within, below)?;
            }
            Self::Shared(_) => {}
        }
        Ok(())
    }

    /// Takes the amount of a call back.
    pub(super) fn release(&mut self, call: u64, amount: Exact) -> Result<(), Broken> {
        match self {
            Self::Total(total) => *total = total.sub(amount).ok_or(Broken::Limit)?,
            // INVARIANT: a state in which something is taken back is in memory.
            Self::Window(Window { calls, .. }) => {
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
        below: Below<'_>,
    ) -> Result<Number, Fault> {
        let held = match self {
            Self::Total(total) => *total,
            Self::Window(window) => {
                let now = now.ok_or(Fault::BadState)?;
                if let Some((at, broken)) = window.lapse
                    && !is_gone(at, now, within)
                {
                    return Err(broken.fault());
                }
                let first = window.first(now, within, below).map_err(Broken::fault)?;
                let last = window.last(below).map_err(Broken::fault)?;
                match (first, last) {
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
    is_gone(call.at, now, within)
}

fn is_gone(at: i64, now: i64, within: Option<i64>) -> bool {
    within.is_some_and(|within| now.saturating_sub(at) > within)
}
