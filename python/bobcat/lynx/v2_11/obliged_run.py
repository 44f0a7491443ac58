"""Runs whose decisions have obligations: the driver of a run, with the handlers around each action."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

from bobcat.logs import logger
from bobcat.lynx.v2_11.core.types import Decision, Obligation, ObligationOutcome, without_obligations
from bobcat.lynx.v2_11.deciding import decide
from bobcat.lynx.v2_11.fulfilment import ObligationRegistry, fulfil, of_phase, unmet
from bobcat.model.decision import ActionRequest
from bobcat.model.run import ActionResult
from bobcat.runtime.commands import Approved, AskApproval, Decided, Event, Execute, Interrupted, ToolReturned
from bobcat.runtime.driver import RunDriver

log = logger("runtime")
REFUSED = "action.denied"
"""The event of a call that was denied, or not approved."""
MALFORMED = "action.failed"
"""The event of an action that ran and failed, or of a decision that cannot be executed."""


@dataclass(slots=True)
class _Duties:
    """The present decision, which has obligations; `announced` once there was an event about them."""

    request: ActionRequest
    decision: Decision
    announced: bool = False

    @property
    def obligations(self) -> tuple[Obligation, ...]:
        return self.decision.obligations


class ObligedDriver(RunDriver):
    """Driver of a run that meets the obligations of its decisions. The run has a sink: each refusal has an event.

    The machine gets the decisions without them: it knows Bobcat's own obligations only.
    """

    def __init__(self, registry: ObligationRegistry | None, *arguments: Any) -> None:  # Any: those of `RunDriver`
        super().__init__(*arguments)
        self._registry = registry
        self._duties: _Duties | None = None

    def _decide(self, request: ActionRequest) -> Decided:
        decision = decide(self._policy, request)
        self._duties = _Duties(request, decision) if decision.obligations else None
        if log.isEnabledFor(logging.DEBUG):
            self._log_decision(request, decision)
        return Decided(without_obligations(decision))

    async def _ask_approval(self, command: AskApproval) -> Event:
        await self._announce()
        if self._duties is not None:
            command = msgspec.structs.replace(command, request=replace(command.request, decision=self._duties.decision))
        event = await super()._ask_approval(command)
        if isinstance(event, Approved) and event.answer.refusal is not None:
            await self._meet_all()
        return event

    async def _emit(self, kind: str, body: Mapping[str, object]) -> None:
        if kind == REFUSED:
            await self._meet_all()
        elif kind == MALFORMED:
            await self._announce()
            self._duties = None
        await super()._emit(kind, body)

    async def _execute(self, command: Execute) -> Event:
        await self._announce()
        duties, self._duties = self._duties, None
        if duties is None or self._fanout.failure is not None:  # which the driver reports
            return await super()._execute(command)
        before = await self._met(duties, of_phase(duties.obligations, "pre"), until_failure=True)
        if isinstance(before, Interrupted):
            return Interrupted(before.cancelled, before.step, False, before.lost)
        refusal = unmet(before)
        if refusal is not None:
            await self._report(duties, before)
            return ToolReturned(ActionResult(False, error=refusal))
        event = await super()._execute(command)
        after = () if isinstance(event, Interrupted) else await self._met(duties, of_phase(duties.obligations, "post"))
        await self._report(duties, before if isinstance(after, Interrupted) else (*before, *after))
        return event

    async def _announce(self) -> None:
        duties = self._duties
        if duties is not None and not duties.announced:
            duties.announced = True
            required = [{"id": each.id, "phase": each.phase} for each in duties.obligations]
            await self._emit("obligation.required", {"seq": duties.request.context.step_seq, "obligations": required})

    async def _meet_all(self) -> None:
        """Meet the obligations of a decision that permits nothing, as far as possible."""
        await self._announce()
        duties, self._duties = self._duties, None
        outcomes = () if duties is None else await self._met(duties, duties.obligations)
        if duties is not None and not isinstance(outcomes, Interrupted):
            await self._report(duties, outcomes)

    async def _met(
        self, duties: _Duties, obligations: Iterable[Obligation], *, until_failure: bool = False
    ) -> tuple[ObligationOutcome, ...] | Interrupted:
        call = partial(fulfil, obligations, duties.request, self._registry, until_failure=until_failure)
        return await self._interrupts.wait(call, accept_late=True)

    async def _report(self, duties: _Duties, outcomes: Iterable[ObligationOutcome]) -> None:
        for each in outcomes:
            kind = "obligation.fulfilled" if each.fulfilled else "obligation.failed"
            seq = duties.request.context.step_seq
            await self._emit(kind, {"seq": seq, "id": each.id, "phase": each.phase, "error": each.error})
