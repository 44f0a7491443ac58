"""Records decided by a policy, in batches of the core; a record that cannot be decided yields the code of a reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeAlias

from bobcat import _core
from bobcat.bundle import Policy
from bobcat.errors import AuditError, RequestError
from bobcat.model.decision import ActionRequest, Decision
from bobcat.model.frozen import deep_freeze
from bobcat.model.markers import NO_MATCH, NO_SHADOW, default_of
from bobcat.model.request_json import request_from_json
from bobcat.runtime.decide_again import decide_again
from bobcat.runtime.evaluate import evaluate_or_deny, with_known_verdict
from bobcat.traffic.reads import Reads
from bobcat.traffic.recorded import DECLARED, Path, Recorded, redacted_paths

_WITHOUT_SHADOW = b',"declared":{"reversible":false,"has_shadow":false}'
_REVERSIBLE = b',"declared":{"reversible":true}'
"""Declarations that stand for what a recorded default shows; the rules of the policy read none of them."""

Answer: TypeAlias = Decision | str
"""A decision, or the code of the reason for which it is missing."""


class Decider:
    """Decides records by one policy."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._reads = Reads(policy)
        self._calls_python = bool(policy.manifest.host_rules)

    def decide(self, records: Sequence[Recorded]) -> list[Answer]:
        """The answers to some records, in their order."""
        if self._policy.remembers:
            return ["needs_state"] * len(records)
        answers: list[Answer | None] = [None] * len(records)
        plain: list[int] = []
        for index, record in enumerate(records):
            if record.line is None and not record.redacted and not self._reads.may_touch(record.missing):
                plain.append(index)
            else:
                answers[index] = self._one(record)
        for index, answer in zip(plain, self._plain([records[index] for index in plain]), strict=True):
            answers[index] = answer
        return [
            self._settled(record, answer) for record, answer in zip(records, answers, strict=True) if answer is not None
        ]

    def _settled(self, record: Recorded, answer: Answer) -> Answer:
        """The answer, unless it is a default that depends on the declaration, which the record lacks.

        A recorded default shows the part of the declaration that it depends on.
        """
        if not record.missing or isinstance(answer, str):
            return answer
        if not self._reads.is_open(answer, record.missing, lambda: _request(record)):
            return answer
        shown = default_of(record.rules[-1]) if record.rules and DECLARED in record.missing else ""
        if shown == NO_SHADOW:
            return self._evaluated(record._replace(fields=_WITHOUT_SHADOW + record.fields))
        if shown == NO_MATCH:
            return self._evaluated(record._replace(fields=_REVERSIBLE + record.fields))
        return "no_declaration"

    def _plain(self, records: Sequence[Recorded]) -> Sequence[Answer]:
        """Decide records that have everything that the policy reads."""
        if not records:
            return ()
        if not self._calls_python:
            try:
                return _core.evaluate_json(self._policy, b"\n".join([record.request() for record in records]))
            except _core.CoreError as error:
                if error.code != "bad_request":
                    raise
        return [self._evaluated(record) for record in records]

    def _evaluated(self, record: Recorded) -> Answer:
        request = _request(record)
        return "not_a_request" if request is None else with_known_verdict(evaluate_or_deny(self._policy, request))

    def _one(self, record: Recorded) -> Answer:
        """Decide a record that lacks something that the policy may read, or that the runtime decides again."""
        if record.line is not None:
            try:
                return decide_again(record.line, self._policy)
            except AuditError as error:
                return error.code if error.code in ("inexact", "digested") else "not_a_request"
        hidden: tuple[Path, ...] = ()
        if record.redacted:
            hidden = tuple(("args", *path) for path in redacted_paths(json.loads(record.args)))
        missing = (*record.missing, *hidden)
        if not self._reads.may_touch(missing):
            return self._evaluated(record)
        request = _request(record)
        if request is None:
            return "not_a_request"
        decision = self._reads.decide(request, missing)
        if decision is None:
            return "redacted" if hidden and self._reads.may_touch(hidden) else "missing_field"
        return decision


def _request(record: Recorded) -> ActionRequest | None:
    """The request of a record; None if it is invalid."""
    try:
        request = request_from_json(record.request())
    except RequestError:
        return None
    return ActionRequest(request.tool, deep_freeze(dict(request.args)), request.declared, request.context)
