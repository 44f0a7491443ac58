"""Check of addresses: a name is resolved once, and all of its addresses must be permitted.

A name with a public and a private address is refused as a whole: which one a connection takes would be chance.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

from bobcat import facets
from bobcat.providers.web.target import Target, blocked, unreachable

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Return the addresses of a name, for a port. Raises `OSError`."""
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

MAX_ADDRESSES = 64
"""Maximum number of addresses of one name."""


class AddressCheck:
    """The permitted addresses: public ones, private ones by declaration, and those of `allow`.

    The metadata services of clouds are permitted by `allow` only.
    """

    def __init__(self, *, private: bool, allow: Iterable[str], resolver: Resolver | None) -> None:
        if isinstance(allow, str):
            raise TypeError(f"allow_addresses must be a sequence of addresses, got the string {allow!r}")
        self._private = private
        self._allow = tuple(map(_network, allow))
        self._resolve = resolver if resolver is not None else system_resolver

    async def addresses_of(self, target: Target) -> tuple[str, ...]:
        """Return the permitted addresses of a target's host, in the resolver's order.

        Raises `ToolError` if one of them is not permitted, and without any.
        """
        try:
            found = [target.host] if target.is_ip else list(await self._resolve(target.host, target.port))
        except OSError as error:
            raise unreachable(f"`{target.host}` has no address: {error.strerror or error}") from error
        if not found:
            raise unreachable(f"`{target.host}` has no address")
        if len(found) > MAX_ADDRESSES:
            raise blocked(f"`{target.host}` has more than {MAX_ADDRESSES} addresses")
        checked = []
        for address in found:
            problem, canonical = self._checked(address)
            if problem:
                raise blocked(f"`{target.host}` is refused: {problem}")
            checked.append(canonical)
        return tuple(dict.fromkeys(checked))

    def _checked(self, text: str) -> tuple[str, str]:
        """Return the reason why an address is not permitted, and its canonical form."""
        try:
            address = facets.ip(text)
        except facets.Undecidable:
            return "it has an address of an unknown form", ""
        value = ipaddress.ip_address(address.address)
        if any(value in network for network in self._allow):
            return "", address.address
        if address.is_metadata:
            return "its address is that of a metadata service", ""
        if address.is_private and not self._private:
            return "its address is not that of a public host", ""
        return "", address.address


async def system_resolver(host: str, port: int) -> list[str]:
    """Ask the resolver of this machine."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def same_address(found: str, expected: str) -> bool:
    """Return true if two texts are the same address."""
    try:
        return bool(facets.ip(found).address == facets.ip(expected).address)
    except facets.Undecidable:
        return False


def _network(text: str) -> Network:
    try:
        canonical = facets.cidr(text) if "/" in text else facets.ip(text)
    except facets.Undecidable as error:
        raise ValueError(f"allow_addresses: {text!r} is neither an address nor a network: {error}") from error
    prefix = f"/{canonical.prefix}" if "/" in text else ""
    return ipaddress.ip_network(canonical.address + prefix)
