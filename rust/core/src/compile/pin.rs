//! Pins: the tools a rule is about. A rule whose match is false for every other tool is only judged for these.

use super::exact_text;
use crate::matcher::Test;
use crate::path::Field;
use crate::program::{Clause, Expr, Op, Profile, Program};
use crate::value::constant::Const;

/// Most tools one rule is listed under; a rule about more is listed as generic.
const MAX_TOOLS: usize = 64;

/// The tools outside of which `expr` is false, without an error and whatever else the request holds; `None` when it may be
/// anything else. Holds for requests whose tool is a string.
pub(super) fn tools(program: &Program, expr: &Expr) -> Option<Vec<String>> {
    let pinned = match expr {
        Expr::Leaf(index) => {
            let clause = program.clauses.get(*index as usize)?;
            let path = program.paths.get(clause.path as usize)?;
            if path.field != Some(Field::Tool) {
                return None;
            }
            leaf(program, *index, clause)
        }
        Expr::Not(_) => None,
        // The lynx profile judges in order: only what comes first keeps the rest from raising.
        Expr::All(items) if program.profile == Profile::Lynx => tools(program, items.first()?),
        Expr::All(items) => items
            .iter()
            .filter_map(|item| tools(program, item))
            .min_by_key(Vec::len),
        Expr::Any(items) => {
            let mut union = Vec::new();
            for item in items {
                union.extend(tools(program, item)?);
            }
            union.sort_unstable();
            union.dedup();
            Some(union)
        }
    };
    pinned.filter(|names| names.len() <= MAX_TOOLS)
}

fn leaf(program: &Program, index: u32, clause: &Clause) -> Option<Vec<String>> {
    if program.profile == Profile::Lynx {
        let info = program.infos.get(index as usize)?;
        return match (info.op, &info.operand) {
            (Op::Eq, Const::Str(text)) => Some(vec![text.to_string()]),
            (Op::In, Const::List(items)) if !info.operand.has_exotic() => Some(
                items
                    .iter()
                    .filter_map(|item| match item {
                        Const::Str(text) => Some(text.to_string()),
                        _ => None,
                    })
                    .collect(),
            ),
            _ => None,
        };
    }
    match &clause.test {
        Test::In(set) => Some(set.strings().iter().map(ToString::to_string).collect()),
        test => exact_text(program, test).map(|text| vec![text]),
    }
}
