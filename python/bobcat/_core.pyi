"""The Rust core, as Python sees it.

`Program` is the base of `bobcat.bundle.PolicyBundle`: decisions read a bundle without a Python call in between.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal, Self, final

from typing_extensions import disjoint_base

from bobcat.model import ActionRequest, Decision, ExecutionContext

__all__ = [
    "CoreError",
    "Pattern",
    "Program",
    "__version__",
    "_conformance_for_tests",
    "_panic_for_tests",
    "check_pattern",
    "evaluate",
    "evaluate_json",
    "evaluate_many",
    "explain",
]

__version__: str

class CoreError(ValueError):
    """IR bytes are refused: `code` is a documented bundle code, the message says where and which limit."""

    code: str

@disjoint_base
class Program:
    """A loaded policy, frozen and safe to use from many threads.

    `ir` is canonical IR bytes. `host_rules` holds one callable per host rule of the IR, in the IR's order.
    Subclassable; subclasses may take further arguments in `__init__`.
    """

    def __new__(cls, ir: bytes, host_rules: tuple[Callable[..., Any], ...] = (), *args: Any, **kwargs: Any) -> Self: ...
    @property
    def rule_count(self) -> int: ...
    @property
    def profile(self) -> Literal["strict", "lynx"]: ...
    def evaluate(self, request: ActionRequest, context: ExecutionContext | None = None) -> Decision:
        """The decision on one request. Never raises on the content of a request; TypeError if it is not one."""

def evaluate(bundle: Program, request: ActionRequest, context: ExecutionContext | None = None) -> Decision:
    """The decision of `bundle` on `request`; see `Program.evaluate`."""

def evaluate_many(bundle: Program, requests: Iterable[ActionRequest]) -> list[Decision]:
    """One decision per request, in order."""

def evaluate_json(bundle: Program, data: bytes) -> list[Decision]:
    """One decision per line of JSON Lines `data`, the GIL released while deciding. Host rules are refused.

    Raises CoreError with code `bad_request` and the line number for a line that is no request.
    """

# One clause judged: (outcome, head, path, op, operand text, value text or None, error code or None, leaf index).
_ClauseTrace = tuple[str, str, tuple[str, ...], str, str, str | None, str | None, int]
# One rule judged: (rule index in evaluation order, outcome, error code or None, clause tree).
# outcome: "true" | "false" | "absent" | "error" | "not_reached". The tree is nested tuples:
# ("all" | "any" | "not", outcome, children) or ("leaf", *_ClauseTrace).
_RuleTrace = tuple[int, str, str | None, Any]

def explain(
    bundle: Program, request: ActionRequest, context: ExecutionContext | None = None
) -> tuple[Decision, list[_RuleTrace]]:
    """The decision, and how every rule came out, judged clause by clause along the plain path (no index, no automaton).

    Rules after the deciding one are `not_reached` and have the tree None. Leaf indexes count the leaves of a rule's
    match in pre-order. Values are shown as JSON, cut after 200 characters.
    """

def check_pattern(pattern: str, dialect: Literal["re2", "python"]) -> list[tuple[str, int, int, str]]:
    """Why the dialect refuses `pattern`: (code, start, end, message), offsets in code points; empty when accepted."""

@final
class Pattern:
    """One compiled pattern, for tests and tools: what `matches` does with it."""

    def __new__(cls, pattern: str, dialect: Literal["re2", "python"]) -> Self: ...
    def search(self, text: str) -> bool: ...

def _panic_for_tests(bundle: Program, request: ActionRequest) -> Decision:
    """What `evaluate` answers when the core panics; for the test that there is an answer."""

def _conformance_for_tests(bundle: Program) -> list[str]:
    """What Python values get wrong in the core's conformance kit: nothing."""
