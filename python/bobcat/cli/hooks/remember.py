"""The session of a hook's call: its state before the decision, and the record of the call before the answer.

The core reads and writes the file, for the native hook, too (`rust/session`); this module gives it the texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bobcat._core import HookSession, RunState, session_directory
from bobcat.bundle import Policy
from bobcat.cli.hooks.call import Call, HookError, Host
from bobcat.cli.hooks.call_result import CallResult, UserTask
from bobcat.cli.hooks.exact import is_exact
from bobcat.model.decision import ActionRequest, Decision
from bobcat.pdp import evaluate
from bobcat.runtime.mediator import effective_args
from bobcat.text.json_text import json_text

_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


@dataclass(frozen=True, slots=True)
class Remembering:
    """A call with the session that it belongs to; `session` is None if the policy does not read one."""

    policy: Policy
    call: Call
    session: HookSession | None

    def decide(self, request: ActionRequest) -> Decision:
        """Decide on the call, or on the same one with other arguments."""
        if self.session is None:
            return evaluate(self.policy, request)
        principal = request.context.principal
        try:
            self.session.share(principal.kind, principal.id, request.context.timestamp.astimezone(UTC).strftime(_TIME))
        except ValueError as error:
            raise HookError(str(error)) from error
        state = self.session.state
        decided = evaluate(self.policy, self.with_task(request), state=state)
        try:
            repaired = self.session.repair()
        except ValueError as error:
            raise HookError(str(error)) from error
        return self.decide(request) if repaired else decided

    @property
    def state(self) -> RunState | None:
        """The state of the session; None without one."""
        return None if self.session is None else self.session.state

    def with_task(self, request: ActionRequest) -> ActionRequest:
        """Return the request with the user's last words, where the policy reads its session."""
        if self.session is None:
            return request
        return replace(request, context=replace(request.context, task=self.session.state.task))

    def record(self, decision: Decision) -> None:
        """Record the call, which may run as decided. Raises `HookError`."""
        if self.session is None or not self.policy.remembers:
            return
        request = self.call.request
        args = effective_args(request, decision)
        if not is_exact(args):
            raise HookError("the arguments have no exact JSON form: the call cannot be recorded")
        text = json_text(args)
        try:
            self.session.call(json_text(_data(request, args)), id=self.call.id, tool=request.tool, args=text)
        except ValueError as error:
            raise HookError(str(error)) from error


@contextmanager
def remembering(policy: Policy, call: Call, directory: Path | None) -> Iterator[Remembering]:
    """Hold the session of a call until it is answered. Raises `HookError`."""
    session = _opened(policy, call.host, call.session, directory)
    try:
        yield Remembering(policy, call, session)
    finally:
        if session is not None:
            session.close()


def record_result(policy: Policy, result: CallResult, directory: Path | None) -> None:
    """Record the result of a call, for a policy that remembers. Raises `HookError`."""
    session = _opened(policy, result.host, result.session, directory) if policy.remembers else None
    if session is not None:
        at = datetime.now(UTC).strftime(_TIME)
        try:
            session.result(
                id=result.id, tool=result.tool, args=result.args, value=result.value, failed=result.failed, at=at
            )
        except ValueError as error:
            raise HookError(str(error)) from error
        finally:
            session.close()


def record_task(policy: Policy, task: UserTask, directory: Path | None) -> None:
    """Record the user's words, for a policy that reads them or remembers. Raises `HookError`."""
    session = _opened(policy, task.host, task.session, directory)
    if session is not None:
        try:
            session.set_task(task.text)
        except ValueError as error:
            raise HookError(str(error)) from error
        finally:
            session.close()


def _opened(policy: Policy, host: Host, session: str | None, directory: Path | None) -> HookSession | None:
    if not session or not (policy.remembers or policy.reads_task):
        return None
    try:
        return HookSession.open(policy, session_directory() if directory is None else directory, host, session)
    except ValueError as error:
        raise HookError(str(error)) from error


def _data(request: ActionRequest, args: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON
    """The request as the record of a session has it: without the task, which is a record of its own."""
    context = request.context
    return {
        "tool": request.tool,
        "args": args,
        "context": {
            "principal": {"kind": context.principal.kind, "id": context.principal.id},
            "environment": context.environment,
            "workspace": context.workspace,
            "correlation_id": context.correlation_id,
            "timestamp": context.timestamp.astimezone(UTC).strftime(_TIME),
            "extra": context.extra,
        },
    }
