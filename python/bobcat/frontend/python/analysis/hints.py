"""Suggested replacements for common functions and classes that have no lowered form."""

from __future__ import annotations

from typing import Any

_PATHS = "use the functions of `posixpath`: `basename`, `dirname`, `splitext`, `normpath`, `join`"
_URLS = 'take the text apart: `url.partition("://")`, `host.partition("/")`'
_ADDRESSES = "compare the text: `startswith`, or a set of addresses"

_BY_NAME: dict[str, str] = {
    "pathlib.PurePath": _PATHS,
    "pathlib.PurePosixPath": _PATHS,
    "pathlib.Path": _PATHS,
    "posixpath.commonpath": "use `startswith` of the normalised path",
    "urllib.parse.urlparse": _URLS,
    "urllib.parse.urlsplit": _URLS,
    "ipaddress.ip_address": _ADDRESSES,
    "ipaddress.ip_network": _ADDRESSES,
    "collections.Counter": "count in a dict: `counts[x] = counts.get(x, 0) + 1`",
    "collections.defaultdict": "use a dict: `d[x] = d.get(x, 0) + 1`",
    "decimal.Decimal": "compare integers or floats",
    "functools.reduce": "write a `for`",
    "itertools.chain": "iterate over one after the other, or over `[*one, *other]`",
    "itertools.product": "write a comprehension with two `for`",
    "operator.itemgetter": "write the item: `x[key]`",
    "operator.attrgetter": "write the field: `context.environment`",
    "json.dumps": "compare the values themselves",
    "json.loads": "let the tool take an object instead of a text",
    "re.sub": "use `replace`, or a pattern that allows for the difference",
    "re.subn": "use `replace`, or a pattern that allows for the difference",
    "re.findall": "use `re.search` with a pattern for all that counts",
    "re.finditer": "use `re.search` with a pattern for all that counts",
    "re.split": "use `split` of the text",
    "re.escape": "write the pattern out",
    "datetime.datetime": "keep it as a constant of the module, with a time zone",
    "datetime.datetime.fromisoformat": "compare the texts, or let `context.extra` hold a number of seconds",
    "datetime.timedelta": "compare `context.timestamp.timestamp()` with a number of seconds",
    "datetime.date": "use the fields: `context.timestamp.year`",
    "datetime.time": "use the fields: `context.timestamp.hour`",
}
"""By name, since a rule that uses no such object must not load their modules."""


def hint_for(value: Any) -> str | None:  # Any: every object
    """Return the suggested replacement for an object; None without one."""
    if not callable(value):
        return None
    owner = getattr(value, "__self__", None)
    module = owner.__module__ if isinstance(owner, type) else getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", "")
    return _BY_NAME.get(f"{(module or '').lstrip('_')}.{name}")
