//! The intents and results of calls, as the definitions of a policy take them.

use super::hash;
use super::monitor;
use super::records::{DEPTH, Kept, Outcome};
use super::sources::Taker;
use super::{Broken, Known, Open, Reader, State, Tracked, UnknownCall, table};
use crate::clause::predicate::sound;
use crate::error::Fault;
use crate::eval::ShortCuts;
use crate::eval::evaluator::Evaluator;
use crate::eval::memory::time;
use crate::eval::work::Work;
use crate::ir::memory::{Definition, FormulaNode, Keep, Source};
use crate::lang::path::{Field, Key};
use crate::limits::{MAX_KEPT_BYTES, MAX_RUN_CALLS};
use crate::program::{Program, Scratch};
use crate::value::memory::{Amount, LeafValue, Memory as _, Wanted};
use crate::value::request::Request;
use crate::value::stored::Stored;
use crate::value::{Step, Value, View};

/// A clause that several definitions share is evaluated once an event.
pub(super) const CUTS: ShortCuts = ShortCuts {
    memo: true,
    ..ShortCuts::NONE
};

impl State {
    /// Takes the intent of a call, with its effective arguments. A key that is known is ignored.
    pub fn call<R: Request>(
        &mut self,
        program: &Program,
        request: &R,
        key: &str,
        scratch: &mut Scratch,
    ) {
        let Some(definitions) = program.memory() else {
            return;
        };
        let hash = hash::of_key(key);
        if self.knows(&hash).is_some() {
            return;
        }
        if self.known == MAX_RUN_CALLS {
            self.full = true;
            return;
        }
        let seen = time(request);
        let at = seen
            .or(self.last)
            .unwrap_or(0)
            .max(self.last.unwrap_or(i64::MIN));
        let mut open = Open {
            call: self.next,
            kept: Some(Kept::new()),
            ..Open::default()
        };
        self.next += 1;
        let work = Work::default();
        scratch.begin(program.clauses.len());
        let mut evaluator = Evaluator::new(program, request, scratch, (CUTS, &work));
        let (mut results, mut records) = (false, false);
        let reader = Reader {
            definitions: Some(definitions),
            state: &*self,
        };
        let mut failed = Vec::new();
        for (bit, number) in definitions.sources.iter().enumerate() {
            if let Some(Definition::Source(source)) = definitions.items.get(*number as usize) {
                let from = |wanted, value: &LeafValue<'_>| reader.drawn(wanted, value, &work.steps);
                match asked(source, (&mut evaluator, request), from) {
                    Ok(false) => {}
                    Ok(true) => {
                        open.sources |= 1 << bit;
                        records |= source.record.is_some();
                    }
                    Err(broken) => failed.push((*number, broken)),
                }
            }
        }
        for (number, broken) in failed {
            if let Some(tracker) = self.trackers.get_mut(number as usize) {
                tracker.broken = Some(broken);
            }
        }
        for (number, definition) in (0..).zip(&definitions.items) {
            let Some(tracker) = self.trackers.get_mut(number as usize) else {
                break;
            };
            if tracker.broken.is_some_and(|broken| broken != Broken::Full) {
                continue;
            }
            let stepped = match (definition, &mut tracker.kind) {
                (Definition::Measure(measure), Tracked::Measure(tally))
                    if self.extent.counts(measure.by) =>
                {
                    match evaluator.amount(measure) {
                        Ok(Some(_)) if measure.within.is_some() && seen.is_none() => {
                            Err(Broken::Bad)
                        }
                        Ok(Some(Amount(amount))) => {
                            open.amounts.push((number, amount));
                            tally.add(
                                (open.call, at),
                                amount,
                                measure.within,
                                (&self.layers, number),
                            )
                        }
                        Ok(None) => Ok(()),
                        Err(fault) => Err(Broken::of(fault)),
                    }
                }
                (Definition::Formula(nodes), Tracked::Formula(cells)) => {
                    results |= nodes
                        .iter()
                        .any(|node| matches!(node, FormulaNode::Result(_)));
                    if seen.is_none() && nodes.iter().any(is_timed) {
                        Err(Broken::Bad)
                    } else {
                        monitor::step(nodes, cells, (at, self.last), |node| match node {
                            FormulaNode::Call(words) => {
                                evaluator.matches(*words, false).map_err(Broken::of)
                            }
                            _ => Ok(false),
                        })
                    }
                }
                _ => Ok(()),
            };
            if let Err(broken) = stepped {
                tracker.broken = Some(broken);
            }
        }
        if open.sources != 0 {
            open.names = Some((request.tool().unwrap_or("").into(), key.into()));
        }
        if results || records {
            open.kept = keep(request, &definitions.keeps);
        }
        self.last = Some(at);
        self.calls.insert(hash, Known::Open(Box::new(open)));
        self.known += 1;
    }

    /// Takes the result of a call that succeeded. Only the first end of a call counts.
    ///
    /// # Errors
    /// The call is not known.
    pub fn result<V: Value>(
        &mut self,
        program: &Program,
        key: &str,
        (value, at): (&V, i64),
        scratch: &mut Scratch,
    ) -> Result<(), UnknownCall> {
        let (Some(definitions), Some(open)) = (program.memory(), self.end(program, key)?) else {
            return Ok(());
        };
        let at = at.max(self.last.unwrap_or(i64::MIN));
        let none = Kept::new();
        let outcome = Outcome {
            kept: open.kept.as_ref().unwrap_or(&none),
            result: value,
            record: None,
        };
        let work = Work::default();
        scratch.begin(program.clauses.len());
        let mut evaluator = Evaluator::new(program, &outcome, scratch, (CUTS, &work));
        for (definition, tracker) in definitions.items.iter().zip(&mut self.trackers) {
            let (Definition::Formula(nodes), Tracked::Formula(cells), None) =
                (definition, &mut tracker.kind, tracker.broken)
            else {
                continue;
            };
            let stepped = monitor::step(nodes, cells, (at, self.last), |node| match node {
                FormulaNode::Result(_) if open.kept.is_none() => Err(Broken::Limit),
                FormulaNode::Result(words) => evaluator.matches(*words, false).map_err(Broken::of),
                _ => Ok(false),
            });
            tracker.broken = stepped.err();
        }
        self.last = Some(at);
        if let Some((tool, key)) = &open.names {
            let call = table::Call {
                tool: tool.clone(),
                key: key.clone(),
            };
            let mut taker = Taker {
                program,
                scratch,
                kept: outcome.kept,
                result: value,
                table: &mut self.table,
                call,
                work: Work::default(),
            };
            for (bit, number) in (0_u16..).zip(&definitions.sources) {
                let source = definitions.items.get(*number as usize);
                let tracker = self.trackers.get_mut(*number as usize);
                let (Some(Definition::Source(source)), Some(tracker)) = (source, tracker) else {
                    continue;
                };
                if open.sources & 1 << bit == 0 || tracker.broken.is_some() {
                    continue;
                }
                tracker.broken = if open.kept.is_none() && source.record.is_some() {
                    Some(Broken::Limit)
                } else {
                    taker.take(source, bit).err()
                };
            }
        }
        Ok(())
    }
}

/// Returns true if a node of a formula has a window.
fn is_timed(node: &FormulaNode) -> bool {
    matches!(
        node,
        FormulaNode::Previous(_, Some(_))
            | FormulaNode::Formerly(_, Some(_))
            | FormulaNode::Since(_, _, Some(_))
    )
}

/// Returns true if a source takes values from the result of a call.
fn asked<R: Request>(
    source: &Source,
    (evaluator, request): (&mut Evaluator<'_, R>, &R),
    from: impl Fn(Wanted, &LeafValue<'_>) -> Result<bool, Fault>,
) -> Result<bool, Broken> {
    if !evaluator.matches(source.of, true).map_err(Broken::of)? {
        return Ok(false);
    }
    let (Some(wanted), Step::Found(args)) = (source.asked_with, request.field(Field::Args)) else {
        return Ok(source.asked_with.is_none());
    };
    let from = |view: &View<'_>| match LeafValue::of(view) {
        Some(LeafValue::Text("")) => Ok(false),
        Some(value) => from(wanted, &value).map_err(Broken::of),
        None => Ok(true),
    };
    all_leaves(&args, DEPTH, &from)
}

/// Returns true if `test` is true of every value in a value that is no list and no mapping.
fn all_leaves<V: Value>(
    value: &V,
    depth: usize,
    test: &impl Fn(&View<'_>) -> Result<bool, Broken>,
) -> Result<bool, Broken> {
    let view = sound(value.view()).map_err(|_| Broken::Bad)?;
    let inner = depth.checked_sub(1).ok_or(Broken::Limit);
    match view {
        View::List => {
            for item in value.items() {
                if !all_leaves(&item, inner?, test)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        View::Map => {
            let mut all = Ok(true);
            value.each_entry(&mut |_, item| {
                all = inner.and_then(|inner| all_leaves(item, inner, test));
                all == Ok(true)
            });
            all
        }
        view => test(&view),
    }
}

/// Copies the parts of a call that tests of results read; `None`: they are too large.
fn keep<R: Request>(request: &R, keeps: &[Keep]) -> Option<Kept> {
    let mut left = MAX_KEPT_BYTES;
    let copied = keeps.iter().map(|keep| {
        let Step::Found(value) = request.field(keep.field) else {
            return Some((keep.field, None));
        };
        let copied = match (&keep.keys, value.view()) {
            (Some(keys), View::Map) => {
                let mut entries = Vec::new();
                for key in keys {
                    match value.get(Key::unprepared(key)) {
                        Step::Found(item) => {
                            entries.push((key.clone(), Stored::copy(&item, &mut left, DEPTH)?));
                        }
                        Step::Absent => {}
                        Step::Unreadable => entries.push((key.clone(), Stored::Opaque)),
                    }
                }
                Stored::Map(entries)
            }
            _ => Stored::copy(&value, &mut left, DEPTH)?,
        };
        Some((keep.field, Some(copied)))
    });
    copied.collect()
}
