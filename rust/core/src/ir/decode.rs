//! Decodes canonical IR bytes into typed nodes. Hostile bytes end in a coded error, in bounded time and memory.

use std::collections::HashMap;

use super::constant::{constant, string};
use super::{Declarative, Expr, IR_VERSION, Leaf, Policy, Rule, operand};
use crate::error::DecodeError;
use crate::json::{self, Caps, Json, JsonErrorKind, JsonMap, Text};
use crate::limits::{
    MAX_EXPR_DEPTH, MAX_IR_BYTES, MAX_IR_DEPTH, MAX_NODES, MAX_PATH_KEYS, MAX_PATTERN_BYTES_TOTAL,
    MAX_PATTERN_CHARS, MAX_RULES,
};
use crate::path::{Field, Head};
use crate::pattern::{Dialect, Pattern};
use crate::rule::{Defaults, Op, Profile, Verdict};
use crate::value::constant::Const;
use crate::value::request::{Transform, TransformOp};

pub(super) type Decode<T> = Result<T, DecodeError>;

/// The bytes are JSON, but no IR.
pub(super) fn bad(message: impl Into<String>) -> DecodeError {
    DecodeError::new("bad_ir", message)
}

/// A cap of [`crate::limits`] is passed.
pub(super) fn limit(message: impl Into<String>) -> DecodeError {
    DecodeError::new("ir_limit", message)
}

/// Decodes a policy.
///
/// # Errors
/// Code `ir_syntax` for bytes that are no JSON, `ir_version` for another format, `ir_limit` past a cap, `bad_pattern` for a
/// pattern its dialect refuses, `bad_ir` for anything else that no compiler of this version writes.
pub fn decode(bytes: &[u8]) -> Decode<Policy> {
    if bytes.len() > MAX_IR_BYTES {
        return Err(limit(format!(
            "{} bytes, more than {MAX_IR_BYTES}",
            bytes.len()
        )));
    }
    let mut decoder: Option<Decoder<'_>> = None;
    let mut rules = Vec::new();
    let mut trouble = None;
    // Rules are decoded one by one, so that only one is ever held as JSON. Canonical order puts them last.
    let root = json::parse_streaming(bytes, CAPS, "rules", &mut |before, rule| {
        let decoded = header(before, &mut decoder, bytes).and_then(|decoder| {
            if rules.len() == MAX_RULES {
                return Err(limit(format!("more than {MAX_RULES} rules")));
            }
            decoder.rule(rule).map_err(|error| DecodeError {
                code: error.code,
                message: format!("rules[{}]: {}", rules.len(), error.message),
            })
        });
        match decoded {
            Ok(rule) => rules.push(rule),
            Err(error) => trouble = Some(error),
        }
        trouble.is_none()
    });
    if let Some(error) = trouble {
        return Err(error);
    }
    let root = root.map_err(|error| {
        let code = match error.kind {
            JsonErrorKind::Syntax => "ir_syntax",
            JsonErrorKind::Limit => "ir_limit",
        };
        DecodeError::new(code, format!("{} (at byte {})", error.message, error.at))
    })?;
    let root = root
        .as_ref()
        .ok_or_else(|| bad("the policy is not a mapping"))?;
    let root = map(root, "the policy")?;
    header(root.entries(), &mut decoder, bytes)?;
    let known = [
        "defaults",
        "ir_version",
        "language_version",
        "profile",
        "rules",
    ];
    fields(root, "the policy", &known)?;
    list(field(root, "rules")?, "`rules`")?;
    let decoder = decoder.ok_or_else(|| bad("the policy has no header"))?;
    Ok(Policy {
        profile: decoder.profile,
        defaults: decoder.defaults,
        rules,
        leaves: decoder.leaves,
    })
}

const CAPS: Caps = Caps {
    depth: MAX_IR_DEPTH,
    nodes: MAX_NODES,
};

/// The decoder of the rules, made from what stands before them when it is first needed.
fn header<'d, 'a>(
    before: &[(Text<'a>, Json<'a>)],
    decoder: &'d mut Option<Decoder<'a>>,
    bytes: &'a [u8],
) -> Decode<&'d mut Decoder<'a>> {
    if decoder.is_none() {
        let root = JsonMap::new(before.to_vec())
            .map_err(|key| bad(format!("the key `{key}` is there twice")))?;
        match root.get("ir_version") {
            Some(Json::Int(IR_VERSION)) => {}
            Some(Json::Int(other)) => {
                let message = format!("version {other}; this reader knows {IR_VERSION}");
                return Err(DecodeError::new("ir_version", message));
            }
            Some(_) | None => return Err(bad("`ir_version` is missing or no integer")),
        }
        integer(&root, "language_version")?;
        let profile = match text(&root, "profile")? {
            "strict" => Profile::Strict,
            "lynx" => Profile::Lynx,
            other => return Err(bad(format!("`{other}` is not a profile"))),
        };
        let defaults = defaults(map(field(&root, "defaults")?, "`defaults`")?)?;
        if profile == Profile::Strict
            && [defaults.on_no_match, defaults.on_missing_shadow].contains(&Verdict::Transform)
        {
            return Err(bad("a default cannot be `transform`"));
        }
        *decoder = Some(Decoder {
            bytes,
            profile,
            defaults,
            leaves: Vec::new(),
            seen: HashMap::new(),
            pattern_bytes: 0,
        });
    }
    decoder
        .as_mut()
        .ok_or_else(|| bad("the policy has no header"))
}

struct Decoder<'a> {
    bytes: &'a [u8],
    profile: Profile,
    defaults: Defaults,
    leaves: Vec<Leaf>,
    /// Canonical bytes of every leaf so far: equal leaves are one clause.
    seen: HashMap<&'a [u8], u32>,
    pattern_bytes: usize,
}

impl<'a> Decoder<'a> {
    fn rule(&mut self, json: &Json<'_>) -> Decode<Rule> {
        let rule = map(json, "the rule")?;
        match text(rule, "k")? {
            "host" => {
                fields(
                    rule,
                    "the host rule",
                    &["code", "k", "module", "name", "priority", "qualname"],
                )?;
                integer(rule, "priority")?;
                for key in ["code", "module", "qualname"] {
                    text(rule, key)?;
                }
                Ok(Rule::Host(text(rule, "name")?.to_owned()))
            }
            "rule" => Ok(Rule::Declarative(Box::new(self.declarative(rule)?))),
            other => Err(bad(format!("`{other}` is not a kind of rule"))),
        }
    }

    fn declarative(&mut self, rule: &JsonMap<'_>) -> Decode<Declarative> {
        const KEYS: [&str; 9] = [
            "approvers",
            "id",
            "k",
            "match",
            "priority",
            "reason",
            "timeout_seconds",
            "transform",
            "verdict",
        ];
        fields(rule, "the rule", &KEYS)?;
        integer(rule, "priority")?;
        let verdict = verdict(rule, "verdict")?;
        let transform = match rule.get("transform") {
            None | Some(Json::Null) => None,
            Some(spec) => Some(self.transform(map(spec, "`transform`")?)?),
        };
        let matches = self.expr(field(rule, "match")?, 1)?;
        let approvers = list(field(rule, "approvers")?, "`approvers`")?;
        let decoded = Declarative {
            id: constant(field(rule, "id")?, self.profile)?,
            matches,
            verdict,
            reason: constant(field(rule, "reason")?, self.profile)?,
            approvers: approvers
                .iter()
                .map(|item| constant(item, self.profile))
                .collect::<Decode<_>>()?,
            timeout_seconds: constant(field(rule, "timeout_seconds")?, self.profile)?,
            transform,
        };
        if (decoded.verdict == Verdict::Transform) != decoded.transform.is_some() {
            return Err(bad(
                "`transform` goes with the verdict `transform`, and only with it",
            ));
        }
        if self.profile == Profile::Strict {
            check_strict(&decoded)?;
        }
        Ok(decoded)
    }

    fn transform(&self, spec: &JsonMap<'_>) -> Decode<Transform> {
        fields(spec, "`transform`", &["op", "path", "value"])?;
        let op = match text(spec, "op")? {
            "set" => TransformOp::Set,
            "append" => TransformOp::Append,
            "delete" => TransformOp::Delete,
            other => return Err(bad(format!("`{other}` is not a transform operation"))),
        };
        let path = path(field(spec, "path")?)?;
        let value = constant(field(spec, "value")?, self.profile)?;
        if self.profile == Profile::Strict
            && path.is_empty()
            && !matches!((op, &value), (TransformOp::Set, Const::Map(_)))
        {
            return Err(bad("only `set` with a mapping rewrites all arguments"));
        }
        Ok(Transform { op, path, value })
    }

    fn expr(&mut self, json: &Json<'_>, depth: usize) -> Decode<Expr> {
        if depth > MAX_EXPR_DEPTH {
            return Err(limit(format!(
                "an expression is deeper than {MAX_EXPR_DEPTH} levels"
            )));
        }
        let node = map(json, "the expression")?;
        match text(node, "k")? {
            "all" => Ok(Expr::All(self.items(node, depth)?)),
            "any" => Ok(Expr::Any(self.items(node, depth)?)),
            "not" => {
                fields(node, "`not`", &["item", "k"])?;
                Ok(Expr::Not(Box::new(
                    self.expr(field(node, "item")?, depth + 1)?,
                )))
            }
            "leaf" => self.leaf(node).map(Expr::Leaf),
            other => Err(bad(format!("`{other}` is not a kind of expression"))),
        }
    }

    fn items(&mut self, node: &JsonMap<'_>, depth: usize) -> Decode<Vec<Expr>> {
        fields(node, "the connective", &["items", "k"])?;
        list(field(node, "items")?, "`items`")?
            .iter()
            .map(|item| self.expr(item, depth + 1))
            .collect()
    }

    fn leaf(&mut self, node: &JsonMap<'_>) -> Decode<u32> {
        let (start, end) = node.span();
        let raw = self.bytes.get(start..end).unwrap_or_default();
        if let Some(&known) = self.seen.get(raw) {
            return Ok(known);
        }
        fields(
            node,
            "the leaf",
            &["dialect", "head", "k", "op", "operand", "path"],
        )?;
        let head = match text(node, "head")? {
            "tool" => Head::Tool,
            "args" => Head::Args,
            "declared" => Head::Declared,
            "context" => Head::Context,
            other => return Err(bad(format!("`{other}` is not a path head"))),
        };
        let path = path(field(node, "path")?)?;
        let op = text(node, "op")?;
        let op = Op::from_name(op).ok_or_else(|| bad(format!("`{op}` is not an operator")))?;
        let operand = constant(field(node, "operand")?, self.profile)?;
        let dialect = match node.get("dialect") {
            None | Some(Json::Null) => None,
            Some(json) => match string(json, "`dialect`")? {
                "re2" => Some(Dialect::Re2),
                "python" => Some(Dialect::Python),
                other => return Err(bad(format!("`{other}` is not a dialect"))),
            },
        };
        match self.profile {
            Profile::Strict => {
                operand::check(op, &operand, head, &path)?;
                check_strict_path(head, &path)?;
            }
            Profile::Lynx if op == Op::Exists => {
                return Err(bad("`exists` is not an operator of the `lynx` profile"));
            }
            Profile::Lynx => {}
        }
        let pattern = self.pattern(op, &operand, dialect)?;
        let index = u32::try_from(self.leaves.len()).map_err(|_| limit("too many clauses"))?;
        self.leaves.push(Leaf {
            head,
            path,
            op,
            operand,
            dialect,
            pattern,
        });
        self.seen.insert(raw, index);
        Ok(index)
    }

    fn pattern(
        &mut self,
        op: Op,
        operand: &Const,
        dialect: Option<Dialect>,
    ) -> Decode<Option<Pattern>> {
        let (dialect, text) = match (op, dialect, operand) {
            (Op::Matches, Some(dialect), Const::Str(text)) => (dialect, text),
            (Op::Matches, _, _) => return Err(bad("`matches` needs a pattern and a dialect")),
            (_, None, _) => return Ok(None),
            (_, Some(_), _) => return Err(bad("a dialect without `matches`")),
        };
        self.pattern_bytes += text.len();
        if self.pattern_bytes > MAX_PATTERN_BYTES_TOTAL {
            return Err(limit(format!(
                "the patterns have more than {MAX_PATTERN_BYTES_TOTAL} bytes together"
            )));
        }
        if text.len() > MAX_PATTERN_CHARS && text.chars().count() > MAX_PATTERN_CHARS {
            return Err(limit(format!(
                "a pattern has more than {MAX_PATTERN_CHARS} characters"
            )));
        }
        match (Pattern::parse(text, dialect), dialect, self.profile) {
            (Ok(pattern), _, _) => Ok(Some(pattern)),
            (Err(_), Dialect::Python, Profile::Lynx) => Ok(None),
            (Err(error), _, _) => Err(DecodeError::new(
                "bad_pattern",
                format!("`{text}`: {} ({})", error.message, error.code),
            )),
        }
    }
}

fn check_strict(rule: &Declarative) -> Decode<()> {
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

fn check_strict_path(head: Head, path: &[Box<str>]) -> Decode<()> {
    match Field::resolve(head, path) {
        Some((Field::Args | Field::Extra, _)) => Ok(()),
        Some((_, taken)) if taken == path.len() => Ok(()),
        Some(_) | None => Err(bad(format!(
            "`{}.{}` is not a path",
            head.as_str(),
            path.join(".")
        ))),
    }
}

fn defaults(node: &JsonMap<'_>) -> Decode<Defaults> {
    fields(
        node,
        "`defaults`",
        &["on_missing_shadow", "on_no_match", "on_rule_error"],
    )?;
    let continue_on_error = match text(node, "on_rule_error")? {
        "deny" => false,
        "continue" => true,
        other => return Err(bad(format!("`{other}` is not an `on_rule_error`"))),
    };
    Ok(Defaults {
        on_no_match: verdict(node, "on_no_match")?,
        on_missing_shadow: verdict(node, "on_missing_shadow")?,
        continue_on_error,
    })
}

fn path(json: &Json<'_>) -> Decode<Vec<Box<str>>> {
    let keys = list(json, "`path`")?;
    if keys.len() > MAX_PATH_KEYS {
        return Err(limit(format!(
            "a path has {} keys, more than {MAX_PATH_KEYS}",
            keys.len()
        )));
    }
    keys.iter()
        .map(|key| string(key, "a key of a path").map(Into::into))
        .collect()
}

fn verdict(node: &JsonMap<'_>, key: &str) -> Decode<Verdict> {
    let name = text(node, key)?;
    Verdict::from_name(name).ok_or_else(|| bad(format!("`{name}` is not a verdict")))
}

fn map<'j, 'a>(json: &'j Json<'a>, what: &str) -> Decode<&'j JsonMap<'a>> {
    match json {
        Json::Map(map) => Ok(map),
        _ => Err(bad(format!("{what} is not a mapping"))),
    }
}

fn list<'j, 'a>(json: &'j Json<'a>, what: &str) -> Decode<&'j [Json<'a>]> {
    match json {
        Json::List(items) => Ok(items),
        _ => Err(bad(format!("{what} is not a list"))),
    }
}

fn field<'j, 'a>(node: &'j JsonMap<'a>, key: &str) -> Decode<&'j Json<'a>> {
    node.get(key)
        .ok_or_else(|| bad(format!("`{key}` is missing")))
}

fn text<'j>(node: &'j JsonMap<'_>, key: &str) -> Decode<&'j str> {
    string(field(node, key)?, key)
}

/// An integer of any size; its value has no effect here.
fn integer(node: &JsonMap<'_>, key: &str) -> Decode<()> {
    match field(node, key)? {
        Json::Int(_) | Json::BigInt(_) => Ok(()),
        _ => Err(bad(format!("`{key}` is not an integer"))),
    }
}

fn fields(node: &JsonMap<'_>, what: &str, known: &[&str]) -> Decode<()> {
    for (key, _) in node.entries() {
        match key.as_str() {
            Some(key) if known.contains(&key) => {}
            Some(key) => return Err(bad(format!("{what} has the unknown key `{key}`"))),
            None => return Err(bad(format!("{what} has a key with a lone surrogate"))),
        }
    }
    Ok(())
}
