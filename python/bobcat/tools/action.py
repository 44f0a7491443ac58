"""The permitted action that runs at present, for tools that report what they really opened or ask the policy again.

    @tool(name="net.fetch")
    @uses_action
    async def fetch(url: str) -> str:
        action = current_action()
        ...
        if action is not None:
            action.record(address="192.0.2.7")

The runtime sets the action for tools that `uses_action` marks, and for no others. Facts go into the journal, the audit
event and the decision log under `opened`. An action ends with its call: afterwards it records nothing and denies all.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar

from bobcat.model.decision import ActionRequest, Decision, Verdict
from bobcat.model.frozen import FrozenDict, deep_freeze
from bobcat.text.json_text import is_exact, json_text

MAX_FACTS_CHARS = 65_536
"""Maximum size of the facts of one action, as JSON text."""
USES_ACTION = "__bobcat_uses_action__"
NO_POLICY = "no policy is at hand to decide a further request"
ENDED = "the action has ended"

Args: TypeAlias = Mapping[str, Any]  # Any: arguments of any tool
DecideFurther: TypeAlias = Callable[[Args], Awaitable[Decision]]
Fn = TypeVar("Fn", bound=Callable[..., Any])  # Any: arguments and results of tools have any type


class Action:
    """The action that runs: its request with the effective arguments, and what it reports.

    `key` is its idempotency key, which a reconciler gets for the same action; it is empty outside of a run.
    """

    __slots__ = ("_ended", "_facts", "_judge", "key", "request")

    def __init__(self, request: ActionRequest, judge: DecideFurther | None = None, *, key: str = "") -> None:
        self.request, self.key = request, key
        self._judge = judge
        self._facts: dict[str, Any] = {}  # Any: JSON
        self._ended = False

    def record(self, **facts: Any) -> None:
        """Add facts about what the action opened: JSON values by name. A later fact replaces one of the same name.

        Raises `ValueError` for a value that JSON cannot represent and for more than `MAX_FACTS_CHARS`, `RuntimeError`
        after the action has ended: a tool that goes on in a thread stops there.
        """
        if self._ended:
            raise RuntimeError(ENDED)
        for name, value in facts.items():
            if not is_exact(value):
                raise ValueError(f"the fact `{name}` has no JSON form: {type(value).__name__}")
        together = {**self._facts, **deep_freeze(facts)}
        if len(json_text(together)) > MAX_FACTS_CHARS:
            raise ValueError(f"the facts of an action have at most {MAX_FACTS_CHARS} characters of JSON")
        self._facts = together

    async def judge(self, args: Args) -> Decision:
        """Decide the same tool with other arguments, by the same policy and context, for instance a redirect.

        The decision allows or denies: another verdict would need an approval or other arguments, and is a denial with
        that reason. Each decision is audited. Without a policy, and after the action has ended, all is denied.
        """
        if self._ended:
            return Decision(Verdict.DENY, ENDED)
        decision = Decision(Verdict.DENY, NO_POLICY) if self._judge is None else await self._judge(args)
        if decision.verdict in (Verdict.ALLOW, Verdict.DENY) and decision.transform_args is None:
            given = decision
        else:
            reason = f"a further request of a running action must be allowed, and is decided {decision.verdict.value}"
            given = Decision(Verdict.DENY, reason, tuple(decision.matched_rules))
        judged = {"args": args, "verdict": given.verdict.value, "matched_rules": list(given.matched_rules)}
        if given.reason:
            judged["reason"] = given.reason
        try:
            self.record(judged=[*self._facts.get("judged", ()), judged])
        except (RuntimeError, ValueError) as error:  # what cannot be recorded is not permitted
            return Decision(Verdict.DENY, str(error), tuple(given.matched_rules))
        return given

    def opened(self) -> FrozenDict[str, Any]:
        """The facts recorded so far."""
        return FrozenDict(self._facts)


_CURRENT: ContextVar[Action | None] = ContextVar("bobcat_action", default=None)


def current_action() -> Action | None:
    """The action that runs at present; None outside of a governed call of a tool that `uses_action` marks."""
    action = _CURRENT.get()
    return None if action is None or action._ended else action


def uses_action(fn: Fn) -> Fn:
    """Mark a tool's function: `current_action()` is set while it runs. Apply it below `@tool`."""
    setattr(fn, USES_ACTION, True)
    return fn


def is_marked(fn: Callable[..., Any]) -> bool:
    """Return true if `uses_action` marks the function, or one that it wraps."""
    # PERF: `inspect.unwrap` takes ten times as long as the rest, and most functions wrap no other one.
    try:
        return hasattr(fn, USES_ACTION) or (hasattr(fn, "__wrapped__") and hasattr(inspect.unwrap(fn), USES_ACTION))
    except Exception:  # a callable object can raise for any attribute, or wrap itself
        return False


@contextmanager
def running(action: Action | None) -> Iterator[None]:
    """Set the current action, and end it. With None, hide an outer one."""
    token = _CURRENT.set(action)
    try:
        yield
    finally:
        _CURRENT.reset(token)
        if action is not None:
            action._ended = True
