"""Reads of the run in Python rules: `request.run.count("send_money")`, `request.run.after({"tool": "read_page"})`.

A call is lowered to the definition that the same condition in YAML has, through the front end of YAML, and to a read of
its value. Matches and formulas are constant data, as in YAML; the name of a tool stands for `{"tool": NAME}`.
"""

from __future__ import annotations

import ast
from typing import Any

from bobcat.frontend.builder.located import Located, lower_match
from bobcat.frontend.python.analysis.kinds import ORIGINS, InferredKind
from bobcat.frontend.python.analysis.scope import KEPT, Scope
from bobcat.frontend.python.lowering.run_data import at, constant, located
from bobcat.frontend.strict.run_keys import MEASURES, SEQUENCES, WITH_THIS, WORDS
from bobcat.frontend.suggest import closest, listed
from bobcat.ir import code as ir
from bobcat.ir.schema import Leaf

_EXAMPLES = {
    "count": 'request.run.count("send_money", within="1h")',
    "sum": 'request.run.sum("send_money", "amount", with_this=True)',
    "after": 'request.run.after("read_page")',
    "last": 'request.run.last("read_page")',
    "formerly": 'request.run.formerly({"call": {"tool": "read_page"}}, within="1h")',
    "previous": 'request.run.previous({"result": {"tool": "run_tests"}})',
    "since": 'request.run.since(holds={...}, start={"call": {"tool": "login"}})',
    "never": 'request.run.never({"call": {"tool": "edit"}}, since={"result": {"tool": "run_tests"}})',
}
_POSITIONAL = {
    "count": ("tool",), "sum": ("tool", "argument"), "after": ("match",), "last": ("match",),
    "formerly": ("formula",), "previous": ("formula",), "since": (), "never": ("event",),
}  # fmt: skip
_OPTIONS = {
    "count": ("tool", "of", "within", "by", WITH_THIS), "sum": ("tool", "argument", "of", "within", "by", WITH_THIS),
    "formerly": ("within",), "previous": ("within",), "since": ("holds", "start", "within"), "never": ("since",),
    "after": (), "last": (),
}  # fmt: skip

Arguments = dict[str, ast.expr]


def check_read(node: ast.Attribute, kind: InferredKind, f: Scope) -> None:
    """Raise `CannotLower` for a part of a request that reads the run and is not called at once."""
    if kind == "request" and node.attr == "run":
        raise f.error_at(node, *KEPT["run"])
    if kind == "request" and node.attr in ORIGINS:
        problem = f"keeps `request.{node.attr}` without calling it"
        raise f.error_at(node, problem, 'write `"directory" in request.origin("to")`')
    if kind == "run":
        _word(node, f)
        raise f.error_at(node, f"keeps `request.run.{node.attr}` without calling it", f"write `{_example(node.attr)}`")
    if kind == "origin":
        raise f.error_at(node, f"reads `{node.attr}` of an origin", KEPT["origin"][1])


def call(node: ast.Call, func: ast.Attribute, f: Scope) -> ir.Code:
    """Lower a call of a function of `request.run`."""
    word = _word(func, f)
    f.session.reads_run = True
    given = _arguments(node, word, f)
    if word in MEASURES:
        operand = _measured(node, word, given, f)
    else:
        operand = at(_sequence(node, word, given, f), node, f)
    surface = at({at(f"run.{word}", func, f): operand}, node, f)
    expr, definitions, findings = lower_match(surface, f.source.place.file)
    f.session.diagnostics.extend(findings)
    if not isinstance(expr, Leaf):
        return ir.Constant(None)  # the findings have an error
    f.session.memory.update(definitions)
    return ir.ReadRun(expr.path[0])


def _word(func: ast.Attribute, f: Scope) -> str:
    word = func.attr
    if word in WORDS:
        return word
    near = closest(word, WORDS)
    instead = f"did you mean `{near}`?" if near else f"the functions of `request.run` are {listed(WORDS)}"
    raise f.error_at(func, f"reads `{word}`, which `request.run` does not have", instead)


def _example(word: str) -> str:
    return _EXAMPLES[word]


def _arguments(node: ast.Call, word: str, f: Scope) -> Arguments:
    """Return the arguments of a call by name."""
    given: Arguments = {}
    positional = _POSITIONAL[word]
    if len(node.args) > len(positional) or any(isinstance(item, ast.Starred) for item in node.args):
        raise f.error_at(node, f"calls `request.run.{word}` in another way", f"write `{_example(word)}`")
    given.update(zip(positional, node.args, strict=False))
    for keyword in node.keywords:
        name = keyword.arg
        if name is None or name not in _OPTIONS[word] or name in given:
            known = _OPTIONS[word]
            instead = f"write `{_example(word)}`"
            if word in ("after", "last") and name == "within":
                other = "formerly" if word == "after" else "previous"
                instead = f'write `request.run.{other}({{"call": {{...}}}}, within="1h")`'
            elif known:
                instead = f"the options are {listed(known)}, as in `{_example(word)}`"
            raise f.error_at(keyword.value, f"calls `request.run.{word}` with `{name or '**'}`", instead)
        given[name] = keyword.value
    return given


def _measured(node: ast.Call, word: str, given: Arguments, f: Scope) -> Located:
    """Return the mapping of a count or a sum, compared with 0 so that it is complete."""
    if ("tool" in given) == ("of" in given):
        problem = f"calls `request.run.{word}` " + ("with a tool and `of`" if "of" in given else "without a tool")
        of = "" if word == "count" else ', argument="amount"'
        instead = f'write `{_example(word)}`, or `request.run.{word}(of={{"tool.in": [...]}}{of})`'
        raise f.error_at(node, problem, instead)
    if word == "sum" and "argument" not in given:
        raise f.error_at(node, "adds no argument in `request.run.sum`", f"name it: `{_example('sum')}`")
    tool = given.get("tool")
    options: dict[Any, Any] = {}  # Any: plain data, here and below
    if tool is not None:
        options["of"] = at({"tool": at(_tool(tool, f), tool, f)}, tool, f)
    for name, value in given.items():
        if name not in ("tool", WITH_THIS):
            options[at("field" if name == "argument" else name, value, f)] = located(value, f)
    test: dict[Any, Any] = {"ge": 0}
    if _flag(given.get(WITH_THIS), f):
        test = {WITH_THIS: test}
    return at({**options, **test}, node, f)


def _sequence(node: ast.Call, word: str, given: Arguments, f: Scope) -> dict[Any, Any]:
    """Return the operand of a condition on the sequence of events."""
    if word in ("since", "never"):
        return {at(name, value, f): located(value, f) for name, value in given.items()}
    first = given.get(_POSITIONAL[word][0])
    if first is None:
        raise f.error_at(node, f"calls `request.run.{word}` without a condition", f"write `{_example(word)}`")
    data = located(first, f).data
    if isinstance(data, str):
        data = {"tool": at(data, first, f)} if word in ("after", "last") else {"call": at({"tool": data}, first, f)}
    if not isinstance(data, dict):
        problem = f"calls `request.run.{word}` with something other than {_meant(word)}"
        raise f.error_at(first, problem, f"write `{_example(word)}`")
    if "within" in given and any((key.data if isinstance(key, Located) else key) == "within" for key in data):
        raise f.error_at(given["within"], f"has two windows in `request.run.{word}`", "keep one `within`")
    return {**data, **({"within": located(given["within"], f)} if "within" in given else {})}


def _meant(word: str) -> str:
    return "a match or the name of a tool" if word in SEQUENCES[:2] else "a formula"


def _tool(node: ast.expr, f: Scope) -> str:
    name = constant(node, f)
    if not isinstance(name, str):
        raise f.error_at(node, "names a tool by something other than a text", 'write `request.run.count("send_money")`')
    return name


def _flag(node: ast.expr | None, f: Scope) -> bool:
    value = False if node is None else constant(node, f)
    if node is not None and not isinstance(value, bool):
        raise f.error_at(node, "gives `with_this` a value other than True or False", "write `with_this=True`")
    return bool(value)
