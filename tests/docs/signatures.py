"""The signatures of callables as Python writes them, without modules and addresses."""

from __future__ import annotations

import inspect
import re
from dataclasses import is_dataclass
from functools import reduce
from typing import Any

_SHORTER = (
    (r"<function (\w+) at 0x\w+>", r"\1"),
    (r"<(\w+\.\w+): [^>]*>", r"\1"),
    (r"<factory>", "..."),
    (r"\b(?:bobcat|collections|typing|datetime)(?:\.\w+)*\.(?=\w)", ""),
)
_WIDTH = 84


def signature(name: str, value: Any, *, method: bool = False) -> str:  # Any: every callable, here and below
    """Show a call of `value` with annotations and defaults, on one line or one parameter a line."""
    parameters = _parameters(value)[1 if method else 0 :]
    returned = inspect.signature(value).return_annotation
    answer = "" if inspect.isclass(value) or returned is inspect.Signature.empty else f" -> {shorter(returned)}"
    prefix = "class " if inspect.isclass(value) else "async def " if inspect.iscoroutinefunction(value) else "def "
    line = f"{prefix}{name}({', '.join(parameters)}){answer}"
    lines = ",\n    ".join(parameters)
    return line if len(line) <= _WIDTH else f"{prefix}{name}(\n    {lines},\n){answer}"


def shorter(annotation: Any) -> str:
    """Show an annotation or the `repr` of a default without modules and addresses."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return reduce(lambda text, rule: re.sub(*rule, text), _SHORTER, text)


def _default(value: Any) -> str:
    """Show a default; of a record only the fields that differ from its own defaults."""
    fields = inspect.signature(type(value)).parameters.values() if _is_record(value) else ()
    if not fields:
        return shorter(repr(value))
    shown = [
        f"{each.name}={getattr(value, each.name)!r}" for each in fields if getattr(value, each.name) != each.default
    ]
    return f"{type(value).__name__}({', '.join(shown)})"


def _is_record(value: Any) -> bool:
    return is_dataclass(value) and type(value).__module__.startswith("bobcat.")


def _parameters(value: Any) -> list[str]:
    """List the parameters of a callable as Python writes them, with `/` and `*`."""
    shown: list[str] = []
    for each in inspect.signature(value).parameters.values():
        if each.kind is each.KEYWORD_ONLY and not any(text.startswith("*") for text in shown):
            shown.append("*")
        text = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "") + each.name
        typed = each.annotation is not each.empty
        text += f": {shorter(each.annotation)}" if typed else ""
        if each.default is not each.empty:
            text += f"{' = ' if typed else '='}{_default(each.default)}"
        shown.append(text)
        if each.kind is each.POSITIONAL_ONLY:
            shown = [text for text in shown if text != "/"] + ["/"]
    return shown
