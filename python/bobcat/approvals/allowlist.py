"""A fixed list of targets that need no approval: as an approval handler, and on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bobcat.approvals.handlers import ApprovalHandler, Pending, not_answered
from bobcat.approvals.normalize import Normalize, normalizer
from bobcat.approvals.targets import checked, target_of, tool_name
from bobcat.errors import ActionBlocked
from bobcat.model.decision import ActionRequest
from bobcat.model.frozen import type_name
from bobcat.model.run import ApprovalDecision, ApprovalRequest


class Allowlist:
    """The allowed targets: exactly these, any number of times.

        recipients = Allowlist(["ops@example.com"], target=lambda request: request.args["to"])
        await run_agent(..., on_approval=recipients)        # as a handler
        recipients.require("ops@example.com")               # in a tool: raises `ActionBlocked` for any other

    `target` maps a tool call to its target; by default the tool's name. As a handler the list grants listed targets as
    `approver`, and asks `otherwise` about the rest: one of the two suffices. `all_approve(allowlist, gate)` needs both.
    `normalize` compares normal forms in place of the texts: `"email"` one plain address each, without distinctions of
    case, `"casefold"` any text, or a function that raises `ValueError` for a text that is on no list.
    The list never grants an action that may already have happened: `otherwise` is asked, or it is refused.
    """

    automatic = True

    def __init__(
        self,
        allowed: Iterable[str],
        *,
        target: Callable[[ActionRequest], str] = tool_name,
        approver: str = "allowlist",
        otherwise: ApprovalHandler | None = None,
        normalize: Normalize | None = None,
    ) -> None:
        if isinstance(allowed, str):
            raise TypeError(f"an allowlist is a collection of strings, not the string {allowed!r}: write [{allowed!r}]")
        items = list(allowed)
        for item in items:
            if type(item) is not str or not item:
                got = repr(item) if type(item) is str else type_name(item)
                raise TypeError(f"an allowlist holds strings that are not empty, got {got}")
        self._normal = normalizer(normalize)
        self._allowed = frozenset(self._normal_form(item) for item in items)
        self._target = target
        self._approver = approver
        self._otherwise = otherwise

    def permits(self, target: str) -> bool:
        """Return true if `target` is on the list: in exactly this spelling, or with `normalize` in its normal form."""
        if type(target) is not str:
            return False
        try:
            return self._normal_form(target) in self._allowed
        except ValueError:
            return False

    def _normal_form(self, text: str) -> str:
        found: object = self._normal(text)
        if type(found) is not str:
            raise TypeError(f"normalize must return a string, got {type_name(found)}")
        return found

    def require(self, target: str) -> None:
        """Raise `ActionBlocked` unless `target` is on the list."""
        if not self.permits(checked(target)):
            raise ActionBlocked(f"{target!r} is not on the allowlist", target)

    async def __call__(self, req: ApprovalRequest, /) -> ApprovalDecision | Pending:
        """Answer an approval of a run; never one for an action that may already have happened."""
        if req.uncertain:
            return await not_answered(req, self._approver, self._otherwise)
        target = target_of(self._target, req.request)
        if self.permits(target):
            return ApprovalDecision(True, self._approver)
        if self._otherwise is not None:
            return await self._otherwise(req)
        return ApprovalDecision(False, self._approver, f"{target!r} is not on the allowlist")
