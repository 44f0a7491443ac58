"""The `lynx` profile against lynx-agent 2.5.0 itself: generated policies times generated requests, all that shows.

`BOBCAT_CAMPAIGN=20000` sets the number of policies; seeds are counted, and a failure names its seed.
"""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from collections.abc import Callable
from random import Random
from types import MappingProxyType
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
from oracle.lynx_policies import as_text, build, crowded_policy, crowded_request, policy, request

pytestmark = pytest.mark.campaign
POLICIES = campaign.SIZE or 300
REQUESTS = 6
CROWDED = max(60, POLICIES // 2)
CROWDED_REQUESTS = 30
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


def mutating_rule(rng: Random) -> Callable[[Any, Any], None]:
    """A Python rule that changes the arguments, which the rules after it read."""
    name, value = rng.choice(["x", "cmd", "n"]), rng.choice(["a", "rm -rf /", 5, None, []])

    def rule(request: Any, context: Any) -> None:
        request.args[name] = value

    return rule


def separate(parts: dict[str, Any]) -> dict[str, Any]:
    """The parts with a mapping of arguments of their own, where a rule can change it."""
    args = parts["args"]
    return parts if isinstance(args, MappingProxyType) else {**parts, "args": copy.copy(args)}


def compare_crowded(seed: int) -> Counter[str]:
    """Decides by one large policy with both; the verdicts, with how many decisions had the marker of an error."""
    rng = Random(seed)
    rules = (mutating_rule(rng),) if rng.random() < 0.3 else ()
    priorities = (("rule", rng.randrange(-1, 3)),)
    theirs = None
    while theirs is None:  # a few operands in a hundred are refused
        source = crowded_policy(rng)
        theirs, _ = attempt(compile_theirs, source, rules, priorities)
    ours = compile_ours(source, rules, priorities)
    seen: Counter[str] = Counter()
    for _ in range(CROWDED_REQUESTS):
        parts = crowded_request(rng)
        call = build(lynx, separate(parts))
        expected = shown(evaluate_lynx(theirs, call, call.context))
        call = build(bobcat.model.decision, separate(parts))
        assert shown(evaluate(ours, call, call.context)) == expected, (source, parts)
        seen[expected["verdict"]] += 1
        seen["error"] += "rule_error" in expected["matched_rules"][1][0]
        seen["default"] += "<default:" in expected["matched_rules"][1][-1]
    return seen


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_large_policy_of_the_lynx_profile_decides_as_lynx_agent_does(
    chunk: int, record_property: Callable[[str, int], None]
) -> None:
    seen: Counter[str] = Counter()
    for seed in campaign.seeds(CROWDED, chunk, CHUNKS):
        try:
            seen += compare_crowded(seed)
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise
    decisions = sum(seen[str(verdict)] for verdict in bobcat.model.decision.Verdict)
    record_property("decisions by large policies, as lynx-agent", decisions)
    assert decisions > CROWDED // CHUNKS * CROWDED_REQUESTS // 2
    for kind in ("error", "default", "allow", "deny"):
        assert seen[kind] > decisions // 50, seen
