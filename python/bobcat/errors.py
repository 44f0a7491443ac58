"""Every exception Bobcat raises on purpose.

ValueError
├── PolicyCompileError      a policy source is wrong; carries diagnostics
├── GraphCompileError       a handoff graph is wrong; carries diagnostics
├── BundleError             a bundle file is damaged, hostile, unsigned or of another format; carries a code
├── RequestError            a request given as JSON is not a request; carries a code
├── ArgumentError           a call's arguments are refused before the policy is asked; carries a code
├── ApprovalError           an answer to an approval does not count; carries a code
├── JobError                a job cannot be queued, made or changed; carries a code
├── AuditError              an audit line cannot be read, or decided again; carries a code
└── UserCodeError           a module of rules, or a file of tools, cannot be loaded
OSError
├── PermissionError
│   └── ActionBlocked       an allowlist, or a gate without a grant, blocked an action of a tool
└── DecisionLogError        a decision log cannot be opened, read or written; carries a code
RuntimeError
├── AnalysisError           an answer of the analysis failed its own check; carries a code
├── ActionFailed            an action that a guard started failed, or its outcome is uncertain
├── ToolError               a tool refuses a call, or fails for a reason that its caller can correct
├── IncompleteReply         a model's reply was cut off or withheld; raised by an adapter's `step`; carries a code
├── LedgerError             a cap has no room for a call, or the ledger cannot be used; carries a code
├── StoreError              a store cannot be opened, cannot keep a value, or cannot be reached; carries a code
├── McpServerError          an MCP server cannot be started, or does not answer as one
└── McpToolError            an MCP tool reported a failure
UserWarning
├── StoreWarning            a store keeps less than it seems to
└── PolicyWarning           a policy compiles, but a part of it is laxer than it looks
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # PERF: see `bobcat.lazy`
if TYPE_CHECKING:
    from typing import Any, Literal, TypeAlias

    from bobcat.diagnostics.model import Diagnostic

    IncompleteCode: TypeAlias = Literal["agent_failed", "reply_cut_off", "reply_refused", "unmediated_tool"]
    """The codes of `IncompleteReply`, all of them of `RunErrorCode`."""
    FileCode: TypeAlias = Literal["missing", "damaged", "not_loaded", "unsupported"]

FILE_CODES: tuple[FileCode, ...] = ("missing", "damaged", "not_loaded", "unsupported")
"""The codes of an `AttachmentError` with which a run ends, all of them of `RunErrorCode`."""

_PACKAGE = __file__.removesuffix("errors.py")


class PolicyCompileError(ValueError):
    """A policy source cannot be compiled. `diagnostics` holds every finding, in source order.

    `str(error)` is the readable report, with source lines and carets where the source text is known.
    """

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics

    def __reduce__(self) -> tuple[type[PolicyCompileError], tuple[str, tuple[Diagnostic, ...]]]:
        return type(self), (str(self), self.diagnostics)


class GraphCompileError(ValueError):
    """A handoff graph cannot be compiled. `diagnostics` holds every finding, in source order."""

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics

    def __reduce__(self) -> tuple[type[GraphCompileError], tuple[str, tuple[Diagnostic, ...]]]:
        return type(self), (str(self), self.diagnostics)


class _Coded(Exception):
    """An error with a stable, documented `code` beside its message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[_Coded], tuple[str, str]]:
        return type(self), (self.code, str(self))


class _CodedError(_Coded, ValueError):
    """One about a value."""


class BundleError(_CodedError):
    """A bundle cannot be loaded. `code` is one of the codes in `docs/reference/bundle-format.md`."""


class AnalysisError(RuntimeError):
    """An answer of the analysis failed its own check, and nothing is answered. `code` is `internal`."""

    def __init__(self, message: str, code: str = "internal") -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[AnalysisError], tuple[str, str]]:
        return type(self), (str(self), self.code)


class SourceError(_CodedError):
    """A source of bundles cannot be read or written. `code` is one of the codes in
    `docs/how-to/distribute-bundles.md`.
    """


class RequestError(_CodedError):
    """A request given as JSON is malformed. `code` is one of the codes in `docs/reference/requests.md`."""


class ArgumentError(ValueError):
    """A call cannot be made: of this tool, or with these arguments. The model sees the message.

    `code` is one of the codes in `docs/reference/tool-arguments.md`.
    """

    def __init__(self, message: str, code: str = "argument_value") -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[ArgumentError], tuple[str, str]]:
        return type(self), (str(self), self.code)


class ApprovalError(_CodedError):
    """An answer to an approval does not count. `code` is one of the codes in `docs/how-to/approve-later.md`."""


class JobError(_CodedError):
    """A job cannot be queued, executed or changed. `code` is one of the codes in `docs/how-to/run-workers.md`."""


class TriggerError(_CodedError):
    """A trigger cannot be proposed, confirmed, changed or fired."""


class AuditError(_CodedError):
    """An audit line cannot be read, or decided again. `code` is one of the codes in `docs/how-to/audit-a-run.md`."""


class UserCodeError(ValueError):
    """A module of rules, or an object that `module:NAME` names, cannot be loaded."""


class ActionBlocked(PermissionError):
    """An action without the required grant. `target` is its target, where known."""

    def __init__(self, message: str, target: str | None = None) -> None:
        super().__init__(message)
        self.target = target

    def __reduce__(self) -> tuple[type[ActionBlocked], tuple[str, str | None]]:
        return type(self), (str(self), self.target)


class DecisionLogError(_Coded, OSError):
    """A decision log cannot be opened, read or written. `code` is one of those in `docs/how-to/decision-log.md`."""


class ActionFailed(RuntimeError):
    """An action that was started and did not succeed: its tool raised, or its outcome is uncertain."""


class ToolError(RuntimeError):
    """A tool refuses a call, or fails for a reason that its caller can correct.

    The text is the whole error that the model sees: no traceback is added. `code` is the cause for programs.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[ToolError], tuple[str, str]]:
        return type(self), (str(self), self.code)


class AttachmentError(_CodedError):
    """An attachment cannot be made, kept, read or sent. `code` is one of the codes in `docs/how-to/attach-files.md`."""


class UndoError(ToolError):
    """A change cannot be undone, or not be made undoable. `code` is one of those in `docs/how-to/undo.md`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message, code)

    def __reduce__(self) -> tuple[type[UndoError], tuple[str, str]]:
        return type(self), (self.code, str(self))


class LedgerError(RuntimeError):
    """A cap has no room for a call, or the ledger cannot be used. `code` is one of those in
    `docs/how-to/limit-spending.md`.

    For a refusal, `cap` is the text of the cap, `unit` is `usd` or `tokens`, and `spent`, `reserved` and `asked` are
    amounts of it; money is in micro-dollars.
    """

    def __init__(
        self, code: str, message: str, *, cap: str = "", unit: str = "", spent: int = 0, reserved: int = 0,
        asked: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.code, self.cap, self.unit = code, cap, unit
        self.spent, self.reserved, self.asked = spent, reserved, asked

    # Any: the state is the attributes.
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, str(self)), dict(vars(self))


class IncompleteReply(RuntimeError):
    """An incomplete reply of a model: it was cut off, withheld or refused. `code` becomes `RunResult.code`."""

    def __init__(self, message: str, code: IncompleteCode = "agent_failed") -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[IncompleteReply], tuple[str, IncompleteCode]]:
        return type(self), (str(self), self.code)


class McpServerError(RuntimeError):
    """An MCP server cannot be started, ended, or does not answer as an MCP server does."""


class McpToolError(RuntimeError):
    """A tool of an MCP server reported a failure; the text is the server's."""


class StoreError(_Coded, RuntimeError):
    """A store operation failed. `code` is one of the codes in `docs/reference/stores.md`.

    A write that failed with `unavailable` may or may not be durable: read again.
    """


class ThreadError(_Coded, RuntimeError):
    """A thread cannot be used as asked. `code` is one of those in `docs/how-to/threads.md`."""


class ThreadBusy(ThreadError):
    """A turn of the thread is in progress or waits, and the sender does not queue."""


class StoreWarning(UserWarning):
    """A store offers less durability than it appears to, and was configured to continue."""


class PolicyWarning(UserWarning):
    """A policy compiles, but part of it is laxer than it looks. Raised once per rule and problem."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line of the program that called the package, however many of its own functions are in between."""
    import warnings

    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
