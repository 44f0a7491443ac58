"""What commands about runs, stores, logs and hooks show of an untrusted text: rows of `screens`."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import shlex
import signal
import sqlite3
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

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
from bobcat.approvals import list_grants
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
from policy_screens import _NEWLINES, STORE, TIME, Screen, command, named, policy, shown
from ui.console import served


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


def with_worker(*args: str) -> Screen:
    """`bobcat workers` on a store with a worker and a schedule whose texts are the given one."""

    def screen(text: str) -> str:
        said = text.replace("\0", "").encode(errors="ignore").decode()[:100] or "w"
        worker = WorkerInfo(said, said, 1, said, (said,), 1, 60.0, TIME, (said,))
        schedule = {"cron": said, "timezone": said, "next": said, "error": said}
        asyncio.run(kept({("worker.info", said): fields_to_json(worker), ("schedule", said): schedule}))
        return command("workers", *args, "--store", STORE)

    return screen


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


def crash_report(text: str) -> str:
    """A campaign of `crashsim` as text and as JSON."""
    row = Row("kill@1", (text,), text, text, (text,), (text,), (text,), (text,), (text,))
    report = CrashReport(text, 1, (row,), True)
    return f"{report.table()}\n{report}\n{report.faults_text(text)}\n{report.to_json()}"


def contract_report(text: str) -> str:
    """The report of a store's contract."""
    return str(ContractReport((), (("clause", text),), (Violation("clause", "demand", text),)))


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


def to_install(text: str) -> str:
    """Write settings with this text in every place; the output of `bobcat install --dry-run`."""
    Path(".claude").mkdir(exist_ok=True)
    Path(".claude/settings.json").write_text(json.dumps({text: text, "x": [text]}, ensure_ascii=False), "utf-8")
    bobcat.Policy.compile("rules: []").save("policy.bobcat")
    return command("install", "claude-code", "--dry-run", "--", text)
