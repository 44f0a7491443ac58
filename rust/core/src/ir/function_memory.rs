//! The nodes of functions that read the state of a run.

use super::constant::string;
use super::decode::Decoder;
use super::node::{Decode, Map, bad, list};
use super::part;
use crate::json::tape::{Item, Node};
use crate::lang::path::Head;
use crate::pyfn::ast::Code;
use crate::value::memory::Wanted;

/// The value of a measure or a formula.
#[inline(never)]
pub(super) fn run_value(decoder: &mut Decoder<'_>, map: Map<'_, '_>) -> Decode<Code> {
    let fields = map.fields("`run`", &["k", "name"])?;
    let name = fields.text(1)?;
    decoder.policy.check_run(&[name.into()])?;
    let memory = decoder.policy.memory.as_ref();
    let found = memory.and_then(|memory| memory.find(name));
    found
        .map(Code::Run)
        .ok_or_else(|| bad(format!("`{name}` is not a definition")))
}

/// The test of where an argument came from.
#[inline(never)]
pub(super) fn argument_origin(decoder: &mut Decoder<'_>, map: Map<'_, '_>) -> Decode<Code> {
    let fields = map.fields("`origin`", &["k", "lower", "path", "sources"])?;
    let wanted = wanted(decoder, (fields.need(3)?, fields.need(1)?))?;
    let keys = part::path(fields.need(2)?)?;
    if keys.is_empty() {
        return Err(bad("`path` is empty"));
    }
    Ok(Code::Origin(wanted, decoder.path_of(Head::Args, keys)?))
}

/// The sources that a test names. A policy whose function reads them remembers.
pub(super) fn wanted(
    decoder: &mut Decoder<'_>,
    (names, lower): (Item<'_, '_>, Item<'_, '_>),
) -> Decode<Wanted> {
    let Node::Bool(lower) = lower.node() else {
        return Err(bad("`lower` is no bool"));
    };
    let mut wanted = Wanted {
        lower,
        ..Wanted::default()
    };
    for name in list(names, "`sources`")? {
        let one = decoder
            .policy
            .source(string(name, "the name of a source")?)?;
        wanted.task |= one.task;
        wanted.sources |= one.sources;
    }
    if !wanted.task && wanted.sources == 0 {
        return Err(bad("`sources` is empty"));
    }
    decoder.policy.remembers = true;
    decoder.policy.names_task |= wanted.task;
    Ok(wanted)
}
