"""Bundles: compiled policies in memory and as files.

Names are loaded on first use, so that the front ends can name a source map without loading the core.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bobcat.bundle.load import is_bundle, load_bundle
    from bobcat.bundle.model import PolicyBundle, PolicyDefaults, RuleView

__all__ = ["PolicyBundle", "PolicyDefaults", "RuleView", "is_bundle", "load_bundle"]

_HOMES = {
    "PolicyBundle": "bobcat.bundle.model",
    "PolicyDefaults": "bobcat.bundle.model",
    "RuleView": "bobcat.bundle.model",
    "is_bundle": "bobcat.bundle.load",
    "load_bundle": "bobcat.bundle.load",
}


def __getattr__(name: str) -> Any:  # Any: the type of each name is given to type checkers above
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
