"""A name server over UDP that gives the next of its addresses with each answer, and a resolver that asks it."""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
import struct
import threading
from collections.abc import Sequence
from typing import Self

_HEADER = struct.Struct("!6H")
_A, _IN = 1, 1


class NameServer:
    """Answers every question for an IPv4 address with a lifetime of 0 seconds. The last address is repeated."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = list(addresses)
        self.asked: list[str] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def __enter__(self) -> Self:
        self._socket.bind(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    async def resolve(self, host: str, port: int) -> list[str]:
        """Ask this server."""
        return [await asyncio.to_thread(self._ask, host)]

    def _ask(self, host: str) -> str:
        number = secrets.randbelow(65536)
        name = b"".join(bytes([len(label)]) + label.encode() for label in host.split(".")) + b"\0"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(5)
            client.connect(self._socket.getsockname())
            client.send(_HEADER.pack(number, 0x0100, 1, 0, 0, 0) + name + struct.pack("!2H", _A, _IN))
            answer = client.recv(512)
        assert _HEADER.unpack_from(answer)[:1] == (number,)
        return str(ipaddress.IPv4Address(answer[-4:]))

    def _serve(self) -> None:
        while True:
            try:
                question, client = self._socket.recvfrom(512)
            except OSError:
                return
            number, *_ = _HEADER.unpack_from(question)
            labels, at = [], _HEADER.size
            while question[at]:
                labels.append(question[at + 1 : at + 1 + question[at]].decode())
                at += 1 + question[at]
            self.asked.append(".".join(labels))
            address = self._addresses.pop(0) if len(self._addresses) > 1 else self._addresses[0]
            record = struct.pack("!3HIH", 0xC00C, _A, _IN, 0, 4) + ipaddress.IPv4Address(address).packed
            head = _HEADER.pack(number, 0x8180, 1, 1, 0, 0)
            self._socket.sendto(head + question[_HEADER.size : at + 5] + record, client)
