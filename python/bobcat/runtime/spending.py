"""Spending of a run: the reservation before a model call, and its settlement after the reply.

The driver asks the model only with a reservation. A call that began and brought no reply stays reserved in full: the
vendor may have charged it.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from bobcat.errors import LedgerError
from bobcat.ledger.amounts import MICRO, dollars
from bobcat.logs import logger
from bobcat.model.agent import Agent
from bobcat.model.attachment import Attachment
from bobcat.model.decision import ActionRequest, Principal
from bobcat.model.frozen import thaw
from bobcat.model.run import Message, Usage
from bobcat.runtime.commands import Event, Interrupted, ModelFailed, ModelReplied
from bobcat.runtime.extra import ExtraProvider, Facts, ask_provider
from bobcat.text.json_text import format_exception
from bobcat.tools.schema import tooldef_to_json_schema
from bobcat.tools.toolset import ToolSet

if TYPE_CHECKING:
    from bobcat.bundle import Policy
    from bobcat.ledger import Cap, Ledger, LedgerAccount, Reservation

log = logger("runtime")

LEDGER = "ledger"
"""The entry of `context.extra` with the state of the caps."""
MESSAGE_TOKENS = 16
"""Most tokens that a vendor adds around one message."""
CANNOT_PAY = "the next model call cannot be paid"
FILE_TOKENS = 500_000
"""Most tokens that a vendor counts for one image or document, however small its bytes are."""
_REFUSALS = ("exhausted", "above_cap")


def reads_ledger(policy: Policy) -> bool:
    """Return true if a rule may read the state of the caps."""
    return b'"extra","ledger"' in policy.ir_bytes


def with_balances(facts: Facts, provider: ExtraProvider | None, spending: ModelSpending) -> ExtraProvider:
    """A provider of the facts of a run and of the state of its caps. A scope without a cap is absent.

    Raises `ValueError` for facts that have an entry of that name.
    """

    def joined(given: Mapping[str, Any], balances: Facts) -> Facts:
        if LEDGER in given:
            raise ValueError(f"extra may not hold `{LEDGER}` in a run with a ledger: rules read its caps there")
        return {**given, LEDGER: balances}

    joined(facts, {})

    async def ask(request: ActionRequest) -> Facts:
        given = facts if provider is None else await ask_provider(provider, request)
        return joined(given, await spending.balances())

    return ask


class ModelSpending:
    """Pays the model calls of one run."""

    def __init__(
        self, account: LedgerAccount, agent: Agent, tools: ToolSet, *, run: str, principal: str, cap: Cap | None = None
    ) -> None:
        self._account, self._ledger, self._agent = account, account.ledger, agent
        self._run, self._principal = account.run or run, account.principal or principal
        model = account.model if account.model is not None else getattr(agent, "model", None)
        self._model = model if isinstance(model, str) else ""
        most = account.max_output_tokens
        found: object = getattr(agent, "max_output_tokens", None) if most is None else most
        self._most = found if type(found) is int else -1
        self._counter = getattr(agent, "count_tokens", None)
        self._cap = cap
        """That of the run's budget."""
        self._tools, self._tool_tokens = tools, -1
        self._counted, self._tokens = 0, 0

    def check(self) -> None:
        """Raise `ValueError` when calls of this agent cannot be priced, or the run has no account of a cap."""
        if self._most < 0:
            raise ValueError(
                "a ledger needs the most tokens of a reply; give max_tokens to the agent, or pass "
                "ledger.account(max_output_tokens=...)"
            )
        try:
            self._ledger.prices.of(self._model)
        except LedgerError as error:
            missing = f"the agent names no model; pass ledger.account(model=...): {error}"
            raise ValueError(str(error) if self._model else missing) from error
        given = {
            "run": self._run, "thread": self._account.thread, "principal": self._principal,
            "tenant": self._account.tenant,
        }  # fmt: skip
        for cap in self._ledger.caps:
            for name in cap.dimension:
                if not given.get(name, "present"):
                    raise ValueError(f"the cap of {cap} needs a {name}; pass ledger.account({name}=...)")

    async def reserve(self, conversation: Sequence[Message]) -> Reservation | ModelFailed:
        """Reserve the worst case of the next call."""
        try:
            tokens = await self._input_tokens(conversation)
            return await self._ledger.reserve(
                model=self._model, input_tokens=tokens, output_tokens=self._most, run=self._run,
                thread=self._account.thread, principal=self._principal, tenant=self._account.tenant,
                caps=() if self._cap is None else (self._cap,),
            )  # fmt: skip
        except LedgerError as error:
            if error.code in _REFUSALS:
                why = CANNOT_PAY if self._cap is None or error.cap != str(self._cap) else self._exhausted(self._cap)
                text = f"{why}: {error}"
                return ModelFailed(text, text, code="budget_exhausted")
            text = f"the ledger failed: {error} ({error.code})"
            return ModelFailed(text, text, code="store_failed")
        except asyncio.CancelledError:
            raise
        except Exception as error:
            text = f"the worst case of the next model call is unknown: {format_exception(error)}"
            return ModelFailed(text, text)

    async def settle(self, reservation: Reservation, event: Event) -> int | None:
        """Commit what a reply took, and return its cost in micro-dollars; or release a call that was not made.

        A failure is logged: all of it then counts.
        """
        try:
            if isinstance(event, ModelReplied):
                return (await self._ledger.commit(reservation, usage_of(event.reply))).usd
            if isinstance(event, Interrupted) and not event.started:
                await self._ledger.release(reservation)
        except LedgerError as error:
            fields = {"run_id": self._run, "reservation": reservation.id}
            log.warning("reservation %s is not settled and counts in full: %s", reservation.id, error, extra=fields)
        return None

    async def balances(self) -> dict[str, dict[str, float]]:
        """The state of the caps of this run, by scope: dollars and tokens, those of the cap with the least left."""
        scope = {"run": self._run, "thread": self._account.thread, "principal": self._principal}
        found: dict[str, dict[str, float]] = {}
        for balance in await self._ledger.balances(**scope, tenant=self._account.tenant):
            unit, size = ("", MICRO) if balance.unit == "usd" else ("_tokens", 1)
            held = found.setdefault(balance.cap.per, {})
            if balance.remaining / size < held.get(f"remaining{unit}", inf):
                for name in ("remaining", "spent", "reserved"):
                    held[f"{name}{unit}"] = getattr(balance, name) / size
        return found

    @staticmethod
    def _exhausted(cap: Cap) -> str:
        return f"cost budget exhausted ({dollars(cap.usd or 0)})"

    async def _input_tokens(self, conversation: Sequence[Message]) -> int:
        """An upper bound of the input: the agent's own, or a token for each byte."""
        if callable(self._counter):
            counted = self._counter(conversation)
            return _whole(await counted if inspect.isawaitable(counted) else counted)
        for position in range(self._counted, len(conversation)):  # PERF: a conversation only grows
            self._tokens += _message_tokens(conversation[position])
        self._counted = len(conversation)
        if self._tool_tokens < 0:
            self._tool_tokens = sum(
                _bytes([tool.name, tool.description, tooldef_to_json_schema(tool)])
                for tool in self._tools.tools.values()
            )
        return self._tokens + self._tool_tokens + self._account.overhead_tokens


def spending_of(
    ledger: Ledger | LedgerAccount | None,
    agent: Agent,
    tools: ToolSet,
    *,
    run: str,
    principal: Principal,
    cap: Cap | None = None,
) -> ModelSpending | None:
    """Return the spending of a run, under the cap of its budget. Raises `TypeError` for anything else than a ledger,
    and `ValueError` for an agent that cannot be priced.
    """
    if ledger is None:
        return None
    account = account_of(ledger)
    spending = ModelSpending(account, agent, tools, run=run, principal=f"{principal.kind}:{principal.id}", cap=cap)
    spending.check()
    return spending


def account_of(ledger: object) -> LedgerAccount:
    """Return the account of a `ledger` argument. Raises `TypeError` for anything else than a ledger or an account."""
    from bobcat.ledger import Ledger, LedgerAccount

    account = ledger.account() if isinstance(ledger, Ledger) else ledger
    if not isinstance(account, LedgerAccount):
        raise TypeError(f"ledger must be a Ledger or ledger.account(...), got {type(ledger).__name__}")
    return account


def usage_of(reply: object) -> Usage | None:
    """Return the sum of the usages in an agent's reply; None where none is reported, or a count is missing."""
    parts = reply if isinstance(reply, list | tuple) else (reply,)
    found = [usage for part in parts if isinstance(usage := getattr(part, "usage", None), Usage)]
    if not found or any(usage.input_tokens is None or usage.output_tokens is None for usage in found):
        return None
    if len(found) == 1:
        return found[0]
    return Usage(
        sum(usage.input_tokens or 0 for usage in found),
        sum(usage.output_tokens or 0 for usage in found),
        sum(usage.cache_read_tokens or 0 for usage in found),
        sum(usage.cache_write_tokens or 0 for usage in found),
        found[0].model,
    )


def _message_tokens(message: Message) -> int:
    parts = [message.content, message.name, message.tool_call_id]
    more = [thaw(part) for part in (message.tool_call_args, message.provider_data) if part is not None]
    files = [each.reference() for each in message.attachments]
    return _bytes([*parts, *more, *files]) + MESSAGE_TOKENS + sum(map(_attachment_tokens, message.attachments))


def _attachment_tokens(attachment: Attachment) -> int:
    """The bytes as base64; images and PDFs are also counted by what they show."""
    return 4 * attachment.size // 3 + 4 + FILE_TOKENS * (not attachment.is_text)


def _bytes(value: Any) -> int:  # Any: JSON, and what agents put beside it
    """The bytes of JSON text: a tokenizer that begins with bytes makes no more tokens."""
    return len(json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass"))


def _whole(counted: object) -> int:
    if isinstance(counted, bool) or not isinstance(counted, int) or counted < 0:
        raise TypeError(f"count_tokens must return a number of tokens, got {counted!r}")
    return counted
