"""An approval as a question on a terminal: all of what would run, or its beginning and how much is hidden."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable

from bobcat._core import canonical_text
from bobcat.display import readable_json, safe_args, safe_json, safe_name, safe_names, safe_text, wrapped
from bobcat.model import ApprovalRequest
from bobcat.plain_json import show

SHOWN_CHARS = 2_000
"""Characters of one name, value or reason that the prompt shows."""
SHOWN_ARGS = 30
"""Arguments that the prompt shows."""
ONE_LINE = 200
"""Characters of all arguments that are shown in one line."""
PAGE_LINES = 40
PAGE_COLUMNS = 100
"""Columns of a page where there is no terminal."""
UNCERTAIN = "UNCERTAIN: an earlier attempt may have taken effect; approving can make it happen twice"


class Question:
    """One approval as text. `hidden` is how many characters of what would run the prompt does not show."""

    def __init__(self, req: ApprovalRequest) -> None:
        self._req = req
        args = req.request.args
        texts = [show(req.request.tool), show(req.decision.reason)]
        for name, value in list(args.items())[:SHOWN_ARGS]:
            texts += [show(name), readable_json(value)]
        self.hidden = sum(max(0, len(text) - SHOWN_CHARS) for text in texts)
        for name, value in list(args.items())[SHOWN_ARGS:]:
            self.hidden += len(show(name)) + len(readable_json(value))

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
        lines = [f"  {UNCERTAIN}"] if self._req.uncertain else []
        lines.append(f"  tool:   {safe_name(request.tool, limit=limit)}")
        one_line = _one_line(request.args)
        if one_line is not None:
            lines.append(f"  args:   {one_line}")
        else:
            shown = request.args if limit is None else dict(list(request.args.items())[:SHOWN_ARGS])
            lines += ["  args:", *safe_args(shown, indent="    ", limit=limit)]
            if len(shown) < len(request.args):
                lines.append(f"    ... [{len(request.args) - len(shown):,} more arguments]")
        lines.append(f"  reason: {safe_text(decision.reason, limit=limit)}")
        if decision.approvals_needed != 1:
            given = f", granted by {safe_names(self._req.granted_by)}" if self._req.granted_by else ""
            lines.append(f"  needs:  {decision.approvals_needed} approvals{given}")
        if limit is not None and self.hidden:
            lines.append(f"  {self.hidden:,} characters are hidden: `v` shows all, page by page")
        return lines


def _one_line(args: object) -> str | None:
    """Short arguments as a Python program writes them; None for others, and for values that no JSON can hold."""
    plain = canonical_text(args)
    if plain is None or len(plain) > ONE_LINE:
        return None
    text = repr(dict(args))  # type: ignore[call-overload]  # the core has written it as a mapping
    return safe_text(text) if text.isascii() else safe_json(args)


def _fitting(lines: Iterable[str], *, otherwise: int | None = None) -> list[str]:
    """Lines in the width of the terminal: a long one goes on behind a mark, never where a line of ours begins.

    Without a terminal the width is `otherwise`.
    """
    terminal = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns - 1 if terminal else otherwise
    return list(lines) if width is None else [piece for line in lines for piece in wrapped(line, width)]
