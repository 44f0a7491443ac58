//! A walk over the rules of one request, layer by layer.
//!
//! PERF: all layers are parts of one index. A walk over the candidates that skips what a decided layer has left costs no
//! more than one over all rules.

use crate::eval::evaluator::Evaluator;
use crate::eval::search::Search;
use crate::eval::work::Work;
use crate::eval::{ScanResult, ShortCuts};
use crate::index::packed_rules;
use crate::program::scratch::{Applicable, Candidate};
use crate::program::{Marker, Program, Scratch};
use crate::value::request::Request;

/// The candidates of a walk.
enum Candidates<'p> {
    /// All rules: the tool cannot be read.
    All,
    /// Rows, in order.
    Packed(packed_rules::Iter<'p>),
    /// Those of the index, with one that belongs to a later layer.
    Found(Applicable<'p>, Box<Search<'p>>, Option<Candidate<'p>>),
}

/// A walk over the rules for one request, layer by layer.
pub(super) struct Walk<'r, R: Request> {
    program: &'r Program,
    evaluator: Evaluator<'r, R>,
    candidates: Candidates<'r>,
}

impl<'r, R: Request> Walk<'r, R> {
    pub(super) fn new(
        program: &'r Program,
        request: &'r R,
        scratch: &'r mut Scratch,
        work: &'r Work<R::Value>,
    ) -> Self {
        scratch.begin(program.clauses.len());
        let evaluator = Evaluator::new(program, request, scratch, (ShortCuts::ALL, work));
        let candidates = match request.tool() {
            None => Candidates::All,
            Some(tool) => {
                let applicable = Applicable {
                    tool: program.tool_index(tool),
                    any: program.generic(),
                };
                match applicable.packed_rules() {
                    Some(rows) => Candidates::Packed(rows),
                    None => {
                        let search = Search::new(applicable, evaluator.scratch, ShortCuts::ALL);
                        Candidates::Found(applicable, Box::new(search), None)
                    }
                }
            }
        };
        Self {
            program,
            evaluator,
            candidates,
        }
    }

    /// Walks the rules from `from` to `to` until one decides. Calls come in the order of the rules.
    pub(super) fn layer(
        &mut self,
        (from, to): (u32, u32),
        markers: &mut Vec<Marker>,
    ) -> ScanResult<R> {
        let (program, evaluator) = (self.program, &mut self.evaluator);
        match &mut self.candidates {
            Candidates::All => return program.scan_all((from, to), markers, evaluator),
            Candidates::Packed(rows) => loop {
                let mut rest = rows.clone();
                let Some(row) = rest.next().filter(|row| row.rule < to) else {
                    break;
                };
                *rows = rest;
                if row.rule < from {
                    continue;
                }
                if let Some(result) = program.eval_row(&row, markers, evaluator) {
                    return result;
                }
            },
            Candidates::Found(applicable, search, later) => {
                while let Some(candidate) = later.take().or_else(|| search.next(evaluator)) {
                    if candidate.rule >= to {
                        *later = Some(candidate);
                        break;
                    }
                    if candidate.rule < from {
                        evaluator.scratch.skip(*applicable, from);
                        continue;
                    }
                    if let Some(result) = program.eval_candidate(candidate, markers, evaluator) {
                        return result;
                    }
                }
            }
        }
        ScanResult::Nothing
    }
}
