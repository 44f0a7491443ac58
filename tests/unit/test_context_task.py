"""`context.task`: the user's own words as a part of a request."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import pytest

from bobcat import ExecutionContext, Policy, Request, RequestError, evaluate_json, request_from_json
from bobcat._core import CoreError
from bobcat.build import Policy as BuiltPolicy
from bobcat.build import args, context, when
from bobcat.model.defaults import CONTEXT
from bobcat.model.request_json import request_to_json

POLICY = Policy.compile(
    "rules: [{id: r, match: {tool: t, args.x.occurs_in: {ref: context.task}}, decision: allow}]",
)


def test_a_context_without_a_task_looks_as_before() -> None:
    assert "task" not in repr(CONTEXT)
    assert repr(CONTEXT).startswith("ExecutionContext(principal=Principal(")
    assert repr(CONTEXT).endswith("extra={})")
    assert "task" not in json.loads(request_to_json(Request("t")))["context"]
    assert (
        CONTEXT
        == ExecutionContext(CONTEXT.principal, "dev", ".", "", 0, CONTEXT.timestamp, CONTEXT.extra)
        == replace(CONTEXT, task=None)
    )


def test_a_task_is_part_of_the_context() -> None:
    with_task = replace(CONTEXT, task="Pay Bob.")
    assert with_task != CONTEXT
    assert repr(with_task).endswith("extra={}, task='Pay Bob.')")
    assert pickle.loads(pickle.dumps(with_task)) == with_task
    request = Request("t", {"x": "Bob"}, task="Pay Bob.")
    assert request.context.task == "Pay Bob."
    assert request_from_json(request_to_json(request)) == request


def test_every_entry_reads_the_task() -> None:
    request = Request("t", {"x": "Bob"}, task="Pay Bob.")
    assert POLICY.evaluate(request).verdict.value == "allow"
    assert evaluate_json(POLICY, request_to_json(request).encode())[0].verdict.value == "allow"
    other = Request("t", {"x": "Bob"}, task="Pay Ann.")
    assert POLICY.evaluate(other).verdict.value != "allow"
    assert POLICY.evaluate(other, request.context).verdict.value == "allow"
    assert POLICY.evaluate(Request("t", {"x": "Bob"})).verdict.value != "allow"


@pytest.mark.parametrize("task", [5, ["Pay"], {"a": 1}, True])
def test_a_task_is_a_string(task: object) -> None:
    with pytest.raises(TypeError, match="task must be a string or None"):
        Request("t", task=task)  # type: ignore[arg-type]
    text = json.dumps({"tool": "t", "context": {"task": task}})
    with pytest.raises(RequestError, match="task"):
        request_from_json(text)
    with pytest.raises(CoreError, match="`task` of `context` must be a string"):
        evaluate_json(POLICY, text.encode())


def test_rules_built_in_python_read_the_task() -> None:
    built = BuiltPolicy(
        when(args.x.occurs_in(context.task, "Ann") & args.y.all().lower().occurs_in(context.task)).allow(id="r"),
    )
    compiled = built.compile()
    assert compiled.evaluate(Request("t", {"x": "Ann", "y": ["BOB"]}, task="Pay Bob.")).verdict.value == "allow"
    assert compiled.evaluate(Request("t", {"x": "Eve", "y": []}, task="Pay Bob.")).verdict.value != "allow"
