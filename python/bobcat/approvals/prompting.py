"""Approval questions for a terminal: the whole call, or its beginning and the number of hidden characters."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from bobcat._core import canonical_text
from bobcat.model.decision import obligations_of
from bobcat.model.masking import MASK, masked, redacted_paths
from bobcat.model.run import ApprovalRequest
from bobcat.text.display import readable_json, safe_args, safe_json, safe_name, safe_names, safe_text, wrapped
from bobcat.text.json_text import safe_str

SHOWN_CHARS = 2_000
"""Maximum length of one name, value or reason in the prompt."""
SHOWN_ARGS = 30
"""Maximum number of arguments in the prompt."""
ONE_LINE = 200
"""Maximum total length of arguments shown in one line."""
PAGE_LINES = 40
PAGE_COLUMNS = 100
"""Width of a page without a terminal."""
UNCERTAIN = "UNCERTAIN: an earlier attempt may have taken effect; approving can make it happen twice"


class Question:
    """One approval as text. `hidden` is the number of characters that the prompt does not show."""

    def __init__(self, req: ApprovalRequest) -> None:
        self._req = req
        args = shown_args(req)
        texts = [safe_str(req.request.tool), safe_str(req.decision.reason)]
        for name, value in list(args.items())[:SHOWN_ARGS]:
            texts += [safe_str(name), readable_json(value)]
        self.hidden = sum(max(0, len(text) - SHOWN_CHARS) for text in texts)
        for name, value in list(args.items())[SHOWN_ARGS:]:
            self.hidden += len(safe_str(name)) + len(readable_json(value))

    def prompt(self) -> str:
        """The text to show before an answer is read."""
        lines = ["", "→ APPROVAL REQUIRED", *self._lines(SHOWN_CHARS)]
        keys = "y/N/v" if self.hidden else "y/N"
        return "\n".join(_fitting(lines)) + f"\nApprove? [{keys}] "

    def pages(self) -> list[str]:
        """The whole question in pages."""
        found = _fitting(self._lines(None), otherwise=PAGE_COLUMNS)
        return ["\n".join(found[at : at + PAGE_LINES]) for at in range(0, len(found), PAGE_LINES)]

    def _lines(self, limit: int | None) -> list[str]:
        request, decision = self._req.request, self._req.decision
        args = shown_args(self._req)
        lines = [f"  {UNCERTAIN}"] if self._req.uncertain else []
        lines.append(f"  tool:   {safe_name(request.tool, limit=limit)}")
        one_line = _one_line(args)
        if one_line is not None:
            lines.append(f"  args:   {one_line}")
        else:
            shown = args if limit is None else dict(list(args.items())[:SHOWN_ARGS])
            lines += ["  args:", *safe_args(shown, indent="    ", limit=limit)]
            if len(shown) < len(args):
                lines.append(f"    ... [{len(args) - len(shown):,} more arguments]")
        lines.append(f"  reason: {safe_text(decision.reason, limit=limit)}")
        lines += [f"  note:   {safe_text(note, limit=limit)}" for note in self._req.notes]
        if decision.approvals_needed != 1:
            given = f", granted by {safe_names(self._req.granted_by)}" if self._req.granted_by else ""
            lines.append(f"  needs:  {decision.approvals_needed} approvals{given}")
        if limit is not None and self.hidden:
            lines.append(f"  {self.hidden:,} characters are hidden: `v` shows all, page by page")
        return lines


def shown_args(req: ApprovalRequest) -> Mapping[str, Any]:  # Any: arguments of any tool
    """The arguments without the values that the decision redacts."""
    args = req.request.args
    paths = tuple(path[1:] for path in redacted_paths(obligations_of(req.decision)) if path[0] == "args")
    found = masked(args, paths)
    return found if isinstance(found, Mapping) else dict.fromkeys(args, MASK)


def _one_line(args: object) -> str | None:
    """Short arguments as a Python literal; None for others, and for values without a JSON form."""
    plain = canonical_text(args)
    if plain is None or len(plain) > ONE_LINE:
        return None
    text = repr(dict(args))  # type: ignore[call-overload]  # the core's encoder accepts mappings
    return safe_text(text) if text.isascii() else safe_json(args)


def _fitting(lines: Iterable[str], *, otherwise: int | None = None) -> list[str]:
    """Fit lines to the width of the terminal: continuations begin with a mark, so that they cannot forge a new line.

    Without a terminal the width is `otherwise`.
    """
    terminal = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns - 1 if terminal else otherwise
    return list(lines) if width is None else [piece for line in lines for piece in wrapped(line, width)]
