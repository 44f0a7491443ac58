"""Redirects: the next request of a chain, by the rules of HTTP, with what may go along to its origin."""

from __future__ import annotations

from dataclasses import replace

from bobcat.providers.web.headers import travelling
from bobcat.providers.web.target import blocked, redirected
from bobcat.providers.web.wire import Answer, Message

STATUSES = frozenset((301, 302, 303, 307, 308))


def location_of(answer: Answer) -> str | None:
    """The URL that an answer redirects to, as written; None if it is not a redirect.

    Raises `ToolError` for several URLs.
    """
    if answer.status not in STATUSES:
        return None
    found = answer.header("location")
    if len(found) > 1:
        raise blocked("the server redirects to several URLs")
    return found[0] if found else None


def next_request(message: Message, status: int, location: str) -> Message:
    """Return the request that a redirect asks for; `headers` are those of the call.

    Raises `ToolError` for a URL that is refused, and for one that leaves https.
    """
    target = redirected(message.target, location)
    if message.target.scheme == "https" and target.scheme != "https":
        raise blocked("the server redirects from https to http")
    to_get = (status == 303 and message.method != "HEAD") or (status in (301, 302) and message.method == "POST")
    kept = message if not to_get else replace(message, method="GET", body=b"")
    same = target.origin == message.target.origin
    return replace(kept, target=target, headers=travelling(message.headers, same_origin=same, body=not to_get))
