"""Exit codes of the commands; `docs/reference/cli.md` lists them."""

from __future__ import annotations

FINDINGS = 1
USAGE = 2
UNREADABLE = 3
NOT_ALLOWED = 4
INTERRUPTED = 130
