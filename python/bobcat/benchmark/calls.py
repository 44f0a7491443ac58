"""The calls of a benchmark: read from JSON Lines, or generated from the policy.

Generated calls are the doctor's probe requests: one that matches each rule, then variations of each clause;
deterministic.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice, zip_longest

import msgspec

from bobcat._core import evaluate_many
from bobcat.bundle import Policy
from bobcat.errors import RequestError
from bobcat.model.decision import ActionRequest
from bobcat.model.request_json import request_from_json, request_to_json

MAX_DIRECTED = 1_000
"""Maximum number of calls generated for a policy."""
MIN_DIRECTED = 100
"""Number generated for a small policy, if its clauses yield as many."""
CALLS_PER_RULE = 6
CHOICE = 4
"""Oversampling factor of candidate calls."""
MAX_RULES = MAX_DIRECTED // 2
"""Maximum number of targeted rules; of more, as many are sampled at equal distances."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Requests with the origin of each: a line of a file, or a number."""

    requests: tuple[ActionRequest, ...]
    places: tuple[int, ...]
    source: str
    digest: str

    @classmethod
    def of(cls, requests: Iterable[ActionRequest], source: str = "given") -> Calls:
        """Wrap requests of a program, numbered from 1. Raises `RequestError` for one that cannot be JSON."""
        made = tuple(requests)
        return cls(made, tuple(range(1, len(made) + 1)), source, _digest(made))


def read_calls(data: bytes, name: str) -> Calls:
    """Read the requests in JSON Lines; blank lines are skipped. `RequestError` names the file and the line."""
    requests: list[ActionRequest] = []
    places: list[int] = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            requests.append(request_from_json(line))
        except RequestError as error:
            raise RequestError(error.code, f"{name}:{number}: {error}") from error
        places.append(number)
    if not requests:
        raise RequestError("bad_request", f"{name}: the file has no request; write one JSON object per line")
    made = tuple(requests)
    return Calls(made, tuple(places), name, _digest(made))


def directed_calls(bundle: Policy) -> Calls:
    """Generate calls from the clauses of a policy, about equally many for each deciding rule and default.

    Calls with rule errors are omitted if there are others.
    """
    from bobcat.doctor.probe_requests import probe_calls

    policy = bundle.ir
    rules = policy.rules
    if len(rules) > MAX_RULES:
        rules = tuple(rules[index * len(rules) // MAX_RULES] for index in range(MAX_RULES))
    sampled = msgspec.structs.replace(policy, rules=rules)
    count = min(MAX_DIRECTED, max(MIN_DIRECTED, CALLS_PER_RULE * len(rules)))
    made = [call for _, call in islice(probe_calls(sampled), CHOICE * count)]
    groups: dict[str, list[ActionRequest]] = {}
    for request, decision in zip(made, evaluate_many(bundle, made), strict=True):
        groups.setdefault(str(decision.matched_rules[-1:]), []).append(request)
    groups_without_errors = [group for name, group in groups.items() if "<rule_error:" not in name]
    turns = zip_longest(*(groups_without_errors or groups.values()))
    return Calls.of(islice((request for turn in turns for request in turn if request is not None), count), "generated")


def _digest(requests: Iterable[ActionRequest]) -> str:
    state = hashlib.sha256()
    for request in requests:
        state.update(request_to_json(request).encode("utf-8", "surrogatepass") + b"\n")
    return state.hexdigest()
