"""Python interface of the Rust core.

`Program` is the base of `bobcat.bundle.PolicyBundle`: evaluation reads a bundle without a Python call.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, Generic, Literal, Self, TypeVar, final

from typing_extensions import disjoint_base

from bobcat.model.decision import ActionRequest, Decision, ExecutionContext
from bobcat.model.frozen import FrozenDict

__all__ = [
    "Analysis",
    "Chain",
    "CollectionNode",
    "CoreError",
    "HookSession",
    "MappingNode",
    "Mark",
    "Node",
    "Pattern",
    "Program",
    "RecordTemplate",
    "Requests",
    "RunState",
    "ScalarNode",
    "SequenceNode",
    "SlotConstructor",
    "YamlError",
    "__version__",
    "_conformance_for_tests",
    "_panic_for_tests",
    "action_key",
    "canonical_text",
    "chained_hash",
    "check_pattern",
    "check_request",
    "compose_yaml",
    "evaluate",
    "evaluate_beside",
    "evaluate_json",
    "evaluate_many",
    "explain",
    "facet_operand",
    "facet_parts",
    "facets",
    "find_text",
    "first_step",
    "frozen_if_flat",
    "is_manifest_of",
    "is_printable",
    "lower",
    "manifest_head",
    "occurs_in",
    "parse_facet",
    "parse_shell",
    "pattern_cost",
    "session_directory",
    "sha256",
    "shell_packs",
    "unicode_version",
]

_T = TypeVar("_T")

__version__: str
unicode_version: str
"""The Unicode version that evaluation uses."""

class CoreError(ValueError):
    """Invalid IR bytes: `code` is a documented bundle code, the message has the position and the limit."""

    code: str

@disjoint_base
class Program:
    """A loaded policy, frozen and thread-safe.

    `ir` is canonical IR bytes. `host_rules` holds one callable per host rule of the IR, in the IR's order.
    Subclassable; subclasses may take further arguments in `__init__`.
    """

    def __new__(cls, ir: bytes, host_rules: tuple[Callable[..., Any], ...] = (), *args: Any, **kwargs: Any) -> Self: ...
    @property
    def rule_count(self) -> int: ...
    @property
    def profile(self) -> Literal["strict", "lynx"]: ...
    def prepare(self) -> None:
        """Build eagerly what the first calls about each tool would build: its index, automata and decisions."""

    @property
    def remembers(self) -> bool:
        """Return true if decisions read the state of a run."""

    @property
    def reads_task(self) -> bool:
        """Return true if decisions read the task of a run."""

    @property
    def reads_results(self) -> bool:
        """Return true if what decisions read of a run depends on results of calls."""

    def evaluate(
        self, request: ActionRequest, context: ExecutionContext | None = None, state: RunState | None = None
    ) -> Decision:
        """Evaluate one request. Never raises because of a request's content; TypeError if it is not a request."""

@final
class RunState:
    """The state of one run: what a policy remembers of its calls and their results. Thread-safe.

    Measures and formulas have the names of `IrPolicy.memory`. A definition that met something that it cannot evaluate
    has an error for the rest of the run: `bad_state`, or `state_limit` past a cap. Decisions see the state as it was
    when they began.
    """

    def __new__(cls, bundle: Program, *, task: str | None = None) -> Self: ...
    @staticmethod
    def load(bundle: Program, data: bytes) -> RunState:
        """Return the state of a snapshot. ValueError for other bytes, and for the snapshot of another policy."""

    def dump(self) -> bytes:
        """Return a snapshot, for states of policies with the same definitions."""

    @property
    def task(self) -> str | None:
        """Return the user's task."""

    def call(self, request: ActionRequest, key: str) -> None:
        """Take the intent of a call, with its effective arguments. A known key is ignored."""

    def result(self, key: str, value: object, at: datetime) -> None:
        """Take the result of a call that succeeded. Only the first end of a call counts.

        ValueError for an unknown key.
        """

    def failed(self, key: str, at: datetime) -> None:
        """Take the failure of a call: it stays counted and has no result. ValueError for an unknown key."""

    def release(self, key: str) -> None:
        """Take a call back from counts and sums: it certainly did not happen. ValueError if it ended or is unknown."""

    def next_reply(self) -> None:
        """Show the values of all results so far to `from`: calls of one reply do not see one another's."""

    def next_turn(self, *, task: str | None = None) -> None:
        """Begin another run of the same conversation: counts, sums and formulas start anew, values of sources stay."""

    def set_task(self, task: str | None) -> None:
        """Set the user's task: calls from now on, and decisions, read this one."""

    def share(self, values: Mapping[str, int | float | str]) -> None:
        """Set the values of measures with `by`, by name, or the code of the error of one that has no value.

        Codes are `no_state`, `bad_state` and `state_limit`. ValueError for another name or value.
        """

    def values(self, request: ActionRequest) -> dict[str, object]:
        """Return the values of all measures and formulas for a decision; of one in error, `{"error": code}`."""

    def amounts(self, request: ActionRequest) -> dict[str, object]:
        """Return what a call adds to each measure that counts it; of one in error, `{"error": code}`."""

    def origins(self, value: object) -> list[dict[str, str]]:
        """Return the places a text or number came from: `source`; unless it is `task`: `tool`, `key` and `field`."""

@final
class HookSession:
    """The session of a coding agent, on record in a file. This process holds it until it is closed.

    Errors are ValueError, with one line for people: the call must not run.
    """

    @staticmethod
    def open(bundle: Program, directory: str | PathLike[str], host: str, session: str) -> HookSession:
        """Open the session of a host, and make its state. Waits for other processes, up to 4 seconds."""

    @property
    def state(self) -> RunState:
        """Return the state, with the user's last words as its task."""

    def share(self, kind: str, id: str, at: str) -> None:
        """Give the state the values `by: principal` at `at` (RFC 3339), and hold the record of the principal, too."""

    def repair(self) -> bool:
        """Make the state again if a snapshot on disk is damaged; return true if a decision is to be made again."""

    def call(self, request: str, *, id: str | None, tool: str, args: str) -> None:
        """Record a call that may run, durably. `request` and `args` are canonical JSON."""

    def result(self, *, id: str | None, tool: str, args: str, value: str | None, failed: bool, at: str) -> None:
        """Record the end of a call; of one that is not on record, nothing. `value` is canonical JSON, `at` RFC 3339."""

    def set_task(self, text: str) -> None:
        """Record the user's words."""

    def close(self) -> None:
        """Let other processes use the session, after a snapshot where one is due. ValueError never."""

def manifest_head(section: bytes, /) -> tuple[str, Literal["strict", "lynx"], int | None] | None:
    """Return the digest, the profile and the epoch in the manifest of a bundle.

    None for one that `bobcat.bundle.manifest` decodes: it is not canonical, or holds host rules.
    """

def is_manifest_of(section: bytes, bundle: Program, ir: bytes, /) -> bool:
    """Return true if a manifest, of which there is a head, describes the policy that was made from `ir`."""

def session_directory() -> Path:
    """Return the directory of sessions, by the environment. ValueError without one."""

def evaluate(
    bundle: Program,
    request: ActionRequest,
    context: ExecutionContext | None = None,
    state: RunState | None = None,
) -> Decision:
    """Return the decision of `bundle` on `request`. `context` replaces the request's; `state` is that of its run.

    Never raises because of a request's content; TypeError for a wrong bundle or request type.
    """

def evaluate_beside(
    bundle: Program, candidate: Program, request: ActionRequest, context: ExecutionContext, /
) -> Decision | tuple[Decision, Decision] | None:
    """Return the decision of `bundle`, with that of `candidate` in a tuple unless both have the same outcome.

    The same outcome is the same verdict by the same rules, without new arguments or an approval. None where one of the
    two has a Python rule that is not compiled, or the `lynx` profile.
    """

def evaluate_many(bundle: Program, requests: Iterable[ActionRequest]) -> list[Decision]:
    """Return one decision per request, in order. TypeError for a wrong bundle or request type."""

def evaluate_json(bundle: Program, data: bytes) -> list[Decision]:
    """Return one decision per line of JSON Lines `data`; the GIL is released during evaluation. Rejects host rules.

    Raises CoreError with code `bad_request` and the line number for a line that is not a request.
    """

@final
class Analysis:
    """Exact questions about policies. `policies` are canonical IR bytes of checked policies. CoreError for other bytes.

    `states`, `nodes` and `assignments` are budgets of each search; an answer that hits one is unknown.
    """

    def __new__(
        cls, policies: Sequence[bytes], *, states: int = 200000, nodes: int = 7000000, assignments: int = 20000
    ) -> Self: ...
    def ask(self, question: bytes, on_progress: Callable[[int, int, str], object] | None = None) -> bytes:
        """Return the answer to a question, both JSON. The GIL is released. ValueError for an invalid question.

        `on_progress(done, total, tool)` is called before each tool; a false result stops, with reason `stopped`.
        """

# One evaluated clause: (outcome, head, path, op, operand text, value text or None, error code or None, leaf index, the
# texts that a facet parsed or None).
_ClauseTrace = tuple[str, str, tuple[str, ...], str, str, str | None, str | None, int, str | None]
# One evaluated rule: (rule index in evaluation order, outcome, error code or None, clause tree, function trace).
# outcome: "true" | "false" | "absent" | "error" | "not_reached". The tree is nested tuples:
# ("all" | "any" | "not", outcome, children) or ("leaf", *_ClauseTrace).
# A function: (number of the statement that decided or None, [(number of an `if`, outcome, times, reads)]); a read is
# (slot of a local, (), value text or None) or (head, path, value text or None). Numbers count statements in pre-order.
_RuleTrace = tuple[int, str, str | None, Any, Any]

def explain(
    bundle: Program,
    request: ActionRequest,
    context: ExecutionContext | None = None,
    state: RunState | None = None,
) -> tuple[Decision, list[_RuleTrace]]:
    """Return the decision and every rule's outcome, evaluated clause by clause without index or automaton.

    Rules after the deciding one are `not_reached` and have neither tree nor function. Leaf indexes count the leaves of
    a rule's match in pre-order. Values are JSON, truncated after 200 characters.
    """

# Below, a parameter is `object` if a value that is not plain, or of the wrong type, gives None instead of an exception.
# Plain values are None, bool, int, finite float, str without a lone surrogate, list, tuple, dict with such strings as
# keys, their frozen forms and mapping proxies, no deeper than `bobcat.text.json_text.MAX_DEPTH`; subclasses are not
# plain.

def canonical_text(value: object) -> str | None:
    """Return `bobcat.text.json_text.json_text` (and `loose_json_text`) of a plain value, byte for byte; None
    otherwise.
    """

def action_key(run_id: object, step: object, tool: object, args: object) -> str | None:
    """Return `bobcat.journal.keys.idempotency_key` of an action with plain arguments; None otherwise."""

def chained_hash(previous: object, run_id: object, seq: object, kind: object, key: object, body: object) -> str | None:
    """Return `bobcat.journal.keys.chain_hash` of a record with a plain body; None otherwise."""

def facets() -> list[tuple[str, str]]:
    """Return the facets: name and type of the derived value."""

def facet_parts(kind: str) -> list[tuple[str, str]]:
    """Return the parts of a type of derived values: name and type. ValueError for another type."""

def facet_operand(kind: str, within: bool, text: str) -> str:
    """Return the canonical form of an operand for values of a type; `within`: the operand is a range.

    ValueError with the reason for a text that such values are never equal to.
    """

def parse_facet(facet: str, text: str) -> tuple[str, None] | tuple[None, tuple[str, int, str]]:
    """Parse a text: its parts as JSON, or the code, the place in characters and the construct that made it
    undecidable. ValueError for another facet.
    """

def occurs_in(text: str | None, number: str, texts: list[str], lower: bool) -> bool:
    """Return true if a text, or a number given as JSON, stands in one of some texts as a whole."""

def parse_shell(text: str) -> str:
    """Return the commands of a command line as JSON; ValueError with (code, place in bytes, detail) for one that is
    undecidable.
    """

def shell_packs() -> str:
    """Return the packs of the facet `shell` as JSON."""

def lower(text: str) -> str:
    """Return the lower case of a text by the rules of evaluation; a text with a lone surrogate is returned
    unchanged.
    """

def is_printable(text: str) -> bool:
    """Return true if every character of a text is printable by the rules of evaluation."""

def sha256(*parts: bytes) -> bytes:
    """Return the SHA-256 of the concatenated parts: 32 bytes."""

@final
class SlotConstructor(Generic[_T]):
    """Factory of instances of `cls`, a frozen dataclass with slots, from all `fields`; see `bobcat.model.fast_init`.

    Its constructor is not run, so it must only store them. If the instances' storage is not as expected, the class is
    called.
    """

    def __new__(cls, kind: type[_T], fields: list[str], /) -> Self: ...
    def __call__(self, *values: Any) -> _T: ...

@final
class Chain(Generic[_T]):
    """Factory of the successive records of the run `run_id`, with `make`.

    With `link`, each body gets a hash of the record and all earlier ones as `chain`. `link(previous, body, run_id, seq,
    kind, key)` computes it if the body is not plain. `seq` is the position of the next record, `head` the hash of the
    last stored one.
    """

    seq: int
    head: str
    def __new__(cls, make: SlotConstructor[_T], link: Callable[..., str] | None, run_id: str, /) -> Self: ...
    def record(self, kind: str, body: dict[str, Any], key: str, at: object, /) -> _T:
        """Return the next record; the position does not advance until `kept`. `body` gets the hash."""

    def fill(self, form: RecordTemplate, values: tuple[Any, ...], key: str, at: object, /) -> _T:
        """Call `record` with the kind of `form`, with `values` for its unfixed names, in order."""

    def key(self, step: int, tool: str, args: Mapping[str, Any], /) -> str | None:
        """Return `bobcat.journal.keys.idempotency_key` of an action of this run with plain arguments and plain names;
        None otherwise."""

    def keep(self, writing: Awaitable[object], /) -> tuple[Any, ...] | None:
        """Run the first step of `writing`, the store's call that appends the last record; call `kept` if it is done."""

    def kept(self) -> None:
        """Confirm that the last record is stored: the next one follows it."""

@final
class RecordTemplate:
    """Template of record bodies of one kind: `names`, in this order, some of them with `fixed` plain values. For
    `Chain.fill`.

    Raises `ValueError` for a duplicate name, for `chain`, and for a fixed value that has no name or is not plain.
    """

    def __new__(cls, kind: str, names: Sequence[str], fixed: dict[str, Any], /) -> Self: ...

class YamlError(Exception):
    """A text that is not YAML, or past a limit: `args` are the kind, the problem, and the position or None.

    The kinds are `syntax` and `character`, with the problem; `depth` and `count`, at the value around the one that is
    too deep or too many; and `recursive`, at an anchor that is in its own value. The position is a line and a column
    from 0; a syntax error without one is at the end of the text.
    """

def compose_yaml(text: str, max_depth: int, max_nodes: int, /) -> tuple[Node | None, Node | None]:
    """Compose the first document of a text and the second one, each None if it is missing, as libyaml reads them.

    Values nest in at most `max_depth` levels, and there are at most `max_nodes`, without those of aliases. Raises
    `YamlError`.
    """

@final
class Mark:
    """A position of a text: its line and column from 0."""

    def __new__(cls, line: int, column: int, /) -> Self: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...

@disjoint_base
class Node:
    """A value of a YAML text: its tag, empty without an explicit one, its `value`, and its marks: objects with `line`
    and `column` from 0.
    """

    @property
    def tag(self) -> str: ...
    @property
    def value(self) -> Any: ...
    @property
    def style(self) -> Any:
        """Return the quote of a scalar, or `|` or `>`, empty if it is plain; `flow_style` of a collection."""

    @property
    def start_mark(self) -> Any: ...
    @property
    def end_mark(self) -> Any: ...
    @property
    def text(self) -> str | None:
        """Return the string of a scalar that is one for certain: in quotes, or plain and neither a number by its first
        character nor a word; None for any other value, and for a string that is too long.
        """

    def end(self) -> Any:
        """Return the mark where its text ends: a collection ends at the end of its last value."""

    def position_to(self, other: Node, /) -> tuple[int, int, int, int]:
        """Return the first line and column, and the last line and the column behind it, from 1, of the text from this
        node to another one; those of this node alone if the other one comes before it, as the node of an alias can.
        """

@final
class ScalarNode(Node):
    """A value that is neither a list nor a mapping: its text, or a Python value that was given as such."""

    def __new__(
        cls, tag: str, value: object, start_mark: object, end_mark: object, style: object | None = None
    ) -> Self: ...

class CollectionNode(Node):
    """A list or a mapping; `flow_style` is true if it is written in brackets."""

    @property
    def flow_style(self) -> bool: ...

@final
class SequenceNode(CollectionNode):
    """A list: `value` is the list of its items' nodes."""

    def __new__(
        cls, tag: str, value: list[Any], start_mark: object, end_mark: object, flow_style: bool = False
    ) -> Self: ...

@final
class MappingNode(CollectionNode):
    """A mapping: `value` is the list of its pairs of nodes."""

    def __new__(
        cls, tag: str, value: list[Any], start_mark: object, end_mark: object, flow_style: bool = False
    ) -> Self: ...
    def by_key(self, known: set[str], /) -> dict[str, tuple[ScalarNode, Node]] | None:
        """Return the pairs by the texts of their keys, in order; None if a key is not in `known`, or is there twice."""

@final
class Requests(Generic[_T]):
    """Factory of the requests of one run, with constructors of `ExecutionContext` and of `ActionRequest`."""

    def __new__(
        cls,
        make_context: SlotConstructor[Any],
        make_request: SlotConstructor[_T],
        /,
        *,
        principal: object,
        environment: object,
        workspace: object,
        correlation_id: object,
        extra: object,
        task: object = None,
    ) -> Self: ...
    def of(self, tool: str, args: object, declared: object, step: int, at: object, /) -> _T:
        """Return the request for a call of `tool` at a step."""

def frozen_if_flat(value: object) -> FrozenDict[Any, Any] | None:
    """Return `bobcat.model.frozen.deep_freeze` of a dict of plain values under plain strings; None otherwise."""

def first_step(coroutine: Awaitable[object]) -> tuple[Any, ...] | None:
    """Run `coroutine` until it suspends or ends: return None if it ended, else a tuple of the one value it yielded.

    An object that is not a coroutine is left untouched, and `()` returned. Raises the exceptions of the coroutine.
    """

def check_pattern(pattern: str, dialect: Literal["re2", "python"]) -> list[tuple[str, int, int, str]]:
    """Return the reasons that the dialect rejects `pattern`: (code, start, end, message), offsets in code points."""

def pattern_cost(pattern: str, dialect: Literal["re2", "python"]) -> int:
    """Return the size of a pattern with its repetitions expanded; ValueError for one that the dialect rejects."""

def find_text(tests: Sequence[tuple[str, Sequence[str], bool, bool]], steps: int) -> tuple[str | None, int]:
    """Return a shortest text with these results of tests, None if no text has them, and the steps taken.

    A test is `pattern`, or the ends at which the text must have one of some texts (`start`, `end`, `both`, or an empty
    string); then the pattern or the texts, true if the text in lower case is tested, and the wanted result. If the
    steps do not suffice, the text is None, and more than `steps` were taken. Raises ValueError for a pattern that the
    dialect `re2` rejects.
    """

def check_request(data: bytes) -> None:
    """Raise CoreError with the code `bad_request` for a text that is not JSON within the limits of a request."""

@final
class Pattern:
    """One compiled pattern with the semantics of `matches`, for tests and tools."""

    def __new__(cls, pattern: str, dialect: Literal["re2", "python"]) -> Self: ...
    def search(self, text: str) -> bool: ...

def _panic_for_tests(bundle: Program, request: ActionRequest) -> Decision:
    """Return the decision of `evaluate` when the core panics, for tests."""

def _conformance_for_tests(bundle: Program) -> list[str]:
    """Return the failures of Python values in the core's conformance kit; empty if they conform."""
