//! Sources: which calls they are about, and the values that they take from a result.

use super::Broken;
use super::events::CUTS;
use super::records::{DEPTH, Kept, Outcome, Seen, Through, each};
use super::table::{Call, Table};
use crate::error::Fault;
use crate::eval::evaluator::Evaluator;
use crate::eval::work::Work;
use crate::ir::memory::{Source, Words};
use crate::lang::path::Key;
use crate::program::{Program, Scratch};
use crate::value::memory::LeafValue;
use crate::value::{Step, Value, View};

/// Takes values out of one result.
pub(super) struct Taker<'t, V: Value> {
    pub(super) program: &'t Program,
    pub(super) scratch: &'t mut Scratch,
    pub(super) kept: &'t Kept,
    pub(super) result: &'t V,
    pub(super) table: &'t mut Table,
    pub(super) call: Call,
    pub(super) work: Work<()>,
}

/// A record, the path of a field, and the elements that stand for lists on it.
type Way<'w, V> = (&'w V, &'w [Box<str>], &'w [(usize, V)]);

impl<V: Value> Taker<'_, V> {
    /// Adds the values of a source, which is that of bit `bit`.
    pub(super) fn take(&mut self, source: &Source, bit: u16) -> Result<(), Broken> {
        let result = self.result;
        each(result, (DEPTH, Broken::Limit), &mut |record| {
            for (at, path) in (0..).zip(&source.fields) {
                let mut elements = Vec::new();
                let found = Step::Found(record.clone());
                self.walk((source, (bit, at), path), record, found, (0, &mut elements))?;
            }
            Ok(())
        })
    }

    /// Follows the path of a field, each element of a list on the way on its own.
    fn walk(
        &mut self,
        field: (&Source, (u16, u16), &[Box<str>]),
        record: &V,
        mut step: Step<V>,
        (mut at, elements): (usize, &mut Vec<(usize, V)>),
    ) -> Result<(), Broken> {
        let (source, place, path) = field;
        loop {
            self.work.steps.take(1).map_err(|_| Broken::Limit)?;
            let Step::Found(value) = step else {
                return Ok(());
            };
            let Some(key) = path.get(at) else {
                return self.leaves((source, place), (record, path, elements), &value);
            };
            if matches!(value.view(), View::List) {
                if elements.len() == DEPTH {
                    return Err(Broken::Limit);
                }
                for item in value.items() {
                    elements.push((at, item.clone()));
                    self.walk(field, record, Step::Found(item), (at, elements))?;
                    elements.pop();
                }
                return Ok(());
            }
            step = value.get(Key::unprepared(key));
            at += 1;
        }
    }

    /// Adds the texts and numbers at the end of a path, if the record passes.
    fn leaves(
        &mut self,
        (source, place): (&Source, (u16, u16)),
        (record, path, elements): Way<'_, V>,
        value: &V,
    ) -> Result<(), Broken> {
        if let Some(words) = source.record {
            let through = Through { path, elements };
            let through = (!elements.is_empty()).then_some((&through, 0));
            if !self.passes(words, Seen::Live(record.clone(), through))? {
                return Ok(());
            }
        }
        let written = self.table.calls.last() == Some(&self.call);
        let call = self.table.origins() - u32::from(written);
        let known = self.table.entries.len();
        let (table, steps) = (&mut *self.table, &self.work.steps);
        let added = each(value, (DEPTH, Broken::Limit), &mut |leaf| {
            steps.take(1).map_err(|_| Broken::Limit)?;
            let view = leaf.view();
            let Some(value) = LeafValue::of(&view).filter(|value| *value != LeafValue::Text(""))
            else {
                return Ok(());
            };
            match (&value, source.links) {
                (LeafValue::Text(text), true) => {
                    let links = super::task::links(text).ok_or(Broken::Bad)?;
                    steps.take(links.len() as u64).map_err(|_| Broken::Limit)?;
                    links.iter().try_for_each(|link| {
                        let link = LeafValue::Text(link);
                        table.add(&link, place, call).ok_or(Broken::Full)
                    })
                }
                (LeafValue::Number(_), true) => Ok(()),
                (value, false) => table.add(value, place, call).ok_or(Broken::Full),
            }
        });
        // The call is kept only if it brought a value.
        if self.table.entries.len() > known && !written {
            self.table.calls.push(self.call.clone());
        }
        added
    }

    /// Evaluates the test of a record.
    fn passes(&mut self, words: Words, record: Seen<'_, V>) -> Result<bool, Broken> {
        let outcome = Outcome {
            kept: self.kept,
            result: self.result,
            record: Some(record),
        };
        let work = Work::default();
        self.scratch.begin(self.program.clauses.len());
        let mut evaluator = Evaluator::new(self.program, &outcome, self.scratch, (CUTS, &work));
        let passes = evaluator.matches(words, true);
        let taken = self.work.steps.take(work.steps.taken());
        match (passes, taken) {
            (Err(Fault::BudgetExceeded), _) | (_, Err(_)) => Err(Broken::Limit),
            (Err(_), _) => Err(Broken::Bad),
            (Ok(passes), Ok(())) => Ok(passes),
        }
    }
}
