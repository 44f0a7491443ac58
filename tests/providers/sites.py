"""Local web servers that note every request: those that may be reached, and traps on the loopback address."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PUBLIC, OTHER, LOOPBACK, LOOPBACK_6 = "127.0.0.2", "127.0.0.3", "127.0.0.1", "::1"
NAMES = ("shop.example", "cdn.example", "rebind.example", "trap.example")
SECRET = "s3cret-token"


@dataclass(frozen=True)
class Seen:
    """A request that a site got."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    raw: bytes


Answer = bytes | Callable[[Seen], Iterable[bytes]]


@dataclass
class Site:
    """A server on one address. `answers` maps targets to raw answers; others get 200."""

    address: str
    port: int
    context: ssl.SSLContext | None = None
    answers: dict[str, Answer] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0

    def open(self) -> None:
        family = socket.AF_INET6 if ":" in self.address else socket.AF_INET
        self._socket = socket.create_server((self.address, self.port), family=family)
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            connection.settimeout(20)
            if self.context is not None:
                connection = self.context.wrap_socket(connection, server_side=True)
            with connection:
                request = _read(connection)
                if request is None:
                    return
                self.seen.append(request)
                answer = self.answers.get(request.target, ok(b"ok"))
                for part in [answer] if isinstance(answer, bytes) else answer(request):
                    connection.sendall(part)


def ok(body: bytes, *headers: str) -> bytes:
    """An answer with status 200."""
    lines = ["HTTP/1.1 200 OK", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def redirect(url: str, status: int = 302, *headers: str) -> bytes:
    """An answer that redirects."""
    lines = [f"HTTP/1.1 {status} Elsewhere", f"location: {url}", "content-length: 0", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def _read(connection: socket.socket) -> Seen | None:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    missing = int(headers.get("content-length", "0")) - len(body)
    while missing > 0:
        more = connection.recv(65536)
        if not more:
            break
        body, missing = body + more, missing - len(more)
    return Seen(method, target, headers, body, data)


@dataclass
class Web:
    """The sites of a test, all on the same two ports."""

    sites: dict[str, Site]
    verify: ssl.SSLContext

    @property
    def port(self) -> int:
        return self.sites["shop"].port

    @property
    def tls_port(self) -> int:
        return self.sites["tls shop"].port

    def placed(self, text: str) -> str:
        """Put the ports into a text."""
        return text.replace("PORT", str(self.port)).replace("TLS", str(self.tls_port))

    def clear(self) -> None:
        for site in self.sites.values():
            site.seen.clear()
            site.answers.clear()
            site.connections = 0

    def seen_by(self, *names: str) -> list[Seen]:
        return [request for name in names for request in self.sites[name].seen]

    def trapped(self) -> list[str]:
        """The sites that must never be reached, and were connected to."""
        return [name for name, site in self.sites.items() if "trap" in name and site.connections]


@contextlib.contextmanager
def web(directory: Path) -> Iterator[Web]:
    """Start the sites, with certificates of a new authority."""
    server, verify = _certificates(directory)
    sites: dict[str, Site] = {}
    try:
        sites |= _same_port(None)
        sites |= {f"tls {name}": site for name, site in _same_port(server).items()}
        yield Web(sites, verify)
    finally:
        for site in sites.values():
            site.close()


def _same_port(context: ssl.SSLContext | None) -> dict[str, Site]:
    addresses = {"shop": PUBLIC, "cdn": OTHER, "trap": LOOPBACK, "trap 6": LOOPBACK_6}
    for _ in range(20):
        opened: dict[str, Site] = {}
        port = 0
        try:
            for name, address in addresses.items():
                site = Site(address, port, context)
                site.open()
                opened[name], port = site, site.port
            return opened
        except OSError:
            for site in opened.values():
                site.close()
    raise RuntimeError("no port is free on all addresses")


def _certificates(directory: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The server's context, and the one that trusts its authority."""
    now = datetime.datetime.now(datetime.UTC)
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])

    def signed(subject: x509.Name, public: ec.EllipticCurvePublicKey, *extensions: x509.ExtensionType) -> bytes:
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(ca_name).public_key(public)
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - datetime.timedelta(hours=1))
        builder = builder.not_valid_after(now + datetime.timedelta(hours=12))
        identity = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
        for extension in (*extensions, identity, x509.SubjectKeyIdentifier.from_public_key(public)):
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        return builder.sign(ca_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
    ca = signed(ca_name, ca_key.public_key(), x509.BasicConstraints(ca=True, path_length=None), usage)
    alternative = x509.SubjectAlternativeName([*map(x509.DNSName, NAMES), x509.IPAddress(ipaddress.ip_address(PUBLIC))])
    leaf = signed(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "shop")]), key.public_key(), alternative)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (directory / "ca.pem").write_bytes(ca)
    (directory / "leaf.pem").write_bytes(leaf + private)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(directory / "leaf.pem")
    return server, ssl.create_default_context(cafile=str(directory / "ca.pem"))
