"""`@tool`, shadows, tool sets, and the binding of arguments."""

from __future__ import annotations

import copy
import functools
import pickle
from typing import Any

import pytest

from bobcat import Happened, ToolDef, ToolMetadata, ToolSet, Unknown, reconcile, shadow, tool
from bobcat.errors import ArgumentError
from bobcat.model.frozen import deep_freeze
from bobcat.tools.schema import tooldef_to_json_schema, with_input_schema
from bobcat.tools.signature import bind_arguments


@tool(cost="high", reversible=False, scope=("files:write",), blast_radius_hint=3, isolation="box")
async def write(path: str, content: str = "", *, mode: str = "w") -> str:
    """Write a file.

    All of it.
    """
    return f"{path}{content}{mode}"


def definition(fn: Any) -> ToolDef:
    found = fn.__bobcat_meta__
    assert isinstance(found, ToolDef)
    return found


def test_a_tool_carries_its_definition_under_both_names() -> None:
    meta = definition(write)
    assert meta is write.__lynx_meta__  # type: ignore[attr-defined]
    assert (meta.name, meta.fn, meta.shadow_fn) == ("write", write, None)
    assert meta.description == "Write a file.\n\nAll of it."
    assert meta.metadata == ToolMetadata("high", False, ("files:write",), 3, False, "box")


def test_name_and_description_can_be_given() -> None:
    @tool(name="n", description="d")
    async def fn() -> None: ...

    assert (definition(fn).name, definition(fn).description) == ("n", "d")
    assert definition(fn).metadata == ToolMetadata("low", True, ())


def test_mistakes_in_a_declaration_are_named() -> None:
    def sync() -> None: ...

    with pytest.raises(TypeError) as raised:
        tool()(sync)  # type: ignore[type-var]
    assert str(raised.value) == (
        "@tool requires async function; sync is sync. Wrap sync code with asyncio.to_thread() inside an async shim."
    )
    with pytest.raises(TypeError) as raised:
        tool()(write)
    assert str(raised.value) == (
        "write is already decorated with @tool; double-decoration is unsupported because it would silently "
        "overwrite metadata."
    )
    with pytest.raises(TypeError, match=r"write scope=\('fs:write',\)"):
        tool(scope="fs:write")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="shadow function must be async"):
        write.shadow(sync)  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="sync is not decorated with @tool"):
        shadow(sync)
    with pytest.raises(TypeError) as raised:
        ToolSet.from_functions(sync)
    assert str(raised.value) == "sync is not decorated with @tool — cannot include in ToolSet"


@pytest.mark.parametrize("how", ["attribute", "function"])
def test_a_shadow_is_attached_and_declared(how: str) -> None:
    @tool(cost="medium", isolation="box")
    async def fn(n: int) -> None: ...

    before = ToolSet.from_functions(fn)

    async def twin(n: int) -> None: ...

    attach = fn.shadow if how == "attribute" else shadow(fn)  # type: ignore[attr-defined]
    assert attach(twin) is twin
    after = definition(fn)
    assert after.shadow_fn is twin
    assert after.metadata == ToolMetadata("medium", True, (), None, True, "box")
    assert before.get("fn").shadow_fn is None


def _tools(*names: str) -> ToolSet:
    made = []
    for name in names:

        @tool(name=name)
        async def fn() -> None: ...

        made.append(fn)
    return ToolSet.from_functions(*made)


def test_tool_sets_have_an_algebra_that_loses_nothing_silently() -> None:
    tools = _tools("b", "a")
    assert (tools.names(), len(tools)) == (("a", "b"), 2)
    assert tools.without_tool("a").names() == ("b",)
    assert tools.without_tool("z").names() == ("a", "b")
    assert tools.union(_tools("c")).names() == ("a", "b", "c")
    assert tools.without_tool("a").with_tool(tools.get("a")) == tools
    with pytest.raises(ValueError, match=r"ToolSet.union collision on names: \['a', 'b'\]"):
        tools.union(tools)
    with pytest.raises(ValueError, match="ToolSet already contains a tool named 'a'; use without_tool first"):
        tools.with_tool(tools.get("a"))
    with pytest.raises(ValueError, match=r"Duplicate tool name 'a' in ToolSet\.from_functions"):
        _tools("a", "a")
    with pytest.raises(KeyError, match="Unknown tool: z"):
        tools.get("z")


def test_a_tool_set_is_a_snapshot_of_the_mapping_it_is_given() -> None:
    mine = {"write": definition(write)}
    tools = ToolSet(mine)
    mine.clear()
    assert tools.names() == ("write",)
    with pytest.raises(TypeError):
        tools.tools["x"] = definition(write)  # type: ignore[index]
    assert copy.copy(tools) == tools
    assert pickle.loads(pickle.dumps(ToolSet())) == ToolSet()


def test_defaults_are_bound_and_strangers_refused() -> None:
    meta = definition(write)
    assert bind_arguments(meta, {"path": "x"}) == {"path": "x", "content": "", "mode": "w"}
    complete = deep_freeze({"path": "x", "content": "c", "mode": "a"})
    assert bind_arguments(meta, complete) is complete
    for args, message in (
        ({}, "missing argument `path` for tool 'write'"),
        ({"path": "x", "to": 1}, "unknown argument `to` for tool 'write'; it takes `content`, `mode`, `path`"),
        ({"path": "x", "to": 1, "at": 2}, "unknown arguments `at`, `to` for tool 'write'"),
    ):
        with pytest.raises(ArgumentError) as raised:
            bind_arguments(meta, args)
        assert str(raised.value).startswith(message)


def test_a_tool_that_takes_anything_takes_anything() -> None:
    @tool()
    async def free(a: int = 1, **rest: object) -> None: ...

    assert bind_arguments(definition(free), {"b": 2}) == {"a": 1, "b": 2}


def test_defaults_behind_a_decorators_wrapper_are_bound() -> None:
    def traced(fn: Any) -> Any:
        @functools.wraps(fn)
        async def wrapper(**args: Any) -> Any:
            return await fn(**args)

        return wrapper

    @tool()
    @traced
    async def pay(amount: int = 1_000_000) -> None: ...

    assert bind_arguments(definition(pay), {}) == {"amount": 1_000_000}


def test_a_mutable_default_is_bound_as_a_frozen_copy() -> None:
    shared: list[int] = [1]

    @tool()
    async def fn(items: list[int] = shared) -> None: ...

    bound = bind_arguments(definition(fn), {})
    shared.append(2)
    assert bound == {"items": [1]}
    with pytest.raises(TypeError):
        bound["items"].append(3)


@pytest.mark.parametrize("effect", ["none", "idempotent", "keyed", "transactional", "fenced", "unsafe"])
def test_an_effect_is_declared(effect: Any) -> None:
    @tool(effect=effect)
    async def fn(n: int, idempotency_key: str = "", fence: int = 0, transaction: Any = None) -> None: ...

    assert definition(fn).metadata == ToolMetadata("low", True, (), effect=effect)


def test_a_tool_that_says_nothing_is_unsafe_to_repeat_even_a_reversible_one() -> None:
    @tool(reversible=True)
    async def fn() -> None: ...

    assert definition(fn).metadata.effect == "unsafe"


@pytest.mark.parametrize(
    "effect, parameter", [("keyed", "idempotency_key"), ("fenced", "fence"), ("transactional", "transaction")]
)
def test_an_effect_needs_its_parameter(effect: Any, parameter: str) -> None:
    async def fn(n: int) -> None: ...

    with pytest.raises(TypeError) as raised:
        tool(effect=effect)(fn)
    assert str(raised.value) == f"@tool(effect='{effect}') requires a parameter `{parameter}`, which fn lacks"


def test_an_effect_that_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match=r"effect must be one of 'none', 'idempotent', .*, got 'safe'"):
        tool(effect="safe")  # type: ignore[arg-type]


@tool(effect="keyed")
async def pay(amount: int, *, idempotency_key: str) -> str:
    """Pay."""
    return f"{amount}{idempotency_key}"


def test_the_model_neither_sees_nor_sets_what_the_run_gives() -> None:
    assert tooldef_to_json_schema(definition(pay)) == {
        "type": "object",
        "properties": {"amount": {"type": "integer"}},
        "required": ["amount"],
        "additionalProperties": False,
    }
    assert bind_arguments(definition(pay), {"amount": 1}) == {"amount": 1}
    with pytest.raises(ArgumentError) as raised:
        bind_arguments(definition(pay), {"amount": 1, "idempotency_key": "mine"})
    assert str(raised.value) == "unknown argument `idempotency_key` for tool 'pay'; it takes `amount`"


def test_a_wrapper_that_takes_anything_hides_the_key_too() -> None:
    @functools.wraps(pay)
    async def wrapper(**kwargs: Any) -> str:
        return await pay(**kwargs)

    del wrapper.__bobcat_meta__, wrapper.__lynx_meta__  # type: ignore[attr-defined]
    wrapped = definition(tool(effect="keyed", name="wrapped")(wrapper))
    assert bind_arguments(wrapped, {"amount": 1}) == {"amount": 1}
    with pytest.raises(ArgumentError, match="unknown argument `idempotency_key`"):
        bind_arguments(wrapped, {"amount": 1, "idempotency_key": "mine"})
    assert list(tooldef_to_json_schema(wrapped)["properties"]) == ["amount"]


def test_a_declared_schema_loses_what_the_run_gives() -> None:
    async def fn(*, idempotency_key: str, **kwargs: Any) -> None: ...

    schema = {"properties": {"n": {}, "idempotency_key": {}}, "required": ["n", "idempotency_key"]}
    made = definition(tool(effect="keyed")(with_input_schema(fn, schema)))
    assert tooldef_to_json_schema(made) == {"type": "object", "properties": {"n": {}}, "required": ["n"]}


def test_an_unsafe_tool_may_call_an_argument_as_it_likes() -> None:
    @tool()
    async def fn(fence: str, idempotency_key: str) -> None: ...

    assert bind_arguments(definition(fn), {"fence": "garden", "idempotency_key": "k"})
    assert list(tooldef_to_json_schema(definition(fn))["properties"]) == ["fence", "idempotency_key"]


@pytest.mark.parametrize("how", ["attribute", "function"])
def test_a_reconciler_is_attached(how: str) -> None:
    @tool()
    async def fn(n: int) -> None: ...

    async def did(key: str, args: Any) -> Happened | Unknown:
        return Happened(key)

    attach = fn.reconcile if how == "attribute" else reconcile(fn)  # type: ignore[attr-defined]
    assert attach(did) is did
    assert definition(fn).reconcile_fn is did
    with pytest.raises(TypeError, match="reconcile function must be async"):
        attach(lambda key, args: Unknown())
    with pytest.raises(TypeError, match="did is not decorated with @tool"):
        reconcile(did)
