//! The walk over the parts of a function. Traces and source maps agree on the order of its statements.
//!
//! Pre-order, each before its parts; the parts of a node in the order of the fields of its class in
//! `python/bobcat/ir/code.py`, whose walk is `statements` of `python/bobcat/ir/visit.py`.

use super::ast::{Code, Part, Statement};
#[cfg(feature = "analysis")]
use super::cfg::Node;

/// A part of a function.
pub(crate) enum Found<'f> {
    Statement(&'f Statement),
    #[cfg_attr(
        not(feature = "analysis"),
        expect(dead_code, reason = "only the analysis looks at expressions")
    )]
    Code(&'f Code),
}

type Visit<'v, 'f> = &'v mut dyn FnMut(Found<'f>);

/// Every statement of a function, those of the functions it calls included.
pub(crate) fn statements(written: &[Statement]) -> Vec<&Statement> {
    let mut statements = Vec::new();
    body(written, &mut |found| match found {
        Found::Statement(statement) => statements.push(statement),
        Found::Code(_) => {}
    });
    statements
}

/// Calls `visit` with every part of the nodes of a function.
#[cfg(feature = "analysis")]
pub(crate) fn parts<'f>(nodes: &'f [Node], visit: Visit<'_, 'f>) {
    for node in nodes {
        match node {
            Node::Test(test, ..) | Node::Return(test) => code(test, visit),
            Node::Run(statement, _) => body(std::slice::from_ref(statement), visit),
            Node::ReturnStatic(_) | Node::ReturnNone => {}
        }
    }
}

fn body<'f>(statements: &'f [Statement], visit: Visit<'_, 'f>) {
    for statement in statements {
        visit(Found::Statement(statement));
        match statement {
            Statement::Assign(_, value)
            | Statement::Append(_, value)
            | Statement::Return(value)
            | Statement::Evaluate(value) => code(value, visit),
            Statement::Store(_, node) => {
                code(&node.0, visit);
                code(&node.1, visit);
            }
            Statement::If(test, then, otherwise) => {
                code(test, visit);
                body(then, visit);
                body(otherwise, visit);
            }
            Statement::For(node) => {
                code(&node.over, visit);
                body(&node.body, visit);
                body(&node.otherwise, visit);
            }
            Statement::Try(node) => {
                body(&node.body, visit);
                for handler in &node.handlers {
                    body(&handler.body, visit);
                }
                body(&node.otherwise, visit);
            }
            Statement::Break | Statement::Continue | Statement::Raise(_) => {}
        }
    }
}

fn codes<'f>(items: impl IntoIterator<Item = &'f Code>, visit: Visit<'_, 'f>) {
    for item in items {
        code(item, visit);
    }
}

fn code<'f>(node: &'f Code, visit: Visit<'_, 'f>) {
    visit(Found::Code(node));
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
        | Code::Has(_, _, of) => code(of, visit),
        Code::Item(node) => codes([&node.0, &node.1], visit),
        Code::Slice(node) => {
            code(&node.0, visit);
            codes(node.1.iter().flatten(), visit);
        }
        Code::Call(_, items)
        | Code::And(items)
        | Code::Or(items)
        | Code::List(items)
        | Code::Tuple(items)
        | Code::Set(items) => codes(items, visit),
        Code::Method(of, _, args) => {
            code(of, visit);
            codes(args, visit);
        }
        Code::Regex(node) => code(&node.1, visit),
        Code::Compare(first, others) => {
            code(first, visit);
            codes(others.iter().map(|(_, other)| other), visit);
        }
        Code::Binary(_, node) => codes([&node.0, &node.1], visit),
        Code::IfElse(node) => codes([&node.0, &node.1, &node.2], visit),
        Code::Mapping(entries) => {
            for (key, value) in entries {
                codes(key, visit);
                code(value, visit);
            }
        }
        Code::Collect(node) => {
            codes(&node.key, visit);
            code(&node.value, visit);
            for part in &node.loops {
                code(&part.over, visit);
                codes(&part.conditions, visit);
            }
        }
        Code::Text(parts) => {
            for part in parts {
                match part {
                    Part::Shown(value, ..) => code(value, visit),
                    Part::Literal(_) => {}
                }
            }
        }
        Code::Inline(node) => {
            codes(node.parameters.iter().map(|(_, value)| value), visit);
            body(&node.body, visit);
        }
        Code::Decide(node) => codes(node.args.iter().map(|(_, value)| value), visit),
    }
}
