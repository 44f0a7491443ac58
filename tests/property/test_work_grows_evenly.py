"""A hundred times as much input takes at most some hundred times as much work.

Decisions are counted in steps. What has no steps is timed, in campaigns only: the fastest of a few runs, against a
bound that only a power of the size passes. The usual tests go up to 10,000, campaigns to 100,000.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

import campaign
from bobcat import PolicyBundle, _core, compile_policy
from bobcat.errors import RequestError
from bobcat.model import ActionRequest
from bobcat.requests import request_from_json

SMALL, LARGE = 1_000, 100_000 if campaign.SIZE else 10_000
FACTOR = LARGE // SMALL
MARGIN = 4


def call(**args: Any) -> ActionRequest:
    return request_from_json({"tool": "t", "args": args})


def one(key: str, operand: Any) -> PolicyBundle:
    return compile_policy({"rules": [{"match": {key: operand}, "decision": "deny"}]})


def fastest(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def words(count: int) -> list[str]:
    return [f"w{i}" for i in range(count)]


NEEDLES = words(1_000)
DECISIONS: dict[str, tuple[str, Any, Callable[[int], ActionRequest]]] = {
    "elements in a list at another path": (
        "args.own.all",
        {"in": {"ref": "args.other"}},
        lambda n: call(own=words(1_000) * (n // 1_000), other=words(1_000)),
    ),
    "elements not in a list at another path": (
        "args.own.any",
        {"in": {"ref": "args.other"}},
        lambda n: call(own=["x"] * n, other=words(1_000)),
    ),
    "lists of lists": (
        "args.own.any",
        {"any": {"in": {"ref": "args.other"}}},
        lambda n: call(own=[["x"]] * n, other=words(1_000)),
    ),
    "an element in a list at another path": (
        "args.own.in",
        {"ref": "args.other"},
        lambda n: call(own="x", other=words(n)),
    ),
    "any of many in a list": ("args.own.contains_any", NEEDLES, lambda n: call(own=["x"] * n)),
    "all of many in a list": ("args.own.contains_all", NEEDLES, lambda n: call(own=["x"] * n)),
    "any of many in a text": ("args.own.contains_any", NEEDLES, lambda n: call(own="x" * n * 10)),
    "all of many in a text": ("args.own.contains_all", NEEDLES, lambda n: call(own="w1" * n * 5)),
    "one of many as an element": ("args.own.any", {"in": NEEDLES}, lambda n: call(own=["x"] * n)),
    "one of many fractions": ("args.own.any", {"in": [i + 0.5 for i in range(1_000)]}, lambda n: call(own=[0.25] * n)),
    "beginnings of elements": ("args.own.any", {"starts_with": NEEDLES}, lambda n: call(own=["x"] * n)),
    "ends of elements": ("args.own.any", {"ends_with": NEEDLES}, lambda n: call(own=["x"] * n)),
    "a pattern on elements": ("args.own.any", {"matches": "[a-z]{3}[0-9]+$"}, lambda n: call(own=["x"] * n)),
    "a pattern on a text": ("args.own.matches", "[a-z]{3}[0-9]+$", lambda n: call(own="x" * n * 10)),
    "a text made small": ("args.own.lower", {"eq": "x"}, lambda n: call(own="X" * n * 10)),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_takes_steps_in_proportion(name: str) -> None:
    key, operand, make = DECISIONS[name]
    bundle = one(key, operand)
    small, large = make(SMALL), make(LARGE)
    for plain in (False, True):
        few, many = (_core._steps_for_tests(bundle, request, plain=plain) for request in (small, large))
        assert many <= MARGIN * FACTOR * max(few, 50)


@pytest.mark.slow
@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_takes_time_in_proportion(name: str) -> None:
    key, operand, make = DECISIONS[name]
    bundle = one(key, operand)
    small, large = make(SMALL), make(LARGE)
    assert fastest(lambda: bundle.evaluate(large)) <= MARGIN * FACTOR * max(
        fastest(lambda: bundle.evaluate(small)), 2e-5
    )


RULES: dict[str, Callable[[int], dict[str, Any]]] = {
    "contains": lambda i: {"args.x.contains": f"needle {i} x"},
    "long needles": lambda i: {"args.x.contains": f"{i}" + "a" * (i % 90)},
    "starts_with": lambda i: {"args.x.starts_with": f"/p{i}/"},
    "ends_with": lambda i: {"args.x.ends_with": f".e{i}"},
    "equal": lambda i: {"args.x": f"v{i}"},
    "in": lambda i: {"args.x.in": [f"a{i}", f"b{i}"]},
    "glob": lambda i: {"args.x.glob": f"/p{i}/*.txt"},
    "matches": lambda i: {"args.x.matches": f"^x{i}[a-z]+$"},
    "many paths": lambda i: {f"args.p{i}.starts_with": "x"},
    "many tools": lambda i: {"tool": f"tool{i}", "args.x.starts_with": "x"},
    "negations": lambda i: {"not": {"args.x.starts_with": f"x{i}"}},
    "orders": lambda i: {"args.n.gt": i},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_the_first_decision_of_many_rules_takes_time_in_proportion(name: str) -> None:
    request = call(x="some ordinary text", n=-1)

    def first(count: int) -> float:
        source = {"rules": [{"match": RULES[name](i), "decision": "deny"} for i in range(count)]}
        bundle = compile_policy(source)
        began = time.perf_counter()
        bundle.evaluate(request)
        return time.perf_counter() - began

    small = sorted(first(SMALL) for _ in range(3))[1]
    assert min(first(LARGE), first(LARGE)) <= MARGIN * FACTOR * max(small, 5e-4)


def refused(text: str) -> None:
    with pytest.raises(RequestError):
        request_from_json(text)


def keys(count: int) -> str:
    pairs = [f'"k{i}":1' for i in range(count)]
    return '{"tool":"t","args":{' + ",".join([*pairs, pairs[-1]]) + "}}"


READINGS: dict[str, Callable[[int], Callable[[], object]]] = {
    "duplicate keys": lambda n: (lambda text: lambda: refused(text))(keys(n)),
    "digits": lambda n: (lambda text: lambda: refused(text))('{"tool":"t","args":{"n":' + "9" * n * 20 + "}}"),
    "values": lambda n: (lambda text: lambda: request_from_json(text))(
        '{"tool":"t","args":{"n":[' + ",".join("0" * n) + "]}}"
    ),
    "lines with lone surrogates": lambda n: (lambda data: lambda: _core.evaluate_json(TRANSFORMING, data))(
        b"\n".join([b'{"tool":"t","args":{"a":"\\ud800"}}'] * (n // 10))
    ),
}
TRANSFORMING = compile_policy(
    {"rules": [{"match": {"tool": "t"}, "decision": "transform", "transform": {"jsonpath": "$.args.b", "set": 1}}]}
)


@pytest.mark.slow
@pytest.mark.parametrize("name", READINGS)
def test_reading_requests_takes_time_in_proportion(name: str) -> None:
    small, large = READINGS[name](SMALL), READINGS[name](LARGE)
    assert fastest(large) <= MARGIN * FACTOR * max(fastest(small), 1e-4)


def test_python_and_the_core_refuse_the_same_sizes() -> None:
    digits = ("9" * 10_000, "-" + "9" * 10_000, "9" * 10_001, "-" + "9" * 10_001)
    numbers = [f'{{"tool":"t","args":{{"n":{text}}}}}' for text in digits]
    lists = ['{"tool":"t","args":{"l":[' + ",".join(["0"] * count) + "]}}" for count in (999_996, 999_997, 1_000_001)]
    empty = compile_policy("rules: []")
    answers = []
    for text in (*numbers, *lists):
        try:
            request_from_json(text)
            accepted = True
        except RequestError:
            accepted = False
        try:
            of_core = len(_core.evaluate_json(empty, text.encode())) == 1
        except _core.CoreError:
            of_core = False
        assert accepted == of_core, text[:40]
        answers.append(accepted)
    assert answers[:4] == [True, True, False, False]
    assert answers[4:] == [True, False, False]
    json.loads(lists[0])
