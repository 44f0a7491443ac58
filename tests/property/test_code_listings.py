"""The listing of a function is Python, for every function, and means what the function does."""

from __future__ import annotations

import ast
import collections.abc
import dataclasses
import re
import types
import warnings
from datetime import datetime
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bobcat.frontend.python.lower import lower_function
from bobcat.ir import code as ir
from bobcat.ir.pretty import rule_text
from bobcat.ir.pretty_code import body_lines, local_names
from bobcat.ir.schema import FunctionRule
from bobcat.model import constructors
from bobcat.model.decision import Obligation
from oracle import function_source
from oracle.function_nodes import Functions, request
from pyrules.grammar import forget, rule_of
from pyrules.rules import corpus
from pyrules.test_corpus import LOWERED

NAMES = {
    **{name: getattr(constructors, name) for name in ("allow", "deny", "dry_run", "approve_required", "transform")},
    "Obligation": Obligation,
    "replace": dataclasses.replace,
    "re": re,
    "datetime": datetime,
    "NoneType": types.NoneType,
    "Mapping": collections.abc.Mapping,
    "Sequence": collections.abc.Sequence,
}


def definition(body: tuple[ir.Statement, ...], slots: int) -> str:
    """The listing as a function, in which every slot is a local, assigned or not."""
    lines = ["def f(request, context):", *(f"    {line}" for line in body_lines(body))]
    lines += [f"    if False: {' = '.join(local_names((), slots))} = None"] if slots else []
    return "\n".join(lines)


def outcome(function: Any, made: Any) -> str:
    try:
        return repr(function(made, made.context))
    except Exception as error:
        return type(error).__name__


@given(st.integers(0, 2**40))
def test_a_listing_means_what_the_function_does(seed: int) -> None:
    random = Random(seed)
    body, slots = Functions(random).function()
    text = definition(body, slots)
    ast.parse(text)
    if any(word in text for word in ("def call_", "append", ".format(")):
        # A listing does not set the locals of functions apart, and tells no set from a list; `format` evaluates all
        # before it formats any.
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CPython warns about the unusual code
        expected = function_source.function(body, slots)
        namespace: dict[str, Any] = {**NAMES}
        exec(text, namespace)
    for _ in range(4):
        made = request(random)
        assert outcome(namespace["f"], made) == outcome(expected, made), text


@given(st.integers(0, 2**20))
def test_the_listing_of_what_was_lowered_is_python(seed: int) -> None:
    rule = lower_function(rule_of(seed), "made", 0).rule
    forget(seed)
    if rule is not None:
        ast.parse(listed(rule))


def listed(rule: FunctionRule) -> str:
    head, *lines = rule_text(rule).splitlines()
    assert head == f"{rule.name}: Python function, priority {rule.priority}"
    return "\n".join(["def f(request, context):", *lines])


def test_the_listing_of_the_corpus_is_python() -> None:
    for name in LOWERED:
        rule = lower_function(corpus()[name], name, 3).rule
        assert rule is not None
        ast.parse(listed(rule))


def test_names_that_are_taken_are_distinguished() -> None:
    assert local_names(("x", "", "x", "v1", "x_2"), 6) == ["x", "v1", "x_2", "v1_2", "x_2_2", "v5"]


def sample(code: ir.Code, *names: str) -> str:
    (line,) = body_lines((ir.Return(code),), names)
    return line.removeprefix("return ")


def test_expressions_read_like_python() -> None:
    args = ir.Attribute(ir.Root("request"), "args")
    item = ir.Item(args, ir.Constant("a"))
    number = ir.Binary("add", item, ir.Binary("mul", ir.Constant(2), ir.Local(0)))
    assert sample(ir.Binary("mul", number, ir.Constant(-1)), "n") == "(request.args['a'] + 2 * n) * -1"
    either = ir.Or((ir.NotTrue(ir.Local(0)), ir.Compare(ir.Constant(1), ("lt", "le"), (item, ir.Constant(5)))))
    assert sample(ir.And((either, item)), "n") == "(not n or 1 < request.args['a'] <= 5) and request.args['a']"
    shown = ir.Text(("a {", ir.Shown(ir.Local(0), "r", ">5"), '"'))
    assert sample(shown, "n") == 'f"a {{{n!r:>5}\\""'
    assert sample(ir.Text((ir.Shown(item, "", ""), " x"))) == "\"{} x\".format(request.args['a'])"
    table = {"pairs": [["a", {"tuple": [1, {"set": []}]}], ["b", {"float": "nan"}]]}
    assert sample(ir.Constant(table)) == "{'a': (1, set()), 'b': float('nan')}"
    loop = ir.Loop(ir.Unpack((ir.SlotTarget(0),)), item, (ir.Local(0),))
    assert sample(ir.Collect("min", None, ir.Local(0), (loop,), ir.Constant(0)), "n") == (
        "min((n for (n,) in request.args['a'] if n), default=0)"
    )
    assert sample(ir.Regex("match", r"a\.b", 10, item)) == r"re.match('a\\.b', request.args['a'], re.I | re.M)"


def test_a_called_function_stands_before_its_call() -> None:
    inner = (ir.Return(ir.Local(1)),)
    test = ir.Inline(((1, ir.Constant(5)),), inner)
    body = (ir.If(ir.Local(0), (), (ir.If(test, (ir.Return(ir.Constant(None)),), ()),)),)
    assert body_lines(body, ("a", "b")) == [
        "if a:",
        "    pass",
        "else:",
        "    def call_1(b):",
        "        return b",
        "    if call_1(5):",
        "        return None",
    ]
