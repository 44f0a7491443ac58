"""Conditions that read the run: `run.count("pay") < 3`, `run.after(tool == "read")`, `run.formerly({"call": ...})`.

Options, formulas and sources are those of YAML, as plain data in which a condition stands for a match.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from bobcat.build.conditions import AllConditions, Condition, Operand, PathComparison, flattened
from bobcat.build.paths import Group, Path, _plain
from bobcat.build.places import here


class Measure(Path):
    """A count or a sum of the run: a number to compare."""

    __slots__ = ("options", "this")

    # Any: as in YAML. `this`: the last step is `with_this`.
    def __init__(self, steps: tuple[str, ...], options: Mapping[str, Any], *, this: bool) -> None:
        super().__init__("run", steps)
        self.this = this
        self.options = {name: value for name, value in options.items() if value is not None}

    def __getattr__(self, name: str) -> Path:
        if name.startswith("__"):
            raise AttributeError(name)
        raise TypeError(f"a count or a sum of the run has no field `{name}`; compare it: `run.count('pay') < 3`")

    def __getitem__(self, name: str) -> Path:
        raise TypeError(f"a count or a sum of the run has no entry `{name}`; compare it: `run.count('pay') < 3`")

    def _compare(self, operator: str, operand: Operand) -> Condition:
        return PathComparison(here(), self, (operator,), _plain(operand))

    def _derive(self, operator: str, tests: dict[str, Operand], conditions: tuple[Condition, ...] = ()) -> NoReturn:
        raise TypeError(f"`{operator}` does not apply to a count or a sum of the run, which is a number")

    def __repr__(self) -> str:
        names = self.steps[1:-1] if self.this else self.steps[1:]
        given = {**self.options, **({"with_this": True} if self.this else {})}
        options = [f"{'argument' if name == 'field' else name}={value!r}" for name, value in given.items()]
        return f"run.{self.steps[0]}({', '.join([*map(repr, names), *options])})"


@dataclass(frozen=True, slots=True, repr=False)
class SequenceCondition(Condition):
    """A condition on the sequence of events of the run: a word and its operand."""

    word: str
    operand: Operand

    def __repr__(self) -> str:
        if isinstance(self.operand, Condition):
            return f"run.{self.word}({self.operand!r})"
        options = dict(self.operand)
        first = []
        if self.word == "never":
            first = [repr(options.pop("event"))]
        elif self.word != "since":
            first = [repr({name: options.pop(name) for name in self.operand if name != "within"})]
        return f"run.{self.word}({', '.join([*first, *(f'{name}={value!r}' for name, value in options.items())])})"


class Run:
    """The run so far."""

    __slots__ = ()

    def count(
        self,
        tool: str | None = None,
        /,
        *,
        of: Condition | None = None,
        within: str | float | None = None,
        by: str | None = None,
        with_this: bool = False,
    ) -> Measure:
        """Return the number of calls of a tool, or of the calls that `of` is true for, in the run so far.

        `within` is a window (`"1h"`, or seconds), `by` counts over the runs of a `principal`, `session` or
        `tenant`, and `with_this` counts the proposed call, too.
        """
        return _measure(("count",), (tool,), of=of, within=within, by=by, with_this=with_this)

    def sum(
        self,
        tool: str | None = None,
        field: str | None = None,
        /,
        *,
        of: Condition | None = None,
        argument: str | None = None,
        within: str | float | None = None,
        by: str | None = None,
        with_this: bool = False,
    ) -> Measure:
        """Return the sum of an argument over the calls of a tool, as `run.sum("pay", "amount")`, or over the calls that
        `of` is true for, as `run.sum(of=..., argument="amount")`. The options are those of `count`.
        """
        options = {"of": of, "field": argument, "within": within, "by": by}
        return _measure(("sum",), (tool, field), with_this=with_this, **options)

    def after(self, *conditions: Condition | Iterable[Condition]) -> Condition:
        """Test that a call of the run has matched all conditions."""
        return SequenceCondition(here(), "after", _match(conditions))

    def last(self, *conditions: Condition | Iterable[Condition]) -> Condition:
        """Test that the last call of the run matches all conditions."""
        return SequenceCondition(here(), "last", _match(conditions))

    def formerly(
        self, formula: Mapping[str, Any], *, within: str | float | None = None
    ) -> Condition:  # Any: as in YAML
        """Test that a formula was true at some event: `run.formerly({"call": tool == "read"}, within="1h")`."""
        return SequenceCondition(here(), "formerly", _windowed(formula, within))

    def previous(self, formula: Mapping[str, Any], *, within: str | float | None = None) -> Condition:  # Any: as above
        """Test that a formula was true at the last event."""
        return SequenceCondition(here(), "previous", _windowed(formula, within))

    def since(
        self,
        *,
        holds: Mapping[str, Any],  # Any: as above
        start: Mapping[str, Any],
        within: str | float | None = None,
    ) -> Condition:
        """Test that `start` was true at some event, and `holds` at every event since then."""
        return SequenceCondition(here(), "since", _windowed({"holds": holds, "start": start}, within))

    def never(self, event: Mapping[str, Any], *, since: Mapping[str, Any]) -> Condition:  # Any: as above
        """Test that `since` was true at some event, and `event` at no event since then."""
        return SequenceCondition(here(), "never", {"event": event, "since": since})

    def __repr__(self) -> str:
        return "run"


run = Run()
"""The run so far: `run.count("send_money") < 3`, `run.after(tool == "read_page")`."""
result = Group("result")
"""The result of a past call, in the `result` of a formula: `result.exit_code == 0`."""
record = Group("record")
"""A record in the results of a source, in its `where`: `record.filename == "a.txt"`."""


def _measure(
    word: tuple[str, ...],
    names: tuple[str | None, ...],
    *,
    with_this: bool,
    **options: Any,  # Any: as in YAML
) -> Measure:
    given = tuple(name for name in names if name is not None)
    if (given and options.get("of") is not None) or (not given and options.get("of") is None):
        raise TypeError(f"`run.{word[0]}` takes the name of a tool, or `of` with a condition")
    if not given:
        return Measure(word, {**options, "with_this": with_this or None}, this=False)
    return Measure((*word, *given, *(["with_this"] if with_this else [])), options, this=with_this)


def _match(conditions: Iterable[Condition | Iterable[Condition]]) -> Condition:
    found = tuple(flattened(conditions))
    if not found:
        raise TypeError("name at least one condition on the call")
    return found[0] if len(found) == 1 else AllConditions(here(), found)


def _windowed(formula: Mapping[str, Any], within: str | float | None) -> dict[str, Any]:  # Any: as in YAML
    if not isinstance(formula, Mapping):
        raise TypeError('a formula is a mapping, as in YAML: `run.formerly({"call": tool == "read"})`')
    return dict(formula) if within is None else {**formula, "within": within}
