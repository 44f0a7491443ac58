"""The same calls, files and commands for whichever package is `lynx`: lynx-agent 2.11, or `bobcat.lynx` as it.

`python -m played_2_11 SEED COUNT DIRECTORY` prints one JSON line per played case. Chain files are written to DIRECTORY,
or verified if they are there.
"""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
import math
import sys
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import lynx
from click.testing import CliRunner
from lynx.cli.main import cli
from lynx.integrations import ToolGuard
from lynx.integrations.openai_agents import render_result
from lynx.proxy.mcp_proxy import GovernedProxy, ToolClassifier, build_toolset

from oracle.lynx_policies import NAMES, NUMBERS, STRINGS, policy

LARGE = [number for number in NUMBERS if abs(number) >= 2**63 and isinstance(number, int)]
TOOLS = ("a", "abc", "shell", "prod")
Events = list[Any]


def argument(rng: Random, depth: int = 2) -> Any:
    kind = rng.random()
    if depth and kind < 0.15:
        return [argument(rng, depth - 1) for _ in range(rng.randrange(3))]
    if depth and kind < 0.25:
        return {rng.choice(NAMES): argument(rng, depth - 1) for _ in range(rng.randrange(3))}
    return rng.choice([rng.choice(STRINGS), rng.choice(NUMBERS), True, False, None])


def tool_set(rng: Random) -> Any:
    made = []
    for name in TOOLS[:3]:

        async def run(**args: Any) -> Any:
            if args.get("x") == "abc":
                raise ValueError("the tool failed")
            return args

        declared = lynx.tool(
            name=name, cost=rng.choice(["low", "high"]), reversible=rng.random() < 0.5,
            scope=tuple(rng.sample(["a", "b", "fs:read"], rng.randrange(3))), isolation=rng.choice([None, "sandbox"]),
        )(run)  # fmt: skip
        if rng.random() < 0.5:

            @lynx.shadow(declared)
            async def preview(**args: Any) -> Any:
                return {"would": args}

        made.append(declared)
    return lynx.ToolSet.from_functions(*made)


def approver(rng: Random) -> Any:
    granted = rng.random() < 0.5

    async def answer(request: Any) -> Any:
        return lynx.ApprovalDecision(granted=granted, approver=next(iter(request.decision.approvers), "ops"))

    return rng.choice([None, answer, answer])


def shown_error(error: Any) -> Any:
    """The first line: the others are the frames of the package."""
    return error.partition("\n")[0] if isinstance(error, str) else error


def rendered(call: Any) -> Any:
    """The text for the model, with the keys of JSON in any order."""
    text = render_result(call)
    try:
        return json.loads(text)
    except ValueError:
        return text


def shown(events: Events) -> Any:
    return [[event.kind, event.bundle_id, {**event.body, "reason": shown_error(event.body.get("reason")),
             "error": shown_error(event.body.get("error")), "duration_ms": 0}] for event in events]  # fmt: skip


def compiled(rng: Random) -> Any:
    try:
        return lynx.compile_policy(policy(rng))
    except lynx.policy.PolicyCompileError:
        return None
    except Exception:  # lynx-agent refuses some policies by other exceptions
        return None


async def guarded(seed: int) -> Any:
    """Calls through `ToolGuard`."""
    rng = Random(seed)
    bundle, events = compiled(rng), Events()
    if bundle is None:
        return None

    async def sink(event: Any) -> None:
        events.append(event)

    guard = ToolGuard(
        tools=tool_set(rng), policy=bundle, principal=lynx.Principal("user", rng.choice(["a", "alice"])),
        environment=rng.choice(["dev", "prod"]), on_approval=approver(rng), sinks=(sink,), correlation_id="c",
    )  # fmt: skip
    calls = []
    for _ in range(4):
        args = {name: argument(rng) for name in NAMES if rng.random() < 0.6}
        extra = {"k": argument(rng)} if rng.random() < 0.5 else None
        call = await guard.check(rng.choice(TOOLS), args, extra=extra)
        decision, request = call.decision, call.request
        calls.append([
            str(decision.verdict), decision.reason, list(decision.matched_rules), list(decision.approvers),
            call.allowed, call.result.value, shown_error(call.result.error), rendered(call) if call.allowed else "",
            request.tool, dict(request.args), request.context.step_seq, dict(request.context.extra),
        ])  # fmt: skip
    return [bundle.id, calls, shown(events)]


async def proxied(seed: int) -> Any:
    """Calls through `GovernedProxy`."""
    rng = Random(seed)
    bundle, events, sent = compiled(rng), Events(), []
    if bundle is None:
        return None

    async def sink(event: Any) -> None:
        events.append(event)

    async def upstream(name: str, args: Any) -> Any:
        if args.get("x") == "abc":
            raise ValueError("the server failed")
        sent.append([name, dict(args)])
        return f"ran {name}"

    classify = ToolClassifier(reversible=rng.random() < 0.5, scope=("mcp:tool", rng.choice(["a", "b"])))
    proxy = GovernedProxy(
        policy=bundle, tools=build_toolset(TOOLS[:3], upstream, classify), sinks=(sink,), on_approval=approver(rng)
    )
    calls = []
    for _ in range(4):
        args = {name: argument(rng) for name in NAMES if rng.random() < 0.6}
        name = rng.choice(TOOLS[:3])
        done = await proxy.call(name, args)
        calls.append([done.verdict, done.result.ok, done.result.value, shown_error(done.result.error)])
    await proxy.call("unknown", {})
    known = [event for event in events if event.body["tool"] != "unknown"]
    return [calls, sent, shown(known)]


def event(rng: Random, seq: int) -> Any:
    body = {rng.choice(NAMES): argument(rng, 3) for _ in range(rng.randrange(4))}
    body["number"] = rng.choice([1.5e-7, 2**60, -0.0, 1e22, "\u2028é", True])
    at = datetime.fromtimestamp(rng.random() * 2e9, UTC)
    return lynx.AuditEvent(f"c{rng.random()}", "b", seq, rng.choice(["run.started", "x y"]), at, body)


def chained(seed: int, path: Path) -> str:
    """Write a chain file; return its text."""
    rng = Random(seed)
    with open(path, "w", encoding="utf-8") as file:
        sink = lynx.hash_chained_sink(file)

        async def write() -> None:
            for seq in range(5):
                await sink(event(rng, seq))

        asyncio.run(write())
    return path.read_text(encoding="utf-8")


def damaged(lines: list[bytes], rng: Random) -> Iterator[bytes]:
    """Variants of a file, as both packages judge them."""
    place = rng.randrange(len(lines))
    yield b"".join(lines)
    yield b"\n".join(lines) + b"\r\n \n"
    yield b"".join(lines[:place] + lines[place + 1 :])
    yield b"".join(lines[place:])
    yield b"".join(reversed(lines))
    yield b"".join([*lines, lines[place]])
    yield b"".join(lines)[:-3]
    edited = json.loads(lines[place])
    for name in ("seq", "body", "hash", "prev_hash"):
        changed = {**edited, name: rng.choice([None, 5, {"a": [math.nan]}, "00"])}
        yield b"".join([*lines[:place], json.dumps(changed).encode() + b"\n", *lines[place + 1 :]])
        missing = {key: value for key, value in edited.items() if key != name}
        yield b"".join([*lines[:place], json.dumps(missing).encode() + b"\n", *lines[place + 1 :]])
    for text in (b"[]", b"5", b"{", b'{"hash": 1}', b"null", b'"prev_hash hash"', b"\xef\xbb\xbf{}"):
        yield b"".join([*lines[:place], text + b"\n", *lines[place:]])
    yield b""
    yield b"\n\n"


def verified(path: Path, seed: int, where: Path) -> Any:
    """The verdict of the package, and the output of its command, on a file and on variants of it."""
    found = []
    lines = path.read_bytes().splitlines(keepends=True)
    for number, text in enumerate(damaged(lines, Random(seed))):
        variant = where / f"{path.stem}.{number}.variant"
        variant.write_bytes(text)
        result = lynx.verify_chain(str(variant))
        done = CliRunner().invoke(cli, ["verify", str(variant)])
        found.append([result.intact, result.lines, result.broken_at, result.reason, done.exit_code, done.output])
    return found


def commands(where: Path) -> Any:
    """The exit codes and outputs of the command line, where both packages have the same texts."""
    (where / "p.yaml").write_text("rules: [{id: r, match: {tool: shell}, decision: deny, description: d}]\n")
    answers = []
    for words in (["--version"], ["policy", "bundle-id", "p.yaml"], ["policy", "lint", "p.yaml"], ["verify", "none"],
                  ["verify"], ["policy", "lint", "none.yaml"]):  # fmt: skip
        done = CliRunner().invoke(
            cli, [str(where / word) if word in ("p.yaml", "none", "none.yaml") else word for word in words]
        )
        answers.append([words, done.exit_code, done.output])
    return answers


async def otel(seed: int) -> Any:
    """The spans of events."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    rng, exporter, provider = Random(seed), InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    sink = lynx.otel_sink(provider.get_tracer("t"))
    with provider.get_tracer("t").start_as_current_span("outer") as outer:
        for seq in range(5):
            made = event(rng, seq)
            # An integer of more than 64 bits is a text in `bobcat.lynx`.
            await sink(dataclasses.replace(made, body={k: v for k, v in made.body.items() if v not in LARGE}))
        parent = outer.get_span_context().span_id
    spans = [span for span in exporter.get_finished_spans() if span.name != "outer"]
    return [
        [span.name, round((span.start_time or 0) / 1000) // 10, span.start_time == span.end_time,
         span.parent is not None and span.parent.span_id == parent,
         sorted((name, repr(value)) for name, value in (span.attributes or {}).items())]
        for span in spans
    ]  # fmt: skip


async def run() -> Any:
    """The events of `run_agent`, whose budget is the default one."""
    buffer = io.StringIO()

    class Agent:
        async def step(self, conversation: Any) -> Any:
            return lynx.FinalAnswer("done") if len(conversation) > 1 else lynx.ToolCall("shell", {"x": 1})

    bundle = lynx.compile_policy("rules: [{id: r, match: {tool: shell}, decision: deny}]")
    for budget in ({}, {"budget": lynx.Budget.unlimited()}, {"budget": lynx.Budget(steps=3)}):
        await lynx.run_agent(
            Agent(), "t", tools=lynx.ToolSet(), policy=bundle, sinks=[lynx.jsonl_sink(buffer)], **budget
        )
    return [[line["kind"], line["bundle_id"], line["body"]] for line in map(json.loads, buffer.getvalue().splitlines())]


def main(seed: int, count: int, where: Path) -> None:
    def show(name: str, found: Any) -> None:
        print(json.dumps([name, found], default=repr))

    for number in range(seed, seed + count):
        show(f"guard {number}", asyncio.run(guarded(number)))
        show(f"proxy {number}", asyncio.run(proxied(number)))
    for number in range(seed, seed + max(3, count // 100)):
        path = where / f"{number}.chain"
        if not path.exists():
            show(f"chain {number}", chained(number, path))
        else:
            show(f"chain {number}", path.read_text(encoding="utf-8"))
        show(f"verify {number}", verified(path, number, where))
        show(f"otel {number}", asyncio.run(otel(number)))
    show("commands", commands(where))
    show("run", asyncio.run(run()))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
