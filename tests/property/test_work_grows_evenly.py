"""A hundred times as much input takes at most some hundred times as much work.

Timed, in campaigns only: the fastest of a few runs, against a bound that only a power of the size passes. The steps of
decisions are counted in `rust/core/tests/engine/steps.rs`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from bobcat import PolicyBundle, _core, compile_policy, deny
from bobcat.errors import RequestError
from bobcat.lint.check import check_source
from bobcat.model.decision import ActionRequest, Decision
from bobcat.model.request_json import request_from_json

SMALL, LARGE = 1_000, 100_000
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
    "a subset of many": ("args.own.subset_of", NEEDLES, lambda n: call(own=["w1"] * n)),
    "a subset of a list at another path": (
        "args.own.subset_of",
        {"ref": "args.other"},
        lambda n: call(own=["w1"] * n, other=words(1_000)),
    ),
    "subsets of a list at another path": (
        "args.own.all",
        {"subset_of": {"ref": "args.other"}},
        lambda n: call(own=[["w1", "w2"]] * n, other=words(1_000)),
    ),
    "none of many": ("args.own.all", {"not_in": NEEDLES}, lambda n: call(own=["x"] * n)),
    "one of many as an element": ("args.own.any", {"in": NEEDLES}, lambda n: call(own=["x"] * n)),
    "one of many fractions": ("args.own.any", {"in": [i + 0.5 for i in range(1_000)]}, lambda n: call(own=[0.25] * n)),
    "beginnings of elements": ("args.own.any", {"starts_with": NEEDLES}, lambda n: call(own=["x"] * n)),
    "ends of elements": ("args.own.any", {"ends_with": NEEDLES}, lambda n: call(own=["x"] * n)),
    "a pattern on elements": ("args.own.any", {"matches": "[a-z]{3}[0-9]+$"}, lambda n: call(own=["x"] * n)),
    "a pattern on a text": ("args.own.matches", "[a-z]{3}[0-9]+$", lambda n: call(own="x" * n * 10)),
    "a text made small": ("args.own.lower", {"eq": "x"}, lambda n: call(own="X" * n * 10)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_takes_time_in_proportion(name: str) -> None:
    key, operand, make = DECISIONS[name]
    bundle = one(key, operand)
    small, large = make(SMALL), make(LARGE)
    assert fastest(lambda: bundle.evaluate(large)) <= MARGIN * FACTOR * max(
        fastest(lambda: bundle.evaluate(small)), 2e-5
    )


def a_request_value(req: Any, ctx: Any) -> Decision | None:
    for _ in req.args["items"]:
        if "no" in req.args or req.args.get("no"):
            return deny("x")
    return None


def a_local_list(req: Any, ctx: Any) -> Decision | None:
    seen = [item.upper() for item in req.args["items"]]
    for item in seen:
        if item == "NO" or len(seen) < 2:
            return deny("x")
    return None


@pytest.mark.slow
@pytest.mark.parametrize("rule", [a_request_value, a_local_list], ids=lambda rule: rule.__name__)
def test_explaining_a_condition_in_a_loop_takes_time_in_proportion(rule: Callable[..., Any]) -> None:
    bundle = compile_policy("rules: []", python_rules=[rule])
    count = 10_000  # a large one takes more than a decision may
    small, large = call(items=["x"] * (count // 50)), call(items=["x"] * count)
    bundle.explain(large)
    assert fastest(lambda: bundle.explain(large)) <= MARGIN * 50 * max(fastest(lambda: bundle.explain(small)), 2e-4)


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


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def grows_evenly(times: Callable[[int], tuple[float, ...]], least: tuple[float, ...]) -> bool:
    """True if times of the large size are in proportion. They are measured again only if they are not."""
    small = [sorted(column)[1] for column in zip(*(times(SMALL) for _ in range(3)), strict=True)]
    bounds = [MARGIN * FACTOR * max(pair) for pair in zip(small, least, strict=True)]
    return any(all(time <= bound for time, bound in zip(times(LARGE), bounds, strict=True)) for _ in range(2))


def many(name: str, count: int) -> dict[str, Any]:
    return {"rules": [{"match": RULES[name](i), "decision": "deny"} for i in range(count)]}


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_compiling_many_rules_and_their_first_decision_take_time_in_proportion(name: str) -> None:
    request = call(x="some ordinary text", n=-1)

    def times(count: int) -> tuple[float, ...]:
        source = many(name, count)
        began = time.perf_counter()
        bundle = compile_policy(source)
        return time.perf_counter() - began, timed(lambda: bundle.evaluate(request))

    assert grows_evenly(times, (1e-2, 5e-4))


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_checking_many_rules_takes_time_in_proportion(name: str) -> None:
    def times(count: int) -> tuple[float, ...]:
        source = many(name, count)
        return (timed(lambda: check_source(source)),)

    assert grows_evenly(times, (1e-2,))


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
