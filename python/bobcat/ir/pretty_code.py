"""Human-readable listing of code, similar to its Python source. Not parsed back, never hashed.

Locals have the names given by the caller, else `v0`, `v1`; an inlined function is defined
just before the statement that calls it, as `call_1`, because code does not keep its name.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import assert_never

from msgspec import UnsetType

from bobcat.ir import code as ir
from bobcat.ir.schema import Const

_INDENT = "    "
_COMPARE: dict[ir.CompareOperator, str] = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "in": "in", "not_in": "not in", "is": "is",
    "is_not": "is not",
}  # fmt: skip
_UNARY: dict[ir.UnaryOperator, str] = {"neg": "-", "pos": "+", "invert": "~"}
_OR, _AND, _NOT, _COMPARED, _SUM, _PREFIX, _POWER, _OF, _ATOM = 2, 3, 4, 5, 10, 12, 13, 15, 16
"""Operator precedence of an expression; one with a lower precedence than its position requires is parenthesised."""
_BINARY: dict[ir.BinaryOperator, tuple[str, int]] = {
    "or": ("|", 6), "xor": ("^", 7), "and": ("&", 8), "add": ("+", _SUM), "sub": ("-", _SUM), "mul": ("*", 11),
    "div": ("/", 11), "floordiv": ("//", 11), "mod": ("%", 11), "pow": ("**", _POWER),
}  # fmt: skip
_FLAGS = ((2, "re.I"), (8, "re.M"), (16, "re.S"), (32, "re.U"), (64, "re.X"), (256, "re.A"))
_OPEN = {"list": ("[", "]"), "tuple": ("(", ")"), "set": ("{", "}")}
_NOT_IN_TEXT = frozenset("\"'\\{}#!:\n")


def body_lines(body: Sequence[ir.Statement], names: Sequence[str] = ()) -> list[str]:
    """Format the statements of a function, one per line; `names` are its locals by slot."""
    return _Listing(names).body(body)


def code_text(code: ir.Code, names: Sequence[str] = ()) -> str:
    """Format an expression in one line."""
    return _Listing(names).text(code)


def local_names(names: Sequence[str], count: int) -> list[str]:
    """Return unique names for `count` slots."""
    given: list[str] = []
    taken: set[str] = set()
    for slot in range(count):
        name = names[slot] if slot < len(names) else ""
        base, number = name or f"v{slot}", 1
        while (shown := base if number == 1 else f"{base}_{number}") in taken:
            number += 1
        taken.add(shown)
        given.append(shown)
    return given


class _Listing:
    def __init__(self, names: Sequence[str]) -> None:
        self._names = local_names(names, len(names))
        self._calls = 0
        self._before: list[str] = []

    def _local(self, slot: int) -> str:
        return self._names[slot] if slot < len(self._names) else f"v{slot}"

    # --- statements ---

    def body(self, body: Sequence[ir.Statement]) -> list[str]:
        if not body:
            return ["pass"]
        return [line for statement in body for line in self._statement(statement)]

    def _inside(self, body: Sequence[ir.Statement]) -> list[str]:
        return [_INDENT + line for line in self.body(body)]

    def _statement(self, statement: ir.Statement) -> list[str]:
        outer, self._before = self._before, []
        lines = self._plain(statement)
        lines, self._before = [*self._before, *lines], outer
        return lines

    def _plain(self, statement: ir.Statement) -> list[str]:
        match statement:
            case ir.Assign(target, value):
                return [f"{self._target(target)} = {self.text(value)}"]
            case ir.AppendItem(slot, value):
                return [f"{self._local(slot)}.append({self.text(value)})"]
            case ir.Store(slot, key, value):
                return [f"{self._local(slot)}[{self.text(key)}] = {self.text(value)}"]
            case ir.If():
                return self._if(statement)
            case ir.For(target, over, body, otherwise):
                head = f"for {self._target(target)} in {self.text(over)}:"
                return [head, *self._inside(body), *self._else(otherwise)]
            case ir.Break():
                return ["break"]
            case ir.Continue():
                return ["continue"]
            case ir.Return(value):
                return [f"return {self.text(value)}"]
            case ir.Evaluate(value):
                return [self.text(value)]
            case ir.Raise(name):
                return [f"raise {name}"]
            case ir.Try(body, handlers, otherwise):
                lines = ["try:", *self._inside(body)]
                for handler in handlers:
                    caught = handler.names[0] if len(handler.names) == 1 else f"({', '.join(handler.names)})"
                    lines += [f"except {caught}:", *self._inside(handler.body)]
                return lines + (self._else(otherwise) if handlers else self.body(otherwise))
            case _:
                assert_never(statement)

    def _if(self, statement: ir.If) -> list[str]:
        lines = [f"if {self.text(statement.test)}:", *self._inside(statement.then)]
        match statement.otherwise:
            case (ir.If() as nested,):
                first, *rest = self._statement(nested)
                if first.startswith("if "):
                    return [*lines, "el" + first, *rest]
                return [*lines, "else:", *(_INDENT + line for line in (first, *rest))]
            case otherwise:
                return [*lines, *self._else(otherwise)]

    def _else(self, body: Sequence[ir.Statement]) -> list[str]:
        return ["else:", *self._inside(body)] if body else []

    def _target(self, target: ir.Target) -> str:
        match target:
            case ir.SlotTarget(slot):
                return self._local(slot)
            case ir.Unpack(targets):
                return f"({_listed(self._target(item) for item in targets)})"
            case _:
                assert_never(target)

    # --- expressions ---

    def text(self, code: ir.Code) -> str:
        return self._expression(code)[0]

    def _held(self, code: ir.Code, needed: int) -> str:
        text, holds = self._expression(code)
        return text if holds >= needed else f"({text})"

    def _all(self, items: Iterable[ir.Code]) -> str:
        return ", ".join(self._held(item, 1) for item in items)

    def _expression(self, code: ir.Code) -> tuple[str, int]:
        match code:
            case ir.Constant(value):
                text = constant_text(value)
                return text, _PREFIX if text.startswith("-") else _ATOM
            case ir.Local(slot):
                return self._local(slot), _ATOM
            case ir.Root(name):
                return name, _ATOM
            case ir.Attribute(of, name):
                return f"{self._owner(of)}.{name}", _OF
            case ir.Item(of, key):
                return f"{self._owner(of)}[{self._held(key, 1)}]", _OF
            case ir.Slice(of, start, stop, step):
                bounds = ["" if item is None else self._held(item, 1) for item in (start, stop, step)]
                return f"{self._owner(of)}[{':'.join(bounds if step is not None else bounds[:2])}]", _OF
            case ir.CallFunction(function, args):
                return f"{function}({self._all(args)})", _OF
            case ir.IsInstance(of, types):
                kinds = types[0] if len(types) == 1 else f"({', '.join(types)})"
                return f"isinstance({self._held(of, 1)}, {kinds})", _OF
            case ir.Method(of, name, args):
                return f"{self._owner(of)}.{name}({self._all(args)})", _OF
            case ir.Regex(method, pattern, flags, text):
                known = " | ".join(word for bit, word in _FLAGS if flags & bit)
                flag_argument = f", {known}" if known else ""
                return f"re.{method}({pattern!r}, {self._held(text, 1)}{flag_argument})", _OF
            case ir.Compare(first, operators, others):
                parts = [self._held(first, _COMPARED + 1)]
                for operator, other in zip(operators, others, strict=False):
                    parts += [_COMPARE[operator], self._held(other, _COMPARED + 1)]
                return " ".join(parts), _COMPARED
            case ir.And(items):
                return self._joined(" and ", items, _AND)
            case ir.Or(items):
                return self._joined(" or ", items, _OR)
            case ir.NotTrue(item):
                return f"not {self._held(item, _NOT)}", _NOT
            case ir.Unary(operator, item):
                return f"{_UNARY[operator]}{self._held(item, _PREFIX)}", _PREFIX
            case ir.Binary(operator, left, right):
                sign, holds = _BINARY[operator]
                from_right = operator == "pow"
                one = self._held(left, holds + from_right)
                return f"{one} {sign} {self._held(right, holds + (not from_right))}", holds
            case ir.IfElse(test, then, otherwise):
                return f"{self._held(then, 2)} if {self._held(test, 2)} else {self._held(otherwise, 1)}", 1
            case ir.Display(kind, items):
                return self._display(kind, items), _ATOM
            case ir.Mapping(entries):
                pairs = (
                    f"**{self._held(value, 6)}" if key is None else f"{self._held(key, 1)}: {self._held(value, 1)}"
                    for key, value in entries
                )
                return f"{{{', '.join(pairs)}}}", _ATOM
            case ir.Collect():
                return self._collect(code), _OF
            case ir.Text(parts_of_text):
                return self._text(parts_of_text), _OF
            case ir.Bind(slot, value):
                return f"({self._local(slot)} := {self._held(value, 1)})", _ATOM
            case ir.Inline(parameters, body):
                return self._inline(parameters, body), _OF
            case ir.MakeDecision(verdict, args, obligations):
                given = [
                    self._held(value, 1) if name == "reason" and index == 0 and verdict != "approve_required"
                    else f"{name}={self._held(value, 1)}"
                    for index, (name, value) in enumerate(args)
                ]  # fmt: skip
                made = f"{verdict}({', '.join(given)})"
                if isinstance(obligations, UnsetType):
                    return made, _OF
                duties = "".join(
                    f"Obligation({each.name!r}, {constant_text(each.value)}, {each.phase!r}), " for each in obligations
                )
                return f"replace({made}, obligations=({duties.rstrip()}))", _OF
            case ir.ReadRun(name):
                return f"run[{name!r}]", _OF
            case ir.ArgumentOrigin(path, sources, lower):
                return f"origin({', '.join([repr('.'.join(path)), *map(repr, sources), *_lower(lower)])})", _OF
            case ir.ValueOrigin(of, sources, lower):
                return f"origin_of({', '.join([self._held(of, 1), *map(repr, sources), *_lower(lower)])})", _OF
            case _:
                assert_never(code)

    def _owner(self, code: ir.Code) -> str:
        text = self._held(code, _OF)
        return f"({text})" if isinstance(code, ir.Constant) and not text.startswith(('"', "'", "[", "{", "(")) else text

    def _joined(self, word: str, items: Sequence[ir.Code], holds: int) -> tuple[str, int]:
        return word.join(self._held(item, holds + 1) for item in items), holds if len(items) > 1 else 1

    def _display(self, kind: str, items: Sequence[ir.Code]) -> str:
        if kind == "set" and not items:
            return "set()"
        opening, closing = _OPEN[kind]
        inside = self._all(items)
        return f"{opening}{inside}{',' if kind == 'tuple' and len(items) == 1 else ''}{closing}"

    def _collect(self, code: ir.Collect) -> str:
        inside = self._held(code.value, 1)
        if code.key is not None:
            inside = f"{self._held(code.key, 1)}: {inside}"
        for loop in code.loops:
            inside += f" for {self._target(loop.target)} in {self._held(loop.over, 2)}"
            inside += "".join(f" if {self._held(test, 2)}" for test in loop.conditions)
        match code.kind:
            case "list":
                return f"[{inside}]"
            case "set" | "dict":
                return f"{{{inside}}}"
            case "first":
                return f"next(({inside}), {'None' if code.default is None else self.text(code.default)})"
            case kind:
                default = "" if code.default is None else f", default={self.text(code.default)}"
                return f"{kind}({f'({inside})' if default else inside}{default})"

    def _text(self, parts: Sequence[str | ir.Shown]) -> str:
        written: list[str] = []
        values: list[str] = []
        for part in parts:
            if isinstance(part, str):
                written.append(_quoted(part).replace("{", "{{").replace("}", "}}"))
                continue
            value = self._held(part.value, 1)
            values.append(value)
            how = (f"!{part.conversion}" if part.conversion else "") + (f":{_quoted(part.spec)}" if part.spec else "")
            written.append(f"{{\0{how}}}")
        # Before Python 3.12, an f-string cannot contain its own quotes or backslashes.
        plain = not any(_NOT_IN_TEXT & set(value) for value in values)
        text = "".join(written)
        for value in values:
            text = text.replace("\0", value if plain else "", 1)
        return f'f"{text}"' if plain else f'"{text}".format({", ".join(values)})'

    def _inline(self, parameters: Sequence[tuple[int, ir.Code]], body: Sequence[ir.Statement]) -> str:
        given = self._all(value for _, value in parameters)
        self._calls += 1
        name = f"call_{self._calls}"
        head = f"def {name}({', '.join(self._local(slot) for slot, _ in parameters)}):"
        self._before += [head, *self._inside(body)]
        return f"{name}({given})"


def _lower(lower: bool) -> list[str]:
    return ["lower=True"] if lower else []


def constant_text(value: Const) -> str:
    """Format a constant as Python, the items of a set in the order of the IR."""
    if isinstance(value, list):
        return f"[{', '.join(map(constant_text, value))}]"
    if not isinstance(value, dict):
        return repr(value)
    match value:
        case {"tuple": list() as items}:
            return f"({_listed(map(constant_text, items))})"
        case {"set": []}:
            return "set()"
        case {"set": list() as items}:
            return f"{{{', '.join(map(constant_text, items))}}}"
        case {"pairs": list() as pairs}:
            return f"{{{', '.join(f'{constant_text(key)}: {constant_text(item)}' for key, item in pairs)}}}"
        case {"map": dict() as entries}:
            return f"{{{', '.join(f'{key!r}: {constant_text(item)}' for key, item in entries.items())}}}"
        case {"float": str() as name}:
            return f"float({name!r})"
        case {"datetime": str() as text}:
            return f"datetime.fromisoformat({text!r})"
        case {"bytes": str() as text}:
            return repr(base64.b64decode(text))
        case _:
            return repr(value)


def _listed(items: Iterable[str]) -> str:
    found = list(items)
    return f"{found[0]}," if len(found) == 1 else ", ".join(found)


def _quoted(text: str) -> str:
    """Escape a text for double quotes."""
    if '"' in text:
        return repr(text)[1:-1].replace('"', '\\"')
    return repr(f"'{text}")[2:-1]  # `repr` uses double quotes around a single one
