"""Conversion of built rules to plain data with Python positions, the input of the YAML front end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bobcat.build.chains import key_text
from bobcat.build.conditions import AllConditions, AnyCondition, Condition, NotCondition, Operand, PathComparison, Tests
from bobcat.build.paths import Edit, Path
from bobcat.frontend.builder.located import Located, lower_built, lower_capability, lower_resources
from bobcat.frontend.builder.rules import BuiltRule
from bobcat.frontend.strict.key_syntax import written
from bobcat.language.operators import LEADING

if TYPE_CHECKING:
    from bobcat.build.places import Positions, SourcePosition
    from bobcat.frontend.strict.resources import Resources


def built(
    decision: str,
    conditions: Iterable[Condition],
    options: Iterable[tuple[str, Any]],  # Any: the values of a rule's entries
    place: SourcePosition,
    index: int | None,
    positions: Positions,
    resources: Resources | None = None,
) -> BuiltRule:
    """Lower a built rule to the IR, or to diagnostics."""
    surface = _Surface(place.file, positions)
    data: dict[str, Any] = {}  # Any: a rule as YAML has it
    for name, value in options:
        data[name] = _edit(value) if isinstance(value, Edit) else value
    data["decision"] = decision
    matches = [surface.condition(item) for item in conditions]
    data["match"] = matches[0] if len(matches) == 1 else {"all_of": matches} if matches else {}
    return lower_built(surface.placed(data, place), place.file, index, resources)


def built_capability(
    data: dict[str, Any],  # Any: the values of its keys, as YAML has them
    place: SourcePosition,
    index: int,
    positions: Positions,
    resources: Resources,
) -> tuple[BuiltRule, ...]:
    """Lower a capability to the rules of its actions, or to diagnostics."""
    return lower_capability(_Surface(place.file, positions).placed(data, place), place.file, index, resources)


def built_resources(
    data: Mapping[str, Any],  # Any: as YAML has them
    place: SourcePosition,
    positions: Positions,
) -> tuple[Resources, tuple[BuiltRule, ...]]:
    """Lower the resources of a policy; the second value has the findings about them."""
    return lower_resources(_Surface(place.file, positions).placed(data, place), place.file)


class _Surface:
    def __init__(self, file: str, positions: Positions) -> None:
        self._file = file
        self._positions = positions

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
            case PathComparison(_, path, operators, operand):
                value = _operand(operand)
                if operators[-1] in LEADING and len(operators) > 1:  # at the end of a key, it would be an entry
                    operators, value = operators[:-1], {operators[-1]: value}
                key = written(path.head, path.steps, key_text(operators))
                return self.placed({key: value}, condition.place)
            case _:
                raise TypeError(f"a condition of an unknown kind: `{type(condition).__name__}`")


def _operand(operand: Operand) -> Any:  # Any: plain data
    match operand:
        case Path():
            if operand.chain:
                raise TypeError(f"`{operand!r}` cannot be an operand: only a path without operators can")
            return {"ref": written(operand.head, operand.steps)}
        case Tests(items):
            return {name: _operand(item) for name, item in items}
        case dict():
            return {name: _operand(item) for name, item in operand.items()}
        case _:
            return operand


def _edit(edit: Edit) -> dict[str, Any]:  # Any: plain data
    return {"jsonpath": f"$.{written(edit.path.head, edit.path.steps)}", edit.operation: edit.value}
