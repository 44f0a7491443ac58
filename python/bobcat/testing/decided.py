"""`decide`: one decision in a test, with the explanation in what a failed test shows.

from bobcat.testing import decide

def test_small_payments_are_allowed():
    decide("policy.yaml", "pay", {"amount": 20}).expect(verdict="allow", rule="small-payments")
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bobcat.bundle import Policy
from bobcat.errors import PolicyCompileError
from bobcat.frontend.strict.patterns import check_pattern
from bobcat.guard.tools import tool_set
from bobcat.model.decision import ActionRequest, Decision, Verdict
from bobcat.model.request import Request
from bobcat.testing.suites.compare import (
    deciding_rule,
    differences,
    effective_args,
    error_codes,
    named_rule,
)
from bobcat.testing.suites.model import Expectation
from bobcat.testing.suites.run import decision_on
from bobcat.testing.suites.subjects import Tools, Unusable, load_policy
from bobcat.tools.toolset import ToolSet

if TYPE_CHECKING:
    from bobcat._core import RunState
    from bobcat.bundle.explanation import Explanation

_UNSET: Any = object()  # Any: stands for a keyword of any type


class Decided:
    """A decision on one call. `rule` decided, the call runs with `args`, `error` is the code of an error.

    `decision` is the whole `Decision`, `explanation` has every rule, clause by clause.
    """

    def __init__(self, policy: Policy, request: ActionRequest, decision: Decision, explanation: Explanation) -> None:
        codes = error_codes(decision)
        self.policy = policy
        self.request = request
        self.decision = decision
        self.explanation = explanation
        self.verdict: Verdict = decision.verdict
        self.rule: str = deciding_rule(decision)
        self.reason: str = decision.reason
        self.args: Mapping[str, Any] = effective_args(request, decision)  # Any: arguments of a tool
        self.error: str | None = codes[-1] if codes else None

    def expect(
        self,
        *,
        verdict: str | None = None,
        rule: str | None = None,
        reason_matches: str | None = None,
        args: Mapping[str, Any] | None = None,  # Any: arguments of a tool
        error: str | None = _UNSET,
    ) -> Decided:
        """Raise `AssertionError`, with the differences and the explanation, unless the decision is as expected.

        The keywords are those of `expect` in a suite: `rule` is the deciding rule, `reason_matches` a pattern found in
        the reason, `error` the code of an error; `error=None` means no error. Returns this object.
        """
        __tracebackhide__ = True
        if all(item is None for item in (verdict, rule, reason_matches, args)) and error is _UNSET:
            raise TypeError("`expect` needs an expectation, such as verdict='allow'")
        if verdict is not None and verdict not in tuple(Verdict):
            raise ValueError(f"{verdict!r} is not a verdict; write one of {', '.join(Verdict)}")
        if reason_matches is not None and (found := check_pattern(reason_matches, "re2")):
            raise ValueError(f"`reason_matches` is not a pattern: {found[0].message}")
        known = None if error is _UNSET else error
        expectation = Expectation(verdict, rule, reason_matches, args, known, error is None)
        differing = tuple(differences(expectation, self.request, self.decision, self.policy))
        if differing:
            from bobcat.testing.suites.failures import describe_decision

            lines = describe_decision(self.request, self.decision, differing, self.explanation)
            raise AssertionError("\n".join(["not decided as expected", *(line.text for line in lines)]))
        return self

    def __repr__(self) -> str:
        """Return the decision with its rule and the place of the rule."""
        name = named_rule(self.decision)
        span = next((rule.span for rule in self.explanation.rules if rule.id == name), None)
        place = f" at {span.file}:{span.line}:{span.column}" if span is not None and span.line else ""
        reason = f": {self.reason}" if self.reason else ""
        return f"<{self.verdict} by {self.rule}{place}{reason}>"


def decide(
    policy: Policy | str | os.PathLike[str],
    tool: str | ActionRequest,
    args: Mapping[str, Any] | None = None,  # Any: arguments of a tool
    *,
    tools: ToolSet | Iterable[Callable[..., Any]] | None = None,
    state: RunState | None = None,
    **context: Any,  # Any: the keywords of `Request`
) -> Decided:
    """Decide one call as a run does: a tool with arguments, or a whole request.

    `policy` is a policy, or the path of a source, a bundle or a module of rules. With `tools`, a `ToolSet` or
    functions, the call has their declarations and defaults, and one that they do not accept is denied.
    `state` is that of the run before the call; without it, the call is the first one of its run. Other keywords are
    those of `Request`: `principal`, `environment`, `declared`, `extra`, `task`. Raises `PolicyCompileError` for a
    policy that cannot be used, and `TypeError` for wrong types.
    """
    if isinstance(tool, ActionRequest) and (args is not None or context):
        raise TypeError("a whole request has its arguments and its context; give a tool's name or a request")
    if tools is not None and "declared" in context:
        raise TypeError("the tools set `declared`; remove one of the two")
    loaded = policy if isinstance(policy, Policy) else _loaded(os.fspath(policy))
    request = tool if isinstance(tool, ActionRequest) else Request(tool, {} if args is None else args, **context)
    bound = Tools(None if tools is None else tool_set(tools))
    request, decision, explanation = decision_on(loaded, bound, request, state)
    return Decided(loaded, request, decision, explanation)


def _loaded(path: str) -> Policy:
    if "\n" in path:
        raise TypeError("`policy` is the path of a file; compile a text: decide(Policy.compile(text), ...)")
    try:
        found = os.stat(path)
    except OSError as error:
        raise PolicyCompileError(f"cannot read policy {path}: {error.strerror}") from error
    policy = _compiled(path, ((found.st_mtime_ns, found.st_size),))
    while len(policy.source_files) > 1:  # a file that it includes may have changed, and may include others now
        files = policy.source_files
        policy = _compiled(path, tuple(map(_state, (path, *files))))
        if policy.source_files == files:
            break
    return policy


def _state(file: str) -> tuple[int, int]:
    try:
        found = os.stat(file)
    except OSError:  # a name in a bundle
        return 0, 0
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=64)
def _compiled(path: str, _states: tuple[tuple[int, int], ...]) -> Policy:
    try:
        return load_policy(path, None, {})
    except Unusable as error:
        raise PolicyCompileError(str(error.__cause__ or error), error.findings) from error
