"""Approvals in the protocol of 2026-07-28, which has no requests of a server: the answer to a call asks for input.

The client makes the call again with the answer and with `requestState`, which the proxy has signed: it names the call,
is valid once, and carries what the server itself had asked for.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from bobcat.guard import Outcome
from bobcat.model.run import ApprovalDecision, ApprovalRequest
from bobcat.proxy.approval import SCHEMA, decision, question_text
from bobcat.text.json_text import json_digest

PREFIX = "io.modelcontextprotocol/"
CAPABILITIES = f"{PREFIX}clientCapabilities"
VALID_SECONDS = 30 * 60.0
MAX_USED = 10_000
_KEY = "bobcat-approval"
INNER = ("inputResponses", "requestState")

Params = Mapping[str, Any]  # Any: JSON


def envelope_of(params: Params) -> dict[str, Any]:
    """The members of `_meta` that every request of the protocol has; empty in older ones."""
    meta = params.get("_meta")
    found = meta if isinstance(meta, dict) else {}
    return {name: value for name, value in found.items() if name.startswith(PREFIX)} if CAPABILITIES in found else {}


@dataclass(frozen=True, slots=True)
class Granted:
    """The answer to a question of the proxy, as a handler; `inner` is what the server gets in place of it."""

    decided: ApprovalDecision
    inner: dict[str, Any]

    async def __call__(self, _: ApprovalRequest, /) -> ApprovalDecision:
        """Answer one approval."""
        return self.decided


@dataclass(slots=True)
class Rounds:
    """Questions by `input_required`, for one process: its secret signs what the client carries."""

    approver: str
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    _used: dict[str, float] = field(default_factory=dict)

    def ask(self, outcome: Outcome, args: Params, params: Params) -> dict[str, Any]:
        """The result that asks for an approval of a call."""
        inner = {name: params[name] for name in INNER if name in params}
        body = {
            "call": json_digest([outcome.tool, args]),
            "nonce": secrets.token_hex(16),
            "until": time.time() + VALID_SECONDS,
            "inner": inner,
        }
        data = base64.urlsafe_b64encode(json.dumps(body).encode()).decode()
        text = question_text(outcome.tool, outcome.args, outcome.reason)
        form = {"mode": "form", "message": text, "requestedSchema": SCHEMA}
        return {
            "resultType": "input_required",
            "inputRequests": {_KEY: {"method": "elicitation/create", "params": form}},
            "requestState": f"{data}.{self._sign(data)}",
        }

    def answered(self, tool: str, args: Params, params: Params) -> Granted | None:
        """The answer to the question about this call, once; None for a call that carries no valid one."""
        body = self._body(params.get("requestState"))
        now = time.time()
        if body is None or body["call"] != json_digest([tool, args]) or body["until"] < now:
            return None
        if body["nonce"] in self._used:
            return None
        self._used = {nonce: until for nonce, until in self._used.items() if until > now}
        if len(self._used) >= MAX_USED:
            return None
        self._used[body["nonce"]] = body["until"]
        responses = params.get("inputResponses")
        answer = responses.get(_KEY) if isinstance(responses, dict) else None
        return Granted(decision(answer if isinstance(answer, dict) else {}, self.approver), body["inner"])

    def _body(self, state: object) -> dict[str, Any] | None:
        if not isinstance(state, str):
            return None
        data, _, signature = state.rpartition(".")
        if not hmac.compare_digest(self._sign(data).encode(), signature.encode("utf-8", "replace")):
            return None
        try:
            found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(data))
        except (ValueError, binascii.Error):
            return None
        return found

    def _sign(self, data: str) -> str:
        return hmac.new(self._secret, data.encode("utf-8", "replace"), sha256).hexdigest()
