"""Functions of `request.run` in Python rules, for type checkers. Only a compiled rule has the state of the run.

The compiler reads these calls from the source of a rule (`frontend.python.lowering.memory`). A rule that stays a
callable gets an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

Match = str | Mapping[str, Any]  # Any: a match as in YAML; a text is the name of a tool
Window = str | int | float


class RunReads:
    """The run so far, as a compiled Python rule reads it: counts and sums are numbers, the others conditions."""

    __slots__ = ()

    def count(
        self,
        tool: str | None = None,
        *,
        of: Mapping[str, Any] | None = None,  # Any: a match as in YAML, here and below
        within: Window | None = None,
        by: str | None = None,
        with_this: bool = False,
    ) -> int:
        """Return the number of calls of a tool, or of the calls that the match `of` is true for, in the run so far.

        `within` is a window (`"1h"`, or seconds), `by` counts over the runs of a `principal`, `session` or `tenant`,
        and `with_this` counts the proposed call, too.
        """
        refuse("request.run.count")

    def sum(
        self,
        tool: str | None = None,
        argument: str | None = None,
        *,
        of: Mapping[str, Any] | None = None,
        within: Window | None = None,
        by: str | None = None,
        with_this: bool = False,
    ) -> int | float:
        """Return the sum of an argument over the calls of a tool, or over those that `of` is true for.

        The options are those of `count`.
        """
        refuse("request.run.sum")

    def after(self, match: Match, /) -> bool:
        """Return true if a call of the run has matched."""
        refuse("request.run.after")

    def last(self, match: Match, /) -> bool:
        """Return true if the last call of the run matches."""
        refuse("request.run.last")

    def formerly(self, formula: Match, /, *, within: Window | None = None) -> bool:
        """Return true if a formula was true at some event; a text is a call of the tool of that name."""
        refuse("request.run.formerly")

    def previous(self, formula: Match, /, *, within: Window | None = None) -> bool:
        """Return true if a formula was true at the last event."""
        refuse("request.run.previous")

    def since(self, *, holds: Mapping[str, Any], start: Mapping[str, Any], within: Window | None = None) -> bool:
        """Return true if `start` was true at some event, and `holds` at every event since then."""
        refuse("request.run.since")

    def never(self, event: Mapping[str, Any], /, *, since: Mapping[str, Any]) -> bool:
        """Return true if `since` was true at some event, and `event` at no event since then."""
        refuse("request.run.never")


def refuse(name: str) -> NoReturn:
    """Raise the error for a read of the run outside of a compiled rule."""
    raise RuntimeError(f"`{name}` is read by compiled rules only: this rule is a callable, which has no state of a run")
