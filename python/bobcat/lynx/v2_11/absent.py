"""What lynx-agent 2.11 has and `bobcat.lynx` has not: every use of it is an error that says so."""

from __future__ import annotations

from typing import NoReturn

MODULES: frozenset[str] = frozenset()
"""Modules under `lynx`."""
NAMES = frozenset(
    "Combiner LayeredPolicyBundle Obligation ObligationHandler ObligationOutcome ObligationRegistry Policy PolicyLayer "
    "first_layer_wins last_layer_wins strict_overrides_loose".split()
)
"""Names of modules under `lynx`."""


def absent(feature: str) -> str:
    """The text of the error about a feature."""
    return f"{feature} of lynx-agent 2.11 is not part of `bobcat.lynx`: see docs/migrating-from-lynx.md"


def refuse(**given: object) -> None:
    """Raise `NotImplementedError` for an argument that is not None."""
    for name, value in given.items():
        if value is not None:
            raise NotImplementedError(absent(f"the argument `{name}`"))


def find(name: str) -> NoReturn:
    """`__getattr__` of the modules that could have such a name. Raises `ImportError` or `AttributeError`."""
    if name in NAMES:
        raise ImportError(absent(f"`{name}`"), name=name)
    raise AttributeError(f"module of lynx-agent 2.11 has no attribute {name!r}", name=name)
