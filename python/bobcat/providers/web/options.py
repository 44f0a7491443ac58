"""Check of the options of `http`."""

from __future__ import annotations

import ssl
from collections.abc import Collection, Mapping

from bobcat.errors import ToolError
from bobcat.providers.web.headers import Credentials, credentials_of


def names(what: str, given: Collection[str], known: Collection[str]) -> frozenset[str]:
    """Return names that are all known ones. Raises `TypeError` and `ValueError`."""
    if isinstance(given, str):
        raise TypeError(f"{what} must be a sequence, got the string {given!r}; write ({given!r},)")
    unknown = [name for name in given if name not in known]
    if unknown or not given:
        got = repr(unknown[0]) if unknown else "none"
        raise ValueError(f"{what} must be some of {', '.join(known)}, got {got}")
    return frozenset(given)


def check_limits(*, timeout_seconds: float, **limits: int) -> None:
    """Raise `ValueError` for a limit out of range."""
    for name, value in limits.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ValueError(f"{name} must be a number of at least 0, got {value!r}")
    if isinstance(timeout_seconds, bool) or not timeout_seconds > 0:
        raise ValueError(f"timeout_seconds must be greater than 0, got {timeout_seconds!r}")


def credentials(headers: Mapping[str, Mapping[str, str]]) -> Credentials:
    """Read the headers by origin. Raises `ValueError`."""
    try:
        return credentials_of(headers)
    except ToolError as error:
        raise ValueError(f"headers: {error}") from error


def verifying(verify: ssl.SSLContext | None) -> ssl.SSLContext:
    """The TLS context of connections. Raises `ValueError` for one that accepts any certificate."""
    if verify is None:
        import httpx

        return httpx.create_ssl_context(trust_env=False)
    if not isinstance(verify, ssl.SSLContext):
        raise TypeError(f"verify must be an ssl.SSLContext, got {type(verify).__name__}")
    if verify.verify_mode is not ssl.CERT_REQUIRED or not verify.check_hostname:
        raise ValueError("verify must check certificates and names: `ssl.create_default_context(cafile=...)` does")
    return verify
