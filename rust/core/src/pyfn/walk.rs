//! The statements of a function, numbered: traces and source maps agree on this order.
//!
//! Pre-order, each before its parts; the parts of a node in the order of the fields of its class in
//! `python/bobcat/ir/code.py`, whose walk is `statements` of `python/bobcat/ir/visit.py`.

use super::ast::{Code, Part, Statement};

/// Every statement of a function, those of the functions it calls included.
pub(crate) fn statements(written: &[Statement]) -> Vec<&Statement> {
    let mut found = Vec::new();
    body(written, &mut found);
    found
}

fn body<'f>(statements: &'f [Statement], found: &mut Vec<&'f Statement>) {
    for statement in statements {
        found.push(statement);
        match statement {
            Statement::Assign(_, value)
            | Statement::Append(_, value)
            | Statement::Return(value)
            | Statement::Evaluate(value) => code(value, found),
            Statement::Store(_, node) => {
                code(&node.0, found);
                code(&node.1, found);
            }
            Statement::If(test, then, otherwise) => {
                code(test, found);
                body(then, found);
                body(otherwise, found);
            }
            Statement::For(node) => {
                code(&node.over, found);
                body(&node.body, found);
                body(&node.otherwise, found);
            }
            Statement::Try(node) => {
                body(&node.body, found);
                for handler in &node.handlers {
                    body(&handler.body, found);
                }
                body(&node.otherwise, found);
            }
            Statement::Break | Statement::Continue | Statement::Raise(_) => {}
        }
    }
}

fn codes<'f>(items: impl IntoIterator<Item = &'f Code>, found: &mut Vec<&'f Statement>) {
    for item in items {
        code(item, found);
    }
}

fn code<'f>(node: &'f Code, found: &mut Vec<&'f Statement>) {
    match node {
        Code::Const(_) | Code::Local(_) | Code::Object(_) | Code::Run(_) | Code::Origin(..) => {}
        // The code has the read step by step.
        Code::Path(_, of)
        | Code::Attribute(of, _)
        | Code::IsInstance(of, _)
        | Code::Not(of)
        | Code::Unary(_, of)
        | Code::Bind(_, of)
        | Code::OriginOf(_, of)
        | Code::Has(_, _, of) => code(of, found),
        Code::Item(node) => codes([&node.0, &node.1], found),
        Code::Slice(node) => {
            code(&node.0, found);
            codes(node.1.iter().flatten(), found);
        }
        Code::Call(_, items)
        | Code::And(items)
        | Code::Or(items)
        | Code::List(items)
        | Code::Tuple(items)
        | Code::Set(items) => codes(items, found),
        Code::Method(of, _, args) => {
            code(of, found);
            codes(args, found);
        }
        Code::Regex(node) => code(&node.1, found),
        Code::Compare(first, others) => {
            code(first, found);
            codes(others.iter().map(|(_, other)| other), found);
        }
        Code::Binary(_, node) => codes([&node.0, &node.1], found),
        Code::IfElse(node) => codes([&node.0, &node.1, &node.2], found),
        Code::Mapping(entries) => {
            for (key, value) in entries {
                codes(key, found);
                code(value, found);
            }
        }
        Code::Collect(node) => {
            codes(&node.key, found);
            code(&node.value, found);
            for part in &node.loops {
                code(&part.over, found);
                codes(&part.conditions, found);
            }
        }
        Code::Text(parts) => {
            for part in parts {
                match part {
                    Part::Shown(value, ..) => code(value, found),
                    Part::Literal(_) => {}
                }
            }
        }
        Code::Inline(node) => {
            codes(node.parameters.iter().map(|(_, value)| value), found);
            body(&node.body, found);
        }
        Code::Decide(node) => codes(node.args.iter().map(|(_, value)| value), found),
    }
}
