//! Checks canonical IR bytes and finds the parts in them. Hostile bytes end in a coded error, in bounded time and memory.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, Hash, Hasher};

use super::constant::is_plain;
use super::memory::Reads;
use super::node::{CAPS, Decode, Map, bad, limit, list, syntax};
use super::part::{self, RuleFields};
use super::{IR_VERSION, Kind, LeafAt, PathOf, Policy, RuleAt, function, layers, memory, operand};
use crate::bytes::hash::Keyed;
use crate::clause::flat_expr::{self, Connective};
use crate::clause::operand::Operand;
use crate::clause::ops::{Op, Prepare};
use crate::error::DecodeError;
use crate::json::tape::{self, Item, Node, Tape};
use crate::lang::path::{Field, Head};
use crate::lang::{Defaults, Profile, Verdict};
use crate::limits::{
    MAX_EXPR_DEPTH, MAX_IR_BYTES, MAX_PATTERN_BYTES_TOTAL, MAX_PATTERN_CHARS,
    MAX_PATTERN_COST_TOTAL, MAX_RULES,
};
use crate::pyfn::PyFn;
use crate::pyfn::ast::Statement;
use crate::pyfn::decision::DecisionTemplate;
use crate::regex::{CacheBudget, Dialect, Pattern};
use crate::source::Span;
use crate::value::constant::Const;

/// Decodes a policy.
///
/// # Errors
/// Code `ir_syntax` for bytes that are no JSON, `ir_version` for another format, `ir_limit` past a cap, `bad_pattern` for a
/// pattern its dialect rejects, `bad_ir` for anything else that no compiler of this version writes.
pub fn decode(bytes: &[u8]) -> Decode<Policy> {
    decode_within(bytes, &CacheBudget::default())
}

/// Decodes a policy whose automata keep their states within `caches`.
///
/// # Errors
/// Those of [`decode`].
pub fn decode_within(bytes: &[u8], caches: &CacheBudget) -> Decode<Policy> {
    if bytes.len() > MAX_IR_BYTES {
        return Err(limit(format!(
            "{} bytes, more than {MAX_IR_BYTES}",
            bytes.len()
        )));
    }
    let mut decoder: Option<Decoder<'_>> = None;
    let mut trouble = None;
    // Rules are read one by one, so that only one is ever held as JSON. Canonical order puts them last.
    let root = tape::stream(bytes, CAPS, "rules", &mut |before, rule| {
        trouble = header(before, &mut decoder, (bytes, caches))
            .and_then(|decoder| decoder.add(rule))
            .err();
        trouble.is_none()
    });
    if let Some(error) = trouble {
        return Err(error);
    }
    let root = root.map_err(|error| syntax(&error))?;
    let root = root
        .as_ref()
        .ok_or_else(|| bad("the policy is not a mapping"))?;
    header(root, &mut decoder, (bytes, caches))?;
    let root = Map::of(root.root(), "the policy")?.fields("the policy", &POLICY)?;
    list(root.need(RULES)?, "`rules`")?;
    let policy = decoder
        .map(|decoder| decoder.policy)
        .ok_or_else(|| bad("the policy has no header"))?;
    if let Some(found) = &policy.layers {
        let hosts = policy.rules.iter();
        let hosts = hosts.filter(|rule| matches!(rule.kind, Kind::Host)).count();
        layers::check(found, policy.rules.len(), hosts > 0)?;
    }
    Ok(policy)
}

const POLICY: [&str; 7] = [
    "defaults",
    "ir_version",
    "language_version",
    "layers",
    "memory",
    "profile",
    "rules",
];

const LAYERS: usize = 3;
const MEMORY: usize = 4;
const PROFILE: usize = 5;
const RULES: usize = 6;

/// The decoder of the rules, built from the fields before them when it is first needed.
fn header<'d, 'a>(
    before: &Tape<'a>,
    decoder: &'d mut Option<Decoder<'a>>,
    (bytes, caches): (&'a [u8], &CacheBudget),
) -> Decode<&'d mut Decoder<'a>> {
    if decoder.is_none() {
        let root = Map::of(before.root(), "the policy")?;
        match root.get("ir_version").map(Item::node) {
            Some(Node::Int(IR_VERSION)) => {}
            Some(Node::Int(other)) => {
                let message = format!("version {other}; this reader knows {IR_VERSION}");
                return Err(DecodeError::new("ir_version", message));
            }
            Some(_) | None => return Err(bad("`ir_version` is missing or no integer")),
        }
        let root = root.fields("the policy", &POLICY)?;
        root.integer(2)?;
        let profile = match root.text(PROFILE)? {
            "strict" => Profile::Strict,
            "lynx" => Profile::Lynx,
            other => return Err(bad(format!("`{other}` is not a profile"))),
        };
        let defaults = defaults(Map::of(root.need(0)?, "`defaults`")?, profile)?;
        let mut made = Decoder::new(bytes, profile, defaults, caches);
        if let Some(item) = root.get(LAYERS) {
            layers::decode(&mut made, item)?;
        }
        if let Some(item) = root.get(MEMORY) {
            memory::decode(&mut made, item)?;
        }
        *decoder = Some(made);
    }
    decoder
        .as_mut()
        .ok_or_else(|| bad("the policy has no header"))
}

pub(super) fn defaults(node: Map<'_, '_>, profile: Profile) -> Decode<Defaults> {
    let fields = node.fields(
        "`defaults`",
        &["on_missing_shadow", "on_no_match", "on_rule_error"],
    )?;
    let continue_on_error = match fields.text(2)? {
        "deny" => false,
        "continue" => true,
        other => return Err(bad(format!("`{other}` is not an `on_rule_error`"))),
    };
    let defaults = Defaults {
        on_no_match: fields.verdict(1)?,
        on_missing_shadow: fields.verdict(0)?,
        continue_on_error,
    };
    if profile == Profile::Strict
        && [defaults.on_no_match, defaults.on_missing_shadow].contains(&Verdict::Transform)
    {
        return Err(bad("a default cannot be `transform`"));
    }
    Ok(defaults)
}

/// Returns the span of a mapping.
pub(super) fn span(item: Item<'_, '_>) -> Span {
    match item.node() {
        Node::Map { start, end, .. } => Span { start, end },
        _ => Span { start: 0, end: 0 },
    }
}

pub(super) struct Decoder<'a> {
    bytes: &'a [u8],
    pub(super) policy: Policy,
    /// Canonical bytes of every leaf so far: equal leaves are one clause.
    leaves: HashMap<&'a [u8], u32, Keyed>,
    /// What each leaf reads beside the call: see [`memory`].
    reads: Vec<Reads>,
    /// What the leaves of the expression may read beside the call.
    pub(super) allowed: Reads,
    /// Paths by their hash. Two of one hash, if there ever are, are not found again, which does no harm.
    paths: HashMap<u64, u32, Keyed>,
    pattern_bytes: usize,
    pattern_cost: usize,
    /// The number of decisions of functions before it, in a policy of which only one rule is read.
    rulings_before: u32,
}

impl<'a> Decoder<'a> {
    fn new(bytes: &'a [u8], profile: Profile, defaults: Defaults, caches: &CacheBudget) -> Self {
        Self {
            bytes,
            policy: Policy {
                profile,
                defaults,
                memory: None,
                layers: None,
                remembers: false,
                part_keys: BTreeSet::new(),
                names_task: false,
                rules: Vec::new(),
                words: Vec::new(),
                leaves: Vec::new(),
                paths: Vec::new(),
                refs: Vec::new(),
                templates: Vec::new(),
                monitors: false,
                caches: caches.clone(),
            },
            leaves: HashMap::default(),
            reads: Vec::new(),
            allowed: memory::RUN,
            paths: HashMap::default(),
            pattern_bytes: 0,
            pattern_cost: 0,
            rulings_before: 0,
        }
    }

    fn add(&mut self, rule: &Tape<'a>) -> Decode<()> {
        let index = self.policy.rules.len();
        if index == MAX_RULES {
            return Err(limit(format!("more than {MAX_RULES} rules")));
        }
        let kind = self.rule(rule.root()).map_err(|error| DecodeError {
            code: error.code,
            message: format!("rules[{index}]: {}", error.message),
        })?;
        self.policy.rules.push(RuleAt {
            span: span(rule.root()),
            kind,
        });
        Ok(())
    }

    fn rule(&mut self, rule: Item<'_, 'a>) -> Decode<Kind> {
        let map = Map::of(rule, "the rule")?;
        match map.text("k")? {
            "host" => {
                let fields = map.fields(
                    "the host rule",
                    &["code", "k", "module", "name", "priority", "qualname"],
                )?;
                fields.integer(4)?;
                for key in [0, 2, 3, 5] {
                    fields.text(key)?;
                }
                Ok(Kind::Host)
            }
            "rule" => self.declarative(&part::rule_fields(map)?),
            "function" if self.policy.profile == Profile::Strict => function::function(self, map)
                .map(|function| Kind::Function(PyFn(Box::new(function)))),
            other => Err(bad(format!("`{other}` is not a kind of rule"))),
        }
    }

    fn declarative(&mut self, fields: &RuleFields<'_, 'a>) -> Decode<Kind> {
        let profile = self.policy.profile;
        fields.integer(part::PRIORITY)?;
        let verdict = fields.verdict(part::VERDICT)?;
        let transform = part::transform_of(fields);
        if let Some(spec) = transform {
            part::transform(spec, profile)?;
        }
        let from = self.policy.words.len();
        self.expr(fields.need(part::MATCH)?, 1)?;
        if part::is_monitored(fields, profile)? {
            // The rule keeps its place, and its match is false: it takes no part in decisions.
            self.policy.words.truncate(from);
            self.policy.monitors = true;
            let opened = flat_expr::open(&mut self.policy.words);
            flat_expr::close(&mut self.policy.words, opened, Connective::Any);
        }
        let (from, to) = (from as u32, self.policy.words.len() as u32);
        if !is_plainly_sound(fields)? {
            part::declarative(fields, profile)?;
        }
        if (verdict == Verdict::Transform) != transform.is_some() {
            return Err(bad(
                "`transform` goes with the verdict `transform`, and only with it",
            ));
        }
        Ok(Kind::Match(verdict, from, to))
    }

    pub(super) fn expr(&mut self, item: Item<'_, 'a>, depth: usize) -> Decode<()> {
        if depth > MAX_EXPR_DEPTH {
            return Err(limit(format!(
                "an expression is deeper than {MAX_EXPR_DEPTH} levels"
            )));
        }
        let node = Map::of(item, "the expression")?;
        match node.text("k")? {
            "leaf" => {
                let index = self.leaf(item, node)?;
                flat_expr::push_leaf(&mut self.policy.words, index);
                Ok(())
            }
            "all" => self.items(node, depth, Connective::All),
            "any" => self.items(node, depth, Connective::Any),
            "not" => {
                let fields = node.fields("`not`", &["item", "k"])?;
                let opened = flat_expr::open(&mut self.policy.words);
                self.expr(fields.need(0)?, depth + 1)?;
                flat_expr::close(&mut self.policy.words, opened, Connective::Not);
                Ok(())
            }
            other => Err(bad(format!("`{other}` is not a kind of expression"))),
        }
    }

    fn items(&mut self, node: Map<'_, 'a>, depth: usize, connective: Connective) -> Decode<()> {
        let fields = node.fields("the connective", &["items", "k"])?;
        let opened = flat_expr::open(&mut self.policy.words);
        for item in list(fields.need(0)?, "`items`")? {
            self.expr(item, depth + 1)?;
        }
        flat_expr::close(&mut self.policy.words, opened, connective);
        Ok(())
    }

    fn leaf(&mut self, item: Item<'_, 'a>, node: Map<'_, 'a>) -> Decode<u32> {
        let span = span(item);
        let raw = self
            .bytes
            .get(span.start as usize..span.end as usize)
            .unwrap_or_default();
        if let Some(&known) = self.leaves.get(raw) {
            let reads = self.reads.get(known as usize).copied().unwrap_or_default();
            memory::check(reads, self.allowed)?;
            return Ok(known);
        }
        let fields = part::leaf_fields(node)?;
        let head = part::head(&fields)?;
        let path = self.path(head, fields.need(part::LEAF_PATH)?)?;
        let op = part::op(&fields)?;
        let profile = self.policy.profile;
        let operand = fields.need(part::LEAF_OPERAND)?;
        let decoded = if operand::is_plainly_fit(op, operand) {
            None
        } else {
            Some(part::operand_of(operand, profile)?)
        };
        let dialect = part::dialect(&fields)?;
        match profile {
            Profile::Strict => {
                if let Some(operand) = &decoded {
                    let keys = self.policy.paths.get(path as usize);
                    operand::check(op, operand, head, keys.map_or(&[], |path| &path.keys))?;
                }
            }
            Profile::Lynx if op.lynx.is_none() => {
                return Err(bad(format!(
                    "`{}` is not an operator of the `lynx` profile",
                    op.name
                )));
            }
            Profile::Lynx => {}
        }
        let reads = memory::reads(head, decoded.as_ref());
        memory::check(reads, self.allowed)?;
        self.policy.remembers |= reads & memory::RUN != 0;
        if let Some(operand) = &decoded {
            operand.each_source(&mut |name| {
                self.policy.names_task |= self.policy.source(name)?.task;
                Ok(())
            })?;
        }
        let refs = self.policy.refs.len() as u32;
        match &decoded {
            None => self.pattern(op, operand.text(), dialect)?,
            Some(decoded) => self.operand_of(op, decoded, dialect)?,
        }
        let index =
            u32::try_from(self.policy.leaves.len()).map_err(|_| limit("too many clauses"))?;
        self.policy.leaves.push(LeafAt { span, path, refs });
        self.leaves.insert(raw, index);
        self.reads.push(reads);
        Ok(index)
    }

    /// The path of a leaf, checked when it is new.
    fn path(&mut self, head: Head, item: Item<'_, 'a>) -> Decode<u32> {
        let (hash, known) = self.known_path(head, list(item, "`path`")?.map(Item::text));
        match known {
            Some(path) => Ok(path),
            None => self.new_path(head, part::path(item)?, hash),
        }
    }

    /// The path of a read in a function, or of an operand.
    pub(super) fn path_of(&mut self, head: Head, keys: Vec<Box<str>>) -> Decode<u32> {
        let (hash, known) = self.known_path(head, keys.iter().map(|key| Some(&**key)));
        match known {
            Some(path) => Ok(path),
            None => self.new_path(head, keys, hash),
        }
    }

    /// The hash of a path, and the path when it is known.
    fn known_path<'k>(
        &self,
        head: Head,
        mut keys: impl Iterator<Item = Option<&'k str>> + Clone,
    ) -> (u64, Option<u32>) {
        let mut hasher = self.paths.hasher().build_hasher();
        head.hash(&mut hasher);
        for key in keys.clone() {
            hasher.write(key.unwrap_or_default().as_bytes());
        }
        let hash = hasher.finish();
        let same = |path: &PathOf| {
            let mut held = path.keys.iter();
            path.head == head
                && keys.all(|key| held.next().is_some_and(|held| key == Some(&**held)))
                && held.next().is_none()
        };
        let known = self.paths.get(&hash).copied();
        let path = known.and_then(|known| self.policy.paths.get(known as usize));
        (hash, known.filter(|_| path.is_some_and(same)))
    }

    fn new_path(&mut self, head: Head, keys: Vec<Box<str>>, hash: u64) -> Decode<u32> {
        if self.policy.profile == Profile::Strict {
            if head == Head::Run {
                self.policy.check_run(&keys)?;
            } else {
                check_strict_path(head, &keys)?;
            }
        }
        let id = self.policy.paths.len() as u32;
        self.policy.paths.push(PathOf { head, keys });
        self.paths.insert(hash, id);
        Ok(id)
    }

    /// Checks the patterns of an operand, and takes in the paths it refers to.
    fn operand_of(&mut self, op: Op, operand: &Operand, dialect: Option<Dialect>) -> Decode<()> {
        match operand {
            Operand::Const(Const::Str(text)) => self.pattern(op, Some(text), dialect),
            Operand::Const(_) | Operand::Sources(_) => self.pattern(op, None, dialect),
            Operand::Ref(head, keys) => {
                self.pattern(op, None, dialect)?;
                let path = self.path_of(*head, keys.clone())?;
                self.policy.refs.push(path);
                Ok(())
            }
            Operand::Places(places) => {
                self.pattern(op, None, dialect)?;
                for place in places {
                    if let Operand::Ref(head, keys) = place {
                        let path = self.path_of(*head, keys.clone())?;
                        self.policy.refs.push(path);
                    }
                }
                Ok(())
            }
            Operand::Tests(checks) | Operand::Part(_, checks) => {
                self.pattern(op, None, dialect)?;
                if let Operand::Part(keys, _) = operand {
                    self.policy.part_keys.extend(keys.iter().cloned());
                }
                checks
                    .iter()
                    .try_for_each(|check| self.operand_of(check.op, &check.operand, check.dialect))
            }
        }
    }

    fn pattern(&mut self, op: Op, text: Option<&str>, dialect: Option<Dialect>) -> Decode<()> {
        let (dialect, text) = match (&op.prepare, dialect, text) {
            (Prepare::Search, Some(dialect), Some(text)) => (dialect, text),
            (Prepare::Search, _, _) => return Err(bad("`matches` needs a pattern and a dialect")),
            (_, None, _) => return Ok(()),
            (_, Some(_), _) => return Err(bad("a dialect without `matches`")),
        };
        self.count_pattern(text)?;
        match (Pattern::check(text, dialect), dialect, self.policy.profile) {
            // What only the host language can search is its affair.
            (Ok(_), _, Profile::Lynx) | (Err(_), Dialect::Python, Profile::Lynx) => Ok(()),
            (Ok(cost), _, Profile::Strict) => self.count_cost(cost),
            (Err(error), _, _) => Err(DecodeError::new(
                "bad_pattern",
                format!("`{text}`: {} ({})", error.message, error.code),
            )),
        }
    }

    /// Counts what the automaton of a pattern takes.
    pub(super) fn count_cost(&mut self, cost: usize) -> Decode<()> {
        self.pattern_cost += cost;
        if self.pattern_cost > MAX_PATTERN_COST_TOTAL {
            return Err(limit(format!(
                "the patterns have a cost of more than {MAX_PATTERN_COST_TOTAL} together"
            )));
        }
        Ok(())
    }

    /// Counts a pattern that passes its caps.
    pub(super) fn count_pattern(&mut self, text: &str) -> Decode<()> {
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
        Ok(())
    }

    /// The head and the keys of a path.
    pub(super) fn path_at(&self, path: u32) -> Option<(Head, Vec<Box<str>>)> {
        let path = self.policy.paths.get(path as usize)?;
        Some((path.head, path.keys.clone()))
    }

    /// The number of a decision that is always the same.
    pub(super) fn template(&mut self, template: DecisionTemplate) -> u32 {
        let number = self.next_template();
        self.policy.templates.push(template);
        number
    }

    /// Returns the cache budget of the automata of the policy.
    pub(super) fn caches(&self) -> &CacheBudget {
        &self.policy.caches
    }

    /// The number of the next such decision.
    pub(super) fn next_template(&self) -> u32 {
        self.rulings_before + self.policy.templates.len() as u32
    }
}

/// Reads the body of a function again, from the bytes of its rule. `paths`, `memory`: those of the policy; `template`: the
/// number of its first decision that is always the same.
///
/// # Errors
/// They are no function rule.
pub(crate) fn body(
    bytes: &[u8],
    (paths, memory): (Vec<PathOf>, Option<Box<memory::Definitions>>),
    template: u32,
    caches: &CacheBudget,
) -> Decode<Box<[Statement]>> {
    let defaults = Defaults {
        on_no_match: Verdict::Deny,
        on_missing_shadow: Verdict::Deny,
        continue_on_error: false,
    };
    let mut decoder = Decoder::new(bytes, Profile::Strict, defaults, caches);
    decoder.rulings_before = template;
    for (id, path) in (0..).zip(&paths) {
        let (hash, _) = decoder.known_path(path.head, path.keys.iter().map(|key| Some(&**key)));
        decoder.paths.insert(hash, id);
    }
    decoder.policy.paths = paths;
    decoder.policy.memory = memory;
    let tape = Tape::parse(bytes, CAPS).map_err(|error| syntax(&error))?;
    function::written(&mut decoder, Map::of(tape.root(), "the rule")?).map(|(_, body)| body)
}

/// Returns true if all of a rule but its match and transform is, by its shape, valid in every profile.
fn is_plainly_sound(fields: &RuleFields<'_, '_>) -> Decode<bool> {
    let text = |item: Item<'_, '_>| is_plain(item) && matches!(item.node(), Node::Text(..));
    let mut approvers = list(fields.need(part::APPROVERS)?, "`approvers`")?;
    let timeout = fields.need(part::TIMEOUT)?;
    Ok(fields.get(part::APPROVALS_NEEDED).is_none()
        && fields.get(part::OBLIGATIONS).is_none()
        && text(fields.need(part::ID)?)
        && text(fields.need(part::REASON)?)
        && approvers.all(text)
        && match timeout.node() {
            Node::Null => true,
            Node::Int(seconds) => seconds >= 0,
            _ => false,
        })
}

fn check_strict_path(head: Head, path: &[Box<str>]) -> Decode<()> {
    match Field::resolve(head, path) {
        Some((Field::Args | Field::Extra | Field::Result | Field::Record, _)) => Ok(()),
        Some((_, taken)) if taken == path.len() => Ok(()),
        Some(_) | None => Err(bad(format!(
            "`{}.{}` is not a path",
            head.as_str(),
            path.join(".")
        ))),
    }
}
