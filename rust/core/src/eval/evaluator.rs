//! Evaluating the match of one rule on one request, in either profile.

use super::ShortCuts;
use super::work::Work;
use crate::budget::Steps;
use crate::clause::context::{Around, Referred};
use crate::clause::flat_expr::{Connective, Part, Parts, expression};
use crate::clause::inline::InlineTest;
use crate::clause::predicate::{self, Truth};
use crate::error::{ErrorCode, Fault};
use crate::facets::cache::Cache;
use crate::index::packed_rules::{PackedRule, RowClause};
use crate::lang::path::{Field, Head, Path};
use crate::program::{Profile, Program, Scratch};
use crate::pyfn::interp::env::Env;
use crate::value::memory::{LeafValue, Reading, Wanted};
use crate::value::request::Request;
use crate::value::{Step, Value as _};

/// The result of the match of a rule.
pub(super) enum MatchResult {
    Fires,
    Passes,
    Error(ErrorCode),
}

/// Where the clauses of an expression are.
trait Clauses: Copy {
    /// Evaluates one clause of the strict profile.
    fn leaf<R: Request>(self, evaluator: &mut Evaluator<'_, R>, clause: u32) -> Truth;

    /// Evaluates one clause of the `lynx` profile.
    fn lynx_leaf<R: Request>(
        self,
        evaluator: &mut Evaluator<'_, R>,
        clause: u32,
    ) -> Result<bool, ErrorCode>;
}

/// Clauses of the program.
#[derive(Clone, Copy)]
struct OfProgram;

impl Clauses for OfProgram {
    #[inline]
    fn leaf<R: Request>(self, evaluator: &mut Evaluator<'_, R>, clause: u32) -> Truth {
        evaluator.leaf(clause)
    }

    #[inline]
    fn lynx_leaf<R: Request>(
        self,
        evaluator: &mut Evaluator<'_, R>,
        clause: u32,
    ) -> Result<bool, ErrorCode> {
        evaluator.lynx_leaf(clause)
    }
}

/// Clauses of packed rules.
#[derive(Clone, Copy)]
struct OfRow<'r>(&'r [RowClause]);

impl Clauses for OfRow<'_> {
    #[inline]
    fn leaf<R: Request>(self, evaluator: &mut Evaluator<'_, R>, clause: u32) -> Truth {
        match self.0.get(clause as usize) {
            Some(clause) => match evaluator.inline(clause) {
                Some(result) => result.into(),
                None => evaluator.leaf(clause.clause),
            },
            None => Truth::Error(Fault::WrongType),
        }
    }

    #[inline]
    fn lynx_leaf<R: Request>(
        self,
        evaluator: &mut Evaluator<'_, R>,
        clause: u32,
    ) -> Result<bool, ErrorCode> {
        let clause = self.0.get(clause as usize).ok_or(ErrorCode::TypeError)?;
        match evaluator.inline(clause) {
            Some(result) => Ok(result),
            None => evaluator.lynx_leaf(clause.clause),
        }
    }
}

/// Values kept by path. PERF: a small table on the stack; paths that share a cell are read again.
const PATH_CACHE: usize = 8;

/// A path that no program has.
const NO_PATH: u32 = u32::MAX;

/// One request under one program.
pub(crate) struct Evaluator<'r, R: Request> {
    pub(super) program: &'r Program,
    pub(super) request: &'r R,
    pub(super) scratch: &'r mut Scratch,
    pub(super) cuts: ShortCuts,
    pub(super) work: &'r Work<R::Value>,
    /// The path that each cell is of. PERF: apart from the values, which are copied in pieces that can be read back.
    paths: [u32; PATH_CACHE],
    path_cache: [Step<R::Value>; PATH_CACHE],
    nowhere: Step<R::Value>,
}

/// Reads a path.
#[inline(always)]
pub(super) fn read<R: Request>(program: &Program, request: &R, path: &Path) -> Step<R::Value> {
    match path.arg {
        Some(key) => argument(program, request, key),
        None => read_within(program, request, path),
    }
}

fn argument<R: Request>(program: &Program, request: &R, key: u32) -> Step<R::Value> {
    let mut step = Step::Absent;
    request.arg(program.key(key), &mut step);
    step
}

/// Reads a path that is not a field.
fn read_within<R: Request>(program: &Program, request: &R, path: &Path) -> Step<R::Value> {
    let Some(field) = path.field else {
        return Step::Absent;
    };
    let mut keys = path.keys.get(path.taken..).unwrap_or_default();
    let mut step = match (field, keys.split_first()) {
        (Field::Args, Some((&first, rest))) => {
            keys = rest;
            argument(program, request, first)
        }
        _ => request.field(field),
    };
    for &id in keys {
        match step {
            Step::Found(value) => step = value.get(program.key(id)),
            Step::Absent | Step::Unreadable => break,
        }
    }
    step
}

/// Reads a path in the `lynx` profile; `None` is null.
pub(super) fn read_lynx<R: Request>(
    program: &Program,
    request: &R,
    path: &Path,
) -> Result<Option<R::Value>, ErrorCode> {
    let whole = match path.field {
        Some(Field::Tool | Field::Args | Field::Extra) => true,
        // lynx-agent's tools declare no effect, so its policies find none.
        Some(Field::Effect) => return Ok(None),
        Some(_) => path.taken == path.keys.len(),
        None => false,
    };
    if !whole {
        return request.lookup(path.head, program.path_keys(path));
    }
    if path.head == Head::Tool {
        return Ok(found(request.field(Field::Tool)));
    }
    match read(program, request, path) {
        Step::Found(value) => Ok(Some(value)),
        Step::Absent => Ok(None),
        Step::Unreadable => request.lookup(path.head, program.path_keys(path)),
    }
}

/// The same as a step: absent is null, and unreadable an exception.
fn lynx_step<R: Request>(program: &Program, request: &R, path: &Path) -> Step<R::Value> {
    match read_lynx(program, request, path) {
        Ok(Some(value)) => Step::Found(value),
        Ok(None) => Step::Absent,
        Err(_) => Step::Unreadable,
    }
}

fn found<V>(step: Step<V>) -> Option<V> {
    match step {
        Step::Found(value) => Some(value),
        Step::Absent | Step::Unreadable => None,
    }
}

impl<'r, R: Request> Evaluator<'r, R> {
    pub(crate) fn new(
        program: &'r Program,
        request: &'r R,
        scratch: &'r mut Scratch,
        (cuts, work): (ShortCuts, &'r Work<R::Value>),
    ) -> Self {
        Self {
            program,
            request,
            scratch,
            cuts,
            work,
            paths: [NO_PATH; PATH_CACHE],
            path_cache: std::array::from_fn(|_| Step::Absent),
            nowhere: Step::Absent,
        }
    }

    /// Reads a path, at most once while its cell is cached.
    #[inline]
    pub(super) fn step(&mut self, path: u32) -> Step<R::Value> {
        self.cached(path).clone()
    }

    /// The same, in its cell.
    #[inline]
    pub(super) fn cached(&mut self, path: u32) -> &Step<R::Value> {
        self.hold(path);
        self.cell(path)
    }

    /// Reads a path, unless it has its cell.
    #[inline]
    fn hold(&mut self, path: u32) {
        if !self.is_cached(path) {
            self.fetch(path);
        }
    }

    /// The cell of a path.
    #[inline]
    fn cell(&self, path: u32) -> &Step<R::Value> {
        self.path_cache
            .get(path as usize % PATH_CACHE)
            .unwrap_or(&self.nowhere)
    }

    /// Returns true if the cell of a path is cached.
    #[inline]
    pub(super) fn is_cached(&self, path: u32) -> bool {
        self.paths.get(path as usize % PATH_CACHE) == Some(&path)
    }

    /// Reads a path into its cell.
    #[inline(never)]
    fn fetch(&mut self, path: u32) {
        let at = path as usize % PATH_CACHE;
        let (Some(held), Some(cell)) = (self.paths.get_mut(at), self.path_cache.get_mut(at)) else {
            return;
        };
        *held = path;
        let Some(found) = self.program.paths.get(path as usize) else {
            *cell = Step::Absent;
            return;
        };
        match found.arg {
            Some(key) => self.request.arg(self.program.key(key), cell),
            None if self.program.profile == Profile::Lynx => {
                *cell = lynx_step(self.program, self.request, found);
                return;
            }
            None => *cell = read_within(self.program, self.request, found),
        }
        if self.program.profile == Profile::Lynx && matches!(cell, Step::Unreadable) {
            *cell = lynx_step(self.program, self.request, found);
        }
    }

    /// Forgets the values and the truths of the request, which a host rule of the `lynx` profile may have changed.
    pub(super) fn forget(&mut self) {
        self.paths = [NO_PATH; PATH_CACHE];
        self.scratch.forget();
    }

    /// Evaluates the match of a rule of the strict profile. `reordered` takes for granted what led to the rule.
    #[inline]
    pub(super) fn strict(
        &mut self,
        written: Part<'_>,
        reordered: Part<'_>,
        permits: bool,
    ) -> MatchResult {
        match self.truth(reordered, permits) {
            Truth::True => MatchResult::Fires,
            Truth::False | Truth::Absent => MatchResult::Passes,
            // The code is that of the first error in the order of the IR.
            Truth::Error(_) => match self.truth(written, permits) {
                Truth::Error(fault) => MatchResult::Error(fault.into()),
                Truth::True | Truth::False | Truth::Absent => {
                    MatchResult::Error(Fault::WrongType.into())
                }
            },
        }
    }

    #[inline]
    pub(super) fn truth(&mut self, expr: Part<'_>, permits: bool) -> Truth {
        self.truth_of(expr, permits, OfProgram)
    }

    /// Evaluates the match of a row.
    #[inline]
    pub(super) fn row(&mut self, row: &PackedRule<'r>) -> Truth {
        self.truth_of(expression(row.words), row.permits, OfRow(row.clauses))
    }

    #[inline(always)]
    fn truth_of(&mut self, expr: Part<'_>, permits: bool, clauses: impl Clauses) -> Truth {
        match expr {
            Part::Leaf(clause) => match clauses.leaf(self, clause) {
                Truth::Absent if !permits => Truth::False,
                truth => truth,
            },
            Part::Of(connective, items) => self.joined(connective, items, permits, clauses),
        }
    }

    /// Evaluates items in one call. PERF: most of them are clauses, which take as long as a call.
    #[inline(never)]
    fn joined(
        &mut self,
        connective: Connective,
        mut items: Parts<'_>,
        permits: bool,
        clauses: impl Clauses,
    ) -> Truth {
        if connective == Connective::Not {
            return match items.next() {
                Some(item) => self.truth_of(item, permits, clauses).negated(),
                None => Truth::Error(Fault::WrongType),
            };
        }
        // `any` is the negation of `all` of negations.
        let negated = connective == Connective::Any;
        let mut result = Truth::True;
        for item in items {
            let truth = self.truth_of(item, permits, clauses);
            match if negated { truth.negated() } else { truth } {
                Truth::True => {}
                Truth::False => return negated.into(),
                other => result = result.and(other),
            }
        }
        if negated { result.negated() } else { result }
    }

    /// Evaluates one clause of the strict profile; a missing path is absent for every rule.
    #[inline]
    pub(super) fn leaf(&mut self, index: u32) -> Truth {
        if self.cuts.memo
            && let Some(known) = self.scratch.memo_get(index)
        {
            return known;
        }
        let Some(clause) = self.program.clauses.get(index as usize) else {
            return Truth::Error(Fault::WrongType);
        };
        self.hold(clause.path);
        let test = self.program.test_of(clause);
        let truth = predicate::evaluate(test, self.cell(clause.path), self);
        if self.cuts.memo {
            self.scratch.memo_set(index, truth);
        }
        truth
    }

    /// The result of a clause of a row by its inline test, if that has one.
    #[inline(always)]
    fn inline(&mut self, clause: &RowClause) -> Option<bool> {
        if matches!(clause.test, InlineTest::None) {
            return None;
        }
        self.hold(clause.path);
        match self.cell(clause.path) {
            Step::Found(value) => clause.test.eval(value),
            Step::Absent | Step::Unreadable => None,
        }
    }

    /// Evaluates the match of a rule of the `lynx` profile.
    pub(super) fn lynx(&mut self, expr: Part<'_>) -> MatchResult {
        match self.ordered(expr, OfProgram) {
            Ok(true) => MatchResult::Fires,
            Ok(false) => MatchResult::Passes,
            Err(code) => MatchResult::Error(code),
        }
    }

    /// Evaluates the match of a row of the `lynx` profile.
    #[inline]
    pub(super) fn lynx_row(&mut self, row: &PackedRule<'r>) -> Result<bool, ErrorCode> {
        self.ordered(expression(row.words), OfRow(row.clauses))
    }

    #[inline(always)]
    fn ordered(&mut self, expr: Part<'_>, clauses: impl Clauses) -> Result<bool, ErrorCode> {
        match expr {
            Part::Leaf(clause) => clauses.lynx_leaf(self, clause),
            Part::Of(connective, items) => self.ordered_items(connective, items, clauses),
        }
    }

    /// Evaluates items in one call, up to the first that decides or raises.
    #[inline(never)]
    fn ordered_items(
        &mut self,
        connective: Connective,
        mut items: Parts<'_>,
        clauses: impl Clauses,
    ) -> Result<bool, ErrorCode> {
        if connective == Connective::Not {
            let item = items.next().ok_or(ErrorCode::TypeError)?;
            return self.ordered(item, clauses).map(|truth| !truth);
        }
        let decisive = connective == Connective::Any;
        for item in items {
            if self.ordered(item, clauses)? == decisive {
                return Ok(decisive);
            }
        }
        Ok(!decisive)
    }

    pub(super) fn lynx_leaf(&mut self, index: u32) -> Result<bool, ErrorCode> {
        match self.scratch.memo_get(index) {
            Some(Truth::True) if self.cuts.memo => return Ok(true),
            Some(Truth::False) if self.cuts.memo => return Ok(false),
            _ => {}
        }
        let program = self.program;
        let path = program
            .clauses
            .get(index as usize)
            .map(|clause| clause.path);
        let (Some(path), Some(test)) = (path, program.lynx_test(index)) else {
            return Err(ErrorCode::TypeError);
        };
        self.hold(path);
        let answer = match self.cell(path) {
            Step::Found(value) => test.evaluate(index, Some(value), &self.work.steps)?,
            Step::Absent => test.on_null(),
            // Read again for the exception.
            Step::Unreadable => self.lynx_clause(index)?.1?,
        };
        if self.cuts.memo {
            self.scratch.memo_set(index, answer.into());
        }
        Ok(answer)
    }

    /// The value a clause of the `lynx` profile reads, and its answer.
    #[expect(
        clippy::type_complexity,
        reason = "reading the value and evaluating it may both fail"
    )]
    pub(super) fn lynx_clause(
        &mut self,
        index: u32,
    ) -> Result<(Option<R::Value>, Result<bool, ErrorCode>), ErrorCode> {
        let program = self.program;
        let clause = program
            .clauses
            .get(index as usize)
            .ok_or(ErrorCode::TypeError)?;
        let path = program
            .paths
            .get(clause.path as usize)
            .ok_or(ErrorCode::TypeError)?;
        let value = read_lynx(program, self.request, path)?;
        let answer = match program.lynx_test(index) {
            Some(lynx_test) => lynx_test.evaluate(index, value.as_ref(), &self.work.steps),
            None => Err(ErrorCode::TypeError),
        };
        Ok((value, answer))
    }
}

/// The context of clauses beside their values. Paths that operands refer to have no cells.
impl<R: Request> Around<R::Value> for Evaluator<'_, R> {
    #[inline]
    fn at(&self, path: u32) -> Step<R::Value> {
        match self.program.paths.get(path as usize) {
            Some(path) => read(self.program, self.request, path),
            None => Step::Unreadable,
        }
    }

    #[inline]
    fn steps(&self) -> &Steps {
        &self.work.steps
    }

    #[inline]
    fn facets(&self) -> &Cache {
        self.work.facets()
    }

    #[cold]
    fn reading(&self, definition: u32) -> Result<Reading, Fault> {
        let memory = self.request.memory().ok_or(Fault::NoState)?;
        let request = (self.request, memory);
        self.program.reading(definition, request, self.work)
    }

    #[cold]
    fn drawn(&self, wanted: Wanted, value: &LeafValue<'_>) -> Result<bool, Fault> {
        let memory = self.request.memory().ok_or(Fault::NoState)?;
        memory.drawn(wanted, value, &self.work.steps)
    }

    #[inline]
    fn referred(&self) -> &Referred<R::Value> {
        self.work.referred()
    }
}

impl<R: Request> Env for Evaluator<'_, R> {
    type Value = R::Value;

    #[inline]
    fn step(&mut self, path: u32) -> &Step<R::Value> {
        self.cached(path)
    }

    #[inline]
    fn fuel_left(&self) -> u64 {
        self.work.steps.left()
    }

    #[inline]
    fn took(&mut self, fuel: u64) -> bool {
        self.work.steps.take(fuel).is_ok()
    }

    fn reading(&mut self, definition: u32) -> Result<Reading, Fault> {
        Around::reading(self, definition)
    }

    fn drawn(&mut self, wanted: Wanted, value: &LeafValue<'_>) -> Result<bool, Fault> {
        Around::drawn(self, wanted, value)
    }

    fn field(&mut self, field: Field, own: bool) -> Step<R::Value> {
        if own {
            self.request.own_field(field)
        } else {
            self.request.field(field)
        }
    }
}
