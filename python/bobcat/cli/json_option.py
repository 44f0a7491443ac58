"""A JSON object given as an option, parsed strictly, because it is stored or executed."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import click

from bobcat.text.unique_keys import unique_keys

DEEPEST = 100
"""Levels of lists and objects."""


def json_object(option: str, text: str) -> dict[str, Any]:  # Any: JSON
    """Parse a JSON object. Raises `click.BadParameter`, which names the option."""
    try:
        value = json.loads(text, object_pairs_hook=unique_keys, parse_constant=_no_constant, parse_float=_finite)
        depth = _depth(value)
    except RecursionError:
        depth, value = DEEPEST + 1, {}
    except ValueError as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint=f"'{option}'") from error
    if depth > DEEPEST:
        raise click.BadParameter(f"nested more than {DEEPEST} levels deep", param_hint=f"'{option}'")
    if not isinstance(value, dict):
        raise click.BadParameter('a JSON object is needed, such as \'{"key": "value"}\'', param_hint=f"'{option}'")
    return value


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"`{text}` is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"`{text}` is too large a number")
    return number


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level := [
        below
        for each in level
        if isinstance(each, (list, dict))
        for below in (each.values() if isinstance(each, dict) else each)
    ]:
        depth += 1
    return depth
