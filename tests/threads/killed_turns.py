"""Kills a client's process at an await of Bobcat's code, starts it again, and says what differs from one never killed.

A program of its own, which forks: `python killed_turns.py STORE LEDGER DIRECTORY WORKLOAD POINTS` prints a line of JSON
for each point: `12` kills at the 12th await, `12+7` the next process at its 7th, too. `*3/50` is every 50th point from
the third on, `spread/5` five of them, `effect` the moments after each effect, `lines` the first and the last time of
each line of code that awaits. A point is the beginning of a
coroutine of Bobcat, of the agent or of a tool, its end, its suspension and its resumption; the process ends by SIGKILL,
so no `finally` runs. STORE and LEDGER are URLs.
"""

from __future__ import annotations

import asyncio
import dis
import inspect
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import bobcat
from bobcat import Approvals, Thread
from bobcat.stores.urls import open_store
from threads.canonical_events import asked_again, canonical
from threads.killed_agent import DATE, POLICY, PRICES, USAGE, Scripted, World, tools
from threads.turn_workloads import BROKEN, WORKLOADS, Talk, Workload, ledger_at

ROOTS = (str(Path(bobcat.__file__).parent), str(Path(__file__).parent / "killed_agent.py"))
_ASYNC = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_YIELD, _RESUME = dis.opmap["YIELD_VALUE"], dis.opmap["RESUME"]
PATIENCE = 300
"""Seconds after which a process counts as hung."""
WORST_USD = PRICES.of("small").worst(500, 100)
USD = PRICES.of("small").cost(USAGE)


class Countdown:
    """Counts awaits from `arm` on, and kills the process at number `at`, or after effect `eN`; 0 never does."""

    def __init__(self, at: str, world: World) -> None:
        self._at, self._world = at, world
        self._effects = 0
        self._before = ""
        self._codes: dict[CodeType, bytes] = {}
        self.count = 0
        self.lines: dict[str, list[int]] = {}
        """The first and the last point of each line."""

    def arm(self) -> None:
        sys.setprofile(self._on_event)

    def _on_event(self, frame: FrameType, event: str, arg: object) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_flags & _ASYNC or not code.co_filename.startswith(ROOTS):
            return
        before, self._before = self._before, self._kind(frame, event)
        if self._before == before and before in ("suspended", "resumed"):
            return  # the same moment, one frame further out or in
        self.count += 1
        if self._at == "0":
            line = f"{code.co_filename}:{frame.f_lineno} {self._before}"
            self.lines.setdefault(line, [self.count, self.count])[1] = self.count
        elif str(self.count) == self._at:
            place = f"{Path(code.co_filename).name}:{frame.f_lineno} {code.co_qualname}"
            self._kill(place, self._before)

    def count_effect(self) -> None:
        self._effects += 1
        if f"e{self._effects}" == self._at:
            self._kill("after an effect")

    def _kill(self, *place: str) -> None:
        self._world.note("killed", self._at, *place)
        os.kill(os.getpid(), signal.SIGKILL)

    def _kind(self, frame: FrameType, event: str) -> str:
        code = self._codes.setdefault(frame.f_code, b"") or frame.f_code.co_code
        self._codes[frame.f_code] = code
        op, number = code[frame.f_lasti], code[frame.f_lasti + 1]
        if event == "return":
            return "suspended" if op == _YIELD else "ended"
        return "resumed" if op == _RESUME and number & 3 else "begun"


async def converse(workload: Workload, place: str, ledger: str, id: str, world: World, countdown: Countdown) -> None:
    async with ledger_at(ledger) as opened:
        talk = Talk(place, id, world, countdown.arm)
        talk.ledger = opened
        await workload.client(talk)


def in_child(work: Callable[[], object]) -> int:
    """Run `work` in a fork, and return how it ended, as `os.waitstatus_to_exitcode` does."""
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(PATIENCE)
            work()
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Case:
    """One workload in one place."""

    def __init__(self, place: str, ledger: str, directory: Path, name: str) -> None:
        self.place, self.ledger, self.directory, self.name = place, ledger, directory, name
        self.workload = {**WORKLOADS, **BROKEN}[name]
        world, _ = self.talk("undisturbed", [])
        self.points = int(world.lines("points")[-1][0])
        self.lines: list[int] = world.lines("lines")[-1][0]
        self.effects = len(world.lines("effect"))
        self.expected = self.result("undisturbed")

    def talk(self, id: str, kills: Sequence[str]) -> tuple[World, list[int]]:
        """Let clients talk until one is not killed; return how each ended."""
        world = World(self.directory / f"{self.name}-{id}")
        exits = []
        for at in [*kills, "0"]:
            countdown = Countdown(at, world)

            def work(countdown: Countdown = countdown) -> None:
                world.on_effect = countdown.count_effect
                asyncio.run(converse(self.workload, self.place, self.ledger, f"{self.name}-{id}", world, countdown))
                sys.setprofile(None)
                world.note("points", countdown.count)
                world.note("lines", sorted({point for both in countdown.lines.values() for point in both}))

            exits.append(in_child(work))
            if exits[-1] != -signal.SIGKILL:
                break
        return world, exits

    def result(self, id: str) -> dict[str, Any]:
        """What is left in the store, read by another process."""
        path = self.directory / f"{self.name}-{id}.result"
        in_child(lambda: path.write_text(json.dumps(asyncio.run(self._read(f"{self.name}-{id}")))))
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    async def _read(self, id: str) -> dict[str, Any]:
        store = open_store(self.place)
        world = World(self.directory / id)
        thread = Thread(store, id, agent=Scripted(world, streams=True), tools=tools(world), policy=POLICY)
        events = [event async for event in thread.events()]
        messages = [[each.role, DATE.sub("", each.content), each.name] for each in await thread.messages()]
        questions = [each.id for each in (await Approvals(store).list_all(status=None)).approvals if id in each.run_id]
        since = len(events) // 2
        later = [repr(event) async for event in thread.events(since=since)]
        await store.aclose()
        async with ledger_at(self.ledger) as ledger:
            (balance,) = await ledger.balances(thread=id)
        return {
            "events": [[each.seq, repr(each)] for each in events], "later": later, "since": since,
            "canonical": canonical(events), "again": len(asked_again(events)),
            "messages": messages, "questions": questions,
            "spent": balance.spent, "reserved": balance.reserved,
        }  # fmt: skip

    def check(self, point: str) -> Iterator[str]:
        """Kill at a point, continue, and yield what is wrong."""
        world, exits = self.talk(point, point.split("+"))
        if exits[-1] != 0:
            yield f"the last process ended with {exits[-1]}"
            return
        found = self.result(point)
        killed = len(exits) - 1
        yield from self.check_events(world, found)
        yield from self.check_effects(world, killed)
        yield from self.check_model(world, found, killed)
        # A grant is for one attempt: where the killed one had begun, a person is asked about the next.
        if len(found["questions"]) != self.workload.questions + found["again"]:
            yield f"{len(found['questions'])} questions"

    def check_events(self, world: World, found: dict[str, Any]) -> Iterator[str]:
        events = found["events"]
        if [seq for seq, _ in events] != list(range(1, len(events) + 1)):
            yield "the numbers of events have a gap"
        if [text for _, text in events[found["since"] :]] != found["later"]:
            yield "events(since=) differs from the whole"
        for seq, text in world.lines("seen"):
            if events[seq - 1] != [seq, text]:
                yield f"event {seq} was seen as {text} and is {events[seq - 1 : seq]}"
        differs = self.workload.differs
        both = [[each for each in which["canonical"] if each[0] not in differs] for which in (found, self.expected)]
        if both[0] != both[1]:
            first = next(
                (pair for pair in zip(*both, strict=False) if pair[0] != pair[1]), (len(both[0]), len(both[1]))
            )
            yield f"the events differ: {first}"
        if not differs and found["messages"] != self.expected["messages"]:
            yield "the messages differ"

    def check_effects(self, world: World, killed: int) -> Iterator[str]:
        effects = [f"{name} {what}" for name, what, *_ in world.lines("effect")]
        if len(set(effects)) != len(effects):
            yield f"an effect is doubled: {effects}"
        if set(effects) - set(self.workload.effects):
            yield f"an effect too many: {effects}"
        if not self.workload.at_most_once and list(dict.fromkeys(effects)) != list(self.workload.effects):
            yield f"an effect is lost, or out of order: {effects}"

    def check_model(self, world: World, found: dict[str, Any], killed: int) -> Iterator[str]:
        calls = world.lines("model")
        usual = World(self.directory / f"{self.name}-undisturbed").lines("model")
        again = len(calls) - len(usual)
        if not 0 <= again <= killed:
            yield f"{again} model calls more than without a kill"
        steps = dict.fromkeys(map(tuple, calls))
        if not self.workload.at_most_once and list(steps) != list(dict.fromkeys(map(tuple, usual))):
            yield "a model call saw another conversation, or came out of order"
        replies = sum(each[0] == "ThreadUsage" for each in found["canonical"])
        unpaid = len(calls) * USD - found["spent"]
        held, odd = divmod(found["reserved"], WORST_USD)
        spent, fraction = divmod(found["spent"], USD)
        waiting = sum("wait" in text for text, *_ in usual)
        if odd or fraction or held > killed + waiting or spent < replies or spent + held < len(calls):
            yield f"{spent} calls are paid, {held} reserved, {len(calls)} were made ({unpaid}), {replies} replied"

    def chosen(self, points: str) -> list[str]:
        """The points of an argument."""
        first, _, step = points.partition("/")
        if first == "effect":
            return [f"e{number}" for number in range(1, self.effects + 1)]
        if first == "lines":
            return list(map(str, self.lines))
        if first == "spread":
            size = self.points // int(step)
            return [str(each) for each in range(size // 2, self.points, size)]
        if not first.startswith("*"):
            return [points]
        begin = int(first[1:] or 1)
        return [str(each) for each in range(begin, self.points + 1, int(step or 1))]


def main(place: str, ledger: str, directory: str, name: str, points: Sequence[str]) -> None:
    case = Case(place, ledger, Path(directory), name)
    print(json.dumps(["points", case.points]), flush=True)
    for point in (found for each in points for found in case.chosen(each)):
        problems = list(case.check(point))
        places = World(Path(directory) / f"{name}-{point}").lines("killed")
        print(json.dumps(["killed", point, places, problems]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:5], sys.argv[5:])  # type: ignore[call-arg]
