//! Reordering of the match of a rule that the index led to: cheap clauses first, without clauses that the index has
//! answered.

use super::tool_scope;
use crate::clause::flat_expr::{self, Connective, Part, Word};
use crate::program::Program;

/// The words of `expr`, cheap items first. `tool_known`: the rule is listed by tool, which answers what pinned it.
pub(super) fn reorder(program: &Program, expr: Part<'_>, tool_known: bool) -> Box<[Word]> {
    let mut words = Vec::new();
    match expr {
        Part::Of(Connective::All, items) if tool_known => {
            let pinned = tool_scope::tools(program, expr);
            let answered = items
                .enumerate()
                .find(|(_, item)| {
                    matches!(item, Part::Leaf(_)) && tool_scope::tools(program, *item) == pinned
                })
                .map(|(at, _)| at);
            let left = items
                .enumerate()
                .filter(|(at, _)| Some(*at) != answered)
                .map(|(_, item)| item);
            connective(program, Connective::All, left, &mut words);
        }
        // The match tests only the tool: no clause remains.
        Part::Leaf(_) if tool_known => connective(program, Connective::All, [], &mut words),
        expr => push(program, expr, &mut words),
    }
    words.into()
}

/// The words of a match of the `lynx` profile, in order, without a first clause that listing by tool has answered.
pub(super) fn without_tool(program: &Program, expr: Part<'_>, tool_known: bool) -> Box<[Word]> {
    let answered = |item: Option<Part<'_>>| {
        tool_known
            && item.is_some_and(|item| is_leaf(item) && tool_scope::tools(program, item).is_some())
    };
    let mut words = Vec::new();
    match expr {
        Part::Of(Connective::All, mut items) => {
            if answered(items.clone().next()) {
                items.next();
            }
            let opened = flat_expr::open(&mut words);
            words.extend(items.words());
            flat_expr::close(&mut words, opened, Connective::All);
        }
        expr if answered(Some(expr)) => {
            let opened = flat_expr::open(&mut words);
            flat_expr::close(&mut words, opened, Connective::All);
        }
        Part::Of(connective, items) => {
            let opened = flat_expr::open(&mut words);
            words.extend(items.words());
            flat_expr::close(&mut words, opened, connective);
        }
        Part::Leaf(clause) => flat_expr::push_leaf(&mut words, clause),
    }
    words.into()
}

fn is_leaf(item: Part<'_>) -> bool {
    matches!(item, Part::Leaf(_))
}

fn push(program: &Program, expr: Part<'_>, words: &mut Vec<Word>) {
    match expr {
        Part::Leaf(clause) => flat_expr::push_leaf(words, clause),
        Part::Of(kind, items) => connective(program, kind, items, words),
    }
}

fn connective<'c>(
    program: &Program,
    kind: Connective,
    items: impl IntoIterator<Item = Part<'c>>,
    words: &mut Vec<Word>,
) {
    let mut items: Vec<Part<'c>> = items.into_iter().collect();
    if let ([only], Connective::All | Connective::Any) = (items.as_slice(), kind) {
        return push(program, *only, words);
    }
    items.sort_by_cached_key(|item| cost(program, *item));
    let opened = flat_expr::open(words);
    for item in items {
        push(program, item, words);
    }
    flat_expr::close(words, opened, kind);
}

/// Returns the first item of a reordered match; `None` if it is always true.
pub(super) fn first(expr: Part<'_>) -> Option<Part<'_>> {
    match expr {
        Part::Of(Connective::All, mut items) => items.next(),
        expr => Some(expr),
    }
}

/// Returns the cost of evaluating an expression, roughly in equality comparisons.
pub(super) fn cost(program: &Program, expr: Part<'_>) -> u32 {
    match expr {
        Part::Leaf(clause) => program.indexed_clause(clause).facts().cost,
        Part::Of(_, items) => items
            .map(|item| cost(program, item))
            .fold(0, u32::saturating_add),
    }
}
