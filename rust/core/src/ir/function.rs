//! Decoding functions: rules that were written in Python. `python/bobcat/ir/code.py` defines their nodes.
//!
//! This walks the nodes; [`super::function_leaf`] knows their leaves. Names are resolved, and reads of the request paths of
//! the program: what a function reads is read once for it and the clauses of other rules.

use super::constant::string;
use super::decode::Decoder;
use super::function_leaf::{
    attribute, comparison, exception, pattern, py_const, reached, step, template, types, unknown,
    word,
};
use super::function_memory::{argument_origin, run_value, wanted};
use super::node::{Decode, Map, bad, limit, list, pair};
use super::part::obligation_list;
use crate::json::tape::{Item, Node};
use crate::limits::{MAX_CODE_DEPTH, MAX_CODE_NODES, MAX_SLOTS};
use crate::pyfn::ast::{
    Argument, Binary, Builtin, Code, Collect, Collection, Comparison, Conversion, Decide, For,
    Function, Handler, Inline, Loop, Method, Object, Part, Statement, Target, Try, Unary,
};
use crate::pyfn::format_spec::is_known as is_known_format;

/// Decodes a function rule.
pub(super) fn function(decoder: &mut Decoder<'_>, rule: Map<'_, '_>) -> Decode<Function> {
    let template = decoder.next_template();
    let (slots, body) = written(decoder, rule)?;
    Ok(Function::new(slots, body, template))
}

/// Returns the number of locals of a function rule, and its body.
pub(super) fn written(
    decoder: &mut Decoder<'_>,
    rule: Map<'_, '_>,
) -> Decode<(usize, Boxed<Statement>)> {
    let fields = rule.fields(
        "the function rule",
        &["body", "k", "name", "priority", "slots"],
    )?;
    fields.text(2)?;
    fields.integer(3)?;
    let slots = match fields.need(4)?.node() {
        Node::Int(slots @ 0..) if slots <= MAX_SLOTS as i64 => slots as usize,
        _ => return Err(limit(format!("`slots` is not a number up to {MAX_SLOTS}"))),
    };
    let mut reader = Reader {
        decoder,
        slots,
        nodes: 0,
        assigned: Vec::new(),
        loops: 0,
    };
    let body = reader.body(fields.need(0)?, 0)?;
    Ok((slots, body))
}

/// Nodes of the body of a loop that a turn evaluates in a step, besides the turn itself.
const NODES_A_STEP: usize = 4;

struct Reader<'d, 'b> {
    decoder: &'d mut Decoder<'b>,
    slots: usize,
    nodes: usize,
    /// The slots that are assigned to, in the order of the nodes.
    assigned: Vec<u32>,
    /// The number of loops around a statement.
    loops: usize,
}

type Boxed<T> = Box<[T]>;

impl Reader<'_, '_> {
    fn node(&mut self, depth: usize) -> Decode<()> {
        if depth > MAX_CODE_DEPTH {
            return Err(limit(format!(
                "code is deeper than {MAX_CODE_DEPTH} levels"
            )));
        }
        self.nodes += 1;
        if self.nodes > MAX_CODE_NODES {
            return Err(limit(format!(
                "a function has more than {MAX_CODE_NODES} nodes"
            )));
        }
        Ok(())
    }

    /// The fuel of a turn of a loop whose nodes begin after the first `before`.
    fn weight(&self, before: usize) -> usize {
        (self.nodes - before) / NODES_A_STEP
    }

    fn each<T>(
        &mut self,
        item: Item<'_, '_>,
        what: &str,
        mut read: impl FnMut(&mut Self, Item<'_, '_>) -> Decode<T>,
    ) -> Decode<Boxed<T>> {
        list(item, what)?.map(|item| read(self, item)).collect()
    }

    fn slot(&self, item: Item<'_, '_>) -> Decode<u32> {
        match item.node() {
            Node::Int(slot @ 0..) if (slot as usize) < self.slots => Ok(slot as u32),
            _ => Err(bad("`slot` is not the number of a slot")),
        }
    }

    // --- statements ---

    fn body(&mut self, item: Item<'_, '_>, depth: usize) -> Decode<Boxed<Statement>> {
        self.each(item, "a body", |reader, item| reader.statement(item, depth))
    }

    /// A body in a loop.
    fn looped(&mut self, item: Item<'_, '_>, depth: usize) -> Decode<Boxed<Statement>> {
        self.loops += 1;
        let body = self.body(item, depth);
        self.loops -= 1;
        body
    }

    fn statement(&mut self, item: Item<'_, '_>, depth: usize) -> Decode<Statement> {
        self.node(depth)?;
        let map = Map::of(item, "the statement")?;
        let below = depth + 1;
        Ok(match map.text("k")? {
            "assign" => self.read_assign(map, below)?,
            "append" => self.read_append(map, below)?,
            "store" => self.read_store(map, below)?,
            "if" => self.read_if(map, below)?,
            "for" => self.read_for(map, below)?,
            kind @ ("break" | "continue") => {
                map.fields("the statement", &["k"])?;
                if self.loops == 0 {
                    return Err(bad(format!("`{kind}` is outside of a loop")));
                }
                if kind == "break" {
                    Statement::Break
                } else {
                    Statement::Continue
                }
            }
            "return" => self.read_return(map, below)?,
            "evaluate" => self.read_evaluate(map, below)?,
            "raise" => {
                let fields = map.fields("`raise`", &["k", "name"])?;
                Statement::Raise(exception(fields.text(1)?)?)
            }
            "try" => self.read_try(map, below)?,
            other => return Err(bad(format!("`{other}` is not a kind of statement"))),
        })
    }

    #[inline(never)]
    fn read_assign(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Statement> {
        let fields = map.fields("`assign`", &["k", "target", "value"])?;
        // The value is read first: what it binds is bound first.
        let value = self.code(fields.need(2)?, below)?;
        Ok(Statement::Assign(
            self.target(fields.need(1)?, below)?,
            value,
        ))
    }

    #[inline(never)]
    fn read_append(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Statement> {
        let fields = map.fields("`append`", &["k", "slot", "value"])?;
        let slot = self.slot(fields.need(1)?)?;
        Ok(Statement::Append(slot, self.code(fields.need(2)?, below)?))
    }

    #[inline(never)]
    fn read_store(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Statement> {
        let fields = map.fields("`store`", &["k", "key", "slot", "value"])?;
        let slot = self.slot(fields.need(2)?)?;
        let key = self.code(fields.need(1)?, below)?;
        let value = self.code(fields.need(3)?, below)?;
        Ok(Statement::Store(slot, Box::new((key, value))))
    }

    #[inline(never)]
    fn read_if(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Statement> {
        let fields = map.fields("`if`", &["k", "otherwise", "test", "then"])?;
        let test = self.code(fields.need(2)?, below)?;
        let then = self.body(fields.need(3)?, below)?;
        Ok(Statement::If(
            test,
            then,
            self.body(fields.need(1)?, below)?,
        ))
    }

    #[inline(never)]
    fn read_for(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Statement> {
        let fields = map.fields("`for`", &["body", "k", "otherwise", "over", "target"])?;
        let over = self.code(fields.need(3)?, below)?.gone_over();
        let target = self.target(fields.need(4)?, below)?;
        let before = self.nodes;
        let body = self.looped(fields.need(0)?, below)?;
        let weight = self.weight(before);
        let otherwise = self.body(fields.need(2)?, below)?;
        Ok(Statement::For(Box::new(For {
            target,
            over,
            weight,
            body,
            otherwise,
        })))
    }

    #[inline(never)]
    fn read_return(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Statement> {
        let fields = map.fields("`return`", &["k", "value"])?;
        Ok(Statement::Return(self.code(fields.need(1)?, below)?))
    }

    #[inline(never)]
    fn read_evaluate(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Statement> {
        let fields = map.fields("`evaluate`", &["k", "value"])?;
        Ok(Statement::Evaluate(self.code(fields.need(1)?, below)?))
    }

    #[inline(never)]
    fn read_try(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Statement> {
        let fields = map.fields("`try`", &["body", "handlers", "k", "otherwise"])?;
        let body = self.body(fields.need(0)?, below)?;
        let handlers = self.each(fields.need(1)?, "`handlers`", |reader, item| {
            let map = Map::of(item, "the handler")?;
            let fields = map.fields("the handler", &["body", "names"])?;
            let names = reader.each(fields.need(1)?, "`names`", |_, item| {
                exception(string(item, "the name of an exception")?)
            })?;
            let body = reader.body(fields.need(0)?, below)?;
            Ok(Handler { names, body })
        })?;
        let otherwise = self.body(fields.need(3)?, below)?;
        Ok(Statement::Try(Box::new(Try {
            body,
            handlers,
            otherwise,
        })))
    }

    #[inline(never)]
    fn target(&mut self, item: Item<'_, '_>, depth: usize) -> Decode<Target> {
        self.node(depth)?;
        let map = Map::of(item, "the target")?;
        match map.text("k")? {
            "slot" => {
                let slot = self.slot(map.fields("`slot`", &["k", "slot"])?.need(1)?)?;
                self.assigned.push(slot);
                Ok(Target::Slot(slot))
            }
            "unpack" => {
                let fields = map.fields("`unpack`", &["k", "targets"])?;
                self.each(fields.need(1)?, "`targets`", |reader, item| {
                    reader.target(item, depth + 1)
                })
                .map(Target::Unpack)
            }
            other => Err(bad(format!("`{other}` is not a kind of target"))),
        }
    }

    // --- expressions ---

    fn codes(&mut self, item: Item<'_, '_>, what: &str, depth: usize) -> Decode<Boxed<Code>> {
        self.each(item, what, |reader, item| reader.code(item, depth))
    }

    fn optional(&mut self, item: Option<Item<'_, '_>>, depth: usize) -> Decode<Option<Code>> {
        match item {
            Some(item) if !matches!(item.node(), Node::Null) => self.code(item, depth).map(Some),
            Some(_) | None => Ok(None),
        }
    }

    /// INVARIANT: a level of the code takes little of the stack: what a kind of node needs besides is in a frame of its own.
    fn code(&mut self, item: Item<'_, '_>, depth: usize) -> Decode<Code> {
        self.node(depth)?;
        let map = Map::of(item, "the code")?;
        let below = depth + 1;
        Ok(match map.text("k")? {
            "const" => Code::Const(py_const(map.fields("`const`", &["k", "value"])?.need(1)?)?),
            "local" => Code::Local(self.slot(map.fields("`local`", &["k", "slot"])?.need(1)?)?),
            "root" => match map.fields("`root`", &["k", "name"])?.text(1)? {
                "request" => Code::Object(Object::Request),
                "context" => Code::Object(Object::Context { own: false }),
                other => return Err(bad(format!("`{other}` is not a root"))),
            },
            "attr" => self.read_attr(map, below)?,
            "item" => self.read_item(map, below)?,
            "slice" => self.read_slice(map, below)?,
            "call" => self.read_call(map, below)?,
            "isinstance" => self.read_isinstance(map, below)?,
            "method" => self.read_method(map, below)?,
            "regex" => self.regex(map, below)?,
            "compare" => self.read_compare(map, below)?,
            kind @ ("and" | "or") => self.read_connective(map, kind, below)?,
            "not" => self.read_not(map, below)?,
            "unary" => self.read_unary(map, below)?,
            "binary" => self.read_binary(map, below)?,
            "ifelse" => self.read_ifelse(map, below)?,
            "display" => self.read_display(map, below)?,
            "mapping" => self.read_mapping(map, below)?,
            "collect" => self.collect(map, below)?,
            "text" => self.read_text(map, below)?,
            "bind" => self.read_bind(map, below)?,
            "inline" => self.inline(map, below)?,
            "decide" => self.decide(map, below)?,
            "run" => run_value(self.decoder, map)?,
            "origin" => argument_origin(self.decoder, map)?,
            "origin_of" => self.read_origin_of(map, below)?,
            other => return Err(bad(format!("`{other}` is not a kind of code"))),
        })
    }

    #[inline(never)]
    fn read_attr(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Code> {
        let fields = map.fields("`attr`", &["k", "name", "of"])?;
        let of = self.code(fields.need(2)?, below)?;
        let name = fields.text(1)?;
        self.decoder.policy.names_task |= name == "task";
        attribute(self.decoder, of, name)
    }

    #[inline(never)]
    fn read_item(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Code> {
        let fields = map.fields("`item`", &["k", "key", "of"])?;
        let of = self.code(fields.need(2)?, below)?;
        let key = self.code(fields.need(1)?, below)?;
        let path = step(self.decoder, &of, &key)?;
        let code = Code::Item(Box::new((of, key)));
        Ok(reached(path, code))
    }

    #[inline(never)]
    fn read_slice(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Code> {
        let fields = map.fields("`slice`", &["k", "of", "start", "step", "stop"])?;
        let of = self.code(fields.need(1)?, below)?;
        let start = self.optional(fields.get(2), below)?;
        let stop = self.optional(fields.get(4), below)?;
        let step = self.optional(fields.get(3), below)?;
        Ok(Code::Slice(Box::new((of, [start, stop, step]))))
    }

    #[inline(never)]
    fn read_call(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Code> {
        let fields = map.fields("`call`", &["args", "function", "k"])?;
        let function = word(fields.text(1)?, "function", Builtin::from_name)?;
        Ok(Code::Call(
            function,
            self.codes(fields.need(0)?, "`args`", below)?,
        ))
    }

    #[inline(never)]
    fn read_isinstance(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Code> {
        let fields = map.fields("`isinstance`", &["k", "of", "types"])?;
        let of = self.code(fields.need(1)?, below)?;
        let types = types(fields.need(2)?)?;
        Ok(Code::IsInstance(Box::new(of), types))
    }

    #[inline(never)]
    fn read_method(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Code> {
        let fields = map.fields("`method`", &["args", "k", "name", "of"])?;
        let of = self.code(fields.need(3)?, below)?;
        let method = word(fields.text(2)?, "method", Method::from_name)?;
        let args = self.codes(fields.need(0)?, "`args`", below)?;
        let path = match (method, &*args) {
            // What is got when nothing is there must not be evaluated, unless it is a constant.
            (Method::Get, [key] | [key, Code::Const(_)]) => step(self.decoder, &of, key)?,
            _ => None,
        };
        Ok(reached(path, Code::Method(Box::new(of), method, args)))
    }

    #[inline(never)]
    fn read_compare(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Code> {
        let fields = map.fields("`compare`", &["first", "k", "operators", "others"])?;
        let first = self.code(fields.need(0)?, below)?;
        let operators = self.each(fields.need(2)?, "`operators`", |_, item| {
            let name = string(item, "an operator")?;
            word(name, "comparison", Comparison::from_name)
        })?;
        let others = self.codes(fields.need(3)?, "`others`", below)?;
        if operators.is_empty() || operators.len() != others.len() {
            return Err(bad("`compare` needs an operand for each of its operators"));
        }
        let pairs = operators.into_iter().zip(others);
        let pairs = pairs.map(|(operator, other)| match operator {
            Comparison::In | Comparison::NotIn => (operator, other.looked_through()),
            _ => (operator, other),
        });
        comparison(self.decoder, first, pairs.collect())
    }

    #[inline(never)]
    fn read_connective(&mut self, map: Map<'_, '_>, kind: &str, below: usize) -> Decode<Code> {
        let fields = map.fields("the operator", &["items", "k"])?;
        let items = self.codes(fields.need(0)?, "`items`", below)?;
        if items.is_empty() {
            return Err(bad(format!("`{kind}` has no items")));
        }
        Ok(if kind == "and" {
            Code::And(items)
        } else {
            Code::Or(items)
        })
    }

    #[inline(never)]
    fn read_not(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Code> {
        let fields = map.fields("`not`", &["item", "k"])?;
        Ok(Code::Not(Box::new(self.code(fields.need(0)?, below)?)))
    }

    #[inline(never)]
    fn read_unary(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Code> {
        let fields = map.fields("`unary`", &["item", "k", "operator"])?;
        let operator = word(fields.text(2)?, "operator", Unary::from_name)?;
        Ok(Code::unary(operator, self.code(fields.need(0)?, below)?))
    }

    #[inline(never)]
    fn read_binary(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Code> {
        let fields = map.fields("`binary`", &["k", "left", "operator", "right"])?;
        let operator = word(fields.text(2)?, "operator", Binary::from_name)?;
        let left = self.code(fields.need(1)?, below)?;
        Ok(Code::Binary(
            operator,
            Box::new((left, self.code(fields.need(3)?, below)?)),
        ))
    }

    #[inline(never)]
    fn read_ifelse(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Code> {
        let fields = map.fields("`ifelse`", &["k", "otherwise", "test", "then"])?;
        let test = self.code(fields.need(2)?, below)?;
        let then = self.code(fields.need(3)?, below)?;
        Ok(Code::IfElse(Box::new((
            test,
            then,
            self.code(fields.need(1)?, below)?,
        ))))
    }

    #[inline(never)]
    fn read_display(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Code> {
        let fields = map.fields("`display`", &["items", "k", "kind"])?;
        let items = self.codes(fields.need(0)?, "`items`", below)?;
        Ok(match fields.text(2)? {
            "list" => Code::List(items),
            "tuple" => Code::tuple(items),
            "set" => Code::Set(items),
            other => return Err(unknown(other, "display")),
        })
    }

    #[inline(never)]
    fn read_mapping(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Code> {
        let fields = map.fields("`mapping`", &["entries", "k"])?;
        let entries = self.each(fields.need(0)?, "`entries`", |reader, item| {
            let (key, value) = pair(item, "an entry")?;
            let key = reader.optional(Some(key), below)?;
            Ok((key, reader.code(value, below)?))
        })?;
        Ok(Code::Mapping(entries))
    }

    #[inline(never)]
    fn read_text(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Code> {
        let fields = map.fields("`text`", &["k", "parts"])?;
        let parts = self.each(fields.need(1)?, "`parts`", |reader, item| {
            reader.part(item, below)
        })?;
        Ok(Code::Text(parts))
    }

    #[inline(never)]
    fn read_bind(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Code> {
        let fields = map.fields("`bind`", &["k", "slot", "value"])?;
        let slot = self.slot(fields.need(1)?)?;
        self.assigned.push(slot);
        Ok(Code::Bind(
            slot,
            Box::new(self.code(fields.need(2)?, below)?),
        ))
    }

    #[inline(never)]
    fn regex(&mut self, map: Map<'_, '_>, depth: usize) -> Decode<Code> {
        let fields = map.fields("`regex`", &["flags", "how", "k", "pattern", "text"])?;
        let pattern = pattern(
            self.decoder,
            fields.need(0)?,
            fields.text(1)?,
            fields.text(3)?,
        )?;
        let text = self.code(fields.need(4)?, depth)?;
        Ok(Code::Regex(Box::new((pattern, text))))
    }

    #[inline(never)]
    fn collect(&mut self, map: Map<'_, '_>, depth: usize) -> Decode<Code> {
        let fields = map.fields(
            "`collect`",
            &["default", "k", "key", "kind", "loops", "value"],
        )?;
        let kind = word(fields.text(3)?, "comprehension", Collection::from_name)?;
        let before = self.nodes;
        let loops = self.each(fields.need(4)?, "`loops`", |reader, item| {
            let map = Map::of(item, "the loop")?;
            let fields = map.fields("the loop", &["conditions", "over", "target"])?;
            let over = reader.code(fields.need(1)?, depth)?.gone_over();
            let target = reader.target(fields.need(2)?, depth)?;
            let conditions = reader.codes(fields.need(0)?, "`conditions`", depth)?;
            Ok(Loop {
                target,
                over,
                conditions,
            })
        })?;
        if loops.is_empty() {
            return Err(bad("a comprehension has no loops"));
        }
        let key = self.optional(fields.get(2), depth)?;
        if key.is_some() != (kind == Collection::Dict) {
            return Err(bad("`key` goes with `dict`, and only with it"));
        }
        let value = self.code(fields.need(5)?, depth)?;
        let weight = self.weight(before);
        let default = match self.optional(fields.get(0), depth)? {
            None if kind == Collection::First => return Err(bad("`first` needs a `default`")),
            None => None,
            Some(Code::Const(py_const))
                if matches!(kind, Collection::Min | Collection::Max | Collection::First) =>
            {
                Some(py_const)
            }
            Some(_) => return Err(bad("`default` is a constant, of `min`, `max` and `first`")),
        };
        Ok(Code::Collect(Box::new(Collect {
            kind,
            key,
            value,
            loops,
            weight,
            default,
        })))
    }

    #[inline(never)]
    fn part(&mut self, item: Item<'_, '_>, depth: usize) -> Decode<Part> {
        if item.entries().is_none() {
            return string(item, "a part of a text").map(|text| Part::Literal(text.into()));
        }
        let map = Map::of(item, "a part of a text")?;
        let fields = map.fields("a part of a text", &["conversion", "spec", "value"])?;
        let conversion = word(fields.text(0)?, "conversion", Conversion::from_name)?;
        let spec = fields.text(1)?;
        if !is_known_format(spec) {
            return Err(unknown(spec, "format"));
        }
        let value = self.code(fields.need(2)?, depth)?;
        Ok(Part::Shown(value, conversion, spec.into()))
    }

    #[inline(never)]
    fn inline(&mut self, map: Map<'_, '_>, depth: usize) -> Decode<Code> {
        let fields = map.fields("`inline`", &["body", "k", "parameters"])?;
        let parameters = self.each(fields.need(2)?, "`parameters`", |reader, item| {
            let (slot, code) = pair(item, "a parameter")?;
            Ok((reader.slot(slot)?, reader.code(code, depth)?))
        })?;
        let (before, outside) = (self.assigned.len(), std::mem::take(&mut self.loops));
        let body = self.body(fields.need(0)?, depth);
        self.loops = outside;
        let body = body?;
        let mut locals = self.assigned.split_off(before);
        locals.sort_unstable();
        locals.dedup();
        // An outer function of this one clears these too.
        self.assigned.extend_from_slice(&locals);
        self.assigned
            .extend(parameters.iter().map(|(slot, _)| *slot));
        locals.retain(|local| !parameters.iter().any(|(slot, _)| slot == local));
        Ok(Code::Inline(Box::new(Inline {
            parameters,
            locals: locals.into(),
            body,
        })))
    }

    #[inline(never)]
    fn read_origin_of(&mut self, map: Map<'_, '_>, below: usize) -> Decode<Code> {
        let fields = map.fields("`origin_of`", &["k", "lower", "of", "sources"])?;
        let wanted = wanted(self.decoder, (fields.need(3)?, fields.need(1)?))?;
        let of = self.code(fields.need(2)?, below)?;
        Ok(Code::OriginOf(wanted, Box::new(of)))
    }

    #[inline(never)]
    fn decide(&mut self, map: Map<'_, '_>, depth: usize) -> Decode<Code> {
        let fields = map.fields("`decide`", &["args", "k", "obligations", "verdict"])?;
        let verdict = fields.verdict(3)?;
        let args = self.each(fields.need(0)?, "`args`", |reader, item| {
            let (name, code) = pair(item, "an argument")?;
            let name = string(name, "the name of an argument")?;
            let argument = word(name, "argument of a decision", Argument::from_name)?;
            Ok((argument, reader.code(code, depth)?))
        })?;
        let obligations = match fields.get(2) {
            None => Vec::new(),
            Some(item) => obligation_list(item, self.decoder.policy.profile)?,
        };
        let always = template(verdict, &args).map(|mut template| {
            template.obligations.clone_from(&obligations);
            self.decoder.template(template)
        });
        Ok(Code::Decide(Box::new(Decide {
            verdict,
            args,
            obligations: obligations.into(),
            always,
        })))
    }
}
