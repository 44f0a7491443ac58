"""`bobcat.lynx` has every name of lynx-agent 2.5, at its place and with its signature."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pickle
import warnings
from typing import Any

import click
import lynx
import pytest

import bobcat
from bobcat import PolicyWarning
from bobcat import lynx as ours
from lynx_differences import EXTRA_FIELDS

_PATHS = """
adapters adapters._schema adapters.anthropic_sdk adapters.crewai_adapter adapters.langgraph_adapter adapters.mcp
adapters.openai_sdk approvals cancel cli cli.main core core.mediator core.policy core.scheduler core.types decorators
durability executors graph policy sandbox sdk shadows shadows.filesystem shadows.http shadows.shell shadows.sql sinks
"""
MODULES = ("", *_PATHS.split())
MORE = {
    "durability": "UNCERTAIN_VERDICTS JournalIndex index_journal is_uncertain action_to_body action_from_body",
    "graph": "DONE",
    "approvals": "ApprovalRequest ApprovalDecision",
    "sandbox": "SandboxError run_in_subprocess",
    "shadows.filesystem": "write_file_shadow delete_file_shadow",
    "shadows.http": "http_shadow",
    "shadows.shell": "shell_shadow",
    "shadows.sql": "sql_shadow",
}
VALUES = {name for name in lynx.__all__ if dataclasses.is_dataclass(getattr(lynx, name))} - {"PolicyBundle"}
"""A bundle is a program of the core, and no dataclass."""
EXTRA_PARAMETERS = {
    "Message", "ToolCall", "ToolDef", "ToolMetadata", "ApprovalDecision", "ApprovalRequest", "Decision", "RunResult",
    "Agent", "ApprovalHandler", "Executor", "Sink", "Router", "RunStore", "Cancelled", "jsonl_sink", "stdout_sink",
    "callback_sink", "CrewAIAgent", "PolicyBundle", "GraphSpec", "ClaudeAgent", "OpenAIAgent", "LangGraphAgent",
    "mcp_tools", "PolicyCompileError", "GraphCompileError", "evaluate",
    "approve_required", "GraphNode", "GraphResult", "ExecutionContext",
}  # fmt: skip
"""Names that take something more, behind what lynx-agent's take, or are called in no program."""


def _module(root: str, name: str) -> Any:
    return importlib.import_module(f"{root}.{name}" if name else root)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_has_every_name(name: str) -> None:
    theirs, mine = _module("lynx", name), _module("bobcat.lynx", name)
    for public in (*getattr(theirs, "__all__", ()), *MORE.get(name, "").split()):
        assert hasattr(mine, public), public
    if hasattr(theirs, "__all__"):
        assert sorted(theirs.__all__) == sorted(mine.__all__)


def test_the_package_exports_the_same_names_and_version() -> None:
    assert sorted(ours.__all__) == sorted(lynx.__all__)
    assert len(ours.__all__) == 67
    assert ours.__version__ == lynx.__version__ == "2.5.0"


@pytest.mark.parametrize("name", MODULES)
def test_everything_is_called_the_same_way(name: str) -> None:
    theirs = _module("lynx", name)
    for public in getattr(theirs, "__all__", ()):
        known, mine = getattr(theirs, public), getattr(_module("bobcat.lynx", name), public)
        if not callable(known) or public in EXTRA_PARAMETERS or isinstance(known, click.Command):
            continue
        try:
            expected = inspect.signature(known)
        except ValueError:
            continue
        found = inspect.signature(mine)
        shape = [(p.name, p.kind, repr(p.default)) for p in expected.parameters.values()]
        assert [(p.name, p.kind, repr(p.default)) for p in found.parameters.values()] == shape, public


@pytest.mark.parametrize("name", sorted(VALUES))
def test_values_have_the_same_fields(name: str) -> None:
    theirs, mine = getattr(lynx, name), getattr(ours, name)
    known = [field.name for field in dataclasses.fields(theirs)]
    assert [field.name for field in dataclasses.fields(mine)] == known + EXTRA_FIELDS.get(name, [])
    assert mine.__dataclass_params__.frozen
    for field, known in zip(dataclasses.fields(mine), dataclasses.fields(theirs), strict=False):
        assert field.default == known.default or str(field.default) == str(known.default), (name, field.name)


def test_a_budget_caps_what_it_names() -> None:
    budget = ours.Budget(steps=3)
    assert dataclasses.astuple(budget) == (None, 3, None, None, None, None, None)
    assert dataclasses.astuple(ours.Budget()) == (None,) * 7
    assert pickle.loads(pickle.dumps(budget)) == budget == dataclasses.replace(ours.Budget(), steps=3)
    assert isinstance(budget, bobcat.Budget)
    assert ours.GraphNode.__dataclass_fields__["budget"].default_factory() == ours.Budget()  # type: ignore[misc]


def test_a_bundle_has_both_identities() -> None:
    text = "rules: [{id: r, match: {tool: shell}, decision: deny}]"
    bundle = ours.compile_policy(text)
    assert bundle.id == lynx.compile_policy(text).id == "e830418e2d6f7717"
    assert bundle.digest == bobcat.compile_policy(text, profile="lynx").digest
    assert pickle.loads(pickle.dumps(bundle)) == bundle
    assert type(pickle.loads(pickle.dumps(bundle))) is type(bundle)
    assert dataclasses.asdict(bundle.defaults) == dataclasses.asdict(lynx.compile_policy(text).defaults)


def test_the_rules_of_a_bundle_can_be_asked_one_by_one() -> None:
    rule = "{id: r, match: {args.n.gt: 3}, decision: deny, reason: too many}"
    text = f"rules: [{rule}, {{id: s, match: {{}}, decision: allow}}]"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bundles = [api.compile_policy(text) for api in (ours, lynx)]
    for n in (1, 5):
        answers = []
        for api, bundle in zip((ours, lynx), bundles, strict=True):
            context = api.ExecutionContext(api.Principal("user", "u"), "dev", ".", "c", 0, None)
            request = api.ActionRequest("t", {"n": n}, api.ToolMetadata("low", True, ()), context)
            given = (request, context)
            answers.append([(r.id, r.matcher(*given), r.decision_factory(*given).reason) for r in bundle.rules])
        assert answers[0] == answers[1]


@pytest.mark.parametrize("source", ["5", "rules: [5]", "version: x", "rules: [{match: {args.x.matchess: 1}}]", "a: ["])
def test_a_refused_policy_is_refused_in_the_same_words(source: str) -> None:
    texts = []
    for api in (ours, lynx):
        with pytest.raises(ValueError) as caught:
            api.compile_policy(source)
        texts.append(str(caught.value).splitlines()[0])
    assert texts[0] == texts[1]


def test_a_permissive_policy_warns_once_per_behaviour() -> None:
    with pytest.warns(PolicyWarning) as caught:
        ours.compile_policy("rules: [{id: r, decision: allow}]")
    assert len(caught) == 1


def test_a_tool_carries_its_definition_where_programs_look_for_it() -> None:
    @ours.tool(cost="high", scope=["fs"])
    async def act(n: int) -> int:
        """Acts."""
        return n

    assert act.__lynx_meta__.metadata.scope == ("fs",)
    act.__lynx_meta__ = dataclasses.replace(act.__lynx_meta__, description="changed")
    assert ours.ToolSet.from_functions(act).get("act").description == "changed"


def test_a_string_as_scope_is_its_letters_and_a_warning() -> None:
    with pytest.warns(PolicyWarning, match="one scope per letter"):

        @ours.tool(scope="fs")
        async def act() -> None: ...

    assert act.__lynx_meta__.metadata.scope == ("f", "s")


EDGE = "edges: [{from: a, to: b}]"
REFUSED_GRAPHS = (
    "[]",
    "start: a",
    "start: done\n" + EDGE,
    "start: a\nedges: []",
    "start: a\nedges: [{from: done, to: a}]",
    "start: a\nedges: [{from: a}]",
    "start: a\nedges: [{from: a, to: b, when: {status: x}}]",
    "start: a\nedges: [{from: a, to: b, wen: 1}]",
    "start: a\nedges: [{from: a, to: b, when: {x: 1}}]",
    "start: a\nmax_transitions: 0\n" + EDGE,
)


@pytest.mark.parametrize("text", REFUSED_GRAPHS)
def test_a_refused_graph_is_refused_in_the_same_words(text: str) -> None:
    words = []
    for api in (ours, lynx):
        with pytest.raises(ValueError) as caught:
            api.compile_graph(text)
        words.append(str(caught.value).splitlines()[0])
    assert words[0] == words[1]


def test_canonical_json_and_keys_are_the_same() -> None:
    from lynx.core.types import canonical_json as theirs

    from bobcat.lynx.core.types import canonical_json as mine

    value = {"b": float("nan"), "a": (1, {2}), "c": b"x", "ü": ours.Principal("user", "u")}
    assert mine(value) == theirs(value)
    for args in ({"msg": "hi"}, {"x": float("inf"), "y": b"\0"}):
        assert ours.idempotency_key("r1", 0, "counted", args) == lynx.idempotency_key("r1", 0, "counted", args)
    assert ours.idempotency_key("r1", 0, "counted", {"msg": "hi"}) == "80ddd2a186ea2fb799398446828413e6"
