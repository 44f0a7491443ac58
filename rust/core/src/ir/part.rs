//! Parts of a policy that were checked when it was decoded, read again from its bytes when they are needed.
//!
//! INVARIANT: what [`super::decode`] accepted is read here without an error. The callers fail closed all the same.

use super::constant::{constant, string};
use super::node::{CAPS, Decode, Fields, Map, bad, list, syntax};
use crate::clause::operand::{Check, Operand};
use crate::clause::ops::{Op, Operator};
use crate::json::tape::{Item, Node, Tape};
use crate::lang::path::Head;
use crate::lang::{Profile, Verdict};
use crate::limits::{MAX_APPROVALS_NEEDED, MAX_OBLIGATIONS, MAX_TEST_DEPTH};
use crate::pyfn::decision::Obligation;
use crate::regex::Dialect;
use crate::value::constant::Const;
use crate::value::request::{Transform, TransformOp};

/// The properties of a rule that a decision needs.
#[derive(Clone, Debug)]
pub struct RuleInfo {
    /// The id; a string in the strict profile.
    pub id: Const,
    /// The verdict; of a host rule: `deny`, which is what its failure means.
    pub verdict: Verdict,
    /// The reason; a string in the strict profile.
    pub reason: Const,
    /// The number of approvers who must approve; at least one.
    pub approvals_needed: u32,
    /// The approvers; strings in the strict profile.
    pub approvers: Vec<Const>,
    /// Null or a number in the strict profile.
    pub timeout_seconds: Const,
    /// The rewrite, of a `transform` rule.
    pub transform: Option<Transform>,
    /// What a permitted call is bound to, in the order of the rule.
    pub obligations: Vec<Obligation>,
    /// The index among the host rules, of a host rule.
    pub host: Option<u32>,
}

impl RuleInfo {
    /// Those of a rule that has no more than a name.
    #[must_use]
    pub fn named(id: &str) -> Self {
        Self {
            id: Const::Str(id.into()),
            verdict: Verdict::Deny,
            reason: Const::Str("".into()),
            approvals_needed: 1,
            approvers: Vec::new(),
            timeout_seconds: Const::Null,
            transform: None,
            obligations: Vec::new(),
            host: None,
        }
    }
}

/// The comparison of a leaf.
#[derive(Debug)]
pub struct Leaf {
    /// The operator.
    pub op: Op,
    /// The operand.
    pub operand: Operand,
    /// The dialect of a pattern.
    pub dialect: Option<Dialect>,
}

/// Reads the bytes of a rule; of a host rule and a function it knows the name only.
///
/// # Errors
/// They are no rule.
pub fn rule(bytes: &[u8], profile: Profile) -> Decode<RuleInfo> {
    let tape = Tape::parse(bytes, CAPS).map_err(|error| syntax(&error))?;
    let map = Map::of(tape.root(), "the rule")?;
    if matches!(map.text("k")?, "host" | "function") {
        return map.text("name").map(RuleInfo::named);
    }
    declarative(&rule_fields(map)?, profile)
}

/// Reads the bytes of a leaf.
///
/// # Errors
/// They are no leaf.
pub fn leaf(bytes: &[u8], profile: Profile) -> Decode<Leaf> {
    let tape = Tape::parse(bytes, CAPS).map_err(|error| syntax(&error))?;
    let fields = leaf_fields(Map::of(tape.root(), "the leaf")?)?;
    Ok(Leaf {
        op: op(&fields)?,
        operand: operand_of(fields.need(LEAF_OPERAND)?, profile)?,
        dialect: dialect(&fields)?,
    })
}

/// Decodes the operand of a leaf.
pub(super) fn operand_of(item: Item<'_, '_>, profile: Profile) -> Decode<Operand> {
    match profile {
        Profile::Strict => comparand_at(item, 0),
        Profile::Lynx => constant(item, profile).map(Operand::Const),
    }
}

fn comparand_at(item: Item<'_, '_>, depth: usize) -> Decode<Operand> {
    let mut entries = item.entries().into_iter().flatten();
    let (Some((tag, body)), second) = (entries.next(), entries.next()) else {
        return constant(item, Profile::Strict).map(Operand::Const);
    };
    if let Some((tests, checks)) = second
        && depth > 0
        && entries.next().is_none()
        && (tag.text(), tests.text()) == (Some("path"), Some("tests"))
    {
        let checks = list(checks, "`tests`")?
            .map(|item| check(item, depth))
            .collect::<Decode<Vec<_>>>()?;
        if checks
            .iter()
            .any(|check| matches!(check.operand, Operand::Part(..)))
        {
            return Err(bad("a part of a part is one path"));
        }
        return Ok(Operand::Part(path(body)?, checks));
    }
    if item.entries().into_iter().flatten().count() != 1 {
        return constant(item, Profile::Strict).map(Operand::Const);
    };
    match tag.text() {
        Some("ref") => {
            let mut keys = path(body)?.into_iter();
            let first = keys.next().unwrap_or_default();
            Ok(Operand::Ref(head_of(&first)?, keys.collect()))
        }
        Some("sources") => list(body, "`sources`")?
            .map(|item| string(item, "a name of a source").map(Into::into))
            .collect::<Decode<_>>()
            .map(Operand::Sources),
        Some("places") => {
            let place = |item| match comparand_at(item, depth)? {
                place @ (Operand::Const(_) | Operand::Ref(..)) => Ok(place),
                _ => Err(bad("a place is a text or a path")),
            };
            list(body, "`places`")?
                .map(place)
                .collect::<Decode<_>>()
                .map(Operand::Places)
        }
        Some("tests") if depth == MAX_TEST_DEPTH => Err(super::node::limit(format!(
            "tests are deeper than {MAX_TEST_DEPTH} levels"
        ))),
        Some("tests") => list(body, "`tests`")?
            .map(|item| check(item, depth + 1))
            .collect::<Decode<_>>()
            .map(Operand::Tests),
        _ => constant(item, Profile::Strict).map(Operand::Const),
    }
}

fn check(item: Item<'_, '_>, depth: usize) -> Decode<Check> {
    let fields = Map::of(item, "the test")?.fields("the test", &["dialect", "op", "operand"])?;
    let op = op_of(fields.text(1)?)?;
    Ok(Check {
        op,
        operand: comparand_at(fields.need(2)?, depth)?,
        dialect: dialect_of(fields.get(0))?,
    })
}

pub(super) type RuleFields<'t, 'a> = Fields<'t, 'a, 12>;

pub(super) const APPROVALS_NEEDED: usize = 0;
pub(super) const APPROVERS: usize = 1;
pub(super) const ID: usize = 2;
pub(super) const MATCH: usize = 4;
pub(super) const PRIORITY: usize = 5;
pub(super) const REASON: usize = 6;
pub(super) const TIMEOUT: usize = 7;
pub(super) const TRANSFORM: usize = 8;
pub(super) const VERDICT: usize = 9;
pub(super) const MODE: usize = 10;
pub(super) const OBLIGATIONS: usize = 11;

pub(super) fn rule_fields<'t, 'a>(map: Map<'t, 'a>) -> Decode<RuleFields<'t, 'a>> {
    map.fields(
        "the rule",
        &[
            "approvals_needed",
            "approvers",
            "id",
            "k",
            "match",
            "priority",
            "reason",
            "timeout_seconds",
            "transform",
            "verdict",
            // PERF: most rules have neither; behind the others, they cost the walk nothing.
            "mode",
            "obligations",
        ],
    )
}

/// Decodes all of a rule but its match.
pub(super) fn declarative(fields: &RuleFields<'_, '_>, profile: Profile) -> Decode<RuleInfo> {
    let decoded = RuleInfo {
        id: constant(fields.need(ID)?, profile)?,
        verdict: fields.verdict(VERDICT)?,
        reason: constant(fields.need(REASON)?, profile)?,
        approvals_needed: approvals_needed(fields)?,
        approvers: list(fields.need(APPROVERS)?, "`approvers`")?
            .map(|item| constant(item, profile))
            .collect::<Decode<_>>()?,
        timeout_seconds: constant(fields.need(TIMEOUT)?, profile)?,
        transform: match transform_of(fields) {
            Some(spec) => Some(transform(spec, profile)?),
            None => None,
        },
        obligations: obligations(fields, profile)?,
        host: None,
    };
    if profile == Profile::Strict {
        check_strict(&decoded)?;
    }
    Ok(decoded)
}

/// Returns the number of approvers who must approve: one unless the rule gives a number, and only other numbers are
/// written.
fn approvals_needed(fields: &RuleFields<'_, '_>) -> Decode<u32> {
    let Some(item) = fields.get(APPROVALS_NEEDED) else {
        return Ok(1);
    };
    match item.node() {
        Node::Int(count) => u32::try_from(count)
            .ok()
            .filter(|count| (2..=MAX_APPROVALS_NEEDED).contains(count)),
        _ => None,
    }
    .ok_or_else(|| {
        bad(format!(
            "`approvals_needed` is not an integer between 2 and {MAX_APPROVALS_NEEDED}"
        ))
    })
}

/// The obligations of a rule; the rule has the key only where it has some.
fn obligations(fields: &RuleFields<'_, '_>, profile: Profile) -> Decode<Vec<Obligation>> {
    match fields.get(OBLIGATIONS) {
        None => Ok(Vec::new()),
        Some(item) => obligation_list(item, profile),
    }
}

/// The obligations of a rule, or of a decision of a function.
pub(super) fn obligation_list(item: Item<'_, '_>, profile: Profile) -> Decode<Vec<Obligation>> {
    let found = list(item, "`obligations`")?
        .map(|item| obligation(item, profile))
        .collect::<Decode<Vec<_>>>()?;
    match (profile, found.len()) {
        (Profile::Lynx, _) => Err(bad("a rule of the `lynx` profile has no `obligations`")),
        (Profile::Strict, 1..=MAX_OBLIGATIONS) => Ok(found),
        (Profile::Strict, count) => Err(bad(format!(
            "a rule has {count} obligations, not 1 to {MAX_OBLIGATIONS}"
        ))),
    }
}

fn obligation(item: Item<'_, '_>, profile: Profile) -> Decode<Obligation> {
    let fields =
        Map::of(item, "an obligation")?.fields("an obligation", &["name", "phase", "value"])?;
    let name = fields.text(0)?;
    if name.is_empty() {
        return Err(bad("the name of an obligation is empty"));
    }
    Ok(Obligation {
        name: name.into(),
        before: match fields.text(1)? {
            "before" => true,
            "after" => false,
            other => return Err(bad(format!("`{other}` is not a phase"))),
        },
        value: constant(fields.need(2)?, profile)?,
    })
}

/// Returns true if a rule takes no part in decisions, and is only compared.
pub(super) fn is_monitored(fields: &RuleFields<'_, '_>, profile: Profile) -> Decode<bool> {
    match (fields.get(MODE), profile) {
        (None, _) => Ok(false),
        (Some(_), Profile::Lynx) => Err(bad("a rule of the `lynx` profile has no `mode`")),
        (Some(item), Profile::Strict) => match string(item, "`mode`")? {
            "monitor" => Ok(true),
            other => Err(bad(format!("`{other}` is not a mode"))),
        },
    }
}

/// The `transform` of a rule, if it has one.
pub(super) fn transform_of<'t, 'a>(fields: &RuleFields<'t, 'a>) -> Option<Item<'t, 'a>> {
    fields
        .get(TRANSFORM)
        .filter(|spec| !matches!(spec.node(), Node::Null))
}

pub(super) fn transform(spec: Item<'_, '_>, profile: Profile) -> Decode<Transform> {
    let fields = Map::of(spec, "`transform`")?.fields("`transform`", &["op", "path", "value"])?;
    let op = match fields.text(0)? {
        "set" => TransformOp::Set,
        "append" => TransformOp::Append,
        "delete" => TransformOp::Delete,
        other => return Err(bad(format!("`{other}` is not a transform operation"))),
    };
    let path = path(fields.need(1)?)?;
    let value = constant(fields.need(2)?, profile)?;
    if profile == Profile::Strict
        && path.is_empty()
        && !matches!((op, &value), (TransformOp::Set, Const::Map(_)))
    {
        return Err(bad("only `set` with a mapping rewrites all arguments"));
    }
    Ok(Transform { op, path, value })
}

fn check_strict(rule: &RuleInfo) -> Decode<()> {
    if !matches!(rule.id, Const::Str(_)) {
        return Err(bad("`id` is not a string"));
    }
    if !matches!(rule.reason, Const::Str(_)) {
        return Err(bad("`reason` is not a string"));
    }
    if !rule
        .approvers
        .iter()
        .all(|item| matches!(item, Const::Str(_)))
    {
        return Err(bad("`approvers` holds something that is no string"));
    }
    let timeout = match &rule.timeout_seconds {
        Const::Null => true,
        Const::Int(seconds) => *seconds >= 0,
        Const::Float(seconds) => *seconds >= 0.0,
        _ => false,
    };
    if timeout {
        Ok(())
    } else {
        Err(bad("`timeout_seconds` is not a number of seconds"))
    }
}

pub(super) type LeafFields<'t, 'a> = Fields<'t, 'a, 6>;

pub(super) const LEAF_OPERAND: usize = 4;
pub(super) const LEAF_PATH: usize = 5;

pub(super) fn leaf_fields<'t, 'a>(map: Map<'t, 'a>) -> Decode<LeafFields<'t, 'a>> {
    map.fields(
        "the leaf",
        &["dialect", "head", "k", "op", "operand", "path"],
    )
}

pub(super) fn head(fields: &LeafFields<'_, '_>) -> Decode<Head> {
    head_of(fields.text(1)?)
}

fn head_of(name: &str) -> Decode<Head> {
    Ok(match name {
        "tool" => Head::Tool,
        "args" => Head::Args,
        "declared" => Head::Declared,
        "context" => Head::Context,
        "run" => Head::Run,
        "result" => Head::Result,
        "record" => Head::Record,
        other => return Err(bad(format!("`{other}` is not a path head"))),
    })
}

pub(super) fn op(fields: &LeafFields<'_, '_>) -> Decode<Op> {
    op_of(fields.text(3)?)
}

fn op_of(name: &str) -> Decode<Op> {
    Operator::from_name(name).ok_or_else(|| bad(format!("`{name}` is not an operator")))
}

pub(super) fn dialect(fields: &LeafFields<'_, '_>) -> Decode<Option<Dialect>> {
    dialect_of(fields.get(0))
}

fn dialect_of(item: Option<Item<'_, '_>>) -> Decode<Option<Dialect>> {
    let Some(item) = item.filter(|item| !matches!(item.node(), Node::Null)) else {
        return Ok(None);
    };
    match string(item, "`dialect`")? {
        "re2" => Ok(Some(Dialect::Re2)),
        "python" => Ok(Some(Dialect::Python)),
        other => Err(bad(format!("`{other}` is not a dialect"))),
    }
}

pub(super) fn path(item: Item<'_, '_>) -> Decode<Vec<Box<str>>> {
    use crate::limits::MAX_PATH_KEYS;
    let keys = list(item, "`path`")?;
    let count = keys.count();
    if count > MAX_PATH_KEYS {
        return Err(super::node::limit(format!(
            "a path has {count} keys, more than {MAX_PATH_KEYS}"
        )));
    }
    keys.map(|key| string(key, "a key of a path").map(Into::into))
        .collect()
}
