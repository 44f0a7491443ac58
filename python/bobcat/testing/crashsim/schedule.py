"""Fault schedules: the points at which workers are killed or stopped, such as `kill@12`, `kill@12+7`, `stop@12+7`. A
schedule reproduces its run.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Fault = Literal["undisturbed", "kill", "stop"]

_TEXT = re.compile(r"(kill|stop)@([1-9]\d*)(?:\+([1-9]\d*))?")


class FaultSchedule(NamedTuple):
    """`kill`: worker `i` is killed at its point `at[i]`, and another one continues. `stop`: a worker is stopped at
    `at[0]`; another one continues to its own point `at[1]`, or to its end without one; then the first continues to
    its end, then the second."""

    how: Fault = "undisturbed"
    at: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.how if not self.at else f"{self.how}@{'+'.join(map(str, self.at))}"


UNDISTURBED = FaultSchedule()


def parse_schedule(text: str) -> FaultSchedule:
    """Parse a schedule in the form of a report. Raises `ValueError`."""
    if text == str(UNDISTURBED):
        return UNDISTURBED
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"invalid schedule {text!r}: write kill@12, kill@12+7, stop@12 or stop@12+7")
    how: Fault = "kill" if found[1] == "kill" else "stop"
    return FaultSchedule(how, tuple(int(each) for each in found.groups()[1:] if each is not None))
