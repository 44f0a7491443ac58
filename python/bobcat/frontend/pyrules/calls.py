"""Calls: builtins, methods, patterns, constructors of decisions, and other functions in place."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import fnmatch
import functools
import inspect
import re
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bobcat import _core, decisions
from bobcat.frontend.pyrules import comprehensions, inlining
from bobcat.frontend.pyrules.kinds import DATETIME_METHODS, OBJECTS
from bobcat.frontend.pyrules.stdlib import EQUIVALENTS
from bobcat.ir import code as ir
from bobcat.model import Decision, Verdict

if TYPE_CHECKING:
    from bobcat.frontend.pyrules.function import Function

_VERDICTS: dict[Callable[..., Any], ir.DecisionVerdict] = {  # Any: constructors
    decisions.allow: "allow",
    decisions.deny: "deny",
    decisions.dry_run: "dry_run",
    decisions.approve_required: "approve_required",
    decisions.transform: "transform",
}
_SEARCHES: dict[Any, ir.RegexHow] = {re.search: "search", re.match: "match", re.fullmatch: "fullmatch"}
_HOWS: dict[str, ir.RegexHow] = {"search": "search", "match": "match", "fullmatch": "fullmatch"}
_TYPES: dict[type, str] = {
    bool: "bool", bytes: "bytes", dict: "dict", float: "float", int: "int", list: "list", type(None): "NoneType",
    set: "set", str: "str", tuple: "tuple",
}  # fmt: skip
_KEYWORDS: dict[str, tuple[str, ...]] = {
    "split": ("sep", "maxsplit"), "rsplit": ("sep", "maxsplit"), "splitlines": ("keepends",),
    "int": ("", "base"), "round": ("number", "ndigits"), "sum": ("", "start"), "enumerate": ("iterable", "start"),
}  # fmt: skip
"""Parameters that may be given by name; "" for one that may not."""
_OMITTED: dict[str, tuple[Any, ...]] = {"split": (None, -1), "rsplit": (None, -1)}
_INSTEAD_OF_METHOD = {
    "format": "write an f-string",
    "format_map": "write an f-string",
    "append": "append to a list that this function makes, under a name that nothing else holds",
    "add": "add to a set that this function makes, under a name that nothing else holds",
    "encode": "compare strings, not bytes",
    "translate": "use `replace`",
    "update": "write `{**one, **other}`",
    "setdefault": "write `if key not in d: d[key] = ...`",
    "strftime": "use the fields: `context.timestamp.hour`",
    "astimezone": "compare `context.timestamp.timestamp()`",
    "date": "use the fields: `context.timestamp.year`",
    "time": "use the fields: `context.timestamp.hour`",
    "copy": "write `list(x)` or `{**x}`",
}
_SHOWING = frozenset({"str", "repr"})
_UNORDERED = frozenset({"len", "any", "all", "min", "max", "sorted", "set", "frozenset", "bool", "isinstance"})


def lower(node: ast.Call, f: Function) -> ir.Code:
    """The code of a call."""
    from bobcat.frontend.pyrules.function import MISSING, Nested

    if any(isinstance(item, ast.Starred) for item in node.args) or any(item.arg is None for item in node.keywords):
        raise f.cannot(node, "calls with `*` or `**`", "write the arguments out")
    if isinstance(node.func, ast.Name) and isinstance(binding := f.resolve(node.func), Nested):
        return inlining.nested(node, binding, f)
    if isinstance(node.func, ast.Lambda):
        return inlining.nested(node, Nested(node.func, f), f)
    target = f.static(node.func)
    if target is not MISSING:
        return call_object(node, target, f)
    if isinstance(node.func, ast.Attribute):
        return _method(node, node.func, f)
    raise f.cannot(
        node.func, "calls something that is only known when the rule runs", "call a function by its own name"
    )


def call_object(node: ast.Call, target: Any, f: Function) -> ir.Code:  # Any: every object
    """A call of an object that is known when the rule is compiled."""
    target = EQUIVALENTS.get(target, target) if isinstance(target, types.FunctionType) else target
    if isinstance(target, types.FunctionType) and target in _VERDICTS:
        return _decision(node, target, f)
    if target is Decision:
        return _decision_object(node, f)
    name = getattr(target, "__name__", "")
    if isinstance(target, types.BuiltinFunctionType | type) and getattr(builtins, name, None) is target:
        return _builtin(node, name, f)
    if isinstance(target, types.FunctionType) and target in _SEARCHES:
        return _search(node, _SEARCHES[target], f)
    if target is fnmatch.fnmatchcase:
        return _fnmatch(node, f)
    if isinstance(target, types.MethodDescriptorType) and target.__objclass__ in (str, dict, list, tuple, set):
        return _unbound(node, target, f)
    if isinstance(target, types.FunctionType | types.MethodType | functools.partial) or inlining.is_callable_object(
        target
    ):
        return inlining.function(node, target, f)
    raise f.cannot_value(
        node.func, target, "calls", 'write it in the subset, or keep this rule as a host rule (`host="allow"`)'
    )


# --- builtins ---


def _builtin(node: ast.Call, name: str, f: Function) -> ir.Code:
    match name, node.args, node.keywords:
        case "isinstance", [of, kinds], []:
            return ir.IsInstance(f.value(of), _types(kinds, f))
        case ("any" | "all" | "sum" | "min" | "max") as kind, [only], [] if made := comprehensions.generator(only, f):
            return comprehensions.collect(kind, made, f)
        case ("min" | "max") as kind, [only], [ast.keyword(arg="default", value=default)]:
            return _least(node, kind, (only, default), f)
        case "next", [only, default], [] if made := comprehensions.generator(only, f):
            return comprehensions.collect("first", made, f, _constant(default, f))
        case "sorted", [only], [ast.keyword(arg="reverse", value=ast.Constant(value=bool() as reverse))]:
            items = _collected("list", only, f)
            backwards = ir.Call("sorted", (ir.Call("reversed", (ir.Call("list", (items,)),)),))
            return ir.Call("list", (ir.Call("reversed", (backwards,)),)) if reverse else ir.Call("sorted", (items,))
        case ("list" | "tuple" | "set" | "frozenset" | "sorted" | "dict") as kind, [only], [] if (
            made := comprehensions.generator(only, f)
        ):
            return _made_of(kind, comprehensions.collect(_COLLECTED.get(kind, "list"), made, f))
        case "dict", args, [_, *_] if len(args) < 2:
            return _dict(node, f)
        case "print" | "input" | "open" as known, _, _:
            raise f.cannot_value(node.func, getattr(builtins, known), "calls", "leave it out")
        case (("getattr" | "hasattr" | "setattr" | "vars" | "dir"), _, _):
            raise f.cannot(node, f"calls `{name}`", "read the field itself: `request.tool`")
        case (("map" | "filter"), _, _):
            raise f.cannot(
                node,
                f"keeps what `{name}` makes",
                "hand it to `any`, `all` or `list` at once, or write a comprehension",
            )
        case "type", _, _:
            raise f.cannot(node, "calls `type`", "write `isinstance(...)`")
        case _:
            pass
    if name not in ir.BUILTINS:
        raise f.cannot(node, f"calls `{name}`, which has no lowered form", "write it in the subset")
    arguments = _positional(node, name, f)
    for item in arguments:
        if isinstance(item, ast.GeneratorExp):
            raise f.cannot(item, f"hands a generator to `{name}`", "hand it a list: `[...]`")
    if name in _SHOWING:
        for item in arguments:
            f.check_shown(item)
    return ir.Call(name, tuple(_argument(item, name, f) for item in arguments))


_COLLECTED: dict[str, ir.CollectKind] = {"set": "set", "frozenset": "set", "dict": "dict"}


def _argument(item: ast.expr, name: str, f: Function) -> ir.Code:
    if name == "bool":
        return f.raw(item)
    if name in _UNORDERED or name == "dict":
        return f.iterable(item)
    return f.ordered(item)


def _made_of(kind: str, collected: ir.Code) -> ir.Code:
    return collected if kind in ("list", "set", "dict") else ir.Call(kind, (collected,))


def _collected(kind: ir.CollectKind, node: ast.expr, f: Function) -> ir.Code:
    made = comprehensions.generator(node, f)
    return f.iterable(node) if made is None else comprehensions.collect(kind, made, f)


def _least(node: ast.Call, kind: Any, parts: tuple[ast.expr, ast.expr], f: Function) -> ir.Code:  # Any: a literal
    default = _constant(parts[1], f)
    made = comprehensions.generator(parts[0], f)
    if made is not None:
        return comprehensions.collect(kind, made, f, default)
    slot, local = f.temporary()
    return ir.Collect(kind, None, local, (ir.Loop(ir.Slot(slot), f.iterable(parts[0]), ()),), default)


def _constant(node: ast.expr, f: Function) -> ir.Constant:
    lowered = f.value(node)
    if not isinstance(lowered, ir.Constant):
        raise f.cannot(node, "calculates a default", "write a constant")
    return lowered


def _dict(node: ast.Call, f: Function) -> ir.Code:
    entries: list[tuple[ir.Code | None, ir.Code]] = []
    if node.args:
        entries.append((None, ir.Call("dict", (_collected("dict", node.args[0], f),))))
    entries.extend((ir.Constant(item.arg), f.value(item.value)) for item in node.keywords)
    return ir.Mapping(tuple(entries))


def _types(node: ast.expr, f: Function) -> tuple[str, ...]:
    from collections.abc import Mapping, Sequence

    if isinstance(node, ast.Tuple):
        return tuple(name for item in node.elts for name in _types(item, f))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return (*_types(node.left, f), *_types(node.right, f))
    value = type(None) if isinstance(node, ast.Constant) and node.value is None else f.static(node)
    if isinstance(value, types.UnionType):
        return tuple(_TYPES[item] for item in value.__args__ if item in _TYPES)
    if isinstance(value, tuple) and all(item in _TYPES for item in value):
        return tuple(_TYPES[item] for item in value)
    known = {**_TYPES, Mapping: "Mapping", Sequence: "Sequence"}
    if isinstance(value, type) and value in known:
        return (known[value],)
    raise f.cannot(
        node,
        "asks for a type that no value of a request has",
        "use str, int, float, bool, list, tuple, dict, set or None",
    )


def _positional(node: ast.Call, name: str, f: Function) -> list[ast.expr]:
    """The arguments by position; those given by name are put in their places."""
    arguments = list(node.args)
    names = _KEYWORDS.get(name, ())
    for keyword in node.keywords:
        if keyword.arg not in names:
            raise f.cannot(keyword.value, f"gives `{name}` an argument by name", "give it by position")
        place = names.index(keyword.arg)
        while len(arguments) < place and name in _OMITTED:
            arguments.append(ast.copy_location(ast.Constant(_OMITTED[name][len(arguments)]), keyword.value))
        if place != len(arguments):
            raise f.cannot(keyword.value, f"gives `{name}` an argument by name", "give it by position")
        arguments.append(keyword.value)
    return arguments


# --- methods ---


def _method(node: ast.Call, func: ast.Attribute, f: Function) -> ir.Code:
    name = func.attr
    owner = f.static(func.value)
    if isinstance(owner, re.Pattern):
        return _search_pattern(node, owner, name, f)
    kind = f.kind(func.value)
    if kind in OBJECTS:
        raise f.cannot(func, f"calls `{name}` of the {kind}", "use its fields: `request.args.get(...)`")
    if name == "copy" and kind == "dict" and not node.args and not node.keywords:
        return ir.Mapping(((None, f.value(func.value)),))
    if kind == "datetime" and name not in DATETIME_METHODS:
        raise f.cannot(
            node,
            f"calls `{name}` of a point in time",
            _INSTEAD_OF_METHOD.get(name, "use its fields: `context.timestamp.hour`"),
        )
    if name not in ir.METHODS:
        raise f.cannot(node, f"calls the method `{name}`", _INSTEAD_OF_METHOD.get(name, "write it in the subset"))
    of = f.value(func.value)
    if name == "join" and len(node.args) == 1 and not node.keywords:
        made = comprehensions.generator(node.args[0], f)
        items = f.ordered(node.args[0]) if made is None else comprehensions.collect("list", made, f)
        return ir.Method(of, name, (items,))
    arguments = _positional(node, name, f)
    if name in ("union", "intersection", "difference", "issubset", "issuperset", "isdisjoint"):
        return ir.Method(of, name, tuple(f.iterable(item) for item in arguments))
    return ir.Method(of, name, tuple(f.value(item) for item in arguments))


def _unbound(node: ast.Call, method: types.MethodDescriptorType, f: Function) -> ir.Code:
    """`str.lower(x)`: a `TypeError` unless `x` is of the type."""
    name = method.__name__
    if not node.args or node.keywords or name not in ir.METHODS:
        raise f.cannot(node, f"calls `{ast.unparse(node.func)}`", "call it as a method of the value")
    slot, local = f.temporary()
    first = ir.Bind(slot, f.value(node.args[0]))
    rest = tuple(f.value(item) for item in node.args[1:])
    if rest and not all(isinstance(item, ir.Constant) for item in rest):
        raise f.cannot(node, f"calls `{ast.unparse(node.func)}`", "call it as a method of the value")
    test = ir.And((ir.Display("tuple", (first,)), ir.IsInstance(local, (_TYPES[method.__objclass__],))))
    return ir.IfElse(test, ir.Method(local, name, rest), type_error())


def type_error() -> ir.Code:
    """What Python answers to a value of the wrong type."""
    return ir.Call("len", (ir.Constant(None),))


# --- patterns ---


def static_pattern(node: ast.Call, f: Function) -> Any:  # Any: a pattern, or MISSING
    """`re.compile(...)` of constants, which is a constant itself."""
    from bobcat.frontend.pyrules.function import MISSING

    if not isinstance(node.func, ast.Attribute | ast.Name) or f.static(node.func) is not re.compile:
        return MISSING
    pattern, flags = _pattern_arguments(node, f)
    return _compiled(node, pattern, flags, f)


def _compiled(node: ast.AST, pattern: str, flags: int, f: Function) -> re.Pattern[str]:
    try:
        return re.compile(pattern, flags)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise f.cannot(node, f"has a pattern that Python refuses: {error}", "mend the pattern") from error


def _pattern_arguments(node: ast.Call, f: Function, *, more: int = 0) -> tuple[str, int]:
    flags_node = node.args[1 + more] if len(node.args) > 1 + more else None
    for keyword in node.keywords:
        if keyword.arg != "flags":
            raise f.cannot(keyword.value, "gives a pattern an argument by name", "give it by position")
        flags_node = keyword.value
    if not node.args:
        raise f.cannot(node, "has no pattern", "write a pattern")
    pattern = text_of(node.args[0], f)
    flags = 0 if flags_node is None else _flags(flags_node, f)
    if pattern is None:
        raise f.cannot(node.args[0], "has a pattern that is only known when the rule runs", "write a constant pattern")
    return pattern, flags


def text_of(node: ast.expr, f: Function) -> str | None:
    """A text that is known when the rule is compiled; None for anything else."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = text_of(left, f), text_of(right, f)
            return None if first is None or second is None else first + second
        case ast.Name() | ast.Attribute():
            value = f.static(node)
            return value if type(value) is str else None
        case _:
            return None


def _flags(node: ast.expr, f: Function) -> int:
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _flags(left, f) | _flags(right, f)
        case ast.Constant(value=int() as number):
            return number
        case _:
            value = f.static(node)
            if isinstance(value, int):
                return int(value)
            raise f.cannot(node, "has flags that are only known when the rule runs", "write them out: `re.IGNORECASE`")


def _search(node: ast.Call, how: ir.RegexHow, f: Function) -> ir.Code:
    if len(node.args) < 2:
        raise f.cannot(node, "has no text to look at", "give pattern and text by position")
    owner = f.static(node.args[0]) if isinstance(node.args[0], ast.Name | ast.Attribute) else None
    if isinstance(owner, re.Pattern):
        return regex(node, how, owner, f.value(node.args[1]), f)
    pattern, flags = _pattern_arguments(node, f, more=1)
    return regex(node, how, _compiled(node, pattern, flags, f), f.value(node.args[1]), f)


def _search_pattern(node: ast.Call, pattern: re.Pattern[Any], name: str, f: Function) -> ir.Code:
    if name not in _HOWS:
        raise f.cannot(node, f"calls `{name}` of a pattern", "use `search`, `match` or `fullmatch`")
    if len(node.args) != 1 or node.keywords:
        raise f.cannot(node, f"gives `{name}` more than the text", "take a slice of the text")
    return regex(node, _HOWS[name], pattern, f.value(node.args[0]), f)


def regex(node: ast.AST, how: ir.RegexHow, pattern: re.Pattern[Any], text: ir.Code, f: Function) -> ir.Code:
    """A search for a pattern, in the dialect of `re`; refused where linear time does not allow it."""
    if not isinstance(pattern.pattern, str):
        raise f.cannot(node, "has a pattern of bytes", "write a pattern of text")
    flags = int(pattern.flags) & ~int(re.UNICODE)
    if flags & (re.LOCALE | re.DEBUG):
        raise f.cannot(node, "has a pattern with `re.LOCALE` or `re.DEBUG`", "leave the flag out")
    letters = "".join(letter for flag, letter in _LETTERS if flags & flag)
    problems = _core.check_pattern(f"(?{letters}){pattern.pattern}" if letters else pattern.pattern, "python")
    if problems:
        raise f.cannot(
            node,
            f"has a pattern that cannot run in linear time: {problems[0][-1]}",
            "write it without look-around and back-references",
        )
    return ir.Regex(how, pattern.pattern, flags, text)


_LETTERS = ((re.IGNORECASE, "i"), (re.MULTILINE, "m"), (re.DOTALL, "s"), (re.VERBOSE, "x"), (re.ASCII, "a"))


def _fnmatch(node: ast.Call, f: Function) -> ir.Code:
    if len(node.args) != 2 or node.keywords:
        raise f.cannot(node, "calls `fnmatchcase` in another way", 'write `fnmatchcase(name, "*.txt")`')
    pattern = text_of(node.args[1], f)
    if pattern is None:
        raise f.cannot(node.args[1], "has a pattern that is only known when the rule runs", "write a constant pattern")
    found = regex(node, "match", re.compile(fnmatch.translate(pattern)), f.value(node.args[0]), f)
    return ir.Compare(found, ("is_not",), (ir.Constant(None),))


# --- decisions ---


def _decision(node: ast.Call, constructor: Callable[..., Any], f: Function) -> ir.Code:  # Any: a constructor
    verdict = _VERDICTS[constructor]
    parameters = inspect.signature(constructor).parameters.values()
    by_position = [item.name for item in parameters if item.kind is not inspect.Parameter.KEYWORD_ONLY]
    names = [item.name for item in parameters]
    given = _by_name(node, names, f, by_position=len(by_position))
    if verdict in ("deny", "transform") and names[0] not in dict(given):
        raise f.cannot(node, f"calls `{verdict}` without `{names[0]}`", f"give `{names[0]}`")
    args = [(name, f.value(item)) for name, item in given]
    if verdict == "approve_required" and "timeout_seconds" not in dict(given):
        args.append(("timeout_seconds", ir.Constant(decisions.DEFAULT_APPROVAL_SECONDS)))
    return ir.Decide(verdict, tuple(args))


_FIELDS = [item.name for item in dataclasses.fields(Decision)]


def _decision_object(node: ast.Call, f: Function) -> ir.Code:
    """`Decision(Verdict.DENY, "no")`."""
    given = _by_name(node, _FIELDS, f, by_position=len(_FIELDS))
    verdict = f.static(dict(given)["verdict"]) if "verdict" in dict(given) else None
    if not isinstance(verdict, Verdict):
        raise f.cannot(
            node, "makes a decision whose verdict is only known when the rule runs", "write `Verdict.DENY` and its kin"
        )
    names = {"approve_required": {"approvers", "timeout_seconds", "approvals_needed"}, "transform": {"transform_args"}}
    allowed = {"verdict", "reason", "matched_rules"} | names.get(str(verdict), set())
    for name, item in given:
        if name not in allowed:
            raise f.cannot(
                item,
                f"gives a decision `{verdict}` the field `{name}`",
                f"leave it out: it has no meaning in `{verdict}`",
            )
    args = [(name, f.value(item)) for name, item in given if name != "verdict"]
    if verdict is Verdict.APPROVE_REQUIRED and "timeout_seconds" not in dict(given):
        args.append(("timeout_seconds", ir.Constant(None)))
    if verdict is Verdict.TRANSFORM and "transform_args" not in dict(given):
        raise f.cannot(node, "transforms without `transform_args`", "give the new arguments")
    return ir.Decide(verdict.value, tuple(args))


def _by_name(node: ast.Call, names: list[str], f: Function, *, by_position: int) -> list[tuple[str, ast.expr]]:
    if len(node.args) > by_position:
        raise f.cannot(node, "gives a decision too many arguments", f"its parameters are {', '.join(names)}")
    given = list(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in names or keyword.arg in dict(given):
            raise f.cannot(
                keyword.value,
                f"gives a decision the argument `{keyword.arg}`",
                f"its parameters are {', '.join(names)}",
            )
        given.append((keyword.arg, keyword.value))
    return given
