//! The walk over the nodes of a function.
//!
//! INVARIANT: it recurses no deeper than the code does, whose depth the decoder bounds. Every turn of a loop takes fuel by the
//! size of its body, and so does a builtin by the size of its input; code outside of loops, whose size the decoder bounds,
//! takes none. Whatever a request holds, a function ends.

pub(crate) mod answer;
pub(crate) mod compare;
pub(in crate::pyfn) mod comprehension;
pub(crate) mod datetime;
pub(crate) mod env;
pub(crate) mod locals;
mod memory;
pub(crate) mod number;
#[cfg(feature = "analysis")]
pub(crate) mod probe;
pub(crate) mod repr;
pub(crate) mod search;
pub(crate) mod sequence;
pub(crate) mod table;
pub(crate) mod value;

use std::rc::Rc;

use super::ast::{
    Argument, Binary, Builtin, Code, Comparison, Conversion, Decide, For, Function, Inline, Member,
    Method, Part, Statement, Target, Try, Types,
};
use super::builtins::{self, format, method};
use super::cfg::Node;
use super::consts::PyConst;
use super::decision::FunctionDecision;
use super::exception::{Exception, Failure};
use super::pattern::Pattern;
use crate::lang::path::Field;
use crate::value::{Step, Value};
use answer::{Answer, Pending, answer};
use compare::{compare, failure_on};
use env::{End, Env};
use locals::Locals;
use memory::Haystacks;
use search::Found;
use sequence::{Cursor, Entries};
use table::Table;
use value::{Budget, Run, Val};

/// The answer of a function, from node `start` of its CFG on.
pub(crate) fn call<W: Env>(function: &Function, start: u32, env: &mut W) -> Answer<W::Value> {
    let left = env.fuel_left();
    let mut interp = Interp {
        env,
        locals: Locals::new(function.locals),
        budget: Budget::within(left),
        haystacks: Haystacks::default(),
    };
    let mut at = start;
    let returned = loop {
        match function.node(at) {
            Node::Test(test, yes, no) => match interp.truth(test) {
                Ok(truth) => at = if truth { *yes } else { *no },
                Err(failure) => break Err(failure),
            },
            Node::ReturnNone => return interp.done(Answer::Pass),
            Node::ReturnStatic(number) => {
                return interp.done(Answer::Decided(FunctionDecision::Always(*number)));
            }
            Node::Return(code) => break interp.eval(code),
            Node::Run(statement, next) => match interp.statement(statement) {
                Ok(Flow::Next) => at = *next,
                Ok(Flow::Return(value)) => break Ok(value),
                Ok(Flow::Break | Flow::Continue) => return interp.done(Answer::Pass),
                Err(failure) => break Err(failure),
            },
        }
    };
    let answered = match returned {
        Ok(value) => answer(value, &mut interp.budget),
        Err(failure) => Answer::Failed(failure.into()),
    };
    interp.done(answered)
}

/// The answer of a function that is walked along as it was written, without a short cut.
pub(crate) fn walk<W: Env>(locals: usize, body: &[Statement], env: &mut W) -> Answer<W::Value> {
    let left = env.fuel_left();
    let mut interp = Interp {
        env,
        locals: Locals::new(locals),
        budget: Budget::within(left),
        haystacks: Haystacks::default(),
    };
    let answered = match interp.run(body) {
        Ok(Flow::Return(value)) => answer(value, &mut interp.budget),
        Ok(Flow::Next | Flow::Break | Flow::Continue) => Answer::Pass,
        Err(failure) => Answer::Failed(failure.into()),
    };
    interp.done(answered)
}

/// The number of parts of a display that `CPython` evaluates before it builds a container from them.
const AT_ONCE: usize = 30;

/// Control flow after statements.
enum Flow<'p, V> {
    Next,
    Break,
    Continue,
    Return(Val<'p, V>),
}

struct Interp<'m, 'p, W: Env> {
    env: &'m mut W,
    locals: Locals<'p, W::Value>,
    budget: Budget,
    haystacks: Haystacks,
}

type Entry<'p, V> = (Val<'p, V>, Val<'p, V>);

type Out<'p, W> = Run<Val<'p, <W as Env>::Value>>;

impl<'p, W: Env> Interp<'_, 'p, W> {
    /// Takes the steps of the function from those of the decision.
    #[inline]
    fn done(&mut self, answer: Answer<W::Value>) -> Answer<W::Value> {
        // INVARIANT: no more were taken than were left.
        let _ = self.env.took(self.budget.taken());
        answer
    }

    fn run(&mut self, body: &'p [Statement]) -> Run<Flow<'p, W::Value>> {
        for statement in body {
            self.env.enter(statement);
            let flow = self.statement(statement);
            self.env.left(
                statement,
                match &flow {
                    Ok(Flow::Next | Flow::Break | Flow::Continue) => End::Onward,
                    Ok(Flow::Return(_)) => End::Returned,
                    Err(_) => End::Failed,
                },
            );
            match flow? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &'p Statement) -> Run<Flow<'p, W::Value>> {
        match statement {
            Statement::If(test, then, otherwise) => {
                let truth = self.truth(test);
                self.env.tried(statement, truth.as_ref().ok().copied());
                if truth? {
                    self.run(then)
                } else {
                    self.run(otherwise)
                }
            }
            Statement::Return(code) => self.leave(code),
            Statement::Assign(target, code) => {
                let value = self.eval(code)?;
                self.assign(target, value)?;
                Ok(Flow::Next)
            }
            Statement::Append(slot, code) => {
                self.append(*slot, code)?;
                Ok(Flow::Next)
            }
            Statement::Store(slot, node) => {
                let (key, value) = &**node;
                self.store(*slot, key, value)?;
                Ok(Flow::Next)
            }
            Statement::For(body) => self.each(body),
            Statement::Break => Ok(Flow::Break),
            Statement::Continue => Ok(Flow::Continue),
            Statement::Evaluate(code) => {
                self.eval(code)?;
                Ok(Flow::Next)
            }
            Statement::Raise(exception) => Err((*exception).into()),
            Statement::Try(body) => self.attempt(body),
        }
    }

    /// `return code`.
    fn leave(&mut self, mut code: &'p Code) -> Run<Flow<'p, W::Value>> {
        while let Code::IfElse(node) = code {
            let (test, then, otherwise) = &**node;
            code = if self.truth(test)? { then } else { otherwise };
        }
        Ok(Flow::Return(match code {
            Code::Const(PyConst::None) => Val::None,
            Code::Decide(node) => match node.always {
                Some(number) => Val::Static(number),
                None => self.eval(code)?,
            },
            code => self.eval(code)?,
        }))
    }

    fn each(&mut self, node: &'p For) -> Run<Flow<'p, W::Value>> {
        let over = self.eval(&node.over)?;
        let mut cursor = Cursor::new(over, &mut self.budget)?;
        while let Some(item) = cursor.next(&mut self.budget)? {
            self.budget.fuel(node.weight)?;
            self.assign(&node.target, item)?;
            match self.run(&node.body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(value) => return Ok(Flow::Return(value)),
            }
        }
        self.run(&node.otherwise)
    }

    fn attempt(&mut self, node: &'p Try) -> Run<Flow<'p, W::Value>> {
        match self.run(&node.body) {
            Ok(Flow::Next) => self.run(&node.otherwise),
            Ok(flow) => Ok(flow),
            Err(Failure::Raised(exception)) => {
                for handler in &node.handlers {
                    if handler.names.iter().any(|name| exception.is(*name)) {
                        return self.run(&handler.body);
                    }
                }
                Err(exception.into())
            }
            Err(fault) => Err(fault),
        }
    }

    fn assign(&mut self, target: &'p Target, value: Val<'p, W::Value>) -> Run<()> {
        match target {
            Target::Slot(slot) => {
                self.locals.set(*slot, Some(value));
                Ok(())
            }
            Target::Unpack(targets) => {
                // Python asks for one more than it needs, and takes the error of that first.
                let mut cursor = Cursor::new(value, &mut self.budget)?;
                let mut items = Vec::with_capacity(targets.len());
                for _ in 0..targets.len() {
                    match cursor.next(&mut self.budget)? {
                        Some(item) => items.push(item),
                        None => return Err(Exception::VALUE.into()),
                    }
                }
                if cursor.next(&mut self.budget)?.is_some() {
                    return Err(Exception::VALUE.into());
                }
                for (target, item) in targets.iter().zip(items) {
                    self.assign(target, item)?;
                }
                Ok(())
            }
        }
    }

    fn append(&mut self, slot: u32, code: &'p Code) -> Run<()> {
        // The owner is looked up before the argument is: without one nothing else happens.
        if self.locals.get(slot).is_none() {
            return Err(Exception::UNBOUND.into());
        }
        let value = self.eval(code)?;
        self.budget.elements(1)?;
        let Some(owner) = self.locals.get_mut(slot) else {
            return Err(Exception::UNBOUND.into());
        };
        match owner {
            Val::List(items) => match Rc::get_mut(items) {
                Some(items) => items.push(value),
                // Somebody else holds it, and would have to see the change.
                None => Err(Failure::UNSUPPORTED),
            },
            Val::Set(table) => match Rc::get_mut(table) {
                Some(table) if !table.frozen => {
                    if let Some(_known) = table.get(&value, &mut self.budget)? {
                        return Ok(());
                    }
                    table.insert(value, Val::None, &mut self.budget)
                }
                Some(_) | None => Err(Failure::UNSUPPORTED),
            },
            other => Err(failure_on(other, Exception::ATTRIBUTE.into())),
        }
    }

    fn store(&mut self, slot: u32, key: &'p Code, value: &'p Code) -> Run<()> {
        let value = self.eval(value)?;
        if self.locals.get(slot).is_none() {
            return Err(Exception::UNBOUND.into());
        }
        let key = self.eval(key)?;
        self.budget.elements(1)?;
        let Some(owner) = self.locals.get_mut(slot) else {
            return Err(Exception::UNBOUND.into());
        };
        match owner {
            Val::Dict(table) => match Rc::get_mut(table) {
                Some(table) => table.insert(key, value, &mut self.budget),
                None => Err(Failure::UNSUPPORTED),
            },
            Val::List(items) => {
                let at = sequence::index(&key, items.items.len())?;
                match Rc::get_mut(items) {
                    Some(items) => items.set(at, value),
                    None => Err(Failure::UNSUPPORTED),
                }
            }
            other => Err(failure_on(other, Exception::TYPE.into())),
        }
    }

    fn truth(&mut self, code: &'p Code) -> Run<bool> {
        match code {
            Code::Not(item) => self.truth(item).map(|truth| !truth),
            Code::And(items) => {
                for item in items {
                    if !self.truth(item)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Code::Or(items) => {
                for item in items {
                    if self.truth(item)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Code::IfElse(node) => {
                let (test, then, otherwise) = &**node;
                if self.truth(test)? {
                    self.truth(then)
                } else {
                    self.truth(otherwise)
                }
            }
            Code::Compare(first, others) => self.comparison(first, others),
            Code::Has(_, _, compare) => self.truth(compare),
            Code::Regex(node) => {
                let (pattern, text) = &**node;
                let text = self.eval(text)?;
                self.is_match(pattern, &text)
            }
            code => self.eval(code)?.truth(),
        }
    }

    #[inline(never)]
    fn comparison(&mut self, first: &'p Code, others: &'p [(Comparison, Code)]) -> Run<bool> {
        if let [(operator, Code::Const(constant))] = others {
            let right = Val::constant(constant);
            return self.with(first, |left, budget| {
                compare(*operator, left, &right, budget)
            });
        }
        let mut left = self.eval(first)?;
        for (operator, code) in others {
            let right = self.eval(code)?;
            if !compare(*operator, &left, &right, &mut self.budget)? {
                return Ok(false);
            }
            left = right;
        }
        Ok(true)
    }

    /// The value of an expression.
    ///
    /// INVARIANT: a level of the code takes little of the stack, whatever its content: what an arm needs besides the walk
    /// into its parts is in a function that has returned, or in a frame of its own. A function is a hundred levels deep at
    /// most, and threads may have 256 KiB; `tests/engine/stack.rs` runs all kinds of nodes in that.
    fn eval(&mut self, code: &'p Code) -> Out<'p, W> {
        match code {
            Code::Const(constant) => Ok(Val::constant(constant)),
            Code::Local(slot) => self.local(*slot),
            Code::Object(object) => Ok(Val::Object(*object)),
            Code::Path(path, slow) => match self.found(*path) {
                Some(value) => Ok(value),
                None => self.eval(slow),
            },
            Code::Attribute(of, name) => {
                let of = self.eval(of)?;
                self.attribute(&of, name)
            }
            Code::Item(node) => self.item(node),
            Code::Slice(node) => self.slice(node),
            Code::Call(Builtin::Len, args) if args.len() == 1 => self.length(args),
            Code::Call(Builtin::OccursIn, args) => self.occurs_in(args),
            Code::Call(function, args) => self.builtin(*function, args),
            Code::IsInstance(of, types) => {
                let of = self.eval(of)?;
                is_instance(&of, *types).map(Val::Bool)
            }
            Code::Method(owner, method, args) => self.method(owner, *method, args),
            Code::Regex(node) => {
                let (pattern, text) = &**node;
                let text = self.eval(text)?;
                self.searched(pattern, text)
            }
            Code::Compare(..) | Code::Has(..) | Code::Not(_) => self.truth(code).map(Val::Bool),
            Code::And(items) => self.either(items, false),
            Code::Or(items) => self.either(items, true),
            Code::Unary(operator, item) => {
                let item = self.eval(item)?;
                number::unary(*operator, &item)
            }
            Code::Binary(operator, node) => self.binary(*operator, node),
            Code::IfElse(node) => {
                let (test, then, otherwise) = &**node;
                if self.truth(test)? {
                    self.eval(then)
                } else {
                    self.eval(otherwise)
                }
            }
            Code::List(items) => self.all(items).and_then(Val::list),
            Code::Tuple(items) => self.all(items).and_then(Val::tuple),
            Code::Set(items) => self.set(items),
            Code::Mapping(entries) => self.mapping(entries),
            Code::Collect(node) => self.collect(node),
            Code::Text(parts) => self.text(parts),
            Code::Bind(slot, code) => {
                let value = self.eval(code)?;
                self.locals.set(*slot, Some(value.clone()));
                Ok(value)
            }
            Code::Inline(node) => self.inline(node),
            Code::Decide(node) => self.decide(node),
            Code::Run(definition) => self.run_value(*definition),
            Code::Origin(wanted, path) => self.argument_origin(*wanted, *path),
            Code::OriginOf(wanted, of) => self.origin(*wanted, of),
        }
    }

    /// Calls `work` with the value of an expression. PERF: the value of a local is not copied.
    fn with<T>(
        &mut self,
        code: &'p Code,
        work: impl FnOnce(&Val<'p, W::Value>, &mut Budget) -> Run<T>,
    ) -> Run<T> {
        if let Code::Local(slot) = code
            && let Some(value) = self.locals.get(*slot)
        {
            self.env.local(*slot, || repr::seen(value));
            return work(value, &mut self.budget);
        }
        let value = self.eval(code)?;
        work(&value, &mut self.budget)
    }

    #[inline(never)]
    fn local(&mut self, slot: u32) -> Out<'p, W> {
        match self.locals.get(slot) {
            Some(value) => {
                self.env.local(slot, || repr::seen(value));
                Ok(value.clone())
            }
            None => Err(Exception::UNBOUND.into()),
        }
    }

    /// Returns the value at a path, if the path leads to one.
    #[inline(never)]
    fn found(&mut self, path: u32) -> Option<Val<'p, W::Value>> {
        match self.env.step(path) {
            Step::Found(value) => Some(Val::import(value.clone())),
            Step::Absent | Step::Unreadable => None,
        }
    }

    #[inline(never)]
    fn item(&mut self, node: &'p (Code, Code)) -> Out<'p, W> {
        let (of, key) = node;
        let (of, key) = (self.eval(of)?, self.eval(key)?);
        sequence::item(&of, &key, &mut self.budget)
    }

    #[inline(never)]
    fn slice(&mut self, node: &'p (Code, [Option<Code>; 3])) -> Out<'p, W> {
        let (of, bounds) = node;
        let of = self.eval(of)?;
        let [start, stop, step] = bounds;
        let mut bound = |code: &'p Option<Code>| match code {
            Some(code) => self.eval(code),
            None => Ok(Val::None),
        };
        let bounds = [bound(start)?, bound(stop)?, bound(step)?];
        sequence::slice(&of, bounds, &mut self.budget)
    }

    #[inline(never)]
    fn builtin(&mut self, function: Builtin, args: &'p [Code]) -> Out<'p, W> {
        let args = self.all(args)?;
        builtins::call(function, args, &mut self.budget)
    }

    fn is_match(&mut self, pattern: &Pattern, text: &Val<'p, W::Value>) -> Run<bool> {
        match text.text() {
            Some(text) => pattern.is_match(text, &mut self.budget),
            None => Err(failure_on(text, Exception::TYPE.into())),
        }
    }

    #[inline(never)]
    fn searched(&mut self, pattern: &'p Pattern, text: Val<'p, W::Value>) -> Out<'p, W> {
        Ok(if self.is_match(pattern, &text)? {
            Val::Match(Rc::new(Found::new(pattern, text)))
        } else {
            Val::None
        })
    }

    #[inline(never)]
    fn binary(&mut self, operator: Binary, node: &'p (Code, Code)) -> Out<'p, W> {
        let (left, right) = node;
        let (left, right) = (self.eval(left)?, self.eval(right)?);
        number::binary(operator, &left, &right, &mut self.budget)
    }

    #[inline(never)]
    fn set(&mut self, items: &'p [Code]) -> Out<'p, W> {
        if items.len() <= AT_ONCE {
            let items = self.all(items)?;
            return Table::set(items, &mut self.budget).map(|table| Val::Set(Rc::new(table)));
        }
        let mut table = Table::new();
        for item in items {
            let item = self.eval(item)?;
            table.insert(item, Val::None, &mut self.budget)?;
        }
        Ok(Val::Set(Rc::new(table)))
    }

    /// `len(of)`
    #[inline(never)]
    fn length(&mut self, args: &'p [Code]) -> Out<'p, W> {
        let mut length = 0;
        for of in args {
            length = self.eval(of)?.len()?;
        }
        i64::try_from(length)
            .map(Val::Int)
            .map_err(|_| Failure::TOO_LARGE)
    }

    #[inline(never)]
    fn all(&mut self, codes: &'p [Code]) -> Run<Vec<Val<'p, W::Value>>> {
        self.budget.bytes(codes.len().saturating_mul(32))?;
        codes.iter().map(|code| self.eval(code)).collect()
    }

    /// The first operand whose truth is `decisive`, or the last one.
    #[inline(never)]
    fn either(&mut self, items: &'p [Code], decisive: bool) -> Out<'p, W> {
        let mut last = Val::None;
        for (at, item) in (1..).zip(items) {
            last = self.eval(item)?;
            // The truth of the last operand is not needed.
            if at < items.len() && last.truth()? == decisive {
                break;
            }
        }
        Ok(last)
    }

    #[inline(never)]
    fn field(&mut self, field: Field, own: bool) -> Out<'p, W> {
        match self.env.field(field, own) {
            Step::Found(value) => Ok(match Val::import(value) {
                // What a tool declares is a tuple of strings, whatever text it was read from.
                Val::Seq(value) if field == Field::Scope && !value.is_host() => Val::Tup(value),
                value => value,
            }),
            // A context without a task has none.
            Step::Absent if field == Field::Task => Ok(Val::None),
            Step::Absent => Err(Exception::ATTRIBUTE.into()),
            Step::Unreadable => Err(Failure::Fault(crate::error::ErrorCode::WrongType)),
        }
    }

    #[inline(never)]
    fn attribute(&mut self, of: &Val<'p, W::Value>, name: &str) -> Out<'p, W> {
        match of {
            Val::Object(object) => match object.attribute(name) {
                Some(Member::Object(object)) => Ok(Val::Object(object)),
                Some(Member::Field(field, own)) => self.field(field, own),
                None => Err(Exception::ATTRIBUTE.into()),
            },
            Val::DateTime(datetime) => datetime.attribute(name),
            other => Err(failure_on(other, Exception::ATTRIBUTE.into())),
        }
    }

    #[inline(never)]
    fn method(&mut self, owner: &'p Code, method: Method, args: &'p [Code]) -> Out<'p, W> {
        // PERF: most methods have no argument, or a constant.
        let constant = match args {
            [] => Some(None),
            [Code::Const(one)] => Some(Some(Val::constant(one))),
            _ => None,
        };
        if let Some(args) = constant {
            return self.with(owner, |owner, budget| {
                method::look_up(method, owner)?;
                method::call(method, owner, args.as_slice(), budget)
            });
        }
        let owner = self.eval(owner)?;
        method::look_up(method, &owner)?;
        match args {
            [one] => {
                let one = self.eval(one)?;
                method::call(method, &owner, std::slice::from_ref(&one), &mut self.budget)
            }
            [one, two] => {
                let both = [self.eval(one)?, self.eval(two)?];
                method::call(method, &owner, &both, &mut self.budget)
            }
            args => {
                let args = self.all(args)?;
                method::call(method, &owner, &args, &mut self.budget)
            }
        }
    }

    #[inline(never)]
    fn mapping(&mut self, entries: &'p [(Option<Code>, Code)]) -> Out<'p, W> {
        let mut table = Table::new();
        // Keys are put in once those after them are evaluated, up to a number.
        let mut waiting = Vec::new();
        for (key, value) in entries {
            match key {
                Some(key) => {
                    waiting.push((self.eval(key)?, self.eval(value)?));
                    if waiting.len() * 2 > AT_ONCE {
                        self.put(&mut table, &mut waiting)?;
                    }
                }
                None => {
                    self.put(&mut table, &mut waiting)?;
                    let value = self.eval(value)?;
                    let pairs = match Entries::of(&value) {
                        Some(entries) => entries.pairs(&mut self.budget)?,
                        None => return Err(failure_on(&value, Exception::TYPE.into())),
                    };
                    for (key, value) in pairs {
                        table.insert(key, value, &mut self.budget)?;
                    }
                }
            }
        }
        self.put(&mut table, &mut waiting)?;
        Ok(Val::Dict(Rc::new(table)))
    }

    fn put(
        &mut self,
        table: &mut Table<'p, W::Value>,
        waiting: &mut Vec<Entry<'p, W::Value>>,
    ) -> Run<()> {
        for (key, value) in waiting.drain(..) {
            table.insert(key, value, &mut self.budget)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn text(&mut self, parts: &'p [Part]) -> Out<'p, W> {
        let mut out = String::new();
        for part in parts {
            match part {
                Part::Literal(text) => {
                    self.budget.bytes(text.len())?;
                    out.push_str(text);
                }
                Part::Shown(code, conversion, spec) => {
                    let value = self.eval(code)?;
                    let budget = &mut self.budget;
                    if *conversion == Conversion::None {
                        format::format_of(&value, spec, &mut out, budget)?;
                        continue;
                    }
                    let mut shown = String::new();
                    match conversion {
                        Conversion::None | Conversion::Str => {
                            repr::str_of(&value, &mut shown, budget)?;
                        }
                        Conversion::Repr => repr::repr_of(&value, &mut shown, budget)?,
                        Conversion::Ascii => repr::ascii_of(&value, &mut shown, budget)?,
                    }
                    let shown: Val<'_, W::Value> = Val::Made(shown.into());
                    format::format_of(&shown, spec, &mut out, budget)?;
                }
            }
        }
        Ok(Val::Made(out.into()))
    }

    #[inline(never)]
    fn inline(&mut self, node: &'p Inline) -> Out<'p, W> {
        let values = node
            .parameters
            .iter()
            .map(|(slot, code)| Ok((*slot, self.eval(code)?)))
            .collect::<Run<Vec<_>>>()?;
        for slot in &node.locals {
            self.locals.set(*slot, None);
        }
        for (slot, value) in values {
            self.locals.set(slot, Some(value));
        }
        Ok(match self.run(&node.body)? {
            Flow::Return(value) => value,
            Flow::Next | Flow::Break | Flow::Continue => Val::None,
        })
    }

    #[inline(never)]
    fn decide(&mut self, node: &'p Decide) -> Out<'p, W> {
        if let Some(number) = node.always {
            return Ok(Val::Static(number));
        }
        let mut pending = Pending::new(node.verdict);
        pending.obligations = &node.obligations;
        for (argument, code) in &node.args {
            let value = self.eval(code)?;
            match argument {
                Argument::Reason => pending.reason = value,
                Argument::MatchedRules => pending.matched_rules = Some(value),
                Argument::Approvers => pending.approvers = Some(value),
                Argument::TimeoutSeconds => pending.timeout_seconds = value,
                Argument::ApprovalsNeeded => pending.approvals_needed = value,
                Argument::TransformArgs => pending.transform_args = value,
            }
        }
        Ok(Val::Decision(Rc::new(pending)))
    }
}

/// `isinstance(value, types)`.
fn is_instance<V: Value>(value: &Val<'_, V>, types: Types) -> Run<bool> {
    match value {
        Val::Opaque(self::value::Broken::BadUnicode) => {
            Ok(types.meets(Types::STR.and(Types::SEQUENCE)))
        }
        Val::Opaque(self::value::Broken::OutOfRange) => Ok(types.meets(Types::INT)),
        // Bytes, sets and what else there is: only of what a view tells it is known what they are not.
        Val::Opaque(broken) => {
            if types.meets(Types::SET.and(Types::BYTES).and(Types::SEQUENCE)) {
                Err((*broken).into())
            } else {
                Ok(false)
            }
        }
        Val::View(..) if types.meets(Types::SET) => Ok(false),
        value => Ok(value.types().meets(types)),
    }
}
