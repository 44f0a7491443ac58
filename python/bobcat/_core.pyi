"""The Rust core, as Python sees it.

`Program` is the base of `bobcat.bundle.PolicyBundle`: decisions read a bundle without a Python call in between.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Literal, Self, TypeVar, final

from typing_extensions import disjoint_base

from bobcat.frozen import FrozenDict
from bobcat.model import ActionRequest, Decision, ExecutionContext

__all__ = [
    "Chain",
    "CoreError",
    "Form",
    "Gauge",
    "Maker",
    "Pattern",
    "Program",
    "Requests",
    "__version__",
    "_conformance_for_tests",
    "_panic_for_tests",
    "_steps_for_tests",
    "action_key",
    "begin",
    "canonical_text",
    "chained_hash",
    "check_pattern",
    "check_request",
    "evaluate",
    "evaluate_json",
    "evaluate_many",
    "explain",
    "frozen_if_flat",
    "is_printable",
    "lower",
    "pattern_cost",
    "sha256",
    "unicode_version",
]

_T = TypeVar("_T")

__version__: str
unicode_version: str
"""The version of Unicode by which decisions know characters."""

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
    def prepare(self) -> None:
        """Make at once what the first calls about each tool would make: its index, automata and decisions."""

    def evaluate(self, request: ActionRequest, context: ExecutionContext | None = None) -> Decision:
        """The decision on one request. Never raises on the content of a request; TypeError if it is not one."""

def evaluate(bundle: Program, request: ActionRequest, context: ExecutionContext | None = None) -> Decision:
    """The decision of `bundle` on `request`. `context` counts in place of the request's.

    Never raises on the content of a request; TypeError for what is no bundle or no request.
    """

def evaluate_many(bundle: Program, requests: Iterable[ActionRequest]) -> list[Decision]:
    """One decision per request, in order. TypeError for what is no bundle or no request."""

def evaluate_json(bundle: Program, data: bytes) -> list[Decision]:
    """One decision per line of JSON Lines `data`, the GIL released while deciding. Host rules are refused.

    Raises CoreError with code `bad_request` and the line number for a line that is no request.
    """

# One clause judged: (outcome, head, path, op, operand text, value text or None, error code or None, leaf index).
_ClauseTrace = tuple[str, str, tuple[str, ...], str, str, str | None, str | None, int]
# One rule judged: (rule index in evaluation order, outcome, error code or None, clause tree, what its function did).
# outcome: "true" | "false" | "absent" | "error" | "not_reached". The tree is nested tuples:
# ("all" | "any" | "not", outcome, children) or ("leaf", *_ClauseTrace).
# A function: (number of the statement that decided or None, [(number of an `if`, outcome, times, reads)]); a read is
# (slot of a local, (), value text or None) or (head, path, value text or None). Numbers count statements in pre-order.
_RuleTrace = tuple[int, str, str | None, Any, Any]

def explain(
    bundle: Program, request: ActionRequest, context: ExecutionContext | None = None
) -> tuple[Decision, list[_RuleTrace]]:
    """The decision, and how every rule came out, judged clause by clause along the plain path (no index, no automaton).

    Rules after the deciding one are `not_reached` and have neither tree nor function. Leaf indexes count the leaves of
    a rule's match in pre-order. Values are shown as JSON, cut after 200 characters.
    """

# Below, `object` where a value that is not plain, or of the wrong type, is answered with None and nothing raises. Plain
# are None, bool, int, finite float, str without a lone surrogate, list, tuple, dict with such strings as keys, their
# frozen forms and mapping proxies, no deeper than `bobcat.plain_json.MAX_DEPTH`; no subclass of one is.

def canonical_text(value: object) -> str | None:
    """`bobcat.plain_json.json_text` (and `loose_json_text`) of a plain value, byte for byte; None for any other."""

def action_key(run_id: object, step: object, tool: object, args: object) -> str | None:
    """`bobcat.journal.idempotency_key` of an action with plain arguments; None for any other."""

def chained_hash(previous: object, run_id: object, seq: object, kind: object, key: object, body: object) -> str | None:
    """`bobcat.journal.chain_hash` of a record with a plain body; None for any other."""

def lower(text: str) -> str:
    """The lower case of a text, as decisions know it; a text with a lone surrogate stays as it is."""

def is_printable(text: str) -> bool:
    """Whether every character of a text can be shown, as decisions know it."""

def sha256(*parts: bytes) -> bytes:
    """The SHA-256 of these bytes, one after the other: 32 bytes."""

@final
class Maker(Generic[_T]):
    """Makes instances of `cls`, a frozen dataclass with slots, from the values of all `fields`; see `bobcat.quick`.

    Its constructor is not run, so it must do no more than keep them. Where the storage of the instances is not as
    expected, the class is called.
    """

    def __new__(cls, kind: type[_T], fields: list[str], /) -> Self: ...
    def __call__(self, *values: Any) -> _T: ...

@final
class Chain(Generic[_T]):
    """Makes the records of the run `run_id`, one after the other, with `make`.

    With `link`, each gets a hash of itself and all before it into its body, as `chain`. `link(previous, body, run_id,
    seq, kind, key)` is asked for it where the body is not plain. `seq` is the position of the next record, `head` the
    hash of the last one that was kept.
    """

    seq: int
    head: str
    def __new__(cls, make: Maker[_T], link: Callable[..., str] | None, run_id: str, /) -> Self: ...
    def record(self, kind: str, body: dict[str, Any], key: str, at: object, /) -> _T:
        """The next record, and the same position again until it is `kept`. `body` gets the hash."""

    def fill(self, form: Form, values: tuple[Any, ...], key: str, at: object, /) -> _T:
        """`record` of the kind of `form`, with `values` for what is not fixed in it, in the order of its names."""

    def key(self, step: int, tool: str, args: Mapping[str, Any], /) -> str | None:
        """`bobcat.journal.idempotency_key` of an action of this run with plain arguments and names that need no care;
        None for any other."""

    def keep(self, writing: Awaitable[object], /) -> tuple[Any, ...] | None:
        """`begin(writing)`, the store's call that keeps the record that was made last, and `kept` when it is done."""

    def kept(self) -> None:
        """The record that was made last is on record: the next one follows it."""

@final
class Form:
    """What records of one kind have in their bodies: `names`, in this order, some of them with values that are `fixed`
    and plain. For `Chain.fill`.

    Raises `ValueError` for a name that comes twice, for `chain`, and for something fixed that has no name or is not
    plain.
    """

    def __new__(cls, kind: str, names: Sequence[str], fixed: dict[str, Any], /) -> Self: ...

@final
class Gauge:
    """Counts the values of one YAML source and the levels they are nested in: the hooks of PyYAML's composer.

    With a value too deep, or one too many, it calls `past` with the cap, `depth` or `count`, and the node that holds
    the value; what that raises stops the composer. Before every item of a list that a key of the root has, it calls
    `on_item` with the node of the key, that of the list, in which the items before are done, and the index.
    """

    def __new__(
        cls,
        max_depth: int,
        max_count: int,
        past: Callable[[str, Any], object],
        on_item: Callable[[Any, Any, int], object] | None = None,
        /,
    ) -> Self: ...
    def descend(self, parent: object, index: object, /) -> None:
        """A value more, a level down, in `parent`."""

    def ascend(self) -> None:
        """A level up."""

    def resolve(self, kind: object, value: object, implicit: object, /) -> str:
        """The tag of a value whose author wrote none: none."""

@final
class Requests(Generic[_T]):
    """Makes the requests of one run, with makers of `ExecutionContext` and of `ActionRequest`."""

    def __new__(
        cls,
        make_context: Maker[Any],
        make_request: Maker[_T],
        /,
        *,
        principal: object,
        environment: object,
        workspace: object,
        correlation_id: object,
        extra: object,
    ) -> Self: ...
    def of(self, tool: str, args: object, declared: object, step: int, at: object, /) -> _T:
        """The request for a call of `tool` at a step."""

def frozen_if_flat(value: object) -> FrozenDict[Any, Any] | None:
    """`bobcat.frozen.deep_freeze` of a dict with nothing but plain values under plain strings; None for any other."""

def begin(coroutine: Awaitable[object]) -> tuple[Any, ...] | None:
    """Run `coroutine` until it waits or is done: None when it is done, else a tuple of the one thing it yielded.

    What is no coroutine is left as it is, and `()` returned. Raises what the coroutine raises.
    """

def check_pattern(pattern: str, dialect: Literal["re2", "python"]) -> list[tuple[str, int, int, str]]:
    """Why the dialect refuses `pattern`: (code, start, end, message), offsets in code points; empty when accepted."""

def pattern_cost(pattern: str, dialect: Literal["re2", "python"]) -> int:
    """The size of a pattern with its repetitions written out; ValueError for one that the dialect refuses."""

def check_request(data: bytes) -> None:
    """CoreError with the code `bad_request` for a text that is no JSON within the caps of a request."""

@final
class Pattern:
    """One compiled pattern, for tests and tools: what `matches` does with it."""

    def __new__(cls, pattern: str, dialect: Literal["re2", "python"]) -> Self: ...
    def search(self, text: str) -> bool: ...

def _steps_for_tests(bundle: Program, request: ActionRequest, *, plain: bool = False) -> int:
    """How many steps of its budget a decision takes, by the index or plainly; for the tests of the budget."""

def _panic_for_tests(bundle: Program, request: ActionRequest) -> Decision:
    """What `evaluate` answers when the core panics; for the test that there is an answer."""

def _conformance_for_tests(bundle: Program) -> list[str]:
    """What Python values get wrong in the core's conformance kit: nothing."""
