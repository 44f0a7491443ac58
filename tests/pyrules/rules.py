"""The corpus: every rule of `tests/pyrules/corpus`, by the name it goes by there."""

from __future__ import annotations

import functools
import importlib
import types
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(path.stem for path in CORPUS.glob("*.py"))


@functools.cache
def corpus() -> dict[str, Any]:
    """Every rule with its name; a rule has two parameters that are the request and the context."""
    found: dict[str, Any] = {}
    for file in FILES:
        module = importlib.import_module(f"pyrules.corpus.{file}")
        for name, value in vars(module).items():
            if _is_rule(value, module.__name__):
                found[f"{file}.{name}"] = value
    return found


def _is_rule(value: Any, module: str) -> bool:
    plain = value.func if isinstance(value, functools.partial) else getattr(value, "__func__", value)
    if not isinstance(plain, types.FunctionType) or plain.__module__ != module:
        return False
    names = plain.__code__.co_varnames[: plain.__code__.co_argcount]
    return names[-2:] in (("req", "ctx"), ("request", "context"))
