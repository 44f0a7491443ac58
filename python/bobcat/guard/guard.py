"""`Guard`: the policy in front of every tool call of a loop of one's own.

    async with Guard(policy, [read_file, write_file], log="decisions.db") as guard:
        outcome = await guard.submit("write_file", {"path": "a", "content": "x"})
        outcome.raise_for_status()

A submission is a run of one call: the machine that executes it, its journal, its approvals and its idempotency are
those of `run_agent`.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

import msgspec

from bobcat.aio.cancel import CancelSignal
from bobcat.aio.closing import Closing
from bobcat.approvals import ApprovalHandler, auto_deny, durable_approvals
from bobcat.bundle import Policy
from bobcat.bundle.current import PolicyHolder, current_policy, narrowed_policy
from bobcat.decision_log import DecisionLog, open_log, redaction_key
from bobcat.decision_log.redaction import parse_path
from bobcat.executors import Executor
from bobcat.guard.caps import Caps
from bobcat.guard.memory import GuardMemory
from bobcat.guard.outcome import Outcome
from bobcat.guard.portal import Portal
from bobcat.guard.recorder import Recorder, Redaction
from bobcat.guard.submission import decide, submit
from bobcat.guard.tools import Function, executed_by, guarded, tool_of, tool_set
from bobcat.journal.index import JournalIndex, index_journal
from bobcat.model.decision import Principal
from bobcat.model.run import Budget, ToolCall, ToolDef
from bobcat.runtime.arguments import check_actors, check_surroundings
from bobcat.runtime.candidate import candidate_of
from bobcat.runtime.compat import DEFAULTS
from bobcat.runtime.extra import Extra
from bobcat.runtime.lease import DEFAULT_LEASE_SECONDS
from bobcat.runtime.obligations import Handlers, checked_handlers
from bobcat.runtime.options import Options, checked
from bobcat.sinks import AnySink
from bobcat.stores import MemoryStore
from bobcat.stores.protocol import DurableStore
from bobcat.stores.urls import open_store
from bobcat.text.json_text import format_exception, json_digest, json_text
from bobcat.tools.toolset import ToolSet

T = TypeVar("T")
Args = Mapping[str, Any]  # Any: arguments of any call

NO_APPROVAL = "no on_approval handler, and no durable store that could wait for an answer"
_UNLIMITED = Budget.unlimited()
ANONYMOUS = Principal("user", "anonymous")
_KEY_DIGITS = 32
_KEYED = re.compile(rf"key-[0-9a-f]{{{_KEY_DIGITS}}}")


class Guard(Closing):
    """Takes tool calls through a policy to their outcomes; `docs/how-to/guard-a-loop.md` has examples.

    Each submission is decided by one policy: `policy`, or of a `ReloadingPolicy` the one in force when it begins.
    `tools` is a `ToolSet` or a sequence of functions, synchronous or async, with `@tool` or without. `log` is the
    decision log: a path (SQLite, or JSONL for `.jsonl`), a URL as `--store` takes, or an open `DecisionLog`; a log that
    cannot be written means that nothing runs. `store` keeps submissions that wait or were interrupted; a `DurableStore`
    or a URL, by default the memory of this process. `on_approval` answers approvals; without it they wait in a durable
    store, and are refused otherwise. `principal`, `environment`, `workspace` and `extra` are what rules read as
    `context`. `budget` limits the guard: `steps` submissions, `duration_seconds` since it was made,
    `step_timeout_seconds` for each submission, `max_repeated_calls` in a row. `redact` names paths such as `args.card`
    whose values the log keeps as keyed digests; `redact_key` is the key, by default that of the file beside the log.

    `task` are the user's own words, which rules read as `context.task`. A policy with rules that remember
    (`docs/reference/memory.md`) remembers the submissions of one `session`: by default of this guard alone; guards with
    the same session, store, policy and task remember together, in any number of processes and over restarts. Rules that
    count over a `session` or a `tenant` read the one given here, or else the text of this name in `extra`.

    `candidate` is a policy that decides each submission beside `policy`, without an effect: where its decision differs,
    the log has `diverged`, and the sinks get `policy.diverged`. Its rules may remember what `policy` does, and nothing
    else.

    `obligations` are the handlers of the obligations of rules, by name (`docs/reference/obligations.md`). A submission
    whose obligation before the effect has no handler, or fails, is `denied`, with the code `obligation_unknown` or
    `obligation_failed`.

    `narrow_with` is a policy that can only make the decisions of `policy` stricter, as its last layer (`run`), and
    those of the candidate (`docs/reference/layers.md`).

    Every method that is async has a twin with `_sync` for synchronous callers, which is safe in any thread but that of
    the event loop which uses the guard. `with` and `async with` close the guard; a store that was given as an object
    stays open.

    Raises `TypeError` and `ValueError` for invalid arguments, `BundleError` for policies that cannot be layers of one,
    `DecisionLogError` and `StoreError` for a log or a store that cannot be opened.
    """

    def __init__(
        self,
        policy: Policy | PolicyHolder,
        tools: ToolSet | Iterable[Function] = (),
        *,
        log: str | os.PathLike[str] | DecisionLog | None = None,
        store: DurableStore | str | None = None,
        on_approval: ApprovalHandler | None = None,
        principal: Principal = ANONYMOUS,
        environment: str = "dev",
        workspace: str = ".",
        extra: Extra | None = None,
        budget: Budget = _UNLIMITED,
        executor: Executor | None = None,
        sinks: Sequence[AnySink] = (),
        cancel: CancelSignal | None = None,
        clock: Callable[[], datetime] | None = None,
        lease_seconds: float = DEFAULT_LEASE_SECONDS,
        redact: Sequence[str] = (),
        redact_key: bytes | None = None,
        task: str | None = None,
        session: str | None = None,
        tenant: str | None = None,
        candidate: Policy | None = None,
        obligations: Handlers | None = None,
        narrow_with: Policy | None = None,
    ) -> None:
        if isinstance(redact, str):
            raise TypeError(f"redact must be a sequence of paths, got the string {redact!r}; write [{redact!r}]")
        check_surroundings(
            sinks=sinks, principal=principal, environment=environment, store=None, executor=executor, cancel=cancel
        )
        check_actors(_Anything(), on_approval=on_approval, budget=budget)
        policy = narrowed_policy(policy, narrow_with)
        self._tools = tool_set(tools)
        self._caps = Caps(budget)
        self._own_store = isinstance(store, str)
        self._temporary = store is None
        self._store = self._opened_store(store)
        self._options = Options(
            tools=self._tools,
            policy=current_policy(policy),
            sinks=sinks,
            on_approval=on_approval if on_approval is not None else self._default_approvals(),
            principal=principal,
            environment=environment,
            workspace=workspace,
            extra=extra,
            executor=executor,
            cancel=cancel,
            clock=clock,
            store=self._store,
            run_id="guard",
            lease_seconds=lease_seconds,
            user_task=task,
            task_is_users=False,
            candidate=candidate_of(current_policy(policy), candidate, narrow_with),
            obligations=checked_handlers(obligations),
        )
        checked(self._options, DEFAULTS)
        for name, text in (("task", task), ("session", session), ("tenant", tenant)):
            if text is not None and (not isinstance(text, str) or not text):
                raise TypeError(f"{name} must be a non-empty string, got {text!r}")
        self._policy = policy
        shared = None if store is None else self._store
        self._memory = GuardMemory(self._store, shared, task=task, session=session, tenant=tenant)
        self._own_log = not isinstance(log, DecisionLog)
        self._log = log if isinstance(log, DecisionLog) or log is None else open_log(log)
        self._redaction = self._redaction_of(log, tuple(redact), redact_key)
        self._busy: dict[str, tuple[asyncio.Lock, int]] = {}
        """The lock of each record in progress, and the number of its users."""
        self._portal: Portal | None = None
        self._closed = False

    # Submitting.

    async def submit(
        self,
        tool: str,
        args: Args,
        *,
        key: str | None = None,
        principal: Principal | None = None,
        environment: str | None = None,
        extra: Extra | None = None,
        on_approval: ApprovalHandler | None = None,
        run: Function | ToolDef | None = None,
    ) -> Outcome:
        """Decide a call, and execute it if the policy permits; return the outcome. Faults of tools are outcomes, too.

        `key` makes the submission idempotent: another one with the same key and principal, in this process or after a
        restart on the same store, returns the recorded outcome, and never executes twice. A key that was used for
        another call is `invalid`. `principal`, `environment`, `extra` and `on_approval` replace those of the guard.
        `run` is a function that executes the call in place of the guard's tool, for a framework that has the tools:
        it gets the effective arguments by name. Where the guard has no tool of the name, any arguments fit; a `ToolDef`
        in place of the function declares them.

        Raises `TypeError` for a `tool` or `key` that is not a string, `TypeError` and `ValueError` for invalid `extra`,
        and `RuntimeError` for a closed guard.
        """
        self._check_call(tool, key)
        options = self._for_call(self._replaced(principal, environment, extra, on_approval), tool, run)
        return await self._here(self._submit(tool, args, key, options))

    async def refuse(
        self, tool: str, args: Args, *, reason: str, code: str = "refused", principal: Principal | None = None
    ) -> Outcome:
        """Record a call as denied for a `reason` of the caller's own, without asking the policy; return the outcome.

        For a call that must not be submitted, such as that of a tool whose definition has changed. Raises as `submit`.
        """
        self._check_call(tool, None)
        return await self._here(self._refuse(tool, args, reason, code, self._replaced(principal, None, None)))

    def submit_sync(self, tool: str, args: Args, **options: Any) -> Outcome:  # Any: the keywords of `submit`
        """`submit` for synchronous callers."""
        return self._wait(self.submit(tool, args, **options))

    async def check(
        self,
        tool: str,
        args: Args,
        *,
        principal: Principal | None = None,
        environment: str | None = None,
        extra: Extra | None = None,
        run: Function | ToolDef | None = None,
    ) -> Outcome:
        """Decide a call without executing or recording anything.

        The status is what `submit` could answer at best: `ok`, `denied`, `previewed`, `waiting`, `unknown` or
        `invalid`. The outcome has no `record_id`. The keywords are those of `submit`.
        """
        self._check_call(tool, None)
        options = self._for_call(self._replaced(principal, environment, extra), tool, run)
        memory = self._memory.of(options.policy, uuid4().hex)
        return await self._here(decide(ToolCall(tool, args), _with(options, store=None, run_id=None, memory=memory)))

    def check_sync(self, tool: str, args: Args, **options: Any) -> Outcome:  # Any: the keywords of `check`
        """`check` for synchronous callers."""
        return self._wait(self.check(tool, args, **options))

    async def resume(
        self,
        record_id: str,
        *,
        environment: str | None = None,
        extra: Extra | None = None,
        on_approval: ApprovalHandler | None = None,
        run: Function | ToolDef | None = None,
    ) -> Outcome:
        """Continue a submission that waits or is uncertain; return its outcome, recorded before or new.

        An open approval is asked again, an uncertain action is resolved by its effect class and its reconciler. A
        submission that was made with `run` needs it again. Raises `LookupError` for an unknown record.
        """
        if not isinstance(record_id, str):
            raise TypeError(f"record_id must be a string, got {type(record_id).__name__}")
        return await self._here(self._resume(record_id, self._replaced(None, environment, extra, on_approval), run))

    def resume_sync(self, record_id: str, **options: Any) -> Outcome:  # Any: the keywords of `resume`
        """`resume` for synchronous callers."""
        return self._wait(self.resume(record_id, **options))

    # Tools.

    def tool(self, fn: Function | None = None, /, **declared: Any) -> Any:  # Any: the keywords of `bobcat.tool`
        """Add a function to the tools; its calls are submitted: `@guard.tool`, or `@guard.tool(effect="idempotent")`.

        A call returns the tool's value, and raises as `Outcome.raise_for_status` does.
        """

        def decorate(fn: Function) -> Function:
            definition = tool_of(fn, **declared)
            self._tools = self._tools.with_tool(definition)
            return guarded(definition, fn, self.submit, self.submit_sync)

        return decorate if fn is None else decorate(fn)

    def tools(self, prefix: str = "") -> dict[str, Function]:
        """Return the tools whose names begin with `prefix`, as async functions whose calls are submitted."""
        found = {name: each for name, each in self._tools.tools.items() if name.startswith(prefix)}
        return {name: guarded(each, each.fn, self.submit, self.submit_sync) for name, each in sorted(found.items())}

    # Opening and closing.

    async def __aenter__(self) -> Self:
        self._home()
        return self

    def __enter__(self) -> Self:
        self._portal_for_threads()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def aclose(self) -> None:
        """Close the log, and a store that was opened from a URL. Closing twice does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._own_store:
            close = getattr(self._store, "aclose", None)
            if close is not None:
                await close()
        if self._log is not None and self._own_log:
            await asyncio.to_thread(self._log.close)

    def close(self) -> None:
        """`aclose` for synchronous callers; ends the guard's own event loop."""
        portal = self._portal_for_threads()
        portal.call(self.aclose())
        portal.close()

    # Inner parts.

    async def _submit(self, tool: str, args: Args, key: str | None, options: Options) -> Outcome:
        call, about = ToolCall(tool, args), self._about(tool, options)
        record_id = uuid4().hex
        if key is not None:
            about["key"] = key
            record_id = keyed_record_id(key, options.principal)
        refusal = self._caps.count(tool, args)
        if refusal is not None:
            record_id = uuid4().hex
            outcome = Outcome("denied", record_id, tool, error=refusal, code="budget_exhausted")
            return await self._recorded(outcome, about)
        async with self._alone(record_id):
            if key is not None:
                try:
                    earlier = _call_in(await self._journal(record_id))
                except Exception as error:
                    outcome = Outcome("failed", uuid4().hex, tool, error=_unreadable(error), code="store_failed")
                    return await self._recorded(outcome, about)
                if earlier is not None and not _same(earlier, call):
                    text = f"key {key!r} was used for another call, of `{earlier.tool}`"
                    outcome = Outcome("invalid", uuid4().hex, tool, error=text, code="key_reused")
                    return await self._recorded(outcome, about)
            return await self._driven(call, record_id, options, self._recorder(record_id, about))

    async def _refuse(self, tool: str, args: Args, reason: str, code: str, options: Options) -> Outcome:
        outcome = Outcome("denied", uuid4().hex, tool, args, error=reason, code=code)
        return await self._recorded(outcome, self._about(tool, options))

    async def _resume(self, record_id: str, options: Options, run: Function | ToolDef | None) -> Outcome:
        async with self._alone(record_id):
            try:
                journal = await self._journal(record_id)
            except Exception as error:
                return Outcome("failed", record_id, "", error=_unreadable(error), code="store_failed")
            call = _call_in(journal)
            if call is None:
                raise LookupError(f"no submission {record_id!r} in the store")
            options = _with(options, principal=_principal_in(journal, options.principal))
            options = self._for_call(options, call.tool, run)
            recorder = self._recorder(record_id, self._about(call.tool, options), resumes=True)
            return await self._driven(call, record_id, options, recorder)

    async def _journal(self, record_id: str) -> JournalIndex:
        return index_journal(await self._store.load(record_id))

    async def _driven(self, call: ToolCall, record_id: str, options: Options, recorder: Recorder) -> Outcome:
        budget = Budget(duration_seconds=self._caps.seconds(), steps=2)  # the call, and the answer with its outcome
        memory = self._memory.of(options.policy, record_id)
        options = _with(options, budget=budget, run_id=record_id, memory=memory)
        outcome = await submit(call, record_id, options, recorder)
        if self._temporary and not _KEYED.fullmatch(record_id) and outcome.status not in ("waiting", "uncertain"):
            self._forget(record_id)
        return outcome

    async def _recorded(self, outcome: Outcome, about: dict[str, Any]) -> Outcome:
        """Record the outcome of a call that is not driven."""
        problem = await self._recorder(outcome.record_id, about).outcome(outcome)
        return outcome if problem is None else _with_log_error(outcome, problem)

    def _recorder(self, record_id: str, about: dict[str, Any], *, resumes: bool = False) -> Recorder:
        return Recorder(
            self._log, record_id, about, self._redaction, resumes=resumes, overtaken=self._overtaken_since_now()
        )

    def _overtaken_since_now(self) -> Callable[[], bool]:
        """Return a function that is true once a lease which begins now may have ended, and be another process's.

        A clock that was set back counts as well.
        """
        clock = self._options.clock or _utc_now
        began, margin = clock(), timedelta(seconds=self._options.lease_seconds / 2)
        return lambda: abs(clock() - began) >= margin

    def _about(self, tool: str, options: Options) -> dict[str, Any]:
        """The fields of every entry of a submission that has a decision."""
        principal = {"kind": options.principal.kind, "id": options.principal.id}
        return {
            "tool": tool,
            "principal": principal,
            "environment": options.environment,
            "bundle_id": options.policy.id,
        }

    def _for_call(self, options: Options, tool: str, run: Function | ToolDef | None) -> Options:
        """The options of one run, with only the tool that is called: a run is bound to its tools."""
        known = self._tools.tools.get(tool)
        if run is not None:
            known = executed_by(run, tool, known)
        return _with(options, tools=ToolSet({} if known is None else {tool: known}))

    @asynccontextmanager
    async def _alone(self, record_id: str) -> AsyncIterator[None]:
        """One submission of a record at a time in this process; the store's lease orders processes."""
        lock, users = self._busy.get(record_id) or (asyncio.Lock(), 0)
        self._busy[record_id] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            lock, users = self._busy.pop(record_id)
            if users > 1:
                self._busy[record_id] = lock, users - 1

    def _forget(self, record_id: str) -> None:
        if isinstance(self._store, MemoryStore):
            self._store.forget(record_id)

    def _replaced(
        self,
        principal: Principal | None,
        environment: str | None,
        extra: Extra | None,
        on_approval: ApprovalHandler | None = None,
    ) -> Options:
        """The options of one submission, which sees the policy that is in force now."""
        given = {"principal": principal, "environment": environment, "extra": extra, "on_approval": on_approval}
        replaced = {name: value for name, value in given.items() if value is not None}
        return _with(self._options, policy=current_policy(self._policy), **replaced)

    def _check_call(self, tool: object, key: object) -> None:
        if not isinstance(tool, str):
            raise TypeError(f"tool must be the name of a tool, got {type(tool).__name__}")
        if key is not None and (not isinstance(key, str) or not key):
            raise TypeError(f"key must be a non-empty string, got {key!r}")
        if self._closed:
            raise RuntimeError("the guard is closed")

    async def _here(self, work: Coroutine[Any, Any, T]) -> T:  # Any: the types of a coroutine that nothing is sent to
        """Run `work` in the event loop of the guard."""
        home = self._home()
        if home is asyncio.get_running_loop():
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, home))

    def _home(self) -> asyncio.AbstractEventLoop:
        """The event loop of the guard: the one that used it first, as long as it is open."""
        if self._portal is None or self._portal.loop.is_closed():
            self._portal = Portal(asyncio.get_running_loop())
        return self._portal.loop

    def _portal_for_threads(self) -> Portal:
        if self._portal is None or self._portal.loop.is_closed():
            self._portal = Portal()
        return self._portal

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:  # Any: as above
        return self._portal_for_threads().call(work)

    def _opened_store(self, store: object) -> DurableStore:
        if store is None:
            return MemoryStore()
        if isinstance(store, str):
            return open_store(store)
        if not isinstance(store, DurableStore):
            hint = f"; write {store.__name__}(...)" if isinstance(store, type) else ""
            raise TypeError(f"store must be a DurableStore, such as SQLiteStore(...), or a URL, got {store!r}{hint}")
        return store

    def _default_approvals(self) -> ApprovalHandler:
        return auto_deny(NO_APPROVAL) if isinstance(self._store, MemoryStore) else durable_approvals(self._store)

    def _redaction_of(self, log: object, paths: tuple[str, ...], key: bytes | None) -> Redaction | None:
        if not paths:
            return None
        if log is None:
            raise ValueError("redact needs a log")
        if key is None:
            if not isinstance(log, str | os.PathLike):
                raise ValueError("redact needs redact_key where the log is not a path")
            key = redaction_key(log)
        proposed = [f"proposed_{path}" for path in paths if parse_path(path)[0] == "args"]
        return Redaction((*paths, *proposed), key)


def keyed_record_id(key: str, principal: Principal) -> str:
    """The record id of the submissions with this key by this principal."""
    return f"key-{json_digest([key, principal.kind, principal.id])[:_KEY_DIGITS]}"


def _utc_now() -> datetime:
    return datetime.now(UTC)


class _Anything:
    """Stands for an agent where the arguments of a run are checked."""

    def step(self, _: object) -> None:
        """Do nothing."""


def _call_in(journal: JournalIndex) -> ToolCall | None:
    """The call that a submission's journal has, or None."""
    reply = journal.replies.get(0)
    if reply is None or reply.get("type") != "tool_call":
        return None
    return ToolCall(reply["tool"], reply.get("args", {}))


def _principal_in(journal: JournalIndex, default: Principal) -> Principal:
    """The principal that a submission was made by."""
    kind, found, name = str((journal.binding or {}).get("principal", "")).partition(":")
    if not found or (kind, name) == (default.kind, default.id):
        return default
    return Principal(kind, name)  # type: ignore[arg-type]  # the kind as its run recorded it


def _unreadable(error: Exception) -> str:
    return f"the store cannot be read: {format_exception(error)}"


def _same(one: ToolCall, other: ToolCall) -> bool:
    return one.tool == other.tool and json_text(one.args) == json_text(other.args)


def _with(options: Options, **changed: Any) -> Options:  # Any: fields of the options
    return msgspec.structs.replace(options, **changed)


def _with_log_error(outcome: Outcome, problem: str) -> Outcome:
    return replace(outcome, status="failed", error=problem, code="log_failed", log_error=problem)
