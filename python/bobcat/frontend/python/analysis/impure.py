"""Impure objects that a rule must not use: clocks, files, the environment, randomness, the network."""

from __future__ import annotations

import builtins
import datetime
import os
import random
import time
from collections.abc import Callable
from typing import Any

_CLOCK = "reads a clock", "read `context.timestamp`: then a replay gives the same decision"
_OUTSIDE = "put what it needs into `context.extra` when the call is made"
_CHANCE = "uses randomness", "derive it from the request: the same call must get the same decision"
_FILES = "reads files", _OUTSIDE
_ENVIRONMENT = "reads the environment", "compare `context.environment`, or put it into `context.extra`"
_NETWORK = "uses the world outside of the process", _OUTSIDE
_EFFECTS = "has side effects", "remove it: sinks record every decision with its rules"

_MODULES: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("random", "secrets", "uuid"), _CHANCE),
    **dict.fromkeys(("socket", "subprocess", "urllib.request", "http.client", "requests", "httpx"), _NETWORK),
    **dict.fromkeys(("sqlite3", "shutil", "tempfile", "glob", "genericpath"), _FILES),
    **dict.fromkeys(("logging", "warnings"), _EFFECTS),
}
_OS = {"getenv": _ENVIRONMENT, "getcwd": _ENVIRONMENT, "getpid": _ENVIRONMENT, "getuid": _ENVIRONMENT,
       "urandom": _CHANCE, "system": _NETWORK, "popen": _NETWORK}  # fmt: skip
_PATH = frozenset({"abspath", "realpath", "expanduser", "expandvars", "ismount", "lexists", "islink"})


# Any below: every object that a name can stand for.
def reads_outside(value: Any) -> tuple[str, str] | None:
    """Return the impurity of an object and the suggested replacement; None if the object is not known to be
    impure.
    """
    for known, answer in ((os.environ, _ENVIRONMENT), (builtins.open, _FILES), (builtins.input, _NETWORK),
                          (builtins.print, _EFFECTS)):  # fmt: skip
        if value is known:
            return answer
    if isinstance(value, random.Random) or isinstance(getattr(value, "__self__", None), random.Random):
        return _CHANCE
    owner = getattr(value, "__self__", None)
    if owner is os.environ:
        return _ENVIRONMENT
    name = getattr(value, "__name__", "")
    if isinstance(owner, type) and issubclass(owner, datetime.date) and name in ("now", "utcnow", "today"):
        return _CLOCK
    module = getattr(value, "__module__", None) or ""
    if module == "time" and isinstance(value, Callable):  # type: ignore[arg-type]  # an abstract class, as isinstance takes it
        return _CLOCK if value is not time.sleep else _EFFECTS
    if module in ("os", "posix", "nt") and callable(value):
        return _OS.get(name, _FILES)
    if module in ("posixpath", "ntpath") and name in _PATH:
        return _FILES
    return _MODULES.get(module) or _MODULES.get(type(value).__module__)
