"""The `Workers` that a command loads from the user's code: `file.py`, `file.py:NAME` or `package.module:NAME`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bobcat.tools.named_object import load_object

if TYPE_CHECKING:
    from bobcat.workers import Workers


def load_app(text: str) -> Workers:
    """Load the `Workers` that a worker runs, `workers` by default; importing its module runs its code.

    Raises `UserCodeError`.
    """
    from bobcat.workers import Workers

    return load_object(text, Workers, what="the app", name="workers", hint="an app holds `workers = Workers()`")
