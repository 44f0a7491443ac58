"""Normal forms of targets, so that an allowlist compares what two spellings mean."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Literal, TypeAlias

Normalize: TypeAlias = Literal["email", "casefold"] | Callable[[str], str]

_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*", re.ASCII)
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_MAX_ADDRESS, _MAX_LOCAL = 254, 64


def normalizer(normalize: Normalize | None) -> Callable[[str], str]:
    """The function of a `normalize` option; it raises `ValueError` for a text without a normal form."""
    if normalize is None:
        return str
    if callable(normalize):
        return normalize
    known: dict[object, Callable[[str], str]] = {"email": email, "casefold": casefold}
    if normalize not in known:
        raise ValueError(f"normalize must be 'email', 'casefold' or a function, got {normalize!r}")
    return known[normalize]


def casefold(text: str) -> str:
    """The text without distinctions of case, in the composed form (NFC)."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def email(text: str) -> str:
    """One address, `local@domain`, in lower case, with an international domain in its ASCII form.

    Raises `ValueError` for everything else: display names, quoted local parts, comments, several addresses, white
    space. Local parts in which case matters are rare; of two such addresses the list knows one.
    """
    local, found, domain = text.rpartition("@")
    if not found or len(text) > _MAX_ADDRESS or len(local) > _MAX_LOCAL or not _LOCAL.fullmatch(local):
        raise ValueError(f"{text!r} is not one plain address")
    try:
        ascii_domain = domain.encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise ValueError(f"{text!r} has no valid domain") from error
    labels = ascii_domain.split(".")
    if len(labels) < 2 or not all(map(_LABEL.fullmatch, labels)):
        raise ValueError(f"{text!r} has no valid domain")
    return f"{local.lower()}@{ascii_domain}"
