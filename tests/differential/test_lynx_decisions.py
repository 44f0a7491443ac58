"""The `lynx` profile against lynx-agent 2.5.0 itself: generated policies times generated requests, all that shows.

`BOBCAT_CAMPAIGN=20000` sets the number of policies; seeds are counted, and a failure names its seed.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import lynx
import pytest
from lynx.policy import compile_policy as compile_lynx
from lynx.policy import evaluate as evaluate_lynx

import bobcat.model.decision
import campaign
from bobcat._core import evaluate
from bobcat.bundle.model import PolicyBundle
from bobcat.compiler import compile_policy
from bobcat.diagnostics.model import Severity
from bobcat.errors import PolicyCompileError
from oracle.corpus import typed
from oracle.lynx_policies import as_text, build, policy, request

pytestmark = pytest.mark.campaign
POLICIES = campaign.SIZE or 300
REQUESTS = 6
CHUNKS = max(10, POLICIES // 200)


def compile_ours(source: Any, rules: tuple[Any, ...] = (), priorities: tuple[Any, ...] = ()) -> PolicyBundle:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile_policy(source, "p.yaml", profile="lynx", python_rules=rules, python_rule_priorities=priorities)


def compile_theirs(source: Any, rules: tuple[Any, ...] = (), priorities: tuple[Any, ...] = ()) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile_lynx(copy.deepcopy(source), "p.yaml", python_rules=rules, python_rule_priorities=priorities)


def shown(decision: Any) -> Any:
    args = decision.transform_args
    return {
        "verdict": str(decision.verdict),
        "reason": exact(decision.reason),
        "matched_rules": exact(list(decision.matched_rules)),
        "approvers": exact(list(decision.approvers)),
        "timeout_seconds": exact(decision.timeout_seconds),
        "transform_args": None if args is None else exact(dict(args)),
    }


def exact(value: Any) -> Any:
    """Equality that tells types apart, containers included."""
    if isinstance(value, dict):
        return ("map", sorted((exact(key), exact(item)) for key, item in value.items()).__repr__())
    if isinstance(value, list):
        return ("list", tuple(exact(item) for item in value))
    if isinstance(value, set | frozenset):  # arguments are frozen on the way out
        return ("set", sorted(repr(typed(item)) for item in value))
    return repr(typed(value))


def is_cap(error: Exception) -> bool:
    return isinstance(error, PolicyCompileError) and any(item.code == "E0902" for item in error.diagnostics)


def message(error: PolicyCompileError) -> str:
    """The text of the one error among the diagnostics."""
    (found,) = (item for item in error.diagnostics if item.severity is Severity.ERROR)
    return found.message


def attempt(compiler: Callable[..., Any], *arguments: Any) -> tuple[Any, Exception | None]:
    try:
        return compiler(*arguments), None
    except Exception as error:
        return None, error


def source_for(rng: Random) -> Any:
    data = policy(rng)
    return (as_text(rng, data) or data) if rng.random() < 0.6 else data


def host_rules(rng: Random) -> tuple[tuple[tuple[Any, Any], ...], tuple[tuple[str, int], ...]]:
    """Pairs of the same Python rule for either package, and priorities by name."""
    pairs = tuple(
        _host_pair(rng, name) for name in rng.sample(["first", "second", "third"], rng.choice([0, 0, 0, 1, 2]))
    )
    return pairs, (("first", rng.randrange(-1, 3)), ("nobody", 9))


def _host_pair(rng: Random, name: str) -> tuple[Any, Any]:
    kind = rng.randrange(7)
    verdict = rng.choice(["ALLOW", "DENY", "APPROVE_REQUIRED", "TRANSFORM"])
    matched = rng.choice([(), ("other",), (name,)])

    def make(package: Any) -> Any:
        def rule(request: Any, context: Any) -> Any:
            if kind < 2 or "n" in request.args:
                return None
            if kind == 2:
                raise KeyError("x")
            if kind == 3:
                return "deny"
            if kind == 4 and context.step_seq < 3:
                return None
            return package.Decision(
                package.Verdict[verdict], "host", matched, ("eve",), {"n": 1} if kind == 5 else None, 7
            )

        rule.__name__ = name
        return rule

    return make(lynx), make(bobcat.model.decision)


def compare(seed: int) -> str:
    """Compiles and decides on one policy with both; what became of it."""
    rng = Random(seed)
    source = source_for(rng)
    pairs, priorities = host_rules(rng)
    theirs, refusal = attempt(compile_theirs, source, tuple(pair[0] for pair in pairs), priorities)
    ours, ours_refusal = attempt(compile_ours, source, tuple(pair[1] for pair in pairs), priorities)
    if ours_refusal is not None and is_cap(ours_refusal):
        return "capped"
    assert (refusal is None) == (ours_refusal is None), (source, refusal, ours_refusal)
    if refusal is not None:
        assert isinstance(ours_refusal, PolicyCompileError)
        if type(refusal).__name__ == "PolicyCompileError":
            assert message(ours_refusal) == str(refusal), source
        return "refused"
    assert ours.lynx_id == theirs.id, source
    for _ in range(REQUESTS):
        parts = request(rng)
        expected = shown(evaluate_lynx(theirs, build(lynx, parts), build(lynx, parts).context))
        mine = build(bobcat.model.decision, parts)
        assert shown(evaluate(ours, mine, mine.context)) == expected, (source, parts)
    return "decided"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_lynx_profile_accepts_refuses_and_decides_as_lynx_agent_does(
    chunk: int, record_property: Callable[[str, int], None]
) -> None:
    outcomes = []
    for seed in campaign.seeds(POLICIES, chunk, CHUNKS):
        try:
            outcomes.append(compare(seed))
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise
    for outcome in ("decided", "refused", "capped"):
        record_property(f"policies for lynx-agent, {outcome}", outcomes.count(outcome))
    assert outcomes.count("decided") > len(outcomes) // 3
    assert outcomes.count("refused") > len(outcomes) // 20
    assert outcomes.count("capped") < len(outcomes) // 5
