"""Robustness of the Rust module: hostile values, interrupts, panics, threads, and long lives."""

from __future__ import annotations

import gc
import inspect
import subprocess
import sys
import threading
import tracemalloc
import weakref
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from bobcat import _core
from bobcat.ir import construct
from bobcat.ir.canonical import encode
from bobcat.model.decision import Decision, Verdict
from hostile_values import BrokenMapping
from programs import EVERY, host_rule, program_of, request_of, tool_is


def test_an_attribute_that_raises_is_an_error_of_its_clause() -> None:
    class Broken:
        @property
        def cost(self) -> str:
            raise RuntimeError

    rule = construct.rule("r", construct.leaf("declared", ("cost",), "eq", "low"), "deny")
    duck: Any = SimpleNamespace(tool="shell", args={}, declared=Broken(), context=None)
    assert program_of(rule).evaluate(duck).matched_rules == ("<rule_error:r:wrong_type>",)


def test_an_interrupt_while_a_value_is_read_is_raised() -> None:
    class Interrupting:
        @property
        def cost(self) -> str:
            raise KeyboardInterrupt

    rule = construct.rule("r", construct.leaf("declared", ("cost",), "eq", "low"), "deny")
    duck: Any = SimpleNamespace(tool="shell", args={}, declared=Interrupting(), context=None)
    with pytest.raises(KeyboardInterrupt):
        program_of(rule).evaluate(duck)


def test_a_cyclic_argument_is_read_only_as_deep_as_the_rule_reaches() -> None:
    cyclic: dict[str, Any] = {"n": 1}
    cyclic["self"] = cyclic
    cyclic["list"] = [cyclic]
    path = ("self",) * 30 + ("n",)
    program = program_of(construct.rule("r", construct.leaf("args", path, "eq", 1), "allow"))
    assert program.evaluate(request_of(**cyclic)).verdict == Verdict.ALLOW
    deep = construct.leaf("args", ("self",), "eq", {"map": {"n": 1, "self": {"map": {"n": 2}}}})
    assert program_of(construct.rule("r", deep, "deny")).evaluate(request_of(**cyclic)).matched_rules == (
        "<default:on_no_match>",
    )
    listed = construct.leaf("args", ("list",), "contains", "x")
    assert program_of(construct.rule("r", construct.not_(listed), "allow")).evaluate(request_of(**cyclic)).verdict == (
        Verdict.ALLOW
    )


def test_a_proxy_is_read_by_the_storage_of_its_dict() -> None:
    class Liar(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            return "lie"

        get = keys = __len__ = __getitem__  # type: ignore[assignment]

    proxy: Any = MappingProxyType(MappingProxyType(Liar(a=1)))
    equal = construct.leaf("args", ("value",), "eq", {"map": {"a": 1}})
    reached = construct.leaf("args", ("value", "a"), "eq", 1)
    program = program_of(construct.rule("r", construct.all_([equal, reached]), "allow"))
    assert program.evaluate(request_of(value=proxy)).verdict == Verdict.ALLOW


def test_a_mapping_that_cannot_be_read_is_an_error_and_cannot_be_rewritten() -> None:
    broken = BrokenMapping({"a": 1})
    for expression in (
        construct.leaf("args", ("value",), "eq", {"map": {}}),
        construct.leaf("args", ("value", "a"), "eq", 1),
        construct.leaf("args", ("value",), "contains", "a"),
    ):
        decision = program_of(construct.rule("r", expression, "deny")).evaluate(request_of(value=broken))
        assert decision.matched_rules == ("<rule_error:r:wrong_type>",)
    rewrite = construct.rule("r", EVERY, "transform", transform=construct.transform("delete", ("value", "a"), None))
    assert program_of(rewrite).evaluate(request_of(value=broken)).matched_rules == (
        "<rule_error:r:cannot_transform>",
        "<default:on_no_match>",
    )


def test_very_large_values_have_an_answer() -> None:
    text, items = "x" * 5_000_000 + "needle", [0] * 1_000_000 + ["needle"]
    found = construct.leaf("args", ("value",), "contains", "needle")
    matched = construct.leaf("args", ("value",), "matches", "needle$", "re2")
    assert program_of(construct.rule("r", found, "allow")).evaluate(request_of(value=text)).verdict == Verdict.ALLOW
    assert program_of(construct.rule("r", found, "allow")).evaluate(request_of(value=items)).verdict == Verdict.ALLOW
    assert program_of(construct.rule("r", matched, "allow")).evaluate(request_of(value=text)).verdict == Verdict.ALLOW


def test_python_values_pass_the_conformance_kit_of_the_core() -> None:
    assert _core._conformance_for_tests(program_of()) == []


def test_a_panic_of_the_core_is_a_deny() -> None:
    code = inspect.cleandoc("""
        from bobcat import _core
        from bobcat.ir import construct
        from bobcat.ir.canonical import encode
        from bobcat import ActionRequest
        program = _core.Program(encode(construct.policy([construct.rule("r", construct.all_([]), "allow")])))
        request = ActionRequest("t", {}, None, None)
        decision = _core._panic_for_tests(program, request)
        assert decision.verdict == "deny" and decision.matched_rules == ("<internal_error>",), decision
        assert "internal_error" in decision.reason
        assert program.evaluate(request).verdict == "allow"
    """)
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_eight_threads_share_one_program() -> None:
    rules = [tool_is(f"tool{i}", ["allow", "deny"][i % 2]) for i in range(200)]
    pattern = construct.leaf("args", ("cmd",), "matches", "rm -rf|drop table", "re2")
    program = program_of(construct.rule("pattern", pattern, "dry_run"), *rules)
    requests = [request_of(f"tool{i}", cmd="rm -rf /" if i % 3 == 0 else "ls") for i in range(200)]
    expected = [program.evaluate(request) for request in requests]
    fresh = _core.Program(encode(construct.policy([construct.rule("pattern", pattern, "dry_run"), *rules])))
    results: list[list[Decision]] = []

    def work() -> None:
        results.extend([fresh.evaluate(request) for request in requests] for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 160
    assert all(result == expected for result in results)


def test_evaluating_leaks_nothing() -> None:
    rules = [
        construct.rule("text", construct.leaf("args", ("text",), "matches", "zz+", "re2"), "deny"),
        construct.rule("deep", construct.leaf("args", ("deep", "list"), "contains", "none"), "deny"),
        construct.rule("big", construct.leaf("args", ("big",), "gt", 2**200), "deny"),
        construct.rule("error", construct.leaf("args", ("deep",), "gt", 1), "allow"),
        construct.rule(
            "rewrite", EVERY, "transform", transform=construct.transform("set", ("deep", "new"), {"map": {"a": [1]}})
        ),
    ]
    program = program_of(*rules)
    held: dict[str, Any] = {"text": "é" * 50, "deep": {"list": ["a", "b"]}, "big": 2**100, "opaque": object()}
    request = request_of(**held)

    def work() -> None:
        for _ in range(300):
            program.evaluate(request)
            _core.evaluate_many(program, [request])
            _core.explain(program, request)

    work()
    gc.collect()
    counts = {key: sys.getrefcount(value) for key, value in held.items()}
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    work()
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert {key: sys.getrefcount(value) for key, value in held.items()} == counts
    assert after - before < 20_000


def test_exceptions_met_while_deciding_are_let_go_at_once() -> None:
    made: list[weakref.ref[Exception]] = []

    class Noted(Exception):
        pass

    class Failing(BrokenMapping):
        def __getitem__(self, key: Any) -> Any:
            raise self.noted(Noted(key))

        def noted(self, error: Noted) -> Noted:
            made.append(weakref.ref(error))
            return error

    leaf = construct.leaf("args", ("part", "key"), "eq", 1)
    program, request = program_of(construct.rule("r", leaf, "deny")), request_of(part=Failing({}))
    for _ in range(3):
        assert program.evaluate(request).matched_rules == ("<rule_error:r:wrong_type>",)
    assert made
    assert [alive for alive in made if alive() is not None] == []


def test_a_program_in_a_cycle_with_its_host_rule_is_collected() -> None:
    class Rule:
        program: Any = None

        def __call__(self, request: Any, context: Any) -> None:
            return None

    class Bundle(_core.Program):
        pass

    rule = Rule()
    rule.program = Bundle(encode(construct.policy([host_rule("one")])), (rule,))
    gone = weakref.ref(rule)
    del rule
    gc.collect()
    assert gone() is None
