"""Scenarios for rules that remember: generated policies, tools, replies and faults, for simulated workers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

from bobcat import (
    ApprovalDecision,
    ApprovalRequest,
    FinalAnswer,
    Happened,
    MemoryStore,
    Message,
    NotHappened,
    Policy,
    SQLiteStore,
    ToolCall,
    ToolSet,
    Unknown,
    tool,
)
from bobcat.testing import crashsim
from bobcat.testing.crashsim.schedule import FaultSchedule
from oracle.memory_journal import Rules
from oracle.memory_reading import SOURCES
from property.memory_conditions import NAMES, TOOLS, conditions, results

EFFECTS = ("none", "idempotent", "keyed", "unsafe", "reconciled")
ANSWERS = ("grant", "grant", "refuse")
Json = Any  # Any: conditions, arguments and results as plain data


@dataclass(frozen=True)
class World:
    """A generated policy, its tools and what they return, and the replies of the agent."""

    rules: Rules
    effects: Mapping[str, str]
    ends: Sequence[Json]
    """What calls return, chosen by their arguments; None for a tool that fails."""
    replies: Sequence[Sequence[tuple[str, dict[str, Json], int]]]
    """The calls of each reply, and the seconds that each one takes."""
    pause: int
    """The seconds that the agent thinks."""
    faults: FaultSchedule
    lease: int
    on_disk: bool

    @property
    def policy(self) -> Policy:
        """The policy, compiled; the same text is compiled once."""
        return _compiled(json.dumps(self.rules))

    def store(self, stage: crashsim.Stage) -> MemoryStore | SQLiteStore:
        if self.on_disk:
            return SQLiteStore(stage.directory / "runs.db", clock=stage.clock, busy_seconds=0.01)
        return MemoryStore(clock=stage.clock)

    def index(self, tool: str, args: Mapping[str, Json]) -> int:
        """A number that the call has in every attempt."""
        return TOOLS.index(tool) + NAMES.index(args["to"]) + int(args["n"])

    def end(self, tool: str, args: Mapping[str, Json]) -> Json:
        """What the call returns; raises for one that fails."""
        found = self.ends[self.index(tool, args) % len(self.ends)]
        if found is None:
            raise RuntimeError("the tool failed")
        return found

    async def answer(self, question: ApprovalRequest) -> ApprovalDecision:
        """Grant or refuse, by the call."""
        request = question.request
        granted = ANSWERS[self.index(request.tool, request.args) % len(ANSWERS)] == "grant"
        return ApprovalDecision(granted, "alice", "no")

    def tools(self, stage: crashsim.Stage) -> ToolSet:
        return ToolSet.from_functions(*(self._tool(stage, name) for name in TOOLS))

    def _tool(self, stage: crashsim.Stage, name: str) -> Any:  # Any: a decorated function
        effect = self.effects[name]
        seconds = {(call, str(args)): time for reply in self.replies for call, args, time in reply}

        async def act(to: str, n: int, who: dict[str, str]) -> Json:
            args = {"to": to, "n": n, "who": who}
            await asyncio.sleep(seconds[name, str(args)])
            stage.world.happen(name, f"{to} {n}")
            return self.end(name, args)

        async def act_keyed(to: str, n: int, who: dict[str, str], idempotency_key: str) -> Json:
            return await act(to, n, who)

        declared: Any = {"reconciled": "unsafe"}.get(effect, effect)
        made = tool(effect=declared, name=name)(act_keyed if effect == "keyed" else act)

        @made.shadow  # type: ignore[attr-defined,untyped-decorator]
        async def preview(to: str, n: int, who: dict[str, str]) -> str:
            return "preview"

        if effect == "reconciled":

            @made.reconcile  # type: ignore[attr-defined,untyped-decorator]
            async def ask(key: str, args: Mapping[str, Json]) -> Happened | NotHappened | Unknown:
                if not stage.world.happened(name, f"{args['to']} {args['n']}"):
                    return NotHappened()
                found = self.ends[self.index(name, args) % len(self.ends)]
                return Unknown() if found is None else Happened(found)

        return made


class Talker:
    """An agent that makes the replies of a world."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def step(self, conversation: Sequence[Message]) -> tuple[ToolCall, ...] | FinalAnswer:
        await asyncio.sleep(self.world.pause)
        made = sum(message.role == "tool" for message in conversation)
        for reply in self.world.replies:
            if made < len(reply):
                return tuple(ToolCall(name, args) for name, args, _ in reply)
            made -= len(reply)
        return FinalAnswer("done")


@cache
def _compiled(rules: str) -> Policy:
    texts: list[Json] = []
    for number, (match, negated, verdict) in enumerate(json.loads(rules)):
        texts.append({"id": f"rule-{number}", "match": {"not": match} if negated else match, "decision": verdict})
    texts.append({"id": "rest", "match": {}, "decision": "allow"})
    return Policy.compile(json.dumps({"sources": SOURCES, "rules": texts}))


def _reads_code(rules: Rules) -> bool:
    return "result.code" in json.dumps(rules)


calls = st.builds(
    lambda name, to, n, seconds: (name, {"to": to, "n": n, "who": {"to": to}}, seconds),
    st.sampled_from(TOOLS),
    st.sampled_from(NAMES),
    st.integers(0, 2),
    st.sampled_from([0, 0, 1, 15]),
)
kills = st.lists(st.integers(2, 90), min_size=1, max_size=3).map(lambda at: FaultSchedule("kill", tuple(at)))
stops = st.tuples(st.integers(2, 90), st.integers(2, 90)).map(lambda at: FaultSchedule("stop", at))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A policy of one to three rules, two to four replies of one to three calls, and the faults of the workers."""
    verdicts = st.sampled_from(["deny", "approve_required", "dry_run", "allow"])
    rules = draw(st.lists(st.tuples(conditions, st.booleans(), verdicts), min_size=1, max_size=3))
    kinds = results if not _reads_code(rules) else results.filter(lambda value: isinstance(value, dict))
    return World(
        rules,
        draw(st.fixed_dictionaries({name: st.sampled_from(EFFECTS) for name in TOOLS})),
        draw(st.lists(st.one_of(st.none(), kinds, kinds, kinds), min_size=1, max_size=5)),
        draw(st.lists(st.lists(calls, min_size=1, max_size=3), min_size=2, max_size=4)),
        draw(st.sampled_from([0, 1, 7])),
        draw(st.one_of(st.just(FaultSchedule()), kills, kills, stops)),
        draw(st.sampled_from([5, 12, 30])),
        draw(st.sampled_from([False, False, True])),
    )
