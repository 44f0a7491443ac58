"""The state of a run in the core: what decisions read of it, its caps, its snapshot."""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bobcat import Request
from bobcat._core import CoreError, Program, RunState, evaluate, explain
from bobcat.ir import canonical, construct
from bobcat.ir.schema import (
    AnyRule,
    CallEvent,
    Definition,
    Expr,
    Formerly,
    FormulaDefinition,
    Leaf,
    Measure,
    NotFormula,
    Previous,
    ResultEvent,
    Since,
    Source,
)
from bobcat.model.decision import ActionRequest

START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = 60_000_000


def leaf(head: str, path: tuple[str, ...], op: str, operand: Any) -> Leaf:
    return construct.leaf(head, path, op, operand)  # type: ignore[arg-type]  # short


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def request(tool: str, args: dict[str, Any] | None = None, seconds: float = 0) -> ActionRequest:
    return Request(tool, args or {}, timestamp=at(seconds))


PAY = leaf("tool", (), "eq", "pay")
FIND = leaf("tool", (), "eq", "find")
COUNT = Measure(PAY)
SUM = Measure(PAY, ("amount",), this=True)
WINDOW = Measure(PAY, ("amount",), within=MINUTE)
SHARED = Measure(PAY, by="tenant", this=True)
AFTER = FormulaDefinition(Formerly(CallEvent(FIND)))
DIRECTORY = Source(FIND, (("email",),))
name = canonical.definition_name


def reads(definition: Definition, op: str, operand: Any) -> Leaf:
    return leaf("run", (name(definition),), op, operand)


def program(*rules: AnyRule, memory: tuple[Definition, ...] = (), **named: Source) -> Program:
    definitions = {name(item): item for item in memory} | named
    return Program(canonical.encode(construct.policy(rules, memory=definitions)))


def allow(match: Expr, id: str = "a") -> AnyRule:
    return construct.rule(id, match, "allow")


def verdict(bundle: Program, wanted: ActionRequest, state: RunState | None = None) -> str:
    """The verdict of both walks, or the code of the first error; `deny` if no rule decides."""
    decision = evaluate(bundle, wanted, state=state)
    assert explain(bundle, wanted, state=state)[0] == decision
    errors = [rule for rule in decision.matched_rules if rule.startswith("<rule_error:")]
    if errors:
        return errors[0].rstrip(">").split(":")[-1]
    return "deny" if decision.matched_rules[0].startswith("<default") else str(decision.verdict.value)


# --- clauses ---


def test_a_count_is_that_of_intents() -> None:
    bundle = program(allow(construct.all_([PAY, reads(COUNT, "lt", 2)])), memory=(COUNT,))
    state = RunState(bundle)
    assert bundle.remembers
    for key, expected in (("1", "allow"), ("2", "allow"), ("3", "deny")):
        assert verdict(bundle, request("pay"), state) == expected
        state.call(request("pay"), key)
        state.call(request("pay"), key)  # the same intent again


def test_a_released_call_is_taken_back_and_a_failed_one_is_not() -> None:
    bundle = program(memory=(COUNT, WINDOW))
    state = RunState(bundle)
    for key in "abc":
        state.call(request("pay", {"amount": 0.1}), key)
    state.failed("a", at(1))
    state.release("b")
    assert state.values(request("x")) == {name(COUNT): 2, name(WINDOW): 0.2}
    for key in ("b", "zz"):
        with pytest.raises(ValueError, match="no open call"):
            state.release(key)
        with pytest.raises(ValueError, match="no open call"):
            state.failed(key, at(1))
        with pytest.raises(ValueError, match="no open call"):
            state.result(key, None, at(1))
    with pytest.raises(ValueError, match="no open call"):
        state.release("a")


def test_a_sum_with_this_call_reads_the_proposed_arguments() -> None:
    bundle = program(allow(reads(SUM, "le", 1000)), memory=(SUM,))
    state = RunState(bundle)
    state.call(request("pay", {"amount": 990}), "1")
    assert verdict(bundle, request("pay", {"amount": 10}), state) == "allow"
    assert verdict(bundle, request("pay", {"amount": 10.01}), state) == "deny"
    assert verdict(bundle, request("pay", {"amount": "10"}), state) == "bad_state"
    assert verdict(bundle, request("other", {"amount": 5000}), state) == "allow"
    assert state.amounts(request("pay", {"amount": 3})) == {name(SUM): 3}
    assert state.amounts(request("pay", {"amount": None})) == {name(SUM): {"error": "bad_state"}}


def test_a_rewritten_call_is_summed_with_its_new_arguments() -> None:
    halve = construct.rule(
        "half", leaf("args", ("amount",), "gt", 50), "transform", priority=1, reason="",
        transform=construct.transform("set", ("amount",), 50),
    )  # fmt: skip
    stop = construct.rule("stop", reads(SUM, "gt", 60), "deny", priority=2)
    bundle = program(halve, stop, memory=(SUM,))
    state = RunState(bundle)
    state.call(request("pay", {"amount": 5}), "1")
    assert evaluate(bundle, request("pay", {"amount": 55}), state=state).verdict.value == "transform"
    state.call(request("pay", {"amount": 6}), "2")
    assert evaluate(bundle, request("pay", {"amount": 50}), state=state).verdict.value == "deny"


def test_without_a_state_every_clause_that_reads_it_is_an_error() -> None:
    limit = leaf("args", ("limit",), "gt", construct.reference("run", [name(COUNT)]))
    came = leaf("args", ("to",), "from", construct.sources(["task"]))
    wanted = request("pay", {"limit": 3, "to": "x"})
    for clause in (reads(COUNT, "lt", 2), reads(AFTER, "eq", True), limit, came, reads(COUNT, "exists", False)):
        bundle = program(allow(construct.all_([PAY, clause])), memory=(COUNT, AFTER))
        assert verdict(bundle, wanted) == "no_state"
        assert verdict(bundle, request("other")) == "deny"
        bundle = program(construct.rule("d", construct.not_(clause), "deny"), allow(PAY), memory=(COUNT, AFTER))
        assert verdict(bundle, wanted) == "no_state"


def test_a_reference_compares_with_the_state() -> None:
    limit = leaf("args", ("limit",), "gt", construct.reference("run", [name(COUNT)]))
    bundle = program(allow(limit), memory=(COUNT,))
    state = RunState(bundle)
    state.call(request("pay"), "1")
    assert verdict(bundle, request("pay", {"limit": 2}), state) == "allow"
    assert verdict(bundle, request("pay", {"limit": 1}), state) == "deny"
    context = leaf("run", (name(COUNT),), "lt", construct.reference("args", ["limit"]))
    bundle = program(allow(context), memory=(COUNT,))
    assert verdict(bundle, request("pay", {"limit": 2}), state) == "allow"
    assert verdict(bundle, request("pay"), state) == "deny"


def test_what_cannot_be_evaluated_breaks_the_definition_for_the_rest_of_the_run() -> None:
    bundle = program(allow(reads(SUM, "le", 1000)), memory=(SUM,))
    for amount in (None, "1", True, float("nan"), float("inf"), [1]):
        state = RunState(bundle)
        state.call(request("pay", {"amount": amount}), "1")
        assert verdict(bundle, request("other"), state) == "bad_state"
        state.release("1")
        assert verdict(bundle, request("other"), state) == "bad_state"
    state = RunState(bundle)
    state.call(request("pay", {"amount": 2**126}), "1")
    state.call(request("pay", {"amount": 2**126}), "2")
    assert verdict(bundle, request("other"), state) == "state_limit"


def test_a_window_slides_with_the_time_of_the_decision() -> None:
    bundle = program(memory=(WINDOW,))
    state = RunState(bundle)
    state.call(request("pay", {"amount": 1}, 0), "1")
    state.call(request("pay", {"amount": 2}, 30), "2")
    found = [state.values(request("x", seconds=seconds))[name(WINDOW)] for seconds in (-5, 30, 60, 60.000001, 90, 91)]
    assert found == [3, 3, 3, 2, 2, 0]


def test_a_window_that_is_full_is_an_error() -> None:
    bundle = program(memory=(WINDOW, Measure(PAY)))
    state = RunState(bundle)
    for number in range(10_000):
        state.call(request("pay", {"amount": 1}, number / 1000), str(number))
    assert state.values(request("x"))[name(WINDOW)] == 10_000
    state.call(request("pay", {"amount": 1}, 10), "last")
    assert state.values(request("x")) == {name(WINDOW): {"error": "state_limit"}, name(COUNT): 10_001}


def test_shared_measures_have_the_value_of_the_host() -> None:
    bundle = program(allow(reads(SHARED, "le", 3)), memory=(SHARED, COUNT))
    state = RunState(bundle)
    assert verdict(bundle, request("pay"), state) == "no_state"
    state.share({name(SHARED): 2})
    assert verdict(bundle, request("pay"), state) == "allow"
    state.share({name(SHARED): 3})
    assert verdict(bundle, request("pay"), state) == "deny"
    assert verdict(bundle, request("other"), state) == "allow"
    for wrong in (
        {name(COUNT): 1},
        {"x": 1},
        {name(SHARED): "1"},
        {name(SHARED): "wrong_type"},
        {name(SHARED): True},
        {name(SHARED): float("nan")},
    ):
        with pytest.raises(ValueError, match=r"shared measure|finite number"):
            state.share(wrong)  # type: ignore[arg-type]  # wrong on purpose


def test_formulas_see_calls_and_results() -> None:
    edit = CallEvent(leaf("tool", (), "eq", "edit"))
    passed = ResultEvent(construct.all_([leaf("tool", (), "eq", "test"), leaf("result", ("exit_code",), "eq", 0)]))
    clean = FormulaDefinition(Since(NotFormula(edit), passed))
    bundle = program(allow(reads(clean, "eq", True)), memory=(clean,))
    state = RunState(bundle)

    def step(tool: str, result: Any) -> str:
        key = f"{tool} {result} {random.random()}"
        state.call(request(tool), key)
        if result is not None:
            state.result(key, result, at(0))
        return verdict(bundle, request("commit"), state)

    assert verdict(bundle, request("commit"), state) == "deny"
    assert step("test", {"exit_code": 1}) == "deny"
    assert step("test", {"exit_code": 0}) == "allow"
    assert step("read", {"x": 1}) == "allow"
    assert step("edit", None) == "deny"
    assert step("test", {"exit_code": 0}) == "allow"
    assert step("test", {"exit_code": [0]}) == "bad_state"


def test_the_match_of_a_result_reads_the_arguments_of_its_call() -> None:
    same = leaf("result", ("id",), "eq", construct.reference("args", ["m", "id"]))
    echoed = FormulaDefinition(
        Formerly(ResultEvent(construct.all_([same, leaf("context", ("environment",), "eq", "dev")])))
    )
    bundle = program(memory=(echoed,))
    state = RunState(bundle)
    state.call(request("get", {"m": {"id": "a", "other": "x" * 100}, "long": "x" * 1000}), "1")
    assert len(state.dump()) < 400
    state = RunState.load(bundle, state.dump())
    state.result("1", {"id": "a"}, at(0))
    assert state.values(request("x")) == {name(echoed): True}
    state.call(request("get", {"m": {"id": "y" * 2**20}}), "2")
    assert state.values(request("x")) == {name(echoed): True}
    state.result("2", {"id": "b"}, at(0))
    assert state.values(request("x")) == {name(echoed): {"error": "state_limit"}}


def test_time_never_goes_back() -> None:
    recent = FormulaDefinition(Previous(CallEvent(PAY), within=MINUTE))
    bundle = program(memory=(recent,))
    state = RunState(bundle)
    state.call(request("pay", seconds=100), "1")
    state.call(request("x", seconds=0), "2")
    assert state.values(request("x", seconds=0)) == {name(recent): True}
    assert state.values(request("x", seconds=160)) == {name(recent): True}
    assert state.values(request("x", seconds=161)) == {name(recent): False}


# --- sources ---


def drawn(*names: str, **sources: Source) -> tuple[Program, RunState]:
    match = leaf("args", ("to",), "from", construct.sources(names))
    bundle = program(allow(match), memory=(), **sources)
    return bundle, RunState(bundle, task="Write to Carol (carol@example.com) about 12.50 EUR")


def test_values_of_results_are_seen_from_the_next_reply_on() -> None:
    bundle, state = drawn("directory", directory=DIRECTORY)
    wanted = request("send", {"to": "a@example.com"})
    state.call(request("find"), "1")
    state.result("1", [{"email": "a@example.com"}, {"email": ["b@example.com", ["c", 5]]}, "other"], at(0))
    assert verdict(bundle, wanted, state) == "deny"
    assert state.origins("a@example.com") == []
    state.next_reply()
    assert verdict(bundle, wanted, state) == "allow"
    assert verdict(bundle, request("send", {"to": 5.0}), state) == "allow"
    for other in ("5", "example.com", "other", "", "A@example.com"):
        assert verdict(bundle, request("send", {"to": other}), state) == "deny"
    assert verdict(bundle, request("send", {"to": True}), state) == "wrong_type"
    assert state.origins("a@example.com") == [{"source": "directory", "tool": "find", "key": "1", "field": "email"}]
    shown = explain(bundle, wanted, state=state)[1][0][3]
    assert "from directory: `email` of find 1" in shown[-1]


def test_the_task_is_a_source() -> None:
    bundle, state = drawn("task")
    assert not bundle.remembers or state.task
    for value, expected in (("carol@example.com", "allow"), ("example.com", "deny"), (12.5, "allow"), (12, "deny")):
        assert verdict(bundle, request("send", {"to": value}), state) == expected
    assert state.origins("carol@example.com") == [{"source": "task"}]
    assert bundle.remembers
    assert verdict(bundle, request("send", {"to": "Carol"}), RunState(bundle)) == "deny"


def test_lower_case_is_compared_with_lower_case() -> None:
    lower = leaf(
        "args", ("to",), "lower", construct.checks([construct.check("from", {"sources": ["directory", "task"]})])
    )
    bundle = program(allow(lower), directory=DIRECTORY)
    state = RunState(bundle, task="Write to CAROL")
    state.call(request("find"), "1")
    state.result("1", {"email": "A@Example.com"}, at(0))
    state.next_reply()
    for value, expected in (("a@example.COM", "allow"), ("carol", "allow"), ("Dave", "deny")):
        assert verdict(bundle, request("send", {"to": value}), state) == expected


def test_arguments_of_the_asking_call_must_come_from_its_sources() -> None:
    asked = Source(FIND, (("email",),), asked_with=("task",))
    for args, expected in (
        ({"name": "Carol"}, "allow"),
        ({"name": ["Carol", {"x": 12.5}], "flag": True, "none": None}, "allow"),
        ({}, "allow"),
        ({"name": "Mallory"}, "deny"),
        ({"name": "Carol", "limit": 7}, "deny"),
        ({"name": ""}, "deny"),
    ):
        bundle, state = drawn("directory", directory=asked)
        state.call(request("find", args), "1")
        state.result("1", {"email": "a"}, at(0))
        state.next_reply()
        assert verdict(bundle, request("send", {"to": "a"}), state) == expected, args


def test_only_results_of_calls_that_succeeded_give_values() -> None:
    bundle, state = drawn("directory", directory=DIRECTORY)
    state.call(request("find"), "1")
    state.failed("1", at(0))
    state.result("1", {"email": "a"}, at(0))
    state.call(request("other"), "2")
    state.result("2", {"email": "a"}, at(0))
    state.next_reply()
    assert verdict(bundle, request("send", {"to": "a"}), state) == "deny"


def test_a_broken_source_permits_nothing_and_a_full_one_what_it_holds() -> None:
    typed = Source(FIND, (("email",),), where=leaf("record", ("size",), "gt", 1))
    bundle, state = drawn("task", "directory", directory=typed)
    state.call(request("find"), "1")
    state.result("1", [{"email": "a", "size": 2}, {"email": "b", "size": "x"}], at(0))
    state.next_reply()
    assert verdict(bundle, request("send", {"to": "a"}), state) == "bad_state"
    assert verdict(bundle, request("send", {"to": "Carol"}), state) == "allow"
    bundle, state = drawn("directory", directory=DIRECTORY)
    state.call(request("find"), "1")
    state.result("1", {"email": list(range(100_001))}, at(0))
    state.next_reply()
    assert verdict(bundle, request("send", {"to": 99_999}), state) == "allow"
    assert verdict(bundle, request("send", {"to": 100_000}), state) == "state_limit"


def test_a_record_is_tested_as_a_whole() -> None:
    mine = Source(FIND, (("files", "id"),), where=leaf("record", ("files", "name"), "eq", "a.txt"))
    bundle, state = drawn("mine", mine=mine)
    state.call(request("find"), "1")
    state.result("1", {"files": [{"id": "1", "name": "a.txt"}, {"id": "2", "name": "b.txt"}]}, at(0))
    state.next_reply()
    assert verdict(bundle, request("send", {"to": "1"}), state) == "allow"
    assert verdict(bundle, request("send", {"to": "2"}), state) == "deny"


# --- the index ---


def test_rules_that_read_the_state_are_found_like_others() -> None:
    random.seed(5)
    memory = (COUNT, SUM, AFTER)
    clauses = [
        reads(COUNT, "lt", 2), reads(SUM, "gt", 5), reads(AFTER, "eq", True),
        leaf("args", ("to",), "from", construct.sources(["directory"])),
        leaf("args", ("list",), "all", construct.checks([construct.check("from", {"sources": ["task", "directory"]})])),
        leaf("args", ("amount",), "gt", construct.reference("run", [name(COUNT)])),
        PAY, leaf("args", ("to",), "eq", "a"), leaf("args", ("amount",), "gt", 2),
        leaf("args", ("x",), "contains", "y"), leaf("args", ("amount",), "in", [1, 2, 3]),
    ]  # fmt: skip

    def match(depth: int) -> Expr:
        if depth == 0 or random.random() < 0.3:
            return random.choice(clauses)
        items = [match(depth - 1) for _ in range(random.randint(1, 3))]
        return random.choice([construct.all_, construct.all_, construct.any_, lambda some: construct.not_(some[0])])(
            items
        )

    values = {
        "to": ["a", "b", "", 3, None],
        "amount": [1, 3, "x", 7.5],
        "list": [["a"], ["a", "b"], [], "a"],
        "x": ["y", 1],
    }
    for _ in range(60):
        verdicts = ["allow", "deny", "approve_required"]
        rules = [
            construct.rule(f"r{at}", match(3), random.choice(verdicts), priority=random.randint(0, 3))  # type: ignore[arg-type]  # a verdict
            for at in range(random.choice([3, 12, 30]))
        ]
        bundle = program(*rules, memory=memory, directory=DIRECTORY)
        state = RunState(bundle, task="a")
        for number in range(3):
            state.call(request("find"), f"f{number}")
            state.result(f"f{number}", {"email": random.choice(["a", "b"])}, at(0))
            state.call(request("pay", {"amount": random.choice([1, 3, "x"])}), f"p{number}")
            state.next_reply()
            for _ in range(6):
                keys = [key for key in values if random.random() < 0.7]
                args = {key: random.choice(values[key]) for key in keys}  # type: ignore[arg-type]  # any of them
                wanted = request(random.choice(["pay", "other"]), args)
                for known in (state, None):
                    verdict(bundle, wanted, known)


# --- loading ---


def refused(**policy: Any) -> str:
    with pytest.raises(CoreError) as error:
        program(*policy.pop("rules", ()), **policy)
    return error.value.code


def test_definitions_are_checked() -> None:
    result = leaf("result", ("x",), "eq", 1)
    record = leaf("record", ("x",), "eq", 1)
    came = leaf("args", ("x",), "from", {"sources": ["task"]})
    wrong: list[dict[str, Any]] = [
        {"rules": [allow(reads(COUNT, "lt", 1))]},
        {"rules": [allow(leaf("run", (), "lt", 1))], "memory": (COUNT,)},
        {"rules": [allow(leaf("run", (name(COUNT), "x"), "lt", 1))], "memory": (COUNT,)},
        {"rules": [allow(leaf("run", ("directory",), "lt", 1))], "directory": DIRECTORY},
        {"rules": [allow(leaf("args", ("x",), "eq", construct.reference("run", ["x"])))]},
        {"rules": [allow(leaf("args", ("x",), "from", {"sources": []}))]},
        {"rules": [allow(leaf("args", ("x",), "from", {"sources": ["directory"]}))]},
        {"rules": [allow(leaf("args", ("x",), "from", {"sources": [name(COUNT)]}))], "memory": (COUNT,)},
        {"rules": [allow(leaf("args", ("x",), "from", "task"))]},
        {"rules": [allow(leaf("args", ("x",), "eq", {"sources": ["task"]}))]},
        {"rules": [allow(result)]},
        {"rules": [allow(result)], "memory": (FormulaDefinition(ResultEvent(result)),)},
        {"rules": [allow(record)], "directory": Source(FIND, (("x",),), where=record)},
        {"rules": [allow(leaf("args", ("x",), "eq", construct.reference("result", ["x"])))]},
        {"memory": (Measure(result),)},
        {"memory": (Measure(reads(COUNT, "lt", 1)), COUNT)},
        {"memory": (Measure(came),)},
        {"memory": (FormulaDefinition(CallEvent(result)),)},
        {"memory": (FormulaDefinition(ResultEvent(record)),)},
        {"memory": (Measure(PAY, ()),)},
        {"memory": (Measure(PAY, within=0),)},
        {"memory": (Measure(PAY, within=-1),)},
        {"memory": (Measure(PAY, within=2**63),)},
        {"directory": Source(FIND, ())},
        {"directory": Source(FIND, (("x",),), asked_with=("other",))},
        {"directory": Source(FIND, (("x",),), where=result)},
        {"task": DIRECTORY},
    ]
    assert [refused(**policy) for policy in wrong] == ["bad_ir"] * len(wrong)


def test_definitions_have_caps() -> None:
    deep: Any = CallEvent(PAY)
    for _ in range(16):
        deep = NotFormula(deep)
    wide = FormulaDefinition(Formerly(CallEvent(construct.TRUE)))
    assert refused(memory=(FormulaDefinition(deep),)) == "ir_limit"
    assert refused(**{f"s{number}": DIRECTORY for number in range(64)}) == "ir_limit"
    assert program(memory=(wide,), **{f"s{number}": DIRECTORY for number in range(63)}).remembers
    many = tuple(Measure(leaf("tool", (), "eq", str(number))) for number in range(1001))
    assert refused(memory=many) == "ir_limit"


def test_bytes_of_definitions_are_checked() -> None:
    data = canonical.encode(construct.policy([allow(PAY)], memory={name(SUM): SUM, "d": DIRECTORY}))
    Program(data)
    for old, new in (
        (b'"this":true', b'"this":false'), (b'"this":true', b'"that":true'), (b'"k":"measure"', b'"k":"x"'),
        (b'"fields":[["email"]]', b'"fields":["email"]'), (b'"memory":{', b'"memory":{"a":1,'),
        (b'"profile":"strict"', b'"profile":"lynx"'),
    ):  # fmt: skip
        assert old in data
        with pytest.raises(CoreError) as error:
            Program(data.replace(old, new, 1))
        assert error.value.code == "bad_ir"
    start, end = data.index(b'"memory":') + 9, data.index(b',"profile"')
    for memory in (b"{}", b"[]", b"null", b"1"):
        with pytest.raises(CoreError) as error:
            Program(data[:start] + memory + data[end:])
        assert error.value.code == "bad_ir"


# --- snapshots ---


def full_state() -> tuple[Program, RunState]:
    result = FormulaDefinition(Formerly(ResultEvent(leaf("result", ("x",), "eq", construct.reference("args", ["y"])))))
    bundle = program(memory=(COUNT, SUM, WINDOW, SHARED, AFTER, result), directory=DIRECTORY)
    state = RunState(bundle, task="ä task")
    state.share({name(SHARED): 2**80})
    for number in range(4):
        state.call(request("pay", {"amount": number + 0.1, "y": {"a": [1, None, True, 2.5, "x", 2**70]}}), f"p{number}")
        state.call(request("find", {"y": at(0)}), f"f{number}")
        if number % 2:
            state.result(f"f{number}", {"email": f"{number}@Example.com"}, at(number))
            state.next_reply()
    return bundle, state


def test_a_snapshot_is_the_state() -> None:
    bundle, state = full_state()
    other = RunState.load(bundle, state.dump())
    assert other.dump() == state.dump()
    assert other.task == "ä task"
    for known in (state, other):
        known.result("f0", {"email": "new"}, at(9))
        known.release("p3")
        known.next_reply()
    wanted = request("pay", {"amount": 1}, 9)
    assert other.values(wanted) == state.values(wanted)
    assert other.origins("new") == state.origins("new") != []
    assert other.dump() == state.dump()


def test_other_bytes_are_no_snapshot() -> None:
    bundle, state = full_state()
    data = state.dump()
    for end in range(len(data)):
        with pytest.raises(ValueError, match="not a snapshot"):
            RunState.load(bundle, data[:end])
    for place in range(0, len(data), 3):
        with pytest.raises(ValueError, match="not a snapshot"):
            RunState.load(bundle, data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
    with pytest.raises(ValueError, match="other definitions"):
        RunState.load(program(memory=(COUNT,)), data)
    with pytest.raises(ValueError, match="longer than"):
        RunState.load(bundle, bytes(64 * 2**20 + 1))


def test_a_forged_snapshot_is_refused_or_is_a_state() -> None:
    bundle, state = full_state()
    body = bytearray(state.dump()[:-32])
    random.seed(7)
    for _ in range(3000):
        forged = bytearray(body)
        for _ in range(random.randint(1, 4)):
            place = random.randrange(40, len(forged))
            forged[place : place + random.randint(0, 2)] = random.randbytes(random.randint(0, 3))
        try:
            other = RunState.load(bundle, bytes(forged) + hashlib.sha256(forged).digest())
        except ValueError:
            continue
        other.call(request("find", {"amount": 1}), "new")
        other.result("new", {"email": "z"}, at(9))
        other.next_reply()
        other.values(request("pay", {"amount": 1}))
        assert other.origins("z") in ([], [{"source": "directory", "tool": "find", "key": "new", "field": "email"}])
        assert RunState.load(bundle, other.dump()).dump() == other.dump()


# --- the interface ---


def test_a_state_belongs_to_its_definitions() -> None:
    bundle, other = program(memory=(COUNT,)), program(memory=(AFTER,))
    state = RunState(bundle)
    assert verdict(program(allow(PAY), memory=(COUNT,)), request("pay"), state) == "allow"
    for decide in (evaluate, explain):
        with pytest.raises(ValueError, match="other definitions"):
            decide(other, request("pay"), state=state)
        with pytest.raises(TypeError, match="RunState"):
            decide(bundle, request("pay"), state=3)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(TypeError, match="bundle"):
        RunState(3)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(TypeError, match="time zone"):
        state.failed("1", datetime(2026, 1, 1))  # wrong on purpose


def test_a_state_is_passed_by_position_and_by_name() -> None:
    bundle = program(allow(reads(COUNT, "eq", 1)), memory=(COUNT,))
    state, wanted = RunState(bundle), request("x")
    state.call(request("pay"), "1")
    decisions = [
        evaluate(bundle, wanted, state=state), evaluate(bundle, wanted, None, state),
        evaluate(bundle, wanted, None, state=state), evaluate(bundle=bundle, request=wanted, state=state),
        evaluate(bundle, wanted, context=wanted.context, state=state), bundle.evaluate(wanted, state=state),
        bundle.evaluate(wanted, wanted.context, state), bundle.evaluate(wanted, None, state=state),
    ]  # fmt: skip
    assert [decision.verdict.value for decision in decisions] == ["allow"] * 8
    for decision in (evaluate(bundle, wanted, state=None), evaluate(bundle, wanted, None, None)):
        assert "<rule_error:a:no_state>" in decision.matched_rules


def test_a_policy_without_memory_has_an_empty_state() -> None:
    bundle = program(allow(PAY))
    state = RunState(bundle, task="x")
    state.call(request("pay"), "1")
    state.result("other", 1, at(0))
    state.release("other")
    assert not bundle.remembers
    assert state.values(request("pay")) == {}
    assert verdict(bundle, request("pay"), state) == "allow"


class Curious(Mapping[str, Any]):
    """Arguments that use the state while it reads them."""

    def __init__(self, use: Any) -> None:
        self.use = use

    def __getitem__(self, key: str) -> Any:
        self.use()
        return 1

    def __iter__(self) -> Iterator[str]:
        return iter(["amount"])

    def __len__(self) -> int:
        return 1


def test_values_that_use_the_state_they_are_read_for_do_not_hang() -> None:
    bundle = program(memory=(SUM,))
    state = RunState(bundle)
    seen: list[str] = []

    def use() -> None:
        for action in (state.dump, state.next_reply, lambda: state.values(request("x"))):
            try:
                action()
            except RuntimeError as error:
                seen.append(str(error))

    class Odd:
        tool, declared, context = "pay", request("pay").declared, request("pay").context
        args = Curious(use)

    state.call(Odd(), "1")  # type: ignore[arg-type]  # a request by its attributes
    assert set(seen) == {"the state was used by the values it was reading"}
    assert state.values(request("x")) == {name(SUM): 1}


def test_threads_share_a_state() -> None:
    bundle = program(allow(reads(COUNT, "ge", 0)), memory=(COUNT, WINDOW), directory=DIRECTORY)
    state = RunState(bundle)

    def work(number: int) -> None:
        for step in range(200):
            key = f"{number} {step}"
            state.call(request("pay" if step % 2 else "find", {"amount": 1}), key)
            state.result(key, {"email": key}, at(0))
            state.next_reply()
            assert evaluate(bundle, request("x"), state=state).verdict.value == "allow"

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert state.values(request("x")) == {name(COUNT): 400, name(WINDOW): 400}
    assert RunState.load(bundle, state.dump()).origins("3 198") == state.origins("3 198") != []
