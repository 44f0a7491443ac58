"""Arguments on their way to a tool: exact, of the types that the tool declares, whatever brings them there."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
from collections import defaultdict
from collections.abc import Container, Mapping, Reversible
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from enum import IntEnum, StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, LiteralString, NamedTuple, Required, TypedDict, Unpack
from zoneinfo import ZoneInfo

import pytest

from bobcat import (
    ActionRequest,
    ApprovalDecision,
    ApprovalRequest,
    AuditEvent,
    Decision,
    ExecutionContext,
    FinalAnswer,
    MemoryStore,
    PolicyBundle,
    Principal,
    RunResult,
    ToolCall,
    ToolDef,
    ToolMetadata,
    ToolSet,
    Verdict,
    auto_approve,
    compile_policy,
    jsonl_sink,
    mediate,
    run_agent,
    tool,
)
from bobcat.errors import ArgumentError
from bobcat.model.frozen import MAX_DEPTH
from bobcat.tools.decorator import definition_of
from bobcat.tools.signature import bind_arguments
from kernel.scripted import Scripted

ALL = compile_policy("rules: [{id: all, match: {}, decision: allow}]")
NO_FORCE = compile_policy(
    """
rules:
  - {id: no-force, match: {args.force: true}, decision: deny}
  - {id: rest, match: {}, decision: allow}
"""
)


class Ran:
    """A finished run of scripted calls: the messages to the model, the executed calls, the decisions."""

    def __init__(self, fn: Any, *calls: object, policy: PolicyBundle = ALL, **options: Any) -> None:
        self.agent = Scripted(*calls, FinalAnswer("done"))
        self.events: list[AuditEvent] = []
        self.sinks = [self.events.append] if options.pop("observed", True) else []
        sinks = (*self.sinks, *options.pop("sinks", ()))
        tools = ToolSet.from_functions(*(fn if isinstance(fn, list) else [fn]))
        self.result: RunResult = asyncio.run(
            run_agent(self.agent, "go", tools=tools, policy=policy, sinks=sinks, **options)
        )
        self.reported = [message.content for message in self.agent.seen[-1] if message.role == "tool"]

    def decided(self) -> list[tuple[str, str | None]]:
        bodies = [event.body for event in self.events if event.kind == "policy.evaluated"]
        return [(body["verdict"], body.get("code")) for body in bodies]


def recorder() -> tuple[Any, list[Any]]:
    """A tool that takes anything, and the values that it got."""
    got: list[Any] = []

    @tool()
    async def take(value: Any) -> str:
        got.append(value)
        return "taken"

    return take, got


class Loud(str):
    """A text that is equal to everything."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Amount(int):
    pass


class Ratio(float):
    pass


class Data(bytes):
    pass


class Later(datetime):
    pass


class Zone(tzinfo):
    pass


class Pretender:
    """Says that it is a text."""

    @property
    def __class__(self) -> Any:
        return str


class Meta(type):
    """Says of its classes that they compare like texts."""

    def __getattribute__(cls, name: str) -> Any:
        if name in ("__eq__", "__hash__"):
            return getattr(str, name)
        return super().__getattribute__(name)


class Masked(str, metaclass=Meta):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return other == "delete"

    def __hash__(self) -> int:
        return hash("delete")


def cyclic() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


INEXACT = [
    Loud("a"), Colour.RED, Level.LOW, Amount(1), Ratio(1.5), Data(b"x"), Decimal("1.5"), Path("a"), object(), len, int,
    Pretender(), 1j, float("nan"), float("inf"), datetime(2026, 1, 1), Later(2026, 1, 1, tzinfo=UTC),
    datetime(2026, 1, 1, tzinfo=Zone()), memoryview(b"x"), iter([1]), dataclasses.make_dataclass("D", ["x"])(1),
]  # fmt: skip


@pytest.mark.parametrize("wrap", ["alone", "list", "tuple", "dict", "set", "deep"])
@pytest.mark.parametrize("value", INEXACT, ids=lambda value: type(value).__name__)
def test_a_value_that_is_not_exact_reaches_no_tool_and_no_journal(value: Any, wrap: str) -> None:
    if wrap == "set":
        try:
            wrapped: Any = {value}
        except (TypeError, NotImplementedError):  # no set can hold it
            return
    else:
        wrapped = {
            "alone": value,
            "list": [1, value],
            "tuple": (value,),
            "dict": {"k": value},
            "deep": [{"k": ({"j": value},)}],
        }[wrap]
    take, got = recorder()
    store = MemoryStore()
    ran = Ran(take, ToolCall("take", {"value": wrapped}), store=store, run_id="r")
    assert got == []
    assert ran.reported[0].startswith("[error] argument `value")
    assert ran.decided() == [("deny", "argument_value" if type(value) is float else "argument_type")]
    records = asyncio.run(store.load("r"))
    assert [record.body["args"] for record in records if record.kind == "model.output" and "args" in record.body] == [
        {}
    ]


@pytest.mark.parametrize(
    "key", [1, None, b"x", Loud("a"), Colour.RED, Masked("x"), ("a",), Amount(1)], ids=lambda key: type(key).__name__
)
@pytest.mark.parametrize("nested", [False, True])
def test_a_key_that_is_not_exactly_a_string_reaches_no_tool(key: Any, nested: bool) -> None:
    take, got = recorder()
    args = {"value": {key: 1}} if nested else {"value": "a", key: 1}
    ran = Ran(take, ToolCall("take", args))
    assert got == []
    assert ran.reported[0].startswith("[error] argument")
    assert ran.decided()[0][0] == "deny"


def test_a_key_of_a_lying_metaclass_does_not_hide_an_argument() -> None:
    @tool()
    async def push(branch: str, force: bool = False) -> str:
        raise AssertionError("ran")

    ran = Ran(push, ToolCall("push", {"branch": "a", "force": False, Masked("force"): True}), policy=NO_FORCE)
    assert ran.reported[0].startswith("[error] ")
    assert ran.decided()[0][0] == "deny"


class Point(NamedTuple):
    x: int


class MyDict(dict[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise AssertionError("asked")


class MyList(list[Any]):
    def __iter__(self) -> Any:
        raise AssertionError("asked")


@pytest.mark.parametrize(
    "value, expected",
    [
        ([1, {"a": (1, 2)}], [1, {"a": (1, 2)}]),
        (MyDict(a=1), {"a": 1}),
        (MappingProxyType({"a": [1]}), {"a": [1]}),
        (MyList([1]), [1]),
        (Point(1), (1,)),
        ({1, 2}, {1, 2}),
        (frozenset({"a"}), {"a"}),
        (bytearray(b"x"), b"x"),
        (b"x", b"x"),
        (10**30, 10**30),
        (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)),
        (
            datetime(2026, 1, 1, tzinfo=ZoneInfo("Europe/Berlin")),
            datetime(2026, 1, 1, tzinfo=ZoneInfo("Europe/Berlin")),
        ),
    ],
    ids=repr,
)
def test_exact_values_and_containers_of_them_reach_the_tool_as_plain_ones(value: Any, expected: Any) -> None:
    take, got = recorder()
    Ran(take, ToolCall("take", {"value": value}))
    assert got == [expected]
    assert type(got[0]) is type(expected)


def test_what_the_agent_changes_later_does_not_change_what_the_tool_gets() -> None:
    take, got = recorder()
    args: dict[str, Any] = {"value": {"cmd": ["ls"]}}

    async def approve(_: ApprovalRequest) -> ApprovalDecision:
        args["value"]["cmd"].append("/")
        return ApprovalDecision(True, "alice")

    policy = compile_policy("rules: [{id: ask, match: {}, decision: approve_required}]")
    Ran(take, ToolCall("take", args), policy=policy, on_approval=approve)
    assert got == [{"cmd": ["ls"]}]


@pytest.mark.parametrize("journaled", [False, True])
@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("value", [1, 0, "true", "yes", 2.5, "", None, [True], {"force": True}], ids=repr)
def test_a_bool_argument_of_another_type_passes_no_rule_about_it(value: Any, observed: bool, journaled: bool) -> None:
    @tool()
    async def push(branch: str, force: bool = False) -> str:
        raise AssertionError("ran")

    options: dict[str, Any] = {"store": MemoryStore(), "run_id": "r"} if journaled else {}
    call = ToolCall("push", {"branch": "main", "force": value})
    ran = Ran(push, call, policy=NO_FORCE, observed=observed, **options)
    got = {
        int: "an integer",
        str: "a string",
        float: "a number",
        type(None): "null",
        list: "an array",
        dict: "an object",
    }
    assert ran.reported == [f"[error] argument `force`: expected a boolean, got {got[type(value)]}"]
    if observed:
        assert ran.decided() == [("deny", "argument_type")]


class Job(TypedDict):
    name: str
    tries: int


@tool()
async def work(
    jobs: list[Job], mode: Literal["fast", "slow"] = "fast", limit: int | None = None, ratio: float = 0.5
) -> str:
    return f"{len(jobs)} {mode} {limit} {ratio}"


@pytest.mark.parametrize(
    "args, reported",
    [
        ({"jobs": [{"name": "a", "tries": 1}]}, "[ok] 1 fast None 0.5"),
        ({"jobs": ({"name": "a", "tries": 1},), "ratio": 1, "limit": 3}, "[ok] 1 fast 3 1"),
        ({"jobs": [{"name": "a", "tries": True}]}, "argument `jobs[0].tries`: expected an integer, got a boolean"),
        ({"jobs": [{"name": "a", "tries": 1.0}]}, "argument `jobs[0].tries`: expected an integer, got a number"),
        ({"jobs": [{"name": "a"}]}, "argument `jobs[0]`: missing key `tries`"),
        ({"jobs": [{"name": "a", "tries": 1, "x": 1}]},
         "argument `jobs[0]`: unknown key `x`; it takes `name`, `tries`"),
        ({"jobs": {}}, "argument `jobs`: expected an array, got an object"),
        ({"jobs": [], "mode": "Fast"}, 'argument `mode`: expected one of "fast", "slow", got another one'),
        ({"jobs": [], "limit": "3"}, "argument `limit`: expected an integer or null, got a string"),
        ({"jobs": [], "ratio": "0.5"}, "argument `ratio`: expected a number, got a string"),
        ({"jobs": [], "ratio": True}, "argument `ratio`: expected a number, got a boolean"),
        ({"jobs": [], "rate": 1},
         "unknown argument `rate` for tool 'work'; it takes `jobs`, `limit`, `mode`, `ratio`"),
        ({}, "missing argument `jobs` for tool 'work'"),
    ],
)  # fmt: skip
def test_arguments_are_checked_by_the_annotations_of_the_function(args: dict[str, Any], reported: str) -> None:
    expected = reported if reported.startswith("[ok]") else f"[error] {reported}"
    assert Ran(work, ToolCall("work", args)).reported == [expected]


@pytest.mark.parametrize("journaled", [False, True])
def test_a_default_is_evaluated_and_checked_with_or_without_a_journal(journaled: bool) -> None:
    @tool()
    async def push(branch: str, force: bool = True) -> str:
        raise AssertionError("ran")

    options: dict[str, Any] = {"store": MemoryStore(), "run_id": "r"} if journaled else {}
    ran = Ran(push, ToolCall("push", {"branch": "a"}), policy=NO_FORCE, **options)
    assert ran.decided() == [("deny", None)]


TRANSFORM = """
rules:
  - {id: change, match: {tool: push}, decision: transform, transform: {jsonpath: %s, set: %s}}
"""


@pytest.mark.parametrize(
    "path, value, problem",
    [
        ("$.args.force", '"yes"', "argument `force`: expected a boolean, got a string"),
        ("$.args.branch", "7", "argument `branch`: expected a string, got an integer"),
        ("$.args.other", "1", "unknown argument `other`"),
        ("$.args", "{force: true}", "missing argument `branch`"),
    ],
)
def test_a_transform_to_what_the_tool_refuses_is_a_denial(path: str, value: str, problem: str) -> None:
    @tool()
    async def push(branch: str, force: bool = False) -> str:
        raise AssertionError("ran")

    policy = compile_policy(TRANSFORM % (path, value))
    ran = Ran(push, ToolCall("push", {"branch": "a"}), policy=policy)
    assert ran.reported[0].startswith("[denied] transformed arguments cannot be used: ")
    assert problem in ran.reported[0]
    assert ran.decided() == [("deny", "transform_refused")]


def test_a_host_rule_cannot_hand_a_tool_what_it_refuses() -> None:
    @tool()
    async def push(branch: str) -> str:
        raise AssertionError("ran")

    def change(request: object, context: object) -> Decision | None:
        return Decision(Verdict.TRANSFORM, transform_args={"branch": Loud("main")})

    policy = compile_policy(
        "rules: [{id: all, match: {}, decision: allow}]",
        python_rules=[change],
        python_rule_priorities={"change": 1},
        uncompiled="callable",
    )
    ran = Ran(push, ToolCall("push", {"branch": "a"}), policy=policy)
    assert ran.reported[0].startswith("[denied] ")


@pytest.mark.parametrize(
    "edited, problem",
    [
        ({"branch": "a", "force": 1}, "argument `force`: expected a boolean, got an integer"),
        ({"branch": Loud("a")}, "expected a JSON value"),
        ({"branch": "a", "to": 1}, "unknown argument `to`"),
        ({"branch": "a", 3: 1}, "argument names must be strings"),
    ],
)
def test_arguments_edited_by_an_approver_go_through_the_same_door(edited: Any, problem: str) -> None:
    @tool()
    async def push(branch: str, force: bool = False) -> str:
        raise AssertionError("ran")

    async def approve(_: ApprovalRequest) -> ApprovalDecision:
        return ApprovalDecision(True, "alice", args=edited)

    policy = compile_policy("rules: [{id: ask, match: {}, decision: approve_required}]")
    ran = Ran(push, ToolCall("push", {"branch": "a"}), policy=policy, on_approval=approve)
    assert ran.reported[0].startswith("[denied] the approver's args cannot be used: ")
    assert problem in ran.reported[0]


def test_a_preview_and_mediate_refuse_what_the_tool_refuses() -> None:
    @tool()
    async def push(branch: str, force: bool = False) -> str:
        raise AssertionError("ran")

    @push.shadow
    async def preview(branch: str, force: bool = False) -> str:
        raise AssertionError("previewed")

    definition = definition_of(push)
    assert definition is not None
    context = ExecutionContext(Principal("user", "u"), "dev", ".", "c", 0, datetime(2026, 1, 1, tzinfo=UTC))
    tools = ToolSet.from_functions(push)
    for verdict in Verdict:
        if verdict in (Verdict.DENY, Verdict.TRANSFORM):
            continue
        request = ActionRequest("push", {"branch": "a", "force": "no"}, definition.metadata, context)
        result = asyncio.run(mediate(request, Decision(verdict), tools, auto_approve("alice")))
        assert result.error == "argument `force`: expected a boolean, got a string"
    request = ActionRequest("push", {"branch": "a"}, definition.metadata, context)
    changed = Decision(Verdict.TRANSFORM, transform_args={"branch": Loud("a")})
    result = asyncio.run(mediate(request, changed, tools, auto_approve("alice")))
    assert not result.ok
    assert "argument `branch`: expected a JSON value" in str(result.error)


@pytest.mark.parametrize("depth", [2, 40, 63, 64, 65, 70, 127, MAX_DEPTH, MAX_DEPTH + 1, 200, 5000])
@pytest.mark.parametrize("kind", ["list", "dict"])
def test_deep_arguments_are_refused_or_audited_whole(depth: int, kind: str) -> None:
    value: Any = "the end"
    for _ in range(depth - 1):
        value = [value] if kind == "list" else {"k": value}
    take, got = recorder()
    lines = io.StringIO()
    call = ToolCall("take", {"value": value})
    store = MemoryStore()
    ran = Ran(take, call, sinks=[jsonl_sink(lines)], store=store, run_id="r")
    bodies = [json.loads(line) for line in lines.getvalue().splitlines()]
    if depth > MAX_DEPTH:
        assert got == []
        assert ran.decided() == [("deny", "argument_too_deep")]
        assert f"nested deeper than {MAX_DEPTH} levels" in ran.reported[0]
        return
    assert got == [value]
    assert "the end" in next(json.dumps(body) for body in bodies if "policy.evaluated" in json.dumps(body))
    assert "<too deep>" not in lines.getvalue()
    assert all("<too deep>" not in str(record.body) for record in asyncio.run(store.load("r")))


def test_a_container_that_is_in_many_places_is_refused_before_it_is_multiplied() -> None:
    value: Any = [1]
    for _ in range(60):
        value = [value, value]
    take, got = recorder()
    assert Ran(take, ToolCall("take", {"value": value})).decided() == [("deny", "argument_too_large")]
    assert Ran(take, ToolCall("take", {"value": cyclic()})).decided()[0][0] == "deny"
    assert got == []


class Handle:
    """Something of the host program: no value."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def opaque_tool() -> tuple[Any, list[Any]]:
    got: list[Any] = []

    @tool(opaque_args=("handle",))
    async def use(handle: Handle, name: str = "n") -> str:
        got.append(handle)
        return "used"

    return use, got


@pytest.mark.parametrize("value", [Handle(), Loud("force"), True, "text", [Handle()]], ids=lambda v: type(v).__name__)
def test_an_opaque_argument_reaches_the_tool_and_no_rule_can_read_it(value: Any) -> None:
    use, got = opaque_tool()
    call = ToolCall("use", {"handle": value})
    assert Ran(use, call).reported == ["[ok] used"]
    assert got == [value]
    assert got[0] is value or type(value) is list
    for test in ("args.handle: true", "args.handle: text", "args.handle: force", 'args.handle.matches: "."'):
        policy = compile_policy(f"rules: [{{id: it, match: {{{test}}}, decision: allow}}]")
        assert Ran(use, call, policy=policy).reported[0].startswith("[denied] ")
        policy = compile_policy(
            f"rules: [{{id: no, match: {{{test}}}, decision: deny}}, {{id: rest, match: {{}}, decision: allow}}]"
        )
        assert Ran(use, call, policy=policy).reported[0].startswith("[denied] ")
    assert len(got) == 1


def test_an_opaque_argument_is_in_no_journal_and_no_approver_can_set_it() -> None:
    use, got = opaque_tool()
    handle = Handle()
    store, lines = MemoryStore(), io.StringIO()
    policy = compile_policy("rules: [{id: ask, match: {}, decision: approve_required}]")
    shown: list[Mapping[str, Any]] = []

    async def approve(request: ApprovalRequest) -> ApprovalDecision:
        shown.append(request.request.args)
        edited = {"handle": "mine"} if len(shown) > 1 else None
        return ApprovalDecision(True, "alice", args=edited)

    call = ToolCall("use", {"handle": handle})
    ran = Ran(use, call, call, policy=policy, on_approval=approve, store=store, run_id="r", sinks=[jsonl_sink(lines)])
    assert ran.reported[0] == "[ok] used"
    assert ran.reported[1].startswith("[denied] the approver's args cannot be used: argument `handle`: its value is")
    assert got == [handle]
    assert repr(shown[0]["handle"]) == "<opaque argument>"
    assert "Handle" not in lines.getvalue()
    assert '"handle":"<opaque argument>"' in lines.getvalue()


def test_an_opaque_argument_survives_a_transform_of_another_one_but_not_of_its_own() -> None:
    use, got = opaque_tool()
    handle = Handle()
    policy = "rules: [{id: change, match: {tool: use}, decision: transform, transform: {jsonpath: $.args.%s, set: x}}]"
    call = ToolCall("use", {"handle": handle})
    assert Ran(use, call, policy=compile_policy(policy % "name")).reported == ["[ok] used"]
    assert got == [handle]
    assert got[0] is handle
    ran = Ran(use, call, policy=compile_policy(policy % "handle"))
    assert ran.reported[0].startswith("[denied] transformed arguments cannot be used: ")
    assert len(got) == 1


def test_a_tool_that_is_a_method_is_checked_by_its_annotations() -> None:
    class Disk:
        async def read(self, path: str, size: int = 1) -> str:
            return path * size

    definition = ToolDef("read", "", Disk().read, None, ToolMetadata("low", True, ()))
    agent = Scripted(ToolCall("read", {"path": 1}), ToolCall("read", {"path": "a", "size": 2}), FinalAnswer("done"))
    asyncio.run(run_agent(agent, "go", tools=ToolSet({"read": definition}), policy=ALL))
    reported = [message.content for message in agent.seen[-1] if message.role == "tool"]
    assert reported == ["[error] argument `path`: expected a string, got an integer", "[ok] aa"]


def test_opaque_arguments_are_parameters_of_the_tool() -> None:
    with pytest.raises(ValueError, match="opaque_args must name parameters of the tool; it lacks"):

        @tool(opaque_args=("handel",))
        async def it(handle: object) -> None: ...

    with pytest.raises(TypeError, match=r"write \('handle',\)"):
        tool(opaque_args="handle")


def test_a_default_of_the_tools_own_may_be_any_object() -> None:
    got: list[Any] = []

    @tool()
    async def paint(
        colour: Colour = Colour.RED,
        path: Path = Path(),
        text: str = None,  # type: ignore[assignment]  # noqa: RUF013 - as programs have it
        n: int = 2.5,  # type: ignore[assignment]
    ) -> str:
        got.append((colour, path, text, n))
        return "painted"

    ran = Ran(paint, ToolCall("paint", {}), ToolCall("paint", {"colour": "red", "text": None, "n": 2.5}))
    assert ran.reported == ["[ok] painted"] * 2
    assert got == [(Colour.RED, Path(), None, 2.5), ("red", Path(), None, 2.5)]
    assert type(got[1][0]) is str
    assert Ran(paint, ToolCall("paint", {"n": 3.5})).decided() == [("deny", "argument_type")]


def test_annotations_may_name_what_the_module_defines_later() -> None:
    definition = definition_of(later)
    assert definition is not None
    assert bind_arguments(definition, {"query": {"text": "a"}}) == {"query": {"text": "a"}}
    with pytest.raises(ArgumentError) as raised:
        bind_arguments(definition, {"query": {"text": 1}})
    assert (str(raised.value), raised.value.code) == (
        "argument `query.text`: expected a string, got an integer", "argument_type",
    )  # fmt: skip


@tool()
async def later(query: Query) -> None: ...


class Query(TypedDict):
    text: str


@dataclasses.dataclass(frozen=True)
class AtLeast:
    ge: int


@dataclasses.dataclass(frozen=True)
class AtMost:
    le: int


@dataclasses.dataclass(frozen=True)
class Longest:
    max_length: int


class Known(TypedDict, total=False):
    force: bool
    count: Required[int]


class PartlyKnown(TypedDict):
    force: bool
    other: NameThatNoModuleHas  # noqa: F821


@dataclasses.dataclass
class PartlyKnownObject:
    force: bool
    other: NameThatNoModuleHas = None  # noqa: F821


@pytest.mark.parametrize(
    "annotation, value",
    [
        (Annotated[int, AtLeast(5), AtLeast(0)], 3),
        (Annotated[int, AtMost(5), AtMost(100)], 50),
        (Annotated[Annotated[str, Longest(2)], Longest(20)], "abc"),
        (Annotated[Annotated[int | str, AtLeast(0)] | None, AtMost(5)], 9),
        (Annotated[bytes, Longest(1)], b"abc"),
        (Annotated[bool, {"description": "a note that cannot be hashed"}], 1),
        (list[Annotated[bool, ["note"]]] | None, [1]),
        (LiteralString, 5),
        (Container[bool], [1]),
        (Reversible[bool], [1]),
        (defaultdict[str, bool], {"a": 1}),
        (PartlyKnown, {"force": 1, "other": 5}),
        (PartlyKnownObject, {"force": "true"}),
    ],
)
def test_every_bound_and_every_known_type_of_an_annotation_holds(annotation: Any, value: Any) -> None:
    async def take(value: Any) -> str:
        return "ran"

    take.__annotations__["value"] = annotation
    with pytest.raises(ArgumentError, match="argument `value"):
        bind_arguments(definition_of(tool()(take)), {"value": value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "args, code",
    [
        ({"count": 1, "force": "true"}, "argument_type"),
        ({"count": True}, "argument_type"),
        ({"force": True}, "missing_argument"),
        ({"count": 1, "unknown": 1}, "unknown_argument"),
    ],
)
def test_keyword_arguments_of_a_typed_dict_are_checked_by_it(args: dict[str, Any], code: str) -> None:
    @tool()
    async def take(**options: Unpack[Known]) -> str:
        return "ran"

    definition = definition_of(take)
    assert definition is not None
    assert bind_arguments(definition, {"count": 1, "force": True}) == {"count": 1, "force": True}
    with pytest.raises(ArgumentError) as caught:
        bind_arguments(definition, args)
    assert caught.value.code == code
