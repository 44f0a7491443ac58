"""The calls that a benchmark decides: read from JSON Lines, or made from the policy itself.

Made calls are those of the doctor: each rule met, then each of its clauses bent, the same ones every time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice, zip_longest

import msgspec

from bobcat._core import evaluate_many
from bobcat.bundle import PolicyBundle
from bobcat.errors import RequestError
from bobcat.model import ActionRequest
from bobcat.requests import request_from_json, request_to_json

MAX_DIRECTED = 1_000
"""How many calls are made for a policy at most."""
MIN_DIRECTED = 100
"""How many are made for a small one, if its clauses give as many."""
CALLS_PER_RULE = 6
CHOICE = 4
"""Of how many times as many calls those that are taken are chosen."""
MAX_RULES = MAX_DIRECTED // 2
"""At how many rules calls are directed; of more, as many are taken at equal distances."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Requests with where each came from: a line of a file, or a number."""

    requests: tuple[ActionRequest, ...]
    places: tuple[int, ...]
    source: str
    digest: str

    @classmethod
    def of(cls, requests: Iterable[ActionRequest], source: str = "given") -> Calls:
        """Requests that a program has at hand, numbered from 1. Raises `RequestError` for one that is no JSON."""
        made = tuple(requests)
        return cls(made, tuple(range(1, len(made) + 1)), source, _digest(made))


def read_calls(data: bytes, name: str) -> Calls:
    """The requests in JSON Lines; blank lines are skipped. `RequestError` names the file and the line."""
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
        raise RequestError("bad_request", f"{name}: there is no request in it; write one JSON object per line")
    made = tuple(requests)
    return Calls(made, tuple(places), name, _digest(made))


def directed_calls(bundle: PolicyBundle) -> Calls:
    """Calls made from the clauses of a policy: of those that each rule decides, and each default, about as many.

    Calls that no rule can judge are left out, as long as there are others.
    """
    from bobcat.analysis.doctor.probes import probes

    policy = bundle.ir
    rules = policy.rules
    if len(rules) > MAX_RULES:
        rules = tuple(rules[index * len(rules) // MAX_RULES] for index in range(MAX_RULES))
    aimed = msgspec.structs.replace(policy, rules=rules)
    count = min(MAX_DIRECTED, max(MIN_DIRECTED, CALLS_PER_RULE * len(rules)))
    made = list(islice(_read(probes(aimed)), CHOICE * count))
    groups: dict[str, list[ActionRequest]] = {}
    for request, decision in zip(made, evaluate_many(bundle, made), strict=True):
        groups.setdefault(str(decision.matched_rules[-1:]), []).append(request)
    judged = [mine for name, mine in groups.items() if "<rule_error:" not in name]
    turns = zip_longest(*(judged or groups.values()))
    return Calls.of(islice((request for turn in turns for request in turn if request is not None), count), "generated")


def _read(made: Iterable[dict[str, object]]) -> Iterable[ActionRequest]:
    for call in made:
        try:
            yield request_from_json(call)
        except RequestError:  # a value that its field can never have
            continue


def _digest(requests: Iterable[ActionRequest]) -> str:
    state = hashlib.sha256()
    for request in requests:
        state.update(request_to_json(request).encode("utf-8", "surrogatepass") + b"\n")
    return state.hexdigest()
