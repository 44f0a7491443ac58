//! Definitions of memory: what rules read of the state of a run. Their expressions are among the words of the policy.

use super::Policy;
use super::decode::{Decoder, span};
use super::node::{Decode, Map, bad, limit, list};
use super::part;
use crate::clause::flat_expr::{self, Word};
use crate::clause::operand::Operand;
use crate::error::DecodeError;
use crate::json::tape::{Item, Node};
use crate::lang::Profile;
use crate::lang::path::{Field, Head};
use crate::limits::{
    MAX_DEFINITIONS, MAX_FORMULA_DEPTH, MAX_FORMULA_NODES, MAX_SOURCE_FIELDS, MAX_SOURCES,
};
use crate::source::Span;
use crate::value::memory::Wanted;

/// The name of the task among sources.
pub const TASK: &str = "task";

/// The definitions of a policy.
#[derive(Clone, Debug)]
pub struct Definitions {
    /// Their names, in order.
    pub names: Vec<Box<str>>,
    /// The definitions, by name.
    pub items: Vec<Definition>,
    /// The definition of each source, by its bit.
    pub sources: Vec<u32>,
    /// The parts of a call that are needed when its result is there.
    pub keeps: Vec<Keep>,
    /// The place of all of them.
    pub span: Span,
}

/// A part of a call: a field, or one entry of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep {
    /// The field.
    pub field: Field,
    /// The keys of the entries, of arguments and `extra`; `None`: all of it.
    pub keys: Option<Vec<Box<str>>>,
}

/// One definition.
#[derive(Clone, Debug)]
pub enum Definition {
    /// A count or a sum.
    Measure(Measure),
    /// A formula: its nodes, parts before the whole.
    Formula(Vec<FormulaNode>),
    /// A source.
    Source(Source),
}

/// The first word of an expression, and the end of its words.
pub type Words = (u32, u32);

/// A count or a sum.
#[derive(Clone, Debug)]
pub struct Measure {
    /// The calls.
    pub of: Words,
    /// The argument that is summed; `None`: the calls are counted.
    pub field: Option<Vec<Box<str>>>,
    /// The window, in microseconds.
    pub within: Option<i64>,
    /// The scope whose calls it counts, in place of those of the run.
    pub by: Option<Scope>,
    /// True if the proposed call counts, too.
    pub this: bool,
}

/// The runs whose calls are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of one principal.
    Principal,
    /// Those of one session.
    Session,
    /// Those of one tenant.
    Tenant,
}

impl Scope {
    /// Its name in a policy.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Principal => "principal",
            Self::Session => "session",
            Self::Tenant => "tenant",
        }
    }
}

/// A node of a formula; parts are earlier nodes.
#[derive(Clone, Debug)]
pub enum FormulaNode {
    /// The event is the intent of a call that matches.
    Call(Words),
    /// The event is the result of a call that matches.
    Result(Words),
    /// Negation.
    Not(u32),
    /// Conjunction.
    All(Vec<u32>),
    /// Disjunction.
    Any(Vec<u32>),
    /// At the event before, within a window.
    Previous(u32, Option<i64>),
    /// At some event, within a window.
    Formerly(u32, Option<i64>),
    /// The first at all events after the second was true, within a window.
    Since(u32, u32, Option<i64>),
}

/// A source.
#[derive(Clone, Debug)]
pub struct Source {
    /// The calls.
    pub of: Words,
    /// The fields of a record; a field without steps is the record itself.
    pub fields: Vec<Vec<Box<str>>>,
    /// True if the URLs in the texts are the values.
    pub links: bool,
    /// The test of a record.
    pub record: Option<Words>,
    /// The sources that each argument of the call must come from.
    pub asked_with: Option<Wanted>,
}

impl Definitions {
    /// The number of a definition.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<u32> {
        let at = self.names.binary_search_by(|known| (**known).cmp(name));
        at.ok().map(|at| at as u32)
    }

    /// The bit of a source.
    #[must_use]
    pub fn source(&self, name: &str) -> Option<u32> {
        let definition = self.find(name)?;
        let at = self.sources.iter().position(|of| *of == definition)?;
        Some(at as u32)
    }
}

/// Kinds of what a leaf reads beside the call, a bit each.
pub(super) type Reads = u8;

/// The state of the run.
pub(super) const RUN: Reads = 1;
/// A result.
const RESULT: Reads = 2;
/// A record of a result.
const RECORD: Reads = 4;

/// The kinds of what a leaf reads.
pub(super) fn reads(head: Head, operand: Option<&Operand>) -> Reads {
    let of = |head| match head {
        Head::Run => RUN,
        Head::Result => RESULT,
        Head::Record => RECORD,
        Head::Tool | Head::Args | Head::Declared | Head::Context => 0,
    };
    let mut found = of(head);
    if let Some(operand) = operand {
        let _ = operand.each_ref(&mut |head, _| {
            found |= of(head);
            Ok::<_, DecodeError>(())
        });
        let _ = operand.each_source(&mut |_| {
            found |= RUN;
            Ok::<_, DecodeError>(())
        });
    }
    found
}

/// Refuses what a leaf may not read.
pub(super) fn check(reads: Reads, allowed: Reads) -> Decode<()> {
    if reads & !allowed == 0 {
        return Ok(());
    }
    Err(bad(match reads & !allowed {
        RUN => "a definition reads the state of the run",
        RESULT => "`result` is read outside of a test of results",
        _ => "`record` is read outside of a test of records",
    }))
}

impl Policy {
    /// The names that `from` lists.
    pub(super) fn source(&self, name: &str) -> Decode<Wanted> {
        if name == TASK {
            return Ok(Wanted {
                task: true,
                ..Wanted::default()
            });
        }
        let memory = self.memory.as_ref();
        match memory.and_then(|memory| memory.source(name)) {
            Some(bit) => Ok(Wanted {
                sources: 1 << bit,
                ..Wanted::default()
            }),
            None => Err(bad(format!("`{name}` is not a source"))),
        }
    }

    /// Checks a path into the state of the run: the name of a measure or a formula.
    pub(super) fn check_run(&self, keys: &[Box<str>]) -> Decode<()> {
        let memory = self.memory.as_ref();
        let found = match keys {
            [name] => memory.and_then(|memory| memory.items.get(memory.find(name)? as usize)),
            _ => None,
        };
        match found {
            Some(Definition::Measure(_) | Definition::Formula(_)) => Ok(()),
            Some(Definition::Source(_)) | None => {
                Err(bad(format!("`run.{}` is not a path", keys.join("."))))
            }
        }
    }
}

/// Decodes the definitions into the policy.
pub(super) fn decode<'a>(decoder: &mut Decoder<'a>, item: Item<'_, 'a>) -> Decode<()> {
    if decoder.policy.profile == Profile::Lynx {
        return Err(bad("the `lynx` profile has no `memory`"));
    }
    let entries = Map::of(item, "`memory`")?.0;
    let mut names: Vec<Box<str>> = Vec::new();
    let mut sources = Vec::new();
    for (name, definition) in entries {
        if names.len() == MAX_DEFINITIONS {
            return Err(limit(format!("more than {MAX_DEFINITIONS} definitions")));
        }
        let name = name
            .text()
            .ok_or_else(|| bad("the name of a definition holds a lone surrogate"))?;
        if name == TASK || names.last().is_some_and(|last| **last >= *name) {
            return Err(bad(format!("`memory` has `{name}` out of order")));
        }
        if Map::of(definition, "the definition")?.text("k")? == "source" {
            sources.push(names.len() as u32);
        }
        names.push(name.into());
    }
    if names.is_empty() {
        return Err(bad("`memory` is empty"));
    }
    if sources.len() > MAX_SOURCES {
        return Err(limit(format!("more than {MAX_SOURCES} sources")));
    }
    decoder.policy.memory = Some(Box::new(Definitions {
        names,
        items: Vec::new(),
        sources,
        keeps: Vec::new(),
        span: span(item),
    }));
    decoder.policy.remembers = true;
    let mut items = Vec::new();
    for (name, item) in entries {
        let decoded = definition(decoder, item).map_err(|error| DecodeError {
            code: error.code,
            message: format!("memory[{}]: {}", name.text().unwrap_or(""), error.message),
        })?;
        items.push(decoded);
    }
    decoder.allowed = RUN;
    let keeps = keeps(&decoder.policy, &items);
    if let Some(memory) = &mut decoder.policy.memory {
        memory.items = items;
        memory.keeps = keeps;
    }
    Ok(())
}

fn definition<'a>(decoder: &mut Decoder<'a>, item: Item<'_, 'a>) -> Decode<Definition> {
    let map = Map::of(item, "the definition")?;
    match map.text("k")? {
        "measure" => measure(decoder, map).map(Definition::Measure),
        "source" => source(decoder, map).map(Definition::Source),
        "formula" => {
            let fields = map.fields("the definition", &["formula", "k"])?;
            let mut nodes = Vec::new();
            formula(decoder, fields.need(0)?, (&mut nodes, 1))?;
            Ok(Definition::Formula(nodes))
        }
        other => Err(bad(format!("`{other}` is not a kind of definition"))),
    }
}

/// Decodes an expression that may read some kinds of values beside the call.
fn words<'a>(decoder: &mut Decoder<'a>, item: Item<'_, 'a>, allowed: Reads) -> Decode<Words> {
    decoder.allowed = allowed;
    let from = decoder.policy.words.len() as u32;
    decoder.expr(item, 1)?;
    Ok((from, decoder.policy.words.len() as u32))
}

/// A window in microseconds.
fn within(item: Option<Item<'_, '_>>) -> Decode<Option<i64>> {
    match item.map(Item::node) {
        None => Ok(None),
        Some(Node::Int(micros @ 1..)) => Ok(Some(micros)),
        Some(_) => Err(bad("`within` is not a positive integer")),
    }
}

/// A flag that is written if it is true.
fn flag(item: Option<Item<'_, '_>>, name: &str) -> Decode<bool> {
    match item.map(Item::node) {
        None => Ok(false),
        Some(Node::Bool(true)) => Ok(true),
        Some(_) => Err(bad(format!("`{name}` is not true"))),
    }
}

fn measure<'a>(decoder: &mut Decoder<'a>, map: Map<'_, 'a>) -> Decode<Measure> {
    let fields = map.fields("the measure", &["by", "field", "k", "of", "this", "within"])?;
    let by = match fields.get(0) {
        None => None,
        Some(_) => Some(match fields.text(0)? {
            "principal" => Scope::Principal,
            "session" => Scope::Session,
            "tenant" => Scope::Tenant,
            _ => return Err(bad("`by` is not `principal`, `session` or `tenant`")),
        }),
    };
    let field = fields.get(1).map(part::path).transpose()?;
    if field.as_ref().is_some_and(Vec::is_empty) {
        return Err(bad("`field` is empty"));
    }
    Ok(Measure {
        of: words(decoder, fields.need(3)?, 0)?,
        field,
        within: within(fields.get(5))?,
        by,
        this: flag(fields.get(4), "this")?,
    })
}

fn source<'a>(decoder: &mut Decoder<'a>, map: Map<'_, 'a>) -> Decode<Source> {
    let fields = map.fields(
        "the source",
        &["asked_with", "fields", "k", "links", "of", "where"],
    )?;
    let paths = list(fields.need(1)?, "`fields`")?;
    if !(1..=MAX_SOURCE_FIELDS).contains(&paths.count()) {
        return Err(bad(format!(
            "`fields` does not have 1 to {MAX_SOURCE_FIELDS} paths"
        )));
    }
    let asked_with = match fields.get(0) {
        None => None,
        Some(item) => {
            let mut wanted = Wanted::default();
            for name in list(item, "`asked_with`")? {
                let name = name
                    .text()
                    .ok_or_else(|| bad("`asked_with` is no list of names"))?;
                let one = decoder.policy.source(name)?;
                wanted.task |= one.task;
                wanted.sources |= one.sources;
            }
            decoder.policy.names_task |= wanted.task;
            if wanted == Wanted::default() {
                return Err(bad("`asked_with` is empty"));
            }
            Some(wanted)
        }
    };
    Ok(Source {
        of: words(decoder, fields.need(4)?, 0)?,
        fields: paths.map(part::path).collect::<Decode<_>>()?,
        links: flag(fields.get(3), "links")?,
        record: match fields.get(5) {
            Some(item) => Some(words(decoder, item, RECORD)?),
            None => None,
        },
        asked_with,
    })
}

/// Decodes a formula, and returns the number of its node.
fn formula<'a>(
    decoder: &mut Decoder<'a>,
    item: Item<'_, 'a>,
    (nodes, depth): (&mut Vec<FormulaNode>, usize),
) -> Decode<u32> {
    if depth > MAX_FORMULA_DEPTH {
        return Err(limit(format!(
            "a formula is deeper than {MAX_FORMULA_DEPTH} levels"
        )));
    }
    let map = Map::of(item, "the formula")?;
    let mut part =
        |decoder: &mut Decoder<'a>, item| formula(decoder, item, (&mut *nodes, depth + 1));
    let node = match map.text("k")? {
        "call" => {
            let fields = map.fields("the formula", &["k", "match"])?;
            FormulaNode::Call(words(decoder, fields.need(1)?, 0)?)
        }
        "result" => {
            let fields = map.fields("the formula", &["k", "match"])?;
            FormulaNode::Result(words(decoder, fields.need(1)?, RESULT)?)
        }
        "not" => {
            let fields = map.fields("the formula", &["item", "k"])?;
            FormulaNode::Not(part(decoder, fields.need(0)?)?)
        }
        kind @ ("all" | "any") => {
            let fields = map.fields("the formula", &["items", "k"])?;
            let items = list(fields.need(0)?, "`items`")?
                .map(|item| part(decoder, item))
                .collect::<Decode<_>>()?;
            if kind == "all" {
                FormulaNode::All(items)
            } else {
                FormulaNode::Any(items)
            }
        }
        kind @ ("previous" | "formerly") => {
            let fields = map.fields("the formula", &["item", "k", "within"])?;
            let (item, within) = (part(decoder, fields.need(0)?)?, within(fields.get(2))?);
            if kind == "previous" {
                FormulaNode::Previous(item, within)
            } else {
                FormulaNode::Formerly(item, within)
            }
        }
        "since" => {
            let fields = map.fields("the formula", &["holds", "k", "start", "within"])?;
            let holds = part(decoder, fields.need(0)?)?;
            let start = part(decoder, fields.need(2)?)?;
            FormulaNode::Since(holds, start, within(fields.get(3))?)
        }
        other => return Err(bad(format!("`{other}` is not a kind of formula"))),
    };
    if nodes.len() == MAX_FORMULA_NODES {
        return Err(limit(format!(
            "a formula has more than {MAX_FORMULA_NODES} parts"
        )));
    }
    nodes.push(node);
    Ok(nodes.len() as u32 - 1)
}

/// The parts of a call that tests of results and records read.
fn keeps(policy: &Policy, items: &[Definition]) -> Vec<Keep> {
    let mut found: Vec<Keep> = Vec::new();
    let mut expressions: Vec<Words> = Vec::new();
    for item in items {
        match item {
            Definition::Formula(nodes) => {
                expressions.extend(nodes.iter().filter_map(|node| match node {
                    FormulaNode::Result(words) => Some(*words),
                    _ => None,
                }))
            }
            Definition::Source(source) => expressions.extend(source.record),
            Definition::Measure(_) => {}
        }
    }
    for (from, to) in expressions {
        let words: &[Word] = policy
            .words
            .get(from as usize..to as usize)
            .unwrap_or_default();
        flat_expr::expression(words).leaves(&mut |leaf| {
            let Some(at) = policy.leaves.get(leaf as usize) else {
                return;
            };
            let end = policy.leaves.get(leaf as usize + 1).map(|next| next.refs);
            let end = end.map_or(policy.refs.len(), |end| end as usize);
            let refs = policy.refs.get(at.refs as usize..end).unwrap_or_default();
            for path in refs.iter().chain([&at.path]) {
                if let Some(path) = policy.paths.get(*path as usize) {
                    keep(&mut found, path.head, &path.keys);
                }
            }
        });
    }
    found
}

fn keep(found: &mut Vec<Keep>, head: Head, path: &[Box<str>]) {
    let Some((field, taken)) = Field::resolve(head, path) else {
        return;
    };
    if matches!(field, Field::Result | Field::Record) {
        return;
    }
    let key = path.get(taken).cloned();
    let at = match found.iter().position(|keep| keep.field == field) {
        Some(at) => at,
        None => {
            let keys = Some(Vec::new());
            found.push(Keep { field, keys });
            found.len() - 1
        }
    };
    if let Some(keep) = found.get_mut(at) {
        match (key, &mut keep.keys) {
            (Some(key), Some(keys)) if !keys.contains(&key) => keys.push(key),
            (Some(_), _) => {}
            (None, keys) => *keys = None,
        }
    }
}
