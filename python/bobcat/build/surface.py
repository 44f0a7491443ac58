"""Conversion of built rules to plain data with Python positions, the input of the YAML front end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bobcat.build.chains import key_text
from bobcat.build.conditions import (
    AllConditions,
    AnyCondition,
    Condition,
    NotCondition,
    Operand,
    PathComparison,
    Subject,
    Tests,
)
from bobcat.build.memory import Measure, SequenceCondition
from bobcat.build.paths import ELEMENT, Edit, Path
from bobcat.frontend.builder.located import Located, PolicyNames, lower_built, lower_capability, lower_names
from bobcat.frontend.builder.rules import BuiltRule
from bobcat.frontend.strict.key_syntax import segment_text, written
from bobcat.frontend.strict.run_keys import WITH_THIS
from bobcat.language.operators import LEADING

if TYPE_CHECKING:
    from bobcat.build.places import Positions, SourcePosition


def built(
    decision: str,
    conditions: Iterable[Condition],
    options: Iterable[tuple[str, Any]],  # Any: the values of a rule's entries
    place: SourcePosition,
    index: int | None,
    positions: Positions,
    names: PolicyNames | None = None,
) -> BuiltRule:
    """Lower a built rule to the IR, or to diagnostics."""
    surface = _Surface(place.file, positions)
    data: dict[str, Any] = {}  # Any: a rule as YAML has it
    for name, value in options:
        data[name] = _edit(value) if isinstance(value, Edit) else value
    data["decision"] = decision
    matches = [surface.condition(item) for item in conditions]
    data["match"] = matches[0] if len(matches) == 1 else {"all_of": matches} if matches else {}
    return lower_built(surface.placed(data, place), place.file, index, names)


def built_capability(
    data: dict[str, Any],  # Any: the values of its keys, as YAML has them
    place: SourcePosition,
    index: int,
    positions: Positions,
    names: PolicyNames,
) -> tuple[BuiltRule, ...]:
    """Lower a capability to the rules of its actions, or to diagnostics."""
    return lower_capability(_Surface(place.file, positions).placed(data, place), place.file, index, names)


def built_names(
    resources: Mapping[str, Any],  # Any: as YAML has them, here and in the next line
    sources: Mapping[str, Any],
    place: SourcePosition,
    positions: Positions,
) -> tuple[PolicyNames, tuple[BuiltRule, ...]]:
    """Lower the resources and the sources of a policy; the second value has the findings about them."""
    surface = _Surface(place.file, positions)
    return lower_names(surface.placed(resources, place), surface.placed(surface.data(sources), place), place.file)


class _Surface:
    def __init__(self, file: str, positions: Positions) -> None:
        self._file = file
        self._positions = positions
        self._in_element = False

    def placed(self, data: Any, place: SourcePosition) -> Located:  # Any: plain data
        """Return data with their position, if it is in the file of the rule."""
        return Located(data, self._positions.of(place) if place.file == self._file else None)

    def condition(self, condition: Condition) -> Located:
        """Return a condition as the entries of a match."""
        match condition:
            case AllConditions(_, items):
                return self.placed({"all_of": [self.condition(item) for item in items]}, condition.place)
            case AnyCondition(_, items):
                return self.placed({"any_of": [self.condition(item) for item in items]}, condition.place)
            case NotCondition(_, item):
                return self.placed({"not": self.condition(item)}, condition.place)
            case SequenceCondition(_, word, operand):
                return self.placed({f"run.{word}": self.data(operand)}, condition.place)
            case PathComparison(_, Measure() as measure, (operator,), operand):
                return self.placed(self._measured(measure, operator, operand), condition.place)
            case PathComparison(_, path) if path.head == ELEMENT and not self._in_element:
                raise TypeError(f"`{condition!r}` is about an element: write it in `any`, `all`, `none` or `first`")
            case PathComparison(_, path, operators, operand):
                value = self._operand(operand)
                if operators[-1] in LEADING and len(operators) > 1:  # at the end of a key, it would be an entry
                    operators, value = operators[:-1], {operators[-1]: value}
                return self.placed({_key(path, operators): value}, condition.place)
            case _:
                raise TypeError(f"a condition of an unknown kind: `{type(condition).__name__}`")

    def data(self, value: Any) -> Any:  # Any: plain data, with conditions in it
        """Return plain data in which each condition is replaced by the entries of a match."""
        match value:
            case Condition():
                return self.condition(value)
            case Mapping():
                return {name: self.data(item) for name, item in value.items()}
            case list() | tuple():
                return [self.data(item) for item in value]
            case _:
                return value

    def _measured(self, measure: Measure, operator: str, operand: Operand) -> dict[str, Any]:  # Any: as above
        key, value = written("run", measure.steps), self._operand(operand)
        options = dict(measure.options)
        tests = {operator: value}
        if options.pop(WITH_THIS, False):
            tests = {WITH_THIS: tests}
        return {key: {**tests, **self.data(options)}} if options else {f"{key}.{operator}": value}

    def _operand(self, operand: Operand) -> Any:  # Any: plain data
        match operand:
            case Path():
                if operand.chain or operand.head == ELEMENT or (isinstance(operand, Measure) and operand.options):
                    raise TypeError(f"`{operand!r}` cannot be an operand: only a path without operators can")
                return {"ref": written(operand.head, operand.steps)}
            case Tests(items, conditions):
                found = {name: self._operand(item) for name, item in items}
                return {**found, **self._of_element(conditions)}
            case dict():
                return {name: self._operand(item) for name, item in operand.items()}
            case list():
                return [self._operand(item) for item in operand]
            case _:
                return operand

    def _of_element(self, conditions: tuple[Condition, ...]) -> dict[Any, Any]:  # Any: as above
        """Return conditions on an element as tests of it."""
        if not conditions:
            return {}
        only = conditions[0] if len(conditions) == 1 else AllConditions(conditions[0].place, conditions)
        outside, self._in_element = self._in_element, True
        whole = self.condition(only)
        items = [self.condition(item) for item in only.items] if isinstance(only, AllConditions) else []
        self._in_element = outside
        keys = [key for item in items for key in item.data]
        if items and len(set(keys)) == len(keys):  # one mapping, as a person writes it
            return {key: value for item in items for key, value in item.data.items()}
        return dict(whole.data)


def _key(path: Subject, operators: tuple[str, ...]) -> str:
    """Return the key of a comparison; that of an element has no head."""
    if path.head != ELEMENT:
        return written(path.head, path.steps, key_text(operators))
    steps = "".join(segment_text(step) for step in path.steps)
    return f"{steps}.{key_text(operators)}" if steps else key_text(operators)


def _edit(edit: Edit) -> dict[str, Any]:  # Any: plain data
    return {"jsonpath": f"$.{written(edit.path.head, edit.path.steps)}", edit.operation: edit.value}
