"""Errors of beginners: a path for a text, a source for a bundle, a mapping for a request. Messages suggest the fix."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

import bobcat
from bobcat import (
    Approvals,
    BundleError,
    MemoryStore,
    PolicyCompileError,
    compile_policy,
    deny,
    evaluate,
    evaluate_json,
    evaluate_many,
    explain,
    inline_executor,
    load_bundle,
    load_policy_file,
    request_from_json,
    route_executor,
    rule,
)
from bobcat.testing import run_store_contract
from bobcat.workers import Jobs

POLICY = compile_policy("rules: [{id: a, match: {tool: add}, decision: allow}]")
REQUEST = request_from_json({"tool": "add"})


def help_of(source: Any) -> str | None:
    with pytest.raises(PolicyCompileError) as raised:
        compile_policy(source)
    (finding,) = raised.value.diagnostics
    return finding.help


@pytest.mark.parametrize(
    ("source", "reported"),
    [
        ("policy.yaml", "the policy in a file is compiled by `Policy.compile(Path('policy.yaml'))`"),
        ("policies/a b.yml", "the policy in a file is compiled by `Policy.compile(Path('policies/a b.yml'))`"),
        ("policy.bobcat", "a bundle file is loaded by `Policy.load('policy.bobcat')`"),
        (Path("policy.yaml"), "the policy in a file is compiled by `Policy.compile(Path(...))`"),
        (b"rules: []", "decode the bytes of a policy source; a bundle is loaded by `Policy.load`"),
        ("deny everything", "begin with `rules:` and a list of rules"),
        (5, "use null, bools, numbers, strings, lists and mappings with string keys"),
    ],
    ids=str,
)
def test_a_source_that_is_not_a_policy_gets_a_suggestion(source: Any, reported: str) -> None:
    if source == 5:
        source = {"rules": object()}
    assert help_of(source) == reported


def test_a_bundle_is_no_policy_source_and_the_other_way_round(tmp_path: Path) -> None:
    POLICY.save(tmp_path / "policy.bobcat")
    with pytest.raises(PolicyCompileError) as raised:
        load_policy_file(tmp_path / "policy.bobcat")
    assert raised.value.diagnostics[0].help == "this is a bundle, not a policy source: it is loaded by `Policy.load`"
    (tmp_path / "policy.yaml").write_text("rules: []")
    with pytest.raises(BundleError, match=r"a policy source is compiled by `Policy.compile\(Path\(\.\.\.\)\)`"):
        load_bundle(tmp_path / "policy.yaml")


@pytest.mark.parametrize("ask", [evaluate, explain, lambda bundle, request: evaluate_many(bundle, [request])])
def test_a_mapping_is_no_request(ask: Any) -> None:
    with pytest.raises(
        TypeError, match=r"request must be an ActionRequest: `dict` has no .*; request_from_json makes one"
    ):
        ask(POLICY, {"tool": "add"})


@pytest.mark.parametrize("ask", [evaluate, explain, evaluate_many, evaluate_json])
@pytest.mark.parametrize("bundle", ["rules: []", REQUEST, None])
def test_a_text_is_not_a_policy(ask: Any, bundle: Any) -> None:
    with pytest.raises(
        TypeError, match=r"bundle must be a Policy, got \w+; make one with Policy.compile or Policy.load"
    ):
        ask(bundle, [])


def test_json_lines_are_bytes() -> None:
    with pytest.raises(TypeError, match=r"data must be JSON Lines as bytes, got str; a str is encoded by .encode\(\)"):
        evaluate_json(POLICY, '{"tool": "add"}')  # type: ignore[arg-type]


@pytest.mark.parametrize("made", [bytearray, memoryview])
def test_json_lines_in_a_buffer_are_copied_by_the_caller(made: Any) -> None:
    with pytest.raises(TypeError, match=r"data must be JSON Lines as bytes, got \w+; bytes\(data\) makes them"):
        evaluate_json(POLICY, made(b'{"tool": "add"}'))


def test_a_bundle_that_cannot_be_written_names_the_file_that_was_meant(tmp_path: Path) -> None:
    for path in (tmp_path / "missing" / "p.bobcat", tmp_path):
        with pytest.raises(OSError, match=r"directory") as raised:
            POLICY.save(path)
        assert raised.value.filename == os.fspath(path)


def test_python_can_say_which_name_is_close() -> None:
    with pytest.raises(AttributeError) as raised:
        bobcat.evalute  # type: ignore[attr-defined]  # noqa: B018
    assert (raised.value.name, raised.value.obj) == ("evalute", bobcat)


@rule
def without_its_parentheses(request: Any, context: Any) -> Any:
    return deny


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: route_executor(inline_executor()), "routes must be a mapping of isolations"),  # type: ignore[arg-type]
        (lambda: Approvals("runs.db"), "approvals need a DurableStore, such as SQLiteStore, got str"),  # type: ignore[arg-type]
        (lambda: Jobs("runs.db"), "need a store with a queue, such as SQLiteStore: `str` is not"),  # type: ignore[arg-type]
        (lambda: compile_policy("rules: []", python_rules=without_its_parentheses), "python_rules is a list of rules"),
        (lambda: asyncio.run(run_store_contract(MemoryStore())), "make must be a function that returns a store"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_an_unwrapped_tool_gets_a_suggestion(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


def test_a_rule_that_forgets_to_call_a_constructor_is_reported() -> None:
    with pytest.raises(PolicyCompileError) as raised:
        compile_policy("rules: []", python_rules=[without_its_parentheses])
    (finding,) = raised.value.diagnostics
    assert finding.message.endswith(
        "it uses `deny`, which cannot be frozen into the policy: the function `deny` cannot be a constant"
    )
    assert finding.help == 'call it, `deny(...)`; `uncompiled="callable"` keeps the rule as a callable'
