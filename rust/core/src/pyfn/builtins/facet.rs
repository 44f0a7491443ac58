//! Facets of texts: their parts, links and documents as values of a function.

use std::rc::Rc;

use crate::error::ErrorCode;
use crate::facets::{Facet, Parsed, Part};
use crate::json::value::JsonValue;
use crate::lang::path::Key;
use crate::pyfn::exception::{Exception, Failure};
use crate::pyfn::interp::table::Table;
use crate::pyfn::interp::value::{Budget, Run, Val};
use crate::value::{Step, Value, View};

/// A part of a text that a facet parses; `None` where the text does not have it. A text that is undecidable is a fault, which
/// no handler catches. The part without a name is the links of a text, and the value of a document.
pub(super) fn part<'p, V: Value>(args: &[Val<'p, V>], budget: &mut Budget) -> Run<Val<'p, V>> {
    let [facet, name, text] = args else {
        return Err(Exception::TYPE.into());
    };
    let (Some(facet), Some(name)) = (facet.text().and_then(Facet::from_name), name.text()) else {
        return Err(Failure::UNSUPPORTED);
    };
    let Some(text) = text.text() else {
        return Err(Exception::TYPE.into());
    };
    budget.scan(text)?;
    let parsed = facet
        .parse(text)
        .map_err(|_| Failure::Fault(ErrorCode::Undecidable))?;
    match (name, &parsed) {
        ("", Parsed::Links(links)) => {
            budget.elements(links.len())?;
            return Val::list(
                links
                    .iter()
                    .map(|link| Val::Made((&**link).into()))
                    .collect(),
            );
        }
        ("", Parsed::Document(json)) => return document(json, budget),
        _ => {}
    }
    let whole = Part::Whole(&parsed);
    if let ("programs", Parsed::Script(script)) = (name, &parsed) {
        let programs = script
            .commands()
            .map(|command| Val::Made(command.program().into()));
        return Val::list(programs.collect());
    }
    if let ("normal", Parsed::Path(path)) = (name, &parsed) {
        return Ok(Val::Made((&*path.normal).into()));
    }
    let Step::Found(part) = whole.get(Key::unprepared(name)) else {
        return Ok(Val::None);
    };
    Ok(match part.view() {
        View::Str(text) => Val::Made(text.into()),
        View::Bool(flag) => Val::Bool(flag),
        View::Int(number) => Val::Int(number),
        View::List => {
            let texts = part.items().map(|item| match item.view() {
                View::Str(text) => Val::Made(text.into()),
                _ => Val::None,
            });
            return Val::list(texts.collect());
        }
        _ => return Err(Failure::Fault(ErrorCode::Undecidable)),
    })
}

/// The value of a document. A document has a bounded depth.
fn document<'p, V: Value>(json: &JsonValue<'_>, budget: &mut Budget) -> Run<Val<'p, V>> {
    Ok(match json.view() {
        View::Null => Val::None,
        View::Bool(flag) => Val::Bool(flag),
        View::Int(number) => Val::Int(number),
        View::BigInt(number) => Val::Big(Rc::new(number)),
        View::Float(number) => Val::Float(number),
        View::Str(text) => Val::made(text, budget)?,
        View::List => {
            budget.elements(json.len())?;
            let items = json.items().map(|item| document(&item, budget));
            return Val::list(items.collect::<Run<_>>()?);
        }
        View::Map => {
            let mut table = Table::new();
            let mut done = Ok(());
            json.each_pair(&mut |key, value| {
                let pair =
                    document(&key, budget).and_then(|key| Ok((key, document(&value, budget)?)));
                done = pair.and_then(|(key, value)| table.insert(key, value, budget));
                done.is_ok()
            });
            done?;
            Val::Dict(Rc::new(table))
        }
        View::HugeInt => return Err(Failure::Fault(ErrorCode::OutOfRange)),
        View::BadStr => return Err(Failure::Fault(ErrorCode::BadUnicode)),
        View::Timestamp(_) | View::Opaque => return Err(Failure::UNSUPPORTED),
    })
}
