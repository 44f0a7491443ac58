"""Every screen of Bobcat with a hole for untrusted text: what a person would see of it.

A row of `SCREENS` is a name and a function from a text, and an empty directory that is the current one, to what is
shown. A new screen is one more row. Rows named `bobcat ...` are commands; `test_screens` wants one for each.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import shlex
import signal
import sqlite3
import sys
import warnings
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

import bobcat
from bobcat import (
    ActionRequest,
    ApprovalRequest,
    Approvals,
    AuditEvent,
    Decision,
    ExecutionContext,
    Principal,
    StepRecord,
    ToolMetadata,
    Verdict,
    durable_approvals,
    stdout_sink,
    step_record_to_json,
)
from bobcat.adapters.mcp_pins_file import pin, write_servers
from bobcat.approvals import list_grants
from bobcat.approvals.prompting import Question
from bobcat.benchmark import Calls, bench
from bobcat.benchmark.page import page
from bobcat.benchmark.report import BenchmarkReport
from bobcat.cli.bench import _show as show_benchmark
from bobcat.cli.main import main
from bobcat.decision_log import open_log
from bobcat.lynx.cli.main import cli as lynx_cli
from bobcat.model.plain_fields import fields_to_json
from bobcat.sinks.fanout import Fanout
from bobcat.stores import SQLiteStore
from bobcat.testing.contract.report import ContractReport, Violation
from bobcat.testing.crashsim.report import Report as CrashReport
from bobcat.testing.crashsim.verdict import Row
from bobcat.triggers.model import FIRING_KIND, Firing, Trigger
from bobcat.workers.job import Job
from bobcat.workers.presence import WorkerInfo
from ui.console import served

Screen = Callable[[str], str]
TIME = datetime(2026, 1, 31, 12, tzinfo=UTC)
_NEWLINES = {ord("\n"): "n"}
"""A traceback is shown line by line, each behind a mark."""
STORE = "sqlite:///runs.db"


async def kept(values: Mapping[tuple[str, str], dict[str, Any]]) -> None:
    """Put new values into the store."""
    store = bobcat.SQLiteStore("runs.db")
    for (kind, id), value in values.items():
        await store.put(kind, id, value, expected=0)
    await store.aclose()


def triggered(*args: str) -> Callable[[str], str]:
    """The screen of `bobcat triggers` for a trigger whose texts are the given one."""

    def screen(text: str) -> str:
        trigger = Trigger("ID", text, {"x": text}, "cron", text, bobcat.Principal("agent", text), TIME)
        trigger = trigger.changed("withdrawn", TIME, reason=text)
        firing = Firing("ID", TIME, "skipped", reason=text)
        asyncio.run(kept({("trigger", "ID"): trigger.to_json(), (FIRING_KIND, "ID@1"): firing.to_json()}))
        given = (text or "ID" if arg == "TEXT" else arg for arg in args)
        return command("triggers", *given, "--store", STORE)

    return screen


def shown(work: Callable[[], object]) -> str:
    """The output of `work` on both streams, as a terminal without colours would get it."""
    kept = sys.stdin, sys.stdout, sys.stderr
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace", write_through=True)
    try:
        sys.stdin, sys.stdout, sys.stderr = io.StringIO(""), stream, stream
        with contextlib.suppress(SystemExit):
            work()
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined]  # the stream in memory behind it


def command(*args: str) -> str:
    """The output of `bobcat ARGS`."""
    return shown(lambda: main(list(args)))


def mcp_accept(text: str, *options: str) -> str:
    """Accept the definitions of a tool with `text` wherever it can be, which a proxy has refused."""
    name = text or "t"
    definition = {"name": name, "description": text, "inputSchema": {"type": "object", text: text}}
    write_servers(Path("pins.json"), {name: {name: pin({**definition, "title": "x"})}})
    write_servers(Path("pins.json.refused"), {name: {name: pin(definition), f"{name}2": pin(definition)}})
    return command("mcp", "accept", "--pins", "pins.json", *options)


def quoted(text: str) -> str:
    """`text` as a double-quoted string of YAML."""
    return '"' + "".join(c if c.isascii() and c.isalnum() else f"\\U{ord(c):08X}" for c in text) + '"'


def suite(text: str, more: str = "", *, expects: bool = True) -> str:
    """Write a suite that fails, with `text` wherever it can be; its name."""
    value = quoted(text)
    request = f"{{tool: pay, args: {{to: {value}, {quoted('x' + text)}: 1}}, context: {{extra: {{x: {value}}}}}}}"
    expect = f"verdict: deny, rule: {quoted('y' + text)}, reason_matches: '^$', error: {value}"
    expect = f"{{{expect}, args: {{to: {quoted(text + 'x')}}}}}"
    case = f"name: {quoted('x' + text)}, tags: [{value}], request: {request}"
    case = f"{{{case}, expect: {expect}}}" if expects else f"{{{case}}}"
    Path("x.policytest.yaml").write_text(f"{more}policy: {policy(text)}\ncases: [{case}]\n", encoding="utf-8")
    return "x.policytest.yaml"


def passing_suite(text: str) -> str:
    """Write a suite that passes, with `text` wherever it can be; its name."""
    name = suite(text, expects=False)
    command("test", name, "--update", "--yes")
    return name


def policy(text: str, decision: str = "deny") -> str:
    """Write a policy that says `text` wherever it can; its name."""
    said = quoted(text)
    id = said if text.strip() and text.isprintable() and not text.startswith("<") else "one"
    more = f", approvers: [{quoted('x' + text)}]" if decision == "approve_required" else ""
    rules = (
        f"{{id: {id}, description: {said}, match: {{tool: pay, args.to.eq: {said}}}, decision: allow, reason: {said}}}",
        f"{{match: {{tool: pay, args.to.starts_with: {said}}}, decision: {decision}, reason: {said}{more}}}",
        f"{{match: {{tool: change}}, decision: transform, transform: {{jsonpath: $.args.to, append: {said}}}}}",
    )
    Path("policy.yaml").write_text("rules:\n" + "".join(f"  - {rule}\n" for rule in rules), encoding="utf-8")
    return "policy.yaml"


def flawed(text: str) -> str:
    """Write a policy with a finding about `text`; its name."""
    path = Path(policy(text))
    path.write_text(f"{path.read_text()}predicates: {{{quoted(text)}: {{tool: t}}}}\n")
    return "policy.yaml"


def shadowed(text: str) -> str:
    """Write a policy with a rule about `text` that decides nothing; its name."""
    said = quoted(text)
    match = f"{{tool: pay, args.to.eq: {said}}}"
    Path("policy.yaml").write_text(
        f"rules:\n  - {{id: deny, match: {match}, decision: deny, reason: {said}}}\n"
        f"  - {{id: {quoted('x' + text)}, match: {match}, decision: allow}}\n"
        "  - {id: rest, match: {tool: pay}, decision: allow}\n"
    )
    return "policy.yaml"


def compared(*args: str) -> Screen:
    """`bobcat diff` of two policies that differ in a rule about the text."""

    def screen(text: str) -> str:
        Path(policy(text)).rename("old.yaml")
        return command("diff", "old.yaml", policy(text, "allow"), *args)

    return screen


def proved(text: str, *args: str) -> str:
    """`bobcat prove` of an invariant about the text, which a policy violates."""
    said = quoted(text)
    Path("invariants.yaml").write_text(
        f"invariants: [{{id: {quoted('x' + text)}, reason: {said}, never: {{tool: pay, args.to: {said}}}}}]\n"
    )
    return command("prove", policy(text), "invariants.yaml", *args)


def proposed(text: str) -> str:
    """`bobcat propose` of a rule about the text, beyond the envelope."""
    Path("max.yaml").write_text("rules: []\n")
    Path("base.yaml").write_text("rules: []\n")
    rule = f"{{id: {quoted('x' + text)}, match: {{tool: pay, args.to: {quoted(text)}}}, decision: allow}}"
    Path("rule.yaml").write_text(f"rules: [{rule}]\n")
    by = text.replace("\0", "") or "NAME"
    options = ("--policy", "base.yaml", "--envelope", "max.yaml", "--by", by, "--reason", by, "--store", STORE)
    return command("propose", "rule.yaml", *options)


def with_worker(*args: str) -> Screen:
    """`bobcat workers` on a store with a worker and a schedule whose texts are the given one."""

    def screen(text: str) -> str:
        said = text.replace("\0", "").encode(errors="ignore").decode()[:100] or "w"
        worker = WorkerInfo(said, said, 1, said, (said,), 1, 60.0, TIME, (said,))
        schedule = {"cron": said, "timezone": said, "next": said, "error": said}
        asyncio.run(kept({("worker.info", said): fields_to_json(worker), ("schedule", said): schedule}))
        return command("workers", *args, "--store", STORE)

    return screen


def older(text: str) -> str:
    """Write a policy of lynx-agent with `text` in what `bobcat migrate` changes and leaves; its name."""
    rule = f"{{verdict: deny, reason: {quoted(text)}, match: {{tool: [{quoted(text)}]}}, {quoted('x' + text)}: 1}}"
    Path("policy.yaml").write_text(f"rules:\n  - {rule}\n", encoding="utf-8")
    return "policy.yaml"


def request(text: str, tool: str = "pay") -> str:
    """Write a request with `text` in it; its name."""
    Path("request.json").write_text(json.dumps({"tool": tool, "args": {"to": text, text: [text]}}), encoding="utf-8")
    return "request.json"


def twice(text: str) -> str:
    """Write a request that has a key twice; its name."""
    key = json.dumps(text)
    Path("request.json").write_text(f'{{"tool": "t", "args": {{{key}: 1, {key}: 2}}}}', encoding="utf-8")
    return "request.json"


def asked(text: str, *, uncertain: bool = False) -> ApprovalRequest:
    """A question with `text` in every place."""
    context = ExecutionContext(Principal("user", text), text, ".", "c", 0, TIME)
    action = ActionRequest(text, {"to": text, text: [text]}, ToolMetadata("low", True, ()), context)
    decision = Decision(Verdict.APPROVE_REQUIRED, text, (text,), (f"x{text}",), approvals_needed=2)
    return ApprovalRequest(action, decision, text, text or "r", text, granted_by=(text,), uncertain=uncertain)


def stored(text: str, *, answered: bool = True) -> str:
    """Put a run, a job, an approval and a damaged one with `text` into a new store; the id of the approval."""
    Path("runs.db").unlink(missing_ok=True)

    async def fill() -> str:
        store = SQLiteStore("runs.db")
        pending = await durable_approvals(store, notify=_fails(text))(asked(text, uncertain=True))
        run_id = text or "r"
        await store.append(StepRecord(run_id, 0, "run.started", "", {"task": text, "bundle_id": text}, TIME))
        await store.set_status(run_id, "suspended", detail={"error": text, "approvals": [text]})
        job = Job(run_id, text, {text: text}, TIME, tenant=text, error=text)
        await store.put("job", run_id, job.to_json(), expected=0)
        await store.put("approval", "damaged", {"status": text}, expected=0)
        if not hasattr(pending, "approval"):
            raise AssertionError(pending)
        if answered:
            await Approvals(store).grant(pending.approval, approver=f"x{text}", reason=text, uncertain=True)
        await store.aclose()
        return str(pending.approval)

    return asyncio.run(fill())


def _fails(text: str) -> Any:
    async def notify(_: object) -> None:
        raise OSError(text)

    return notify


def journal(text: str) -> str:
    """Write a journal with `text` in every place; its name."""
    call = {"step": 0, "type": "tool_call", "tool": text, "args": {text: text}, "call_id": text}
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("run.started", {"task": text, "bundle_id": text}),
        ("model.output", call),
        ("approval.granted", {"step": 0, "tool": text, "args": {text: text}, "approver": text}),
        ("action.intent", {"step": 0, "tool": text, "verdict": "allow", "args": {text: text}}),
        ("run.failed", {"step": 0, "error": text}),
        ("run.resumed", {"bundle_id": text}),
        ("action.abandoned", {"step": 0, "tool": text, "reason": text, "intents": []}),
        (
            "action.result",
            {"step": 0, "tool": text, "verdict": text, "ok": False, "message": text, "duration_ms": text},
        ),
        ("handoff", {"hop": text, "node": text, "next": text, "status": text}),
        ("final", {"step": 1, "final_answer": text}),
    ]
    records = [
        StepRecord(text, seq, kind, text, body, TIME) for seq, (kind, body) in enumerate(bodies)
    ]  # fmt: skip
    Path("journal.jsonl").write_text("".join(step_record_to_json(record) + "\n" for record in records))
    return "journal.jsonl"


def audit(text: str) -> str:
    """Write the audit events of a run with `text` in every place, and a damaged one; its name."""

    class Agent:
        async def step(self, conversation: Any) -> Any:
            if len(conversation) == 1:
                return bobcat.ToolCall("pay", {"to": text})
            if len(conversation) == 3:
                return bobcat.ToolCall(text or "t", {text: text})
            return bobcat.FinalAnswer(text)

    @bobcat.tool()
    async def pay(to: str) -> str:
        raise ValueError(text)

    stream = io.StringIO()
    asyncio.run(
        bobcat.run_agent(
            Agent(), text, tools=bobcat.ToolSet.from_functions(pay),
            policy=bobcat.compile_policy(Path(policy(text)).read_text()), sinks=[bobcat.jsonl_sink(stream)],
            principal=Principal("user", text), environment=text,
        )
    )  # fmt: skip
    stream.write(json.dumps({"correlation_id": text, "kind": text}) + "\n")
    Path("audit.jsonl").write_text(stream.getvalue(), encoding="utf-8")
    return "audit.jsonl"


def lynx_journal(text: str) -> str:
    """As `journal`, of records that lynx-agent writes."""
    journal(text)
    return "journal.jsonl"


def lynx(*args: str) -> str:
    """The output of `lynx ARGS`."""
    return shown(lambda: lynx_cli.main(list(args), standalone_mode=True))


def script(text: str) -> str:
    """Write an agent script whose `main` fails with `text`; its name."""
    Path("agent.py").write_text(f"async def main():\n    raise ValueError({text!r}) from KeyError({text!r})\n")
    return "agent.py"


def named(text: str) -> str:
    """`text` as the name of a file that is not there."""
    return f"no{text}".replace("\0", "").replace("/", "")[:80]


@lru_cache(1)
def measured() -> BenchmarkReport:
    """A report of a benchmark; times are what differs between two of them."""
    calls = Calls.of([bobcat.request_from_json({"tool": "t"})])
    return bench(bobcat.compile_policy("rules: [{id: r, match: {tool: t}, decision: allow}]"), calls, seconds=0.02)


def benchmark(text: str) -> BenchmarkReport:
    """The report, with `text` in every place."""
    report, change = measured(), msgspec.structs.replace
    return change(
        report,
        subject=change(report.subject, policy=text, profile=text, source=text),
        machine=change(report.machine, python=text, processor=text),
        rules=[change(cost, rule=text) for cost in report.rules],
        clauses=[change(cost, clause=text, rule=text, place=text) for cost in report.clauses],
        slowest=[change(call, tool=text, rule=text, verdict=text) for call in report.slowest],
    )


def warned(text: str) -> str:
    """The warnings and the error of compiling."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            bobcat.compile_policy(
                f"rules: [{{id: r, match: {{tool: t, {quoted(text)}: 1}}, decision: {quoted(text)}}}]"
            )
        except ValueError as error:
            return str(error)
    return "\n".join(str(item.message) for item in found)


def failing_sink(text: str) -> str:
    """The run's report of a sink that fails."""

    async def sink(_: AuditEvent) -> None:
        raise ValueError(text)

    async def deliver() -> None:
        fanout = Fanout([sink], reporter="bobcat")
        await fanout.deliver(AuditEvent("c", "b", 0, "step.proposed", TIME, {}))
        await fanout.drain() if hasattr(fanout, "drain") else None

    return shown(lambda: asyncio.run(deliver()))


def logged(text: str) -> str:
    """A line of the log, with a traceback below it."""
    from bobcat.logs import log_to, logger, stop_logging

    stream = io.StringIO()
    handler = log_to(stream, "info")
    try:
        logger("tests").error("run %s: %s", text, text, exc_info=ValueError(text.translate(_NEWLINES)))
    finally:
        stop_logging(handler)
    return stream.getvalue()


def sink_line(text: str) -> str:
    """A line of `stdout_sink`."""
    event = AuditEvent(text, text, 0, "step.proposed", TIME, {text: text})
    return shown(lambda: asyncio.run(stdout_sink()(event)))  # type: ignore[arg-type]  # a coroutine


def explained(text: str) -> str:
    """An explanation as text."""
    made = json.loads(Path(request(text)).read_text())
    return bobcat.compile_policy(Path(policy(text)).read_text()).explain(bobcat.request_from_json(made)).to_text()


def crash_report(text: str) -> str:
    """A campaign of `crashsim` as text and as JSON."""
    row = Row("kill@1", (text,), text, text, (text,), (text,), (text,), (text,), (text,))
    report = CrashReport(text, 1, (row,), True)
    return f"{report.table()}\n{report}\n{report.faults_text(text)}\n{report.to_json()}"


def contract_report(text: str) -> str:
    """The report of a store's contract."""
    return str(ContractReport((), (("clause", text),), (Violation("clause", "demand", text),)))


def html(text: str) -> str:
    """The page of a benchmark."""
    return page(benchmark(text), text)


def with_store(*args: str, answered: bool = True) -> Screen:
    """A command on a store with the text in it; `ID` and `RUN` stand for its approval and its run."""

    def screen(text: str) -> str:
        text = text.replace("\0", "").encode()[:500].decode(errors="ignore") or "r"  # as long as a store's names
        id = stored(text, answered=answered)
        given = [{"ID": id, "RUN": text, "TEXT": text, "WHO": f"x{text}"}.get(a, a) for a in args]
        return command(*given, "--store", STORE)

    return screen


def watched(text: str) -> str:
    """The pages of `bobcat ui` on a store with the text in it."""
    text = text.replace("\0", "").encode()[:500].decode(errors="ignore") or "r"
    id = stored(text)

    async def pages() -> str:
        async with contextlib.aclosing(SQLiteStore("runs.db")) as store, served(store) as browser:
            alice = await browser.of("alice")
            paths = ("/runs", f"/run?id={quote(text, safe='')}", "/approvals?status=all", f"/approvals/{id}")
            return "".join([(await alice.get(path)).text for path in paths])

    return asyncio.run(pages())


def threaded(*args: str) -> Screen:
    """A command on a store with a thread; the text is its title, and `TEXT`; `ID` stands for it."""

    def screen(text: str) -> str:
        shown = text.replace("\0", "").encode(errors="ignore").decode() or "t"

        async def act() -> None:
            async with contextlib.aclosing(SQLiteStore("runs.db")) as store:
                at = (await store.now()).isoformat()
                body = {"title": shown, "archived": False, "created": at, "state": "live"}
                await store.put("thread", "t", body, expected=0)

        asyncio.run(act())
        given = [{"ID": "t", "TEXT": shown}.get(each, each) for each in args]
        return command("threads", *given, "--store", STORE)

    return screen


def purged(text: str) -> str:
    """`bobcat threads purge` on a store with a deleted thread whose id is the text."""
    shown = text.replace("\0", "").encode(errors="ignore").decode()[:100] or "t"

    async def act() -> None:
        async with contextlib.aclosing(SQLiteStore("runs.db")) as store:
            at = (await store.now()).isoformat()
            body = {"title": shown, "archived": False, "created": at, "state": "deleted", "deleted": at}
            await store.put("thread", shown, {**body, "kept_until": at}, expected=0)

    asyncio.run(act())
    return command("threads", "purge", "--store", STORE)


def undone(*args: str) -> Screen:
    """A command on an undo store with the text as the target and as the state; `ID` stands for the entry's id."""

    def screen(text: str) -> str:
        text = text.encode(errors="replace").decode()
        state = {"text": text}

        @bobcat.tool
        async def set_text(name: str) -> None:
            state["text"] = f"other {text}"

        @set_text.snapshot(target="name")
        async def read(args: Any) -> Any:
            return state["text"]

        @set_text.undo
        async def write(kept: Any, args: Any) -> None: ...

        async def act() -> str:
            async with bobcat.Undo("undo.db") as undo:
                protected = undo.protect(bobcat.ToolSet.from_functions(set_text))
                await protected.get("set_text").fn(name=text)
                return (await undo.entries())[0].id

        id = asyncio.run(act())
        Path("screen_tools.py").write_text(_UNDO_TOOLS)
        sys.modules.pop("screen_tools", None)
        if args[0] == "recover":  # as a process leaves it that has ended
            with contextlib.closing(sqlite3.connect("undo.db")) as connection, connection:
                connection.execute("UPDATE bobcat_undo_entries SET state = 'prepared', owner = '', updated = 0")
        options = () if args[0] == "list" else ("--tools", "screen_tools.py")
        return command("undo", *(id if a == "ID" else a for a in args), "--store", "undo.db", *options)

    return screen


_UNDO_TOOLS = """
from bobcat import tool

@tool
async def set_text(name: str) -> None: ...

@set_text.snapshot(target="name")
async def read(args):
    return args["name"]

@set_text.undo
async def write(kept, args):
    raise RuntimeError(args["name"])

tools = [set_text]
"""


def granted(*args: str) -> Screen:
    """A command on a store that holds a grant with the text in every place; `ID` stands for its id."""

    def screen(text: str) -> str:
        name = text.replace("\0", "").encode("utf-8", "replace")[:200].decode(errors="ignore") or "r"

        async def give() -> str:
            async with contextlib.aclosing(SQLiteStore("runs.db")) as store:
                await bobcat.StoredConfirmationGate(store, name=name).grant(name, scope=name, approver=name)
                return (await list_grants(store)).grants[0].id

        id = asyncio.run(give())
        return command(*({"ID": id}.get(a, a) for a in args), "--store", STORE)

    return screen


def submitted(text: str, *, tool: str = "pay", to: str | None = None, more: tuple[str, ...] = ()) -> str:
    """`bobcat submit` of a call of a tool that fails with the text, or is denied for it."""
    Path("text").write_bytes(text.encode("utf-8", "surrogatepass"))
    Path("tools.py").write_text(
        "from pathlib import Path\n"
        "def pay(to: str) -> str:\n"
        "    raise ValueError(Path('text').read_bytes().decode('utf-8', 'surrogatepass'))\n"
        "tools = [pay]\n"
    )
    args = json.dumps({"to": text if to is None else to})
    return command("submit", policy(text), "--tools", "tools.py", "--tool", tool, "--args", args, *more)


def spent(*args: str) -> Screen:
    """A command on a ledger with the text as the run and as the model."""

    def screen(text: str) -> str:
        name = text.encode(errors="replace").decode().replace("\0", "0")
        prices = bobcat.Prices.from_mapping({}, date="2026-10-24", default={"input": 1, "output": 1})

        async def act() -> None:
            async with bobcat.Ledger("ledger.db", prices=prices) as ledger:
                await ledger.reserve(model=name, input_tokens=5, run=name)

        asyncio.run(act())
        return command("spend", "ledger.db", *args)

    return screen


def decision_log(*args: str) -> Screen:
    """A command on a decision log with the text in every place."""

    def screen(text: str) -> str:
        said = text.encode("utf-8", "replace").decode()
        body = {
            "tool": said, "args": {said: said}, "reason": said, "matched_rules": [said], "verdict": said, "error": said,
            "principal": {"kind": said, "id": said}, "environment": said, "status": said, "value": said, "code": said,
            "diverged": [{"kind": said, "verdict": said, "matched_rules": [said], "bundle_id": said, "reason": said}],
        }  # fmt: skip
        with open_log("decisions.jsonl") as log:
            log.append("r", "decision", body)
            log.append("r", "outcome", body)
        return command("log", *args)

    return screen


def replayed(*args: str, name: str = "replay") -> Screen:
    """The replay, or the usage, of a decision log with the text in every place."""

    def screen(text: str) -> str:
        said = text.encode("utf-8", "replace").decode()
        body = {
            "tool": said, "args": {said: said}, "matched_rules": [said], "verdict": "deny",
            "principal": {"kind": said, "id": said}, "environment": said,
        }  # fmt: skip
        with open_log("decisions.jsonl") as log:
            log.append("r", "decision", body)
        Path("all.json").write_text('{"rules": [{"id": "all", "match": {}, "decision": "allow"}]}')
        return command(name, "decisions.jsonl", "--policy", "all.json", *args)

    return screen


def reported(*args: str) -> Screen:
    """The report on a policy with the text in a rule, its test and a recorded call."""

    def screen(text: str) -> str:
        said = text.encode("utf-8", "replace").decode()
        with open_log("decisions.jsonl") as log:
            log.append("r", "decision", {"tool": said, "args": {}, "matched_rules": [said], "verdict": "deny"})
        rule = {
            "id": "a",
            "description": said,
            "match": {"tool": "t", "args.x": said},
            "decision": "deny",
            "reason": said,
        }
        Path("all.json").write_text(json.dumps({"rules": [rule]}))
        return command("report", "all.json", "--log", "decisions.jsonl", "-o", "-", *args)

    return screen


def hook(text: str) -> str:
    """`bobcat hook` with a policy that is missing. It keeps its handlers of signals to the end of its process."""
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    try:
        return command("hook", "claude-code", "--policy", named(text))
    finally:
        for number, handler in handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


def installed(text: str) -> str:
    """Write settings with a hook that is missing and a policy of this name; the output of `bobcat doctor hooks`."""
    line = shlex.join(["/does/not/exist/bobcat-hook", "claude-code", "--policy", text])
    group = {"matcher": text, "hooks": [{"type": "command", "command": line, "onFailure": text, "if": text}]}
    Path(".claude").mkdir(exist_ok=True)
    Path(".claude/settings.json").write_text(json.dumps({"hooks": {"PreToolUse": [group]}}))
    return command("doctor", "hooks", "claude-code", "--project")


def imported(kind: str, source: str) -> str:
    """Write a file of permissions; the output of `bobcat import`."""
    Path("source").write_text(source, encoding="utf-8", errors="replace")
    return command("import", kind, "source")


def rule_lists(text: str) -> dict[str, Any]:
    """Permissions of Claude Code with `text` in every place."""
    rules = [text, f"Bash({text})", f"Bash({text}:*)", f"Read({text})", f"x({text})"]
    return {"deny": rules, "ask": rules, "allow": rules, "defaultMode": text, text: 1}


def toml(text: str) -> str:
    """`text` as a basic string of TOML."""
    return '"' + "".join(f"\\U{ord(c):08X}" for c in text if not 0xD800 <= ord(c) < 0xE000) + '"'


def to_install(text: str) -> str:
    """Write settings with this text in every place; the output of `bobcat install --dry-run`."""
    Path(".claude").mkdir(exist_ok=True)
    Path(".claude/settings.json").write_text(json.dumps({text: text, "x": [text]}, ensure_ascii=False), "utf-8")
    bobcat.Policy.compile("rules: []").save("policy.bobcat")
    return command("install", "claude-code", "--dry-run", "--", text)


SCREENS: dict[str, Screen] = {
    "bobcat init": lambda text: command("init", "--dir", named(text)),
    "bobcat check": lambda text: command("check", flawed(text)),
    "bobcat check --format json": lambda text: command("check", flawed(text), "--format", "json"),
    "bobcat check --format sarif": lambda text: command("check", flawed(text), "--format", "sarif"),
    "bobcat check of an unknown word": lambda text: command("check", policy(text, decision=quoted(text))),
    "bobcat check of a missing file": lambda text: command("check", named(text)),
    "bobcat compile": lambda text: command("compile", policy(text), "-o", f"{named(text)}.bundle"),
    "bobcat inspect": lambda text: command("inspect", policy(text)),
    "bobcat inspect --ir": lambda text: command("inspect", policy(text), "--ir"),
    "bobcat inspect --format json": lambda text: command("inspect", policy(text), "--format", "json", "--ir"),
    "bobcat test": lambda text: command("test", suite(text), "-v"),
    "bobcat test --format json": lambda text: command("test", suite(text), "--format", "json"),
    "bobcat test --format github": lambda text: command("test", suite(text), "--format", "github"),
    "bobcat test --junit": lambda text: command("test", suite(text), "--junit", "-"),
    "bobcat test --coverage": lambda text: command("test", suite(text), "--coverage"),
    "bobcat test --coverage html": lambda text: command("test", suite(text), "--coverage", "html", "-o", "-"),
    "bobcat mutate": lambda text: command("mutate", passing_suite(text), "-v"),
    "bobcat mutate --format json": lambda text: command("mutate", passing_suite(text), "--format", "json"),
    "bobcat mutate of a failing suite": lambda text: command("mutate", suite(text)),
    "bobcat test --update": lambda text: command("test", suite(text, expects=False), "--update", "--yes"),
    "bobcat test of a suite with errors": lambda text: command(
        "test", suite(text, more="x: 1\n" + quoted(text) + ": 1\n")
    ),
    "bobcat test of a missing file": lambda text: command("test", named(text)),
    "bobcat eval": lambda text: command("eval", policy(text), request(text)),
    "bobcat eval, approvers": lambda text: command("eval", policy(text, "approve_required"), request(text + "x")),
    "bobcat eval, new arguments": lambda text: command("eval", policy(text), request(text, "change")),
    "bobcat eval --format json": lambda text: command("eval", policy(text), request(text), "--format", "json"),
    "bobcat eval of no request": lambda text: command("eval", policy(text), twice(text)),
    "bobcat explain": lambda text: command("explain", policy(text), request(text), "--all"),
    "bobcat explain --format json": lambda text: command("explain", policy(text), request(text), "--format", "json"),
    "bobcat diff": compared(),
    "bobcat diff --format json": compared("--format", "json"),
    "bobcat diff --format sarif": compared("--format", "sarif"),
    "bobcat diff --format markdown": compared("--format", "markdown"),
    "bobcat can": lambda text: command(
        "can", shadowed(text), "--verdict", "deny", "--when", f"args.to: {quoted(text)}"
    ),
    "bobcat can --format json": lambda text: command(
        "can", shadowed(text), "--verdict", "deny", "--when", f"args.to: {quoted(text)}", "--format", "json"
    ),
    "bobcat trace-can": lambda text: command("trace-can", shadowed(text), "--verdict", "deny", "--tool", "pay"),
    "bobcat trace-can --format json": lambda text: command(
        "trace-can", shadowed(text), "--verdict", "deny", "--tool", "pay", "--format", "json"
    ),
    "bobcat dead": lambda text: command("dead", shadowed(text)),
    "bobcat dead --format json": lambda text: command("dead", shadowed(text), "--format", "json"),
    "bobcat holes": lambda text: command("holes", shadowed(text)),
    "bobcat holes --format json": lambda text: command("holes", shadowed(text), "--format", "json"),
    "bobcat surface": lambda text: command("surface", policy(text)),
    "bobcat surface --format json": lambda text: command("surface", policy(text), "--format", "json"),
    "bobcat prove": proved,
    "bobcat prove --format json": lambda text: proved(text, "--format", "json"),
    "bobcat propose": proposed,
    "bobcat bundle-id": lambda text: command("bundle-id", named(text)),
    "bobcat fmt": lambda text: command("fmt", named(text)),
    "bobcat fmt --diff": lambda text: command("fmt", policy(text), "--diff"),
    "bobcat migrate": lambda text: command("migrate", older(text), "--profile", "lynx", "--diff"),
    "bobcat migrate --format json": lambda text: command(
        "migrate", older(text), "--profile", "lynx", "--format", "json"
    ),
    "bobcat doctor": lambda text: command("doctor", policy(text)),
    "bobcat doctor hooks": installed,
    "bobcat import": lambda text: imported("claude", json.dumps({"permissions": rule_lists(text)})),
    "bobcat import gemini": lambda text: imported("gemini", f"[[rule]]\ntoolName = {toml(text)}\ndecision = 'deny'\n"),
    "bobcat import codex": lambda text: imported("codex", f"prefix_rule(pattern=[{text or 'a'!r}], decision='prompt')"),
    "bobcat install": to_install,
    "bobcat install of no policy": lambda text: command("install", "codex", "--policy", named(text)),
    "bobcat bench": lambda text: shown(lambda: show_benchmark(benchmark(text))),
    "bobcat bench of no policy": lambda text: command("bench", named(text)),
    "bobcat run": lambda text: command("run", script(text)),
    "bobcat trace": lambda text: command("trace", journal(text)),
    "bobcat trace --full": lambda text: command("trace", journal(text), "--full"),
    "bobcat trace --format json": lambda text: command("trace", journal(text), "--format", "json"),
    "bobcat trace of another run": lambda text: command("trace", journal(text), "--run-id", f"not {named(text)}"),
    "bobcat log": lambda text: command("log", audit(text)),
    "bobcat log --full": lambda text: command("log", audit(text), "--full"),
    "bobcat log --format json": lambda text: command("log", audit(text), "--format", "json"),
    "bobcat log --decide-again": lambda text: command("log", audit(text), "--decide-again", policy(text + "x")),
    "bobcat log of decisions": decision_log("decisions.jsonl"),
    "bobcat log of decisions --entries": decision_log("decisions.jsonl", "--entries"),
    "bobcat log of decisions --format json": decision_log("decisions.jsonl", "--format", "json"),
    "bobcat log --diverged": decision_log("decisions.jsonl", "--diverged"),
    "bobcat log --diverged --format json": decision_log("decisions.jsonl", "--diverged", "--format", "json"),
    "bobcat log verify": lambda text: command("log", "verify", named(text)),
    "bobcat replay": replayed(),
    "bobcat replay --format json": replayed("--format", "json"),
    "bobcat replay of a damaged log": lambda text: command("replay", audit(text), "--policy", policy(text + "x")),
    "bobcat report": reported(),
    "bobcat report --format json": reported("--format", "json"),
    "bobcat usage": replayed(name="usage"),
    "bobcat usage --format json": replayed("--format", "json", name="usage"),
    "bobcat submit": lambda text: submitted(text),
    "bobcat submit of a denied call": lambda text: submitted(text, to=text + "x"),
    "bobcat submit of an unknown tool": lambda text: submitted(text, tool=text.replace("\0", "") or "t"),
    "bobcat submit in a session without a store": lambda text: submitted(text, more=("--session", text or "s")),
    "bobcat submit --format json": lambda text: submitted(text, more=("--format", "json")),
    "bobcat serve": lambda text: command("serve", named(text), "--insecure"),
    "bobcat bundle pull": lambda text: command("bundle", "pull", named(text), "-o", "x", "--trust", "0" * 64),
    "bobcat bundle push": lambda text: command("bundle", "push", named(text), "x"),
    "bobcat bundle status": lambda text: command("bundle", "status", named(text)),
    "bobcat bundle serve": lambda text: command("bundle", "serve", named(text)),
    "bobcat proxy": lambda text: command("proxy", "--policy", named(text), "--", "/none"),
    "bobcat proxy of a server that cannot be started": lambda text: command(
        "proxy", "--policy", policy(text), "--", f"/{named(text)}"
    ),
    "bobcat mcp accept": lambda text: mcp_accept(text),
    "bobcat mcp accept --format json": lambda text: mcp_accept(text, "--format", "json"),
    "bobcat mcp accept of another server": lambda text: mcp_accept(text, "--server", f"not {named(text)}"),
    "bobcat hook": hook,
    "bobcat grants list": granted("grants", "list"),
    "bobcat grants list --format json": granted("grants", "list", "--format", "json"),
    "bobcat grants revoke": granted("grants", "revoke", "ID"),
    "bobcat grants revoke of an unknown id": lambda text: granted("grants", "revoke", named(text))(text),
    "bobcat approvals list": with_store("approvals", "list", "--status", "all"),
    "bobcat approvals show": with_store("approvals", "show", "ID"),
    "bobcat approvals show --format json": with_store("approvals", "show", "ID", "--format", "json"),
    "bobcat approvals grant": with_store(
        "approvals", "grant", "ID", "--approver", "WHO", "--uncertain", answered=False
    ),
    "bobcat approvals grant by another one": with_store("approvals", "grant", "ID", "--approver", "x", "--uncertain"),
    "bobcat approvals deny": with_store("approvals", "deny", "ID", "--approver", "WHO", "--reason", "TEXT"),
    "bobcat store show": lambda text: command("store", "show", "--store", f"sqlite:///{named(text)}"),
    "bobcat store mark-restored": lambda text: command("store", "mark-restored", "--store", f"file:{named(text)}"),
    "bobcat undo list": undone("list"),
    "bobcat undo show": undone("show", "ID"),
    "bobcat undo apply": undone("apply", "ID"),
    "bobcat undo apply --force": undone("apply", "ID", "--force"),
    "bobcat undo recover": undone("recover"),
    "bobcat triggers list": triggered("list"),
    "bobcat triggers show": triggered("show", "ID"),
    "bobcat triggers delete": triggered("delete", "ID"),
    "bobcat triggers pause": triggered("pause", "TEXT"),
    "bobcat triggers resume": triggered("resume", "TEXT"),
    "bobcat triggers withdraw": triggered("withdraw", "TEXT"),
    "bobcat triggers events": triggered("events", "ID"),
    "bobcat triggers history": triggered("history", "ID"),
    "bobcat triggers confirm": lambda text: command(
        "triggers", "confirm", text or "ID", "--store", STORE, "--app", text or "app.py", "--by", text or "NAME"
    ),
    "bobcat spend": spent("--by", "run"),
    "bobcat spend --unsettled": spent("--unsettled"),
    "bobcat spend --release": lambda text: spent("--release", named(text))(text),
    "bobcat threads list": threaded("list"),
    "bobcat threads show": threaded("show", "ID"),
    "bobcat threads show of an unknown one": threaded("show", "TEXT"),
    "bobcat threads rename": threaded("rename", "ID", "TEXT"),
    "bobcat threads archive": threaded("archive", "ID"),
    "bobcat threads unarchive": threaded("unarchive", "ID"),
    "bobcat threads delete": threaded("delete", "ID"),
    "bobcat threads restore": threaded("restore", "ID"),
    "bobcat threads purge": purged,
    "bobcat threads export": threaded("export", "ID", "TEXT"),
    "bobcat threads import": threaded("import", "TEXT"),
    "bobcat runs list": with_store("runs", "list"),
    "bobcat runs show": with_store("runs", "show", "RUN"),
    "bobcat runs show --format json": with_store("runs", "show", "RUN", "--format", "json"),
    "bobcat runs queue": with_store("runs", "queue", "TEXT", "--run-id", "RUN"),
    "bobcat runs resume": with_store("runs", "resume", "RUN"),
    "bobcat runs cancel": with_store("runs", "cancel", "RUN", "--reason", "TEXT"),
    "bobcat runs retry": with_store("runs", "retry", "RUN"),
    "bobcat runs delete": with_store("runs", "delete", "RUN"),
    "bobcat runs prune": with_store("runs", "prune", "--status", "suspended", "--older", "0s", "--yes"),
    "bobcat runs backup": lambda text: with_store("runs", "backup", f"{named(text)}/x")(text),
    "bobcat runs restore": lambda text: with_store("runs", "restore", named(text))(text),
    "bobcat workers list": with_worker("list"),
    "bobcat workers list --format json": with_worker("list", "--format", "json"),
    "bobcat workers schedules": with_worker("schedules"),
    "bobcat workers schedules --format json": with_worker("schedules", "--format", "json"),
    "bobcat ui": lambda text: command("ui", named(text)),
    "bobcat ui pages": watched,
    "bobcat worker": lambda text: command("worker", named(text), "--store", STORE),
    "bobcat policy": lambda text: command("policy", "lint", flawed(text)),
    "bobcat packs list": lambda text: command("packs", "list", named(text)),
    "bobcat packs show": lambda text: command("packs", "show", named(text)),
    "bobcat schema": lambda text: command("schema", "-o", f"{named(text)}/schema.json"),
    "bobcat completion": lambda text: command("completion", named(text)),
    "bobcat, an unknown command": lambda text: command(named(text)),
    "the prompt": lambda text: Question(asked(text, uncertain=True)).prompt(),
    "the pages of the prompt": lambda text: "\n".join(Question(asked(text)).pages()),
    "warnings and errors of compile_policy": warned,
    "Explanation.to_text": explained,
    "the page of a benchmark": html,
    "the report of crashsim": crash_report,
    "the report of a contract": contract_report,
    "stdout_sink": sink_line,
    "a failing sink": failing_sink,
    "a log line": logged,
    "lynx init": lambda text: lynx("init", "--dir", named(text)),
    "lynx trace": lambda text: lynx("trace", lynx_journal(text)),
    "lynx policy lint": lambda text: lynx("policy", "lint", policy(text)),
    "lynx policy bundle-id": lambda text: lynx("policy", "bundle-id", named(text)),
}
SLOW = {"bobcat doctor"}
