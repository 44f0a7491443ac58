"""The identity of a Python rule: what changes it, and what does not."""

from __future__ import annotations

import functools
import logging
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from bobcat.bundle.host_code import host_code, host_name, is_async


def load(text: str, name: str = "rule", module: str = "rules_under_test") -> Any:
    """The value of `name` after running `text` as a separate module."""
    space = types.ModuleType(module)
    exec(compile(dedent(text), f"/{module}.py", "exec"), space.__dict__)
    return space.__dict__[name]


def digest(text: str, name: str = "rule") -> str:
    return host_code(load(text, name)).digest


BASE = """
    LIMIT = 500
    BLOCKED = {"rm", "dd"}
    def over(request):
        return request.args["amount"] > LIMIT
    def rule(request, context, strict=True):
        def inner(x):
            return x in BLOCKED
        if over(request) or inner(request.tool):
            return "denied"
"""

CHANGES = [
    ("LIMIT = 500", "LIMIT = 501"),
    ("LIMIT = 500", "LIMIT = 500.0"),
    ('{"rm", "dd"}', '{"rm", "dd", "mkfs"}'),
    ('["amount"]', '["amounts"]'),
    ("> LIMIT", ">= LIMIT"),
    ("strict=True", "strict=False"),
    ("x in BLOCKED", "x not in BLOCKED"),
    ("over(request) or", "over(request) and"),
    ('"denied"', '"refused"'),
]


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_a_change_of_what_runs_changes_the_digest(old: str, new: str) -> None:
    assert old in BASE
    assert digest(BASE) != digest(BASE.replace(old, new))


@pytest.mark.parametrize(
    "same",
    [
        BASE,
        "\n\n\n" + BASE,
        BASE.replace("LIMIT = 500", "# a comment\n    LIMIT = 500"),
        BASE + "\n    UNRELATED = 7\n",
        BASE.replace('{"rm", "dd"}', '{"dd", "rm"}'),
    ],
)
def test_what_does_not_run_does_not_change_the_digest(same: str) -> None:
    assert digest(same) == digest(BASE)


def make(limit: object) -> Callable[..., Any]:
    def rule(request: Any, context: Any) -> Any:
        return limit

    return rule


def test_closure_values_are_in_the_digest() -> None:
    values: list[object] = [
        1,
        1.0,
        True,
        "1",
        b"1",
        None,
        (1,),
        [1],
        {1},
        {"a": 1},
        {"a": 2},
        re.compile("a"),
        re.compile("b"),
        make(1),
        make(2),
    ]
    digests = [host_code(make(value)).digest for value in values]
    assert len(set(digests)) == len(values)
    assert digests == [host_code(make(value)).digest for value in values]


def test_the_arguments_of_a_partial_are_in_the_digest() -> None:
    def rule(limit: int, request: Any, context: Any) -> Any:
        return limit

    one, two = functools.partial(rule, 1), functools.partial(rule, 2)
    assert host_code(one).digest != host_code(two).digest
    assert host_code(one).digest == host_code(functools.partial(rule, 1)).digest
    assert host_code(one).name == "rule"
    assert host_code(functools.partial(rule, limit=1)).digest != host_code(one).digest


class Threshold:
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __call__(self, request: Any, context: Any) -> Any:
        return self.limit

    def evaluate_match(self, request: Any, context: Any) -> Any:
        return self.limit


class Slotted:
    __slots__ = ("limit",)

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __call__(self, request: Any, context: Any) -> Any:
        return self.limit


@pytest.mark.parametrize("kind", [Threshold, Slotted])
def test_the_fields_of_a_callable_object_are_in_the_digest(kind: Any) -> None:
    assert host_code(kind(1)).digest == host_code(kind(1)).digest
    assert host_code(kind(1)).digest != host_code(kind(2)).digest
    assert host_code(kind(1)).name == kind.__name__


def test_a_method_carries_its_object() -> None:
    assert host_code(Threshold(1).evaluate_match).digest != host_code(Threshold(2).evaluate_match).digest
    assert host_code(Threshold(1).evaluate_match).name == "evaluate_match"


def test_the_methods_of_the_class_are_in_the_digest() -> None:
    text = """
        class Rule:
            def __call__(self, request, context):
                return self.helper()
            def helper(self):
                return 1
        rule = Rule()
    """
    assert digest(text) == digest(text)
    assert digest(text) != digest(text.replace("return 1", "return 2"))


def test_lambdas_have_a_name_and_a_digest() -> None:
    first: Callable[..., Any] = lambda request, context: 1  # noqa: E731
    second: Callable[..., Any] = lambda request, context: 2  # noqa: E731
    assert host_name(first) == "<lambda>"
    assert host_code(first).digest != host_code(second).digest


def test_a_wrapped_function_counts() -> None:
    def rule(request: Any, context: Any) -> Any:
        return 1

    def other(request: Any, context: Any) -> Any:
        return 2

    assert host_code(functools.lru_cache(rule)).digest != host_code(functools.lru_cache(other)).digest
    assert host_name(functools.lru_cache(rule)) == "rule"


def test_cycles_and_recursion_have_an_end() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert host_code(make(loop)).digest == host_code(make(loop)).digest
    text = """
        def rule(request, context):
            return even(request) and rule
        def even(n):
            return odd(n - 1)
        def odd(n):
            return even(n - 1)
    """
    assert digest(text) != digest(text.replace("even(n - 1)", "even(n - 2)"))


def test_what_cannot_be_seen_is_listed_by_type() -> None:
    text = """
        import logging, threading
        log = logging.getLogger("x")
        def rule(request, context):
            log.info("x")
    """
    assert host_code(load(text)).opaque == ("global `log`: logging.Logger",)
    lock = os.scandir(".")
    try:
        assert host_code(make(lock)).opaque == ("closure `limit` of `rule`: posix.ScandirIterator",)
    finally:
        lock.close()
    assert host_code(make(logging.getLogger("a"))).digest == host_code(make(logging.getLogger("b"))).digest


def test_a_function_of_another_module_counts_by_name() -> None:
    text = "from json import {0} as use\ndef rule(request, context):\n    return use\n"
    assert digest(text.format("loads")) != digest(text.format("dumps"))


def test_the_digest_is_the_same_in_every_process(tmp_path: Path) -> None:
    text = dedent(BASE) + dedent("""
        import re, enum
        class Level(enum.Enum):
            HIGH = 1
        NAMES = frozenset({"a", "b", "c", ("d", 1)})
        PATTERN = re.compile("x+", re.I)
        def other(request, context, *, level=Level.HIGH):
            return {n for n in NAMES if PATTERN.search(n)}, rule, {"x", "y", "z"}, Level
    """)
    (tmp_path / "rules.py").write_text(text, encoding="utf-8")
    program = (
        "import rules; from bobcat.bundle.host_code import host_code;"
        "print(host_code(rules.rule).digest, host_code(rules.other).digest)"
    )
    seen = set()
    for seed in ("0", "1", "99", "99"):  # the last run reads the byte code cached by the first
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True, text=True
        )
        seen.add(run.stdout)
    assert len(seen) == 1
    assert f"{sys.implementation.cache_tag}:" in seen.pop()


async def coroutine(request: Any, context: Any) -> None: ...


async def generator(request: Any, context: Any) -> Any:
    yield None


class AsyncCall:
    async def __call__(self, request: Any, context: Any) -> None: ...


class AsyncChild(AsyncCall):
    pass


@functools.wraps(coroutine)
def wrapper(*args: Any) -> Any:
    return coroutine(*args)


@pytest.mark.parametrize(
    "fn",
    [coroutine, generator, AsyncCall(), AsyncChild(), functools.partial(coroutine, 1), AsyncCall().__call__, wrapper],
)
def test_asynchronous_callables_are_seen(fn: Any) -> None:
    assert is_async(fn)


def test_plain_callables_are_not_asynchronous() -> None:
    assert not any(is_async(fn) for fn in (make(1), Threshold(1), functools.partial(make, 1), len, Threshold))
