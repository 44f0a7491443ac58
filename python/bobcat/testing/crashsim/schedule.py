"""When which worker is killed or stopped: `kill@12`, `kill@12+7`, `stop@12+7`. A run with it can be had again."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

How = Literal["undisturbed", "kill", "stop"]

_TEXT = re.compile(r"(kill|stop)@([1-9]\d*)(?:\+([1-9]\d*))?")


class Schedule(NamedTuple):
    """`kill`: worker `i` is killed at its point `at[i]`, and another one goes on. `stop`: a worker is stopped at
    `at[0]`; another one takes the run up to its own point `at[1]`, or to its end without one; then the first goes on to
    its end, then the second."""

    how: How = "undisturbed"
    at: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.how if not self.at else f"{self.how}@{'+'.join(map(str, self.at))}"


UNDISTURBED = Schedule()


def parse_schedule(text: str) -> Schedule:
    """A schedule as a report writes it. Raises `ValueError`."""
    if text == str(UNDISTURBED):
        return UNDISTURBED
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"no schedule: {text!r}; one is written kill@12, kill@12+7, stop@12 or stop@12+7")
    how: How = "kill" if found[1] == "kill" else "stop"
    return Schedule(how, tuple(int(each) for each in found.groups()[1:] if each is not None))
